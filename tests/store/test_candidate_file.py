"""The file of an index of candidates: written whole or not at all, checked before use."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from vestig.ids import id_text
from vestig.store.projection import candidate_file
from vestig.store.projection.candidate_file import FILE, Header

IDS = b"".join(bytes([n]) * 16 for n in range(3))
HEADER = Header(store_uuid=bytes(16), seq=7, head=bytes(32), model="m", dimensions=8, rows=3)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    assert candidate_file.stamp(tmp_path) is None
    size = candidate_file.write(tmp_path, HEADER, IDS, b"index bytes")
    found = candidate_file.read(tmp_path)
    assert found.header == HEADER
    assert found.id(2) == id_text("mem", bytes([2]) * 16)
    assert bytes(found.packed) == b"index bytes"
    file = tmp_path / FILE
    assert file.stat().st_size == size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    first = candidate_file.stamp(tmp_path)
    # a leftover of a killed process is no obstacle
    (tmp_path / f"{FILE}.new").write_bytes(b"half")
    candidate_file.write(tmp_path, HEADER, IDS, b"index bytes")
    assert candidate_file.stamp(tmp_path) != first
    candidate_file.drop(tmp_path)
    candidate_file.drop(tmp_path)
    assert candidate_file.stamp(tmp_path) is None
    with pytest.raises(FileNotFoundError):
        candidate_file.read(tmp_path)


def test_every_damage_is_found(tmp_path: Path) -> None:
    candidate_file.write(tmp_path, HEADER, IDS, b"index bytes")
    file = tmp_path / FILE
    good = file.read_bytes()
    for place in range(len(good)):
        bad = bytearray(good)
        bad[place] ^= 0x10
        file.write_bytes(bad)
        with pytest.raises(ValueError, match=r"checksum|kind"):
            candidate_file.read(tmp_path)
    for length in range(len(good)):
        file.write_bytes(good[:length])
        with pytest.raises(ValueError, match=r"."):
            candidate_file.read(tmp_path)
    file.write_bytes(good + b"x")
    with pytest.raises(ValueError, match="checksum"):
        candidate_file.read(tmp_path)
