"""Answers to writes with a key, kept in the ledger: a write is done once, and answered alike each
time it comes again."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from vestig.errors import (
    ConflictError,
    Description,
    StoreFullError,
    ValidationError,
    VestigError,
)
from vestig.lazy_pattern import lazy_pattern
from vestig.session.session import Session, answers_kept_by
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import StoredAnswer
from vestig.store.records.store_rows import ORIGIN, UUID, read_setting
from vestig.store.sqlite.connections import store_faults

if TYPE_CHECKING:
    from vestig.store.records.writes import WriteTransaction

_KEY: Final = lazy_pattern(r"[\x21-\x7e]{1,128}")
# A day: a client that tries again does so sooner.
_KEPT_US: Final = 86_400 * 1_000_000
_KEPT_KEY_BYTES: Final = 32
_NOT_KEPT: Final = (
    "the request was done, and what it did stays; the disk of the store is full, so that its answer"
    " was not kept for the Idempotency-Key. Send it again without the key, or once there is room"
)


def checked_key(key: str) -> str:
    """The value of an Idempotency-Key.

    Raises:
        ValidationError: not 1 to 128 visible ASCII characters.

    Example:
        >>> checked_key("order-17")
        'order-17'
    """
    if not _KEY.fullmatch(key):
        raise ValidationError(
            "Idempotency-Key",
            Description(f"{len(key)} characters"),
            "1 to 128 visible ASCII characters",
        )
    return key


def _kept_key(view: LedgerView, key: str) -> str:
    """The keyed hash that a store keeps of a key, which may be a secret of the client; the same in
    every store that an export of this one became."""
    with store_faults(view.where):
        own = read_setting(view.connection, ORIGIN) or read_setting(view.connection, UUID) or b""
    return hashlib.blake2b(key.encode(), digest_size=_KEPT_KEY_BYTES, key=own).hexdigest()


class WriteKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key in a namespace, and the SHA-256 of the request that it stands for."""

    namespace: str
    key: str
    request_hash: bytes

    @classmethod
    def of(cls, namespace: str, key: str, route: str, body: bytes) -> WriteKey:
        """Of a request's route and body."""
        digest = hashlib.sha256(route.encode() + b"\0" + body).digest()
        return cls(namespace=namespace, key=key, request_hash=digest)


class KeptAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Status and body of an answer; `replayed`: of an earlier request."""

    status: int
    body: bytes
    replayed: bool = False


class RunningKeys:
    """The keys of the writes that run in this process."""

    def __init__(self) -> None:
        self._names: set[tuple[str, ...]] = set()
        self._lock = threading.Lock()

    @contextmanager
    def held(self, *name: str) -> Iterator[None]:
        """Within it no other request runs with this key.

        Raises:
            ConflictError: one does already.
        """
        with self._lock:
            if name in self._names:
                raise ConflictError(
                    "Idempotency-Key: a request with this key is in progress; ask again later"
                )
            self._names.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._names.discard(name)


class KeptAnswers:
    """The answers to writes with a key, in the ledger of one store. That of a tenant has the keys
    of all servers.

    Args:
        fresh: brings a copy of a tenant up to now.
        running: the keys of all requests of the server.
    """

    def __init__(self, session: Session, fresh: Callable[[], object], running: RunningKeys) -> None:
        self._session = session
        self._fresh = fresh
        self._running = running

    def answer(
        self,
        key: WriteKey,
        run: Callable[[], object],
        shown: Callable[[object], KeptAnswer],
        *,
        within: bool,
    ) -> KeptAnswer:
        """The kept answer, or the one that `run` gives now, which is then kept.

        Args:
            key: the request's.
            run: the operation.
            shown: its result as an answer.
            within: whether the answer is written in the operation's own transaction; else after
                it, for operations that leave the same when they are done again.

        Raises:
            ConflictError: a request with this key is running, or its answer was erased.
            ValidationError: the key stands for another request.
        """
        tenant = self._session.tenant
        of_tenant = "" if tenant is None else tenant.copy.tenant
        with self._running.held(of_tenant, key.namespace, key.key):
            stored = self._newest_answer(key)
            if stored is not None:
                return stored
            try:
                return self._made(key, run, shown, within=within)
            except VestigError:
                # another server or process may have done the same request meanwhile, so that this
                # one met what it left
                stored = self._newest_answer(key)
                if stored is None:
                    raise
                return stored

    def _newest_answer(self, key: WriteKey) -> KeptAnswer | None:
        """The kept answer, of whichever server of the tenant; that of a plain store is always
        there."""
        self._fresh()
        return self._stored_answer(key)

    def _stored_answer(self, key: WriteKey) -> KeptAnswer | None:
        since_us = self._session.now_us() - _KEPT_US
        with self._session.ledger.read() as view:
            kept = _kept_key(view, key.key)
        stored = self._session.ledger.answer_of(key.namespace, kept, since_us=since_us)
        if stored is None:
            return None
        if stored.response is None:
            raise ConflictError(
                "Idempotency-Key: the request was done, and its answer was erased when a memory"
                " that it named was forgotten"
            )
        if stored.request_hash != key.request_hash:
            raise ValidationError(
                "Idempotency-Key",
                Description("one of another request"),
                "a key that no other request has used",
            )
        return KeptAnswer(status=stored.status, body=stored.response.encode(), replayed=True)

    def _made(
        self,
        key: WriteKey,
        run: Callable[[], object],
        shown: Callable[[object], KeptAnswer],
        *,
        within: bool,
    ) -> KeptAnswer:
        written = False

        def keep(txn: WriteTransaction, result: object) -> None:
            nonlocal written
            self._keep(txn, key, shown(result))
            written = True

        if not within:
            answer = shown(run())
        else:
            with answers_kept_by(keep):
                answer = shown(run())
        if not written and self._session.ledger.missing is None:
            try:
                with self._session.ledger.write(self._session.now_us(), make=False) as txn:
                    self._keep(txn, key, answer)
            except StoreFullError as error:
                raise StoreFullError(str(error), shown=_NOT_KEPT) from error
        return answer

    def _keep(self, txn: WriteTransaction, key: WriteKey, answer: KeptAnswer) -> None:
        now_us = self._session.now_us()
        stored = StoredAnswer(
            _kept_key(txn, key.key), key.request_hash, answer.status, answer.body.decode(), now_us
        )
        txn.keep_answer(key.namespace, stored, since_us=now_us - _KEPT_US)
