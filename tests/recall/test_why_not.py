"""Why an expected memory did not come: a case for every stage and every kind of change."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import vestig
from calls import selecting
from fixed_graph import PLAIN
from scripted import Opener
from vestig.answers import WhyNot
from vestig.config.weights import SIGNALS
from vestig.recall import why_not
from vestig.surfaces.cli import render
from vestig.testing import vector_at

QUERY = "which port has the deploy?"
NOBODY = "mem_00000000-0000-4000-8000-000000000000"


def stored(opener: Opener, cosines: dict[str, float]) -> vestig.Vestig:
    vectors = {t: vector_at(c, 8, 1 + n % 6) for n, (t, c) in enumerate(cosines.items())}
    store = opener(vectors={QUERY: vector_at(1.0), **vectors}, config=PLAIN)
    for text in cosines:
        store.commit(text)
    return store


def id_of(store: vestig.Vestig, text: str) -> str:
    found = store.list(limit=1000, where={"include_expired": True})
    return next(memory.id for memory in found if memory.content == text)


def the_only(result: Any) -> WhyNot:
    (entry,) = result.why_not
    assert isinstance(entry, WhyNot)
    return entry


def repeated(store: vestig.Vestig, entry: WhyNot, fields: dict[str, Any]) -> list[str]:
    """Ids of the same recall with the change that the entry names."""
    change = entry.change
    assert change is not None
    given = {name: value for name, value in fields.items() if name != "expect"}
    query = QUERY
    if change.kind == "limit":
        given["limit"] = change.after
    elif change.kind == "word":
        query = change.after
    elif "." in change.key:
        given["config"] = {**given.get("config", {}), change.key: change.after}
    elif change.after is None:
        del given[change.key]
    else:
        given[change.key] = change.after
    ids = [hit.id for hit in store.recall(query, **selecting(given))]
    assert change.rank is not None
    assert ids[change.rank - 1] == entry.id, "the change is proved"
    return ids


TEXTS = {f"Statement number {n} of the row": 0.9 - n / 20 for n in range(12)}
LAST = "Statement number 11 of the row"
BASELINE: dict[str, Any] = {"profile": "baseline", "limit": 5}
# no word of the question changes its vector
FIXED = {**BASELINE, "query_vector": [1.0, *[0.0] * 7]}


def test_a_result_has_no_entry(opener: Opener) -> None:
    store = stored(opener, TEXTS)
    best = id_of(store, "Statement number 0 of the row")
    assert store.recall(QUERY, expect=best, **selecting(BASELINE)).why_not == ()
    assert "why_not" not in store.recall(QUERY, **selecting(BASELINE)).to_dict()


def test_unknown_ids_and_other_namespaces_disclose_nothing(opener: Opener) -> None:
    store = stored(opener, TEXTS)
    elsewhere = store.commit("A statement behind the wall", namespace="other").memory_id
    found = store.recall(QUERY, expect=[NOBODY, elsewhere], **selecting(BASELINE))
    first, second = found.why_not
    assert (first.id, first.stage) == (NOBODY, "unknown")
    assert (second.id, second.stage) == (elsewhere, "other_namespace")
    for entry in (first, second):
        assert (entry.rank, entry.score, entry.signals, entry.change) == (None, None, None, None)
        assert entry.runs == 0
        assert entry.no_change


def test_forgotten_is_unknown(opener: Opener) -> None:
    store = stored(opener, TEXTS)
    gone = id_of(store, LAST)
    store.forget(gone)
    assert the_only(store.recall(QUERY, expect=gone, **selecting(BASELINE))).stage == "unknown"


def test_a_beginning_of_an_id_must_fit_one(opener: Opener) -> None:
    store = stored(opener, TEXTS)
    full = id_of(store, LAST)
    assert the_only(store.recall(QUERY, expect=full[:16], **selecting(BASELINE))).id == full
    with pytest.raises(vestig.ValidationError, match="expect"):
        store.recall(QUERY, expect="mem", **selecting(BASELINE))


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"tags": ["x"]}, "tags"),
        ({"scope": "lab"}, "scope"),
        ({"kinds": "SUMMARY"}, "kinds"),
        ({"sources": "hook"}, "sources"),
        ({"actors": "bot"}, "actors"),
        ({"authors": "Ada"}, "authors"),
        ({"roles": "user"}, "roles"),
        ({"session_ids": "s"}, "session_ids"),
        ({"origin_types": "document"}, "origin_types"),
        ({"entities": "Ada Lovelace"}, "entities"),
        ({"metadata": {"level": 1}}, "metadata"),
        ({"scope_prefix": "lab"}, "scope_prefix"),
        ({"keys": "maria.city"}, "keys"),
        ({"key_prefix": "maria."}, "key_prefix"),
        ({"statuses": "ARCHIVED"}, "statuses"),
        ({"pinned": True}, "pinned"),
        ({"retention_policies": "permanent"}, "retention_policies"),
        ({"message_ids": "turn-7"}, "message_ids"),
        ({"ids": [NOBODY]}, "ids"),
        ({"min_similarity": 0.95}, "min_similarity"),
    ],
)
def test_each_filter_is_named_and_its_removal_proved(
    opener: Opener, fields: dict[str, Any], name: str
) -> None:
    store = stored(opener, {"The only statement": 0.9})
    id = id_of(store, "The only statement")
    given = {**BASELINE, **fields, "expect": id}
    entry = the_only(store.recall(QUERY, **selecting(given)))
    assert (entry.stage, entry.filters, entry.rank) == ("filtered", (name,), None)
    assert entry.change is not None
    assert (entry.change.kind, entry.change.key, entry.change.after) == ("filter", name, None)
    assert repeated(store, entry, given) == [id]


@pytest.mark.parametrize("name", ["since", "until", "created_since", "created_until", "known_at",
                                  "valid_at", "as_of"])  # fmt: skip
def test_a_bound_of_a_date_is_moved_just_so_far(opener: Opener, name: str) -> None:
    store = stored(opener, {"The only statement": 0.9})
    id = id_of(store, "The only statement")
    far = "2030-01-01" if name.endswith("since") else "2020-01-01"
    given = {**BASELINE, name: far, "expect": id}
    entry = the_only(store.recall(QUERY, **selecting(given)))
    assert (entry.stage, entry.filters, entry.rank) == ("filtered", (name,), None)
    change = entry.change
    assert change is not None
    assert (change.kind, change.key) == ("date", name)
    assert repeated(store, entry, given) == [id]
    past = change.after - timedelta(microseconds=1)
    beyond = change.after + timedelta(microseconds=1) if name.endswith("since") else past
    assert store.recall(QUERY, **selecting({**BASELINE, name: beyond})).results == ()


def test_excluded_expired_and_archived(opener: Opener) -> None:
    store = stored(opener, TEXTS)
    first, second, third = (id_of(store, f"Statement number {n} of the row") for n in range(3))
    store.deprecate(first)
    store.archive(second)
    given = {**BASELINE, "exclude_ids": [third], "expect": [first, second, third]}
    entries = store.recall(QUERY, **selecting(given)).why_not
    names = [entry.filters for entry in entries]
    assert names == [("include_expired",), ("include_archived",), ("exclude_ids",)]
    for entry in entries:
        repeated(store, entry, given)


def test_two_filters_and_no_single_change(opener: Opener) -> None:
    store = stored(opener, TEXTS)
    given = {**BASELINE, "tags": ["x"], "scope": "lab", "expect": id_of(store, LAST)}
    entry = the_only(store.recall(QUERY, **selecting(given)))
    assert (entry.stage, entry.filters) == ("filtered", ("scope", "tags"))
    assert entry.change is None
    assert entry.no_change == "2 filters exclude it, each by itself"


def test_a_filter_whose_removal_is_not_enough(opener: Opener) -> None:
    store = stored(opener, TEXTS)
    given = {**BASELINE, "exclude_ids": [id_of(store, LAST)], "expect": id_of(store, LAST)}
    entry = the_only(store.recall(QUERY, **selecting(given)))
    assert (entry.filters, entry.change) == (("exclude_ids",), None)
    assert entry.no_change == "without exclude_ids it is still not among the results"


def test_ranked_below_and_the_limit(opener: Opener) -> None:
    """Nothing but the limit helps where plain cosines are sorted."""
    store = stored(opener, TEXTS)
    given = {**FIXED, "expect": id_of(store, LAST)}
    result = store.recall(QUERY, **selecting(given))
    entry = the_only(result)
    assert (entry.stage, entry.rank) == ("ranked_below", 12)
    assert entry.score == pytest.approx(0.35, abs=1e-6)
    last = entry.last_returned
    assert last is not None
    worst = result.results[-1]
    assert (last.id, last.rank, last.score) == (worst.id, 5, worst.score)
    assert entry.change is not None
    assert (entry.change.kind, entry.change.before, entry.change.after) == ("limit", 5, 12)
    assert len(repeated(store, entry, given)) == 12
    assert entry.runs <= 64


def test_below_min_score(opener: Opener) -> None:
    store = stored(opener, TEXTS)
    given = {"profile": "baseline", "limit": 12, "config": {"recall.min_score": 0.5}}
    entry = the_only(store.recall(QUERY, expect=id_of(store, LAST), **selecting(given)))
    assert (entry.stage, entry.rank) == ("below_min_score", 12)
    assert entry.change is not None
    assert (entry.change.kind, entry.change.key) == ("threshold", "recall.min_score")
    assert entry.change.after == entry.score
    repeated(store, entry, given)


def test_not_in_the_pool(opener: Opener) -> None:
    store = stored(opener, TEXTS)
    given = {**FIXED, "profile": "reference", "limit": 3, "expect": id_of(store, LAST)}
    entry = the_only(store.recall(QUERY, **selecting(given)))
    assert (entry.stage, entry.rank) == ("not_in_pool", 12)
    assert entry.signals is not None
    assert set(entry.signals) == set(entry.last_returned.signals)  # type: ignore[union-attr]
    repeated(store, entry, given)


SPOKEN = "Port and deploy of a harbour"
MEANT = "Port and deploy"
# only meaning and words decide
TWO_TERMS = {
    "walk.enabled": False,
    "signals.sittings.enabled": False,
    "ranking.weights": {"all": {**dict.fromkeys(SIGNALS, 0.0), "topic": 1.0, "words": 40.0}},
}


def test_a_word_comes_before_the_limit(opener: Opener) -> None:
    store = stored(opener, {SPOKEN: 0.4, MEANT: 0.9})
    given: dict[str, Any] = {
        **{"limit": 1, "config": TWO_TERMS, "expect": id_of(store, SPOKEN)},
        "query_vector": vector_at(1.0),
    }
    result = store.recall(QUERY, **selecting(given))
    assert result.results[0].content == MEANT
    entry = the_only(result)
    assert (entry.stage, entry.rank) == ("ranked_below", 2)
    change = entry.change
    assert change is not None, entry.no_change
    assert (change.kind, change.key) == ("word", "query")
    assert (change.before, change.after, change.rank) == (QUERY, f"{QUERY} harbour", 1)
    repeated(store, entry, given)
    assert entry.runs <= 64


def test_a_superseded_memory_names_what_replaced_it(opener: Opener) -> None:
    store = stored(opener, {SPOKEN: 0.4, MEANT: 0.9})
    old, new = id_of(store, SPOKEN), id_of(store, MEANT)
    store.supersede(old, new)
    entry = the_only(store.recall(QUERY, expect=old))
    assert (entry.stage, entry.filters) == ("filtered", ("include_expired",))
    change = entry.change
    assert change is not None
    assert (change.kind, change.before, change.after, change.rank) == ("newer", old, new, None)


OLD = "Tom lives in Oslo"
NEW = "Tom moved to Bergen, he lives there now"


def test_a_newer_statement_that_took_its_place_is_named(opener: Opener) -> None:
    where = "where does Tom live?"
    vectors = {where: vector_at(1.0), OLD: vector_at(0.9, 8, 1), NEW: vector_at(0.8, 8, 1)}
    store = opener(vectors=vectors, config=PLAIN)
    old = store.commit(OLD, t_valid="2026-01-05").memory_id
    new = store.commit(NEW, t_valid="2026-03-05").memory_id
    assert old is not None
    entry = the_only(store.recall(where, limit=1, expect=old, config=TWO_TERMS))
    change = entry.change
    assert change is not None, entry.no_change
    assert (change.kind, change.before, change.after, change.rank) == ("newer", old, new, 1)


def test_no_change_is_ever_a_signal_a_weight_or_a_switch(opener: Opener) -> None:
    store = stored(opener, {f"The {n} port of the deploy": 0.1 + n / 40 for n in range(30)})
    wanted = [memory.id for memory in store.list(limit=30)]
    result = store.recall(QUERY, limit=2, expect=wanted)
    kinds = {entry.change.kind for entry in result.why_not if entry.change is not None}
    assert kinds
    assert kinds <= {"word", "limit", "newer"}
    assert all(entry.change is not None or entry.no_change for entry in result.why_not)


def test_the_search_for_a_change_ends_after_so_many_runs(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stored(opener, TEXTS)
    given = {"expect": id_of(store, LAST), "limit": 2}
    whole = the_only(store.recall(QUERY, **selecting(given)))
    assert whole.change is not None
    assert 1 < whole.runs <= why_not.RUNS_MAX == 64
    for most in range(1, whole.runs):
        monkeypatch.setattr(why_not, "RUNS_MAX", most)
        entry = the_only(store.recall(QUERY, **selecting(given)))
        assert (entry.runs, entry.change) == (most, None)
        assert entry.no_change == f"{most} runs found no change that brings it in"
        assert (entry.stage, entry.rank) == (whole.stage, whole.rank)


def test_runs_that_try_a_filter_count(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """A least similarity is tried by one, and so is a date that passes it."""
    store = stored(opener, TEXTS)
    given = {"expect": id_of(store, LAST), "since": "2030-01-01", "min_similarity": 0.3}
    entry = the_only(store.recall(QUERY, **selecting({**FIXED, **given, "limit": 12})))
    assert entry.filters == ("since",)
    assert entry.change is not None
    assert entry.runs == 3
    monkeypatch.setattr(why_not, "RUNS_MAX", 2)
    entry = the_only(store.recall(QUERY, **selecting({**FIXED, **given, "limit": 12})))
    assert (entry.runs, entry.change) == (2, None)


def test_on_the_command_line(opener: Opener) -> None:
    store = stored(opener, TEXTS)
    id = id_of(store, LAST)
    shown = render.recall(store.recall(QUERY, expect=id, **selecting(FIXED)), {"format": "compact"})
    assert (
        f"Why not {id}: ranked below the last result; rank 12, score 0.3500"
        " (last result: rank 5, score 0.7000)\n" in shown
    )
    assert "  Change: limit from 5 to 12 brings it to rank 12" in shown
