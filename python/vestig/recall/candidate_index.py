"""Recall over an index of candidates in large stores. The exact scan is the definition: whatever
keeps the index from being used, or from being enough, leads back to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from vestig import registry
from vestig.errors import VestigError
from vestig.ids import id_bytes
from vestig.ports import CandidateIndex, ChangedScan, Progress, Scan, ScanFunction, ScanRequest
from vestig.session.session import Session
from vestig.store.projection import candidate_file as files
from vestig.store.records.reads import LedgerView

# Candidates of each kind: more than enough for what is returned.
_CANDIDATES_MIN: Final = 200
_PER_RESULT: Final = 20
# With fewer eligible memories than this part of all, comparing all of them costs less.
_ELIGIBLE_MIN: Final = 0.1
# An index that lacks more than this part of the memories waits for the next compaction.
_NEWER_MAX: Final = 0.1
# The warning of a result whose scan was not exact.
APPROXIMATE: Final = (
    "approximate: an index, the words and the entities proposed what was compared; statistics"
    " of words and the largest values are those of the proposed"
)


class CandidateSet:
    """The index of one open store: loaded when it is first needed, and again when it changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._file: files.CandidateFile | None = None
        self._index: CandidateIndex | None = None
        self._seen = 0
        self._newer: set[str] = set()

    def drop(self, _seq: int, /) -> None:
        """Forgetting takes the file of the index away; the next call notices that."""

    def near(
        self, session: Session, view: LedgerView, vector: bytes, count: int
    ) -> set[str] | None:
        """About the nearest memories, and all that are newer than the index; None = no index."""
        with self._lock:
            self._load(session, view)
            if self._file is None or self._index is None:
                return None
            if view.seq > self._seen:
                self._newer |= view.touched_after(self._seen)
                self._seen = view.seq
            if len(self._newer) > _NEWER_MAX * self._file.header.rows:
                return None
            found = self._index.nearest(vector, count)
            return {self._file.id(number) for number in found} | self._newer

    def _load(self, session: Session, view: LedgerView) -> None:
        """Reads the file again when it has changed."""
        folder = _folder(session)
        stamp = None if folder is None else files.stamp(folder)
        if stamp == self._stamp:
            return
        self._stamp, self._file, self._index, self._newer = stamp, None, None, set()
        if folder is None or stamp is None:
            return
        try:
            found = files.read(folder)
            fits = (found.header.model, found.header.dimensions) == _model(session)
            if not fits or not files.is_of_ledger(view, session.ledger.store_uuid, found.header):
                raise ValueError("it is of another state or model")
            self._index = registry.load_index(found.header.dimensions, found.packed)
        except (OSError, ValueError) as error:
            session.keeper.report(
                "projection_stale",
                f"the index of candidates was dropped ({error}): every vector is compared until"
                " `vestig housekeeping compact` makes it again",
            )
            if not session.read_only:
                # what cannot be removed stays and is refused again by the next read
                with suppress(VestigError):
                    files.drop(folder)
            self._stamp = None
            return
        self._file, self._seen = found, found.header.seq


def _folder(session: Session) -> Path | None:
    return None if session.directory is None else session.directory / "projection"


def _model(session: Session) -> tuple[str, int]:
    return session.embedder.model, session.embedder.dimensions


def wanted(session: Session, memories: int) -> bool:
    """Return whether a store of this size is to have an index."""
    above = session.config.settings.index.approximate_above
    return memories > above and session.directory is not None


def build(session: Session, progress: Progress | None = None) -> int:
    """Makes the index of a store that is large enough for one; its bytes, 0 when there is none.
    Called by rebuild and compaction, never by commits."""
    folder = _folder(session)
    if folder is None or session.read_only:
        return 0
    with session.ledger.read() as view:
        total = files.count_memories(view)
        if not wanted(session, total):
            files.drop(folder)
            return 0
        ids: list[bytes] = []

        def batches() -> Iterator[list[bytes]]:
            for some, vectors in files.all_vectors(view):
                ids.extend(some)
                yield vectors
                if progress is not None:
                    progress(len(ids), total)

        model, dimensions = _model(session)
        index = registry.build_index(dimensions, batches())
        header = files.Header(
            store_uuid=session.ledger.store_uuid,
            seq=view.seq,
            head=view.head,
            model=model,
            dimensions=dimensions,
            rows=len(ids),
        )
        try:
            written = files.write(folder, header, b"".join(ids), index.packed())
        except OSError as error:
            raise VestigError(
                f"the index of candidates could not be written ({error.strerror or error});"
                " nothing is lost, every vector is compared; free some space and run `vestig"
                " housekeeping compact` again"
            ) from error
        # A memory that was forgotten meanwhile must not come back by this file.
        with session.ledger.read() as now:
            if now.removed_after(view.seq):
                files.drop(folder)
                return 0
        return written


def scanner(session: Session, view: LedgerView) -> ScanFunction:
    """The scan of a recall: of all eligible memories, or in a large store of those that an index,
    the words and the entities propose, scored exactly."""
    if not wanted(session, session.keeper.core.rows):
        return session.keeper.scan

    def scan(seq: int, request: ScanRequest) -> Scan:
        found = _candidates(session, view, seq, request)
        return session.keeper.scan(seq, request) if found is None else found

    return scan


def _candidates(
    session: Session, view: LedgerView, seq: int, request: ScanRequest
) -> ChangedScan | None:
    """The scan of candidates; None where only the exact one will do."""
    limit, vector = request.limit, request.query.vector
    if vector is None or request.filter.has_ids or request.watch:
        return None
    count = max(_CANDIDATES_MIN, _PER_RESULT * limit)
    near = session.cache(CandidateSet).near(session, view, vector, count)
    if near is None:
        return None
    every = session.keeper.scan(seq, without_vector(request, count))
    if every.eligible < _ELIGIBLE_MIN * every.stored:
        return None
    proposed = {id_bytes(id) for id in near} | {row.id for row in every.rows}
    chosen = request.filter.with_ids(b"".join(sorted(proposed)))
    found = session.keeper.scan(seq, msgspec.structs.replace(request, filter=chosen))
    if len(found.rows) < min(limit, every.eligible):
        return None
    return ChangedScan(
        rows=found.rows,
        watched=found.watched,
        associated=found.associated,
        terms=found.terms,
        stored=every.stored,
        eligible=every.eligible,
        scored=found.scored,
        walked=found.walked,
        unembedded=found.unembedded,
        idfs=found.idfs,
        document_frequencies=found.document_frequencies,
        dates_met=found.dates_met,
        pool_means=found.pool_means,
        approximate=True,
    )


def without_vector(request: ScanRequest, count: int) -> ScanRequest:
    """The same scan by words, keywords, times and entities alone."""
    return msgspec.structs.replace(
        request,
        query=request.query.without_vector(),
        ranking=request.ranking.without_walk(),
        limit=count,
        pool=count,
    )
