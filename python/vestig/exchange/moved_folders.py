"""Documents whose folder was moved or renamed, known by those in it that did not change.

A folder has moved where it is gone, at least half of its documents lie as they were (size and time)
at the same places below another folder, and the nearest folder above it that is there holds that
too. A document of it with the same title is then the one at its place there, edited or not.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from vestig.exchange.kept_passages import is_unchanged
from vestig.store.records import documents
from vestig.store.records.documents import DocumentName
from vestig.types import Source


class ReadFile(NamedTuple):
    """A file that an import reads: its path, its size in bytes, and when it was changed."""

    path: str
    size: int
    file_us: int


class _Move(NamedTuple):
    """A folder that may have moved: its path before and now."""

    before: str
    now: str


def moved_documents(
    newest: Mapping[DocumentName, Source], files: Sequence[ReadFile], scope: str | None
) -> dict[str, Source]:
    """Path → the document that the new file there was before its folder moved; none of a file that
    may have been two, and none that may be two files.

    Args:
        newest: the newest version of each document.
        files: those that no document has yet.
    """
    by_base: dict[str, list[ReadFile]] = {}
    for file in files:
        by_base.setdefault(os.path.basename(file.path), []).append(file)
    known = {
        str(name.path): version
        for name, version in newest.items()
        if name.path is not None and name.scope == scope and _is_file(version)
    }
    found: dict[tuple[str, str], list[_Move]] = {}
    unchanged, is_there = Counter[_Move](), cache(os.path.lexists)
    for path, version in known.items():
        for file in by_base.get(os.path.basename(path), ()):
            for move in _moves(path, file.path):
                if is_there(move.before) or not _have_one_root(move):
                    continue
                found.setdefault((path, file.path), []).append(move)
                unchanged[move] += is_unchanged(version, file.size, file.file_us)
    below = Counter({one: sum(path.startswith(f"{one.before}{os.sep}") for path in known)
                     for one in unchanged if unchanged[one]})  # fmt: skip
    moved = {one for one, count in below.items() if 2 * unchanged[one] >= count}
    sure = [pair for pair, moves in found.items() if not moved.isdisjoint(moves)]
    olds, news = Counter(old for old, _ in sure), Counter(new for _, new in sure)
    return {new: known[old] for old, new in sure if olds[old] == news[new] == 1}


def _is_file(version: Source) -> bool:
    """Return whether a version is of a file that was there when it was last looked for."""
    return version.metadata.get("file") is True and not documents.has_ended(version)


def _moves(before: str, now: str) -> Iterator[_Move]:
    """Yields the folders by whose move a file came from one path to another."""
    while os.path.basename(before) == os.path.basename(now) and before != now:
        folders = _Move(os.path.dirname(before), os.path.dirname(now))
        if folders == (before, now) or folders.before == folders.now:
            return
        yield folders
        before, now = folders


def _have_one_root(move: _Move) -> bool:
    """Return whether the nearest folder above one that is gone, but for the root of the file
    system, holds where it would be now."""
    above = os.path.dirname(move.before)
    while not os.path.isdir(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    return above != os.path.dirname(above) and move.now.startswith(os.path.join(above, ""))
