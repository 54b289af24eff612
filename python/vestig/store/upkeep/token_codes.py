"""Makes codes of word pieces for memories that have none to compare: along other axes, or of
another configuration.

Each batch is one transaction, so a run that was killed goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, Final

import apsw

from vestig.errors import ProviderError
from vestig.ids import id_text
from vestig.language.claim_text import claim_text
from vestig.ports import Pieces, Progress, are_pieces
from vestig.store.integrity import chain
from vestig.store.ledger.ledger import Ledger
from vestig.store.records.graph_rows import claims_at
from vestig.store.records.memory_versions import put_rows
from vestig.store.records.projection_rows import AXES
from vestig.store.records.writes import NO_CLOCK
from vestig.store.sqlite.statements import damaged, fetch, select_in, store_faults

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
        texts = [_text(row, where) for row in todo]
        made = embed(
            [
                claim_text(claims[row[0]]) if row[0] in claims else text
                for row, text in zip(todo, texts, strict=True)
            ]
        )
        if len(made) != len(todo) or not all(are_pieces(pieces) for _vector, pieces in made):
            raise ProviderError(
                f"expected codes of word pieces of {len(todo)} texts, got something else; nothing"
                " of this batch was stored, check the embedder and run `vestig rebuild --tokens`"
                " again"
            )
        model = todo[0][5]
        found = {row[0]: pieces for row, (_vector, pieces) in zip(todo, made, strict=True)}
        done += _keep(ledger, found, model, read_at)
        last = todo[-1][0]
        if progress is not None:
            progress(done, max(done, total))


def _text(row: Sequence[Any], where: str) -> str:
    """The text as commit embeds it."""
    _row, id, content_hash, author, text, _model = row
    check_text(where, id, content_hash, text)
    return text if author is None else f"{author}: {text}"


def check_text(where: str, id: bytes, content_hash: bytes, text: str) -> None:
    """Refuses a text that is not the one that was stored.

    Raises:
        StoreDamagedError: it is another text.
    """
    if sha256(text.encode()).digest() != content_hash:
        raise damaged(where, f"another text than was stored under {id_text('mem', id)}")


def _keep(ledger: Ledger, found: dict[int, Pieces], model: str, read_at: int) -> int:
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
