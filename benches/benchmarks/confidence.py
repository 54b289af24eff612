"""The confidence of recall, measured: how well it separates questions that the memories answer from
those that they do not.

There are three populations without an answer: questions of the next conversation (`foreign`), a
conversation's own questions without the memories that answer them and those nearly equal to them
(`removed`), and those of its own that are labelled as without an answer (`unanswerable`).

Questions have weights: those that can be answered weigh half of everything, the others the other
half, in equal shares of their populations. All figures are of these weights, so that they do not
depend on how many questions of each kind there are.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import msgspec

from benchmarks.reader import Benchmark, Query
from benchmarks.report import ScoreFigures
from benchmarks.rows import Variant
from benchmarks.run import StoredUnits
from vestig.answers import RecallResult
from vestig.api.store import Vestig
from vestig.errors import ValidationError
from vestig.evaluation.calibration import Calibration, calibration, calibration_error
from vestig.session.session import Session
from vestig.types import ItemError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Questions of the next conversation; questions without the memories that answer them; questions
# labelled as without an answer; all.
FOREIGN: Final = "foreign"
REMOVED: Final = "removed"
UNANSWERABLE: Final = "unanswerable"
MIXTURE: Final = "mixture"
POPULATIONS: Final = (FOREIGN, REMOVED, UNANSWERABLE)
ANSWERABLE: Final = "answerable"
# A memory whose cosine to the evidence is at least this may state the same, and is left out too.
_SAME: Final = 0.85
_PAGE: Final = 1_000
# Results of a question whose scores are looked at.
RESULTS: Final = 10
# Questions of one conversation that are recalled together.
_AT_ONCE: Final = 64


def calibrations(
    answerable: Sequence[float], others: Mapping[str, Sequence[float]]
) -> dict[str, Calibration]:
    """Each population against the answerable questions, and all of them as the mixture.

    Args:
        answerable: confidences of questions that the memories answer.
        others: population → confidences of questions that they do not answer; empty ones are
            left out.

    Example:
        >>> found = calibrations([0.9, 0.8], {"foreign": [0.1], "removed": [0.85, 0.3]})
        >>> {name: one.auroc for name, one in found.items()}
        {'foreign': 1.0, 'removed': 0.75, 'mixture': 0.875}
    """
    there = {name: list(values) for name, values in others.items() if len(values)}
    if not there or not len(answerable):
        return {}
    found = {name: calibration(answerable, [values]) for name, values in there.items()}
    return {**found, MIXTURE: calibration(answerable, list(there.values()))}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One recall: `query` in `conversation`, without the memories `without`."""

    population: str
    query: Query
    conversation: str | None
    without: tuple[str, ...] = ()

    def fields(self, stored: StoredUnits) -> dict[str, Any]:
        """Arguments of `recall` beside the query."""
        return {
            "scope": self.conversation,
            "query_time": stored.when(self.query, self.conversation),
            "where": {"exclude_ids": self.without, "until": self.query.until},
        }


def cases(session: Session, benchmark: Benchmark, stored: StoredUnits) -> Iterator[Case]:
    """Every question as it is, without its evidence, and in the conversation before its own; the
    last only where there are several conversations. Then those that have no answer."""
    queries_of: dict[str | None, list[Query]] = {}
    for query in benchmark.queries:
        queries_of.setdefault(query.conversation, []).append(query)
    names = list(queries_of)
    for place, conversation in enumerate(names):
        near = NearMemories(session, stored, conversation)
        for query in queries_of[conversation]:
            yield Case(population=ANSWERABLE, query=query, conversation=conversation)
            yield Case(
                population=REMOVED,
                query=query,
                conversation=conversation,
                without=near.evidence(query),
            )
        if len(names) > 1:
            for query in queries_of[names[(place + 1) % len(names)]]:
                yield Case(population=FOREIGN, query=query, conversation=conversation)
    for query in benchmark.unanswerable:
        yield Case(population=UNANSWERABLE, query=query, conversation=query.conversation)


class NearMemories:
    """Nearly equal memories of a conversation, by the cosine of their vectors."""

    def __init__(self, session: Session, stored: StoredUnits, conversation: str | None) -> None:
        self._stored = stored
        self._ids = [id for id, scope in stored.scope_of.items() if scope == conversation]
        self._place = {id: place for place, id in enumerate(self._ids)}
        self._unit = self._vectors(session)

    def _vectors(self, session: Session) -> NDArray[np.float64]:
        """Unit vectors as rows; zeros for a memory without a vector, near to nothing."""
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

    def nearest(self, vector: NDArray[np.float64]) -> list[str]:
        """Ids of all memories, the nearest to a vector first."""
        return [self._ids[place] for place in (-(self._unit @ vector)).argsort(kind="stable")]

    def evidence(self, query: Query) -> tuple[str, ...]:
        """Ids of the memories that contain a relevant unit, and of those near to them."""
        units_of = self._stored.units_of
        places = [
            self._place[id]
            for id in self._ids
            if not query.relevant.isdisjoint(units_of.get(id, ()))
        ]
        if not places:
            return ()
        near = (self._unit @ self._unit[places].T).max(1) >= _SAME
        near[places] = True
        return tuple(self._ids[place] for place in near.nonzero()[0])


def _stored(session: Session, namespace: str, ids: list[str]) -> dict[str, tuple[str, bytes]]:
    return session.keeper.run(lambda view, _core: view.vectors(namespace, ids))


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """Holds what one recall gave: its confidence, and score and relevance of each result."""

    population: str
    confidence: float
    scores: tuple[float, ...]
    relevant: tuple[bool, ...]


def answered(
    store: Vestig,
    stored: StoredUnits,
    variant: Variant,
    all_cases: Sequence[Case],
    done: Callable[[int], None],
) -> list[Answered]:
    """The answers to all cases; [] where the confidence is null. Calls `done` with the number of
    recalls after each few."""
    found: list[Answered] = []
    config = {**variant.overrides, "recall.reasons.enabled": False}
    # questions of one population in their order, those of one conversation beside each other
    ordered = sorted(all_cases, key=lambda case: case.population)
    for fields, alike in groupby(ordered, lambda case: case.fields(stored)):
        group = list(alike)
        for start in range(0, len(group), _AT_ONCE):
            some = group[start : start + _AT_ONCE]
            texts = [case.query.text for case in some]
            answers = store.recall_many(
                texts, limit=RESULTS, all=True, profile=variant.profile, config=config, **fields
            )
            for case, answer in zip(some, answers, strict=True):
                if isinstance(answer, ItemError):
                    raise ValidationError("queries", answer.message, "a question")
                if answer.confidence is None:
                    return []
                found.append(_answered(case, answer, stored))
            done(len(some))
    return found


def _answered(case: Case, answer: RecallResult, stored: StoredUnits) -> Answered:
    hits = answer.results or answer.nearest
    answerable = case.population == ANSWERABLE
    return Answered(
        population=case.population,
        confidence=answer.confidence or 0.0,
        scores=tuple(hit.score for hit in hits),
        relevant=tuple(
            answerable and not case.query.relevant.isdisjoint(stored.units_of.get(hit.id, ()))
            for hit in hits
        ),
    )


def confidences(found: Sequence[Answered]) -> dict[str, Calibration]:
    """The figures of the confidence by population; {} without answers."""
    values: dict[str, list[float]] = {}
    for one in found:
        values.setdefault(one.population, []).append(one.confidence)
    return calibrations(
        values.get(ANSWERABLE, []), {name: values.get(name, []) for name in POPULATIONS}
    )


def scores(found: Sequence[Answered]) -> ScoreFigures:
    """The figures of the score, of answers of which at least one has results. Answerable questions
    weigh half of everything, the populations that are there share the rest; results share the
    weight of their question."""
    import numpy as np

    there = [one for one in found if one.scores]
    sizes = Counter(one.population for one in there)
    others = len(sizes.keys() - {ANSWERABLE})
    shares = {
        name: (0.5 if name == ANSWERABLE else 0.5 / others) / size for name, size in sizes.items()
    }
    weights = [shares[one.population] / len(one.scores) for one in there for _ in one.scores]
    return ScoreFigures(
        results=len(weights),
        calibration_error=calibration_error(
            np.array([score for one in there for score in one.scores]),
            np.array([float(right) for one in there for right in one.relevant]),
            np.array(weights),
        ),
        right_first=_median([one.scores[0] for one in there if one.relevant[0]]),
        unanswered_first=_median([one.scores[0] for one in there if one.population != ANSWERABLE]),
    )


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None
