"""A server of one store: it listens, tells where, and ends in order."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final

from vestig.api.store import Vestig
from vestig.config.service_sections import ServeSettings
from vestig.session.session import Session
from vestig.surfaces.http.access import Access
from vestig.surfaces.http.app import application
from vestig.surfaces.http.gate import Application
from vestig.surfaces.http.listener import Server, listen
from vestig.surfaces.http.service import Service

_STOP_S: Final = 10
MakeApplication = Callable[[Service, Access], Application]


def server_of(
    service: Service,
    access: Access,
    started: Callable[[], None] = lambda: None,
    make: MakeApplication = application,
) -> Server:
    """A server of a service; the caller gives it a socket. `started` is called when it listens."""
    return Server(make(service, access), service.settings, started, stop_s=_STOP_S)


def serve(
    store: Vestig,
    session: Session,
    settings: ServeSettings,
    say: Callable[[str], None],
    make: MakeApplication = application,
) -> None:
    """Serves a store until a signal ends it.

    Args:
        store: what operations are asked of.
        session: the same store from inside.
        settings: where to listen, and the rest of `serve`.
        say: takes a line with the address.
        make: makes what the server runs.

    Raises:
        ConfigError: an address that others reach and no token; one that cannot be had.
    """
    access = Access.of(settings)
    place = listen(settings.host, settings.port)
    service = Service(store, session, settings)
    host, port = place.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    line = f"Listening on http://{shown}:{port}"
    try:
        server_of(service, access, lambda: say(line), make).run(sockets=[place])
    finally:
        service.close()
        if service.running:
            # threads that nobody waits for: what they write is durable or is not there
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
