"""What the core answers about nodes and links, computed from the ledger in plain Python: the
definition that it is compared with."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import vestig
from vestig import _core
from vestig.ids import id_bytes, id_text
from vestig.store.records.rows import EntityListing, Listing
from vestig.times import to_us
from vestig.types import EventType, Kind, Memory

__all__ = ["OracleScan", "related"]

WALKED = ("RELATED", "MENTIONS", "SUMMARIZES", "RELATION")
_FAR_FUTURE = 253_402_300_799_999_999


def cosine(a: bytes, b: bytes) -> float:
    """Cosine as the core computes it, cut to -1 … 1."""
    return max(-1.0, min(1.0, _core.testing.dot(_core.unit(a), _core.unit(b))))


def every_memory(view: Any, namespace: str) -> list[Memory]:
    """All of them, in the order of the ledger."""
    rows = view.connection.execute(
        'SELECT id FROM memories WHERE namespace = ? ORDER BY "row"', (namespace,)
    )
    found: list[Memory] = view.memories(namespace, [id_text("mem", raw) for (raw,) in rows])
    assert len(found) == view.count_memories(namespace, Listing(statuses=None))
    return found


def _active_before(view: Any, memory: Memory, seq: int) -> bool:
    """Whether the memory was active when transaction `seq` was written, by its events."""
    active = True
    for event in view.events(memory.namespace, memory.id):
        if event.seq >= seq:
            break
        if event.event_type in (EventType.ARCHIVE, EventType.DEPRECATE, EventType.SUPERSEDE):
            active = False
        elif event.event_type is EventType.UNARCHIVE:
            active = True
    return active


def related(
    store: vestig.Vestig, namespace: str, first: int, count: int, threshold: float, top: int
) -> list[tuple[bytes, list[tuple[bytes, float]]]]:
    """What `Projection.related` gives."""
    with store._session.ledger.read() as view:
        memories = [one for one in every_memory(view, namespace) if one.kind is Kind.MEMORY]
        vectors = view.vectors(namespace, [memory.id for memory in memories])
        least = _float32(threshold)
        found = []
        for place, memory in list(enumerate(memories))[first : first + count]:
            near: list[tuple[bytes, float]] = []
            for other in memories[:place] if memory.id in vectors else ():
                if other.id not in vectors or not _active_before(view, other, memory.seq):
                    continue
                score = cosine(vectors[memory.id][1], vectors[other.id][1])
                if score >= least:
                    near.append((id_bytes(other.id), score))
            near.sort(key=lambda pair: (-pair[1], pair[0]))
            found.append((id_bytes(memory.id), near[:top]))
        return found


def _float32(value: float) -> float:
    import struct

    number: float = struct.unpack("f", struct.pack("f", value))[0]
    return number


class OracleScan:
    """In place of `NodeScan`; `store` is set by the test."""

    store: vestig.Vestig
    degree_max = 1_000

    def __init__(self, core: Any, seq: int, chosen: dict[str, Any]) -> None:
        self.core, self.seq, self.chosen = core, seq, chosen
        raw = core.eligible(seq, _core.Filter(**chosen))
        ids = {id_text("mem", raw[at : at + 16]) for at in range(0, len(raw), 16)}
        self.namespace = chosen["namespace"]
        self.known = chosen["known_at_us"]
        with self.store._session.ledger.read() as view:
            self.nodes = dict.fromkeys(ids, "memory")
            self.nodes.update(dict.fromkeys(self._entities(view), "entity"))
            self.links = self._links(view)
            self.vectors = self._vectors(view, ids)

    def _entities(self, view: Any) -> list[str]:
        listed = view.list_entities(self.namespace, EntityListing(limit=None, include_expired=True))
        only, without = self.chosen.get("ids"), self.chosen.get("exclude_ids", b"")
        found = []
        for entity, _ in listed:
            ended = entity.expired_at
            alive = to_us(entity.created_at) <= self.known and (
                ended is None or to_us(ended) > self.known
            )
            raw = id_bytes(entity.id)
            if alive and (only is None or _holds(only, raw)) and not _holds(without, raw):
                found.append(entity.id)
        return found

    def _links(self, view: Any) -> dict[str, set[str]]:
        links: dict[str, set[str]] = {}
        for edge in view.list_edges(self.namespace, limit=None, include_expired=True):
            ended = edge.t_expired
            alive = to_us(edge.t_created) <= self.known and (
                ended is None or to_us(ended) > self.known
            )
            ends = edge.from_id, edge.to_id
            if alive and edge.edge_type in WALKED and all(id in self.nodes for id in ends):
                links.setdefault(ends[0], set()).add(ends[1])
                links.setdefault(ends[1], set()).add(ends[0])
        return links

    def _vectors(self, view: Any, memories: set[str]) -> dict[str, bytes]:
        found = {id: raw for id, (_, raw) in view.vectors(self.namespace, [*memories]).items()}
        rows = view.connection.execute(
            'SELECT e.id, v.embedding FROM entities e JOIN entity_vectors v ON v.entity = e."row"'
        )
        named = {id_text("ent", raw): vector for raw, vector in rows}
        return found | {id: vector for id, vector in named.items() if id in self.nodes}

    def near(
        self, vector: bytes, memories: bool, entities: bool, top: int
    ) -> list[tuple[str, str, float]]:
        """As `NodeScan.near`."""
        wanted = {"memory": memories, "entity": entities}
        scored = [
            (id, self.nodes[id], cosine(vector, stored))
            for id, stored in self.vectors.items()
            if wanted[self.nodes[id]]
        ]
        return sorted(scored, key=lambda row: (-row[2], id_bytes(row[0])))[:top]

    def _depths(self, origin: str, depth: int) -> dict[str, int]:
        """Shortest depths from one origin."""
        depths, queue = {origin: 0}, deque([origin])
        while queue:
            id = queue.popleft()
            near = self.links.get(id, set())
            wide = self.nodes[id] == "entity" and len(near) > self.degree_max
            if depths[id] == depth or wide:
                self.wide |= {id} if wide and depths[id] < depth else set()
                continue
            for other in near:
                if other not in depths:
                    depths[other] = depths[id] + 1
                    queue.append(other)
        return depths

    def around(
        self,
        origins: Iterable[str],
        depth: int,
        memories: bool,
        entities: bool,
        others: bool = False,
    ) -> tuple[list[tuple[str, str, int]], list[str]]:
        """As `NodeScan.around`."""
        self.wide: set[str] = set()
        wanted = {"memory": memories, "entity": entities}
        best: dict[str, int] = {}
        for origin in (id for id in origins if id in self.nodes):
            for id, far in self._depths(origin, depth).items():
                if not (others and id == origin):
                    best[id] = min(far, best.get(id, far))
        found = [(id, self.nodes[id], far) for id, far in best.items() if wanted[self.nodes[id]]]
        found.sort(key=lambda row: (row[2], id_bytes(row[0])))
        return found, sorted(self.wide)


def _holds(packed: bytes, raw: bytes) -> bool:
    return any(packed[at : at + 16] == raw for at in range(0, len(packed), 16))
