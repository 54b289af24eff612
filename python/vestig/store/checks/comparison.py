"""Compares the projection with the ledger, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from vestig import _core
from vestig.ids import id_text, split_ids
from vestig.ports import EmbeddingIdentity, ProjectionRow
from vestig.store.ledger.ledger import Ledger
from vestig.store.projection.keeper import ProjectionKeeper, chunks_of
from vestig.store.records.reads import LedgerView
from vestig.store.tables.graph import NODE_PREFIXES

_MOST: Final = 100
# Fields of a row that the core keeps in another form.
_ANALYSED: Final = ("content", "embedding", "heading", "questions")
# What the core makes of the words of a row.
_WORDS: Final = ("terms", "text_terms", "length")


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Memories and entities compared, and what differs. `stale`: why there was nothing to
    compare."""

    rows: int
    entities: int = 0
    differences: list[str]
    stale: str | None = None


def compare_projection(
    ledger: Ledger,
    keeper: ProjectionKeeper,
    view: LedgerView,
    identity: EmbeddingIdentity | None,
) -> Comparison:
    """Compares what lies on disk, brought up to the view in memory only.

    In memory there is one projection, the keeper's; it is compared as it stands.
    """
    if ledger.path is None or identity is None:
        core = keeper.core
        if core.applied_seq != view.seq:
            return Comparison(rows=0, differences=[], stale="is not at the ledger's seq yet")
        return _compare(core, view)
    folder = ledger.path.parent / "projection"
    core = _core.Projection.open(
        str(folder), ledger.store_uuid, identity.dimensions, identity.model, read_only=True
    )
    if core.discarded is not None:
        stale = f"cannot be used and is made again at the next opening: {core.discarded}"
        return Comparison(rows=0, differences=[], stale=stale)
    if core.generation == 0:
        stale = "no projection lies beside the ledger; the next opening makes it"
        return Comparison(rows=0, differences=[], stale=stale)
    broken = core.verify()
    if broken:
        stale = f"{broken[0]}; it is made again when it is read"
        return Comparison(rows=0, differences=[], stale=stale)
    history = _history(core, view)
    if history is not None:
        return Comparison(rows=0, differences=[history])
    if core.applied_seq < view.seq:
        _catch_up(core, view)
    return _compare(core, view)


def _history(core: _core.Projection, view: LedgerView) -> str | None:
    applied = core.applied_seq
    if applied > view.seq:
        return f"{applied - view.seq} transactions that it has seen are missing in the ledger"
    if applied and view.head_at(applied) != core.chain_head:
        return f"it was made from another ledger (transaction {applied} differs)"
    return None


def _catch_up(core: _core.Projection, view: LedgerView) -> None:
    applied = core.applied_seq
    for chunk in chunks_of(view.projection_rows(applied)):
        core.apply(chunk, applied, core.chain_head)
    core.apply([], view.seq, view.head, view.removed_after(applied))


def _compare(core: _core.Projection, view: LedgerView) -> Comparison:
    """Every node of the ledger in the projection, and none more."""
    differences: list[str] = []
    left = {(prefix, id) for prefix, ids in _nodes(core) for id in ids}
    counts: Counter[str] = Counter()
    for chunk in chunks_of(view.projection_rows(0)):
        words = _words(chunk, view)
        for row in chunk:
            id, prefix = row.id, NODE_PREFIXES[row.kind]
            counts[prefix] += 1
            left.discard((prefix, id))
            if len(differences) >= _MOST:
                continue
            found = core.row(id)
            if found is None:
                differences.append(f"{id_text(prefix, id)} is missing")
                continue
            wanted = _expected(row, words)
            wrong = sorted(name for name, want in wanted.items() if found[name] != want)
            if wrong:
                differences.append(f"{id_text(prefix, id)} differs in {', '.join(wrong)}")
    differences += [f"{id_text(*node)} is not in the ledger" for node in sorted(left)]
    return Comparison(rows=counts["mem"], entities=counts["ent"], differences=differences)


def _words(rows: Sequence[ProjectionRow], view: LedgerView) -> _core.Projection:
    """These rows without their vectors in a projection in memory: their words are counted as they
    were when the stored one was made, up to the same limits."""
    words = _core.Projection.open(None, bytes(16), 1, "")
    words.apply([row._replace(embedding=None, questions=()) for row in rows], view.seq, view.head)
    return words


def _nodes(core: _core.Projection) -> Iterator[tuple[str, list[bytes]]]:
    for prefix, stored in (("mem", core.ids()), ("ent", core.entity_ids())):
        yield prefix, split_ids(stored)


def _expected(row: ProjectionRow, words: _core.Projection) -> dict[str, Any]:
    """Return what `_core.Projection.row` must give for this row."""
    wanted = row._asdict()
    for name in _ANALYSED:
        del wanted[name]
    wanted["questions"] = [_core.unit(vector) for vector in row.questions]
    wanted["unit"] = None if row.embedding is None else _core.unit(row.embedding)
    counted = words.row(row.id)
    assert counted is not None, "the row was applied"
    return wanted | {name: counted[name] for name in _WORDS}
