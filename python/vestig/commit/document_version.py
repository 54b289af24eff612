"""A document as it is now: what the last transaction of its import writes.

Invariant: source, PRODUCED edges and the end of passages that are gone are written together, so
that an import which is interrupted leaves the version before as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

import msgspec

from vestig.changes import ChangeSet, EdgePatch, NewEdge, NewSource
from vestig.commit.forgotten_passages import places
from vestig.commit.item import Item
from vestig.commit.rows import Rows
from vestig.ids import new_id
from vestig.memories.states import Successor, deprecate_changes, replace
from vestig.session.session import Session
from vestig.store.records import documents
from vestig.store.records.documents import DocumentName
from vestig.store.records.reads import LedgerView
from vestig.times import to_us
from vestig.types import EdgeType, Memory, Source, Status

# How much of their words two passages below one heading share of which the later one is the
# earlier one with another value.
_SAME_WORDS_MIN: Final = 0.8


class DocumentVersion(msgspec.Struct, kw_only=True, eq=False):
    """One version of a document.

    Args:
        source_id: of the source that it becomes.
        file_us: when the file was last changed: passages that are gone ended then.
        metadata: of the source, without the version before and the passages.
        chars: the texts of its passages in order (as `Item.identity`), each once, and how long
            they are.
        forgotten: those of these texts that were forgotten and stay out.
        ids: text → id of the passages that stand already or that earlier transactions wrote.
        items: passages of the transaction that is decided.
        updates: what changes in passages that stand, by their ids.
        tried: there were passages to be written.
        ended: how many passages of the version before are gone, once it is decided.
        left: ids of those that it lacks and something else states.
        moved_from: the name before of a document whose file has moved.
    """

    source_id: str
    namespace: str
    name: DocumentName
    file_us: int
    metadata: dict[str, Any]
    chars: dict[str, int] = msgspec.field(default_factory=dict)
    forgotten: frozenset[str] = frozenset()
    ids: dict[str, str] = msgspec.field(default_factory=dict)
    items: list[Item] = msgspec.field(default_factory=list)
    updates: dict[str, ChangeSet] = msgspec.field(default_factory=dict)
    tried: bool = False
    ended: int = 0
    left: tuple[str, ...] = ()
    moved_from: DocumentName | None = None

    def known_ids(self) -> dict[str, str]:
        """Text → id of its passages that are known."""
        decided = {
            item.identity: item.decision.memory_id
            for item in self.items
            if item.error is None and item.decision is not None
        }
        return self.ids | {text: id for text, id in decided.items() if id is not None}

    def settle(self) -> None:
        """Notes the passages of a transaction that was written."""
        self.tried = self.tried or bool(self.items)
        self.ids, self.items = self.known_ids(), []

    def previous(self, view: LedgerView) -> Source | None:
        """The version before; None of a document that is new."""
        return documents.newest_version(view, self.namespace, self.moved_from or self.name)

    def stated(self, view: LedgerView) -> list[Memory]:
        """The unexpired passages of the version before, and of an import that was interrupted."""
        previous = self.previous(view)
        stated = [] if previous is None else documents.products(view, previous.id)
        stated += documents.unfinished(view, self.namespace, self.name)
        return [one for one in stated if one.t_expired is None]

    def is_stored(self) -> bool:
        """Return whether something of it stands; where nothing does, the version before stays."""
        return bool(self.known_ids()) or not (self.tried or self.items)

    def add_source(self, view: LedgerView, rows: Rows) -> None:
        """Adds the source, and what it produced."""
        previous, ids, metadata = self.previous(view), self.known_ids(), self.metadata
        if previous is not None:
            metadata = {**metadata, "previous_source": previous.id}
            if self.moved_from is not None and not documents.has_ended(previous):
                rows.sources.append(_end_of(previous, self.namespace, rows, self.name.path))
        # a source that produced nothing would be collected
        if ids or self.forgotten:
            noted = places(self.chars, ids, self.forgotten)
            rows.sources.append(
                NewSource(
                    id=self.source_id,
                    namespace=self.namespace,
                    source_type="file",
                    created_us=self.file_us,
                    path=self.name.path,
                    metadata=metadata | noted,
                )
            )
        new = {item.decision.memory_id for item in self.items if item.decision is not None}
        stand = {
            one.id: one
            for one in view.memories(self.namespace, [id for id in ids.values() if id not in new])
        }
        for id in dict.fromkeys(ids.values()):
            if id in new or id in stand:
                rows.edges.append(
                    NewEdge(
                        id=rows.ids.take("edge"),
                        from_id=self.source_id,
                        to_id=id,
                        edge_type=EdgeType.PRODUCED,
                    )
                )
        for id, update in self.updates.items():
            if id in stand and stand[id].t_expired is None:
                rows.patches += update.patches
                rows.events += update.events

    def successors(self, view: LedgerView, gone: Sequence[Memory]) -> dict[str, _Passage]:
        """Id of a passage that is gone → the one that took its place: below its heading the only
        one that is new, which says the same but for a value."""
        passages = list(self._new_passages(view)) if gone else []
        old, new = Counter(one.title for one in gone), Counter(one.title for one in passages)
        by_title = {one.title: one for one in passages if old[one.title] == new[one.title] == 1}
        return {
            one.id: by_title[one.title]
            for one in gone
            if one.title in by_title
            and one.status is Status.ACTIVE
            and _is_said_anew(one.content, by_title[one.title].content)
        }

    def _new_passages(self, view: LedgerView) -> Iterator[_Passage]:
        """Its passages that the version before lacks."""
        decided = [item for item in self.items if item.decision is not None]
        for item in decided:
            if item.decision is not None and item.decision.memory_id is not None:
                id, title = item.decision.memory_id, item.request.title
                yield _Passage(id, title, item.given, item.begins_us)
        previous = self.previous(view)
        known = [] if previous is None else documents.products(view, previous.id)
        earlier = set(self.ids.values()).difference(one.id for one in known)
        for one in view.memories(self.namespace, sorted(earlier)):
            yield _Passage(one.id, one.title, one.content, to_us(one.t_valid))


class _Passage(NamedTuple):
    id: str
    title: str | None
    content: str
    t_valid_us: int


def _is_said_anew(before: str, now: str) -> bool:
    return SequenceMatcher(None, before.split(), now.split(), False).ratio() >= _SAME_WORDS_MIN


class Lost(NamedTuple):
    """The passages of the version before that one lacks: those that end with it, and those that
    something else states."""

    version: DocumentVersion
    gone: list[Memory]
    said: list[Memory]


def lost_of(
    view: LedgerView, versions: Sequence[DocumentVersion], stays: Collection[str] = ()
) -> Iterator[Lost]:
    """Yields what each of some versions lacks that are written together, whatever their order.

    Args:
        stays: ids of passages of versions that are written later.
    """
    names = {name for one in versions for name in (one.name, one.moved_from) if name is not None}
    own = [set(one.known_ids().values()) for one in versions]
    stated, ended = set(stays).union(*own), set[str]()
    for version, ids in zip(versions, own, strict=True):
        lost = Lost(version, [], [])
        for one in version.stated(view):
            if one.id in ids or one.id in ended:
                continue
            if one.id in stated or _is_said(view, version.namespace, one, names):
                lost.said.append(one)
            else:
                lost.gone.append(one)
                ended.add(one.id)
        yield lost


def add_versions(
    view: LedgerView, rows: Rows, versions: Sequence[DocumentVersion], stays: Collection[str] = ()
) -> None:
    """Adds what the last transaction of some versions writes; decided anew each time.

    Args:
        stays: as of `lost_of`.
    """
    stored = [one for one in versions if one.is_stored()]
    for version in stored:
        version.add_source(view, rows)
    for version, gone, said in lost_of(view, stored, stays):
        version.ended, version.left = len(gone), tuple(one.id for one in said)
        successors = version.successors(view, gone)
        _unsay(view, rows, said, (version.name, version.moved_from))
        for memory in gone:
            end_us = max(version.file_us, to_us(memory.t_valid))
            new = successors.get(memory.id)
            if new is None:
                by = version.source_id if version.known_ids() else "its document"
                reason = f"{documents.NO_LONGER_IN} {by}"
                changes = deprecate_changes(memory, reason, end_us, rows.now_us)
            else:
                after = Successor(id=new.id, t_valid_us=new.t_valid_us, source="import")
                parts = replace(
                    memory, after, reason="another text in its document",
                    t_invalid_us=end_us, now_us=rows.now_us,
                )  # fmt: skip
                changes = parts.change_set(version.namespace)
            rows.patches += changes.patches
            rows.events += changes.events
            rows.supersessions += changes.supersessions


def _unsay(
    view: LedgerView, rows: Rows, memories: Iterable[Memory], names: Container[DocumentName | None]
) -> None:
    """Ends the edges from all versions of documents to passages that something else states."""
    for memory in memories:
        for source in view.sources(memory.namespace, memory.id):
            if source.path is not None and documents.name_of(source) in names:
                rows.edge_patches.append(
                    EdgePatch(
                        from_id=source.id,
                        to_id=memory.id,
                        edge_type=EdgeType.PRODUCED,
                        expired=True,
                    )
                )


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

    def lost(
        self, view: LedgerView, stays: Container[str] = ()
    ) -> list[tuple[Source, list[Memory], list[Memory]]]:
        """The documents that have no other version since, each with its unexpired passages that
        nothing else says, and those that something does; `stays`: hashes of texts that an import
        would bring."""
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
            passages, said = list[Memory](), list[Memory]()
            for one in stated:
                if one.t_expired is not None or one.id in ended:
                    continue
                stated_yet = one.content_hash in stays or _is_said(
                    view, self._namespace, one, names
                )
                (said if stated_yet else passages).append(one)
            ended.update(one.id for one in passages)
            found.append((version, passages, said))
        return found

    def write(self, session: Session) -> list[tuple[Source, list[Memory], list[Memory]]]:
        """Ends them in one transaction; what ended, and what something else says (`lost`)."""
        with session.ledger.write(session.now_us()) as txn:
            rows = Rows(now_us=session.now_us(), model=session.embedder.model)
            found = self.lost(txn)
            for version, passages, said in found:
                rows.sources.append(_end_of(version, self._namespace, rows, None))
                _unsay(txn, rows, said, (documents.name_of(version),))
                for memory in passages:
                    end_us = max(rows.now_us, to_us(memory.t_valid))
                    changes = deprecate_changes(memory, "its file is gone", end_us, rows.now_us)
                    rows.patches += changes.patches
                    rows.events += changes.events
            txn.apply(rows.change_set(self._namespace))
        session.keeper.after_commit(txn)
        return found


def write_versions(
    session: Session, versions: Sequence[DocumentVersion], stays: Collection[str] = ()
) -> None:
    """Writes documents without a new passage, in one transaction of their namespace.

    Args:
        stays: as of `lost_of`.
    """
    with session.ledger.write(session.now_us()) as txn:
        rows = Rows(now_us=session.now_us(), model=session.embedder.model)
        add_versions(txn, rows, versions, stays)
        txn.apply(rows.change_set(versions[0].namespace))
    session.keeper.after_commit(txn)
