"""Facts over several rounds: merged by key, ranked over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from conversations import opened

from vestig.retrieve.calls import Deadline
from vestig.retrieve.queries import FacetForms, facet_forms, synonyms
from vestig.retrieve.rank import (
    Coverage,
    FactPool,
    Gain,
    RankedFact,
    RankWeights,
    Sighting,
    coverage_of,
    news_of,
    ranked,
    relevances,
    streak_after,
)
from vestig.retrieve.values import Fact, FactKey
from vestig.times import to_us
from vestig.types import Evidence

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def memory() -> Any:
    with opened() as store:
        return store.list()[0]


def seen(memory: Any, key: str | FactKey, number: int = 1, **fields: Any) -> Fact:
    """A memory that states the fact of this key, one of several."""
    whole: FactKey = ("", "MEMORY", key, None) if isinstance(key, str) else key
    name = "".join(part or "" for part in whole) + ("" if number == 1 else str(number))
    values: dict[str, Any] = {
        "key": whole,
        "id": f"mem_{name}",
        "content": memory.content,
        "t_valid_us": to_us(memory.t_valid),
        "claim": None,
        "evidence": (),
        "evidence_count": 0,
        "keywords": (),
        "entities": (),
        "similarity": 0.5,
    }
    return Fact(**(values | fields))


def said(snippet: str, **fields: Any) -> Evidence:
    values: dict[str, Any] = {"source_id": None, "timestamp": None, "author": None}
    return Evidence(**(values | fields), snippet=snippet)


def rounds(*found: Sequence[Fact]) -> tuple[FactPool, list[Gain]]:
    pool = FactPool()
    gains = [
        pool.add(number, [Sighting(fact, frozenset((number,))) for fact in facts])
        for number, facts in enumerate(found, start=1)
    ]
    pool.compare(
        {
            fact.id: fact.similarity
            for facts in found
            for fact in facts
            if fact.similarity is not None
        }
    )
    return pool, gains


def forms(*facets: str) -> FacetForms:
    return facet_forms(facets, synonyms({}))


def test_repeats_count_once_and_types_of_relationships_separate(memory: Any) -> None:
    knows: FactKey = ("ada", "RELATION", "omar", "KNOWS")
    likes: FactKey = ("ada", "RELATION", "omar", "LIKES")
    missing: FactKey = ("ada", "ROLE", None, None)
    facts = [seen(memory, key) for key in (knows, likes, missing, knows)]
    pool, (gain,) = rounds(facts)
    assert gain.new_keys == {knows, likes, missing}
    assert set(pool.merged) == {knows, likes, missing}


def test_one_fact_in_five_rounds_is_one_fact(memory: Any) -> None:
    others = [seen(memory, f"other{n}") for n in range(3)]
    pool, gains = rounds([seen(memory, "a"), *others], *([[seen(memory, "a")]] * 4))
    assert pool.duplicates == 4
    assert [len(gain.new_keys) for gain in gains] == [4, 0, 0, 0, 0]
    assert len(pool.merged) == 4
    assert pool.merged["", "MEMORY", "a", None].queries == {1, 2, 3, 4, 5}
    assert pool.merged["", "MEMORY", "a", None].iteration == 1


def test_the_best_similarity_and_five_pieces_of_evidence_stay(memory: Any) -> None:
    first = [said(f"text {n}", timestamp=NOW - timedelta(days=n)) for n in range(4)]
    again = [said("text 0", timestamp=NOW), *(said(f"by Ada {n}", author="Ada") for n in range(3))]
    pool, gains = rounds(
        [seen(memory, "a", similarity=0.4, evidence=tuple(first))],
        [seen(memory, "a", number=2, similarity=0.7, evidence=tuple(again))],
        [seen(memory, "a", number=2, similarity=0.7)],
    )
    (one,) = pool.merged.values()
    shown = one.shown({})
    assert one.similarity == 0.7 == shown.similarity
    assert [gain.new_evidence for gain in gains] == [4, 3, 0]
    assert shown.evidence_count == 7
    snippets = [piece.snippet for piece in shown.evidence]
    assert len(snippets) == 5
    assert set(snippets[:3]) == {"by Ada 0", "by Ada 1", "by Ada 2"}
    assert snippets[3:] == ["text 0", "text 1"]


def test_levels_add_the_mean_of_the_other_queries() -> None:
    rows = ({"a": 2.0, "b": 1.0}, {"a": 1.0, "b": 5.0}, {"a": 0.0, "b": 1.0})
    levels = dict(enumerate(rows))
    assert relevances(["a", "b"], levels, 0.5) == {"a": 2.25, "b": 2.5}
    assert relevances(["a", "b"], levels, 0.0) == {"a": 2.0, "b": 1.0}
    assert relevances(["a"], {0: {"a": 2.0}}, 0.5) == {"a": 2.0}


def order(pool: FactPool, level: dict[str, float], settings: RankWeights) -> list[RankedFact]:
    levels = {0: {f"mem_MEMORY{name}": value for name, value in level.items()}}
    return ranked(pool.merged, levels, settings, others=0.5, now_us=to_us(NOW), every_part=True)


def test_four_sources_beat_one_at_equal_relevance(memory: Any) -> None:
    sources = tuple(said("x", source_id=f"source_{n}") for n in range(4))
    facts = [seen(memory, "a", evidence=sources[:1]), seen(memory, "b", evidence=sources)]
    pool, _ = rounds(facts)
    weighed = RankWeights(relevance=0.6, novelty=0.15, recency=0.1, diversity=0.15)
    first, second = order(pool, {"a": 1.0, "b": 1.0}, weighed)
    assert first.merged.key[2] == "b"
    assert first.parts.relevance == second.parts.relevance == 1.0
    assert (first.parts.novelty, second.parts.novelty) == (1.0, 0.5)


def test_parts_of_the_rank(memory: Any) -> None:
    # what was said of it lately makes no fact newer than it is
    lately = said("x", timestamp=NOW)
    began = to_us(NOW - timedelta(days=30))
    pool, _ = rounds(
        [
            seen(memory, "a", keywords=("oslo", "office")),
            seen(memory, "b", evidence=(lately,), t_valid_us=began),
        ],
        [seen(memory, "c", keywords=("oslo",)), seen(memory, "b", t_valid_us=began)],
    )
    pool.merged["", "MEMORY", "b", None].queries.add(7)
    found = {
        one.merged.key[2]: one.parts
        for one in order(pool, {"a": 0.0, "b": 5.0, "c": 10.0}, RankWeights())
    }
    assert found["b"].relevance == 0.5
    assert found["b"].recency == pytest.approx(0.36787944)
    assert found["b"].diversity == 1.0
    assert found["c"].novelty == 0.25
    assert found["a"].novelty == 0.5
    assert found["c"].composite == pytest.approx(0.85)


def test_facts_are_compared_no_longer_than_there_is_time(memory: Any) -> None:
    pool, _ = rounds([seen(memory, "a")], [seen(memory, "b")])
    levels = {0: {"mem_a": 1.0, "mem_b": 0.5}}
    settings = RankWeights(novelty=0.5)
    own: dict[str, Any] = {"others": 0.0, "now_us": 0}
    assert ranked(pool.merged, levels, settings, check=Deadline(60.0).check, **own)
    with pytest.raises(TimeoutError):
        ranked(pool.merged, levels, settings, check=Deadline(0.0).check, **own)


def test_equal_facts_are_ordered_by_key(memory: Any) -> None:
    pool, _ = rounds([seen(memory, name) for name in "cab"])
    found = order(pool, {"a": 1.0, "b": 1.0, "c": 1.0}, RankWeights())
    assert [one.merged.key[2] for one in found] == ["a", "b", "c"]


def test_only_relevant_facts_are_news(memory: Any) -> None:
    facts = [
        seen(memory, "near"),
        seen(memory, "far"),
        seen(memory, "named", keywords=("harbour",)),
        seen(memory, "last"),
    ]
    above = {"mem_MEMORYnear", "mem_MEMORYlast"}
    pool, (gain,) = rounds(facts)
    level = {"near": 4.0, "far": 3.0, "named": 2.0, "last": 1.0}
    best = order(pool, level, RankWeights())
    coverage = coverage_of(pool.merged, forms("harbour", "ship"), above, {})
    assert coverage.score == 0.0

    def news(before: frozenset[str], count: int) -> set[str | None]:
        found = news_of(gain, best, coverage, before, max_facts=count, above=above)
        assert found.facets == {"harbour"}
        return {key[2] for key in found.keys}

    assert news(frozenset(), 3) == {"near", "named"}
    assert news(frozenset(("harbour",)), 3) == {"near"}
    assert news(frozenset(), 4) == {"near", "named", "last"}


def test_coverage_is_the_share_of_facets_of_facts_above_the_cut(memory: Any) -> None:
    pool, _ = rounds(
        [
            seen(memory, "a", keywords=("harbours",)),
            seen(memory, "b", entities=("The Ship",)),
            seen(memory, "c", keywords=("engineer",)),
        ]
    )

    above = {"mem_MEMORYa", "mem_MEMORYb"}

    def score(*facets: str) -> float:
        found: Coverage = coverage_of(pool.merged, forms(*facets), above, {})
        return found.score

    assert score("harbour", "ship", "developer", "moon") == 0.5
    assert score() == 1.0
    assert coverage_of({}, {}, above, {}).score == 0.0


def test_the_streak_counts_and_starts_again() -> None:
    streak = 0
    for new, wanted in ((0, 1), (0, 2), (3, 0), (0, 1)):
        streak = streak_after(streak, new, 1)
        assert streak == wanted
    assert streak_after(5, 0, 0) == 0
