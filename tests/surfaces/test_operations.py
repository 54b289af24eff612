"""The table of operations: complete, reachable, named in help, accepted by the engine."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module

import click

from tables import each
from vestig.api.admin import Admin
from vestig.api.anchors import Anchors
from vestig.api.branches import Branches
from vestig.api.graph import Graph
from vestig.api.items import Items
from vestig.api.rules import Rules
from vestig.api.store import Vestig
from vestig.arguments import Provenance
from vestig.calls.argument import Choice
from vestig.calls.filter import FIELDS
from vestig.surfaces.cli import cli
from vestig.surfaces.operation import Operation, operation, operations
from vestig.surfaces.outlines import GROUPS, OUTLINES

VERBS = ("add", "recall", "show", "get", "list", "history", "events", "deprecate", "supersede")
STATES = ("pin", "unpin", "confirm", "archive", "unarchive", "update")
SHORT = {
    "add", "recall", "list", "show", "get", "forget", "supersede", "deprecate", "update", "history",
    "pin", "unpin", "confirm", "archive", "unarchive", "prune", "events", "stale",
}  # fmt: skip
COMMANDS = {
    "memory add-structured",
    "count",
    "keys",
    "cognify",
    "diff",
    "stats",
    *(f"memory {name}" for name in (*VERBS, *STATES)),
    "memory forget",
    *(f"item {name}" for name in ("put", "put-many", "get", "delete", "list", "scopes")),
    *(
        f"rule {name}"
        for name in ("add", "list", "show", "edit", "remove", "check", "test", "suggest")
    ),
    "anchor show",
    "anchor refresh",
    "anchor stale",
    *(f"branch {name}" for name in ("list", "show", "merge", "drop")),
    "replay",
    "retrieve",
    "search",
    "graph search",
    "graph neighbourhood",
    *(f"entity {name}" for name in ("list", "show", "extract", "merge", "expire", "purge")),
    *(f"edge {name}" for name in ("list", "show", "link", "unlink", "rebuild")),
    *(f"document {name}" for name in ("add", "list", "forget")),
    "housekeeping enrich",
    "housekeeping entity-backfill",
    "housekeeping gc",
    "housekeeping prune",
    "housekeeping secrets",
    "housekeeping compact",
    "export",
    "import",
    "backup",
    "restore",
    "rebuild",
    "doctor",
    "destroy",
    "tenant list",
    "tenant show",
    "tenant create",
    "tenant up",
    "tenant down",
    "tenant snapshot",
    "tenant drop",
    "tenant migrate",
    "tenant move",
    *(f"tenant token {name}" for name in ("add", "list", "revoke")),
    "fleet init",
    "fleet doctor",
    "demo",
    "eval",
    "serve",
    "inspect",
    "mcp",
    "hook",
    "install",
    "config show",
    "config explain",
}
# Arguments that only shape what this surface prints, or stand for another one.
SURFACE_ONLY = {
    "graph search": {"explain"},
    "search": {"explain", "timing", "format", "mode", "order"},
    "memory recall": {"explain", "timing", "format", "mode", "order"},
    "memory list": {"snippet_len", "ascending"},
    "entity purge": {"yes"},
    "document forget": {"yes"},
    "memory deprecate": {"yes"},
    "memory forget": {"yes", "finish", "keep_summaries"},
    "item delete": {"yes"},
    "rebuild": {"accept_ledger"},
    "restore": {"backup"},
    "doctor": {"clock", "forget_lost", "all_stores"},
    "destroy": {"path", "yes"},
    "demo": {"keep"},
    "tenant show": {"name"},
    "tenant create": {"name"},
    "tenant up": {"name", "folder"},
    "tenant down": {"name", "folder", "yes"},
    "tenant snapshot": {"name"},
    "tenant drop": {"name", "yes"},
    "tenant migrate": {"name"},
    "tenant move": {"name", "to", "abandon"},
    "fleet doctor": {"lost_before"},
    "tenant token add": {"name", "rights", "label", "expires"},
    "tenant token list": {"name"},
    "tenant token revoke": {"name", "id"},
    "eval": {"path", "switches"},
    "serve": {"host", "port", "fleet"},
    "inspect": {"port"},
    "mcp": {"transport", "host", "port", "scope"},
    "hook": {"event"},
    "install": {"editor", "remove", "dry_run", "check", "history", "strict"},
    "replay": {"file", "old", "new", "llm"},
    "config show": {"all"},
    "config explain": {"key"},
}
METHODS = {
    "memory add-structured": "commit_structured",
    "memory add": "commit",
    "item put-many": "put_many",
    "document add": "add_document",
    "document list": "documents",
    "document forget": "forget_document",
    "entity list": "entities",
    "entity show": "entity",
    **{f"entity {name}": f"{name}_entities" for name in ("extract", "merge", "purge")},
    "entity expire": "expire_entity",
    "housekeeping entity-backfill": "entity_backfill",
    "edge list": "edges",
    "edge show": "edge",
    "edge rebuild": "rebuild_edges",
    "housekeeping enrich": "enrich",
    "import": "import_",
}
# Methods that take the fields of the filter as `where`, and what `provenance` holds.
FILTERED = (
    "cognify",
    "diff",
    "recall",
    "retrieve",
    "search",
    "list",
    "count",
    "deprecate",
    "forget",
    "export",
    "prune",
)
RENAMED = {
    "file": {
        "export": "target",
        "import_": "source",
        "retrieve": "messages",
    }
}


def command_of(name: str) -> tuple[click.Command, click.Context]:
    command: click.Command = cli
    # click keeps the option of the first help that is asked for
    context = click.Context(cli, info_name="vestig", **cli.context_settings)
    for word in name.split():
        assert isinstance(command, click.Group)
        found = command.get_command(context, word)
        assert found is not None
        command = found
        context = click.Context(command, info_name=word, parent=context, terminal_width=100)
    return command, context


def test_the_table_holds_every_command_of_this_version() -> None:
    assert {op.name for op in operations()} == COMMANDS


def test_every_operation_that_is_declared_is_in_the_table() -> None:
    homes = {one.home for one in OUTLINES.values()}
    declared = {
        (home, op.name)
        for home in homes
        for op in import_module(f"vestig.surfaces.operations.{home}").OPERATIONS
    }
    assert declared == {(one.home, name) for name, one in OUTLINES.items()}


def test_every_command_of_the_cli_comes_from_the_table() -> None:
    context = click.Context(cli)

    def commands(group: click.Group, above: str) -> Iterator[str]:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if isinstance(command, click.Group):
                assert f"{above}{name}" in GROUPS
                yield from commands(command, f"{above}{name} ")
            else:
                yield f"{above}{name}"

    assert set(commands(cli, "")) == COMMANDS | SHORT
    assert {op.short for op in operations() if op.short} == SHORT


@each("operation", operations(), ids=lambda op: op.name)
def test_help_names_every_parameter(operation: Operation) -> None:
    command, context = command_of(operation.name)
    text = command.get_help(context)
    for param in operation.params:
        assert (param.flag or param.name.upper()) in text, param.name
        assert param.help
    for flag in ("--store", "--config", "--namespace", "--profile", "--json"):
        assert flag in text


@each("operation", operations(), ids=lambda op: op.name)
def test_every_argument_is_one_that_the_call_takes(operation: Operation) -> None:
    method = METHODS.get(operation.name, operation.name.rpartition(" ")[2])
    homes = {
        "item": Items,
        "rule": Rules,
        "anchor": Anchors,
        "branch": Branches,
        "entity": Graph,
        "edge": Graph,
        "graph": Graph,
        "housekeeping": Admin,
    }
    owner = homes.get(operation.name.partition(" ")[0], Vestig)
    if operation.name.startswith("config"):
        method = operation.name
    owner = next(
        (
            home
            for home in (owner, Admin, Graph, Items, Rules, Anchors, Branches)
            if hasattr(home, method)
        ),
        None,
    )
    if owner is None:
        assert {p.name for p in operation.params} <= SURFACE_ONLY.get(operation.name, set())
        return
    accepted = set(inspect.signature(getattr(owner, method)).parameters)
    if method in FILTERED:
        accepted |= set(FIELDS)
    if method in ("commit", "commit_structured"):
        accepted |= set(Provenance.__annotations__)
    for param in operation.params:
        if param.name in SURFACE_ONLY.get(operation.name, set()):
            continue
        assert RENAMED.get(param.name, {}).get(method, param.name) in accepted, param.name


@each("operation", operations(), ids=lambda op: op.name)
def test_flags_are_unique_and_choices_are_words(operation: Operation) -> None:
    flags = [p.flag for p in operation.params if p.flag]
    assert len(flags) == len(set(flags))
    names = [p.name for p in operation.params]
    assert len(names) == len(set(names))
    for param in operation.params:
        assert not isinstance(param, Choice) or param.choices


def test_every_argument_of_commit_that_can_be_typed_has_a_flag() -> None:
    add = {param.name: param for param in operation("memory add").params}
    arguments = set(inspect.signature(Vestig.commit).parameters) | set(Provenance.__annotations__)
    # an object of a program, what `provenance` holds, and an option of every command
    arguments -= {"self", "on_commit", "provenance", "namespace"}
    assert set(add) == arguments
    flags = {param.flag for param in add.values()} - {""}
    assert len(flags) == len(arguments) - 1, "only the text itself stands without a flag"
    assert {
        "--t-invalid",
        "--retention-until",
        "--metadata",
        "--entity",
        "--keyword",
        "--question",
        "--on-near-dup",
        "--strict",
        "--supersedes",
    } <= flags
