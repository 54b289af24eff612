"""RELATED of stored memories is what their commits linked; a block is as exact as one."""

from __future__ import annotations

import math
import random
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vestig
from vestig import _core
from vestig.ports import ProjectionRow
from vestig.testing import FrozenClock, ScriptedEmbedder

TOP, THRESHOLD = 3, 0.6
CONFIG = {
    "hygiene": {"near_duplicate": {"enabled": False}},
    "links": {"related": {"max_edges_per_memory": TOP}},
}
TEXTS = [f"The letter number {number} is about harbour {number % 7}." for number in range(40)]


def _vector(number: int) -> bytes:
    """Few directions, so that most are near others and ties are many."""
    angle = (number * 5 % 8) * math.pi / 16
    return struct.pack("<3f", math.cos(angle), math.sin(angle), 0.2 * (number % 2))


EMBEDDER = {text: _vector(number) for number, text in enumerate(TEXTS)}
_ACTS = ["commit", "batch", "deprecate", "archive", "unarchive", "supersede", "tick"]
ACTS = st.lists(
    st.tuples(
        st.sampled_from(_ACTS),
        st.integers(0, 39),
    ),
    min_size=10,
    max_size=60,
)


class Doer:
    """A store, and what its commits said they linked."""

    def __init__(self, store: Any, clock: FrozenClock) -> None:
        self.store, self.clock = store, clock
        self.ids: list[str] = []
        self.left = iter(TEXTS)

    def do(self, act: str, number: int) -> None:
        status = None
        chosen = self.ids[number % len(self.ids)] if self.ids else None
        if chosen is not None:
            status = str(self.store.show(chosen).memory.status)
        if act == "commit":
            self.add(1)
        elif act == "batch":
            self.add(1 + number % 5)
        elif act == "tick":
            self.clock.move(seconds=1 - 2 * (number % 3 == 0))
        elif act == "supersede" and status == "active":
            text = next(self.left, None)
            if text is not None:
                made = self.store.commit(text, supersedes=[chosen])
                self.ids.append(made.memory_id)
        elif act in ("deprecate", "archive") and status == "active":
            getattr(self.store, act)(chosen)
        elif act == "unarchive" and status == "archived":
            self.store.unarchive(chosen)

    def add(self, count: int) -> None:
        texts = [text for _, text in zip(range(count), self.left, strict=False)]
        for outcome in self.store.commit_many(texts) if texts else []:
            assert outcome.outcome == "INSERTED_NEW"
            self.ids.append(outcome.memory_id)


def _linked(store: Any, id: str) -> list[tuple[bytes, float]]:
    with store._session.ledger.read() as view:
        edges = view.outgoing("default", vestig.types.EdgeType.RELATED, [id])
    found = [(vestig.ids.id_bytes(edge.to_id), edge.weight) for edge in edges]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 2)
@given(ACTS)
def test_related_is_what_commits_linked(acts: list[tuple[str, int]]) -> None:
    clock = FrozenClock()
    with vestig.open(
        ":memory:", embedder=ScriptedEmbedder(EMBEDDER), config=CONFIG, clock=clock
    ) as store:
        doer = Doer(store, clock)
        for act in [("batch", 4), *acts, ("batch", 4)]:
            doer.do(*act)
        core = store._session.keeper.core
        for size in (1, 7, 1000):
            found: list[Any] = []
            while part := core.related(
                core.applied_seq, "default", len(found), size, THRESHOLD, TOP
            ):
                found += part
            assert [id for id, _ in found] == [vestig.ids.id_bytes(id) for id in doer.ids]
            for id, (_, near) in zip(doer.ids, found, strict=True):
                assert near == _linked(store, id)


def _store(rows: int, dimensions: int, seed: int) -> tuple[Any, list[tuple[float, ...]]]:
    rng = random.Random(seed)
    made, vectors = [], []
    for number in range(rows):
        values = tuple(rng.gauss(0, 1) + 3 * (axis == number % 5) for axis in range(dimensions))
        vectors.append(values)
        packed = struct.pack(f"<{dimensions}f", *values)
        made.append(
            ProjectionRow(
                number.to_bytes(16, "big"), 1 + number // 10, 1 + number // 10, f"text {number}",
                None, "default", None, 0, 0, None, None, None, 0, 0, False, 0, None, 0, None,
                packed, [], ["manual"], [], [(0, 0, 0, 1 + number // 10, number)],
                [], [], [], [], [], 0, None, None, None, None,
            )
        )  # fmt: skip
    projection = _core.Projection.open(None, bytes(16), dimensions, "m", False)
    for start in range(0, rows, 700):
        projection.apply(made[start : start + 700], 0, bytes(32))
    projection.apply([], rows, bytes(32))
    return projection, vectors


@pytest.mark.parametrize(("threshold", "top"), [(0.6, 10), (-1.0, 4), (0.0, 1), (0.9, 10_000)])
def test_a_block_finds_what_each_finds_alone(threshold: float, top: int) -> None:
    """Blocks of rows and probes, rising floors and threads change nothing."""
    projection, vectors = _store(1300, 8, 1)
    seq = projection.applied_seq
    together = projection.related(seq, "default", 0, 1300, threshold, top)
    assert together == projection.related(seq, "default", 0, 1300, threshold, top, threads=3)
    assert [id for id, _ in together] == [n.to_bytes(16, "big") for n in range(1300)]
    probes = b"".join(struct.pack("<8f", *values) for values in vectors)
    none = [None] * 1300
    wanted = [(threshold, top)] * 3
    args = (none, none, [b""] * 1300, *wanted)
    similar = projection.similar(seq, probes, "default", *args)
    for place in (0, 1, 600, 1299):
        own = [[None], [None], [b""], *wanted]
        probe = struct.pack("<8f", *vectors[place])
        assert similar[place] == projection.similar(seq, probe, "default", *own)[0]
        near, related, known, earlier = similar[place]
        assert earlier == []
        assert near == related == known
        assert near == sorted(near, key=lambda pair: (-pair[1], pair[0]))[:top]
        all_pairs = projection.similar(
            seq, probe, "default", [None], [None], [b""], (1, 0), (threshold, 1300), (1, 0)
        )[0][1]
        earlier = [pair for pair in all_pairs if int.from_bytes(pair[0], "big") < place]
        assert together[place][1] == earlier[:top]
