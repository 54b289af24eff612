"""Exports that were cut or changed by hand: each is refused with its line, or restored whole."""

from __future__ import annotations

import hashlib
import io
import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pytest

import ledger_rows as made
import vestig
from exports import Line, of, parsed, records, sealed
from filled_store import IDENTITY, exported, fill, fill_requests
from tables import each
from vestig.errors import ConflictError, ValidationError
from vestig.store.ledger.opening import open_ledger
from vestig.testing import ScriptedEmbedder

Change = Callable[[list[Line]], object]
KINDS = (
    "header", "source", "memory", "vector", "event", "edge", "entity", "entity_vector", "question",
    "supersession", "job", "token_codes", "tombstone", "claim", "evidence",
    "model_calls", "idempotency_key", "request", "end",
)  # fmt: skip
NO_MEMORY = "mem_00000000-0000-4000-8000-000000000000"


class _Embedder(ScriptedEmbedder):
    """The model of the filled store."""

    @property
    def fingerprint(self) -> str:
        return IDENTITY.fingerprint


@lru_cache(1)
def whole() -> bytes:
    """An export with a record of every kind."""
    ledger = open_ledger(None)
    ids = fill(ledger)
    fill_requests(ledger, ids)
    poem = made.memory("def add(a, b):\n    return a + b")
    original = made.original(poem.id, "def add(a, b):\n\n    return  a + b")
    with ledger.write(made.NOW + 200) as txn:
        txn.apply(made.added(poem, original_texts=(original,)))
    with ledger.write(made.NOW + 300) as txn:
        txn.forget("default", [ids[7]], actor="Omar")
    return exported(ledger, "default")


def lines() -> list[Line]:
    """Its records, to be changed."""
    return parsed(whole())


def opened() -> vestig.Vestig:
    config = {"embedding.normalize": False, "hygiene.min_chars": 1}
    return vestig.open(
        ":memory:", embedder=_Embedder({}, default=[1.0] * 8, model=IDENTITY.model), config=config
    )


def digest(store: vestig.Vestig) -> bytes:
    out = io.BytesIO()
    store.export(out)
    return out.getvalue()


def take(store: vestig.Vestig, raw: list[bytes], **options: Any) -> Any:
    return store.import_(io.BytesIO(b"".join(raw)), **options)


def outcome(store: vestig.Vestig, raw: list[bytes]) -> tuple[Any, str]:
    """The report, or None and the error."""
    try:
        return take(store, raw), ""
    except (ValidationError, ConflictError, vestig.EmbeddingMismatchError) as error:
        return None, str(error)


@pytest.fixture
def empty() -> Iterator[vestig.Vestig]:
    with opened() as store:
        before = digest(store)
        yield store
        assert digest(store) == before


@pytest.fixture
def full() -> Iterator[vestig.Vestig]:
    with opened() as store:
        take(store, sealed(lines()))
        before = digest(store)
        yield store
        assert digest(store) == before


def refused(empty: vestig.Vestig, full: vestig.Vestig, raw: list[bytes], place: str) -> None:
    """By both stores, and neither changes."""
    for store, options in ((empty, {}), (full, {"merge": True})):
        seq = store.admin.stats().seq
        with pytest.raises((ValidationError, ConflictError), match=place) as caught:
            take(store, raw, **options)
        assert "café" not in str(caught.value)
        assert store.admin.stats().seq == seq


def restored(raw: list[bytes]) -> None:
    """To the last byte, and sound."""
    with opened() as store:
        report = take(store, raw)
        assert (report.failed, report.errors) == (0, ())
        assert report.imported == report.lines - 2
        assert "damage" not in {finding.level for finding in store.admin.doctor().findings}
        assert digest(store) == b"".join(raw)


def test_the_file_has_every_kind_of_record() -> None:
    assert {line["record"] for line in lines()} == set(KINDS)
    restored([line + b"\n" for line in whole().splitlines()])


# --- the file as a whole -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.torture)])
def test_a_file_that_is_cut_after_any_line_is_refused(
    step: int, empty: vestig.Vestig, full: vestig.Vestig
) -> None:
    every = whole().splitlines(keepends=True)
    for count in range(1, len(every), step):
        refused(empty, full, every[:count], f"line {count + 1}, record: .*partial=True")
    refused(empty, full, [*every[:-1], every[-1][:40]], f"line {len(every)}\\b")
    refused(empty, full, [b"".join(every)[:5000]], r"line \d+")


@pytest.mark.slow
@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.torture)])
def test_a_changed_byte_a_dropped_a_doubled_an_exchanged_line_are_refused(
    step: int, empty: vestig.Vestig, full: vestig.Vestig
) -> None:
    every = whole().splitlines(keepends=True)
    last = len(every)
    for at in range(1, last - 1, step):
        for changed in (
            [*every[:at], *every[at + 1 :]],
            [*every[:at], every[at], *every[at:]],
            [*every[:at], every[at + 1], every[at], *every[at + 2 :]],
            [*every[:at], every[at][:-3] + b" " + every[at][-3:], *every[at + 1 :]],
            [*every[:at], b"\n", *every[at:]],
        ):
            refused(empty, full, changed, r"line \d+")


def test_a_trailer_of_another_file_or_two_or_none_last(
    empty: vestig.Vestig, full: vestig.Vestig
) -> None:
    every = whole().splitlines(keepends=True)
    last = len(every)
    other = [line for line in lines() if line["record"] != "job"]
    refused(empty, full, [*every[:-1], sealed(other)[-1]], f"line {last}, counts.job")
    refused(empty, full, [*every, every[-1]], f"line {last + 1}, record")
    refused(empty, full, [*every, every[2]], f"line {last + 1}, record")
    refused(empty, full, sealed(lines(), sha256="0" * 64), f"line {last}, sha256")
    refused(empty, full, sealed(lines(), counts={}), f"line {last}, counts")
    with opened() as store:
        assert take(store, [*every, b"\n", b"  \n"]).imported == last - 2


@pytest.mark.parametrize("version", [0, 2, 7])
def test_another_format_is_refused_and_both_are_named(
    version: int, empty: vestig.Vestig, full: vestig.Vestig
) -> None:
    changed = lines()
    of(changed, "header")["format_version"] = version
    named = rf"line 1, schema: expected vestig/export/1, version 1, got .*version {version}"
    refused(empty, full, sealed(changed), named)


# --- records, by hand ----------------------------------------------------------------------------


def _vector(*values: float) -> str:
    return b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def _set(kind: str, **fields: Any) -> Change:
    return lambda r: of(r, kind).update(fields)


def _drop(kind: str) -> Change:
    return lambda r: r.remove(of(r, kind))


def _twice(kind: str) -> Change:
    return lambda r: r.insert(r.index(of(r, kind)) + 1, dict(of(r, kind)))


def _deep(levels: int) -> Any:
    value: Any = 1
    for _level in range(levels - 1):
        value = [value]
    return {"source": "manual", "deep": value}


def _window(**ends: int) -> Line:
    return {"text": "then", "start_us": None, "end_us": None, "grain": "day"} | ends


def _edge(kind: str, **fields: Any) -> Change:
    """The first edge of a type."""
    return lambda r: next(x for x in r if x["record"] == "edge" and x["edge_type"] == kind).update(
        fields
    )


def _text(text: str) -> Change:
    """Another text of a memory, with its hash."""
    return _set("memory", content=text, content_hash=hashlib.sha256(text.encode()).hexdigest())


def _superseded(r: list[Line]) -> Line:
    return next(x for x in r if x["record"] == "memory" and x["status"] == "superseded")


def _formed(r: list[Line]) -> Line:
    return next(x for x in r if x["record"] == "memory" and "normal" in x)


def _alone(r: list[Line]) -> None:
    r.remove(of(r, "supersession"))
    _superseded(r)["superseded_by"] = None


def _ids_of(kind: str, field: str = "id") -> Change:
    """Two records of one kind with one id."""

    def change(r: list[Line]) -> None:
        first, second = [x for x in r if x["record"] == kind][:2]
        second[field] = first[field]

    return change


def _tombstone_of_a_memory(r: list[Line]) -> None:
    of(r, "tombstone")["id"] = of(r, "memory")["id"]


def _tombstone_first(r: list[Line]) -> None:
    stone = of(r, "tombstone")
    r.remove(stone)
    r.insert(1, stone | {"id": of(r, "memory")["id"], "seq": 1})


def _other_space(kind: str) -> Change:
    return _set(kind, namespace="elsewhere")


REFUSED: dict[str, tuple[Change, str]] = {
    "no vector": (_drop("vector"), "embedding_model"),
    "a count at the end of the numbers": (_set("memory", reinforce_count=2**63 - 1), "line"),
    "entity without a name": (_set("entity", canonical_name=" "), "canonical_name"),
    "entity without a type": (_set("entity", entity_type=""), "entity_type"),
    "name with a NUL": (_set("entity", canonical_name="a\0b"), "canonical_name"),
    "blank question": (_set("question", text=" "), "text"),
    "header of another namespace": (_set("header", namespace="elsewhere"), "namespace"),
    "no event": (_drop("event"), "event: expected an ADD or IMPORT"),
    "no supersession": (_drop("supersession"), "status"),
    "alone": (_alone, "status"),
    "no memory": (_drop("memory"), "id"),
    "no entity": (_drop("entity"), "id"),
    "no source": (_drop("source"), "id"),
    "vector of zeros": (_set("vector", embedding=_vector(*[0.0] * 8)), "embedding"),
    "huge vector": (_set("vector", embedding=_vector(*[1e6] * 8)), "embedding"),
    "huger vector": (_set("vector", embedding=_vector(*[3e38] * 8)), "embedding"),
    "short vector": (_set("vector", embedding=_vector(1.0)), "model"),
    "long vector": (_set("vector", embedding=_vector(*[1.0] * 9)), "model"),
    "half a number": (_set("vector", embedding="AAAA"), "embedding"),
    "no numbers": (_set("vector", embedding=""), "embedding"),
    "NaN": (_set("vector", embedding=_vector(*[float("nan")] * 8)), "embedding"),
    "infinity": (_set("vector", embedding=_vector(1, 2, 3, 4, 5, 6, 7, float("inf"))), "embedding"),
    "no base64": (_set("vector", embedding="*"), "line"),
    "vector of another model": (_set("vector", model="another"), "model"),
    "another model is named": (_set("memory", embedding_model="another"), "model"),
    "a vector that is not named": (_set("memory", embedding_model=None), "model"),
    "zero entity vector": (_set("entity_vector", embedding=_vector(*[0.0] * 8)), "embedding"),
    "huge entity vector": (_set("entity_vector", embedding=_vector(*[1e7] * 8)), "embedding"),
    "zero question": (_set("question", embedding=_vector(*[0.0] * 8)), "embedding"),
    "vector twice": (_twice("vector"), "one such line for each memory,"),
    "memory twice": (_twice("memory"), "one such line for each id,"),
    "event twice": (_twice("event"), "one such line for each id,"),
    "edge twice": (_twice("edge"), "id"),
    "entity twice": (_twice("entity"), "one such line for each id,"),
    "source twice": (_twice("source"), "one such line for each id,"),
    "job twice": (_twice("job"), "one such line for each id,"),
    "question twice": (_twice("question"), "one such line for each memory, position,"),
    "supersession twice": (
        _twice("supersession"), "one such line for each superseded, superseding,",
    ),
    "tombstone twice": (_twice("tombstone"), "one such line for each id,"),
    "token vectors twice": (_twice("token_codes"), "one such line for each memory,"),
    "id of two memories": (_ids_of("memory"), "id"),
    "id of two events": (_ids_of("event"), "id"),
    "id of two edges": (_ids_of("edge"), "id"),
    "tombstone behind its memory": (_tombstone_of_a_memory, "id"),
    "tombstone before its memory": (_tombstone_first, "id"),
    "unknown count": (
        _set("tombstone", counts={"evnts": 1}), "counts.evnts: expected counts.events",
    ),
    "ends before it begins": (_set("memory", t_invalid="0001-01-01T00:00:00Z"), "t_invalid"),
    "memory elsewhere": (_other_space("memory"), "namespace"),
    "entity elsewhere": (_other_space("entity"), "namespace"),
    "source elsewhere": (_other_space("source"), "namespace"),
    "tombstone elsewhere": (_other_space("tombstone"), "namespace"),
    "namespaces": (_set("header", namespaces=[]), "namespace"),
    "no namespaces": (_set("header", namespaces=None), "line"),
    "deep metadata": (_set("memory", metadata=_deep(33)), "metadata: expected at most 32 levels"),
    "deep metadata of a source": (_set("source", metadata=_deep(65)), "metadata"),
    "much metadata": (
        _set("memory", metadata={"source": "manual", "x": "x" * 65_536}),
        "metadata: expected at most 65536 bytes",
    ),
    "large number in metadata": (
        _set("memory", metadata={"source": "manual", "x": 2**63}), "metadata: .*64 bits",
    ),
    "metadata without a source": (_set("memory", metadata={}), "metadata.source"),
    "a source of another type": (_set("memory", metadata={"source": ["café"]}), "metadata.source"),
    "a blank source": (_set("memory", metadata={"source": ""}), "metadata.source"),
    "a long source": (_set("memory", metadata={"source": "x" * 65}), "metadata.source"),
    "blank tag": (_set("memory", metadata={"source": "x", "tags": [" "]}), "metadata.tags"),
    "tag with a NUL": (_set("memory", metadata={"source": "x", "tags": ["a\0"]}), "metadata.tags"),
    "long tag": (_set("memory", metadata={"source": "x", "tags": ["x" * 201]}), "metadata.tags"),
    "tag twice": (_set("memory", metadata={"source": "x", "tags": ["a", "a"]}), "metadata.tags"),
    "unknown kind of source": (_set("source", source_type="elsewhere"), "line"),
    "agent with a NUL": (_set("source", agent="a\0b"), "agent"),
    "path with a NUL": (_set("source", path="a\0b"), "path"),
    "actor with a NUL": (_set("event", actor="a\0b"), "actor"),
    "long actor": (_set("event", actor="x" * 2_001), "actor"),
    "reference with a NUL": (_set("event", artifact_ref="a\0b"), "artifact_ref"),
    "event without a source": (_set("event", source=""), "source"),
    "title with a NUL": (_set("memory", title="a\0b"), "title"),
    "long title": (_set("memory", title="x" * 2_001), "title"),
    "author with a NUL": (_set("memory", author="a\0b"), "author"),
    "session with a NUL": (_set("memory", session_id="a\0b"), "session_id"),
    "long scope": (_set("memory", scope="x" * 513), "scope"),
    "place before the first": (_set("memory", sequence=-1), "sequence"),
    "long reason of a pin": (_set("memory", pinned_reason="x" * 501), "pinned_reason"),
    "long reason": (_set("supersession", reason="x" * 501), "reason"),
    "actor of a tombstone": (_set("tombstone", actor="a\0b"), "actor"),
    "blank keyword": (_set("memory", keywords=[" "]), "keywords"),
    "window beyond the years": (
        _set("memory", times=[_window(start_us=253_402_300_800_000_000)]), "times",
    ),
    "window before the years": (_set("memory", times=[_window(end_us=-(10**17))]), "times"),
    "window that ends first": (_set("memory", times=[_window(start_us=1, end_us=0)]), "times"),
    "time after the last year": (
        _set("memory", t_valid="9999-12-31T23:59:59.999999-00:01"), "t_valid",
    ),
    "edge that ends first": (
        _set("edge", t_valid="2026-01-02T00:00:00Z", t_invalid="2026-01-01T00:00:00Z"),
        "t_invalid",
    ),
    "relation of no RELATION": (_edge("MENTIONS", relation="WORKS_AT"), "relation"),
    "relation with a NUL": (_edge("RELATION", relation="A\0B"), "relation"),
    "relation in small letters": (_edge("RELATION", relation="works at"), "relation"),
    "no relation": (_edge("RELATION", relation=""), "relation"),
    "text with a control character": (_text("run \x1b[2J"), "content"),
    "empty text": (_text(""), "content"),
    "deep payload": (_set("event", payload=_deep(65)), "payload"),
    "deeper": (_set("memory", metadata=_deep(800)), "metadata"),
    "tags": (_set("memory", metadata={"source": "x", "tags": 5}), "tags"),
    "tags of numbers": (_set("memory", metadata={"source": "x", "tags": [5]}), "tags"),
    "another normal form": (
        lambda r: _formed(r).update(content="def add(a, b):\n    return a - b"), "normal",
    ),
    "normal form that is the content": (
        lambda r: _formed(r).update(content=_formed(r)["normal"]), "normal",
    ),
    "another hash": (_set("memory", content_hash="0" * 64), "content_hash"),
    "another content": (_set("memory", content="something else"), "content_hash"),
    "expired, but active": (_set("memory", t_expired="2026-01-01T00:00:00Z"), "t_expired"),
    "deprecated, but not expired": (_set("memory", status="deprecated"), "t_expired"),
    "replaced, but active": (
        lambda r: of(r, "memory").update(superseded_by=_superseded(r)["superseded_by"]), "status",
    ),
    "replaced by nothing": (lambda r: _superseded(r).update(superseded_by=NO_MEMORY), "line"),
    "revives nothing": (_set("memory", revives=NO_MEMORY), "revives"),
    "vector of nothing": (_set("vector", memory=NO_MEMORY), "id"),
    "event of nothing": (_set("event", memory=NO_MEMORY), "id"),
    "job of nothing": (_set("job", memory=NO_MEMORY), "id"),
    "edge to nothing": (_set("edge", to_id=NO_MEMORY), "id"),
    "other end": (_edge("MENTIONS", edge_type="RELATED"), "to_id: expected a whole id mem_"),
    "ended edge": (_set("edge", expired_seq=3), "t_expired"),
    "weight": (_set("edge", weight=-0.1), "line"),
    "confidence": (_set("edge", confidence=1.1), "line"),
    "seq of the future": (_set("event", seq=10**6), "seq"),
    "written before it was there": (_set("memory", seq=5, wseq=4), "wseq"),
    "time": (_set("event", occurred_at="soon"), "occurred_at"),
    "year 0": (_set("memory", t_valid="0000-01-01T00:00:00Z"), "t_valid"),
    "claim twice": (_twice("claim"), "one such line for each memory,"),
    "evidence twice": (_twice("evidence"), "one such line for each memory, position,"),
    "calls twice": (_twice("model_calls"), "one such line for each day,"),
    "key twice": (_twice("idempotency_key"), "one such line for each namespace, key,"),
    "request twice": (_twice("request"), "one such line for each id,"),
    "claim of nothing": (_set("claim", memory=NO_MEMORY), "id"),
    "evidence without a claim": (_drop("claim"), "memory"),
    "evidence of nothing": (_set("evidence", source_id=NO_MEMORY), "id"),
    "evidence of an entity": (
        lambda r: of(r, "evidence").update(source_id=of(r, "entity")["id"]), "source_id",
    ),
    "evidence without anything": (_set("evidence", source_id=None, snippet=""), "snippet"),
    "subject that is not there": (
        _set("claim", subject_id=NO_MEMORY.replace("mem", "ent")), "id",
    ),
    "blank subject": (_set("claim", subject=" "), "subject"),
    "claim without a type": (_set("claim", fact_type=""), "fact_type"),
    "object with a NUL": (_set("claim", object="a\0b"), "object"),
    "sure beyond 1": (_set("claim", confidence=1.1), "line"),
    "deep attributes": (_set("claim", attributes=_deep(33)), "attributes"),
    "much in attributes": (_set("claim", attributes={"x": "x" * 65_536}), "attributes"),
    "long snippet": (_set("evidence", snippet="x" * 501), "snippet"),
    "snippet with line breaks": (_set("evidence", snippet="a\nb"), "snippet"),
    "author of evidence": (_set("evidence", author="a\0b"), "author"),
    "running job": (_set("job", state="running"), "state"),
    "batch of a pending job": (_set("job", batch_id="batch-2"), "batch_id"),
    "submitted to no batch": (_set("job", state="submitted"), "batch_id"),
    "job of no kind": (lambda r: of(r, "job").update(kind=" "), "kind"),
    "calls below 0": (_set("model_calls", reserved=-1), "line"),
    "no day": (_set("model_calls", day="2026-02-30"), "line"),
    "key with a space": (_set("idempotency_key", key="a b"), "line"),
    "long key": (_set("idempotency_key", key="x" * 129), "line"),
    "short hash": (_set("idempotency_key", request_hash="00"), "line"),
    "answer without its hash": (_set("idempotency_key", request_hash=None), "response"),
    "status of no answer": (_set("idempotency_key", status=99), "line"),
    "key elsewhere": (_other_space("idempotency_key"), "namespace"),
    "request elsewhere": (_other_space("request"), "namespace"),
    "count below 0": (_set("request", counts={"results": -1}), "counts"),
    "sure of a request": (_set("request", confidence=-0.1), "line"),
    "request that took less than nothing": (_set("request", duration=-1), "line"),
    "no filter": (_set("header", where=[]), "line"),
    "position": (_set("question", position=-2), "line"),
    "codes": (_set("token_codes", codes="AAAA"), "ids, codes: expected those of 1 to 160"),
    "more codes than numbers": (
        lambda r: of(r, "token_codes").update(codes=of(r, "token_codes")["codes"][:-136]),
        "ids, codes: expected those of 1 to 160 word pieces",
    ),
}  # fmt: skip


@pytest.mark.slow
@each("case", REFUSED)
def test_an_edited_record_is_refused_with_its_line(
    case: str, empty: vestig.Vestig, full: vestig.Vestig
) -> None:
    change, place = REFUSED[case]
    changed = lines()
    change(changed)
    refused(empty, full, sealed(changed), rf"line \d+.*{place}" if place != "line" else r"line \d+")


def test_a_lone_surrogate_a_huge_and_a_very_deep_line_are_refused(
    empty: vestig.Vestig, full: vestig.Vestig
) -> None:
    every = sealed(lines())
    at = next(n for n, line in enumerate(every) if b'"record":"memory"' in line)
    surrogate = every[at].replace(b'"author":null', b'"author":"\\ud800"', 1)
    assert surrogate != every[at]
    deep = every[at].replace(
        b'"metadata":{', b'"metadata":{"x":' + b"[" * 10**5 + b"]" * 10**5 + b","
    )
    for bad in (surrogate, deep, b'{"record":"memory","id":"' + b"x" * (65 << 20) + b'"}\n'):
        body = [*every[:at], bad, *every[at + 1 : -1]]
        refused(empty, full, [*body, sealed_end(body)], f"line {at + 1}\\b")


def sealed_end(body: list[bytes]) -> bytes:
    """A trailer for these lines."""
    end = parsed(whole())[-1]
    end["sha256"] = hashlib.sha256(b"".join(body)).hexdigest()
    return json.dumps(end).encode() + b"\n"


def _ends_as_it_begins(r: list[Line]) -> None:
    of(r, "memory")["t_invalid"] = of(r, "memory")["t_valid"]


def _normal_form_of_another_version(r: list[Line]) -> None:
    """One that has single spaces in quotations too."""
    normal = "the label is 'north pier'"
    hashed = hashlib.sha256(normal.encode()).hexdigest()
    _formed(r).update(content="the  label is 'north  pier'", normal=normal, content_hash=hashed)


KEPT: dict[str, Change] = {
    "normal form of another version": _normal_form_of_another_version,
    "scope": _set("memory", scope="a scope"),
    "title": _set("memory", title="A title\nin two lines"),
    "metadata at the bound": _set("memory", metadata=_deep(32)),
    "much metadata": _set("memory", metadata={"source": "manual", "x": "x" * 65_500}),
    "payload at the bound": _set("event", payload=_deep(64)),
    "the last moment": _set("memory", t_invalid="9999-12-31T23:59:59.999999Z"),
    "a title with a control character": _set("memory", title="a\x1b[2Jb"),
    "tags": _set("memory", metadata={"source": "manual", "tags": []}),
    "a long vector": _set("vector", embedding=_vector(*[1e5] * 8)),
    "an event of a stranger": _set("event", source="elsewhere", actor="Eve"),
    "an end at the beginning": lambda r: of(r, "memory").update(
        t_invalid=of(r, "memory")["t_valid"]
    ),
    "evidence": _set("edge", evidence="a " * 90),
    "an empty payload": _set("event", payload={}),
    "no tokens": _drop("token_codes"),
    "no job": _drop("job"),
    "no tombstone": _drop("tombstone"),
    "no evidence": lambda r: [r.remove(x) for x in list(r) if x["record"] == "evidence"],
    "evidence at other places": _set("evidence", position=7),
    "an attribute of every kind": _set("claim", attributes={"a": None, "b": [1.5], "c": {"d": ""}}),
    "no calls": _drop("model_calls"),
    "no answer": _drop("idempotency_key"),
    "no request": _drop("request"),
    "a key of marks": _set("idempotency_key", key="!~" * 64),
}


@pytest.mark.slow
@each("case", KEPT)
def test_what_is_sound_is_restored_as_it_stands(case: str) -> None:
    changed = lines()
    KEPT[case](changed)
    restored(sealed(changed))


VALUES = (None, "", "x" * 70, -1, 10**20, 0.5, True, [], ["x"], {}, {"events": 1})


@pytest.mark.slow
@pytest.mark.parametrize("step", [16, pytest.param(1, marks=pytest.mark.torture)])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "end"])
def test_every_member_with_every_kind_of_value_is_refused_or_restored_whole(
    kind: str, step: int
) -> None:
    """With every 16th value, another one of each member that follows; all of them in torture."""
    whole_lines = lines()
    members = [name for name in of(whole_lines, kind) if name != "record"]
    store = opened()
    for place, member in enumerate([*members, "another"]):
        for value in (*VALUES, ...)[place % step :: step]:
            changed = lines()
            record = of(changed, kind)
            if value is ...:
                record.pop(member, None)
            else:
                record[member] = value
            if changed == whole_lines:
                continue
            raw = sealed(changed)
            report, error = outcome(store, raw)
            if report is None:
                assert "line " in error or member in ("embedding", "seq"), (member, value)
                assert "café" not in error
                assert store.admin.stats().seq == 0
            else:
                # codes that were made in another way are left out, and said so
                # codes that were made in another way are left out
                other = kind == "token_codes" and member in ("model", "axes")
                assert (report.imported, report.skipped) == (report.lines - 2 - other, 2 + other)
                wanted = [one for one in changed[1:-1] if not other or one is not record]
                assert records(digest(store))[1:] == wanted, (member, value)
                store.close()
                store = opened()
    store.close()


def test_vectors_of_zeros_and_of_any_length_that_the_store_held_come_back() -> None:
    """A provider may give them; the trailer says how many there are."""
    texts = ("a text of nothing", "a text of much", "a text of something")
    vectors = {texts[0]: [0.0] * 8, texts[1]: [3.0] + [0.0] * 7, texts[2]: [1.0] + [0.0] * 7}
    with vestig.open(":memory:", embedder=ScriptedEmbedder(vectors)) as store:
        for text in texts:
            store.commit(text)
        raw = digest(store)
    end = parsed(raw)[-1]
    assert (end["zero_vectors"], end["unscaled_vectors"]) == (1, 1)
    with vestig.open(":memory:", embedder=ScriptedEmbedder(vectors)) as other:
        other.import_(io.BytesIO(raw))
        assert digest(other) == raw
    changed = parsed(raw)
    vector = [line for line in changed if line["record"] == "vector"][2]
    values = struct.unpack("<8f", b64decode(vector["embedding"]))
    vector["embedding"] = _vector(*(2 * value for value in values))
    with (
        vestig.open(":memory:", embedder=ScriptedEmbedder(vectors)) as other,
        pytest.raises(ValidationError, match=r"line \d+, embedding: expected a vector of length 1"),
    ):
        other.import_(io.BytesIO(b"".join(sealed(changed))))


# --- what is whole of a file that is not ---------------------------------------------------------


def partly(changed: list[bytes], **options: Any) -> tuple[vestig.Vestig, Any]:
    """A store that took what is whole, and the report."""
    store = opened()
    report = take(store, changed, partial=True, **options)
    assert report.lines == report.imported + report.skipped + report.duplicates + report.failed
    assert "damage" not in {finding.level for finding in store.admin.doctor().findings}
    held = {line["id"] for line in records(digest(store)) if line["record"] == "memory"}
    for line in records(digest(store)):
        named = {line[name] for name in ("memory", "superseding", "superseded") if name in line}
        assert named <= held
    take(opened(), [line + b"\n" for line in digest(store).splitlines()])
    return store, report


def memories(store: vestig.Vestig) -> dict[str, vestig.Memory]:
    return {memory.id: memory for memory in store.list({"include_expired": True}, limit=100)}


def test_partial_takes_nothing_less_of_a_whole_file() -> None:
    store, report = partly([line + b"\n" for line in whole().splitlines()])
    with store:
        assert (report.failed, report.errors, report.warnings) == (0, (), ())
        assert digest(store) == whole()


@pytest.mark.slow
def test_partial_takes_every_whole_memory_of_a_cut_file() -> None:
    every = whole().splitlines(keepends=True)
    before = 0
    for count in range(2, len(every), 9):
        store, report = partly(every[:count])
        with store:
            assert any(f"line {count + 1}, record" in error.message for error in report.errors)
            added = {
                line["memory"] for line in map(json.loads, every[:count])
                if line["record"] == "event" and line["event_type"] == "ADD"
            }  # fmt: skip
            assert memories(store).keys() == added
            assert len(added) >= before
            before = len(added)
    assert before == 12


LEFT: dict[str, tuple[Change, int]] = {
    "memory": (_set("memory", content="another"), 1),
    "event": (_set("event", occurred_at="never"), 1),
    "deep metadata": (_set("memory", metadata=_deep(33)), 1),
    "actor with a NUL": (_set("event", actor="a\0b"), 1),
    "title with a NUL": (_set("memory", title="a\0b"), 1),
    "unknown kind of source": (_set("source", source_type="elsewhere"), 0),
    "relation": (_edge("RELATION", relation="works at"), 0),
    "no event": (_drop("event"), 1),
    "vector": (_set("vector", embedding=_vector(*[0.0] * 8)), 1),
    "no vector": (_drop("vector"), 1),
    "question": (_set("question", model="another"), 1),
    "tokens": (_set("token_codes", codes="AAAA"), 1),
    "job": (_set("job", created_at="never"), 1),
    "edge": (_set("edge", weight=-1), 0),
    "source": (_set("source", created_at="never"), 0),
    "entity": (_set("entity", created_at="never"), 0),
    "entity vector": (_set("entity_vector", embedding=""), 0),
    "supersession": (_set("supersession", created_at="never"), 0),
    "claim": (_set("claim", confidence=2), 1),
    "evidence": (_set("evidence", stated_at="never"), 1),
    "calls": (_set("model_calls", reserved=-1), 0),
    "answer": (_set("idempotency_key", created_at="never"), 0),
    "request": (_set("request", began_at="never"), 0),
    "tombstone": (_set("tombstone", counts={"evnts": 1}), 0),
    "both of a memory twice": (_ids_of("memory"), 2),
}


@pytest.mark.slow
@each("case", LEFT)
def test_partial_leaves_out_what_is_not_whole_and_names_it(case: str) -> None:
    change, missing = LEFT[case]
    changed = lines()
    change(changed)
    store, report = partly(sealed(changed))
    with store:
        assert len(memories(store)) == 12 - missing
        assert report.errors
        for error in report.errors:
            assert error.message.startswith(f"line {error.index + 1}")
            assert "café" not in error.message
        kinds = {line["record"] for line in changed} - {"end"}
        assert kinds - {line["record"] for line in records(digest(store))} <= {
            "supersession", "tombstone", "source", "claim", "evidence",
        }  # fmt: skip


def test_each_line_that_is_left_out_says_of_which_node_it_is() -> None:
    changed = lines()
    vector = of(changed, "vector")
    vector["model"] = "another"
    gone = vector["memory"]
    store, report = partly(sealed(changed))
    store.close()
    said = {error.index: error.message for error in report.errors}
    for at, line in enumerate(changed):
        if gone in line.values():
            assert at in said, line["record"]
            assert "model" in said[at] or gone in said[at], said[at]


def test_a_memory_whose_successor_is_not_taken_is_deprecated_and_named() -> None:
    changed = lines()
    old = _superseded(changed)
    new = next(x for x in changed if x.get("id") == old["superseded_by"])
    new["content_hash"] = "0" * 64
    store, report = partly(sealed(changed))
    with store:
        assert memories(store)[old["id"]].status.word == "DEPRECATED"
        assert new["id"] not in memories(store)
        assert [line for line in report.warnings if f"{old['id']} is taken as deprecated" in line]
        assert store.recall(old["content"], limit=1, where={"include_expired": True})


def test_an_edited_text_is_told_what_changes_one(empty: vestig.Vestig) -> None:
    edited = lines()
    _set("memory", content="something else")(edited)
    with pytest.raises(ValidationError) as caught:
        empty.import_(io.BytesIO(b"".join(sealed(edited))))
    said = str(caught.value)
    assert "content_hash: expected the hash of content (a text was edited" in said
    for way in ('export(folder, format="md")', "update(id, content=…)", "partial=True"):
        assert way in said


def test_partial_is_for_exports_only() -> None:
    with opened() as store, pytest.raises(ValidationError, match="partial"):
        store.import_(io.BytesIO(b'{"content": "a memory"}'), partial=True)


@pytest.mark.parametrize("kind", ["vector", "edge", "event"])
def test_a_line_out_of_order_is_refused(
    empty: vestig.Vestig, full: vestig.Vestig, kind: str
) -> None:
    """What a line refers to stands before it, in this export and in that of what is restored."""
    edited = lines()
    last = max(at for at, line in enumerate(edited) if line["record"] == kind)
    edited[last] = {**edited[last], "seq": 1}
    refused(empty, full, sealed(edited), "seq")
