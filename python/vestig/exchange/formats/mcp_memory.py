"""The file of the MCP memory server: entities with observations, and relations between them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from vestig.arguments import relation_label
from vestig.errors import ValidationError
from vestig.exchange.file_records import Record, RecordFile, Unreadable
from vestig.exchange.formats.drafts import (
    FROM_FILE,
    Draft,
    Found,
    Link,
    Reading,
    list_of,
    present,
    refused,
)
from vestig.exchange.inputs import WITHOUT_NAME

_HASH_DIGITS: Final = 32
_UNTYPED: Final = "CONCEPT"
_OF_ENTITIES: Final = ("type", "name", "entityType", "observations")
_OF_RELATIONS: Final = ("type", "from", "to", "relationType")

# Names that its records have.
KEYS: Final = frozenset(("entityType", "observations", "relationType", "from", "to", "name"))


def recognises(record: dict[str, Any]) -> bool:
    """Return whether this is an entity or a relation of the server, or its whole graph."""
    if _is_graph(record):
        return True
    kind = record.get("type")
    return (kind == "entity" and "name" in record and "observations" in record) or (
        kind == "relation" and "from" in record and "to" in record
    )


def read(file: RecordFile, reading: Reading) -> Iterator[Found]:
    """Entities, a note for each observation, and the relations once all entities are known."""
    types: dict[str, str] = {}
    relations: list[Record] = []
    for record in _expanded(file, reading):
        if isinstance(record, Unreadable):
            yield record
            continue
        try:
            if _is_relation(record.value):
                reading.leave_unread(record.value, _OF_RELATIONS, "of a relation")
                relations.append(record)
                continue
            reading.leave_unread(record.value, _OF_ENTITIES, "of an entity")
            found = _entity(record, types, reading.name)
        except ValidationError as error:
            yield refused(record.line, error)
            continue
        yield from found
    for record in relations:
        try:
            yield _relation(record, types)
        except ValidationError as error:
            yield refused(record.line, error)


def _expanded(file: RecordFile, reading: Reading) -> Iterator[Record | Unreadable]:
    """The lines of the file; of a whole graph in one object its entities, then its relations."""
    for record in file.records():
        if isinstance(record, Unreadable) or "type" in record.value:
            yield record
            continue
        kinds = (("entity", "entities"), ("relation", "relations"))
        if not _is_graph(record.value):
            yield record
            continue
        reading.leave_unread(record.value, [name for _, name in kinds], "beside entities")
        for kind, name in kinds:
            for value in record.value.get(name, ()):
                if isinstance(value, dict):
                    yield Record(record.line, {**value, "type": kind}, record.digest)
                else:
                    yield Unreadable(record.line, f"{name}: expected a list of objects")


def _is_graph(value: dict[str, Any]) -> bool:
    """Return whether this is a whole graph, also one that is cut before its relations."""
    entities, relations = value.get("entities"), value.get("relations")
    if not isinstance(entities, list):
        return False
    first = entities[0] if entities else None
    is_cut = "relations" not in value and isinstance(first, dict) and "observations" in first
    return isinstance(relations, list) or is_cut


def _is_relation(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    if kind not in ("entity", "relation"):
        raise ValidationError("type", None, "", message='no "type" entity or relation')
    return bool(kind == "relation")


def _entity(record: Record, types: dict[str, str], file: str) -> list[Found]:
    name = _name("name", record.value.get("name"))
    given = record.value.get("entityType")
    if given is not None and not isinstance(given, str):
        raise ValidationError("entityType", type(given).__name__, "text")
    kind = (given or "").strip().upper() or _UNTYPED
    found: list[Found] = [Link(line=record.line, name=name, type=kind)]
    for observation in list_of("observations", record.value.get("observations")):
        if not isinstance(observation, str):
            raise ValidationError("observations", type(observation).__name__, "a list of texts")
        if not observation.strip():
            continue
        text = f"{name}: {observation}"
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        arguments = {
            "entities": [{"name": name}],
            "metadata": None if file in WITHOUT_NAME else {FROM_FILE: file},
            "artifact_ref": f"mcp-memory:{digest[:_HASH_DIGITS]}",
        }
        found.append(
            Draft(line=record.line, content=text, arguments=present(arguments), is_whole=False)
        )
    types.setdefault(name, kind)
    return found


def _relation(record: Record, types: dict[str, str]) -> Link:
    ends = [_name(field, record.value.get(field)) for field in ("from", "to")]
    for field, name in zip(("from", "to"), ends, strict=True):
        if name not in types:
            raise ValidationError(field, None, "", message=f'"{field}" is no entity of this file')
    label = record.value.get("relationType")
    if not isinstance(label, str):
        raise ValidationError("relationType", type(label).__name__, "text")
    if ends[0] == ends[1]:
        raise ValidationError("to", None, "", message='"from" and "to" are the same entity')
    return Link(
        line=record.line,
        name=ends[0],
        type=types[ends[0]],
        other=ends[1],
        other_type=types[ends[1]],
        relation=relation_label(label),
    )


def _name(field: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        got = "blank text" if isinstance(value, str) else type(value).__name__
        raise ValidationError(field, got, "a name")
    return " ".join(value.split())
