"""The operations on items: values by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from vestig.calls import items
from vestig.calls.argument import Text
from vestig.language.text_forms import count_of, escaped_breaks, one_line, row
from vestig.surfaces.cli.render import json_line, nothing_on
from vestig.surfaces.operation import YES, Call, Operation, after_confirmation

if TYPE_CHECKING:
    from vestig.results import ForgetReport, Item, ItemPage, PutOutcome

_SNIPPET_CHARS: Final = 80


def _put(call: Call) -> Any:
    given = dict(call.args)
    return call.store.items.put(given.pop("key"), _value("value", given.pop("value")), **given)


def _put_many(call: Call) -> Any:
    from vestig.errors import ValidationError, kind_of

    given = dict(call.args)
    found = _value("items", given.pop("items"))
    if not isinstance(found, list):
        raise ValidationError("items", kind_of(found), "a JSON list of objects")
    return call.store.items.put_many(found, **given)


def _value(field: str, text: str) -> Any:
    """A value that reads as JSON, or the text itself.

    Raises:
        ValidationError: it reads as JSON in which an object has a name twice.
    """
    import msgspec

    from vestig.errors import ValidationError
    from vestig.json_text import RepeatedNameError, read_json

    try:
        return read_json(text)
    except RepeatedNameError as error:
        expected = "JSON whose objects have each name once"
        raise ValidationError(field, str(error), expected) from error
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text


def _delete(call: Call) -> Any:
    return after_confirmation(
        call,
        call.store.items.delete,
        call.args,
        _plan,
        done="deleted",
        selects=lambda plan: plan.rows_removed.get("items"),
    )


def _kept(outcome: PutOutcome, _: Mapping[str, Any]) -> str:
    word = "kept" if outcome.changed else "unchanged"
    masked = ", ".join(one.rule for one in outcome.masked)
    return f"Item {word}: {escaped_breaks(outcome.key)} (version {outcome.version})" + (
        f" (masked: {masked})" if masked else ""
    )


def _all_kept(outcomes: Sequence[PutOutcome], args: Mapping[str, Any]) -> str:
    return "\n".join(_kept(one, args) for one in outcomes) or "No items were given."


def _shown(item: Item, _: Mapping[str, Any]) -> str:
    return json_line(item.value)


def _listed(page: ItemPage, _: Mapping[str, Any]) -> str:
    if not page.items:
        return nothing_on(page, "items")
    lines = ["scope | key | version | updated | value"]
    for one in page:
        value = one_line(json_line(one.value), _SNIPPET_CHARS)
        updated = f"{one.updated_at:%Y-%m-%d %H:%M:%S}"
        lines.append(row(one.scope or "–", one.key, str(one.version), updated, value))
    last = page.offset + len(page)
    if last < page.total:
        lines.append(f"{page.offset + 1} to {last} of {page.total}; --offset {last} goes on")
    return "\n".join(lines)


def _scopes(found: Sequence[str], _: Mapping[str, Any]) -> str:
    return "\n".join(map(escaped_breaks, found)) or "No scopes found."


def _count(report: ForgetReport) -> str:
    count = report.rows_removed.get("items", 0)
    return count_of(count, "item")


def _plan(report: ForgetReport) -> str:
    """Return what would be deleted: items, memories, and what lies outside the store."""
    texts = len(report.memory_ids)
    memories = count_of(texts, "memory")
    return (
        f"{_count(report)} would be deleted for good, with every version of the text ({memories})"
        f"\nNote: {report.outside}"
    )


def _deleted(report: ForgetReport, _: Mapping[str, Any]) -> str:
    if not report.rows_removed.get("items"):
        return "Nothing to delete"
    if report.dry_run:
        return _plan(report)
    return (
        f"{_count(report)} deleted: {report.files_scanned} files ({report.bytes_scanned} bytes)"
        f" searched, {report.residues} residues\nNote: {report.outside}"
    )


OPERATIONS: Final = (
    Operation(
        name="item put",
        call=items.PutRequest,
        method="items.put",
        run=_put,
        document="put",
        text=_kept,
        without_store="make",
        writes=True,
    ),
    Operation(
        name="item put-many",
        call=items.PutManyRequest,
        method="items.put_many",
        options=(
            Text("A JSON list of objects with the arguments of put.", name="items", stdin=True),
        ),
        run=_put_many,
        document="puts",
        text=_all_kept,
        without_store="make",
        writes=True,
    ),
    Operation(
        name="item get",
        call=items.ItemRequest,
        method="items.get",
        document="item",
        missing="Item",
        text=_shown,
    ),
    Operation(
        name="item delete",
        call=items.DeleteRequest,
        method="items.delete",
        options=(YES,),
        run=_delete,
        document="forgotten",
        text=_deleted,
        writes=True,
        confirmed="always",
    ),
    Operation(
        name="item list",
        call=items.ListItemsRequest,
        method="items.list",
        document="items",
        text=_listed,
        rows=True,
        without_store="empty",
    ),
    Operation(
        name="item scopes",
        call=items.ScopesRequest,
        method="items.scopes",
        document="scopes",
        text=_scopes,
        without_store="empty",
    ),
)
