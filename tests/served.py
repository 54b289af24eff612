"""A server of a small store in this process, on a port of its own, and a client that says what
came back."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from vestig.api.store import Vestig
from vestig.calls.opening import OpenRequest
from vestig.config import Config, load
from vestig.config.service_sections import ServeSettings
from vestig.ports import Clock, LanguageModel
from vestig.session.opening import open_session
from vestig.surfaces.http.access import Access
from vestig.surfaces.http.app import application
from vestig.surfaces.http.listener import listen
from vestig.surfaces.http.server import MakeApplication, server_of
from vestig.surfaces.http.service import OneStore, Service
from vestig.testing import HashingEmbedder

__all__ = [
    "Reply",
    "Site",
    "raw",
    "running",
    "serving",
    "serving_config",
    "serving_store",
    "still_open",
]

JSON = {"Content-Type": "application/json"}
_UNSET = object()


class Reply(NamedTuple):
    """One answer, read whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a problem."""
        assert self.headers["content-type"] == "application/problem+json", self
        return str(self.document["type"]).removeprefix("urn:vestig:problem:")


class Site(NamedTuple):
    """A server that runs: its store, its service and its port."""

    store: Vestig
    service: Service
    port: int

    def ask(
        self,
        method: str,
        path: str,
        body: Any = _UNSET,
        headers: Mapping[str, str] | None = None,
        *,
        timeout: float = 30,
    ) -> Reply:
        """One request on a connection of its own; a body that is no bytes is sent as JSON."""
        if not path.startswith("/"):
            path = f"/api/memory/{path}"
        sent: dict[str, str] = dict(headers or {})
        data = None
        if isinstance(body, bytes):
            data = body
        elif body is not _UNSET:
            data = json.dumps(body).encode()
            sent = {**JSON, **sent}
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            link.request(method, path, data, sent)
            answer = link.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, named, answer.read())
        finally:
            link.close()

    def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Reply:
        return self.ask("POST", path, body, headers)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        return self.ask("GET", path, headers=headers)

    def commit(self, text: str, **fields: Any) -> str:
        """Stores a text and gives its id."""
        reply = self.post("commit", {"content": text, **fields})
        assert reply.status in (200, 201), reply
        return str(reply.document["memory_id"])


def raw(port: int, data: bytes, *, timeout: float = 10) -> bytes:
    """Everything that a server answers to these bytes, until it closes or falls silent."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as link:
        link.settimeout(timeout)
        try:
            link.sendall(data)
            link.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        found = b""
        try:
            while part := link.recv(65_536):
                found += part
        except OSError:
            pass
        return found


# Limits of a server that no key sets, by the names that tests call them.
_HTTP: Final = "vestig.surfaces.http"
LIMITS: Final = {
    "body_bytes_max": f"{_HTTP}.service.BODY_BYTES_MAX",
    "import_bytes_max": f"{_HTTP}.imports.IMPORT_BYTES_MAX",
    "connections_max": f"{_HTTP}.listener.CONNECTIONS_MAX",
    "connections_per_client_max": f"{_HTTP}.listener.CONNECTIONS_PER_CLIENT_MAX",
}


@contextmanager
def serving(
    folder: Path | None,
    environ: Mapping[str, str] | None = None,
    *,
    llm: LanguageModel | None = None,
    **serve: Any,
) -> Iterator[Site]:
    """A server of the store in `folder` (None: in memory), with keys of `serve` and `LIMITS` as
    given."""
    overrides: dict[str, Any] = {
        f"serve.{name}": value for name, value in serve.items() if name not in LIMITS
    }
    overrides["store.path"] = ":memory:" if folder is None else str(folder)
    config = load(environ=dict(environ or {}), overrides=overrides)
    with pytest.MonkeyPatch.context() as patch:
        for name in LIMITS.keys() & serve.keys():
            patch.setattr(LIMITS[name], serve[name])
        with serving_config(config, llm=llm) as site:
            yield site


@contextmanager
def serving_config(
    config: Config, clock: Clock | None = None, llm: LanguageModel | None = None
) -> Iterator[Site]:
    """A server of the store that a configuration names."""
    session = open_session(
        OpenRequest(config=config, embedder=HashingEmbedder(), clock=clock, llm=llm)
    )
    with Vestig(session) as store, serving_store(store) as site:
        yield site


@contextmanager
def serving_store(
    store: Vestig,
    settings: ServeSettings | None = None,
    make: MakeApplication = application,
) -> Iterator[Site]:
    """A server of a store that is open; settings of None are its own."""
    settings = store._session.config.settings.serve if settings is None else settings
    service = Service(OneStore(store), settings)
    with running(service, Access.of(settings), make) as port:
        yield Site(store, service, port)


@contextmanager
def running(service: Service, access: Access, make: MakeApplication = application) -> Iterator[int]:
    """A server of a service: its port."""
    place = listen("127.0.0.1", 0)
    server = server_of(service, access, make=make)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield place.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(timeout=20)
        service.close()
        assert not thread.is_alive(), "a server ends when it is told to"


def still_open(links: list[socket.socket]) -> int:
    """How many connections the server has not closed."""
    count = 0
    for link in links:
        link.setblocking(False)
        try:
            link.recv(1)
        except BlockingIOError:
            count += 1
        except OSError:
            pass
    return count
