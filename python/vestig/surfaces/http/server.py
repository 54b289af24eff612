"""A server: it listens, tells where, and ends in order."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final

from vestig.config.service_sections import ServeSettings
from vestig.surfaces.http.access import Access
from vestig.surfaces.http.app import application
from vestig.surfaces.http.gate import Application
from vestig.surfaces.http.listener import Server, listen
from vestig.surfaces.http.service import Service, Stores

_STOP_S: Final = 10
# So long a thread computes before another one that waits for the interpreter has its turn: a recall
# asks for it many times, and would wait each time for what takes long.
_SWITCH_S: Final = 0.0005
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
    stores: Stores,
    access: Access,
    settings: ServeSettings,
    say: Callable[[str], None],
    make: MakeApplication = application,
    *,
    served: str = "",
) -> None:
    """Serves stores until a signal ends it.

    Args:
        access: who may ask.
        settings: where to listen, and the rest of `serve`.
        say: takes a line with the address.
        make: makes what the server runs.
        served: a line behind it, that says what is served.

    Raises:
        ConfigError: an address that cannot be had.
    """
    sys.setswitchinterval(_SWITCH_S)
    place = listen(settings.host, settings.port)
    service = Service(stores, settings)
    host, port = place.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    line = f"Listening on http://{shown}:{port}" + (f"\n{served}" if served else "")
    try:
        server_of(service, access, lambda: say(line), make).run(sockets=[place])
    finally:
        service.close()
        if service.running:
            # threads that nobody waits for: what they write is durable or is not there
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
