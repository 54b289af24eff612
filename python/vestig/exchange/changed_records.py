"""Records with an id of their own whose text is another one than when they were imported, and rows
that an earlier import of a table brought and that are not in it any more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from vestig.arguments import parse_time
from vestig.calls.argument import key_name
from vestig.commit.keys import key_of_claim
from vestig.commit.pipeline import prepare_part
from vestig.commit.text import content_hash
from vestig.commit.update import successor_fields
from vestig.errors import ValidationError
from vestig.exchange.commit_fields import (
    ImportItem,
    ImportOptions,
    Run,
    Tally,
    rows_stay_warning,
)
from vestig.exchange.formats.drafts import FROM_FILE, TABLE_REFERENCE, last_change
from vestig.session.session import Session
from vestig.store.records import keyed_memories
from vestig.store.records.memory_queries import (
    StatedText,
    is_stated_below,
    recorded_texts,
    standing_below,
    stated_apart,
)
from vestig.store.records.reads import LedgerView
from vestig.times import from_us, to_us
from vestig.types import MODEL_ROLES, Claim, Memory

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

        A memory that something else states too stays beside the newer text, and a text that the
        record had before is newer again.
        """
        if not stated:
            return None
        space = self._session.namespace
        texts = {one.content_hash for one in stated}
        hashes = self._hashes(item, texts)
        ids = list(dict.fromkeys(one.memory_id for one in stated))
        current = [one for one in view.memories(space, ids) if one.t_expired is None]
        held = {one.id for one in current}
        now = {one.content_hash for one in stated if one.memory_id in held}
        if texts.issuperset(hashes) and (not now or now & hashes):
            self._of_another_session(item, current)
            return None
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

    def _of_another_session(self, item: ImportItem, current: Sequence[Memory]) -> None:
        """Notes a turn that is passed over, for its id and text are those of another session."""
        session = item.arguments.get("session_id")
        known = [one for one in current if one.session_id is not None]
        if session is None or not known:
            return
        if all(one.session_id != str(session).strip() for one in known):
            self._run.elsewhere[item.artifact_ref] = known[-1].id

    def states_another(self, item: ImportItem, value: Memory) -> bool:
        """Return whether a record states another value of a key than this one, for now: not where
        it tells an earlier time, or a model states it that takes no place."""
        if value.confirmed and item.arguments.get("role") in MODEL_ROLES:
            return False
        known = {value.content_hash}
        if known.issuperset(self._hashes(item, known)):
            return False
        told = item.arguments.get("t_valid") or item.arguments.get("t_ref")
        return told is None or parse_time(told, "t_valid") >= to_us(value.t_valid)

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

        if differs(memory, item.status, item.all_arguments):
            self._run.different[memory.id] = None

    def repeats(self, tally: Tally, item: ImportItem, first: ImportItem) -> None:
        """Notes a record with the id of an earlier one of the import and another text, which is
        not newer."""
        other = item.arguments.get("session_id") != first.arguments.get("session_id")
        if item.is_known_by_id and (item.parts != first.parts or other):
            self._run.repeated.setdefault(tally.source.name, []).append(f"line {item.line}")

    def is_newer(self, item: ImportItem, first: ImportItem) -> bool:
        """Return whether a record has another text than one with its id, and was changed later."""
        if not item.is_known_by_id or item.changed_us is None or item.parts == first.parts:
            return False
        return first.changed_us is None or item.changed_us > first.changed_us

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
    """The rows of the files of an import, and the records with an id of which the file is known, by
    scope and by the name of the file, and the last row of each key."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._refs: dict[tuple[str | None, str], set[str]] = {}
        # of records with an id, by the name of the file alone
        self._by_id: dict[tuple[str | None, str], set[str]] = {}
        self._tallies: dict[str, list[Tally]] = {}
        # (scope, key) → its last row; tables of which a row has a key
        self._last: dict[tuple[str | None, str], tuple[Tally, ImportItem]] = {}
        self._keyed: set[str] = set()

    def note(self, tally: Tally, item: ImportItem) -> None:
        """A row, or another record, which is passed over."""
        if item.is_known_by_id:
            metadata = item.arguments.get("metadata")
            file = metadata.get(FROM_FILE) if isinstance(metadata, dict) else None
            if isinstance(file, str):
                self._by_id.setdefault((item.scope, file), set()).add(item.artifact_ref)
                self._note_tally(file, tally)
            return
        key = _key(item)
        if key is not None:
            self._last[item.scope, key] = tally, item
        if (table := _table(item)) is None:
            return
        if key is not None:
            self._keyed.add(table)
        self._refs.setdefault((item.scope, table), set()).add(item.artifact_ref)
        self._note_tally(table, tally)

    def _note_tally(self, file: str, tally: Tally) -> None:
        tallies = self._tallies.setdefault(file, [])
        if tally not in tallies:
            tallies.append(tally)

    def changed_back(
        self, skipped: Collection[tuple[str | None, str]], changes: ChangedRecords, run: Run
    ) -> list[tuple[Tally, ImportItem]]:
        """The rows whose text is what their key had before: those that are the last of their key
        and were skipped as recorded, where the key has what an earlier state of their file says.
        What something else says in its place is noted in the report, and stays.

        Args:
            skipped: (scope, reference) of the records that were.
        """
        found = []
        with self._session.ledger.read() as view:
            for (scope, key), (tally, item) in self._last.items():
                if (scope, item.artifact_ref) not in skipped:
                    continue
                value = self._value(view, scope, key)
                if value is None or not changes.states_another(item, value):
                    continue
                table = _table(item)
                is_whole = table is not None and not any(one.failed for one in self._tallies[table])
                if table is not None and is_whole and is_stated_below(view, value.id, table):
                    found.append((tally, item))
                else:
                    run.different[value.id] = None
        return found

    def _value(self, view: LedgerView, scope: str | None, key: str) -> Memory | None:
        """The memory that holds under a key now, or else is announced."""
        slot = self._session.namespace, scope, key
        now_us = self._session.now_us()
        return keyed_memories.holding(view, *slot, now_us) or keyed_memories.current(view, *slot)

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
                    run.warn(rows_stay_warning(name, gone, has_keys=table in self._keyed))
            for (scope, file), refs in self._by_id.items():
                if not any(tally.failed for tally in self._tallies[file]):
                    gone = self._gone_by_id(view, scope, file, refs)
                    if gone:
                        run.warn(rows_stay_warning(file, gone, has_keys=True))

    def _gone_by_id(
        self, view: LedgerView, scope: str | None, file: str, refs: set[str]
    ) -> list[str]:
        """The unexpired memories that records of a file became whose ids are not in it any more."""
        space = self._session.namespace
        ids = view.ids_with_metadata(space, {FROM_FILE: file})
        stated = recorded_texts(view, space, scope, sorted(refs)).values()
        known = {one.memory_id for texts in stated for one in texts}
        return sorted(
            one.id
            for one in view.memories(space, ids)
            if one.t_expired is None and one.scope == scope and one.id not in known
        )


def _table(item: ImportItem) -> str | None:
    """The beginning of the references of all rows of a file; None of what is no row."""
    ref = item.artifact_ref
    return f"{ref.rsplit(':', 2)[0]}:" if ref.startswith(TABLE_REFERENCE) else None


def _key(item: ImportItem) -> str | None:
    """The key of which a record is the value, of its own or by its claim; None without one."""
    key, claim = item.arguments.get("key"), item.arguments.get("claim")
    with suppress(ValidationError, msgspec.ValidationError):
        if key is not None:
            return key_name("key", key)
        if claim is not None:
            return key_of_claim(msgspec.convert(claim, Claim))
    return None
