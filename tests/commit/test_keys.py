"""Keys: at most one current memory for each, whatever is committed when."""

from __future__ import annotations

import asyncio
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig import aio
from vestig.errors import ConflictError, NotFoundError, ValidationError
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.types import CommitOutcomeKind as Kind
from vestig.types import ItemError, Memory, Status

CITY = "maria.city"
PORTO, LISBON, FARO = (f"Maria lives in {city}" for city in ("Porto", "Lisbon", "Faro"))


def version(store: vestig.Vestig, outcome: vestig.CommitOutcome) -> Memory:
    return store.show(outcome.memory_id).memory


def at(store: vestig.Vestig, day: str, key: str = CITY) -> list[str]:
    return [one.content for one in store.list(where={"keys": [key]}, valid_at=day)]


def test_another_text_takes_the_place_of_the_current_one(opener: Opener) -> None:
    store = opener()
    first = store.commit(PORTO, key=CITY, t_valid="2024-01-01")
    second = store.commit(LISBON, key=CITY, t_valid="2026-01-01", source="crm", actor="sync")
    assert (first.outcome, second.outcome) == (Kind.INSERTED_NEW, Kind.INSERTED_NEW)
    assert (first.superseded, second.superseded) == ((), (first.memory_id,))
    assert (first.key, second.key) == (CITY, CITY)
    old = version(store, first)
    assert (old.status, old.superseded_by) == (Status.SUPERSEDED, second.memory_id)
    assert old.t_invalid == version(store, second).t_valid
    [record] = store.supersession_chain(second.memory_id)
    assert record.reason == "key"
    event = store.events(first.memory_id)[-1]
    assert (event.event_type.word, event.source, event.actor) == ("SUPERSEDE", "crm", "sync")
    assert store.events(second.memory_id)[0].payload["key"] == CITY
    assert store.get(CITY).content == LISBON
    assert (at(store, "2025-01-01"), at(store, "2026-06-01")) == ([PORTO], [LISBON])
    assert store.admin.doctor().exit_code == 0


def test_the_same_text_is_counted_whoever_says_it_in_whatever_layout(opener: Opener) -> None:
    store = opener()
    first = store.commit(PORTO, key=CITY, author="Ana")
    again = store.commit(PORTO.replace(" ", "  "), key=CITY, author="Bo")
    assert (again.outcome, again.memory_id) == (Kind.EXACT_DUPE, first.memory_id)
    assert version(store, first).reinforce_count == 1


def test_a_note_repeats_the_one_value_that_has_its_text(opener: Opener, clock: FrozenClock) -> None:
    store = opener(clock=clock)
    value = store.commit(PORTO, key=CITY)
    planned = store.commit(PORTO, dry_run=True)
    clock.move(days=1)
    for _ in range(2):
        again = store.commit(PORTO, tags=["home"])
        assert (again.outcome, again.memory_id) == (Kind.EXACT_DUPE, value.memory_id)
    assert (planned.outcome, planned.memory_id) == (again.outcome, again.memory_id)
    assert (version(store, value).tags, store.count()) == (("home",), 1)
    store.commit(LISBON, key=CITY)
    assert [one.content for one in store.list()] == [LISBON]
    # later than the change it is news of its own
    assert store.commit(PORTO).outcome is Kind.INSERTED_NEW
    assert store.admin.doctor().exit_code == 0


def _of_two_keys(store: vestig.Vestig) -> dict[str, Any]:
    store.commit(PORTO, key="ana.city")
    return {}


@pytest.mark.parametrize(
    "fields",
    [
        {"scope": "other"},
        {"author": "Bo"},
        {"session_id": "s", "sequence": 1},
        {"t_valid": "2020-01-01"},
        {"t_invalid": "2040-01-01"},
        {"on_near_dup": "insert"},
        {"key": "ana.city"},
        _of_two_keys,
    ],
    ids=lambda fields: getattr(fields, "__name__", str(fields)),
)
def test_what_is_not_certainly_a_repeat_of_a_value_is_stored(opener: Opener, fields: Any) -> None:
    store = opener()
    value = store.commit(PORTO, key=CITY, t_valid="2024-01-01")
    given = fields(store) if callable(fields) else fields
    made = store.commit(PORTO, **given)
    assert made.outcome is Kind.INSERTED_NEW
    apart = given.keys() & {"scope", "key"}
    assert (value.memory_id in [one.memory_id for one in made.similar]) is not bool(apart)


def test_an_announced_value_and_a_text_of_an_item_are_repeated_by_no_note(opener: Opener) -> None:
    store = opener()
    store.commit(PORTO, key=CITY, t_valid="2100-01-01")
    store.items.put("city", 1, text=LISBON)
    for text in (PORTO, LISBON):
        assert store.commit(text).outcome is Kind.INSERTED_NEW


def test_a_note_with_the_text_of_a_value_is_named_and_ends_with_it(
    opener: Opener, clock: FrozenClock
) -> None:
    store = opener(clock=clock)
    note = store.commit(PORTO, tags=["home"])
    turn = store.commit(PORTO, session_id="s", sequence=1)
    pinned = store.commit(FARO, pinned=True)
    clock.move(days=1)
    value = store.commit(PORTO, key=CITY)
    assert value.similar[0].memory_id == note.memory_id
    assert (value.similar[0].score, value.superseded) == (1.0, ())
    clock.move(days=1)
    planned = store.commit(LISBON, key=CITY, dry_run=True)
    later = store.commit(LISBON, key=CITY)
    assert later.superseded == (value.memory_id, note.memory_id) == planned.superseded
    assert version(store, note).t_invalid == version(store, later).t_valid
    assert version(store, turn).status is version(store, pinned).status is Status.ACTIVE
    assert store.admin.doctor().exit_code == 0
    # what was said after the new value begins is later news
    clock.move(days=1)
    store.commit(PORTO)
    again = store.commit(PORTO, key=CITY, t_valid=version(store, later).t_valid)
    assert again.superseded == (later.memory_id,)
    told = store.commit(FARO, key=CITY, t_valid=version(store, later).t_valid)
    assert told.superseded == (again.memory_id,)
    assert PORTO in [one.content for one in store.list()]


def test_older_news_is_history_at_once(opener: Opener) -> None:
    store = opener()
    store.commit(PORTO, key=CITY, t_valid="2020-01-01")
    current = store.commit(LISBON, key=CITY, t_valid="2026-01-01")
    late = store.commit(FARO, key=CITY, t_valid="2023-01-01")
    assert (late.outcome, late.superseded) == (Kind.INSERTED_NEW, ())
    assert current.memory_id in late.warnings[-1]
    assert "stays current" in late.warnings[-1]
    faro = version(store, late)
    assert (faro.status, faro.superseded_by) == (Status.SUPERSEDED, current.memory_id)
    assert store.get(CITY).id == current.memory_id
    days = ("2019-06-01", "2021-06-01", "2024-06-01", "2026-06-01")
    assert [at(store, day) for day in days] == [[], [PORTO], [FARO], [LISBON]]
    first = store.commit("Maria lives in Braga", key=CITY, t_valid="2010-01-01")
    assert version(store, first).t_invalid == store.list(valid_at="2021-06-01")[0].t_valid
    assert at(store, "2015-01-01") == ["Maria lives in Braga"]
    assert len(store.supersession_chain(current.memory_id)) == 3
    assert store.admin.doctor().exit_code == 0


def test_of_equal_times_the_later_commit_wins(opener: Opener) -> None:
    store = opener()
    first = store.commit(PORTO, key=CITY, t_valid="2025-01-01")
    second = store.commit(LISBON, key=CITY, t_valid="2025-01-01")
    assert second.superseded == (first.memory_id,)
    assert version(store, first).t_invalid == version(store, first).t_valid
    assert at(store, "2025-01-01") == [LISBON]
    now = store.commit(FARO, key=CITY, t_valid="2026-01-01")
    store.commit("Maria lives in Braga", key=CITY, t_valid="2025-01-01")
    assert at(store, "2025-06-01") == ["Maria lives in Braga"]
    assert store.get(CITY).id == now.memory_id


def test_a_key_is_compared_with_nothing_else(opener: Opener) -> None:
    """Neither an equal nor a nearly equal text elsewhere, in both directions."""
    store = opener()
    plain = store.commit(PORTO)
    keyed = store.commit(PORTO, key=CITY)
    other = store.commit(PORTO, key="ana.city")
    assert {o.outcome for o in (plain, keyed, other)} == {Kind.INSERTED_NEW}
    assert store.count() == 3
    again = store.commit(PORTO)
    assert (again.outcome, again.memory_id) == (Kind.EXACT_DUPE, plain.memory_id)
    store.forget(plain.memory_id)
    new = store.commit(PORTO)
    assert new.outcome is Kind.INSERTED_NEW
    near = store.commit("Maria lives in Porto!", on_near_dup="reinforce")
    assert near.matched_memory_id == new.memory_id
    assert version(store, keyed).reinforce_count == version(store, other).reinforce_count == 0
    assert store.admin.doctor().exit_code == 0


def test_a_key_asked_for_without_its_scope_is_told_where_it_has_a_value(opener: Opener) -> None:
    store = opener()
    for number in range(5):
        store.commit(f"Ann {number} lives in Oslo", key="home", scope=f"user/{number}")
    for read in (store.get, store.history):
        with pytest.raises(
            NotFoundError,
            match=r"in scope user/0, user/1, user/2, …: name the scope, get\(key, scope='user/0'\)",
        ):
            read("home")
        for asked in ({"scope": "user/9"}, {"namespace": "other"}):
            with pytest.raises(NotFoundError) as raised:
                read("home", **asked)
            assert "user/" not in str(raised.value), (
                "other scopes are named to nobody who named one"
            )


def test_a_scope_and_a_namespace_have_keys_of_their_own(opener: Opener) -> None:
    store = opener()
    for text, place in ((PORTO, {}), (LISBON, {"scope": "b"}), (FARO, {"namespace": "other"})):
        store.commit(text, key=CITY, **place)
    assert store.get(CITY).content == PORTO
    assert store.get(CITY, scope="b").content == LISBON
    assert store.get(CITY, namespace="other").content == FARO
    with pytest.raises(NotFoundError, match=f"Memory not found: {CITY}"):
        store.get(CITY, scope="c")


def test_a_pinned_memory_keeps_its_key(opener: Opener) -> None:
    store = opener()
    pinned = store.commit(PORTO, key=CITY, pinned=True)
    with pytest.raises(ConflictError, match=f"{pinned.memory_id}.*pinned"):
        store.commit(LISBON, key=CITY)
    assert store.count(where={"include_expired": True}) == 1
    assert store.commit(PORTO, key=CITY).outcome is Kind.EXACT_DUPE
    [failed, good] = store.commit_many([{"content": LISBON, "key": CITY}, FARO])
    assert isinstance(failed, ItemError)
    assert (failed.code, good.outcome) == ("conflict", Kind.INSERTED_NEW)
    named = store.commit(LISBON, key=CITY, supersedes=pinned.memory_id)
    assert named.superseded == (pinned.memory_id,)
    assert store.get(CITY).id == named.memory_id


def test_items_of_one_batch_go_in_order(opener: Opener) -> None:
    store = opener()
    items = [{"content": text, "key": CITY} for text in (PORTO, PORTO, LISBON, FARO, PORTO)]
    found = store.commit_many([*items, {"content": "Bo lives in Turin", "key": "bo.city"}])
    kinds = [one.outcome.value for one in found]
    assert kinds == ["INSERTED_NEW", "EXACT_DUPE", *["INSERTED_NEW"] * 4]
    assert found[2].superseded == (found[0].memory_id,)
    assert found[4].revives == found[0].memory_id
    assert store.get(CITY).id == found[4].memory_id
    assert store.count(where={"keys": CITY, "include_expired": True}) == 4
    assert len(store.supersession_chain(found[4].memory_id)) == 3
    assert store.admin.doctor().exit_code == 0


def test_a_batch_stores_what_single_commits_store(opener: Opener) -> None:
    days = ("2024-01-01", "2026-01-01", "2025-01-01", "2026-01-01", "2023-01-01", "2027-01-01")
    texts = (PORTO, LISBON, FARO, PORTO, LISBON, FARO)
    items = [
        {"content": text, "key": CITY, "t_valid": day}
        for text, day in zip(texts, days, strict=True)
    ]
    states, store = [], opener()
    for space in ("together", "apart"):
        if space == "together":
            store.commit_many([item | {"namespace": space} for item in items])
        else:
            for item in items:
                store.commit(**item, namespace=space)
        where = {"keys": [CITY], "include_expired": True}
        rows = store.list(where=where, order_by="t_valid", namespace=space)
        states.append(sorted((r.t_valid, r.content, r.status, str(r.t_invalid)) for r in rows))
    assert states[0] == states[1]


def test_update_keeps_the_key(opener: Opener) -> None:
    store = opener()
    first = store.commit(PORTO, key=CITY)
    changed = store.update(first.memory_id, content=LISBON)
    assert store.get(CITY).id == changed.memory_id
    store.update(changed.memory_id, tags=["checked"])
    assert store.get(CITY).tags == ("checked",)
    elsewhere = store.commit(FARO, key=CITY, scope="b")
    for fields in ({"scope": "b"}, {"scope": "b", "content": PORTO}):
        with pytest.raises(ConflictError, match=str(elsewhere.memory_id)):
            store.update(changed.memory_id, **fields)
    store.update(changed.memory_id, scope="c")
    assert store.get(CITY, scope="c").content == LISBON


def test_a_value_that_begins_at_another_time_moves_the_end_of_the_one_before(
    opener: Opener,
) -> None:
    store = opener()
    first = store.commit(PORTO, key=CITY, t_valid="2020-01-01")
    second = store.commit(LISBON, key=CITY, t_valid="2024-01-01")
    for day in ("2023-01-01", "2025-01-01"):
        store.update(second.memory_id, t_valid=day)
        assert version(store, first).t_invalid == version(store, second).t_valid
        assert version(store, second).t_valid.date().isoformat() == day
    assert at(store, "2024-06-01") == [PORTO]
    with pytest.raises(ConflictError, match=str(first.memory_id)):
        store.update(second.memory_id, t_valid="2019-01-01")
    assert at(store, "2026-06-01") == [LISBON]
    assert store.admin.doctor().exit_code == 0


def test_a_withdrawn_value_frees_the_key(opener: Opener) -> None:
    store = opener()
    old = store.commit(PORTO, key=CITY, t_valid="2024-01-01")
    wrong = store.commit(LISBON, key=CITY, t_valid="2025-01-01")
    store.deprecate(wrong.memory_id)
    with pytest.raises(NotFoundError, match=CITY):
        store.get(CITY)
    assert version(store, old).status is Status.SUPERSEDED, "no older version returns"
    new = store.commit(FARO, key=CITY, t_valid="2024-06-01")
    assert (new.superseded, store.get(CITY).id) == ((), new.memory_id)
    assert at(store, "2024-12-01") == [FARO]
    store.forget(new.memory_id)
    with pytest.raises(NotFoundError):
        store.get(CITY)
    assert store.commit(LISBON, key=CITY).revives == wrong.memory_id


def test_an_archived_value_is_replaced_or_comes_back(opener: Opener) -> None:
    store = opener()
    first = store.commit(PORTO, key=CITY)
    store.archive(first.memory_id)
    with pytest.raises(NotFoundError, match=f"{first.memory_id} has the key and is archived"):
        store.get(CITY)
    assert store.commit(PORTO, key=CITY).outcome is Kind.EXACT_DUPE
    assert store.get(CITY).id == first.memory_id
    store.archive(first.memory_id)
    second = store.commit(LISBON, key=CITY)
    assert second.superseded == (first.memory_id,)


def test_forgetting_a_key_takes_every_version(tmp_path: Path) -> None:
    key = "patients.ximena-quartz.diagnosis"
    with vestig.open(tmp_path / "s", embedder=HashingEmbedder(64)) as store:
        for number in range(5):
            text = f"Ximena Quartz has the diagnosis number {number}"
            store.commit(text, key=key, t_valid=f"202{number}-01-01")
        store.commit("A note beside it", key="patients.other")
        store.deprecate(store.get(key).id)
        assert store.count(where={"key_prefix": "patients.", "include_expired": True}) == 6
        plan = store.forget(where={"keys": [key]}, dry_run=True)
        report = store.forget(where={"keys": [key]})
        assert len(plan.memory_ids) == len(report.memory_ids) == 5
        assert report.residues == 0
        assert store.count(where={"include_expired": True}) == 1
    for path in (tmp_path / "s").rglob("*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path


def test_filters_of_keys(opener: Opener) -> None:
    store = opener()
    for key in ("a.city", "a.job", "ab.city", "b%c", "caf\u00e9"):
        store.commit(f"The value of {key} is set", key=key)
    store.commit("A note without a key")

    def count(**where: Any) -> int:
        return store.count(where=where)

    assert count(keys=["a.city", "ab.city", "nobody's"]) == 2
    assert (count(key_prefix="a."), count(key_prefix="a"), count(key_prefix="b%")) == (2, 3, 1)
    assert (count(key_prefix="_"), count(key_prefix="%"), count(keys="A.CITY")) == (0, 0, 0)
    assert count(keys="cafe\u0301", key_prefix="cafe\u0301") == 1
    assert (count(keys=[]), count(keys=None, key_prefix="")) == (0, 6)
    assert len(store.recall("value", where={"key_prefix": "a."}, limit=9)) == 2
    for where in ({"key_prefix": ""}, {"keys": []}, {"keys": [" "]}, {"key_prefix": 7}):
        with pytest.raises(ValidationError, match="key"):
            store.forget(where=where)


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", "not blank"),
        (" \t", "not blank"),
        ("\u200b", "not blank"),
        ("a\nb", "U\\+000A"),
        ("a\u2028b", "U\\+2028"),
        ("a\x7f", "U\\+007F"),
        (" a", "white space at its ends"),
        ("a ", "white space at its ends"),
        ("k" * 201, "at most 200 characters, got 201 characters"),
        ("mem_01234567", "mem_"),
        (7, "int"),
        ("\ud800", "surrogate"),
    ],
)
def test_what_can_be_no_key_says_which_rule_it_breaks(opener: Opener, key: Any, why: str) -> None:
    store = opener()
    with pytest.raises(ValidationError, match=f"(?s)^key: .*{why}"):
        store.commit("A text of some words", key=key)
    assert store.count() == 0


def test_what_can_be_a_key(opener: Opener) -> None:
    store = opener()
    for key in ("/memories/notes.md", "k" * 200, "user prefs", "鍵", "a,b", "0123abcd", "None"):
        id = store.commit(f"The value of {key} is set", key=key).memory_id
        assert store.get(key).id == id


def test_get_takes_ids(opener: Opener) -> None:
    store = opener()
    id = str(store.commit("A note without a key").memory_id)
    assert store.get(id) == store.get(id[:14]) == store.get(id[4:14]) == store.show(id).memory
    store.deprecate(id)
    assert store.get(id).status is Status.DEPRECATED
    for unknown in ("mem_00000000", "00000000", "nobody"):
        with pytest.raises(NotFoundError, match=unknown):
            store.get(unknown)


def test_what_leaves_a_key_without_a_current_memory_says_so(opener: Opener) -> None:
    store = opener()
    first = store.commit(PORTO, key=CITY)
    other = store.commit(LISBON)
    told = store.supersede(str(first.memory_id), str(other.memory_id)).warnings
    assert told == (
        f"the key {CITY} of {first.memory_id} is free now: {other.memory_id}, which replaces it,"
        " does not have it; commit(text, key=…) stores a new value of a key",
    )
    second = store.commit(PORTO, key=CITY, scope="trip")
    moved = store.commit(FARO, key=CITY, supersedes=[str(second.memory_id)])
    assert f"the key {CITY} of {second.memory_id} is free now" in moved.warnings[-1]
    third = store.commit(LISBON, key=CITY, scope="trip")
    own = store.commit(PORTO, key=CITY, scope="trip", supersedes=[str(third.memory_id)])
    assert own.warnings == ()
    assert store.update(str(own.memory_id), content=FARO).outcome.warnings == ()


@pytest.mark.parametrize("subject", ["mem_12345678", "Maria\nSilva", "M" * 195])
def test_a_claim_whose_subject_makes_no_key_says_so(opener: Opener, subject: str) -> None:
    store = opener()
    outcome = store.commit(
        PORTO, claim={"subject": subject, "fact_type": "LIVES_IN", "object": "Porto"}
    )
    assert (outcome.outcome, outcome.key) == ("INSERTED_NEW", None)
    assert "the claim has no key" in outcome.warnings[0]
    assert "expected a name" in outcome.warnings[0]


def test_a_claim_of_one_value_at_a_time_has_a_key(opener: Opener) -> None:
    store = opener()
    claim = {"subject": "Maria", "fact_type": "LIVES_IN", "object": "Porto"}
    first = store.commit(PORTO, claim=claim)
    second = store.commit(LISBON, claim=claim | {"object": "Lisbon"})
    assert (first.key, second.superseded) == ("Maria.LIVES_IN", (first.memory_id,))
    likes = {"subject": "Maria", "fact_type": "LIKES", "object": "fado"}
    for text in ("Maria likes fado", "Maria likes morna"):
        outcome = store.commit(text, claim=likes)
        assert (outcome.key, outcome.superseded) == (None, ())
    own = store.commit(FARO, claim=claim, key=CITY)
    assert (own.key, own.superseded) == (CITY, ())


def test_dry_run_says_what_would_be_replaced(opener: Opener) -> None:
    store = opener()
    first = store.commit(PORTO, key=CITY)
    outcome = store.commit(LISBON, key=CITY, dry_run=True)
    assert (outcome.memory_id, outcome.superseded) == (None, (first.memory_id,))
    assert store.get(CITY).id == first.memory_id


def test_an_event_loop_has_keys(opener: Opener) -> None:
    async def work() -> str:
        async with await aio.open(":memory:", embedder=HashingEmbedder(16)) as store:
            await store.commit(PORTO, key=CITY)
            await store.commit(LISBON, key=CITY)
            return (await store.get(CITY)).content

    assert asyncio.run(work()) == LISBON


@pytest.mark.parametrize("gone", ["forget", "deprecate"])
def test_a_replaced_value_ends_no_later_one(opener: Opener, clock: FrozenClock, gone: str) -> None:
    store = opener()
    store.commit(PORTO, key=CITY)
    clock.move(hours=1)
    wrong = store.commit(LISBON, key=CITY)
    clock.move(hours=1)
    getattr(store, gone)(wrong.memory_id)
    faro = store.commit(FARO, key=CITY, t_valid="2020-01-01")
    assert version(store, faro).t_invalid is None
    assert "then too" in faro.warnings[0]
    store.commit(LISBON, key=CITY, t_valid="2027-01-01")
    assert store.get(CITY).content == FARO
    assert at(store, "2021-01-01") == [FARO]
    assert at(store, "2027-06-01") == [LISBON]
    assert store.recall("where does Maria live?", limit=1)[0].content == FARO


# --- superseding by an older fact --------------------------------------------------------------


@pytest.mark.parametrize("way", ["commit", "supersede", "update"])
def test_an_older_fact_that_is_named_as_successor_leaves_no_wrong_validity(
    opener: Opener, way: str
) -> None:
    store = opener()
    porto = store.commit(PORTO, t_valid="2026-01-01")
    if way == "commit":
        done: Any = store.commit(LISBON, t_valid="2024-01-01", supersedes=porto.memory_id)
    elif way == "supersede":
        lisbon = store.commit(LISBON, t_valid="2024-01-01")
        done = store.supersede(porto.memory_id, lisbon.memory_id)
    else:
        done = store.update(porto.memory_id, content=LISBON, t_valid="2024-01-01")
    assert porto.memory_id in done.warnings[-1]
    assert "holds at no time" in done.warnings[-1]
    old = version(store, porto)
    assert (old.status, old.t_invalid) == (Status.SUPERSEDED, old.t_valid)
    for day in ("2024-06-01", "2026-06-01"):
        assert [one.content for one in store.list(valid_at=day)] == [LISBON]
        with pytest.raises(NotFoundError):
            store.show(porto.memory_id, valid_at=day)
    assert store.admin.doctor().exit_code == 0


def test_a_later_fact_is_no_reason_for_a_warning(opener: Opener, clock: FrozenClock) -> None:
    store = opener()
    porto = store.commit(PORTO, t_valid="2024-01-01")
    assert store.commit(LISBON, t_valid="2026-01-01", supersedes=porto.memory_id).warnings == ()
    clock.move(days=1)
    other = store.commit(FARO, t_valid="2025-01-01", t_invalid="2025-06-01")
    ended = version(store, other).t_invalid
    store.commit(PORTO, t_valid="2023-01-01", supersedes=other.memory_id)
    assert version(store, other).t_invalid == ended, "an end that was given stays"


def test_the_value_that_a_key_had_at_a_time(opener: Opener) -> None:
    store = opener()
    for place, since in (("Porto", "2024-01-01"), ("Lisbon", "2026-01-01")):
        store.commit(f"Maria lives in {place}", key="maria.city", t_valid=since)
        store.commit(f"Ada lives in {place}", key="maria.city", t_valid=since, scope="lab")
    for day, place in (("2025-06-01", "Porto"), ("2026-01-01", "Lisbon")):
        assert store.get("maria.city", valid_at=day).content == f"Maria lives in {place}"
        inside = store.get("maria.city", scope="lab", valid_at=day)
        assert inside.content == f"Ada lives in {place}"
    with pytest.raises(vestig.NotFoundError, match="the key had no value at 2020-01-01"):
        store.get("maria.city", valid_at="2020-01-01")
    store.commit("The gate opens at six", key="gate", t_valid="2026-03-01T10:00")
    for early in ("2026-02-28", "2026-03-01T09:59"):
        with pytest.raises(vestig.NotFoundError, match="the key had no value at 2026-0"):
            store.get("gate", valid_at=early)
    for late in ("2026-03-01", date(2026, 3, 1), "2026-03-01T10:00"):
        assert store.get("gate", valid_at=late).key == "gate", "a day counts with its end"
    with pytest.raises(vestig.ValidationError, match=r"valid_at: expected a key.*show\(id"):
        store.get(store.get("maria.city").id, valid_at="2025-06-01")


def test_keys_are_those_that_get_answers(opener: Opener) -> None:
    """Of every scope, or of one; none that is withdrawn, archived, or of an item that has ended."""
    store = opener(clock=(clock := FrozenClock()))
    store.commit(PORTO, key=CITY)
    store.commit(LISBON, key=CITY)
    store.commit("Ana likes tea", key="ana.drink", scope="user/ana")
    store.commit("Ana likes rye", key=CITY, scope="user/ana")
    store.deprecate(store.commit("The pump is loud", key="pump").memory_id)
    store.archive(store.commit("The crane is tall", key="crane").memory_id)
    store.items.put("note", 1, text="The note is brief", expires=clock() + timedelta(days=1))
    assert store.keys() == ["ana.drink", CITY, "note"]
    assert store.keys("maria") == [CITY]
    assert store.keys(scope="user/ana") == ["ana.drink", CITY]
    clock.move(days=2)
    assert store.keys() == ["ana.drink", CITY]
    for key in store.keys(scope="user/ana"):
        assert store.get(key, scope="user/ana").key == key
    assert store.keys(namespace="elsewhere") == []


def test_the_history_of_a_key_has_every_value_and_what_became_of_it(opener: Opener) -> None:
    store = opener()
    store.commit(PORTO, key=CITY, t_valid="2022-01-01")
    wrong = store.commit(LISBON, key=CITY, t_valid="2023-01-01").memory_id
    store.deprecate(wrong)
    store.commit(FARO, key=CITY, t_valid="2024-01-01")
    store.commit("Maria is away", key=CITY, scope="user/maria")
    found = store.history(CITY)
    assert [(one.content, one.status) for one in found] == [
        (PORTO, Status.SUPERSEDED),
        (LISBON, Status.DEPRECATED),
        (FARO, Status.ACTIVE),
    ]
    assert store.history(found[0].id) == store.history(wrong[4:16]) == found
    assert len(store.history(CITY, scope="user/maria")) == 1
    with pytest.raises(NotFoundError, match=r"ana\.city"):
        store.history("ana.city")


def test_the_history_of_a_memory_without_a_key_is_its_chain(opener: Opener) -> None:
    store = opener()
    ids = [store.commit(text).memory_id for text in (PORTO, LISBON, FARO)]
    store.supersede(ids[0], ids[1])
    assert [one.id for one in store.history(ids[1])] == ids[:2]
    assert [one.id for one in store.history(ids[2])] == ids[2:]


def test_a_store_is_iterated(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vestig.memories.read._ITERATED", 2)
    store = opener()
    ids = [store.commit(text).memory_id for text in (PORTO, LISBON, FARO)]
    store.archive(store.commit("The crane is tall").memory_id)
    assert {one.id for one in store} == set(ids)
    reading = iter(store)
    first = [next(reading).id, next(reading).id]
    store.commit("Maria is away")
    store.forget(next(id for id in ids if id not in first))
    assert list(reading) == []


def test_no_value_stands_in_a_blank_scope(store: vestig.Vestig) -> None:
    for scope in ("", " ", "\t"):
        with pytest.raises(vestig.ValidationError, match="scope: expected text that is not blank"):
            store.commit("The flat is in Rome", scope=scope)
        with pytest.raises(vestig.ValidationError):
            store.scoped(scope).count()
    assert store.count() == 0


def test_a_program_is_warned_of_a_value_that_a_key_does_not_take(opener: Opener) -> None:
    store = opener()
    first = store.commit(
        "Flat 12 pays 640 euros", key="flat12.rent", t_valid="2025-05-01"
    ).memory_id
    older = {"content": "Flat 12 pays 690 euros", "key": "flat12.rent", "t_valid": "2024-05-01"}
    told = f"commit: {first} stays current under the key, .* is older and was stored as history"
    with pytest.warns(UserWarning, match=told):
        store.commit(**older)
    with pytest.warns(UserWarning, match=f"{first} stays current .* is older and is history"):
        assert store.commit(**older).outcome is Kind.EXACT_DUPE
    with pytest.warns(UserWarning, match=f"commit_many: items.0.: {first} stays current"):
        store.commit_many([older])
    assert store.get("flat12.rent").id == first


def test_a_told_beginning_replaces_one_that_nobody_told(opener: Opener, clock: FrozenClock) -> None:
    store = opener()
    first = store.commit("We run PostgreSQL 15.4", key="db.version").memory_id
    clock.move(days=30)
    told = f"nobody said since when {first} holds, so this later text takes its place"
    with pytest.warns(UserWarning, match=told):
        newer = store.commit("We run PostgreSQL 16.1", key="db.version", t_valid="2026-03-10")
    assert newer.superseded == (first,)
    assert store.get("db.version").content == "We run PostgreSQL 16.1"
    # what was said at a time, and what was told for it, keep their order
    said = store.commit("The host is b2", key="host", t_ref="2026-01-05").memory_id
    store.commit("The host is b1", key="host", t_valid="2025-06-01")
    assert store.get("host").id == said
    # the text of what was replaced, said again, holds again
    store.commit("We run PostgreSQL 15.4", key="db.version")
    assert store.get("db.version").content == "We run PostgreSQL 15.4"


def test_today_as_a_day_is_now(opener: Opener, clock: FrozenClock, recwarn: Any) -> None:
    store = opener()
    store.commit("The gate opens at six", key="gate")
    store.commit("The gate opens at ten", key="gate", t_valid=clock() + timedelta(hours=1))
    today = clock().date()
    clock.move(minutes=1)
    found = store.recall("When does the gate open?", as_of=today, all=True)
    assert ([one.content for one in found], found.warnings) == (["The gate opens at six"], ())
    assert store.get("gate", valid_at=today).content == "The gate opens at six"
    assert (store.count(known_at=today), store.diff(today, today).end) == (2, clock())
    tomorrow = store.recall("When does the gate open?", as_of=today + timedelta(days=1))
    assert "lies in the future" in tomorrow.warnings[0]


@pytest.mark.parametrize(
    ("given", "key", "warned"),
    [
        ("a\u200fb", "ab", True),
        ("\ufb01x", "fix", True),
        ("cafe\u0301", "caf\xe9", False),
        ("maria.city", "maria.city", False),
    ],
)
def test_a_key_that_is_stored_otherwise_is_told(given: str, key: str, warned: bool) -> None:
    with vestig.open(":memory:") as store:
        found = store.commit("The pool opens at nine.", key=given)
    assert found.key == key
    assert [f'the key is "{key}"' in one for one in found.warnings] == [True] * warned
