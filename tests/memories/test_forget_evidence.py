"""Forgetting evidence of a claim: what was made of it goes too, and is made again without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import vestig
from calls import committing
from forget_checks import OTHER, QUICK, SECRET, clean, commit, folder_of, raw_vector
from scripted import Opener
from traces import holding
from vestig._core import unit
from vestig.errors import ForgetIncompleteError, ProviderError
from vestig.ids import id_bytes, new_id
from vestig.language.claim_text import claim_text
from vestig.ports import EmbeddingIdentity, TokenStates
from vestig.store.upkeep.reembed import reembed, unfinished_vectors
from vestig.testing import FrozenClock, HashingEmbedder, TokenHashingEmbedder

CLAIM = {"subject": "The harbour office", "fact_type": "KEEPS", "object": "a vault code"}
TOLD = "somebody else said so as well"
LATE = {"ranking.weights.chat_peer.late_window": 1.0}


class InterruptedTokens(TokenHashingEmbedder):
    """`before` runs once, when texts were read and have no word pieces yet."""

    before: Callable[[], object] | None = None

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
        before, self.before = self.before, None
        if before is not None:
            before()
        return super().embed_tokens(texts)


class Interrupted(HashingEmbedder):
    """Fails while `fails`; `before` runs once, when texts were read and have no vectors yet."""

    def __init__(self) -> None:
        super().__init__(64)
        self.fails = False
        self.before: Callable[[], object] | None = None

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if self.fails:
            raise ProviderError("out of order")
        before, self.before = self.before, None
        if before is not None:
            before()
        return super().embed(texts)


def with_two_pieces_of_evidence(store: vestig.Vestig) -> tuple[str, str]:
    """Ids of a memory, and of one with a claim that was taken from it and from elsewhere."""
    secret = commit(store, SECRET)
    evidence = [{"source_id": secret, "snippet": SECRET[:40]}, {"snippet": TOLD}]
    return secret, commit(store, OTHER, claim={**CLAIM, "evidence": evidence})


def vector_of_claim(store: vestig.Vestig, id: str) -> bytes:
    """The vector of the memory's claim as it stands."""
    claim = store.show(id).claim
    assert claim is not None
    [vector] = HashingEmbedder(64).embed([claim_text(claim)])
    return vector


def pieces_of(store: vestig.Vestig, id: str) -> list[tuple[Any, ...]]:
    sql = 'SELECT t.ids FROM token_codes t JOIN memories m ON m."row" = t.memory WHERE m.id = ?'
    with store._session.ledger.read() as view:
        return list(view.connection.execute(sql, (id_bytes(id),)))


def test_a_claim_that_lost_evidence_is_embedded_without_it(opener: Opener) -> None:
    """What is forgotten shapes no vector any more, in the ledger or in the arrays."""
    store = opener()
    secret, id = with_two_pieces_of_evidence(store)
    before = raw_vector(store, id)
    planned = store.forget(secret, dry_run=True)
    assert planned.reembedded == (id,)
    assert raw_vector(store, id) == before
    report = store.forget(secret)
    assert (report.reembedded, report.residues, report.degraded) == ((id,), 0, ())
    claim = store.show(id).claim
    assert claim is not None
    assert [one.snippet for one in claim.evidence] == [TOLD]
    after = raw_vector(store, id)
    assert after == vector_of_claim(store, id) != before
    assert holding(folder_of(store), before) == []
    assert holding(folder_of(store), unit(before)) == []
    assert store.show(id).memory.processing == "ready"
    clean(store)


def test_a_claim_that_lost_all_evidence_is_embedded_as_its_memory(opener: Opener) -> None:
    embedder = HashingEmbedder(64)
    store = opener(embedder=embedder)
    secret = commit(store, SECRET)
    only = {**CLAIM, "evidence": [{"source_id": secret, "snippet": SECRET[:40]}]}
    id = commit(store, OTHER, claim=only)
    assert store.forget(secret).reembedded == (id,)
    assert [raw_vector(store, id)] == embedder.embed([OTHER])
    clean(store)


def test_a_claim_that_keeps_its_evidence_keeps_its_vector(opener: Opener) -> None:
    store = opener()
    secret = commit(store, SECRET)
    id = commit(store, OTHER, claim={**CLAIM, "evidence": [{"snippet": TOLD}]})
    before = raw_vector(store, id)
    report = store.forget(secret)
    assert report.reembedded == ()
    assert report.rows_removed.get("vectors") == 1
    assert raw_vector(store, id) == before


def test_word_pieces_of_lost_evidence_are_gone(opener: Opener) -> None:
    """Their ids alone would tell the words."""
    embedder = TokenHashingEmbedder()
    store = opener(embedder=embedder, config=LATE)
    secret = commit(store, SECRET)
    evidence = [{"source_id": secret, "snippet": SECRET[:40]}, {"snippet": TOLD}]
    id = commit(
        store,
        OTHER,
        claim={**CLAIM, "evidence": evidence},
        author="Ada",
        session_id="s",
        sequence=0,
    )
    [(before,)] = pieces_of(store, id)
    store.forget(secret)
    [(after,)] = pieces_of(store, id)
    assert len(after) < len(before)
    assert holding(folder_of(store), before) == []
    clean(store)


def test_without_an_embedder_the_vector_is_gone_and_its_job_waits(
    opener: Opener, clock: FrozenClock
) -> None:
    embedder = Interrupted()
    store = opener(embedder=embedder)
    secret, id = with_two_pieces_of_evidence(store)
    before = raw_vector(store, id)
    embedder.fails = True
    report = store.forget(secret)
    assert report.residues == 0
    assert [one.code for one in report.degraded] == ["enrichment_pending"]
    assert holding(folder_of(store), before) == []
    with store._session.ledger.read() as view:
        assert view.vectors("default", [id]) == {}
    assert store.show(id).memory.processing == "pending"
    assert id in [hit.id for hit in store.recall("deploys to production").results]
    embedder.fails = False
    clock.move(hours=1)
    assert store.admin.enrich().done == 1
    assert raw_vector(store, id) == vector_of_claim(store, id)
    clean(store)


def test_a_job_that_read_the_evidence_before_writes_nothing(opener: Opener) -> None:
    """The job of a deferred vector runs while what it has read is forgotten."""
    embedder = Interrupted()
    store = opener(embedder=embedder, config={"embedding": {"on_failure": "defer"}})
    secret = commit(store, SECRET)
    embedder.fails = True
    evidence = [{"source_id": secret, "snippet": SECRET[:40]}, {"snippet": TOLD}]
    id = commit(store, OTHER, claim={**CLAIM, "evidence": evidence})
    embedder.fails = False
    embedder.before = lambda: store.forget(secret)
    store.admin.enrich()
    assert raw_vector(store, id) == vector_of_claim(store, id)
    clean(store)


def test_a_reembedding_that_read_the_evidence_before_embeds_again(opener: Opener) -> None:
    embedder = Interrupted()
    store = opener(embedder=embedder)
    secret, id = with_two_pieces_of_evidence(store)
    embedder.before = lambda: store.forget(secret)
    store.admin.rebuild(embeddings=True)
    assert raw_vector(store, id) == vector_of_claim(store, id)
    clean(store)


def test_what_an_unfinished_reembedding_made_of_the_evidence_is_removed(opener: Opener) -> None:
    embedder = HashingEmbedder(64)
    store = opener(embedder=embedder)
    secret, id = with_two_pieces_of_evidence(store)

    def stop(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    identity = EmbeddingIdentity(
        model="another", dimensions=64, normalized=True, fingerprint="another"
    )
    ledger = store._session.ledger
    with pytest.raises(KeyboardInterrupt):
        reembed(ledger, embedder, identity, batch=2, progress=stop)
    assert unfinished(store) == 2
    report = store.forget(secret)
    assert (report.reembedded, report.residues, unfinished(store)) == ((id,), 0, 0)


def unfinished(store: vestig.Vestig) -> int | None:
    with store._session.ledger.read() as view:
        return unfinished_vectors(view.connection)


def test_a_vector_that_is_made_again_offers_no_update_twice(opener: Opener) -> None:
    store = opener()
    secret = commit(store, SECRET)
    evidence = [{"source_id": secret, "snippet": SECRET[:40]}, {"snippet": TOLD}]
    commit(
        store, "The harbour office opens at 9 on weekdays", claim={**CLAIM, "evidence": evidence}
    )
    other = "The harbour office opens at 10 on weekdays"
    outcome = store.commit(other, **committing({"claim": {**CLAIM, "evidence": evidence}}))
    assert outcome.possible_update_of is not None
    assert outcome.memory_id is not None
    before = store.events(outcome.memory_id)
    assert len(store.forget(secret).reembedded) == 2
    assert store.events(outcome.memory_id) == before


def related(store: vestig.Vestig, id: str) -> dict[tuple[str, str], float]:
    """Ends → weight of the edges at this memory that compare vectors."""
    with store._session.ledger.read() as view:
        edges = view.edges("default", id, "RELATED")
    return {(edge.from_id, edge.to_id): edge.weight for edge in edges}


def test_edges_made_of_the_old_vector_are_made_again(opener: Opener) -> None:
    """Their weight is a cosine with forgotten words."""
    store = opener(config={"links.related.similarity_threshold": 0.3})
    like_claim = commit(store, "The harbour office KEEPS a vault code, somebody else said so")
    secret = commit(store, SECRET)
    like_secret = commit(store, "The vault code of the harbour office is a secret of Ximena")
    evidence = [{"source_id": secret, "snippet": SECRET}, {"snippet": TOLD}]
    id = commit(store, OTHER, claim={**CLAIM, "evidence": evidence})
    newer = commit(store, "The vault code of the harbour office is kept, said Ximena Quartz")
    before = related(store, id)
    assert before.keys() >= {(id, like_claim), (id, like_secret), (newer, id)}
    store.forget(secret)
    after = related(store, id)
    assert (id, like_claim) in after
    assert (newer, id) not in after, "made from the newer one, whose vector stays"
    assert not set(after.values()) & set(before.values())
    store.graph.rebuild_edges()
    assert after.items() <= related(store, id).items(), "as a fresh build makes them"
    clean(store)


def test_an_older_memory_is_said_to_update_no_newer_one(opener: Opener) -> None:
    store = opener()
    secret = commit(store, SECRET)
    told = TOLD + " when they walked along the pier on a windy morning in autumn with two dogs"
    lost = [{"source_id": secret, "snippet": "The"}, {"snippet": told}]
    older = commit(
        store, "The harbour office opens at 9 on weekdays", claim={**CLAIM, "evidence": lost}
    )
    claim = {**CLAIM, "evidence": [{"snippet": told}]}
    newer = store.commit(
        "The harbour office opens at 10 on weekdays", **committing({"claim": claim})
    )
    assert newer.possible_update_of is not None
    assert newer.possible_update_of.memory_id == older
    before = store.events(older)
    assert store.forget(secret).reembedded == (older,)
    assert store.events(older) == before


def test_codes_made_of_lost_evidence_are_not_written(tmp_path: Path) -> None:
    """A process that makes codes has read the evidence; one that makes none forgets it."""
    off = {"signals.late.enabled": False}
    embedder = InterruptedTokens()
    with (
        vestig.open(tmp_path, embedder=TokenHashingEmbedder(), config=off) as other,
        vestig.open(tmp_path, embedder=embedder, config=LATE) as store,
    ):
        secret = commit(other, SECRET)
        evidence = [{"source_id": secret, "snippet": SECRET[:40]}, {"snippet": TOLD}]
        said: dict[str, Any] = {"author": "Ada", "session_id": "s", "sequence": 0}
        id = commit(other, OTHER, claim={**CLAIM, "evidence": evidence}, **said)
        embedder.before = lambda: other.forget(secret)
        store.admin.rebuild(tokens=True)
        assert pieces_of(store, id) == []
        store.admin.rebuild(tokens=True)
        claim = store.show(id).claim
        assert claim is not None
        [(_vector, pieces)] = store._session.embed_codes([claim_text(claim)])
        assert [bytes(ids) for (ids,) in pieces_of(store, id)] == [bytes(pieces.ids)]


def test_an_import_brings_no_vector_of_forgotten_evidence(opener: Opener, tmp_path: Path) -> None:
    before, after = str(tmp_path / "before.jsonl"), str(tmp_path / "after.jsonl")
    theirs = opener("theirs", embedder=TokenHashingEmbedder(), config=LATE)
    commit(theirs, "The harbour office KEEPS a vault code")
    secret = commit(theirs, SECRET)
    theirs.export(before)
    evidence = [{"source_id": secret, "snippet": SECRET[:40]}, {"snippet": TOLD}]
    said: dict[str, Any] = {"author": "Ada", "session_id": "s", "sequence": 0}
    id = commit(theirs, OTHER, claim={**CLAIM, "evidence": evidence}, **said)
    theirs.export(after)
    mine = opener("mine", embedder=TokenHashingEmbedder(), config=LATE)
    mine.import_(before)
    mine.forget(secret)
    report = mine.import_(after, merge=True)
    assert any("without a vector" in warning for warning in report.warnings)
    assert pieces_of(mine, id) == []
    assert related(mine, id) == {}
    with mine._session.ledger.read() as view:
        assert view.vectors("default", [id]) == {}
    assert mine.admin.enrich().done == 1
    claim = mine.show(id).claim
    assert claim is not None
    [(vector, pieces)] = mine._session.embed_codes([claim_text(claim)])
    assert raw_vector(mine, id) == vector != raw_vector(theirs, id)
    assert [bytes(ids) for (ids,) in pieces_of(mine, id)] == [bytes(pieces.ids)]
    clean(mine)


def test_a_proof_that_fails_keeps_no_vector_waiting(opener: Opener) -> None:
    """Repeating the proof starts no job."""
    store = opener(config=QUICK)
    secret, id = with_two_pieces_of_evidence(store)
    notes = folder_of(store) / "projection" / "notes.txt"
    store.admin.rebuild()
    notes.write_text(f"by hand: {SECRET}")
    with pytest.raises(ForgetIncompleteError, match=r"notes\.txt"):
        store.forget(secret)
    assert raw_vector(store, id) == vector_of_claim(store, id)
    notes.unlink()
    assert store.admin.forget_finish().memory_ids == (secret,)
    clean(store)


class Remote(HashingEmbedder):
    """A model without a fingerprint. `turned`: it has changed meanwhile; `left`: calls that it
    still answers."""

    def __init__(self, *, turned: bool = False, left: int | None = None) -> None:
        super().__init__(64)
        self.turned = turned
        self.left = left

    @property
    def fingerprint(self) -> str:
        return ""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if self.left == 0:
            raise ProviderError("no more calls today")
        self.left = None if self.left is None else self.left - 1
        vectors = super().embed(texts)
        return [raw[128:] + raw[:128] for raw in vectors] if self.turned else vectors


@pytest.mark.parametrize("later", [Remote(turned=True), Remote(left=1)], ids=["turned", "left"])
def test_what_was_forgotten_is_reported_whatever_the_model_does(
    opener: Opener, later: Remote
) -> None:
    with opener(embedder=Remote()) as store:
        secret, id = with_two_pieces_of_evidence(store)
    store = opener(embedder=later)
    report = store.forget(secret)
    assert (report.memory_ids, report.reembedded, report.residues) == ((secret,), (id,), 0)
    assert [one.code for one in report.degraded] == ["enrichment_pending"]


def test_any_number_of_jobs_can_be_named(opener: Opener) -> None:
    """More than a statement of SQLite takes values."""
    store = opener()
    secret, _ = with_two_pieces_of_evidence(store)
    ledger, now = store._session.ledger, store._session.now_us()
    with ledger.write(now, make=False) as txn:
        [job] = txn.forget("default", [secret], actor=None).embed_jobs.values()
    ids = [new_id("job") for _ in range(40_000)]
    assert ledger.due_jobs("default", now, ["embed"], 9, ids) == []
    [found] = ledger.due_jobs("default", now, ["embed"], 9, [*ids, job])
    assert found.id == job
