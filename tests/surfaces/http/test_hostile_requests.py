"""Hostile requests: each is answered, in time, without a 5xx and without a trace of the inside;
nothing is forgotten that was not selected."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from served import Site, raw, serving
from tables import each

JSON_TYPE = "Content-Type: application/json\r\n"
KEPT = ("Deploys run on Fridays at noon", "The spare key lies under the blue pot")


class Case(NamedTuple):
    """One request as bytes. `refused`: it must not succeed."""

    name: str
    data: bytes
    refused: bool = True


def request(
    method: str,
    path: str,
    body: bytes = b"",
    *,
    head: str = JSON_TYPE,
    host: str = "localhost",
    length: int | None = None,
) -> bytes:
    named = (
        f"Content-Length: {len(body) if length is None else length}\r\n" if body or length else ""
    )
    text = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{head}{named}Connection: close\r\n\r\n"
    return text.encode("latin-1") + body


def post(route: str, body: bytes, **more: Any) -> bytes:
    return request("POST", f"/api/memory/{route}", body, **more)


ROUTES = ("commit", "recall", "search", "deprecate", "supersede", "forget")
BODIES: dict[str, bytes] = {
    "empty": b"",
    "space": b"   ",
    "null": b"null",
    "true": b"true",
    "number": b"17",
    "text": b'"text"',
    "list": b"[]",
    "nested list": b"[[[]]]",
    "half an object": b'{"content": ',
    "two objects": b'{"content": "a"}{"content": "b"}',
    "single quotes": b"{'content': 'a'}",
    "a comment": b'{"content": "a" /* b */}',
    "a comma too much": b'{"content": "a",}',
    "NaN": b'{"limit": NaN}',
    "Infinity": b'{"silence": Infinity}',
    "beyond a float": b'{"limit": 1e999}',
    "5000 digits": b'{"limit": ' + b"9" * 5_000 + b"}",
    "a lone surrogate": b'{"content": "\\ud800", "query": "\\udfff", "ids": "\\ud800"}',
    "no UTF-8": b'{"content": "\xff\xfe"}',
    "UTF-16": '{"content": "a"}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "NUL": b"\0",
    "deep lists": b"[" * 50_000,
    "deep objects": b'{"a":' * 50_000,
    "deep and whole": b'{"metadata": ' + b'{"a":' * 2_000 + b"1" + b"}" * 2_000 + b"}",
    "unknown": b'{"surprise": 1}',
    "prototype": b'{"__proto__": {"admin": true}}',
    "dunder": b'{"__class__": "x", "self": 1}',
    "on_commit": b'{"content": "The gate is open at night", "on_commit": "print"}',
    "empty name": b'{"": 1}',
    "a long name": b'{"' + b"a" * 100_000 + b'": 1}',
    "many names": b"{" + b",".join(b'"n%d": 1' % n for n in range(5_000)) + b"}",
    "same name twice": b'{"limit": 1, "limit": true, "id": 1, "ids": 1, "old": 1}',
}
VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "zero": 0,
    "minus one": -1,
    "half": 0.5,
    "2**63": 2**63,
    "1e308": 1e308,
    "empty": "",
    "blank": "  ",
    "NUL": "\0",
    "control": "\x1b[2J\x07",
    "path": "../../../../etc/passwd",
    "SQL": "'; DROP TABLE memories; --",
    "HTML": "<script>alert(1)</script>",
    "template": "{{7*7}} ${HOME} %s %n",
    "right to left": "\u202egnp.exe",
    "long": "x" * 200_000,
    "list": [],
    "list of null": [None],
    "list of blank": [" "],
    "list of lists": [[["a"]]],
    "many": ["a"] * 5_000,
    "object": {},
    "object of objects": {"a": {"b": {"c": None}}},
}
# (route, argument, the rest of the arguments)
ARGUMENTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("recall", "query", {}),
    ("recall", "limit", {"query": "deploys"}),
    ("recall", "where", {"query": "deploys"}),
    ("recall", "messages", {}),
    ("recall", "query_vector", {}),
    ("recall", "config", {"query": "deploys"}),
    ("recall", "seed", {"query": "deploys"}),
    ("recall", "as_of", {"query": "deploys"}),
    ("recall", "expect", {"query": "deploys"}),
    ("search", "seed_nodes", {"type": "graph"}),
    ("search", "type", {"query": "deploys"}),
    ("commit", "content", {}),
    ("commit", "metadata", {"content": "The gate is open at night", "dry_run": True}),
    ("commit", "entities", {"content": "The gate is open at night", "dry_run": True}),
    ("commit", "t_valid", {"content": "The gate is open at night", "dry_run": True}),
    ("commit", "provenance", {"content": "The gate is open at night", "dry_run": True}),
    ("commit", "supersedes", {"content": "The gate is open at night", "dry_run": True}),
    ("commit", "namespace", {"content": "The gate is open at night", "dry_run": True}),
    ("commit", "items", {}),
    ("deprecate", "id", {}),
    ("supersede", "new", {"old": "mem_00000000"}),
    ("forget", "ids", {"confirm": True}),
    ("forget", "where", {"confirm": True}),
    ("forget", "confirm", {"ids": "mem_00000000"}),
)
SELECTORS = (
    "ids",
    "scope",
    "tags",
    "sources",
    "actors",
    "authors",
    "roles",
    "session_ids",
    "origin_types",
    "metadata",
    "entities",
    "source_ids",
    "message_ids",
    "unscoped",
)
NARROWING: dict[str, Any] = {
    "kinds": ["MEMORY"],
    "statuses": ["ACTIVE"],
    "since": "2000-01-01",
    "until": "2100-01-01",
    "created_since": "2000-01-01",
    "exclude_tags": ["nothing"],
    "exclude_authors": "nobody",
    "pinned": False,
    "include_expired": True,
}


def bodies() -> Iterator[Case]:
    for route in ROUTES:
        for name, body in BODIES.items():
            yield Case(f"{route}: {name}", post(route, body))


def values() -> Iterator[Case]:
    for route, argument, rest in ARGUMENTS:
        for name, value in VALUES.items():
            body = json.dumps({**rest, argument: value}).encode()
            yield Case(f"{route} {argument}: {name}", post(route, body), refused=False)


def forgettings() -> Iterator[Case]:
    for field in SELECTORS:
        for nothing in (None, "", [], {}):
            for rest in ({}, NARROWING):
                if nothing in rest.values():
                    continue
                where = {**rest, field: nothing}
                body = json.dumps({"where": where, "confirm": True}).encode()
                yield Case(
                    f"forget {field}={nothing!r} {'narrowed' if rest else ''}", post("forget", body)
                )
    for name, value in NARROWING.items():
        body = json.dumps({"where": {name: value}, "confirm": True}).encode()
        yield Case(f"forget only narrowed by {name}", post("forget", body))
    for body in (
        {},
        {"confirm": True},
        {"confirm": True, "all": True},
        {"confirm": True, "where": {}, "all": True},
        {"confirm": True, "where": None, "all": True},
        {"confirm": True, "where": {"unscoped": False}, "all": True},
        {"confirm": True, "where": {"scope": None}, "force": True},
        {"confirm": True, "tags": ["infra"]},
        {"confirm": True, "ids": [], "where": {"tags": []}},
        {"confirm": True, "ids": "mem_"},
        {"confirm": True, "ids": "mem_%"},
        {"confirm": True, "ids": ["*"]},
        {"confirm": "true", "where": {"tags": ["infra"]}},
        {"confirm": 1, "where": {"tags": ["infra"]}},
        {"where": {"tags": ["infra"]}},
        {"where": {"tags": ["infra"]}, "dry_run": False},
        {"confirm": True, "where": {"tags": ["infra"], "tag": "infra"}},
        {"confirm": True, "where": {"tags": ["infra", None]}},
        {"confirm": True, "where": [{"tags": ["infra"]}]},
        {"confirm": True, "where": "tags=infra"},
    ):
        yield Case(f"forget {json.dumps(body)}", post("forget", json.dumps(body).encode()))


def queries() -> Iterator[Case]:
    for name, value in VALUES.items():
        if name == "long":
            continue
        text = quote(value if isinstance(value, str) else json.dumps(value))
        for key in ("where", "limit", "order_by", "as_of", "namespace"):
            if len(text) < 6_000:
                path = f"/api/memory/list?{key}={text}"
                yield Case(f"list {key}: {name}", request("GET", path, head=""), refused=False)
        if len(text) < 6_000:
            path = f"/api/memory/show/{text or '%20'}"
            yield Case(f"show {name}", request("GET", path, head=""))
    for tail in ("limit=1&limit=2", "&&&=", "=1", "a" * 6_000, "%ff=%fe", "where=%ff", "limit=%00"):
        path = f"/api/memory/list?{tail}"
        yield Case(f"list ?{tail[:20]}", request("GET", path, head=""), refused=tail != "&&&=")


def wires() -> Iterator[Case]:
    body = b'{"query": "deploys"}'
    heads = {
        "no type": "",
        "form": "Content-Type: application/x-www-form-urlencoded\r\n",
        "multipart": "Content-Type: multipart/form-data; boundary=a\r\n",
        "text": "Content-Type: text/plain\r\n",
        "XML": "Content-Type: application/xml\r\n",
        "latin-1": "Content-Type: application/json; charset=latin-1\r\n",
        "gzip": f"{JSON_TYPE}Content-Encoding: gzip\r\n",
        "foreign origin": f"{JSON_TYPE}Origin: http://evil.example\r\n",
        "origin null": f"{JSON_TYPE}Origin: null\r\n",
        "odd origin": f"{JSON_TYPE}Origin: http://[\r\n",
        "two lengths": f"{JSON_TYPE}Content-Length: 3\r\n",
        "minus length": f"{JSON_TYPE}Content-Length: -1\r\n",
        "text length": f"{JSON_TYPE}Content-Length: ten\r\n",
        "odd coding": f"{JSON_TYPE}Transfer-Encoding: gzip\r\n",
    }
    for name, head in heads.items():
        yield Case(f"head: {name}", post("recall", body, head=head))
    for host in (
        "evil.example",
        "",
        "localhost.evil.example",
        "localhost@evil.example",
        "[",
        "a" * 9_000,
    ):
        yield Case(f"host {host[:30]!r}", post("recall", body, host=host))
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW", "get"):
        yield Case(f"method {method}", request(method, "/api/memory/recall", body))
    for path in (
        "/..%2f..%2fetc/passwd",
        "//",
        "/%00",
        "/api/memory/%2e%2e/recall",
        "*",
        "http://a/b",
        "/\u00e9",
    ):
        yield Case(f"path {path!r}", request("POST", path, body))
    chunked = f"{JSON_TYPE}Transfer-Encoding: chunked\r\n"
    for name, data in {
        "no size": b"zz\r\n",
        "huge size": b"ffffffffffffffff\r\n",
        "cut": b'5\r\n{"qu',
        "minus": b"-1\r\n",
        "too long": b"100000\r\n"
        + b" " * 0x100000
        + b"\r\n100000\r\n"
        + b" " * 0x100000
        + b"\r\n0\r\n\r\n",
    }.items():
        yield Case(f"chunks: {name}", post("recall", b"", head=chunked) + data)
    yield Case("more than it says", post("recall", body, length=5))
    yield Case("HTTP/0.9", b"GET /health\r\n")
    yield Case("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    yield Case("TLS", bytes.fromhex("16030100c8010000c40303") + b"\0" * 100)
    yield Case("a long line", b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    yield Case("many headers", post("recall", body, head=JSON_TYPE + "X-A: b\r\n" * 20_000))
    yield Case(
        "a header of lines",
        post("recall", body, head=f"{JSON_TYPE}X-Request-Id: a\n b\r\n"),
        refused=False,
    )
    yield Case(
        "upgrade",
        post("recall", body, head=f"{JSON_TYPE}Connection: Upgrade\r\nUpgrade: websocket\r\n"),
        refused=False,
    )
    for key in ("", " ", "a b", "x" * 129, "\xe9", "\x01"):
        head = f"{JSON_TYPE}Idempotency-Key: {key}\r\n"
        content = b'{"content": "The gate is open at night"}'
        yield Case(f"key {key[:9]!r}", post("commit", content, head=head))
    lines = "Content-Type: application/jsonl\r\n"
    for name, data in {
        "empty": b"",
        "no JSON": b"nonsense\n" * 3,
        "binary": bytes(range(256)) * 3,
        "gzip": b"\x1f\x8b\x08" + b"\0" * 30,
        "numbers": b"1\n2\n3\n",
        "deep": b"[" * 50_000,
        "an export that is cut": b'{"type":"header","format":"vestig-export","version":5}\n',
    }.items():
        yield Case(f"import {name}", post("import", data, head=lines), refused=False)
    for tail in ("merge=maybe", "format=tar", "surprise=1", "source=/etc/passwd", "merge=true"):
        yield Case(
            f"import ?{tail}",
            post(f"import?{tail}", b'{"content": "a"}', head=lines),
            refused=tail != "merge=true",
        )


# What may stand as a message, and as its content; some of it is a conversation.
MESSAGES: dict[str, Any] = {
    "a text": "where is the key?",
    "no role": {"content": "where is the key?"},
    "another role": {"role": "nobody", "content": "where is the key?"},
    "a number as role": {"role": 5, "content": "where is the key?"},
    "an object as role": {"role": {}, "content": "where is the key?"},
    "an object as author": {"author": {"name": "Ann"}, "content": "where is the key?"},
    "two names of the author": {"author": "Ann", "author_name": "Bob", "content": "the key?"},
    "the system alone": {"role": "system", "content": "Be short."},
    "a developer alone": {"role": "developer", "content": "Be short."},
    "a tool alone": {"role": "tool", "tool_call_id": "1", "content": "noon"},
    "null and a call": {"role": "assistant", "content": None, "tool_calls": [{"id": 1}]},
    "null and no call": {"role": "assistant", "content": None},
    "no content": {"role": "user"},
    "a misspelt name": {"role": "user", "contnet": "where is the key?"},
    "a message in a message": {"type": "user", "message": {"role": "user", "content": "the key?"}},
    "a long text": {"role": "user", "content": "key " * 50_000},
    "a time of no calendar": {"role": "user", "content": "the key?", "timestamp": "2026-02-30"},
}
CONTENTS: dict[str, Any] = {
    "one part": {"type": "text", "text": "where is the key?"},
    "a part without text": [{"type": "text"}],
    "a part with null": [{"type": "text", "text": None}],
    "a part of another type": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}],
    "a list as type": [{"type": ["text"], "text": "a"}],
    "an object as type": [{"type": {}, "text": "a"}],
    "texts": ["where", "is", "it?"],
    "a number": 5,
    "numbers": [1, 2],
    "null in a list": [None],
    "parts in a part": [{"type": "text", "text": [{"type": "text", "text": "a"}]}],
    "many parts": [{"type": "text", "text": "a"}] * 5_000,
    "nothing": "",
    "no part": [],
}
# Lists that come as text, and what looks like one.
TEXT_LISTS = (
    "a,b",
    ",",
    " , ,",
    "[]",
    "[",
    '["a"',
    '["a", 1]',
    '[["a"]]',
    '{"a": 1}',
    "null",
    "[" * 5_000,
    '["a"]' * 3,
    "a\nb",
)


def conversations() -> Iterator[Case]:
    rows = {name: [message] for name, message in MESSAGES.items()}
    rows |= {
        f"content: {name}": [{"role": "user", "content": content}]
        for name, content in CONTENTS.items()
    }
    for route in ("recall", "retrieve"):
        for name, messages in rows.items():
            body = json.dumps({"messages": messages}).encode()
            yield Case(f"{route} messages: {name}", post(route, body), refused=False)
            body = json.dumps({"messages": json.dumps(messages)}).encode()
            yield Case(f"{route} messages as text: {name}", post(route, body), refused=False)
        both = json.dumps({"messages": rows["no role"], "query": "key?", "history": []}).encode()
        yield Case(f"{route}: a query and messages and a name of others", post(route, both))


def lists_as_text() -> Iterator[Case]:
    fact = {"content": "The gate is open at night", "dry_run": True}
    for text in TEXT_LISTS:
        for name in ("tags", "keywords", "entities", "supersedes", "metadata", "claim"):
            body = json.dumps({**fact, name: text}).encode()
            yield Case(f"commit {name} as text {text[:20]!r}", post("commit", body), refused=False)
        for name in ("tags", "authors", "session_ids", "ids", "metadata", "kinds"):
            body = json.dumps({"query": "gate", "where": {name: text}}).encode()
            yield Case(f"where {name} as text {text[:20]!r}", post("recall", body), refused=False)
        body = json.dumps({"query": "gate", "where": text}).encode()
        yield Case(f"where as text {text[:20]!r}", post("recall", body))


def ends_of_requests() -> Iterator[Case]:
    """Bodies with two ends, origins, tokens and paths that a proxy reads in another way."""
    body = b'{"query": "deploys"}'
    behind = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for name, head in {
        "chunked and a length": "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "a length and chunked": "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "chunked twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "chunked, then another": "Transfer-Encoding: chunked, gzip\r\n",
        "another, then chunked": "Transfer-Encoding: identity, chunked\r\n",
        "chunked behind a tab": "Transfer-Encoding:\tchunked\r\nContent-Length: 20\r\n",
        "a name with a blank": "Transfer-Encoding : chunked\r\n",
        "a length with a plus": "Content-Length: +20\r\n",
        "a length in a list": "Content-Length: 20, 20\r\n",
        "a length of other digits": "Content-Length: 2_0\r\n",
    }.items():
        data = request("POST", "/api/memory/recall", head=JSON_TYPE + head)
        yield Case(f"two ends: {name}", data + b"0\r\n\r\n" + body + behind)
    for origin in (
        "ftp://localhost",
        "file://",
        "javascript:alert(1)",
        "chrome-extension://abcdef",
        "//localhost",
        "http://localhost/evil",
        "http://localhost@evil.example",
        "http://localhost.evil.example",
        "http://[::1",
        "null, http://localhost",
    ):
        yield Case(
            f"origin {origin}", post("recall", body, head=f"{JSON_TYPE}Origin: {origin}\r\n")
        )
    for name in ("Origin: http://localhost", "Idempotency-Key: a", "Authorization: Bearer a"):
        head = f"{JSON_TYPE}{name}\r\n{name}b\r\n"
        yield Case(f"twice {name.partition(':')[0]}", post("commit", body, head=head))
    for tail in ("limit=%D9%A3", "limit=" + "9" * 400, "limit=3.0", "namespace=..", "namespace=."):
        yield Case(f"list ?{tail[:20]} ", request("GET", f"/api/memory/list?{tail}", head=""))
    yield Case("show with touch", request("GET", "/api/memory/show/mem_00000000?touch=true"))


CASES = (
    *bodies(),
    *values(),
    *forgettings(),
    *queries(),
    *wires(),
    *conversations(),
    *lists_as_text(),
    *ends_of_requests(),
)


def test_there_are_many_cases_with_names_of_their_own() -> None:
    assert len(CASES) >= 700
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.fixture(scope="module")
def hostile() -> Iterator[Site]:
    with serving(None, max_concurrent=2, max_waiting=100, max_wait_ms=20_000) as site:
        for text in KEPT:
            site.commit(text, tags=["infra"], author="Omar")
        yield site


def check(site: Site, case: Case) -> None:
    answer = raw(site.port, case.data, timeout=20)
    assert answer.startswith(b"HTTP/1.1 "), (case.name, answer[:200])
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head[9:12])
    assert status < 500, (case.name, answer[:500])
    if case.refused:
        assert status >= 400, (case.name, answer[:300])
    if status >= 400:
        assert b"application/problem+json" in head, case.name
        assert b"x-request-id" in head, case.name
        if not case.data.startswith(b"HEAD"):
            problem = json.loads(body)
            assert problem["status"] == status, case.name
            assert "Traceback" not in problem["detail"], case.name


def check_rest(site: Site) -> None:
    """The store holds what it held, and the server goes on."""
    found = site.store.list(where={"tags": ["infra"], "include_expired": True})
    assert {memory.content for memory in found} >= set(KEPT)
    assert site.service.places.has_room("127.0.0.1")
    assert site.get("/health").status == 200


def test_a_sample_of_hostile_requests_is_answered(hostile: Site) -> None:
    for case in random.Random(17).sample(CASES, 400):
        check(hostile, case)
    check_rest(hostile)


@each(
    "case", [case for case in CASES if case.name.startswith("forget")], ids=lambda case: case.name
)
def test_nothing_is_forgotten_that_was_not_selected(hostile: Site, case: Case) -> None:
    check(hostile, case)
    found = hostile.store.list(where={"tags": ["infra"], "include_expired": True})
    assert {memory.content for memory in found} == set(KEPT)


@pytest.mark.torture
def test_every_hostile_request_is_answered(hostile: Site) -> None:
    for case in CASES:
        check(hostile, case)
    check_rest(hostile)
