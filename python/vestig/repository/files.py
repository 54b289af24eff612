"""Files of a repository, read so that nothing outside of its folder is opened: each part of a path
is opened in the folder before it, and no link is followed.

A span is some lines of a file, or all of them. White space at the ends of lines says nothing of it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

from vestig.repository.project import git_says, project_scope

# Larger files are not read.
FILE_BYTES_MAX: Final = 4 << 20
# A file that was written less than this before it was read may be written again unnoticed.
_FRESH_NS: Final = 2_000_000_000
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_GONE: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EISDIR))


class UnreadableFileError(Exception):
    """A file that is there and cannot be read; the message says why."""


class Stamp(NamedTuple):
    """Size and time of the last change of a file. `ns` None: it was changed just before it was
    read, so that the time says nothing."""

    size: int
    ns: int | None


class Span(NamedTuple):
    """Lines `first` to `last` of a text, from 1; `digest`: SHA-256 of them; `ends`: of the first
    and the last line, by which places are found that may be equal. `equal`: how many spans of the
    text are, and `place` which of these it is, from 1."""

    first: int
    last: int
    digest: bytes
    ends: int
    place: int = 1
    equal: int = 1


class Repository(NamedTuple):
    """A folder and the name of its project. `root`: real path of the work tree, or of the folder
    itself where there is no git."""

    root: str
    name: str
    has_git: bool

    def path_of(self, folder: str, path: str) -> str | None:
        """The path of a file relative to the root, with links resolved; None where it lies
        outside.

        Args:
            folder: where a relative path begins.
        """
        real = os.path.realpath(os.path.join(folder, path))
        inside = os.path.relpath(real, self.root)
        return None if inside == ".." or inside.startswith("../") else inside

    def commit(self) -> str | None:
        """The commit that is checked out; None where git names none."""
        if not self.has_git:
            return None
        said = git_says("-C", self.root, "rev-parse", "--verify", "--quiet", "HEAD")
        return said.decode("ascii", "replace").strip() or None


_known: Final[dict[str, tuple[tuple[int, int] | None, Repository]]] = {}
_KNOWN_MAX: Final = 64


def repository_at(folder: str) -> Repository:
    """The repository that holds a folder; without git the folder itself.

    Its name is asked of git again where the configuration of the repository has changed.
    """
    place = os.path.realpath(folder)
    root, has_git = place, False
    while not has_git:
        has_git = os.path.lexists(os.path.join(root, ".git"))
        above = os.path.dirname(root)
        if has_git or above == root:
            break
        root = above
    if not has_git:
        root = place
    stamp = None
    if has_git:
        with suppress(OSError):
            found = os.stat(os.path.join(root, ".git", "config"))
            stamp = (found.st_size, found.st_mtime_ns)
    known = _known.get(root)
    if known is not None and known[0] == stamp and known[1].has_git == has_git:
        return known[1]
    made = Repository(root, project_scope(Path(root)), has_git)
    if len(_known) >= _KNOWN_MAX:
        _known.clear()
    _known[root] = (stamp, made)
    return made


class OpenFolder:
    """The folder of a repository, open for looks at its files; each folder below is opened once."""

    def __init__(self, root: int) -> None:
        self._folders = {"": root}

    def _folder(self, path: str) -> int:
        known = self._folders.get(path)
        if known is None:
            above, _, name = path.rpartition("/")
            folder = self._folder(above)
            known = self._folders[path] = _opened(name, _FOLDER, folder)
        return known

    def close(self) -> None:
        """Closes all folders."""
        for folder in self._folders.values():
            os.close(folder)

    def stamp(self, path: str, now_us: int) -> Stamp:
        """Size and time of a file.

        Raises:
            FileNotFoundError: there is none.
            UnreadableFileError: it is a link or no file, or a folder on the way may not be read.
        """
        above, _, name = path.rpartition("/")
        with _faults():
            found = os.stat(name, dir_fd=self._folder(above), follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            raise FileNotFoundError(path)
        if not stat.S_ISREG(found.st_mode):
            raise UnreadableFileError("a link" if stat.S_ISLNK(found.st_mode) else "no file")
        return _stamp(found, now_us)

    def read(self, path: str, now_us: int) -> tuple[bytes, Stamp]:
        """The bytes of a file, and size and time at which it had them.

        Raises:
            FileNotFoundError: there is none.
            UnreadableFileError: as `stamp`, or it is too large.
        """
        self.stamp(path, now_us)  # a pipe is not opened
        above, _, name = path.rpartition("/")
        file = _opened(name, _FILE, self._folder(above))
        with _faults(), os.fdopen(file, "rb", buffering=0) as opened:
            found = os.fstat(opened.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise UnreadableFileError("no file")
            data = b"" if found.st_size > FILE_BYTES_MAX else _all_of(opened.fileno())
        if found.st_size > FILE_BYTES_MAX or len(data) > FILE_BYTES_MAX:
            raise UnreadableFileError(f"larger than {FILE_BYTES_MAX >> 20} MiB")
        if len(data) != found.st_size:
            return data, Stamp(len(data), None)
        return data, _stamp(found, now_us)


def _stamp(found: os.stat_result, now_us: int) -> Stamp:
    settled = found.st_mtime_ns + _FRESH_NS <= now_us * 1_000
    return Stamp(found.st_size, found.st_mtime_ns if settled else None)


def _all_of(file: int) -> bytes:
    parts, left = [], FILE_BYTES_MAX + 1
    while left > 0 and (part := os.read(file, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _opened(name: str, flags: int, folder: int) -> int:
    with _faults():
        try:
            return os.open(name, flags, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISLNK(found.st_mode):
                    raise UnreadableFileError("behind a link") from error
            raise


@contextmanager
def _faults() -> Iterator[None]:
    """Errors of the system: a path that is gone, else one that cannot be read."""
    try:
        yield
    except OSError as error:
        if error.errno in _GONE:
            raise FileNotFoundError(error.errno, "no such file") from error
        raise UnreadableFileError(os.strerror(error.errno or errno.EIO)) from error


@contextmanager
def open_folder(repository: Repository) -> Iterator[OpenFolder]:
    """The folder of a repository for looks at its files.

    Raises:
        FileNotFoundError, UnreadableFileError: it is gone, or may not be read.
    """
    with _faults():
        root = os.open(repository.root, _FOLDER)
    folder = OpenFolder(root)
    try:
        yield folder
    finally:
        folder.close()


def lines_of(data: bytes) -> list[bytes]:
    """Lines of a text, without the white space at their ends.

    Example:
        >>> lines_of(b"a \\r\\n\\nb"), lines_of(b"a\\n"), lines_of(b"")
        ([b'a', b'', b'b'], [b'a'], [])
    """
    lines = [line.rstrip() for line in data.split(b"\n")]
    if not lines[-1]:
        lines.pop()
    return lines


def _digest(lines: list[bytes], first: int, last: int) -> bytes:
    return sha256(b"\n".join(lines[first - 1 : last])).digest()


def _ends(first: bytes, last: bytes) -> int:
    # a number that SQLite holds
    return (crc32(first) & 0x7FFFFFFF) << 32 | crc32(last)


def span_of(lines: list[bytes], first: int, last: int) -> Span:
    """The span of these lines, which there are; of an empty text it is empty."""
    if not lines:
        return Span(1, 0, _digest(lines, 1, 0), 0)
    ends = _ends(lines[first - 1], lines[last - 1])
    plain = Span(first, last, _digest(lines, first, last), ends)
    places = places_of(lines, plain)
    return plain._replace(place=places.index(first) + 1, equal=len(places))


def is_at(lines: list[bytes], span: Span) -> bool:
    """Return whether a text has a span at its lines."""
    return span.last <= len(lines) and _digest(lines, span.first, span.last) == span.digest


def places_of(lines: list[bytes], span: Span) -> list[int]:
    """The first lines of all places at which a text has a span.

    Example:
        >>> text = lines_of(b"a\\nb\\na\\nb\\n")
        >>> places_of(text, Span(1, 2, _digest(text, 1, 2), _ends(b"a", b"b")))
        [1, 3]
    """
    count = span.last - span.first + 1
    first, last = span.ends >> 32, span.ends & 0xFFFFFFFF
    found = []
    for at in range(len(lines) - count + 1):
        if crc32(lines[at]) & 0x7FFFFFFF == first and crc32(lines[at + count - 1]) == last:
            place = at + 1
            if _digest(lines, place, place + count - 1) == span.digest:
                found.append(place)
    return found
