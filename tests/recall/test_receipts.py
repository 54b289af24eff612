"""Receipts: the same ranking again, from a later state of the same store."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest

import vestig
from calls import committing, selecting
from fixed_graph import fixed_graph, text
from scripted import Opener
from vestig.answers import Receipt
from vestig.config.weights import learned
from vestig.recall.confidence import fit_version
from vestig.testing import FrozenClock, HashingEmbedder

QUERY = "what did Ada Lovelace say about the deploy last week?"
CALLS: tuple[dict[str, Any], ...] = (
    {},
    {"profile": "reference", "mode": "probabilistic"},
    {"profile": "baseline", "limit": 7},
    {"tags": ["x"], "limit": 3},
    {"known_at": "2026-03-18T12:00:30Z"},
    {"valid_at": "2026-03-15"},
    {"entities": "Ada Lovelace"},
    {"config": {"ranking.base": "blend", "walk.edge_types": ["RELATED", "MENTIONS"]}},
    {"scope": None, "include_expired": True, "seed": 9},
    {"metadata": {"level": 1}, "include_archived": True},
)


def filled(opener: Opener, **options: Any) -> tuple[vestig.Vestig, list[str]]:
    store = opener(config={"hygiene.near_duplicate.enabled": False}, **options)
    ids = []
    for n in range(20):
        said = f"Ada Lovelace said that the deploy of service {n} runs on port {8000 + n}"
        fields: dict[str, Any] = {"tags": ["x", f"t{n % 3}"], "t_valid": "2026-03-10"}
        if n % 2:
            fields |= {"scope": "lab", "metadata": {"level": 1}}
        ids.append(str(store.commit(said, **committing(fields)).memory_id))
    return store, ids


def changed(store: vestig.Vestig, ids: list[str], clock: FrozenClock) -> None:
    """Everything that the ledger can take back."""
    clock.move(minutes=5)
    for n in range(20, 30):
        store.commit(f"Grace Hopper said that the deploy of service {n} runs on port {9000 + n}")
    store.commit("Ada Lovelace said that the deploy of service 4 runs on port 8004")
    store.deprecate(ids[0], reason="wrong")
    store.deprecate(ids[1], reason="over", t_invalid="2026-03-17")
    store.supersede(ids[2], ids[3], reason="newer")
    store.archive(ids[5])
    store.pin(ids[6])
    store.graph.link(ids[7], ids[8], "RELATED", weight=1.0)
    edges = store.graph.edges(ids[9], edge_type="RELATED")
    for edge in list(edges.edges)[:2]:
        store.graph.unlink(edge.edge.id)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_replays_from_a_later_state(
    opener: Opener, clock: FrozenClock, call: dict[str, Any]
) -> None:
    store, ids = filled(opener)
    clock.move(minutes=1)
    found = store.recall(QUERY, receipt=True, **selecting(call))
    receipt = found.receipt
    assert isinstance(receipt, Receipt)
    assert (receipt.seq, receipt.seed, receipt.query) == (found.seq, found.seed, QUERY)
    assert store.replay_receipt(receipt).equal
    changed(store, ids, clock)
    again = store.recall(QUERY, receipt=True, **selecting(call)).receipt
    assert again.ids_hash != receipt.ids_hash, "the changes matter to this call"  # type: ignore[union-attr]
    report = store.replay_receipt(receipt)
    assert (report.equal, report.seq, report.ids_hash) == (True, found.seq, receipt.ids_hash)
    assert report.ledger_seq > report.seq
    assert report.returned == len(found)


def test_no_embedder_is_asked_and_no_configuration_of_now_counts(
    opener: Opener, clock: FrozenClock
) -> None:
    store, _ = filled(opener)
    receipt = store.recall(QUERY, receipt=True).receipt
    store.close()

    class Silent(HashingEmbedder):
        def embed(self, texts: Any) -> list[bytes]:
            raise AssertionError("a replay embeds nothing")

    other = opener(embedder=Silent(64), config={"recall.profile": "baseline"})
    assert other.replay_receipt(receipt).equal


def test_receipts_replay_as_json_and_from_a_whole_result(opener: Opener) -> None:
    store, _ = filled(opener)
    found = store.recall(QUERY, receipt=True)
    plain = json.loads(json.dumps(found.to_dict()))
    assert store.replay_receipt(plain["receipt"]).equal
    assert store.replay_receipt(plain).equal
    assert store.replay_receipt(json.dumps(plain["receipt"])).equal
    assert base64.b64decode(plain["receipt"]["query_vector"])
    assert "receipt" not in store.recall(QUERY).to_dict()


def test_fields_of_a_receipt(opener: Opener) -> None:
    store, _ = filled(opener)
    found = store.recall(QUERY, profile="reference", config={"walk.start.limit": 4}, receipt=True)
    receipt = found.receipt
    assert isinstance(receipt, Receipt)
    assert receipt.config["walk.start.limit"] == 4
    assert receipt.config["ranking.base"] == "semantic"
    assert "questions.enabled" not in receipt.config, "as built in"
    assert not any(key.startswith(("store.", "embedding.")) for key in receipt.config)
    assert receipt.arguments["limit"] == 5
    assert receipt.arguments["query_time"] == "2026-03-18T12:00:00.000000Z"
    assert receipt.arguments["where"] == {"include_expired": False}
    assert not {"mode", "order"} & receipt.arguments.keys(), "keys of the configuration"


def test_a_receipt_with_old_spellings_is_derived_again(opener: Opener) -> None:
    store, _ = filled(opener)
    config = {"walk.start.limit": 4, "ranking.weights": {"all": {"topic": 2.0}}}
    receipt = store.recall(QUERY, config=config, receipt=True).receipt
    assert receipt.config["ranking.weights"] == {"all": {"topic": 2.0}}, "what differs"
    old = {"m5.start_node.top_k": 4, "m5.signals.weights.all.topic": 2.0}
    store.replay_receipt(msgspec.structs.replace(receipt, config=old))


def test_a_receipt_leaves_out_weights_that_are_the_learned_ones(opener: Opener) -> None:
    store, _ = filled(opener)
    same = {"ranking.weights.all.topic": learned()["all"]["topic"]}
    assert "ranking.weights" not in store.recall(QUERY, config=same, receipt=True).receipt.config


def test_changes_that_the_ledger_cannot_undo_are_named(opener: Opener, clock: FrozenClock) -> None:
    store, ids = filled(opener)
    receipt = store.recall(QUERY, tags=["x"], limit=20, receipt=True).receipt
    store.update(ids[3], tags=["y"])
    with pytest.raises(vestig.ConflictError, match=r"cannot be derived again.*tags"):
        store.replay_receipt(receipt)


def test_forgotten_since(opener: Opener) -> None:
    store, ids = filled(opener)
    receipt = store.recall(QUERY, limit=20, receipt=True).receipt
    store.forget(ids[3])
    with pytest.raises(vestig.ConflictError, match="1 memories or names were forgotten"):
        store.replay_receipt(receipt)


def test_a_change_that_does_not_change_the_ranking_replays(opener: Opener) -> None:
    store, ids = filled(opener)
    receipt = store.recall(QUERY, profile="baseline", receipt=True).receipt
    store.update(ids[3], tags=["y"], metadata={"seen": True})
    assert store.replay_receipt(receipt).equal


def test_other_stores_versions_and_states(opener: Opener) -> None:
    store, _ = filled(opener)
    receipt = store.recall(QUERY, receipt=True).receipt
    assert isinstance(receipt, Receipt)

    def refused(match: str, **fields: Any) -> None:
        with pytest.raises(vestig.ConflictError, match=match):
            store.replay_receipt(msgspec.structs.replace(receipt, **fields))

    refused("of the store", store_uuid="00" * 16)
    refused("the receipt was made with", analyser="en-0")
    older_fit = receipt.analyser.replace(fit_version(), "confidence-00000000")
    assert older_fit != receipt.analyser, "scores depend on it"
    refused("the receipt was made with", analyser=older_fit)
    plain = store.recall(QUERY, profile="baseline", receipt=True).receipt
    assert isinstance(plain, Receipt)
    assert "confidence-" not in plain.analyser, "it has no score of it"
    refused("version 1", version=1)
    refused("ends at", seq=receipt.seq + 1)
    refused("vector_hash", vector_hash="00" * 32)
    refused("the receipt itself was changed", ids_hash="00" * 32)
    for bad in ("no json", "[]", {}, {"version": 1}, 3):
        with pytest.raises(vestig.ValidationError, match="receipt"):
            store.replay_receipt(bad)  # type: ignore[arg-type]


def test_two_hundred_walks_replay(opener: Opener, clock: FrozenClock) -> None:
    graph = fixed_graph(opener)
    loose = {"walk.exploration_factor": 1.0, "walk.max_nodes": 5}
    receipts = [
        graph.recall(mode="probabilistic", config=loose, limit=5, seed=s, receipt=True).receipt
        for s in range(200)
    ]
    assert len({receipt.ids_hash for receipt in receipts}) > 1  # type: ignore[union-attr]
    clock.move(hours=1)
    graph.store.commit(text("B"))
    graph.store.commit("Something else entirely stands here")
    for receipt in receipts[::20]:
        assert graph.store.replay_receipt(receipt).equal
