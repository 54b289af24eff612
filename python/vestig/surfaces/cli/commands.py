"""The command line: commands, help and exit codes made from the table of operations."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import click

from vestig.errors import ValidationError, VestigError
from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import AT_COMMAND_LINE
from vestig.surfaces.cli import INTERRUPTED, load_msgspec
from vestig.surfaces.cli.opening import configuration, open_session
from vestig.surfaces.cli.option_words import (
    command_words,
    instead_of_option,
    value_of_option,
)
from vestig.surfaces.cli.other_words import (
    MANY,
    instead_of,
    instead_of_listing,
    instead_of_path,
    instead_of_text,
    instead_of_words,
)
from vestig.surfaces.cli.parameters import (
    FROM_STDIN,
    TYPED_CHARS,
    Option,
    dated,
    given_arguments,
    metavar_of,
    parameter,
    times_taken,
    typed_times,
)
from vestig.surfaces.cli.terminal import OUTPUT_FAULTS, OutputError, Terminal
from vestig.surfaces.outlines import GROUPS, OUTLINES

if TYPE_CHECKING:
    from datetime import datetime

    from vestig.config import Config
    from vestig.surfaces.operation import Call, Operation

_NAME: Final = "vestig"
_GLOBALS: Final = "vestig.globals"
_FILE_FAULTS: Final = (
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)


def _remember(context: click.Context, option: click.Parameter, value: Any) -> Any:
    """Global options may stand anywhere; the one nearest to the command wins."""
    if value is not None and value is not False:
        context.meta.setdefault(_GLOBALS, {})[option.name] = value
    return value


def _global_options() -> list[click.Parameter]:
    texts = (
        ("--store", "PATH", "Directory of the store, or postgresql://… of a tenant."),
        ("--tenant", "NAME", "Tenant, where the store is an address of PostgreSQL."),
        ("--config", "FILE", "Configuration file."),
        ("--namespace", "NS", "Namespace in which the command acts."),
        ("--profile", "P", "Recall profile."),
    )
    options: list[click.Parameter] = [
        Option(
            [flag],
            metavar=metavar,
            help=text,
            expose_value=False,
            # before --help, which says where the store is
            is_eager=True,
            callback=_remember,
        )
        for flag, metavar, text in texts
    ]
    options.append(_flag(["--json", "as_json"], "One JSON document on standard output."))
    return options


def _init_option() -> click.Parameter:
    """Of the commands that can begin a store."""
    return _flag(["--init"], "Begin a store among other files, or where one was lost.")


def _flag(names: list[str], text: str) -> click.Parameter:
    return Option(names, is_flag=True, help=text, expose_value=False, callback=_remember)


# Who types a question waits for a judge that a busy machine slows down: what it brings does not
# hang on the load.
_BUDGET: Final = "judge.budget_ms"
_BUDGET_MS: Final = 1_500.0
# The command whose scope is a field that it changes.
_CHANGES_SCOPE: Final = "memory update"
_HELP: Final = "Durable long-term memory for AI agents."
_EPILOG: Final = """Completion of commands and options:
  bash  eval "$(_VESTIG_COMPLETE=bash_source vestig)"   in ~/.bashrc
  zsh   eval "$(_VESTIG_COMPLETE=zsh_source vestig)"    in ~/.zshrc
  fish  _VESTIG_COMPLETE=fish_source vestig | source    in config.fish

Examples:
  vestig add "Deploys run on Fridays at noon." --author Omar --tags infra
  vestig recall "when do deploys run?"
  vestig list --authors omar --json
"""


def _place_of_store(context: click.Context) -> str:
    """Where the store is, or why that cannot be said, and what else names one."""
    from pathlib import Path

    load_msgspec()
    from vestig.config.environment import without_credentials

    try:
        named = configuration(context.meta.get(_GLOBALS, {})).settings.store.path
    except VestigError as error:
        place = f"The configuration cannot be read: {error}."
    else:
        path, home = Path(named), Path.home()
        shown = f"~/{path.relative_to(home)}" if path.is_relative_to(home) else named
        place = f"The store is {without_credentials(shown)}."
    others = "--store, VESTIG_STORE or store.path of a configuration file"
    return f"{place} Another is named by\n{others}."


class _Group(click.Group):
    """A group that makes a command when its name is asked for, names the nearest one when a name
    is unknown, and lists those most used first.

    Args:
        names: what a command is called in this group → its operation.
        groups: the groups within it.
    """

    def __init__(
        self,
        name: str,
        names: Mapping[str, str],
        groups: Mapping[str, click.Command] = MappingProxyType({}),
        **attributes: Any,
    ) -> None:
        super().__init__(name, commands=dict(groups), **attributes)
        self._names = names

    def list_commands(self, _: click.Context) -> list[str]:
        known = sorted({*self._names, *self.commands})
        if self.name != _NAME:
            return known
        frequent = {one.short or name: None for name, one in OUTLINES.items() if one.frequent}
        return [*frequent, *(name for name in known if name not in frequent)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and cmd_name in self._names:
            self.add_command(_Command(self._names[cmd_name], cmd_name))
        return super().get_command(ctx, cmd_name)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Behind the other options: help says where their store is."""
        if self._help_option is None:
            self._help_option = _help_option(ctx)
            self._help_option.is_eager = False
        return self._help_option

    def format_help_text(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """The text as it stands: click takes indentation out of it."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(str(self.help))

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Paragraphs at the margin, as the text above the options; first, where the store is."""
        if self.epilog is None:
            return
        for paragraph in (_place_of_store(context), *self.epilog.split("\n\n")):
            formatter.write_paragraph()
            formatter.write(paragraph.rstrip("\n") + "\n")

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[:1] == ["help"]:
            if args[1:]:
                return self.resolve_command(context, [*args[1:], "--help"])
            click.echo(context.get_help(), color=context.color)
            context.exit()
        if args[:1] == ["version"] and self.name == _NAME:
            given = context.meta.get(_GLOBALS, {})
            as_json = "--json" in args or bool(given.get("as_json"))
            _print_version(context, self, True, as_json=as_json)
        try:
            return super().resolve_command(context, args)
        except click.UsageError as error:
            if not args or args[0].startswith("-"):
                raise
            group = "" if self.name == _NAME else str(self.name)
            hint = instead_of(args, group, self.list_commands(context))
            if "destroy PATH" in hint and not any(word.startswith("-") for word in args):
                hint = f"{hint} {_place_of_store(context).partition(' Another is')[0]}"
            typed = repr(args[0][:TYPED_CHARS])
            raise click.UsageError(f"No such command {typed}. {hint}", context) from error


def _help_option(ctx: click.Context) -> click.Option:
    def show(context: click.Context, _: object, value: bool) -> None:
        if value and not context.resilient_parsing:
            click.echo(context.get_help(), color=context.color)
            context.exit()

    return Option(
        ctx.help_option_names,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show this message and exit.",
    )


def _callback(operation: Operation) -> Callable[..., int]:
    from vestig.surfaces.operation import Call

    def command(**values: Any) -> int:
        given = click.get_current_context().meta.get(_GLOBALS, {})
        terminal = Terminal(as_json=bool(given.get("as_json")))
        call = Call(
            args=given_arguments(operation.params, values, terminal, operation.options),
            options=given,
            progress=terminal.progress,
            output=terminal.output,
            input=terminal.input,
            say=terminal.say,
            confirm=terminal.confirm,
        )
        call.shown = shown = dict(call.args)
        if operation.needs_config:
            call.config = configuration(given)
            if operation.document == "recall" and call.config.origin(_BUDGET) == "built-in":
                call.config = call.config.with_overrides({_BUDGET: _BUDGET_MS})
        try:
            with _logs(operation, call):
                value = operation.alone(call)
                if value is not None:
                    pass
                elif operation.needs_store:
                    value = _on_store(operation, call, terminal, init=bool(given.get("init")))
                else:
                    value = operation.answer(call)
        except ValidationError as error:
            _name_flag(error, operation)
            raise
        finally:
            terminal.finish_work()
        if operation.document == "recall":
            _choose_layout(operation, shown, call.config)
        terminal.show(operation, value, shown)
        return operation.exit_code(value)

    return command


def _name_flag(error: ValidationError, operation: Operation) -> None:
    """Puts the option that was typed in the place of the argument that it is called in Python, and
    the times that are typed in the place of those of Python."""
    flags = {row.name: row.flag for row in operation.params if row.flag}
    flag = flags.get(error.field, "")
    said = typed_times(str(error), flag)
    error.args = (said,)
    if flag.removeprefix("--").replace("-", "_") == error.field:
        return
    if flag and said.startswith(f"{error.field}: "):
        error.args = (f"{flag}{said.removeprefix(error.field)}",)


def _logs(operation: Operation, call: Call) -> AbstractContextManager[None]:
    """Log records go to standard error, as configured."""
    if not operation.needs_config:
        return nullcontext()
    from vestig.telemetry import logs_to

    telemetry = call.config.settings.telemetry
    return logs_to(sys.stderr, level=telemetry.log_level, format=telemetry.log_format)


def _on_store(operation: Operation, call: Call, terminal: Terminal, *, init: bool) -> Any:
    """Runs the operation on the store, or on an empty one where there is none."""
    from vestig.api.store import Vestig

    session = open_session(
        call.config,
        init=init,
        must_exist=operation.without_store == "refuse",
        **operation.open_options(call.args),
    )
    call.session = session
    with Vestig(session, worker=operation.works_queue) as call.store:
        _put_project(operation, call)
        call.args = dated(operation.params, call.args, partial(_now, call))
        value = operation.answer(call)
        missing = session.ledger.missing
        if missing is None:
            # imported here: help and completion show no result
            from vestig.surfaces.cli.notes import notes

            for line in notes(operation, call, value):
                terminal.note(line)
    if missing is not None and operation.without_store == "empty":
        terminal.note(missing.notice)
    return value


def _now(call: Call) -> datetime:
    """The time of the session's clock, in `time.zone`."""
    from vestig.times import from_us, zone_named

    zone = zone_named(call.config.settings.time.zone)
    return from_us(call.session.now_us()).astimezone(zone)


def _put_project(operation: Operation, call: Call) -> None:
    """Puts the project of the folder in the place of the scope `auto`: a filter has its scopes by
    name, and what takes one scope is asked of a view of the store."""
    from vestig.api.views import binding_of
    from vestig.calls.scope import AUTO

    scope = call.args.get("scope")
    if isinstance(scope, list) and AUTO in scope:
        scopes = binding_of(call.session, AUTO, None).scopes
        others = [one for one in scope if one != AUTO]
        call.args["scope"] = list(dict.fromkeys((*scopes, *others)))
    elif scope == AUTO and operation.name == _CHANGES_SCOPE:
        call.args["scope"] = binding_of(call.session, AUTO, None).scope
    elif scope == AUTO:
        del call.args["scope"]
        call.store = call.store.scoped(AUTO)


def _choose_layout(operation: Operation, shown: dict[str, Any], config: Config) -> None:
    """`recall.format` is the layout of `memory recall` where it is none that a terminal has a
    form of its own for; `search` prints its list. Days begin in `time.zone`."""
    layout = config.settings.recall.format
    if operation.name == "memory recall" and layout != "text":
        shown.setdefault("format", layout)
    shown["zone"] = config.settings.time.zone


# What a shell reads within double quotes.
_QUOTED_OTHERWISE: Final = frozenset('"$`\\!')
_TEXT: Final = '"…"'
# A word that is no option, though it begins with a dash; longer ones are not shown.
_DASHED_TEXT: Final = lazy_pattern(r"-[^\s=]*\s.*|-\d+[.,]\d.*", re.DOTALL)
_SHOWN_CHARS_MAX: Final = 80
# Operations whose words are paths.
_TAKE_PATHS: Final = ("backup", "export", "import")


def _formats(command: click.Command, context: click.Context) -> Sequence[str]:
    """The words that the --format of a command takes."""
    rows = [row for row in command.get_params(context) if row.name == "format"]
    return [word for row in rows if isinstance(row.type, click.Choice) for word in row.type.choices]


class _Command(click.Command):
    """The command of an operation, which is loaded when it is run, explained or completed: a list
    of commands needs none.

    Args:
        operation: the operation's name.
        name: what the command is called.
    """

    def __init__(self, operation: str, name: str) -> None:
        super().__init__(name, help=OUTLINES[operation].help)
        self._operation = operation

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True
        super().parse_args(ctx, args)
        if ctx.args and not ctx.resilient_parsing:
            raise click.UsageError(self._too_many(ctx), ctx)
        if not ctx.resilient_parsing:
            self._check_words(ctx)
        return ctx.args

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        if self._help_option is None:
            self._help_option = _help_option(ctx)
        return self._help_option

    def _check_words(self, ctx: click.Context) -> None:
        """A path that is not there, and reads as a command or a format, was meant as one; a text
        that names a file as what the file says."""
        for row in self.get_params(ctx):
            if isinstance(row, click.Argument):
                value = ctx.params[str(row.name)]
                word = (*value, "")[0] if row.nargs == -1 else value
                hint = ""
                if self._operation in _TAKE_PATHS and not os.path.lexists(word):
                    formats = [] if ctx.params.get("format") else _formats(self, ctx)
                    hint = instead_of_path(word, self._operation, formats)
                elif isinstance(word, str) and _shown(row) == _TEXT:
                    hint = instead_of_text(word, self._operation, ctx.command_path)
                if hint:
                    raise click.UsageError(f"Unexpected {word[:TYPED_CHARS]!r}: {hint}", ctx)

    def _too_many(self, ctx: click.Context) -> str:
        """Return what to do about words that no argument takes: those of a text belong in
        quotes."""
        from vestig.surfaces.operation import operation

        extra = " ".join(ctx.args)[:TYPED_CHARS]
        takes = [row for row in operation(self._operation).params if not row.flag]
        if not takes or not takes[-1].stdin:
            names = ", ".join(row.name.upper() for row in takes) or "options alone"
            given = [str(ctx.params[row.name]) for row in takes]
            hint = instead_of_words(self._operation, [*given, *ctx.args], _formats(self, ctx))
            return f"Unexpected {extra!r}: it takes {names}. {hint}".rstrip()
        first = str(ctx.params[takes[-1].name])
        if any(len(word.split()) > 1 for word in ctx.args):
            many = MANY if self._operation == "memory add" else ""
            if many and len(ctx.args) == 1 and len(first.split()) == 1:
                many = f'; a text with its key is `vestig add "…" --key {shlex.quote(first)}`'
            return f"Expected one text, got {len(ctx.args) + 1}: it takes one a call{many}."
        whole = " ".join([first, *ctx.args])
        words = len(whole.split())
        path = " ".join([ctx.command_path, *(str(ctx.params[row.name]) for row in takes[:-1])])
        if len(whole) > TYPED_CHARS or not set(whole).isdisjoint(_QUOTED_OTHERWISE):
            return f"Expected one text, got {words} words: put them in quotes."
        return f'Expected one text, got {words} words; in quotes: {path} "{whole}"'

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if not self.params:
            load_msgspec()
            from vestig.surfaces.operation import operation

            found = operation(self._operation)
            self.params = _parameters(found)
            self.callback = _callback(found)
            self.help = "\n\n".join([found.help, *_notes(found)])
        return super().get_params(ctx)


def _notes(operation: Operation) -> list[str]:
    """Return what its help says beside what it does."""
    from_stdin = [row.name.upper() for row in operation.params if row.stdin and not row.flag]
    notes = [f"{name}: {FROM_STDIN}" for name in from_stdin]
    if any(metavar_of(row) == "TIME" for row in operation.params):
        notes.append(times_taken(operation.params))
    if operation.short:
        short, full = f"{_NAME} {operation.short}", f"{_NAME} {operation.name}"
        notes.append(f"`{short}` and `{full}` are one command.")
    return notes


def _parameters(operation: Operation) -> list[click.Parameter]:
    own = {param.flag for param in operation.params}
    shared = [option for option in _global_options() if own.isdisjoint(option.opts)]
    if operation.without_store == "make":
        shared.append(_init_option())
    return [*(parameter(param) for param in operation.params), *shared]


def _group(path: str) -> _Group:
    """The commands whose names begin with these words, and the groups among them."""
    above = f"{path} "
    within = {name: _group(name) for name in GROUPS if name.rpartition(" ")[0] == path}
    names = {
        name.removeprefix(above): name
        for name in OUTLINES
        if name.startswith(above) and name.rpartition(" ")[0] not in within
    }
    groups = {name.removeprefix(above): group for name, group in within.items()}
    return _Group(path, names, groups, help=GROUPS[path], params=_global_options())


def _build() -> _Group:
    def bare() -> int:
        context = click.get_current_context()
        if context.invoked_subcommand is None:
            click.echo(f"vestig {_version()}\n\n{context.get_help()}")
        return 0

    groups = {group: _group(group) for group in GROUPS if " " not in group}
    print_version = Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Print the version.",
    )
    return _Group(
        _NAME,
        {one.short or name: name for name, one in OUTLINES.items() if one.short or " " not in name},
        groups,
        help=_HELP,
        epilog=_EPILOG,
        params=[*_global_options(), print_version],
        callback=bare,
        context_settings={"help_option_names": ["-h", "--help"]},
        invoke_without_command=True,
        no_args_is_help=False,
    )


def _version() -> str:
    from importlib.metadata import version

    return version(_NAME)


def _print_version(
    context: click.Context, _: object, value: bool, *, as_json: bool = False
) -> None:
    if not value:
        return
    if as_json:
        from vestig.surfaces import wire

        click.echo(wire.encode(wire.document("version", _version())))
    else:
        click.echo(f"vestig {_version()}")
    context.exit()


cli: Final = _build()


def run(args: Sequence[str]) -> int:
    """Runs one command line and returns its exit code.

    Example:
        >>> run(["--version"])  # doctest: +ELLIPSIS
        vestig ...
        0
    """
    words = list(args)
    code = _run_line(words)
    # an editor takes another exit of a hook for an order to drop the prompt
    return 0 if words[:1] == ["hook"] else code


def _run_line(words: list[str]) -> int:
    before = words[: words.index("--")] if "--" in words else words
    terminal = Terminal(as_json="--json" in before)
    spoken = AT_COMMAND_LINE.set(True)
    try:
        return int(cli.main(args=words, prog_name=_NAME, standalone_mode=False) or 0)
    except (click.Abort, KeyboardInterrupt):
        return _interrupted()
    except Exception as error:  # every kind has an answer of its own
        from vestig.telemetry import caused_by_interrupt

        return _interrupted() if caused_by_interrupt(error) else _failed(error, terminal, words)
    finally:
        AT_COMMAND_LINE.reset(spoken)


def _failed(error: Exception, terminal: Terminal, words: Sequence[str]) -> int:
    """Says what went wrong, and gives the exit code; a defect becomes a problem object, not a
    traceback."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return _no_command(error.format_message(), terminal)
    if isinstance(error, click.UsageError):
        return _usage(error, terminal, words)
    if isinstance(error, OutputError):
        return terminal.give_up(error)
    if isinstance(error, VestigError):
        return _refused(error, terminal)
    if isinstance(error, _FILE_FAULTS):
        return _bad_file(error, terminal)
    if isinstance(error, OSError):
        return _unusable_file(error, terminal)
    return _defect(error, terminal)


def _interrupted() -> int:
    click.echo("Interrupted; the store is consistent.", err=True)
    return INTERRUPTED


def _refused(error: VestigError, terminal: Terminal) -> int:
    from vestig.surfaces import wire

    terminal.complain(f"Error: {error}", wire.problem(error, local=True))
    return wire.exit_code(error)


def _no_command(help_text: str, terminal: Terminal) -> int:
    from vestig.surfaces import wire

    terminal.complain(help_text, wire.usage_problem("expected a command; see --help"))
    return 2


def _usage(error: click.UsageError, terminal: Terminal, words: Sequence[str]) -> int:
    if error.ctx is not None and error.message == "Missing command.":
        return _no_command(error.ctx.get_help(), terminal)
    from vestig.surfaces import wire

    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        hint = _behind_command(error.option_name, error.ctx, words)
        hint = hint or _instead_of_option(error.option_name, error.ctx, words)
        text = f"No such option {error.option_name!r}. {hint}".rstrip()
        error = click.UsageError(text, error.ctx)
    where = "" if error.ctx is None else f"{error.ctx.get_usage()}\n"
    name = getattr(error, "param", None)
    said = error.format_message()
    if isinstance(error, click.MissingParameter) and error.ctx is not None:
        said = f"{said} {command_words()['lacking'].get(error.ctx.info_name or '', '')}".rstrip()
    problem = wire.usage_problem(said, getattr(name, "name", None))
    terminal.complain(f"{where}Error: {said}", problem)
    return 2


def _behind_command(typed: str, context: click.Context, words: Sequence[str]) -> str:
    """Return how an option is typed that a group lacks and a command behind it has; "" = it is none
    of that command."""
    value, named = value_of_option(typed, words), list[str]()
    command: click.Command | None = context.command
    for word in words[words.index(typed) + 1 :] if typed in words else ():
        inner = command.get_command(context, word) if isinstance(command, click.Group) else None
        if inner is not None:
            command, named = inner, [*named, word]
    if command is None or not named:
        return ""
    row = next((one for one in command.get_params(context) if typed in one.opts), None)
    if row is None:
        return ""
    whole = typed if getattr(row, "is_flag", False) else f"{typed} {shlex.quote(value)}"
    return f"It stands behind the command: `{context.command_path} {' '.join(named)} … {whole}`."


def _instead_of_option(typed: str, context: click.Context, words: Sequence[str]) -> str:
    rows = context.command.get_params(context)
    places = [row for row in rows if isinstance(row, click.Argument)]
    value = value_of_option(typed, words)
    if typed == "--kind" and (listing := instead_of_listing(value.lower())):
        return listing
    whole = next((word for word in words if word.startswith(typed)), typed)
    if _TEXT in map(_shown, places) and _DASHED_TEXT.fullmatch(whole):
        shown = shlex.quote(whole) if len(whole) <= _SHOWN_CHARS_MAX else _TEXT
        return (
            f"A text with a dash before it stands behind --: `{context.command_path} -- {shown}`."
        )
    # of "-40" the first digit is read as an option
    typed = whole if whole[1:].isdecimal() else typed
    return instead_of_option(
        typed,
        value,
        context.command_path.removeprefix(_NAME).removeprefix(" memory").strip(),
        [name for row in rows if row not in places for name in row.opts],
        {str(row.name).upper(): _shown(row) for row in places},
        _formats(context.command, context),
        times={name for row in rows if row.metavar == "TIME" for name in row.opts},
    )


def _shown(place: click.Argument) -> str:
    name = str(place.name).upper()
    return _TEXT if name in ("CONTENT", "QUERY", "TEXT") else name


def _bad_file(error: OSError, terminal: Terminal) -> int:
    """A path that the caller named and that cannot be used."""
    from vestig.surfaces import wire

    detail = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    terminal.complain(f"Error: {detail}", wire.usage_problem(detail, "file"))
    return 2


def _unusable_file(error: OSError, terminal: Terminal) -> int:
    """A disk that is full or fails, under a file of the caller or standard output."""
    if error.filename is not None:
        return _bad_file(error, terminal)
    if error.errno in OUTPUT_FAULTS:
        return terminal.give_up(OutputError.of(error))
    return _defect(error, terminal)


def _defect(error: Exception, terminal: Terminal) -> int:
    """Type and place only: the message of a foreign exception may hold stored text."""
    from vestig.surfaces import wire

    problem = wire.problem(error)
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    place = "" if step is None else f" at {step.tb_frame.f_code.co_qualname}:{step.tb_lineno}"
    text = f"Internal error {problem['instance']}: {type(error).__name__}{place}"
    terminal.complain(f"{text}; please report it", problem)
    return wire.exit_code(error)
