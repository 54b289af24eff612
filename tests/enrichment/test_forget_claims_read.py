"""Forgetting what a language model read: claims, quotes, relations and names of it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import vestig
from forget_checks import folder_of
from read_by_model import QUIET, always, claim, entity, say
from scripted import Opener
from traces import holding
from vestig.types import Edge

TOLD = "My sister Zelda Quince bakes rye bread in Vardø"
ELSE = "She came down from Vardø to sell her bread"
BAKES = claim(
    "Zelda Quince is a baker of rye bread", 1, subject="Zelda Quince", fact_type="BAKES",
    object="Vardø Mill", quote="bakes rye bread in Vardø", attributes={"grain": "rye of the north"},
)  # fmt: skip
ZELDA, MILL = entity("Zelda Quince", description="bakes the rye"), entity("Vardø Mill", "ORG")


def read(opener: Opener, *items: Any, texts: tuple[str, ...] = (TOLD, ELSE)) -> Any:
    store = opener(llm=always(*items), config=QUIET)
    ids = say(store, texts)
    assert store.cognify().windows_read == 1
    return store, ids


def claims(store: vestig.Vestig) -> list[str]:
    return [one.id for one in store.list(limit=100) if store.show(one.id).claim]


def edges(store: vestig.Vestig) -> list[Edge]:
    listed = store.graph.edges(edge_type="RELATION", include_expired=True, limit=100)
    return [one.edge for one in listed]


def names(store: vestig.Vestig) -> set[str]:
    return {one.entity.canonical_name for one in store.graph.entities(limit=100)}


def test_a_claim_of_one_turn_goes_with_it_and_leaves_no_byte(opener: Opener) -> None:
    store, ids = read(opener, BAKES, ZELDA, MILL)
    [made] = claims(store)
    assert len(edges(store)) == 1
    folder = folder_of(store)
    planned = store.forget(ids[0], dry_run=True)
    assert planned.derived_removed == (made,)
    assert claims(store) == [made]
    report = store.forget(ids[0])
    assert (report.derived_removed, report.memory_ids) == ((made,), (ids[0],))
    assert report.residues == 0
    assert [one.content for one in store.list()] == [ELSE]
    assert edges(store) == []
    assert "Zelda Quince" not in names(store)
    with pytest.raises(vestig.NotFoundError, match="forgotten"):
        store.get(made)
    for text in (TOLD, BAKES["content"], BAKES["quote"], "rye of the north", "bakes the rye"):
        assert holding(folder, text.encode()) == [], text
    assert store.admin.doctor().exit_code == 0


def test_a_claim_with_other_evidence_stays(opener: Opener) -> None:
    store, ids = read(opener, {**BAKES, "from": [1, 2]}, ZELDA, MILL)
    [made] = claims(store)
    report = store.forget(ids[0])
    assert (report.derived_removed, report.reembedded) == ((), (made,))
    stated = store.show(made).claim
    assert stated is not None
    assert [one.source_id for one in stated.evidence] == [ids[1]]
    assert len(edges(store)) == 1
    assert holding(folder_of(store), BAKES["quote"].encode()) == []
    report = store.forget(ids[1])
    assert report.derived_removed == (made,)
    assert store.count() == 0
    assert names(store) == set()
    assert store.admin.doctor().exit_code == 0


def test_equal_turns_are_evidence_of_their_own(opener: Opener) -> None:
    store, ids = read(opener, {**BAKES, "from": [1, 2]}, ZELDA, texts=(TOLD, TOLD))
    [made] = claims(store)
    assert store.forget(ids[0]).derived_removed == ()
    stated = store.show(made).claim
    assert stated is not None
    assert [(one.source_id, one.snippet) for one in stated.evidence] == [(ids[1], BAKES["quote"])]


def test_what_somebody_stated_since_stays_without_its_claim(opener: Opener) -> None:
    store, ids = read(opener, BAKES, ZELDA)
    [made] = claims(store)
    assert store.commit(BAKES["content"], enrich=False).memory_id == made
    report = store.forget(ids[0])
    assert report.derived_removed == ()
    assert store.get(made).content == BAKES["content"]
    assert store.show(made).claim is None


def test_a_claim_that_a_turn_carries_goes_with_the_turn_alone(opener: Opener) -> None:
    own = claim(ELSE, 2, subject="Zelda Quince", fact_type="CAME_FROM", object="Vardø")
    store, ids = read(opener, own, ZELDA)
    assert claims(store) == [ids[1]]
    assert store.forget(ids[1]).derived_removed == ()
    assert [one.id for one in store.list()] == [ids[0]]


def test_all_turns_of_a_session_take_what_was_read_of_them(opener: Opener) -> None:
    store, ids = read(opener, {**BAKES, "from": [1, 2]}, ZELDA, MILL)
    report = store.forget(where={"session_ids": ["s1"]})
    assert sorted(report.memory_ids) == sorted(ids)
    assert len(report.derived_removed) == 1
    assert store.count({"statuses": ["active", "superseded", "deprecated"]}) == 0
    assert names(store) == set()


def exported(store: vestig.Vestig) -> bytes:
    out = io.BytesIO()
    store.export(out)
    return out.getvalue()


def test_no_older_export_brings_a_claim_back(opener: Opener, tmp_path: Path) -> None:
    store, ids = read(opener, BAKES, ZELDA, MILL)
    whole = exported(store)
    other = opener("other", config=QUIET, llm=always())
    other.import_(io.BytesIO(whole), format="export")
    assert exported(other) == whole
    # what was read there is read here
    assert other.cognify().windows_read == 0
    store.forget(ids[0])
    report = store.import_(io.BytesIO(whole), format="export", merge=True)
    assert report.imported == 0 or claims(store) == []
    assert [one.content for one in store.list()] == [ELSE]
    assert (edges(store), "Zelda Quince" in names(store)) == ([], False)
    assert holding(folder_of(store), BAKES["quote"].encode()) == []
    # a store that never had it takes the tombstone, and then nothing of the older export
    third = opener("third")
    third.import_(io.BytesIO(exported(store)), format="export")
    third.import_(io.BytesIO(whole), format="export", merge=True)
    assert [one.content for one in third.list()] == [ELSE]
    assert third.admin.doctor().exit_code == 0


def test_claims_of_two_stores_come_together(opener: Opener) -> None:
    store, _ = read(opener, BAKES, ZELDA, MILL)
    other = opener("other", llm=always({**BAKES, "content": "Zelda Quince bakes at the mill"},
                                       ZELDA, MILL), config=QUIET)  # fmt: skip
    say(other, ["Zelda Quince runs the Vardø Mill"], session="s9")
    other.cognify()
    store.import_(io.BytesIO(exported(other)), format="export", merge=True)
    assert len(claims(store)) == 2
    assert [one.t_expired for one in edges(store)] == [None]
    for id in claims(store):
        store.deprecate(id)
    assert [one.t_expired is None for one in edges(store)] == [False]
    assert store.admin.doctor().exit_code == 0
