"""Labelled questions asked of a store of their own: a folder is imported as any user would do it,
and a question is one crossing into the core, with everything that the core then tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from vestig.api import Vestig
from vestig.config import Config
from vestig.evaluation.benchmark_run import Holdings, holdings
from vestig.evaluation.benchmarks import Benchmark, Query
from vestig.evaluation.unanswerable import Case
from vestig.evaluation.vectors import RememberingEmbedder
from vestig.filters import RecallRequest
from vestig.ids import id_bytes, id_text, repeatable_ids
from vestig.recall.query import BoundQuery, analyse, request_of
from vestig.recall.scan import Scan
from vestig.session.embedding import query_vectors
from vestig.session.opening import MEMORY_PATH, OpenRequest, load_config, open_session
from vestig.session.session import Session

PAGE = 1_000


def unit_of(conversation: str | None, unit: str) -> str:
    """A unit among those of all conversations: their own ids repeat."""
    return f"{conversation}\t{unit}"


def check_named_once(benchmarks: Sequence[Benchmark]) -> None:
    """Conversations need names of their own where one store holds all of them.

    Raises:
        SystemExit: a set has names of one before it.
    """
    names = set[str | None]()
    for one in benchmarks:
        if not names.isdisjoint(one.units):
            raise SystemExit(
                f"{one.name}: expected conversations of names of their own, since ids of units"
                " repeat between folders; it has names of a folder before it"
            )
        names.update(one.units)


class AskedStore:
    """Benchmarks in one store in memory, each conversation a scope.

    Args:
        benchmarks: what is imported.
        settings: keys that differ from the built-in ones, for the import and for every question.
    """

    def __init__(
        self,
        benchmarks: Sequence[Benchmark],
        vectors: RememberingEmbedder,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        config = load_config(None, None).with_overrides(dict(settings or {}))
        self.session: Session = open_session(
            MEMORY_PATH, OpenRequest(config=config, embedder=vectors)
        )
        self.store = Vestig(self.session)
        self.held: dict[str, Holdings] = {}
        self._vectors = vectors
        for benchmark in benchmarks:
            vectors.embed([query.text for query in benchmark.queries])
            with repeatable_ids(benchmark.digest):
                self.store.import_(benchmark.corpus, format="messages")
                while self.store.enrich().done:
                    pass
            self.held[benchmark.name] = holdings(self.store, benchmark)

    def __enter__(self) -> AskedStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()

    @cached_property
    def memories(self) -> dict[str | None, list[Any]]:
        """By scope, in the order of the ledger."""
        found: dict[str | None, list[Any]] = {}
        offset = 0
        while page := self.store.list(offset, PAGE).memories:
            offset += len(page)
            for memory in page:
                found.setdefault(memory.scope, []).append(memory)
        for rows in found.values():
            rows.sort(key=lambda memory: (memory.seq, memory.id))
        return found

    def units(self, id: str) -> tuple[str, ...]:
        """What a memory holds, as `unit` names it."""
        return tuple(
            unit_of(held.scope_of[id], unit)
            for held in self.held.values()
            for unit in held.units_of.get(id, ())
        )

    def config(self, settings: Mapping[str, Any]) -> Config:
        """The store's configuration with other values."""
        return self.session.config.with_overrides(dict(settings))

    def scan(self, text: str, config: Config, watch: Sequence[str] = (), **fields: Any) -> Scan:
        """The exact scan of a question; `fields` as of `recall`."""
        session = self.session
        request = request_of(session, config, RecallRequest(query=text, **fields))
        vector, pieces = query_vectors(session, request.query, late=True)
        query = analyse(session, config, request, vector, pieces)
        watched = b"".join(map(id_bytes, watch))
        return session.keeper.run(
            lambda view, _: BoundQuery(session, view, query).scan(watch=watched)
        )

    def case(self, benchmark: Benchmark, query: Query) -> dict[str, Any]:
        """Arguments that ask a question of its own conversation, at its time."""
        own = Case(population="", query=query, conversation=query.conversation)
        return own.fields(self.held[benchmark.name])


def by_id(scan: Any) -> dict[str, Any]:
    """Every row that a scan tells of."""
    return {id_text("mem", row.id): row for row in (*scan.rows, *scan.watched)}
