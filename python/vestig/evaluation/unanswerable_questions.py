"""Questions that a benchmark's memories do not answer, asked for their confidence.

Of every conversation: the questions of the next one (`foreign`), and its own without their
evidence and whatever says nearly the same (`removed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from vestig.api import Vestig
from vestig.evaluation.benchmark_run import StoredUnits
from vestig.evaluation.benchmarks import Benchmark, Query
from vestig.evaluation.calibration import FOREIGN, POPULATIONS, REMOVED, calibrations
from vestig.evaluation.report import Calibration
from vestig.evaluation.variants import Variant
from vestig.session.session import Session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ANSWERABLE", "Case", "cases", "confidences"]

ANSWERABLE: Final = "answerable"
# What is as near to the evidence as this may say the same, and goes with it.
_SAME: Final = 0.85
_PAGE: Final = 1_000


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A question of `query` asked of `conversation`, without the memories `without`."""

    population: str
    query: Query
    conversation: str | None
    without: tuple[str, ...] = ()

    def fields(self, held: StoredUnits) -> dict[str, Any]:
        """Arguments of `recall` beside the query."""
        return {
            "scope": self.conversation,
            "query_time": held.when(self.query, self.conversation),
            "exclude_ids": self.without,
        }


def cases(session: Session, benchmark: Benchmark, held: StoredUnits) -> Iterator[Case]:
    """Every question as it is, of the conversation before, and without its evidence; no foreign
    ones where there is one conversation only."""
    asked: dict[str | None, list[Query]] = {}
    for query in benchmark.queries:
        asked.setdefault(query.conversation, []).append(query)
    names = list(asked)
    for place, conversation in enumerate(names):
        near = _Near(session, held, conversation)
        for query in asked[conversation]:
            yield Case(population=ANSWERABLE, query=query, conversation=conversation)
            yield Case(
                population=REMOVED,
                query=query,
                conversation=conversation,
                without=near.evidence(query),
            )
        if len(names) > 1:
            for query in asked[names[(place + 1) % len(names)]]:
                yield Case(population=FOREIGN, query=query, conversation=conversation)


class _Near:
    """Which memories of a conversation say nearly the same."""

    def __init__(self, session: Session, held: StoredUnits, conversation: str | None) -> None:
        self._held = held
        self._ids = [id for id, scope in held.scope_of.items() if scope == conversation]
        self._place = {id: place for place, id in enumerate(self._ids)}
        self._unit = self._vectors(session)

    def _vectors(self, session: Session) -> NDArray[np.float64]:
        """Unit vectors as rows; a memory without vector is near to nothing."""
        import numpy as np

        namespace = session.namespace
        stored: dict[str, tuple[str, bytes]] = {}
        for start in range(0, len(self._ids), _PAGE):
            stored |= _stored(session, namespace, self._ids[start : start + _PAGE])
        rows = np.zeros((len(self._ids), session.embedder.dimensions))
        for id, (_, vector) in stored.items():
            rows[self._place[id]] = np.frombuffer(vector, "<f4")
        lengths = np.sqrt((rows * rows).sum(1, keepdims=True))
        return rows / np.where(lengths > 0, lengths, 1)

    def evidence(self, query: Query) -> tuple[str, ...]:
        """The memories that hold what is relevant, and those near to them."""
        held = self._held.units_of
        places = [
            self._place[id] for id in self._ids if not query.relevant.isdisjoint(held.get(id, ()))
        ]
        if not places:
            return ()
        near = (self._unit @ self._unit[places].T).max(1) >= _SAME
        near[places] = True
        return tuple(self._ids[place] for place in near.nonzero()[0])


def _stored(session: Session, namespace: str, ids: list[str]) -> dict[str, tuple[str, bytes]]:
    return session.keeper.run(lambda view, _core: view.vectors(namespace, ids))


def confidences(
    store: Vestig,
    held: StoredUnits,
    variant: Variant,
    asked: Sequence[Case],
    done: Callable[[int], None],
) -> dict[str, Calibration]:
    """The figures of one row, {} where its confidence is null; `done` is told of each question."""
    found: dict[str, list[float]] = {}
    config = {**variant.overrides, "m5.explainability.enabled": False}
    for case in asked:
        answer = store.recall(
            case.query.text, limit=1, profile=variant.profile, config=config, **case.fields(held)
        )
        if answer.confidence is None:
            return {}
        found.setdefault(case.population, []).append(answer.confidence)
        done(1)
    return calibrations(
        found.get(ANSWERABLE, []), {name: found.get(name, []) for name in POPULATIONS}
    )
