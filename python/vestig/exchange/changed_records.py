"""Records with an id of their own whose text is another one than when they were imported, and rows
that an earlier import of a table brought and that are not in it any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from vestig.commit.pipeline import prepare_part
from vestig.commit.text import content_hash
from vestig.commit.update import successor_fields
from vestig.exchange.commit_fields import (
    ImportItem,
    ImportOptions,
    Run,
    Tally,
    rows_stay_warning,
)
from vestig.exchange.formats.drafts import TABLE_REFERENCE, last_change
from vestig.session.session import Session
from vestig.store.records.memory_queries import (
    StatedText,
    recorded_texts,
    standing_below,
    stated_apart,
)
from vestig.store.records.reads import LedgerView
from vestig.times import from_us
from vestig.types import Memory

# Of the memory before, what a newer text of its record does not take over.
_NOT_INHERITED = ("key", "metadata")


class ChangedRecords:
    """Tells which records that are recorded already come in all the same, for their text is newer,
    and notes in the report those whose other text is not taken."""

    def __init__(self, session: Session, options: ImportOptions, run: Run) -> None:
        self._session = session
        self._options = options
        self._run = run

    def texts(
        self, view: LedgerView, items: Sequence[ImportItem]
    ) -> dict[tuple[str | None, str], list[StatedText]]:
        """(scope, reference) → what is stated under it, of records with an id of their own."""
        by_scope: dict[str | None, list[str]] = {}
        for item in items:
            if item.is_known_by_id:
                by_scope.setdefault(item.scope, []).append(item.artifact_ref)
        return {
            (scope, ref): stated
            for scope, refs in by_scope.items()
            for ref, stated in recorded_texts(view, self._session.namespace, scope, refs).items()
        }

    def newer(
        self, view: LedgerView, item: ImportItem, stated: Sequence[StatedText]
    ) -> ImportItem | None:
        """The record with the memories that its newer text replaces; None where it is skipped.

        A memory that something else states too stays beside the newer text.
        """
        if not stated:
            return None
        space = self._session.namespace
        texts = {one.content_hash for one in stated}
        hashes = self._hashes(item, texts)
        if texts.issuperset(hashes):
            return None
        ids = list(dict.fromkeys(one.memory_id for one in stated))
        current = [one for one in view.memories(space, ids) if one.t_expired is None]
        if item.changed_us is None or not current:
            self._run.changed[item.artifact_ref] = ids[-1]
            return None
        # one that was never changed has no such time
        known = [us for one in current if (us := last_change(one.metadata)) is not None]
        if known and item.changed_us <= max(known):
            return None
        before = [one for one in current if one.content_hash not in hashes]
        apart = stated_apart(view, space, [one.id for one in before], item.artifact_ref)
        self._run.beside.update(dict.fromkeys(sorted(apart)))
        inherited = successor_fields(current[0])
        arguments: dict[str, Any] = {
            **{name: one for name, one in inherited.items() if name not in _NOT_INHERITED},
            **item.arguments,
            "t_ref": from_us(item.changed_us),
        }
        replaces = tuple(one.id for one in before if one.id not in apart)
        return msgspec.structs.replace(item, arguments=arguments, replaces=replaces)

    def compare(self, item: ImportItem, memory: Memory) -> None:
        """Notes what the export of a memory says otherwise than the memory itself, which stays."""
        known = {memory.content_hash}
        if not known.issuperset(self._hashes(item, known)):
            self._run.changed[item.artifact_ref] = memory.id
        else:
            self.compare_state(item, memory)

    def compare_state(self, item: ImportItem, memory: Memory) -> None:
        """Notes a memory whose fields or state an export of it gives otherwise."""
        from vestig.exchange.formats.markdown import differs

        if differs(memory, item.status, item.arguments):
            self._run.different[memory.id] = None

    def repeats(self, tally: Tally, item: ImportItem, first: ImportItem) -> None:
        """Notes a record with the id of an earlier one of the import and another text."""
        if item.is_known_by_id and item.parts != first.parts:
            self._run.repeated[tally.source.name] += 1

    def _hashes(self, item: ImportItem, known: set[str]) -> set[str]:
        """The hashes of the texts that a commit would store; where those of the texts as they are
        given are all known, these."""
        hashes = {content_hash(self._options.normalise(part)) for part in item.parts}
        if known.issuperset(hashes):
            return hashes
        whole = range(len(item.parts)) if item.is_whole else ()
        part = prepare_part(self._session, item.commits(), whole=whole)
        made = {one.content_hash for _, one in part.items}
        return made if len(part.items) == len(item.parts) else hashes


class TableRows:
    """The rows without an id of the tables of an import, by scope and by the name of the file."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._refs: dict[tuple[str | None, str], set[str]] = {}
        self._tallies: dict[str, list[Tally]] = {}

    def note(self, tally: Tally, item: ImportItem) -> None:
        """A row, or another record, which is passed over."""
        if item.is_known_by_id or not item.artifact_ref.startswith(TABLE_REFERENCE):
            return
        table = f"{item.artifact_ref.rsplit(':', 2)[0]}:"
        self._refs.setdefault((item.scope, table), set()).add(item.artifact_ref)
        tallies = self._tallies.setdefault(table, [])
        if tally not in tallies:
            tallies.append(tally)

    def tell(self, run: Run) -> None:
        """Notes in the report how many rows stay that are no longer in a table; nothing of one that
        was not read as a whole."""
        with self._session.ledger.read() as view:
            for (scope, table), refs in self._refs.items():
                if any(tally.failed for tally in self._tallies[table]):
                    continue
                standing = standing_below(view, self._session.namespace, scope, table)
                gone = sorted(id for id, own in standing.items() if own.isdisjoint(refs))
                if gone:
                    name = table.removeprefix(TABLE_REFERENCE).removesuffix(":")
                    run.warn(rows_stay_warning(name, gone))
