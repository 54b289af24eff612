"""Ledgers for the contract suite. An adapter joins by a factory in `LEDGERS`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ledger_rows as made
from vestig.changes import ChangeSet
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger

# Name → factory of an empty ledger in a folder of its own.
LEDGERS: dict[str, Callable[[Path], Ledger]] = {
    "file": lambda folder: open_ledger(folder / "store", lock_timeout_s=0.2),
    "memory": lambda folder: open_ledger(None, lock_timeout_s=0.2),
}


def write(ledger: Ledger, changes: ChangeSet, now_us: int = made.NOW) -> int:
    with ledger.write(now_us) as txn:
        return txn.apply(changes)


def add(ledger: Ledger, text: str, now_us: int = made.NOW, **fields: Any) -> str:
    new = made.memory(text, **fields)
    write(ledger, made.added(new), now_us)
    return str(new.id)


def put(ledger: Ledger, now_us: int = made.NOW, **parts: Any) -> int:
    """Parts of a change set."""
    return write(ledger, ChangeSet(namespace=parts.pop("namespace", "default"), **parts), now_us)


def named(ledger: Ledger, *names: str, **fields: Any) -> list[str]:
    """Ids of new entities."""
    entities = tuple(made.entity(name, **fields) for name in names)
    put(ledger, entities=entities, namespace=fields.get("namespace", "default"))
    return [entity.id for entity in entities]
