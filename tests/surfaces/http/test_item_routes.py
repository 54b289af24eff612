"""Values by key over HTTP."""

from __future__ import annotations

from typing import Any

from served import Site, serving

ONCE = {"Idempotency-Key": "put-17"}


def test_a_put_is_done_once(site: Site) -> None:
    theme = {"key": "theme", "value": {"dark": True}, "scope": "once"}
    first = site.post("item/put", theme, ONCE)
    assert (first.status, first.document["version"], first.document["changed"]) == (200, 1, True)
    assert site.post("item/put", {**theme, "value": None}).document["version"] == 2
    again = site.post("item/put", theme, ONCE)
    assert (again.status, again.body) == (200, first.body)
    assert again.headers["idempotency-replayed"] == "true"
    other = site.post("item/put", {**theme, "value": 1}, ONCE)
    assert (other.status, other.code) == (422, "validation")
    found = site.get("item/get?key=theme&scope=once")
    assert (found.status, found.document["value"], found.document["version"]) == (200, None, 2)


def test_several_puts_are_one_and_done_once(site: Site) -> None:
    both: dict[str, Any] = {
        "items": [{"key": "a", "value": 1, "scope": "many/x"}, {"key": "b", "value": 2}]
    }
    named = {"Idempotency-Key": "puts-3"}
    first = site.post("item/put-many", both, named)
    assert first.status == 200
    assert [one["version"] for one in first.document["puts"]] == [1, 1]
    assert site.post("item/put-many", both, named).body == first.body
    late = {"items": [{"key": "c", "value": 1}, {"key": "b", "value": 3, "expected": 7}]}
    refused = site.post("item/put-many", late)
    assert (refused.status, refused.code) == (409, "conflict")
    assert refused.document["detail"].startswith("expected: 'b' has version 1, not 7;")
    assert site.get("item/get?key=c").status == 404


def test_a_value_that_is_over_when_it_comes_is_said_to_be(site: Site) -> None:
    said = [
        "expires: 2020-01-01T00:00:00.000000Z is over: nothing shows this value, and gc removes it"
    ]
    over = {"key": "over", "value": 1, "expires": "2020-01-01"}
    assert site.post("item/put", over).document["warnings"] == said
    assert site.get("item/get?key=over").status == 404
    several = site.post("item/put-many", {"items": [{**over, "key": "late"}]})
    assert several.document["puts"][0]["warnings"] == said
    to_come = {"key": "to-come", "value": 1, "expires": "9000-01-01"}
    assert site.post("item/put", to_come).document["warnings"] == []


def test_reads_and_what_is_not_there(site: Site) -> None:
    site.post("item/put", {"key": "a b/c", "value": "é", "scope": "reads/%2F"})
    found = site.get("item/get?key=a%20b%2Fc&scope=reads%2F%252F")
    assert (found.status, found.document["value"]) == (200, "é")
    listed = site.get("item/list?scope_prefix=reads&limit=5").document
    assert [one["key"] for one in listed["items"]] == ["a b/c"]
    assert site.get("item/scopes?prefix=reads").document["scopes"] == ["reads/%2F"]
    unknown = site.get("item/get?key=nobody")
    assert (unknown.status, unknown.code) == (404, "not-found")
    assert "nobody" in unknown.document["detail"]
    for path in ("item/get", "item/list?key=a", "item/scopes?depth=none"):
        assert site.get(path).status == 422, path
    assert site.post("item/get", {"key": "a"}).status == 405


def test_delete_is_confirmed_and_done_once() -> None:
    with serving(None) as site:
        site.post("item/put", {"key": "pin", "value": 1, "text": "The pin of the door is set"})
        asked = site.post("item/delete", {"keys": ["pin"]})
        assert (asked.status, asked.code) == (422, "validation")
        assert site.get("item/get?key=pin").status == 200
        named = {"Idempotency-Key": "gone"}
        done = site.post("item/delete", {"keys": ["pin"], "confirm": True}, named)
        assert (done.status, done.document["rows_removed"]["items"]) == (200, 1)
        assert site.get("item/get?key=pin").status == 404
        assert site.store.count() == 0
        again = site.post("item/delete", {"keys": ["pin"], "confirm": True}, named)
        assert (again.status, again.headers["idempotency-replayed"]) == (200, "true")


def test_a_value_that_fills_a_request_says_what_to_do(site: Site) -> None:
    longest = "a" * (1024 * 1024 - 2)
    refused = site.post("item/put", {"key": "big", "value": longest})
    assert (refused.status, refused.code) == (413, "too-large")
    assert refused.document["detail"] == (
        "body: expected at most 1048576 bytes, got 1048601; send fewer texts or values at once, and"
        " a longer one in parts, or from Python or the command line on the machine of the store"
    )
    assert site.store.items.put("big", longest).version == 1
    assert site.get("item/get?key=big").document["value"] == longest
    assert site.post("item/put", {"key": "big", "value": longest[:-100]}).status == 200
