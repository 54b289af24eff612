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
    found = [*_unknown_tools(when)]
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
        name = value.rstrip("*/").rpartition("/")[2] or value
        found.append(
            "a path is that of a tool for files; what a line for a shell does to them is seen with"
            f' … or command ~ "*{name}*"'
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
            if option is None or not words or words[0].startswith("-"):
                continue
            line = " ".join((program, option, *words))
            if all(one.decide(Action("Bash", command=line)).fires == NO for one in others):
                safer = "*".join(f" {escaped(word)}" for word in words)
                yield (
                    f'command = "{value}" does not see {line}, which command = {program} and'
                    f' command ~ "*{safer}*" sees'
                )
