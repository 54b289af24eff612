"""Entities, questions and edges in exports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import ledger_rows as made
import vestig
from exports import Line, parsed, sealed
from filled_store import IDENTITY, doctor, exported, filled, keeper_of, levels
from tables import each
from vestig.changes import ChangeSet, EntityPatch
from vestig.errors import ConflictError, ValidationError
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.portable.restore import restore
from vestig.store.records.rows import EntityListing
from vestig.testing import HashingEmbedder
from vestig.types import EdgeType

EVERY = EntityListing(limit=None, include_expired=True)


def of(records: list[Line], kind: str) -> list[Line]:
    return [record for record in records if record["record"] == kind]


def remember(ledger: Ledger, text: str, *names: str) -> str:
    new = made.memory(text)
    entities = tuple(made.entity(name) for name in names)
    changes = made.added(new)
    mentions = tuple(made.mention(new.id, entity.id) for entity in entities)
    changes = structs.replace(
        changes,
        entities=entities,
        edges=(*changes.edges, *mentions),
        questions=(made.question(new.id, text=f"What of {text}?"),),
    )
    with ledger.write(made.NOW) as txn:
        txn.apply(changes)
    return str(new.id)


def test_a_restored_graph_makes_the_same_projection() -> None:
    store, copy = filled(None, jobs=False), open_ledger(None)
    restore(copy, exported(store).splitlines())
    with store.read() as mine, copy.read() as theirs:
        assert list(theirs.projection_rows(0)) == list(mine.projection_rows(0))
        touched = [list(view.projection_rows(5)) for view in (mine, theirs)]
    assert touched[0] == touched[1] != []
    keeper_of(copy).rebuild()
    assert levels(doctor(copy)).keys() <= {"projection"}  # in memory each has its own


def test_merging_joins_entities_by_key_and_keeps_what_was_there() -> None:
    mine, theirs = open_ledger(None), open_ledger(None)
    for ledger in (mine, theirs):
        ledger.set_embedding_identity(IDENTITY)
    here = remember(mine, "here", "Ada", "Bob")
    there = remember(theirs, "there", "Ada", "Cleo")
    with theirs.read() as view:
        ada, cleo = view.entities_by_key("default", ["PERSON:ada", "PERSON:cleo"]).values()
    relation = made.edge(ada.id, cleo.id, EdgeType.RELATION, relation="KNOWS")
    with theirs.write(made.NOW) as txn:
        txn.apply(ChangeSet(namespace="default", edges=(relation,)))
    report = restore(mine, exported(theirs).splitlines(), merge=True)
    assert (report.memories, report.records["entity"], report.records["question"]) == (1, 1, 1)
    with mine.read() as view:
        names = {e.canonical_name: e.id for e, _n in view.list_entities("default", EVERY)}
        assert names.keys() == {"Ada", "Bob", "Cleo"}
        assert names["Ada"] != ada.id
        assert names["Cleo"] == cleo.id
        assert view.mentioning("default", [names["Ada"]]) == {names["Ada"]: [there, here]}
        (knows,) = view.list_edges("default", edge_type="RELATION")
        assert (knows.from_id, knows.to_id) == (names["Ada"], cleo.id)
        assert view.questions("default", [there]) == {there: ["What of there?"]}
    assert mine.verify_all() == []
    again = restore(mine, exported(theirs).splitlines(), merge=True)
    assert again.restored == 0
    before = exported(mine)
    restore(mine, before.splitlines(), merge=True)
    assert exported(mine) == before


def test_an_entity_with_another_name_under_its_id_writes_nothing() -> None:
    store, copy = filled(None, jobs=False), open_ledger(None)
    restore(copy, exported(store).splitlines())
    before = exported(copy)
    records = parsed(before)
    of(records, "entity")[0]["norm_key"] = "PERSON:secret"
    with pytest.raises(ConflictError, match="ent_") as caught:
        restore(copy, sealed(records), merge=True)
    assert "secret" not in str(caught.value)
    assert exported(copy) == before


def test_a_chain_of_merged_entities_is_restored() -> None:
    """The one that it was merged into may stand in a later line."""
    store = open_ledger(None)
    ids = []
    for name in ("First", "Second", "Third"):
        new = made.entity(name, embedding=None)
        ids.append(new.id)
        with store.write(made.NOW) as txn:
            txn.apply(ChangeSet(namespace="default", entities=(new,)))
    for old, into in ((ids[1], ids[2]), (ids[0], ids[1])):
        patch = EntityPatch(entity_id=old, columns={"merged_into": into}, expired=True)
        with store.write(made.NOW + 1) as txn:
            txn.apply(ChangeSet(namespace="default", entity_patches=(patch,)))
    copy = open_ledger(None)
    restore(copy, exported(store).splitlines())
    assert exported(copy) == exported(store)
    with copy.read() as view:
        merged = [entity.merged_into for entity in view.entities("default", ids)]
    assert merged == [ids[1], ids[2], None]


def test_a_merged_entity_that_takes_a_name_in_use_is_refused_with_its_line() -> None:
    store = open_ledger(None)
    first, second = (made.entity(name, embedding=None) for name in ("First", "Second"))
    merged = EntityPatch(entity_id=first.id, columns={"merged_into": second.id}, expired=True)
    for parts in ({"entities": (first, second)}, {"entity_patches": (merged,)}):
        with store.write(made.NOW) as txn:
            txn.apply(ChangeSet(namespace="default", **parts))
    records = parsed(exported(store))
    (victim,) = (r for r in of(records, "entity") if r["canonical_name"] == "First")
    (other,) = (r for r in of(records, "entity") if r["canonical_name"] == "Second")
    place = max(records.index(victim), records.index(other)) + 1
    # As no store holds it: unexpired, and waiting for a later line.
    victim.update(expired_at=None, norm_key="PERSON:second")
    copy = open_ledger(None)
    with pytest.raises(ValidationError, match=f"line {place}: expected a name .* entity"):
        restore(copy, sealed(records))
    with copy.read() as view:
        assert view.seq == 0


BROKEN: dict[str, tuple[str, Callable[[Line], Any]]] = {
    "aliases": ("entity", lambda r: r.update(aliases=["a"])),
    "merged into nothing": ("entity", lambda r: r.update(merged_into="ent_" + "0" * 32)),
    "wseq before seq": ("entity", lambda r: r.update(seq=9, wseq=8)),
    "half a vector": ("entity_vector", lambda r: r.update(embedding="AAAA")),
    "model": ("entity_vector", lambda r: r.update(model="another")),
    "unknown entity": ("entity_vector", lambda r: r.update(entity="ent_" + "0" * 32)),
    "position": ("question", lambda r: r.update(position=-2)),
    "a question that is none": ("question", lambda r: r.update(position=-1)),
    "question's model": ("question", lambda r: r.update(model="another")),
    "question twice": ("question", lambda r: r.update(position=1)),
    "no such end": ("edge", lambda r: r.update(from_id="mem_" + "0" * 32)),
}


@each("case", BROKEN)
def test_a_bad_line_of_the_graph_is_named_and_nothing_is_written(case: str) -> None:
    kind, change = BROKEN[case]
    records = parsed(exported(filled(None)))
    victim = of(records, kind)[0]
    place = records.index(victim) + 1
    change(victim)
    copy = open_ledger(None)
    with pytest.raises((ValidationError, ConflictError)) as caught:
        restore(copy, sealed(records))
    if case != "question twice":
        assert f"line {place}" in str(caught.value)
    with copy.read() as view:
        assert view.seq == 0
        assert view.list_entities("default", EVERY) == []


def test_an_edge_whose_end_was_another_memory_gets_an_id_of_its_own(tmp_path: Path) -> None:
    mine, theirs = (
        vestig.open(tmp_path / name, embedder=HashingEmbedder()) for name in ("mine", "theirs")
    )
    tide = mine.commit("The tide turns at six").memory_id
    boat = mine.commit("The boat sails with the tide").memory_id
    link = mine.graph.link(tide, boat).id
    same = theirs.commit("The tide turns at six").memory_id
    mine.export(tmp_path / "mine.jsonl")
    theirs.import_(tmp_path / "mine.jsonl", merge=True)
    mine.deprecate(tide)
    theirs.commit("The tide turns at six")  # stated after it was withdrawn here
    theirs.export(tmp_path / "theirs.jsonl")
    for expected in (3, 0):
        report = mine.import_(tmp_path / "theirs.jsonl", merge=True)
        assert bool(report.imported) == bool(expected)
    edges = [one.edge for one in mine.graph.edges(boat, edge_type="RELATED")]
    assert {edge.from_id for edge in edges} == {tide, same}
    assert len({edge.id for edge in edges}) == 2
    assert mine.graph.edge(link).edge.from_id == tide
    assert mine.admin.doctor().exit_code == 0
