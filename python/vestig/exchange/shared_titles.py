"""Titles of passages that several documents hold, written once an import is over.

Invariant: such a passage is called by all documents that hold it, never by one that does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress

from vestig.changes import ChangeSet
from vestig.commit.item import Item, TextKey
from vestig.commit.update import FieldChanges, update_changes
from vestig.memories.shared_sources import Holders, shared_title
from vestig.memories.states import joined
from vestig.session.session import RollBack, Session
from vestig.store.records.documents import DocumentName
from vestig.store.records.reads import LedgerView
from vestig.types import Memory, RetentionPolicy


class SharedTitles:
    """The passages of an import that other documents hold or held."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._given: dict[str, dict[DocumentName, str]] = {}
        self._keys: dict[str, TextKey] = {}
        self._ids: set[str] = set()

    def note(self, item: Item, name: DocumentName) -> None:
        """Notes what a document that was read calls one."""
        self._keys[item.identity] = item.text_key
        self._given.setdefault(item.identity, {})[name] = item.request.title or ""

    def lost(self, ids: Collection[str]) -> None:
        """Notes passages that a document does not hold any more."""
        self._ids.update(ids)

    def write(self) -> None:
        """Writes the titles that are to be other ones."""
        session = self._session
        if not self._keys and not self._ids:
            return
        with suppress(RollBack), session.ledger.write(session.now_us(), make=False) as txn:
            changes = list(self._changes(txn))
            if not changes:
                raise RollBack
            txn.apply(joined(session.namespace, changes))
            session.keeper.after_commit(txn)

    def _changes(self, view: LedgerView) -> Iterator[ChangeSet]:
        holders = Holders(view, self._session.namespace)
        policy = RetentionPolicy(self._session.config.settings.lifecycle.default_policy)
        for memory, text in self._memories(view):
            given = self._given.get(text, {})
            title = shared_title(memory, holders.of(memory.id), given)
            changes, _ = update_changes(
                memory,
                FieldChanges(title=title),
                default_policy=policy,
                now_us=self._session.now_us(),
            )
            if changes is not None:
                yield changes

    def _memories(self, view: LedgerView) -> Iterator[tuple[Memory, str]]:
        """Yields the unexpired passages, each with the text by which it was noted."""
        lost = view.memories(self._session.namespace, sorted(self._ids))
        found = {one.id: (one, one.content_hash) for one in lost}
        for text, key in self._keys.items():
            memory = view.first_with_text(*key)
            if memory is not None:
                found[memory.id] = (memory, text)
        yield from (pair for pair in found.values() if pair[0].t_expired is None)
