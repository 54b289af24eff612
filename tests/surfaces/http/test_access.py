"""Who may ask: tokens, Host, Origin, and how much at once."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from served import Reply, Site, raw, serving
from tables import each
from vestig.config import load
from vestig.errors import ConfigError, ConflictError
from vestig.surfaces.http.access import Access, Refusal, is_loopback
from vestig.surfaces.http.places import Place, Places, Progress
from vestig.surfaces.http.service import RateLimiter


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("SERVE_TOKEN", "s3cret-t0ken")
    with serving(None, token_env="SERVE_TOKEN", cors_origins=["https://page.example"]) as site:
        yield site


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "s3cret-t0ken",
        "Basic s3cret-t0ken",
        "Bearer",
        "Bearer ",
        "Bearer s3cret",
        "Bearer \u00e9",
    ],
)
def test_another_token_is_refused_everywhere_but_at_health(
    guarded: Site, given: str | None
) -> None:
    headers = {} if given is None else {"Authorization": given}
    for path in ("count", "list", "metrics", "/metrics", "/openapi.json", "nothing"):
        reply = guarded.get(path, headers)
        assert (reply.status, reply.code) == (401, "unauthorized"), path
        assert reply.headers["www-authenticate"] == "Bearer"
    assert guarded.get("health", headers).status == 200
    assert guarded.get("/health", headers).status == 200


def test_the_token_opens(guarded: Site) -> None:
    for kind in ("Bearer", "bearer"):
        assert guarded.get("count", {"Authorization": f"{kind} s3cret-t0ken"}).status == 200


def test_a_page_of_a_configured_origin_may_ask(guarded: Site) -> None:
    page = {"Origin": "https://page.example"}
    asked = guarded.ask(
        "OPTIONS", "recall", headers={**page, "Access-Control-Request-Method": "POST"}
    )
    assert asked.status == 204
    assert asked.headers["access-control-allow-origin"] == "https://page.example"
    assert "Authorization" in asked.headers["access-control-allow-headers"]
    other = guarded.ask(
        "OPTIONS",
        "recall",
        headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"},
    )
    assert (other.status, other.code) == (403, "unauthorized")
    answered = guarded.get("count", {**page, "Authorization": "Bearer s3cret-t0ken"})
    assert answered.headers["access-control-allow-origin"] == "https://page.example"
    shown = {one.strip() for one in answered.headers["access-control-expose-headers"].split(",")}
    assert shown >= {"Location", "Retry-After", "Allow", "X-Request-Id"}


@each(
    ("headers", "status"),
    [
        ({"Host": "localhost"}, 200),
        ({"Host": "LOCALHOST:9"}, 200),
        ({"Host": "127.0.0.1:8765"}, 200),
        ({"Host": "[::1]:8765"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "localhost.evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:80"}, 403),
        ({"Host": "evil.example:80@localhost"}, 403),
        ({"Host": "localhost", "Origin": "http://localhost"}, 200),
        ({"Host": "localhost:80", "Origin": "http://localhost"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        *(
            ({"Host": "localhost", "Origin": origin}, 403)
            for origin in (
                "https://localhost",
                "ftp://localhost",
                "file://localhost",
                "chrome-extension://localhost",
                "javascript://localhost",
                "//localhost",
                "localhost",
                "http://localhost/",
                "http://localhost/evil",
                "http://localhost:81",
                "http://evil.example@localhost",
                "",
            )
        ),
    ],
    ids=str,
)
def test_a_page_that_led_a_browser_here_is_refused(
    site: Site, headers: dict[str, str], status: int
) -> None:
    reply = site.get("count", headers)
    assert reply.status == status
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.parametrize(
    ("route", "line", "status"),
    [
        ("count", "Origin: http://localhost\r\nOrigin: http://evil.example", 403),
        ("count", "Origin: http://localhost\r\nOrigin: http://localhost", 403),
        ("commit", "Idempotency-Key: one\r\nIdempotency-Key: two", 400),
        ("commit", "Content-Type: text/plain", 400),
        ("commit", "Authorization: Bearer a\r\nAuthorization: Bearer b", 201),
    ],
)
def test_a_header_that_counts_stands_once(route: str, line: str, status: int) -> None:
    with serving(None) as site:
        body = b'{"content": "The gate is open at night"}'
        head = f"POST /api/memory/{route} HTTP/1.1\r\nHost: localhost\r\n{line}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        if route == "count":
            head, body = f"GET /api/memory/count HTTP/1.1\r\nHost: localhost\r\n{line}\r\n\r\n", b""
        assert raw(site.port, head.encode() + body).startswith(f"HTTP/1.1 {status} ".encode())


def test_two_tokens_are_none(guarded: Site) -> None:
    both = "Authorization: Bearer wrong\r\nAuthorization: Bearer s3cret-t0ken\r\n"
    head = f"GET /api/memory/count HTTP/1.1\r\nHost: localhost\r\n{both}\r\n"
    assert raw(guarded.port, head.encode()).startswith(b"HTTP/1.1 400 ")


@each(
    "token",
    ["abc\n", "abc ", "\tabc", "   ", "a b", "t\u00f6k\u00e9n", "a\x7fb", "a\x00b", "\u200b"],
)
def test_a_token_that_no_header_carries_is_refused_at_the_start(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vestig.surfaces.http import access

    monkeypatch.setattr(access, "read_secret", lambda *_: token)
    overrides = {"serve.token_env": "SERVE_TOKEN"}
    settings = load(environ={}, overrides=overrides).settings.serve
    with pytest.raises(ConfigError, match="SERVE_TOKEN to hold visible ASCII") as caught:
        Access.of(settings)
    assert token.strip() == "" or token not in str(caught.value)


def test_a_token_that_others_may_try_is_no_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for token, host, fits in (
        ("a", "127.0.0.1", True),
        ("a" * 15, "0.0.0.0", False),
        ("a" * 15, "10.1.2.3", False),
        ("a" * 16, "0.0.0.0", True),
    ):
        monkeypatch.setenv("SERVE_TOKEN", token)
        overrides = {"serve.token_env": "SERVE_TOKEN", "serve.host": host}
        settings = load(environ={}, overrides=overrides).settings.serve
        if fits:
            assert Access.of(settings).token == token
        else:
            with pytest.raises(ConfigError, match="at least 16 characters"):
                Access.of(settings)


def test_an_address_that_others_reach_needs_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.4", "example.org"):
        settings = load(environ={}, overrides={"serve.host": host}).settings.serve
        with pytest.raises(ConfigError, match=r"serve\.token_env"):
            Access.of(settings)
        assert not is_loopback(host)
    settings = load(environ={}, overrides={"serve.token_env": "NOWHERE_SET"}).settings.serve
    with pytest.raises(ConfigError, match="NOWHERE_SET"):
        Access.of(settings)


def test_a_dozen_clients_that_ask_one_after_the_other_are_all_served() -> None:
    """With the limits that a server has by default, where each answer takes its time."""
    found: list[int] = []

    def ask(client: int) -> None:
        for number in range(4):
            text = f"Gate {client} of pier {number} is painted in another colour every year."
            found.append(site.post("commit", {"content": text}).status)
            found.append(site.get("count").status)

    with serving(None) as site:
        site.store.count = lambda **_: time.sleep(0.05) or 0  # type: ignore[method-assign,assignment]
        threads = [threading.Thread(target=ask, args=(client,)) for client in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    assert sorted(found) == [200] * 48 + [201] * 48


def test_beyond_its_places_a_server_refuses_at_once_and_says_when_to_come_again() -> None:
    with serving(None, max_concurrent=2, max_waiting=2, max_wait_ms=50) as site:
        go = threading.Event()
        site.store.count = lambda **_: 0 if go.wait(10) else 1  # type: ignore[method-assign,assignment]
        found: list[Reply] = []
        threads = [
            threading.Thread(target=lambda: found.append(site.get("count"))) for _ in range(10)
        ]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        while len(found) < 8 and time.monotonic() - began < 10:
            time.sleep(0.01)
        # health and metrics need no place
        assert site.get("health").status == 200
        assert site.get("metrics").status == site.get("/metrics").status == 200
        go.set()
        for thread in threads:
            thread.join(timeout=20)
        assert sorted(reply.status for reply in found) == [200] * 2 + [503] * 8
        for reply in found:
            if reply.status == 503:
                assert (reply.code, reply.headers["retry-after"]) == ("not-ready", "1")
        assert site.get("count").status == 200, "every place was given back"


def test_a_place_is_kept_until_the_work_is_done_and_given_back_then() -> None:
    with serving(None, max_concurrent=1, max_waiting=0, request_timeout_s=0.1) as site:
        go = threading.Event()
        count = site.store.count
        site.store.count = lambda **_: 0 if go.wait(10) else 1  # type: ignore[method-assign,assignment]
        late = site.get("count")
        assert (late.status, late.code, late.headers["retry-after"]) == (503, "not-ready", "1")
        assert site.get("list").status == 503
        go.set()
        site.store.count = count  # type: ignore[method-assign]
        began = time.monotonic()
        while site.get("list").status != 200:
            assert time.monotonic() - began < 10


def test_what_takes_long_leaves_a_place_to_short_requests() -> None:
    with serving(None, max_concurrent=2, max_waiting=2, max_wait_ms=50) as site:
        go, begun, found = threading.Event(), threading.Event(), list[Reply]()

        def work(**_: object) -> None:
            begun.set()
            go.wait(10)
            raise ConflictError("stopped")

        site.store.add_document = work  # type: ignore[method-assign,assignment]

        def add() -> None:
            found.append(site.post("document/add", {"text": "The gate is red"}))

        first = threading.Thread(target=add)
        first.start()
        try:
            assert begun.wait(10), found
            add()
            assert [(one.status, one.code) for one in found] == [(503, "not-ready")]
            assert [site.get("count").status for _ in range(5)] == [200] * 5
        finally:
            go.set()
            first.join(timeout=20)
        assert found[1].status == 409
        add()
        assert found[2].status == 409, "the places of both kinds were given back"


def test_a_place_that_comes_when_it_was_given_up_is_not_lost() -> None:
    async def main() -> None:
        def enter(places: Places) -> Coroutine[Any, Any, Place]:
            return places.enter("a", Progress(), long=False)

        places = Places(1, 1, 10.0)
        first = await enter(places)
        waiting = asyncio.create_task(enter(places))
        await asyncio.sleep(0)
        waiting.cancel()
        places.leave(first)
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.wait_for(enter(places), 1)
        assert places.has_room("a")
        late = Places(1, 1, 0.0)
        first = await enter(late)
        for _ in range(3):
            with pytest.raises(Refusal):
                await enter(late)
        late.leave(first)
        await enter(late)

    asyncio.run(main())


def test_a_client_that_goes_away_gives_its_place_back() -> None:
    with serving(None, max_concurrent=1, max_waiting=0) as site:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", site.port)) as link:
                link.sendall(
                    b"POST /api/memory/recall HTTP/1.1\r\nHost: localhost\r\n"
                    b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
                )
        assert site.post("recall", {"query": "deploys"}).status == 200


def test_a_slow_body_takes_no_place_and_ends_in_time() -> None:
    with (
        serving(None, max_concurrent=1, max_waiting=0, request_timeout_s=0.5) as site,
        socket.create_connection(("127.0.0.1", site.port), timeout=10) as link,
    ):
        link.sendall(
            b"POST /api/memory/recall HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        )
        assert site.post("recall", {"query": "deploys"}).status == 200
        assert link.recv(100).startswith(b"HTTP/1.1 408 ")


def test_a_client_has_its_share_of_each_window() -> None:
    limiter = RateLimiter(2, 60.0)
    limiter.check("a", 0.0)
    limiter.check("a", 59.0)
    limiter.check("b", 59.0)
    with pytest.raises(Refusal) as refused:
        limiter.check("a", 59.5)
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "1"})
    with pytest.raises(Refusal) as refused:
        limiter.check("a", 10.0)
    assert refused.value.headers == {"Retry-After": "50"}
    limiter.check("a", 60.0)


def test_health_says_what_is_weaker(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from vestig.errors import EmbeddingMismatchError, StoreDamagedError

    document = site.get("health").document
    assert document["status"] == "healthy"
    assert set(document) >= {"ledger", "projection", "embedder", "llm", "pending_jobs", "seq"}
    session = site.store._session
    with monkeypatch.context() as patch:
        patch.setattr(session, "mismatch", EmbeddingMismatchError("other model"))
        assert site.get("health").document["status"] == "degraded"

    def broken() -> None:
        raise StoreDamagedError("a page is damaged")

    with monkeypatch.context() as patch:
        patch.setattr(session.ledger, "read", broken)
        reply = site.get("health")
        assert (reply.status, reply.code) == (503, "not-ready")
        assert reply.document["health"]["ledger"] == "store-damaged"


def test_metrics_equal_the_operations_done() -> None:
    with serving(None) as site:
        site.commit("Deploys run on Fridays at noon")
        for _ in range(3):
            site.post("recall", {"query": "when do deploys run?"})
        site.get("show/mem_00000000")
        text = site.get("metrics").body.decode()
    assert 'vestig_operations_total{operation="recall",status="ok"} 3.0' in text
    assert 'vestig_operations_total{operation="show",status="error"} 1.0' in text
    assert 'vestig_commit_outcomes_total{outcome="INSERTED_NEW"} 1.0' in text
    assert 'vestig_storage_count{type="memories"} 1.0' in text
    assert "# TYPE vestig_operation_duration_seconds histogram" in text
    assert "Fridays" not in text


@each(
    ("target", "host", "status"),
    [
        ("http://localhost/api/memory/count", "localhost", 200),
        ("HTTP://127.0.0.1:8765/api/memory/count?where.tags=a", "127.0.0.1", 200),
        ("http://localhost/api/memory/count", "evil.example", 200),  # the target's host counts
        ("http://evil.example/api/memory/count", "localhost", 403),
        ("http://evil.example@localhost/api/memory/count", "localhost", 403),
        ("http://localhost", "localhost", 200),
        ("http://localhost?a=b", "localhost", 200),
        ("http:///api/memory/count", "localhost", 400),
        ("/http://localhost/api/memory/count", "localhost", 404),
        ("ftp://localhost/api/memory/count", "localhost", 404),
    ],
)
def test_a_target_may_be_a_whole_url(site: Site, target: str, host: str, status: int) -> None:
    asked = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    answer = raw(site.port, asked.encode())
    assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer


def test_a_refusal_says_what_came(tmp_path: Path) -> None:
    text = {"Content-Type": "text/plain; charset=latin-1"}
    packed = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    with serving(tmp_path / "store", body_bytes_max=100, import_bytes_max=100) as site:
        for reply, status, expected, got in (
            (site.get("count", {"Host": "evil.example"}), 403, "serve.allowed_hosts",
             "got 'evil.example'"),
            (site.get("count", {"Origin": "http://evil.example"}), 403, "serve.cors_origins",
             "got 'http://evil.example'"),
            (site.post("recall", b"x", text), 415, "application/json",
             "got 'text/plain; charset=latin-1'"),
            (site.post("recall", b"x", {}), 415, "application/json", "got nothing"),
            (site.post("recall", b"x", packed), 415, "without Content-Encoding", "'gzip'"),
            (site.post("recall", {"query": "x" * 200}), 413, "at most 100 bytes", "got 213;"),
            (site.post("import", b"\x1f\x8b", {"Content-Type": "text/csv"}), 415, "unpacked",
             "got gzip"),
            (site.post("import", b"x" * 200, {"Content-Type": "text/csv"}), 413,
             "at most 100 bytes", "got 200;"),
        ):  # fmt: skip
            assert reply.status == status, reply
            assert expected in reply.document["detail"]
            assert got in reply.document["detail"], reply
