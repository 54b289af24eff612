"""Words of other tools, and the command or option that does the same here.

They are named in the error and never run: some of these commands change or erase what is stored.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import meaning_of_word, nearest
from vestig.surfaces.cli.option_words import (
    AS_IT_IS,
    BACKUP,
    QUESTIONS,
    RESTORE,
    TAGS_OF_ALL,
    format_of,
    sentence,
)
from vestig.surfaces.outlines import GROUPS, OUTLINES

if TYPE_CHECKING:
    pass

_NAMED: Final[Mapping[str, str]] = {
    "forget": "delete remove rm erase del unremember drop purge discard",
    "show": "cat view read fetch display describe",
    "recall": "ask query find q lookup answer",
    "search": "grep",
    'search "…"': "similar",
    "graph neighbourhood": "related neighbors neighbours",
    "count": "len length dbsize",
    "recall --context": "context prompt inject",
    "recall --explain": "why reason explain",
    "recall --expect ID": "why-not whynot",
    "recall --as-of TIME": "time-travel timetravel as-of asof",
    "add TEXT --key K": "set put set-key setkey",
    "forget --keys KEY": "unset del-key delete-key remove-key",
    "add": "ad remember store save note commit insert create new write learn memorize memorise"
    " upsert",
    "item put": "hset",
    "get KEY": "exists has",
    "history": "versions revisions",
    "list --order-by access_count": "top popular most-used",
    "list --include-expired": "trash bin deleted",
    "list": "ls lst all browse dir notes facts memories peek recent latest last",
    "list --tags A,B": "tags tagged",
    "diff --from TIME": "timeline changes log tail monitor reflog audit",
    "update": "edit modify change rename correct amend",
    "update ID --tags A,B": "tag untag label annotate",
    "update ID --scope S": "mv move",
    "cognify": "summarize summarise consolidate reflect extract",
    "update ID --t-invalid TIME": "end expire",
    "events ID": "blame",
    "supersede": "replace",
    "deprecate ID": "retract revoke withdraw invalidate undo rollback revert",
    "archive": "hide",
    "unarchive": "unhide",
    "stats": "status info summary scopes users projects namespaces namespace ns"
    " use-namespace authors"
    " du size user scope project",
    "doctor": "health ping check verify fsck diagnose repair validate test selftest",
    "document list": "docs files sources",
    "entity list": "entities people names",
    "entity merge A B": "alias",
    "edge list": "edges links relations",
    "edge link": "connect relate",
    "import": "index ingest load upload insert-many apply batch add-many bulk-add add-batch",
    "import --mirror -r FOLDER": "watch sync mirror",
    "export": "dump download",
    "backup": "snapshot copy clone",
    "rebuild": "reindex embed",
    "housekeeping compact": "vacuum optimize optimise",
    "housekeeping": "maintenance clean cleanup",
    "mcp": "mcp-server",
    "install": "editor editors hooks",
    "install EDITOR": "claude codex cursor",
    "install EDITOR --remove": "uninstall",
    "serve": "server start api http up run listen daemon",
    "inspect": "inspector open tui ui gui web browser dashboard",
    "eval": "benchmark bench evaluate",
    "demo": "tour tutorial quickstart example",
    "config show": "configure settings cfg conf where which path env",
    "forget --scope S": "wipe nuke reset clear empty delete-all purge-all flushall flushdb"
    " delete-user forget-user",
    'add "…"': "init setup new-store create-store undelete undeprecate unforget",
    "--help": "completion completions man usage",
}
# A word that is typed → the command of this one that does it.
COMMANDS: Final[Mapping[str, str]] = {
    word: ours for ours, others in _NAMED.items() for word in others.split()
}
_NAMES_LISTED: Final = (
    ", which lists the scopes; `vestig list --authors NAME` has what one author said, and `vestig"
    " list --json` the author of each"
)
# More to say about some commands, or about a word that is typed.
_NOTES: Final[Mapping[str, str]] = {
    'add "…"': "; the first memory makes the store",
    "--help": "; its last lines say how your shell completes commands",
    "import --mirror -r FOLDER": ", run again whenever the folder has changed",
    "deprecate ID": ", which withdraws what was added by mistake; `vestig unarchive ID` and `vestig"
    " unpin ID` end those states, and `vestig add` stores a text that was replaced again; what was"
    f" forgotten is in a backup alone: {RESTORE}",
    "tail": ", and `vestig list -n N` shows the newest memories",
    "log": ", and `vestig history KEY` for one key or memory",
    "audit": ", and `vestig events ID` for one memory",
    "index": ", after which recall finds it; `vestig rebuild` makes the projection again",
    "similar": " with the text of the memory, which `vestig show ID` prints",
    "purge": " for memories that are named by id, with --scope S for those of a user, and with"
    " --keys KEY for those of a key; `vestig prune` deletes what is past its retention",
    "add TEXT --key K": ", and `vestig item put K VALUE --scope S` for a value that is no text",
    "forget --scope S": " for the memories of one scope, `vestig forget --all --kinds"
    " MEMORY,SUMMARY` for all memories, and `vestig destroy PATH` for a whole store",
    "describe": ", and `vestig stats` for the whole store",
    "recall --explain": " beside a question, and `--expect ID` for why a memory is missing; `vestig"
    " show ID` prints where one came from",
    "update": ' with ID and --content "…" for a new text, or --tags A,B for all of its tags',
    "update ID --tags A,B": ", which sets all of its tags",
    "grep": ", which finds by words and meaning; a part of a word is found with `vestig export - |"
    " grep -i TEXT`",
    "size": ", which shows the bytes that it takes; `vestig count` counts memories",
    "users": _NAMES_LISTED,
    "authors": _NAMES_LISTED,
    "list --include-expired": ", where replaced and withdrawn memories are too; what was forgotten"
    " is gone for good",
    "list --order-by access_count": ", the most recalled first",
    "cognify": ", where llm.provider and llm.model name a language model (docs/models.md): it sums"
    " up documents, and stores claims of conversations",
    "eval": f", which reads {QUESTIONS}",
    "recall --expect ID": " beside the question",
    "list --tags A,B": f" for the memories that have some; {TAGS_OF_ALL}",
    "watch": ", run again whenever the folder has changed; `vestig diff --from TIME` shows what was"
    " recorded",
    "update ID --t-invalid TIME": ", and `vestig deprecate ID` where it is wrong",
    **dict.fromkeys(
        ("undelete", "undeprecate", "unforget"),
        " again, with its key where it has one: what was forgotten or deprecated stays so",
    ),
    **dict.fromkeys(
        ("namespace", "ns", "use-namespace"),
        ", which lists them; `--namespace NS` names one for any command, and `vestig forget --all"
        " --kinds MEMORY,SUMMARY --namespace NS` forgets the memories of one",
    ),
    **dict.fromkeys(
        ("user", "scope", "project"),
        ", which lists the scopes; `--scope S` names one, and `vestig forget --scope S` forgets its"
        " memories",
    ),
    'add "…" --anchor FILE:LINES': ", as it is stored; one that is stored gets no further anchor",
    "entity merge A B": ", where both are known; the name of A becomes an alias of B",
    "anchor stale": " for sources that changed, and `vestig anchor show ID` for those of a memory",
}
# A call in Python whose command has another name.
_OF_CALLS: Final[Mapping[str, str]] = {
    "commit": "add",
    "import_": "import",
}
# Words that mean something else before the id of a memory; "" = nothing does it.
_ID: Final = lazy_pattern(r"(?:mem_)?[0-9a-f]{8}[0-9a-f-]{0,28}")
_SHOW: Final = "in Vestig it is `vestig show ID`"
_OF_A_MEMORY: Final[Mapping[str, str]] = {
    "info": _SHOW,
    "open": _SHOW,
    "status": _SHOW,
    "summary": _SHOW,
    "verify": "`vestig confirm ID` stands for what an assistant said, and `vestig stale` names the"
    " memories whose sources changed",
    **dict.fromkeys(("copy", "clone", "snapshot"), "`vestig --help` lists the commands"),
}
# Words that mean to ask the rules, before a line for a shell.
_ASKED_OF_RULES: Final = ("check", "test", "guard", "allow", "allowed", "verify", "validate")
_NEW_KEY: Final = (
    'a key is not renamed: `vestig add "…" --key NEW` stores its value under another, and `vestig'
    " forget --keys OLD` takes the old one out; `vestig update ID --scope S` moves a memory to"
    " another scope"
)
_ASKS_RULES: Final = (
    "`vestig rule check --command '…'` asks the rules of a line for a shell, `vestig rule check"
    ' --text "…"` of a text; --tool NAME beside it names the tool that rules may ask for'
)
_CALL: Final = lazy_pattern(r"store\.(?:(\w+)\.)?(\w+)")
# A group of calls in Python → the group of commands.
_SINGULAR: Final = {"items": "item", "rules": "rule", "branches": "branch", "graph": "graph"}
_EDITORS: Final = ("claude", "codex", "cursor")
# Commands of groups → words for what they do. The first that a group has is meant.
_VERBS: Final[Mapping[str, str]] = {
    "add put link create": "new insert save write store set connect relate",
    "edit update refresh put": "change modify",
    "remove delete drop forget purge unlink revoke": "rm del erase discard destroy",
    "list": "ls all",
    "show get": "cat view read open display fetch print",
    "check doctor": "verify validate health",
    "search": "query find",
}
_MAKES: Final = ("create", "make", "new", "add", "save")
# What means something else within a group.
_IN_GROUP: Final[Mapping[str, Mapping[str, str]]] = {
    "config": {"config show": "list ls path", "config explain": "get"},
    "memory": {"memory unarchive": "restore"},
    "anchor": {
        "anchor stale": "list ls all check verify status",
        'add "…" --anchor FILE:LINES': "add create set new",
    },
    "document": {"import": "import load ingest"},
    "entity": {"entity merge A B": "alias aliases rename same join combine"},
    "rule": {"rule remove": "disable off deactivate suspend"},
    "graph": {"entity list": "entities nodes", "edge list": "edges links relations"},
}
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
_BRANCHES: Final = "branches are those of git, and `vestig branch list` lists those with memories"
_CONVERSATION: Final = (
    '`vestig add "…" --session-id S --role user` stores a turn, and `vestig list --session S` lists'
    " those of a conversation"
)
_TASKS: Final = (
    "a task is a memory with a tag, `vestig add TEXT --tags task`, and `vestig list --tags task`"
    " lists them"
)
_NO_SHELL: Final = (
    "each command is a line of its own, and `vestig inspect` opens a page to look around in"
)
_NO_LOGIN: Final = (
    "a store is a folder and asks for no account; `vestig tenant token add` makes the token that"
    " `vestig serve --fleet` asks for"
)
_UPGRADE: Final = (
    "pip upgrades the package; a store of another schema version is exported with the program that"
    " wrote it, and imported with `vestig import FILE`"
)
_MIGRATE: Final = (
    "`vestig export FILE` and `vestig import FILE` carry a store over, `vestig tenant migrate` is"
    " for a tenant in PostgreSQL"
)
_REVIEW: Final = (
    "`vestig list` shows the newest memories, `vestig stale` those whose sources changed, and"
    " `vestig diff --from TIME` what changed"
)
_SIMILAR: Final = (
    "`vestig add` names the memories that are similar, and `vestig supersede OLD NEW` ends one of"
    " two"
)
_NO_COUNTER: Final = "`vestig item put K VALUE --scope S` sets a value; none counts by itself"
# Words in a group for what no command does → what does it.
_NO_COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "": {
        "checkout switch": _BRANCHES,
        "session sessions chat turn": _CONVERSATION,
        "dedupe dedup deduplicate duplicates conflicts contradictions": _SIMILAR,
        "todo todos task tasks": _TASKS,
        "shell repl console interactive": _NO_SHELL,
        "login logout signin signup auth account": _NO_LOGIN,
        "upgrade self-update": _UPGRADE,
        "migrate": _MIGRATE,
        "review digest": _REVIEW,
        "flush persist": "what a command wrote is stored when it ends",
        "redo": '`vestig add "…"` stores a text again, with `--key KEY` where it has a key',
        "unmask unredact": "what was masked was never stored, and nothing brings it back;"
        f" {AS_IT_IS}",
        "whoami": "a store asks for no account; `--scope S`, such as user/ada, is the label of"
        " one user's memories",
        "stop kill quit exit": "`vestig serve` and `vestig inspect` end with Ctrl-C",
        "push pull remote": "`vestig export FILE` and `vestig import --merge FILE` carry memories"
        " from one store to another",
        "logs debug trace": "logs go to standard error, VESTIG_TELEMETRY__LOG_LEVEL=DEBUG brings"
        " more; `vestig diff --from TIME` shows what was recorded",
        "incr decr increment decrement": _NO_COUNTER,
        "remind reminder reminders due schedule agenda upcoming": "nobody is reminded at a time;"
        " `vestig rule add \"…\" --when 'text ~ *WORD*'` reminds an agent whose text has the word,"
        " and `vestig list --since 2026-03-18 --until 2026-03-25` lists the facts that begin in"
        " these days",
        "encrypt decrypt": "files of a store are not encrypted, so encrypt the disk; `vestig"
        " housekeeping secrets` finds secrets in texts",
        "stores use use-store db": "`--store PATH`, or VESTIG_STORE, names the store of a command,"
        " and `--scope S` a scope in it",
        "backups": f"a backup lies where {BACKUP} put it",
    },
    "branch": {"create new checkout switch main master dev feature experiment": _BRANCHES},
    "item": {
        "incr decr increment decrement incrby decrby inc dec": _NO_COUNTER,
        "history versions log revisions": 'an item has its last value alone; `vestig add "…" --key'
        " KEY` keeps all versions, which `vestig history KEY` shows",
    },
}
# Commands whose words are too many → what takes the further ones.
_FURTHER: Final[Mapping[str, str]] = {
    "restore": RESTORE,
    "memory update": '`vestig update ID --content "…"` gives it a new text, `vestig update ID'
    ' --tags A,B` sets all of its tags, and `vestig add "…" --key KEY` gives a key a new value',
    "rule check": _ASKS_RULES,
    "edge list": "`vestig edge list --node NAME` lists those of one memory or entity",
    "rule test": "name what is tried: `vestig rule test --command '…'`, or --text \"…\"",
    "inspect": "`vestig show ID` prints one memory",
    "diff": "name the times: `vestig diff --from A` shows what came since, as `--from yesterday` up"
    " to now; `--to B` ends it, a day with its last moment; `vestig --store BACKUP list` shows"
    " what is in a backup",
    "keys": "all are listed, or those of `vestig keys --prefix P`",
    "mcp": "it serves as it stands; `vestig install EDITOR` has an editor start it",
}
# Commands that take a path → words that are none of theirs → what does it.
_NO_PATHS: Final[Mapping[str, Mapping[str, str]]] = {
    "backup": {
        "list ls show": f"There is no list of backups: each lies where {BACKUP} put it",
        "create make new add save": f"It is {BACKUP}",
        "restore": "It is `vestig restore BACKUP`",
    },
}
MANY: Final = '; `vestig import FILE` reads many, each a line of JSON with its text under "content"'
# Of these no spelling is ever near: what was meant is asked for by its own name.
_DESTRUCTIVE: Final = frozenset(("destroy", "forget", "purge"))
# Words that are taken as commands, beside those that are listed.
_ALSO_COMMANDS: Final = ("help", "version")


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
        note = _NOTES.get(typed) or _NOTES.get(ours, "")
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
        return _OF_A_MEMORY.get(typed, "")
    if typed in _ASKED_OF_RULES and (" " in first or typed == "guard"):
        return _ASKS_RULES
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
    rows = _NO_COMMANDS.get(group, {}).items()
    does = next((does for others, does in rows if typed in others.split()), "")
    return f"There is none: {does}." if does else ""


def _meant(typed: str, group: str, names: Collection[str]) -> str:
    """The command, with its group, that a word means in a group; "" where none is known."""

    def within(name: str) -> str:
        return f"{group} {name}".lstrip()

    for ours, others in _IN_GROUP.get(group, {}).items():
        if typed in others.split():
            return ours
    if typed in names:
        return within(typed)
    ours = COMMANDS.get(typed, "")
    if ours in names:
        return within(ours)
    if ours and (group in _OF_THE_STORE or ours.startswith(f"{group} ")):
        return ours
    if group:
        for own, others in _VERBS.items():
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
    return sentence(_FURTHER.get(command, ""))


def instead_of_listing(word: str) -> str:
    """Return the command that lists what a word names, as a sentence; "" = none is known.

    Example:
        >>> instead_of_listing("rule"), instead_of_listing("banana")
        ('In Vestig it is `vestig rule list`.', '')
    """
    lists = {name.rpartition(" ")[0]: name for name in OUTLINES if name.endswith(" list")}
    listing = lists.get(nearest(word, lists)) or COMMANDS.get(word, "")
    listing = word if word == "keys" else listing
    counted = word in ("users", "scopes", "namespaces")
    if not (counted or "list" in listing.split() or listing == "keys"):
        return ""
    return f"In Vestig it is `vestig {listing}`{_NOTES.get(listing, '')}."


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
    for words, does in _NO_PATHS.get(command, {}).items():
        if word in words.split():
            return f"{does}; a path of that name is typed ./{word}."
    if named := format_of(word, formats):
        return f"In Vestig it is --format {named}; a path of that name is typed ./{word}."
    verbs = " ".join((*_VERBS, *_VERBS.values(), "restore")).split()
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
