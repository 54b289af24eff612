"""A document as it is now: what the last transaction of its import writes.

Invariant: source, PRODUCED edges and the end of passages that are gone are written together, so
that an import which is interrupted leaves the version before as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from vestig.changes import NewEdge, NewSource
from vestig.commit.item import Item
from vestig.commit.rows import Rows
from vestig.memories.states import deprecate_changes
from vestig.session.session import Session
from vestig.store.records import documents
from vestig.store.records.documents import DocumentName
from vestig.store.records.reads import LedgerView
from vestig.times import to_us
from vestig.types import EdgeType, Memory


class DocumentVersion(msgspec.Struct, kw_only=True, eq=False):
    """One version of a document.

    Args:
        source_id: of the source that it becomes.
        file_us: when the file was last changed: passages that are gone ended then.
        metadata: of the source, without the version before.
        kept: ids of passages that stand already.
        written: ids of passages that earlier transactions wrote.
        items: passages of the transaction that is decided.
        ended: how many passages of the version before are gone, once it is decided.
    """

    source_id: str
    namespace: str
    name: DocumentName
    file_us: int
    metadata: dict[str, Any]
    kept: list[str] = msgspec.field(default_factory=list)
    written: list[str] = msgspec.field(default_factory=list)
    items: list[Item] = msgspec.field(default_factory=list)
    ended: int = 0

    def passage_ids(self) -> list[str]:
        """The ids of its passages that are known, each once."""
        decided = [
            item.decision.memory_id
            for item in self.items
            if item.error is None and item.decision is not None
        ]
        return list(dict.fromkeys((*self.kept, *self.written, *filter(None, decided))))

    def add_rows(self, view: LedgerView, rows: Rows) -> None:
        """Adds what its last transaction writes; decided anew each time."""
        ids = self.passage_ids()
        if self.items and not ids:
            # nothing of it was stored: the version before stands
            return
        previous = documents.newest_version(view, self.namespace, self.name)
        metadata = self.metadata
        if previous is not None:
            metadata = {**metadata, "previous_source": previous.id}
        if ids:
            # a source that produced nothing would be collected
            rows.sources.append(
                NewSource(
                    id=self.source_id,
                    namespace=self.namespace,
                    source_type="file",
                    created_us=self.file_us,
                    path=self.name.path,
                    metadata=metadata,
                )
            )
        new = {item.decision.memory_id for item in self.items if item.decision is not None}
        earlier = [id for id in ids if id not in new]
        stand = {memory.id for memory in view.memories(self.namespace, earlier)}
        for id in ids:
            if id in new or id in stand:
                rows.edges.append(
                    NewEdge(
                        id=rows.ids.take("edge"),
                        from_id=self.source_id,
                        to_id=id,
                        edge_type=EdgeType.PRODUCED,
                    )
                )
        gone = self.gone(view, ids)
        self.ended = len(gone)
        for memory in gone:
            end_us = max(self.file_us, to_us(memory.t_valid))
            reason = f"no longer in {self.source_id if ids else 'its document'}"
            changes = deprecate_changes(memory, reason, end_us, rows.now_us)
            rows.patches += changes.patches
            rows.events += changes.events

    def gone(self, view: LedgerView, ids: Iterable[str]) -> list[Memory]:
        """Unexpired passages of the version before, and of an import that was interrupted, that
        are not among these and that nothing else says."""
        stays = set(ids)
        previous = documents.newest_version(view, self.namespace, self.name)
        stated = [] if previous is None else documents.products(view, previous.id)
        stated += documents.unfinished(view, self.namespace, self.name)
        candidates = [one for one in stated if one.t_expired is None and one.id not in stays]
        return [one for one in candidates if not self._is_said_elsewhere(view, one)]

    def _is_said_elsewhere(self, view: LedgerView, memory: Memory) -> bool:
        """Return whether the newest version of another document, or another kind of source,
        produced a passage."""
        for source in view.sources(self.namespace, memory.id):
            name = documents.name_of(source)
            if source.source_type != "file" or name.path is None:
                return True
            if name != self.name:
                newest = documents.newest_version(view, self.namespace, name)
                if newest is not None and newest.id == source.id:
                    return True
        return False


def write_versions(session: Session, versions: Sequence[DocumentVersion]) -> None:
    """Writes documents without a new passage, in one transaction of their namespace."""
    with session.ledger.write(session.now_us()) as txn:
        rows = Rows(now_us=session.now_us(), model=session.embedder.model)
        for version in versions:
            version.add_rows(txn, rows)
        txn.apply(rows.change_set(versions[0].namespace))
    session.keeper.after_commit(txn)
