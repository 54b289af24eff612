"""Row numbers of the nodes that one write transaction names or makes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import apsw

from vestig.errors import NotFoundError
from vestig.store.sqlite.lookups import node_keys, rows_of
from vestig.store.tables.schema import NODE_TABLES

_KINDS: Final = {"mem": "Memory", "source": "Source", "ent": "Entity"}


class NodeRows:
    """Id → row number, in one namespace.

    `by_id`: what is known so far; who writes a node adds it. `new_memories`: rows of the memories
    that the transaction wrote, to which nothing in the ledger can refer yet.
    """

    def __init__(self, conn: apsw.Connection, namespace: str) -> None:
        self._conn = conn
        self.namespace = namespace
        self.by_id: dict[str, int] = {}
        self.new_memories: set[int] = set()

    def load(self, ids: Collection[str]) -> None:
        """Reads the rows of those of these ids that the namespace holds."""
        for prefix, table in NODE_TABLES.items():
            keys = node_keys(ids, f"{prefix}_")
            if keys:
                self.by_id.update(rows_of(self._conn, table, self.namespace, keys))

    def row(self, id: str) -> int:
        """The row of a node that was loaded or written.

        Raises:
            NotFoundError: the namespace does not hold it.
        """
        row = self.by_id.get(id)
        if row is None:
            raise NotFoundError(_KINDS.get(id.partition("_")[0], "Record"), id)
        return row
