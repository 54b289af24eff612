"""SQL of a `Listing`: one page of memories, or their number."""

from __future__ import annotations

from typing import Any, Final

import apsw

from vestig.errors import ValidationError
from vestig.store.records.rows import MEMORY_SELECT, to_json
from vestig.store.records.values import Listing
from vestig.types import Status

# Row of a memory → its end as known at an earlier moment, where it was written after it.
KnownEnds = dict[int, int | None]

_ORDER: Final[dict[str, tuple[str, ...]]] = {
    "created_at": ("m.t_created_us",),
    "last_seen_at": ("m.last_seen_us",),
    "access_count": ("IFNULL(a.access_count, 0)",),
    "last_accessed_at": ("a.last_accessed_us",),
    "t_valid": ("m.t_valid_us",),
    "session": ("m.session_id", "m.sequence", "m.t_valid_us"),
}
# In whichever direction, notes outside any conversation and turns without a position come last.
_LAST: Final = ("m.session_id", "m.sequence")
_FEW: Final = 1_000
_ACCESS: Final = ("access_count", "last_accessed_at")
# `known_ends` has the end as known at the earlier moment, for memories whose end was written after
# it.
_ENDS: Final = "(SELECT CAST(key AS INTEGER) AS memory, value AS t FROM json_each(?)) AS known_ends"


class _Where:
    """Conditions and their values, in step."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.values: list[Any] = []

    def add(self, condition: str, *values: Any) -> None:
        self.parts.append(condition)
        self.values.extend(values)


def page_sql(namespace: str, listing: Listing, ends: KnownEnds) -> tuple[str, list[Any]]:
    """Statement and values of one page.

    Raises:
        ValidationError: an unknown order.
    """
    if listing.order_by not in _ORDER:
        raise ValidationError("order_by", listing.order_by, f"one of {', '.join(_ORDER)}")
    joins, where = _conditions(namespace, listing, ends)
    direction = "DESC" if listing.descending else "ASC"
    limit = -1 if listing.limit is None else listing.limit
    keys = [
        f"{column} {direction}{' NULLS LAST' if column in _LAST else ''}"
        for column in _ORDER[listing.order_by]
    ]
    order = f" ORDER BY {', '.join(keys)}, m.id"
    if listing.order_by in _ACCESS:
        joins = f' LEFT JOIN access a ON a.memory = m."row"{joins}'
    # Sorting row numbers is cheaper than sorting whole memories.
    page = (
        f'SELECT m."row" FROM memories m{joins} WHERE {" AND ".join(where.parts)}{order}'
        " LIMIT ? OFFSET ?"
    )
    sql = f'{MEMORY_SELECT} WHERE m."row" IN ({page}){order}'
    return sql, [*where.values, limit, listing.offset]


def ids_sql(namespace: str, listing: Listing, ends: KnownEnds) -> tuple[str, list[Any]]:
    """Statement and values of the ids of a full listing, ascending."""
    joins, where = _conditions(namespace, listing, ends)
    sql = f"SELECT m.id FROM memories m{joins} WHERE {' AND '.join(where.parts)} ORDER BY m.id"
    return sql, where.values


def count_sql(namespace: str, listing: Listing, ends: KnownEnds) -> tuple[str, list[Any]]:
    """Statement and values of the number of a full listing."""
    joins, where = _conditions(namespace, listing, ends)
    sql = f"SELECT COUNT(*) FROM memories m{joins} WHERE {' AND '.join(where.parts)}"
    return sql, where.values


def _conditions(namespace: str, listing: Listing, ends: KnownEnds) -> tuple[str, _Where]:
    where = _Where()
    joins = ""
    t_invalid = "m.t_invalid_us"
    if ends:
        joins = f' LEFT JOIN {_ENDS} ON known_ends.memory = m."row"'
        where.values.append(to_json({str(row): end for row, end in ends.items()}))
        t_invalid = (
            "(CASE WHEN known_ends.memory IS NULL THEN m.t_invalid_us ELSE known_ends.t END)"
        )
    # A few ids are looked up one by one; for many the namespace is read in its order.
    few = listing.ids is not None and len(listing.ids) <= _FEW
    where.add("+m.namespace = ?" if few else "m.namespace = ?", namespace)
    if listing.kinds is not None:
        kinds = [kind.value for kind in listing.kinds]
        where.add(f"m.kind IN ({_placeholders(len(kinds))})", *kinds)
    if listing.retention_policies is not None:
        policies = [policy.value for policy in listing.retention_policies]
        where.add(f"m.retention_policy IN ({_placeholders(len(policies))})", *policies)
    if listing.ids is not None:
        if listing.ids:
            where.add("m.id IN (SELECT value FROM carray(?))", apsw.carray(listing.ids))
        else:
            where.add("0")
    if listing.pinned is not None:
        where.add("m.pinned = ?", int(listing.pinned))
    _add_time(where, listing, t_invalid)
    return joins, where


def _add_time(where: _Where, listing: Listing, t_invalid: str) -> None:
    known, valid = listing.known_at_us, listing.valid_at_us
    if known is not None:
        where.add("m.t_created_us <= ?", known)
    if valid is not None:
        where.add(f"m.t_valid_us <= ? AND ({t_invalid} IS NULL OR {t_invalid} > ?)", valid, valid)
    if listing.statuses is None:
        return
    words = [status.value for status in listing.statuses]
    wanted = f"IN ({_placeholders(len(words))})"
    if known is None:
        status, values = f"m.status {wanted}", list[Any](words)
    else:
        # The status at the earlier moment: whatever expired later was still active or archived.
        status = (
            "(CASE WHEN m.t_expired_us IS NULL OR m.t_expired_us <= ? THEN m.status"
            f" ELSE 'active' END) {wanted}"
        )
        values = [known, *words]
    if valid is not None and Status.ACTIVE in listing.statuses:
        # An expired fact with an end stays true history.
        status += f" OR (m.t_expired_us IS NOT NULL AND {t_invalid} IS NOT NULL)"
    where.add(f"({status})", *values)


def _placeholders(count: int) -> str:
    return ",".join("?" * count)
