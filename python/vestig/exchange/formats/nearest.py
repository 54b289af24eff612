"""Files that no format knows: what was seen in them, and the command that brings their texts in.

A field is only named as the text where its values in the file are sentences, and as a time, a role
or an author where its values are those of one.
"""

from __future__ import annotations

import csv
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from vestig.arguments import parse_time
from vestig.errors import ValidationError
from vestig.exchange.file_records import Record, RecordFile, Unreadable, unknown
from vestig.exchange.formats.openai_chat import ROLES
from vestig.exchange.formats.table_dates import time_rank
from vestig.exchange.inputs import shell_word
from vestig.language.text_forms import first_of
from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import by_caller, is_request

_KEYS_SHOWN: Final = 12
_OTHERS_SHOWN: Final = 5
_KEY_CHARS: Final = 40
_LEVELS_MAX: Final = 4
_OBJECTS_MAX: Final = 200
# Words that the values of a text have, and those of a name have at most, on average.
_SENTENCE_WORDS: Final = 3
_NAME_WORDS: Final = 4
# Names that other programs have for what a message holds, and for who wrote it, the likeliest
# first; a "name" is that of the author only where something was said at a time.
_TEXTS: Final = (
    "content", "text", "body", "message", "msg", "note", "fact", "memory", "value", "summary",
)  # fmt: skip
_AUTHORS: Final = (
    "author", "user", "username", "user_name", "sender", "speaker", "from", "name",
)  # fmt: skip
# Names for the times between which a fact holds.
_BEGINS: Final = ("t_valid", "valid_at", "valid_from")
_ENDS: Final = ("t_invalid", "invalid_at", "valid_to", "valid_until")
# How relations are named: WORKS_AT.
_RELATION: Final = lazy_pattern(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_ROLE_FIELDS: Final = ("role", "role_type", "type", "kind", "sender", "author", "speaker", "from")
_SECONDS: Final = lazy_pattern(r"[12]\d{9}(?:\.\d+)?")
_MILLISECONDS: Final = lazy_pattern(r"[12]\d{12}")
_WANTED: Final = (
    'import needs one JSON object a line with its text under "content", such as {"content": "…"}.'
)
# Files of other programs that hold records of no memory.
_NOT_READ: Final = {
    "calendars": ("ics", "ical", "ifb"),
    "address books": ("vcf", "vcard"),
}


class _Place(NamedTuple):
    """Objects of a file, and the way of jq to each of them."""

    way: str
    objects: list[dict[str, Any]]


class _Texts(NamedTuple):
    """The field that holds the texts of a place, as jq names it without the first point; `said`:
    the characters of all."""

    place: _Place
    field: str
    said: int


def unknown_records(
    file: RecordFile, records: Sequence[Record], keys_of: Mapping[str, Collection[str]]
) -> ValidationError:
    """The refusal of a file of JSON objects. Names keys, never a text.

    Args:
        records: the first of them.
        keys_of: the keys of the formats that it may be near to, by name.
    """
    first = records[0]
    names = [_shown(key) for key in first.value]
    more = f" and {len(names) - _KEYS_SHOWN} more" if len(names) > _KEYS_SHOWN else ""
    keys = ", ".join(names[:_KEYS_SHOWN]) + more
    own = {key.lower() for key in first.value}
    near = max(keys_of, key=lambda name: len(own & {*keys_of[name]}))
    shared = sorted(own & {*keys_of[near]})
    hint = f"The nearest is {near}, by {', '.join(shared)}. " if len(shared) > 1 else ""
    way = ".[]" if file.begins_with(b"[") else "."
    place = _Place(way, [record.value for record in records])
    texts = sorted(_texts(place, _LEVELS_MAX), key=lambda one: one.said, reverse=True)
    lead = f"None of its fields holds sentences: {_WANTED}"
    hint += f"{_command(file.given, texts[0])}{_others(texts)}" if texts else lead
    has = f"the keys {keys}" if names else "no keys"
    return unknown(file.name, f"line {first.line} has {has}", hint)


def unknown_text(
    file: RecordFile, header: str, unreadable: Unreadable | None, *, lines: int
) -> ValidationError:
    """The refusal of a file without JSON objects: a table without a column of texts, or text.

    Args:
        header: its first line.
        lines: how many it has that are not blank.
    """
    name, given = file.name, file.given
    for separator in (",", ";", "\t"):
        try:
            columns = next(csv.reader([header], delimiter=separator, strict=True), [])
        except csv.Error:
            continue
        named = [one.strip() for one in columns]
        if len(named) > 1 and all(_is_plain(one) for one in named):
            shown = ", ".join(named[:_KEYS_SHOWN])
            typed = f"`vestig import --format csv {shell_word(given)}`"
            way = by_caller('format="csv"', typed, "format=csv")
            return unknown(
                name,
                f"its header has the columns {shown}",
                f'The nearest is csv: {way} takes each row as the text of its columns, "column:'
                ' value".',
            )
    ending = name.rpartition(".")[2].lower()
    kind = next((kind for kind, endings in _NOT_READ.items() if ending in endings), "")
    if kind:
        lead = f"{kind.capitalize()} are not read: {_WANTED}"
        return unknown(name, f"the ending .{ending} is that of {kind}", lead)
    if unreadable is None:
        return unknown(name, "it is empty", "An empty file brings nothing.")
    seen, hint = f"line {unreadable.line}: {unreadable.fact}", ""
    if lines > 1:
        word = shell_word(given)
        of_file = "" if word == "-" else f" {word}"
        lines_of = f"jq -cR '{{content: .}}'{of_file}"
        hint = by_caller(
            f"`vestig import --format document {word}` reads it as one document, `{lines_of} |"
            " vestig import --format memories -` each line as a memory.",
            request="format=document reads it as one document; as a body with format=memories, what"
            f" `{lines_of}` makes of it has each line as a memory.",
        )
    return unknown(name, f"no JSON object in it ({seen})", hint)


# --- where the texts are ----------------------------------------------------------------------


def _texts(place: _Place, levels: int) -> Iterator[_Texts]:
    """The fields that hold sentences, one of each place: that of the objects, then those of the
    lists of objects in them."""
    found = _text_field(place)
    if found is not None:
        yield found
    if levels == 0:
        return
    for way, objects in _inner(place.objects, place.way.rstrip("."), levels):
        yield from _texts(_Place(f"{way}[]", objects[:_OBJECTS_MAX]), levels - 1)


def _inner(
    objects: Sequence[dict[str, Any]], way: str, levels: int
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(way, objects) of the lists of objects in some objects, and in objects in those."""
    for key in {key: None for one in objects for key in one if _is_plain(key)}:
        values = [one[key] for one in objects if key in one]
        listed = [
            inner
            for value in values
            for inner in (value if isinstance(value, list) else ())
            if isinstance(inner, dict)
        ]
        if listed:
            yield f"{way}.{key}", listed
        inside = [value for value in values if isinstance(value, dict)]
        if inside and levels > 1:
            yield from _inner(inside, f"{way}.{key}", levels - 1)


def _text_field(place: _Place) -> _Texts | None:
    best: tuple[bool, float, _Texts] | None = None
    for field, values in _fields(place.objects, _LEVELS_MAX).items():
        texts = [one for one in values if isinstance(one, str) and one.strip()]
        words = sum(len(one.split()) for one in texts)
        if 2 * len(texts) <= len(place.objects) or words < _SENTENCE_WORDS * len(texts):
            continue
        said = sum(map(len, texts))
        known = _last(field) in _TEXTS
        one = (known, said / len(texts), _Texts(place, field, said))
        if best is None or one[:2] > best[:2]:
            best = one
    return None if best is None else best[2]


def _fields(objects: Sequence[dict[str, Any]], levels: int) -> dict[str, list[Any]]:
    """The values of each field, also of objects in the objects: `data.content`."""
    found: dict[str, list[Any]] = {}
    for one in objects:
        for key, value in one.items():
            if not _is_plain(key):
                continue
            if not isinstance(value, dict):
                found.setdefault(key, []).append(value)
            elif levels > 1:
                for inner, values in _fields([value], levels - 1).items():
                    found.setdefault(f"{key}.{inner}", []).extend(values)
    return found


def _last(field: str) -> str:
    return field.rpartition(".")[2].lower()


# --- what jq makes of them --------------------------------------------------------------------


def _others(texts: Sequence[_Texts]) -> str:
    """Names the places of other texts, of which the command takes none in."""
    others = [f"{one.place.way.rstrip('.')}.{one.field}" for one in texts[1:]]
    return f" Not in it: {first_of(others, _OTHERS_SHOWN)}." if others else ""


def _command(given: str, texts: _Texts) -> str:
    """The command that takes the texts in, with the times, roles and authors beside them."""
    place, said = texts.place, texts.field
    count = len(place.objects)
    others = {
        field: values
        for field, values in _fields(place.objects, _LEVELS_MAX).items()
        if field != said
    }
    of_all = {field: values for field, values in others.items() if len(values) == count}
    time, made_time = _time(others, count)
    role = next((field for field, values in of_all.items() if _are_roles(field, values)), None)
    held = {} if role is not None else _held(others, time, made_time)
    is_said = not held and (time is not None or role is not None)
    author = _author(others, role, count) if is_said else None
    taken = {"content": (said, f".{said}")} | held
    if time is not None and is_said:
        taken["timestamp"] = (time, made_time)
    if author is not None:
        taken["author" if role is None else "name"] = (author, f".{author}")
    form = "messages" if is_said else "memories"
    if role is not None:
        taken, form = {"role": (role, f".{role}"), **taken}, "openai-chat"
    elif form == "memories" and isinstance(place.objects[0].get("tags"), list):
        taken["tags"] = ("tags", ".tags")
    program = f"{{{', '.join(f'{name}: {made}' for name, (_, made) in taken.items())}}}"
    fields = [field for field, _ in taken.values()]
    keys = {key for one in place.objects for key in one}
    if role is None and keys - {*fields}:
        rest = f"del({', '.join(f'.{field}' for field in fields)})"
        # memories refuse keys that they do not know
        program = f"{f'{{metadata: {rest}}}' if form == 'memories' else rest} + {program}"
    if place.way != ".":
        program = f"{place.way} | {program}"
    days = "; FOLDER/*/*.json in the place of the file takes in all days of a Slack export"
    made = f"jq -c {shlex.quote(program)}"
    way = by_caller(
        f"`{made} {shell_word(given)} | vestig import --format {form} -` takes it in",
        request=f"what `{made}` makes of it is taken in as a body with format={form}",
    )
    more = days if not is_request() and all(map(_is_of_slack, place.objects)) else ""
    return f'If "{said}" holds the text, {way}{more}.'


def _is_of_slack(value: Mapping[str, Any]) -> bool:
    return value.get("type") == "message" and isinstance(value.get("ts"), str)


def _given(values: Sequence[Any]) -> list[Any]:
    """The values that are there: a null is none."""
    return [one for one in values if one is not None]


def _time(fields: Mapping[str, Sequence[Any]], count: int) -> tuple[str | None, str]:
    """The field that says when something was written, in most of so many records, and its time as
    jq makes it."""
    ranked = [(rank, field) for field in fields if (rank := time_rank(_last(field))) is not None]
    for _, field in sorted(ranked):
        made = _made_time(field, fields[field])
        if made and 2 * len(_given(fields[field])) > count:
            return field, made
    return None, ""


def _made_time(field: str, values: Sequence[Any]) -> str:
    """The time of a field as jq makes it, also where it is absent; "" where a value is none."""
    given = _given(values)
    if all(map(_is_time, given)):
        return f".{field}"
    for form, number in ((_SECONDS, "tonumber"), (_MILLISECONDS, "tonumber / 1000")):
        if _are_numbers(given, form):
            return f"(.{field} | if . == null then . else {number} | floor | todate end)"
    return ""


def _held(
    fields: Mapping[str, Sequence[Any]], time: str | None, made_time: str
) -> dict[str, tuple[str, str]]:
    """Argument of a commit → (field, value as jq makes it) of records that say until when their
    fact holds; empty of others."""
    end = _of_names(fields, _ENDS)
    made_end = "" if end is None else _made_time(end, fields[end])
    if end is None or not made_end:
        return {}
    held = {"t_invalid": (end, made_end)}
    begin = _of_names(fields, _BEGINS)
    made_begin = "" if begin is None else _made_time(begin, fields[begin])
    if begin is not None and made_begin:
        # since when it is known, where it does not say since when it holds
        either = f"({made_begin} // {made_time})" if made_time else made_begin
        held["t_valid"] = (begin, either)
    elif time is not None:
        held["t_valid"] = (time, made_time)
    return held


def _of_names(fields: Mapping[str, Sequence[Any]], names: Sequence[str]) -> str | None:
    ranked = [(names.index(_last(field)), field) for field in fields if _last(field) in names]
    return min(ranked)[1] if ranked else None


def _are_numbers(values: Sequence[Any], form: Any) -> bool:
    plain = (isinstance(one, (str, int, float)) and not isinstance(one, bool) for one in values)
    return all(plain) and all(form.fullmatch(str(one)) for one in values)


def _are_roles(field: str, values: Sequence[Any]) -> bool:
    if _last(field) not in _ROLE_FIELDS:
        return False
    return all(isinstance(one, str) and one.strip().lower() in ROLES for one in values)


def _author(fields: Mapping[str, Sequence[Any]], role: str | None, count: int) -> str | None:
    """The field that names who said it, in most of so many records; None where none does."""
    given = {
        field: _given(values)
        for field, values in fields.items()
        if field != role and _last(field) in _AUTHORS
    }
    named = [
        (_AUTHORS.index(_last(field)), field)
        for field, values in given.items()
        if 2 * len(values) > count
        and all(isinstance(one, str) and one.strip() for one in values)
        and sum(len(one.split()) for one in values) <= _NAME_WORDS * len(values)
        and not (_last(field) == "name" and any(map(_RELATION.fullmatch, values)))
    ]
    return min(named)[1] if named else None


def _is_time(value: object) -> bool:
    if not isinstance(value, str) or "-" not in value[1:]:
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
