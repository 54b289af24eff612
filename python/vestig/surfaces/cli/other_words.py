"""Words of other tools, and the command or option that does the same here.

They are named in the error and never run: some of these commands change or erase what is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from vestig.other_words import meaning_of_word, nearest
from vestig.surfaces.outlines import GROUPS, OUTLINES

_NAMED: Final[Mapping[str, str]] = {
    "forget": "delete remove rm erase del unremember drop purge",
    "show": "cat view read fetch open display",
    "recall": "ask query find q lookup answer",
    "search": "grep similar",
    "graph neighbourhood": "related neighbors neighbours",
    "count": "size len length",
    "recall --context": "context prompt",
    "recall --explain": "why reason explain",
    "add TEXT --key K": "set",
    "add": "remember store save note commit put insert create new write learn memorize memorise"
    " upsert",
    "events": "log audit",
    "history": "versions revisions",
    "list": "ls all browse dir notes facts memories peek recent latest last",
    "list --tags A,B": "tags tagged",
    "diff": "timeline changes",
    "update": "edit modify change rename tag untag",
    "supersede": "replace",
    "deprecate": "retract revoke withdraw invalidate undo expire",
    "archive": "hide",
    "unarchive": "unhide",
    "stats": "status info summary",
    "doctor": "health ping check verify fsck diagnose repair validate test selftest",
    "document list": "docs files sources",
    "entity list": "entities people names",
    "edge list": "edges links relations",
    "edge link": "connect relate",
    "import": "ingest load upload insert-many",
    "import --mirror -r FOLDER": "watch sync mirror",
    "export": "dump download",
    "backup": "snapshot copy clone",
    "rebuild": "reindex index embed",
    "housekeeping compact": "vacuum optimize optimise",
    "housekeeping": "maintenance clean cleanup",
    "mcp": "mcp-server",
    "install": "claude codex cursor editor",
    "install --remove": "uninstall",
    "serve": "server start api http up run listen daemon",
    "inspect": "inspector ui gui web browser dashboard",
    "eval": "benchmark bench evaluate",
    "demo": "tour tutorial quickstart example",
    "config show": "configure settings",
    "destroy PATH": "wipe nuke reset clear empty delete-all purge-all",
    'add "…"': "init setup new-store create-store",
    "--help": "completion completions man usage",
}
# A word that is typed → the command of this one that does it.
COMMANDS: Final[Mapping[str, str]] = {
    word: ours for ours, others in _NAMED.items() for word in others.split()
}
# More to say about some commands, or about a word that is typed.
_NOTES: Final[Mapping[str, str]] = {
    'add "…"': "; the first memory makes the store",
    "--help": "; its last lines say how your shell completes commands",
    "import --mirror -r FOLDER": ", run again whenever the folder has changed",
    "undo": " for what was added by mistake; `vestig unarchive` and `vestig unpin` end those"
    " states, and a text that was replaced is added again, with its key where it has one",
    "destroy PATH": " for a whole store, and `vestig forget` for single memories",
}
# A call in Python whose command has another name.
_OF_CALLS: Final[Mapping[str, str]] = {
    "commit": "add",
    "import_": "import",
}
# What means something else within a group.
_IN_GROUP: Final[Mapping[str, Mapping[str, str]]] = {
    "config": {"list": "show", "ls": "show", "get": "explain"},
    "memory": {"restore": "unarchive"},
}
_CONFIG_SET: Final = (
    "a value is set in vestig.yaml or by a variable; `vestig config explain KEY` says what it takes"
)
# An option → what others call it. Which of several a command has decides.
_OPTIONS: Final[Mapping[str, str]] = {
    "--key": "--id --name",
    "--limit": "-k -l --top --top-k --count --max --max-results --num --size --first",
    "--max-facts": "-k -n --limit --top-k",
    "--tags": "--label --labels --category --categories",
    "--t-valid": "--date --when --timestamp --created-at --time --valid-from --on",
    "--author": "--by --speaker --sender --authors",
    "--authors": "--by --speaker --sender --author",
    "--session-id": "--session --conversation --thread --chat --session-ids",
    "--session-ids": "--session --conversation --thread --chat --session-id",
    "--since": "--after --newer-than --from",
    "--as-of": "--at --asof",
    "--valid-at": "--at",
    "--order-by": "--sort --sort-by --order",
    "--mirror": "--watch --sync",
    "--until": "--before --older-than --to",
    "--scope": "--user --user-id --channel --customer",
    "--metadata": "--meta -m",
    "--yes": "-y --confirm -f --force",
    "--dry-run": "-n --plan",
    "--explain": "--why --reason --reasons -v --verbose",
    "--format": "--layout",
    "--version": "-V",
    "--namespace": "--tenant --project",
    "--store": "-s --db --path --dir --directory --data-dir",
    "--help": "--install-completion --show-completion",
    "--config": "-c --config-file",
    "--json": "-j --as-json",
}
# Of these no spelling is ever near: what was meant is asked for by its own name.
_DESTRUCTIVE: Final = frozenset(("destroy", "forget", "purge"))
# Words that are taken as commands, beside those that are listed.
_ALSO_COMMANDS: Final = ("help", "version")


def instead_of(word: str, group: str, names: Collection[str]) -> str:
    """Return what to type instead of a command that is unknown, as a sentence.

    Args:
        word: what was typed.
        group: the group of commands it was typed in; "" outside of all.
        names: the commands there.

    Example:
        >>> instead_of("rm", "", ["forget", "list"])
        'In Vestig it is `vestig forget`.'
        >>> instead_of("forgett", "", ["forget", "list"])
        '`vestig --help` lists the commands.'
    """
    typed = word.lower().lstrip("-")
    where = f"vestig {group}".rstrip()
    if group == "config" and typed in ("set", "edit", "unset"):
        return f"There is none: {_CONFIG_SET}."
    ours = _IN_GROUP.get(group, {}).get(typed, "") or COMMANDS.get(typed, "")
    note = _NOTES.get(typed) or _NOTES.get(ours, "")
    if ours in names:
        return f"In Vestig it is `{where} {ours}`{note}."
    if ours and group in ("", "memory"):
        return f"In Vestig it is `vestig {ours}`{note}."
    elsewhere = [name for name in OUTLINES if " " in name and name.split()[-1] == typed]
    if elsewhere or typed in GROUPS or typed in OUTLINES:
        known = elsewhere or [typed]
        return f"It is {' or '.join(f'`vestig {name}`' for name in known)}."
    call = meaning_of_word(typed).rpartition("store.")[2].partition("(")[0].rpartition(".")[2]
    if (of_call := _OF_CALLS.get(call, call)) in names:
        return f"In Vestig it is `{where} {of_call}`."
    near = nearest(typed, [*names, *_DESTRUCTIVE, *_ALSO_COMMANDS])
    if near and near not in _DESTRUCTIVE:
        return f"Did you mean `{where} {near}`?"
    return f"`{where} --help` lists the commands."


def options_instead_of(typed: str, names: Collection[str]) -> list[str]:
    """The options of a command that do what another tool's option does.

    Args:
        typed: the option that is unknown.
        names: the options that the command has.

    Example:
        >>> options_instead_of("--date", ["--tags", "--t-valid"])
        ['--t-valid']
    """
    return [ours for ours, others in _OPTIONS.items() if ours in names and typed in others.split()]
