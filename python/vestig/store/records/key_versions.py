"""The versions of a key after memories were restored beside others: one is current, and each of
the others holds until the next one begins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

import apsw

from vestig.changes import MemoryPatch
from vestig.ids import id_bytes, id_text, new_id
from vestig.store.integrity import chain
from vestig.store.records import memory_versions
from vestig.store.records.rows import from_json, to_json
from vestig.store.sqlite.lookups import fetch, next_row, select_in
from vestig.store.tables.schema import INDEX, INSERT, columns_sql
from vestig.times import format_us
from vestig.types import EventType, Status

_AT: Final = INDEX["memories"]
_SLOTS: Final = (
    'SELECT DISTINCT namespace, scope, "key" FROM memories'
    ' WHERE "key" IS NOT NULL AND "row" IN (?*)'
)
# Of those that begin at one time the last that was stored holds; a withdrawn one held at no time.
_VERSIONS: Final = (
    f"SELECT {columns_sql('memories')} FROM memories"
    ' WHERE "key" = ?3 AND namespace = ?1 AND scope IS ?2'
    " AND (status <> 'deprecated' OR t_invalid_us IS NOT NULL)"
    ' ORDER BY t_valid_us, t_created_us, "row"'
)


class Moment(NamedTuple):
    """The transaction that writes: its number, its time, and its link."""

    seq: int
    recorded_us: int
    link: chain.Link


class _Change(NamedTuple):
    """A new end of a version, and the version that takes its place."""

    version: tuple[Any, ...]
    end_us: int | None
    successor: tuple[Any, ...] | None


def order_versions(
    conn: apsw.Connection, restored: Collection[int], at: Moment, salt: Callable[[], bytes]
) -> None:
    """Brings the versions of each key of these memories into one order by `t_valid`, together with
    those that were there.

    Args:
        restored: row numbers of memories.
        at: the transaction.
        salt: draws the salt of a row.
    """
    for slot in list(select_in(conn, _SLOTS, sorted(restored))):
        for change in _changes(fetch(conn, _VERSIONS, slot)):
            _write(conn, change, at, salt)


def _value(version: tuple[Any, ...], column: str) -> Any:
    return version[_AT[column]]


def _changes(versions: list[tuple[Any, ...]]) -> Iterator[_Change]:
    """Changes of versions in the order in which they hold."""
    live = [one for one in versions if _value(one, "t_expired_us") is None]
    current = live[-1] if live else None
    for one, following in pairwise(versions):
        if one is current:
            continue
        begins, end = _value(following, "t_valid_us"), _value(one, "t_invalid_us")
        kept = end is not None and end <= begins
        replaced = _value(one, "t_expired_us") is None
        if replaced or not kept:
            yield _Change(one, end if kept else begins, following if replaced else None)


def _write(conn: apsw.Connection, change: _Change, at: Moment, salt: Callable[[], bytes]) -> None:
    old, end_us, successor = change
    row, before = _value(old, "row"), _value(old, "t_invalid_us")
    ended = {
        "t_invalid": None if end_us is None else format_us(end_us),
        "previous_t_invalid": None if before is None else format_us(before),
    }
    columns: dict[str, Any] = {"t_invalid_us": end_us}
    if successor is None:
        kind = EventType.UPDATE
        payload: dict[str, Any] = {
            "old": {"t_invalid": ended["previous_t_invalid"]},
            "new": {"t_invalid": ended["t_invalid"]},
        }
    else:
        kind = EventType.SUPERSEDE
        id = id_text("mem", _value(successor, "id"))
        columns |= {"status": Status.SUPERSEDED, "superseded_by": id}
        payload = {"superseded_by": id, "reason": "key"}
        values = (
            salt(), next_row(conn, "supersessions"), _value(successor, "row"), row, "key",
            at.recorded_us, at.seq,
        )  # fmt: skip
        conn.execute(INSERT["supersessions"], values)
        at.link.wrote("supersessions", values)
    patch = MemoryPatch(
        memory_id=id_text("mem", _value(old, "id")),
        columns=columns,
        expired=successor is not None,
        bump_version=successor is None,
    )
    rows = {} if successor is None else {columns["superseded_by"]: _value(successor, "row")}
    new = memory_versions.patched_row(
        old, patch, seq=at.seq, recorded_us=at.recorded_us, row_of=rows.__getitem__
    )
    sets = ", ".join(f'"{name}" = ?' for name in _AT)
    conn.execute(f'UPDATE memories SET {sets} WHERE "row" = ?', (*new, row))
    at.link.replaced("memories", old, new)
    at.link.touched.add(row)
    base = {
        "content_hash": _value(old, "content_hash").hex(),
        "tags": from_json(_value(old, "metadata")).get("tags", []),
        "artifact_ref": None,
    }
    event = (
        salt(), next_row(conn, "events"), id_bytes(new_id("evt")), row, at.seq, at.recorded_us,
        kind.value, at.recorded_us, "import", None, None, to_json(base | payload | ended),
    )  # fmt: skip
    conn.execute(INSERT["events"], event)
    at.link.wrote("events", event)
