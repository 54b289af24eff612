"""Why not: what kept an expected memory away, and the one change that brings it in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from vestig.answers import Change, Standing, WhyNot
from vestig.config.weights import weighing, weights_of
from vestig.errors import ValidationError
from vestig.filters import FIELDS
from vestig.ids import id_bytes, id_text, is_full_id, split_ids
from vestig.recall.query import Asking, planned
from vestig.recall.ranking import recipe_of
from vestig.recall.reason import META_SIGNALS, signals_of
from vestig.recall.request import RecallPlan
from vestig.session.filter_ids import resolved
from vestig.times import from_us
from vestig.types import OriginType

__all__ = ["Expected", "expected_of", "held_back", "held_back_too", "why_not"]


def held_back(plan: RecallPlan, at: Standing) -> WhyNot:
    """The entry of a result that the call held back: without `min_confidence` it comes."""
    change = Change(
        kind="filter", key="min_confidence", before=plan.min_confidence, after=None, rank=at.rank
    )
    return WhyNot(
        id=at.id,
        stage="abstained",
        rank=at.rank,
        score=at.score,
        signals=at.signals,
        last_returned=None,
        change=change,
        runs=0,
    )


def held_back_too(entry: WhyNot) -> WhyNot:
    """The entry of what would not have come either: no single change of its rank is enough."""
    return msgspec.structs.replace(
        entry,
        last_returned=None,
        change=None,
        no_change="the call abstains, and without min_confidence others come before it",
    )


RUNS_MAX: Final = 64
RUNS_PER_SIGNAL: Final = 8
# Kept back from the weights, so that the limit that would be enough is found.
RUNS_OF_LIMITS: Final = 8
FACTOR_MAX: Final = 4.0
DIGITS: Final = 2
# What excludes memories, with the value at which it excludes none.
_OPEN: Final[dict[str, Any]] = {
    "scope": None,
    "unscoped": None,
    "kinds": None,
    "statuses": None,
    "tags": None,
    "sources": None,
    "actors": None,
    "authors": None,
    "roles": None,
    "session_ids": None,
    "origin_types": None,
    "entities": None,
    "metadata": None,
    "since": None,
    "until": None,
    "created_since": None,
    "created_until": None,
    "include_expired": True,
    "include_archived": True,
    "exclude_ids": None,
    "ids": None,
    "source_ids": None,
    "message_ids": None,
    "pinned": None,
    "retention_policies": None,
    "min_similarity": None,
    "as_of": None,
    "known_at": None,
    "valid_at": None,
}
# Without these the query time is another one.
_TIMES: Final = frozenset(("as_of", "known_at"))
# Switches beside those of the signals, in the order in which they are tried: what changes least
# comes first.
_SWITCHES: Final = (
    "questions.enabled",
    "walk.enabled",
    "walk.normalize_weights",
    "walk.use_tracerank",
    "recall.expand_summaries",
    "usage.enabled",
    "walk.start.enabled",
    "ranking.pool",
    "ranking.enabled",
)
# Without these switches nothing is left to rank by when the query has no vector.
_NEED_WORDS: Final = frozenset(("ranking.enabled", "signals.lexical.enabled"))


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """The ids that should come: `here` are of this namespace, `elsewhere` (id → stage) are not."""

    here: tuple[str, ...]
    elsewhere: dict[str, str]

    @property
    def watch(self) -> bytes:
        """What the scan is to tell of."""
        return b"".join(id_bytes(id) for id in self.here)


class _Spent(Exception):
    """No runs are left."""


def expected_of(asking: Asking) -> Expected:
    """The expected ids looked up.

    Raises:
        ValidationError: the beginning of an id that fits several memories.
    """
    view, checked = asking.view, asking.asked.plan
    here, elsewhere = dict[str, None](), dict[str, str]()
    for given in checked.expect:
        found = view.ids_with_prefix(checked.namespace, given)
        if len(found) > 1:
            raise ValidationError(
                "expect", given, "an unambiguous id", f"it fits {', '.join(found[:5])}"
            )
        if found:
            here[found[0]] = None
        elif is_full_id(given, "mem") and asking.core.row(id_bytes(given)) is not None:
            elsewhere[given] = "other_namespace"
        else:
            elsewhere[given] = "unknown"
    return Expected(here=tuple(here), elsewhere=elsewhere)


def why_not(asking: Asking, scan: Any, wanted: Expected, held: bool) -> tuple[WhyNot, ...]:
    """One entry for each expected memory that did not come, in the order asked."""
    question = asking.question(scan.terms)
    rows = scan.rows[: asking.asked.plan.limit]
    # confidence may have read more rows than were asked for
    watched = {row.id: row for row in (*scan.rows[len(rows) :], *scan.watched)}
    came = {row.id: place for place, row in enumerate(rows, 1)}
    last = _standing(rows[-1], len(rows), question) if rows else None
    entries = []
    for id in wanted.here:
        place = came.get(id_bytes(id))
        if place is None:
            entry = _Why(asking, scan, id, watched.get(id_bytes(id)), last).entry()
            entries.append(held_back_too(entry) if held else entry)
        elif held:
            entries.append(
                held_back(asking.asked.plan, _standing(rows[place - 1], place, question))
            )
    missing = {
        "unknown": "no memory has this id",
        "other_namespace": "the id is not in this namespace",
    }
    entries += [
        WhyNot(
            id=id,
            stage=stage,
            rank=None,
            score=None,
            signals=None,
            last_returned=last,
            change=None,
            no_change=missing[stage],
            runs=0,
        )
        for id, stage in wanted.elsewhere.items()
    ]
    return tuple(entries)


def _standing(row: Any, rank: int, question: Any) -> Standing:
    signals = signals_of(row, None, question)
    return Standing(id=id_text("mem", row.id), rank=rank, score=row.final_score, signals=signals)


class _Why:
    """The search for what keeps one memory away."""

    def __init__(self, asking: Asking, scan: Any, id: str, row: Any, last: Standing | None) -> None:
        self.asking = asking
        self.scan = scan
        self.id = id
        self.raw = id_bytes(id)
        self.row = row
        self.last = last
        self.left = RUNS_MAX
        self.settings = asking.asked.config.settings
        self.limit = asking.asked.plan.limit

    def entry(self) -> WhyNot:
        """Stage, standing, and the change."""
        filters = self.excluding() if self.row is None else []
        stage, rank = self.stage()
        try:
            change = next(self.changes(stage, filters), None)
            why = None if change is not None else self.without(stage, filters)
        except _Spent:
            change, why = None, f"{RUNS_MAX} runs found no change that brings it in"
        row = self.row
        question = self.asking.question(self.scan.terms)
        return WhyNot(
            id=self.id,
            stage=stage,
            filters=tuple(filters),
            rank=rank,
            score=None if row is None else row.final_score,
            signals=None if row is None else signals_of(row, None, question),
            last_returned=self.last,
            change=change,
            no_change=why,
            runs=RUNS_MAX - self.left,
        )

    def stage(self) -> tuple[str, int | None]:
        """The first that stopped it, and its rank there from 1."""
        if self.row is None:
            return "filtered", None
        if self.row.pool_rank is None:
            start = self.row.start_rank
            return "not_in_pool", None if start is None else start + 1
        rank = self.row.pool_rank + 1
        return ("ranked_below" if rank > self.limit else "below_min_score"), rank

    def without(self, stage: str, filters: list[str]) -> str:
        """Why there is no change to name."""
        if stage != "filtered":
            return "no filter, switch, weight of one signal or limit alone brings it in"
        if len(filters) == 1:
            return f"without {filters[0]} it is still not among the results"
        return f"{len(filters)} filters exclude it, each by itself"

    # --- runs ------------------------------------------------------------------------------

    def rank_with(
        self,
        *,
        overrides: dict[str, Any] | None = None,
        checked: RecallPlan | None = None,
        limit: int | None = None,
    ) -> int | None:
        """The place that the memory has with a change, from 1; None when it does not come."""
        if self.left == 0:
            raise _Spent
        self.left -= 1
        made = None
        if overrides is not None:
            made = recipe_of(self.asking.asked.config.with_overrides(overrides).settings)
        rows = self.asking.run(checked=checked, made=made, limit=limit).rows
        return next((place for place, row in enumerate(rows, 1) if row.id == self.raw), None)

    def changes(self, stage: str, filters: list[str]) -> Iterator[Change]:
        """Changes that bring it in, in the order in which they are tried."""
        if stage == "filtered":
            if len(filters) == 1:
                yield from self.filter_removed(filters[0])
            return
        if self.settings.recall.min_score is not None:
            yield from self.keyed("filter", "recall.min_score", None)
        yield from self.switches()
        yield from self.weights()
        yield from self.limits()

    def value(self, key: str) -> Any:
        """The effective value of a key."""
        return self.asking.asked.config.entry(key).value

    def keyed(self, kind: str, key: str, after: Any) -> Iterator[Change]:
        """One key of the configuration with another value."""
        rank = self.rank_with(overrides={key: after})
        if rank is not None:
            yield Change(kind=kind, key=key, before=self.value(key), after=after, rank=rank)

    # --- filters ---------------------------------------------------------------------------

    def variant(self, **fields: Any) -> RecallPlan:
        """The plan of the same request with other fields, at the same query time."""
        asked = self.asking.asked
        request = asked.plan.request
        if request.query_time is None and not _TIMES & fields.keys():
            fields["query_time"] = from_us(asked.plan.moments.query_time_us)
        inside = {name: fields.pop(name) for name in list(fields) if name in FIELDS}
        where = msgspec.structs.replace(request.where, **inside)
        request = msgspec.structs.replace(request, where=where, **fields)
        return planned(self.asking.session, asked.config, request)

    def given(self, name: str) -> Any:
        """What the call has at a field of the filter, or at a time."""
        plan = self.asking.asked.plan
        if name in ("include_expired", "include_archived") and not plan.filter.statuses:
            return plan.filter.columns[name]
        return getattr(plan.request.where if name in FIELDS else plan.request, name)

    def excluding(self) -> list[str]:
        """The filters that exclude the memory, each looked at alone."""
        found = []
        for name, opened in _OPEN.items():
            own = self.given(name)
            if own is None or (isinstance(own, bool) and own == opened):
                continue
            fields = {**_OPEN, name: own}
            if not self.passes(self.variant(**fields)):
                found.append(name)
        return found

    def passes(self, checked: RecallPlan) -> bool:
        """Whether the memory is eligible under a plan."""
        asking = self.asking
        chosen = resolved(asking.view, asking.core, checked.filter)
        listed = chosen.get("ids")
        if listed is not None and self.raw not in split_ids(listed):
            return False
        if checked.request.where.min_similarity is not None:
            self.left -= 1
            parts = msgspec.structs.replace(checked.filter, ids=(self.id,))
            only = msgspec.structs.replace(checked, filter=parts)
            return bool(asking.run(checked=only, limit=1).rows)
        return bool(asking.eligible({**chosen, "ids": self.raw}))

    def filter_removed(self, name: str) -> Iterator[Change]:
        """Without this filter."""
        rank = self.rank_with(checked=self.variant(**{name: _OPEN[name]}))
        if rank is not None:
            yield Change(
                kind="filter", key=name, before=self.given(name), after=_OPEN[name], rank=rank
            )

    # --- switches, weights, limit ----------------------------------------------------------

    def switches(self) -> Iterator[Change]:
        """Each switch the other way."""
        ranking = self.settings.ranking
        keys = list(_SWITCHES)
        if ranking.enabled and ranking.base == "linear":
            missing = {"rerank"} if self.asking.session.reranker is None else set[str]()
            names = [name for name in weighing(self.settings) if name not in missing]
            keys[:0] = [f"signals.{name}.enabled" for name in names]
        for key in keys:
            if not ranking.enabled and key not in ("ranking.enabled", "usage.enabled"):
                continue
            if key == "ranking.pool":
                if ranking.pool != "all":
                    yield from self.keyed("switch", key, "all")
                continue
            if self.asking.asked.vector is None and key in _NEED_WORDS:
                continue
            yield from self.keyed("switch", key, not self.value(key))

    def weights(self) -> Iterator[Change]:
        """Each signal's weight between a quarter and four times itself."""
        ranking = self.settings.ranking
        if not ranking.enabled or ranking.base == "cosine":
            return
        if ranking.base == "linear":
            origin = list(OriginType)[self.row.origin].value
            keys = {
                f"ranking.weights.{origin}.{name}": weight
                for name, weight in weights_of(self.settings, origin).items()
                if name != "bias"
            }
            most = None
        else:
            place = self.settings.reference
            keys = {
                f"reference.{n}_weight": getattr(place, f"{n}_weight")
                for n in META_SIGNALS
                if n in self.asking.available
            }
            most = 1.0
        for key, weight in keys.items():
            if weight != 0 and self.left > RUNS_OF_LIMITS:
                yield from self.weight(key, weight, most)

    def weight(self, key: str, weight: float, most: float | None) -> Iterator[Change]:
        """The smallest change of one weight that is enough, to two digits."""
        spent = self.left
        for end in (FACTOR_MAX, 1 / FACTOR_MAX):
            value = _rounded(weight * end)
            if most is not None and value > most:
                value = most
            if value == weight:
                continue
            rank = self.rank_with(overrides={key: value})
            if rank is None:
                continue
            near, best = weight, (value, rank)
            while spent - self.left < RUNS_PER_SIGNAL:
                middle = _rounded((abs(near) * abs(best[0])) ** 0.5 * (1 if weight > 0 else -1))
                if middle in (_rounded(near), best[0]):
                    break
                rank = self.rank_with(overrides={key: middle})
                if rank is None:
                    near = middle
                else:
                    best = (middle, rank)
            yield Change(kind="weight", key=key, before=weight, after=best[0], rank=best[1])

    def limits(self) -> Iterator[Change]:
        """A greater limit, raised until it comes."""
        row = self.row
        place = row.start_rank if row.pool_rank is None else row.pool_rank
        limit = max(self.limit + 1, 0 if place is None else place + 1)
        while True:
            rank = self.rank_with(limit=limit)
            if rank is not None:
                # all that stand before it come too, so its place is the limit that is enough
                if rank < limit and self.rank_with(limit=max(rank, self.limit + 1)) is not None:
                    limit = max(rank, self.limit + 1)
                yield Change(kind="limit", key="limit", before=self.limit, after=limit, rank=rank)
                return
            if limit >= self.scan.eligible:
                return
            limit = min(2 * limit, self.scan.eligible)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
