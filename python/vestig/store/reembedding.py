"""Another model for a whole store: every text embedded again, then one switch (D-13).

New vectors collect in a table of their own, batch by batch, each batch durable. Until the
switch nothing else is touched: the old vectors answer, and a run that was killed goes on where
it stopped. The switch is one transaction: all vectors and the identity, or nothing.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from hashlib import blake2b, sha256
from typing import Any, Final

import apsw
import msgspec

from vestig.errors import ProviderError
from vestig.ids import id_text
from vestig.ports import Embedder, EmbeddingIdentity, Progress
from vestig.store import chain
from vestig.store.faults import damaged, store_faults
from vestig.store.ledger import IDENTITY, SqliteLedger
from vestig.store.lookups import fetch
from vestig.store.schema import INSERT, PENDING_TABLE, columns_sql

__all__ = ["ReembedCounts", "pending_rows", "reembed"]

# Row 0 of the table, where no memory is, holds the identity of the model in work.
_IDENTITY_ROW: Final = 0
# The earliest time leaves the transaction's time at the last one the ledger recorded.
_NO_CLOCK: Final = -(2**62)
_CREATE: Final = f"""CREATE TABLE IF NOT EXISTS {PENDING_TABLE} (
    memory INTEGER PRIMARY KEY, digest BLOB NOT NULL, embedding BLOB NOT NULL
) STRICT"""


class ReembedCounts(msgspec.Struct, frozen=True, kw_only=True):
    """`embedded` texts in this run, `resumed` vectors of an earlier one, `replaced` old
    vectors, `added` for memories that had none, and the store's `seq` afterwards."""

    embedded: int
    resumed: int
    replaced: int
    added: int
    seq: int


def reembed(
    ledger: SqliteLedger,
    embedder: Embedder,
    identity: EmbeddingIdentity,
    *,
    batch: int = 64,
    progress: Progress | None = None,
) -> ReembedCounts:
    """Embeds every stored text with `embedder` and switches the store to `identity`.

    Ids stay the same. Killed half-way, the store answers as before; run again with the same
    identity it goes on, with another one it starts over. The caller rebuilds the projection.

    Args:
        batch: texts given to the embedder at once; each batch is durable on its own.
        progress: called with vectors done and memories in all.

    Raises:
        ProviderError: the embedder failed; what is done stays done.
        StoreDamagedError: a text is not the one that was stored.
        StoreLockedError: no write lock, or a read-only store.
    """
    resumed = _begin(ledger, identity)
    embedded = 0
    while True:
        todo, total = _missing(ledger, batch)
        if not todo:
            counts = _switch(ledger, identity)
            if counts is not None:
                replaced, added, seq = counts
                return ReembedCounts(
                    embedded=embedded, resumed=resumed, replaced=replaced, added=added, seq=seq
                )
            continue
        vectors = embedder.embed([text for _row, text in todo])
        _check(embedder, identity, vectors, len(todo))
        _keep(ledger, [row for row, _text in todo], vectors)
        embedded += len(todo)
        if progress is not None:
            progress(resumed + embedded, total)


def pending_rows(conn: apsw.Connection) -> int | None:
    """Vectors of an unfinished run, or None when there is none."""
    if not _exists(conn):
        return None
    rows = fetch(conn, f"SELECT COUNT(*) FROM {PENDING_TABLE} WHERE memory <> {_IDENTITY_ROW}")
    return int(rows[0][0])


def _exists(conn: apsw.Connection) -> bool:
    sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
    return bool(fetch(conn, sql, (PENDING_TABLE,)))


def _digest(row: int, embedding: bytes) -> bytes:
    return blake2b(embedding, digest_size=16, key=row.to_bytes(8, "little")).digest()


def _where(ledger: SqliteLedger) -> str:
    return ":memory:" if ledger.path is None else str(ledger.path)


def _begin(ledger: SqliteLedger, identity: EmbeddingIdentity) -> int:
    """The table, emptied when it holds vectors of another model; how many it holds."""
    raw = msgspec.msgpack.encode(identity)
    mark = (_IDENTITY_ROW, _digest(_IDENTITY_ROW, raw), raw)
    with ledger._writing() as conn, store_faults(_where(ledger)):
        conn.execute(_CREATE)
        found = fetch(conn, f"SELECT * FROM {PENDING_TABLE} WHERE memory = 0")
        if found != [mark]:
            conn.execute(f"DELETE FROM {PENDING_TABLE}")
            conn.execute(f"INSERT INTO {PENDING_TABLE} VALUES (?, ?, ?)", mark)
        held = pending_rows(conn)
        conn.execute("COMMIT")
    return 0 if held is None else held


def _missing(ledger: SqliteLedger, batch: int) -> tuple[list[tuple[int, str]], int]:
    """The next memories without a new vector: (row, text as it is embedded), and how many
    memories there are in all."""
    where = _where(ledger)
    with ledger.read() as view, store_faults(where):
        conn = view.connection
        rows = fetch(
            conn,
            'SELECT m."row", m.id, m.author, m.content, m.content_hash FROM memories m'
            f' WHERE NOT EXISTS (SELECT 1 FROM {PENDING_TABLE} p WHERE p.memory = m."row")'
            ' ORDER BY m."row" LIMIT ?',
            (batch,),
        )
        total = fetch(conn, "SELECT COUNT(*) FROM memories")[0][0]
    todo = []
    for row, id, author, content, content_hash in rows:
        if sha256(content.encode()).digest() != content_hash:
            raise damaged(where, f"another text than was stored under {id_text('mem', id)}")
        todo.append((row, content if author is None else f"{author}: {content}"))
    return todo, total


def _check(
    embedder: Embedder, identity: EmbeddingIdentity, vectors: Sequence[bytes], wanted: int
) -> None:
    """Only whole, finite vectors are stored (D-13)."""
    good = len(vectors) == wanted and all(
        len(vector) == 4 * identity.dimensions and math.isfinite(sum(array("f", vector)))
        for vector in vectors
    )
    if not good:
        raise ProviderError(
            f"{embedder.model}: expected {wanted} finite vectors of {identity.dimensions}"
            " dimensions, got something else; nothing of this batch was stored, check the"
            " embedder and run `vestig rebuild --embeddings` again"
        )


def _keep(ledger: SqliteLedger, rows: Sequence[int], vectors: Sequence[bytes]) -> None:
    with ledger._writing() as conn, store_faults(_where(ledger)):
        # A memory that was forgotten meanwhile leaves no vector here.
        conn.executemany(
            f"INSERT OR REPLACE INTO {PENDING_TABLE} SELECT ?1, ?2, ?3"
            ' WHERE EXISTS (SELECT 1 FROM memories WHERE "row" = ?1)',
            [(row, _digest(row, raw), raw) for row, raw in zip(rows, vectors, strict=True)],
        )
        conn.execute("COMMIT")


def _switch(ledger: SqliteLedger, identity: EmbeddingIdentity) -> tuple[int, int, int] | None:
    """(replaced, added, seq); None when a memory came in meanwhile, or another run began."""
    where = _where(ledger)
    with ledger.write(_NO_CLOCK) as txn, store_faults(where):
        conn = txn.connection
        raw = msgspec.msgpack.encode(identity)
        if not _exists(conn) or fetch(
            conn, f"SELECT embedding FROM {PENDING_TABLE} WHERE memory = 0"
        ) != [(raw,)]:
            raise damaged(where, "no vectors to switch to: another run took them away")
        late = fetch(
            conn,
            "SELECT 1 FROM memories m WHERE NOT EXISTS"
            f' (SELECT 1 FROM {PENDING_TABLE} p WHERE p.memory = m."row") LIMIT 1',
        )
        if late:
            return None
        seq = txn.seq + 1
        counts = fetch(conn, "SELECT counts FROM chain WHERE seq = ?", (txn.seq,))
        link = chain.Link(txn.head, seq, txn.recorded_us, chain.unpack_counts(counts[0][0]))
        replaced, added = _replace(conn, link, identity, seq, where)
        _set_identity(conn, link, raw, seq)
        conn.execute(f"DROP TABLE {PENDING_TABLE}")
        txn.rows_written = replaced + added
        txn.applied = seq, link.append(conn)
    return replaced, added, seq


def _replace(
    conn: apsw.Connection, link: chain.Link, identity: EmbeddingIdentity, seq: int, where: str
) -> tuple[int, int]:
    salts = chain.Salts()
    replaced = added = 0
    # Row by row: two whole generations at once might not fit into memory.
    rows = [row for (row,) in conn.execute('SELECT "row" FROM memories ORDER BY "row"')]
    for row in rows:
        ((digest, embedding),) = fetch(
            conn, f"SELECT digest, embedding FROM {PENDING_TABLE} WHERE memory = ?", (row,)
        )
        if _digest(row, embedding) != digest:
            raise damaged(where, "a new vector that differs from what was written")
        values: tuple[Any, ...] = (salts.take(), row, seq, identity.model, embedding)
        old = fetch(conn, f"SELECT {columns_sql('vectors')} FROM vectors WHERE memory = ?", (row,))
        if old:
            conn.execute(
                "UPDATE vectors SET salt = ?, seq = ?, model = ?, embedding = ? WHERE memory = ?",
                (values[0], *values[2:], row),
            )
            link.replaced("vectors", old[0], values)
            replaced += 1
        else:
            conn.execute(INSERT["vectors"], values)
            link.wrote("vectors", values)
            added += 1
        link.touched.add(row)
    return replaced, added


def _set_identity(conn: apsw.Connection, link: chain.Link, raw: bytes, seq: int) -> None:
    """The new identity, and every setting that had no seq yet, under the chain."""
    new = (chain.Salts().take(), IDENTITY, raw, seq)
    old = fetch(conn, f"SELECT {columns_sql('meta')} FROM meta WHERE name = ?", (IDENTITY,))
    if old:
        conn.execute(
            "UPDATE meta SET salt = ?, value = ?, seq = ? WHERE name = ?",
            (new[0], raw, seq, IDENTITY),
        )
    else:
        conn.execute(INSERT["meta"], new)
    if old and old[0][3] is not None:
        link.replaced("meta", old[0], new)
    else:
        link.wrote("meta", new)
    for salt, name, value, _seq in fetch(
        conn, f"SELECT {columns_sql('meta')} FROM meta WHERE seq IS NULL"
    ):
        conn.execute("UPDATE meta SET seq = ? WHERE name = ?", (seq, name))
        link.wrote("meta", (salt, name, value, seq))
