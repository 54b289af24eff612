"""Makes the store of one schema version that later versions must open.

Run once, with the code of that version, before its schema changes:

    git worktree add ../old COMMIT
    cp python/vestig/_core*.so ../old/python/vestig/   # the core of that commit
    PYTHONPATH=../old/python python tests/compat/make_store.py 3 tests/compat/stores/3

The store goes into one archive, since SQLite gives every table and index a page of its own;
`facts.json.gz` beside it says what must be read from it.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import vestig
from vestig.changes import ChangeSet, NewJob, NewTokenCodes
from vestig.ids import new_id
from vestig.ports import EntityListing
from vestig.store.ledger.migrations import MIGRATIONS, newest_version
from vestig.testing import FrozenClock, HashingEmbedder

DIMENSIONS: Final = 16
EVERY: Final = EntityListing(limit=None, include_expired=True)
Add = Callable[..., None]


def fill(store: vestig.Vestig, clock: FrozenClock) -> dict[str, str]:
    """Something of everything that a version can hold: name → memory id."""
    ids: dict[str, str] = {}

    def add(name: str, text: str, **fields: Any) -> None:
        clock.move(hours=1)
        outcome = store.commit(text, **fields)
        assert outcome.memory_id is not None
        ids[name] = outcome.memory_id

    add("port", "The API gateway listens on port 8080", tags=["infra"], author="Ada")
    add("again", "The API gateway listens on port 8080", tags=["net"], author="Ada")
    add("café", "Zoë met Ada Lovelace in the café “Ørn” on 3 May 2024 \U0001f600")
    add("moved", "The API gateway listens on port 9090", supersedes=[ids["port"]], author="Ada")
    add("rule", "Never deploy on Fridays", scope="team", trigger="learning-failure")
    add("wrong", "The moon is made of cheese")
    add("other", "Another tenant lives here", namespace="other")
    store.deprecate(ids["wrong"], reason="not so")
    store.pin(ids["rule"], reason="house rule")
    store.archive(ids["café"])
    add("gone", "This will be forgotten for good")
    store.forget([ids["gone"]])
    store.record_access([ids["moved"]])
    assert ids["again"] == ids["port"]
    fill_graph(store, add, ids)
    fill_sessions(add)
    fill_texts(store, add, ids, clock)
    fill_bookkeeping(store, ids, clock)
    return ids


def fill_graph(store: vestig.Vestig, add: Add, ids: dict[str, str]) -> None:
    """Entities with what became of them, edges of every type, questions."""
    add("ACME", "Tickets are kept by ACME Incorporated for Grace Hopper")
    add("Ltd", "Invoices are sent to ACME Ltd by Grace Hopper today")
    add("Oslo", "The office of Umbrella Corporation moved from Oslo to Bergen")
    add(
        "solved",
        "The pump stopped since its gasket had dried out; a new one of rubber solved it",
        trigger="problem-solution",
        hypothetical_queries=["Why did the pump stop?", "What is the gasket made of?"],
    )
    named = {one.entity.canonical_name: one.entity.id for one in store.graph.entities(limit=100)}
    store.graph.merge_entities(named["ACME Incorporated"], named["ACME Ltd"])
    store.graph.link(named["Grace Hopper"], named["ACME Ltd"], "RELATION", relation="WORKS_AT")
    store.graph.link(
        ids["Oslo"], ids["solved"], "RELATED", weight=0.5, evidence="both are about repairs"
    )
    ended = store.graph.link(ids["ACME"], ids["rule"], "RELATED", weight=0.25)
    store.graph.unlink(ended.id)
    store.graph.expire_entity(named["Bergen"])


def fill_sessions(add: Add) -> None:
    """Two conversations: people among themselves, and one with an agent."""
    for place, (author, text) in enumerate(
        (
            ("Ada", "Did you hear back from the landlord about the cellar?"),
            ("Zoë", "Yes, he wants 40 euros more from May on"),
            ("Ada", "I would still take it, mine is damp"),
        )
    ):
        add(f"peer {place}", text, author=author, session_id="cellar", sequence=place)
    add("asked", "How do I undo a rebase?", role="user", session_id="git", sequence=0)
    add("told", "Look it up in the reflog", role="assistant", session_id="git", sequence=1)


def fill_texts(store: vestig.Vestig, add: Add, ids: dict[str, str], clock: FrozenClock) -> None:
    """Texts with line breaks and runs of white space, and codes of word pieces."""
    add("steps", "To drain the boiler:\n  1. close the valve\n  2. open the\tdrain cock")
    add("table", "| part   | price |\r\n|--------|-------|\r\n| gasket |  4.20 |")
    pieces = NewTokenCodes(
        memory_id=ids["steps"],
        model=f"hashing-{DIMENSIONS}-0",
        ids=bytes(range(12)),
        codes=(bytes(range(32)) + b"\x00\x2b") * 3,
    )
    with store_writer(store, clock) as txn:
        txn.apply(ChangeSet(namespace="default", token_codes=(pieces,)))


def fill_bookkeeping(store: vestig.Vestig, ids: dict[str, str], clock: FrozenClock) -> None:
    """Jobs that wait, that failed once and that are done, and a corrected clock."""
    names = ("steps", "table", "Oslo")
    jobs = [NewJob(id=new_id("job"), memory_id=ids[name], kind="embed") for name in names]
    with store_writer(store, clock) as txn:
        txn.apply(ChangeSet(namespace="default", jobs=tuple(jobs)))
    now_us = round(clock().timestamp() * 1e6)
    ledger = store._session.ledger
    ledger.due_jobs("default", now_us, ["embed"], 2, [job.id for job in jobs[:2]])
    ledger.finish_job(jobs[0].id, now_us, changes=None, error="the model is away")
    ledger.finish_job(jobs[1].id, now_us, changes=None, error=None)
    with store_writer(store, clock) as txn:
        txn.begin_clock_epoch(now_us - 86_400_000_000, actor="ops")


def facts(store: vestig.Vestig, ids: dict[str, str]) -> dict[str, Any]:
    """What must be read from the store whatever the version that reads it."""
    shown = {}
    for name, id in ids.items():
        if name in ("gone", "again"):
            continue
        with store_view(store) as view:
            space = "other" if name == "other" else "default"
            (memory,) = view.memories(space, [id])
            shown[name] = {
                "memory": memory.to_dict(),
                "events": [event.to_dict() for event in view.events(space, id)],
                "vector": view.vectors(space, [id])[id][1].hex(),
                "sources": [source.to_dict() for source in view.sources(space, id)],
                "edges": sorted(
                    [e.from_id, e.to_id, str(e.edge_type), e.weight] for e in view.edges(space, id)
                ),
                "chain": [r.to_dict() for r in view.supersessions(space, id)],
                "mentions": sorted([m.entity_id, m.confidence] for m in view.mentions(space, [id])),
                "questions": view.questions(space, [id]).get(id),
            }
    with store_view(store) as view:
        edges = view.list_edges("default", limit=None, include_expired=True)
        entities, _ = zip(*view.list_entities("default", EVERY), strict=True)
        jobs = view.stats("default")["jobs"]
    return {
        "ids": ids,
        "shown": shown,
        "jobs": jobs,
        "entities": {entity.id: entity.to_dict() for entity in entities},
        "expired_edges": sorted(edge.id for edge in edges if edge.t_expired is not None),
        "relations": [[e.from_id, e.to_id, e.relation] for e in edges if e.relation is not None],
    }


def store_view(store: vestig.Vestig) -> Any:
    """One read transaction of an open store."""
    return store._session.ledger.read()


def store_writer(store: vestig.Vestig, clock: FrozenClock) -> Any:
    """One write transaction of an open store."""
    return store._session.ledger.write(round(clock().timestamp() * 1e6))


def pack(folder: Path, target: Path) -> None:
    """All files of a store in one archive, without names or times of this machine."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.name.endswith("-shm"):
                info = tarfile.TarInfo(str(path.relative_to(folder)))
                info.size = path.stat().st_size
                info.mode = 0o600
                archive.addfile(info, io.BytesIO(path.read_bytes()))
    target.write_bytes(gzip.compress(raw.getvalue(), 9, mtime=0))


def main(version: int, target: Path) -> None:
    """Writes `store.tar.gz` and `facts.json.gz` to `target`."""
    found = newest_version(MIGRATIONS)
    assert found == version, f"this code writes schema version {found}, not {version}"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "store"
        clock = FrozenClock()
        with vestig.open(place, clock=clock, embedder=HashingEmbedder(DIMENSIONS)) as store:
            ids = fill(store, clock)
            found_facts = facts(store, ids)
            store.admin.compact()
        pack(place, target / "store.tar.gz")
    text = json.dumps(found_facts, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    (target / "facts.json.gz").write_bytes(gzip.compress(f"{text}\n".encode(), 9, mtime=0))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
