"""Rows for tests of the store."""

from __future__ import annotations

import random
import struct
from hashlib import sha256
from typing import Any

from vestig.changes import (
    ChangeSet,
    MemoryPatch,
    NewClaim,
    NewEdge,
    NewEntity,
    NewEvent,
    NewEvidence,
    NewItem,
    NewJob,
    NewOriginalText,
    NewQuestion,
    NewSource,
    NewSupersession,
    NewTokenCodes,
    NewVector,
)
from vestig.ids import new_id
from vestig.times import from_us
from vestig.types import (
    EdgeType,
    EventType,
    Kind,
    Memory,
    OriginType,
    RetentionPolicy,
    Stability,
    Status,
)

NOW = 1_774_000_000_000_000


def memory(content: str, **fields: Any) -> Memory:
    """A memory with this text; other fields as given."""
    values: dict[str, Any] = dict.fromkeys(Memory.__struct_fields__)
    values |= {
        "id": new_id("mem"),
        "namespace": "default",
        "seq": 0,
        "kind": Kind.MEMORY,
        "content": content,
        "content_hash": sha256(content.encode()).hexdigest(),
        "origin_type": OriginType.NOTE,
        "origin_derived": True,
        "keywords": ("word",),
        "times": (),
        "t_valid": from_us(NOW),
        "temporal_stability": Stability.UNKNOWN,
        "reinforce_count": 0,
        "status": Status.ACTIVE,
        "processing": "ready",
        "confirmed": True,
        "pinned": False,
        "retention_policy": RetentionPolicy.STANDARD,
        "access_count": 0,
        "version": 1,
        "metadata": {"source": "manual"},
    }
    return Memory(**(values | fields))


def event(memory_id: str, kind: EventType = EventType.ADD, **fields: Any) -> NewEvent:
    """An event of a memory."""
    values: dict[str, Any] = {
        "id": new_id("evt"),
        "memory_id": memory_id,
        "event_type": kind,
        "occurred_us": NOW,
        "source": "manual",
    }
    return NewEvent(**(values | fields))


def vector(memory_id: str, dimensions: int = 8, value: float = 0.5) -> NewVector:
    """A vector of equal numbers."""
    raw = struct.pack(f"<{dimensions}f", *([value] * dimensions))
    return NewVector(memory_id=memory_id, model="test-model", embedding=raw)


def tokens(memory_id: str, count: int = 12, seed: int = 0, **fields: Any) -> NewTokenCodes:
    """Codes of word pieces, other ones for another seed."""
    chance = random.Random(seed)
    values: dict[str, Any] = {
        "model": "test-model",
        "ids": struct.pack(f"<{count}I", *(chance.randrange(30_000) for _ in range(count))),
        "codes": b"".join(
            chance.randbytes(32) + struct.pack("<e", chance.uniform(0.004, 0.0625))
            for _ in range(count)
        ),
    }
    return NewTokenCodes(memory_id=memory_id, **(values | fields))


def original(memory_id: str, content: str | None) -> NewOriginalText:
    """The text of a memory as it was given."""
    return NewOriginalText(memory_id=memory_id, content=content)


def source(agent: str | None = "cli", session_id: str | None = None, **fields: Any) -> NewSource:
    """An agentic source."""
    values: dict[str, Any] = {
        "id": new_id("source"),
        "namespace": "default",
        "source_type": "agentic",
        "created_us": NOW,
        "agent": agent,
        "session_id": session_id,
    }
    return NewSource(**(values | fields))


def edge(from_id: str, to_id: str, kind: EdgeType = EdgeType.RELATED, **fields: Any) -> NewEdge:
    """An edge."""
    return NewEdge(id=new_id("edge"), from_id=from_id, to_id=to_id, edge_type=kind, **fields)


def entity(name: str, kind: str = "PERSON", **fields: Any) -> NewEntity:
    """An entity of this name, with a vector."""
    values: dict[str, Any] = {
        "id": new_id("ent"),
        "namespace": "default",
        "entity_type": kind,
        "canonical_name": name,
        "norm_key": f"{kind}:{name.lower()}",
        "model": "test-model",
        "embedding": vector("", value=0.25).embedding,
    }
    return NewEntity(**(values | fields))


def question(memory_id: str, position: int = 0, text: str = "", **fields: Any) -> NewQuestion:
    """A hypothetical question with a vector of its own position."""
    values: dict[str, Any] = {
        "text": text or f"What is asked at place {position}?",
        "model": "test-model",
        "embedding": vector("", value=0.125 * (position + 1)).embedding,
    }
    return NewQuestion(memory_id=memory_id, position=position, **(values | fields))


def mention(memory_id: str, entity_id: str, **fields: Any) -> NewEdge:
    """A MENTIONS edge with its evidence."""
    values: dict[str, Any] = {"confidence": 0.9, "evidence": "Ada Lovelace"}
    return edge(memory_id, entity_id, EdgeType.MENTIONS, **(values | fields))


def claim(memory_id: str, evidence_of: str | None = None, **fields: Any) -> NewClaim:
    """A claim with two pieces of evidence, the first one stated in another memory."""
    values: dict[str, Any] = {
        "subject": "Ada",
        "fact_type": "WORKS_AT",
        "object": "Acme",
        "attributes": {"since": 2019},
        "confidence": 0.25,
        "evidence": (
            NewEvidence(source_id=evidence_of, stated_us=NOW, author="Ada", snippet="at Acme"),
            NewEvidence(source_id=evidence_of, stated_us=NOW, snippet="seen at Acme"),
        ),
    }
    return NewClaim(memory_id=memory_id, **(values | fields))


def item(key: str, **fields: Any) -> NewItem:
    """The first value of a key, which ends in a year."""
    values: dict[str, Any] = {
        "namespace": "default",
        "scope": "user/ada",
        "value": '{"dark":true}',
        "version": 1,
        "created_us": None,
        "expires_us": NOW + 365 * 86_400_000_000,
    }
    return NewItem(key=key, **(values | fields))


def added(new: Memory, *related: str, **fields: Any) -> ChangeSet:
    """What a commit of a new memory writes."""
    agent = source(namespace=new.namespace)
    edges = [edge(agent.id, new.id, EdgeType.PRODUCED)]
    edges += [edge(new.id, other, weight=0.5) for other in related]
    values: dict[str, Any] = {
        "namespace": new.namespace,
        "sources": (agent,),
        "memories": (new,),
        "vectors": (vector(new.id),),
        "events": (event(new.id),),
        "edges": tuple(edges),
    }
    return ChangeSet(**(values | fields))


def reinforced(memory_id: str, at_us: int = NOW, **fields: Any) -> ChangeSet:
    """What an exact duplicate writes."""
    values: dict[str, Any] = {
        "namespace": "default",
        "patches": (MemoryPatch(memory_id=memory_id, reinforce=1, seen_us=at_us),),
        "events": (event(memory_id, EventType.REINFORCE_EXACT, occurred_us=at_us),),
    }
    return ChangeSet(**(values | fields))


def job(memory_id: str, kind: str = "embed") -> NewJob:
    """A job."""
    return NewJob(id=new_id("job"), memory_id=memory_id, kind=kind)


def superseded(old: str, new: str, **fields: Any) -> ChangeSet:
    """What a supersession writes."""
    patch = MemoryPatch(
        memory_id=old,
        fields={"status": Status.SUPERSEDED, "superseded_by": new, **fields},
        expired=True,
    )
    return ChangeSet(
        namespace="default",
        patches=(patch,),
        events=(event(old, EventType.SUPERSEDE, payload={"superseded_by": new}),),
        supersessions=(NewSupersession(superseding_id=new, superseded_id=old, reason="newer"),),
    )
