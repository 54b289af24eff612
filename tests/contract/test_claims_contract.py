"""What every ledger must keep of claims and of where memories were stated."""

from __future__ import annotations

import pytest
from ledger_adapters import add, write

import ledger_rows as made
from tables import each
from vestig.changes import ChangeSet, NewClaim, NewEvidence
from vestig.errors import NotFoundError
from vestig.ids import id_bytes, new_id
from vestig.store.ledger.ledger import Ledger
from vestig.times import from_us
from vestig.types import Claim, EdgeType, EventType, Evidence

NOW = made.NOW


def _bytes(*ids: str) -> list[bytes]:
    return [id_bytes(id) for id in ids]


def test_a_claim_is_kept_with_its_evidence(ledger: Ledger) -> None:
    said, new = add(ledger, "I work at Acme"), made.memory("Ana works at Acme")
    acme = made.entity("Acme", "ORG")
    file = made.source(None, source_type="file", path="notes.md")
    claim = NewClaim(
        memory_id=new.id,
        subject="Ana",
        fact_type="WORKS_AT",
        object="Acme",
        object_id=acme.id,
        object_type="ORG",
        relationship_type="employment",
        attributes={"since": 2019, "role": None},
        confidence=0.0,
        evidence=(
            NewEvidence(source_id=said, stated_us=NOW, author="Ana", snippet="I work at Acme"),
            NewEvidence(source_id=file.id),
            NewEvidence(snippet="seen"),
        ),
    )
    write(ledger, made.added(new, entities=(acme,), sources=(file,), edges=(), claims=(claim,)))
    nothing = {"timestamp": None, "author": None}
    wanted = Claim(
        subject="Ana",
        subject_id=None,
        fact_type="WORKS_AT",
        object="Acme",
        object_id=acme.id,
        object_type="ORG",
        relationship_type="employment",
        attributes={"since": 2019, "role": None},
        confidence=0.0,
        evidence=(
            Evidence(
                source_id=said, timestamp=from_us(NOW), author="Ana", snippet="I work at Acme"
            ),
            Evidence(source_id=file.id, snippet="", **nothing),
            Evidence(source_id=None, snippet="seen", **nothing),
        ),
    )
    with ledger.read() as view:
        assert view.claims("default", [said, new.id, new_id("mem")]) == {new.id: wanted}
        assert view.claims("other", [new.id]) == {}
        rows = {one.row: id for id, one in view.recalled("default", _bytes(said, new.id)).items()}
        assert {rows[row]: claim for row, claim in view.claims_at(list(rows)).items()} == {
            id_bytes(new.id): wanted
        }


@each("field", ["subject_id", "object_id", "evidence"])
def test_a_claim_names_only_what_the_namespace_holds(ledger: Ledger, field: str) -> None:
    new = made.memory("one")
    unknown = {
        "subject_id": new_id("ent"),
        "object_id": new_id("ent"),
        "evidence": (NewEvidence(source_id=new_id("source")),),
    }
    claim = NewClaim(memory_id=new.id, subject="a", fact_type="b", **{field: unknown[field]})
    with pytest.raises(NotFoundError):
        write(ledger, made.added(new, claims=(claim,)))
    with ledger.read() as view:
        assert view.memories("default", [new.id]) == []


def test_every_statement_of_a_text_is_evidence_of_it(ledger: Ledger) -> None:
    file = made.source(None, source_type="file", path="notes.md")
    new = made.memory("Acme moved to Oslo", author="Ana")
    edge = made.edge(file.id, new.id, EdgeType.PRODUCED)
    write(
        ledger,
        made.added(
            new,
            sources=(file,),
            edges=(edge,),
            events=(made.event(new.id, EventType.IMPORT, occurred_us=NOW + 1),),
        ),
    )
    again = made.reinforced(new.id, NOW + 2)
    near = made.event(
        new.id,
        EventType.REINFORCE_NEAR,
        occurred_us=NOW + 3,
        artifact_ref="chat-17",
        payload={"variant": "Acme  has moved\nto Oslo"},
    )
    write(ledger, again)
    write(ledger, ChangeSet(namespace="default", events=(near,)))
    write(ledger, ChangeSet(namespace="default", events=(made.event(new.id, EventType.PIN),)))
    other = add(ledger, "x" * 900)

    def one(source: str | None, at: int, snippet: str, author: str | None = "Ana") -> Evidence:
        return Evidence(
            source_id=source, timestamp=from_us(NOW + at), author=author, snippet=snippet
        )

    with ledger.read() as view:
        known = view.recalled("default", _bytes(new.id, other))
        first, second = known[id_bytes(new.id)].row, known[id_bytes(other)].row
        found = view.evidence_at([first, second, max(first, second) + 1])
        assert view.evidence_at([]) == {}
    assert found == {
        first: [
            one(file.id, 1, "Acme moved to Oslo"),
            one(None, 2, "Acme moved to Oslo"),
            one("chat-17", 3, "Acme has moved to Oslo"),
        ],
        second: [one(None, 0, "x" * 500, None)],
    }
