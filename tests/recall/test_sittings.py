"""Sittings: notes that follow each other within an hour are neighbours, whatever became of them."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import vestig
from chat_store import PLAIN, weighed
from scripted import Opener
from vestig.testing import FrozenClock, HashingEmbedder

sys.path.append(str(Path(__file__).parents[1] / "core"))

from oracle_signals import Eligible, Memory, Query, sittings

NOON = datetime(2026, 3, 18, 12, tzinfo=UTC)
WINDOWS = weighed(1.0, "words", "reply")
EVERY = 200


def at(minutes: int) -> str:
    return (NOON + timedelta(minutes=minutes)).isoformat()


@dataclass(frozen=True)
class Note:
    """A note as it should be stored now."""

    id: str
    text: str
    minutes: int
    scope: str | None = None
    author: str | None = None
    agent: str | None = None
    active: bool = True


def values(store: vestig.Vestig, name: str, query: str = "note", **more: Any) -> dict[str, float]:
    """Id → raw value of a term."""
    keys = {**WINDOWS, **more.pop("config", {})}
    found = store.recall(query, limit=EVERY, config=keys, **more)
    signals = {hit.id: hit.reason.signals for hit in found}
    return {id: own[name].raw if name in own else 0.0 for id, own in signals.items()}


def wanted(notes: Iterable[Note], name: str, query: str = "note") -> dict[str, float]:
    """The same from the definitions; notes in the order of the ledger, those at rest too."""
    notes = list(notes)
    groups = [((one.scope, one.author, one.agent), one.minutes * 60_000_000) for one in notes]
    seated = [
        (one, Memory(content=one.text, author=one.author, sitting=number))
        for one, number in zip(notes, sittings(groups), strict=True)
    ]
    there = [(one.id, memory) for one, memory in seated if one.active]
    raw = Eligible([memory for _, memory in there]).raw(Query(text=query))[name]
    return {id: float(value) for (id, _), value in zip(there, raw, strict=True)}


def check(store: vestig.Vestig, notes: Iterable[Note]) -> None:
    notes = list(notes)
    for name in ("words", "reply"):
        assert values(store, name) == pytest.approx(wanted(notes, name), abs=1e-9), name


def add(store: vestig.Vestig, number: int, minutes: int, **more: Any) -> Note:
    text = f"note number n{number} " + "and more " * (number % 4) + "?"
    agent = more.get("agent")
    fields = {name: more[name] for name in ("scope", "author") if name in more}
    made = store.commit(text, t_valid=at(minutes), provenance={"agent": agent}, **fields)
    return Note(id=str(made.memory_id), text=text.strip(), minutes=minutes, agent=agent, **fields)


@pytest.fixture
def store(opener: Opener) -> vestig.Vestig:
    return opener("sat", config=PLAIN)


def beside(store: vestig.Vestig, notes: Iterable[Note]) -> set[tuple[str, str]]:
    """(word of a note, word of the one before it in its sitting)."""
    words = {one.id: one.text.split()[2] for one in notes}
    return {
        (words[id], word)
        for word in words.values()
        for id, value in values(store, "reply", word).items()
        if value > 0
    }


def test_notes_within_an_hour_of_the_one_before_sit_together(store: vestig.Vestig) -> None:
    # 10:00, 10:40, 11:40, 12:41, and one that happened before the last one
    notes = [add(store, n, m) for n, m in enumerate((-120, -80, -20, 41, 0))]
    pairs = {("n1", "n0"), ("n2", "n1"), ("n4", "n3")}
    assert beside(store, notes) == pairs
    check(store, notes)


@pytest.mark.parametrize(
    "other",
    [{"author": "Ann"}, {"scope": "home"}, {"agent": "robot"}],
    ids=["author", "scope", "agent"],
)
def test_what_differs_sits_elsewhere(store: vestig.Vestig, other: dict[str, Any]) -> None:
    notes = [
        add(store, 0, 0),
        add(store, 1, 1, **other),
        add(store, 2, 2),
        add(store, 3, 3, **other),
    ]
    assert beside(store, notes) == {("n2", "n0"), ("n3", "n1")}


def test_other_kinds_sit_nowhere(store: vestig.Vestig) -> None:
    notes = [add(store, 0, 0)]
    store.commit("note number n1", t_valid=at(1), session_id="s")
    store.commit("note number n2", t_valid=at(2), role="user")
    store.commit("note number n3", t_valid=at(3), title="Notes")
    store.commit("note number n4", t_valid=at(4), namespace="other")
    notes.append(add(store, 5, 5))
    assert beside(store, notes) == {("n5", "n0")}
    assert set(values(store, "reply", "n5").values()) == {0.0}


def test_alone_in_a_sitting_its_words_are_its_own(store: vestig.Vestig) -> None:
    for number in range(4):
        add(store, number, 90 * number)
    off = {"signals.sittings.enabled": False}
    found = values(store, "words", "n2")
    assert found == values(store, "words", "n2", config=off)
    assert max(found.values()) > 0


def test_a_filter_changes_no_membership(store: vestig.Vestig) -> None:
    notes = [add(store, n, m) for n, m in enumerate((0, 50, 100))]
    # the first and the last sit together because of the second, whoever asks
    without = {"exclude_ids": [notes[1].id]}
    found = values(store, "reply", "n0", where=without)
    assert found[notes[0].id] == 0.0
    assert found[notes[2].id] > 0
    store.archive(notes[1].id)
    assert values(store, "reply", "n0")[notes[2].id] > 0
    store.forget(notes[1].id)
    assert set(values(store, "reply", "n0").values()) == {0.0}, "it was split"


def test_a_batch_sits_in_its_order(store: vestig.Vestig) -> None:
    texts = [f"note number n{n} " + "and more " * (n % 3) + "?" for n in range(20)]
    made = store.commit_many([{"content": text, "t_valid": at(0)} for text in texts])
    notes = [
        Note(id=str(one.memory_id), text=text.strip(), minutes=0)
        for one, text in zip(made, texts, strict=True)
    ]
    assert beside(store, notes) == {(f"n{n + 1}", f"n{n}") for n in range(19)}
    check(store, notes)
    store.admin.rebuild()
    check(store, notes)


def test_they_are_no_sessions_elsewhere(store: vestig.Vestig) -> None:
    notes = [add(store, n, n) for n in range(3)]
    for hit in store.recall("note n1", limit=EVERY, config=WINDOWS):
        assert hit.memory.session_id is None
    again = store.commit(notes[0].text, t_valid=at(1))
    assert again.memory_id == notes[0].id, "an equal note is a duplicate"
    assert store.list(order_by="session").total == 3


@pytest.mark.parametrize("merged", [False, True], ids=["alone", "merged"])
def test_who_says_it_again_seats_nobody_elsewhere(
    store: vestig.Vestig, opener: Opener, clock: FrozenClock, tmp_path: Path, merged: bool
) -> None:
    """The source that said a note first counts, here and in an import."""
    agents = ("robot", None, None, "robot", None)
    notes = [add(store, n, n, agent=agent) for n, agent in enumerate(agents)]
    for said, agent in ((1, "robot"), (2, "robot"), (3, None), (0, None), (4, "third")):
        clock.move(seconds=1)
        again = store.commit(notes[said].text, t_valid=at(9), provenance={"agent": agent})
        assert again.memory_id == notes[said].id
    pairs = {("n2", "n1"), ("n4", "n2"), ("n3", "n0")}
    assert beside(store, notes) == pairs
    store.admin.rebuild()
    assert beside(store, notes) == pairs
    store.export(tmp_path / "all.jsonl")
    other = opener("other", config=PLAIN)
    if merged:
        other.commit("what other stores hold", t_valid=at(0), provenance={"agent": "third"})
    other.import_(tmp_path / "all.jsonl", merge=merged)
    assert beside(other, notes) == pairs
    check(store, notes)


def test_switched_off_they_are_alone(store: vestig.Vestig) -> None:
    notes = [add(store, n, n) for n in range(4)]
    off = {"signals.sittings.enabled": False}
    alone = [replace(one, agent=str(n)) for n, one in enumerate(notes)]
    assert values(store, "words", config=off) == pytest.approx(wanted(alone, "words"), abs=1e-9)
    check(store, notes)


def test_an_export_brings_the_same(opener: Opener, store: vestig.Vestig, tmp_path: Path) -> None:
    notes = [add(store, n, m) for n, m in enumerate((0, 50, 100, 200, 201))]
    store.forget(notes.pop(1).id)
    store.export(tmp_path / "all.jsonl")
    other = opener("other", config=PLAIN)
    other.import_(tmp_path / "all.jsonl")
    check(other, notes)


@pytest.mark.parametrize("seed", range(4))
def test_they_follow_from_what_is_stored(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    folder = tmp_path / "store"
    options: dict[str, Any] = {
        "embedder": HashingEmbedder(16), "clock": FrozenClock(), "config": PLAIN
    }  # fmt: skip
    store = vestig.open(folder, **options)
    notes = list[Note]()
    for number in range(60):
        drawn = dice.random()
        if drawn < 0.6 or len(notes) < 5:
            more = {
                "scope": dice.choice([None, None, "home"]),
                "author": dice.choice([None, None, "Ann"]),
                "agent": dice.choice([None, None, "robot"]),
            }
            minutes = dice.choice([number * 7, number * 7 + 45, dice.randrange(400)])
            notes.append(add(store, number, minutes, **more))
            continue
        place = dice.randrange(len(notes))
        one = notes[place]
        if drawn < 0.72:
            store.forget(one.id)
            del notes[place]
        elif drawn < 0.82 and one.active:
            minutes = dice.randrange(400)
            store.update(one.id, t_valid=at(minutes))
            notes[place] = replace(one, minutes=minutes)
        elif drawn < 0.88 and one.active:
            scope = dice.choice(["home", "garden"])
            store.update(one.id, scope=scope)
            notes[place] = replace(one, scope=scope)
        elif drawn < 0.92 and one.active:
            store.deprecate(one.id, reason="no")
            notes[place] = replace(one, active=False)
        elif drawn < 0.96:
            store.admin.compact()
        else:
            store.close()
            store = vestig.open(folder, **options)
        if number % 6 == 0:
            check(store, notes)
    check(store, notes)
    store.admin.rebuild()
    check(store, notes)
    store.close()
