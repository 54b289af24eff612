"""`tenant` and `fleet`: stores in PostgreSQL that any number of machines serve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from vestig.calls.argument import Choice, Flag, Text, Time
from vestig.surfaces.operation import YES, Call, Operation, Right, agreement

if TYPE_CHECKING:
    from vestig.results import FleetReport, TenantReport, TokenReport

_NAME: Final = Text("Name of the tenant: a to z, 0 to 9, dot, hyphen, underscore.", name="name")
_FOLDER: Final = Text("Directory of the store.", name="folder")
_TO: Final = Text(
    "Address of the other database, as --store takes it; a password is best kept out of it.",
    "--to",
    name="to",
)
_ABANDON: Final = Flag(
    "End a move that did not come to its end: the tenant takes writes again where it is.",
    "--abandon",
    name="abandon",
)
_LOST_BEFORE: Final = Time(
    "Drop the records of copies on machines that have proved nothing since this time: they are"
    " gone for good.",
    "--lost-before",
    name="lost_before",
)
_TOKEN_ID: Final = Text("Id of the token, as `vestig tenant token list` has it.", name="id")
_TOKEN_OPTIONS: Final = (
    Choice(
        "What it may do: read; write, which reads too; admin, which may do all.",
        "--rights",
        name="rights",
        words=get_args(Right),
        default_text="read",
    ),
    Text("What it is for.", "--label", name="label"),
    Time("When it ends.", "--expires", name="expires", default_text="never"),
)


def tenants_module() -> Any:
    """The module of tenants, where the extra is installed."""
    from vestig.errors import ConfigError
    from vestig.hints import missing_package

    try:
        from vestig.fleet import tenants
    except ModuleNotFoundError as error:
        name = str(error.name)
        raise ConfigError(missing_package("a tenant in PostgreSQL", name, "fleet")) from None
    return tenants


def _database(call: Call) -> Any:
    return tenants_module().database_of(call.config)


def _list(call: Call) -> Any:
    return tenants_module().list_tenants(_database(call))


def _show(call: Call) -> Any:
    return tenants_module().show(_database(call), call.args["name"])


def _create(call: Call) -> Any:
    return tenants_module().create(_database(call), call.args["name"])


def _folder(call: Call) -> Path:
    from vestig.arguments import path_argument

    return Path(path_argument("folder", call.args["folder"], "a directory's path")).expanduser()


def _up(call: Call) -> Any:
    return tenants_module().create(_database(call), call.args["name"], _folder(call))


def _down(call: Call) -> Any:
    folder, agreed = _folder(call), agreement(call, done="copied")
    return tenants_module().down(
        _database(call),
        call.args["name"],
        folder,
        lambda found: agreed(
            f"{_line(found)}\nwould be copied to {folder}, as a store of its own: what is forgotten"
            " in the tenant stays in it."
        ),
    )


def _snapshot(call: Call) -> Any:
    return tenants_module().snapshot(call.config, call.args["name"])


def _drop(call: Call) -> Any:
    agreed = agreement(call, done="removed")
    return tenants_module().drop(
        _database(call),
        call.args["name"],
        lambda found: agreed(f"{_line(found)}\nwould be removed for good, with all its changes."),
    )


def _move(call: Call) -> Any:
    from vestig.errors import Description, ValidationError

    tenants, given = tenants_module(), call.args
    from vestig.fleet import move

    to, abandons = given.get("to"), bool(given.get("abandon", False))
    if (to is None) != abandons:
        raise ValidationError(
            "to",
            Description("neither" if to is None else "both"),
            "--to with the address of the other database, or --abandon",
        )
    if to is None:
        return move.abandon(_database(call), given["name"])
    return move.move(_database(call), given["name"], tenants.database_of(call.config, to))


def _migrate(call: Call) -> Any:
    return tenants_module().migrate(_database(call), call.args["name"])


def _init(call: Call) -> Any:
    return tenants_module().init(_database(call))


def _doctor(call: Call) -> Any:
    return tenants_module().doctor(_database(call), lost_before=call.args.get("lost_before"))


def _tokens() -> Any:
    """The module of tokens, where the extra is installed."""
    tenants_module()
    from vestig.fleet import tokens

    return tokens


def _token_add(call: Call) -> Any:
    given = {name: value for name, value in call.args.items() if name != "name"}
    return _tokens().add_token(_database(call), call.args["name"], **given)


def _token_list(call: Call) -> Any:
    return _tokens().list_tokens(_database(call), call.args["name"])


def _token_revoke(call: Call) -> Any:
    return _tokens().revoke_token(_database(call), call.args["name"], call.args["id"])


def _token_line(one: TokenReport) -> str:
    from vestig.language.text_forms import row
    from vestig.times import format_us, to_us

    ends = "never ends" if one.expires is None else f"ends {format_us(to_us(one.expires))}"
    made = format_us(to_us(one.created))
    label = (one.label,) if one.label else ()
    return row(one.id, one.tenant, one.rights, f"made {made}", ends, *label)


def _token_added(made: TokenReport, _: Mapping[str, Any]) -> str:
    """Return the token alone, as a program takes it."""
    return str(made.token)


def _token_note(made: TokenReport) -> str:
    return f"{_token_line(made)}\nKeep it now: it is not shown again."


def _token_lines(found: Iterable[TokenReport], _: Mapping[str, Any]) -> str:
    return "\n".join(map(_token_line, found)) or "no tokens"


def _token_revoked(found: TokenReport, _: Mapping[str, Any]) -> str:
    return f"{found.id} was revoked: servers refuse it within a minute"


def _line(one: TenantReport) -> str:
    return (
        f"{one.tenant} | {one.state} | schema {one.ledger_schema} | position {one.position} |"
        f" snapshot at {one.snapshot}, {one.change_bytes} bytes of changes after it"
    )


def _text(found: TenantReport, _: Mapping[str, Any]) -> str:
    lines = [_line(found)]
    if found.moved_to is not None:
        lines.append(f"  {found.state} to {found.moved_to}")
    lines += [f"  copy on {machine}" for machine in found.machines]
    if found.path is not None:
        lines.append(f"  copied to {found.path}")
    return "\n".join(lines)


def _dropped(found: TenantReport, _: Mapping[str, Any]) -> str:
    return f"{found.tenant} was removed for good"


def _texts(found: Iterable[TenantReport], _: Mapping[str, Any]) -> str:
    return "\n".join(map(_line, found)) or "no tenants"


def _findings(report: FleetReport, _: Mapping[str, Any]) -> str:
    lines = [f"{one.level:<8} {one.check}: {one.detail}" for one in report.findings]
    return "\n".join((report.address, *lines))


# Every one is of the command line alone, and opens the store, if any, by itself.
_operation: Final = partial(Operation, needs_store=False, offered=False)
_of_tenant: Final = partial(_operation, document="tenant", text=_text)
_of_fleet: Final = partial(_operation, document="fleet", text=_findings)

OPERATIONS: Final = (
    _operation(name="tenant list", run=_list, document="tenants", text=_texts),
    _of_tenant(name="tenant show", run=_show, options=(_NAME,)),
    _of_tenant(name="tenant create", run=_create, options=(_NAME,)),
    _of_tenant(name="tenant up", run=_up, options=(_NAME, _FOLDER)),
    _of_tenant(name="tenant down", run=_down, options=(_NAME, _FOLDER, YES)),
    _of_tenant(name="tenant snapshot", run=_snapshot, options=(_NAME,)),
    _of_tenant(name="tenant move", run=_move, options=(_NAME, _TO, _ABANDON)),
    _of_tenant(name="tenant migrate", run=_migrate, options=(_NAME,)),
    _of_tenant(name="tenant drop", run=_drop, options=(_NAME, YES), text=_dropped),
    _operation(
        name="tenant token add",
        run=_token_add,
        options=(_NAME, *_TOKEN_OPTIONS),
        document="token",
        text=_token_added,
        note=_token_note,
    ),
    _operation(
        name="tenant token list",
        run=_token_list,
        options=(_NAME,),
        document="tokens",
        text=_token_lines,
    ),
    _operation(
        name="tenant token revoke",
        run=_token_revoke,
        options=(_NAME, _TOKEN_ID),
        document="token",
        text=_token_revoked,
    ),
    _of_fleet(name="fleet init", run=_init),
    _of_fleet(
        name="fleet doctor",
        run=_doctor,
        options=(_LOST_BEFORE,),
        exit_code=lambda report: 1 if any(one.level != "ok" for one in report.findings) else 0,
    ),
)
