"""Exports of a store, which are restored as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from vestig.errors import ValidationError
from vestig.exchange.file_records import RecordFile
from vestig.exchange.formats.drafts import Found, Reading

# Names that its records have.
KEYS: Final = frozenset(("schema",))
_SCHEMA: Final = "vestig/export/"


def recognises(record: dict[str, Any]) -> bool:
    """Return whether this is the first line of an export."""
    return str(record.get("schema", "")).startswith(_SCHEMA)


def read(_file: RecordFile, _reading: Reading) -> Iterator[Found]:
    """Raises a ValidationError: beside other files an export is not restored."""
    raise ValidationError("format", "export", "messages or memories; an export is restored")
