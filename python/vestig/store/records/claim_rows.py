"""Claims with their evidence, and what states a memory that carries none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import apsw

from vestig.changes import NewClaim
from vestig.ids import id_text
from vestig.language.text_forms import single_spaced
from vestig.store.integrity import chain
from vestig.store.records.graph_rows import NodeRows
from vestig.store.records.rows import from_json, to_json
from vestig.store.sqlite.lookups import known_ids, next_row, rows_of, select_in
from vestig.store.tables.graph import EDGE_CODES
from vestig.store.tables.schema import INSERT
from vestig.times import from_us
from vestig.types import Claim, Evidence

_SNIPPET_CHARS_MAX: Final = 500
_CLAIMS: Final = (
    "SELECT c.memory, c.subject, s.id, c.fact_type, c.object, o.id, c.object_type,"
    " c.relationship_type, c.attributes, c.confidence FROM claims c"
    ' LEFT JOIN entities s ON s."row" = c.subject_entity'
    ' LEFT JOIN entities o ON o."row" = c.object_entity WHERE c.memory IN (?*)'
)
_EVIDENCE: Final = (
    "SELECT e.memory, s.id, t.id, e.stated_us, e.author, e.snippet FROM claim_evidence e"
    ' LEFT JOIN sources s ON s."row" = e.source LEFT JOIN memories t ON t."row" = e.stated_in'
    " WHERE e.memory IN (?*) ORDER BY e.memory, e.position"
)
# The source of an event is that whose edge to the memory the same transaction wrote. One that an
# agent shares with its other commits tells nothing of this statement.
_STATEMENTS: Final = (
    "SELECT e.memory, e.artifact_ref, s.id, e.occurred_us, m.author, m.content, e.payload"
    ' FROM events e JOIN memories m ON m."row" = e.memory'
    f" LEFT JOIN edges p ON p.to_row = e.memory AND p.edge_type = {EDGE_CODES['PRODUCED']}"
    ' AND p.seq = e.seq LEFT JOIN sources s ON s."row" = p.from_row'
    " AND s.source_type <> 'agentic'"
    " WHERE e.memory IN (?*) AND e.event_type IN"
    " ('ADD', 'IMPORT', 'REINFORCE_EXACT', 'REINFORCE_NEAR')"
    ' ORDER BY e.memory, e.seq, e."row"'
)


def named_nodes(claims: Sequence[NewClaim]) -> set[str]:
    """Ids of the nodes that these claims and their evidence name, those of the memories too."""
    named = {claim.memory_id for claim in claims}
    for claim in claims:
        ids = (claim.subject_id, claim.object_id, *(one.source_id for one in claim.evidence))
        named.update(id for id in ids if id is not None)
    return named


def write_claims(
    conn: apsw.Connection,
    link: chain.Link,
    nodes: NodeRows,
    claims: Sequence[NewClaim],
    *,
    seq: int,
    salts: chain.Salts,
) -> None:
    """Writes the claims of memories that have none.

    Raises:
        NotFoundError: a memory, entity or source that the namespace does not hold.
    """
    row = next_row(conn, "claim_evidence") if claims else 0
    for new in claims:
        memory = nodes.row(new.memory_id)
        values = (
            salts.take(), memory, seq, new.subject, _row(nodes, new.subject_id), new.fact_type,
            new.object, _row(nodes, new.object_id), new.object_type, new.relationship_type,
            to_json(new.attributes), new.confidence,
        )  # fmt: skip
        conn.execute(INSERT["claims"], values)
        link.wrote("claims", values)
        evidence: list[tuple[Any, ...]] = []
        for position, one in enumerate(new.evidence):
            of_memory = one.source_id is not None and one.source_id.startswith("mem_")
            stated_in = _row(nodes, one.source_id) if of_memory else None
            source = None if of_memory else _row(nodes, one.source_id)
            evidence.append((
                salts.take(), row, memory, seq, position, source, stated_in, one.stated_us,
                one.author, one.snippet,
            ))  # fmt: skip
            row += 1
        conn.executemany(INSERT["claim_evidence"], evidence)
        link.wrote_all("claim_evidence", evidence)


def _row(nodes: NodeRows, id: str | None) -> int | None:
    return None if id is None else nodes.row(id)


def claims_of(conn: apsw.Connection, namespace: str, memory_ids: Sequence[str]) -> dict[str, Claim]:
    """Return what `LedgerView.claims` returns."""
    rows = rows_of(conn, "memories", namespace, known_ids(memory_ids, "mem"))
    found = claims_at(conn, list(rows.values()))
    return {id: found[row] for id, row in rows.items() if row in found}


def claims_at(conn: apsw.Connection, rows: Sequence[int]) -> dict[int, Claim]:
    """Row of a memory → its claim, for those of these that carry one."""
    found = list(select_in(conn, _CLAIMS, rows))
    evidence: dict[int, list[Evidence]] = {}
    for row, source, stated_in, stated, author, snippet in select_in(
        conn, _EVIDENCE, [row[0] for row in found]
    ):
        of = id_text("source", source) if source is not None else None
        evidence.setdefault(row, []).append(
            Evidence(
                source_id=id_text("mem", stated_in) if stated_in is not None else of,
                timestamp=None if stated is None else from_us(stated),
                author=author,
                snippet=snippet,
            )
        )
    return {row[0]: _claim(row, tuple(evidence.get(row[0], ()))) for row in found}


def _claim(row: Sequence[Any], evidence: tuple[Evidence, ...]) -> Claim:
    (
        _row, subject, subject_id, fact_type, object, object_id, object_type, relationship_type,
        attributes, confidence,
    ) = row  # fmt: skip
    return Claim(
        subject=subject,
        subject_id=None if subject_id is None else id_text("ent", subject_id),
        fact_type=fact_type,
        object=object,
        object_id=None if object_id is None else id_text("ent", object_id),
        object_type=object_type,
        relationship_type=relationship_type,
        attributes=from_json(attributes),
        confidence=confidence,
        evidence=evidence,
    )


def statements_at(conn: apsw.Connection, rows: Sequence[int]) -> dict[int, list[Evidence]]:
    """Return what `LedgerView.evidence_at` returns."""
    found: dict[int, list[Evidence]] = {}
    for row, artifact_ref, source, occurred, author, content, payload in select_in(
        conn, _STATEMENTS, rows
    ):
        # few payloads have one, and all are dear to read
        variant = from_json(payload).get("variant") if '"variant"' in payload else None
        text = variant if isinstance(variant, str) else content
        of = None if source is None else id_text("source", source)
        found.setdefault(row, []).append(
            Evidence(
                source_id=of if artifact_ref is None else artifact_ref,
                timestamp=from_us(occurred),
                author=author,
                snippet=single_spaced(text)[:_SNIPPET_CHARS_MAX],
            )
        )
    return found
