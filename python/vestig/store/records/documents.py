"""Documents: sources of type `file`, each a version of one.

A document is known by its scope and its path; one without a path by its passages alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from vestig.ids import id_bytes, id_text
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import MEMORY_SELECT, memory_of, source_of
from vestig.store.sqlite.connections import each, fetch, store_faults
from vestig.store.tables.graph import EDGE_CODES
from vestig.types import Memory, Source

_VERSIONS: Final = (
    "SELECT s.id, s.source_type, s.created_us, s.ingested_us, s.path, s.agent, s.session_id,"
    " s.metadata FROM sources s WHERE s.namespace = ? AND s.source_type = 'file'"
)
_NEWEST: Final = f'{_VERSIONS} AND s.path = ? ORDER BY s."row" DESC'
_PRODUCED: Final = EDGE_CODES["PRODUCED"]
# Passages that an import recorded and no source produced: it ended before their last transaction.
_UNFINISHED: Final = (
    f'{MEMORY_SELECT} WHERE m."row" IN (SELECT e.memory FROM events e WHERE e.artifact_ref = ?)'
    " AND m.namespace = ? AND m.scope IS ? AND m.t_expired_us IS NULL"
    " AND m.origin_type = 'document' AND NOT EXISTS (SELECT 1 FROM edges p"
    f' WHERE p.to_row = m."row" AND p.edge_type = {_PRODUCED} AND p.expired_seq = 0)'
)
_PRODUCTS: Final = (
    f'{MEMORY_SELECT} WHERE m."row" IN (SELECT e.to_row FROM edges e JOIN sources s'
    f' ON s."row" = e.from_row WHERE s.id = ? AND e.edge_type = {_PRODUCED}'
    " AND e.expired_seq = 0) AND m.kind = 'MEMORY'"
)

# The reason of the end of a passage that its document lacks, before the id of the version.
NO_LONGER_IN: Final = "no longer in"
_WRONGLY_ENDED: Final = (
    'SELECT s.id FROM sources s JOIN edges e ON e.from_row = s."row"'
    f' AND e.edge_type = {_PRODUCED} AND e.expired_seq = 0 JOIN memories m ON m."row" = e.to_row'
    " JOIN events v ON v.memory = m.\"row\" AND v.event_type = 'DEPRECATE'"
    " WHERE +s.namespace = ? AND m.kind = 'MEMORY' AND m.t_expired_us IS NOT NULL"
    f" AND json_extract(v.payload, '$.reason') LIKE '{NO_LONGER_IN} source_%' AND s.id IN (?*)"
    " GROUP BY s.id"
)
_PRODUCT_COUNTS: Final = (
    'SELECT s.id, COUNT(*) FROM sources s JOIN edges e ON e.from_row = s."row"'
    f' AND e.edge_type = {_PRODUCED} AND e.expired_seq = 0 JOIN memories m ON m."row" = e.to_row'
    " WHERE +s.namespace = ? AND m.kind = 'MEMORY' AND s.id IN (?*) GROUP BY s.id"
)


class DocumentName(NamedTuple):
    """A document is known by it; without a path by its passages alone."""

    scope: str | None
    path: str | None


def name_of(source: Source) -> DocumentName:
    """The name of the document of which a source is a version."""
    return DocumentName(source.metadata.get("scope"), source.path)


def versions(view: LedgerView, namespace: str) -> Iterator[Source]:
    """The versions of all documents, oldest first."""
    with store_faults(view.where):
        for row in each(view.connection, f'{_VERSIONS} ORDER BY s."row"', (namespace,)):
            yield source_of(row)


def has_ended(version: Source) -> bool:
    """Return whether a version says that the file of its document is gone."""
    return version.metadata.get("ended") is True


def memory_count(version: Source) -> int:
    """How many passages a version produced, those that were forgotten since too."""
    found = version.metadata.get("memories", version.metadata.get("passages"))
    return found if isinstance(found, int) else 0


def is_at(path: str | None, asked: str) -> bool:
    """Return whether a document has this source, or lies in the file or folder of this path."""
    absolute = os.path.abspath(os.path.expanduser(asked))
    # bytes that are no UTF-8 are kept as escapes
    named = absolute.encode("utf-8", "backslashreplace").decode("utf-8")
    return path is not None and (path in (asked, named) or path.startswith(os.path.join(named, "")))


def histories(view: LedgerView, namespace: str) -> list[list[Source]]:
    """The versions of each document, oldest first; the one with the newest version last. A document
    that has moved has those of its name before, too."""
    found: dict[Any, list[Source]] = {}
    for source in versions(view, namespace):
        name = name_of(source)
        # one without a path has no other versions
        key: Any = source.id if name.path is None else name
        history = [*found.pop(key, ()), source]
        path = source.metadata.get("moved_to")
        if path is not None:
            key = DocumentName(name.scope, path)
            history = [*found.pop(key, ()), *history]
        found[key] = history
    return list(found.values())


def newest_versions(view: LedgerView, namespace: str) -> dict[DocumentName, Source]:
    """The newest version of each document that has a path, oldest first."""
    found: dict[DocumentName, Source] = {}
    for source in versions(view, namespace):
        if source.path is not None:
            found.pop(name_of(source), None)
            found[name_of(source)] = source
    return found


def newest_version(view: LedgerView, namespace: str, name: DocumentName) -> Source | None:
    """The newest version of a document; None of one that is new, or has no path."""
    if name.path is None:
        return None
    with store_faults(view.where):
        for row in each(view.connection, _NEWEST, (namespace, name.path)):
            source = source_of(row)
            if name_of(source) == name:
                return source
    return None


def products(view: LedgerView, source_id: str) -> list[Memory]:
    """The passages of a version, expired ones too; its summary is none of them."""
    return _memories(view, _PRODUCTS, (id_bytes(source_id),))


def product_counts(view: LedgerView, namespace: str, versions: Iterable[Source]) -> dict[str, int]:
    """How many passages of each of these versions were not forgotten, expired ones too, by its id;
    nothing where none is left."""
    keys = [id_bytes(one.id) for one in versions]
    rows = view.fetch_in(_PRODUCT_COUNTS, keys, namespace)
    return {id_text("source", id): count for id, count in rows}


def wrongly_ended(view: LedgerView, namespace: str, newest: Iterable[Source]) -> set[str]:
    """Those of these newest versions of which a passage ended because another document lacks it."""
    keys = [id_bytes(one.id) for one in newest]
    rows = view.fetch_in(_WRONGLY_ENDED, keys, namespace)
    return {id_text("source", id) for (id,) in rows}


def unfinished(view: LedgerView, namespace: str, name: DocumentName) -> list[Memory]:
    """Unexpired passages of an import of a document that was interrupted."""
    if name.path is None:
        return []
    return _memories(view, _UNFINISHED, (name.path, namespace, name.scope))


def _memories(view: LedgerView, sql: str, values: Sequence[Any]) -> list[Memory]:
    with store_faults(view.where):
        return [memory_of(row, view.where) for row in fetch(view.connection, sql, values)]
