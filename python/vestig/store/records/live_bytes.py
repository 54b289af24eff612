"""All bytes that live records hold, as the ledger and as segments hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import apsw

from vestig._core import terms, unit
from vestig.language.names import title_key
from vestig.store.records.token_rows import sections_of
from vestig.store.sqlite.lookups import each, fetch
from vestig.store.tables.memories import NO_QUESTION
from vestig.store.tables.schema import ALL

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
