"""Codes of word pieces in the ledger: written, replaced, made later, dropped with the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import ledger_rows as made
from exports import parsed, sealed
from filled_store import doctor, exported, filled, levels
from vestig.changes import ChangeSet
from vestig.embedders.checked import CheckedTokenEmbedder, checked_embedder
from vestig.errors import ProviderError, StoreDamagedError, ValidationError
from vestig.ports import EmbeddingIdentity, Pieces
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.portable.restore import restore
from vestig.store.upkeep.reembed import fill_codes, reembed, without_codes
from vestig.testing import TokenHashingEmbedder
from vestig.types import OriginType

IDENTITY = EmbeddingIdentity(model="test-model", dimensions=8, normalized=True, fingerprint="0")


def coded(inner: TokenHashingEmbedder) -> CheckedTokenEmbedder:
    """With codes made of its states."""
    embedder = checked_embedder(inner)
    assert isinstance(embedder, CheckedTokenEmbedder)
    return embedder


class Killed(BaseException):
    """Stands for the end of the process."""


class Model:
    """Gives codes, and dies after some batches."""

    def __init__(self, batches: int | None = None) -> None:
        self.inner = coded(TokenHashingEmbedder(8))
        self.batches = batches
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[tuple[bytes, Pieces]]:
        if self.batches is not None:
            if self.batches == 0:
                raise Killed
            self.batches -= 1
        self.texts += texts
        return self.inner.embed_codes(texts)


def stored(ledger: Ledger) -> dict[int, tuple[str, Pieces]]:
    """row → (model, codes of word pieces)."""
    with ledger.read() as view:
        rows = view.connection.execute("SELECT memory, model, ids, codes FROM token_codes")
        return {row: (model, Pieces(*parts)) for row, model, *parts in rows}


def chats(ledger: Ledger, count: int = 5) -> list[str]:
    """Memories with vectors and without those of their word pieces; two kinds of origin."""
    ledger.set_embedding_identity(IDENTITY)
    ids = []
    for number in range(count):
        origin = OriginType.NOTE if number % 3 == 2 else OriginType.CHAT_PEER
        new = made.memory(
            f"They met on day {number}", author="Ada", origin_type=origin, origin_derived=False
        )
        with ledger.write(made.NOW + number) as txn:
            txn.apply(made.added(new))
        ids.append(new.id)
    return ids


def test_token_codes_are_written_with_the_memory_and_replaced_later(tmp_path: Path) -> None:
    new = made.memory("The lighthouse keeper writes letters")
    first, later = made.tokens(new.id, 3), made.tokens(new.id, 160, seed=1)
    with open_ledger(tmp_path / "s") as ledger:
        for changes in (
            made.added(new, token_codes=(first,)),
            ChangeSet(namespace="default", token_codes=(later,)),
        ):
            with ledger.write(made.NOW) as txn:
                txn.apply(changes)
            (given,) = changes.token_codes
            pieces = Pieces(given.ids, given.codes)
            assert stored(ledger) == {1: ("test-model", pieces)}
        assert ledger.verify_all() == []


def test_token_codes_are_made_for_memories_without(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "s") as ledger:
        chats(ledger)
        with ledger.read() as view:
            assert without_codes(view.connection) == 5
            before = view.seq
        steps: list[tuple[int, int | None]] = []
        model = Model()
        done = fill_codes(ledger, model, batch=2, progress=lambda *step: steps.append(step))
        assert (done, steps) == (5, [(2, 5), (4, 5), (5, 5)])
        assert model.texts == [f"Ada: They met on day {n}" for n in range(5)]
        assert sorted(stored(ledger)) == [1, 2, 3, 4, 5]
        pieces = [pieces for _vector, pieces in model.inner.embed_codes(model.texts)]
        assert [p for _row, (_model, p) in sorted(stored(ledger).items())] == pieces
        with ledger.read() as view:
            assert view.seq == before + 3, "a batch is a transaction"
        assert fill_codes(ledger, model) == 0
        assert ledger.verify_all() == []


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "s") as ledger:
        chats(ledger)
        with pytest.raises(Killed):
            fill_codes(ledger, Model(batches=1), batch=2)
    with open_ledger(tmp_path / "s") as ledger:
        assert len(stored(ledger)) == 2
        rest = Model()
        assert fill_codes(ledger, rest, batch=2) == 3
        assert len(rest.texts) == 3
        assert ledger.verify_all() == []


def test_what_was_forgotten_while_the_model_ran_is_left_out(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "s") as ledger:
        ids = chats(ledger)

        def model(texts: list[str]) -> list[tuple[bytes, Pieces]]:
            with ledger.write(made.NOW) as txn:
                txn.forget("default", [ids[0]], actor=None)
            return Model()(texts)

        assert fill_codes(ledger, model) == 4
        assert 1 not in stored(ledger)
        assert ledger.verify_all() == []


@pytest.mark.parametrize("wrong", ["count", "shape"])
def test_nothing_of_a_bad_batch_is_stored(tmp_path: Path, wrong: str) -> None:
    def model(texts: list[str]) -> list[tuple[bytes, Pieces]]:
        answers = Model()(texts)
        if wrong == "count":
            return answers[:-1]
        vector, pieces = answers[0]
        return [(vector, pieces._replace(codes=b"")), *answers[1:]]

    with open_ledger(tmp_path / "s") as ledger:
        chats(ledger)
        with pytest.raises(ProviderError, match=r"rebuild --tokens"):
            fill_codes(ledger, model)
        assert stored(ledger) == {}


def test_a_text_that_was_altered_is_not_embedded(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "s") as ledger:
        chats(ledger)
        with ledger.writer() as conn:
            conn.execute("UPDATE memories SET content = 'Something else'")
            conn.execute("COMMIT")
        with pytest.raises(StoreDamagedError, match="the text that was stored under"):
            fill_codes(ledger, Model())


def test_doctor_reports_missing_token_codes_only_where_they_count(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "s") as ledger:
        chats(ledger)
        assert doctor(ledger)["token_codes"].level == "ok"
        found = doctor(ledger, wants_codes=True)["token_codes"]
        assert found.level == "finding"
        assert found.detail.startswith("5 memories have none")
        assert "vestig rebuild --tokens" in found.detail
        fill_codes(ledger, Model())
        found = doctor(ledger, wants_codes=True)["token_codes"]
        assert (found.level, found.detail) == ("ok", "5 memories have them")


def test_a_memory_that_waits_for_its_vector_lacks_nothing(tmp_path: Path) -> None:
    new = made.memory("It waits", origin_type=OriginType.CHAT_PEER, origin_derived=False)
    with open_ledger(tmp_path / "s") as ledger:
        with ledger.write(made.NOW) as txn:
            txn.apply(made.added(new, vectors=(), jobs=(made.job(new.id),)))
        with ledger.read() as view:
            assert without_codes(view.connection) == 0
        assert fill_codes(ledger, Model()) == 0


def test_re_embedding_removes_token_codes_of_the_old_model(tmp_path: Path) -> None:
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


def test_where_nothing_is_to_do_nothing_is_written(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "s") as ledger:
        chats(ledger)
        assert fill_codes(ledger, Model()) == 5
        with ledger.read() as view:
            before = view.seq, view.head
        assert fill_codes(ledger, Model()) == 0
        with ledger.read() as view:
            assert (view.seq, view.head) == before


def test_codes_along_other_axes_count_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(tmp_path / "s") as ledger:
        chats(ledger)
        with monkeypatch.context() as patched:
            patched.setattr("vestig.store.upkeep.reembed.AXES", bytes(64))
            fill_codes(ledger, Model())
        with ledger.read() as view:
            assert [row.pieces for row in view.projection_rows(0)] == [None] * 5
        found = doctor(ledger, wants_codes=True)["token_codes"]
        assert (found.level, found.detail[:15]) == ("finding", "5 memories have")
        assert fill_codes(ledger, Model()) == 5
        with ledger.read() as view:
            assert sum(row.pieces is not None for row in view.projection_rows(0)) == 5
        assert doctor(ledger, wants_codes=True)["token_codes"].level == "ok"
        assert ledger.verify_all() == []


# --- exports ---------------------------------------------------------------------------------


def test_an_export_restores_token_codes_to_the_byte(tmp_path: Path) -> None:
    with filled(tmp_path / "s") as ledger:
        copy = open_ledger(None)
        report = restore(copy, exported(ledger).splitlines())
        assert report.records["token_codes"] == 6
        assert stored(copy) == stored(ledger)
        assert exported(copy) == exported(ledger)
        assert copy.verify_all() == []
        again = restore(copy, exported(ledger).splitlines(), merge=True)
        assert again.restored == 0
        assert stored(copy) == stored(ledger)


def test_codes_that_cannot_be_compared_are_left_out_with_a_warning(tmp_path: Path) -> None:
    with filled(tmp_path / "s") as ledger:
        lines = parsed(exported(ledger))
    for line in lines:
        if line["record"] == "token_codes":
            line["axes"] = "AAAA"
    copy = open_ledger(None)
    report = restore(copy, sealed(lines))
    assert (stored(copy), copy.verify_all()) == ({}, [])
    (warning,) = [one for one in report.warnings if "rebuild --tokens" in one]
    assert warning.startswith("6 memories come without codes")


BROKEN = {
    "no pieces": ('"ids":"', '"ids":"","was":"'),
    "ids": ('"ids":"', '"ids":"AAAA'),
    "codes": ('"codes":"', '"codes":"AAAA'),
    "model": ('"model":"test-model"', '"model":"other"'),
}


@pytest.mark.parametrize("how", BROKEN)
def test_token_codes_of_another_shape_or_model_are_refused(tmp_path: Path, how: str) -> None:
    with filled(tmp_path / "s") as ledger:
        lines = exported(ledger).decode().splitlines()
    place = next(n for n, line in enumerate(lines) if '"record":"token_codes"' in line)
    lines[place] = lines[place].replace(*BROKEN[how], 1)
    copy = open_ledger(None)
    with pytest.raises(ValidationError, match=f"line {place + 1}\\b"):
        restore(copy, lines)
    assert stored(copy) == {}
