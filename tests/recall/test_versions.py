"""Of versions of one statement the newest comes first."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig.config.signals import KINDS, SIGNALS
from vestig.recall.ranking import ROWS_MOVED
from vestig.recall.versions import asks_about_now
from vestig.testing import vector_at

WHERE = "where does Tom live?"
PLAIN = {
    "links": {"related": {"enabled": False}},
    "entities": {"enabled": False},
    "hygiene": {"near_duplicate": {"enabled": False}},
}
MONTHS = ("2026-01-05", "2026-02-05", "2026-03-05")


def weights(topic: float = 4.0) -> dict[str, Any]:
    """Ranked by meaning alone."""
    own = {**dict.fromkeys(("bias", *SIGNALS), 0.0), "topic": topic}
    return {"ranking.weights": dict.fromkeys(KINDS, own)}


def store_of(
    opener: Opener, texts: dict[str, str], cosines: dict[str, float] | None = None
) -> tuple[vestig.Vestig, list[str]]:
    """A store that holds these texts since these days, the first one nearest to every query; and
    their ids."""
    near = {text: 0.9 - at / 50 for at, text in enumerate(texts)} | (cosines or {})
    store = opener(vectors={t: vector_at(near[t], 8, 1) for t in texts}, config=PLAIN)
    ids = [store.commit(text, t_valid=day).memory_id for text, day in texts.items()]
    assert None not in ids
    return store, [str(id) for id in ids]


def found(store: vestig.Vestig, query: str = WHERE, **fields: Any) -> vestig.RecallResult:
    fields.setdefault("config", weights())
    result = store.recall(query, query_vector=vector_at(1.0), **fields)
    for values in ([hit.final for hit in result], [hit.score for hit in result]):
        assert values == sorted(values, reverse=True)
    return result


def ids(store: vestig.Vestig, query: str = WHERE, **fields: Any) -> list[str]:
    return [hit.id for hit in found(store, query, **fields)]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("what does the ticket cost?", "The ferry ticket costs {} crowns"),
        ("which port does the server use?", "The staging server uses port {}"),
        ("who owns the billing service?", "The billing service is owned by team {}"),
    ],
)
def test_the_newest_of_three_versions_comes_first(opener: Opener, query: str, text: str) -> None:
    values = (410, 425, 440)
    texts = {text.format(n): day for n, day in zip(values, MONTHS, strict=True)}
    store, made = store_of(opener, texts)
    result = found(store, query)
    assert [hit.id for hit in result] == made[::-1], "all of them in order of time"
    newest, *others = result
    assert newest.reason.newer_than == made[1]
    assert [hit.reason.older_than for hit in others] == [made[2]] * 2
    shown = [hit.to_dict(explain=True)["reason"] for hit in result]
    assert ["newer_than" in one for one in shown] == [True, False, False]
    assert ["older_than" in one for one in shown] == [False, True, True]
    assert f"Newer than {made[1]}." in newest.reason.explanation
    assert f"Older than {made[2]}." in others[0].reason.explanation


def test_places_keep_their_final_scores(opener: Opener) -> None:
    store, _ = store_of(opener, {f"Tom lives in flat {n}": MONTHS[n] for n in range(3)})
    moved = found(store)
    still = found(store, config={**weights(), "ranking.newer_first": False})
    assert [hit.final for hit in moved] == [hit.final for hit in still]
    own = {hit.id: hit.final for hit in still}
    for hit in moved:
        reason = hit.to_dict(explain=True)["reason"]
        assert reason.get("own_final_score", hit.final) == own[hit.id]
    assert ids(store, limit=1) == [moved[0].id], "before the cut to the limit"


@pytest.mark.parametrize(
    ("query", "dated", "now"),
    [
        ("Where does Tom live?", False, True),
        ("Where did Tom live?", False, False),
        ("Where did Tom use to live before?", False, False),
        ("What was the original price?", False, False),
        ("Where does Tom live?", True, False),
        ("Where did Tom live, and where now?", False, True),
        ("Where is he still?", True, True),
        ("What is washed here?", False, True),
    ],
)
def test_what_asks_about_now(query: str, dated: bool, now: bool) -> None:
    assert asks_about_now(query, dated) == now


@pytest.mark.parametrize(
    "query", ["where did Tom live before?", "where does Tom live in January?", "Tom in 2025"]
)
def test_a_question_about_the_past_changes_nothing(opener: Opener, query: str) -> None:
    store, made = store_of(opener, {f"Tom lives in flat {n}": MONTHS[n] for n in range(3)})
    result = found(store, query)
    assert [hit.id for hit in result] == made
    assert not any(hit.reason.newer_than for hit in result)


@pytest.mark.parametrize(("since", "moved"), [("11:00:00", False), ("11:00:01", True)])
def test_versions_are_more_than_an_hour_apart(opener: Opener, since: str, moved: bool) -> None:
    texts = {
        "Tom lives in flat 1": "2026-01-05T10:00:00Z",
        "Tom lives in flat 2": f"2026-01-05T{since}Z",
    }
    store, made = store_of(opener, texts)
    assert ids(store) == (made[::-1] if moved else made)


def test_what_says_something_else_stays_where_it_is(opener: Opener) -> None:
    texts = {"Tom lives in Oslo": MONTHS[0], "Bread is baked at six": MONTHS[2]}
    near = ((0.9, 1), (0.4, 2))
    vectors = {t: vector_at(cosine, 8, at) for t, (cosine, at) in zip(texts, near, strict=True)}
    store = opener(vectors=vectors, config=PLAIN)
    made = [store.commit(text, t_valid=day).memory_id for text, day in texts.items()]
    result = found(store, config=weights(40.0))
    assert [hit.id for hit in result] == made
    assert not any(hit.reason.newer_than or hit.reason.older_than for hit in result)


def test_only_the_best_few_move(opener: Opener) -> None:
    texts = {f"Tom lives in flat {n}": f"2026-01-{n + 1:02}" for n in range(ROWS_MOVED + 2)}
    store, made = store_of(opener, texts)
    order = ids(store, limit=ROWS_MOVED + 2)
    assert order == [*made[:ROWS_MOVED][::-1], *made[ROWS_MOVED:]]


def test_a_switch_turns_it_off_and_other_profiles_have_none(opener: Opener) -> None:
    store, made = store_of(opener, {f"Tom lives in flat {n}": MONTHS[n] for n in range(2)})
    assert ids(store, config={**weights(), "ranking.newer_first": False}) == made
    for profile in ("reference", "baseline"):
        assert ids(store, profile=profile, config={}) == made
