"""The version reader as the product reads with it: weights made once, mapped, never trusted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vestig.embedders import builtin, packed_file
from vestig.errors import ConfigError, ProviderError
from vestig.rerankers import judge, version_reader
from vestig.rerankers.judge import MemoryText
from vestig.rerankers.version_reader import NAME, VersionReader

QUESTION = "Where does Ada live?"
OLDER = MemoryText("tuesday 3 march 2026 ·", "", "", "Ada lives in Bergen.")
NEWER = [
    MemoryText("friday 5 june 2026 ·", "", lead, text)
    for lead, text in (
        ("ada:", "I have moved to Oslo."),
        ("", "Ada lives in Oslo."),
        ("ada:", "My sister lives in Oslo."),
        ("ada:", "I dream of a house in Oslo."),
        ("bob:", "The cat sleeps all day."),
    )
]
PAIRS = [(OLDER, newer) for newer in NEWER]


@pytest.fixture(scope="module")
def logits() -> list[float]:
    """Those of the pairs, by weights in memory."""
    weights, words, pieces = version_reader.packed(), builtin.packed(), builtin._vocabulary()
    return weights.read(words, pieces, QUESTION, PAIRS, threads=1)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The packed file of the version reader in an empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(packed_file, "_reported", [])
    monkeypatch.setattr(packed_file, "_faults", [])
    return Path(packed_file.path_of(NAME))


def test_what_replaces_stands_above_what_does_not(logits: list[float]) -> None:
    assert VersionReader().read(QUESTION, PAIRS) == logits
    moved, lives, sister, dream, cat = logits
    assert min(moved, lives) > 0 > max(sister, dream, cat)


def test_a_pair_is_read_alike_beside_any_others(logits: list[float]) -> None:
    own = VersionReader(threads_max=1)
    assert [own.read(QUESTION, [pair])[0] for pair in PAIRS] == logits
    assert VersionReader().read(QUESTION, PAIRS[::-1] * 2) == logits[::-1] * 2


def test_nothing_is_read_for_no_pair(cache: Path) -> None:
    assert VersionReader().read(QUESTION, []) == []
    assert not cache.parent.exists()


def test_the_first_use_makes_the_file_and_the_next_one_maps_it(
    cache: Path, logits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert VersionReader().read(QUESTION, PAIRS) == logits
    assert cache.read_bytes()[:8] == b"VESTIGWT"
    monkeypatch.setattr(version_reader, "_path", lambda: "nowhere")
    assert VersionReader().read(QUESTION, PAIRS) == logits


def test_a_damaged_file_is_packed_again(cache: Path, logits: list[float]) -> None:
    assert version_reader.packed().write(str(cache))
    whole = cache.read_bytes()
    changed = bytearray(whole)
    changed[5_000_000] ^= 0x10
    cache.write_bytes(changed)
    assert VersionReader().read(QUESTION, PAIRS) == logits
    assert cache.read_bytes() == whole


@pytest.mark.parametrize("module", [judge, version_reader])
def test_weights_that_are_missing_or_others_are_named(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: object
) -> None:
    path = tmp_path / "weights.bin"
    monkeypatch.setattr(module, "file" if module is judge else "_path", lambda: str(path))
    with pytest.raises(ConfigError, match=r"the version reader: expected weights at .*again"):
        VersionReader().read(QUESTION, PAIRS)
    path.write_bytes(b"others")
    with pytest.raises(ProviderError, match=r"SHA-256 .*, got .*install vestig again"):
        VersionReader().read(QUESTION, PAIRS)
    assert not cache.exists()


def test_neither_the_core_nor_a_file_is_read_before_the_first_pair() -> None:
    script = (
        "import sys; from vestig.rerankers.version_reader import VersionReader; VersionReader();"
        "sys.exit('vestig._core' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
