"""Weights of judge and version reader: packed from the layers and an adapter, mapped, checked."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import NamedTuple

import pytest

from vestig import _core
from vestig.embedders import builtin
from vestig.rerankers import judge, version_reader
from vestig.rerankers.cross_encoder import LAYERS_SHA256, Adapter


class Model(NamedTuple):
    """A model of the core, and the SHA-256 of its packed file, which is a function of the layers,
    the adapter and the layout."""

    adapter: Adapter
    packed: str


MODELS = {
    "judge": Model(
        judge.QUESTIONS,
        "a7faee12909a069d868845c253b54aa6858a8676bd6460fe87f09a00eab4b904",
    ),
    "judge of lists": Model(
        judge.LISTS,
        "fde4b4a3230e2e8fc4da83539879483e43cdc34769517cbde0959ae3bc3b6f05",
    ),
    "judge of prompts": Model(
        judge.PROMPTS,
        "b37421c97b1805fe89bc12015a03321561bcdff9b57feb20f306d1e1e0eaaa92",
    ),
    "versions": Model(
        version_reader.ADAPTER,
        "89de691b1ed5b74612d800a8e8d3a95c380bf54b7db53dc7a9c94440b5cf8680",
    ),
}


@pytest.fixture(params=MODELS, scope="module")
def model(request: pytest.FixtureRequest) -> Model:
    return MODELS[request.param]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory, model: Model) -> Path:
    path = tmp_path_factory.mktemp("cache") / "model.weights"
    assert model.adapter.packed().write(path)
    return path


def test_the_packed_bytes_are_a_function_of_both_files(model: Model, packed: Path) -> None:
    content = packed.read_bytes()
    assert hashlib.sha256(content).hexdigest() == model.packed
    magic, layout, arrays, length, *sources = struct.unpack("<8sIIQ32s32s", content[:88])
    assert (magic, layout) == (b"VESTIGWT", _core.PackedWeights.LAYOUT)
    assert (arrays, length) == (6 * 22 + 5 + 2, len(content))
    assert tuple(sources) == model.adapter.hashes


def refused(model: Model, folder: Path, layers: bytes, adapter: bytes) -> str:
    """The error for these bytes, given their own hashes, so that they are read."""
    files = [folder / "layers.bin", folder / "adapter.bin"]
    hashes = []
    for path, given in zip(files, (layers, adapter), strict=True):
        path.write_bytes(given)
        hashes.append(hashlib.sha256(given).digest())
    with pytest.raises(ValueError, match=r".") as caught:
        _core.CrossEncoderWeights.pack(*files, *hashes, model.adapter.outputs)
    return str(caught.value)


@pytest.mark.slow
def test_files_that_are_not_of_the_model_are_refused(model: Model, tmp_path: Path) -> None:
    layers, adapter = (Path(path).read_bytes() for path in model.adapter.paths())
    for length in (0, 147_456, len(layers) - 4 * (2 * 1152 + 2) - 4):
        assert "ends early" in refused(model, tmp_path, layers[:length], adapter)
    for length in (0, 6_144, len(adapter) - 4):
        assert "ends early" in refused(model, tmp_path, layers, adapter[:length])
    assert "4 bytes too many" in refused(model, tmp_path, layers, adapter + bytes(4))
    assert "-128" in refused(model, tmp_path, b"\x80" + layers[1:], adapter)
    assert "-128" in refused(model, tmp_path, layers, b"\x80" + adapter[1:])
    # behind the positions' codes stand their scales, then a head
    scales = len(layers) - 4 * (2 * 1152 + 2) - 4 * 256
    changed = layers[:scales] + struct.pack("<f", -1.0) + layers[scales + 4 :]
    assert "negative" in refused(model, tmp_path, changed, adapter)
    changed = layers[: scales - 1] + b"\x80" + layers[scales:]
    assert "-128" in refused(model, tmp_path, changed, adapter)


def test_files_that_are_not_the_pinned_ones_are_named(model: Model, tmp_path: Path) -> None:
    pack = _core.CrossEncoderWeights.pack
    pinned = (*model.adapter.hashes, model.adapter.outputs)
    layers, adapter = model.adapter.paths()
    other = tmp_path / "other.bin"
    other.write_bytes(Path(adapter).read_bytes()[:-1])
    found = hashlib.sha256(other.read_bytes()).hexdigest()
    expected = f"an adapter of them with SHA-256 {model.adapter.sha256}, got {found}"
    with pytest.raises(ValueError, match=expected):
        pack(layers, other, *pinned)
    with pytest.raises(ValueError, match=f"layers of cross-encoders with SHA-256 {LAYERS_SHA256}"):
        pack(other, adapter, *pinned)
    with pytest.raises(FileNotFoundError):
        pack(layers, tmp_path / "none.bin", *pinned)


def test_a_packed_file_that_is_damaged_anywhere_or_foreign_is_not_mapped(
    model: Model, packed: Path, tmp_path: Path
) -> None:
    whole, hashes, outputs = packed.read_bytes(), model.adapter.hashes, model.adapter.outputs
    mapped = _core.CrossEncoderWeights.map
    assert mapped(packed, *hashes, outputs)
    path = tmp_path / "changed.weights"
    for at in (30, 1_000, 20_000, 5_000_000, len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(_core.WeightsUnusable, match="checksum"):
            mapped(path, *hashes, outputs)
    path.write_bytes(whole[:-1])
    with pytest.raises(_core.WeightsUnusable, match="bytes"):
        mapped(path, *hashes, outputs)
    for other in ((bytes(32), hashes[1]), (hashes[0], bytes(32))):
        with pytest.raises(_core.WeightsUnusable, match="other weights"):
            mapped(packed, *other, outputs)
    builtin.packed().write(path)
    with pytest.raises(_core.WeightsUnusable, match="layout"):
        mapped(path, *hashes, outputs)


def test_no_model_maps_the_file_of_another(packed: Path, model: Model) -> None:
    for other in MODELS.values():
        if other is model:
            continue
        with pytest.raises(_core.WeightsUnusable, match=r"layout|other weights"):
            _core.CrossEncoderWeights.map(packed, *other.adapter.hashes, other.adapter.outputs)


def test_a_model_is_read_for_what_it_is_alone() -> None:
    words, pieces = builtin.packed(), builtin._vocabulary()
    memory = ("", "", "", "I moved to Oslo.")
    judges, versions = judge.QUESTIONS.packed(), version_reader.ADAPTER.packed()
    with pytest.raises(ValueError, match="a head of 1 outputs, got 2"):
        judges.compare(words, pieces, "Where?", [(memory, memory)], threads=1)
    with pytest.raises(ValueError, match="a head of 2 outputs, got 1"):
        versions.judge(words, pieces, "Where?", [memory], threads=1)
