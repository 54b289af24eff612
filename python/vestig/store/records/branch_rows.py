"""Which memories are kept with branches of a project."""

from __future__ import annotations

from vestig.ids import id_text
from vestig.store.records.reads import LedgerView


def scopes_between(view: LedgerView, namespace: str, first: str, end: str) -> list[str]:
    """The scopes of memories from the first on and before the end, in the order of their bytes."""
    sql = (
        "SELECT DISTINCT scope FROM memories WHERE scope IS NOT NULL AND namespace = ?"
        " AND scope >= ? AND scope < ? ORDER BY scope"
    )
    return [scope for (scope,) in view.fetch(sql, (namespace, first, end))]


def unexpired_in(view: LedgerView, namespace: str, scope: str) -> list[str]:
    """Ids of the active and archived memories of a scope, the oldest first."""
    sql = (
        "SELECT id FROM memories WHERE scope IS NOT NULL AND namespace = ? AND scope = ?"
        ' AND t_expired_us IS NULL ORDER BY "row"'
    )
    return [id_text("mem", id) for (id,) in view.fetch(sql, (namespace, scope))]
