"""The store as it was at an earlier seq: a projection in memory, made from the ledger.

Seqs and events say what a row was then: a memory's end, status and reinforcements, edges,
questions, entities. What no event gives back is as it is now; `irreversible_changes` names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from vestig import _core
from vestig.arguments import parse_time
from vestig.ids import id_text
from vestig.ports import EmbeddingIdentity, LedgerView, ProjectionRow, ScanRequest
from vestig.store.ledger.graph_rows import aliases_of
from vestig.store.ledger.projection_rows import STORING_EVENTS
from vestig.store.ledger.projection_rows_graph import WALKED_EDGES
from vestig.store.ledger.reads import SqliteView
from vestig.store.ledger.rows import from_json
from vestig.store.ledger.schema import ENTITY_NODE, NO_QUESTION
from vestig.store.projection.keeper import chunks_of, scan_of
from vestig.store.sqlite.lookups import fetch
from vestig.types import Entity, Status

__all__ = ["EarlierState", "irreversible_changes"]

_STATUS: Final = {member.value: code for code, member in enumerate(Status)}
# Fields of an update whose earlier values `_undo` restores.
_RESTORED_FIELDS: Final = frozenset(("t_invalid",))


class EarlierState(SqliteView):
    """An earlier seq of a store: a view, and a projection with the scans of `ProjectionKeeper`.

    Reads that have no earlier answer here give that of now.

    Args:
        view: the newest state; must outlive this.
    """

    def __init__(
        self, view: SqliteView, seq: int, store_uuid: bytes, identity: EmbeddingIdentity | None
    ) -> None:
        super().__init__(view.connection, view.where, view.retired, view.checked)
        self._view = view
        self._earlier_seq = seq
        dimensions = 1 if identity is None else identity.dimensions
        model = "" if identity is None else identity.model
        self.core = _core.Projection.open(None, store_uuid, dimensions, model, False)
        # Entities that were unexpired then and are not now.
        self._revived: set[str] = set()
        for chunk in chunks_of(self._rows()):
            self.core.apply(chunk, 0, bytes(32))
        head = view.head_at(seq)
        assert head is not None, "the seq of a receipt of this store is in its chain"
        self.core.apply([], seq, head)

    @property
    def seq(self) -> int:
        """The earlier seq."""
        return self._earlier_seq

    def entities(self, namespace: str, ids: Sequence[str]) -> list[Entity]:
        """As `LedgerView.entities`, with `expired_at` and `merged_into` as they were then."""
        return [
            msgspec.structs.replace(entity, expired_at=None, merged_into=None)
            if entity.id in self._revived
            else entity
            for entity in self._view.entities(namespace, ids)
        ]

    def text_owners(
        self, namespace: str, ids: Sequence[bytes]
    ) -> dict[bytes, tuple[str | None, str | None, int | None]]:
        """As `LedgerView.text_owners`, as it was then."""
        return {
            id: (scope, author, (self.core.row(id) or {}).get("t_expired_us"))  # type: ignore[misc]
            for id, (scope, author, _) in self._view.text_owners(namespace, ids).items()
        }

    def scan(self, seq: int, request: ScanRequest) -> _core.Scan:
        """One scan of the projection at the earlier seq. `seq` must be that one."""
        return scan_of(self.core, seq, request)

    def eligible(self, _: LedgerView, chosen: dict[str, Any]) -> bytes:
        """Ids that a filter lets through, 16 bytes each."""
        return self.core.eligible(self.seq, _core.Filter(**chosen))

    # --- rows as they were -----------------------------------------------------------------

    def _rows(self) -> Iterator[ProjectionRow]:
        for row in self._view.projection_rows(0):
            if row.seq > self.seq:
                continue
            if row.wseq <= self.seq:
                yield row
            elif row.kind == ENTITY_NODE:
                yield self._entity(row._asdict())
            else:
                yield self._memory(row._asdict())

    def _fetch(self, sql: str, id: bytes) -> list[tuple[Any, ...]]:
        return list(fetch(self._view.connection, sql, (id,)))

    def _memory(self, row: dict[str, Any]) -> ProjectionRow:
        events = self._fetch(
            "SELECT e.seq, e.event_type, e.source, e.actor, e.payload FROM events e JOIN memories m"
            ' ON e.memory = m."row" WHERE m.id = ? ORDER BY e.seq DESC, e."row" DESC',
            row["id"],
        )
        later = [event for event in events if event[0] > self.seq]
        stored = [event for event in reversed(events) if event[0] <= self.seq]
        for _, kind, _, _, payload in later:
            _undo(row, kind, from_json(payload))
        storing = [event for event in stored if event[1] in STORING_EVENTS]
        row["sources"] = list(dict.fromkeys(event[2] for event in storing))
        row["actors"] = list(dict.fromkeys(e[3] for e in storing if e[3] is not None))
        row["events"] = [event for event in row["events"] if event[3] <= self.seq]
        row["edges"] = self._edges(row, "memories")
        row["questions"] = [
            vector
            for (vector,) in self._fetch(
                "SELECT q.embedding FROM questions q JOIN memories m"
                f' ON q.memory = m."row" WHERE m.id = ? AND q.seq <= {self.seq}'
                f" AND q.position <> {NO_QUESTION} ORDER BY q.position",
                row["id"],
            )
        ]
        row["wseq"] = self.seq
        return ProjectionRow(**row)

    def _edges(self, row: dict[str, Any], table: str) -> list[Any]:
        """Those of its edges that were there, unexpired where they expired later."""
        if not row["edges"]:
            return []
        written = {
            id: (seq, ended)
            for id, seq, ended in self._fetch(
                f"SELECT e.id, e.seq, e.expired_seq FROM edges e JOIN {table} n"
                ' ON e.from_row = n."row" WHERE n.id = ?',
                row["id"],
            )
        }
        return [
            (*edge[:6], None if written[edge[0]][1] > self.seq else edge[6])
            for edge in row["edges"]
            if written[edge[0]][0] <= self.seq
        ]

    def _entity(self, row: dict[str, Any]) -> ProjectionRow:
        ((own, aliases),) = self._fetch(
            "SELECT wseq, aliases FROM entities WHERE id = ?", row["id"]
        )
        row["edges"] = self._edges(row, "entities")
        if own > self.seq:
            # What has the time of the next transaction, or a later one, is newer than the state.
            ((after,),) = fetch(
                self._view.connection,
                "SELECT recorded_us FROM chain WHERE seq = ?",
                (self.seq + 1,),
            )
            if row["t_expired_us"] is not None and row["t_expired_us"] >= after:
                row["t_expired_us"] = None
                row["status"] = 0
                self._revived.add(id_text("ent", row["id"]))
            new = {alias.name for alias in aliases_of(aliases) if alias.added_us >= after}
            row["names"] = [row["names"][0], *(n for n in row["names"][1:] if n[1] not in new)]
        row["wseq"] = self.seq
        return ProjectionRow(**row)


def _undo(row: dict[str, Any], kind: str, payload: dict[str, Any]) -> None:
    """Undoes one event in a row of now; events come newest first."""
    if kind in ("SUPERSEDE", "DEPRECATE"):
        row["status"] = _STATUS["active"]
        row["t_expired_us"] = None
    elif kind in ("ARCHIVE", "RESTORE"):
        row["status"] = _STATUS["active" if kind == "ARCHIVE" else "archived"]
    elif kind in ("PIN", "UNPIN"):
        row["pinned"] = kind == "UNPIN"
    added = payload.get("added_tags")
    if kind in STORING_EVENTS and added:
        row["tags"] = [tag for tag in row["tags"] if tag not in added]
    if "previous_t_invalid" in payload:
        previous = payload["previous_t_invalid"]
        row["t_invalid_us"] = None if previous is None else parse_time(previous, "t_invalid")


def irreversible_changes(view: SqliteView, namespace: str, seq: int) -> list[str]:
    """Sentences about what changed after a seq and cannot be undone. A given ranking may not depend
    on it."""
    conn, found = view.connection, list[str]()

    def count(sql: str) -> int:
        return int(fetch(conn, sql, (namespace, seq))[0][0])

    forgotten = count("SELECT COUNT(*) FROM tombstones WHERE namespace = ? AND seq > ?")
    if forgotten:
        found.append(f"{forgotten} memories or names were forgotten")
    embedded = count(
        'SELECT COUNT(*) FROM vectors v JOIN memories m ON v.memory = m."row"'
        " WHERE m.namespace = ?1 AND v.seq > ?2 AND m.seq <= ?2"
    )
    if embedded:
        found.append(f"{embedded} memories were embedded later, or again")
    fields: dict[str, None] = {}
    for kind, payload in fetch(
        conn,
        'SELECT e.event_type, e.payload FROM events e JOIN memories m ON e.memory = m."row"'
        " WHERE m.namespace = ?1 AND e.seq > ?2 AND m.seq <= ?2 AND e.event_type IN"
        " ('UPDATE', 'REINFORCE_EXACT', 'REINFORCE_NEAR', 'PIN', 'UNPIN', 'ARCHIVE', 'RESTORE')",
        (namespace, seq),
    ):
        fields.update(dict.fromkeys(_fields(kind, from_json(payload))))
    if fields:
        found.append(f"fields of memories were changed: {', '.join(fields)}")
    walked = ", ".join(map(str, WALKED_EDGES["mem"]))
    recomputed = count(
        'SELECT COUNT(*) FROM edges e JOIN memories m ON e.from_row = m."row"'
        f" WHERE e.edge_type IN ({walked}) AND m.namespace = ?1 AND e.seq > ?2"
        " AND e.t_created_us < (SELECT recorded_us FROM chain WHERE seq = ?2)"
    )
    if recomputed:
        found.append(f"{recomputed} edges were computed again")
    merged = count("SELECT COUNT(*) FROM entities WHERE namespace = ?1 AND wseq > ?2 AND seq <= ?2")
    if merged:
        found.append(f"{merged} entities were changed, merged or expired")
    return found


def _fields(kind: str, payload: dict[str, Any]) -> list[str]:
    if kind == "UPDATE":
        old, new = payload.get("old", {}), payload.get("new", {})
        names = [name for name in new if name not in _RESTORED_FIELDS]
        if "metadata" in names:
            before, after = old.get("metadata") or {}, new.get("metadata") or {}
            if before.get("tags") != after.get("tags"):
                names.append("tags")
        return names
    if kind in ("PIN", "UNPIN"):
        return ["pin"]
    if kind in ("ARCHIVE", "RESTORE"):
        return ["archive state"]
    names = ["tags"] if payload.get("added_tags") else []
    return [*names, "times"] if payload.get("times") else names
