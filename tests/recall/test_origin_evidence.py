"""What puts memories of several origins on one scale, from the configuration to the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

import vestig
from recomputed_scores import final
from scripted import Opener
from vestig.recall.layouts import render
from vestig.types import OriginType

QUERY = "where did Ada moor the red boat in the harbour?"
NEUTRAL = {"scale": 1.0, "constant": 0.0, "cosine": 0.0, "lexical": 0.0, "best": 0.0, "mean": 0.0}


def evidence(**own: float) -> dict[str, Any]:
    """Neutral but for these."""
    return {"evidence": {**NEUTRAL, **own}}


EVIDENCE: dict[str, Any] = {
    "ranking.weights": {
        "note": evidence(scale=1.5, constant=-1.0, cosine=2.0, best=0.5),
        "document": evidence(scale=0.5, lexical=3.0, mean=-0.25),
        "chat_peer": evidence(),
    }
}
CHATS: dict[str, Any] = {"provenance": {"origin_type": "chat_peer"}}


def filled(opener: Opener) -> vestig.Vestig:
    store = opener(config={"hygiene.near_duplicate.enabled": False})
    for number in range(8):
        store.commit(f"Ada painted the boat number {number} red in the harbour")
        store.commit(f"Chapter {number} tells how ships are moored", title="Harbours")
        store.commit(f"we saw {number} boats", author="Ada", **CHATS)
    return store


def results(store: vestig.Vestig, config: dict[str, Any], **fields: Any) -> Any:
    found = store.recall(QUERY, config=config, limit=24, **fields)
    return json.loads(json.dumps(found.to_dict(explain=True)))


def test_final_scores_recompute_from_the_reason(opener: Opener) -> None:
    store = filled(opener)
    found = results(store, EVIDENCE)
    assert {hit["origin_type"] for hit in found["results"]} == {"note", "document", "chat_peer"}
    for hit in found["results"]:
        given = hit["reason"]["origin_evidence"]
        assert given["origin"] == hit["origin_type"]
        assert final(hit, found["formula"]) == pytest.approx(hit["reason"]["final_score"], abs=1e-9)
    of = {one["origin"]: one for one in (h["reason"]["origin_evidence"] for h in found["results"])}
    assert (of["note"]["scale"], of["note"]["constant"]) == (1.5, -1.0)
    assert of["document"]["lexical"]["weight"] == 3.0
    assert of["document"]["mean"]["weight"] == -0.25
    levels = {
        name: sorted(
            (
                hit["reason"]["origin_evidence"]["level"]
                for hit in found["results"]
                if hit["origin_type"] == name
            ),
            reverse=True,
        )
        for name in of
    }
    for name, own in levels.items():
        assert of[name]["best"]["value"] == own[0]
        assert of[name]["mean"]["value"] == pytest.approx(sum(own[:5]) / 5, abs=1e-12)


def test_explained_with_its_numbers(opener: Opener) -> None:
    text = render(filled(opener).recall(QUERY, config=EVIDENCE, limit=24), "explain")
    assert "Origin evidence: note; level " in text
    assert "constant -1.0000; cosine 1.0000 × 2.0000; best " in text


def test_an_origin_is_ranked_as_it_is_alone_and_the_switch_takes_it_back(opener: Opener) -> None:
    store = filled(opener)
    off = results(store, {**EVIDENCE, "signals.evidence.enabled": False})["results"]
    on = results(store, EVIDENCE)["results"]
    neutral = [f"evidence.{name}" for name in ("constant", "cosine", "lexical", "best", "mean")]
    unweighed = {
        f"ranking.weights.{origin.value}.{name}": 0.0 for origin in OriginType for name in neutral
    } | {f"ranking.weights.{origin.value}.evidence.scale": 1.0 for origin in OriginType}
    assert [hit["id"] for hit in off] == [h["id"] for h in results(store, unweighed)["results"]]
    assert all("origin_evidence" not in hit["reason"] for hit in off)
    assert [hit["id"] for hit in on] != [hit["id"] for hit in off]
    for name in ("note", "document", "chat_peer"):
        alone = results(store, EVIDENCE, where={"origin_types": [name]})["results"]
        together = [hit for hit in on if hit["origin_type"] == name]
        assert [hit["id"] for hit in together] == [hit["id"] for hit in alone]
        assert [hit["reason"]["signals"] for hit in together] == [
            hit["reason"]["signals"] for hit in alone
        ]
        levels = [hit["reason"]["origin_evidence"]["level"] for hit in together]
        assert levels == [hit["reason"]["start_score"] for hit in alone]


def test_one_eligible_origin_is_ranked_by_its_levels(opener: Opener) -> None:
    store = filled(opener)
    alone = {"where": {"origin_types": ["note"]}}
    on, off = (
        results(store, {**EVIDENCE, "signals.evidence.enabled": switch}, **alone)["results"]
        for switch in (True, False)
    )
    assert len(on) == 8
    assert [hit["score"] for hit in on] == [hit["score"] for hit in off]
    assert all("origin_evidence" not in hit["reason"] for hit in on)


@pytest.mark.parametrize("scale", [0, -1.5])
def test_a_scale_is_above_0(opener: Opener, scale: float) -> None:
    with pytest.raises(vestig.ConfigError, match=r"evidence\.scale.*> 0"):
        opener(config={"ranking.weights.note.evidence.scale": scale})
