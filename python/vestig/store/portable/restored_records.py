"""Claims, model calls, answers and logged requests, as a restore writes them."""

from __future__ import annotations

import apsw

from vestig.ids import id_bytes
from vestig.store.ledger.request_rows import INSERT_ANSWER, INSERT_REQUEST
from vestig.store.portable.forgotten_records import ForgottenRecords
from vestig.store.portable.lines import FIRST_DAY, columns_of
from vestig.store.portable.placement import Placement
from vestig.store.portable.records import (
    ClaimRecord,
    EvidenceRecord,
    IdempotencyKeyRecord,
    ModelCallsRecord,
    RequestLogRecord,
)
from vestig.store.sqlite.lookups import fetch
from vestig.store.tables.schema import COLUMNS


def restore_calls(conn: apsw.Connection, record: ModelCallsRecord) -> bool:
    """The calls of a day are the greater of what the store and the file count."""
    conn.execute(
        "INSERT INTO model_calls VALUES (?, ?) ON CONFLICT (day) DO UPDATE"
        " SET reserved = excluded.reserved WHERE excluded.reserved > reserved",
        ((record.day - FIRST_DAY).days, record.reserved),
    )
    return conn.changes() > 0


def restore_answer(
    conn: apsw.Connection,
    placement: Placement,
    forgotten: ForgottenRecords,
    record: IdempotencyKeyRecord,
) -> bool:
    """The answer to a request, where the store has none for its key. One that names a memory which
    was forgotten here comes erased."""
    (created_us,) = columns_of(record, ("created_us",))
    digest = None if record.request_hash is None else bytes.fromhex(record.request_hash)
    response = record.response
    if response is not None and forgotten.is_named(response):
        digest = response = None
    conn.execute(
        INSERT_ANSWER,
        (
            placement.namespace(record.namespace), record.key, digest, record.status, response,
            created_us,
        ),
    )  # fmt: skip
    return conn.changes() > 0


def restore_request(
    conn: apsw.Connection,
    placement: Placement,
    forgotten: ForgottenRecords,
    record: RequestLogRecord,
) -> bool:
    """An entry of the log of requests, where the store has none of its id; without a payload that
    names a memory which was forgotten here."""
    id = id_bytes(record.id)
    if fetch(conn, "SELECT 1 FROM requests WHERE id = ?", (id,)):
        return False
    payload = record.payload
    if payload is not None and forgotten.is_named(payload):
        payload = None
    began_us, counts = columns_of(record, ("began_us", "counts"))
    conn.execute(
        INSERT_REQUEST,
        (
            id, placement.namespace(record.namespace), record.route, began_us, record.duration,
            record.status, counts, record.confidence, record.reason, payload,
        ),
    )  # fmt: skip
    return True


class RestoredClaims:
    """The claims of one restore. Evidence is written only where its claim was."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._written: set[str] = set()

    def claim(self, record: ClaimRecord) -> bool:
        """Writes the claim of a memory that the restore brought."""
        place = self._placement
        memory = place.row(record.memory)
        if record.memory in place.existing:
            return False
        subject, object = (
            None if id is None else place.row(id) for id in (record.subject_id, record.object_id)
        )
        named = {"salt": place.salt(), "memory": memory, "seq": place.seq(record.seq),
                 "subject_entity": subject, "object_entity": object}  # fmt: skip
        plain = tuple(name for name in COLUMNS["claims"] if name not in named)
        named |= dict(zip(plain, columns_of(record, plain), strict=True))
        place.write("claims", [named[name] for name in COLUMNS["claims"]], place.seq(record.seq))
        self._written.add(record.memory)
        return True

    def evidence(self, record: EvidenceRecord) -> bool:
        """Writes a piece of evidence behind its claim."""
        place = self._placement
        memory = place.row(record.memory)
        if record.memory not in self._written:
            return False
        source = stated_in = None
        if record.source_id is not None:
            row = place.row(record.source_id)
            source, stated_in = (None, row) if record.source_id.startswith("mem_") else (row, None)
        seq, (stated_us,) = place.seq(record.seq), columns_of(record, ("stated_us",))
        values = (
            place.salt(), place.new_row("claim_evidence"), memory, seq, record.position, source,
            stated_in, stated_us, record.author, record.snippet,
        )  # fmt: skip
        place.write("claim_evidence", values, seq)
        return True
