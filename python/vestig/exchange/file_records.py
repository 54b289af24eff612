"""Records of a file: JSON lines, a JSON array, or an object with `messages`; gzip or plain."""

from __future__ import annotations

import gzip
import hashlib
import io
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, cast

import msgspec

from vestig.calls.commit import CommitRequest
from vestig.calls.declaration import rows_of
from vestig.errors import ValidationError
from vestig.exchange.messages import KNOWN_KEYS
from vestig.json_text import RepeatedNameError, read_json
from vestig.types import Word

_GZIP_MAGIC: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"
_PROBE_BYTES: Final = 8 * 1024
_SPOOL_BYTES: Final = 16 * 1024 * 1024
# More than a memory with all that a line may hold; a line is read at once.
_EXPORT_LINE_BYTES: Final = 64 * 1024 * 1024
_HASH_DIGITS: Final = 32
_MESSAGE_KEYS: Final = ("timestamp", "message_id", "turn", "speaker")
# Arguments of a commit that no message has.
_MEMORY_KEYS: Final = frozenset(rows_of(CommitRequest)) - KNOWN_KEYS
_EXPORT_SCHEMA: Final = "vestig/export/"


class Format(Word):
    """Formats that `vestig import` reads."""

    AUTO = "auto"
    EXPORT = "export"
    MESSAGES = "messages"
    MEMORIES = "memories"


class Record(msgspec.Struct, frozen=True):
    """One JSON object: `line` counts from 1 (array elements count alike). `digest`: first 32 hex
    digits of the SHA-256 of the unpacked bytes up to the end of its line, without the line's end;
    of an array, of the elements so far. What is appended to a file changes none of them."""

    line: int
    value: dict[str, Any]
    digest: str


class Unreadable(msgspec.Struct, frozen=True):
    """A line that holds no JSON object; `fact` says what it holds, of its text a name at most."""

    line: int
    fact: str


def format_of(record: dict[str, Any]) -> Format:
    """The format of a file whose first readable object this is.

    Raises:
        ValidationError: none of the known ones; names the keys.

    Example:
        >>> format_of({"speaker": "Ada", "text": "Hello"}), format_of({"content": "x"})
        (<Format.MESSAGES: 'messages'>, <Format.MEMORIES: 'memories'>)
    """
    if str(record.get("schema", "")).startswith(_EXPORT_SCHEMA):
        return Format.EXPORT
    if any(key in record for key in _MESSAGE_KEYS) or _is_said(record):
        return Format.MESSAGES
    if "content" in record:
        return Format.MEMORIES
    raise ValidationError(
        "format",
        ", ".join(sorted(record)) or "no keys",
        "a first line with timestamp, message_id, turn, speaker, or role and content (messages),"
        " with content (memories), or the header of an export",
        "name the format with --format",
    )


def _is_said(record: dict[str, Any]) -> bool:
    """Return whether a record has the keys that messages to a language model have, and none that
    only a memory has."""
    return "role" in record and "content" in record and not record.keys() & _MEMORY_KEYS


class RecordFile:
    """A file of records that can be read more than once.

    Args:
        source: a path, or a stream (one that cannot seek is copied to a temporary file).

    Raises:
        FileNotFoundError: no such file.
        ValidationError: a folder, a damaged gzip file, or binary content.
    """

    def __init__(self, source: str | Path | IO[Any]) -> None:
        self._raw = _opened(source)
        # an open file that the caller gave stays open
        self._borrowed = self._raw in (source, getattr(source, "buffer", None))
        self._raw.seek(0, io.SEEK_END)
        self.bytes_total = self._raw.tell()
        self._zipped = self._peek(len(_GZIP_MAGIC), raw=True) == _GZIP_MAGIC
        self._digest: str | None = None
        if b"\x00" in self._peek(_PROBE_BYTES):
            self.close()
            raise ValidationError("path", "a binary file", "a text file of JSON lines")

    @property
    def bytes_done(self) -> int:
        """How far reading has come, in bytes of the file."""
        return self._raw.tell() if not self._raw.closed else self.bytes_total

    def close(self) -> None:
        """Idempotent."""
        if not self._borrowed:
            self._raw.close()

    def digest(self) -> str:
        """First 32 hex digits of the SHA-256 of the unpacked bytes."""
        if self._digest is None:
            place, hasher = self._raw.tell(), hashlib.sha256()
            stream = self._stream()
            while block := _read(stream, _PROBE_BYTES * 8):
                hasher.update(block)
            self._raw.seek(place)
            self._digest = hasher.hexdigest()[:_HASH_DIGITS]
        return self._digest

    def detect(self) -> Format:
        """The format by the first readable object."""
        for record in self.records():
            if isinstance(record, Record):
                return format_of(record.value)
        raise ValidationError("path", "no JSON object", "a file with one JSON object a line")

    def records(self) -> Iterator[Record | Unreadable]:
        """All objects in order; blank lines are skipped, unreadable ones reported."""
        document = self._document()
        if document is None:
            yield from self._lines()
            return
        hasher = hashlib.sha256()
        for number, value in enumerate(document, start=1):
            hasher.update(msgspec.json.encode(value))
            if isinstance(value, dict):
                yield Record(number, value, hasher.hexdigest()[:_HASH_DIGITS])
            else:
                yield Unreadable(number, f"expected a JSON object, got {_json_type(value)}")

    def raw_lines(self) -> Iterator[bytes]:
        """Unpacked lines from the start, with their ends; a byte order mark is taken off.

        Raises:
            ValidationError: a damaged gzip file.
        """
        return self._limited_lines(-1)

    def _limited_lines(self, most_bytes: int) -> Iterator[bytes]:
        stream = self._stream()
        number = 0
        while line := _read_line(stream, most_bytes):
            number += 1
            if len(line) == most_bytes and not line.endswith(b"\n"):
                raise ValidationError(
                    f"line {number}", f"{most_bytes} bytes and more", "a shorter line"
                )
            yield line.removeprefix(_BOM) if number == 1 else line

    def export_lines(self) -> Iterable[bytes]:
        """The lines as `raw_lines` gives them; each iteration starts anew and refuses one that is
        longer than any of an export."""
        return _ExportLines(self)

    def _lines(self) -> Iterator[Record | Unreadable]:
        hasher = hashlib.sha256()
        for number, line in enumerate(self.raw_lines(), start=1):
            text = line.rstrip(b"\r\n")
            hasher.update(text)
            if line.strip():
                yield self._line(number, line, hasher.hexdigest()[:_HASH_DIGITS])
            hasher.update(line[len(text) :])

    def _line(self, number: int, line: bytes, digest: str) -> Record | Unreadable:
        try:
            value = read_json(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            return Unreadable(
                number, f"expected UTF-8 text, byte {error.start} of the line is none"
            )
        except RepeatedNameError as error:
            return Unreadable(number, f"expected each name once in an object: {error}")
        except (msgspec.DecodeError, RecursionError):
            return Unreadable(number, "expected a JSON object, got unreadable JSON")
        if not isinstance(value, dict):
            return Unreadable(number, f"expected a JSON object, got {_json_type(value)}")
        return Record(number, value, digest)

    def _document(self) -> list[Any] | None:
        """Elements when the whole file is one JSON value; None for JSON lines."""
        start = self._peek(_PROBE_BYTES).removeprefix(_BOM).lstrip()
        if not start.startswith((b"[", b"{")):
            return None
        if start.startswith(b"{") and (first := self._first_line()) is not None:
            try:
                if "messages" not in msgspec.json.decode(first, type=dict[str, Any]):
                    return None
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass  # an object over several lines, or a broken first line
        stream = self._stream()
        whole = bytearray()
        while block := _read(stream, _SPOOL_BYTES):
            whole += block
        try:
            value = read_json(whole.removeprefix(_BOM).decode("utf-8"))
        except UnicodeDecodeError as error:
            if start.startswith(b"{"):
                return None  # lines, of which each is judged by itself
            line = whole.count(b"\n", 0, error.start) + 1
            raise ValidationError(f"line {line}", "bytes that are none", "UTF-8 text") from None
        except RepeatedNameError as error:
            raise ValidationError(
                "path", "a JSON value", "each name once in an object", str(error)
            ) from None
        except (msgspec.DecodeError, RecursionError):
            return None
        if isinstance(value, dict):
            return _with_scope(value)
        return value if isinstance(value, list) else None

    def _first_line(self) -> bytes | None:
        return next((line for line in self.raw_lines() if line.strip()), None)

    def _stream(self) -> BinaryIO:
        """The unpacked bytes from the start."""
        self._raw.seek(0)
        return cast("BinaryIO", gzip.GzipFile(fileobj=self._raw)) if self._zipped else self._raw

    def _peek(self, count: int, *, raw: bool = False) -> bytes:
        if raw:
            self._raw.seek(0)
            return self._raw.read(count)
        return _read(self._stream(), count)


class _ExportLines:
    def __init__(self, file: RecordFile) -> None:
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        return self._file._limited_lines(_EXPORT_LINE_BYTES)


def _opened(source: str | Path | IO[Any]) -> BinaryIO:
    if isinstance(source, (str, Path)):
        path = Path(source).expanduser()
        if path.is_dir():
            raise ValidationError("path", str(path), "a file, this is a folder")
        return path.open("rb")
    if isinstance(source, io.TextIOWrapper):
        return _opened(cast("BinaryIO", source.buffer))
    if not isinstance(source, io.TextIOBase) and source.seekable():
        return cast("BinaryIO", source)
    spool = tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES)  # noqa: SIM115 - kept open
    while block := source.read(_SPOOL_BYTES):
        spool.write(block.encode("utf-8", "surrogatepass") if isinstance(block, str) else block)
    return cast("BinaryIO", spool)


def _read(stream: BinaryIO, count: int) -> bytes:
    try:
        return stream.read(count)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged() from error


def _read_line(stream: BinaryIO, most_bytes: int) -> bytes:
    try:
        return stream.readline(most_bytes)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged() from error


def _damaged() -> ValidationError:
    return ValidationError(
        "path", "a damaged gzip file", "a whole gzip file or plain text", "copy the file again"
    )


def _with_scope(document: dict[str, Any]) -> list[Any] | None:
    """The messages of `{"messages": […], "scope": …}`, each with the scope of the whole."""
    messages = document.get("messages")
    if not isinstance(messages, list):
        return None
    names = ("scope", "channel_id", "conversation")
    shared = {name: document[name] for name in names if document.get(name) is not None}
    return [{**shared, **item} if isinstance(item, dict) else item for item in messages]


def _json_type(value: Any) -> str:
    names = {str: "text", bool: "a boolean", type(None): "null", list: "an array"}
    return names.get(type(value), "a number")
