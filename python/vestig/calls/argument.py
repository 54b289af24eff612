"""Types of arguments. Each type says once how a value is checked, how JSON holds it, and which
schema says so; an argument of it adds its sentence and its flag on the command line.

A declaration has them as annotations of its fields:
`limit: Annotated[int | None, Integer("Most results.", "--limit")] = None`.

Patterns are those of ECMA-262 without flags; times and identifiers are ASCII. A schema says of
which form values are, and forbids none of that form that is taken: rules about the meaning of a
text, such as those by which one is refused as saying too little, are no part of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final

import msgspec

from vestig.arguments import (
    INTEGER_MAX,
    LABEL_CHARS_MAX,
    LIST_ITEMS_MAX,
    SCOPE_CHARS_MAX,
    as_integer,
    as_number,
    check_unicode,
    choice,
    choice_of_names,
    count_argument,
    flag,
    function_argument,
    is_day,
    label,
    parse_time,
    plain_metadata,
    text_argument,
    texts,
    word_of,
)
from vestig.errors import Description, ValidationError, kind_of
from vestig.ids import check_id_prefix, check_namespace, id_of_object
from vestig.json_text import json_in_text
from vestig.language.text_forms import CONTROL_CHARACTERS, normal_form, trimmed
from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import by_caller
from vestig.types import Word

Schema = dict[str, Any]

# What a double holds exactly.
SEED_MAX: Final = INTEGER_MAX
RANDOM: Final = "random"

_SAYS_SOMETHING: Final = r"[^\s\u001c-\u001f\u0085]"
_NOT_BLANK: Final = r"^[^\u0000]*[^\s\u0000\u001c-\u001f\u0085][^\u0000]*$"
_PLAIN: Final = (
    r"^[^\u0000-\u0008\u000e-\u001f]*[^\s\u0000-\u0008\u000e-\u001f\u0085]"
    r"[^\u0000-\u0008\u000e-\u001f]*$"
)
_NO_NUL: Final = r"^[^\u0000]*$"
# On one line, and not as an id begins.
_KEY: Final = r"^(?!mem_)[^\u0000-\u001f\u007f-\u009f\u2028\u2029]+$"
# One text in the place of a list: several words with commas between them, or one name, which has
# none but where a bracket begins a list in JSON.
_ONE_OR_WORDS: Final = r"^[^\u0000]*[^\s,\u0000\u001c-\u001f\u0085][^\u0000]*$"
_LIST_IN_TEXT: Final = r"\s*\[[^\u0000]*"
_ONE_NAME: Final = rf"^(?:{_LIST_IN_TEXT}|[^,\u0000]*[^\s,\u0000\u001c-\u001f\u0085][^,\u0000]*)$"
_DAY: Final = (
    r"(?:(?!0000)[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    r"|(?!0000)(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)
_CLOCK: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?"
_ZONE: Final = r"(?:\s?(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9](?::?[0-5][0-9])?)?))?"
_TIME: Final = rf"^\s*{_DAY}(?:[Tt ]{_CLOCK}{_ZONE})?\s*$"


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a server that its schemas depend on; None = they say nothing of it.

    Attributes:
        dimension: numbers of a vector.
        profiles: names of those that a recall may have.
        entity_types: names of those that an entity may have.
        keys: schemas of the keys of the configuration that one call may set.
    """

    dimension: int | None = None
    profiles: tuple[str, ...] | None = None
    entity_types: tuple[str, ...] | None = None
    keys: Mapping[str, Any] | None = None


NO_FACTS: Final = Facts()


def words_of(kind: type[StrEnum]) -> tuple[str, ...]:
    """The literal words of an enum.

    Example:
        >>> from vestig.types import Role
        >>> words_of(Role)
        ('user', 'assistant', 'tool', 'system')
    """
    return tuple(member.value for member in kind)


def or_null(schema: Mapping[str, Any]) -> Schema:
    """The schema of a value that may be null, which is absent."""
    return {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]}


def one_or_more(
    item: Mapping[str, Any],
    one: Mapping[str, Any] | None = None,
    most: int | None = LIST_ITEMS_MAX,
) -> Schema:
    """The schema of one value (`one`, where it is described otherwise alone), or of a list of at
    most `most`; None = of any number."""
    bound = {} if most is None else {"maxItems": most}
    several = {"type": "array", "items": dict(item), **bound}
    return {"anyOf": [dict(item if one is None else one), several]}


# Types of JSON → what is expected of them.
_EXPECTED: Final[Mapping[str, str]] = {
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "object": "an object",
}


class Argument(msgspec.Struct, frozen=True):
    """One argument. `help` is its one sentence everywhere. `flag` is its option on the command
    line; "" for a positional one, or for none.

    `default` is what the command line gives when the caller names nothing; None leaves the
    argument out, so that the call's own default holds; `default_text` is printed for that one.
    `many`: a positional one that may be repeated; `required`: a positional one that has to be
    there; `stdin`: `-` reads it from standard input. `name` is that of its field.
    """

    help: str
    flag: str = ""
    name: str = ""
    default: Any = None
    default_text: str = ""
    many: bool = False
    required: bool = True
    stdin: bool = False

    # short schema, for clients that put it before a model
    brief: ClassVar[Mapping[str, Any]] = {}
    # only a program can give it
    program_only: ClassVar[bool] = False
    # JSON's null is a value of it, not its absence
    takes_null: ClassVar[bool] = False
    # `auto` stands for a value of it on the command line
    takes_auto: ClassVar[bool] = False

    def check(self, field: str, value: Any) -> Any:
        """The value as the engine uses it.

        Args:
            field: what an error names.

        Raises:
            ValidationError: says what was expected and what came.
        """
        raise NotImplementedError

    @property
    def expected(self) -> str:
        """Return what an error about a missing one says."""
        return _EXPECTED.get(str(self.brief.get("type")), "text")

    def of_json(self, field: str, value: Any) -> Any:
        """A value as a caller in Python would give it, from a decoded one that is not null."""
        return value

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        """The JSON schema of values that are taken."""
        return {}


# --- texts -------------------------------------------------------------------------------------


class Text(Argument, frozen=True, kw_only=True):
    """A text. `blank` = false: a question or some words."""

    blank: bool = True
    brief = {"type": "string"}

    def check(self, field: str, value: Any) -> Any:
        return text_argument(field, value)

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        return {"type": "string"} | ({} if self.blank else {"pattern": _SAYS_SOMETHING})


class Label(Argument, frozen=True, kw_only=True):
    """A text that names something. `trim`: white space around it is none of it; `plain`: it has no
    control characters, and is not blank."""

    chars_max: int = LABEL_CHARS_MAX
    blank: bool = True
    trim: bool = False
    plain: bool = False
    brief = {"type": "string"}

    @property
    def expected(self) -> str:
        return "text" if self.blank else "text that is not blank"

    def check(self, field: str, value: Any) -> Any:
        text = label(field, value, self.chars_max)
        if not self.blank and (text is None or not text.strip()):
            raise ValidationError(field, value, "text that is not blank")
        control = CONTROL_CHARACTERS.search(text or "") if self.plain else None
        if control is not None:
            shown = Description(f"text with U+{ord(control[0]):04X}")
            raise ValidationError(field, shown, "text without control characters")
        return text.strip() if self.trim and text is not None else text

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        pattern = _PLAIN if self.plain else _NO_NUL if self.blank else _NOT_BLANK
        return {"type": "string", "pattern": pattern, "maxLength": self.chars_max}


KEY_CHARS_MAX: Final = 200
_NOT_IN_A_KEY: Final = lazy_pattern("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def key_name(field: str, value: object) -> str:
    """A key in its normal form: what a text is the value of, such as `maria.city`.

    Raises:
        ValidationError: says which rule the value breaks.

    Example:
        >>> key_name("key", "maria.city"), key_name("key", "cafe\u0301")
        ('maria.city', 'caf\xe9')
        >>> key_name("key", "maria\\ncity")
        Traceback (most recent call last):
        ...
        vestig.errors.ValidationError: key: expected a name on one line, without control \
characters, got a key with U+000A
    """
    if not isinstance(value, str):
        raise ValidationError(field, kind_of(value), "text")
    text = check_unicode(field, value)
    if not (name := normal_form(text)):
        raise ValidationError(field, value, "a name that is not blank, such as maria.city")
    control = _NOT_IN_A_KEY.search(text)
    if control is not None:
        shown = Description(f"a key with U+{ord(control[0]):04X}")
        raise ValidationError(field, shown, "a name on one line, without control characters")
    if trimmed(text) != text:
        raise ValidationError(field, value, "a name without white space at its ends")
    if max(len(text), len(name)) > KEY_CHARS_MAX:
        allowed = f"a name of at most {KEY_CHARS_MAX} characters"
        raise ValidationError(field, Description(f"{len(text)} characters"), allowed)
    if name.startswith("mem_"):
        raise ValidationError(field, value, "a name that does not begin as an id does (mem_)")
    return name


class Key(Argument, frozen=True):
    """The name of a value: `key_name`."""

    brief = {"type": "string"}

    @property
    def expected(self) -> str:
        return "a name such as maria.city"

    def check(self, field: str, value: Any) -> Any:
        return key_name(field, value)

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        return {"type": "string", "pattern": _KEY, "maxLength": KEY_CHARS_MAX}


class KeyOrId(Key, frozen=True):
    """A key as it is written, which the value of an item may need, or what begins with `mem_`: an
    id of a memory, or its beginning."""

    def check(self, field: str, value: Any) -> Any:
        if isinstance(value, str) and value.startswith("mem_"):
            return check_id_prefix(field, value, "mem")
        if own := id_of_object(value):
            raise ValidationError(field, kind_of(value), "a key or an id", own)
        key_name(field, value)
        return value

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        return {"anyOf": [super().schema(facts), id_schema("mem")]}


class Profile(Label, frozen=True, kw_only=True):
    """The name of a recall profile."""

    def check(self, field: str, value: Any) -> Any:
        if not isinstance(value, str):
            raise ValidationError(field, value, "the name of a recall profile")
        return check_unicode(field, value)

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        if facts.profiles is None:
            return super().schema(facts)
        return {"type": "string", "enum": list(facts.profiles)}


class Namespace(Argument, frozen=True):
    """The name of a namespace."""

    brief = {"type": "string"}

    def check(self, field: str, value: Any) -> Any:
        return check_namespace(value)

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        return {"type": "string", "pattern": r"^(?!\.{1,2}$)[a-z0-9._-]{1,64}$"}


def id_schema(kind: str) -> Schema:
    prefix = "(?:mem_)?" if kind == "mem" else f"{kind}_"
    return {"type": "string", "pattern": rf"^{prefix}[0-9a-f-]{{8,36}}$"}


class Id(Argument, frozen=True, kw_only=True):
    """The id of a memory, or of an edge, or its beginning. `listed`: the call and the command that
    list what is meant, where not every memory is."""

    kind: str = "mem"
    listed: tuple[str, str] | None = None
    brief = {"type": "string"}

    def check(self, field: str, value: Any) -> Any:
        hint = "" if self.listed is None else f"{by_caller(*self.listed)} lists them"
        return check_id_prefix(field, value, self.kind, hint)

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        return id_schema(self.kind)


class Time(Argument, frozen=True, kw_only=True):
    """A date, a time with or without zone (none: UTC), or a datetime; µs since the epoch. `day_us`:
    how far into a day that is given without a time it lies, so that an end takes in the day."""

    day_us: int = 0

    brief = {"type": "string"}

    @property
    def expected(self) -> str:
        return "a date or a time"

    def check(self, field: str, value: Any) -> Any:
        return parse_time(value, field) + (self.day_us if is_day(value) else 0)

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        return {"type": "string", "pattern": _TIME}


class Choice(Argument, frozen=True, kw_only=True):
    """One of several words, in any case. `otherwise`: what is said of another one."""

    words: type[Word] | tuple[str, ...]
    otherwise: str = ""
    brief = {"type": "string"}

    @property
    def expected(self) -> str:
        return f"one of {', '.join(self.choices)}"

    @property
    def choices(self) -> tuple[str, ...]:
        """The words as they are written."""
        if isinstance(self.words, tuple):
            return self.words
        return tuple(member.value for member in self.words)

    def check(self, field: str, value: Any) -> Any:
        if isinstance(self.words, tuple):
            return word_of(field, value, self.words, by_caller(self.otherwise))
        return choice(field, value, self.words, by_caller(self.otherwise))

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        return {"type": "string", "enum": list(self.choices)}


# --- numbers and truth -------------------------------------------------------------------------


class Integer(Argument, frozen=True, kw_only=True):
    """An integer from `least` to `most`, both inside. Without `most`, more than any store holds is
    fine, and is cut to a number that every layer can hold."""

    least: int = 1
    most: int | None = None
    brief = {"type": "integer"}

    def check(self, field: str, value: Any) -> Any:
        return count_argument(field, value, least=self.least, most=self.most)

    def of_json(self, field: str, value: Any) -> Any:
        value = with_integers(value)
        if type(value) is int and not -INTEGER_MAX <= value <= INTEGER_MAX:
            raise ValidationError(
                field, Description("a larger one"), "an integer of at most 53 bits"
            )
        return value

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        most = INTEGER_MAX if self.most is None else min(self.most, INTEGER_MAX)
        return {"type": "integer", "minimum": self.least, "maximum": most}


class Number(Argument, frozen=True, kw_only=True):
    """A finite number from `least` to `most`, both inside. `otherwise`: what is meant, in Python
    and at a command line, by whoever wants no bound."""

    least: float
    most: float | None = None
    otherwise: tuple[str, str] | None = None
    brief = {"type": "number"}

    def check(self, field: str, value: Any) -> Any:
        number = as_number(value)
        most = float("inf") if self.most is None else self.most
        if number is None or not self.least <= number <= most or number > sys.float_info.max:
            allowed = f"a number >= {self.least:g}"
            if self.most is not None:
                allowed = f"a number from {self.least:g} to {self.most:g}"
            hint = "" if self.otherwise is None else f"{by_caller(*self.otherwise)} sets no bound"
            raise ValidationError(field, value, allowed, hint)
        return float(number) + 0.0  # makes -0.0 a plain zero

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        bound = {} if self.most is None else {"maximum": self.most}
        return {"type": "number", "minimum": self.least} | bound


class Flag(Argument, frozen=True):
    """true or false, nothing that merely counts as one."""

    brief = {"type": "boolean"}

    def check(self, field: str, value: Any) -> Any:
        return flag(field, value)

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        return {"type": "boolean"}


class Switch(Flag, frozen=True):
    """A flag that a caller may set to false on the command line too: --x or --no-x."""


class Seed(Argument, frozen=True):
    """An integer, or "random". A number written as text counts, as command lines have it."""

    def check(self, field: str, value: Any) -> Any:
        if value == RANDOM:
            return RANDOM
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 16:
            value = int(value)
        number = as_integer(value)
        if number is None or not 0 <= number <= SEED_MAX:
            raise ValidationError(field, value, f"an integer from 0 to {SEED_MAX}, or random")
        return number

    def of_json(self, field: str, value: Any) -> Any:
        return with_integers(value)

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        number = {"type": "integer", "minimum": 0, "maximum": SEED_MAX}
        return {"anyOf": [number, {"type": "string", "pattern": rf"^(?:{RANDOM}|[0-9]{{1,16}})$"}]}


# --- lists -------------------------------------------------------------------------------------


class Texts(Argument, frozen=True, kw_only=True):
    """One text, or a list of them; on the command line one text each time. `choices`: of these
    words only; `filled`: a list has to hold one."""

    choices: tuple[str, ...] = ()
    chars_max: int = SCOPE_CHARS_MAX
    filled: bool = False
    # whether `check` limits how many and how long they are
    limited: ClassVar[bool] = True
    brief = {"type": ["array", "string"], "items": {"type": "string"}}

    @property
    def expected(self) -> str:
        return "text or a list of texts"

    def check(self, field: str, value: Any) -> Any:
        if self.choices:
            return choice_of_names(field, value, self.choices)
        return texts(field, value, self.chars_max)

    def of_json(self, field: str, value: Any) -> Any:
        """A list that stands in a text as JSON, as language models send it, is one.

        Raises:
            ValidationError: a text with a comma, which may be one name or several.
        """
        if not isinstance(value, str):
            return value
        inner = json_in_text(value, list)
        if inner is not None or "," not in value:
            return value if inner is None else inner
        return self._of_commas(field, value)

    def _of_commas(self, field: str, value: str) -> Any:
        raise ValidationError(
            field,
            Description("a text with a comma"),
            "a list",
            "it may be one or several: give a list of one, or of each",
        )

    def _item(self) -> Schema:
        return {"type": "string", "pattern": _NOT_BLANK, "maxLength": self.chars_max}

    def _alone(self) -> Schema:
        return {"type": "string", "pattern": _ONE_NAME, "maxLength": self.chars_max}

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        most = LIST_ITEMS_MAX if self.limited else None
        if self.choices:
            return one_or_more({"type": "string", "enum": list(self.choices)}, most=most)
        item, alone = self._item(), self._alone()
        if not self.limited:
            item.pop("maxLength", None)
            alone.pop("maxLength", None)
        found = one_or_more(item, alone, most)
        if self.filled:
            found["anyOf"][1]["minItems"] = 1
        return found


def words_of_text(value: Any) -> Any:
    """Words that stand in one text, with commas between them or as a list in JSON, as a list;
    anything else as it is.

    Example:
        >>> words_of_text("infra, crane"), words_of_text('["a,b"]'), words_of_text(["a,b"])
        (['infra', 'crane'], ['a,b'], ['a,b'])
    """
    if not isinstance(value, str):
        return value
    inner = json_in_text(value, list)
    if inner is not None or "," not in value:
        return value if inner is None else inner
    return [word for part in value.split(",") if (word := part.strip())]


class Words(Texts, frozen=True, kw_only=True):
    """Texts that are words without commas: a text with commas is several, a,b,c."""

    def check(self, field: str, value: Any) -> Any:
        return super().check(field, words_of_text(value))

    def _of_commas(self, field: str, value: str) -> Any:
        return words_of_text(value)

    def _alone(self) -> Schema:
        return {"type": "string", "pattern": _ONE_OR_WORDS, "maxLength": self.chars_max}


class Tags(Words, frozen=True, kw_only=True):
    """Words that are compared without case: of those that differ in it alone the first counts."""

    def check(self, field: str, value: Any) -> Any:
        found = super().check(field, value)
        return found if found is None else without_twins(found)


def without_twins(tags: Iterable[str], known: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the tags of which none is another one, or a known one, in other case.

    Example:
        >>> without_twins(["Infra", "infra", "crane"], known=["Crane"])
        ('Infra',)
    """
    seen = {normal_form(tag).casefold() for tag in known}
    found = []
    for tag in tags:
        name = normal_form(tag).casefold()
        if name not in seen:
            seen.add(name)
            found.append(tag)
    return tuple(found)


class Ids(Words, frozen=True, kw_only=True):
    """Ids of memories, or their beginnings. `unordered`: a set or another iterable will do."""

    unordered: bool = False

    def check(self, field: str, value: Any) -> Any:
        if isinstance(value, str):
            value = [value]
        if self.unordered and isinstance(value, Iterable) and not isinstance(value, Mapping):
            value = list(value)
        if not isinstance(value, (list, tuple)):
            hint = id_of_object(value)
            raise ValidationError(field, kind_of(value), "a list of memory ids", hint)
        if self.filled and not value:
            raise ValidationError(field, value, "an id or a list of ids")
        if len(value) > LIST_ITEMS_MAX:
            raise ValidationError(
                field, Description(f"{len(value)} ids"), f"at most {LIST_ITEMS_MAX} ids"
            )
        ids = (check_id_prefix(f"{field}[{at}]", item, "mem") for at, item in enumerate(value))
        return tuple(dict.fromkeys(ids))

    def _item(self) -> Schema:
        return id_schema("mem")

    def _alone(self) -> Schema:
        return id_schema("mem")


class Numbers(Argument, frozen=True):
    """A vector; the call knows how long it has to be."""

    def check(self, field: str, value: Any) -> Any:
        return value

    def of_json(self, field: str, value: Any) -> Any:
        inner = json_in_text(value, list) if isinstance(value, str) else None
        found = value if inner is None else inner
        if not isinstance(found, list) or not all(as_number(one) is not None for one in found):
            raise ValidationError(field, kind_of(found), "a list of numbers")
        return found

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        number = {"type": "number", "minimum": -1e6, "maximum": 1e6}
        size = facts.dimension
        bounds = {} if size is None else {"minItems": size, "maxItems": size}
        return {"type": "array", "items": number} | bounds


# --- objects -----------------------------------------------------------------------------------


_SCALAR: Final = {
    "anyOf": [
        {"type": ["string", "boolean", "null"]},
        {"type": "integer", "minimum": -(2**53), "maximum": 2**53},
        {"type": "number"},
    ]
}
JSON_VALUES: Final = {
    "anyOf": [
        *_SCALAR["anyOf"],
        {"type": "array", "items": _SCALAR},
        {"type": "object", "additionalProperties": _SCALAR},
    ]
}


class Object(Argument, frozen=True):
    """One object; of the call's own kind."""

    brief = {"type": "object"}

    def check(self, field: str, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValidationError(field, kind_of(value), "an object")
        return value

    def of_json(self, field: str, value: Any) -> Any:
        inner = json_in_text(value, dict) if isinstance(value, str) else None
        found = value if inner is None else inner
        if not isinstance(found, dict):
            raise ValidationError(field, kind_of(found), "an object")
        return found

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        return {"type": "object"}


class Keys(Object, frozen=True):
    """Keys of the configuration."""

    def of_json(self, field: str, value: Any) -> Any:
        return with_integers(super().of_json(field, value))

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        if facts.keys is None:
            return {"type": "object"}
        return {"type": "object", "properties": dict(facts.keys), "additionalProperties": False}


class Pairs(Object, frozen=True):
    """JSON values by name; on the command line NAME=VALUE each time."""

    def check(self, field: str, value: Any) -> Any:
        return plain_metadata(value)

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        return {
            "type": "object",
            "propertyNames": {"not": {"enum": ["source", "structured", "tags"]}},
            "additionalProperties": JSON_VALUES,
        }


class Objects(Argument, frozen=True, kw_only=True):
    """A list of objects; of the call's own kind."""

    brief = {"type": "array", "items": {"type": "object"}}

    @property
    def expected(self) -> str:
        return "a list of objects"

    def check(self, field: str, value: Any) -> Any:
        return value

    def of_json(self, field: str, value: Any) -> Any:
        inner = json_in_text(value, list) if isinstance(value, str) else None
        found = value if inner is None else inner
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise ValidationError(field, kind_of(found), "a list of objects")
        return found

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        return dict(self.brief)


# --- of programs -------------------------------------------------------------------------------


class Port(Argument, frozen=True):
    """An object of a program, such as an embedder or an open file."""

    program_only = True

    def check(self, field: str, value: Any) -> Any:
        return value


class Function(Port, frozen=True):
    """A function of a program."""

    def check(self, field: str, value: Any) -> Any:
        function_argument(field, value)
        return value


def with_integers(value: Any) -> Any:
    """The value with whole numbers as integers: JSON has one kind of number, and 3.0 is 3."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: with_integers(item) for name, item in value.items()}
    return value
