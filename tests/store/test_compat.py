"""Stores of earlier schema versions: opened, migrated, read, written to."""

from __future__ import annotations

import gzip
import io
import json
import stat
import tarfile
from pathlib import Path
from typing import Any

import apsw
import pytest

import ledger_rows as made
import vestig
from vestig.changes import ChangeSet, NewEntity
from vestig.ids import new_id
from vestig.store.ledger.ledger import SqliteLedger
from vestig.store.ledger.migrations import MIGRATIONS, newest_version
from vestig.store.ledger.opening import open_ledger
from vestig.testing import HashingEmbedder
from vestig.types import EdgeType

STORES = Path(__file__).resolve().parent.parent / "compat" / "stores"
VERSIONS = sorted(int(path.name) for path in STORES.iterdir())


def unpacked(version: int, folder: Path) -> tuple[Path, dict[str, Any]]:
    """The store of a version as it was left, and what must be read from it."""
    raw = (STORES / str(version) / "store.tar.gz").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:gz") as archive:
        archive.extractall(folder / "store", filter="data")
    facts = gzip.decompress((STORES / str(version) / "facts.json.gz").read_bytes())
    return folder / "store", json.loads(facts)


def without_either(times: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in time.items() if name != "either" or value} for time in times
    ]


def as_shown(ledger: SqliteLedger, space: str, id: str) -> dict[str, Any]:
    with ledger.read() as view:
        (memory,) = view.memories(space, [id])
        return {
            # the word as it is stored, and times without what older versions did not know
            "memory": memory.to_dict()
            | {
                "status": memory.status.value,
                "times": without_either(memory.to_dict()["times"]),
            },
            "events": [event.to_dict() for event in view.events(space, id)],
            "vector": view.vectors(space, [id])[id][1].hex(),
            "sources": [source.to_dict() for source in view.sources(space, id)],
            "edges": sorted(
                [e.from_id, e.to_id, str(e.edge_type), e.weight] for e in view.edges(space, id)
            ),
            "chain": [record.to_dict() for record in view.supersessions(space, id)],
            "mentions": sorted([m.entity_id, m.confidence] for m in view.mentions(space, [id])),
            "questions": view.questions(space, [id]).get(id),
        }


def test_there_is_a_store_of_every_version_before_this_one() -> None:
    assert list(range(1, newest_version(MIGRATIONS))) == VERSIONS
    for version in VERSIONS:
        assert sum(p.stat().st_size for p in (STORES / str(version)).iterdir()) <= 64 * 1024


@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_store_opens_and_says_what_it_said(version: int, tmp_path: Path) -> None:
    path, facts = unpacked(version, tmp_path)
    with open_ledger(path) as ledger:
        for name, wanted in facts["shown"].items():
            space = "other" if name == "other" else "default"
            shown = as_shown(ledger, space, facts["ids"][name])
            wanted["memory"]["status"] = wanted["memory"]["status"].lower()
            wanted["memory"]["times"] = without_either(wanted["memory"]["times"])
            assert {k: shown[k] for k in wanted} == wanted, name
        with ledger.read() as view:
            assert view.forgotten_at("default", facts["ids"]["gone"]) is not None
            entities = view.entities("default", list(facts.get("entities", {})))
            edges = view.list_edges("default", limit=None, include_expired=True)
            assert view.stats("default")["jobs"] == facts.get("jobs", {})
        assert {e.id: e.to_dict() for e in entities} == facts.get("entities", {})
        expired = sorted(edge.id for edge in edges if edge.t_expired is not None)
        assert expired == facts.get("expired_edges", [])
        relations = [[e.from_id, e.to_id, e.relation] for e in edges if e.relation is not None]
        assert relations == facts.get("relations", [])
        assert ledger.verify_all() == []
    backup = path / f"ledger.bak-{version}"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    old = apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY)
    assert old.execute("PRAGMA user_version").fetchall() == [(version,)]
    old.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_store_takes_what_only_the_new_schema_holds(version: int, tmp_path: Path) -> None:
    path, facts = unpacked(version, tmp_path)
    memory = facts["ids"]["moved"]
    entity = NewEntity(
        id=new_id("ent"),
        namespace="default",
        entity_type="SYSTEM",
        canonical_name="API gateway",
        norm_key="SYSTEM:api gateway",
    )
    mention = made.edge(memory, entity.id, EdgeType.MENTIONS, confidence=0.9)
    with open_ledger(path) as ledger, ledger.write(made.NOW * 2) as txn:
        txn.apply(ChangeSet(namespace="default", entities=(entity,), edges=(mention,)))
    with open_ledger(path) as ledger, ledger.read() as view:
        assert view.mentioning("default", [entity.id]) == {entity.id: [memory]}
        assert ledger.verify_all() == []


@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_store_is_recalled_from(version: int, tmp_path: Path) -> None:
    path, facts = unpacked(version, tmp_path)
    with vestig.open(path, embedder=HashingEmbedder(16)) as store:
        found = store.recall("the API gateway and its port")
        assert facts["ids"]["moved"] in [result.memory.id for result in found.results]
        assert not [f for f in store.admin.doctor().findings if f.level == "damage"]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_store_forgets(version: int, tmp_path: Path) -> None:
    path, facts = unpacked(version, tmp_path)
    gone = [id for name, id in facts["ids"].items() if name in ("moved", "steps", "rule")]
    with vestig.open(path, embedder=HashingEmbedder(16)) as store:
        report = store.forget(gone, force=True)
        assert set(report.memory_ids) == set(gone)
        assert report.residues == 0
        assert not [f for f in store.admin.doctor().findings if f.level == "damage"]
    assert not list(path.glob("ledger.bak-*")), "a copy of before holds what was forgotten"


def test_texts_of_before_have_no_other_form(tmp_path: Path) -> None:
    path, facts = unpacked(3, tmp_path)
    with open_ledger(path) as ledger, ledger.read() as view:
        (steps,) = view.memories("default", [facts["ids"]["steps"]])
        assert steps.content == "To drain the boiler: 1. close the valve 2. open the drain cock"
        assert view.normal_texts("default", [steps.id]) == {steps.id: steps.content}
        assert view.connection.execute("SELECT COUNT(*) FROM original_texts").fetchall() == [(0,)]


def test_texts_of_before_and_new_ones_are_exported_together(tmp_path: Path) -> None:
    path, facts = unpacked(3, tmp_path)
    given = "To fill the boiler:\n  1. close the drain cock\n  2. open the valve"
    with vestig.open(path, embedder=HashingEmbedder(16)) as store:
        new = store.commit(given).memory_id
        texts = {m.id: m.content for m in store.list(limit=100)}
        assert texts[new] == given
        store.export(tmp_path / "all.jsonl")
    with vestig.open(tmp_path / "other", embedder=HashingEmbedder(16)) as other:
        other.import_(tmp_path / "all.jsonl")
        assert {m.id: m.content for m in other.list(limit=100)} == texts
        steps = other.show(facts["ids"]["steps"]).memory
        assert steps.content == "To drain the boiler: 1. close the valve 2. open the drain cock"
