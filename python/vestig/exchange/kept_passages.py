"""Passages of a document that stand already: what its import changes in them, and which of those
that do not stand were forgotten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from vestig.changes import ChangeSet
from vestig.commit.document_version import DocumentVersion
from vestig.commit.forgotten_passages import has_forgotten, notes_places
from vestig.commit.item import Item
from vestig.commit.update import FieldChanges, update_changes
from vestig.session.session import Session
from vestig.store.records import documents
from vestig.store.records.documents import DocumentName
from vestig.store.records.reads import LedgerView
from vestig.times import to_us
from vestig.types import Memory, Source

TAGS: Final = "tags"
DATED: Final = "dated_us"
# What says the time of a passage for want of a date.
_UNDATED: Final = ("file_time", "now")


class Before(NamedTuple):
    """Holds what the version before gave to its passages: `ids` of these, the tags and the time of
    all. None: it did not note when it was written."""

    ids: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    dated_us: int | None = None


def before_of(version: Source | None, made: Sequence[Memory]) -> Before:
    """Returns what a version gave to its passages; where it did not note their tags, those that all
    have."""
    if version is None:
        return Before()
    tags = version.metadata.get(TAGS)
    if not isinstance(tags, list):
        tags = set[str]().union(*(one.tags for one in made))
        tags = tags.intersection(*(one.tags for one in made)) if made else ()
    dated_us = version.metadata.get(DATED)
    return Before(
        frozenset(one.id for one in made),
        frozenset(tags),
        dated_us if isinstance(dated_us, int) else None,
    )


def is_unchanged(version: Source, size: int, file_us: int) -> bool:
    """Returns whether a file has the size and the time that it had when a version was read."""
    if documents.has_ended(version):
        return False
    return version.metadata.get("size") == size and to_us(version.created_at) == file_us


def passages_of(source: Source) -> int:
    """Returns how many passages a version has."""
    found = source.metadata.get("passages")
    return found if isinstance(found, int) else 0


def others_of(view: LedgerView, version: DocumentVersion, memory: Memory) -> list[Source]:
    """Returns the sources of a passage that are no versions of a document."""
    return [
        one
        for one in view.sources(memory.namespace, memory.id)
        if documents.name_of(one) not in (version.name, version.moved_from)
    ]


def update_of(
    others: Sequence[Source],
    version: DocumentVersion,
    before: Before,
    memory: Memory,
    item: Item,
    now_us: int,
) -> ChangeSet | None:
    """Returns the changes of a passage that stands by its document as it is now: in title, tags and
    time. What a caller changed in it stays, and what another document gives it.

    Args:
        others: as of `others_of`; the title of a passage that has any is written later.
    """
    changes = FieldChanges(
        title=UNSET if others else item.request.title,
        tags=_tags(version, before, memory, others),
    )
    if memory.id in before.ids and not others:
        changes = msgspec.structs.replace(changes, **_time(version, before, memory, item))
    return update_changes(memory, changes, default_policy=memory.retention_policy, now_us=now_us)[0]


def _tags(
    version: DocumentVersion, before: Before, memory: Memory, others: Sequence[Source]
) -> Any:
    given = [str(one) for one in version.metadata.get(TAGS, ())]
    earlier = before.tags if memory.id in before.ids else frozenset[str]()
    gone = earlier.difference(given, *(one.metadata.get(TAGS, ()) for one in others))
    added = [one for one in given if one not in earlier and one not in memory.tags]
    if not added and not gone.intersection(memory.tags):
        return UNSET
    return (*(one for one in memory.tags if one not in gone), *added)


def _time(version: DocumentVersion, before: Before, memory: Memory, item: Item) -> dict[str, Any]:
    """The time of a passage and what says it, where the document says another one than before."""
    earlier, metadata = memory.metadata.get("time_from"), item.request.metadata or {}
    time_from, dated_us = metadata["time_from"], version.metadata[DATED]
    if earlier in _UNDATED and time_from in _UNDATED:
        return {}
    is_same = time_from == earlier and before.dated_us == dated_us
    ends_before = memory.t_invalid is not None and to_us(memory.t_invalid) < item.begins_us
    if is_same or ends_before or item.begins_us == to_us(memory.t_valid):
        return {}
    own = {key: value for key, value in memory.metadata.items() if key not in ("source", "tags")}
    return {"t_valid_us": item.begins_us, "metadata": own | metadata}


class KnownFiles:
    """The documents of a scope of which passages were forgotten, each as it was when its file was
    last there; read when they are first asked for."""

    def __init__(self, session: Session, scope: str | None) -> None:
        self._session = session
        self._scope = scope
        self._found: dict[DocumentName, Source] | None = None

    def of(self, name: DocumentName) -> Source | None:
        """The version of this name; None where nothing of it was forgotten."""
        return self._all().get(name)

    def of_size(self, size: int, format: str) -> list[Source]:
        """The versions of all names whose files have this size and ending, where they say where
        their passages stood."""
        return [
            one
            for one in self._all().values()
            if (one.metadata.get("size"), one.metadata.get("format")) == (size, format)
            and notes_places(one)
        ]

    def _all(self) -> Mapping[DocumentName, Source]:
        if self._found is None:
            space, found = self._session.namespace, dict[DocumentName, Source]()
            with self._session.ledger.read() as view:
                for version in documents.versions(view, space):
                    name = documents.name_of(version)
                    is_named = name.path is not None and name.scope == self._scope
                    if is_named and not documents.has_ended(version):
                        found[name] = version
                left = documents.product_counts(view, space, found.values())
            self._found = {
                name: one for name, one in found.items() if has_forgotten(one, left.get(one.id, 0))
            }
        return self._found
