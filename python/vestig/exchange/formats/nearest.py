"""The nearest format of a file that none knows, and the command that brings it in."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Sequence
from typing import Any, Final, Protocol

from vestig.arguments import parse_time
from vestig.calls.files import ImportFormat
from vestig.errors import ValidationError
from vestig.exchange.file_records import Record, Unreadable, unknown

_KEYS_SHOWN: Final = 12
_KEY_CHARS: Final = 40
# Names that other programs have for what a message holds, the likeliest first.
_TEXTS: Final = ("text", "body", "message", "msg", "note", "fact", "memory", "value", "summary")
_AUTHORS: Final = ("author", "user", "username", "sender", "from", "name")
_TIMES: Final = ("timestamp", "time", "datetime", "date", "created", "created_at", "ts")


class _Row(Protocol):
    @property
    def format(self) -> ImportFormat: ...

    @property
    def keys(self) -> frozenset[str]: ...


def of_record(
    name: str, record: Record, rows: Sequence[_Row], *, is_array: bool
) -> ValidationError:
    """The refusal of a file of JSON objects. Names keys, never a text.

    Args:
        rows: the formats that it may be near to.
        is_array: the objects stand in an array.
    """
    names = [_shown(key) for key in record.value]
    more = f" and {len(names) - _KEYS_SHOWN} more" if len(names) > _KEYS_SHOWN else ""
    keys = ", ".join(names[:_KEYS_SHOWN]) + more if names else "no keys"
    value, way = record.value, ".[]" if is_array else "."
    inner = _list_in(value)
    if inner is not None and _text_key(value) is None:
        way, value = f"{way.rstrip('.') or ''}.{inner[0]}[]", inner[1]
    row = max(rows, key=lambda one: len({key.lower() for key in value} & one.keys))
    shared = sorted({key.lower() for key in value} & row.keys)
    near = f"The nearest is {row.format}, by {', '.join(shared)}. " if shared else ""
    return unknown(
        name, f"line {record.line} has the keys {keys}", near + _command(name, value, way)
    )


def of_text(name: str, header: str, unreadable: Unreadable | None) -> ValidationError:
    """The refusal of a file without JSON objects: a table without a column of texts, or text."""
    for separator in (",", ";", "\t"):
        try:
            columns = next(csv.reader([header], delimiter=separator, strict=True), [])
        except csv.Error:
            continue
        named = [one.strip() for one in columns]
        if len(named) > 1 and all(_is_plain(one) for one in named):
            said = next((one for one in named if one.lower() in _TEXTS), named[-1])
            shown = ", ".join(named[:_KEYS_SHOWN])
            return unknown(
                name,
                f"its header has the columns {shown}",
                f'The nearest is csv: if "{said}" holds the texts, '
                f"`sed '1s/{said}/text/' {shlex.quote(name)} | vestig import --format csv -`"
                " takes them in.",
            )
    seen = "it is empty" if unreadable is None else f"line {unreadable.line}: {unreadable.fact}"
    return unknown(name, f"no JSON object in it ({seen})", "")


def _list_in(value: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The key of the first list of objects, and the first of these."""
    for key, listed in value.items():
        first = listed[0] if isinstance(listed, list) and listed else None
        if isinstance(first, dict) and _is_plain(key):
            return key, first
    return None


def _command(name: str, value: dict[str, Any], way: str) -> str:
    said = _text_key(value)
    if said is None:
        return (
            "None of its keys holds a text: import needs one JSON object a line with its text under"
            ' "content", such as {"content": "…"}.'
        )
    fields = {"content": said}
    author = next((key for key in _AUTHORS if _is_text(value, key) and key != said), None)
    time = next((key for key in _TIMES if _is_time(value.get(key))), None)
    if time is not None:
        fields |= {"timestamp": time} | ({} if author is None else {"author": author})
    made = ", ".join(f"{field}: .{key}" for field, key in fields.items())
    form = "memories" if time is None else "messages"
    program = f"{way} | {{{made}}}" if way != "." else f"{{{made}}}"
    return (
        f'If "{said}" holds the text, `jq -c {shlex.quote(program)} {shlex.quote(name)} |'
        f" vestig import --format {form} -` takes it in."
    )


def _text_key(value: dict[str, Any]) -> str | None:
    """The key that holds the text, as far as names and lengths tell."""
    named = next((key for key in _TEXTS if _is_text(value, key)), None)
    if named is not None:
        return named
    texts = [key for key in value if _is_text(value, key) and _is_plain(key)]
    return max(texts, key=lambda key: len(value[key]), default=None)


def _is_text(value: dict[str, Any], key: str) -> bool:
    return isinstance(value.get(key), str) and bool(value[key].strip())


def _is_time(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        parse_time(value, "time")
    except ValidationError:
        return False
    return True


def _is_plain(name: str) -> bool:
    return name.isidentifier() and name.isascii() and len(name) <= _KEY_CHARS


def _shown(name: str) -> str:
    shown = "".join(char if char.isprintable() else "?" for char in name)
    return shown if len(shown) <= _KEY_CHARS else f"{shown[:_KEY_CHARS]}…"
