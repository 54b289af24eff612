"""Source words of the events that stated texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vestig.ids import id_text
from vestig.store.ledger.projection_rows import STORING_EVENTS
from vestig.store.ledger.reads import LedgerView
from vestig.store.sqlite.faults import store_faults
from vestig.store.sqlite.lookups import known_ids, select_in

_KINDS: Final = ", ".join(f"'{kind}'" for kind in sorted(STORING_EVENTS))
_STATED: Final = (
    'SELECT DISTINCT m.id, e.source FROM memories m JOIN events e ON e.memory = m."row"'
    f" WHERE e.event_type IN ({_KINDS}) AND +m.namespace = ? AND m.id IN (?*)"
)


def stated_sources(view: LedgerView, namespace: str, ids: Sequence[str]) -> dict[str, set[str]]:
    """id → the source words of all events that stated its text, of the known ones."""
    found: dict[str, set[str]] = {}
    with store_faults(view.where):
        keys = tuple(known_ids(ids, "mem"))
        for id, source in select_in(view.connection, _STATED, keys, (namespace,)):
            found.setdefault(id_text("mem", id), set()).add(source)
    return found
