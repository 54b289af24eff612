"""`search_facts`: two voters for each query, fused; thresholds; words written almost alike."""

from __future__ import annotations

from typing import Any

import pytest
from conversations import opened

import vestig
from vestig import ValidationError
from vestig.testing import FailingEmbedder, HashingEmbedder, ScriptedEmbedder

SIMILARITIES = (0.91, 0.83, 0.77, 0.62, 0.58, 0.51, 0.44, 0.41, 0.36, 0.20)


def at_cosine(value: float) -> list[float]:
    return [value, (1 - value * value) ** 0.5, 0.0]


def graded(**options: Any) -> vestig.Vestig:
    """Ten memories at known cosines to the query `asked`, with no word of it."""
    texts = [f"Sentence number {n} of ten" for n in range(len(SIMILARITIES))]
    script = dict(zip(texts, map(at_cosine, SIMILARITIES), strict=True))
    embedder = ScriptedEmbedder({**script, "asked": [1.0, 0.0, 0.0]}, default=[0.0, 0.0, 1.0])
    config = {"hygiene": {"near_duplicate": {"enabled": False}}}
    store = vestig.open(":memory:", embedder=embedder, config=config | options.pop("config", {}))
    for text in texts:
        store.commit(text)
    return store


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("queries", []),
        ("queries", ["q"] * 21),
        ("queries", [" "]),
        ("queries", {"a": 1}),
        ("limit", 0),
        ("limit", 501),
        ("limit", True),
        ("fusion", "x"),
        ("similarity_threshold", 1.1),
        ("similarity_threshold", True),
        ("multi_query_boost", -0.1),
        ("adaptive_threshold", 1),
        ("where", {"tagz": "a"}),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_refused(field: str, value: object) -> None:
    given: dict[str, Any] = {"queries": ["key"], field: value}
    with opened(()) as store, pytest.raises(ValidationError):
        store.search_facts(given.pop("queries"), **given)


def test_the_adaptive_threshold_leaves_four_fifths() -> None:
    with graded() as store:
        found = store.search_facts(["asked"], 10)
        assert found.threshold == 0.4
        assert [round(hit.similarity or 0, 2) for hit in found] == list(SIMILARITIES[:8])
        assert found[0].fusion_score == 1 / 61
        assert found[0].keyword_score is None


def test_thresholds_that_are_given() -> None:
    with graded() as store:
        counts = {
            given: len(store.search_facts(["asked"], 10, **dict(options)))
            for given, *options in (
                ("0.5", ("similarity_threshold", 0.5)),
                ("fixed", ("adaptive_threshold", False)),
                ("0", ("similarity_threshold", 0)),
            )
        }
    assert counts == {"0.5": 6, "fixed": 4, "0": 10}


def test_the_least_adaptive_threshold_is_configured() -> None:
    with graded(config={"retrieve": {"adaptive_min": 0.6}}) as store:
        found = store.search_facts(["asked"], 10)
    assert found.threshold == 0.6
    assert len(found) == 4


def test_values_of_each_fusion() -> None:
    # cosines .8, .5 and lexical scores by hand of one query, .6 of another
    texts = ["The amber lantern", "A copper kettle", "Some quiet harbour"]
    script = {
        texts[0]: at_cosine(0.8),
        texts[1]: at_cosine(0.5),
        texts[2]: at_cosine(0.4),
        "amber lantern": [1.0, 0.0, 0.0],
        "something else": [1.0, 0.0, 0.0],
    }
    with vestig.open(
        ":memory:", embedder=ScriptedEmbedder(script, default=[0.0, 0.0, 1.0])
    ) as store:
        for text in texts:
            store.commit(text)

        def best(fusion: str, **options: Any) -> Any:
            queries = ["amber lantern", "something else"]
            found = store.search_facts(queries, fusion=fusion, similarity_threshold=0.45, **options)
            assert [hit.memory.content for hit in found] == texts[:2]
            return found[0]

        hit = best("rrf")
        words = hit.keyword_score
        assert hit.similarity == pytest.approx(0.8)
        assert words > 0.5
        assert hit.fusion_score == 3 / 61
        assert hit.appeared_in_query_count == 2
        assert [(one.voter, one.rank) for one in hit.query_scores] == [
            ("vector", 1),
            ("keyword", 1),
            ("vector", 1),
        ]
        assert best("score_sum").fusion_score == pytest.approx(1.6 + words)
        assert best("score_max").fusion_score == pytest.approx(max(words, 0.8))
        boosted = best("score_max", multi_query_boost=0.5).fusion_score
        assert boosted == pytest.approx(2 * max(words, 0.8))


def test_words_vote_without_meaning() -> None:
    with opened() as store:
        store.commit("Ticket JIRA-9988 is about Python scripts in the deployment folder")
        store.commit("Ticket JIRA-9989 is about something else entirely")
        store._session.embedder = FailingEmbedder("error", dimensions=HashingEmbedder().dimensions)

        def found(query: str) -> list[str]:
            result = store.search_facts([query])
            assert [one.code for one in result.degraded] == ["partial_backend"]
            assert result.threshold is None
            assert all(hit.similarity is None for hit in result)
            return [hit.memory.content[:16] for hit in result]

        assert found("JIRA-9988")[0] == "Ticket JIRA-9988"
        assert found("Pyton") == ["Ticket JIRA-9988"]
        # a word that is there stands for itself, a short one for nothing else
        assert found("scripts") == ["Ticket JIRA-9988"]
        assert found("scr") == []
        assert found("the and of") == []
        assert found("JIRA-9977") != []
        assert found("XIRA9988") == []


def test_equal_texts_are_one_hit_and_the_filter_holds() -> None:
    with opened(()) as store:
        for number in range(3):
            store.commit("I fed the grey cat", author="Ada", session_id="s", sequence=number)
        store.commit("The grey cat sleeps", scope="other")
        found = store.search_facts(["grey cat"], similarity_threshold=0)
        assert sorted(hit.memory.content for hit in found) == [
            "I fed the grey cat",
            "The grey cat sleeps",
        ]
        inside = store.search_facts(["grey cat", "sleeps"], where={"scope": "other"})
        assert [hit.memory.content for hit in inside] == ["The grey cat sleeps"]
        near = store.search_facts(["grey cat"], where={"min_similarity": 0.999})
        assert len(near) == 0
