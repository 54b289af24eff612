"""Arguments of an operation as parameters of click, and what was typed as arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final

import click

from vestig.lazy_pattern import lazy_pattern
from vestig.surfaces.cli.option_words import (
    NOTHING,
    command_words,
    near_choice,
    none_of_choice,
)
from vestig.surfaces.cli.other_words import instead_of_listing
from vestig.surfaces.cli.terminal import Terminal

if TYPE_CHECKING:
    from vestig.calls.argument import Argument, Words


class Option(click.Option):
    """An option whose help is one line as it stands: click takes indentation out of each."""

    def __init__(self, names: list[str], *, help: str, **attributes: Any) -> None:
        super().__init__(names, **attributes)
        self.help = help


class _Once(Option):
    """An option that takes one value: another one is refused, where click takes the last."""

    def __init__(self, names: list[str], **attributes: Any) -> None:
        super().__init__(names, multiple=True, **attributes)

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        found = dict.fromkeys(super().process_value(ctx, value) or ())
        if len(found) > 1:
            shown = " and ".join(repr(str(one)[:TYPED_CHARS]) for one in found)
            joins = _JOINED.get(self.opts[-1], "")
            raise click.BadParameter(f"it takes one value, got {shown}{joins}", ctx, self)
        return next(iter(found), None)


class _AnyCase(click.Choice[str]):
    """A word of a closed list, in any case; messages print the words as they are stored."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        words = {word.casefold(): word for word in self.choices}
        typed = str(value).casefold()
        if typed in NOTHING and typed not in words and (clear := _emptying(param, ctx)):
            self.fail(f"{value!r} is no value; `{clear}` empties it", param, ctx)
        if near := near_choice(typed, words):
            text = f"{value[:TYPED_CHARS]!r} is none of them; did you mean {near}?"
            whole = command_words()["whole_lines"].get(f"{ctx and ctx.info_name} {near}", "")
            self.fail(f"{text} {whole}".rstrip(), param, ctx)
        if typed not in words and (hint := none_of_choice(typed, self.choices)):
            shown = ", ".join(self.choices)
            self.fail(f"{value[:TYPED_CHARS]!r} is none of {shown}. {hint}", param, ctx)
        return super().convert(words.get(typed, value), param, ctx)


def _emptying(param: click.Parameter | None, ctx: click.Context | None) -> str:
    """Return the option that empties the field of an option; "" = none does."""
    from vestig.calls.commit import CLEARABLE

    rows = [] if ctx is None else ctx.command.params
    name = "" if param is None else param.name
    can = name in CLEARABLE and any("--clear" in row.opts for row in rows)
    return f"--clear {name}" if can else ""


def _type(param: Argument) -> Any:
    from vestig.calls.argument import Choice, Integer, Number

    if isinstance(param, Integer):
        return click.INT
    if isinstance(param, Number):
        return click.FLOAT
    if isinstance(param, Choice):
        return _AnyCase(param.choices)
    return click.STRING


def _repeats(param: Argument) -> bool:
    """Says that its option may stand several times."""
    from vestig.calls.argument import Pairs, Texts

    return isinstance(param, (Texts, Pairs))


def metavar_of(param: Argument) -> str | None:
    """Return the word that stands for its value; None = that of its type."""
    from vestig.calls.argument import Object, Pairs, Time, Words

    kinds = {Words: "A,B,…", Pairs: "NAME=VALUE", Time: "TIME", Object: "JSON"}
    return next((text for kind, text in kinds.items() if isinstance(param, kind)), None)


# Options whose times look ahead, which take a number of days from now, and those that look back,
# which take a number of days ago.
_LOOK_AHEAD: Final = frozenset(("--expires", "--retention-until"))
_LOOK_BACK: Final = frozenset(
    (
        "--since", "--until", "--created-since", "--created-until", "--from", "--to", "--as-of",
        "--known-at", "--valid-at",
    )
)  # fmt: skip
_DAYS: Final = lazy_pattern(r"(\d{1,5})d")
_TIMES: Final = (
    "TIME: a date such as 2026-03-18, which is its first moment (UTC), of --valid-at, --known-at,"
    " --as-of and --to of diff its last, a time such as 2026-03-18T12:00+01:00, today or yesterday"
)
# Other spellings of options, in every command that has them.
_SHORT_FLAGS: Final = {
    "--limit": ("-n",),
    "--recursive": ("-r",),
    "--tags": ("-t", "--tag"),
    "--session-ids": ("--session",),
    "--sources": ("--source",),
}
# Options of one value → how several are one.
_JOINED: Final = dict.fromkeys(("--when", "--unless"), "; one condition joins several: 'A and B'")
# Characters that an error repeats of what was typed.
TYPED_CHARS: Final = 60
FROM_STDIN: Final = "- reads it from standard input."
_AUTO_HELP: Final = "auto: the project of the folder."


def times_taken(params: Sequence[Argument]) -> str:
    """Return which times these take, as a sentence."""
    flags = [param.flag for param in params]
    back = "; to look back also 7d, seven days ago" if _LOOK_BACK & {*flags} else ""
    ahead = [f"; {flag} also 7d, in seven days" for flag in flags if flag in _LOOK_AHEAD]
    return "".join((_TIMES, back, *ahead, "."))


def typed_times(said: str, flag: str) -> str:
    """Return what an error says with the times that an option takes, where it names those of a call
    in Python.

    Example:
        >>> from vestig.arguments import TIMES_OF_CALLS
        >>> typed_times(f"since: expected {TIMES_OF_CALLS}, got '1w'", "--since")[-47:]
        " to look back also 7d, seven days ago, got '1w'"
    """
    from vestig.arguments import TIMES_OF_CALLS, TIMES_OF_TEXTS

    more = ", today or yesterday"
    more += "; to look back also 7d, seven days ago" if flag in _LOOK_BACK else ""
    more += "; also 7d, in seven days" if flag in _LOOK_AHEAD else ""
    return said.replace(TIMES_OF_CALLS, f"{TIMES_OF_TEXTS}, in the years 1-9999{more}")


def _help(param: Argument) -> str:
    from vestig.calls.argument import Words

    text = f"{param.help} {FROM_STDIN}" if param.stdin else param.help
    if param.takes_auto:
        text = f"{text} {_AUTO_HELP}"
    if isinstance(param, Words) and param.choices:
        text = f"{text} Of: {', '.join(param.choices)}."
    shown = param.default_text or ("" if param.default is None else str(param.default))
    return f"{text} [default: {shown}]" if shown else text


def parameter(param: Argument) -> click.Parameter:
    from vestig.calls.argument import Flag, Switch

    if not param.flag:
        shown = param.name.upper() + ("..." if param.many else "")
        needed = param.required and not param.stdin
        return click.Argument(
            [param.name],
            required=needed,
            type=_type(param),
            metavar=shown if param.required else f"[{shown}]",
            nargs=-1 if param.many else 1,
        )
    options: dict[str, Any] = {"help": _help(param), "type": _type(param), "default": None}
    names = [param.name, *_SHORT_FLAGS.get(param.flag, ()), param.flag]
    if isinstance(param, Switch):
        names = [param.name, f"{param.flag}/--no-{param.flag.removeprefix('--')}"]
        options.update(is_flag=True, type=None)
    elif isinstance(param, Flag):
        options.update(is_flag=True, flag_value=True, type=None)
    if metavar := metavar_of(param):
        options["metavar"] = metavar
    if options.get("is_flag"):
        return Option(names, **options)
    if _repeats(param):
        return Option(names, multiple=True, **options)
    return _Once(names, **options)


def _pairs(texts: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE; a value that reads as JSON is that value, else it is text."""
    import msgspec

    from vestig.errors import ValidationError
    from vestig.json_text import read_json

    found: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise ValidationError("metadata", text, "NAME=VALUE")
        try:
            found[name] = read_json(value)
        except (msgspec.DecodeError, UnicodeEncodeError):
            found[name] = value
    return found


def _object(param: Argument, text: str) -> dict[str, Any]:
    import msgspec

    from vestig.errors import Description, ValidationError
    from vestig.json_text import check_distinct_names

    try:
        found = msgspec.json.decode(text, type=dict[str, Any])
        check_distinct_names(text)
        return found
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        raise ValidationError(
            param.name,
            Description(f"{len(text)} characters"),
            f"one JSON object after {param.flag}",
            str(error),
        ) from None


def _words(param: Words, texts: Sequence[str]) -> list[str]:
    """The words of an option; one of a filter that holds none is a mistake, and no condition that
    nothing meets."""
    from vestig.calls.argument import words_of_text
    from vestig.calls.filter import FIELDS
    from vestig.errors import ValidationError

    read = [words_of_text(text) for text in texts]
    every = [one for part in read for one in ([part] if isinstance(part, str) else part)]
    words = [word for one in every if (word := str(one).strip())]
    if not words and param in FIELDS.values():
        raise ValidationError(param.name, ",".join(texts), "texts that are not blank")
    if not param.choices:
        return words
    allowed = {choice.casefold(): choice for choice in param.choices}
    for word in words:
        if word.casefold() not in allowed:
            shown = f"one of {', '.join(param.choices)}"
            listing = instead_of_listing(word.lower()) if param.name == "kinds" else ""
            hint = listing.replace("In Vestig", "in Vestig").rstrip(".")
            raise ValidationError(param.name, word, shown, hint)
    return [allowed[word.casefold()] for word in words]


def given_arguments(
    params: Sequence[Argument],
    values: Mapping[str, Any],
    terminal: Terminal,
    options: Collection[Argument] = (),
) -> dict[str, Any]:
    """Arguments as the engine takes them: what was not named is absent.

    Args:
        options: those that no call takes and checks; numbers among them are checked here.
    """
    from vestig.calls.argument import Integer, Number, Object, Pairs, Words

    args: dict[str, Any] = {}
    alone = sum(not param.flag for param in params) == 1
    for param in params:
        value = values.get(param.name)
        if value is None and param.stdin and param.required and not param.flag:
            value = _piped(param, terminal, alone=alone)
        if value is None or ((param.many or _repeats(param)) and not value):
            if param.default is not None:
                args[param.name] = param.default
            continue
        if isinstance(param, Words) and not param.many:
            value = _words(param, value)
        elif isinstance(param, Pairs):
            value = _pairs(value)
        elif isinstance(param, Object):
            value = _object(param, value)
        elif _repeats(param) or param.many:
            value = list(value)
        elif param.stdin and value == "-":
            value = terminal.read_text(param.name)
        elif isinstance(param, (Integer, Number)) and param in options:
            value = param.check(param.name, value)
        args[param.name] = value
    return args


def dated(
    params: Sequence[Argument], args: Mapping[str, Any], now: Callable[[], datetime]
) -> dict[str, Any]:
    """Arguments with dates in the place of `today`, `yesterday` and, of times that look back, of
    days ago: `7d`; of times that look ahead, with the time in so many days.

    Example:
        >>> from vestig.calls.argument import Time
        >>> since = Time("", "--since", name="since")
        >>> dated([since], {"since": "7d"}, lambda: datetime(2026, 3, 18, 12))
        {'since': '2026-03-11T00:00:00'}
    """
    from vestig.calls.argument import Time

    found = dict(args)
    for param in params:
        said = found.get(param.name)
        if not isinstance(param, Time) or not isinstance(said, str):
            continue
        days = {"today": 0, "yesterday": 1}.get(said.lower())
        number = _DAYS.fullmatch(said.lower())
        if number is not None and param.flag in _LOOK_AHEAD:
            found[param.name] = (now() + timedelta(days=int(number[1]))).isoformat()
        if number is not None and param.flag in _LOOK_BACK:
            days = int(number[1])
        if days is not None:
            day = _day_before(now(), days, ends=param.day_us > 0)
            # no read stands at a time to come; a filter takes a day whole
            day = day if param.flag == "--until" else min(day, now())
            found[param.name] = day.isoformat()
    return found


def _day_before(now: datetime, days: int, *, ends: bool) -> datetime:
    """The first moment of a day so many days ago in the zone of `now`, or its last one.

    Example:
        >>> _day_before(datetime(2026, 3, 18, 12), 1, ends=True).isoformat()
        '2026-03-17T23:59:59.999999'
    """
    first = datetime.combine(now.date() - timedelta(days=days), time(), now.tzinfo)
    following = datetime.combine(first.date() + timedelta(days=1), time(), now.tzinfo)
    return following - timedelta(microseconds=1) if ends else first


def _piped(param: Argument, terminal: Terminal, *, alone: bool) -> str:
    """The text of a pipe or a file at standard input, where the command names none. Beside another
    word a missing one is an error: the input may be that of the loop that left it out.

    Args:
        alone: the command takes no other word.
    """
    if alone and terminal.is_fed():
        return terminal.read_text(param.name)
    name = param.name.upper()
    raise click.UsageError(
        f"Missing argument {name}: type it in quotes, or - to read it from standard input.",
        click.get_current_context(),
    )
