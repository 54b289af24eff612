"""Forgetting what a claim was taken from, what carries it, and answers that name it."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from forget_checks import OTHER, SECRET, clean, commit, folder_of
from scripted import Opener
from traces import holding
from vestig.changes import ChangeSet, RequestRecord
from vestig.ids import new_id
from vestig.store.records.rows import StoredAnswer

SNIPPET = "kept by Ximena Quartz in a drawer at home"
CLAIM = {
    "subject": "Ximena Quartz of the harbour",
    "fact_type": "KEEPS",
    "object": "vault code 991",
}


def shown(store: vestig.Vestig, id: str) -> vestig.types.Claim | None:
    return store.show(id).claim


def answers(store: vestig.Vestig) -> dict[str, tuple[bool, bool]]:
    """key → whether its hash and its response are there."""
    rows = _rows(store, "SELECT key, request_hash, response FROM idempotency_keys")
    return {key: (digest is not None, text is not None) for key, digest, text in rows}


def _rows(store: vestig.Vestig, sql: str) -> list[tuple[Any, ...]]:
    with store._session.ledger.read() as view:
        return list(view.connection.execute(sql))


def keep_answer(store: vestig.Vestig, key: str, response: str) -> None:
    ledger, now = store._session.ledger, store._session.now_us()
    answer = StoredAnswer(key, bytes(range(32)), 201, response, now)
    with ledger.write(now) as txn:
        txn.keep_answer("default", answer, since_us=0)


def log(store: vestig.Vestig, payload: str | None) -> None:
    record = RequestRecord(
        id=new_id("req"),
        namespace="default",
        route="/api/memory/recall",
        began_us=store._session.now_us(),
        duration_us=5,
        status=200,
        payload=payload,
    )
    store._session.ledger.log_requests([record])


def test_a_claim_goes_with_its_memory(opener: Opener) -> None:
    store = opener()
    claim = {
        **CLAIM,
        "attributes": {"drawer": "the third from the left"},
        "evidence": [{"snippet": SNIPPET}],
    }
    id = commit(store, SECRET, claim=claim)
    kept = commit(store, OTHER, claim={"subject": "deploys", "fact_type": "DAY"})
    report = store.forget(id)
    assert report.residues == 0
    assert (report.rows_removed["claims"], report.rows_removed["claim_evidence"]) == (1, 1)
    words = (SNIPPET, CLAIM["subject"], CLAIM["object"], "the third from the left")
    assert [holding(folder_of(store), text.encode()) for text in words] == [[], [], [], []]
    assert shown(store, kept) is not None
    assert store.admin.stats().claims == 1
    clean(store)


def test_evidence_taken_from_a_forgotten_memory_goes_with_it(opener: Opener) -> None:
    store = opener()
    secret = commit(store, SECRET)
    evidence = [
        {"source_id": secret, "snippet": SECRET[:40]},
        {"snippet": SECRET[-40:]},
        {"snippet": "somebody else said so as well"},
    ]
    id = commit(store, OTHER, claim={**CLAIM, "evidence": evidence})
    report = store.forget(secret)
    assert report.residues == 0
    assert report.rows_removed["claim_evidence"] == 2
    claim = shown(store, id)
    assert claim is not None
    assert [one.snippet for one in claim.evidence] == ["somebody else said so as well"]
    assert holding(folder_of(store), SECRET[-40:].encode()) == []
    clean(store)


def test_a_claim_falls_with_its_only_evidence(opener: Opener) -> None:
    store = opener()
    secret = commit(store, SECRET)
    only = {**CLAIM, "evidence": [{"source_id": secret, "snippet": SECRET[:40]}]}
    id = commit(store, OTHER, claim=only)
    without = commit(store, "Nobody said where this is from", claim=CLAIM)
    store.forget(secret)
    assert shown(store, id) is None
    assert shown(store, without) is not None, "it never had any"
    assert store.show(id).memory.content == OTHER
    clean(store)


def test_evidence_goes_with_the_source_that_nothing_supports(opener: Opener) -> None:
    store = opener()
    secret = commit(store, SECRET, session_id="s1", agent="harbour")
    source = store.show(secret).sources[0]
    named = {**CLAIM, "evidence": [{"source_id": source.id}, {"snippet": "and elsewhere"}]}
    id = commit(store, OTHER, claim=named)
    store.admin.gc()
    claim = shown(store, id)
    assert claim is not None
    assert claim.evidence[0].source_id == source.id
    store.forget(secret)
    claim = shown(store, id)
    assert claim is not None
    assert [one.source_id for one in claim.evidence] == [None]
    clean(store)


def test_an_entity_that_a_claim_names_stays(opener: Opener) -> None:
    store = opener()
    mention = commit(store, SECRET, entities=["ORG:Harbour Office Nine"])
    (entity,) = [e.entity for e in store.graph.entities(limit=50)
                 if e.entity.canonical_name == "Harbour Office Nine"]  # fmt: skip
    id = commit(store, OTHER, claim={**CLAIM, "object_id": entity.id})
    store.forget(mention)
    assert store.graph.entity(entity.id).entity.id == entity.id
    store.forget(id)
    with pytest.raises(vestig.NotFoundError):
        store.graph.entity(entity.id)
    clean(store)


def test_a_purged_entity_leaves_the_name_in_the_claim(opener: Opener) -> None:
    store = opener()
    commit(store, SECRET, entities=["ORG:Harbour Office Nine"])
    named = {e.entity.canonical_name: e.entity.id for e in store.graph.entities(limit=50)}
    claim = {**CLAIM, "subject_id": "Harbour Office Nine", "object_id": "Harbour Office Nine"}
    id = commit(store, OTHER, claim=claim)
    store.graph.expire_entity(named["Harbour Office Nine"])
    store.graph.purge_entities([named["Harbour Office Nine"]])
    found = shown(store, id)
    assert found is not None
    assert (found.subject_id, found.object_id) == (None, None)
    assert (found.subject, found.object) == (CLAIM["subject"], CLAIM["object"])
    clean(store)


def test_answers_that_name_or_quote_the_memory_are_erased(opener: Opener) -> None:
    store = opener()
    secret, other = commit(store, SECRET), commit(store, OTHER)
    quoted = SECRET[10:45]
    keep_answer(store, "named", f'{{"memory_id": "{secret}"}}')
    keep_answer(store, "quoted", f'{{"content": "… {quoted} …"}}')
    keep_answer(store, "other", f'{{"memory_id": "{other}"}}')
    for payload in (f"asked for {quoted}", f"found {secret}", f"found {other}", None):
        log(store, payload)
    before = store.admin.stats().requests
    report = store.forget(secret)
    assert report.residues == 0
    assert answers(store) == {
        "named": (False, False),
        "quoted": (False, False),
        "other": (True, True),
    }
    left = _rows(store, 'SELECT payload FROM requests ORDER BY "row"')
    assert left == [(None,), (None,), (f"found {other}",), (None,)]
    assert store.admin.stats().requests == before
    assert holding(folder_of(store), quoted.encode()) == []
    clean(store)


def test_answers_of_another_namespace_stay(opener: Opener) -> None:
    store = opener()
    secret = commit(store, SECRET)
    ledger, now = store._session.ledger, store._session.now_us()
    with ledger.write(now) as txn:
        txn.keep_answer("other", StoredAnswer("k", b"h", 200, secret, now), since_us=0)
    store.forget(secret)
    assert answers(store) == {"k": (True, True)}


def test_jobs_of_every_kind_and_batch_go_with_their_memory(opener: Opener) -> None:
    store = opener()
    secret = commit(store, SECRET)
    from vestig.changes import NewJob

    ledger, now = store._session.ledger, store._session.now_us()
    kinds = ("entities", "hypothetical", "stability", "embed")
    jobs = tuple(NewJob(id=new_id("job"), memory_id=secret, kind=kind) for kind in kinds)
    with ledger.write(now) as txn:
        txn.apply(ChangeSet(namespace="default", jobs=jobs))
    ledger.due_jobs("default", now, kinds[:2], 9)
    ledger.submit_jobs([jobs[0].id], "batch-1", now)
    report = store.forget(secret)
    assert report.rows_removed["jobs"] == 4
    assert ledger.submitted_batches("default") == {}
    clean(store)
