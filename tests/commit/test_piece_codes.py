"""Codes of word pieces on the road of a memory: who gets them, and what becomes of them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vestig
from calls import committing
from forget_checks import clean
from scripted import Opener
from traces import holding
from vestig.config.signals import KINDS, LATE_TERMS
from vestig.embedders.checked import piece_codes, query_codes
from vestig.errors import ConflictError, ProviderError
from vestig.ids import id_bytes
from vestig.ports import SPECIAL_PIECE, Pieces, TokenStates
from vestig.session.embedding import query_vectors, wants_codes
from vestig.store.records.erase_patterns import FRAGMENT_BYTES as FRAGMENT
from vestig.store.records.projection_rows import sections_of
from vestig.testing import (
    FailingEmbedder,
    FrozenClock,
    HashingEmbedder,
    TokenHashingEmbedder,
)

TALK = "The harbour ferry to Grey Island leaves at nine and comes back at six, says the captain"
NOTE = "Bread is baked before six in the morning at the mill behind the chapel"
SAID: dict[str, Any] = {"author": "Ada", "session_id": "s", "sequence": 0}


def held(store: vestig.Vestig) -> dict[str, Pieces]:
    """Memory id → codes of word pieces in the ledger."""
    sql = (
        "SELECT 'mem', m.id, t.ids, t.codes FROM token_codes t"
        ' JOIN memories m ON m."row" = t.memory'
    )
    with store._session.ledger.read() as view:
        rows = view.connection.execute(sql).fetchall()
    known = {id_bytes(memory.id): memory.id for memory in every(store)}
    return {known[id]: Pieces(*parts) for _kind, id, *parts in rows}


def piece_codes_of(embedder: TokenHashingEmbedder, text: str) -> Pieces:
    """The codes of a text."""
    ((_vector, states),) = embedder.embed_tokens([text])
    return piece_codes(states)


def every(store: vestig.Vestig) -> Sequence[Any]:
    return store.list(limit=1000, where={"include_expired": True}).memories


def projected(store: vestig.Vestig) -> dict[str, Any]:
    """Memory id → codes of word pieces in the projection."""
    ids = [memory.id for memory in every(store)]
    found: dict[str, Any] = store._session.keeper.run(
        lambda _, core: {id: core.row(id_bytes(id)) for id in ids}
    )
    return {id: row["pieces"] for id, row in found.items() if row["pieces"] is not None}


def commit(store: vestig.Vestig, text: str, **fields: Any) -> str:
    id = store.commit(text, **committing(fields)).memory_id
    assert id is not None
    return id


# --- who gets them ---------------------------------------------------------------------------


def test_memories_of_every_kind_get_them(opener: Opener) -> None:
    embedder = TokenHashingEmbedder()
    store = opener(embedder=embedder)
    question = "How do I get to the island from here?"
    wanted = {
        commit(store, TALK, **SAID): piece_codes_of(embedder, f"Ada: {TALK}"),
        commit(store, NOTE): piece_codes_of(embedder, NOTE),
        commit(store, question, role="user", session_id="agent"): piece_codes_of(
            embedder, question
        ),
    }
    assert held(store) == projected(store) == wanted
    assert store.admin.stats().token_codes == 3
    clean(store)


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ({}, True),
        ({"signals.late.enabled": False}, False),
        ({f"ranking.weights.{kind}.{term}": 0.0 for kind in KINDS for term in LATE_TERMS}, False),
        ({f"ranking.weights.all.{term}": 0.0 for term in LATE_TERMS}, True),
        ({f"ranking.weights.{kind}.late": 0.0 for kind in KINDS}, True),
    ],
)
def test_any_term_made_of_them_counts(opener: Opener, keys: dict[str, Any], wanted: bool) -> None:
    store = opener(embedder=TokenHashingEmbedder(), config=keys)
    assert wants_codes(store._session) == wanted
    commit(store, NOTE)
    assert len(held(store)) == wanted


def test_a_text_is_embedded_once(opener: Opener) -> None:
    runs: list[str] = []

    class Noting(TokenHashingEmbedder):
        def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
            runs.extend(texts)
            return super().embed_tokens(texts)

    store = opener(embedder=Noting())
    texts = [f"{TALK}, it is said for the {n}th time" for n in range(4)]
    ends = store.commit_many(
        [{"content": t, **(SAID if n % 2 else {})} for n, t in enumerate(texts)]
    )
    ids = [end.memory_id for end in ends if isinstance(end, vestig.CommitOutcome)]
    assert sorted(held(store)) == sorted(map(str, ids))
    own = [text for text in runs if "time" in text]
    assert sorted(own) == sorted(f"Ada: {t}" if n % 2 else t for n, t in enumerate(texts))


def test_an_embedder_without_them_stores_none_and_fails_nothing(opener: Opener) -> None:
    store = opener(embedder=HashingEmbedder())
    commit(store, TALK, **SAID)
    assert held(store) == {}
    assert store.recall("When does the ferry leave?").results
    clean(store)
    with pytest.raises(ConflictError, match="gives none"):
        store.admin.rebuild(tokens=True)


def test_nothing_is_stored_of_a_text_whose_token_codes_are_wrong(opener: Opener) -> None:
    class Broken(TokenHashingEmbedder):
        def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
            answers = super().embed_tokens(texts)
            return [(vector, states._replace(ids=b"")) for vector, states in answers]

    store = opener(embedder=Broken())
    with pytest.raises(ProviderError):
        store.commit(TALK, **committing(SAID))
    assert store.count() == 0


def test_forty_pieces_take_1520_bytes(opener: Opener) -> None:
    store = opener(embedder=TokenHashingEmbedder(pieces=40))
    said = commit(store, TALK, **SAID)
    assert sum(map(len, held(store)[said])) == 1_520


def test_a_repeated_text_changes_nothing(opener: Opener) -> None:
    store = opener(embedder=TokenHashingEmbedder())
    commit(store, TALK, **SAID)
    before = held(store)
    commit(store, TALK, **SAID)
    assert held(store) == before


def test_an_imported_transcript_gets_them(opener: Opener, tmp_path: Path) -> None:
    lines = [
        {"speaker": "Ada", "text": TALK, "turn": 0},
        {"speaker": "Ben", "text": NOTE, "turn": 1},
    ]
    path = tmp_path / "talk.jsonl"
    path.write_text("\n".join(json.dumps(line | {"session": "s"}) for line in lines), "utf-8")
    store = opener(embedder=TokenHashingEmbedder())
    assert store.import_(path).memories == 2
    assert len(held(store)) == 2


class Down(TokenHashingEmbedder):
    """Fails until it is up."""

    up = False

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
        if not self.up:
            FailingEmbedder("error").embed(texts)
        return super().embed_tokens(texts)


def test_a_deferred_memory_gets_them_from_its_job(opener: Opener, clock: FrozenClock) -> None:
    embedder = Down()
    store = opener(embedder=embedder, config={"embedding.on_failure": "defer"})
    said = commit(store, TALK, **SAID)
    assert held(store) == {}
    embedder.up = True
    clock.move(days=1)
    assert store.admin.enrich().done == 1
    assert set(held(store)) == set(projected(store)) == {said}
    clean(store)


def test_a_new_text_has_its_own(opener: Opener) -> None:
    embedder = TokenHashingEmbedder()
    store = opener(embedder=embedder)
    said = commit(store, TALK, **SAID)
    after = store.update(said, content=f"{TALK} at noon").memory_id
    pieces = piece_codes_of(embedder, f"Ada: {TALK} at noon")
    assert held(store)[after] == pieces
    assert set(held(store)) == {said, after}


def test_a_query_is_embedded_once(opener: Opener) -> None:
    embedder = TokenHashingEmbedder()
    context = opener(embedder=embedder)._session
    assert [*query_vectors(context, [TALK], late=True)] == [*embedder.embed_tokens([TALK])]
    assert [*query_vectors(context, [TALK], late=False)] == [(embedder.embed([TALK])[0], None)]
    plain = opener(embedder=HashingEmbedder())._session
    assert query_vectors(plain, [TALK], late=True)[0][1] is None


def similar(query: tuple[bytes, bytes, bytes], memory: Pieces) -> Any:
    """For each piece of the query, how near the nearest one of the memory is: by definition."""
    codes = np.frombuffer(query[1], np.int8).reshape(-1, 256).astype(int)
    raw = np.frombuffer(memory.codes, np.uint8).reshape(-1, 34)
    signs = np.unpackbits(raw[:, :32], axis=1, bitorder="little").astype(int) * 2 - 1
    scales = np.ascontiguousarray(raw[:, 32:]).view("<f2")[:, 0].astype(float)
    return (np.frombuffer(query[2], "<f8")[:, None] * (scales * (codes @ signs.T))).max(1)


def numbers(pieces: Pieces) -> list[int]:
    return memoryview(pieces.ids).cast("I").tolist()


# The similarity from which two word pieces are alike.
ALIKE = 0.4


def test_recall_compares_what_the_ledger_holds(opener: Opener) -> None:
    """The terms of word pieces from the rows of the ledger, by their definition."""
    config = {f"ranking.weights.chat_peer.{term}": 1.0 for term in LATE_TERMS}
    embedder = TokenHashingEmbedder()
    store = opener(embedder=embedder, config=config)
    texts = (TALK, NOTE, "Thanks, then I take the ferry at six", "The mill is closed in winter")
    ids = [commit(store, text, **(SAID | {"sequence": n})) for n, text in enumerate(texts)]
    query = "When does the ferry leave the island at night?"
    ((_vector, states),) = embedder.embed_tokens([query])
    pieces = [held(store)[id] for id in ids]
    best = [similar(query_codes(states), one) for one in pieces]
    around = [np.max(best[max(0, at - 2) : at + 3], axis=0) for at in range(len(best))]
    of_query = memoryview(states.ids).cast("I").tolist()
    holders = [sum(number in numbers(one) for one in pieces) for number in of_query]
    idf = np.array(
        [
            0.0 if number == SPECIAL_PIECE else math.log(1 + (len(ids) - n + 0.5) / (n + 0.5))
            for number, n in zip(of_query, holders, strict=True)
        ]
    )
    for hit in store.recall(query, limit=10).results:
        assert hit.reason is not None
        found = hit.reason.to_dict()["signals"]
        at = ids.index(hit.id)
        own, near = (idf @ np.minimum(z, ALIKE) / idf.sum() for z in (best[at], around[at]))
        for term, value in zip(LATE_TERMS, (own, near - own), strict=True):
            assert found[term]["raw"] == pytest.approx(value, abs=1e-9)


# --- later -----------------------------------------------------------------------------------


def test_rebuild_makes_those_that_an_older_store_lacks(tmp_path: Path) -> None:
    embedder = TokenHashingEmbedder()
    with vestig.open(tmp_path / "s", embedder=HashingEmbedder()) as store:
        said = commit(store, TALK, **SAID)
    with vestig.open(tmp_path / "s", embedder=embedder) as store:
        findings = {finding.check: finding for finding in store.admin.doctor().findings}
        assert findings["token_codes"].level == "finding"
        assert findings["token_codes"].detail.startswith("1 memories have none")
        assert store.admin.rebuild().tokens == 0
        assert store.admin.rebuild(tokens=True).tokens == 1
        pieces = piece_codes_of(embedder, f"Ada: {TALK}")
        assert held(store) == projected(store) == {said: pieces}
        assert store.admin.rebuild(tokens=True).tokens == 0
        clean(store)


def test_a_rebuild_of_token_codes_that_do_not_count_is_refused(opener: Opener) -> None:
    off = {"signals.late.enabled": False}
    store = opener(embedder=TokenHashingEmbedder(), config=off)
    store.commit(TALK)
    with pytest.raises(ConflictError, match="counts nothing"):
        store.admin.rebuild(tokens=True)


def test_another_model_makes_them_anew(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "s", embedder=TokenHashingEmbedder()) as store:
        said = commit(store, TALK, **SAID)
        old = held(store)[said]
    other = TokenHashingEmbedder(128, seed=7)
    with vestig.open(tmp_path / "s", embedder=other, change_embedder=True) as store:
        done = store.admin.rebuild(embeddings=True)
        assert (done.embedded >= 1, done.tokens) == (True, 1)
        pieces = piece_codes_of(other, f"Ada: {TALK}")
        assert held(store) == projected(store) == {said: pieces}
        assert pieces != old
        clean(store)


def test_a_backup_and_an_export_hold_them(tmp_path: Path, opener: Opener) -> None:
    with vestig.open(tmp_path / "s", embedder=TokenHashingEmbedder()) as store:
        commit(store, TALK, **SAID)
        wanted = held(store)
        store.admin.backup(tmp_path / "copy")
        store.export(tmp_path / "all.jsonl")
    with vestig.open(tmp_path / "copy", embedder=TokenHashingEmbedder()) as copy:
        assert held(copy) == projected(copy) == wanted
    restored = opener(embedder=TokenHashingEmbedder())
    restored.import_(tmp_path / "all.jsonl")
    assert held(restored) == projected(restored) == wanted


# --- forgotten -------------------------------------------------------------------------------


def traces_of(pieces: Pieces) -> list[bytes]:
    """Runs from the beginning, the middle and the end of each part, but for the marks of both ends,
    which every text has, and the author, who said more."""
    ids, signs, scales = sections_of(*pieces)
    parts = (
        pieces.ids[8:-4],
        ids[4:-2],
        pieces.codes[3 * 34 : -34],
        signs[3 * 32 : -32],
        scales[2:-2],
    )
    return [
        part[at : at + FRAGMENT]
        for part in parts
        for at in (0, (len(part) - FRAGMENT) // 2, len(part) - FRAGMENT)
    ]


@pytest.mark.parametrize("published", [True, False])
def test_forgetting_leaves_no_trace_of_them(tmp_path: Path, published: bool) -> None:
    folder = tmp_path / "s"
    with vestig.open(folder, embedder=TokenHashingEmbedder()) as store:
        said = commit(store, TALK, **SAID)
        kept = commit(store, NOTE, **(SAID | {"sequence": 1}))
        if published:
            store.admin.compact()
        traces = traces_of(held(store)[said])
        assert all(len(trace) == FRAGMENT for trace in traces)
        assert holding(folder, *traces) != []
        report = store.forget(said)
        assert report.residues == 0
        assert holding(folder, *traces) == []
        assert set(held(store)) == set(projected(store)) == {kept}
        clean(store)


def test_the_search_for_residues_knows_their_marks(tmp_path: Path) -> None:
    """Bytes of each part that somebody left in the folder are found."""
    folder = tmp_path / "s"
    config = {"store.lock_timeout_s": 0.2}
    for place in range(4):  # numbers and signs as segments hold them, both as the ledger does
        with vestig.open(
            folder / str(place), embedder=TokenHashingEmbedder(), config=config
        ) as store:
            said = commit(store, TALK, **SAID)
            store.admin.compact()
            pieces = held(store)[said]
            part = (*sections_of(*pieces)[:2], *pieces)[place]
            assert holding(folder / str(place), part[4:-4]) != [], "as it is held"
            left = folder / str(place) / "projection" / "left"
            left.write_bytes(part[4:-4])
            with pytest.raises(vestig.ForgetIncompleteError, match="left"):
                store.forget(said)
            left.unlink()
            store.admin.forget_finish()
            clean(store)


def test_the_same_words_of_another_memory_are_no_residue(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "s", embedder=TokenHashingEmbedder()) as store:
        said = commit(store, TALK, **SAID)
        kept = commit(store, TALK, **(SAID | {"scope": "other"}))
        longer = commit(store, f"{TALK} " * 20, on_near_dup="insert", **SAID)
        store.admin.compact()
        assert store.forget(said).residues == 0
        assert set(held(store)) == {kept, longer}
        clean(store)
