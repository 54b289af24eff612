"""Tenants behind one server: which one a request asks is told by its token alone.

A request without a token, one with a token that nobody made, that was revoked or has ended, and one
for a tenant that is gone are answered alike.
"""

from __future__ import annotations

import asyncio
import hmac
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Final

from vestig.api.store import Vestig
from vestig.config import Config
from vestig.errors import NotFoundError, StoreLockedError, VestigError
from vestig.fleet.pool import TenantPool
from vestig.fleet.tokens import Grant, TokenCache, hash_of, is_token
from vestig.session.observer import Metrics
from vestig.session.session import no_folder, system_clock
from vestig.store.replication.postgres import Database
from vestig.store.replication.tokens import find
from vestig.surfaces import wire
from vestig.surfaces.http.access import (
    Access,
    Headers,
    Refusal,
    bearer_token,
    busy,
    header,
    hosts_of,
    token_of,
)
from vestig.surfaces.http.health import FleetHealth
from vestig.times import to_us

TENANT_HEADER: Final = b"x-vestig-tenant"
# Tokens that are looked up at once, and that wait for it: those that nobody made are no burden.
_LOOK_UPS: Final = 2
_WAITING_MAX: Final = 64
# So often PostgreSQL is asked for its health, however often the server is, and so long it may take.
_HEALTH_S: Final = 1.0
# What the token of the server itself lets a request do: see its counters.
_SERVER: Final = Grant(tenant="", identity=b"", rights="read")


def unknown_token() -> Refusal:
    """Return what a request is told that no tenant is known for."""
    return Refusal(
        "unauthorized",
        "Authorization: expected Bearer and a token of a tenant",
        headers={"WWW-Authenticate": "Bearer"},
    )


class TokenLookUps:
    """Grants of tokens, for one event loop: from the cache where they are there, else from
    PostgreSQL, in threads of their own and once for all requests that wait for the same token."""

    def __init__(self, cache: TokenCache) -> None:
        self._cache = cache
        self._threads = ThreadPoolExecutor(_LOOK_UPS, thread_name_prefix="vestig-token")
        self._asked: dict[bytes, asyncio.Future[Grant | None]] = {}
        self._watching: asyncio.Task[None] | None = None

    async def grant(self, token: str) -> Grant | None:
        """Return what a token lets a request do; None: there is no such token.

        Raises:
            StoreLockedError: PostgreSQL does not answer, and the token is not remembered.
            Refusal: too many tokens are looked up already.
        """
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())
        hash = hash_of(token)
        found = self._cache.known(hash)
        if found is None:
            return await asyncio.shield(self._ask(hash))
        if found.grant is not None and self._cache.is_aging(found) and not self._is_full:
            self._ask(hash)
        return found.grant

    async def _watch(self) -> None:
        """Looks tokens up again that no request brings."""
        while True:
            await asyncio.sleep(self._cache.period_s)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._threads, self._cache.look_up_again)

    @property
    def _is_full(self) -> bool:
        return len(self._asked) >= _WAITING_MAX

    def _ask(self, hash: bytes) -> asyncio.Future[Grant | None]:
        asked = self._asked.get(hash)
        if asked is not None:
            return asked
        if self._is_full:
            raise busy()
        loop = asyncio.get_running_loop()
        asked = loop.run_in_executor(self._threads, self._cache.look_up, hash)
        self._asked[hash] = asked
        asked.add_done_callback(lambda done: self._answered(hash, done))
        return asked

    def _answered(self, hash: bytes, done: asyncio.Future[Grant | None]) -> None:
        del self._asked[hash]
        if not done.cancelled():
            # one that nobody waits for is asked again by the next request, until the lease ends
            done.exception()


class FleetAccess(Access, frozen=True, kw_only=True):
    """The rules of a server of tenants. Its own token, where it has one, shows its counters."""

    look_ups: TokenLookUps
    choosing: ClassVar[tuple[bytes, ...]] = (TENANT_HEADER,)
    of_tenants: ClassVar[bool] = True

    async def grant(self, headers: Headers) -> Grant:
        """Return the tenant and the rights of the token that a request carries.

        Raises:
            Refusal: it carries none, or names another tenant than that of its token.
            StoreLockedError: PostgreSQL does not answer.
        """
        token, named = bearer_token(headers), header(headers, TENANT_HEADER)
        found = None
        if self.is_own(token):
            found = _SERVER
        elif is_token(token):
            found = await self.look_ups.grant(token)
        if found is None:
            raise unknown_token()
        if named is not None and not hmac.compare_digest(named.encode(), found.tenant.encode()):
            raise unknown_token()
        return found


def fleet_access(config: Config, database: Database) -> FleetAccess:
    """The rules that the configuration gives.

    Raises:
        ConfigError: a variable of a token that is not set, or holds what no header can carry.
    """
    settings, fleet = config.settings.serve, config.settings.fleet
    cache = TokenCache(partial(find, database), max_offline_s=fleet.max_offline_s)
    return FleetAccess(
        token=token_of(settings),
        hosts=hosts_of(settings),
        cors_origins=frozenset(settings.cors_origins),
        look_ups=TokenLookUps(cache),
    )


class FleetStores:
    """The tenants of a database, as the requests of a server ask them."""

    def __init__(self, pool: TenantPool, config: Config) -> None:
        self._pool = pool
        self.config = config
        self.dimensions = pool.dimensions
        self.namespace = config.settings.namespace
        self.counters = Metrics()
        # of its own, so that health is told soon where PostgreSQL hangs
        self._probe = Database(pool.database.address, _HEALTH_S)
        self._lock = threading.Lock()
        self._looked_at = float("-inf")
        self._answers = True

    @property
    def folder(self) -> Path | None:
        """See `Stores`: the folder of all copies."""
        return self._pool.folder

    def now_us(self) -> int:
        """See `Stores`."""
        return to_us(system_clock())

    @contextmanager
    def lease(self, grant: Grant | None) -> Iterator[Vestig]:
        """See `Stores`.

        Raises:
            Refusal: 401, there is no such tenant any more.
        """
        if grant is None or not grant.tenant:
            raise unknown_token()
        try:
            with self._pool.lease(grant.tenant, grant.identity) as store:
                store._session.folder = no_folder
                yield store
        except NotFoundError as error:
            if error.kind != "Tenant":
                raise
            raise unknown_token() from None

    def health(self, _: VestigError | None) -> tuple[int, dict[str, Any]]:
        """See `Stores`: of the server, for those who have no token; of no tenant. Reads go on for
        a while where PostgreSQL is away, so that the server is degraded then."""
        answers = self._postgresql_answers()
        found = FleetHealth(
            status="healthy" if answers else "degraded",
            postgresql="ok" if answers else "away",
            version=version("vestig"),
        )
        return 200, wire.document("fleet_health", found)

    def _postgresql_answers(self) -> bool:
        with self._lock:
            if time.monotonic() - self._looked_at < _HEALTH_S:
                return self._answers
            try:
                self._probe.ask("SELECT 1")
                self._answers = True
            except StoreLockedError:
                self._answers = False
            self._looked_at = time.monotonic()
            return self._answers

    def metrics(self, grant: Grant | None) -> Mapping[str, float]:
        """See `Stores`: with the token of a tenant its counters on this server; with that of the
        server its own, which name no tenant."""
        if grant is not None and grant.tenant:
            with self.lease(grant) as store:
                # counters alone would be told of a tenant that is gone
                store._session.follow_tenant()
                return store.admin.metrics()
        return {
            **self.counters.snapshot(),
            "vestig_open_tenants": float(len(self._pool.open_tenants)),
        }
