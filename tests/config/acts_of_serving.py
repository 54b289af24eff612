"""Keys of `serve`, each with what can be seen of it on the wire."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from msgspec.structs import replace
from world import Act, World

from served import Reply, Site, serving_config
from vestig.errors import ConfigError
from vestig.surfaces.http import routes
from vestig.surfaces.http.access import Access
from vestig.surfaces.http.listener import listen
from vestig.surfaces.operation import operations

__all__ = ["SERVING"]

TEXT = {"content": "The new office is in Oslo"}


@contextmanager
def site(world: World) -> Iterator[Site]:
    with serving_config(world.config, world.clock) as found:
        yield found


def status(method: str, path: str, body: Any = None, **headers: str) -> Callable[[World], Any]:
    """The status of one request."""

    def observe(world: World) -> Any:
        with site(world) as served:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            if method == "GET":
                return served.get(path, named).status
            return served.post(path, body, named).status

    return observe


def address(world: World) -> Any:
    try:
        Access.of(world.config.settings.serve)
    except ConfigError as error:
        return str(error).partition(":")[0]
    return "allowed"


def port(world: World) -> Any:
    settings = world.config.settings.serve
    try:
        with listen(settings.host, settings.port) as place:
            return str(place.getsockname()[1])
    except ConfigError as error:
        return str(error).split(":")[2]


def token(world: World) -> Any:
    world.monkeypatch.setenv("SERVE_TOKEN", "s3cret")
    return status("GET", "count")(world)


def limit_count(world: World) -> None:
    """What costs nothing is asked in the place of what a client may only ask so often."""
    found = tuple(
        replace(one, limited=True) if one.path == "GET count" else one for one in operations()
    )
    world.monkeypatch.setattr(routes, "operations", lambda: found)


def limited(world: World) -> Any:
    limit_count(world)
    with site(world) as served:
        replies = [served.get("count") for _ in range(2)]
        return [reply.status for reply in replies], replies[-1].headers.get("retry-after")


def traced(world: World) -> Any:
    limit_count(world)
    with site(world) as served:
        served.store.count = lambda **given: given  # type: ignore[method-assign,assignment]
        reply = served.get("count/debug")
        return reply.document.get("debug")


def logged(world: World) -> Any:
    with site(world) as served:
        served.post("commit", TEXT)
        assert served.get("count").status == 200
        ledger = served.store._session.ledger
        served.service.close()
        with ledger.read() as view:
            rows = list(view.connection.execute("SELECT route, payload FROM requests"))
    return sorted((route, payload is not None) for route, payload in rows)


def shared(world: World) -> Any:
    with site(world) as served:
        reply = served.get("count", {"Origin": "http://page.example"})
        return reply.status, reply.headers.get("access-control-allow-origin")


def at_once(count: int, pause_s: float = 0.0) -> Callable[[World], Any]:
    """How many of some requests that come together are answered, while each takes a while."""

    def observe(world: World) -> Any:
        with site(world) as served:
            go, done = threading.Event(), []
            inside = threading.Semaphore(0)

            def slow(**_: Any) -> int:
                inside.release()
                go.wait(10)
                return 0

            served.store.count = slow  # type: ignore[method-assign,assignment]
            threads = []
            for _ in range(count):
                thread = threading.Thread(target=lambda: done.append(served.get("count").status))
                thread.start()
                threads.append(thread)
                inside.acquire(timeout=0.3)
            time.sleep(pause_s)
            go.set()
            for thread in threads:
                thread.join(timeout=20)
            return sorted(done)

    return observe


def timed_out(world: World) -> Any:
    with site(world) as served:
        go = threading.Event()
        served.store.count = lambda **_: go.wait(0.4)  # type: ignore[method-assign,assignment]
        try:
            reply: Reply = served.get("count")
            return reply.status
        finally:
            go.set()


SERVING: Final[dict[str, Act]] = {
    "serve.host": Act("0.0.0.0", address),
    "serve.port": Act(59_173, port, {"serve.port": 59_172}),
    "serve.token_env": Act("SERVE_TOKEN", token),
    "serve.rate_limit.requests": Act(1, limited),
    "serve.debug_endpoint": Act(True, traced),
    "serve.audit": Act(False, logged),
    "serve.audit_payloads": Act(True, logged),
    "serve.cors_origins": Act(["http://page.example"], shared),
    "serve.allowed_hosts": Act(["memory.example"], status("GET", "count", Host="memory.example")),
    "serve.max_concurrent": Act(3, at_once(3), {"serve.max_waiting": 0}),
    "serve.max_waiting": Act(0, at_once(3), {"serve.max_wait_ms": 20_000}),
    "serve.max_wait_ms": Act(20, at_once(3, 0.5)),
    "serve.request_timeout_s": Act(0.1, timed_out),
}
