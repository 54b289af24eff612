"""Answers of several queries and rounds: their order, the facts in them, and what is news."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from vestig.answers import RecallHit
from vestig.retrieve.merge import (
    FactPool,
    Gain,
    coverage_of,
    merged_order,
    news_of,
    streak_after,
)
from vestig.retrieve.queries import FacetForms, facet_forms, synonyms
from vestig.retrieve.searches import Answer
from vestig.retrieve.values import Fact, FactKey, PlannedQuery
from vestig.types import Evidence

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def hit(id: str, score: float = 0.5, similarity: float | None = None) -> RecallHit:
    (made,) = RecallHit.of_fields(
        [{"_id": id, "_content": id, "score": score, "final": score, "similarity": similarity}]
    )
    return made


def answer(*hits: RecallHit, focus: bool = False) -> Answer:
    planned = PlannedQuery(text="asked", source="focus" if focus else "keyword")
    result: Any = SimpleNamespace(results=hits)
    query: Any = None
    return Answer(planned=planned, query=query, result=result)


def focus(ids: str) -> Answer:
    """The focus, with hits of these ids in order."""
    return answer(*(hit(id, 0.9 - at / 100) for at, id in enumerate(ids)), focus=True)


def fact_key(name: str) -> FactKey:
    return ("", "MEMORY", name, None)


def seen(key: str | FactKey, number: int = 1, **fields: Any) -> Fact:
    """A memory that states the fact of this key, one of several."""
    whole = fact_key(key) if isinstance(key, str) else key
    values: dict[str, Any] = {
        "key": whole,
        "id": "".join(part or "" for part in whole) + ("" if number == 1 else str(number)),
        "content": "",
        "t_valid_us": 0,
        "claim": None,
        "evidence": (),
        "evidence_count": 0,
        "keywords": (),
        "entities": (),
    }
    return Fact(**(values | fields))


def said(snippet: str, **fields: Any) -> Evidence:
    values: dict[str, Any] = {"source_id": None, "timestamp": None, "author": None}
    return Evidence(**(values | fields), snippet=snippet)


def rounds(*found: Sequence[Fact]) -> tuple[FactPool, list[Gain]]:
    """What each round gains, of one query each."""
    pool = FactPool()
    gains = []
    for number, facts in enumerate(found, start=1):
        hits = answer(*(hit(fact.id) for fact in facts))
        gains.append(pool.add(number, [hits], {fact.id: fact for fact in facts}))
    return pool, gains


def forms(*facets: str) -> FacetForms:
    return facet_forms(facets, synonyms({}))


def test_repeats_count_once_and_types_of_relationships_separate() -> None:
    knows: FactKey = ("ada", "RELATION", "omar", "KNOWS")
    likes: FactKey = ("ada", "RELATION", "omar", "LIKES")
    missing: FactKey = ("ada", "ROLE", None, None)
    facts = [seen(key) for key in (knows, likes, missing, knows)]
    pool, (gain,) = rounds(facts)
    assert gain.new_keys == {knows, likes, missing}
    assert set(pool.merged) == {knows, likes, missing}


def test_one_fact_in_five_rounds_is_one_fact() -> None:
    others = [seen(f"other{n}") for n in range(3)]
    pool, gains = rounds([seen("a"), *others], *([[seen("a")]] * 4))
    assert pool.duplicates == 4
    assert [len(gain.new_keys) for gain in gains] == [4, 0, 0, 0, 0]
    assert len(pool.merged) == 4
    assert pool.merged[fact_key("a")].queries == {0, 1, 2, 3, 4}
    assert pool.merged[fact_key("a")].iteration == 1


def test_five_pieces_of_evidence_stay() -> None:
    first = [said(f"text {n}", timestamp=NOW - timedelta(days=n)) for n in range(4)]
    again = [said("text 0", timestamp=NOW), *(said(f"by Ada {n}", author="Ada") for n in range(3))]
    pool, gains = rounds(
        [seen("a", evidence=tuple(first))],
        [seen("a", number=2, evidence=tuple(again))],
        [seen("a", number=2)],
    )
    (one,) = pool.merged.values()
    shown = one.shown("MEMORYa2")
    assert [gain.new_evidence for gain in gains] == [4, 3, 0]
    assert shown.evidence_count == 7
    snippets = [piece.snippet for piece in shown.evidence]
    assert len(snippets) == 5
    assert set(snippets[:3]) == {"by Ada 0", "by Ada 1", "by Ada 2"}
    assert snippets[3:] == ["text 0", "text 1"]


def test_the_largest_similarity_stays_and_the_best_ten_of_a_query_match_it() -> None:
    facts = {one.id: one for one in (seen(f"{n:02}") for n in range(12))}
    ids = list(facts)
    pool = FactPool()
    first = answer(*(hit(id, similarity=0.4) for id in ids))
    second = answer(hit(ids[11], similarity=0.7), hit(ids[0], similarity=0.1), hit(ids[1]))
    pool.add(1, [first, second], facts)
    last, best = pool.merged[fact_key("11")], pool.merged[fact_key("00")]
    assert (last.similarity, last.queries) == (0.7, {1})
    assert (best.similarity, best.queries) == (0.4, {0, 1})


def test_a_memory_that_is_gone_is_no_fact() -> None:
    pool = FactPool()
    gain = pool.add(1, [answer(hit("MEMORYa"), hit("MEMORYb"))], {"MEMORYb": seen("b")})
    assert gain.new_keys == {fact_key("b")}
    assert list(merged_order([focus("ab")], pool.key_of)) == []
    assert pool.key_of(hit("MEMORYa")) is None


def order(*answers: Answer) -> str:
    return "".join(merged_order(answers, lambda one: one.id))


def test_the_first_five_are_the_focus_and_then_each_of_others_stands_before_two_of_it() -> None:
    others = [answer(hit("x", 0.2), hit("c", 0.9)), answer(hit("y", 0.8), hit("h", 0.7))]
    assert order(focus("abcdefghi"), *others) == "abcdeyfghix"
    # wherever the focus stands among the queries
    assert order(*others, focus("abcdefghi")) == "abcdeyfghix"
    assert order(*others) == "cyhx"
    assert order(focus("ab"), answer(hit("x"))) == "abx"


def test_equal_scores_of_other_queries_are_ordered_by_id() -> None:
    assert order(answer(hit("b"), hit("a")), answer(hit("c"))) == "abc"


def test_each_key_has_the_hit_by_which_it_has_its_place() -> None:
    own, other = hit("a", 0.1), hit("a", 0.9)
    better, worse = hit("b", 0.6), hit("b", 0.5)
    found = merged_order(
        [answer(other, worse, hit("c")), answer(better), answer(own, focus=True)],
        lambda one: None if one.id == "c" else one.id.upper(),
    )
    assert list(found) == ["A", "B"]
    assert found["A"] is own
    assert found["B"] is better
    last = hit("c", 0.8)
    assert merged_order([focus("abdefc"), answer(last)], lambda one: one.id)["c"] is last


def test_only_relevant_facts_are_news() -> None:
    facts = [
        seen("near"),
        seen("far"),
        seen("named", keywords=("harbour",)),
        seen("last"),
    ]
    above = {"MEMORYnear", "MEMORYlast"}
    pool, (gain,) = rounds(facts)
    best = list(pool.merged.values())
    coverage = coverage_of(pool.merged, forms("harbour", "ship"), above, {})
    assert coverage.score == 0.0

    def news(before: frozenset[str], count: int) -> set[str | None]:
        found = news_of(gain, best, coverage, before, max_facts=count, above=above)
        assert found.facets == {"harbour"}
        return {key[2] for key in found.keys}

    assert news(frozenset(), 3) == {"near", "named"}
    assert news(frozenset(("harbour",)), 3) == {"near"}
    assert news(frozenset(), 4) == {"near", "named", "last"}


def test_coverage_is_the_share_of_facets_of_facts_above_the_cut() -> None:
    pool, _ = rounds(
        [
            seen("a", keywords=("harbours",)),
            seen("b", entities=("The Ship",)),
            seen("c", keywords=("engineer",)),
        ]
    )

    above = {"MEMORYa", "MEMORYb"}

    def score(*facets: str) -> float:
        return coverage_of(pool.merged, forms(*facets), above, {}).score

    assert score("harbour", "ship", "developer", "moon") == 0.5
    assert score() == 1.0
    assert coverage_of({}, {}, above, {}).score == 0.0


def test_the_streak_counts_and_starts_again() -> None:
    streak = 0
    for new, wanted in ((0, 1), (0, 2), (3, 0), (0, 1)):
        streak = streak_after(streak, new, 1)
        assert streak == wanted
    assert streak_after(5, 0, 0) == 0
