"""Nodes and edges written straight into the ledger, for tests of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

import vestig
from vestig.changes import ChangeSet, NewEdge, NewEntity, NewMemory
from vestig.commit.text import content_hash
from vestig.ids import new_id
from vestig.types import EdgeType, Kind, OriginType, RetentionPolicy, Stability

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
    now = store._session.now_us()
    values: dict[str, Any] = dict.fromkeys(NewMemory.__struct_fields__)
    values.update(
        id=id,
        namespace="default",
        kind=Kind.SUMMARY,
        content=text,
        content_hash=content_hash(text),
        origin_type=OriginType.NOTE,
        origin_derived=True,
        keywords=(),
        times=(),
        t_valid_us=now,
        temporal_stability=Stability.UNKNOWN,
        retention_policy=RetentionPolicy.STANDARD,
        metadata={"source": "summary_generation"},
    )
    defaults = {
        field.name: field.default
        for field in msgspec.structs.fields(NewMemory)
        if field.default is not msgspec.NODEFAULT
    }
    edges = tuple(
        NewEdge(id=new_id("edge"), from_id=id, to_id=one, edge_type=EdgeType.SUMMARIZES)
        for one in covered
    )
    write(store, memories=(NewMemory(**{**values, **defaults}),), edges=edges)
    return id
