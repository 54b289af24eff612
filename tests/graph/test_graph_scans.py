"""The core's nodes, links and RELATED candidates equal the oracle's, on random stores."""

from __future__ import annotations

import random
from typing import Any

import pytest

import vestig
from graph_oracle import OracleScan
from graph_oracle import related as related_by_hand
from graph_rows import entity, mention, summary, write
from scripted import Opener
from vestig.changes import EntityPatch
from vestig.embedders.checked import unit_bytes
from vestig.store.projection.scan_objects import NodeScan
from vestig.testing import FrozenClock, HashingEmbedder

WORDS = [
    "pump",
    "gasket",
    "ledger",
    "canoe",
    "boiler",
    "weir",
    "lantern",
    "quay",
    "attic",
    "copper",
    "mill",
    "rye",
    "barge",
    "lock",
]
CONFIG = {
    "hygiene.near_duplicate.enabled": False,
    "entities.enabled": False,
    "links.related.similarity_threshold": 0.4,
    "links.related.max_edges_per_memory": 4,
}
DIMENSIONS = 16
FAR_FUTURE_US = 253_402_300_799_999_999


class Play:
    """A random life of a store."""

    def __init__(self, store: vestig.Vestig, clock: FrozenClock, seed: int) -> None:
        self.store, self.clock = store, clock
        self.chance = random.Random(seed)
        self.memories: list[str] = []
        self.entities: list[str] = []
        self.moments: list[int] = []
        self.named = 0

    def text(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randint(4, 9)))

    def vector(self) -> bytes:
        return unit_bytes([self.chance.gauss(0, 1) for _ in range(DIMENSIONS)])

    def step(self) -> None:
        """One change, or a group of them."""
        chance, store = self.chance, self.store
        self.clock.move(minutes=chance.randint(0, 5))
        act = chance.random()
        if act < 0.4 or len(self.memories) < 4:
            found = store.commit_many([self.text() for _ in range(chance.randint(1, 5))])
            self.memories += [str(one.memory_id) for one in found]  # type: ignore[union-attr]
        elif act < 0.5 or len(self.entities) < 2:
            vector = self.vector() if chance.random() < 0.7 else None
            name = f"name {self.named}"
            self.named += 1
            self.entities.append(entity(store, name, vector=vector))
        elif act < 0.7:
            mention(store, chance.choice(self.memories), *chance.sample(self.entities, 2))
        elif act < 0.75:
            summary(store, self.text(), chance.sample(self.memories, 2))
        elif act < 0.8:
            self.link()
        else:
            self.end()
        self.moments.append(store._session.now_us())

    def link(self) -> None:
        ends = self.chance.sample(self.memories, 2)
        self.store.graph.link(*ends, "RELATED", weight=self.chance.random())
        ends = self.chance.sample(self.entities, 2)
        self.store.graph.link(*ends, "RELATION", relation="KNOWS")

    def end(self) -> None:
        chance, store = self.chance, self.store
        act, id = chance.random(), chance.choice(self.memories)
        alive = {
            one.id: one
            for one in store.list(limit=1000, where={"statuses": ["active", "archived"]})
        }
        if act < 0.3 and id in alive:
            store.deprecate(id)
        elif act < 0.6 and id in alive:
            store.archive(id)
        elif act < 0.8 and id in alive:
            store.unarchive(id)
        elif act < 0.9:
            edges = store.graph.edges(limit=50).edges
            store.graph.unlink(chance.choice(edges).id)
        elif len(self.entities) > 3:
            gone = self.entities.pop(chance.randrange(len(self.entities)))
            write(store, entity_patches=(EntityPatch(entity_id=gone, expired=True),))


def filters(play: Play) -> dict[str, Any]:
    """Arguments of a filter, some of them."""
    chance = play.chance
    chosen: dict[str, Any] = {"namespace": "default", "known_at_us": FAR_FUTURE_US}
    if chance.random() < 0.4:
        chosen |= {"known_at_us": chance.choice(play.moments), "past": True}
    if chance.random() < 0.3:
        chosen["include_expired"] = True
    if chance.random() < 0.3:
        chosen["include_archived"] = True
    if chance.random() < 0.2:
        chosen["kinds"] = [0]
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_nodes_and_links_equal_the_oracle(opener: Opener, clock: FrozenClock, seed: int) -> None:
    store = opener(embedder=HashingEmbedder(DIMENSIONS), config=CONFIG)
    OracleScan.store = store
    play = Play(store, clock, seed)
    for _ in range(40):
        play.step()
    keeper = store._session.keeper
    if seed % 2:
        keeper.rebuild()
    for _ in range(25):
        chosen = filters(play)
        kinds = play.chance.choice([(True, True), (True, False), (False, True)])
        with store._session.ledger.read() as view:
            core, oracle = (make(keeper.core, view.seq, chosen) for make in (NodeScan, OracleScan))
            top = play.chance.choice([1, 5, 100])
            vector = play.vector()
            assert core.near(vector, *kinds, top) == oracle.near(vector, *kinds, top)
            seeds = play.chance.sample([*play.memories, *play.entities], 3)
            depth = play.chance.randint(0, 4)
            for others in (False, True):
                assert core.around(seeds, depth, *kinds, others) == oracle.around(
                    seeds, depth, *kinds, others
                )


@pytest.mark.parametrize("seed", range(8))
def test_candidates_equal_the_oracle_and_what_commits_made(
    opener: Opener, clock: FrozenClock, seed: int
) -> None:
    store = opener(embedder=HashingEmbedder(DIMENSIONS), config=CONFIG)
    play = Play(store, clock, seed)
    for _ in range(40):
        play.step()
    core = store._session.keeper.core
    with store._session.ledger.read() as view:
        for first, count in ((0, 1000), (3, 5)):
            arguments = ("default", first, count, 0.4, 4)
            assert core.related(view.seq, *arguments) == related_by_hand(store, *arguments)
    computed = {
        (one.edge.from_id, one.edge.to_id, one.edge.weight)
        for one in store.graph.edges(edge_type="RELATED", limit=10_000, include_expired=True)
        if one.edge.origin == "computed" and one.edge.t_expired is None
    }
    store.graph.rebuild_edges()
    again = {
        (one.edge.from_id, one.edge.to_id, one.edge.weight)
        for one in store.graph.edges(edge_type="RELATED", limit=10_000)
        if one.edge.origin == "computed"
    }
    assert computed <= again, "a rebuild only brings back what was unlinked"
