"""Numbers of other libraries' classes are numbers, as arguments and inside metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy
import pytest

import vestig
from vestig.arguments import as_integer, as_number
from vestig.errors import ValidationError
from vestig.testing import HashingEmbedder


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as found:
        for number in range(6):
            found.commit(
                f"Gate {number} of the harbour has colour {number * 7}.",
                session_id="s",
                sequence=numpy.int32(number),
                metadata={"gate": numpy.int64(number), "share": numpy.float32(0.5)},
            )
        yield found


@pytest.mark.parametrize("kind", [numpy.int8, numpy.int64, numpy.uint32])
def test_integers(store: vestig.Vestig, kind: Callable[[int], Any]) -> None:
    assert len(store.recall("which gate?", limit=kind(3), seed=kind(7))) == 3
    assert len(store.list(limit=kind(2), offset=kind(5))) == 1
    found = store.retrieve([{"content": "Which gate?"}], max_facts=kind(2), max_iterations=kind(1))
    assert len(found.facts) == 2
    assert [one.sequence for one in store.list(order_by="session", session_ids="s")] == [*range(6)]


@pytest.mark.parametrize("kind", [numpy.float16, numpy.float32, numpy.float64, Fraction])
def test_real_numbers(store: vestig.Vestig, kind: Callable[[float], Any]) -> None:
    recalled = store.recall("which gate?", silence=kind(1.0), where={"min_similarity": kind(-1.0)})
    assert len(recalled) == 5
    boat = store.commit("Ada has a boat.", entities=[{"name": "Ada", "confidence": kind(0.5)}])
    pier = store.commit("Der Steg ist lang und alt.").memory_id
    assert store.graph.link(boat.memory_id, pier, "RELATED", weight=kind(1.0)).edge.weight == 1.0


def test_metadata_and_its_filter(store: vestig.Vestig) -> None:
    where: dict[str, Any] = {"metadata": {"gate": numpy.int16(4), "share": numpy.float64(0.5)}}
    (found,) = store.list(where)  # type: ignore[arg-type]
    assert found.metadata["gate"] == 4
    assert type(found.metadata["gate"]) is int


def test_what_is_no_number(store: vestig.Vestig) -> None:
    for value in (numpy.bool_(True), numpy.float64(3.0), "3", 3 + 0j, Fraction(3)):
        with pytest.raises(ValidationError, match="limit: expected an integer >= 1"):
            store.recall("which gate?", limit=value)  # type: ignore[arg-type]
    for value in (numpy.float32("nan"), numpy.float64("inf")):
        with pytest.raises(ValidationError):
            store.recall("which gate?", silence=value)  # type: ignore[arg-type]
        with pytest.raises(ValidationError):
            store.commit("The pier is long.", metadata={"a": value})
    assert as_integer(numpy.bool_(True)) is as_number(numpy.bool_(True)) is None
    assert as_number(Fraction(10**400)) == float("inf")


def test_a_vector_alone_is_a_query(store: vestig.Vestig) -> None:
    (hit, *_) = store.recall("Gate 3 of the harbour has colour 21.", include_vectors=True)
    for profile in ("default", "baseline"):
        vector = numpy.array(hit.embedding, dtype="float32")
        found = store.recall(query_vector=vector, profile=profile)
        assert found[0].id == hit.id
        assert found[0].similarity == pytest.approx(1.0)
        assert found.query == ""
    with pytest.raises(ValidationError, match="or a query_vector alone"):
        store.recall()
    with pytest.raises(ValidationError, match="query: expected a question"):
        store.recall(" ", query_vector=hit.embedding)


class Cursor:
    """Rows of a database whose connection is lost."""

    def __init__(self) -> None:
        self.rows = iter(["The gate of the pier is blue."])

    def __iter__(self) -> Cursor:
        return self

    def __next__(self) -> str:
        for row in self.rows:
            return row
        raise ConnectionError("lost")


def _lost() -> Iterator[str]:
    yield "The gate of the pier is blue."
    raise ConnectionError("lost")


@pytest.mark.parametrize("items", [_lost, Cursor, lambda: (text for text in Cursor())])
def test_an_error_of_the_source_of_items_passes_on(
    store: vestig.Vestig, items: Callable[[], Any]
) -> None:
    with pytest.raises(ConnectionError, match=r"^lost$"):
        store.commit_many(items())
