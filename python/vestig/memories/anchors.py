"""Anchors as they stand: whether the sources of memories are as they were.

Of a file size and time are looked at first, then the lines, then the rest of the file. Nothing here
raises for what a file is: what cannot be seen is `unknown`, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from vestig.repository.files import (
    OpenFolder,
    Repository,
    Span,
    Stamp,
    UnreadableFileError,
    is_at,
    lines_of,
    open_folder,
    places_of,
    span_of,
)
from vestig.session.session import Session
from vestig.store.records import anchor_rows
from vestig.store.records.anchor_rows import AnchorRow
from vestig.store.records.reads import LedgerView
from vestig.telemetry import caused_by_interrupt
from vestig.times import from_us
from vestig.types import Anchor, AnchorKind, AnchorState

if TYPE_CHECKING:
    from vestig.repository.branches import Branches


class Standing(NamedTuple):
    """How an anchor stands. `now`: first and last line; `equal`: how many places have them;
    `file`: the path at which a file that is gone stands now."""

    state: AnchorState
    now: tuple[int, int] | None = None
    equal: int = 1
    why: str | None = None
    file: str | None = None


_SAME: Final = Standing(AnchorState.SAME)
_CHANGED: Final = Standing(AnchorState.CHANGED)
_GONE: Final = Standing(AnchorState.GONE)
_VERDICTS_MAX: Final = 10_000
# root, path, lines and digest, stamp of the file → how the anchor stands
_verdicts: Final[dict[tuple[object, ...], Standing]] = {}


def as_they_stand(
    session: Session, view: LedgerView, namespace: str, ids: Sequence[str]
) -> dict[str, tuple[Anchor, ...]]:
    """Id → its anchors and those of what it was made of; only of those of these memories that have
    some."""
    rows = anchor_rows.of_memories(view, namespace, ids)
    with Look(session) as look:
        return {id: tuple(look.anchor(row) for row in own) for id, own in rows.items()}


class Look:
    """One look at the sources of anchors; the folder is opened when it is needed.

    Args:
        follow: look for the lines of a file that is gone in other files, by asking git.
    """

    def __init__(self, session: Session, *, follow: bool = False) -> None:
        self._session = session
        self._follow = follow
        self._now_us = session.now_us()
        self._opening: AbstractContextManager[OpenFolder] | None = None
        self._folder: OpenFolder | None = None

    @cached_property
    def repository(self) -> Repository | None:
        """The repository in which files are looked at."""
        return self._session.repository()

    @cached_property
    def commit(self) -> str | None:
        """The commit that is checked out; None where git names none."""
        return None if self.repository is None else self.repository.commit()

    @cached_property
    def branches(self) -> Branches | None:
        """The answers of git about the branches of the repository, each asked for once."""
        from vestig.repository.branches import SECONDS, SECONDS_UNHURRIED, Branches

        seconds = SECONDS_UNHURRIED if self._follow else SECONDS
        return None if self.repository is None else Branches(self.repository.root, seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._opening is not None and self._folder is not None:
            self._opening.__exit__(None, None, None)

    def anchor(self, row: AnchorRow) -> Anchor:
        """An anchor as it stands."""
        stands = self.standing(row)
        lines = _lines(row)
        return Anchor(
            kind=AnchorKind(row.kind),
            target=row.target,
            lines=lines,
            state=stands.state,
            now=lines if stands.state is AnchorState.SAME else stands.now,
            equal=stands.equal,
            why=stands.why,
            file=stands.file,
            project=row.project,
            commit=row.commit_id,
            taken_at=from_us(row.taken_us),
            position=row.position,
            of=row.of,
        )

    def standing(self, row: AnchorRow) -> Standing:
        """How an anchor stands."""
        if row.kind == AnchorKind.MEMORY.value:
            return _GONE if row.target is None else _CHANGED if row.ended else _SAME
        assert row.target is not None, "an anchor of another kind has a target"
        if row.kind == AnchorKind.URL.value:
            return self._url(row)
        if self.repository is None:
            return _unknown("no folder to look in")
        if row.project != self.repository.name:
            return _unknown("in another project")
        if self._is_of_another_branch(self.repository, row.scope):
            return _unknown("of another branch than the one checked out")
        try:
            return self._file(self.repository, row, row.target)
        except FileNotFoundError:
            follows = self._follow and self.repository.has_git
            return self._followed(row, row.target) if follows else _GONE
        except UnreadableFileError as error:
            return _unknown(str(error))

    def _followed(self, row: AnchorRow, path: str) -> Standing:
        """How an anchor of a file that is gone stands in the file that this became, or in the only
        other one that has its lines."""
        assert self.branches is not None, "there is a folder to look in"
        renamed = self.branches.renamed_file(path, row.commit_id)
        became = None if renamed is None else self._in_file(row, renamed)
        if became is not None and became.state is AnchorState.MOVED:
            return became
        others = [
            stands
            for one in self.branches.files_like(path, row.commit_id)
            if (stands := self._in_file(row, one)) is not None and stands.state is AnchorState.MOVED
        ]
        if len(others) > 1:
            return _unknown(f"its lines are in {len(others)} other files, one is {others[0].file}")
        return others[0] if others else became or _GONE

    def _in_file(self, row: AnchorRow, path: str) -> Standing | None:
        """How an anchor stands in another file than its own; None where that cannot be read."""
        try:
            data, _ = self.folder().read(path, self._now_us)
        except (FileNotFoundError, UnreadableFileError):
            return None
        stands = compared(lines_of(data), row)
        if stands.state is AnchorState.SAME:
            stands = Standing(AnchorState.MOVED, _lines(row))
        return stands._replace(file=path)

    def has_default_branch(self, row: AnchorRow) -> str | None:
        """The name of the default branch, where another one or none is checked out and the default
        one has the lines of an anchor."""
        if row.kind != AnchorKind.FILE.value or row.target is None or self.branches is None:
            return None
        default = self.branches.default
        if default is None or default.name == self.branches.current:
            return None
        for commit in default.commits:
            lines = lines_of(self.branches.file(commit, row.target))
            if lines and compared(lines, row).state in (AnchorState.SAME, AnchorState.MOVED):
                return default.name
        return None

    def _is_of_another_branch(self, repository: Repository, scope: str | None) -> bool:
        """Return whether a scope is that of a branch of which this work tree has no files."""
        if scope is None or not scope.startswith(repository.name):
            return False
        from vestig.repository.branches import branch_part

        return branch_part(repository.name, scope) is not None and scope not in self._read_scopes

    @cached_property
    def _read_scopes(self) -> tuple[str, ...]:
        """The scopes of the project and of the branch that is checked out."""
        from vestig.repository.branches import read_scopes

        assert self.repository is not None, "there is a folder to look in"
        return read_scopes(self.repository.name, self.repository.root)

    def _url(self, row: AnchorRow) -> Standing:
        found = check_url(self._session, row.target or "")
        if isinstance(found, Standing):
            return found
        return _SAME if sha256(found.encode()).digest() == row.digest else _CHANGED

    def _file(self, repository: Repository, row: AnchorRow, path: str) -> Standing:
        folder = self.folder()
        stamp = folder.stamp(path, self._now_us)
        if stamp.ns is not None and stamp == Stamp(row.size or 0, row.mtime_ns):
            return _SAME
        key = (repository.root, path, row.first_line, row.last_line, row.digest, stamp)
        known = None if stamp.ns is None else _verdicts.get(key)
        if known is not None:
            return known
        data, stamp = folder.read(path, self._now_us)
        found = compared(lines_of(data), row)
        if stamp.ns is not None:
            if len(_verdicts) >= _VERDICTS_MAX:
                _verdicts.clear()
            _verdicts[*key[:-1], stamp] = found
        return found

    def folder(self) -> OpenFolder:
        """The folder of the repository, open until the look ends."""
        assert self.repository is not None, "there is a folder to look in"
        if self._folder is None:
            self._opening = open_folder(self.repository)
            self._folder = self._opening.__enter__()
        return self._folder


def check_url(session: Session, address: str) -> str | Standing:
    """The hash of what stands at an address, as the caller's function says; else how an anchor
    there stands."""
    if session.check_url is None:
        return _unknown("addresses are not looked at")
    try:
        found = session.check_url(address)
    except Exception as error:  # the caller's code
        if caused_by_interrupt(error):
            raise KeyboardInterrupt from error
        return _unknown(f"check_url raised {type(error).__name__}")
    if found is None:
        return _GONE
    return found if isinstance(found, str) else _unknown(f"check_url gave a {type(found).__name__}")


def _lines(row: AnchorRow) -> tuple[int, int] | None:
    if row.first_line is None or row.last_line is None:
        return None
    return row.first_line, row.last_line


def _unknown(why: str) -> Standing:
    return Standing(AnchorState.UNKNOWN, why=why)


def compared(lines: list[bytes], row: AnchorRow) -> Standing:
    """How an anchor stands in the lines of its file."""
    if row.first_line is None or row.last_line is None:
        same = span_of(lines, 1, len(lines)).digest == row.digest
        return _SAME if same else _CHANGED
    span = Span(row.first_line, row.last_line, row.digest or b"", row.ends)
    if is_at(lines, span):
        return _SAME
    places = places_of(lines, span)
    if not places:
        return _CHANGED
    # where as many places are equal as there were, it is the one of the same number
    if len(places) == row.equal:
        first = places[row.place - 1]
    else:
        first = min(places, key=lambda place: abs(place - span.first))
    now = (first, first + span.last - span.first)
    return Standing(AnchorState.MOVED, now, len(places))
