"""A store as a whole, through the engine: losing, moving and changing its parts."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import vestig
from filled_store import file_bytes
from vestig.errors import (
    ConflictError,
    EmbeddingMismatchError,
    ProviderError,
    StoreDamagedError,
)
from vestig.testing import FrozenClock, HashingEmbedder

TEXTS = [
    "The northern bridge reopens for cyclists in April",
    "Invoices above 500 EUR need two signatures",
    "Ada keeps the spare key in the green cabinet",
    "The nightly backup starts at 02:30 and takes an hour",
    "Release 4.2 dropped support for the old parser",
]
QUERIES = ["when does the bridge reopen?", "spare key", "backup hour", "parser support"]


class Queries(HashingEmbedder):
    """Refuses every stored text: it may be asked questions only."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        assert not set(texts) & set(TEXTS)
        return super().embed(texts)


def opened(path: Path, **options: Any) -> vestig.Vestig:
    values: dict[str, Any] = {"embedder": HashingEmbedder(64), "clock": FrozenClock()}
    return vestig.open(path, **(values | options))


def answers(store: vestig.Vestig) -> list[Any]:
    """Every number of every answer."""
    found = []
    for query in QUERIES:
        plain = store.recall(query).to_dict()
        for changing in ("timings_ms", "degraded"):
            plain.pop(changing)
        found.append(plain)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with opened(tmp_path / "store") as store:
        for text in TEXTS:
            store.commit(text)
        store.admin.rebuild()
    return tmp_path / "store"


def test_a_deleted_projection_is_made_again_without_a_model(folder: Path) -> None:
    with opened(folder) as store:
        before = answers(store)
    shutil.rmtree(folder / "projection")
    with opened(folder, embedder=Queries(64)) as store:
        first = store.recall(QUERIES[0])
        assert [entry.code for entry in first.degraded] == ["projection_rebuilt"]
        assert answers(store) == before
        assert store.recall(QUERIES[0]).degraded == ()


def test_a_damaged_segment_changes_no_answer(folder: Path) -> None:
    with opened(folder) as store:
        before = answers(store)
    segment = next((folder / "projection").glob("seg-*"))
    raw = bytearray(segment.read_bytes())
    raw[len(raw) // 2] ^= 1
    segment.chmod(0o600)
    segment.write_bytes(raw)
    with opened(folder, embedder=Queries(64)) as store:
        told = {entry.code for entry in store.recall(QUERIES[0]).degraded}
        assert told == {"projection_rebuilt"}
        assert answers(store) == before


def test_an_older_ledger_put_back_is_refused_until_accepted(folder: Path) -> None:
    old = (folder / "ledger.sqlite").read_bytes()
    with opened(folder) as store:
        before = answers(store)
        store.commit("Three more that an older ledger does not know")
        store.commit("The second of them is about the harbour")
    (folder / "ledger.sqlite").write_bytes(old)
    with pytest.raises(StoreDamagedError, match=r"2 .*missing"):
        opened(folder)
    with opened(folder, accept_ledger=True) as store:
        assert answers(store) == before
        assert store.count() == len(TEXTS)
    with opened(folder) as store:
        assert answers(store) == before


@pytest.mark.parametrize("dimensions", [32, 64])
def test_another_model_is_refused_by_name(folder: Path, dimensions: int) -> None:
    other = HashingEmbedder(dimensions, seed=7)
    with pytest.raises(EmbeddingMismatchError) as caught:
        opened(folder, embedder=other).recall(QUERIES[0])
    said = str(caught.value)
    for part in (HashingEmbedder(64).model, other.model, "64", str(dimensions)):
        assert part in said
    assert "vestig rebuild --embeddings" in said
    with opened(folder) as store:
        assert store.recall("spare key").results[0].content == TEXTS[2]


class Breaking(HashingEmbedder):
    """Works for some batches, then is away."""

    batches = 1

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if len(texts) > 1:
            if not self.batches:
                raise ProviderError("the model is away")
            self.batches -= 1
        return super().embed(texts)


def test_rebuilding_embeddings_stopped_half_way(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(folder) as store:
        before = answers(store)
        ids = sorted(memory.id for memory in store.list())
    from vestig import admin

    real = admin.reembed
    monkeypatch.setattr(
        admin, "reembed", lambda *args, **given: real(*args, **{**given, "batch": 2})
    )
    change = {"change_embedder": True}
    with opened(folder, embedder=Breaking(32), **change) as store, pytest.raises(ProviderError):
        store.admin.rebuild(embeddings=True)
    with opened(folder) as store:
        assert answers(store) == before
        residues = [f for f in store.admin.doctor().findings if f.check == "residues"]
        assert "stopped after 2 vectors" in residues[0].detail
    with opened(folder, embedder=HashingEmbedder(32), **change) as store:
        texts = 5 + store.admin.stats().entities
        report = store.admin.rebuild(embeddings=True)
        assert (report.rows, report.embedded) == (5, texts - 2)
        assert sorted(memory.id for memory in store.list()) == ids
        after = answers(store)
    assert after != before
    with opened(folder, embedder=HashingEmbedder(32)) as store:
        assert answers(store) == after
        assert store.recall(TEXTS[3]).results[0].content == TEXTS[3]
        assert {f.check for f in store.admin.doctor().findings if f.level == "damage"} == set()


def test_an_export_moves_a_store_with_all_its_answers(folder: Path, tmp_path: Path) -> None:
    with opened(folder) as store:
        store.export(tmp_path / "one.jsonl")
        before = answers(store)
    with opened(tmp_path / "copy", embedder=Queries(64)) as copy:
        report = copy.import_(tmp_path / "one.jsonl")
        assert report.memories == 5
        assert answers(copy) == before
        copy.export(tmp_path / "two.jsonl")
        assert copy.admin.doctor().exit_code == 0
        with pytest.raises(ConflictError, match="empty"):
            copy.import_(tmp_path / "one.jsonl")
        again = copy.import_(tmp_path / "one.jsonl", merge=True)
        assert (again.imported, again.memories) == (0, 0)
        assert again.lines == again.imported + again.skipped + again.duplicates
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_a_backup_answers_alike_and_passes_doctor(folder: Path, tmp_path: Path) -> None:
    with opened(folder) as store:
        before = answers(store)
        store.admin.backup(tmp_path / "copy")
        with pytest.raises(ConflictError):
            store.admin.backup(tmp_path / "copy")
    with opened(tmp_path / "copy", embedder=Queries(64)) as copy:
        assert answers(copy) == before
        assert copy.admin.doctor().exit_code == 0


class Away(HashingEmbedder):
    """A model that cannot be reached."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        raise ProviderError("the model is away")


DEFER = {"embedding.on_failure": "defer"}


def test_doctor_clean_pending_and_damaged(folder: Path) -> None:
    with opened(folder) as store:
        before = file_bytes(folder)
        assert store.admin.doctor().exit_code == 0
        assert file_bytes(folder) == before
    with opened(folder, embedder=Away(64), config=DEFER) as store:
        outcome = store.commit("The ferry to the island leaves every two hours")
        assert outcome.jobs
        before = file_bytes(folder)
        assert store.admin.doctor().exit_code == 1
        assert file_bytes(folder) == before
    with opened(folder) as store:
        with store._session.ledger.write(0) as txn:
            txn.connection.execute("COMMIT")
            txn.connection.execute("UPDATE edges SET weight = 0.125")
            txn.connection.execute("BEGIN")
        before = file_bytes(folder)
        assert store.admin.doctor().exit_code == 3
        assert file_bytes(folder) == before
