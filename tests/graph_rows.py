"""Nodes and edges written straight into the ledger, for tests of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import vestig
from ledger_rows import memory
from vestig.changes import ChangeSet, NewEdge, NewEntity
from vestig.commit.text import content_hash
from vestig.ids import new_id
from vestig.times import from_us
from vestig.types import EdgeType, Kind

__all__ = ["entity", "mention", "summary", "write"]


def write(store: vestig.Vestig, **parts: Any) -> None:
    """One transaction with these parts of a change set."""
    context = store._session
    namespace = parts.pop("namespace", "default")
    with context.ledger.write(context.now_us()) as txn:
        txn.apply(ChangeSet(namespace=namespace, **parts))
    context.keeper.after_commit()


def entity(
    store: vestig.Vestig,
    name: str,
    kind: str = "PERSON",
    *,
    vector: bytes | None = None,
    namespace: str = "default",
) -> str:
    """An unexpired entity; its id."""
    id = new_id("ent")
    new = NewEntity(
        id=id,
        namespace=namespace,
        entity_type=kind,
        canonical_name=name,
        norm_key=f"{kind}:{name.lower()}",
        model="" if vector is None else store._session.embedder.model,
        embedding=vector,
    )
    write(store, entities=(new,), namespace=namespace)
    return id


def mention(
    store: vestig.Vestig, memory: str, *entities: str, confidence: float | None = 1.0
) -> None:
    """MENTIONS from a memory to entities."""
    edges = tuple(
        NewEdge(
            id=new_id("edge"),
            from_id=memory,
            to_id=one,
            edge_type=EdgeType.MENTIONS,
            confidence=confidence,
        )
        for one in entities
    )
    write(store, edges=edges)


def summary(store: vestig.Vestig, text: str, covered: Sequence[str]) -> str:
    """A summary with its SUMMARIZES edges; its id."""
    id = new_id("mem")
    new = memory(
        text,
        id=id,
        kind=Kind.SUMMARY,
        content_hash=content_hash(text),
        keywords=(),
        t_valid=from_us(store._session.now_us()),
        metadata={"source": "summary_generation"},
    )
    edges = tuple(
        NewEdge(id=new_id("edge"), from_id=id, to_id=one, edge_type=EdgeType.SUMMARIZES)
        for one in covered
    )
    write(store, memories=(new,), edges=edges)
    return id
