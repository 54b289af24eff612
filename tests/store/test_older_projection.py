"""Projections of an earlier format: moved aside and made again from the ledger."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

import vestig
from vestig import _core
from vestig.testing import HashingEmbedder

VERSION_AT = 8


def aged(path: Path, version: int) -> None:
    """The file with another format version, under a right checksum."""
    data = bytearray(path.read_bytes())
    data[VERSION_AT : VERSION_AT + 4] = struct.pack("<I", version)
    end = len(data)
    if path.name != "manifest":
        (end,) = struct.unpack("<I", data[12:16])
    data[end - 4 : end] = struct.pack("<I", zlib.crc32(data[: end - 4]))
    path.unlink()
    path.write_bytes(data)


def version(path: Path) -> int:
    """Of a file of the projection."""
    return int(struct.unpack("<I", path.read_bytes()[VERSION_AT : VERSION_AT + 4])[0])


@pytest.mark.parametrize("files", ["manifest", "all"])
def test_a_projection_of_an_older_format_is_made_again(files: str, tmp_path: Path) -> None:
    texts = ["The harbor opens at nine", "Ada Lovelace owns two boats?", "A river runs by it"]
    with vestig.open(tmp_path / "s", embedder=HashingEmbedder(16)) as store:
        store.commit(texts[0], title="Harbor plan (draft)")
        for text in texts[1:]:
            store.commit(text)
        shown = [r.memory.content for r in store.recall("harbor boats").results]
    folder = tmp_path / "s" / "projection"
    older = _core.FORMAT_VERSION - 1
    for path in list(folder.iterdir()):
        if path.name == "manifest" or (files == "all" and path.name.startswith("seg-")):
            aged(path, older)
    assert version(folder / "manifest") == older
    with vestig.open(tmp_path / "s", embedder=HashingEmbedder(16)) as store:
        found = store.recall("harbor boats")
        assert [d.code for d in found.degraded] == ["projection_rebuilt"]
        assert [r.memory.content for r in found.results] == shown
    aside = [path for path in folder.iterdir() if ".damaged-" in path.name]
    assert {version(path) for path in aside} >= {older}
    made = [p for p in folder.iterdir() if p.name.startswith(("manifest", "seg-"))]
    assert {version(p) for p in made if p not in aside} == {_core.FORMAT_VERSION}
    with vestig.open(tmp_path / "s", embedder=HashingEmbedder(16)) as store:
        assert store.recall("harbor boats").degraded == ()
        assert not [f for f in store.admin.doctor().findings if f.level == "damage"]
