"""The filter over HTTP lets the same memories through as in Python, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any
from urllib.parse import quote

import pytest

from served import Site, serving_store
from tables import each
from test_one_filter import CASES, QUERY, filled, resolved
from vestig.calls.filter import BOUNDS, FIELDS
from vestig.times import to_plain

__all__ = ["filled"]


@pytest.fixture(scope="module")
def site(filled: dict[str, Any]) -> Iterator[Site]:
    with serving_store(filled["store"]) as found:
        yield found


def chosen(site: Site, where: dict[str, Any]) -> list[set[str]]:
    """The ids that each route lets through."""
    text = quote(json.dumps(where))
    recalled = site.post("recall", {"query": QUERY, "where": where, "limit": 20})
    kinds = where.get("kinds") or "MEMORY"
    vector = {"query": QUERY, "type": "vector", "where": {**where, "kinds": kinds}, "limit": 20}
    explored = site.post("graph/search", vector)
    searched = site.post("search", {"query": QUERY, "where": where, "limit": 20})
    listed = site.get(f"list?limit=100&where={text}")
    counted = site.get(f"count?where={text}").document["count"]
    ids = {row["id"] for row in listed.document["memories"]}
    assert counted == len(ids)
    return [
        {hit["id"] for hit in recalled.document["results"]},
        {hit["id"] for hit in searched.document["results"]},
        {hit["node_id"] for hit in explored.document["results"]},
        ids,
    ]


def planned(site: Site, where: dict[str, Any]) -> set[str]:
    """What forgetting with this filter would take, of the memories that a listing shows."""
    statuses = ["ACTIVE"]
    statuses += ["SUPERSEDED", "DEPRECATED"] if where.get("include_expired") else []
    statuses += ["ARCHIVED"] if where.get("include_archived") else []
    body = {"where": {"statuses": statuses, **where}, "force": True, "dry_run": True}
    reply = site.post("forget", body)
    assert reply.status == 200, reply
    return set(reply.document["memory_ids"])


@each(("fields", "names"), CASES, ids=lambda value: str(value)[:60])
def test_every_route_lets_the_same_through(
    site: Site, filled: dict[str, Any], fields: dict[str, Any], names: str
) -> None:
    where = to_plain({name: resolved(filled, value) for name, value in fields.items()})
    wanted = {filled[name] for name in names.split()}
    assert chosen(site, where) == [wanted] * 4
    assert planned(site, where) == wanted


def test_combinations_let_the_same_through_as_in_python(site: Site, filled: dict[str, Any]) -> None:
    random = Random(7)
    for _ in range(25):
        parts = random.sample(CASES, 2)
        where: dict[str, Any] = {}
        for fields, _names in parts:
            where |= {name: resolved(filled, value) for name, value in fields.items()}
        wanted = {memory.id for memory in site.store.list(where, limit=100)}
        assert chosen(site, to_plain(where)) == [wanted] * 4, where


@pytest.mark.slow
@each("nothing", [None, "", {}], ids=repr)
@each("field", FIELDS)
def test_a_field_without_a_value_is_absent(site: Site, field: str, nothing: Any) -> None:
    plain = chosen(site, {})
    if nothing is None or field not in BOUNDS:
        assert chosen(site, {field: nothing}) == plain
    reply = site.post("forget", {"where": {field: nothing}, "confirm": True, "all": True})
    assert (reply.status, reply.code) == (422, "validation")
    assert site.store.count() == len(plain[-1])


@each("field", BOUNDS)
def test_an_empty_scope_is_refused(site: Site, field: str) -> None:
    where = {field: ""}
    replies = [
        site.post(route, {"query": QUERY, "where": where})
        for route in ("recall", "search", "graph/search")
    ]
    replies.append(site.get(f"list?where={quote(json.dumps(where))}"))
    replies += [site.post("export", {"where": where}), site.get("keys?scope=")]
    said = {"messages": [{"role": "user", "content": QUERY}]}
    replies += [site.post("retrieve", {**said, name: ""}) for name in ("scope", "channel_id")]
    assert [(reply.status, reply.code) for reply in replies] == [(422, "validation")] * 8, replies


@each("field", FIELDS)
def test_an_empty_list_selects_nothing_or_is_refused(site: Site, field: str) -> None:
    replies = [
        site.post(route, {"query": QUERY, "limit": 100, "where": {field: []}})
        for route in ("recall", "search", "graph/search")
    ]
    replies.append(site.get(f"list?where={quote(json.dumps({field: []}))}"))
    for reply in replies:
        if reply.status == 200 and not field.startswith("exclude_"):
            found = reply.document.get("results") or reply.document.get("memories")
            assert not found, reply
        else:
            assert reply.status == (200 if field.startswith("exclude_") else 422), reply
    reply = site.post("forget", {"where": {field: []}, "confirm": True, "all": True})
    assert (reply.status, reply.code) == (422, "validation")


@each(
    ("where", "named"),
    [
        ({"authors": [None]}, "authors"),
        ({"tags": ["a", " "]}, "tags"),
        ({"statuses": "gone"}, "statuses"),
        ({"unscoped": 1}, "unscoped"),
        ({"since": "2026-02-01", "until": "2026-01-01"}, "since"),
        ({"ids": "x"}, "ids"),
        ({"tags_mode": ["any"]}, "tags_mode"),
        ({"author": "Ada"}, "did you mean authors"),
        ("tags", "where"),
        (5, "where"),
    ],
    ids=repr,
)
def test_what_is_no_filter_is_refused_by_every_route(site: Site, where: Any, named: str) -> None:
    text = quote(json.dumps(where))
    for reply in (
        site.post("recall", {"query": QUERY, "where": where}),
        site.post("search", {"query": QUERY, "where": where}),
        site.post("graph/search", {"query": QUERY, "where": where}),
        site.post("forget", {"where": where, "confirm": True}),
        site.get(f"list?where={text}"),
        site.get(f"count?where={text}"),
    ):
        assert (reply.status, reply.code) == (422, "validation")
        assert named in reply.document["detail"]


def test_similarity_needs_a_query(site: Site) -> None:
    where = {"min_similarity": 0.99, "tags": "plant"}
    asked = {"query": "The pump of the harbour: it stands still", "where": where}
    assert len(site.post("recall", asked).document["results"]) == 1
    assert site.get(f"list?where={quote(json.dumps(where))}").status == 422
    assert site.post("forget", {"where": where, "confirm": True}).status == 422


def test_one_recall_is_the_same_in_python_and_over_http(site: Site, filled: dict[str, Any]) -> None:
    """With one field, and with a value for every field."""
    every = {
        "unscoped": True, "scope": ["lab"], "kinds": ["MEMORY"], "statuses": ["ACTIVE"],
        "include_expired": False, "include_archived": False, "tags": ["plant"], "tags_mode": "any",
        "sources": ["hook"], "actors": ["bot"], "authors": ["Ada"], "roles": ["user"],
        "session_ids": ["s1"], "origin_types": ["chat_agent"], "exclude_authors": ["Omar"],
        "exclude_session_ids": ["s2"], "exclude_tags": ["none"], "exclude_sources": ["none"],
        "entities": ["Ada Lovelace"], "metadata": {"level": 1}, "since": "2026-01-01",
        "until": "2027-01-01", "created_since": "2000-01-01", "created_until": "2099-01-01",
        "ids": [filled["a"]], "exclude_ids": [filled["b"]], "source_ids": [filled["source"]],
        "message_ids": ["msg-1"], "pinned": False, "retention_policies": None,
        "min_similarity": -1.0,
    }  # fmt: skip
    unset = set(FIELDS) - set(every)
    for where in ({"tags": ["plant"]}, every | dict.fromkeys(unset)):
        asked: dict[str, Any] = {"query": QUERY, "where": where, "query_time": "2027-01-01"}
        direct = [(hit.id, hit.score) for hit in site.store.recall(**asked)]
        found = site.post("recall", asked).document["results"]
        assert [(hit["id"], hit["score"]) for hit in found] == direct
        assert direct
