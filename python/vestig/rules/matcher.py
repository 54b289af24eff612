"""Decides which rules an action fires.

A condition becomes functions once. Deciding takes time that is linear in the action, and compiles
no regular expression. A rule that tests the command is decided for each command of the line alone.

A test of a command that is not known is neither true nor false: what depends on it is `PERHAPS`.
"""

from __future__ import annotations

import operator
import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Final, Generic, NamedTuple, TypeVar
from unicodedata import normalize

from vestig.calls.condition import All, AnyOf, Condition, Not, Test
from vestig.rules.wrappers import Command, Commands, Run, commands_of

_T = TypeVar("_T")

NO: Final = 0
PERHAPS: Final = 1
YES: Final = 2
_NO_COMMANDS: Final = Commands((), None)


class Action:
    """An action that is about to happen, its fields in NFC. `paths`: of the files that it names,
    without `.`, `..` and double slashes. `text`: in small letters, for of free words case says
    nothing."""

    def __init__(
        self,
        tool: str | None = None,
        paths: Sequence[str] = (),
        command: str | None = None,
        url: str | None = None,
        text: str | None = None,
    ) -> None:
        self.tool = tool
        self.paths = tuple(dict.fromkeys(_plain_path(composed(path)) for path in paths if path))
        self.url = None if url is None else _plain_url(composed(url))
        self.text = None if text is None else composed(text).casefold()
        self._line = None if command is None else composed(command)

    def each_path(self) -> Iterator[Action]:
        """The same action with one of its files alone."""
        for path in self.paths:
            one = copy(self)
            one.paths = (path,)
            yield one

    @cached_property
    def commands(self) -> Commands:
        """The commands that its line for a shell runs."""
        return _NO_COMMANDS if self._line is None else commands_of(self._line)

    @cached_property
    def bound(self) -> tuple[Command | _Unknown | None, ...]:
        """Each command that a rule on commands is decided for, and one that is not known where the
        line may run such; None alone where there is no command."""
        unknown = () if self.commands.unknown is None else (_UNKNOWN,)
        return (*self.commands.found, *unknown) or (None,)

    @property
    def texts(self) -> dict[str, str]:
        """All that is known of each field, as one text."""
        return {
            "command": "\n".join([one.text for one in self.commands.found]),
            "path": "\n".join(self.paths),
            "url": self.url or "",
            "text": self.text or "",
        }

    @property
    def programs(self) -> set[str]:
        """The programs that its line starts, with their folders and without."""
        runs = [run for one in self.commands.found for run in one.runs]
        return {run.program for run in runs} | {run.words[0] for run in runs}


def composed(text: str) -> str:
    """A text in NFC, so that no other spelling of a letter passes a rule."""
    return text if text.isascii() else normalize("NFC", text)


def _plain_path(path: str) -> str:
    """A path without `.`, `..` and double slashes."""
    if path[1:3] == ":\\":
        path = path.replace("\\", "/")
    return posixpath.normpath(f"/{path.lstrip('/')}" if path.startswith("/") else path)


def _plain_url(url: str) -> str:
    """An address with scheme and host in small letters."""
    scheme, colon, rest = url.strip().partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}{colon}{host.lower()}{slash}{path}" if colon else url.strip()


class _Unknown:
    """Stands for a command that is not known."""


_UNKNOWN: Final = _Unknown()
_Bound = Command | _Unknown | None
_Decide = Callable[[Action, _Bound], int]


class Decision(NamedTuple):
    """How a rule stands to an action: `NO`, `PERHAPS`, `YES`; `gave_way`: its exception holds.
    `command`: the text of the one that it is about, None where it is about none, or one that is not
    known; `unread`: why that is not certain."""

    fires: int
    gave_way: bool = False
    command: str | None = None
    unread: str | None = None


class CompiledRule:
    """A condition and an exception, made ready. `needed`: what it does not hold without."""

    __slots__ = ("_by_command", "_by_path", "_unless", "_when", "needed")

    def __init__(self, when: Condition, unless: Condition | None) -> None:
        self.needed = _needed(when)
        self._when = _compiled(when)
        self._unless = None if unless is None else _compiled(unless, excepts=True)
        parts = (when,) if unless is None else (when, unless)
        self._by_command = any(_names(one, "command") for one in parts)
        self._by_path = any(_names(one, "path") for one in parts)

    def decide(self, action: Action, *, by_known: bool = True) -> Decision:
        """How the rule stands to an action: to each of its files and commands alone.

        Args:
            by_known: false: no command that is known meets it.
        """
        if not self._by_path or len(action.paths) < 2:
            return self._decide_of(action, by_known)
        return _strongest(self._decide_of(one, by_known) for one in action.each_path())

    def _decide_of(self, action: Action, by_known: bool) -> Decision:
        if not self._by_command:
            return self._decide(action, None)
        when = self._when
        # nearly no command meets a condition
        bound = action.bound if by_known else (_UNKNOWN,)
        met = [one for one in bound if when(action, one) != NO]
        return _strongest([self._decide(action, one) for one in met]) if met else _NOT_FIRED

    def _decide(self, action: Action, bound: _Bound) -> Decision:
        fires = self._when(action, bound)
        if fires == NO:
            return _NOT_FIRED
        if self._unless is not None:
            excepted = self._unless(action, bound)
            if excepted == YES:
                return _GAVE_WAY
            fires = min(fires, YES - excepted)
        if not isinstance(bound, Command):
            return Decision(fires, unread=None if fires == YES else action.commands.unknown)
        return Decision(fires, command=bound.text, unread=None if fires == YES else bound.unread)


class RuleSet(Generic[_T]):
    """Rules by name, ready to be asked which of them an action fires."""

    def __init__(self, rules: Iterable[tuple[_T, CompiledRule]]) -> None:
        self._of_tool: dict[str, list[tuple[int, _T, CompiledRule]]] = {}
        self._of_any: list[tuple[int, _T, CompiledRule]] = []
        for place, (name, rule) in enumerate(rules):
            tools = rule.needed.tools
            for tool in () if tools is None else tools:
                self._of_tool.setdefault(tool, []).append((place, name, rule))
            if tools is None:
                self._of_any.append((place, name, rule))

    def decide(self, action: Action) -> list[tuple[_T, Decision]]:
        """The rules that fire, or give way, in their order."""
        asked = [*self._of_any]
        if action.tool is not None:
            asked += self._of_tool.get(action.tool, ())
        if not asked:
            return []
        texts, programs, commands = action.texts, action.programs, action.commands
        needle = operator.attrgetter(
            "head" if any(one.unread for one in commands.found) else "needle"
        )
        known = commands.unknown is None
        found = []
        for place, name, rule in asked:
            needed = rule.needed
            meets = needle(needed) in texts[needed.field]
            if not meets and needed.field != "command":
                continue
            if needed.programs is not None and programs.isdisjoint(needed.programs):
                meets = False
            if not meets and known:
                continue
            decision = rule.decide(action, by_known=meets)
            if decision.fires != NO or decision.gave_way:
                found.append((place, name, decision))
        found.sort(key=operator.itemgetter(0))
        return [(name, decision) for _, name, decision in found]


_NOT_FIRED: Final = Decision(NO)
_GAVE_WAY: Final = Decision(NO, gave_way=True)


def _strongest(decisions: Iterable[Decision]) -> Decision:
    best = _NOT_FIRED
    for found in decisions:
        if found.fires == YES:
            return found
        if found.fires > best.fires or (found.gave_way and best.fires == NO):
            best = found
    return best


class _Needed(NamedTuple):
    """Without these a condition does not hold: one of the tools, one of the programs, and a text in
    a field. `head`: what is needed of the text where words are not known."""

    tools: frozenset[str] | None = None
    programs: frozenset[str] | None = None
    field: str = "text"
    needle: str = ""
    head: str = ""


def _needed(condition: Condition) -> _Needed:
    """The needs of a condition, as far as that is read at once from the value of a field."""
    found = _Needed()
    for part in condition.parts if isinstance(condition, All) else (condition,):
        if not isinstance(part, Test):
            continue
        if part.field == "tool":
            if part.operator != "~":
                found = found._replace(tools=frozenset(part.values))
            continue
        if part.field == "command" and part.operator != "~":
            first = frozenset([value.split()[0] for value in part.values])
            found = found._replace(programs=first)
        if part.operator != "in":
            needle = _literal(part)
            if len(needle) > len(found.needle):
                head = needle if part.field != "command" else _head(part)
                found = found._replace(field=part.field, needle=needle, head=head)
    return found


def _head(test: Test) -> str:
    """The text that a command has to hold where words of it are not known."""
    if test.operator != "~":
        return ""
    pattern = _value(test, test.values[0])
    begins = next(iter(_beginnings(pattern)), pattern)
    return max((one.run for one in _parts(begins)), key=len)


def _literal(test: Test) -> str:
    """The longest text that a value which passes holds."""
    value = _value(test, test.values[0])
    if test.operator == "~":
        return max((one.run for one in _parts(value)), key=len)
    return _plain_path(value) if test.field == "path" else value


def _value(test: Test, value: str) -> str:
    """A value of a test in the form that the field of an action has."""
    if test.field == "command":
        return " ".join(value.split())
    if test.field == "url":
        return _plain_url(value)
    if test.field == "text":
        return value.casefold()
    return value.removeprefix("./") if test.field == "path" else value


def _names(condition: Condition, field: str) -> bool:
    if isinstance(condition, Test):
        return condition.field == field
    if isinstance(condition, Not):
        return _names(condition.part, field)
    return any(_names(one, field) for one in condition.parts)


def _compiled(condition: Condition, *, excepts: bool = False) -> _Decide:
    """`excepts`: what it is true of is let through, so that words around a command do not make it
    true."""
    if isinstance(condition, Test):
        return _test(condition, excepts=excepts)
    if isinstance(condition, Not):
        inner = _compiled(condition.part, excepts=not excepts)
        return lambda action, bound: YES - inner(action, bound)
    parts = tuple(_compiled(one, excepts=excepts) for one in condition.parts)
    if isinstance(condition, All):
        return lambda action, bound: _least(parts, action, bound)
    assert isinstance(condition, AnyOf)
    return lambda action, bound: _most(parts, action, bound)


def _least(parts: Iterable[_Decide], action: Action, bound: _Bound) -> int:
    found = YES
    for part in parts:
        one = part(action, bound)
        if one == NO:
            return NO
        found = min(found, one)
    return found


def _most(parts: Iterable[_Decide], action: Action, bound: _Bound) -> int:
    found = NO
    for part in parts:
        one = part(action, bound)
        if one == YES:
            return YES
        found = max(found, one)
    return found


def _test(test: Test, *, excepts: bool) -> _Decide:
    if test.field == "command":
        return _command_test(test, excepts=excepts)
    if test.field == "path":
        return _path_test(test)
    return _plain_test(test)


# --- values ------------------------------------------------------------------------------------


def _plain_test(test: Test) -> _Decide:
    field = test.field
    if test.operator == "~":
        # a text holds it somewhere, the others are it
        around = "*" if field == "text" else ""
        match = glob(f"{around}{_value(test, test.values[0])}{around}")
    else:
        match = frozenset([_value(test, value) for value in test.values]).__contains__

    def decide(action: Action, _: _Bound) -> int:
        value = getattr(action, field)
        return YES if value is not None and match(value) else NO

    return decide


def _path_test(test: Test) -> _Decide:
    values = [_value(test, value) for value in test.values]
    matches = [one for value in values for one in _path_matches(test.operator, value)]

    def decide(action: Action, _: _Bound) -> int:
        for path in action.paths:
            for match in matches:
                if match(path):
                    return YES
        return NO

    return decide


def _path_matches(operator: str, value: str) -> list[Callable[[str], bool]]:
    """A path is matched whole, and from any folder on where the value does not begin at a root."""
    rooted = value.startswith("/") or value[1:3] in (":/", ":\\")
    if operator == "~":
        patterns = [value] if rooted or value.startswith("*") else [value, f"*/{value}"]
        return [glob(one) for one in patterns]
    plain = _plain_path(value)
    below = f"/{plain}"
    return [lambda path: path == plain or (not rooted and path.endswith(below))]


def _command_test(test: Test, *, excepts: bool) -> _Decide:
    if test.operator == "~":
        pattern = " ".join(test.values[0].split())
        match = glob(f"*{pattern}*")
        beginnings = [glob(one) for one in _beginnings(pattern)]

        def by_glob(_: Action, bound: _Bound) -> int:
            if bound is None or isinstance(bound, _Unknown):
                return NO if bound is None else PERHAPS
            text, before = bound.text, bound.before
            if excepts:
                text = " ".join(bound.runs[-1].words) if bound.runs else ""
                before = None if before is None else text
            if match(text):
                return YES
            open = before is not None and any(one(before) for one in beginnings)
            return PERHAPS if open else NO

        return by_glob
    wanted = [tuple(value.split()) for value in test.values]
    programs = frozenset([words[0] for words in wanted])

    def by_words(_: Action, bound: _Bound) -> int:
        if bound is None or isinstance(bound, _Unknown):
            return NO if bound is None else PERHAPS
        found = NO
        for run in bound.runs:
            if run.program not in programs and run.words[0] not in programs:
                continue
            for words in wanted:
                begins = _begins(bound, run, words)
                if begins == YES:
                    return YES
                found = max(found, begins)
        return found

    return by_words


def _begins(command: Command, run: Run, words: tuple[str, ...]) -> int:
    """Decides that a command begins with these words, the first with or without its folder. It may,
    where words that are not fixed, or come from its input, may be the next ones."""
    first = words[0]
    if run.program != first and run.words[0] != first:
        return NO
    said, end = run.words[1 : len(words)], run.loose
    if said == words[1:]:
        return YES
    if end is None:
        short = command.before is not None and said == words[1 : len(said) + 1]
        return PERHAPS if short else NO
    if not 0 < end < len(words) or run.words[1:end] != words[1:end]:
        return NO
    return PERHAPS if glob(run.pattern)(words[end]) else NO


def _beginnings(pattern: str) -> list[str]:
    """Globs of texts that become one which a glob matches once words are added, each of which
    holds all of the one before it."""
    found: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if pattern[:at].strip("* "):
            if char == "*":
                # what holds more of the pattern holds this too
                return [*found, f"*{pattern[:at]}*"]
            if char == " ":
                found.append(f"*{pattern[:at]}")
        at += 2 if char == "\\" else 1
    return found


# --- globs -------------------------------------------------------------------------------------


def glob(pattern: str) -> Callable[[str], bool]:
    r"""The test of a text against a pattern: `*` is any text, `?` one character, and either is
    itself behind a backslash.

    Example:
        >>> match = glob("*migrate*prod*")
        >>> match("rails db:migrate RAILS_ENV=production"), match("migrate"), glob(r"a\*")("a*")
        (True, False, True)
    """
    first, *others = _parts(pattern)
    if not others:
        return lambda text: len(text) == len(first) and _is_at(text, first, 0)
    last = others.pop()
    needle = max((one.run for one in (first, *others, last)), key=len)

    def match(text: str) -> bool:
        if needle not in text or not _is_at(text, first, 0):
            return False
        at = len(first)
        for part in others:
            at = part.find(text, at)
            if at < 0:
                return False
            at += len(part)
        start = len(text) - len(last)
        return start >= at and _is_at(text, last, start)

    return match


class _Part:
    """Characters between two stars. `any`: places at which any character may stand; `run`: the
    longest part without such a place."""

    __slots__ = ("_masks", "_wild", "any", "run", "run_at", "text")

    def __init__(self, text: str, any: frozenset[int]) -> None:
        self.text = text
        self.any = any
        self._masks: dict[str, int] = {}
        self._wild = 0
        for place in any:
            self._wild |= 1 << place
        start, self.run, self.run_at = 0, "", 0
        for end in (*sorted(any), len(text)):
            if end - start > len(self.run):
                self.run, self.run_at = text[start:end], start
            start = end + 1
        if any:
            for place, char in enumerate(text):
                self._masks[char] = self._masks.get(char, self._wild) | (1 << place)

    def __len__(self) -> int:
        return len(self.text)

    def find(self, text: str, at: int) -> int:
        """The place of the part in a text, from a place on; -1 for none. Each character is read
        once: a bit of a number stands for each beginning of the part that ends there."""
        if not self.any:
            return text.find(self.text, at)
        start = text.find(self.run, at + self.run_at) - self.run_at
        if start < at:
            return -1
        whole, begun = 1 << (len(self.text) - 1), 0
        masks, wild = self._masks, self._wild
        for place in range(start, len(text)):
            begun = (begun << 1 | 1) & masks.get(text[place], wild)
            if begun & whole:
                return place - len(self.text) + 1
        return -1


def _parts(pattern: str) -> list[_Part]:
    parts, said, places, at = list[_Part](), list[str](), set[int](), 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "*":
            parts.append(_Part("".join(said), frozenset(places)))
            said, places = [], set()
            continue
        if char == "\\" and pattern[at : at + 1] in ("*", "?", "\\"):
            char = pattern[at]
            at += 1
        elif char == "?":
            places.add(len(said))
        said.append(char)
    parts.append(_Part("".join(said), frozenset(places)))
    return parts


def _is_at(text: str, part: _Part, at: int) -> bool:
    if not part.any:
        return text.startswith(part.text, at)
    here = text[at : at + len(part.text)]
    return len(here) == len(part.text) and all(
        place in part.any or char == wanted
        for place, (char, wanted) in enumerate(zip(here, part.text, strict=True))
    )
