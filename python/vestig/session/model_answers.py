"""Answers of language models: the form that is asked for, and a tolerant reading of what comes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, NoReturn, TypeVar, cast

import msgspec

from vestig.json_text import is_too_deep
from vestig.lazy_pattern import lazy_pattern

_T = TypeVar("_T")

_FENCED: Final = lazy_pattern(r"```[A-Za-z0-9_-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_CONTROLS: Final = {n: None for n in (*range(32), 127) if chr(n) not in "\t\n\r"}
# A bracket as JSON goes on behind it; prose has others.
_BEGINNING: Final = lazy_pattern(r"\{\s*[\"}]|\[\s*[\[{\"\]]")
# What a schema of structured output may not hold; the reader checks it.
_BOUNDS: Final = frozenset(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
     "maxLength", "pattern", "minItems", "maxItems", "title", "default", "description")
)  # fmt: skip


class UnreadableAnswerError(Exception):
    """The text is not an answer of the wanted form; says why, without the text."""


class ReadAnswer(NamedTuple):
    """A value, and how many items of its lists were bad and left out."""

    value: Any
    dropped: int


def schema_of(answer: type) -> dict[str, Any] | None:
    """The JSON schema of an answer, in the strict subset that providers take: no bounds, every
    member required, no further members. None for plain text.

    Example:
        >>> class Plan(msgspec.Struct):
        ...     queries: list[str] = []
        >>> schema_of(Plan)["required"], schema_of(str)
        (['queries'], None)
    """
    if answer is str:
        return None
    (whole,), components = msgspec.json.schema_components([answer], ref_template="{name}")
    found = _strict(whole, components)
    return cast(dict[str, Any], found)


def _strict(part: Any, components: Mapping[str, Any]) -> Any:
    if isinstance(part, list):
        return [_strict(inner, components) for inner in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _strict(components[part["$ref"]], components)
    found = {
        name: _strict(inner, components)
        for name, inner in part.items()
        if name not in _BOUNDS and name != "properties"
    }
    if "properties" in part:
        found["properties"] = {
            name: _strict(inner, components) for name, inner in part["properties"].items()
        }
        found["required"] = list(part["properties"])
        found["additionalProperties"] = False
    return found


def read_answer(text: str, answer: type[_T]) -> ReadAnswer:
    """Reads an answer.

    Code fences and text around the JSON are left out. A member for text that holds a list becomes
    `a, b`; other values become text; an object may stand for a list of names and values. A bad item
    of a list is dropped alone. Members that the form does not have are left out.

    Args:
        text: what the model said.
        answer: `str` for plain text, or a msgspec Struct.

    Raises:
        UnreadableAnswerError: empty, no JSON, not of the form, or every item was dropped.

    Example:
        >>> class Plan(msgspec.Struct):
        ...     goal: str
        ...     queries: list[str]
        >>> read_answer('Sure: {"goal": ["a", "b"], "queries": ["x", 5]}', Plan)
        ReadAnswer(value=Plan(goal='a, b', queries=['x']), dropped=1)
    """
    if not text.strip():
        raise UnreadableAnswerError("the answer is empty")
    if answer is str:
        return ReadAnswer(_as_text(text.strip()), 0)
    document = _document(text)
    reader = _Reader()
    info = msgspec.inspect.type_info(answer)
    if isinstance(document, list) and isinstance(info, msgspec.inspect.StructType):
        document = _as_member(document, info)
    value = reader.value(document, info)
    if reader.dropped and not reader.kept:
        raise UnreadableAnswerError(f"all {reader.dropped} items of the answer are bad")
    return ReadAnswer(value, reader.dropped)


def _document(text: str) -> Any:
    """The JSON of a text that may have more in it."""
    if is_too_deep(text):
        raise UnreadableAnswerError("the answer is nested too deep")
    for candidate in _candidates(text.strip()):
        try:
            found, _ = _DECODER.raw_decode(candidate)
        except ValueError:
            continue
        if isinstance(found, (dict, list)):
            return found
    raise UnreadableAnswerError("the answer holds no whole JSON object")


def _candidates(text: str) -> Iterator[str]:
    """Return what stands in code fences, or else what begins like JSON: nothing inside of a
    document is taken for one, so that a cut answer is not read in part."""
    yield from (match.group(1).strip() for match in _FENCED.finditer(text))
    begin = _BEGINNING.search(text)
    if begin is not None:
        yield text[begin.start() :]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UnreadableAnswerError("the answer names a member twice")
    return found


def _constant(_: str) -> NoReturn:
    raise UnreadableAnswerError("the answer holds NaN or infinity")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, strict=False)


def _as_member(items: list[Any], info: msgspec.inspect.StructType) -> Any:
    """A bare list as the one list that the form has."""
    lists = [f for f in info.fields if isinstance(f.type, _LISTS)]
    return {lists[0].encode_name: items} if len(lists) == 1 else items


_LISTS: Final = (msgspec.inspect.ListType, msgspec.inspect.VarTupleType)


class _Reader:
    """Reads a document as a type, and counts items that were kept and dropped."""

    def __init__(self) -> None:
        self.kept = 0
        self.dropped = 0

    def value(self, given: Any, info: msgspec.inspect.Type) -> Any:
        if isinstance(info, msgspec.inspect.StructType):
            return self._struct(given, info)
        if isinstance(info, _LISTS):
            items = self._items(given, info.item_type)
            return items if isinstance(info, msgspec.inspect.ListType) else tuple(items)
        if isinstance(info, msgspec.inspect.StrType):
            return _as_text(given)
        if isinstance(info, msgspec.inspect.UnionType):
            return self._union(given, info)
        return _scalar(given, info)

    def _union(self, given: Any, info: msgspec.inspect.UnionType) -> Any:
        arms = [arm for arm in info.types if not isinstance(arm, msgspec.inspect.NoneType)]
        if given is None and len(arms) < len(info.types):
            return None
        fault: UnreadableAnswerError | None = None
        for arm in arms:
            try:
                return self.value(given, arm)
            except UnreadableAnswerError as error:
                fault = error
        raise fault or UnreadableAnswerError("a member has a value of a wrong type")

    def _struct(self, given: Any, info: msgspec.inspect.StructType) -> Any:
        if not isinstance(given, Mapping):
            raise UnreadableAnswerError(f"expected an object, got {_kind(given)}")
        values: dict[str, Any] = {}
        for field in info.fields:
            inner = given.get(field.encode_name)
            if inner is not None:
                try:
                    values[field.name] = self.value(inner, field.type)
                except UnreadableAnswerError as error:
                    if field.required:
                        raise UnreadableAnswerError(f"{field.encode_name}: {error}") from None
            elif field.required:
                if not _takes_none(field.type):
                    raise UnreadableAnswerError(f"{field.encode_name}: it is missing")
                values[field.name] = None
        return info.cls(**values)

    def _items(self, given: Any, info: msgspec.inspect.Type) -> list[Any]:
        found = []
        plain = isinstance(info, msgspec.inspect.StrType)
        if isinstance(given, Mapping) and _is_pair(info):
            given = [{"name": k, "value": v} for k, v in given.items() if v is not None]
        for item in given if isinstance(given, list) else [given]:
            try:
                if plain and not isinstance(item, str):
                    raise UnreadableAnswerError("expected text")
                found.append(self.value(item, info))
                self.kept += 1
            except UnreadableAnswerError:
                self.dropped += 1
        return found


def _is_pair(info: msgspec.inspect.Type) -> bool:
    """Return whether a form has a name and a value alone, so that an object may stand for a list of
    it."""
    if not isinstance(info, msgspec.inspect.StructType):
        return False
    return {field.encode_name for field in info.fields} == {"name", "value"}


def _takes_none(info: msgspec.inspect.Type) -> bool:
    return isinstance(info, msgspec.inspect.UnionType) and any(
        isinstance(arm, msgspec.inspect.NoneType) for arm in info.types
    )


def _as_text(given: Any) -> str:
    if isinstance(given, str):
        text = given
    elif isinstance(given, list):
        text = ", ".join(_as_text(item) for item in given)
    elif given is None:
        text = ""
    else:
        text = json.dumps(given, ensure_ascii=False)
    # lone surrogates, which JSON can spell, and control characters are no text
    return text.encode("utf-8", "replace").decode("utf-8").translate(_CONTROLS)


def _scalar(given: Any, info: msgspec.inspect.Type) -> Any:
    """Numbers, truth values and words of a list, numbers also written as text."""
    converted: Callable[[Any], Any] | None = _SCALARS.get(type(info))
    if converted is None:
        raise TypeError(f"an answer cannot hold {type(info).__name__}")
    if isinstance(info, msgspec.inspect.LiteralType):
        word = given.strip().lower() if isinstance(given, str) else given
        if word in info.values:
            return word
        raise UnreadableAnswerError("expected one of the listed words")
    return converted(given)


def _number(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float, str)):
        raise UnreadableAnswerError(f"expected a number, got {_kind(given)}")
    try:
        found = float(given)
    except (ValueError, OverflowError):
        raise UnreadableAnswerError("expected a number") from None
    if not math.isfinite(found):
        raise UnreadableAnswerError("expected a finite number")
    return found


def _integer(given: Any) -> int:
    found = _number(given)
    if found != int(found):
        raise UnreadableAnswerError("expected an integer")
    return int(found)


def _truth(given: Any) -> bool:
    words = {"true": True, "false": False}
    found = words.get(given.strip().lower()) if isinstance(given, str) else given
    if not isinstance(found, bool):
        raise UnreadableAnswerError(f"expected true or false, got {_kind(given)}")
    return found


_SCALARS: Final[Mapping[type, Callable[[Any], Any]]] = {
    msgspec.inspect.FloatType: _number,
    msgspec.inspect.IntType: _integer,
    msgspec.inspect.BoolType: _truth,
    msgspec.inspect.LiteralType: str,
}


def _kind(given: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return "nothing" if given is None else names.get(type(given), "a number")
