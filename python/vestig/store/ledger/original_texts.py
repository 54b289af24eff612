"""Rows of `original_texts`: the texts of memories as they were given, under the chain.

A memory has one only where that text differs from its normal form, which `memories` holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import apsw

from vestig.changes import NewOriginalText
from vestig.store.ledger import chain
from vestig.store.ledger.node_rows import NodeRows
from vestig.store.sqlite.lookups import fetch
from vestig.store.tables.schema import INSERT, columns_sql

_TABLE: Final = "original_texts"
_SELECT: Final = f"SELECT {columns_sql(_TABLE)} FROM {_TABLE} WHERE memory = ?"


def write_originals(
    conn: apsw.Connection,
    link: chain.Link,
    nodes: NodeRows,
    texts: Sequence[NewOriginalText],
    *,
    seq: int,
    salts: chain.Salts,
) -> None:
    """Writes, replaces or removes the original texts of these memories.

    Raises:
        NotFoundError: an id that the namespace does not hold.
    """
    fresh: list[tuple[Any, ...]] = []
    for new in texts:
        memory = nodes.row(new.memory_id)
        link.touched.add(memory)
        if memory in nodes.new_memories and new.content is not None:
            digest = sha256(new.content.encode()).digest()
            fresh.append((salts.take(), memory, seq, new.content, digest))
            continue
        old = fetch(conn, _SELECT, (memory,))
        if old:
            conn.execute(f"DELETE FROM {_TABLE} WHERE memory = ?", (memory,))
        if new.content is None:
            for row in old:
                link.removed(_TABLE, row)
            continue
        digest = sha256(new.content.encode()).digest()
        values = (salts.take(), memory, seq, new.content, digest)
        conn.execute(INSERT[_TABLE], values)
        if old:
            link.replaced(_TABLE, old[0], values)
        else:
            link.wrote(_TABLE, values)
    if fresh:
        conn.executemany(INSERT[_TABLE], fresh)
        link.wrote_all(_TABLE, fresh)
