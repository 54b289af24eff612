"""Reading Markdown as code: fenced blocks, console sessions, and what may differ in output."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
# Documents of the root that say how things are.
OF_ROOT = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_MARK = "--- command done ---"
_SCORE = re.compile(r"\b\d\.\d{2,}\b")
_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")
# Arithmetic of the embedder is not the same on every processor: scores differ in their last digits.
_SCORE_TOLERANCE = 0.001

# What differs from run to run: ids, times, durations and sizes.
_VOLATILE = (
    (re.compile(r"\b(mem|evt|edge|source|job|doc)_[0-9a-f-]{8,36}…?"), r"\1_…"),
    (re.compile(r"\[[0-9a-f]{8}\]"), "[<id>]"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z)?"), "<time>"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s|bytes|KiB|MiB|kB|MB)\b"), "<amount>"),
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "<hash>"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


class Block(NamedTuple):
    """One fenced block: its language, its text and the line of its fence."""

    language: str
    text: str
    line: int


def blocks(markdown: str) -> list[Block]:
    """Fenced blocks in order."""
    return [
        Block(m.group(1), m.group(2), markdown.count("\n", 0, m.start()) + 1)
        for m in _FENCE.finditer(markdown)
    ]


def lacks_extra(error: ImportError) -> bool:
    """Returns whether a module is there for an extra that is not installed."""
    return "which is not installed; run: " in str(error)


def stable(text: str) -> str:
    """`text` without what may differ between two runs."""
    for pattern, words in _VOLATILE:
        text = pattern.sub(words, text)
    return text.strip("\n")


def same(got: str, expected: str) -> bool:
    """Returns whether two outputs differ in nothing but ids, times, durations, sizes, scores by no
    more than 0.001, and the day on which they were made.

    Example:
        >>> same("score 0.4675 in 3 ms", "score 0.4671 in 12 ms"), same("0.46", "0.48")
        (True, False)
    """
    got, expected = stable(got), stable(expected)
    today = datetime.now(UTC).date()
    # a run may begin before midnight
    made = {str(today), str(today - timedelta(days=1))}
    days = zip(_DAY.findall(got), _DAY.findall(expected), strict=False)
    if any(day != written and day not in made for day, written in days):
        return False
    got, expected = _DAY.sub("<day>", got), _DAY.sub("<day>", expected)
    if _SCORE.sub("", got) != _SCORE.sub("", expected):
        return False
    pairs = zip(_SCORE.findall(got), _SCORE.findall(expected), strict=True)
    # half of the last digit that is printed comes on top
    return all(
        abs(float(a) - float(b)) <= _SCORE_TOLERANCE + 0.5 * 10.0 ** (2 - len(b)) for a, b in pairs
    )


def replay(markdown: str, name: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """The blocks of a page that show output, in order, each with what is really printed: console
    sessions, and a `text` block right after a Python block. Python blocks share one namespace.

    Args:
        name: of the page, for tracebacks.
        folder: where the blocks run.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path}
    names: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None
    for block in blocks(markdown):
        if block.language == "text" and printed is not None:
            yield block, printed
        printed = None
        if block.language == "python":
            out = io.StringIO()
            with contextlib.chdir(folder), contextlib.redirect_stdout(out):
                exec(compile("\n" * block.line + block.text, name, "exec"), names)
            printed = out.getvalue()
        elif block.language == "console":
            commands = [command for command, _ in session(block.text)]
            outputs = play(commands, folder, env)
            shown = [output.strip("\n") for output in outputs]
            yield (
                block,
                "".join(
                    f"$ {command}\n{output}\n" if output else f"$ {command}\n"
                    for command, output in zip(commands, shown, strict=True)
                ),
            )


def rewritten(path: Path, folder: Path) -> str:
    """The text of a page with what its blocks print; outputs that are the same stay as they are."""
    text = path.read_text("utf-8")
    for block, got in replay(text, path.name, folder):
        if not same(got, block.text):
            text = text.replace(block.text, got if got.endswith("\n") else f"{got}\n", 1)
    return text


def session(text: str) -> list[tuple[str, str]]:
    """(command, expected output) of a `console` block; a command goes on after a backslash."""
    steps: list[tuple[str, str]] = []
    open_command = False
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], ""))
        elif open_command:
            steps[-1] = (f"{steps[-1][0]}\n{line}", "")
        else:
            steps[-1] = (steps[-1][0], f"{steps[-1][1]}{line}\n")
        open_command = line.endswith("\\") and not steps[-1][1]
    return steps


def play(commands: list[str], cwd: Path, env: dict[str, str]) -> list[str]:
    """Outputs of shell commands run one after the other in one shell."""
    script = "".join(f"{command}\necho; echo '{_MARK}'\n" for command in commands)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout.split(f"{_MARK}\n")[: len(commands)]
