"""The files that an import was given, each of which can be opened more than once.

Invariant: nothing of a zip archive is unpacked to the disk, and no name in it is used as a path.
"""

from __future__ import annotations

import glob
import io
import os
import shlex
import stat
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, cast

from vestig.errors import ValidationError
from vestig.language.text_forms import count_of
from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import by_caller
from vestig.results import LINK

# Of one file, unpacked; of all members of an archive together.
BYTES_MAX: Final = 4 * 1024**3
MEMBERS_MAX: Final = 10_000
# Unpacked bytes for one packed byte of an archive, beyond the first MiB.
RATIO_MAX: Final = 200
_RATIO_FREE_BYTES: Final = 1024 * 1024
# Of the list at an archive's end, which is read at once.
_DIRECTORY_BYTES_MAX: Final = 16 * 1024 * 1024
# Of a name and of a path, in the file systems of Linux.
_NAME_BYTES_MAX: Final = 255
_PATH_BYTES_MAX: Final = 4_095
_DIRECTORY_END: Final = b"PK\x05\x06"
_DIRECTORY_END_BYTES: Final = 22 + 65_535
# Before it: of an archive of the large form, a pointer of 20 bytes and before that 56 bytes that
# count instead.
_LARGE_END: Final = b"PK\x06\x07"
_LARGE_END_BYTES: Final = 76
_ZIP_MAGICS: Final = (b"PK\x03\x04", _DIRECTORY_END)
# Files that lie beside the conversations of an export and hold none.
_COMPANIONS: Final = frozenset(
    (
        "chat.html",
        "export_manifest.json",
        "login_history.json",
        "message_feedback.json",
        "model_comparisons.json",
        "sessions-index.json",
        "shared_conversations.json",
        "tool_messages.json",
        "user.json",
        "user_settings.json",
        "users.json",
    )
)
# The folder, and the beginning of the names, of what macOS puts beside the files of an archive.
_MACOS_FOLDER: Final = "__MACOSX"
_MACOS_PREFIX: Final = "._"
_IS_ENCRYPTED: Final = 0x1
_SPOOL_BYTES: Final = 16 * 1024 * 1024
_ESCAPED: Final = lazy_pattern(r"\\(?:u)(dc[89a-f][0-9a-f])")
_OBJECTS: Final = (
    'store.commit_many([{"content": "…"}]) stores objects, and import_(io.StringIO(json.dumps('
    "objects))) reads those of another program"
)
_ADDRESS: Final = lazy_pattern(r"[a-z]+://")
STANDARD_INPUT: Final = "standard input"
# A kind of what a folder holds that is not looked into.
HIDDEN: Final = "hidden entry"


def shell_word(name: str) -> str:
    """The word of a command line for a file that messages call so; of standard input, "-".

    Example:
        >>> shell_word("my notes.txt"), shell_word("standard input")
        ("'my notes.txt'", '-')
    """
    return "-" if name == STANDARD_INPUT else shlex.quote(name)


class Input:
    """A file: `name` is how messages call it, `size` its bytes as they are read. `is_named`: the
    caller named it, in place of a folder or an archive in which it lies. Of a file of the file
    system: its absolute `path`, and `file_us`, when it was changed (µs)."""

    name: str
    size: int
    is_named = True
    path: str | None = None
    file_us: int | None = None

    def open(self) -> BinaryIO:
        """Its bytes from the start; each stream is closed by who opened it.

        Raises:
            FileNotFoundError: no such file.
            ValidationError: a folder; a member of an archive that cannot be read.
        """
        raise NotImplementedError

    def position(self) -> int:
        """How far the newest stream was read."""
        raise NotImplementedError


class PathInput(Input):
    """A file of the file system."""

    def __init__(self, path: Path) -> None:
        self.name = escaped(str(path))
        self._path = path
        if path.is_dir():
            raise ValidationError("path", self.name, "a file, this is a folder")
        status = path.stat()
        self.size = status.st_size
        self.path = escaped(os.path.abspath(path))
        self.file_us = status.st_mtime_ns // 1000
        self._stream: BinaryIO | None = None

    def open(self) -> BinaryIO:
        self._stream = self._path.open("rb")
        return self._stream

    def position(self) -> int:
        stream = self._stream
        return self.size if stream is None or stream.closed else min(stream.tell(), self.size)


class UnreadInput(Input):
    """An entry of a folder that the file system does not show."""

    is_named = False

    def __init__(self, path: Path, error: OSError) -> None:
        self.name = escaped(str(path))
        self.size = 0
        self._error = error

    def open(self) -> BinaryIO:
        raise self._error

    def position(self) -> int:
        return 0


class StreamInput(Input):
    """An open file of the caller, which stays open; one that cannot seek is copied first."""

    def __init__(self, stream: IO[Any]) -> None:
        named = getattr(stream, "name", None)
        self.name = os.path.basename(named) if isinstance(named, str) and named != "<stdin>" else ""
        self.name = self.name or STANDARD_INPUT
        self._raw = _seekable(stream)
        self._raw.seek(0, io.SEEK_END)
        self.size = self._raw.tell()

    def open(self) -> BinaryIO:
        self._raw.seek(0)
        return cast("BinaryIO", _Kept(self._raw))

    def position(self) -> int:
        return min(self._raw.tell(), self.size)


class _Kept(io.BufferedReader):
    """A stream whose closing leaves the file below it open."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__(cast("io.RawIOBase", _Through(raw)))


class _Through(io.RawIOBase):
    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def readinto(self, buffer: Any) -> int:
        block = self._raw.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)


class Archive:
    """A zip archive whose members are read in place."""

    def __init__(self, source: Input) -> None:
        self._source = source
        self.path, self.file_us = source.path, source.file_us
        self._stream = source.open()
        self.members: list[Input] = []
        _check_directory(self._stream, source)
        try:
            self._zip = zipfile.ZipFile(self._stream)
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError):
            raise _damaged() from None
        infos = [info for info in self._zip.infolist() if not info.is_dir()]
        if len(infos) > MEMBERS_MAX:
            raise _too_many(len(infos))
        self.members = [MemberInput(self, info) for info in infos]
        self._total = 0
        self._taken: dict[int, int] = {}

    @property
    def name(self) -> str:
        """How messages call it."""
        return self._source.name

    def open(self, info: zipfile.ZipInfo) -> BinaryIO:
        """The unpacked bytes of a member.

        Raises:
            ValidationError: encrypted, packed in an unknown way, or damaged.
        """
        if info.flag_bits & _IS_ENCRYPTED:
            raise ValidationError(
                "path", "an encrypted member of a zip archive", "one without a password",
                "unpack it and import what it holds",
            )  # fmt: skip
        try:
            stream = self._zip.open(info)
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError):
            raise _damaged() from None
        member = _Member(self, info, cast("BinaryIO", stream))
        return cast("BinaryIO", io.BufferedReader(member))

    def count(self, info: zipfile.ZipInfo, position: int) -> None:
        """Notes how far a member was unpacked.

        Raises:
            ValidationError: it grows beyond the limits.
        """
        place = info.header_offset
        before = self._taken.get(place, 0)
        if position > before:
            self._taken[place] = position
            self._total += position - before
        if position > _RATIO_FREE_BYTES + RATIO_MAX * info.compress_size or self._total > BYTES_MAX:
            raise ValidationError(
                "path",
                f"more than {position:,} bytes unpacked from {info.compress_size:,}",
                f"a zip archive that grows to at most {RATIO_MAX} times its size"
                f" and {BYTES_MAX >> 30} GiB",
            )

    def close(self) -> None:
        """Idempotent."""
        self._zip.close()
        self._stream.close()


class MemberInput(Input):
    """A member of an archive, called by the archive's name and its own."""

    is_named = False

    def __init__(self, archive: Archive, info: zipfile.ZipInfo) -> None:
        self._archive = archive
        self._info = info
        # of the member's name only the end is shown, and nothing is opened by it
        self.name = f"{archive.name}/{info.filename.replace(chr(92), '/')}"
        self.size = info.file_size
        if archive.path is not None:
            self.path = escaped(f"{archive.path}/{info.filename.replace(chr(92), '/')}")
            self.file_us = archive.file_us
        self._read: _Member | None = None

    def open(self) -> BinaryIO:
        stream = self._archive.open(self._info)
        self._read = cast("_Member", cast("io.BufferedReader", stream).raw)
        return stream

    def position(self) -> int:
        return self.size if self._read is None else min(self._read.count, self.size)


class _Member(io.RawIOBase):
    """The bytes of a member, counted."""

    def __init__(self, archive: Archive, info: zipfile.ZipInfo, stream: BinaryIO) -> None:
        self._archive = archive
        self._info = info
        self._stream = stream
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            block = self._stream.read(len(buffer))
        except (zipfile.BadZipFile, EOFError, zlib.error, OSError, ValueError):
            raise _damaged() from None
        buffer[: len(block)] = block
        self.count += len(block)
        self._archive.count(self._info, self.count)
        return len(block)

    def close(self) -> None:
        self._stream.close()
        super().close()


def is_companion(name: str) -> bool:
    """Return whether a file lies beside the texts of an export and holds none itself.

    Example:
        >>> is_companion("notes.zip/__MACOSX/a.md"), is_companion("x/user.json.gz")
        (True, True)
    """
    *folders, last = name.split("/")
    last = last.removesuffix(".gz")
    hidden = _MACOS_FOLDER in folders or last.startswith(_MACOS_PREFIX)
    return hidden or last.lower() in _COMPANIONS


def escaped(name: str) -> str:
    """A path as text: bytes that are no UTF-8 are written `\\udcXX`.

    Example:
        >>> escaped("m\\udce9moire.md")
        'm\\\\udce9moire.md'
    """
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def file_of(name: str) -> str | None:
    """The file that `escaped` names so, or the archive or file of mails in which it lay; None where
    neither is there. One of which the file system does not say it is there."""
    given = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), name)
    for written in (name, given):
        path = written
        while not os.path.isdir(path):
            try:
                os.lstat(path)
            except (FileNotFoundError, NotADirectoryError):
                path = os.path.dirname(path)
                continue
            except (OSError, ValueError):
                pass
            return escaped(path)
    return None


def is_archive(source: Input) -> bool:
    """Return whether a file begins like a zip archive."""
    with source.open() as stream:
        return stream.read(4).startswith(_ZIP_MAGICS)


def given_inputs(
    files: Any, *, recursive: bool, left_out: Counter[str]
) -> tuple[list[Input], bool]:
    """The files that are meant, in order; and whether a single one was named.

    Args:
        files: a path, folder, pattern, open file, or a list of these.
        recursive: whether the folders in a folder count.
        left_out: counts the entries of folders that are not looked into, by kind.

    Raises:
        FileNotFoundError: no such file.
        ValidationError: nothing there, or another kind of value.
    """
    if isinstance(files, (list, tuple)):
        found: list[Input] = []
        for one in files:
            found += given_inputs(one, recursive=recursive, left_out=left_out)[0]
        if not found:
            raise ValidationError("files", "no file", "at least one file")
        return found, len(found) == 1 and len(files) == 1 and found[0].is_named
    if hasattr(files, "read"):
        return [StreamInput(files)], True
    if not isinstance(files, (str, os.PathLike)):
        raise ValidationError(
            "files",
            type(files).__name__,
            "a path, an open file, or a list of these",
            _OBJECTS if isinstance(files, Mapping) else "",
        )
    path = _path(files).expanduser()
    if _ADDRESS.match(os.fspath(files)) and not path.exists():
        fetch = "`curl -L ADDRESS -o FILE` brings what is there"
        raise ValidationError("files", os.fspath(files), "the path of a file, no address", fetch)
    if path.is_dir():
        inside = list(_in_folder(path, recursive=recursive, left_out=left_out))
        if not inside:
            way = by_caller("recursive=True", "--recursive")
            hint = "" if recursive else f"{way} brings what lies in its folders"
            kinds = [count_of(count, kind) for kind, count in sorted(left_out.items()) if count]
            got = f"a folder with {' and '.join(kinds)} alone" if kinds else "an empty folder"
            raise ValidationError("files", f"{got}, {path}", "a folder with files", hint)
        return inside, False
    if glob.has_magic(str(path)) and not path.exists():
        names = sorted(filter(os.path.isfile, glob.glob(str(path), recursive=True)))
        own = {os.path.realpath(name) for name in names if not os.path.islink(name)}
        # a link to one of them is that file once more
        kept = [one for one in names if not os.path.islink(one) or os.path.realpath(one) not in own]
        matched: list[Input] = [PathInput(Path(name)) for name in kept]
        if not matched:
            raise ValidationError("files", str(files), "a pattern that fits a file")
        return matched, False
    return [PathInput(path)], True


def files_below(files: Any) -> int:
    """How many files lie in folders of the folders among what was named; hidden entries and links
    count as little as folders that the file system does not show."""
    given = files if isinstance(files, (list, tuple)) else [files]
    paths = [Path(one).expanduser() for one in given if isinstance(one, (str, os.PathLike))]
    return sum(_count_below(path) for path in paths if path.is_dir())


def _count_below(folder: Path) -> int:
    count = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if place != str(folder):
            shown = [os.path.join(place, name) for name in names if not name.startswith(".")]
            count += sum(not os.path.islink(path) for path in shown)
    return count


def _path(given: str | os.PathLike[str]) -> Path:
    """The path, where a file system can hold it."""
    try:
        name = os.fsencode(given)
    except UnicodeEncodeError as error:
        got = "text with a lone surrogate"
        raise ValidationError("files", got, "the path of a file") from error
    if b"\0" in name:
        raise ValidationError("files", "text with U+0000", "the path of a file")
    if len(name) > _PATH_BYTES_MAX or any(len(part) > _NAME_BYTES_MAX for part in name.split(b"/")):
        raise ValidationError("files", "a name that is too long", "the path of a file")
    return Path(given)


def _in_folder(folder: Path, *, recursive: bool, left_out: Counter[str]) -> Iterator[Input]:
    """Files of a folder, sorted; hidden entries and links are left out, and counted. What the file
    system does not show is among them."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        yield UnreadInput(folder, error)
        return
    for entry in entries:
        if entry.name.startswith("."):
            left_out[HIDDEN] += 1
            continue
        try:
            mode = entry.lstat().st_mode
            if stat.S_ISREG(mode):
                file = PathInput(entry)
                file.is_named = False
                yield file
            elif recursive and stat.S_ISDIR(mode):
                yield from _in_folder(entry, recursive=True, left_out=left_out)
            elif stat.S_ISLNK(mode):
                left_out[LINK] += 1
        except OSError as error:
            yield UnreadInput(entry, error)


def _seekable(stream: IO[Any]) -> BinaryIO:
    if isinstance(stream, io.TextIOWrapper):
        return _seekable(stream.buffer)
    if not isinstance(stream, io.TextIOBase) and stream.seekable():
        return cast("BinaryIO", stream)
    spool = tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES)  # noqa: SIM115 - kept open
    taken = 0
    while block := stream.read(_SPOOL_BYTES):
        data = block.encode("utf-8", "surrogatepass") if isinstance(block, str) else block
        taken += len(data)
        if taken > BYTES_MAX:
            raise ValidationError(
                "files", f"more than {BYTES_MAX >> 30} GiB", "a stream that ends before"
            )
        spool.write(data)
    return cast("BinaryIO", spool)


def _check_directory(stream: BinaryIO, source: Input) -> None:
    """Looks at the end of an archive, before the list of its members is read at once.

    Raises:
        ValidationError: no end, or too many members.
    """
    stream.seek(max(0, source.size - _DIRECTORY_END_BYTES))
    tail = stream.read(_DIRECTORY_END_BYTES)
    place = tail.rfind(_DIRECTORY_END)
    if place < 0 or len(tail) < place + 22:
        raise _damaged()
    members = int.from_bytes(tail[place + 10 : place + 12], "little")
    size = int.from_bytes(tail[place + 12 : place + 16], "little")
    if tail[: max(0, place)].endswith(_LARGE_END, 0, max(0, place - 16)):
        large = tail[max(0, place - _LARGE_END_BYTES) : place]
        if len(large) < _LARGE_END_BYTES:
            raise _damaged()
        members = int.from_bytes(large[32:40], "little")
        size = int.from_bytes(large[40:48], "little")
    if members > MEMBERS_MAX or size > _DIRECTORY_BYTES_MAX:
        raise _too_many(members)
    stream.seek(0)


def _too_many(count: int) -> ValidationError:
    return ValidationError(
        "path", f"{count:,} members", f"a zip archive with at most {MEMBERS_MAX:,} members"
    )


def _damaged() -> ValidationError:
    return ValidationError(
        "path", "a cut or damaged zip archive", "a whole one", "copy or download it again"
    )


def all_of(inputs: Sequence[Input]) -> int:
    """Bytes of all files."""
    return sum(one.size for one in inputs)
