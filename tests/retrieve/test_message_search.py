"""Messages of an answer: which are searched, which are left out, which repeat others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

import vestig
from vestig.answers import ScoreFormula
from vestig.retrieve.fact_search import Focus, QueryResults
from vestig.retrieve.messages import (
    Blacklist,
    FoundMessage,
    TurnSearch,
    best_messages,
    by_relevance,
    distinct_messages,
    message_blacklist,
    message_queries,
)
from vestig.retrieve.values import Message
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.types import Memory

NONE = Blacklist(())


@pytest.fixture(scope="module")
def turn() -> Memory:
    with vestig.open(":memory:", clock=FrozenClock(), embedder=HashingEmbedder(16)) as store:
        store.commit("a first remark of the keeper", author="Ada")
        return store.list().memories[0]


Make = Callable[..., FoundMessage]


@pytest.fixture
def make(turn: Memory) -> Make:
    def one(
        number: int, content: str, score: float = 0.5, author: str | None = "Ada"
    ) -> FoundMessage:
        when = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=number)
        changed = msgspec.structs.replace(
            turn, id=f"mem_{number:02}", content=content, author=author, t_valid=when
        )
        return FoundMessage(memory=changed, relevance=score)

    return one


def ids(found: Sequence[FoundMessage]) -> list[str]:
    return [one.memory.id for one in found]


def chosen(
    found: Sequence[FoundMessage], limit: int, left_out: Collection[str] = ()
) -> list[FoundMessage]:
    return distinct_messages([found], limit, left_out=left_out, blacklist=NONE)


def test_the_best_come_first_then_the_earlier(make: Make) -> None:
    found = [make(3, "c", 0.2), make(2, "b", 0.9), make(1, "a", 0.2)]
    best = chosen(found, 5)
    assert ids(best) == ["mem_02", "mem_01", "mem_03"]


def test_repeats_are_refilled_and_do_not_come_back(make: Make) -> None:
    repeats = [
        make(number, "The  SAME remark" if number % 2 else "the same remark", 0.9 - number / 100)
        for number in range(20)
    ]
    others = [make(20 + number, f"remark {number}", 0.1) for number in range(4)]
    elsewhere = make(30, "the same remark", 0.05, author="Bob")
    found = [*repeats, *others, elsewhere]
    best = chosen(found, 5)
    assert ids(best) == ["mem_00", "mem_20", "mem_21", "mem_22", "mem_23"]
    six = chosen(found, 9)
    assert ids(six) == [*ids(best), "mem_30"]


def test_more_is_asked_for_when_too_much_falls_away(make: Make) -> None:
    stored = [make(n, "ok" if n < 90 else f"remark {n}", 0.9 - n / 1000) for n in range(99)]
    asked: list[int] = []

    def search(per_query: int) -> tuple[list[FoundMessage], int]:
        asked.append(per_query)
        found = stored[:per_query]
        listed = Blacklist(["ok"])
        return distinct_messages([found], 3, left_out=("mem_90",), blacklist=listed), len(found)

    best = best_messages(search, 3)
    assert ids(best) == ["mem_91", "mem_92", "mem_93"]
    assert asked == [50, 100]


def test_no_page_is_read_beyond_the_one_that_fills_the_answer(make: Make) -> None:
    read: list[int] = []

    def pages() -> Iterator[list[FoundMessage]]:
        for number in range(3):
            read.append(number)
            first = make(2 * number + 1, f"remark {number}", 0.9 - number / 10)
            yield [make(2 * number, "a remark of all", 0.9 - number / 10), first]

    best = distinct_messages(pages(), 3, left_out=(), blacklist=NONE)
    assert ids(best) == ["mem_00", "mem_01", "mem_03"]
    assert read == [0, 1]


def test_equally_relevant_turns_stand_on_one_page() -> None:
    relevance = {f"mem_{n:02}": 0.9 if n < 5 else 0.1 - n / 1000 for n in range(9)}
    pages = [set(page) for page in by_relevance(relevance, 2)]
    assert pages == [
        {"mem_00", "mem_01", "mem_02", "mem_03", "mem_04"},
        {"mem_05", "mem_06"},
        {"mem_07", "mem_08"},
    ]


def test_what_is_returned_as_a_fact_is_no_message(make: Make) -> None:
    found = [make(1, "a remark"), make(2, "another")]
    best = chosen(found, 5, {"mem_01"})
    assert ids(best) == ["mem_02"]


@pytest.mark.parametrize(
    "text", ["Thanks!", "okayyy", "👍🏽", "LOL", "...", "Got it.", "you’re welcome"]
)
def test_trivial_messages(text: str) -> None:
    listed, warning = message_blacklist(None)
    assert warning is None
    assert listed.covers(text)


@pytest.mark.parametrize(
    "text", ["ok by noon", "42", "thanks for the key of the shed", "Oslo", "東京"]
)
def test_messages_that_say_something(text: str) -> None:
    assert not message_blacklist(None)[0].covers(text)


def test_a_file_replaces_the_list(tmp_path: Path) -> None:
    file = tmp_path / "terms.txt"
    file.write_text("# own\nsplendid\n🎉\n", encoding="utf-8")
    listed, warning = message_blacklist(str(file))
    assert warning is None
    covered = [listed.covers(text) for text in ("Splendid!", "🎉", "thanks", "👍")]
    assert covered == [True, True, False, False]


def test_a_file_that_cannot_be_read_is_an_empty_list_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "long.txt").write_bytes(b"ok\n" * 400_000)
    for path in (tmp_path / "gone.txt", tmp_path, tmp_path / "bytes.txt", tmp_path / "long.txt"):
        listed, warning = message_blacklist(str(path))
        assert not listed.covers("thanks")
        assert "retrieve.message_blacklist" in (warning or "")


def test_messages_are_searched_with_what_found_facts_else_with_the_end() -> None:
    messages = [Message(content=text) for text in ("one", "two", "three " * 200, "four?")]
    assert message_queries(["a", "b"], messages) == ["a", "b"]
    (query,) = message_queries([], messages)
    assert query == ("two " + "three " * 200 + " four?")[-500:].strip()
    assert message_queries([], [Message(content=" ")]) == []


def test_turns_are_searched_with_the_queries_that_found_what_recall_would_keep() -> None:
    line = ScoreFormula(confidence=1.0, bias=0.0, level=1.0, behind=0.0, best=0.0)
    queries: Any = ("the focus", "found little", "found a fact", "found nothing")
    found = QueryResults(
        seq=1,
        queries=queries,
        best=(("a", "b"), ("c",), ("c", "b"), ()),
        levels={0: {"a": 3.0, "b": 2.0, "c": -9.0}},
        focus=Focus(confidence=1.0, line=line, least=0.5),
    )
    assert found.above_cut() == {"a", "b"}
    assert TurnSearch._successful(found) == ("the focus", "found a fact")
    assert TurnSearch._successful(None) == ()
    assert TurnSearch._successful(QueryResults(seq=1, queries=queries[:1], best=((),))) == ()
