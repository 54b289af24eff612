"""The selection of a call that takes memories out: by ids, or by a filter that says which."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, Protocol
from unicodedata import normalize

from vestig.calls.filter import FIELDS, NARROWING, SELECTORS, Filter
from vestig.errors import ValidationError
from vestig.filters import FilterParts, filter_parts, moments
from vestig.ids import id_text, split_ids
from vestig.session.references import resolved
from vestig.session.session import Session
from vestig.store.records import item_rows
from vestig.store.records.item_rows import ItemRow
from vestig.store.records.memory_queries import stated_sources
from vestig.store.records.reads import LedgerView


class Selecting(Protocol):
    """The arguments of such a call that select."""

    @property
    def where(self) -> Filter: ...
    @property
    def all(self) -> bool: ...
    @property
    def only(self) -> bool: ...


def check_selection(asked: Selecting, named: str, ids: object) -> None:
    """Refuses a call that selects nothing, or in two ways.

    Args:
        named: the argument that names memories by id.
        ids: its value; None = it was not given.

    Raises:
        ValidationError: says what would select.
    """
    given = asked.where.given()
    if asked.only and "sources" not in given:
        raise ValidationError(
            "only", True, "it beside `sources` in where", "it keeps what another source stated too"
        )
    if ids is not None:
        if given:
            raise ValidationError(named, f"{named} and where", f"either {named} or where, not both")
        return
    # `unscoped: false` restricts nothing
    effective = {name for name, value in given.items() if name != "unscoped" or value}
    if not effective & (SELECTORS | NARROWING if asked.all else SELECTORS):
        raise ValidationError(
            "where",
            f"only {', '.join(given)}" if given else "no filter",
            f"{named}, or a filter that says which memories",
            "name at least one of "
            + ", ".join(name for name in FIELDS if name in SELECTORS)
            + (
                "; all=True takes what only narrows as the selection"
                if effective & NARROWING
                else ""
            ),
        )


def selected_ids(session: Session, space: str, where: Filter) -> list[str]:
    """Ids that the filter lets through, of one state of the store; expired and archived memories
    too unless it names statuses."""
    at = moments(session.now_us())
    return ids_of(
        session, filter_parts(where, space, at, include_expired=True, include_archived=True)
    )


def ids_of(session: Session, parts: FilterParts) -> list[str]:
    """Ids of the memories that pass, of one state of the store."""

    def read(view: LedgerView, core: Any) -> list[str]:
        raw = session.keeper.eligible(view, resolved(view, core, parts))
        return [id_text("mem", one) for one in split_ids(raw)]

    return session.keeper.run(read)


# Fields of a filter that select by what an item has too.
_OF_ITEMS: Final = frozenset(("scope", "scope_prefix", "unscoped", "keys", "key_prefix"))


def selected_items(view: LedgerView, space: str, where: Filter) -> list[ItemRow]:
    """Items that a filter selects, with a text or without; none where it asks for more than scopes
    and keys."""
    given = where.given()
    if not given.keys() <= _OF_ITEMS:
        return []
    prefix = given.get("scope_prefix")
    scopes = [*given.get("scope", ()), *([None] if given.get("unscoped") else [])]
    found = item_rows.below(view, space, None)
    if prefix is not None:
        found = [one for one in found if one.scope is not None and
                 (one.scope == prefix or one.scope.startswith(f"{prefix}/"))]  # fmt: skip
    if scopes:
        found = [one for one in found if one.scope in scopes]
    if "keys" in given:
        found = [one for one in found if one.key in given["keys"]]
    if "key_prefix" in given:
        found = [one for one in found if one.key.startswith(given["key_prefix"])]
    return found


def stated_by_no_other(
    view: LedgerView, space: str, ids: Sequence[str], sources: Collection[str]
) -> list[str]:
    """Those of these memories that no other source than these stated.

    Args:
        view: of the transaction that takes them out: another source may have stated one since
            they were selected.
    """
    wanted = {_compared(source) for source in sources}
    stated = stated_sources(view, space, ids)
    return [id for id in ids if all(_compared(one) in wanted for one in stated.get(id, ()))]


def superseded_by_them(view: LedgerView, space: str, ids: Collection[str]) -> tuple[str, ...]:
    """Ids of the memories that these superseded and that are none of them, ascending."""
    replaced = view.replaced_by(space, sorted(ids))
    return tuple(sorted({one for old in replaced.values() for one in old}.difference(ids)))


def _compared(label: str) -> str:
    """The form in which labels are compared."""
    return normalize("NFC", normalize("NFC", label).casefold())
