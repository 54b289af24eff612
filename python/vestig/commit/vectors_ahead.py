"""Vectors of the part of a batch that follows, made while the part before it is written.

Invariants: one thread at most, one part ahead at most; it only asks the embedder, so what is
stored, in which order and with which errors, is the same without it. `close` leaves no thread
behind, and no fork happens while the embedder is asked here.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Final

from vestig.commit.item import Item
from vestig.ports import Pieces
from vestig.session.embedding import check_identity, embed_memories, embedded_text
from vestig.session.session import Session
from vestig.store.sqlite import processes
from vestig.telemetry import span
from vestig.turns import is_shared

# Text → its vector, and codes of its word pieces.
Made = dict[str, tuple[bytes, Pieces | None]]
# `close` and a fork wait for one call of the embedder.
_TEXTS_PER_CALL: Final = 128


def embedded_as(item: Item) -> str:
    """The text that is embedded of an item: items alike share a vector."""
    return embedded_text(item.text, item.request.author, item.claim)


class _Run:
    """One part's texts on their way through the embedder."""

    def __init__(self, session: Session, wanted: list[str]) -> None:
        self.wanted = wanted
        self.made: Made = {}
        self.error: Exception | None = None
        self._session = session
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="vestig-embed-ahead", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            check_identity(self._session)
            for start in range(0, len(self.wanted), _TEXTS_PER_CALL):
                if self._stopped:
                    return
                part = self.wanted[start : start + _TEXTS_PER_CALL]
                with processes.inside():
                    made, _ = embed_memories(self._session, part)
                self.made.update(zip(part, made, strict=True))
        except Exception as error:  # raised again by the part that needs these vectors
            self.error = error

    def end(self) -> None:
        """Waits until all are made. A thread that a fork left in the parent is not waited for."""
        self._thread.join()

    def stop(self) -> None:
        """Waits for the call that the embedder is answering, and gives up the rest."""
        self._stopped = True
        self._thread.join()


class VectorsAhead:
    """Embeds the texts of the next part while one is written. A context: leaving it ends the
    thread, also by an error or Ctrl-C."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._planned: list[str] = []
        # of the part whose turn it is, and of the one after it
        self._current: _Run | None = None
        self._next: _Run | None = None

    def __enter__(self) -> VectorsAhead:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for run in (self._current, self._next):
            if run is not None:
                run.stop()
        self._current = self._next = None

    def embed_ahead(self, items: Sequence[Item], following: Sequence[Item]) -> None:
        """`items` are decided and written now, `following` after them ([]: nothing is embedded
        ahead). Texts that the store or `items` have are left to their own turn."""
        if self._current is not None:
            self._current.stop()
        self._current, self._next = self._next, None
        fresh = [one for one in following if one.outcome is None and not one.request.dry_run]
        fresh = [one for one in fresh if one.request.claim is None]
        known = {(one.request.namespace, one.content_hash) for one in items} if fresh else set()
        for space in dict.fromkeys(one.request.namespace for one in fresh):
            hashes = [one.content_hash for one in fresh if one.request.namespace == space]
            with self._session.ledger.read() as view:
                known |= {(space, hash) for hash in view.known_hashes(space, hashes)}
        new = [one for one in fresh if (one.request.namespace, one.content_hash) not in known]
        self._planned = list(dict.fromkeys(map(embedded_as, new)))

    def begin(self) -> None:
        """The embedder has answered for the part whose turn it is: the texts of the next one go to
        it."""
        planned, self._planned = self._planned, []
        # a thread of its own would go on while others have the place of this call
        if planned and not is_shared():
            self._next = _Run(self._session, planned)

    def made_of(self, wanted: Collection[str]) -> Made:
        """Vectors of those of these texts that were embedded ahead.

        Raises:
            ProviderError: the embedder failed at them.
        """
        run = self._current
        if run is None:
            return {}
        with span("embed", texts=len(run.wanted)):
            run.end()
        if run.error is not None and not set(run.wanted).isdisjoint(wanted):
            raise run.error
        return {one: run.made[one] for one in wanted if one in run.made}
