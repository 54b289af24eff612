"""What a commit says that is known of the same already."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import vestig
from scripted import Opener
from vestig.testing import HashingEmbedder, ScriptedEmbedder, vector_at
from vestig.types import CommitOutcomeKind as Kind
from vestig.types import Difference

NEW = "The daily meeting moves to ten past ten from Monday on"
# A text and its cosine to NEW.
KNOWN = {
    "The daily meeting begins at half past nine": 0.8,
    "The daily meeting moves to ten past nine from Monday on": 0.95,
    "Meetings without notes are not worth holding": 0.55,
    "Somebody waters the plants on Mondays": 0.6,
    "The printer on the second floor is out of ink": 0.44,
}
VECTORS = {NEW: vector_at(1.0), f"Bo: {NEW}": vector_at(1.0)} | {
    f"{author}{text}": vector_at(cosine, axis=axis)
    for axis, (text, cosine) in enumerate(KNOWN.items(), 1)
    for author in ("", "Ana: ")
}
TEXTS = tuple(KNOWN)


def filled(opener: Opener, **fields: object) -> tuple[vestig.Vestig, list[str]]:
    store = opener(embedder=ScriptedEmbedder(VECTORS))
    items = [{"content": text, **fields} for text in TEXTS]
    return store, [str(one.memory_id) for one in store.commit_many(items)]


def ids(outcome: vestig.CommitOutcome) -> list[str]:
    return [one.memory_id for one in outcome.similar]


def test_the_three_nearest_are_named(opener: Opener) -> None:
    store, known = filled(opener, t_valid="2026-02-03")
    outcome = store.commit(NEW)
    assert ids(outcome) == [known[1], known[0], known[3]]
    assert [round(one.score, 2) for one in outcome.similar] == [0.95, 0.8, 0.6]
    assert {one.t_valid.date().isoformat() for one in outcome.similar} == {"2026-02-03"}
    assert [one.beginning for one in outcome.similar] == [TEXTS[1], TEXTS[0], TEXTS[3]]
    near, *others = outcome.similar
    assert near.differs == (Difference(old="9", new="10"),)
    assert [one.differs for one in others] == [(), ()]
    assert outcome.possible_update_of == near
    [event] = store.events(str(outcome.memory_id))
    assert event.payload["similar"] == [
        {"memory_id": one.memory_id, "score": one.score} for one in outcome.similar
    ]


def test_a_dry_run_and_another_author_are_told_too(opener: Opener) -> None:
    store, known = filled(opener, author="Ana")
    outcome = store.commit(NEW, author="Bo", dry_run=True)
    assert ids(outcome) == [known[1], known[0], known[3]]
    store.archive(known[1])
    assert ids(store.commit(NEW))[0] == known[1]


def test_what_takes_no_part(opener: Opener) -> None:
    """Other scopes and namespaces, expired memories, and what the commit replaces, by id or by
    key."""
    store, known = filled(opener)
    for place in ({"scope": "other"}, {"namespace": "other"}):
        assert store.commit(NEW, dry_run=True, **place).similar == ()
    store.deprecate(known[1])
    assert ids(store.commit(NEW, dry_run=True)) == [known[0], known[3], known[2]]
    named = store.commit(NEW, supersedes=known[0], dry_run=True)
    assert ids(named) == [known[3], known[2]]
    keyed = store.commit("The daily meeting begins at half past nine", key="daily")
    assert keyed.outcome is Kind.INSERTED_NEW
    assert ids(keyed)[0] == known[0], "it has the same text without a key"
    assert keyed.memory_id in ids(store.commit(NEW, dry_run=True))
    assert keyed.memory_id not in ids(store.commit(NEW, key="daily", dry_run=True))


def test_a_repeat_and_a_refused_text_name_none(opener: Opener) -> None:
    store, _ = filled(opener)
    store.commit(NEW)
    assert store.commit(NEW).similar == ()
    assert store.commit("ok").similar == ()


def test_earlier_items_of_a_batch_are_known(opener: Opener) -> None:
    store = opener(embedder=ScriptedEmbedder(VECTORS))
    found = store.commit_many([*TEXTS, NEW, {"content": NEW, "scope": "other"}])
    assert ids(found[-2]) == [str(found[at].memory_id) for at in (1, 0, 3)]
    assert found[-2].similar[0].differs == (Difference(old="9", new="10"),)
    assert ids(found[-1]) == []


def test_the_least_score_is_configured(opener: Opener) -> None:
    for least, count in ((0.81, 1), (0.9501, 0)):
        store = opener(embedder=ScriptedEmbedder(VECTORS), config={"similar.min_score": least})
        store.commit_many(list(TEXTS))
        assert len(store.commit(NEW).similar) == count
    with pytest.raises(vestig.ConfigError, match=r"similar\.min_score"):
        vestig.open(":memory:", config={"similar.min_score": 1.5})


def test_nothing_of_it_depends_on_other_switches(opener: Opener) -> None:
    off = {"hygiene.near_duplicate.enabled": False, "links.related.enabled": False}
    store = opener(embedder=ScriptedEmbedder(VECTORS), config=off)
    store.commit_many(list(TEXTS))
    assert len(store.commit(NEW).similar) == 3


def test_the_event_keeps_no_word_of_what_is_forgotten(tmp_path: Path) -> None:
    old = "The vault of the harbour office opens with Zanzibar seven Quetzal"
    with vestig.open(tmp_path / "s", embedder=HashingEmbedder(64)) as store:
        first = store.commit(old).memory_id
        second = store.commit(old.replace("Zanzibar", "Timbuktu"), on_near_dup="link")
        assert second.similar[0].memory_id == first
        assert store.forget(first).residues == 0
        assert "Zanzibar" not in json.dumps(store.show(second.memory_id).to_dict())
    for path in (tmp_path / "s").rglob("*"):
        if path.is_file():
            assert b"Zanzibar" not in path.read_bytes(), path


@pytest.mark.slow
def test_updates_in_other_words_are_among_the_similar() -> None:
    """Of labelled pairs the older text is named in most updates, with few others shown."""
    folder = os.environ.get("VESTIG_TEST_DATA", "")
    path = Path(folder) / "update_pairs" / "pairs.jsonl"
    if not folder or not path.is_file():
        pytest.skip("needs VESTIG_TEST_DATA with update_pairs")
    pairs = [json.loads(line) for line in path.read_text().splitlines()]
    with vestig.open(":memory:") as store:
        known = [store.commit(pair["old"], on_near_dup="insert").memory_id for pair in pairs]
        outcomes = [store.commit(pair["new"], dry_run=True) for pair in pairs]
    named = [
        id in ids(outcome)
        for pair, id, outcome in zip(pairs, known, outcomes, strict=True)
        if pair["update"]
    ]
    shown = sum(len(outcome.similar) for outcome in outcomes) / len(outcomes)
    assert sum(named) / len(named) >= 0.92
    assert shown <= 1.5
