"""The table of new vectors of a re-embedding that is not finished: what its keys stand for."""

from __future__ import annotations

from typing import Final

import apsw

from vestig.store.sqlite.lookups import fetch

__all__ = ["IDENTITY_KEY", "PENDING_TABLE", "entity_key", "is_pending", "question_key"]

PENDING_TABLE: Final = "new_vectors"
# A memory's key is its row. At 0, where none is, stands the identity of the model in work.
IDENTITY_KEY: Final = 0


def is_pending(conn: apsw.Connection) -> bool:
    """Whether the table is there."""
    sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
    return bool(fetch(conn, sql, (PENDING_TABLE,)))


def entity_key(row: int) -> int:
    """Even and negative.

    Example:
        >>> entity_key(3), question_key(3)
        (-6, -7)
    """
    return -2 * row


def question_key(row: int) -> int:
    """Odd and negative."""
    return -2 * row - 1
