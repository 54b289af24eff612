"""Re-embedding a store with another model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import ledger_rows as made
from filled_store import IDENTITY, doctor, filled, keeper_of, levels
from vestig.errors import ProviderError, StoreDamagedError
from vestig.ids import id_bytes
from vestig.ports import EmbeddingIdentity
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.records.rows import EntityListing, Listing
from vestig.store.records.store_rows import same_model
from vestig.store.upkeep.reembed import reembed
from vestig.testing import HashingEmbedder

# 12 memories, 2 entities and 5 questions of `filled`.
TEXTS = 19
ALL = Listing(limit=None, statuses=None)


class Killed(BaseException):
    """Stands for the end of the process."""


class Recorder(HashingEmbedder):
    """Notes what it was given, and dies after some batches."""

    def __init__(self, batches: int | None = None, dimensions: int = 16) -> None:
        super().__init__(dimensions)
        self.batches = batches
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if self.batches is not None:
            if self.batches == 0:
                raise Killed
            self.batches -= 1
        self.texts += texts
        return super().embed(texts)


def identity_of(embedder: HashingEmbedder) -> EmbeddingIdentity:
    return EmbeddingIdentity(
        model=embedder.model,
        dimensions=embedder.dimensions,
        normalized=True,
        fingerprint=embedder.fingerprint,
    )


def vectors_of(ledger: Ledger) -> dict[str, tuple[str, bytes]]:
    with ledger.read() as view:
        ids = [memory.id for memory in view.list_memories("default", ALL)]
        return view.vectors("default", ids)


def test_all_vectors_are_made_again_and_ids_stay(tmp_path: Path) -> None:
    embedder = Recorder()
    with filled(tmp_path / "store") as ledger:
        before = vectors_of(ledger)
        counts = reembed(ledger, embedder, identity_of(embedder), batch=5)
        after = vectors_of(ledger)
        assert after.keys() == before.keys()
        assert (counts.embedded, counts.replaced, counts.resumed) == (TEXTS, TEXTS, 0)
        assert ledger.embedding_identity() == identity_of(embedder)
        with ledger.read() as view:
            for memory in view.list_memories("default", ALL):
                text = memory.content
                spoken = text if memory.author is None else f"{memory.author}: {text}"
                assert after[memory.id] == (embedder.model, embedder.embed([spoken])[0])
            rows = {row[0]: row for row in view.projection_rows(0)}
            every = EntityListing(limit=None, include_expired=True)
            for entity, _n in view.list_entities("default", every):
                # The lower-cased name, and the description behind it.
                spoken = f"{entity.canonical_name.lower()} {entity.description}".rstrip()
                assert rows[id_bytes(entity.id)][19] == embedder.embed([spoken])[0]
            asked = view.questions("default", list(before))
            assert sorted(map(len, asked.values())) == [0, 2, 3]
            for id, texts in asked.items():
                assert rows[id_bytes(id)][27] == embedder.embed(texts)
        assert ledger.verify_all() == []
        keeper = keeper_of(ledger)
        assert keeper.rebuild() == 12
        assert doctor(ledger)["projection"].level == "ok"


def test_killed_half_way_the_old_vectors_answer_and_a_new_run_resumes(
    tmp_path: Path,
) -> None:
    first = Recorder(batches=2)
    with filled(tmp_path / "store") as ledger:
        before = vectors_of(ledger)
        with pytest.raises(Killed):
            reembed(ledger, first, identity_of(first), batch=3)
    with open_ledger(tmp_path / "store") as ledger:
        assert vectors_of(ledger) == before
        assert ledger.embedding_identity() == IDENTITY
        keeper = keeper_of(ledger)
        assert keeper.core.rows == 12
        assert ledger.verify_all() == []
        # An unfinished re-embedding is reported.
        assert "stopped after 6 vectors" in doctor(ledger)["residues"].detail
        second = Recorder()
        counts = reembed(ledger, second, identity_of(second), batch=3)
        assert (counts.resumed, counts.embedded) == (6, TEXTS - 6)
        assert set(second.texts).isdisjoint(first.texts)
        assert ledger.embedding_identity() == identity_of(second)
        assert vectors_of(ledger).keys() == before.keys()
        assert ledger.verify_all() == []
        assert doctor(ledger)["residues"].level == "ok"


def test_another_model_half_way_starts_over() -> None:
    ledger = filled(None)
    first, second = Recorder(batches=2), Recorder(dimensions=24)
    with pytest.raises(Killed):
        reembed(ledger, first, identity_of(first), batch=3)
    counts = reembed(ledger, second, identity_of(second), batch=3)
    assert (counts.resumed, counts.embedded) == (0, TEXTS)
    assert {len(raw) for _model, raw in vectors_of(ledger).values()} == {96}


def test_a_memory_committed_meanwhile_gets_its_vector_before_the_switch() -> None:
    ledger = filled(None)

    class Committing(Recorder):
        def embed(self, texts: Sequence[str]) -> list[bytes]:
            if not self.texts:
                with ledger.write(made.NOW + 999) as txn:
                    txn.apply(made.added(made.memory("Came in while others were embedded")))
            return super().embed(texts)

    embedder = Committing()
    counts = reembed(ledger, embedder, identity_of(embedder), batch=50)
    assert counts.embedded == TEXTS + 1
    assert {model for model, _raw in vectors_of(ledger).values()} == {embedder.model}
    assert ledger.verify_all() == []


def test_memories_without_a_vector_get_one() -> None:
    ledger = filled(None)
    with ledger.write(made.NOW + 999) as txn:
        txn.apply(made.added(made.memory("Stored without a vector"), vectors=()))
    embedder = Recorder()
    counts = reembed(ledger, embedder, identity_of(embedder))
    assert (counts.replaced, counts.added) == (TEXTS, 1)
    assert levels(doctor(ledger)).get("projection") == "finding"  # not rebuilt yet


def test_bad_vectors_are_refused_and_nothing_is_switched() -> None:
    ledger = filled(None)

    class Short(Recorder):
        def embed(self, texts: Sequence[str]) -> list[bytes]:
            return [raw[:-4] for raw in super().embed(texts)]

    before = vectors_of(ledger)
    embedder = Short()
    with pytest.raises(ProviderError, match="16 dimensions"):
        reembed(ledger, embedder, identity_of(embedder))
    assert vectors_of(ledger) == before
    assert ledger.embedding_identity() == IDENTITY


def test_a_damaged_new_vector_is_never_switched_to() -> None:
    ledger = filled(None)
    first = Recorder(batches=1)
    with pytest.raises(Killed):
        reembed(ledger, first, identity_of(first), batch=3)
    with ledger.write(made.NOW) as txn:
        txn.connection.execute("UPDATE new_vectors SET embedding = zeroblob(64) WHERE memory = 2")
        txn.connection.execute("COMMIT")
        txn.connection.execute("BEGIN")
    second = Recorder()
    with pytest.raises(StoreDamagedError, match="new vector"):
        reembed(ledger, second, identity_of(second))
    assert ledger.embedding_identity() == IDENTITY


def _probed(vector: Sequence[float], **fields: object) -> EmbeddingIdentity:
    import struct

    raw = struct.pack(f"<{len(vector)}f", *vector)
    values = {"model": "m", "dimensions": len(vector), "normalized": True, "probes": (raw,)}
    return EmbeddingIdentity(**(values | fields))  # type: ignore[arg-type]


def test_probes_are_compared_by_cosine() -> None:
    """Processors differ in the last bits of a vector; models differ more."""
    stored = _probed([1.0, 0.0])
    assert same_model(stored, _probed([1.0, 0.01]))
    assert not same_model(stored, _probed([1.0, 0.1]))
    assert not same_model(stored, _probed([0.0, 0.0]))
    assert not same_model(stored, _probed([1.0, 0.0], model="n"))
    assert not same_model(stored, _probed([1.0, 0.0], normalized=False))
    assert not same_model(stored, _probed([1.0, 0.0], probes=stored.probes * 2))
    assert not same_model(
        _probed([1.0, 0.0], fingerprint="a"), _probed([1.0, 0.0], fingerprint="b")
    )
    assert same_model(_probed([1.0, 0.0], fingerprint="a"), stored)
