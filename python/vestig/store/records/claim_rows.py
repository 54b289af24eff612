"""Claims with their evidence, and what states a memory that carries none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

import apsw

from vestig.changes import AddedEvidence, NewClaim, NewEvidence
from vestig.ids import id_text
from vestig.language.text_forms import single_spaced
from vestig.store.integrity import chain
from vestig.store.records.graph_rows import NodeRows
from vestig.store.records.rows import from_json, to_json
from vestig.store.sqlite.faults import store_faults
from vestig.store.sqlite.lookups import fetch, known_ids, next_row, rows_of, select_in
from vestig.store.tables.graph import EDGE_CODES
from vestig.store.tables.schema import INDEX, INSERT, columns_sql
from vestig.times import from_us
from vestig.types import Claim, Evidence

if TYPE_CHECKING:
    from vestig.store.records.reads import LedgerView

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


def named_nodes(claims: Sequence[NewClaim], added: Sequence[AddedEvidence]) -> set[str]:
    """Ids of the nodes that these claims and this evidence name, those of the memories too."""
    evidence: list[tuple[str, tuple[NewEvidence, ...]]] = [
        (one.memory_id, one.evidence) for one in claims
    ]
    evidence += [(one.memory_id, one.evidence) for one in added]
    ids = [end for claim in claims for end in (claim.subject_id, claim.object_id)]
    ids += [one.source_id for _, of_claim in evidence for one in of_claim]
    return {id for id, _ in evidence} | {id for id in ids if id is not None}


class ClaimWriter:
    """The claims' part of a write transaction, under its link."""

    def __init__(
        self,
        conn: apsw.Connection,
        link: chain.Link,
        nodes: NodeRows,
        *,
        seq: int,
        salts: chain.Salts,
    ) -> None:
        self._conn = conn
        self._link = link
        self._nodes = nodes
        self._seq = seq
        self._salts = salts

    def claims(self, claims: Sequence[NewClaim]) -> None:
        """Claims of memories that have none.

        Raises:
            NotFoundError: a memory, entity or source that the namespace does not hold.
        """
        for new in claims:
            memory = self._nodes.row(new.memory_id)
            values = (
                self._salts.take(), memory, self._seq, new.subject, self._end(new.subject_id),
                new.fact_type, new.object, self._end(new.object_id), new.object_type,
                new.relationship_type, to_json(new.attributes), new.confidence,
            )  # fmt: skip
            self._conn.execute(INSERT["claims"], values)
            self._link.wrote("claims", values)
            self._evidence(memory, new.evidence, 0)

    def added(self, added: Sequence[AddedEvidence]) -> None:
        """Further evidence of stored claims.

        Raises:
            NotFoundError: as `claims`.
        """
        for one in added:
            memory = self._nodes.row(one.memory_id)
            sql = "SELECT IFNULL(MAX(position) + 1, 0) FROM claim_evidence WHERE memory = ?"
            self._evidence(memory, one.evidence, fetch(self._conn, sql, (memory,))[0][0])
            if one.confidence is not None:
                self._set_confidence(memory, one.confidence)

    def _evidence(self, memory: int, evidence: Sequence[NewEvidence], position: int) -> None:
        row, rows = next_row(self._conn, "claim_evidence"), list[tuple[Any, ...]]()
        for at, one in enumerate(evidence):
            of_memory = one.source_id is not None and one.source_id.startswith("mem_")
            source = None if of_memory else self._end(one.source_id)
            rows.append((
                self._salts.take(), row + at, memory, self._seq, position + at, source,
                self._end(one.source_id) if of_memory else None, one.stated_us, one.author,
                one.snippet,
            ))  # fmt: skip
        if rows:
            self._conn.executemany(INSERT["claim_evidence"], rows)
            self._link.wrote_all("claim_evidence", rows)

    def _set_confidence(self, memory: int, confidence: float) -> None:
        """The seq of the row stays: it says when the claim was stored."""
        sql = f"SELECT {columns_sql('claims')} FROM claims WHERE memory = ?"
        old = fetch(self._conn, sql, (memory,))[0]
        new = [*old]
        new[INDEX["claims"]["confidence"]] = confidence + 0.0
        update = "UPDATE claims SET confidence = ? WHERE memory = ?"
        self._conn.execute(update, (confidence + 0.0, memory))
        self._link.replaced("claims", old, new)

    def _end(self, id: str | None) -> int | None:
        return None if id is None else self._nodes.row(id)


def claims_of(conn: apsw.Connection, namespace: str, memory_ids: Sequence[str]) -> dict[str, Claim]:
    """Return what `LedgerView.claims` returns."""
    rows = rows_of(conn, "memories", namespace, known_ids(memory_ids, "mem"))
    found = claims_at(conn, list(rows.values()))
    return {id: found[row] for id, row in rows.items() if row in found}


def active_claims(
    view: LedgerView, namespace: str, scope: str | None, fact_types: Collection[str]
) -> dict[str, Claim]:
    """id → claim, of the active memories of a scope whose claims are of one of these types."""
    sql = (
        'SELECT m."row", m.id FROM claims c JOIN memories m ON m."row" = c.memory'
        " WHERE m.namespace = ? AND m.scope IS ? AND m.status = 'active' AND c.fact_type IN (?*)"
    )
    with store_faults(view.where):
        found = select_in(view.connection, sql, tuple(fact_types), (namespace, scope))
        rows = {row: id_text("mem", id) for row, id in found}
        claims = claims_at(view.connection, sorted(rows))
    return {rows[row]: claim for row, claim in claims.items()}


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
