"""Reads of items: one, a page, and their scopes."""

from __future__ import annotations

from vestig.calls.items import ItemRequest, ListItemsRequest, ScopesRequest, json_value
from vestig.results import Item, ItemPage
from vestig.session.session import Session
from vestig.store.records import item_rows
from vestig.store.records.item_rows import ItemRow
from vestig.times import from_us


def get(session: Session, asked: ItemRequest) -> Item | None:
    """The item of a key; None where there is none, or none any more."""
    space = session.in_namespace(asked.namespace)
    with session.operation("item_get"), session.ledger.read() as view:
        found = item_rows.find(view, space, asked.scope, asked.key)
    gone = found is None or found.is_expired(session.now_us())
    return None if gone or found is None else _item(found, space)


def page(session: Session, asked: ListItemsRequest) -> ItemPage:
    """Items by scope and key."""
    space = session.in_namespace(asked.namespace)
    with session.operation("item_list"), session.ledger.read() as view:
        rows, total = item_rows.page(
            view, space, asked.scope_prefix, session.now_us(), asked.offset, asked.limit
        )
        items = tuple(_item(row, space) for row in rows)
        return ItemPage(items=items, total=total, offset=asked.offset, seq=view.seq)


def scopes(session: Session, asked: ScopesRequest) -> list[str]:
    """Scopes that hold items, each once, ascending; cut to `depth` parts."""
    space = session.in_namespace(asked.namespace)
    with session.operation("item_scopes"), session.ledger.read() as view:
        found = item_rows.scopes(view, space, asked.prefix, session.now_us())
    if asked.depth is None:
        return found
    return sorted({"/".join(one.split("/")[: asked.depth]) for one in found})


def _item(row: ItemRow, namespace: str) -> Item:
    return Item(
        key=row.key,
        scope=row.scope,
        namespace=namespace,
        value=json_value(row.value),
        version=row.version,
        created_at=from_us(row.created_us),
        updated_at=from_us(row.updated_us),
        expires_at=None if row.expires_us is None else from_us(row.expires_us),
    )
