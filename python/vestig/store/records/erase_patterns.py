"""Byte patterns for which an erase searches the files, kept without the forgotten text, and all
bytes that live records hold, as the ledger and as segments hold them.

A pattern is a set of fragments, byte strings of one length that together cover a stored value. The
transaction that removes the rows stores only a keyed hash of each fragment, its mark
(`_core.mark`), under a random key, so that an erase that was interrupted can be finished and proved
later. With the proof the marks are deleted. Until then their reader could test a guess of the text,
but until then the text itself may be in the files too.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any, Final, Literal, NamedTuple

import apsw
import msgspec

from vestig._core import mark, terms, unit
from vestig.ids import id_text
from vestig.language.names import title_key
from vestig.ports import CODE_BYTES, SPECIAL_PIECE
from vestig.store.records.projection_rows import sections_of, segment_numbers
from vestig.store.records.rows import from_json, to_json
from vestig.store.sqlite.connections import each, fetch
from vestig.store.tables.memories import NO_QUESTION
from vestig.store.tables.schema import ALL, TABLES
from vestig.store.tables.table import Erase

# Fragments of a text begin every _STRIDE_BYTES, so any part of it of at least
# FRAGMENT_BYTES + _STRIDE_BYTES - 1 bytes holds a whole one.
FRAGMENT_BYTES: Final = 24
_STRIDE_BYTES: Final = 8
# Shorter texts and names stand in other values by chance.
_TEXT_BYTES_MIN: Final = 6
_NAME_BYTES_MIN: Final = 12
# Fragments of a vector that are nearly all zeros stand in many places.
_DISTINCT_BYTES_MIN: Final = 8
_DISTINCT_PIECES_MIN: Final = 4
_SPECIAL: Final = SPECIAL_PIECE.to_bytes(4, "little")
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[tuple[int, bool, bytes]]).decode


class _Pattern(NamedTuple):
    """Fragments of `length` bytes. `counted`: whether they cover a text or a vector, which another
    record may hold as well."""

    length: int
    counted: bool
    fragments: tuple[bytes, ...]
    # Fragments as the ledger would hold them, where segments hold another form of a value.
    stored: tuple[bytes, ...] = ()


class PlainRun(NamedTuple):
    """Marks by which a fragment is known in the ledger, and how the ledger would hold it.

    Such runs are known to the process that forgets, as long as it erases, and never written."""

    mark: int
    stored: bytes | None


class MarkedPattern(NamedTuple):
    """A pattern whose fragments are known by their marks only."""

    length: int
    counted: bool
    marks: tuple[int, ...]


class Erasure(NamedTuple):
    """The rest of one forgetting that is still to be proved: patterns with marks under the key."""

    seq: int
    key: int
    patterns: tuple[MarkedPattern, ...]


def store_patterns(
    conn: apsw.Connection,
    seq: int,
    removed: Iterable[tuple[str, Sequence[Any]]],
    new_vectors: Iterable[bytes],
    texts: Iterable[str] = (),
) -> dict[bytes, PlainRun]:
    """Stores the marks of these removed rows (table, columns), vectors and texts in `erasures`; the
    fragments themselves, for a search in this process."""
    raw = os.urandom(8)
    key = int.from_bytes(raw, "little")
    runs: dict[bytes, PlainRun] = {}
    packed: list[tuple[int, bool, bytes]] = []
    loose = (one for text in texts for one in _uncounted(_text_patterns(text)))
    for one in dict.fromkeys((*_patterns(removed, new_vectors), *loose)):
        for part, stored in zip_longest(one.fragments, one.stored):
            if part not in runs or runs[part].stored is None:
                runs[part] = PlainRun(mark(key, part), stored)
        marks = array("Q", [runs[part].mark for part in one.fragments])
        packed.append((one.length, one.counted, marks.tobytes()))
    conn.execute("INSERT INTO erasures VALUES (?, ?, ?)", (seq, raw, _encode(packed)))
    return runs


def drop_patterns(conn: apsw.Connection, seqs: Iterable[int]) -> None:
    """Drops the marks of erasures that are proved."""
    conn.executemany("DELETE FROM erasures WHERE seq = ?", [(seq,) for seq in seqs])


def unfinished(conn: apsw.Connection) -> list[str]:
    """Ids of forgotten memories whose bytes are not proved to be gone."""
    rows = fetch(
        conn,
        "SELECT t.id FROM erasures e JOIN tombstones t ON t.seq = e.seq"
        ' WHERE t."row" > 0 ORDER BY t.seq, t.id',
    )
    return [id_text("mem", id) for (id,) in rows]


def unproved(conn: apsw.Connection) -> list[Erasure]:
    """Erasures that are not proved yet, oldest first."""
    return [
        Erasure(
            seq,
            int.from_bytes(raw, "little"),
            tuple(
                MarkedPattern(length, counted, _numbers(marks))
                for length, counted, marks in _decode(packed)
            ),
        )
        for seq, raw, packed in fetch(conn, "SELECT seq, key, marks FROM erasures ORDER BY seq")
    ]


def _numbers(raw: bytes) -> tuple[int, ...]:
    numbers = array("Q")
    numbers.frombytes(raw)
    return tuple(numbers)


def _patterns(
    removed: Iterable[tuple[str, Sequence[Any]]], new_vectors: Iterable[bytes]
) -> Iterator[_Pattern]:
    for table, row in removed:
        for at, rule in _searched(table):
            value = row[at]
            if value is not None:
                yield from _RULES[rule](value)
    for raw in new_vectors:
        yield from _vector_patterns(raw)


@cache
def _searched(table: str) -> tuple[tuple[int, Erase], ...]:
    """Places of the columns that have an erasure rule, and their rules."""
    columns = enumerate(TABLES[table].columns)
    return tuple((at, column.erase) for at, column in columns if column.erase is not None)


def fragments_of(texts: Iterable[str]) -> set[bytes]:
    """Fragments that cover these texts, as they are in a column and in JSON. A text that is
    shorter than a fragment is one itself; the shortest have none."""
    return {
        part for text in texts for pattern in _text_patterns(text) for part in pattern.fragments
    }


def texts_of(payload: dict[str, Any]) -> Iterator[str]:
    """Texts of a memory in an event: a variant, and the layouts before and after an update."""
    layouts = [payload.get(side) for side in ("old", "new")]
    texts = [one.get("content") for one in layouts if isinstance(one, dict)]
    yield from (text for text in (payload.get("variant"), *texts) if isinstance(text, str))


def _strings_in(value: object) -> Iterator[str]:
    """All texts in a value of JSON types, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from _strings_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings_in(one)


def _uncounted(patterns: Iterable[_Pattern]) -> Iterator[_Pattern]:
    return (pattern._replace(counted=False) for pattern in patterns)


def _name_patterns(*texts: str) -> Iterator[_Pattern]:
    """Of texts that are not a memory's own; the shortest stand elsewhere by chance."""
    for text in texts:
        if len(text.encode()) >= _NAME_BYTES_MIN:
            yield from _uncounted(_text_patterns(text))


def _text_patterns(text: str) -> Iterator[_Pattern]:
    """Of a text as it is in a column, and of its form in JSON."""
    plain = text.encode()
    yield from _fragmented(plain)
    quoted = to_json(text)[1:-1].encode()
    if quoted != plain:
        yield from _fragmented(quoted)


def _fragmented(data: bytes) -> Iterator[_Pattern]:
    if len(data) >= _TEXT_BYTES_MIN:
        last = max(0, len(data) - FRAGMENT_BYTES)
        starts = (*range(0, last, _STRIDE_BYTES), last)
        every = (data[at : at + FRAGMENT_BYTES] for at in starts)
        # White space alone says nothing of a text, and stands in others.
        fragments = tuple(part for part in every if part.strip())
        yield _Pattern(min(FRAGMENT_BYTES, len(data)), True, fragments)


def _event_patterns(payload: str) -> Iterator[_Pattern]:
    for text in texts_of(from_json(payload)):
        yield from _text_patterns(text)


def _digest_patterns(digest: bytes) -> Iterator[_Pattern]:
    for run in (digest[:FRAGMENT_BYTES], digest.hex()[:FRAGMENT_BYTES].encode()):
        yield _Pattern(FRAGMENT_BYTES, False, (run,))


def _piece_patterns(ids: bytes) -> Iterator[_Pattern]:
    """Of the numbers of a memory's word pieces, as the ledger and as segments hold them. Those of
    special pieces say nothing. Neither these nor the codes are counted: the text is."""
    wide = ids.removeprefix(_SPECIAL).removesuffix(_SPECIAL)
    yield from _number_patterns(wide, "I", wide)
    yield from _number_patterns(segment_numbers(wide), "H", wide)


def _code_patterns(codes: bytes) -> Iterator[_Pattern]:
    """Of codes as they are, and of the beginning of each one's signs, which segments hold side by
    side without the scales between them; scales alone are too much alike to be told from others."""
    yield from _distinctive_fragments(codes)
    signs = [codes[at : at + FRAGMENT_BYTES] for at in range(0, len(codes), CODE_BYTES)]
    distinctive = tuple(part for part in signs if len(set(part)) >= _DISTINCT_BYTES_MIN)
    if distinctive:
        yield _Pattern(FRAGMENT_BYTES, False, distinctive)


def _number_patterns(numbers: bytes, width: Literal["H", "I"], wide: bytes) -> Iterator[_Pattern]:
    """Of numbers of word pieces, which give the text away. Fragments of few different numbers stand
    in other columns by chance and are left out."""
    times = len(wide) // max(1, len(numbers))
    last = max(0, len(numbers) - FRAGMENT_BYTES)
    fragments, stored = [], []
    for at in (*range(0, last, _STRIDE_BYTES), last):
        part = numbers[at : at + FRAGMENT_BYTES]
        if len(set(array(width, part))) >= _DISTINCT_PIECES_MIN:
            fragments.append(part)
            stored.append(wide[at * times : (at + len(part)) * times])
    if fragments:
        yield _Pattern(len(fragments[0]), False, tuple(fragments), tuple(stored))


def _distinctive_fragments(
    data: bytes, stored: Callable[[int], bytes] | None = None
) -> Iterator[_Pattern]:
    """Fragments side by side, without those of few different bytes; `stored` gives how the ledger
    holds the one that begins there."""
    starts = [
        at
        for at in range(0, len(data) - FRAGMENT_BYTES + 1, FRAGMENT_BYTES)
        if len(set(data[at : at + FRAGMENT_BYTES])) >= _DISTINCT_BYTES_MIN
    ]
    if starts:
        fragments = tuple(data[at : at + FRAGMENT_BYTES] for at in starts)
        held = () if stored is None else tuple(stored(at) for at in starts)
        yield _Pattern(FRAGMENT_BYTES, False, fragments, held)


def _vector_patterns(raw: bytes) -> Iterator[_Pattern]:
    """A vector as the ledger holds it, and at length one, as segments do."""
    for data in dict.fromkeys((raw, unit(raw))):
        held = lambda at: raw[at : at + FRAGMENT_BYTES]  # noqa: E731
        for distinctive in _distinctive_fragments(data, held):
            yield _Pattern(len(data), True, (data,), (raw,))
            yield distinctive


_RULES: Final[dict[Erase, Callable[[Any], Iterable[_Pattern]]]] = {
    Erase.TEXT: _text_patterns,
    Erase.QUOTE: lambda text: _uncounted(_text_patterns(text)),
    Erase.NAMES: _name_patterns,
    Erase.NAMES_IN_JSON: lambda value: _name_patterns(*_strings_in(from_json(value))),
    Erase.TEXTS_OF_EVENT: _event_patterns,
    Erase.VECTOR: _vector_patterns,
    Erase.PIECES: _piece_patterns,
    Erase.CODES: _code_patterns,
    Erase.DIGEST: _digest_patterns,
    Erase.SALT: lambda salt: (_Pattern(len(salt), False, (salt,)),),
}


_BLOCK: Final = 4 << 20
# Vectors lie in a segment filled up to a multiple of this.
_LANE_BYTES: Final = 64 * 4
_IN_ORDER: Final = 'SELECT "row" FROM {} ORDER BY seq, id'
# Sections of a segment that hold vectors: nodes in its order, and the vectors of a node.
_VECTORS: Final = (
    ("memories", "SELECT embedding FROM vectors WHERE memory = ?"),
    ("entities", "SELECT embedding FROM entity_vectors WHERE entity = ?"),
)
_ANY_VECTOR: Final = (
    "SELECT embedding FROM vectors UNION ALL SELECT embedding FROM entity_vectors LIMIT 1"
)
_QUESTIONS: Final = (
    (
        "memories",
        f"SELECT embedding FROM questions WHERE memory = ? AND position <> {NO_QUESTION}"
        " ORDER BY position",
    ),
)
_CODES: Final = "SELECT ids, codes FROM token_codes WHERE memory = ?"

# What live records hold: texts and bytes of all tables but those of digests and marks.
_HELD: Final = {
    table.name: tuple(one.name for one in table.columns if one.kind in ("TEXT", "BLOB"))
    for table in ALL
    if not table.made_when_needed and table.name not in ("chain", "erasures")
}


def live_bytes(conn: apsw.Connection) -> Iterator[bytes]:
    """All bytes that live records hold, in blocks: columns, unit vectors, index terms and the
    schema."""
    for (embedding,) in fetch(conn, _ANY_VECTOR):
        yield from _segment_vectors(conn, _VECTORS, bytes(len(_padded(embedding))))
    yield from _segment_vectors(conn, _QUESTIONS, b"")
    for section in range(len(sections_of(b"", b""))):
        yield from _segment_codes(conn, section)
    block: list[bytes] = []
    size = 0
    for value in _values(conn):
        block.append(value)
        size += len(value)
        if size >= _BLOCK:
            yield b"\0".join(block)
            block, size = [], 0
    yield b"\0".join(block)


def _segment_vectors(
    conn: apsw.Connection, nodes: Sequence[tuple[str, str]], absent: bytes
) -> Iterator[bytes]:
    """Unit vectors side by side, as the one segment of all nodes holds them: a fragment may begin
    in one and end in the next, or in the zeros that fill a vector up to whole lanes. `absent` is
    what a node without a vector has. The last vector of a block begins the next one too."""
    block = bytearray()
    for table, vectors in nodes:
        for (key,) in fetch(conn, _IN_ORDER.format(table)):
            own = absent
            for (raw,) in each(conn, vectors, (key,)):
                own = _padded(unit(raw))
                block += own
            if own is absent:
                block += absent
            if len(block) >= _BLOCK:
                yield bytes(block)
                block[:] = own
    yield bytes(block)


def _segment_codes(conn: apsw.Connection, section: int) -> Iterator[bytes]:
    """A section of word pieces as a segment holds it, memory after memory. The last value of a
    block begins the next one too."""
    block = bytearray()
    for (key,) in fetch(conn, _IN_ORDER.format("memories")):
        for row in each(conn, _CODES, (key,)):
            value = sections_of(*row)[section]
            block += value
            if len(block) >= _BLOCK:
                yield bytes(block)
                block[:] = value
    yield bytes(block)


def _padded(vector: bytes) -> bytes:
    return vector + bytes(-len(vector) % _LANE_BYTES)


def _values(conn: apsw.Connection) -> Iterator[bytes]:
    for (sql,) in each(conn, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"):
        yield _bytes(sql)
    for table, columns in _HELD.items():
        names = ", ".join(f'"{name}"' for name in columns)
        at = {name: place for place, name in enumerate(columns)}
        for row in each(conn, f"SELECT {names} FROM {table}") if columns else ():
            yield from map(_bytes, row)
            if table == "entities":
                # As a segment holds it.
                yield from (_bytes(value.lower()) for value in row if isinstance(value, str))
            elif table == "memories":
                # As a segment holds them.
                yield _bytes(" ".join(terms(row[at["content"]], row[at["author"]])))
                yield _bytes(title_key(row[at["title"]]))


def _bytes(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return value if isinstance(value, bytes) else b""
