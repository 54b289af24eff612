"""`export`: the records of a namespace, or of all, as JSON lines."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import IO, Any

import msgspec

from vestig.arguments import flag, parse_time, path_argument
from vestig.calls.filter import Filter
from vestig.errors import ValidationError
from vestig.filters import filter_parts, moments
from vestig.memories.states import ids_of
from vestig.session.session import Session
from vestig.store.portable.export import ExportCounts
from vestig.store.portable.export import export as write_export
from vestig.times import format_us


def export(
    session: Session,
    target: str | os.PathLike[str] | IO[str],
    *,
    where: Filter,
    all_namespaces: bool,
) -> ExportCounts:
    """Writes the store's namespace, or all; how many records of each kind were written.

    Args:
        where: a checked filter; one without a field is no filter.

    Raises:
        ValidationError: a target that is neither a path nor an open file.
        StoreDamagedError: the ledger is not what was written.
    """
    flag("all_namespaces", all_namespaces)
    if not isinstance(target, (str, os.PathLike)) and not hasattr(target, "write"):
        raise ValidationError("target", type(target).__name__, "a file's path, or an open file")
    if all_namespaces and where.given():
        raise ValidationError("where", "both", "a filter or all_namespaces")
    with session.operation("export"):
        namespace = None if all_namespaces else session.namespace
        if isinstance(target, (str, os.PathLike)):
            place: Path | IO[str] = Path(path_argument("target", target))
        else:
            place = target
        given = where.given()
        if not given:
            return write_export(session.ledger, place, namespace=namespace)
        chosen = _chosen(session, where)
        fields = {name: _plain(value) for name, value in given.items()}
        return write_export(
            session.ledger, place, namespace=namespace, memory_ids=chosen, where=fields
        )


def _plain(value: Any) -> Any:
    """A field of a checked filter as JSON."""
    if isinstance(value, date):
        return format_us(parse_time(value, "where"))
    return msgspec.to_builtins(value, order="deterministic")


def _chosen(session: Session, where: Filter) -> list[str]:
    """Ids of the memories that the filter lets through."""
    return ids_of(session, filter_parts(where, session.namespace, moments(session.now_us())))
