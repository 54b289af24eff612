"""Options of other tools, and words that options take, and what does the same here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from functools import cache
from typing import Final, TypedDict

from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import nearest
from vestig.word_tables import read_tables

_NUMBER: Final = lazy_pattern(r"-0*[1-9]\d*")
# A field, and a value without a sign that a shell reads.
_FIELD_IS: Final = lazy_pattern(
    r"(\w+) *(?:==?|:) *(?:([^\s\"'$`\\;&|<>()]+)|\"([^\"$`\\]+)\"|'([^'\"$`\\]+)')"
)
_PATTERN: Final = lazy_pattern(r"[*%]")
# Fields that no metadata has.
_NO_METADATA: Final = (
    "id text content title date time t_valid t_invalid created_at pinned confirmed archived score"
    " query json help limit"
)
_DATE: Final = "2026-03-18"
# Words that are typed for no value, in small letters.
NOTHING: Final = ("", "none", "null", "nil", "never")
_EMPTIES: Final = lazy_pattern(r"--(?:no|clear|unset|remove|delete|empty|reset)-([a-z-]+)")
_SILENT: Final = "`>/dev/null` behind the line leaves out what it prints, but for errors"
_Table = dict[str, str]


class CommandWords(TypedDict):
    """The tables of `data/command_words.json`.

    Attributes:
        options: an option → options of others. Which of several a command has decides.
        places: what stands without an option → options that others have for it.
        more_of_options: more to say about an option that another word was meant as.
        fields: a field of memories → the option that filters by it.
        otherwise: commands divided by commas, options of others, what does it in another way.
        no_choices: a word of a closed list, words that are none of it ("" = all others), what does
            it.
        lacking: a command that lacks a word → what stands in its place.
        whole_lines: a command and the word that its --format was meant to have → the line that has
            both.
        named: a command → words of others for it.
        notes: more to say about a command, or about a word that is typed.
        of_a_memory: a word that means something else before the id of a memory.
        verbs: commands of groups → words for what they do. The first that a group has is meant.
        in_groups: a group → what means something else within it.
        no_commands: a group → words for what no command does → what does it.
        further: a command whose words are too many → what takes the further ones.
        no_paths: a command that takes a path → words that are none of its → what does it.
    """

    options: _Table
    places: _Table
    more_of_options: _Table
    fields: _Table
    otherwise: list[tuple[str, str, str]]
    no_choices: list[tuple[str, str, str]]
    lacking: _Table
    whole_lines: _Table
    named: _Table
    notes: _Table
    of_a_memory: _Table
    verbs: _Table
    in_groups: dict[str, _Table]
    no_commands: dict[str, _Table]
    further: _Table
    no_paths: dict[str, _Table]


@cache
def command_words() -> CommandWords:
    """The words for commands and options."""
    return read_tables("command_words.json", CommandWords)


def instead_of_option(
    typed: str,
    value: str,
    command: str,
    options: Collection[str],
    places: Mapping[str, str],
    formats: Collection[str] = (),
    *,
    times: Set[str] = frozenset(),
) -> str:
    """Return what to type instead of an option that a command does not have, as a sentence; "" =
    nothing is known.

    Args:
        value: what follows it.
        command: what is typed for the command, without `vestig`.
        options: those that it has.
        places: the names of what it takes without an option → how they are typed.
        formats: what its --format takes.
        times: those of its options that take a time.

    Example:
        >>> instead_of_option("--date", "", "add", ["--tags", "--t-valid"], {})
        'In Vestig it is --t-valid.'
        >>> instead_of_option("--output", "f", "export", ["--format"], {"FILE": "FILE"})
        'It is typed without an option: `vestig export FILE`.'
    """
    tables = command_words()
    if _NUMBER.fullmatch(typed) and "--limit" in options:
        return f"In Vestig it is -n {int(typed[1:])}."
    if typed == "-q":
        asks = "QUERY" in places or command == "forget"
        typed = "--query" if asks and value and not value.startswith("-") else "--quiet"
    if "--clear" in options and (field := _emptied(typed, value)):
        return f"In Vestig it is --clear {field}."
    if value.lower() == "json" and typed in ("-o", "--output", "--out", "-f", "--format"):
        return "In Vestig it is --json."
    if typed == "--from" and (named := format_of(value, formats)):
        return f"In Vestig it is --format {named}."
    if typed == "-n" and not command:
        return "In Vestig it is --namespace."
    if typed in ("--where", "--filter") and (named := _filter_of(value, options)):
        return f"In Vestig it is `{named}`."
    for commands, others, does in tables["otherwise"]:
        if command in commands.split(", ") and typed in others.split():
            return sentence(does)
    if named := format_of(typed.lstrip("-"), formats):
        return f"In Vestig it is --format {named}."
    if typed == "--key" and "--key-prefix" in options and value.endswith(("*", "%")):
        return f"In Vestig it is `--key-prefix {value.rstrip('*%')}`."
    for place, shown in places.items():
        if typed in tables["places"].get(place, "").split():
            return f"It is typed without an option: `vestig {command} {shown}`."
    ours = [
        ours
        for ours, others in tables["options"].items()
        if ours in options and typed in others.split()
    ]
    if ours:
        dated = f", with a date such as {_DATE}" if times & {*ours} and "-" not in value else ""
        more = dated or tables["more_of_options"].get(ours[0], "")
        return f"In Vestig it is {' or '.join(ours)}{more}."
    if command and typed in ("--quiet", "--silent"):
        return sentence(_SILENT)
    # a name that is merely a little alike misleads
    near = nearest(typed, options)
    return f"Did you mean {near}?" if near else ""


def _filter_of(condition: str, options: Collection[str]) -> str:
    """The option of a filter that a condition on one field is typed as; "" = none is known."""
    found = _FIELD_IS.fullmatch(condition.strip())
    if found is None or found[1].lower() in _NO_METADATA.split():
        return ""
    name, value = found[1].lower(), found[2] or found[3] or found[4]
    if _PATTERN.search(value):
        beginning = value.rstrip("*%")
        option = "--key-prefix" if name == "key" else ""
        value = "" if _PATTERN.search(beginning) else beginning
    elif name in (fields := command_words()["fields"]):
        option = fields[name]
    else:
        option, value = "--metadata", f"{found[1]}={value}"
    quoted = f'"{value}"' if " " in value else value
    return f"{option} {quoted}" if option in options and value else ""


def _emptied(typed: str, value: str) -> str:
    """The field that an option would empty; "" = none that can be."""
    # imported here: a command line that is right needs none of it
    from vestig.calls.commit import CLEARABLE

    named = _EMPTIES.fullmatch(typed)
    by_value = value if typed in ("--unset", "--remove", "--empty", "--reset", "--delete") else ""
    field = (named[1] if named else by_value).replace("-", "_")
    return field if field in CLEARABLE else ""


def near_choice(typed: str, words: Mapping[str, str]) -> str:
    """The word of a closed list that was meant by another one; "" = none, or it is one of them.

    Args:
        words: each in small letters → as it is.

    Example:
        >>> near_choice("claude-code", {"claude": "claude", "codex": "codex"})
        'claude'
    """
    if typed in words:
        return ""
    if named := format_of(typed, words):
        return named
    # a word that begins with one of them and a divider is a longer name of the same
    return words.get(typed.partition("-")[0], "") or words.get(nearest(typed, words), "")


def none_of_choice(typed: str, words: Collection[str]) -> str:
    """Return what does what a word means that is none of a closed list, as a sentence; "" =
    nothing is known.

    Example:
        >>> none_of_choice("vscode", ["claude", "codex", "cursor"])[:35]
        'Any other editor starts `vestig mcp'
    """
    for has, others, does in command_words()["no_choices"]:
        if has in words and (not others or typed in others.split()):
            return does
    return ""


def format_of(word: str, formats: Collection[str]) -> str:
    """The format that a word names; a folder of ordinary Markdown is documents to an import."""
    if word in ("markdown", "md"):
        return next((one for one in ("document", "md") if one in formats), "")
    return word if word in formats else ""


def value_of_option(option: str, words: Sequence[str]) -> str:
    """The word that follows an option on a line, or is joined to it; "" = none."""
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word == option:
            return after
        if word.startswith(option):
            return word.removeprefix(option).removeprefix("=")
    return ""


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""
