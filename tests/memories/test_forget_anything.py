"""Whatever happened before: what is forgotten is in no file, and nothing else changed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vestig
from calls import committing, selecting
from traces import holding
from vestig.ids import id_bytes
from vestig.store.records.erase_patterns import FRAGMENT_BYTES as FRAGMENT
from vestig.store.records.projection_rows import sections_of
from vestig.testing import FrozenClock, TokenHashingEmbedder

WORDS = ("copper", "violet", "harbour", "lantern", "meadow", "granite", "saffron", "willow")
# Fields of other memories that may become null when what they point to is forgotten.
POINTERS = ("superseded_by", "revives", "supersessions", "similar", "versions", "ledger_seq")

# Every memory is said in a conversation and has token vectors.
LATE = {"ranking.weights.chat_peer.late_window": 1.0}

acts = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.integers(0, 40)),
        st.tuples(st.just("variant"), st.integers(0, 40)),
        st.tuples(st.just("supersede"), st.integers(0, 40)),
        st.tuples(st.just("tag"), st.integers(0, 40)),
        st.tuples(st.just("forget"), st.integers(0, 40)),
        st.tuples(st.just("forget"), st.integers(0, 40)),
        st.tuples(st.sampled_from(("publish", "compact", "rebuild", "reopen", "copy")), st.just(0)),
    ),
    min_size=4,
    max_size=24,
)


def text_of(number: int) -> str:
    """Texts that differ in every run of words, long enough to fill pages when repeated."""
    word = WORDS[number % len(WORDS)]
    return f"{word}{number * 7919:05x} guards the {word} gate of tower {number * 104729:x} " * (
        1 + 40 * (number % 5 == 0)
    )


def variant_of(number: int) -> str:
    """The same fact in other bytes."""
    return f"{text_of(number).strip()}."


def said(number: int) -> dict[str, Any]:
    """Who says it, and where."""
    return {"author": "Ada", "session_id": f"s{number % 3}", "sequence": number}


class World:
    """A store, and what it should hold."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FrozenClock()
        self.copies = 0
        self.ids: dict[int, str] = {}
        self.gone: set[str] = set()
        self.open()

    def open(self) -> None:
        self.store = vestig.open(
            self.folder / "store",
            embedder=TokenHashingEmbedder(64),
            clock=self.clock,
            config=LATE,
        )

    def act(self, name: str, number: int) -> None:
        self.clock.move(seconds=1)
        known = sorted(self.ids)
        if name == "commit" and not self.expired(number):
            outcome = self.store.commit(
                text_of(number), source="hook", on_near_dup="insert", **committing(said(number))
            )
            assert outcome.memory_id is not None
            assert outcome.memory_id not in self.gone, "an id is never given twice"
            self.ids[number] = outcome.memory_id
        elif name in ("variant", "supersede", "tag", "forget"):
            if known:
                self.on_known(name, known[number % len(known)], number)
        elif name == "reopen":
            self.store.close()
            self.open()
        elif name == "copy":
            self.copies += 1
            self.store.admin.backup(self.folder / f"copy{self.copies}")
        elif name == "rebuild":
            self.store.admin.rebuild()
        elif name in ("publish", "compact"):
            self.store._session.keeper._publish(name == "compact")

    def on_known(self, name: str, chosen: int, number: int) -> None:
        id = self.ids[chosen]
        if name == "variant" and not self.expired(chosen):
            outcome = self.store.commit(
                variant_of(chosen), source="hook", **committing(said(chosen))
            )
            assert outcome.memory_id == id
        elif name == "tag" and not self.expired(chosen):
            self.store.update(id, tags=[f"t{number}"])
        elif name == "supersede":
            new = self.ids.get(number)
            if new is not None and new != id and not self.expired(number):
                self.store.supersede(id, new)
        elif name == "forget":
            self.forget(chosen)

    def forget(self, chosen: int) -> None:
        id = self.ids.pop(chosen)
        raw, tokens = self.vector(id), self.tokens(id)
        before = self.rest(id)
        report = self.store.forget(id)
        self.gone.add(id)
        assert report.residues == 0
        text, variant = text_of(chosen).strip().encode(), variant_of(chosen).encode()
        pieces = [
            text[:FRAGMENT],
            text[len(text) // 2 :][:FRAGMENT],
            text[-FRAGMENT:],
            variant[-FRAGMENT:],
        ]
        # the numbers and the code of the first word, which no other text has
        numbers = sections_of(*tokens)[0]
        pieces += [tokens[0][8 : 8 + FRAGMENT], tokens[1][2 * 34 : 2 * 34 + FRAGMENT]]
        pieces += [numbers[4 : 4 + FRAGMENT]]
        assert holding(self.folder / "store", raw, *pieces) == []
        assert self.rest(id) == before

    def expired(self, number: int) -> bool:
        """Whether the text is held by a memory that no repeat of it would meet."""
        id = self.ids.get(number)
        return id is not None and self.store.show(id).memory.t_expired is not None

    def vector(self, id: str) -> bytes:
        with self.store._session.ledger.read() as view:
            return view.vectors("default", [id])[id][1]

    def tokens(self, id: str) -> tuple[bytes, bytes]:
        with self.store._session.ledger.read() as view:
            row = next(row for row in view.projection_rows(0) if row[0] == id_bytes(id))
        assert row[31] is not None
        return row[31][0], row[31][1]

    def rest(self, but: str) -> dict[str, Any]:
        found = {}
        for memory in self.store.list(limit=1000, where={"include_expired": True}).memories:
            if memory.id != but:
                shown = self.store.show(memory.id).plain_fields()
                found[memory.id] = {k: v for k, v in shown.items() if k not in POINTERS}
        return found

    def check(self) -> None:
        """The chain closes, and the files say what a fresh projection says, to the bit."""
        assert self.store._session.ledger.verify_all() == []
        assert [f for f in self.store.admin.doctor().findings if f.level == "damage"] == []
        fields = {"limit": 1000, "include_expired": True}
        query = " ".join(WORDS)
        as_it_is = [
            (h.id, h.score, h.similarity) for h in self.store.recall(query, **selecting(fields))
        ]
        self.store.admin.rebuild()
        anew = [
            (h.id, h.score, h.similarity) for h in self.store.recall(query, **selecting(fields))
        ]
        assert as_it_is == anew
        assert not self.gone & {id for id, _, _ in anew}


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 3)
@given(acts)
def test_whatever_happened_before(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        world = World(Path(place))
        try:
            for number in range(6):
                world.act("commit", number)
            for name, number in steps:
                world.act(name, number)
            world.check()
        finally:
            world.store.close()
