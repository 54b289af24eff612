"""Routes: what they answer, and the problems that they answer with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from recomputed_scores import score
from served import Site, raw, serving
from tables import each
from vestig.errors import ProviderError, StoreFullError, StoreLockedError

ROUTES = ("commit", "recall", "search", "deprecate", "supersede", "forget")


def test_a_new_text_is_created_and_a_known_one_is_found(site: Site) -> None:
    first = site.post("commit", {"content": "Deploys run on Fridays at noon", "author": "Omar"})
    assert first.status == 201
    assert first.document["schema"] == "vestig/outcome/1"
    again = site.post("commit", {"content": "Deploys run on Fridays at noon", "author": "Omar"})
    assert again.status == 200
    assert again.document["memory_id"] == first.document["memory_id"]


def test_a_dry_run_creates_nothing(site: Site) -> None:
    reply = site.post("commit", {"content": "The lift stands still in the night", "dry_run": True})
    assert (reply.status, reply.document["outcome"]) == (200, "INSERTED_NEW")
    assert site.store.recall("lift in the night", where={"min_similarity": 0.9}).results == ()


def test_a_refused_text_is_a_problem_with_its_outcome(site: Site) -> None:
    reply = site.post("commit", {"content": "ok"})
    assert (reply.status, reply.code) == (422, "hygiene-rejected")
    assert reply.document["outcome"]["outcome"] == "REJECTED_HYGIENE"


def test_several_texts_end_each_for_itself(site: Site) -> None:
    items = [
        {"content": "The night shift begins at ten", "tags": ["shift"]},
        {"content": "ok"},
        {"content": "The early shift begins at six", "surprise": 1},
        {"content": "The late shift begins at two"},
        "no object",
    ]
    reply = site.post("commit", {"items": items})
    assert reply.status == 207
    outcomes = reply.document["outcomes"]
    assert [None if one is None else one["outcome"] for one in outcomes] == [
        "INSERTED_NEW",
        "REJECTED_HYGIENE",
        None,
        "INSERTED_NEW",
        None,
    ]
    assert [(one["index"], one["code"]) for one in reply.document["errors"]] == [
        (2, "validation"),
        (4, "validation"),
    ]
    assert "surprise" in reply.document["errors"][0]["message"]


def test_items_stand_alone(site: Site) -> None:
    reply = site.post("commit", {"items": [{"content": "a b c"}], "content": "x"})
    assert (reply.status, reply.code) == (422, "validation")
    assert site.post("commit", {"items": []}).status == 422
    assert site.post("commit", {"items": {}}).status == 422


def test_recall_is_compact_and_says_why_when_asked(site: Site) -> None:
    site.commit("The spare key lies under the blue pot", author="Ada")
    # scores depend on the moment at which a query is asked
    asked = {"query": "where is the spare key?", "limit": 2, "query_time": "2027-01-01"}
    compact = site.post("recall", asked).document
    assert compact["schema"] == "vestig/recall/1"
    assert "formula" not in compact
    for hit in compact["results"]:
        assert "reason" not in hit
    full = site.post("recall", {**asked, "explain": True}).document
    assert all(hit["reason"]["explanation"] for hit in full["results"])
    assert [hit["id"] for hit in full["results"]] == [hit["id"] for hit in compact["results"]]
    direct = site.store.recall(**asked)
    assert compact["results"] == [hit.to_dict() for hit in direct]
    assert [score(hit, full) for hit in full["results"]] == pytest.approx(
        [hit.score for hit in direct], rel=1e-9
    )


def test_recall_gives_what_is_associated_and_says_why_when_asked(site: Site) -> None:
    ids = [
        site.commit(text, tags=["yard"]) for text in ("The gate is locked at ten", "Ivo has a dog")
    ]
    site.store.graph.link(*ids, "RELATED", weight=1.0)
    asked = {
        "query": "when is the gate locked?",
        "limit": 1,
        "where": {"tags": ["yard"]},
        "config": {"walk.mode": "deterministic", "walk.start.limit": 1},
    }
    compact = site.post("recall", asked).document
    assert [hit["id"] for hit in compact["results"]] == ids[:1]
    assert "associated" not in compact
    (full,) = site.post("recall", {**asked, "explain": True}).document["associated"]
    assert full["id"] == ids[1]
    assert full["reason"]["path"] == ["START", f"RELATED:{ids[1]}"]


def test_graph_search_has_final_and_score_and_says_why_when_asked(site: Site) -> None:
    site.commit("The pump in the cellar failed on Monday")
    asked = {"query": "which pump failed", "where": {"kinds": "MEMORY"}}
    compact = site.post("graph/search", asked).document
    assert compact["results"]
    assert all({"final", "reason"}.isdisjoint(hit) for hit in compact["results"])
    full = site.post("graph/search", {**asked, "explain": True}).document
    hit = full["results"][0]
    assert (hit["reason"]["retrieval_method"], hit["final"]) == ("direct_match", hit["score"])


def test_search_answers_as_recall_does(site: Site) -> None:
    for text in ("The pump in the cellar failed on Monday", "Ada Lovelace mends the pump"):
        site.commit(text)
    asked: dict[str, Any] = {"query": "who mends the pump?", "limit": 2, "seed": 7, "explain": True}
    asked["query_time"] = "2026-03-18T09:00:00Z"
    searched, recalled = (site.post(path, asked).document for path in ("search", "recall"))
    for document in (searched, recalled):
        assert document.pop("timings_ms")
    assert searched == recalled
    assert searched["schema"] == "vestig/recall/1"


def test_explain_is_true_or_false(site: Site) -> None:
    assert site.post("recall", {"query": "a key", "explain": 1}).status == 422
    assert site.get("list?explain=true").status == 422


def test_reading_routes(site: Site) -> None:
    id = site.commit("The meeting room has twelve chairs", tags=["chairs"], author="Lea")
    shown = site.get(f"show/{id}?expand=1")
    assert (shown.status, shown.document["schema"]) == (200, "vestig/memory/1")
    assert site.get(f"show/{id[4:14]}").document["id"] == id
    where = quote(json.dumps({"tags": ["chairs"]}))
    listed = site.get(f"list?limit=3&where={where}").document
    assert [row["id"] for row in listed["memories"]] == [id]
    counted = {"schema": "vestig/count/1", "count": 1, "warnings": []}
    assert site.get(f"count?where={where}").document == counted


def test_a_difference_is_read_with_its_filter(site: Site) -> None:
    id = site.commit("The meeting room has twelve chairs", tags=["room"])
    site.commit("The pump in the cellar failed on Monday")
    where = quote(json.dumps({"tags": ["room"]}))
    found = site.get(f"diff?start=2020-01-01&where={where}")
    assert (found.status, found.document["schema"]) == (200, "vestig/diff/1")
    assert [memory["id"] for memory in found.document["learnt"]] == [id]
    for query in ("", "start=2021-01-01&end=2020-01-01", "from=2020-01-01"):
        assert site.get(f"diff?{query}").status == 422, query


@each(
    "query",
    [
        "limit=0",
        "limit=1001",
        "limit=true",
        "limit=1.0",
        "limit=",
        "limit=1&limit=2",
        "descending=1",
        "descending=",
        "order_by=size",
        "tags=room",
        "scope=a",
        "surprise=1",
        "where=%7B%22tag%22:1%7D",
        "where=nonsense",
        "where=[1]",
        "as_of=yesterday",
        "namespace=A%20B",
        "offset=-1",
    ],
)
def test_a_wrong_query_is_refused(site: Site, query: str) -> None:
    reply = site.get(f"list?{query}")
    assert (reply.status, reply.code) == (422, "validation")


def test_states_of_a_memory(site: Site) -> None:
    old, new = site.commit("The office is in Bergen now"), site.commit("The new office is in Oslo")
    done = site.post("supersede", {"old": old, "new": new, "reason": "moved"})
    assert (done.status, done.document["superseded_id"]) == (200, old)
    again = site.post("deprecate", {"id": old})
    assert (again.status, again.code) == (409, "conflict")
    gone = site.post("deprecate", {"id": "mem_00000000-0000-4000-8000-000000000000"})
    assert (gone.status, gone.code) == (404, "not-found")


def test_forgetting_has_to_be_confirmed(site: Site) -> None:
    id = site.commit("The safe is behind the third picture", tags=["safe"])
    for body in ({"ids": id}, {"ids": [id], "confirm": False}, {"where": {"tags": "safe"}}):
        assert site.post("forget", body).status == 422
    plan = site.post("forget", {"ids": id, "dry_run": True})
    assert (plan.status, plan.document["memory_ids"]) == (200, [id])
    assert site.get(f"show/{id}").status == 200
    done = site.post("forget", {"where": {"tags": ["safe"]}, "confirm": True})
    assert (done.status, done.document["memory_ids"]) == (200, [id])
    assert site.get(f"show/{id}").status == 404


def test_withdrawing_what_a_filter_selects_has_to_be_confirmed(site: Site) -> None:
    id = site.commit("The safe is behind the third picture", source="crawler", session_id="s")
    other = site.commit("The safe is behind the fourth picture", source="handbook")
    chosen = {"where": {"session_ids": "s"}}
    for body in (chosen, {**chosen, "confirm": False}, {**chosen, "confirm": 1}):
        assert site.post("deprecate", body).status == 422
    plan = site.post("deprecate", {**chosen, "dry_run": True})
    assert (plan.status, plan.document["memory_ids"]) == (200, [id])
    assert site.get(f"show/{id}").document["status"] == "ACTIVE"
    only = {"where": {"sources": ["crawler"]}, "only": True, "confirm": True}
    done = site.post("deprecate", only)
    assert (done.status, done.document["memory_ids"]) == (200, [id])
    # one id is what it always was
    assert site.post("deprecate", {"id": other}).document["status"] == "DEPRECATED"


@each("nothing", [None, "", [], {}], ids=repr)
@each("call", ["deprecate", "forget"])
@each("field", ["ids", "tags", "scope", "authors", "metadata", "session_ids"])
def test_a_selector_without_a_value_takes_nothing_out(
    site: Site, field: str, call: str, nothing: Any
) -> None:
    site.commit("The garden gate squeaks in the wind", tags=["gate"])
    before = site.store.count(where={"include_expired": True})
    for body in (
        {"where": {field: nothing}},
        {"where": {field: nothing}, "all": True},
        {"where": {field: nothing, "include_expired": True}},
        *([{"ids": nothing}] if (field, call) == ("ids", "forget") else []),
    ):
        reply = site.post(call, {**body, "confirm": True})
        assert (reply.status, reply.code) == (422, "validation"), body
    assert site.store.count(where={"include_expired": True}) == before


@each("route", ROUTES)
def test_problems_that_every_posted_route_has(site: Site, route: str) -> None:
    assert (
        site.post(
            route,
            b"{",
        ).status
        == 415
    )
    json_type = {"Content-Type": "application/json"}
    unreadable = site.post(route, b'{"limit": 1e999}', json_type)
    assert (unreadable.status, unreadable.code) == (400, "validation")
    surprise = site.post(route, {"surprise": 1})
    assert (surprise.status, surprise.code) == (422, "validation")
    assert surprise.document["errors"][0]["loc"] == ["surprise"]
    wrong = site.ask("PUT", route, {})
    assert (wrong.status, wrong.code, wrong.headers["allow"]) == (405, "validation", "POST")
    beside = site.post(f"{route}?limit=3", {})
    assert (beside.status, beside.code) == (422, "validation")
    big = site.post(route, b" " * (2**20 + 1), json_type)
    assert (big.status, big.code) == (413, "too-large")
    packed = site.post(route, b"{}", {**json_type, "Content-Encoding": "gzip"})
    assert (packed.status, packed.code) == (415, "validation")


def test_an_unknown_route_is_not_found(site: Site) -> None:
    for path in ("nothing", "/api", "recall/", "/docs/", "/redoc", "show/", "show/a/b"):
        reply = site.get(path)
        assert (reply.status, reply.code) == (404, "not-found"), path


@each("byte", ["%FF", "%C3", "%ED%A0%80", "a%80"])
def test_a_query_is_in_utf_8(site: Site, byte: str) -> None:
    for path in (f"item/get?key={byte}", f"list?where.tags={byte}", f"count?{byte}=1"):
        reply = site.get(path)
        assert (reply.status, reply.code) == (400, "validation"), path
        assert "expected percent-encoded UTF-8" in reply.document["detail"]


def test_a_query_may_have_any_text(site: Site) -> None:
    for text, key in (("%EF%BF%BD", "\ufffd"), ("caf%C3%A9+%2B", "caf\xe9 +")):
        site.post("item/put", {"key": key, "value": key})
        assert site.get(f"item/get?key={text}").document["value"] == key


def test_the_memory_of_a_key_is_answered_as_that_of_an_id(site: Site) -> None:
    given = {"content": "The vault opens at eight", "key": "vault.hours", "namespace": "keys"}
    id = site.post("commit", given).document["memory_id"]
    shown = site.get(f"show/{id}?namespace=keys").document
    assert site.get("get?key=vault.hours&namespace=keys").document == shown
    assert {"events", "sources", "supersessions"} <= set(shown)


def test_the_id_of_a_request_is_given_back(site: Site) -> None:
    reply = site.get("count", {"X-Request-Id": "trace-17"})
    assert reply.headers["x-request-id"] == "trace-17"
    refused = site.get("list?limit=0", {"X-Request-Id": "trace-18"})
    assert refused.document["instance"] == "trace-18"
    made = site.get("count", {"X-Request-Id": "two words"}).headers["x-request-id"]
    assert made.startswith("req_")


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (StoreLockedError("locked by 17"), 503, "store-locked"),
        (StoreFullError("full"), 507, "store-full"),
        (ProviderError("the embedder failed"), 502, "provider"),
        (RuntimeError("the spare key lies under the pot"), 500, "internal"),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else type(value).__name__,
)
def test_errors_of_the_engine_are_problems(
    site: Site, error: Exception, status: int, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(site.store, "recall", fail, raising=False)
    reply = site.post("recall", {"query": "where is the key?"})
    assert (reply.status, reply.code) == (status, code)
    assert b"under the pot" not in reply.body
    assert reply.document["instance"] == reply.headers["x-request-id"]
    if status == 503:
        assert int(reply.headers["retry-after"]) >= 1


def test_a_wrong_configuration_in_a_request_is_the_caller_s_fault(site: Site) -> None:
    for beside in (
        {"profile": ""},
        {"config": {"walk.mode": "up"}},
        {"config": {"store.path": "x"}},
    ):
        reply = site.post("recall", {"query": "where is the key?", **beside})
        assert (reply.status, reply.code) == (422, "config"), beside


def test_the_log_of_requests_holds_numbers_and_fails_no_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path / "store") as site:
        site.commit("The spare key lies under the pot")
        site.post("recall", {"query": "where is the spare key?"})
        site.post("recall", {"query": "where is the spare key?", "limit": 0})
        site.service.close()
        with site.store._session.ledger.read() as view:
            rows = [tuple(row) for row in view.connection.execute("SELECT * FROM requests")]
        assert [(row[3], row[6]) for row in rows] == [
            ("commit", 201),
            ("recall", 200),
            ("recall", 422),
        ]
        assert "spare" not in repr(rows)
    with serving(tmp_path / "store") as site:

        def broken(_: object) -> None:
            raise OSError("the disk is gone")

        monkeypatch.setattr(site.store._session.ledger, "log_requests", broken)
        assert site.get("count").status == 200
        site.service.close()
        lost = site.store.admin.metrics()["vestig_request_log_failures_total"]
        assert lost == 1


def test_what_is_no_request_is_answered_as_a_problem(site: Site) -> None:
    for data in (
        b"nonsense\r\n\r\n",
        b"GET /a b HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
    ):
        answer = raw(site.port, data)
        assert answer.startswith(b"HTTP/1.1 400 "), data
        assert b"application/problem+json" in answer


def test_every_field_of_where_chooses_as_in_python(tmp_path: Path) -> None:
    with serving(tmp_path / "store", max_wait_ms=20_000) as site:
        for at, (author, tag) in enumerate([("Ada", "a"), ("Omar", "b"), ("Ada", "b")]):
            site.commit(f"Fact number {at} of the long list of facts", author=author, tags=[tag])
        for where in ({"authors": "ada"}, {"tags": ["b"]}, {"authors": "Ada", "tags": "b"}, {}):
            asked: dict[str, Any] = {"query": "the list of facts", "limit": 10, "where": where}
            found = site.post("recall", asked).document["results"]
            direct = site.store.recall(**asked)
            assert [hit["id"] for hit in found] == [hit.id for hit in direct]
            listed = site.get(f"count?where={quote(json.dumps(where))}").document["count"]
            assert listed == len(found)


def test_a_key_is_read_by_its_name(site: Site) -> None:
    key = "/notes/café, 2026.md"
    for text in ("The kettle is red and loud", "The kettle is blue and loud"):
        reply = site.post("commit", {"content": text, "key": key, "scope": "kitchen"})
        assert (reply.status, reply.document["key"]) == (201, key)
    assert [one["memory_id"] for one in reply.document["similar"]] == []
    assert len(reply.document["superseded"]) == 1
    found = site.get(f"get?key={quote(key, safe='')}&scope=kitchen")
    assert (found.status, found.document["content"]) == (200, "The kettle is blue and loud")
    assert found.document["key"] == key
    assert site.get(f"get?key={quote(key, safe='')}").code == "not-found"
    refused = site.post("commit", {"content": "The kettle is green and loud", "key": "a\nb"})
    assert (refused.status, refused.code) == (422, "validation")
    near = site.post(
        "commit", {"content": "The kettle is blue, and rather loud", "scope": "kitchen"}
    )
    assert [one["beginning"] for one in near.document["similar"]] == ["The kettle is blue and loud"]
    assert "possible_update_of" not in near.document
