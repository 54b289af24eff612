"""Claims and their evidence, as a restore writes them."""

from __future__ import annotations

from vestig.store.portable.lines import columns_of
from vestig.store.portable.placement import Placement
from vestig.store.portable.records import ClaimRecord, EvidenceRecord
from vestig.store.tables.schema import COLUMNS

__all__ = ["RestoredClaims"]


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
