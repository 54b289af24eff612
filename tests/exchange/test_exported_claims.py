"""Claims, evidence, jobs of every kind, model calls, keys and requests travel with an export."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import vestig
from exports import Line, of, parsed, records, sealed
from vestig.changes import ChangeSet, NewJob, RequestRecord
from vestig.ids import new_id
from vestig.store.records.rows import StoredAnswer
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.types import Claim

SAID = "I have been with Acme Corporation in Oslo since last spring, said Ana"
TEXT = "Ana works at Acme Corporation"
OTHER = "The shed in the garden was painted green in May"
KINDS = ("entities", "hypothetical", "stability", "embed")
DAY = 20_533


def opened(path: Path | str = ":memory:") -> vestig.Vestig:
    return vestig.open(path, embedder=HashingEmbedder(64), clock=FrozenClock())


def fill(store: vestig.Vestig) -> dict[str, str]:
    """Something of every kind; name → id."""
    said = str(store.commit(SAID, author="Ana").memory_id)
    other = str(store.commit(OTHER, provenance={"agent": "gardener"}).memory_id)
    source = store.show(other).sources[0].id
    claim = {
        "subject": "Ana",
        "fact_type": "WORKS_AT",
        "object": "Acme Corporation",
        "object_id": "Acme Corporation",
        "attributes": {"since": 2019},
        "confidence": 0.9,
        "evidence": [
            {"source_id": said, "timestamp": "2026-03-01", "author": "Ana", "snippet": SAID[:40]},
            {"source_id": source},
            {"snippet": "seen at the door"},
        ],
    }
    text = str(store.commit(TEXT, claim=claim, entities=["ORG:Acme Corporation"]).memory_id)
    keep(store, other, said)
    return {"said": said, "text": text, "other": other, "source": source}


def keep(store: vestig.Vestig, other: str, said: str) -> None:
    """Jobs, calls, answers and requests."""
    ledger, now = store._session.ledger, store._session.now_us()
    jobs = tuple(NewJob(id=new_id("job"), memory_id=other, kind=kind) for kind in KINDS)
    with ledger.write(now) as txn:
        txn.apply(ChangeSet(namespace="default", jobs=jobs))
        for key, id in (("said", said), ("other", other)):
            answer = StoredAnswer(key, bytes(32), 201, json.dumps({"memory_id": id}), now)
            txn.keep_answer("default", answer, since_us=0)
    ledger.due_jobs("default", now, KINDS, 2, [job.id for job in jobs])
    ledger.submit_jobs([jobs[0].id], "batch-1", now)
    ledger.reserve_model_calls(DAY, 7, None)
    for id in (said, other):
        record = RequestRecord(
            id=new_id("req"), namespace="default", route="/api/memory/show", began_us=now,
            duration_us=80, status=200, payload=f'{{"id": "{id}"}}',
        )  # fmt: skip
        ledger.log_requests([record])


def exported(store: vestig.Vestig, **options: Any) -> bytes:
    out = io.BytesIO()
    store.export(out, **options)
    return out.getvalue()


def taken(raw: bytes, store: vestig.Vestig, **options: Any) -> Any:
    return store.import_(io.BytesIO(raw), **options)


def kinds(raw: bytes) -> dict[str, int]:
    """record → how many."""
    found: dict[str, int] = {}
    for line in records(raw)[1:]:
        found[line["record"]] = found.get(line["record"], 0) + 1
    return found


def claim_of(store: vestig.Vestig, id: str) -> Claim | None:
    return store.show(id).claim


def answers(store: vestig.Vestig) -> list[tuple[str, bool]]:
    """key → whether its response is there."""
    with store._session.ledger.read() as view:
        sql = "SELECT key, response IS NOT NULL FROM idempotency_keys ORDER BY key"
        return [(key, bool(there)) for key, there in view.connection.execute(sql)]


def clean(store: vestig.Vestig) -> None:
    assert {f.level for f in store.admin.doctor().findings if f.check != "jobs"} <= {"ok", "notice"}


@pytest.mark.parametrize("namespace", [True, False], ids=["all", "one"])
def test_an_export_of_a_copy_has_the_same_bytes(tmp_path: Path, namespace: bool) -> None:
    with opened(tmp_path / "one") as store, opened(tmp_path / "two") as copy:
        ids = fill(store)
        raw = exported(store, all_namespaces=namespace)
        found = kinds(raw)
        assert {name: found[name] for name in ("claim", "evidence", "job", "model_calls")} == {
            "claim": 1, "evidence": 3, "job": 4, "model_calls": 1,
        }  # fmt: skip
        assert (found["idempotency_key"], found["request"]) == (2, 2)
        taken(raw, copy)
        assert exported(copy, all_namespaces=namespace) == raw
        assert claim_of(copy, ids["text"]) == claim_of(store, ids["text"])
        assert list(copy._session.ledger.submitted_batches("default")) == ["batch-1"]
        clean(copy)
        assert taken(raw, copy, merge=True).imported == 0
        assert exported(copy, all_namespaces=namespace) == raw


def test_adding_by_id_keeps_answers_and_the_greater_number_of_calls() -> None:
    with opened() as store, opened() as other:
        fill(store)
        raw = exported(store)
        now = other._session.now_us()
        mine = StoredAnswer("said", b"\x01" * 32, 409, "mine", now)
        with other._session.ledger.write(now) as txn:
            txn.keep_answer("default", mine, since_us=0)
        other.commit("Something that was here before")
        other._session.ledger.reserve_model_calls(DAY, 3, None)
        other._session.ledger.reserve_model_calls(DAY + 1, 9, None)
        taken(raw, other, merge=True)
        ledger = other._session.ledger
        assert [ledger.reserved_model_calls(day) for day in (DAY, DAY + 1)] == [7, 9]
        assert ledger.answer_of("default", "said", since_us=0) == mine
        assert other.admin.stats().claims == 1
        ledger.reserve_model_calls(DAY, 30, None)
        taken(raw, other, merge=True)
        assert ledger.reserved_model_calls(DAY) == 37
        clean(other)


def test_what_was_forgotten_here_comes_back_in_no_claim_or_answer() -> None:
    with opened() as store:
        ids = fill(store)
        before = exported(store)
        store.forget(ids["said"])
        store.forget(ids["text"])
        taken(before, store, merge=True)
        assert answers(store) == [("other", True), ("said", False)]
        assert store.admin.stats().claims == 0
    with opened() as store, opened() as elsewhere:
        ids = fill(store)
        raw = exported(store)
        store.forget(ids["said"])
        taken(exported(store), elsewhere)
        emptied = [ids["text"], ids["other"]]
        elsewhere.forget(emptied)
        with opened() as third:
            # It knows that `said` was forgotten, and gets everything else anew.
            tombstones = [
                x for x in records(exported(store)) if x["record"] in ("header", "tombstone")
            ]
            header: Line = tombstones[0] | {"seq": max(x.get("seq", 1) for x in tombstones)}
            taken(b"".join(sealed([header, *tombstones[1:]])), third)
            taken(raw, third, merge=True)
            claim = claim_of(third, ids["text"])
            assert claim is not None
            assert [one.snippet for one in claim.evidence] == ["", "seen at the door"]
            assert answers(third) == [("other", True), ("said", False)]
            assert SAID[:40].encode() not in exported(third)
            clean(third)


def test_a_claim_of_forgotten_evidence_alone_does_not_come_back() -> None:
    with opened() as store:
        said = str(store.commit(SAID).memory_id)
        claim = {"subject": "Ana", "fact_type": "IS", "evidence": [{"source_id": said}]}
        text = str(store.commit(TEXT, claim=claim).memory_id)
        before = exported(store)
        store.forget([said, text])
        kept = str(store.commit(OTHER).memory_id)
        changed = parsed(before)
        # The memory of the claim under another id, as a third store may have it.
        other = new_id("mem")
        again = json.loads(json.dumps(changed).replace(text, other))
        taken(b"".join(sealed(again)), store, merge=True)
        assert claim_of(store, other) is None
        assert store.show(kept).memory.id == kept
        clean(store)


def test_a_selection_holds_the_claims_of_its_memories() -> None:
    with opened() as store, opened() as part:
        ids = fill(store)
        raw = exported(store, where={"entities": "Acme Corporation"})
        lines = records(raw)
        found = kinds(raw)
        assert found["claim"] == 1
        assert not {"model_calls", "idempotency_key", "request"} & found.keys()
        named = {line["id"] for line in lines if line["record"] in ("memory", "source", "entity")}
        for line in lines:
            if line["record"] == "evidence":
                assert line["source_id"] is None or line["source_id"] in named
        taken(raw, part)
        claim = claim_of(part, ids["text"])
        assert claim is not None
        assert claim.object_id is not None
        clean(part)
        only = exported(store, where={"tags": "none"})
        assert kinds(only) == {}


def test_a_reference_that_leaves_the_selection_is_cut_and_counted() -> None:
    with opened() as store:
        said = str(store.commit(SAID).memory_id)
        evidence = [{"source_id": said, "snippet": "said so"}]
        claim = {"subject": "Ana", "fact_type": "IS", "evidence": evidence}
        store.commit(TEXT, claim=claim, tags=["chosen"])
        raw = exported(store, where={"tags": "chosen"})
        assert parsed(raw)[-1]["cut_references"] == 1
        assert of(parsed(raw), "evidence")["source_id"] is None


def test_evidence_of_what_is_left_out_is_left_out_and_named() -> None:
    with opened() as store, opened() as other:
        ids = fill(store)
        changed = parsed(exported(store))
        next(x for x in changed if x.get("id") == ids["said"])["content"] = "another"
        report = taken(b"".join(sealed(changed)), other, partial=True)
        claim = claim_of(other, ids["text"])
        assert claim is not None
        assert [one.source_id for one in claim.evidence] == [ids["source"], None]
        assert [e for e in report.errors if "evidence" in e.message]
        clean(other)


def test_a_backup_holds_claims_and_answers(tmp_path: Path) -> None:
    with opened(tmp_path / "one") as store:
        fill(store)
        store.admin.compact()
        store.admin.backup(tmp_path / "two")
        raw = exported(store)
    with opened(tmp_path / "two") as copy:
        assert exported(copy) == raw
        clean(copy)
