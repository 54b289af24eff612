"""The parts of the training that need no PyTorch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from adapter_file import adapter_arrays, adapter_file
from judge_file import judge_file, layers_of
from layers_file import layers_file, parameters, quantised, restored
from worlds import figures, refuse_seen, worlds

from vestig.embedders import builtin


def read(text: str) -> list[int]:
    return [101, *(1000 + len(word) for word in text.split()), 102]


def folder(place: Path, records: list[str]) -> Path:
    """A labelled folder whose second record answers and whose first is outdated."""
    place.mkdir()
    rows = [{"id": f"r{n}", "text": text} for n, text in enumerate(records)]
    (place / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = {"id": "q", "text": "which colour", "relevant": ["r1"], "outdated": ["r0"]}
    (place / "queries.jsonl").write_text(json.dumps(asked) + "\n")
    return place


@pytest.mark.parametrize(
    "script",
    [
        "adapter_file", "judge_file", "layers_file", "train_embedder", "train_judge",
        "train_judge_adapter", "train_version_reader",
    ],
)  # fmt: skip
def test_a_script_runs_by_its_path(script: str, tmp_path: Path) -> None:
    path = Path(__file__).with_name(f"{script}.py")
    run = subprocess.run(
        [sys.executable, path, "--help"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout[:6]) == (0, "usage:"), run.stderr


def test_a_row_of_a_matrix_is_off_by_half_a_step_at_most() -> None:
    matrix = np.random.default_rng(1).normal(size=(16, 40))
    matrix[3] = 0
    codes, scales = quantised(matrix)
    off = np.abs(codes * scales[:, None].astype(np.float64) - matrix)
    assert (off <= scales[:, None] * 0.5001).all()
    assert (np.abs(codes).max(1)[scales > 0] == 127).all()
    assert (scales[3], codes[3].any()) == (0, False)


@pytest.mark.parametrize("shipped", ["version_adapter.bin", "judge_adapter.bin"])
def test_the_file_of_an_adapter_can_be_read_back(shipped: str) -> None:
    content = Path(builtin.data_file(shipped)).read_bytes()
    found = adapter_arrays(content)
    again = np.frombuffer(adapter_file(found), np.uint8)
    # a factor of a row may be its neighbour in float32
    assert np.abs(again.astype(int) - np.frombuffer(content, np.uint8)).max() <= 1
    assert (again != np.frombuffer(content, np.uint8)).mean() < 0.01
    for wrong in (content[:-4], content + b"0" * 4):
        with pytest.raises(ValueError, match="expected the head of an adapter"):
            adapter_arrays(wrong)


def test_layers_that_are_missing_or_not_finite_are_refused() -> None:
    layers = {name: np.ones(shape, np.float32) for name, shape in parameters()}
    assert layers_file(layers) == layers_file(dict(layers))
    assert set(restored(layers)) == set(layers)
    name, shape = next(parameters())
    layers[name] = np.full(shape, np.nan)
    with pytest.raises(ValueError, match=f"{name}: expected finite"):
        layers_file(layers)
    del layers[name]
    with pytest.raises(ValueError, match="got nothing"):
        layers_file(layers)


def test_the_judge_file_is_its_layers_then_what_is_its_own() -> None:
    chance = np.random.default_rng(2)
    shapes: dict[str, tuple[int, ...]] = {
        "ew": (384,),
        "eb": (384,),
        "seg": (2, 384),
        "pos": (320, 384),
        "head.weight": (2, 1152),
        "head.bias": (2,),
    }
    matrices = {"qkv": (1152, 384), "wo": (384, 384), "w1": (1536, 384), "w2": (384, 1536)}
    for layer in range(6):
        for name, shape in matrices.items():
            shapes |= {f"L.{layer}.{name}_w": shape, f"L.{layer}.{name}_b": shape[:1]}
        for name in ("n1", "n2"):
            shapes |= {f"L.{layer}.{name}_{part}": (384,) for part in "wb"}
    judge = {name: chance.normal(size=shape).astype("<f2") for name, shape in shapes.items()}
    layers = layers_of(judge)
    assert set(layers) == {name for name, _ in parameters()}
    third = layers["encoder.layer.3.attention.self.value.weight"]
    assert (third == judge["L.3.qkv_w"][768:].astype(np.float32)).all()
    content = judge_file(judge)
    own = content.removeprefix(layers_file(layers))
    assert len(own) == 4 * (4 * 384 + 256 + 2 * 1152 + 2) + 256 * 384
    assert own.endswith(judge["head.bias"].astype("<f4").tobytes())
    for name in ("L.2.qkv_b", "L.2.w1_w", "pos"):
        with pytest.raises(ValueError, match="got nothing"):
            judge_file({key: values for key, values in judge.items() if key != name})


def test_outdated_and_equal_records_are_neither_right_nor_wrong(tmp_path: Path) -> None:
    made = folder(tmp_path / "one", ["it is red", "it is blue now", "it is blue now", "other"])
    (world,) = worlds([made], read)
    (question,) = world.questions
    assert (question.relevant, question.unjudged) == ((1,), frozenset({0, 2}))
    assert world.weights[101] == 0


def test_a_world_that_was_trained_on_is_not_judged_whatever_it_is_called(tmp_path: Path) -> None:
    texts = ["it is red", "it is blue now"]
    learnt = worlds([folder(tmp_path / "one", texts)], read)
    renamed = worlds([folder(tmp_path / "two", texts)], read)
    other = worlds([folder(tmp_path / "three", ["a", "quite another answer stands here"])], read)
    refuse_seen(learnt, other)
    with pytest.raises(ValueError, match="not trained on, got two"):
        refuse_seen(learnt, [*other, *renamed])


def test_figures_count_the_first_and_the_first_five(tmp_path: Path) -> None:
    judged = worlds([folder(tmp_path / "one", [f"text {n}" for n in range(8)])], read)
    scores = np.arange(8, dtype=np.float32)[None]
    assert figures(judged, [scores])["all"] == (0.0, 0.0, 1)
    assert figures(judged, [-scores])["all"] == (0.0, 100.0, 1)
    first = np.where(np.arange(8) == 1, 9, scores)
    assert figures(judged, [first])["all"] == (100.0, 100.0, 1)
