"""What to search the files for after a forgetting, kept without the text.

Runs of the forgotten bytes are remembered by their marks under a random key (`_core.mark`), in
the transaction that removes the rows, so that an erase that was cut off can be finished and
proved later. With the proof the marks go too. While they stand, whoever holds them could test a
guess of the text; but until the proof the text itself may be in the files.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from vestig._core import mark, unit
from vestig.ports import SPECIAL_PIECE, Pieces
from vestig.store.ledger.graph_rows import aliases_of
from vestig.store.ledger.rows import from_json, to_json
from vestig.store.ledger.schema import INDEX
from vestig.store.ledger.token_rows import stored_pieces
from vestig.store.sqlite.lookups import fetch

__all__ = ["RUN", "Erasure", "Piece", "pending", "remember"]

# Any part of a forgotten text of at least RUN + STRIDE - 1 bytes holds a whole run.
RUN: Final = 24
_STRIDE: Final = 8
# Chance alone finds shorter ones.
_LEAST: Final = 6
_NAME_LEAST: Final = 12
# Runs of a vector that are nearly all zeros stand in many places.
_DISTINCT_LEAST: Final = 8
_PIECES_DISTINCT: Final = 4
_SPECIAL: Final = SPECIAL_PIECE.to_bytes(4, "little")
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[tuple[int, bool, bytes]]).decode


class Piece(NamedTuple):
    """Runs of equal length that together cover something that was stored. `counted`: a text or
    a vector, which another record may hold as well."""

    length: int
    counted: bool
    runs: tuple[Any, ...]


class Erasure(NamedTuple):
    """What one forgetting left to prove: pieces whose runs are marks under the key."""

    seq: int
    key: int
    pieces: tuple[Piece, ...]


def remember(
    conn: apsw.Connection,
    seq: int,
    gone: Iterable[tuple[str, Sequence[Any]]],
    pending_vectors: Iterable[bytes],
) -> None:
    """Keeps the marks of these rows (table, columns) in `erasures`."""
    raw = os.urandom(8)
    key = int.from_bytes(raw, "little")
    packed = [
        (piece.length, piece.counted, array("Q", [mark(key, run) for run in piece.runs]).tobytes())
        for piece in dict.fromkeys(_pieces(gone, pending_vectors))
    ]
    conn.execute("INSERT INTO erasures VALUES (?, ?, ?)", (seq, raw, _encode(packed)))


def pending(conn: apsw.Connection) -> list[Erasure]:
    """Forgettings whose erase is not proved yet."""
    return [
        Erasure(
            seq,
            int.from_bytes(raw, "little"),
            tuple(
                Piece(length, counted, _numbers(runs)) for length, counted, runs in _decode(packed)
            ),
        )
        for seq, raw, packed in fetch(conn, "SELECT seq, key, marks FROM erasures ORDER BY seq")
    ]


def _numbers(raw: bytes) -> tuple[int, ...]:
    numbers = array("Q")
    numbers.frombytes(raw)
    return tuple(numbers)


def _pieces(
    gone: Iterable[tuple[str, Sequence[Any]]], pending_vectors: Iterable[bytes]
) -> Iterator[Piece]:
    for table, row in gone:
        salt = row[INDEX[table]["salt"]]
        if salt is not None:
            yield Piece(len(salt), False, (salt,))
        if table == "memories":
            yield from _text(row[INDEX[table]["content"]])
            digest = row[INDEX[table]["content_hash"]]
            yield Piece(RUN, False, (digest[:RUN],))
            yield Piece(RUN, False, (digest.hex()[:RUN].encode(),))
        elif table == "events":
            variant = from_json(row[INDEX[table]["payload"]]).get("variant")
            if isinstance(variant, str):
                yield from _text(variant)
        elif table == "edges":
            evidence = row[INDEX[table]["evidence"]]
            if evidence is not None:
                yield from (piece._replace(counted=False) for piece in _text(evidence))
        elif table == "questions":
            yield from _text(row[INDEX[table]["text"]])
        elif table == "entities":
            yield from _names(row)
        elif table == "token_vectors":
            yield from _tokens(stored_pieces(row))
        if "embedding" in INDEX[table]:
            yield from _vector(row[INDEX[table]["embedding"]])
    for raw in pending_vectors:
        yield from _vector(raw)


def _names(entity: Sequence[Any]) -> Iterator[Piece]:
    """Long names only: a short one is a word, which may stand anywhere."""
    at = INDEX["entities"]
    names = [alias.name for alias in aliases_of(entity[at["aliases"]])]
    for text in (entity[at["canonical_name"]], entity[at["description"]], *names):
        if len(text.encode()) >= _NAME_LEAST:
            yield from (piece._replace(counted=False) for piece in _text(text))


def _text(text: str) -> Iterator[Piece]:
    """As it stands in a column, and as it stands in JSON."""
    plain = text.encode()
    yield from _cut(plain)
    quoted = to_json(text)[1:-1].encode()
    if quoted != plain:
        yield from _cut(quoted)


def _cut(data: bytes) -> Iterator[Piece]:
    if len(data) >= _LEAST:
        last = max(0, len(data) - RUN)
        runs = tuple(data[at : at + RUN] for at in (*range(0, last, _STRIDE), last))
        yield Piece(min(RUN, len(data)), True, runs)


def _tokens(pieces: Pieces) -> Iterator[Piece]:
    """The numbers of word pieces are the text in another coat; those of special pieces, and runs
    of few different ones, stand in other columns by chance. What hangs on them is not counted: the
    text is."""
    numbers = pieces.ids.removeprefix(_SPECIAL).removesuffix(_SPECIAL)
    last = max(0, len(numbers) - RUN)
    runs = (numbers[at : at + RUN] for at in (*range(0, last, _STRIDE), last))
    telling = tuple(run for run in runs if len(set(array("I", run))) >= _PIECES_DISTINCT)
    if telling:
        yield Piece(len(telling[0]), False, telling)
    for data in (pieces.codes, pieces.scales):
        yield from _runs(data)


def _runs(data: bytes) -> Iterator[Piece]:
    """Whole runs side by side, but for those of few different bytes."""
    runs = (data[at : at + RUN] for at in range(0, len(data) - RUN + 1, RUN))
    telling = tuple(run for run in runs if len(set(run)) >= _DISTINCT_LEAST)
    if telling:
        yield Piece(RUN, False, telling)


def _vector(raw: bytes) -> Iterator[Piece]:
    """As the ledger holds it, and as segments do, at length one."""
    for data in dict.fromkeys((raw, unit(raw))):
        for telling in _runs(data):
            yield Piece(len(data), True, (data,))
            yield telling
