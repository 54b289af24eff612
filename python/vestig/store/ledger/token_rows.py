"""Rows of `token_vectors`: the vectors of a memory's word pieces under the chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import apsw

from vestig.ports import PIECE_DIMENSIONS, PIECES_MAX, Pieces
from vestig.store.ledger import chain
from vestig.store.ledger.schema import INSERT, columns_sql
from vestig.store.sqlite.lookups import fetch

__all__ = ["WRONG_SHAPE", "stored_pieces", "write_tokens"]

_SELECT: Final = f"SELECT {columns_sql('token_vectors')} FROM token_vectors WHERE memory = ?"
_NUMBER_BYTES: Final = 4  # of an id, and of a scale
# Condition of a row whose columns do not fit each other.
WRONG_SHAPE: Final = (
    f"length(ids) NOT BETWEEN {_NUMBER_BYTES} AND {_NUMBER_BYTES * PIECES_MAX}"
    f" OR length(ids) % {_NUMBER_BYTES} <> 0 OR length(scales) <> length(ids)"
    f" OR length(codes) * {_NUMBER_BYTES} <> length(ids) * {PIECE_DIMENSIONS}"
)


def stored_pieces(row: Sequence[Any]) -> Pieces:
    """What a row of the table holds."""
    return Pieces(*row[4:])


def write_tokens(
    conn: apsw.Connection, link: chain.Link, values: Sequence[Any], *, fresh: bool
) -> bool:
    """Writes a row of the table in the place of an older one; whether there was none. `fresh`: the
    same transaction wrote the memory, so there is none."""
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
