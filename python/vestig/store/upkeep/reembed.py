"""Re-embedding: every text of a store is embedded by another model, then one switch; and codes of
word pieces for memories that have none to compare, along other axes or of another configuration.

New vectors collect in a table of their own, batch by batch, each batch durable. Until the switch
nothing else is touched: the old vectors answer. The switch is one transaction: all vectors and the
identity, or nothing. Each batch of codes is one transaction. So a run of either that was killed
goes on where it stopped.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from vestig.errors import ProviderError
from vestig.language.claim_text import claim_text
from vestig.other_words import by_caller
from vestig.ports import Embedder, EmbeddingIdentity, Pieces, Progress, are_pieces
from vestig.store.integrity import chain
from vestig.store.ledger.ledger import Ledger
from vestig.store.records.graph_rows import claims_at
from vestig.store.records.memory_versions import put_rows
from vestig.store.records.projection_rows import AXES, drop_codes
from vestig.store.records.rows import check_text
from vestig.store.records.store_rows import IDENTITY
from vestig.store.records.writes import NO_CLOCK
from vestig.store.sqlite.connections import damaged, fetch, has_table, select_in, store_faults
from vestig.store.tables.memories import NO_QUESTION
from vestig.store.tables.schema import INDEX, INSERT, columns_sql
from vestig.store.tables.store import IDENTITY_KEY, NEW_VECTORS
from vestig.turns import give_way, in_steps


class _TextKind(NamedTuple):
    """Texts of one kind: where they are, the key of a row `t`, where their vectors go."""

    source: str
    key: str
    vectors: str
    owner: str

    def without(self) -> str:
        """The rows that have no new vector yet."""
        return (
            f"{self.source} {'AND' if 'WHERE' in self.source else 'WHERE'} NOT EXISTS"
            f" (SELECT 1 FROM {NEW_VECTORS.name} p WHERE p.memory = {self.key})"
        )


# The keys of `new_vectors` in SQL.
_KINDS: Final = (
    _TextKind("memories t", 't."row"', "vectors", "memory"),
    _TextKind("entities t", '-2 * t."row"', "entity_vectors", "entity"),
    _TextKind(
        f"questions t WHERE t.position <> {NO_QUESTION}", '-2 * t."row" - 1', "questions", "row"
    ),
)
# Whether the row of a key is there, that of a memory as it was at seq ?4: divisions cut towards
# zero.
_THERE: Final = """CASE WHEN ?1 > 0
    THEN EXISTS (SELECT 1 FROM memories WHERE "row" = ?1 AND wseq <= ?4)
    WHEN ?1 % 2 = 0 THEN EXISTS (SELECT 1 FROM entities WHERE "row" = -?1 / 2)
    ELSE EXISTS (SELECT 1 FROM questions WHERE "row" = -?1 / 2) END"""
# Row, id and content hash where the text is checked against its hash; text before it (author) or
# behind it (description); the text.
_TEXTS: Final = (
    't."row", t.id, t.content_hash, t.author, t.content',
    "NULL, NULL, NULL, t.description, t.canonical_name",
    "NULL, NULL, NULL, NULL, t.text",
)


class ReembedCounts(msgspec.Struct, frozen=True, kw_only=True):
    """`embedded` texts in this run, `resumed` vectors of an earlier one, `replaced` old
    vectors, `added` for memories and entities that had none, and the store's `seq` afterwards."""

    embedded: int
    resumed: int
    replaced: int
    added: int
    seq: int


def reembed(
    ledger: Ledger,
    embedder: Embedder,
    identity: EmbeddingIdentity,
    *,
    batch: int = 64,
    progress: Progress | None = None,
) -> ReembedCounts:
    """Embeds every stored text with `embedder` and switches the store to `identity`.

    Ids stay the same. Killed half-way, the store answers as before; run again with the same
    identity it goes on, with another one it starts over. Codes of word pieces are removed with the
    old vectors. The caller makes them anew (`token_codes.fill_codes`) and rebuilds the projection.

    Args:
        batch: texts given to the embedder at once; each batch is durable on its own.
        progress: called with vectors done and texts in all.

    Raises:
        ProviderError: the embedder failed; what is done stays done.
        StoreDamagedError: a text is not the one that was stored.
        StoreLockedError: no write lock, or a read-only store.
    """
    resumed = _begin(ledger, identity)
    embedded = 0
    while True:
        todo, total, read_at = _next_texts(ledger, batch)
        if not todo:
            counts = _switch(ledger, identity)
            if counts is not None:
                replaced, added, seq = counts
                return ReembedCounts(
                    embedded=embedded, resumed=resumed, replaced=replaced, added=added, seq=seq
                )
            continue
        give_way()
        vectors = in_steps([text for _row, text in todo], embedder.embed)
        _check(embedder, identity, vectors, len(todo))
        _keep(ledger, [row for row, _text in todo], vectors, read_at)
        embedded += len(todo)
        if progress is not None:
            progress(resumed + embedded, total)


def unfinished_vectors(conn: apsw.Connection) -> int | None:
    """Vectors of an unfinished run, or None when there is none."""
    if not has_table(conn, NEW_VECTORS.name):
        return None
    rows = fetch(conn, f"SELECT COUNT(*) FROM {NEW_VECTORS.name}")
    # The first row is the identity of the model; an empty table is that of a copy of a tenant.
    return int(rows[0][0]) - 1 if rows[0][0] else None


def _digest(row: int, embedding: bytes) -> bytes:
    key = row.to_bytes(8, "little", signed=True)
    return blake2b(embedding, digest_size=16, key=key).digest()


def _begin(ledger: Ledger, identity: EmbeddingIdentity) -> int:
    """The table, emptied when it holds vectors of another model; how many it holds."""
    raw = msgspec.msgpack.encode(identity)
    identity_row = (IDENTITY_KEY, _digest(IDENTITY_KEY, raw), raw)
    with ledger.writer() as conn, store_faults(ledger.where):
        if not has_table(conn, NEW_VECTORS.name):
            conn.execute(NEW_VECTORS.statements())
        found = fetch(conn, f"SELECT * FROM {NEW_VECTORS.name} WHERE memory = {IDENTITY_KEY}")
        if found != [identity_row]:
            conn.execute(f"DELETE FROM {NEW_VECTORS.name}")
            conn.execute(f"INSERT INTO {NEW_VECTORS.name} VALUES (?, ?, ?)", identity_row)
        count = unfinished_vectors(conn)
        ledger.commit(conn)
    return count or 0


def _next_texts(ledger: Ledger, batch: int) -> tuple[list[tuple[int, str]], int, int]:
    """The next texts without a new vector: (key, text as it is embedded), how many there are in
    all, and the seq at which they were read."""
    where = ledger.where
    todo: list[tuple[int, str]] = []
    total = 0
    with ledger.read() as view, store_faults(where):
        conn, read_at = view.connection, view.seq
        for kind, columns in zip(_KINDS, _TEXTS, strict=True):
            total += fetch(conn, f"SELECT COUNT(*) FROM {kind.source}")[0][0]
            if len(todo) < batch:
                sql = f"SELECT {kind.key}, {columns} FROM {kind.without()}"
                sql += ' ORDER BY t."row" LIMIT ?'
                rows = fetch(conn, sql, (batch - len(todo),))
                claims = claims_at(conn, [row[1] for row in rows if row[1] is not None])
                for key, *row in rows:
                    text = _text(kind, row, where)
                    todo.append((key, claim_text(claims[key]) if key in claims else text))
    return todo, total, read_at


def _text(kind: _TextKind, row: Sequence[Any], where: str) -> str:
    """The text as commit embeds it."""
    number, id, content_hash, beside, text = row
    if number is not None:
        check_text(text, content_hash, id, where)
    if kind.vectors == "entity_vectors":
        return f"{text.lower()} {beside}" if beside else text.lower()
    return text if beside is None else f"{beside}: {text}"


def _check(
    embedder: Embedder, identity: EmbeddingIdentity, vectors: Sequence[bytes], wanted: int
) -> None:
    """Refuses vectors that are not whole and finite."""
    good = len(vectors) == wanted and all(
        len(vector) == 4 * identity.dimensions and math.isfinite(sum(array("f", vector)))
        for vector in vectors
    )
    if not good:
        raise ProviderError(
            f"{embedder.model}: expected {wanted} finite vectors of {identity.dimensions}"
            " dimensions, got something else; nothing of this batch was stored, check the"
            f" embedder and run {by_caller('`vestig rebuild --embeddings`')} again"
        )


def _keep(ledger: Ledger, rows: Sequence[int], vectors: Sequence[bytes], read_at: int) -> None:
    """Keeps them, but for memories that are gone or were written again since the texts were read:
    evidence of a claim may have been forgotten. Those come again."""
    made = [(row, _digest(row, raw), raw, read_at) for row, raw in zip(rows, vectors, strict=True)]
    with ledger.writer() as conn, store_faults(ledger.where):
        conn.executemany(
            f"INSERT OR REPLACE INTO {NEW_VECTORS.name} SELECT ?1, ?2, ?3 WHERE {_THERE}", made
        )
        ledger.commit(conn)


def _switch(ledger: Ledger, identity: EmbeddingIdentity) -> tuple[int, int, int] | None:
    """(replaced, added, seq); None when a text without a new vector was committed meanwhile."""
    where = ledger.where
    with ledger.write(NO_CLOCK) as txn, store_faults(where):
        conn = txn.connection
        raw = msgspec.msgpack.encode(identity)
        sql = f"SELECT embedding FROM {NEW_VECTORS.name} WHERE memory = {IDENTITY_KEY}"
        if not has_table(conn, NEW_VECTORS.name) or fetch(conn, sql) != [(raw,)]:
            raise damaged(where, "no new vectors to switch to: another re-embedding replaced them")
        if any(fetch(conn, f"SELECT 1 FROM {kind.without()} LIMIT 1") for kind in _KINDS):
            return None
        seq = txn.seq + 1
        link = txn.new_link()
        replaced = added = 0
        for kind in _KINDS:
            work = _VectorSwitch(conn, link, identity.model, seq, where)
            work.run(kind)
            replaced, added = replaced + work.replaced, added + work.added
        drop_codes(conn, link)
        _set_identity(conn, link, raw, seq)
        conn.execute(f"DELETE FROM {NEW_VECTORS.name}")  # a change of a tenant drops no table
        txn.rows_written = replaced + added
        txn.close_link(link)
    return replaced, added, seq


class _VectorSwitch:
    """Puts the new vectors of one kind in the place of the old ones."""

    def __init__(
        self, conn: apsw.Connection, link: chain.Link, model: str, seq: int, where: str
    ) -> None:
        self._conn = conn
        self._link = link
        self._model = model
        self._seq = seq
        self._where = where
        self._salts = chain.Salts()
        self.replaced = self.added = 0

    def run(self, kind: _TextKind) -> None:
        """Row by row: two whole generations at once might not fit into memory."""
        rows = list(
            self._conn.execute(f'SELECT t."row", {kind.key} FROM {kind.source} ORDER BY t."row"')
        )
        for row, key in rows:
            self._one(kind, row, self._new(key))

    def _new(self, key: int) -> bytes:
        sql = f"SELECT digest, embedding FROM {NEW_VECTORS.name} WHERE memory = ?"
        ((digest, embedding),) = fetch(self._conn, sql, (key,))
        if _digest(key, embedding) != digest:
            raise damaged(self._where, "a new vector that differs from what was written")
        return bytes(embedding)

    def _one(self, kind: _TextKind, row: int, embedding: bytes) -> None:
        table = kind.vectors
        at = INDEX[table]
        sql = f'SELECT {columns_sql(table)} FROM {table} WHERE "{kind.owner}" = ?'
        old = fetch(self._conn, sql, (row,))
        if old:
            new = list(old[0])
            new[at["salt"]], new[at["seq"]] = self._salts.take(), self._seq
            new[at["model"]], new[at["embedding"]] = self._model, embedding
            self._conn.execute(
                f"UPDATE {table} SET salt = ?, seq = ?, model = ?, embedding = ?"
                f' WHERE "{kind.owner}" = ?',
                (new[at["salt"]], self._seq, self._model, embedding, row),
            )
            self._link.replaced(table, old[0], new)
            self.replaced += 1
        else:
            new = [self._salts.take(), row, self._seq, self._model, embedding]
            self._conn.execute(INSERT[table], new)
            self._link.wrote(table, new)
            self.added += 1
        node = new[at["memory"]] if table == "questions" else row
        self._link.touched.add(-node if table == "entity_vectors" else node)


def _set_identity(conn: apsw.Connection, link: chain.Link, raw: bytes, seq: int) -> None:
    """The new identity, under the chain."""
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


EmbedCodes = Callable[[list[str]], list[tuple[bytes, Pieces]]]

# A memory that waits for its vector gets both from its job.
_WITHOUT: Final = (
    'FROM memories m JOIN vectors v ON v.memory = m."row"'
    ' WHERE NOT EXISTS (SELECT 1 FROM token_codes t WHERE t.memory = m."row" AND t.axes = ?)'
)
_NEXT: Final = (
    'SELECT m."row", m.id, m.content_hash, m.author, m.content, v.model'
    f' {_WITHOUT} AND +m."row" > ? ORDER BY m."row" LIMIT ?'
)
_STILL: Final = (
    'SELECT m."row" FROM memories m JOIN vectors v ON v.memory = m."row"'
    " WHERE +v.model = ? AND m.wseq <= ? AND NOT EXISTS"
    ' (SELECT 1 FROM token_codes t WHERE t.memory = m."row" AND t.axes = ?)'
    ' AND m."row" IN (?*)'
)


def without_codes(conn: apsw.Connection) -> int:
    """How many memories have a vector and no codes of word pieces that can be compared."""
    rows = fetch(conn, f"SELECT COUNT(*) {_WITHOUT}", (AXES,))
    return int(rows[0][0])


def fill_codes(
    ledger: Ledger,
    embed: EmbedCodes,
    *,
    batch: int = 64,
    progress: Progress | None = None,
) -> int:
    """Makes codes for the memories that have none to compare; how many.

    Args:
        embed: the model of the store's vectors.
        batch: texts given to it at once; each batch is durable on its own.
        progress: called with memories done and how many there are to do.

    Raises:
        ProviderError: the embedder failed; what is done stays done.
        StoreDamagedError: a text is not the one that was stored.
        StoreLockedError: no write lock, or a read-only store.
    """
    where = ledger.where
    with ledger.read() as view, store_faults(where):
        total = without_codes(view.connection)
    done = last = 0
    while True:
        with ledger.read() as view, store_faults(where):
            todo = fetch(view.connection, _NEXT, (AXES, last, batch))
            read_at = view.seq
            claims = claims_at(view.connection, [row[0] for row in todo])
        if not todo:
            return done
        texts = [_text_with_author(row, where) for row in todo]
        give_way()
        made = in_steps(
            [
                claim_text(claims[row[0]]) if row[0] in claims else text
                for row, text in zip(todo, texts, strict=True)
            ],
            embed,
        )
        if len(made) != len(todo) or not all(are_pieces(pieces) for _vector, pieces in made):
            raise ProviderError(
                f"expected codes of word pieces of {len(todo)} texts, got something else; nothing"
                " of this batch was stored, check the embedder and run"
                f" {by_caller('`vestig rebuild --tokens`')} again"
            )
        model = todo[0][5]
        found = {row[0]: pieces for row, (_vector, pieces) in zip(todo, made, strict=True)}
        done += _keep_codes(ledger, found, model, read_at)
        last = todo[-1][0]
        if progress is not None:
            progress(done, max(done, total))


def _text_with_author(row: Sequence[Any], where: str) -> str:
    """The text as commit embeds it."""
    _row, id, content_hash, author, text, _model = row
    check_text(text, content_hash, id, where)
    return text if author is None else f"{author}: {text}"


def _keep_codes(ledger: Ledger, found: dict[int, Pieces], model: str, read_at: int) -> int:
    """Writes them, but for what was forgotten, embedded by another model or written since the texts
    were read: a claim may have lost evidence. Those that are left out get theirs in a later run."""
    with ledger.write(NO_CLOCK) as txn, store_faults(ledger.where):
        conn = txn.connection
        rows = sorted(
            row for (row,) in select_in(conn, _STILL, tuple(found), (model, read_at, AXES))
        )
        if not rows:
            return 0
        link, salts, seq = txn.new_link(), chain.Salts(), txn.seq + 1
        codes = [(salts.take(), row, seq, model, AXES, *found[row]) for row in rows]
        put_rows(conn, link, "token_codes", codes)
        txn.rows_written = len(rows)
        txn.close_link(link)
    return len(rows)
