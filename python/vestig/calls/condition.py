"""Conditions of rules: a small language over an action that is about to happen.

    or     = and {"or" and}
    and    = not {["and"] not}
    not    = "not" not | "(" or ")" | test
    test   = FIELD ("=" | "~") VALUE | FIELD "in" "(" VALUE {"," VALUE} ")"

A field is one of `FIELDS`. A value is a word, or a text in quotes, in which a backslash before a
quote or a backslash takes it as it is. A condition is parsed once, into the tests below.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

import msgspec

from vestig.errors import Description, ValidationError
from vestig.hints import nearest_name

FIELDS: Final = ("tool", "path", "command", "url", "text")
CONDITION_CHARS_MAX: Final = 2_000
_LEVELS_MAX: Final = 32
_OPERATORS: Final = ("and", "or", "not", "in")
_SIGNS: Final = "()=~,"
EXAMPLE: Final = 'tool = Bash and command ~ "migrate*prod*"'


class Test(msgspec.Struct, frozen=True):
    """One test of a field. `values`: one for `=` and `~`, any number for `in`."""

    field: str
    operator: Literal["=", "~", "in"]
    values: tuple[str, ...]


class All(msgspec.Struct, frozen=True):
    """Holds where all of its parts do."""

    parts: tuple[Condition, ...]


class AnyOf(msgspec.Struct, frozen=True):
    """Holds where one of its parts does."""

    parts: tuple[Condition, ...]


class Not(msgspec.Struct, frozen=True):
    """Holds where its part does not."""

    part: Condition


Condition = Test | All | AnyOf | Not


# Fields of which an action has one value, whole.
_SINGLE: Final = ("tool", "url", "text")


def why_never(when: Condition, unless: Condition | None = None) -> str | None:
    """Return why no action meets a condition without its exception; None where one may.

    Certain is what needs two values of a field that has one (tool, url, text), or such a test and
    its opposite, or a path in a form that none has.

    Example:
        >>> why_never(parse_condition("when", 'path ~ "src/"'))
        'no path ends with /: src/* is what is in the folder'
        >>> why_never(parse_condition("when", "tool = Bash and tool = Read"))
        'tool is no two of these at once: Bash, Read'
        >>> why_never(parse_condition("when", "command = git and command = push")) is None
        True
    """
    found = _never(when)
    if found is None and unless == when and _is_single(when):
        found = "unless says the same as when"
    return found


def _never_path(test: Test) -> str | None:
    """Return why no path meets a glob; one has no double slash, no `.` within, and no slash at
    its end."""
    (value, *_) = test.values
    if test.field != "path" or test.operator != "~" or not value.strip("*/"):
        return None
    if value.endswith("/"):
        return f"no path ends with /: {value}* is what is in the folder"
    parts = value.removeprefix("./").split("/")
    if "" in parts[1:] or (len(parts) > 1 and "." in parts):
        return f"paths are told without // and /./: {value}"
    return None


def _never(condition: Condition) -> str | None:
    if isinstance(condition, Test):
        return _never_path(condition)
    if isinstance(condition, AnyOf):
        reasons = [_never(one) for one in condition.parts]
        return None if None in reasons else reasons[0]
    if not isinstance(condition, All):
        return None
    parts = [*_conjuncts(condition)]
    reasons = [reason for reason in map(_never, parts) if reason is not None]
    if reasons:
        return reasons[0]
    for field in _SINGLE:
        wanted = [one for one in parts if isinstance(one, Test) and one.field == field]
        named = [{value.casefold().strip(): value for value in one.values} for one in wanted
                 if one.operator != "~"]  # fmt: skip
        if len(named) > 1 and not set.intersection(*map(set, named)):
            values = dict.fromkeys(value for one in named for value in one.values())
            return f"{field} is no two of these at once: {', '.join(values)}"
    for one in parts:
        if isinstance(one, Not) and one.part in parts and _is_single(one.part):
            return "a test and its opposite"
    return None


def _conjuncts(condition: All) -> Iterator[Condition]:
    for one in condition.parts:
        if isinstance(one, All):
            yield from _conjuncts(one)
        else:
            yield one


def _is_single(condition: Condition) -> bool:
    """Return whether a condition tests nothing but fields of which an action has one value."""
    if isinstance(condition, Test):
        return condition.field in _SINGLE
    if isinstance(condition, Not):
        return _is_single(condition.part)
    return all(map(_is_single, condition.parts))


# Kinds of tokens that an error describes.
_CAME: Final = {"end": Description("the end"), "quoted": Description("a value in quotes")}


class _Token(NamedTuple):
    """`kind`: a sign, "word", "quoted", or "end". `at`: its place in the text."""

    kind: str
    text: str
    at: int

    @property
    def came(self) -> str:
        """The token in an error, which no value of a condition gets into."""
        return _CAME.get(self.kind, self.text)


def asks_for(field: str, condition: Condition) -> bool:
    """Return whether a condition, or one of its parts, holds only of an action that has a field.

    Example:
        >>> [asks_for("tool", parse_condition("when", one)) for one in ("tool = a", "not tool = a")]
        [True, False]
    """
    if isinstance(condition, Test):
        return condition.field == field
    if isinstance(condition, Not):
        return False
    return any(asks_for(field, part) for part in condition.parts)


def parse_condition(field: str, text: str) -> Condition:
    """The condition that a text states.

    Args:
        field: what an error names.

    Raises:
        ValidationError: says what was expected, what came, and where.

    Example:
        >>> parse_condition("when", "tool = Bash and not command ~ 'ls*'")
        All(parts=(Test(field='tool', operator='=', values=('Bash',)), Not(part=Test(field=\
'command', operator='~', values=('ls*',)))))
        >>> parse_condition("when", "tool = a or")
        Traceback (most recent call last):
        ...
        vestig.errors.ValidationError: when: expected one of tool, path, command, url, text at \
character 12, got the end; an example: tool = Bash and command ~ "migrate*prod*"
    """
    if len(text) > CONDITION_CHARS_MAX:
        allowed = f"at most {CONDITION_CHARS_MAX} characters"
        raise ValidationError(
            field, Description(f"{len(text)} characters"), allowed, "divide it into rules"
        )
    return _Parser(field, _tokens(field, text)).whole()


def _tokens(field: str, text: str) -> list[_Token]:
    found: list[_Token] = []
    at, end = 0, len(text)
    while at < end:
        char = text[at]
        if char.isspace():
            at += 1
        elif char in _SIGNS:
            found.append(_Token(char, char, at))
            at += 1
        elif char in "\"'":
            value, after = _quoted(field, text, at)
            found.append(_Token("quoted", value, at))
            at = after
        else:
            start = at
            while at < end and not (text[at].isspace() or text[at] in _SIGNS or text[at] in "\"'"):
                at += 1
            found.append(_Token("word", text[start:at], start))
    found.append(_Token("end", "", end))
    return found


def _quoted(field: str, text: str, start: int) -> tuple[str, int]:
    """The text between two quotes, and the place behind them."""
    sign, at, said = text[start], start + 1, list[str]()
    while at < len(text):
        char = text[at]
        if char == sign:
            return "".join(said), at + 1
        if char == "\\" and text[at + 1 : at + 2] in ("\\", sign):
            at += 1
            char = text[at]
        said.append(char)
        at += 1
    came = Description(f"a quote at character {start + 1} without an end")
    raise ValidationError(field, came, "a quote at the end of a text too", f"add {sign}")


class _Parser:
    """Reads tokens by the grammar above."""

    def __init__(self, field: str, tokens: list[_Token]) -> None:
        self._field = field
        self._tokens = tokens
        self._at = 0
        self._level = 0

    def whole(self) -> Condition:
        found = self._any()
        if self._next.kind != "end":
            raise self._error("and, or, or the end")
        return found

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _error(self, expected: str) -> ValidationError:
        token = self._next
        came = token.came
        allowed = f"{expected} at character {token.at + 1}"
        hint = f"{self._of_other_signs()}an example: {EXAMPLE}"
        return ValidationError(self._field, came, allowed, hint)

    def _of_other_signs(self) -> str:
        """Return what stands in the place of signs of a programming language that stand here."""
        said = "".join(token.text for token in self._tokens[self._at : self._at + 2])
        if {*said} & {*"<>"}:
            return "no numbers are compared, a test is of words; "
        if said.startswith("="):
            return "one = compares; "
        if said.startswith(("&", "|", "!")):
            return "tests are joined by and, or, not; "
        return ""

    def _takes(self, kind: str, word: str = "") -> bool:
        token = self._next
        if token.kind != kind or (word and token.text.lower() != word):
            return False
        self._at += 1
        return True

    def _any(self) -> Condition:
        parts = [self._all()]
        while self._takes("word", "or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _all(self) -> Condition:
        parts = [self._one()]
        while True:
            token = self._next
            joined = self._takes("word", "and")
            if not joined and not (
                token.kind == "(" or (token.kind == "word" and token.text.lower() != "or")
            ):
                return parts[0] if len(parts) == 1 else All(tuple(parts))
            parts.append(self._one())

    def _one(self) -> Condition:
        self._level += 1
        if self._level > _LEVELS_MAX:
            raise self._error(f"at most {_LEVELS_MAX} levels of not and parentheses")
        try:
            if self._takes("word", "not"):
                return Not(self._one())
            if not self._takes("("):
                return self._test()
            found = self._any()
            if not self._takes(")"):
                raise self._error("and, or, or )")
            return found
        finally:
            self._level -= 1

    def _test(self) -> Condition:
        token = self._next
        if token.kind != "word" or token.text not in FIELDS:
            raise self._field_error(token)
        self._at += 1
        if self._takes("="):
            return Test(token.text, "=", (self._value(),))
        if self._takes("~"):
            return Test(token.text, "~", (self._value(),))
        if not self._takes("word", "in"):
            raise self._error(f"=, ~ or in behind {token.text}")
        if not self._takes("("):
            raise self._error("( behind in")
        values = [self._value()]
        while self._takes(","):
            values.append(self._value())
        if not self._takes(")"):
            raise self._error("a comma or )")
        return Test(token.text, "in", tuple(values))

    def _field_error(self, token: _Token) -> ValidationError:
        allowed = f"one of {', '.join(FIELDS)} at character {token.at + 1}"
        came = token.came
        near = nearest_name(came, FIELDS) if token.kind == "word" else None
        hint = f"{near} is meant? " if near else self._of_other_signs()
        hint += f"an example: {EXAMPLE}"
        before = self._tokens[max(0, self._at - 3) : self._at]
        kinds = [one.kind for one in (*before[1:], *self._tokens[self._at : self._at + 2])]
        if kinds[:3] in (["=", "word", "word"], ["~", "word", "word"]) and kinds[3] not in "=~":
            test = f"{before[0].text} {before[1].text}"
            hint = f'a value of several words stands in quotes: {test} "… …"'
        return ValidationError(self._field, came, allowed, hint)

    def _value(self) -> str:
        token = self._next
        reserved = token.kind == "word" and token.text.lower() in _OPERATORS
        if token.kind not in ("word", "quoted") or reserved:
            raise self._error("a value, in quotes where it has spaces or one of ( ) = ~ ,")
        if not token.text.strip():
            raise self._error("a value that is not blank")
        self._at += 1
        return token.text
