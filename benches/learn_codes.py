"""Mean and axes of the codes of word pieces: `python/vestig/data/piece_mean.txt` and
`piece_axes.txt`, made again by `make learn-codes`.

The texts are the paragraphs of this repository's own documentation: README, `docs/`, docstrings
and the instructions in `python/vestig/prompts/`. No benchmark and no labelled text is read, the
shipped one included.

For every word piece, special ones included, its last hidden state is brought to unit length. The
mean is that of these vectors; the axes are the 256 principal ones of what is left without it,
turned by a fixed random rotation, so that every coordinate carries like variance. One machine
writes equal bytes every time. The files that are shipped are the definition: whoever changes them
changes their hashes in `rust/vestig-core/src/embed/piece_axes.rs`, and every store makes its codes
again.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Final

import numpy as np

ROOT: Final = Path(__file__).parents[1]
DATA: Final = ROOT / "python" / "vestig" / "data"
STATE: Final = 384
AXES: Final = 256
PIECES_MIN: Final = 20_000
# A paragraph of fewer words is a heading or a fragment.
WORDS_MIN: Final = 6
# A number is three digits of this base: k · 2⁻¹⁸ with k from −2¹⁷ to 2¹⁷ − 1.
DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
STEPS: Final = 2**18
ORTHONORMAL_WITHIN: Final = 1e-5
ROTATION: Final = b"vestig-codes-1"

_MARKS: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)|[`*_>|#]+")


def sources() -> list[Path]:
    """The files that are read, in order."""
    package = ROOT / "python" / "vestig"
    files = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    files += [*(package / "prompts").rglob("*.md"), *package.rglob("*.py")]
    return sorted(files)


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs of Markdown without fenced code; a row of a table is one."""
    fenced, lines = False, []
    for line in [*text.splitlines(), ""]:
        stripped = line.strip()
        if stripped.startswith("```"):
            fenced, stripped = not fenced, ""
        elif fenced:
            continue
        row = stripped.startswith(("|", "#"))
        if (not stripped or row) and lines:
            yield " ".join(lines)
            lines = []
        if row:
            yield stripped
        elif stripped:
            lines.append(stripped)


def _docstrings(source: str) -> Iterator[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield text


def paragraphs() -> list[str]:
    """Each once, in the order of files and places."""
    found: dict[str, None] = {}
    for path in sources():
        text = path.read_text(encoding="utf-8")
        for part in _docstrings(text) if path.suffix == ".py" else [text]:
            for block in _blocks(part):
                plain = " ".join(_MARKS.sub(r" \1 ", block).split())
                if len(plain.split()) >= WORDS_MIN:
                    found[plain] = None
    return list(found)


def states(texts: list[str]) -> np.ndarray:
    """Last hidden states of all word pieces at unit length, float64, one row a piece."""
    from vestig.embedders.builtin import BuiltinEmbedder

    embedder, rows = BuiltinEmbedder(), []
    for start in range(0, len(texts), 64):
        for _vector, made in embedder.embed_tokens(texts[start : start + 64]):
            rows.append(np.frombuffer(made.states, "<f4").reshape(-1, STATE).astype(float))
    held = np.concatenate(rows)
    return held / np.linalg.norm(held, axis=1, keepdims=True)


def rotation() -> np.ndarray:
    """A fixed orthogonal matrix: Q of normal numbers drawn from SHA-256."""
    draw, drawn = NormalDist().inv_cdf, []
    for counter in range(AXES * AXES // 4):
        digest = hashlib.sha256(ROTATION + b"\0" + str(counter).encode()).digest()
        words = np.frombuffer(digest, ">u8")
        drawn += [draw((int(word >> np.uint64(12)) + 0.5) / 2**52) for word in words]
    q, r = np.linalg.qr(np.array(drawn).reshape(AXES, AXES))
    return q * np.sign(np.diag(r))


def mean_and_axes(held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """384 numbers, and 384 × 256 with orthonormal columns."""
    mean = held.mean(0)
    centred = held - mean
    _values, vectors = np.linalg.eigh(centred.T @ centred / len(held))
    axes = vectors[:, ::-1][:, :AXES]
    # The sign of an axis is free: its largest number is positive.
    largest = axes[np.abs(axes).argmax(0), np.arange(AXES)]
    return mean, (axes * np.sign(largest)) @ rotation()


def encoded(rows: np.ndarray) -> str:
    """One line a row, three digits a number, the highest first."""
    numbers = np.rint(rows * STEPS).astype(int) + STEPS // 2
    if numbers.min() < 0 or numbers.max() >= STEPS:
        raise SystemExit(f"expected numbers within a half of 0, got up to {np.abs(rows).max()}")
    line = [
        "".join(DIGITS[n >> 12] + DIGITS[n >> 6 & 63] + DIGITS[n & 63] for n in row)
        for row in numbers.tolist()
    ]
    return "\n".join(line) + "\n"


def check(axes: np.ndarray) -> float:
    """How far the rounded axes are from orthonormal; refused beyond 1e-5."""
    rounded = np.rint(axes * STEPS) / STEPS
    off = float(np.abs(rounded.T @ rounded - np.eye(AXES)).max())
    if off > ORTHONORMAL_WITHIN:
        raise SystemExit(f"expected columns within {ORTHONORMAL_WITHIN} of orthonormal, got {off}")
    return off


def main() -> None:
    texts = paragraphs()
    held = states(texts)
    if len(held) < PIECES_MIN:
        raise SystemExit(f"expected at least {PIECES_MIN} word pieces, got {len(held)}")
    mean, axes = mean_and_axes(held)
    off = check(axes)
    print(f"{len(texts)} paragraphs, {len(held)} word pieces, orthonormal within {off:.1e}")
    # A line of the second file is a column.
    for name, text in (("piece_mean", encoded(mean[None])), ("piece_axes", encoded(axes.T))):
        path = DATA / f"{name}.txt"
        path.write_text(text, encoding="ascii")
        print(f"{hashlib.sha256(text.encode()).hexdigest()}  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
