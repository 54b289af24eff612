"""Rows of `token_codes`: the codes of a memory's word pieces under the chain."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, Final

import apsw

from vestig._core import PieceAxes
from vestig.ports import CODE_BYTES, PIECES_MAX, SPECIAL_PIECE, Pieces
from vestig.store.integrity import chain
from vestig.store.sqlite.lookups import fetch
from vestig.store.tables.schema import INDEX, columns_sql

# Of the mean and the axes that codes are made with.
AXES: Final = b"".join(PieceAxes.SHA256)

_SELECT: Final = f"SELECT {columns_sql('token_codes')} FROM token_codes WHERE memory = ?"
_AXES_AT: Final = INDEX["token_codes"]["axes"]
_IDS_AT: Final = INDEX["token_codes"]["ids"]
_NUMBER_BYTES: Final = 4
# A segment holds the numbers of word pieces in 16 bits, modulo this; of special pieces this itself.
_SPECIAL_IN_SEGMENT: Final = 0xFFFF
# Condition of a row whose columns do not fit each other.
_WRONG_SHAPE: Final = (
    f"length(ids) NOT BETWEEN {_NUMBER_BYTES} AND {_NUMBER_BYTES * PIECES_MAX}"
    f" OR length(ids) % {_NUMBER_BYTES} <> 0"
    f" OR length(codes) * {_NUMBER_BYTES} <> length(ids) * {CODE_BYTES}"
)


def wrong_codes(conn: apsw.Connection, model: str) -> int:
    """How many rows have columns that do not fit each other, or are of another model."""
    sql = f"SELECT COUNT(*) FROM token_codes WHERE {_WRONG_SHAPE} OR model <> ?"
    return int(fetch(conn, sql, (model,))[0][0])


def comparable_codes(conn: apsw.Connection) -> int:
    """How many memories have codes that can be compared."""
    sql = "SELECT COUNT(*) FROM token_codes WHERE axes = ?"
    return int(fetch(conn, sql, (AXES,))[0][0])


def stored_pieces(row: Sequence[Any]) -> Pieces:
    """Return what a row of the table holds."""
    return Pieces(*row[_IDS_AT:])


def compared_pieces(row: Sequence[Any]) -> Pieces | None:
    """Return what a row of the table holds; None if its codes were made along other axes."""
    return stored_pieces(row) if row[_AXES_AT] == AXES else None


def sections_of(ids: bytes, codes: bytes) -> tuple[bytes, bytes, bytes]:
    """Ids, signs and scales of word pieces as sections of a segment hold them.

    Example:
        >>> sections_of(bytes(4), bytes(range(34)))[2]
        b' !'
    """
    each = [codes[at : at + CODE_BYTES] for at in range(0, len(codes), CODE_BYTES)]
    signs, scales = [code[:-2] for code in each], [code[-2:] for code in each]
    return segment_numbers(ids), b"".join(signs), b"".join(scales)


def segment_numbers(ids: bytes) -> bytes:
    """Numbers of word pieces as a segment holds them.

    Example:
        >>> segment_numbers(b"\\1\\0\\1\\0")
        b'\\x02\\x00'
    """
    wide = array("I", ids)
    if max(set(wide) - {SPECIAL_PIECE}, default=0) < _SPECIAL_IN_SEGMENT:
        # their lower halves
        return array("H", ids)[::2].tobytes()
    numbers = [
        _SPECIAL_IN_SEGMENT if number == SPECIAL_PIECE else number % _SPECIAL_IN_SEGMENT
        for number in wide
    ]
    return array("H", numbers).tobytes()


def drop_codes(conn: apsw.Connection, link: chain.Link) -> None:
    """Removes all codes: those of another model cannot be compared. Row by row, since all at once
    might not fit into memory."""
    for (memory,) in fetch(conn, "SELECT memory FROM token_codes ORDER BY memory"):
        link.removed("token_codes", fetch(conn, _SELECT, (memory,))[0])
        link.touched.add(memory)
        conn.execute("DELETE FROM token_codes WHERE memory = ?", (memory,))
