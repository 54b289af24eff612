"""Memories that several sources produced: which of the others hold one, and what it is called.

A version of a document holds what it produced while it is the newest one and its file is there;
another source holds all that it produced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from vestig.calls.filter import Filter
from vestig.changes import ChangeSet, EdgePatch, MemoryPatch
from vestig.ids import is_full_id
from vestig.language.text_forms import count_of, first_of
from vestig.memories.states import event
from vestig.other_words import by_caller
from vestig.session.session import Session
from vestig.store.records import documents
from vestig.store.records.documents import DocumentName
from vestig.store.records.reads import LedgerView
from vestig.types import EdgeType, EventType, Memory, Source

_SHOWN: Final = 3
_TITLES_SHOWN: Final = 3
_TITLE_CHARS_MAX: Final = 200
_BETWEEN: Final = " > "
_AND: Final = "; "


class Shared(NamedTuple):
    """A memory of sources that go, and the other sources that hold it."""

    memory: Memory
    own: tuple[Source, ...]
    others: tuple[Source, ...]


class Holders:
    """The sources that hold memories, as of one state of the ledger."""

    def __init__(self, view: LedgerView, space: str) -> None:
        self._view = view
        self._space = space
        self._histories = documents.histories(view, space)
        self._current = {
            history[-1].id for history in self._histories if not documents.has_ended(history[-1])
        }

    def of(self, memory_id: str, but: Collection[str] = ()) -> tuple[Source, ...]:
        """The sources that hold a memory, without those of these ids, oldest first."""
        return tuple(
            one
            for one in self._view.sources(self._space, memory_id)
            if one.id not in but and (one.source_type != "file" or one.id in self._current)
        )

    def versions_at(self, named: Sequence[str]) -> set[str]:
        """The ids of sources that are named, and of all versions of the documents among these:
        those with such an id, or at such a path."""
        ids = {one for one in named if is_full_id(one, "source")}
        paths = [one for one in named if one not in ids]
        for history in self._histories:
            if any(
                one.id in ids or any(documents.is_at(one.path, path) for path in paths)
                for one in history
            ):
                ids.update(one.id for one in history)
        return ids

    def shared(self, memories: Sequence[Memory], named: Sequence[str]) -> Iterator[Shared]:
        """Yields those of some memories that sources beside the named ones hold."""
        own = self.versions_at(named)
        for memory in memories:
            others = self.of(memory.id, own)
            if others:
                made = self._view.sources(self._space, memory.id)
                yield Shared(memory, tuple(one for one in made if one.id in own), others)


def shared_by(
    view: LedgerView,
    space: str,
    memories: Sequence[Memory],
    where: Filter,
    document: Sequence[str] = (),
) -> list[Shared]:
    """Those of some memories that others hold than the sources by which they were selected: those
    of a filter, but for what it names by id, or the versions of a document."""
    given = where.given()
    named = document or given.get("source_ids", ())
    by_id = set(given.get("ids", ()))
    if not named:
        return []
    unnamed = [one for one in memories if one.id not in by_id]
    return list(Holders(view, space).shared(unnamed, named))


def left_of(memories: Sequence[Memory], shared: Sequence[Shared]) -> list[Memory]:
    """The memories without those that others hold."""
    stay = {one.memory.id for one in shared}
    return [one for one in memories if one.id not in stay]


def without_own(shared: Shared, now_us: int) -> ChangeSet:
    """Changes by which a memory that stays is no longer of the sources that go."""
    memory = shared.memory
    title = shared_title(memory, shared.others)
    renamed = title != memory.title
    payload = {"old": {"title": memory.title}, "new": {"title": title}}
    return ChangeSet(
        namespace=memory.namespace,
        edge_patches=tuple(
            EdgePatch(from_id=one.id, to_id=memory.id, edge_type=EdgeType.PRODUCED, expired=True)
            for one in shared.own
        ),
        patches=(MemoryPatch(memory_id=memory.id, fields={"title": title}, bump_version=True),)
        if renamed
        else (),
        events=(event(memory, EventType.UPDATE, now_us, payload),) if renamed else (),
    )


def said_of_shared(
    session: Session, kept: Sequence[Shared], *, by_id: str = "forget"
) -> Iterator[str]:
    """Yields that memories stay which other sources hold, and which call takes one by its id."""
    if not kept:
        return
    by = _named(session, kept)
    ids = first_of([one.memory.id for one in kept], _SHOWN)
    drop = by_caller(f"{by_id}(id)", f"`vestig {by_id} ID`")
    stay = "stays" if len(kept) == 1 else "stay"
    yield (
        f"{count_of(len(kept), 'memory')} of what was named {stay}, for other sources hold the"
        f" text too ({by}): {ids}; {drop} takes one for all"
    )


def said_of_gone(session: Session, gone: Sequence[Shared]) -> Iterator[str]:
    """Yields that passages go with a document which other sources hold too."""
    if gone:
        count = count_of(len(gone), "passage")
        verb = "goes" if len(gone) == 1 else "go"
        yield f"{count} {verb} with it that other sources hold too ({_named(session, gone)})"


def _named(session: Session, several: Sequence[Shared]) -> str:
    """The other sources of some memories, of scopes that the caller may name."""
    held = {one.id: one for shared in several for one in shared.others}
    named = [
        one.path or str(one.metadata.get("title") or one.id)
        for one in held.values()
        if session.may_name(documents.name_of(one).scope)
    ]
    return first_of(list(dict.fromkeys(named)), _SHOWN) if named else "another scope's"


# --- titles ------------------------------------------------------------------------------------


def shared_title(
    memory: Memory,
    holders: Sequence[Source],
    given: Mapping[DocumentName, str] = MappingProxyType({}),
) -> str | None:
    """The title of a passage that says all documents which hold it: their titles, then the part of
    its path of headings that is the same in all of them. Its own where none of them has a title.

    Args:
        given: the titles that documents which were read give to it.
    """
    titles = _titles(holders)
    if not titles:
        return memory.title
    files = {documents.name_of(one): one for one in holders if one.source_type == "file"}
    paths = [_headings(given[name], _titles([one])) for name, one in files.items() if name in given]
    if len(paths) < len(files):
        paths.append(_headings(memory.title or "", titles))
    tail, more = _common_tail(paths), len(titles) - _TITLES_SHOWN
    shown = titles if more <= 1 else [*titles[:_TITLES_SHOWN], f"{more} more"]
    for parts in ([_AND.join(shown), *tail], [f"{len(titles)} documents", *tail]):
        title = _BETWEEN.join(parts)
        if len(title) <= _TITLE_CHARS_MAX or len(titles) == 1:
            return title
    return f"{len(titles)} documents"


def _titles(sources: Sequence[Source]) -> list[str]:
    """The titles of the documents among some sources, each once, in order of the alphabet."""
    found = {str(one.metadata.get("title") or "") for one in sources if one.source_type == "file"}
    return sorted(found - {""}, key=lambda title: (title.casefold(), title))


def _headings(title: str, documents_: Sequence[str]) -> list[str]:
    """The headings behind the title of one of some documents, or of several; without a known one
    what follows the first part."""
    for known in (_AND.join(documents_), *documents_):
        if title == known:
            return []
        if title.startswith(known + _BETWEEN):
            return title[len(known + _BETWEEN) :].split(_BETWEEN)
    return title.split(_BETWEEN)[1:]


def _common_tail(paths: Sequence[Sequence[str]]) -> list[str]:
    """The last parts that all paths have.

    Example:
        >>> _common_tail([["Terms", "Payment"], ["Payment"]])
        ['Payment']
    """
    tail: list[str] = []
    for parts in zip(*(reversed(path) for path in paths), strict=False):
        if len(set(parts)) > 1:
            break
        tail.append(parts[0])
    return tail[::-1]
