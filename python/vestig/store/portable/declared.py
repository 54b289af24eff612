"""Lines of an export that follow from the declaration of a table alone: one for each row."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, cast

import msgspec

from vestig.store.portable.records import (
    DeclaredRecord,
    HexDigest,
    Integer,
    Namespace,
    Record,
    Seq,
    kind_of,
)
from vestig.store.tables.schema import NODE_TABLES, RECORDS
from vestig.store.tables.table import Column, Shape, Table

_AT_NAMES: Final = {
    "last_seen_us": "last_seen_at",
    "pinned_at_us": "pinned_at",
    "created_us": "created_at",
    "ingested_us": "ingested_at",
    "recorded_us": "recorded_at",
    "occurred_us": "occurred_at",
    "next_attempt_us": "next_attempt_at",
    "updated_us": "updated_at",
    "last_accessed_us": "last_accessed_at",
    "expired_us": "expired_at",
    "forgotten_us": "forgotten_at",
    "stated_us": "stated_at",
    "began_us": "began_at",
    "subject_entity": "subject_id",
    "object_entity": "object_id",
}
_PREFIXES: Final = {table: prefix for prefix, table in NODE_TABLES.items()}
_NOT_IN_A_LINE: Final = frozenset(("salt", "row"))


@cache
def field_name(column: str) -> str:
    """Return the name of a column in an export: times lose their unit, for they are text there.

    Example:
        >>> field_name("t_valid_us"), field_name("recorded_us"), field_name("title")
        ('t_valid', 'recorded_at', 'title')
    """
    return _AT_NAMES.get(column, column.removesuffix("_us"))


def id_fields(table: Table) -> list[tuple[str, str]]:
    """Return the fields of a line that hold an id, with the prefix of it."""
    found = [("id", table.prefix)] if table.prefix is not None else []
    found += [(field_name(one.name), _PREFIXES[one.refers]) for one in table.columns if one.refers]
    return found


def required_fields(table: Table) -> list[str]:
    """Return the fields that name the nodes to which a line belongs."""
    return [field_name(one.name) for one in table.columns if one.refers and not one.null]


def _type_of(column: Column) -> Any:
    if column.refers is not None or column.name == "id" or column.shape is Shape.TIME:
        found: Any = str
    elif column.shape is Shape.JSON:
        found = msgspec.Raw
    elif column.shape is Shape.HEX:
        found = HexDigest
    elif column.shape is Shape.FLAG:
        found = bool
    elif column.name in ("seq", "wseq"):
        found = Seq
    elif column.name == "namespace":
        found = Namespace
    else:
        found = {"INTEGER": Integer, "REAL": float, "TEXT": str, "BLOB": bytes}[column.kind]
    return found | None if column.null else found


def _record_class(table: Table) -> type[DeclaredRecord]:
    fields = [
        (field_name(one.name), _type_of(one))
        for one in table.columns
        if one.name not in _NOT_IN_A_LINE
    ]
    made = msgspec.defstruct(
        f"{table.name}_record",
        fields,
        bases=(DeclaredRecord,),
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        tag_field="record",
        tag=table.record,
    )
    return cast("type[DeclaredRecord]", made)


# Kinds of lines that have a class of their own.
WRITTEN_OUT: Final = tuple(one for one in Record.__args__ if one is not DeclaredRecord)
# The class of a line → the table whose rows it writes, for all others.
DECLARED: Final[dict[type[Record], Table]] = {
    _record_class(table): table
    for kind, table in RECORDS.items()
    if kind not in {kind_of(one) for one in WRITTEN_OUT}
}
