"""Rows of `token_vectors`: the vectors of a memory's word pieces under the chain (Q-05)."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any, Final

import apsw

from vestig.ports import Pieces
from vestig.store import chain
from vestig.store.lookups import fetch
from vestig.store.schema import INSERT, columns_sql
from vestig.vectors import PIECE_DIMENSIONS, PIECES_MAX

__all__ = ["WRONG_SHAPE", "has_shape", "stored_pieces", "write_tokens"]

_SELECT: Final = f"SELECT {columns_sql('token_vectors')} FROM token_vectors WHERE memory = ?"
_NUMBER_BYTES: Final = 4  # of an id, and of a scale
# Condition of a row whose columns do not fit each other.
WRONG_SHAPE: Final = (
    f"length(ids) NOT BETWEEN {_NUMBER_BYTES} AND {_NUMBER_BYTES * PIECES_MAX}"
    f" OR length(ids) % {_NUMBER_BYTES} <> 0 OR length(scales) <> length(ids)"
    f" OR length(codes) * {_NUMBER_BYTES} <> length(ids) * {PIECE_DIMENSIONS}"
)


def has_shape(pieces: Pieces) -> bool:
    """Whether lengths fit each other and all scales are finite and at least 0.

    Example:
        >>> has_shape(Pieces(bytes(4), bytes(64), bytes(4))), has_shape(Pieces(b"", b"", b""))
        (True, False)
    """
    count, rest = divmod(len(pieces.ids), _NUMBER_BYTES)
    return (
        rest == 0
        and 1 <= count <= PIECES_MAX
        and len(pieces.codes) == count * PIECE_DIMENSIONS
        and len(pieces.scales) == count * _NUMBER_BYTES
        and all(math.isfinite(scale) and scale >= 0 for scale in array("f", pieces.scales))
    )


def stored_pieces(row: Sequence[Any]) -> Pieces:
    """What a row of the table holds."""
    return Pieces(*row[4:])


def write_tokens(
    conn: apsw.Connection, link: chain.Link, values: Sequence[Any], *, fresh: bool
) -> bool:
    """Writes a row of the table in the place of an older one; whether there was none. `fresh`: the
    memory is of this transaction, so there is none."""
    memory = values[1]
    old = [] if fresh else fetch(conn, _SELECT, (memory,))
    if old:
        conn.execute("DELETE FROM token_vectors WHERE memory = ?", (memory,))
        link.replaced("token_vectors", old[0], values)
    else:
        link.wrote("token_vectors", values)
    conn.execute(INSERT["token_vectors"], values)
    link.touched.add(memory)
    return not old
