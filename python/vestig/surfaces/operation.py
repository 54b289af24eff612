"""Operations: one call, declared for all surfaces, and the table of them.

The command line makes its commands, help and JSON from it, and servers their routes and tools.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import IO, TYPE_CHECKING, Any, Final, Literal

import msgspec

from vestig.calls.argument import Argument, Flag, Id, Objects
from vestig.calls.declaration import Request, required_of, rows_of
from vestig.calls.filter import FIELDS, Where
from vestig.errors import ConflictError, Description, NotFoundError, ValidationError
from vestig.surfaces.outlines import OUTLINES

if TYPE_CHECKING:
    from vestig.api.store import Vestig
    from vestig.config import Config
    from vestig.session.session import Session
    from vestig.store.ledger.absent_store import WithoutStore
    from vestig.surfaces.cli.screen import Screen

# Options of every command.
_GLOBAL: Final = ("namespace", "profile")
# Of operations that ask first.
YES: Final = Flag("Do not ask.", "--yes", name="yes")
# What a client may do; each holds those before it.
Right = Literal["read", "write", "admin"]
# When an operation is confirmed; "where": for what a filter selects.
Confirmed = Literal["", "always", "where"]
_NEEDED: Final[Mapping[Confirmed, str]] = {
    "always": "Needed unless dry_run is true.",
    "where": "Needed beside where unless dry_run is true.",
}


class Call(msgspec.Struct, kw_only=True):
    """One call of an operation. `args` holds only the parameters that were given."""

    args: dict[str, Any]
    # options of every command, as given
    options: Mapping[str, Any] = {}
    # None only for operations that need none of them
    config: Config = None  # type: ignore[assignment]
    store: Vestig = None  # type: ignore[assignment]
    session: Session = None  # type: ignore[assignment]
    progress: Callable[[int, int | None], None] | None = None
    # the streams that `-` stands for in an export and an import
    output: Callable[[], IO[str]] | None = None
    input: Callable[[], IO[str]] | None = None
    # prints a line, in a style, while the operation runs
    say: Callable[..., None] | None = None
    # what the text of the result is made with beside the arguments
    shown: dict[str, Any] = {}
    # asks before something is destroyed: plan → whether to go on
    confirm: Callable[[str], bool] | None = None


def on_screen(name: str) -> Callable[[Any, Mapping[str, Any], Screen], str]:
    """The text for a terminal by this name, which is loaded where there is one."""

    def text(value: Any, args: Mapping[str, Any], size: Screen) -> str:
        from vestig.surfaces.cli import screen

        made: str = getattr(screen, name)(value, args, size)
        return made

    return text


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of an operation as one JSON object: the arguments of one public call.

    `method` is that call, dotted from the store (`admin.stats`); `without`: names that no client
    gives; `missing`: what is not found where the call returns None; `shown`: the memory that it
    returns is answered as `show` does. `confirmed`: it destroys, or
    withdraws many at once, always or where this argument is given, so that `confirm: true` has to
    stand beside it unless `dry_run` does; the call itself does not take it.
    """

    method: str
    call: type[Request]
    without: tuple[str, ...] = ()
    confirmed: Confirmed = ""
    missing: str = ""
    shown: bool = False

    @property
    def rows(self) -> dict[str, Argument]:
        """The arguments by name, those of programs alone left out."""
        found = {
            name: row
            for name, row in rows_of(self.call).items()
            if not row.program_only and name not in self.without
        }
        if self.confirmed:
            help = f"true: do it. {_NEEDED[self.confirmed]}"
            found["confirm"] = Flag(help, name="confirm")
        return found

    @property
    def required(self) -> tuple[str, ...]:
        """The names that have to be there."""
        rows = self.rows
        return tuple(name for name in required_of(self.call) if name in rows)

    @property
    def where(self) -> Where | None:
        """The filter; None where it takes none."""
        row = rows_of(self.call).get("where")
        return row if isinstance(row, Where) else None

    def answer(self, store: Vestig, given: Mapping[str, Any]) -> Any:
        """Return what the call returns for arguments as `json_schema.read_arguments` made them.

        Raises:
            NotFoundError: it returns None, and `missing` says what of.
        """
        call: Any = store
        for name in self.method.split("."):
            call = getattr(call, name)
        found = call(**given)
        if found is None and self.missing:
            named = next(name for name in self.rows if name in given)
            raise NotFoundError(self.missing, str(given[named]))
        return store.show(found.id, namespace=found.namespace) if self.shown else found


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation, declared once; what it is for stands in `data/operations.txt`.

    `call` is the declaration of the public call that it makes, `method` that call, dotted from the
    store; None: it makes none, or several. `options` are of the command line alone. `run` does it;
    None: the call is made with the arguments as they are. `document` names its JSON
    (`vestig/<document>/1`); `text` makes its text for humans, `screen` the one for a terminal where
    that is another, `rows`: the text is a list, of which a terminal shows what fits its lines.
    `note` makes what stands on stderr beside it; `empty`: nothing answers, so that a pipe gets
    nothing, and the text stands on stderr; `exit_code` is that of a result: an error has its
    own. `open_options` makes options of `vestig.open` from the arguments.
    `without_store`: on a path without a store the operation answers as from an empty one, makes it,
    or is refused. `alone` answers certain arguments without opening the store; None: it has to be
    opened. `works_queue`: while it runs, a thread works the jobs that commits leave. `offered`:
    surfaces that speak JSON have it, without what `without` names and, as `confirmed` says, with a
    confirmation. `missing`: what is not found where the call returns None; `shown`: the memory that
    it returns is answered as `show` does. `right`: the one that a
    client needs, where it is not what follows from the rest. Over HTTP: `route`, its
    `path` where it is not what follows from the rest. `slow`: its time grows
    with the store or with what it is given. `ranked`: results come with their reasons on request.
    `limited`: a client may only ask so often, and a trace has a path of its own.
    """

    name: str
    call: type[Request] | None = None
    method: str = ""
    options: tuple[Argument, ...] = ()
    run: Callable[[Call], Any] | None = None
    document: str
    text: Callable[[Any, Mapping[str, Any]], str]
    screen: Callable[[Any, Mapping[str, Any], Screen], str] | None = None
    rows: bool = False
    note: Callable[[Any], str] = lambda _: ""
    empty: Callable[[Any, Mapping[str, Any]], bool] = lambda *_: False
    exit_code: Callable[[Any], int] = lambda _: 0
    needs_config: bool = True
    needs_store: bool = True
    alone: Callable[[Call], Any] = lambda _: None
    without_store: WithoutStore = "refuse"
    writes: bool = False
    works_queue: bool = False
    open_options: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _: {}
    offered: bool = True
    without: tuple[str, ...] = ()
    confirmed: Confirmed = ""
    missing: str = ""
    shown: bool = False
    right: Right | None = None
    route: str = ""
    slow: bool = False
    ranked: bool = False
    limited: bool = False

    @property
    def needed_right(self) -> Right:
        """The right that a client needs: admin for what removes for good and for the calls of
        `store.admin`, write for what else writes, read for the rest.

        Example:
            >>> [operation(name).needed_right for name in ("count", "memory add", "memory forget")]
            ['read', 'write', 'admin']
        """
        if self.right is not None:
            return self.right
        if self.confirmed == "always" or self.method.startswith("admin."):
            return "admin"
        return "write" if self.writes else "read"

    @property
    def path(self) -> str:
        """Its HTTP method and the path below the prefix, a part in braces an argument: POST for
        what writes or ranks, and its name; "": it has none.

        Example:
            >>> [operation(name).path for name in ("memory pin", "item list", "config show")]
            ['POST pin', 'GET item/list', '']
        """
        if self.arguments is None or self.route:
            return self.route
        method = "POST" if self.writes or self.ranked else "GET"
        return f"{method} {self.name.removeprefix('memory ').replace(' ', '/')}"

    @property
    def help(self) -> str:
        """Return what it does."""
        return OUTLINES[self.name].help

    @property
    def short(self) -> str:
        """Its other name, outside of its group; "" for none."""
        return OUTLINES[self.name].short

    @property
    def arguments(self) -> Arguments | None:
        """Return what it takes from surfaces that speak JSON; None: they do not offer it."""
        if self.call is None or not self.offered:
            return None
        return Arguments(
            method=self.method or self.name.rpartition(" ")[2],
            call=self.call,
            without=self.without,
            confirmed=self.confirmed,
            missing=self.missing,
            shown=self.shown,
        )

    @property
    def params(self) -> tuple[Argument, ...]:
        """Return what it takes on the command line: arguments with a flag or a place, its options,
        and the fields of its filter."""
        if self.call is None:
            return self.options
        rows, required = rows_of(self.call), required_of(self.call)
        taken = {one.name for one in self.options}
        own = [
            row
            for name, row in rows.items()
            if (
                row.flag
                or row.stdin
                or row.many
                or isinstance(row, Id)
                or name in required
                or not row.required
            )
            and not row.program_only
            and not isinstance(row, Objects)
            and name not in (*_GLOBAL, *taken)
        ]
        where = rows.get("where")
        fields = where.fields.values() if isinstance(where, Where) else ()
        names = {row.name for row in own} | taken
        return (*own, *self.options, *(row for row in fields if row.name not in names))

    def answer(self, call: Call) -> Any:
        """Does it, and returns the result."""
        if self.run is not None:
            return self.run(call)
        arguments = self.arguments
        assert arguments is not None, self.name
        options = {one.name for one in self.options}
        given = {name: value for name, value in call.args.items() if name not in options}
        given = filter_arguments(given, arguments.rows)
        for name in arguments.required:
            if name not in given:
                row = arguments.rows[name]
                raise ValidationError(
                    name,
                    Description("nothing"),
                    row.expected,
                    f"{row.flag} takes it" if row.flag else "",
                )
        if "progress" in rows_of(arguments.call):
            given["progress"] = call.progress
        return arguments.answer(call.store, given)


def filter_arguments(given: Mapping[str, Any], own: Mapping[str, Any] = {}) -> dict[str, Any]:
    """The arguments with the fields of the filter gathered in `where`.

    Args:
        own: arguments of the call itself, which no field is.

    Example:
        >>> filter_arguments({"limit": 3, "tags": ["infra"]})
        {'limit': 3, 'where': {'tags': ['infra']}}
    """
    where = {n: value for n, value in given.items() if n in FIELDS and n not in own}
    rest = {name: value for name, value in given.items() if name not in where}
    return rest | ({"where": where} if where else {})


def agreement(call: Call, *, done: str) -> Callable[[str], bool]:
    """Return what asks whether a plan may be carried out; `--yes` agrees to every one.

    Args:
        done: the participle of what is not done where nobody agrees: "removed".

    Raises:
        ConflictError: nobody can be asked.
    """
    if call.args.get(YES.name, False):
        return lambda _: True
    if call.confirm is None:
        raise ConflictError(f"nothing was {done}: nobody can be asked, confirm with --yes")
    return call.confirm


def after_confirmation(
    call: Call,
    method: Callable[..., Any],
    given: Mapping[str, Any],
    plan_text: Callable[[Any], str],
    *,
    done: str,
    selects: Callable[[Any], object] = lambda _: True,
) -> Any:
    """Show what `method` would do and, once that is confirmed, do it.

    Nobody is asked where `given` has `yes` or `dry_run`, nor about a plan that selects nothing,
    which is all that is done.

    Args:
        plan_text: the plan as text, for who is asked.
        done: the participle of what is not done where nobody agrees: "forgotten".
        selects: false of a plan that would do nothing.

    Raises:
        ConflictError: the plan was not confirmed. Else as `method`.
    """
    arguments = dict(given)
    if not (arguments.pop(YES.name, False) or arguments.get("dry_run", False)):
        plan = method(**{**arguments, "dry_run": True})
        if not selects(plan):
            return msgspec.structs.replace(plan, dry_run=False)
        if call.confirm is None or not call.confirm(plan_text(plan)):
            raise ConflictError(f"nothing was {done}: the plan was not confirmed")
    return method(**arguments)


def operations() -> tuple[Operation, ...]:
    """Every operation, in the order of help texts.

    Example:
        >>> [op.name for op in operations()][:2]
        ['memory add', 'memory add-structured']
    """
    return tuple(operation(name) for name in OUTLINES)


def operation(name: str) -> Operation:
    """One operation by name; the modules of others are not loaded.

    Raises:
        KeyError: unknown.

    Example:
        >>> operation("memory add").writes
        True
    """
    return _declared(OUTLINES[name].home)[name]


@cache
def _declared(module: str) -> Mapping[str, Operation]:
    home = importlib.import_module(f"vestig.surfaces.operations.{module}")
    declared: tuple[Operation, ...] = home.OPERATIONS
    return {one.name: one for one in declared}
