"""A store of labelled benchmarks: folders are imported as a user imports them, and a question is
one call of the core, with every signal that it weighs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

from benchmarks.confidence import Case
from benchmarks.reader import Benchmark, Query
from benchmarks.run import (
    CachedEmbedder,
    StoredUnits,
    import_benchmark,
    stored_units,
)
from vestig.api.store import Vestig
from vestig.calls.declaration import checked
from vestig.calls.queries import RecallRequest
from vestig.config import Config
from vestig.ids import id_bytes, id_text, repeatable_ids
from vestig.ports import Scan
from vestig.recall.judged import Judgements
from vestig.recall.query import BoundQuery, Ranked, analyse, request_of, scan_together
from vestig.recall.unread import each_known, read_when_known
from vestig.session.embedding import query_vectors
from vestig.session.opening import MEMORY_PATH, OpenRequest, load_config, open_session
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView

PAGE = 1_000
# Questions that are asked together.
AT_ONCE = 16


def unit_of(conversation: str | None, unit: str) -> str:
    """The id of a unit, unique over all conversations."""
    return f"{conversation}\t{unit}"


def check_named_once(benchmarks: Sequence[Benchmark]) -> None:
    """Checks that no two benchmarks have a conversation of one name: one store holds all of them.

    Raises:
        SystemExit: a benchmark repeats a name.
    """
    names = set[str | None]()
    for one in benchmarks:
        if not names.isdisjoint(one.units):
            raise SystemExit(
                f"{one.name}: expected conversations of names of their own, since ids of units"
                " repeat between folders; it has names of a folder before it"
            )
        names.update(one.units)


class BenchmarkStore:
    """Benchmarks in one store in memory, each conversation a scope.

    Args:
        benchmarks: what is imported.
        settings: keys that differ from the built-in ones, for the import and for every question.
    """

    def __init__(
        self,
        benchmarks: Sequence[Benchmark],
        vectors: CachedEmbedder,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        config = load_config(None, None).with_overrides(dict(settings or {}))
        self.session: Session = open_session(
            OpenRequest(path=MEMORY_PATH, config=config, embedder=vectors)
        )
        self.store = Vestig(self.session)
        self.stored: dict[str, StoredUnits] = {}
        self._vectors = vectors
        for benchmark in benchmarks:
            vectors.embed([query.text for query in benchmark.queries])
            with repeatable_ids(benchmark.digest):
                import_benchmark(self.store, benchmark)
            self.stored[benchmark.name] = stored_units(self.store, benchmark)

    def __enter__(self) -> BenchmarkStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()

    @cached_property
    def memories(self) -> dict[str | None, list[Any]]:
        """By scope, in the order of the ledger."""
        found: dict[str | None, list[Any]] = {}
        offset = 0
        while page := self.store.list(offset=offset, limit=PAGE).memories:
            offset += len(page)
            for memory in page:
                found.setdefault(memory.scope, []).append(memory)
        for rows in found.values():
            rows.sort(key=lambda memory: (memory.seq, memory.id))
        return found

    def units(self, id: str) -> tuple[str, ...]:
        """The units of a memory, named by `unit_of`."""
        return tuple(
            unit_of(stored.scope_of[id], unit)
            for stored in self.stored.values()
            for unit in stored.units_of.get(id, ())
        )

    def config(self, settings: Mapping[str, Any]) -> Config:
        """The store's configuration with other values."""
        return self.session.config.with_overrides(dict(settings))

    def scan(self, text: str, config: Config, watch: Sequence[str] = (), **fields: Any) -> Scan:
        """The exact scan of a question; `fields` as of `recall`."""
        session = self.session
        request = request_of(session, config, checked(RecallRequest, {"query": text, **fields}))
        [(vector, pieces)] = query_vectors(session, [request.query], late=True)
        query = analyse(session, config, request, vector, pieces)
        watched = b"".join(map(id_bytes, watch))
        return session.keeper.run(
            lambda view, _: BoundQuery(session, view, query).scan(watch=watched)
        )

    def ranked(
        self, texts: Sequence[str], *, limit: int, judges: bool = False, **fields: Any
    ) -> list[tuple[BoundQuery, Ranked]]:
        """The results of questions that have all but their text in common; `fields` as of
        `recall`. `judges`: the judge reads the best of them, as it does in `recall`."""
        session = self.session
        requests = [
            request_of(
                session,
                session.config,
                checked(RecallRequest, {"query": text, "limit": limit, **fields}),
            )
            for text in texts
        ]
        embedded = query_vectors(session, [one.query for one in requests], late=True)
        queries = [
            analyse(
                session,
                session.config,
                request,
                vector,
                pieces,
                judgements=Judgements() if judges else None,
            )
            for request, (vector, pieces) in zip(requests, embedded, strict=True)
        ]

        def read(view: LedgerView) -> list[tuple[BoundQuery, Ranked]]:
            bounds = [BoundQuery(session, view, query) for query in queries]
            scan_together(bounds)
            ranked = each_known(bound.ranked for bound in bounds)
            return list(zip(bounds, ranked, strict=True))

        return read_when_known(session, read)

    def ranked_cases(
        self, asked: Sequence[Case], stored: StoredUnits, *, limit: int, judges: bool = False
    ) -> Iterator[tuple[int, Case, BoundQuery, Ranked]]:
        """The results of cases, each with its place among those beside it that have all but their
        text in common; `judges` as of `ranked`."""
        for fields, alike in groupby(asked, lambda one: one.fields(stored)):
            group = list(alike)
            for start in range(0, len(group), AT_ONCE):
                some = group[start : start + AT_ONCE]
                texts = [one.query.text for one in some]
                found = self.ranked(texts, limit=limit, judges=judges, **fields)
                for number, (one, own) in enumerate(zip(some, found, strict=True), start):
                    yield number, one, *own

    def case(self, benchmark: Benchmark, query: Query) -> dict[str, Any]:
        """Arguments of `recall` for a question: its conversation as scope, its query time."""
        own = Case(population="", query=query, conversation=query.conversation)
        return own.fields(self.stored[benchmark.name])


def by_id(scan: Any) -> dict[str, Any]:
    """Every row of a result, by the id of its memory."""
    return {id_text("mem", row.id): row for row in (*scan.rows, *scan.watched)}
