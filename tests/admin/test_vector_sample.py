"""`doctor` embeds a sample of the texts again, where the built-in embedder is in use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import vestig
from vestig.embedders.builtin import MODEL, WEIGHTS_SHA256
from vestig.results import Finding
from vestig.testing import HashingEmbedder

NO_PASSES = {
    "hygiene": {"near_duplicate": {"enabled": False}},
    "links": {"related": {"enabled": False}},
}


class Pinned(HashingEmbedder):
    """The name and the weights of the built-in embedder, numbers of another seed."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(384, seed)
        self.seen: list[str] = []
        self.broken = False

    @property
    def model(self) -> str:
        return MODEL

    @property
    def fingerprint(self) -> str:
        return WEIGHTS_SHA256

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if self.broken:
            raise RuntimeError("no weights today")
        self.seen += texts
        return super().embed(texts)


def sample(store: vestig.Vestig) -> list[Finding]:
    return [found for found in store.admin.doctor().findings if found.check == "vector_sample"]


def test_stored_vectors_are_those_of_their_texts(tmp_path: Path) -> None:
    claim = {"subject": "Mara", "fact_type": "LEADS", "object": "the harbour team"}
    with vestig.open(tmp_path / "store") as store:
        store.commit("The lift stops at floor two.", author="Omar")
        store.commit("  The  KETTLE stands\ton the second shelf. ")
        store.commit("Mara leads the harbour team since May.", claim=claim)
        (found,) = sample(store)
    assert (found.level, found.detail.split()[0]) == ("ok", "3")


def test_other_vectors_are_named_with_what_to_do(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "store", embedder=Pinned(), config=NO_PASSES) as store:
        ids = [store.commit(f"The number of the room is {n}.").memory_id for n in range(3)]
        assert [found.level for found in sample(store)] == ["ok"]
    with vestig.open(tmp_path / "store", embedder=Pinned(1), config=NO_PASSES) as store:
        (found,) = sample(store)
        assert found.level == "finding"
        assert store.admin.doctor().exit_code == 1
    assert found.detail.startswith("3 of 3 vectors of a sample have a cosine under 0.9999")
    assert "vestig rebuild --embeddings" in found.detail
    assert all(str(id) in found.detail for id in ids)


def test_at_most_a_hundred_texts_are_chosen_by_the_stores_uuid(tmp_path: Path) -> None:
    texts = [f"The number of the room is {n}." for n in range(130)]
    drawn = []
    for name in ("one", "other"):
        embedder = Pinned()
        with vestig.open(tmp_path / name, embedder=embedder, config=NO_PASSES) as store:
            store.commit_many([{"content": text} for text in texts])
            runs = []
            for _ in range(2):
                embedder.seen.clear()
                (found,) = sample(store)
                assert (found.level, found.detail.split()[0]) == ("ok", "100")
                runs.append(list(embedder.seen))
        assert runs[0] == runs[1]
        assert len(set(runs[0])) == 100
        assert set(runs[0]) < set(texts)
        drawn.append(set(runs[0]))
    assert drawn[0] != drawn[1]


def test_an_embedder_that_fails_is_a_finding(tmp_path: Path) -> None:
    embedder = Pinned()
    with vestig.open(tmp_path / "store", embedder=embedder) as store:
        store.commit("The lift stops at floor two.")
        embedder.broken = True
        (found,) = sample(store)
    assert found.level == "finding"
    assert "could not be embedded" in found.detail


def test_other_embedders_are_not_asked(tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    with vestig.open(tmp_path / "store", embedder=embedder) as store:
        store.commit("The lift stops at floor two.")
        calls = embedder.call_count
        assert sample(store) == []
        assert embedder.call_count == calls
