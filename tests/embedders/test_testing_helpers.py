"""The helpers that ship for tests (`vestig.testing`)."""

from __future__ import annotations

import math
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from vestig.embedders.checked import float32_bytes
from vestig.errors import ProviderError, ProviderTimeoutError, ValidationError
from vestig.testing import (
    FailingEmbedder,
    FrozenClock,
    HashingEmbedder,
    ScriptedEmbedder,
    vector_at,
)


def cosine(one: bytes, other: bytes) -> float:
    a, b = memoryview(one).cast("f").tolist(), memoryview(other).cast("f").tolist()
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_hashing_is_fixed_for_all_time() -> None:
    (vector,) = HashingEmbedder(8).embed(["The office is in Oslo"])
    assert memoryview(vector).cast("f").tolist() == pytest.approx(
        memoryview(HashingEmbedder(8).embed(["the OFFICE, is in oslo!"])[0]).cast("f").tolist()
    )
    assert vector.hex() == GOLDEN


GOLDEN = "9be821bf00000000000000009be8a1be000000009be8a1be000000009be8213f"


def test_hashing_brings_shared_words_together() -> None:
    near, far, query = HashingEmbedder().embed(
        [
            "Deploys run on Fridays at noon",
            "The kettle is made of copper",
            "when do deploys run on fridays",
        ]
    )
    assert cosine(near, query) > 0.4 > cosine(far, query)
    assert math.isclose(cosine(near, near), 1.0, abs_tol=1e-6)


def test_hashing_depends_on_word_order_and_seed() -> None:
    embedder = HashingEmbedder()
    one, other = embedder.embed(["Ada wrote to Charles", "Charles wrote to Ada"])
    assert one != other
    assert HashingEmbedder(seed=1).embed(["Ada wrote to Charles"]) != [one]
    assert HashingEmbedder(seed=1).fingerprint != embedder.fingerprint
    assert embedder.embed(["", "…"]) == [bytes(1024), bytes(1024)]


def test_scripted_gives_what_the_test_supplies() -> None:
    embedder = ScriptedEmbedder({"a": [3.0, 4.0], "b": float32_bytes([1.0, 2.0])})
    assert embedder.embed(["b", "a"]) == [float32_bytes([1.0, 2.0]), float32_bytes([3.0, 4.0])]
    assert (embedder.calls, embedder.call_count) == ([("b", "a")], 1)
    assert embedder.embed([]) == []
    assert embedder.call_count == 1


def test_scripted_raises_for_unknown_texts() -> None:
    with pytest.raises(ProviderError, match=r"text 1 of the call \(6 characters\)") as caught:
        ScriptedEmbedder({"a": [1.0]}).embed(["a", "marker"])
    assert "marker" not in str(caught.value)


def test_scripted_needs_vectors_of_one_length() -> None:
    for vectors in ({"a": [1.0], "b": [1.0, 2.0]}, {}):
        with pytest.raises(ValueError, match="one length"):
            ScriptedEmbedder(vectors)


def test_vector_at_has_the_given_cosine() -> None:
    axis = float32_bytes([1.0, *[0.0] * 7])
    for wanted in (0.95, 0.92, 0.0, -0.5):
        assert cosine(axis, float32_bytes(vector_at(wanted))) == pytest.approx(wanted, abs=1e-7)


def test_failing_after_some_good_calls() -> None:
    embedder = FailingEmbedder("error", after=1)
    assert embedder.embed(["a"]) == HashingEmbedder().embed(["a"])
    with pytest.raises(ProviderError):
        embedder.embed(["a"])
    with pytest.raises(ProviderTimeoutError):
        FailingEmbedder("timeout").embed(["a"])
    with pytest.raises(ValueError, match="mode"):
        FailingEmbedder("sulk")


def test_clock_stands_until_it_is_moved() -> None:
    clock = FrozenClock()
    assert clock() == clock() == datetime(2026, 3, 18, 12, tzinfo=UTC)
    assert clock().strftime("%A") == "Wednesday"
    assert clock.move(days=7, hours=-1) - datetime(2026, 3, 18, 12, tzinfo=UTC) == timedelta(
        days=6, hours=23
    )
    assert clock.set("2026-01-01") == clock() == datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(ValidationError, match="moment"):
        clock.set("soon")


def test_importing_the_helpers_loads_no_pytest_and_no_numpy() -> None:
    code = (
        "import sys, vestig.testing as t; t.HashingEmbedder().embed(['a']);"
        "heavy = {'pytest', 'numpy', 'onnxruntime'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
