"""A document as it is now: what the last transaction of its import writes.

Invariant: source, PRODUCED edges and the end of passages that are gone are written together, so
that an import which is interrupted leaves the version before as it was.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

import msgspec

from vestig.changes import NewEdge, NewSource
from vestig.commit.item import Item
from vestig.commit.rows import Rows
from vestig.ids import new_id
from vestig.memories.states import deprecate_changes
from vestig.session.session import Session
from vestig.store.records import documents
from vestig.store.records.documents import DocumentName
from vestig.store.records.reads import LedgerView
from vestig.times import to_us
from vestig.types import EdgeType, Memory, Source


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
        moved_from: the name before of a document whose file has moved.
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
    moved_from: DocumentName | None = None

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
        previous = documents.newest_version(view, self.namespace, self.moved_from or self.name)
        metadata = self.metadata
        if previous is not None:
            metadata = {**metadata, "previous_source": previous.id}
            if self.moved_from is not None and not documents.has_ended(previous):
                rows.sources.append(_end_of(previous, self.namespace, rows, self.name.path))
        if ids:
            metadata = {"memories": len(ids), **metadata}
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
        previous = documents.newest_version(view, self.namespace, self.moved_from or self.name)
        stated = [] if previous is None else documents.products(view, previous.id)
        stated += documents.unfinished(view, self.namespace, self.name)
        candidates = [one for one in stated if one.t_expired is None and one.id not in stays]
        others = (self.name,)
        return [one for one in candidates if not _is_said(view, self.namespace, one, others)]


def _is_said(
    view: LedgerView, namespace: str, memory: Memory, but: Container[DocumentName]
) -> bool:
    """Return whether the newest version of a document that is not among `but`, or another kind of
    source, produced a passage."""
    for source in view.sources(namespace, memory.id):
        name = documents.name_of(source)
        if source.source_type != "file" or name.path is None:
            return True
        if name not in but:
            newest = documents.newest_version(view, namespace, name)
            if newest is not None and newest.id == source.id:
                return True
    return False


def _end_of(version: Source, namespace: str, rows: Rows, moved_to: str | None) -> NewSource:
    """The version that ends a document: without title, passages and bytes."""
    metadata = {
        "format": version.metadata.get("format", ""),
        "size": 0,
        "passages": 0,
        "ended": True,
        "previous_source": version.id,
        "scope": version.metadata.get("scope"),
        "moved_to": moved_to,
    }
    return NewSource(
        id=new_id("source"),
        namespace=namespace,
        source_type="file",
        created_us=rows.now_us,
        path=version.path,
        metadata={name: value for name, value in metadata.items() if value is not None},
    )


class DocumentEnds:
    """The ends of documents whose files are gone.

    Args:
        versions: the newest version of each, as it was when its file was looked for.
    """

    def __init__(self, namespace: str, versions: Sequence[Source]) -> None:
        self._namespace = namespace
        self._versions = versions

    def gone(
        self, view: LedgerView, stays: Container[str] = ()
    ) -> list[tuple[Source, list[Memory]]]:
        """The documents that have no other version since, each with its unexpired passages that
        nothing else says; `stays`: hashes of texts that an import would bring."""
        found = []
        names: set[DocumentName] = set()
        ended: set[str] = set()
        for version in self._versions:
            name = documents.name_of(version)
            newest = documents.newest_version(view, self._namespace, name)
            if newest is None or newest.id != version.id:
                continue
            names.add(name)
            stated = documents.products(view, version.id)
            stated += documents.unfinished(view, self._namespace, name)
            passages = [
                one
                for one in stated
                if one.t_expired is None
                and one.id not in ended
                and one.content_hash not in stays
                and not _is_said(view, self._namespace, one, names)
            ]
            ended.update(one.id for one in passages)
            found.append((version, passages))
        return found

    def write(self, session: Session) -> list[tuple[Source, list[Memory]]]:
        """Ends them in one transaction; what ended."""
        with session.ledger.write(session.now_us()) as txn:
            rows = Rows(now_us=session.now_us(), model=session.embedder.model)
            found = self.gone(txn)
            for version, passages in found:
                rows.sources.append(_end_of(version, self._namespace, rows, None))
                for memory in passages:
                    end_us = max(rows.now_us, to_us(memory.t_valid))
                    changes = deprecate_changes(memory, "its file is gone", end_us, rows.now_us)
                    rows.patches += changes.patches
                    rows.events += changes.events
            txn.apply(rows.change_set(self._namespace))
        session.keeper.after_commit(txn)
        return found


def write_versions(session: Session, versions: Sequence[DocumentVersion]) -> None:
    """Writes documents without a new passage, in one transaction of their namespace."""
    with session.ledger.write(session.now_us()) as txn:
        rows = Rows(now_us=session.now_us(), model=session.embedder.model)
        for version in versions:
            version.add_rows(txn, rows)
        txn.apply(rows.change_set(versions[0].namespace))
    session.keeper.after_commit(txn)
