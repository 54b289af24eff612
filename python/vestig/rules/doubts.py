"""Doubts about a condition: tests that no action is likely to meet, or that miss what is meant."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Final

from vestig.calls.condition import All, AnyOf, Condition, Not, Test
from vestig.lazy_pattern import lazy_pattern
from vestig.rules.matcher import NO, Action, CompiledRule
from vestig.rules.words import escaped, is_name
from vestig.rules.wrappers import WRAPPERS

# Tools of the editors that `vestig install` knows, as they are told to a hook, with the fields
# that they have beside `tool`.
_FIELDS_OF_TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("Agent", "Task", "WebSearch"), ("text",)),
    **dict.fromkeys(("Glob", "Grep", "Read"), ("path",)),
    **dict.fromkeys(
        ("Edit", "MultiEdit", "NotebookEdit", "Write", "apply_patch"), ("path", "text")
    ),
    "Bash": ("command",),
    "WebFetch": ("url", "text"),
}
_TOOLS: Final = {tool.casefold(): tool for tool in _FIELDS_OF_TOOLS}
# Programs that take options before the word that says what they do.
_OPTIONS_BEFORE: Final = {
    "aws": "--profile NAME",
    "docker": "--context NAME",
    "git": "-C DIR",
    "helm": "-n NAME",
    "kubectl": "-n NAME",
    "npm": "--prefix DIR",
    "terraform": "-chdir=DIR",
}
# An operator between commands, with blanks or a star around it as hardly any word has them.
_BETWEEN: Final = lazy_pattern(r"(?:(?<=[\s*])(?:&&|\|\|?|\|&|;)|(?<=\s)&|;)(?=[\s*]+[^\s*])")
_REDIRECTION: Final = lazy_pattern(r"\s\d?(?:>>?|<)(?=\s*\S)", re.ASCII)
# Fields whose values hardly hold a question mark that stands for itself.
_WITHOUT_QUESTIONS: Final = ("command", "path", "tool")
# What a regular expression of a tool's name has, as hooks of editors take it, and no name.
_REGEX: Final = lazy_pattern(r"[|^$()]|\.[*+]")


def doubts(when: Condition) -> list[str]:
    """Return what a condition hardly means as it is written.

    Example:
        >>> from vestig.calls.condition import parse_condition
        >>> doubts(parse_condition("when", "tool = bash"))
        ['tool = bash: editors call it Bash']
        >>> doubts(parse_condition("when", "tool in (Edit, Write) and path = src/db.py"))
        []
        >>> doubts(parse_condition("when", "command ~ 'cd src && rm'"))
        ['command ~ "cd src && rm": each command is decided alone, with && in quotes alone']
    """
    found = [*_unknown_tools(when), *_literal_patterns(when), *_without_scheme(when)]
    for tests in _together(when):
        commands = [one for one in tests if one.field == "command"]
        for test in commands:
            found += _never_one_command(test)
        found += _two_commands(commands)
        found += _without_field(tests)
    found += _options_before(when)
    tests = [*_tests(when)]
    if {one.field for one in tests} == {"path"}:
        (value, *_) = tests[0].values
        name = value.rstrip("*/").rpartition("/")[2].lstrip("*") or value
        found.append(
            "a path is that of a tool for files; what a line for a shell does to them is seen with"
            f" … or command ~ {_quoted('*' + name + '*')}"
        )
    return [*dict.fromkeys(found)]


def _tests(condition: Condition) -> Iterator[Test]:
    if isinstance(condition, Test):
        yield condition
    elif isinstance(condition, Not):
        yield from _tests(condition.part)
    else:
        for part in condition.parts:
            yield from _tests(part)


def _together(condition: Condition) -> Iterator[list[Test]]:
    """Tests that hold at once where the condition does, or a part of it."""
    if isinstance(condition, Test):
        yield [condition]
    elif isinstance(condition, AnyOf):
        for part in condition.parts:
            yield from _together(part)
    elif isinstance(condition, All):
        tests, others = list[Test](), list[Condition](condition.parts)
        for part in others:
            if isinstance(part, All):
                others += part.parts
            elif isinstance(part, Test):
                tests.append(part)
            else:
                yield from _together(part)
        yield tests


def _unknown_tools(when: Condition) -> Iterator[str]:
    for test in _tests(when):
        for value in test.values if test.field == "tool" and test.operator != "~" else ():
            if _TOOLS.get(value.casefold(), value) != value:
                yield f"tool = {value}: editors call it {_TOOLS[value.casefold()]}"


def _literal_patterns(when: Condition) -> Iterator[str]:
    """Tests whose value is a pattern where it is compared as it stands."""
    for test in _tests(when):
        signs = {sign for value in test.values for sign in _signs(test, value)}
        if not signs:
            continue
        parts = [part for value in test.values for part in _as_glob(test, value)]
        whole = " or ".join(dict.fromkeys(parts))
        meant = f"({whole})" if len(parts) > 1 or " and " in whole else whole
        each = " ".join(sorted(signs))
        yield f"{_typed(test)} takes {each} as it stands; the pattern is spelt {meant}"


def _signs(test: Test, value: str) -> list[str]:
    """The signs of a pattern that a test compares as they stand."""
    regex = [*_REGEX.findall(value)] if test.field == "tool" else []
    if test.operator == "~" or regex:
        return regex
    return [
        sign for sign in "*?" if sign in value and (sign == "*" or test.field in _WITHOUT_QUESTIONS)
    ]


def _as_glob(test: Test, value: str) -> list[str]:
    """Tests that take one value as the pattern that it is; they are alternatives."""
    if test.field == "command":
        return [_command_as_glob(value) if _signs(test, value) else f"command = {_quoted(value)}"]
    plain = [value]
    if test.field == "tool" and _REGEX.search(value):
        bare = (part.strip("^$() ") for part in value.split("|"))
        plain = [re.sub(r"\.[*+]", "*", part) for part in bare if part] or ["*"]
    return [f"{test.field} {'~' if {*one} & {*'*?'} else '='} {_quoted(one)}" for one in plain]


def _command_as_glob(value: str) -> str:
    """A test of the program, and one of what stands behind it: a glob alone is met anywhere in a
    command. First words are met whatever follows them."""
    first, *words = value.split()
    rest, program = " ".join(words), first.rstrip("*")
    if {*program} & {*"*?"} or not program or program.endswith("/"):
        return f"command ~ {_quoted(value)}"
    only = f"command = {_quoted(program)}"
    if not rest.strip("* "):
        return only
    behind = f"* {rest}"
    return f"{only} and command ~ {_quoted(behind)}"


def _without_scheme(when: Condition) -> Iterator[str]:
    """Tests of addresses, which are compared whole, that begin behind the scheme."""
    for test in _tests(when):
        for value in test.values if test.field == "url" else ():
            if "://" not in value and value[0] not in "*?":
                meant = _quoted(f"*://{value.rstrip('*')}*")
                yield (
                    f"{_typed(test)}: an address is compared whole, with its https://; it is met by"
                    f" url ~ {meant}"
                )


def _typed(test: Test) -> str:
    """A test as it is typed."""
    values = ", ".join(map(_quoted, test.values))
    return f"{test.field} {test.operator} {f'({values})' if test.operator == 'in' else values}"


def _quoted(value: str) -> str:
    """A value as it is typed between quotes."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _never_one_command(test: Test) -> Iterator[str]:
    """Values that no command has: with an operator between commands and, where its first words are
    compared, with a redirection or a setting."""
    for value in test.values:
        said = f'command {"~" if test.operator == "~" else "="} "{value}"'
        between = _BETWEEN.search(value)
        if between is not None:
            yield (f"{said}: each command is decided alone, with {between[0]} in quotes alone")
        elif test.operator != "~":
            first = value.split()[0]
            redirection = _REDIRECTION.search(f" {value}")
            if "=" in first and is_name(first.partition("=")[0]):
                yield f"{said}: first words are compared without {first}, which command ~ sees"
            elif redirection is not None:
                sign = redirection[0].strip()
                yield f"{said}: first words are compared without {sign}, which command ~ sees"


def _two_commands(tests: list[Test]) -> Iterator[str]:
    """Two tests of first words, of which no command has both."""
    exact = [one for one in tests if one.operator != "~"]
    for one, other in itertools.combinations(exact, 2):
        pairs = itertools.product(one.values, other.values)
        if not any(_may_begin_both(first.split(), second.split()) for first, second in pairs):
            yield (
                f'no command begins with "{one.values[0]}" and "{other.values[0]}": each command of'
                " a line is decided alone"
            )


def _may_begin_both(first: list[str], second: list[str]) -> bool:
    """Return whether a command, with those that it runs, may begin with both."""
    programs = [words[0].rpartition("/")[2] for words in (first, second)]
    if any(one in WRAPPERS for one in programs):
        return True
    length = min(len(first), len(second))
    return programs[0] == programs[1] and first[1:length] == second[1:length]


def _without_field(tests: list[Test]) -> Iterator[str]:
    """Tests of a field that editors tell of none of the tools beside it."""
    for named in tests:
        if named.field != "tool" or named.operator == "~":
            continue
        tools = [_TOOLS.get(value.casefold()) for value in named.values]
        for field in dict.fromkeys(one.field for one in tests if one.field != "tool"):
            if all(tool is not None and field not in _FIELDS_OF_TOOLS[tool] for tool in tools):
                yield f"editors tell no {field} of {', '.join(map(str, tools))}"


def _options_before(when: Condition) -> Iterator[str]:
    """First words behind which no other alternative sees options of the program."""
    alternatives = when.parts if isinstance(when, AnyOf) else (when,)
    for alternative in alternatives:
        others = [CompiledRule(one, None) for one in alternatives if one is not alternative]
        tests = itertools.chain.from_iterable(_together(alternative))
        exact = [one for one in tests if one.field == "command" and one.operator != "~"]
        for value in (value for test in exact for value in test.values):
            program, *words = value.split()
            option = _OPTIONS_BEFORE.get(program)
            if option is None or not words or words[0].startswith("-") or {*value} & {*"*?"}:
                continue
            line = " ".join((program, option, *words))
            if all(one.decide(Action("Bash", command=line)).fires == NO for one in others):
                safer = "*".join(f" {escaped(word)}" for word in words)
                yield (
                    f'command = "{value}" does not see {line}, which command = {program} and'
                    f' command ~ "*{safer}*" sees'
                )
