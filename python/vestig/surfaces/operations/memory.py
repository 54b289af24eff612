"""The operations on memories, each answered by one call of the store."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from vestig.arguments import Provenance
from vestig.calls import commit, memories, queries
from vestig.calls.argument import Choice, Flag, Integer, Text
from vestig.calls.declaration import rows_of
from vestig.errors import Description, HygieneError, ValidationError
from vestig.ids import memory_id_text
from vestig.language.text_forms import one_line
from vestig.other_words import AT_COMMAND_LINE
from vestig.printed import status_words
from vestig.surfaces.cli import removal, render
from vestig.surfaces.cli.option_words import NOTHING
from vestig.surfaces.operation import (
    YES,
    Call,
    Operation,
    after_confirmation,
    filter_arguments,
    on_screen,
)
from vestig.types import CommitOutcomeKind

if TYPE_CHECKING:
    from vestig.answers import RecallResult
    from vestig.api.store import Vestig
    from vestig.calls.filter import FilterFields
    from vestig.retrieve.values import RetrieveResult
    from vestig.types import CommitOutcome


def _forget(call: Call) -> Any:
    given = filter_arguments(call.args, rows_of(memories.ForgetRequest))
    if given.pop("finish", False):
        others = sorted(set(given) - {"yes"})
        if others:
            raise ValidationError("finish", others[0], "--finish alone")
        return call.store.admin.forget_finish()
    if given.pop("keep_summaries", False):
        given["summaries"] = "keep"
    report = after_confirmation(
        call,
        call.store.forget,
        given,
        partial(removal.plan_to_confirm, call),
        done="forgotten",
        selects=lambda plan: (
            plan.memory_ids or plan.rows_removed.get("items") or plan.documents_removed
        ),
    )
    return removal.planned(call, report)


_FORGET: Final = Operation(
    name="memory forget",
    call=memories.ForgetRequest,
    options=(
        YES,
        Flag(
            "Keep the summaries that cover what goes; the report lists them.",
            "--keep-summaries",
            name="keep_summaries",
        ),
        Flag(
            "Repeat the erase of an earlier call that could not be completed.",
            "--finish",
            name="finish",
        ),
    ),
    run=_forget,
    document="forgotten",
    text=removal.forgotten,
    writes=True,
    confirmed="always",
)


EXPLAIN: Final = Flag(
    "Say why each result is there; with --json, all that its score is made of.",
    "--explain",
    name="explain",
)
LAYOUT: Final = (
    EXPLAIN,
    Flag("Print the time of each stage on stderr.", "--timing", name="timing"),
    Choice(
        "Layout.",
        "--format",
        name="format",
        words=("text", "compact", "explain", "list", "json"),
    ),
)
# How edges are walked: keys of the configuration that a call may set.
WALK: Final = (
    Choice(
        "Whether edges are drawn or taken by a threshold.",
        "--mode",
        name="mode",
        words=("probabilistic", "deterministic"),
        default_text="walk.mode",
    ),
    Choice(
        "Whether the walk takes the strongest signal first, or goes depth first.",
        "--order",
        name="order",
        words=("best", "dfs"),
        default_text="walk.order",
    ),
)


def _add(call: Call) -> Any:
    given = dict(call.args)
    return _committed(call, partial(call.store.commit, given.pop("content")), given)


def _add_structured(call: Call) -> Any:
    return _committed(call, call.store.commit_structured, dict(call.args))


def _committed(call: Call, commit_it: Callable[..., Any], given: dict[str, Any]) -> Any:
    inside = [name for name in Provenance.__annotations__ if name in given]
    given["provenance"] = {name: given.pop(name) for name in inside}
    outcome = commit_it(**given)
    if outcome.outcome is CommitOutcomeKind.REJECTED_HYGIENE:
        raise HygieneError(outcome)
    if outcome.seq is not None and not call.options.get("as_json"):
        call.shown |= _replaced_and_similar(call.store, outcome)
    return outcome


def _replaced_and_similar(store: Vestig, outcome: CommitOutcome) -> dict[str, Any]:
    """Return what the text of an outcome is made with: until when what it supersedes holds, where a
    later time was announced; else which of the similar memories it may replace, those that it
    states anew and those that are nearly equal, but no values of other keys, and which have the
    very text, each with its author."""
    ids = outcome.superseded or [one.memory_id for one in outcome.similar]
    if not ids:
        return {}
    where: FilterFields = {"ids": list(ids), "include_expired": True}
    named = store.list(where=where, namespace=outcome.namespace, limit=len(ids))
    if outcome.superseded:
        words = {one.id: status_words(one) for one in named}
        return {
            "holding": {one.id: words[one.id] for one in named if words[one.id] != one.status.word}
        }
    stored = store.show(str(outcome.memory_id), namespace=outcome.namespace)
    anew = {one.memory_id for one in stored.versions}
    anew |= {one.memory_id for one in outcome.similar if one.differs}
    keys = (None, outcome.key or stored.memory.key)
    other = set() if keys[1] is None else {one.id for one in named if one.key not in keys}
    same = {one.id: one.author for one in named if one.content == stored.memory.content}
    return {"replaceable": anew - other, "same_text": same}


def _recall(call: Call) -> Any:
    return _ranked(call, call.store.recall)


def _search(call: Call) -> Any:
    return _ranked(call, call.store.search)


def _ranked(call: Call, method: Callable[..., Any]) -> Any:
    given = filter_arguments(call.args)
    for layout in LAYOUT:
        given.pop(layout.name, None)
    walk = {f"walk.{name}": given.pop(name) for name in ("mode", "order") if name in given}
    if walk:
        given["config"] = walk
    return method(given.pop("query"), **given)


def _is_empty(result: RecallResult, args: Mapping[str, Any]) -> bool:
    """Return whether nothing answers, and nobody asks why: the nearest misses are no answer."""
    block = result.context is not None and bool(result.context.text)
    asked_why = any(args.get(name) for name in ("explain", "expect"))
    return not (len(result) or block or asked_why or args.get("format") == "explain")


def _list(call: Call) -> Any:
    given = filter_arguments(call.args)
    given.pop("snippet_len", None)
    if given.pop("ascending", False):
        given["descending"] = False
    return call.store.list(**given)


def _update(call: Call) -> Any:
    given = dict(call.args)
    memory_id = given.pop("id")
    if not given:
        raise ValidationError(
            "update",
            Description("nothing"),
            "at least one field to set or --clear",
            'such as --content "…" or --tags A,B',
        )
    _check_cleared(call, given)
    return call.store.update(memory_id, **given)


def _check_cleared(call: Call, given: Mapping[str, Any]) -> None:
    """Refuses a word for nothing that was typed in the place of a field's value, unless it is one
    that a memory has."""
    if not AT_COMMAND_LINE.get():
        return
    for name in (one for one in commit.CLEARABLE if one in given):
        value = given[name]
        word = value[0] if isinstance(value, list) and len(value) == 1 else value
        if not isinstance(word, str) or word.strip().casefold() not in NOTHING:
            continue
        has_it: FilterFields = {"include_expired": True, "include_archived": True}
        if name == "scope" and word.strip():
            has_it["scope"] = [word]
        elif name == "tags":
            has_it["tags"] = [word]
        if len(has_it) == 2 or not call.store.count(where=has_it):
            raise ValidationError(name, word, "a value", f"`--clear {name}` leaves it without one")


def _supersede(call: Call) -> Any:
    old, new = call.args.pop("old"), call.args.pop("new")
    if len(new.split()) > 1:
        stored = _in_place_of(call, old)
        raise ValidationError(
            "new", Description("a text"), "the id of a memory that is stored", stored
        )
    return call.store.supersede(old, new, **call.args)


def _in_place_of(call: Call, old: str) -> str:
    """Return what stores a new text in the place of a memory that is named by its id, its key or
    its text."""
    if memory_id_text(old) is not None:
        return (
            f'`vestig update {old} --content "…"` gives it a new text, and keeps its scope and tags'
        )
    if len(old.split()) == 1 or old in call.store.keys(prefix=old):
        return f'`vestig add "…" --key {shlex.quote(old)}` stores a new text in its place'
    found = call.store.search(old, all=True) if old.strip() else ()
    named = next((one.id for one in found if one.content == old), None)
    if named is not None:
        return f'`vestig update {named} --content "…"` gives it a new text'
    return (
        '`vestig search "…"` finds the id of a memory, and `vestig update ID --content "…"` gives'
        " it a new text"
    )


def _deprecate(call: Call) -> Any:
    given = filter_arguments(call.args, rows_of(memories.DeprecateRequest))
    if "where" not in given:
        given.pop("yes", None)
        return call.store.deprecate(**given)
    report = after_confirmation(
        call,
        call.store.deprecate,
        given,
        partial(removal.deprecation_to_confirm, call),
        done="withdrawn",
        selects=lambda plan: plan.memory_ids,
    )
    return removal.planned(call, report)


def _state(action: str) -> Operation:
    return Operation(
        name=f"memory {action}",
        call=memories.StateRequest,
        document="state",
        text=render.state,
        writes=True,
    )


_OF_MEMORIES: Final = (
    Operation(
        name="memory add",
        route="POST commit",
        call=commit.CommitRequest,
        method="commit",
        # flat on the command line, where `provenance` has no flag
        without=tuple(Provenance.__annotations__),
        run=_add,
        without_store="make",
        document="outcome",
        text=render.outcome,
        screen=on_screen("outcome"),
        writes=True,
    ),
    Operation(
        name="memory add-structured",
        route="POST commit-structured",
        call=commit.CommitStructuredRequest,
        method="commit_structured",
        without=tuple(Provenance.__annotations__),
        run=_add_structured,
        without_store="make",
        document="outcome",
        text=render.outcome,
        screen=on_screen("outcome"),
        writes=True,
    ),
    Operation(
        name="search",
        ranked=True,
        call=queries.RecallRequest,
        options=(*LAYOUT, *WALK),
        run=_search,
        document="recall",
        text=render.search,
        empty=_is_empty,
        screen=on_screen("found"),
        without_store="empty",
    ),
    Operation(
        name="memory recall",
        ranked=True,
        call=queries.RecallRequest,
        options=(*LAYOUT, *WALK),
        run=_recall,
        document="recall",
        text=render.recall,
        empty=_is_empty,
        screen=on_screen("found"),
        without_store="empty",
    ),
    Operation(
        name="memory show",
        route="GET show/{id}",
        call=memories.ShowRequest,
        document="memory",
        text=render.detail,
        screen=on_screen("detail"),
        # what is only read writes nothing
        without=("touch",),
    ),
    Operation(
        name="memory get",
        # a key may hold a slash
        call=memories.GetRequest,
        shown=True,
        document="memory",
        text=render.detail,
        screen=on_screen("detail"),
    ),
    Operation(
        name="memory history",
        call=memories.HistoryRequest,
        document="history",
        text=render.history,
        screen=on_screen("history"),
    ),
    Operation(
        name="keys",
        call=memories.KeysRequest,
        document="keys",
        text=render.keys,
        without_store="empty",
    ),
    Operation(
        name="memory list",
        call=memories.ListRequest,
        options=(
            Integer(
                "Characters shown of each text.", "--snippet-len", name="snippet_len", default=80
            ),
            Flag("Smallest first.", "--ascending", name="ascending"),
        ),
        run=_list,
        document="memories",
        text=render.page,
        screen=on_screen("memories"),
        without_store="empty",
    ),
    Operation(
        name="count",
        call=memories.CountRequest,
        document="count",
        text=lambda number, _: str(number),
        without_store="empty",
    ),
    Operation(
        name="diff",
        call=memories.DiffRequest,
        document="diff",
        text=render.difference,
        rows=True,
        without_store="empty",
    ),
    Operation(
        name="memory events",
        route="GET events/{id}",
        call=memories.EventsRequest,
        document="events",
        text=render.events,
        rows=True,
    ),
    Operation(
        name="memory deprecate",
        call=memories.DeprecateRequest,
        options=(YES,),
        run=_deprecate,
        document="state",
        text=removal.deprecated,
        writes=True,
        confirmed="where",
    ),
    Operation(
        name="memory supersede",
        call=memories.SupersedeRequest,
        run=_supersede,
        document="supersession",
        text=render.supersession,
        writes=True,
    ),
    Operation(
        name="memory confirm",
        call=memories.ConfirmRequest,
        document="state",
        text=render.state,
        writes=True,
    ),
    *(_state(action) for action in ("pin", "unpin", "archive", "unarchive")),
    Operation(
        name="memory update",
        call=commit.UpdateRequest,
        run=_update,
        document="update",
        text=render.updated,
        writes=True,
    ),
)


_LINE_CHARS: Final = 1_000


def _request(text: bytes) -> dict[str, Any]:
    """The arguments of a file: a request as one JSON object, or its messages as a list."""
    from vestig.surfaces.json_schema import decoded, read_arguments

    found = decoded(text)
    arguments = _RETRIEVE.arguments
    assert arguments is not None
    return read_arguments(arguments, {"messages": found} if isinstance(found, list) else found)


def _retrieve(call: Call) -> Any:
    from pathlib import Path

    given = filter_arguments(call.args)
    source = given.pop("file")
    if source == "-" and call.input is not None:
        found = _request(call.input().read().encode())
    else:
        try:
            request = Path(source).read_bytes()
        except FileNotFoundError as error:
            hint = f"{error.strerror}; `vestig recall QUESTION` answers a question"
            raise FileNotFoundError(error.errno, hint, source) from None
        found = _request(request)
    where = given.pop("where", None)
    if where is not None:
        inside = found.get("where") or {}
        _check_once(where, inside, "where.")
        found["where"] = {**inside, **where}
    _check_once(given, found)
    return call.store.retrieve(found.pop("messages"), **found, **given)


def _check_once(options: Mapping[str, Any], file: Mapping[str, Any], prefix: str = "") -> None:
    """Check that the file does not say too what an option says."""
    for name in options:
        if file.get(name) is not None:
            allowed = "either the option or the field of the file, not both"
            raise ValidationError(f"{prefix}{name}", Description("given twice"), allowed)


def _text(result: RetrieveResult, _: Mapping[str, Any]) -> str:
    """How sure, then facts and turns by line."""
    score = result.metadata.confidence_score
    lines = [f"confidence {result.confidence} ({score:.2f}), {result.metadata.stop_reason}"]
    for title, texts in (("Facts", result.facts), ("Messages", result.messages)):
        if texts:
            lines += ["", f"{title}:", *(f"- {one_line(text, _LINE_CHARS)}" for text in texts)]
    if result.context_summary:
        # what a model wrote is quoted: no line of it can pass for one of Vestig's
        lines += ["", "Summary:", *(f"> {line}" for line in result.context_summary.splitlines())]
    if not result.facts and not result.messages:
        lines += ["", "No memories found."]
    return "\n".join([*lines, *_steps(result)])


def _steps(result: RetrieveResult) -> list[str]:
    """The trace, where there is one."""
    trace = result.reasoning_trace or ()
    lines = [f"{one.iteration} {one.step}: {one_line(one.detail, _LINE_CHARS)}" for one in trace]
    return ["", "Steps:", *lines] if lines else []


_RETRIEVE: Final = Operation(
    name="retrieve",
    route="POST retrieve",
    limited=True,
    call=queries.RetrieveRequest,
    options=(
        Text(
            "A JSON file: an object with messages and any of the options, or the list of messages"
            " alone; - reads standard input.",
            name="file",
        ),
    ),
    run=_retrieve,
    document="retrieve",
    text=_text,
    screen=on_screen("retrieved"),
    without_store="empty",
)


OPERATIONS: Final = (*_OF_MEMORIES, _FORGET, _RETRIEVE)
