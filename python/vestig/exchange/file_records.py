"""Records of a file: JSON lines, a JSON array, or one JSON object; gzip or plain.

Invariant: of JSON of any size one element of its outermost array is held. Levels, values and bytes
are counted while the text is read, before objects are built of it; what goes beyond a limit costs
its element, and the elements after it are read all the same.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any, BinaryIO, Final, cast

import msgspec

from vestig.calls.files import FORMAT_SIGNS
from vestig.errors import ValidationError
from vestig.exchange.inputs import BYTES_MAX, Input, shell_word
from vestig.json_text import RepeatedNameError, read_json
from vestig.language.text_forms import count_of
from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import by_caller

# --- JSON -------------------------------------------------------------------------------------

NESTING_MAX: Final = 64
ELEMENT_BYTES_MAX: Final = 64 * 1024 * 1024
# Values of one element: 100 bytes each in memory, roughly.
VALUES_MAX: Final = 2_000_000
_BLOCK_BYTES: Final = 64 * 1024
_UTF8_BOM: Final = b"\xef\xbb\xbf"
_NAME_CHARS: Final = 60
_STRINGS: Final = lazy_pattern(rb'"[^"\\]*(?:\\.[^"\\]*)*"?')
_BRACKETS: Final = b"[]{}"
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in _BRACKETS)
# An escaped backslash, a whole surrogate pair, or (group 1) half of one.
_SURROGATES: Final = lazy_pattern(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_ESCAPE_BYTES: Final = 12
# Surrogates as bytes, which are no UTF-8: a whole pair, or one alone.
_RAW_SURROGATES: Final = lazy_pattern(
    rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]|\xed[\xa0-\xbf][\x80-\xbf]"
)
_REPLACED: Final = "\ufffd"


class JsonFault(ValueError):
    """Says why JSON was not read; never with a text of it, a name at most. `limit`: it is too
    large or too deep, not malformed. `part`: what was read whole of an object that is cut."""

    def __init__(self, fact: str, *, limit: bool = False, part: WholePart | None = None) -> None:
        super().__init__(fact)
        self.fact = fact
        self.limit = limit
        self.part = part


class WholePart(msgspec.Struct, frozen=True):
    """An object that is cut, of the list in which it is cut with the `count` elements before."""

    value: dict[str, Any]
    count: int


class Fault(msgspec.Struct, frozen=True):
    """An element that was passed over, and why."""

    fact: str


def is_too_deep(text: bytes) -> bool:
    """Return whether JSON nests deeper than 64 levels; counted without building anything.

    Example:
        >>> is_too_deep(b"[" * 64), is_too_deep(b"[" * 65), is_too_deep(b'{"a": "[[["}' * 40)
        (False, True, False)
    """
    if text.count(b"[") + text.count(b"{") <= NESTING_MAX:
        return False
    depth = 0
    for bracket in _STRINGS.sub(b"", text).translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        if depth > NESTING_MAX:
            return True
    return False


TOO_DEEP: Final = f"expected at most {NESTING_MAX} levels of nesting, got more"
TOO_LARGE: Final = f"expected at most {ELEMENT_BYTES_MAX >> 20} MiB, got more"
CUT: Final = "expected the rest of it, the file ends here"
UNREADABLE: Final = "expected JSON, got unreadable JSON"


class _Source:
    """Blocks of a stream for the parser; counts bytes, and refuses what is no UTF-8."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._lines = 1
        self.position = 0
        self.element_start = 0
        self.element: _Element | None = None
        self.halves = 0
        self._fault: JsonFault | None = None

    @property
    def line(self) -> int:
        """The number of the line that is read."""
        return self._lines

    def read(self, count: int) -> bytes:
        """The next block; b"" at the end.

        Raises:
            JsonFault: bytes that are no UTF-8, or an element that is too large.
        """
        if count == 0:
            return b""
        if self.position - self.element_start > ELEMENT_BYTES_MAX:
            raise JsonFault(TOO_LARGE, limit=True)
        if self._fault is not None:
            raise self._fault
        block = self._stream.read(_BLOCK_BYTES)
        # no escape and no surrogate is cut in two
        while (b"\\" in block[-_ESCAPE_BYTES:] or b"\xed" in block[-5:]) and len(
            block
        ) < 2 * _BLOCK_BYTES:
            more = self._stream.read(_ESCAPE_BYTES)
            if not more:
                break
            block += more
        block, halves = without_halves(block)
        self.halves += halves
        try:
            self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            # what stands before it is read first
            kept = max(0, len(block) - (len(error.object) - error.start))
            line = self._lines + block.count(b"\n", 0, kept)
            fact = f"line {line} of the file: expected UTF-8 text, got other bytes"
            self._fault, block = JsonFault(fact), block[:kept]
            if not block:
                raise self._fault from None
        self._lines += block.count(b"\n")
        if self.position == 0:
            block = block.removeprefix(_UTF8_BOM)
        self.position += max(1, len(block))
        return block


def without_halves(data: bytes) -> tuple[bytes, int]:
    r"""JSON with U+FFFD in the place of each half of a surrogate pair, and how many there were.

    Example:
        >>> without_halves(rb'["\ud83d", "\ud83d\ude00"]')
        (b'["\\ufffd", "\\ud83d\\ude00"]', 1)
    """
    halves = 0

    def escaped(found: Any) -> bytes:
        nonlocal halves
        if found.group(1) is None:
            return bytes(found.group())
        halves += 1
        return rb"\ufffd"

    def raw(found: Any) -> bytes:
        nonlocal halves
        text = found.group().decode("utf-8", "surrogatepass")
        if len(text) == 1:
            halves += 1
            return _REPLACED.encode()
        return str(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")).encode()

    if b"\xed" in data:
        data = _RAW_SURROGATES.sub(raw, data)
    if b"\\u" in data:
        data = _SURROGATES.sub(escaped, data)
    return data, halves


def elements(stream: BinaryIO, replaced: Callable[[int], None] | None = None) -> Iterator[Any]:
    """The elements of the outermost array, each a value or a `Fault`; of another value, it alone.

    Args:
        replaced: takes how many halves of surrogate pairs were replaced by U+FFFD, at the end.

    Raises:
        JsonFault: from here on nothing can be read: no JSON, cut off, no UTF-8, or an element
            that is too large.

    Example:
        >>> import io
        >>> list(elements(io.BytesIO(b'[{"a": 1}, [' + b"[" * 99 + b"]" * 99 + b'], 2.5]')))
        [{'a': 1}, Fault(fact='expected at most 64 levels of nesting, got more'), 2.5]
    """
    import ijson

    source = _Source(stream)
    try:
        yield from _built(ijson.basic_parse(source, buf_size=_BLOCK_BYTES), source)
    except ijson.IncompleteJSONError as error:
        cut = "premature EOF" in str(error)
        if not cut:
            raise JsonFault(UNREADABLE) from None
        part = None if source.element is None else source.element.whole_part()
        raise JsonFault(f"line {source.line} of the file: {CUT}", part=part) from None
    except (ijson.JSONError, UnicodeDecodeError):
        raise JsonFault(UNREADABLE) from None
    finally:
        if replaced is not None:
            replaced(source.halves)


class _Element:
    """An element that is being built."""

    def __init__(self) -> None:
        self._stack: list[tuple[Any, str]] = []
        self._container: Any = None
        self._name = ""
        self._values = 0
        self.value: Any = None
        self.fact: str | None = None

    def take(self, event: str, value: Any, depth: int) -> None:
        """One event of the parser; `depth`: levels that are open, this one included."""
        if self.fact is not None:
            return
        self._values += 1
        if depth > NESTING_MAX:
            self._refuse(TOO_DEEP)
        elif self._values > VALUES_MAX:
            self._refuse(f"expected at most {VALUES_MAX:,} values, got more")
        elif event == "map_key":
            self._take_name(value)
        elif event in ("start_map", "start_array"):
            made: Any = {} if event == "start_map" else []
            self._add(made)
            self._stack.append((self._container, self._name))
            self._container = made
        elif event in ("end_map", "end_array"):
            self._container, self._name = self._stack.pop()
        else:
            self._add(self._plain(value))

    def _take_name(self, name: str) -> None:
        if name in self._container:
            shown = name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}…"
            self._refuse(
                "expected each name once in an object: "
                + str(RepeatedNameError(f"the name {shown!r} stands twice in one object"))
            )
        self._name = name

    def _add(self, value: Any) -> None:
        if self._container is None:
            self.value = value
        elif type(self._container) is dict:
            self._container[self._name] = value
        else:
            self._container.append(value)

    def _plain(self, value: Any) -> Any:
        if type(value) is str:
            return value
        if isinstance(value, Decimal) or (type(value) is int and not -(2**63) <= value < 2**64):
            try:
                value = float(value)
            except OverflowError:
                value = float("inf")
            if value in (float("inf"), float("-inf")):
                self._refuse(UNREADABLE)
        return value

    def whole_part(self) -> WholePart | None:
        """An object that is cut in a list, with the elements before the cut; None without any."""
        opened = [one for one, _ in self._stack[1:]] + [self._container]
        listed = next((one for one in opened if type(one) is list), None)
        if listed is None or type(self.value) is not dict:
            return None
        if listed is not self._container:
            listed.pop()
        return WholePart(self.value, len(listed)) if listed else None

    def _refuse(self, fact: str) -> None:
        self.fact = fact
        self.value = self._container = None
        self._stack.clear()


def _built(events: Iterator[tuple[str, Any]], source: _Source) -> Iterator[Any]:
    depth = outer = 0
    element = source.element = _Element()
    for place, (event, value) in enumerate(events):
        if place == 0 and event == "start_array":
            depth = outer = 1
            source.element = None
            continue
        starts = event in ("start_map", "start_array")
        ends = event in ("end_map", "end_array")
        if ends and depth == outer:
            return_check = next(events, None)
            assert return_check is None, "the parser refuses what follows the outermost value"
            return
        depth += starts
        element.take(event, value, depth)
        depth -= ends
        if depth == outer and event != "map_key":
            fact, made = element.fact, element.value
            element = _Element()
            source.element_start = source.position
            yield made if fact is None else Fault(fact)
            if outer == 0:
                for _ in events:  # refuses what follows
                    pass
                return


# --- records ----------------------------------------------------------------------------------

_GZIP_MAGIC: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"
_UTF16_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")
_PDF_MAGIC: Final = b"%PDF-"
_PROBE_BYTES: Final = 8 * 1024
_HASH_DIGITS: Final = 32


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


class Line(msgspec.Struct, frozen=True):
    """A line without its end: `number` from 1; `end`: bytes of the unpacked file up to the next
    line. `is_whole`: its end was there, so nothing more will be written into it."""

    number: int
    end: int
    data: bytes
    is_whole: bool


class RunningDigest:
    """The digest of a file so far."""

    def __init__(self) -> None:
        self._hasher = hashlib.sha256()

    def after(self, data: bytes) -> str:
        """The digest with `data` behind what there was."""
        self._hasher.update(data)
        return self._hasher.hexdigest()[:_HASH_DIGITS]


class RecordFile:
    """A file of records that can be read more than once.

    Raises:
        FileNotFoundError: no such file.
        ValidationError: a folder, a damaged gzip file, or binary content.
    """

    def __init__(self, source: Input, *, is_text: bool = True) -> None:
        self._source = source
        # halves of surrogate pairs that the newest reading of records replaced by U+FFFD
        self.halves = 0
        with self._source.open() as raw:
            # what can be read at once: a stream may fail behind it
            start = cast("io.BufferedReader", raw).read1(_PROBE_BYTES)
        self._zipped = start.startswith(_GZIP_MAGIC)
        if self._zipped:
            with self._stream() as stream:
                start = _read(stream, _PROBE_BYTES)
        self._start = start
        if not is_text:
            return
        if start.startswith(_UTF16_BOMS):
            raise ValidationError(_field(), "text in UTF-16", "UTF-8 text", "save it as UTF-8")
        told = _is_json(start) or _has_object(start)
        if (b"\x00" in start and not told) or start.startswith(_PDF_MAGIC):
            lead = "Pictures, sound, programs and other files without text are not read."
            raise unknown(self.name, "it is a binary file", lead)

    @property
    def name(self) -> str:
        """The name of the file without folders and endings of packing."""
        return self._source.name.rsplit("/", 1)[-1].removesuffix(".gz")

    @property
    def given(self) -> str:
        """The name of the file as it was given."""
        return self._source.name

    def begins_with(self, *marks: bytes) -> bool:
        """Return whether one of these stands first, after a byte order mark and white space."""
        return self._start.removeprefix(_BOM).lstrip().startswith(marks)

    def records(self) -> Iterator[Record | Unreadable]:
        """All objects in order; blank lines are skipped, unreadable ones reported."""
        self.halves = 0
        if self.begins_with(b"["):
            return self._elements()
        if self.begins_with(b"{") and not self._first_line_is_whole():
            found = self._one_object()
            if found:
                return iter(found)
        return self._line_records()

    def lines(self, start: int = 0) -> Iterator[Line | Unreadable]:
        """Unpacked lines without their ends; a byte order mark is taken off. One that is too long
        is passed over.

        Args:
            start: bytes that are passed over; the first line after them has the number 1.

        Raises:
            ValidationError: a damaged gzip file, or one that grows beyond 4 GiB.
        """
        with self._stream(start) as stream:
            number, place = 0, start
            while data := _read_line(stream, ELEMENT_BYTES_MAX + 1):
                number += 1
                length, is_whole = len(data), data.endswith(b"\n")
                if length > ELEMENT_BYTES_MAX:
                    while not is_whole and (rest := _read_line(stream, ELEMENT_BYTES_MAX)):
                        length, is_whole = length + len(rest), rest.endswith(b"\n")
                    yield Unreadable(number, TOO_LARGE)
                else:
                    if place == 0:
                        data = data.removeprefix(_BOM)
                    yield Line(number, place + length, data.rstrip(b"\r\n"), is_whole)
                place += length
                _check_growth(place)

    def whole(self, bytes_max: int) -> bytes:
        """All unpacked bytes.

        Raises:
            ValidationError: more than so many, or a damaged gzip file.
        """
        with self._stream() as stream:
            data = stream.read(bytes_max + 1)
        if len(data) > bytes_max:
            raise ValidationError(
                _field(), f"more than {bytes_max >> 20} MiB", f"at most {bytes_max >> 20} MiB",
                "import it in parts",
            )  # fmt: skip
        return data

    def export_lines(self) -> Iterable[bytes]:
        """The unpacked lines, unchanged; each iteration starts anew and refuses one that is longer
        than any of an export."""
        return _ExportLines(self)

    def _line_records(self) -> Iterator[Record | Unreadable]:
        digest, gap = RunningDigest(), b""
        for line in self.lines():
            if isinstance(line, Unreadable):
                yield line
                continue
            so_far = digest.after(gap + line.data)
            # the end of a line counts once another follows
            gap = b"\n"
            if line.data.strip():
                data, halves = without_halves(line.data)
                self._count_halves(halves)
                yield record_of(msgspec.structs.replace(line, data=data), so_far)

    def _elements(self) -> Iterator[Record | Unreadable]:
        digest, number = RunningDigest(), 0
        with self._stream() as stream:
            try:
                for number, value in enumerate(elements(stream, self._count_halves), start=1):
                    if isinstance(value, Fault):
                        yield Unreadable(number, value.fact)
                    elif isinstance(value, dict):
                        yield Record(number, value, digest.after(msgspec.json.encode(value)))
                    else:
                        yield Unreadable(number, no_object(value))
            except JsonFault as fault:
                yield Unreadable(number + 1, f"{fault}; nothing after it was read")

    def _one_object(self) -> list[Record | Unreadable]:
        """The file as one JSON object over several lines; of one that is cut in a list what stands
        before the cut, and an error. Empty where it is none."""
        with self._stream() as stream:
            try:
                (value,) = elements(stream, self._count_halves)
            except JsonFault as fault:
                if fault.part is not None:
                    fact = f"{fault}; of its list the {count_of(fault.part.count, 'element')}"
                    cut = Unreadable(fault.part.count + 1, f"{fact} before that came in")
                    return [_whole_record(fault.part.value), cut]
                self.halves = 0
                return [Unreadable(1, fault.fact)] if fault.limit else []
        return [Unreadable(1, value.fact) if isinstance(value, Fault) else _whole_record(value)]

    def _first_line_is_whole(self) -> bool:
        """Return whether the first line that is not blank is JSON by itself."""
        for line in self.lines():
            if isinstance(line, Unreadable):
                return False
            if line.data.strip():
                try:
                    msgspec.json.decode(without_halves(line.data)[0], type=msgspec.Raw)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    return False
                return True
        return False

    def _count_halves(self, count: int) -> None:
        self.halves += count

    def _stream(self, start: int = 0) -> BinaryIO:
        """The unpacked bytes, from one of them on."""
        raw = self._source.open()
        if not self._zipped:
            if start:
                raw.seek(start)
            return raw
        stream = cast("BinaryIO", gzip.GzipFile(fileobj=raw))
        while start and (block := _read(stream, min(start, _PROBE_BYTES))):
            start -= len(block)
        return cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", _Unpacked(stream))))


def _whole_record(value: dict[str, Any]) -> Record:
    """The only object of a file."""
    return Record(1, value, RunningDigest().after(msgspec.json.encode(value)))


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a gzip file; damage is said in the words of an import."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = _read(self._stream, len(buffer))
        buffer[: len(block)] = block
        self._read += len(block)
        _check_growth(self._read)
        return len(block)


class _ExportLines:
    def __init__(self, file: RecordFile) -> None:
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        with self._file._stream() as stream:
            number = 0
            while line := _read_line(stream, ELEMENT_BYTES_MAX):
                number += 1
                if len(line) == ELEMENT_BYTES_MAX and not line.endswith(b"\n"):
                    raise ValidationError(
                        f"line {number}", f"{ELEMENT_BYTES_MAX} bytes and more", "a shorter line"
                    )
                yield line.removeprefix(_BOM) if number == 1 else line


def _has_object(start: bytes) -> bool:
    """Return whether a line looks like an object: zeros that a crash left cost their line alone."""
    lines = (line.strip(b"\x00 \r\t") for line in start.split(b"\n"))
    return any(line.startswith(b'{"') and b"\x00" not in line for line in lines)


def unknown(name: str, seen: str, hint: str) -> ValidationError:
    """The refusal of a file that no format knows.

    Args:
        name: what messages call the file.
        seen: what was found in it, never a text of it.
        hint: a sentence with the nearest format and the command; "" for a file without records.
    """
    way = f"`vestig import --format document {shell_word(name)}`"
    advice = hint or (
        "Text that is none of these is read as a document by"
        f" {by_caller(way, request='format=document')}."
    )
    return ValidationError(
        "format",
        "",
        "",
        message=f"format: no format knows {name}: {seen}. {advice}"
        f" Accepted are {', '.join(FORMAT_SIGNS)}; docs/import.md shows each of them",
    )


def a_store(folder: str) -> ValidationError:
    """The refusal of a folder that holds a store or a backup of one, which no format reads."""
    ways = by_caller(
        "vestig.open(folder).export(file) and import_(file, merge=True) bring its memories here,"
        " vestig.restore(folder, path) brings a backup to another place",
        f"`vestig --store {shell_word(folder)} export FILE` and `vestig import --merge FILE` bring"
        f" its memories here, `vestig --store DEST restore {shell_word(folder)}` brings a backup to"
        " another place",
    )
    return ValidationError(
        "files", folder, "", message=f"files: the folder is a store, which no format reads; {ways}"
    )


def record_of(line: Line, digest: str) -> Record | Unreadable:
    """The object of a line."""
    if is_too_deep(line.data):
        return Unreadable(line.number, TOO_DEEP)
    try:
        value = read_json(line.data.strip(b"\x00").decode("utf-8"))
    except UnicodeDecodeError as error:
        return Unreadable(
            line.number, f"expected UTF-8 text, byte {error.start} of the line is none"
        )
    except RepeatedNameError as error:
        return Unreadable(line.number, f"expected each name once in an object: {error}")
    except (msgspec.DecodeError, RecursionError):
        return Unreadable(line.number, "expected a JSON object, got unreadable JSON")
    if not isinstance(value, dict):
        return Unreadable(line.number, no_object(value))
    return Record(line.number, value, digest)


def _is_json(start: bytes) -> bool:
    """Return whether bytes begin like JSON in UTF-8; zeros further on cost their lines."""
    text = start.removeprefix(_BOM).lstrip()
    return text.startswith((b"{", b"[")) and text[1:2] != b"\x00"


def _field() -> str:
    """The name of the argument that is the file."""
    return by_caller("path", request="body")


def _check_growth(count: int) -> None:
    if count > BYTES_MAX:
        raise ValidationError(
            _field(), f"more than {BYTES_MAX >> 30} GiB", "a smaller file", "import it in parts"
        )


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
        _field(), "a damaged gzip file", "a whole gzip file or plain text", "copy the file again"
    )


def no_object(value: Any) -> str:
    """Says what stands in the place of an object."""
    names = {str: "text", bool: "a boolean", type(None): "null", list: "an array"}
    return f"expected a JSON object, got {names.get(type(value), 'a number')}"
