"""A scan of recall: of all memories or of an index's candidates, each text once, and with the
successors of replaced memories.

The exact scan is the definition: whatever keeps the index of a large store from being used, or from
being enough, leads back to it.

A replaced memory is not eligible, yet what matched it is answered by the memory that took its
place, ranked at least where the replaced one would rank: "Parcels go out with DPD" is what a
question about DPD finds, and the successor need not name DPD.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from vestig import indexes
from vestig.errors import VestigError
from vestig.ids import id_bytes
from vestig.language.words import speaks_of_past, speaks_of_previous
from vestig.memories.read import distinct, recalled, text_keys
from vestig.other_words import by_caller
from vestig.ports import (
    AdjustedScan,
    CandidateIndex,
    Progress,
    Scan,
    ScanFunction,
    ScanRequest,
    ScanRow,
)
from vestig.recall.confidence import ROWS_READ
from vestig.recall.named_time import holds_in, named_time
from vestig.recall.stored_questions import with_raised
from vestig.session.session import Session
from vestig.store.projection import candidate_file as files
from vestig.store.records.reads import LedgerView
from vestig.times import to_us
from vestig.types import Status

if TYPE_CHECKING:
    from vestig.recall.query import BoundQuery
    from vestig.recall.ranking import Ranking
    from vestig.recall.request import Request


# Candidates of each kind: more than enough for what is returned.
_CANDIDATES_MIN: Final = 200
_PER_RESULT: Final = 20
# With fewer eligible memories than this part of all, comparing all of them costs less.
_ELIGIBLE_MIN: Final = 0.1
# An index that lacks more than this part of the memories waits for the next compaction.
_NEWER_MAX: Final = 0.1
# A scan in which texts repeat asks for so many times the rows.
_ROWS_GROWTH: Final = 4
# Keyword argument of the core's filter: replaced memories are eligible too.
_WITH_EXPIRED: Final = {"include_expired": True}
# The warning of a result whose scan was not exact.
APPROXIMATE: Final = (
    "approximate: an index, the words and the entities proposed what was compared; statistics"
    " of words and the largest values are those of the proposed"
)

# A scan with this request and these watched ids.
Rescan = Callable[["Request", bytes], Scan]


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
            self._index = indexes.load(found.header.dimensions, found.packed)
        except (OSError, ValueError) as error:
            session.keeper.report(
                "projection_stale",
                f"the index of candidates was dropped ({error}): every vector is compared until"
                f" {by_caller('`vestig housekeeping compact`')} makes it again",
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


def wants_index(session: Session, memories: int) -> bool:
    """Return whether a store of this size is to have an index."""
    above = session.config.settings.index.approximate_above
    return memories > above and session.directory is not None


def build_index(session: Session, progress: Progress | None = None) -> int:
    """Makes the index of a store that is large enough for one; its bytes, 0 when there is none.
    Called by rebuild and compaction, never by commits."""
    folder = _folder(session)
    if folder is None or session.read_only:
        return 0
    with session.ledger.read() as view:
        total = files.count_memories(view)
        if not wants_index(session, total):
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
        index = indexes.build(dimensions, batches())
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
    if not wants_index(session, session.keeper.core.rows):
        return session.keeper.scan

    def scan(seq: int, request: ScanRequest) -> Scan:
        found = _candidates(session, view, seq, request)
        return session.keeper.scan(seq, request) if found is None else found

    return scan


def _candidates(
    session: Session, view: LedgerView, seq: int, request: ScanRequest
) -> AdjustedScan | None:
    """The scan of candidates; None where only the exact one will do."""
    limit, vector = request.limit, request.query.vector
    if vector is None or request.filter.has_ids or request.watch:
        return None
    count = max(_CANDIDATES_MIN, _PER_RESULT * limit)
    near = session.cache(CandidateSet).near(session, view, vector, count)
    if near is None:
        return None
    every = session.keeper.scan(seq, _without_vector(request, count))
    if every.eligible < _ELIGIBLE_MIN * every.stored:
        return None
    proposed = {id_bytes(id) for id in near} | {row.id for row in every.rows}
    chosen = request.filter.with_ids(b"".join(sorted(proposed)))
    found = session.keeper.scan(seq, msgspec.structs.replace(request, filter=chosen))
    if len(found.rows) < min(limit, every.eligible):
        return None
    return AdjustedScan.of(found, stored=every.stored, eligible=every.eligible, approximate=True)


def _without_vector(request: ScanRequest, count: int) -> ScanRequest:
    """The same scan by words, keywords, times and entities alone."""
    return msgspec.structs.replace(
        request,
        query=request.query.without_vector(),
        ranking=request.ranking.without_walk(),
        limit=count,
        pool=count,
    )


def scan_distinct(
    session: Session,
    view: LedgerView,
    scan: ScanFunction,
    request: ScanRequest,
    namespace: str,
    known_at_us: int,
) -> Scan:
    """The scan of a request, with the best `limit` of different text; more rows are asked for
    where memories of one text are among the best."""
    asked = request
    while True:
        found = scan(view.seq, asked)
        ids = [row.id for row in found.rows]
        keys = text_keys(session, view, namespace, ids, known_at_us)
        places = distinct(ids, keys) if keys else range(len(ids))
        if len(places) == len(ids) and asked is request:
            return found
        enough = len(places) >= request.limit
        if enough or len(ids) < asked.limit or asked.limit >= found.eligible:
            break
        asked = msgspec.structs.replace(
            asked, limit=min(_ROWS_GROWTH * asked.limit, found.eligible)
        )
    rows = [found.rows[place] for place in places[: request.limit]]
    shown = {row.id for row in rows}
    watched = {request.watch[at : at + 16] for at in range(0, len(request.watch), 16)}
    return AdjustedScan.of(
        found,
        rows=rows,
        watched=[
            *found.watched,
            *(row for row in found.rows if row.id in watched and row.id not in shown),
        ],
    )


class Succeeded(NamedTuple):
    """The rows of a scan with the successors of replaced memories in their places.

    Attributes:
        evidence: the scan that says how sure the store is: where one was raised, that with the
            replaced ones in it, for what they say is what the successor answers.
        held: replaced memory → successor of those that are found themselves.
        replaced: successor → the best memory that it replaced, by whose words it is found too.
    """

    rows: Sequence[ScanRow]
    evidence: Scan
    held: Mapping[bytes, bytes] = {}
    replaced: Mapping[bytes, bytes] = {}


class Ordered(NamedTuple):
    """Rows in the order of results, successors and answers in the places of what they stand for.

    Args:
        scan: without stored questions that are like the query; `evidence`: the one that says how
            sure the store is of the rows.
        answers: the greatest *answers* of the judge, where it reads them.
        held: replaced memory → successor, of those that held in the time asked about; `holding`:
            all of which that time says that they answer.
    """

    scan: Scan
    rows: Sequence[ScanRow]
    evidence: Scan
    answers: float | None
    held: Mapping[bytes, bytes]
    holding: Collection[bytes]


def with_successors(
    bound: BoundQuery, request: Request, by: Ranking, scan: Scan, rescan: Rescan
) -> Succeeded:
    """Return the rows of a scan, each successor raised to the level and place of the replaced
    memory, if the ranking puts the newest first and the replaced one is among the best few of all:
    how many a call wants changes no order, so that its pages share one.

    A query about a time that is over finds the replaced memory itself where that held in it. A read
    of an earlier time changes nothing: there too the replaced memory itself is found.

    Args:
        scan: that of the request.
    """
    rows = scan.rows
    wide_request = _with_expired(bound, request) if by.newer_first else None
    if wide_request is None:
        return Succeeded(rows, scan)
    wide = rescan(wide_request, b"")
    ranked = {row.id: row for row in rows}
    found, own = wide.rows[:ROWS_READ], [row.id for row in rows[:ROWS_READ]]
    successors = _successors(bound, [row.id for row in found if row.id not in own], own)
    if not successors:
        return Succeeded(rows, scan)
    held = {id: successors.pop(id) for id in _held_then(bound, request, successors)}
    lower = [id for id in dict.fromkeys(successors.values()) if id not in ranked]
    if lower:
        ranked |= {row.id: row for row in rescan(request, b"".join(lower)).watched}
    raised, replaced = dict[bytes, ScanRow](), dict[bytes, bytes]()
    for row in found:
        successor = ranked.get(successors.get(row.id, b""))
        # the best of several that it replaced is the first one
        if successor is None or successor.id in replaced:
            continue
        replaced[successor.id] = row.id
        if successor.final_score < row.final_score:
            raised[successor.id] = successor.replacing(row)
    if not (raised or held):
        return Succeeded(rows, scan, replaced=replaced)
    added = [*raised.values(), *(row for row in found if row.id in held)]
    merged = with_raised([row for row in rows if row.id not in raised], added)
    return Succeeded(merged[: max(len(rows) + len(held), len(added))], wide, held, replaced)


def _held_then(
    bound: BoundQuery, request: Request, successors: Mapping[bytes, bytes]
) -> list[bytes]:
    """The replaced memories that held in the time that a query names, if that is over or the query
    speaks of the past; of one for what was before a time, those that held until then, and of one
    for what was before now, those that the present ones replaced."""
    windows = bound.query.windows
    window = named_time(windows)
    if windows:
        if window is None or window.end is None:
            return []
        over = to_us(window.end) <= request.moments.query_time_us
        if not (over or speaks_of_past(request.query)):
            return []
    elif not speaks_of_previous(request.query):
        return []
    ids = list({*successors, *successors.values()})
    stored = recalled(bound.session, bound.view, bound.request.namespace, ids)
    memories = {id: one.make() for id, one in stored.items()}

    def was(id: bytes, successor: bytes) -> bool:
        memory, ended = memories[id], memories[id].t_invalid
        if window is None:
            return memory.superseded_by == memories[successor].id
        return ended is not None and holds_in(memory.t_valid, ended, window)

    return [id for id, successor in successors.items() if was(id, successor)]


def _with_expired(bound: BoundQuery, request: Request) -> Request | None:
    """The request with replaced memories eligible too; None where that adds none."""
    filter, moments = request.filter, request.moments
    if moments.past or moments.valid_at_us is not None or filter.core["include_expired"]:
        return None
    core = filter.core | _WITH_EXPIRED
    wide = msgspec.structs.replace(request, filter=msgspec.structs.replace(filter, core=core))
    own, count = bound.filter(request), bound.session.keeper.eligible_count
    # where the ledger names no memories, nothing else of the two differs
    more = bound.filter(wide) if filter.needs_ledger else own | _WITH_EXPIRED
    return wide if count(bound.view, more) > count(bound.view, own) else None


def _successors(
    bound: BoundQuery, ids: Sequence[bytes], ranked: Sequence[bytes]
) -> dict[bytes, bytes]:
    """Replaced memory → the one that stands for it now, of those of these that were replaced. A
    text that one of the ranked states again needs nobody to stand for it."""
    namespace = bound.request.namespace
    every = recalled(bound.session, bound.view, namespace, [*ids, *ranked])
    stated = {every[id].digest for id in ranked}
    found = dict[bytes, bytes]()
    heads = {id: id for id in ids if every[id].digest not in stated}
    while heads:
        stored = recalled(bound.session, bound.view, namespace, list(dict.fromkeys(heads.values())))
        memories = {id: one.make() for id, one in stored.items()}
        onward = dict[bytes, bytes]()
        for id, head in heads.items():
            memory = memories[head]
            if memory.status is Status.SUPERSEDED and memory.superseded_by is not None:
                onward[id] = id_bytes(memory.superseded_by)
            elif head != id and memory.status is Status.ACTIVE:
                found[id] = head
        heads = onward
    return found
