"""The table `new_vectors` of a re-embedding that is not finished, and its keys.

Its column `memory` is the row of a memory, or a negative number for an entity or a question.
"""

from __future__ import annotations

from typing import Final

import apsw

from vestig.store.sqlite.lookups import fetch

__all__ = ["IDENTITY_KEY", "NEW_VECTORS", "entity_key", "has_new_vectors", "question_key"]

NEW_VECTORS: Final = "new_vectors"
# No row has the number 0: it is the key of the new model's identity.
IDENTITY_KEY: Final = 0


def has_new_vectors(conn: apsw.Connection) -> bool:
    """Whether the table is there."""
    sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
    return bool(fetch(conn, sql, (NEW_VECTORS,)))


def entity_key(row: int) -> int:
    """The key of an entity: even and negative.

    Example:
        >>> entity_key(3), question_key(3)
        (-6, -7)
    """
    return -2 * row


def question_key(row: int) -> int:
    """The key of a question: odd and negative."""
    return -2 * row - 1
