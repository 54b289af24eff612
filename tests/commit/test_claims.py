"""A commit with a claim: what the text states of whom, and where that was stated."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig.testing import FrozenClock
from vestig.types import Claim, Evidence, ItemError

TEXT = "Ana works at Acme since 2019"
ANA = {"subject": "Ana", "fact_type": "WORKS_AT", "object": "Acme"}


def entities(store: vestig.Vestig) -> dict[str, str]:
    """name → id of the entities in use."""
    return {one.entity.canonical_name: one.entity.id for one in store.graph.entities(limit=100)}


def test_a_claim_is_shown_with_the_memory_that_carries_it(
    opener: Opener, clock: FrozenClock
) -> None:
    store = opener()
    said = store.commit("I work at Acme since 2019", author="Ana")
    store.commit("Acme Corporation is in Oslo", entities=["ORG:Acme Corporation"])
    acme = entities(store)["Acme Corporation"]
    source = store.show(said.memory_id).sources[0]
    claim = {
        **ANA,
        "object_id": "acme corporation",
        "object_type": "ORG",
        "relationship_type": "employment",
        "attributes": {"since": 2019, "tags": ["a"]},
        "confidence": 1,
        "evidence": [
            {
                "source_id": said.memory_id,
                "timestamp": "2026-03-18",
                "author": "Ana",
                "snippet": "  I work\nat Acme ",
            },
            {"source_id": source.id},
        ],
    }
    outcome = store.commit(TEXT, claim=claim)
    shown = store.show(outcome.memory_id)
    evidence = shown.claim.evidence if shown.claim is not None else ()
    assert shown.claim == Claim(
        subject="Ana",
        subject_id=None,
        fact_type="WORKS_AT",
        object="Acme",
        object_id=acme,
        object_type="ORG",
        relationship_type="employment",
        attributes={"since": 2019, "tags": ["a"]},
        confidence=1.0,
        evidence=(
            Evidence(
                source_id=said.memory_id,
                timestamp=evidence[0].timestamp,
                author="Ana",
                snippet="I work at Acme",
            ),
            Evidence(source_id=source.id, timestamp=None, author=None, snippet=""),
        ),
    )
    plain = shown.to_dict()["claim"]
    assert plain["evidence"][0]["timestamp"] == "2026-03-18T00:00:00.000000Z"
    assert plain["subject_id"] is None
    assert store.show(said.memory_id).claim is None
    assert store.admin.stats().claims == 1
    assert store.admin.doctor().exit_code == 0


def test_a_text_that_is_known_keeps_its_record(opener: Opener) -> None:
    store = opener()
    first = store.commit(TEXT)
    again = store.commit(TEXT, claim={**ANA, "fact_type": "LIKES"})
    assert again.memory_id == first.memory_id
    assert "the claim was not stored" in again.warnings[-1]
    assert store.show(first.memory_id).claim is None


def test_a_batch_takes_claims_and_refuses_bad_ones_alone(opener: Opener) -> None:
    store = opener()
    unknown = f"ent_{'0' * 8}-0000-4000-8000-{'0' * 12}"
    good, bad, absent = store.commit_many(
        [
            {"content": TEXT, "claim": ANA},
            {"content": "Bea works at Acme", "claim": {**ANA, "confidence": 2}},
            {"content": "Cem works at Acme", "claim": {**ANA, "subject_id": unknown}},
        ]
    )
    assert isinstance(good, vestig.CommitOutcome)
    assert store.show(good.memory_id).claim == Claim(**ANA)
    assert isinstance(bad, ItemError)
    assert (bad.index, bad.code) == (1, "validation")
    assert isinstance(absent, ItemError)
    assert (absent.index, absent.code) == (2, "not-found")
    assert store.count() == 1


def test_a_dry_run_checks_the_claim_and_writes_nothing(opener: Opener) -> None:
    store = opener()
    store.commit(TEXT, claim=ANA, dry_run=True)
    with pytest.raises(vestig.NotFoundError, match="Entity"):
        store.commit(TEXT, claim={**ANA, "subject_id": "nobody"}, dry_run=True)
    assert store.admin.stats().claims == 0


WRONG: list[tuple[str, Any, str]] = [
    ("no object", "Ana", "claim"),
    ("a list", [ANA], "claim"),
    ("no subject", {"fact_type": "x"}, "claim.subject"),
    ("blank subject", {**ANA, "subject": " "}, "claim.subject"),
    ("no type", {"subject": "x"}, "claim.fact_type"),
    ("a number as object", {**ANA, "object": 5}, "claim.object"),
    ("confidence above 1", {**ANA, "confidence": 1.01}, "claim.confidence"),
    ("confidence below 0", {**ANA, "confidence": -0.01}, "claim.confidence"),
    ("NaN", {**ANA, "confidence": float("nan")}, "claim.confidence"),
    ("true as confidence", {**ANA, "confidence": True}, "claim.confidence"),
    ("attributes as a list", {**ANA, "attributes": ["x"]}, "claim.attributes"),
    ("an attribute of no JSON", {**ANA, "attributes": {"x": {1}}}, "claim.attributes.x"),
    ("infinity inside", {**ANA, "attributes": {"x": float("inf")}}, "claim.attributes.x"),
    ("evidence as text", {**ANA, "evidence": "seen"}, "claim.evidence"),
    ("evidence of null", {**ANA, "evidence": [None]}, "claim.evidence[0]"),
    ("empty evidence", {**ANA, "evidence": [{}]}, "claim.evidence[0]"),
    ("a long snippet", {**ANA, "evidence": [{"snippet": "x" * 501}]}, "claim.evidence[0].snippet"),
    ("a blank snippet", {**ANA, "evidence": [{"snippet": ""}]}, "claim.evidence[0].snippet"),
    ("a bad time", {**ANA, "evidence": [{"snippet": "x", "timestamp": "soon"}]}, "timestamp"),
    ("a bad source", {**ANA, "evidence": [{"source_id": "mail-7"}]}, "source_id"),
    ("a job as subject", {**ANA, "subject_id": f"job_{'0' * 8}"}, "claim.subject_id"),
    ("a surrogate", {**ANA, "subject": "\ud800"}, "claim.subject"),
    ("U+0000", {**ANA, "object_type": "a\0b"}, "claim.object_type"),
]


@pytest.mark.parametrize(("claim", "field"), [one[1:] for one in WRONG], ids=[w[0] for w in WRONG])
def test_a_wrong_claim_is_refused_by_field(opener: Opener, claim: Any, field: str) -> None:
    store = opener()
    with pytest.raises(vestig.ValidationError) as refused:
        store.commit(TEXT, claim=claim)
    assert field in str(refused.value)
    assert store.count() == 0


@pytest.mark.parametrize(
    ("claim", "nearest"),
    [({**ANA, "facttype": "x"}, "fact_type"), ({**ANA, "evidence": [{"snipet": "x"}]}, "snippet")],
    ids=["claim", "evidence"],
)
def test_an_unknown_member_is_named_with_the_nearest(
    opener: Opener, claim: dict[str, Any], nearest: str
) -> None:
    with pytest.raises(vestig.ValidationError, match=f"did you mean {nearest}"):
        opener().commit(TEXT, claim=claim)


@pytest.mark.parametrize("kind", ["source", "mem"])
def test_evidence_names_what_the_namespace_holds(opener: Opener, kind: str) -> None:
    store = opener()
    other = store.commit("Ada keeps the key of the vault", namespace="other")
    shown = store.show(other.memory_id, namespace="other")
    id = other.memory_id if kind == "mem" else shown.sources[0].id
    with pytest.raises(vestig.NotFoundError):
        store.commit(TEXT, claim={**ANA, "evidence": [{"source_id": id}]})
    assert store.count() == 0


def test_a_merged_entity_stands_for_what_it_was_merged_into(opener: Opener) -> None:
    store = opener()
    store.commit("Acme Corporation bought Acme Holdings", entities=["ORG:Acme Corporation"])
    store.commit("Acme Holdings is in Oslo", entities=["ORG:Acme Holdings"])
    named = entities(store)
    store.graph.merge_entities(named["Acme Corporation"], named["Acme Holdings"])
    claim = {**ANA, "object_id": named["Acme Corporation"]}
    shown = store.show(store.commit(TEXT, claim=claim).memory_id)
    assert shown.claim is not None
    assert shown.claim.object_id == named["Acme Holdings"]


def test_the_claim_is_what_is_embedded(opener: Opener) -> None:
    claim = {**ANA, "attributes": {"since": 2019}, "evidence": [{"snippet": "I am at Acme"}]}
    store = opener()
    carrying = store.commit(TEXT, author="Ana", claim=claim)
    plain = store.commit("Ana WORKS_AT Acme. since=2019. Evidence: I am at Acme")

    def vector(id: str | None) -> bytes:
        with store._session.ledger.read() as view:
            return view.vectors("default", [str(id)])[str(id)][1]

    assert vector(carrying.memory_id) == vector(plain.memory_id)
    store.admin.rebuild(embeddings=True)
    assert vector(carrying.memory_id) == vector(plain.memory_id)


def test_a_late_vector_is_that_of_the_claim(opener: Opener, clock: FrozenClock) -> None:
    from vestig.testing import FailingEmbedder

    embedder = FailingEmbedder("error", dimensions=64)
    store = opener(embedder=embedder, config={"embedding": {"on_failure": "defer"}})
    carrying = store.commit(TEXT, author="Ana", claim=ANA)
    embedder.after = 1_000
    clock.move(days=1)
    store.admin.enrich()
    plain = store.commit("Ana WORKS_AT Acme")
    with store._session.ledger.read() as view:
        found = view.vectors("default", [str(carrying.memory_id), str(plain.memory_id)])
    assert len({vector for _, vector in found.values()}) == 1
    assert len(found) == 2
