"""A ledger with something of everything, and its doctor, for tests of the store."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

from msgspec import structs

import ledger_rows as made
from vestig.changes import AccessTouch, ChangeSet, EntityPatch, NewClaim, NewEvidence, RequestRecord
from vestig.ids import new_id
from vestig.ports import EmbeddingIdentity
from vestig.results import Finding
from vestig.store.doctor import checks
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.portable.export import export
from vestig.store.projection.keeper import ProjectionKeeper
from vestig.store.records.rows import StoredAnswer
from vestig.times import from_us
from vestig.types import EdgeType

IDENTITY = EmbeddingIdentity(
    model="test-model", dimensions=8, normalized=False, fingerprint="0" * 64
)
LATER = made.NOW + 1_000_000_000


def fill(
    ledger: Ledger, count: int = 12, namespace: str = "default", *, jobs: bool = True
) -> list[str]:
    """Memories with tags, edges, jobs, entities, questions, token vectors; one superseded, one
    reinforced, one touched; an entity that was merged away, an edge that ended."""
    ledger.set_embedding_identity(IDENTITY)
    ids: list[str] = []
    for number in range(count):
        new = made.memory(
            f"The {namespace} café № {number} opens\tat “9:0{number % 10}” \U0001f600",
            namespace=namespace,
            scope=None if number % 3 else "",
            author=[None, "", "Ada"][number % 3],
            metadata={"source": "manual", "tags": ["a", f"t{number}"], "n": 0.1 + number},
            t_valid=from_us(made.NOW - 12_345_678_901_234_567 + number),
        )
        tokens = (made.tokens(new.id, seed=number),) if number % 2 else ()
        queued = (made.job(new.id),) if jobs and number % 5 == 0 else ()
        changes = made.added(new, *ids[-2:], jobs=queued, token_codes=tokens)
        with ledger.write(made.NOW + number) as txn:
            txn.apply(with_graph(changes, namespace, number))
        ids.append(new.id)
    if namespace == "default":
        with ledger.read() as view:
            ada, typed = view.entities_by_key(namespace, ["PERSON:ada", "UNTYPED:ada"]).values()
            (loose,) = view.outgoing(namespace, "MENTIONS", [ids[3]])
        merged = EntityPatch(entity_id=typed.id, columns={"merged_into": ada.id}, expired=True)
        with ledger.write(made.NOW + 100) as txn:
            changes = made.superseded(ids[1], ids[5], t_invalid=from_us(made.NOW))
            txn.apply(structs.replace(changes, entity_patches=(merged,)))
        with ledger.write(made.NOW + 101) as txn:
            changes = made.reinforced(ids[2])
            txn.apply(structs.replace(changes, expired_edges=(loose.id,)))
        touch = AccessTouch(memory_ids=(ids[3],), entity_ids=(ada.id,), accessed_us=made.NOW + 5)
        ledger.touch(namespace, touch)
    return ids


def fill_requests(ledger: Ledger, ids: list[str], namespace: str = "default") -> None:
    """Claims with evidence of a memory, of a source and of neither; jobs of every kind, one of them
    in a batch; reserved calls, answers and logged requests."""
    with ledger.read() as view:
        ada = view.entities_by_key(namespace, ["PERSON:ada"])["PERSON:ada"]
        (source, *_) = view.sources(namespace, ids[0])
    evidence = (
        NewEvidence(source_id=ids[2], stated_us=made.NOW, author="Ada", snippet="at the café"),
        NewEvidence(source_id=source.id),
        NewEvidence(snippet="seen there"),
    )
    full = made.claim(
        ids[4],
        subject_id=ada.id,
        object_id=ada.id,
        object_type="PERSON",
        relationship_type="works at",
        evidence=evidence,
    )
    bare = NewClaim(memory_id=ids[6], subject="Bo", fact_type="KNOWS")
    kinds = ("entities", "hypothetical", "stability", "embed")
    jobs = tuple(made.job(ids[8], kind) for kind in kinds)
    with ledger.write(made.NOW + 150) as txn:
        txn.apply(ChangeSet(namespace=namespace, claims=(full, bare), jobs=jobs))
        answer = StoredAnswer("key-1", bytes(range(32)), 201, f'{{"id": "{ids[0]}"}}', made.NOW)
        txn.keep_answer(namespace, answer, since_us=0)
    with ledger.write(made.NOW + 151) as txn:
        erased = StoredAnswer("key-2", None, 200, None, made.NOW + 1)
        txn.keep_answer(namespace, erased, since_us=0)
    ledger.due_jobs(namespace, made.NOW + 200, kinds[:2], 10, [job.id for job in jobs])
    ledger.submit_jobs([jobs[0].id], "batch-1", made.NOW + 201)
    ledger.reserve_model_calls(20_533, 5, None)
    ledger.reserve_model_calls(20_534, 2, None)
    request = RequestRecord(
        id=new_id("req"),
        namespace=namespace,
        route="/api/memory/recall",
        began_us=made.NOW,
        duration_us=1_234,
        status=200,
        counts={"results": 3},
        confidence=0.5,
        reason="max_facts",
        payload=f"asked for {ids[0]}",
    )
    plain = {"confidence": None, "reason": None, "payload": None, "counts": {}}
    ledger.log_requests([request, structs.replace(request, id=new_id("req"), **plain)])


def with_graph(changes: ChangeSet, namespace: str, number: int) -> ChangeSet:
    """The first memories get entities and questions as well."""
    (memory,) = changes.memories
    if number == 0:
        ada = made.entity("Ada", namespace=namespace, aliases=("Ada L.",), description="née Byron")
        other = made.entity("Ada", "UNTYPED", namespace=namespace, type_certain=False)
        links = (
            made.mention(memory.id, ada.id),
            made.mention(memory.id, other.id, confidence=None, evidence=None),
            made.edge(other.id, ada.id, EdgeType.RELATION, relation="SAME_AS"),
        )
        return structs.replace(changes, entities=(ada, other), edges=(*changes.edges, *links))
    if number in (2, 3):
        ada = made.entity("Ada", namespace=namespace)
        links = (made.mention(memory.id, ada.id, weight=0.0),)
        asked = tuple(made.question(memory.id, place) for place in range(number))
        return structs.replace(
            changes, entities=(ada,), edges=(*changes.edges, *links), questions=asked
        )
    return structs.replace(changes, questions_tried=(memory.id,)) if number == 4 else changes


def filled(folder: Path | None, *, jobs: bool = True, **options: Any) -> Ledger:
    """A new ledger with `fill` in it."""
    ledger = open_ledger(folder, **options)
    fill(ledger, jobs=jobs)
    return ledger


def keeper_of(ledger: Ledger, **options: Any) -> ProjectionKeeper:
    """The projection beside a ledger."""
    identity = ledger.embedding_identity() or IDENTITY
    return ProjectionKeeper(
        ledger,
        None if ledger.path is None else ledger.path.parent / "projection",
        dimensions=identity.dimensions,
        model=identity.model,
        **{"read_only": False, **options},
    )


def doctor(ledger: Ledger, **options: Any) -> dict[str, Finding]:
    """Findings by check; the keeper only reads."""
    keeper = keeper_of(ledger, read_only=True)
    findings = checks(ledger, keeper, **{"now_us": LATER, **options})
    assert len({finding.check for finding in findings}) == len(findings)
    return {finding.check: finding for finding in findings}


def levels(findings: dict[str, Finding]) -> dict[str, str]:
    """Everything that is not ok: check → level."""
    return {name: f.level for name, f in findings.items() if f.level != "ok"}


def exported(ledger: Ledger, namespace: str | None = None) -> bytes:
    """The bytes of an export."""
    out = io.BytesIO()
    export(ledger, out, namespace=namespace)
    return out.getvalue()


def file_bytes(folder: Path) -> dict[str, str]:
    """Digest of every file but the -shm, which holds locks of readers and no data."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm")
    }
