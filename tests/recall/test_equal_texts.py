"""Turns that say the same: recall and search return a text once."""

from __future__ import annotations

import random
from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig.answers import ContextBlock, RecallResult
from vestig.memories import read
from vestig.testing import FrozenClock

YES = "Yes, please do that for me."
OTHER = "Yes, the office in Oslo is open on Mondays"
QUERY = "yes please"


def short(id: str) -> str:
    """The id as a context block prints it."""
    return id.partition("_")[2][:8]


def said(store: vestig.Vestig, session: str | None, place: int = 1, **fields: Any) -> str:
    given: dict[str, Any] = {"author": "Ann", "session_id": session, "sequence": place, **fields}
    return str(store.commit(given.pop("content", YES), **given).memory_id)


def turns(store: vestig.Vestig, clock: FrozenClock) -> list[str]:
    """One text as turn of three sessions, and another text."""
    ids = []
    for session in ("s1", "s2", "s3"):
        ids.append(said(store, session))
        clock.move(days=1)
    return [*ids, said(store, "s1", 2, content=OTHER)]


def found(result: RecallResult) -> list[str]:
    return [hit.id for hit in result]


def test_a_text_of_three_sessions_is_one_result(store: vestig.Vestig, clock: FrozenClock) -> None:
    *ids, other = turns(store, clock)
    result = store.recall(QUERY, limit=2)
    assert len(result) == 2
    assert result[0].id in ids
    assert result[1].id == other
    rest = [id for id in ids if id != result[0].id]
    assert [repeat.id for repeat in result[0].repeats] == rest
    first = result[0].repeats[0]
    memory = store.show(first.id).memory
    assert (first.session_id, first.sequence, first.t_valid) == (
        memory.session_id, 1, memory.t_valid,
    )  # fmt: skip
    assert (result[1].repeats, result[0].repeats_more) == ((), 0)
    assert (result.counts.folded, result.counts.returned, result.counts.eligible) == (2, 2, 4)
    plain = result.to_dict(explain=True)["results"]
    assert [set(repeat) for repeat in plain[0]["repeats"]] == [
        {"id", "session_id", "sequence", "t_valid"}
    ] * 2
    assert "repeats" not in plain[1]
    assert store.count() == len(store.list()) == 4
    assert found(store.recall(QUERY, limit=10)) == found(result)


def test_filters_come_before_folding(store: vestig.Vestig, clock: FrozenClock) -> None:
    *ids, _ = turns(store, clock)
    for place, session in enumerate(("s1", "s2", "s3")):
        one = store.recall(QUERY, limit=1, session_ids=[session])
        assert (found(one), one[0].repeats, one.counts.folded) == ([ids[place]], (), 0)
    since = store.show(ids[1]).memory.t_valid
    later = store.recall(QUERY, limit=1, since=since)
    assert {later[0].id, *(one.id for one in later[0].repeats)} == set(ids[1:])
    named = store.recall(QUERY, where={"ids": ids[:2]})
    assert len(named) == 1
    assert {named[0].id, named[0].repeats[0].id} == set(ids[:2])


@pytest.mark.parametrize("fields", [{"author": "Ben"}, {"author": None}, {"scope": "work"}])
def test_another_author_or_scope_is_another_text(
    store: vestig.Vestig, fields: dict[str, Any]
) -> None:
    first, second = said(store, "s1"), said(store, "s2", **fields)
    result = store.recall(QUERY)
    assert set(found(result)) == {first, second}
    assert result.counts.folded == 0


def test_expired_and_unexpired_are_two_texts(store: vestig.Vestig, clock: FrozenClock) -> None:
    ids = [said(store, session) for session in ("s1", "s2", "s3", "s4")]
    before = clock.move(days=1)
    clock.move(days=1)
    for id in ids[:2]:
        store.deprecate(id)
    result = store.recall(QUERY, where={"include_expired": True})
    assert len(result) == 2
    groups = {frozenset((hit.id, *(one.id for one in hit.repeats))) for hit in result}
    assert groups == {frozenset(ids[:2]), frozenset(ids[2:])}
    then = store.recall(QUERY, known_at=before)
    assert len(then) == 1
    assert then.counts.folded == 3


def test_search_has_the_same_rule_at_every_time(store: vestig.Vestig, clock: FrozenClock) -> None:
    """What is expired is judged at the time that is asked for."""
    ids = [said(store, session) for session in ("s1", "s2", "s3", "s4")]
    between = clock.move(days=1)
    clock.move(days=1)
    store.deprecate(ids[0])
    later = clock.move(days=1)
    clock.move(days=1)
    store.deprecate(ids[1])
    clock.move(days=1)
    wanted = {
        between: [set(ids)], later: [{ids[0]}, set(ids[1:])], None: [set(ids[:2]), set(ids[2:])]
    }  # fmt: skip
    for at, groups in wanted.items():
        where = {"include_expired": True}
        for result in (
            store.recall(QUERY, known_at=at, where=where),
            store.graph.search(QUERY, type="vector", known_at=at, where=where),
        ):
            shown = [{hit.id, *(one.id for one in hit.repeats)} for hit in result]
            assert sorted(map(sorted, shown)) == sorted(map(sorted, groups)), at


def test_a_note_and_turns_of_its_text_are_one_text(store: vestig.Vestig) -> None:
    note, turn = said(store, None), said(store, "s1")
    result = store.recall(QUERY)
    assert len(result) == 1
    assert {result[0].id, result[0].repeats[0].id} == {note, turn}
    assert {result[0].memory.session_id, result[0].repeats[0].session_id} == {None, "s1"}


def test_an_expected_memory_that_is_folded(store: vestig.Vestig, clock: FrozenClock) -> None:
    *ids, other = turns(store, clock)
    shown = store.recall(QUERY, limit=1)[0].id
    hidden = [id for id in ids if id != shown]
    result = store.recall(QUERY, limit=1, expect=[*ids, other])
    assert isinstance(result.why_not, tuple)
    entries = {entry.id: entry for entry in result.why_not}
    assert set(entries) == {*hidden, other}
    for id in hidden:
        entry = entries[id]
        assert (entry.stage, entry.rank, entry.runs) == ("folded", 1, 0)
        assert entry.score is not None
        assert entry.change is not None
        assert (entry.change.kind, entry.change.after, entry.change.rank) == ("folded", shown, 1)
    assert entries[other].stage == "ranked_below"
    change = entries[other].change
    assert change is not None
    filtered = store.recall(QUERY, limit=1, session_ids=["s1"], expect=[ids[1]])
    assert isinstance(filtered.why_not, tuple)
    assert [entry.stage for entry in filtered.why_not] == ["filtered"]


def test_limit_distinct_texts_come_back_behind_many_repeats(opener: Opener) -> None:
    store = opener()
    store.commit_many(
        [
            {"content": YES, "session_id": f"s{place}", "sequence": place, "author": "Ann"}
            for place in range(300)
        ]
    )
    texts = [f"Yes, room {place} is free please" for place in range(6)]
    store.commit_many([{"content": text} for text in texts])
    for limit in (1, 3, 7, 20):
        result = store.recall(YES, limit=limit)
        assert len({hit.content for hit in result}) == len(result) == min(limit, 7)
        hit = next(hit for hit in result if hit.content == YES)
        assert (len(hit.repeats), hit.repeats_more) == (50, 249)
        assert result.counts.folded == 299
        assert hit.to_dict(explain=True)["repeats_more"] == 249
    assert len(store.recall(YES, limit=3, config={"recall.min_score": 0.0})) == 3


@pytest.mark.slow
def test_folding_equals_its_definition(opener: Opener) -> None:
    rng = random.Random(7)
    words = ["yes", "no", "please", "office", "Oslo", "room", "maybe"]
    items = [
        {
            "content": " ".join(rng.choices(words, k=2)) + " and that is all",
            "session_id": f"s{rng.randrange(6)}",
            "sequence": place,
            "author": rng.choice(["Ann", "Ben", None]),
            "scope": rng.choice([None, "work"]),
        }
        for place in range(200)
    ]
    store = opener(config={"walk": {"enabled": False}, "ranking": {"pool": "all"}})
    store.commit_many(items)
    expired = [memory.id for memory in store.list(limit=200) if rng.random() < 0.2]
    for id in expired:
        store.deprecate(id)
    every = {memory.id: memory for memory in store.list(limit=200, where={"include_expired": True})}
    where = {"include_expired": True, "session_ids": ["s0", "s1", "s2"]}
    eligible = [id for id, one in every.items() if one.session_id in where["session_ids"]]

    def key(id: str) -> tuple[object, ...]:
        memory = every[id]
        return memory.scope, memory.author, memory.content_hash, memory.t_expired is None

    for query in ("yes please", "the office in Oslo"):
        best: dict[tuple[object, ...], list[tuple[float, float, str]]] = {}
        for id in eligible:
            (hit,) = store.recall(query, limit=1, where={**where, "ids": [id]})
            best.setdefault(key(id), []).append((-hit.score, -(hit.similarity or 0.0), id))
        for limit in (1, 5, 40):
            result = store.recall(query, limit=limit, where=where)
            assert len(result) == min(limit, len(best))
            keys = [key(hit.id) for hit in result]
            assert len(set(keys)) == len(keys)
            for hit in result:
                group = {id for _, _, id in best[key(hit.id)]}
                assert {hit.id, *(one.id for one in hit.repeats)} == group
                times = [(every[one.id].t_valid, every[one.id].seq) for one in hit.repeats]
                assert times == sorted(times)


def test_confidence_is_that_of_distinct_texts(opener: Opener) -> None:
    once, often = opener("once"), opener("often")
    texts = [f"Yes, room {place} is free please" for place in range(30)]
    for store, count in ((once, 1), (often, 40)):
        for place in range(count):
            said(store, f"s{place}")
        store.commit_many([{"content": text} for text in texts])
    result = often.recall("yes please do that for me", limit=2)
    assert result.confidence is not None
    top = [
        (hit.content, hit.similarity) for hit in often.recall("yes please do that for me", limit=20)
    ]
    assert len({content for content, _ in top}) == 20
    expected = once.recall("yes please do that for me", limit=2).confidence
    assert result.confidence == pytest.approx(expected, abs=0.05)


def test_layouts_count_the_repeats(store: vestig.Vestig, clock: FrozenClock) -> None:
    turns(store, clock)
    from vestig.recall.layouts import render

    shown = render(store.recall(QUERY, limit=2), "text")
    assert shown.count(", repeats=2)") == 1


@pytest.mark.parametrize("type", ["vector", "hybrid"])
def test_search_returns_a_text_once(store: vestig.Vestig, clock: FrozenClock, type: str) -> None:
    *ids, other = turns(store, clock)
    result = store.graph.search(QUERY, type=type, limit=2, where={"kinds": "MEMORY"})
    assert {result[0].id, result[1].id} > {other}
    (hit,) = [hit for hit in result if hit.id != other]
    assert [hit.id, *(one.id for one in hit.repeats)] in [
        [id, *(other_id for other_id in ids if other_id != id)] for id in ids
    ]
    one = store.graph.search(QUERY, type=type, limit=9, session_ids=["s2"])
    assert [(hit.id, hit.repeats) for hit in one if hit.kind == "memory"] == [(ids[1], ())]


TALKS = {
    "s1": ("Shall I book the flight to Oslo for you?", YES, "Done, a mail comes about it."),
    "s2": ("Shall I cancel the hotel room in Bergen?", YES, "Done, a mail comes about it."),
}


def talks(store: vestig.Vestig, clock: FrozenClock) -> dict[str, list[str]]:
    """Two conversations with one answer, a day apart."""
    ids: dict[str, list[str]] = {}
    for session, texts in TALKS.items():
        ids[session] = [
            said(store, session, place, content=text, author="Ann" if place == 1 else "Ben")
            for place, text in enumerate(texts)
        ]
        clock.move(days=1)
    return ids


def test_an_answer_said_before_is_found_by_its_session_and_shown_as_the_answer_there(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    ids = talks(store, clock)
    asked, yes, _ = ids["s2"]
    assert yes in found(store.recall(YES, session_ids=["s2"]))
    since = store.show(yes).memory.t_valid
    assert found(store.recall(YES, limit=1, since=since)) == [yes]
    result = store.recall(TALKS["s2"][0], limit=1, context=True)
    assert found(result) == [yes], "what answers the question stands in its place"
    for session, (question, _, _) in TALKS.items():
        first, second = session, "s1" if session == "s2" else "s2"
        hit = next(hit for hit in store.recall(question) if hit.content == YES)
        assert (hit.id, hit.repeats[0].id) == (ids[first][1], ids[second][1])
        assert hit.reason.answers == ids[first][0]
    block = result.context
    assert isinstance(block, ContextBlock)
    assert asked in block.neighbours
    assert block.text.index(short(asked)) < block.text.index(short(yes))
    assert "## Session s1" not in block.text


def test_an_answer_beside_a_result_stands_in_its_own_session(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    ids = talks(store, clock)
    result = store.recall("mail comes, yes please do that", limit=4, context=True)
    block = result.context
    assert isinstance(block, ContextBlock)
    shown = [session for session, (_, yes, _) in ids.items() if short(yes) in block.text]
    assert shown == ["s1", "s2"]
    assert block.folded == {}
    first, second = block.text.split("## Session s2")
    assert short(ids["s1"][1]) in first
    assert short(ids["s2"][1]) in second


def test_a_row_number_that_is_no_longer_that_of_a_memory_does_no_harm(
    store: vestig.Vestig,
) -> None:
    """One that came back under another number, after it was forgotten by another process."""
    for session in ("s1", "s2"):
        said(store, session)
    store.commit("The pump needs oil.")
    expected = [(hit.id, hit.content) for hit in store.recall(QUERY)]
    known = store._session.cache(read._TextRows).by_id
    assert len(known) >= 2
    rows = [row for row, _ in known.values()]
    for id, row in zip(list(known), [*rows[1:], 1_000], strict=True):
        known[id] = (row, known[id][1])
    assert [(hit.id, hit.content) for hit in store.recall(QUERY)] == expected
