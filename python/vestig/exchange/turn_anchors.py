"""Anchors of the turns of a session: the lines that an assistant wrote, and the files that a text
names, as far as it is certain that they are what the turn saw.

Certain are lines that stand once in their file as they were written, and a file that was not
written after the turn.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from vestig.arguments import time_us
from vestig.calls.anchors import ANCHORS_MAX, GivenAnchor
from vestig.errors import ValidationError
from vestig.exchange.formats.drafts import LogTurn
from vestig.lazy_pattern import lazy_pattern
from vestig.repository.branches import Branches
from vestig.repository.files import (
    OpenFolder,
    Repository,
    UnreadableFileError,
    lines_of,
    open_folder,
)
from vestig.session.session import Session
from vestig.types import AnchorKind

_NAMED_MAX: Final = 100
# A path has an ending or a folder; behind it may stand lines.
_NAMED: Final = lazy_pattern(
    r"(?<![\w/.@~-])((?:\.{0,2}/)?(?:[\w.-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,9})"
    r"(?::(\d{1,7})(?:-(\d{1,7}))?)?(?![\w/])"
)


class TurnAnchors:
    """Finds anchors of turns in the repository that is worked in."""

    def __init__(self, session: Session) -> None:
        self._repository = session.repository()
        self._now_us = session.now_us()
        # what is checked out, and what git says of other branches
        self._branches = None if self._repository is None else Branches(self._repository.root)

    def of(self, turn: LogTurn) -> tuple[GivenAnchor, ...]:
        """The anchors of a turn; none where no repository is worked in."""
        repository = self._repository
        branches = self._branches
        if repository is None or branches is None:
            return ()
        branch = turn.branch
        if branch is not None and branch != branches.current and branch in branches.heads:
            found = dict.fromkeys(_on(branches, branch, repository, turn))
            return tuple(found)[:ANCHORS_MAX]
        try:
            with open_folder(repository) as opened:
                found = dict.fromkeys(self._edited(repository, opened, turn))
                edited = {one.target for one in found}
                for one in self._named(repository, opened, turn):
                    if one.target not in edited:
                        found[one] = None
        except (FileNotFoundError, UnreadableFileError):
            return ()
        return tuple(found)[:ANCHORS_MAX]

    def _edited(
        self, repository: Repository, opened: OpenFolder, turn: LogTurn
    ) -> Iterator[GivenAnchor]:
        for path, text in turn.edits:
            inside = repository.path_of(turn.folder or repository.root, path)
            if inside is None:
                continue
            try:
                data, _ = opened.read(inside, self._now_us)
            except (FileNotFoundError, UnreadableFileError):
                continue
            for lines in _once(data, text):
                yield _anchor(repository, inside, lines)

    def _named(
        self, repository: Repository, opened: OpenFolder, turn: LogTurn
    ) -> Iterator[GivenAnchor]:
        try:
            said_us = time_us("time", turn.time)
        except ValidationError:
            return
        if said_us is None:
            return
        for count, match in enumerate(_NAMED.finditer(turn.text)):
            if count == _NAMED_MAX:
                return
            path, first, last = match[1], match[2], match[3] or match[2]
            inside = repository.path_of(turn.folder or repository.root, path)
            if inside is None or ".git" in PurePath(inside).parts:
                continue
            try:
                stamp = opened.stamp(inside, self._now_us)
            except (FileNotFoundError, UnreadableFileError):
                continue
            if stamp.ns is None or stamp.ns > said_us * 1_000:
                continue
            lines = None if first is None else (int(first), int(last))
            if lines is None or 1 <= lines[0] <= lines[1]:
                yield _anchor(repository, inside, lines)


def _anchor(repository: Repository, path: str, lines: tuple[int, int] | None) -> GivenAnchor:
    whole = os.path.join(repository.root, path)
    return GivenAnchor(AnchorKind.FILE, whole, lines, optional=True)


def _on(
    branches: Branches, branch: str, repository: Repository, turn: LogTurn
) -> Iterator[GivenAnchor]:
    """Finds what a turn edited on a branch that is not checked out any more."""
    for path, text in turn.edits:
        inside = repository.path_of(turn.folder or repository.root, path)
        if inside is not None:
            for lines in _once(branches.file(branches.heads[branch], inside), text):
                yield _anchor(repository, inside, lines)._replace(branch=branch)


def _once(data: bytes, text: str) -> Iterator[tuple[int, int]]:
    """The first and last line of a text in a file that has it once."""
    wanted = lines_of(text.encode("utf-8", "replace").strip(b"\n"))
    if any(wanted) and b"\0" not in data:
        places = _places(lines_of(data), wanted)
        if len(places) == 1:
            yield places[0], places[0] + len(wanted) - 1


def _places(lines: list[bytes], wanted: list[bytes]) -> list[int]:
    """The first lines of all places of these whole lines; an edit may begin behind the indentation
    of its first one.

    Example:
        >>> _places([b"  a", b"b", b"ab"], [b"a", b"b"])
        [1]
    """
    first, rest, count = wanted[0].lstrip(), wanted[1:], len(wanted)
    return [
        at + 1
        for at in range(len(lines) - count + 1)
        if lines[at].lstrip() == first and lines[at + 1 : at + count] == rest
    ]
