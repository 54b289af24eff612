"""Words of other tools, and the command or option that does the same here.

They are named in the error and never run: some of these commands change or erase what is stored.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import takewhile
from typing import Final

from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import meaning_of_word, nearest
from vestig.surfaces.cli.option_words import command_words, format_of, sentence
from vestig.surfaces.outlines import GROUPS, OUTLINES

# A call in Python whose command has another name.
_OF_CALLS: Final[Mapping[str, str]] = {
    "commit": "add",
    "import_": "import",
}
_ID: Final = lazy_pattern(r"(?:mem_)?[0-9a-f]{8}[0-9a-f-]{0,28}")
# Words that mean to ask the rules, before a line for a shell.
_ASKED_OF_RULES: Final = ("check", "test", "guard", "allow", "allowed", "verify", "validate")
_NEW_KEY: Final = (
    'a key is not renamed: `vestig add "…" --key NEW` stores its value under another, and `vestig'
    " forget --keys OLD` takes the old one out; `vestig update ID --scope S` moves a memory to"
    " another scope"
)
_CALL: Final = lazy_pattern(r"store\.(?:(\w+)\.)?(\w+)")
# A group of calls in Python → the group of commands.
_SINGULAR: Final = {"items": "item", "rules": "rule", "branches": "branch", "graph": "graph"}
_EDITORS: Final = ("claude", "codex", "cursor")
_MAKES: Final = ("create", "make", "new", "add", "save")
# Groups whose words stand for the whole store, and those whose last words say what they are about.
_OF_THE_STORE: Final = ("", "memory", "housekeeping")
_TOLD_BY_LAST_WORD: Final = (
    "memory",
    "housekeeping",
    "graph",
    "edge",
    "entity",
    "branch",
    "anchor",
)
MANY: Final = '; `vestig import FILE` reads many, each a line of JSON with its text under "content"'
# Of these no spelling is ever near: what was meant is asked for by its own name.
_DESTRUCTIVE: Final = frozenset(("destroy", "forget", "purge"))
# Words that are taken as commands, beside those that are listed.
_ALSO_COMMANDS: Final = ("help", "version")


@cache
def commands() -> Mapping[str, str]:
    """A word that is typed → the command of this one that does it."""
    rows = command_words()["named"].items()
    return {word: ours for ours, others in rows for word in others.split()}


def instead_of(words: Sequence[str], group: str, names: Collection[str]) -> str:
    """Return what to type instead of a command that is unknown, as a sentence.

    In a group it is a command of that group; another group's is never meant by the same last word.

    Args:
        words: what was typed, from the unknown word on.
        group: the group of commands it was typed in; "" outside of all.
        names: the commands there.

    Example:
        >>> instead_of(["rm"], "", ["forget", "list"])
        'In Vestig it is `vestig forget`.'
        >>> instead_of(["rm"], "rule", ["list", "remove"])
        'In Vestig it is `vestig rule remove`.'
        >>> instead_of(["forgett"], "", ["forget", "list"])
        '`vestig --help` lists the commands.'
    """
    typed = words[0].lower().lstrip("-")
    where = f"vestig {group}".rstrip()
    if group == "config" and ("." in typed or typed in ("set", "edit", "unset", "reset")):
        return f"There is none: {_setting(words if '.' in typed else words[1:])}."
    if not group and words[1:2] in (["list"], ["ls"]):
        typed = f"{typed.removesuffix('s')}s"
    if not group and typed.count(" "):
        return 'A text is asked with `vestig recall "…"`, and stored with `vestig add "…"`.'
    if meant := _by_what_follows(words, typed, group):
        return sentence(meant)
    if none := _none_of(typed, group):
        return none
    ours = _meant(typed, group, names)
    if ours:
        named = [word.partition("-")[0] for word in words]  # `claude-code` is one
        editor = next((word for word in named if word in _EDITORS), "EDITOR")
        if typed == "setup" and editor in _EDITORS:
            ours = "install EDITOR"
        notes = command_words()["notes"]
        note = notes.get(typed) or notes.get(ours, "")
        return f"In Vestig it is `vestig {ours.replace('EDITOR', editor)}`{note}."
    if group in _OF_THE_STORE:
        known = [name for name in OUTLINES if typed in (name, OUTLINES[name].short)]
        known = known or [
            name
            for name in OUTLINES
            if name.rpartition(" ")[::2] in [(one, typed) for one in _TOLD_BY_LAST_WORD]
        ]
        if known or typed in GROUPS:
            return f"It is {' or '.join(f'`vestig {name}`' for name in known or [typed])}."
    near = nearest(typed, [*names, *_DESTRUCTIVE, *_ALSO_COMMANDS])
    if near and near not in _DESTRUCTIVE:
        return f"Did you mean `{where} {near}`?"
    return f"`{where} --help` lists the commands."


def _by_what_follows(words: Sequence[str], typed: str, group: str) -> str:
    """Return the meaning that a word has by those behind it: the id of a memory, a command for a
    shell, two keys, a name; "" = they say nothing."""
    after = words[1:]
    first = (*after, "")[0]
    is_id = _ID.fullmatch(first) is not None
    if group == "graph" and words[0][:1].isupper():
        named = f'`vestig entity show "{words[0]}"` shows an entity'
        return f'{named}, `vestig graph search "…"` finds some'
    if group:
        return ""
    if typed in ("trash", "bin") and first and not first.startswith("-"):
        return "in Vestig it is `vestig forget ID`"
    if typed == "merge" and (os.sep in first or os.path.isdir(first)):
        return (
            f"it is two commands: `vestig --store {shlex.quote(first)} export FILE` and `vestig"
            " import --merge FILE`"
        )
    if typed == "tail" and (first in ("-n", "--lines") or first[1:].isdigit()):
        return "in Vestig it is `vestig list -n N`, the newest first"
    if is_id:
        return command_words()["of_a_memory"].get(typed, "")
    if typed in _ASKED_OF_RULES and (" " in first or typed == "guard"):
        return command_words()["further"]["rule check"]
    if typed in ("rename", "mv", "move") and len(after) > 1 and not after[1].startswith("-"):
        return _NEW_KEY
    return ""


def _setting(words: Sequence[str]) -> str:
    """Return how a value is set: the variable of the key that words begin with, or that is near."""
    # imported here: a command line that is right needs none of it
    from vestig.config.merge import nearest_keys
    from vestig.config.schema import default_values

    said = list(takewhile(lambda word: not word.startswith("-"), words))
    named, _, value = " ".join(said).replace("=", " ", 1).partition(" ")
    keys = [named] if named in default_values() else nearest_keys(named)
    key, line = "KEY", "VESTIG_SECTION__KEY=VALUE"
    if len(keys) == 1:
        (key,) = keys
        line = f"VESTIG_{key.upper().replace('.', '__')}={shlex.quote(value or 'VALUE')}"
    return (
        "a value is set in a file such as vestig.yaml, which --config names, or for one command by"
        f" a variable, `{line} vestig …`; `vestig config explain {key}` says what it takes"
    )


def _none_of(typed: str, group: str) -> str:
    """A sentence for what no command of a group does; "" = it is none of those."""
    rows = command_words()["no_commands"].get(group, {}).items()
    does = next((does for others, does in rows if typed in others.split()), "")
    return f"There is none: {does}." if does else ""


def _meant(typed: str, group: str, names: Collection[str]) -> str:
    """The command, with its group, that a word means in a group; "" where none is known."""

    def within(name: str) -> str:
        return f"{group} {name}".lstrip()

    tables = command_words()
    for ours, others in tables["in_groups"].get(group, {}).items():
        if typed in others.split():
            return ours
    if typed in names:
        return within(typed)
    ours = commands().get(typed, "")
    if ours in names:
        return within(ours)
    if ours and (group in _OF_THE_STORE or ours.startswith(f"{group} ")):
        return ours
    if group:
        for own, others in tables["verbs"].items():
            if typed in own.split() or typed in others.split():
                return next((within(name) for name in own.split() if name in names), "")
    if group in _OF_THE_STORE:
        # a meaning that is a sentence names more calls than one
        named = _CALL.fullmatch(meaning_of_word(typed).partition("(")[0])
        holder, call = named.groups("") if named else ("", "")
        if holder in _SINGULAR:
            long = f"{_SINGULAR[holder]} {call}"
            return long if long in OUTLINES else ""
        if (of_call := _OF_CALLS.get(call, call)) in names:
            return within(of_call)
    return ""


def instead_of_words(command: str, words: Sequence[str], formats: Collection[str]) -> str:
    """Return what takes words that are more than a command takes, as a sentence; "" = nothing.

    Args:
        command: the name of its operation.
        words: all that stand without an option, the further ones last.
        formats: what its --format takes.

    Example:
        >>> instead_of_words("memory list", ["rules"], [])
        'In Vestig it is `vestig rule list`.'
    """
    if command == "backup" and len(words) > 1 and words[0] in _MAKES:
        return f"It is `vestig backup {words[1]}`."
    if command == "backup" and words[0] == "restore":
        return f"It is `vestig restore {words[1]}`."
    named = [one for word in words if (one := format_of(word, formats))]
    if named:
        return f"In Vestig it is --format {named[0]}."
    if command == "rule check" and len(words) == 2 and " " in words[1]:
        tool, text = map(shlex.quote, words)
        return f"It is `vestig rule check --tool {tool} --text {text}`."
    if command == "memory list":
        listing = instead_of_listing(words[-1]) or _none_of(words[-1], "")
        text = shlex.quote(" ".join(words))
        return listing or f"`vestig search {text}` finds memories by words."
    return sentence(command_words()["further"].get(command, ""))


def instead_of_listing(word: str) -> str:
    """Return the command that lists what a word names, as a sentence; "" = none is known.

    Example:
        >>> instead_of_listing("rule"), instead_of_listing("banana")
        ('In Vestig it is `vestig rule list`.', '')
    """
    lists = {name.rpartition(" ")[0]: name for name in OUTLINES if name.endswith(" list")}
    listing = lists.get(nearest(word, lists)) or commands().get(word, "")
    listing = word if word == "keys" else listing
    counted = word in ("users", "scopes", "namespaces")
    if not (counted or "list" in listing.split() or listing == "keys"):
        return ""
    return f"In Vestig it is `vestig {listing}`{command_words()['notes'].get(listing, '')}."


def instead_of_path(word: str, command: str, formats: Collection[str]) -> str:
    """Return what to type for a path that reads as a command or as a format, as a sentence; "" = it
    does not.

    Args:
        command: the name of its operation.
        formats: what the --format of it takes.

    Example:
        >>> instead_of_path("list", "export", []), instead_of_path("./list", "export", [])
        ('It is taken for a path; one of that name is typed ./list.', '')
    """
    tables = command_words()
    for words, does in tables["no_paths"].get(command, {}).items():
        if word in words.split():
            return f"{does}; a path of that name is typed ./{word}."
    if named := format_of(word, formats):
        return f"In Vestig it is --format {named}; a path of that name is typed ./{word}."
    verbs = " ".join((*tables["verbs"], *tables["verbs"].values(), "restore")).split()
    return f"It is taken for a path; one of that name is typed ./{word}." if word in verbs else ""


def instead_of_text(word: str, operation: str, command: str) -> str:
    """Return what to type for a text that is the name of a file that is there, also behind @, as a
    sentence; "" = it is not.

    Args:
        operation: the name of the command's operation.
        command: what is typed for the command.
    """
    if word[:1] != "@" and operation != "memory add":
        return ""  # what is asked may be the name of a file
    path = word.removeprefix("@")
    if os.path.isdir(path) and operation == "memory add":
        return "`vestig import FOLDER -r` reads the files of a folder."
    return f"`{command} - < FILE` reads a file as the text." if os.path.isfile(path) else ""
