"""Token vectors in the ledger: written, replaced, made later, dropped with the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import ledger_rows as made
from exports import as_version, parsed
from filled_store import doctor, exported, filled, levels
from vestig.changes import ChangeSet
from vestig.errors import ProviderError, StoreDamagedError, ValidationError
from vestig.ports import EmbeddingIdentity, Pieces
from vestig.store.ledger.ledger import SqliteLedger
from vestig.store.ledger.opening import open_ledger
from vestig.store.portable.restore import restore
from vestig.store.upkeep.reembed import reembed
from vestig.store.upkeep.token_vectors import fill_tokens, without_tokens
from vestig.testing import TokenHashingEmbedder
from vestig.types import OriginType

IDENTITY = EmbeddingIdentity(model="test-model", dimensions=8, normalized=True, fingerprint="0")
PEER = ("chat_peer",)


class Killed(BaseException):
    """Stands for the end of the process."""


class Model:
    """Gives token vectors, and dies after some batches."""

    def __init__(self, batches: int | None = None) -> None:
        self.inner = TokenHashingEmbedder(8)
        self.batches = batches
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[tuple[bytes, Pieces]]:
        if self.batches is not None:
            if self.batches == 0:
                raise Killed
            self.batches -= 1
        self.texts += texts
        return self.inner.embed_tokens(texts)


def stored(ledger: SqliteLedger) -> dict[int, tuple[str, Pieces]]:
    """row → (model, token vectors)."""
    with ledger.read() as view:
        rows = view.connection.execute(
            "SELECT memory, model, ids, codes, scales FROM token_vectors"
        )
        return {row: (model, Pieces(*parts)) for row, model, *parts in rows}


def chats(ledger: SqliteLedger, count: int = 7) -> list[str]:
    """Memories with vectors and without those of their word pieces; two kinds of origin."""
    ledger.set_embedding_identity(IDENTITY)
    ids = []
    for number in range(count):
        origin = OriginType.NOTE if number % 3 == 2 else OriginType.CHAT_PEER
        new = made.memory(f"They met on day {number}", author="Ada", origin_type=origin)
        with ledger.write(made.NOW + number) as txn:
            txn.apply(made.added(new))
        ids.append(new.id)
    return ids


def test_token_vectors_are_written_with_the_memory_and_replaced_later(tmp_path: Path) -> None:
    new = made.memory("The lighthouse keeper writes letters")
    first, later = made.tokens(new.id, 3), made.tokens(new.id, 160, seed=1)
    with open_ledger(tmp_path / "s") as ledger:
        for changes in (
            made.added(new, token_vectors=(first,)),
            ChangeSet(namespace="default", token_vectors=(later,)),
        ):
            with ledger.write(made.NOW) as txn:
                txn.apply(changes)
            (given,) = changes.token_vectors
            pieces = Pieces(given.ids, given.codes, given.scales)
            assert stored(ledger) == {1: ("test-model", pieces)}
        assert ledger.verify_all() == []


def test_token_vectors_are_made_for_memories_without(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "s") as ledger:
        chats(ledger)
        with ledger.read() as view:
            assert without_tokens(view.connection, PEER) == 5
            before = view.seq
        steps: list[tuple[int, int | None]] = []
        model = Model()
        done = fill_tokens(ledger, model, PEER, batch=2, progress=lambda *step: steps.append(step))
        assert (done, steps) == (5, [(2, 5), (4, 5), (5, 5)])
        assert model.texts == [f"Ada: They met on day {n}" for n in (0, 1, 3, 4, 6)]
        assert sorted(stored(ledger)) == [1, 2, 4, 5, 7]
        pieces = [pieces for _vector, pieces in model.inner.embed_tokens(model.texts)]
        assert [p for _row, (_model, p) in sorted(stored(ledger).items())] == pieces
        with ledger.read() as view:
            assert view.seq == before + 3, "a batch is a transaction"
        assert fill_tokens(ledger, model, PEER) == 0
        assert ledger.verify_all() == []


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "s") as ledger:
        chats(ledger)
        with pytest.raises(Killed):
            fill_tokens(ledger, Model(batches=1), PEER, batch=2)
    with open_ledger(tmp_path / "s") as ledger:
        assert len(stored(ledger)) == 2
        rest = Model()
        assert fill_tokens(ledger, rest, PEER, batch=2) == 3
        assert len(rest.texts) == 3
        assert ledger.verify_all() == []


def test_what_was_forgotten_while_the_model_ran_is_left_out(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "s") as ledger:
        ids = chats(ledger)

        def model(texts: list[str]) -> list[tuple[bytes, Pieces]]:
            with ledger.write(made.NOW) as txn:
                txn.forget("default", [ids[0]], actor=None)
            return Model()(texts)

        assert fill_tokens(ledger, model, PEER) == 4
        assert 1 not in stored(ledger)
        assert ledger.verify_all() == []


@pytest.mark.parametrize("wrong", ["count", "shape"])
def test_nothing_of_a_bad_batch_is_stored(tmp_path: Path, wrong: str) -> None:
    def model(texts: list[str]) -> list[tuple[bytes, Pieces]]:
        answers = Model()(texts)
        if wrong == "count":
            return answers[:-1]
        vector, pieces = answers[0]
        return [(vector, pieces._replace(scales=b"")), *answers[1:]]

    with open_ledger(tmp_path / "s") as ledger:
        chats(ledger)
        with pytest.raises(ProviderError, match=r"rebuild --tokens"):
            fill_tokens(ledger, model, PEER)
        assert stored(ledger) == {}


def test_a_text_that_was_altered_is_not_embedded(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "s") as ledger:
        chats(ledger)
        with ledger.writer() as conn:
            conn.execute("UPDATE memories SET content = 'Something else'")
            conn.execute("COMMIT")
        with pytest.raises(StoreDamagedError, match="another text"):
            fill_tokens(ledger, Model(), PEER)


def test_doctor_reports_missing_token_vectors_only_for_given_origins(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "s") as ledger:
        chats(ledger)
        assert doctor(ledger)["token_vectors"].level == "ok"
        found = doctor(ledger, token_origins=PEER)["token_vectors"]
        assert found.level == "finding"
        assert found.detail.startswith("5 memories have none")
        assert "vestig rebuild --tokens" in found.detail
        fill_tokens(ledger, Model(), PEER)
        found = doctor(ledger, token_origins=PEER)["token_vectors"]
        assert (found.level, found.detail) == ("ok", "5 memories have them")


def test_a_memory_that_waits_for_its_vector_lacks_nothing(tmp_path: Path) -> None:
    new = made.memory("It waits", origin_type=OriginType.CHAT_PEER)
    with open_ledger(tmp_path / "s") as ledger:
        with ledger.write(made.NOW) as txn:
            txn.apply(made.added(new, vectors=(), jobs=(made.job(new.id),)))
        with ledger.read() as view:
            assert without_tokens(view.connection, PEER) == 0
        assert fill_tokens(ledger, Model(), PEER) == 0


def test_re_embedding_removes_token_vectors_of_the_old_model(tmp_path: Path) -> None:
    with filled(tmp_path / "s", jobs=False) as ledger:
        assert len(stored(ledger)) == 6
        embedder = TokenHashingEmbedder(16)
        identity = EmbeddingIdentity(
            model=embedder.model, dimensions=16, normalized=True, fingerprint=embedder.fingerprint
        )
        reembed(ledger, embedder, identity)
        assert stored(ledger) == {}
        assert ledger.verify_all() == []
        assert "vector_shapes" not in levels(doctor(ledger))


# --- exports ---------------------------------------------------------------------------------


def test_an_export_restores_token_vectors_to_the_byte(tmp_path: Path) -> None:
    with filled(tmp_path / "s") as ledger:
        copy = open_ledger(None)
        report = restore(copy, exported(ledger).splitlines())
        assert report.records["token_vectors"] == 6
        assert stored(copy) == stored(ledger)
        assert exported(copy) == exported(ledger)
        assert copy.verify_all() == []
        again = restore(copy, exported(ledger).splitlines(), merge=True)
        assert again.restored == 0
        assert stored(copy) == stored(ledger)


def test_an_export_of_version_2_is_read(tmp_path: Path) -> None:
    with filled(tmp_path / "s") as ledger:
        records = parsed(exported(ledger))
    older = as_version([line for line in records if line["record"] != "token_vectors"], 2)
    copy = open_ledger(None)
    restore(copy, older)
    assert (stored(copy), copy.verify_all()) == ({}, [])


BROKEN = {
    "no pieces": ('"ids":"', '"ids":"","was":"'),
    "ids": ('"ids":"', '"ids":"AAAA'),
    "codes": ('"codes":"', '"codes":"AAAA'),
    "scales": ('"scales":"', '"scales":"//////////////////////'),
    "model": ('"model":"test-model"', '"model":"other"'),
}


@pytest.mark.parametrize("how", BROKEN)
def test_token_vectors_of_another_shape_or_model_are_refused(tmp_path: Path, how: str) -> None:
    with filled(tmp_path / "s") as ledger:
        lines = exported(ledger).decode().splitlines()
    place = next(n for n, line in enumerate(lines) if '"record":"token_vectors"' in line)
    lines[place] = lines[place].replace(*BROKEN[how], 1)
    copy = open_ledger(None)
    with pytest.raises(ValidationError, match=f"line {place + 1}\\b"):
        restore(copy, lines)
    assert stored(copy) == {}
