"""The newer of two statements comes first."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from calls import selecting
from scripted import Opener
from vestig.config.signals import SIGNALS
from vestig.testing import vector_at

WHERE = "where does Tom live?"
OLD = "Tom lives in Oslo"
NEW = "Tom moved to Bergen, he lives there now"
# L is the weight times the share of the largest cosine
STEEP = 4.0
NO_LINKS = {"links": {"related": {"enabled": False}}, "entities": {"enabled": False}}


def weights(cosine: float = STEEP) -> dict[str, Any]:
    """Notes and documents ranked by meaning alone."""
    own = {**dict.fromkeys(("bias", *SIGNALS), 0.0), "cosine": cosine}
    weighed = {"ranking.weights": {"note": own, "document": own}}
    return {**weighed, "signals.evidence.enabled": False}


def at(cosine: float, with_old: float) -> list[float]:
    """A vector with this cosine to the query, and that to the old statement."""
    old = vector_at(0.9, 8, 1)
    second = (with_old - 0.9 * cosine) / old[1]
    third = (1.0 - cosine**2 - second**2) ** 0.5
    return [cosine, second, third, *[0.0] * 5]


def store_of(
    opener: Opener,
    *,
    new: str = NEW,
    cosine: float = 0.8,
    with_old: float = 0.6,
    since: str = "2026-03-05T10:00:00Z",
    **fields: Any,
) -> tuple[vestig.Vestig, str, str]:
    vectors = {OLD: vector_at(0.9, 8, 1), new: at(cosine, with_old)}
    store = opener(vectors=vectors, config=NO_LINKS)
    old = store.commit(OLD, t_valid="2026-01-05T10:00:00Z").memory_id
    newer = store.commit(new, t_valid=since, **fields).memory_id
    assert old is not None
    assert newer is not None
    return store, old, newer


def ids(store: vestig.Vestig, query: str = WHERE, **fields: Any) -> list[str]:
    fields.setdefault("config", weights())
    found = store.recall(query, query_vector=vector_at(1.0), **selecting(fields))
    finals = [hit.final for hit in found]
    assert finals == sorted(finals, reverse=True)
    return [hit.id for hit in found]


def test_it_stands_first_with_a_flag_a_clause_and_the_score(opener: Opener) -> None:
    store, old, new = store_of(opener)
    found = store.recall(WHERE, query_vector=vector_at(1.0), config=weights())
    first, second = found
    assert (first.id, second.id) == (new, old)
    assert first.final == first.reason.final_score == second.final
    assert first.score == second.score
    assert first.reason.newer_than.to_dict() == {"id": old, "final": second.final}
    assert f"newer_than: {old}" in first.reason.flags
    assert f"Newer than {old}, which says otherwise." in first.reason.explanation
    assert "newer_than" not in second.to_dict(explain=True)["reason"]
    (only,) = store.recall(WHERE, query_vector=vector_at(1.0), config=weights(), limit=1)
    assert only.id == new, "before the cut to the limit"
    receipt = store.recall(
        WHERE, query_vector=vector_at(1.0), config=weights(), limit=1, receipt=True
    ).receipt
    assert receipt is not None
    assert receipt.version == 4
    store.commit("Tom sold the flat in Bergen")
    assert store.replay_receipt(receipt).equal


@pytest.mark.parametrize(
    "query", ["where did Tom live before?", "where does Tom live in January?", "Tom in 2025"]
)
def test_a_question_about_the_past_changes_nothing(opener: Opener, query: str) -> None:
    store, old, new = store_of(opener)
    assert ids(store, query) == [old, new]


def test_a_word_of_the_present_outweighs_the_past_and_widens_the_levels(opener: Opener) -> None:
    # L apart: 27 · (0.9 - 0.8) / 0.9 = 3
    store, old, new = store_of(opener)
    far = {"config": weights(27.0)}
    assert ids(store, WHERE, **far) == [old, new]
    assert ids(store, "where did Tom live, and where now?", **far) == [new, old]
    assert ids(store, "where did Tom live, and where now?", config=weights(45.0)) == [old, new]


@pytest.mark.parametrize(
    ("given", "moved"),
    [
        ({}, True),
        ({"new": "Tom has a flat in Bergen"}, False),
        ({"since": "2026-01-05T10:59:00Z"}, False),
        ({"since": "2026-01-05T11:00:00Z"}, False),
        ({"since": "2026-01-05T11:00:01Z"}, True),
        ({"with_old": 0.4999}, False),
        ({"with_old": 0.5001}, True),
        ({"scope": "elsewhere"}, False),
        ({"title": "Residents"}, False),
    ],
)
def test_each_condition_counts(opener: Opener, given: dict[str, Any], moved: bool) -> None:
    store, old, new = store_of(opener, **given)
    assert ids(store) == ([new, old] if moved else [old, new])


def test_how_far_apart_levels_may_lie(opener: Opener) -> None:
    store, old, new = store_of(opener)
    # L apart: weight · (0.9 - 0.8) / 0.9
    assert ids(store, config=weights(17.9)) == [new, old]
    assert ids(store, config=weights(18.1)) == [old, new]


def test_a_switch_turns_it_off_and_other_profiles_have_none(opener: Opener) -> None:
    store, old, new = store_of(opener)
    assert ids(store, config={**weights(), "ranking.newer_first": False}) == [old, new]
    for profile in ("reference", "baseline"):
        assert ids(store, profile=profile, config={}) == [old, new]


def test_a_possible_update_counts_as_a_word_of_change(opener: Opener) -> None:
    """The commit said that the one may update the other."""
    one, other = (
        "The rent of the flat is 900 EUR a month",
        "The rent of the flat is 950 EUR a month",
    )
    vectors = {one: vector_at(0.9, 8, 1), other: vector_at(0.89, 8, 1)}
    store = opener(vectors=vectors, config=NO_LINKS)
    store.commit(one, t_valid="2026-01-05")
    outcome = store.commit(other, t_valid="2026-03-05")
    assert outcome.possible_update_of is not None
    found = store.recall("what is the rent?", query_vector=vector_at(1.0), config=weights())
    assert [hit.content for hit in found] == [other, one]


def test_the_eleventh_stays_and_what_is_not_a_note_moves_by_one(opener: Opener) -> None:
    rows = {f"A ship named {n} lies in port": 0.89 - n / 100 for n in range(9)}
    vectors = {text: vector_at(cosine, 8, 2) for text, cosine in rows.items()}
    eleventh = {**vectors, OLD: vector_at(0.9, 8, 1), NEW: at(0.7, 0.6)}
    store = opener(vectors=eleventh, config=NO_LINKS)
    old = store.commit(OLD, t_valid="2026-01-05").memory_id
    for text in rows:
        store.commit(text, title="Ships")
    new = store.commit(NEW, t_valid="2026-03-05").memory_id
    found = ids(store, limit=11)
    assert (found[0], found[10]) == (old, new)
    first = store.list(limit=1, where={"origin_types": ["document"]})[0].id
    found = ids(store, limit=10, where={"exclude_ids": [first]})
    assert found[:2] == [new, old]


def test_each_moves_once_and_the_newest_ends_first(opener: Opener) -> None:
    texts = [f"Tom moved to flat {n}" for n in range(3)]
    vectors = {text: vector_at(0.9 - n / 50, 8, 1) for n, text in enumerate(texts)}
    near = {"hygiene": {"near_duplicate": {"enabled": False}}}
    store = opener(vectors=vectors, config={**NO_LINKS, **near})
    made = [
        store.commit(text, t_valid=f"2026-0{n + 1}-05").memory_id for n, text in enumerate(texts)
    ]
    assert ids(store) == made[::-1]
    assert ids(store, config={**weights(), "ranking.newer_first": False}) == made


class WithoutPairs:
    """A core that is never asked which memories are newer."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def __getattr__(self, name: str) -> Any:
        assert name != "newer_pairs", "no two notes are among the results"
        return getattr(self._core, name)


def test_other_queries_cost_no_crossing(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors are compared only where a rule may apply."""
    store, old, new = store_of(opener, title="Residents")
    keeper = store._session.keeper
    monkeypatch.setattr(keeper, "core", WithoutPairs(keeper.core))
    assert ids(store) == [old, new]
