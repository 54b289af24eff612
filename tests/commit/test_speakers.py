"""What a model states takes no place of what a user or a document states, until it is confirmed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import vestig
from vestig.testing import HashingEmbedder, ScriptedModel
from vestig.types import CommitOutcomeKind, EventType, Status

KEY = "maria.city"
EARLY, LATE = "2026-03-01", "2026-05-01"


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as opened:
        yield opened


def current(store: vestig.Vestig) -> str:
    return store.get(KEY).content


@pytest.mark.parametrize("role", ["assistant", "tool", "model", "function"])
def test_a_model_takes_no_key_from_a_user(store: vestig.Vestig, role: str) -> None:
    holder = store.commit("Maria lives in Porto", role="user", key=KEY, t_valid=EARLY)
    guess = store.commit("Maria lives in Lisbon", role=role, key=KEY, t_valid=LATE)
    assert (guess.outcome, guess.key) == (CommitOutcomeKind.INSERTED_NEW, None)
    assert guess.beside == holder.memory_id
    assert not guess.superseded
    assert holder.memory_id in guess.warnings[0]
    assert KEY in guess.warnings[0]
    assert current(store) == "Maria lives in Porto"
    stored = store.get(str(guess.memory_id))
    assert (stored.key, stored.confirmed, stored.status) == (None, False, Status.ACTIVE)
    added = store.events(stored.id)[0]
    assert added.payload["beside"] == holder.memory_id


def test_a_document_and_a_note_keep_their_key_too(store: vestig.Vestig) -> None:
    for place, fields in enumerate(({"title": "Lease"}, {}, {"role": "system"})):
        key = f"{KEY}.{place}"
        store.commit(f"Lease {place} ends in May", key=key, **fields)
        guess = store.commit(f"Lease {place} ends in June", key=key, role="assistant")
        assert guess.beside == store.get(key).id


@pytest.mark.parametrize(
    ("said", "confirms"),
    [
        ("Yes, Binta's violin was made in Mirecourt.", True),
        ("That's right: Binta's violin was made in Mirecourt", True),
        ("Correct. Binta's violin was made in Mirecourt.", True),
        ("Yes, Binta's violin was made in Mittenwald.", False),
        ("No, Binta's violin was made in Mirecourt?", False),
        ("Right Binta's violin was made in Mirecourt.", False),
    ],
)
def test_a_user_who_agrees_confirms(said: str, confirms: bool) -> None:
    with vestig.open(":memory:") as store:
        guess = store.commit("Binta's violin was made in Mirecourt.", role="assistant")
        made = store.commit(said, role="user")
        assert made.confirms == ((guess.memory_id,) if confirms else ())
        assert store.get(str(guess.memory_id)).confirmed is confirms


def test_what_stands_beside_is_stored_once(store: vestig.Vestig) -> None:
    store.commit("Maria lives in Porto", role="user", key=KEY)
    first, again = (
        store.commit("Maria lives in Lisbon", role="assistant", key=KEY) for _ in range(2)
    )
    assert again.outcome is CommitOutcomeKind.EXACT_DUPE
    assert again.memory_id == first.memory_id
    assert again.beside == first.beside


def test_one_batch_decides_as_single_commits_do(store: vestig.Vestig) -> None:
    texts: list[dict[str, Any]] = [
        {"content": "Maria lives in Porto", "role": "user", "key": KEY},
        {"content": "Maria lives in Lisbon", "role": "assistant", "key": KEY},
        {"content": "Maria lives in Faro", "role": "user", "key": KEY},
        {"content": "Maria lives in Braga", "role": "tool", "key": KEY},
    ]
    one, two, three, four = store.commit_many(texts)
    assert isinstance(two, vestig.CommitOutcome)
    assert isinstance(four, vestig.CommitOutcome)
    assert isinstance(one, vestig.CommitOutcome)
    assert isinstance(three, vestig.CommitOutcome)
    assert (two.beside, four.beside) == (one.memory_id, three.memory_id)
    assert three.superseded == (one.memory_id,)
    assert current(store) == "Maria lives in Faro"
    planned = store.commit(texts[1]["content"], role="assistant", key=KEY, dry_run=True)
    assert planned.beside == three.memory_id


def test_a_user_takes_the_key_of_a_model_whatever_the_times(store: vestig.Vestig) -> None:
    for place, (said, stated) in enumerate(((EARLY, LATE), (LATE, EARLY))):
        key = f"{KEY}.{place}"
        guess = store.commit(f"Gate {place} is red", role="assistant", key=key, t_valid=said)
        fact = store.commit(f"Gate {place} is blue", role="user", key=key, t_valid=stated)
        assert fact.superseded == (guess.memory_id,)
        assert store.get(key).id == fact.memory_id


def test_models_replace_each_other(store: vestig.Vestig) -> None:
    first = store.commit("Maria lives in Porto", role="assistant", key=KEY)
    second = store.commit("Maria lives in Lisbon", role="tool", key=KEY)
    assert second.superseded == (first.memory_id,)
    assert second.beside is None


def test_orders_act(store: vestig.Vestig) -> None:
    fact = str(store.commit("Maria lives in Porto", role="user", key=KEY).memory_id)
    named = store.commit("Maria lives in Lisbon", role="assistant", key=KEY, supersedes=[fact[:12]])
    assert named.superseded == (fact,)
    assert current(store) == "Maria lives in Lisbon"
    other = str(store.commit("Maria lives in Faro", role="user", key=KEY).memory_id)
    guess = str(store.commit("Maria lives in Braga", role="assistant").memory_id)
    store.supersede(other, guess)
    assert store.get(other).status is Status.SUPERSEDED
    store.items.put(KEY, 1, text="Maria lives in Evora", role="user")
    store.items.put(KEY, 2, text="Maria lives in Sines", role="assistant")
    assert current(store) == "Maria lives in Sines"
    assert not store.get(KEY).confirmed


def test_a_user_confirms_by_saying_the_same(store: vestig.Vestig) -> None:
    guess = store.commit("The lease ends in May 2031", role="assistant", session_id="a", sequence=1)
    said = store.commit("The lease ends in May 2031.", role="user", session_id="a", sequence=2)
    assert said.confirms == (guess.memory_id,)
    confirmed = store.get(str(guess.memory_id))
    assert confirmed.confirmed
    assert confirmed.role == "assistant"
    event = store.events(confirmed.id)[-1]
    assert event.event_type is EventType.CONFIRM
    assert event.payload["said_in"] == said.memory_id


@pytest.mark.parametrize(
    ("guess", "said", "confirms"),
    [
        ("The lease ends in May 2031", "The lease ends in June 2031", False),
        ("The cat is called Tom", "Is the cat called Tom?", False),
        ("The server costs 20 euros", "The  server costs 20 euros", True),
        ("I prefer the night train", "I prefer the night train", False),
    ],
)
def test_only_the_same_statement_confirms(
    store: vestig.Vestig, guess: str, said: str, confirms: bool
) -> None:
    one = store.commit(guess, role="assistant", author="Bot", session_id="a", sequence=1)
    two = store.commit(said, role="user", author="Ada", session_id="a", sequence=2)
    assert (two.confirms == (one.memory_id,)) is confirms
    assert store.get(str(one.memory_id)).confirmed is confirms


def test_nobody_else_and_nothing_earlier_confirms(store: vestig.Vestig) -> None:
    text = "The harbour office opens at eight"
    guess = store.commit(text, role="assistant", session_id="a", sequence=1, t_valid=LATE)
    for at, fields in enumerate(
        (
            {"role": "assistant", "t_valid": "2026-06-01"},
            {"t_valid": "2026-06-01"},
            {"role": "user", "t_valid": EARLY},
            {"role": "user", "scope": "other"},
        )
    ):
        again = store.commit(text, session_id="b", sequence=at, **fields)
        assert again.confirms == (), fields
    assert not store.get(str(guess.memory_id)).confirmed


def test_a_statement_of_somebody_else_that_is_merged_confirms(store: vestig.Vestig) -> None:
    guess = store.commit("The depot closes at noon", role="assistant")
    again = store.commit("The depot closes at noon")
    assert again.outcome is CommitOutcomeKind.EXACT_DUPE
    assert again.confirms == (guess.memory_id,)
    assert EventType.CONFIRM in [one.event_type for one in store.events(str(guess.memory_id))]


def test_confirm_names_who(store: vestig.Vestig) -> None:
    fact = store.commit("The gate is blue", role="user")
    guess = str(store.commit("The door code is 1234 today", role="tool").memory_id)
    assert store.count({"confirmed": False}) == 1
    assert store.confirm(guess, by="Ada").changed
    assert not store.confirm(guess, by="Bo").changed
    assert not store.confirm(str(fact.memory_id), by="Ada").changed
    assert store.events(guess)[-1].actor == "Ada"
    assert (store.count({"confirmed": False}), store.count({"confirmed": True})) == (0, 2)
    store.deprecate(guess)
    with pytest.raises(vestig.ConflictError, match="DEPRECATED since"):
        store.confirm(guess, by="Ada")
    with pytest.raises(vestig.ValidationError, match="by"):
        store.confirm(guess, by=" ")


def test_a_confirmed_statement_takes_a_key(store: vestig.Vestig) -> None:
    guess = store.commit("Maria lives in Porto", role="assistant", key=KEY)
    store.confirm(str(guess.memory_id), by="Ada")
    other = store.commit("Maria lives in Lisbon", role="assistant", key=KEY)
    assert other.beside == guess.memory_id


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_confirmed_takes_the_place_beside_which_it_stands(store: vestig.Vestig) -> None:
    fact = store.commit("Maria lives in Porto", role="user", key=KEY, t_valid=EARLY)
    guess = store.commit("Maria lives in Lisbon", role="assistant", key=KEY, t_valid=LATE)
    done = store.confirm(str(guess.memory_id), by="Ada")
    value = store.get(KEY)
    assert (value.content, value.confirmed, value.role) == (
        "Maria lives in Lisbon",
        True,
        "assistant",
    )
    (said,) = done.warnings
    assert said.startswith(f"{value.id} has the key {KEY} now")
    assert str(fact.memory_id) in said
    assert [one.content for one in store.list()] == ["Maria lives in Lisbon"]
    days = ((EARLY, "Maria lives in Porto"), (LATE, "Maria lives in Lisbon"))
    for day, text in days:
        found = store.list(where={"keys": [KEY]}, valid_at=day)
        assert [one.content for one in found] == [text]
    assert store.admin.doctor().exit_code == 0
    assert store.commit("Maria lives in Faro", role="tool", key=KEY).beside == value.id


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("how", ["older", "pinned", "free", "no key"])
def test_what_is_confirmed_and_takes_no_place_says_why(store: vestig.Vestig, how: str) -> None:
    begins = {"older": ("2026-06-01", LATE)}.get(how, (EARLY, LATE))
    fact = store.commit("Maria lives in Porto", role="user", key=KEY, t_valid=begins[0])
    if how == "no key":
        guess = store.commit("Maria lives in Lisbon", role="assistant")
    else:
        guess = store.commit("Maria lives in Lisbon", role="assistant", key=KEY, t_valid=begins[1])
    if how == "pinned":
        store.pin(str(fact.memory_id))
    if how == "free":
        store.deprecate(str(fact.memory_id))
    warnings = store.confirm(str(guess.memory_id), by="Ada").warnings
    if how == "free":
        assert current(store) == "Maria lives in Lisbon"
        return
    assert current(store) == "Maria lives in Porto"
    assert any("keeps the key" in one for one in warnings) is (how != "no key")


def test_a_verdict_of_a_model_replaces_no_statement_of_a_user() -> None:
    verdict = {
        "number": 1, "verdict": "supersedes", "subject": "Ana's employer", "old_value": "Acme",
        "new_value": "Globex", "confidence": 0.97,
    }  # fmt: skip
    answers = {
        "judge_updates": {"updates": [verdict]},
        "extract_entities": {"entities": []},
        "classify_stability": {"stability": "dynamic"},
    }
    for role, expected in (("assistant", "unconfirmed"), ("user", None)):
        with vestig.open(":memory:", llm=ScriptedModel(answers)) as judged:
            old = judged.commit("Ana works at Acme", role="user", t_valid="2024-03-01")
            new = judged.commit("Ana works at Globex now", role=role, t_valid="2026-03-01")
            report = judged.admin.enrich()
            assert report.superseded == (expected is None)
            (similar,) = judged.show(str(new.memory_id)).similar
            assert similar.ignored == expected
            assert (judged.get(str(old.memory_id)).superseded_by is None) is (role == "assistant")


def test_it_comes_back_from_an_export(store: vestig.Vestig, tmp_path: Any) -> None:
    guess = store.commit("The gate is red", role="assistant")
    seen = store.commit("The door is green", role="assistant")
    store.confirm(str(seen.memory_id), by="Ada")
    store.export(tmp_path / "all.jsonl")
    with vestig.open(":memory:", embedder=HashingEmbedder()) as other:
        other.import_(tmp_path / "all.jsonl")
        assert [other.get(str(one.memory_id)).confirmed for one in (guess, seen)] == [False, True]
