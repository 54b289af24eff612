"""JSON of any size, one element of its outermost array at a time.

Invariant: what is held is one element. Levels, values and bytes are counted while the text is
read, before objects are built of it; what goes beyond a limit costs its element, and the
elements after it are read all the same.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, BinaryIO, Final

import msgspec

from vestig.json_text import RepeatedNameError
from vestig.lazy_pattern import lazy_pattern

NESTING_MAX: Final = 64
ELEMENT_BYTES_MAX: Final = 64 * 1024 * 1024
# Values of one element: 100 bytes each in memory, roughly.
VALUES_MAX: Final = 2_000_000
_BLOCK_BYTES: Final = 64 * 1024
_BOM: Final = b"\xef\xbb\xbf"
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
# Stands where half of a surrogate pair stood, until its element is refused: no text has it.
_HALF: Final = "\ufdd0"


class JsonFault(ValueError):
    """Says why JSON was not read; never with a text of it, a name at most. `limit`: it is too
    large or too deep, not malformed."""

    def __init__(self, fact: str, *, limit: bool = False) -> None:
        super().__init__(fact)
        self.fact = fact
        self.limit = limit


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
        self.has_halves = False
        self._fault: JsonFault | None = None

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
        # no escape is cut in two
        while b"\\" in block[-_ESCAPE_BYTES:] and len(block) < 2 * _BLOCK_BYTES:
            more = self._stream.read(_ESCAPE_BYTES)
            if not more:
                break
            block += more
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
            block = block.removeprefix(_BOM)
        self.position += max(1, len(block))
        if b"\\u" in block:
            block = _SURROGATES.sub(self._whole, block)
        return block

    def _whole(self, found: Any) -> bytes:
        if found.group(1) is None:
            return bytes(found.group())
        self.has_halves = True
        return b"\\ufdd0"


def elements(stream: BinaryIO) -> Iterator[Any]:
    """The elements of the outermost array, each a value or a `Fault`; of another value, it alone.

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
        raise JsonFault(CUT if cut else UNREADABLE) from None
    except (ijson.JSONError, UnicodeDecodeError):
        raise JsonFault(UNREADABLE) from None


class _Element:
    """An element that is being built."""

    def __init__(self, source: _Source) -> None:
        self._source = source
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
        elif self._source.has_halves and _HALF in name:
            self._refuse(UNREADABLE)
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
            if self._source.has_halves and _HALF in value:
                self._refuse(UNREADABLE)
            return value
        if isinstance(value, Decimal) or (type(value) is int and not -(2**63) <= value < 2**64):
            try:
                value = float(value)
            except OverflowError:
                value = float("inf")
            if value in (float("inf"), float("-inf")):
                self._refuse(UNREADABLE)
        return value

    def _refuse(self, fact: str) -> None:
        self.fact = fact
        self.value = self._container = None
        self._stack.clear()


def _built(events: Iterator[tuple[str, Any]], source: _Source) -> Iterator[Any]:
    depth = outer = 0
    element = _Element(source)
    for place, (event, value) in enumerate(events):
        if place == 0 and event == "start_array":
            depth = outer = 1
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
            element = _Element(source)
            source.element_start = source.position
            yield made if fact is None else Fault(fact)
            if outer == 0:
                for _ in events:  # refuses what follows
                    pass
                return
