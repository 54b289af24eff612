"""Open tenants of one process, at most so many at rest."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from vestig.api.store import Vestig
from vestig.calls.opening import OpenRequest
from vestig.config import Config
from vestig.embedders.checked import checked_embedder
from vestig.errors import ConflictError
from vestig.ports import CommitHook, Embedder
from vestig.registry import make_embedder, make_language_model, make_reranker
from vestig.session.opening import open_session
from vestig.session.tenant import cache_folder, poller_of, tenant_name
from vestig.store.replication.postgres import Database

_Key: TypeAlias = tuple[str, bytes | None]


class _Place:
    """A tenant in the pool. Who holds `changing` sets `store`; the rest is the pool's lock's."""

    def __init__(self) -> None:
        self.changing = threading.Lock()
        self.store: Vestig | None = None
        # leases, those that wait for the tenant to be opened, and who closes it
        self.users = 0
        self.closing = False


class TenantPool:
    """Open tenants of the database that `store.path` names; thread-safe. All of them share one
    embedder, one reranker and one language model.

    At most `fleet.max_open` of them stay open, the ones that were used last; one that is leased is
    never closed, so that more are open while more are in use. Their files stay.

    Args:
        config: its `store.tenant` is not looked at.
        embedder: in the place of the configured one.
        on_commit: see `vestig.open`.
        worker: each open tenant has a thread that works the jobs which commits leave.
    """

    def __init__(
        self,
        config: Config,
        *,
        embedder: Embedder | None = None,
        on_commit: CommitHook | None = None,
        worker: bool = False,
    ) -> None:
        settings = config.settings
        given = embedder
        self._embedder = (
            make_embedder(settings.embedding) if given is None else checked_embedder(given)
        )
        self._reranker = make_reranker(settings.reranker)
        self._language_model = make_language_model(settings.llm)
        self._config = config
        # kept while no tenant is open, with its connections
        self._poller = poller_of(settings)
        self._on_commit = on_commit
        self._worker = worker
        self._max_open = settings.fleet.max_open
        self._lock = threading.Lock()
        # by name and identity; the one that was used last stands last
        self._places: OrderedDict[_Key, _Place] = OrderedDict()
        self._closed = False

    def __enter__(self) -> TenantPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def database(self) -> Database:
        """Return where the tenants are."""
        return self._poller.database

    @property
    def folder(self) -> Path:
        """Return where the copies lie."""
        return cache_folder(self._config.settings.fleet.cache_dir)

    @property
    def dimensions(self) -> int:
        """Return the dimensions of the vectors."""
        return self._embedder.dimensions

    @property
    def open_tenants(self) -> tuple[str, ...]:
        """The names of those that are open, the one that was used last at the end."""
        with self._lock:
            return tuple(key[0] for key, place in self._places.items() if place.store is not None)

    @contextmanager
    def lease(self, tenant: object, identity: bytes | None = None) -> Iterator[Vestig]:
        """The open store of a tenant, which stays open inside the `with` block; several threads may
        hold it at once. While one tenant is opened or closed, others are leased. The store belongs
        to the pool: its user does not close it.

        Args:
            identity: of the tenant that is meant: where it was dropped and another one has its
                name, there is no such tenant. By default any.

        Raises:
            ValidationError: no name of a tenant.
            ConflictError: the pool is closed.
            NotFoundError, StoreLockedError, StoreDamagedError: see `vestig.open`.
        """
        key = tenant_name(tenant), identity
        place = self._take(key)
        try:
            with place.changing:
                if place.store is None:
                    self._make_room(but=1)
                    place.store = self._open(*key)
                store = place.store
            yield store
        finally:
            self._give_back(key, place)
            self._make_room(but=0)

    def close(self) -> None:
        """Closes the tenants; one that is leased is closed when it is given back. Idempotent."""
        with self._lock:
            self._closed = True
        self._make_room(but=0)

    def _take(self, key: _Key) -> _Place:
        with self._lock:
            if self._closed:
                raise ConflictError("this pool of tenants is closed: make another one")
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
            place.users += 1
            return place

    def _give_back(self, key: _Key, place: _Place) -> None:
        with self._lock:
            place.users -= 1
            # what could not be opened, or was closed, is forgotten with its last user
            if place.store is None and not place.users:
                del self._places[key]

    def _open(self, name: str, identity: bytes | None) -> Vestig:
        request = OpenRequest(
            path=self._config.settings.store.path,
            tenant=name,
            config=self._config,
            embedder=self._embedder,
            reranker=self._reranker,
            llm=self._language_model,
            on_commit=self._on_commit,
        )
        return Vestig(open_session(request, identity=identity), worker=self._worker)

    def _make_room(self, *, but: int) -> None:
        """Closes tenants that nobody uses until room for `but` more is left."""
        while (found := self._take_idle(but)) is not None:
            key, place = found
            try:
                with place.changing:
                    store = self._take_store(place)
                    if store is not None:
                        store.close()
            finally:
                self._give_back(key, place)

    def _take_store(self, place: _Place) -> Vestig | None:
        """The store of a place, to be closed; None where somebody has leased it meanwhile."""
        with self._lock:
            place.closing = False
            if place.users > 1:
                return None
            store, place.store = place.store, None
            return store

    def _take_idle(self, but: int) -> tuple[_Key, _Place] | None:
        """The tenant whose use lies back longest, if there are too many."""
        most = 0 if self._closed else max(0, self._max_open - but)
        with self._lock:
            if len(self._places) <= most:
                return None
            open_ = [
                (key, one)
                for key, one in self._places.items()
                if one.store is not None and not one.closing
            ]
            for key, place in open_ if len(open_) > most else ():
                if not place.users:
                    place.users, place.closing = 1, True
                    return key, place
        return None
