"""Writes with a key: done once, and answered alike each time the request comes again."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from vestig.errors import ConflictError, ValidationError
from vestig.lazy_pattern import lazy_pattern
from vestig.session.session import Session
from vestig.session.transaction import answers_kept_by
from vestig.store.records.values import StoredAnswer

if TYPE_CHECKING:
    from vestig.store.records.writes import WriteTransaction

_KEY: Final = lazy_pattern(r"[\x21-\x7e]{1,128}")
# A day: a client that tries again does so sooner.
_KEPT_US: Final = 86_400 * 1_000_000


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
            "Idempotency-Key", f"{len(key)} characters", "1 to 128 visible ASCII characters"
        )
    return key


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


class KeptAnswers:
    """The answers to writes with a key, in the ledger of one store."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._running: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

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
        name = (key.namespace, key.key)
        with self._lock:
            if name in self._running:
                raise ConflictError(
                    "Idempotency-Key: a request with this key is in progress; ask again later"
                )
            self._running.add(name)
        try:
            return self._stored_answer(key) or self._made(key, run, shown, within=within)
        finally:
            with self._lock:
                self._running.discard(name)

    def _stored_answer(self, key: WriteKey) -> KeptAnswer | None:
        since_us = self._session.now_us() - _KEPT_US
        stored = self._session.ledger.answer_of(key.namespace, key.key, since_us=since_us)
        if stored is None:
            return None
        if stored.response is None:
            raise ConflictError(
                "Idempotency-Key: the request was done, and its answer was erased when a memory"
                " that it named was forgotten"
            )
        if stored.request_hash != key.request_hash:
            raise ValidationError(
                "Idempotency-Key", "one of another request", "a key that no other request has used"
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
            with self._session.ledger.write(self._session.now_us(), make=False) as txn:
                self._keep(txn, key, answer)
        return answer

    def _keep(self, txn: WriteTransaction, key: WriteKey, answer: KeptAnswer) -> None:
        now_us = self._session.now_us()
        stored = StoredAnswer(
            key.key, key.request_hash, answer.status, answer.body.decode(), now_us
        )
        txn.keep_answer(key.namespace, stored, since_us=now_us - _KEPT_US)
