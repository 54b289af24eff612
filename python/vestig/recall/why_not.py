"""Why not: what stopped an expected memory, and the one change that brings it in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any, Final

import msgspec

from vestig.answers import Change, Standing, WhyNot
from vestig.calls.filter import FIELDS, PLACES, Effect
from vestig.errors import ValidationError
from vestig.ids import id_bytes, is_full_id, split_ids
from vestig.language.words import content_terms, placed_terms
from vestig.memories.read import text_keys
from vestig.other_words import by_caller
from vestig.ports import ScanRow
from vestig.recall.query import BoundQuery, Ranked, analyse, request_of
from vestig.recall.ranking import ranking_of_settings
from vestig.recall.reason import Explainer
from vestig.recall.request import QUERY_CHARS_MAX, Request
from vestig.session.embedding import query_vectors
from vestig.times import from_us, to_us
from vestig.types import Memory


def _unsilenced(at: Standing) -> WhyNot:
    """The entry of a memory that would be a result where nothing is left out as no answer."""
    return WhyNot(
        id=at.id,
        stage="abstained",
        rank=at.rank,
        score=at.score,
        signals=at.signals,
        last_returned=None,
        change=_all(at.rank),
        runs=0,
    )


def _all(rank: int) -> Change:
    """The change that leaves nothing out as no answer."""
    return Change(kind="threshold", key="all", before=False, after=True, rank=rank)


def _without_change(entry: WhyNot) -> WhyNot:
    """The entry of a memory that would be no result without abstention either: no single change is
    enough."""
    return msgspec.structs.replace(
        entry,
        last_returned=None,
        change=None,
        no_change=f"the call abstains, and with {by_caller('all=True', '--all')} others come first",
    )


RUNS_MAX: Final = 64
# Words of the memory that are tried in the question.
WORDS_MAX: Final = 8
# Words of it whose idf is looked up.
TERMS_MAX: Final = 200
_INSTANT: Final = timedelta(microseconds=1)
# Arguments that exclude memories, with the value at which they exclude none.
_WITHOUT: Final[dict[str, Any]] = {
    **{
        name: True if place.effect is Effect.WIDENS else None
        for name, place in PLACES.items()
        if place.effect is not Effect.READS
    },
    "as_of": None,
    "known_at": None,
    "valid_at": None,
}
# Arguments that set the query time too.
_TIMES: Final = frozenset(("as_of", "known_at"))


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """Ids of `expect`: `here` are of this namespace, `elsewhere` (id → stage) are not."""

    here: tuple[str, ...]
    elsewhere: dict[str, str]

    @property
    def watch(self) -> bytes:
        """Ids whose rows the scan gives although they are not returned, 16 bytes each."""
        return b"".join(id_bytes(id) for id in self.here)


class _NoRunsLeft(Exception):
    """`RUNS_MAX` is reached."""


def expected_of(bound: BoundQuery) -> Expected:
    """The expected ids looked up.

    Raises:
        ValidationError: the beginning of an id that fits several memories.
    """
    view, request = bound.view, bound.request
    here, elsewhere = dict[str, None](), dict[str, str]()
    for given in request.expect:
        found = bound.session.named_ids(view, request.namespace, given)
        if len(found) > 1:
            raise ValidationError(
                "expect", given, "an unambiguous id", f"it fits {', '.join(found[:5])}"
            )
        if found:
            here[found[0]] = None
        elif is_full_id(given, "mem") and bound.session.scope is None and bound.is_stored(given):
            elsewhere[given] = "other_namespace"
        else:
            elsewhere[given] = "unknown"
    return Expected(here=tuple(here), elsewhere=elsewhere)


def why_not(bound: BoundQuery, ranked: Ranked, expected: Expected) -> tuple[WhyNot, ...]:
    """One entry for each expected memory that is not among the results, in the order of `expect`.

    Args:
        ranked: with the rows of `expected.watch`.
    """
    explainer, abstained = bound.explainer(ranked.scan), ranked.silent
    rows = ranked.results
    # more rows are ranked than there are results
    watched = {row.id: row for row in (*ranked.rows[len(rows) :], *ranked.scan.watched)}
    ranks = {row.id: rank for rank, row in enumerate(rows, 1)}
    same_text = _results_with_text(bound, rows, expected)
    last = _standing(ranked, rows[-1], len(rows), explainer) if rows else None
    entries = []
    for id in expected.here:
        rank = ranks.get(id_bytes(id))
        if rank is None:
            missing = _Missing(bound, ranked, id, watched.get(id_bytes(id)), last)
            at = same_text.get(id_bytes(id))
            entry = missing.entry() if at is None else missing.folded(at, rows[at - 1])
            entries.append(_without_change(entry) if abstained else entry)
        elif abstained:
            standing = _standing(ranked, rows[rank - 1], rank, explainer)
            entries.append(_unsilenced(standing))
    reasons = {
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
            no_change=reasons[stage],
            runs=0,
        )
        for id, stage in expected.elsewhere.items()
    ]
    return tuple(entries)


def _results_with_text(
    bound: BoundQuery, rows: Sequence[ScanRow], expected: Expected
) -> dict[bytes, int]:
    """Expected id → rank of the result that has its text, from 1."""
    request = bound.request
    results = [row.id for row in rows]
    ids = [*results, *(raw for id in expected.here if (raw := id_bytes(id)) not in results)]
    at = request.moments.known_at_us
    keys = text_keys(bound.session, bound.view, request.namespace, ids, at)
    ranks = {keys[id]: rank for rank, id in enumerate(results, 1) if id in keys}
    return {id: ranks[keys[id]] for id in ids[len(results) :] if keys.get(id) in ranks}


def _standing(ranked: Ranked, row: ScanRow, rank: int, explainer: Explainer) -> Standing:
    signals = explainer.signals(row)
    return Standing(id=row.memory_id, rank=rank, score=ranked.score(row), signals=signals)


class _Missing:
    """One expected memory that is not among the results, and the search for a change.

    Args:
        row: of the memory; None = filters exclude it.
        last: the last result.
    """

    def __init__(
        self,
        bound: BoundQuery,
        ranked: Ranked,
        id: str,
        row: ScanRow | None,
        last: Standing | None,
    ) -> None:
        self.bound = bound
        self.ranked = ranked
        self.id = id
        self.raw = id_bytes(id)
        self.row = row
        self.last = last
        self.runs_left = RUNS_MAX
        self.config = bound.query.config
        self.settings = self.config.settings
        self.request = bound.request
        self.limit = bound.request.limit

    @cached_property
    def memory(self) -> Memory:
        """The memory as it is now."""
        (found,) = self.bound.view.memories(self.request.namespace, [self.id])
        return found

    def entry(self) -> WhyNot:
        """Stage, standing, and the change."""
        filters = self.excluding() if self.row is None else []
        stage, rank = self.stage()
        try:
            change = next(self.changes(stage, filters), None)
            why = None if change is not None else self.without(stage, filters)
        except _NoRunsLeft:
            change, why = None, f"{RUNS_MAX} runs found no change that brings it in"
        row = self.row
        return WhyNot(
            id=self.id,
            stage=stage,
            filters=tuple(filters),
            rank=rank,
            score=None if row is None else self.ranked.score(row),
            signals=None if row is None else self.bound.explainer(self.ranked.scan).signals(row),
            last_returned=self.last,
            change=change,
            no_change=why,
            runs=RUNS_MAX - self.runs_left,
        )

    def folded(self, rank: int, result: ScanRow) -> WhyNot:
        """The entry of a memory for which another result of its text stands; one that a filter
        excludes is not folded."""
        row = self.row
        if row is None:
            return self.entry()
        change = Change(kind="folded", key="id", before=self.id, after=result.memory_id, rank=rank)
        return WhyNot(
            id=self.id,
            stage="folded",
            rank=rank,
            score=self.ranked.score(row),
            signals=self.bound.explainer(self.ranked.scan).signals(row),
            last_returned=self.last,
            change=change,
            runs=0,
        )

    def stage(self) -> tuple[str, int | None]:
        """The first stage that stopped it, and its rank there from 1."""
        if self.row is None:
            return "filtered", None
        if self.row.pool_rank is None:
            start = self.row.start_rank
            return "not_in_pool", None if start is None else start + 1
        places = (place for place, row in enumerate(self.ranked.rows) if row.id == self.raw)
        rank = next(places, self.row.pool_rank) + 1
        return ("ranked_below" if rank > self.limit else "below_min_score"), rank

    def without(self, stage: str, filters: list[str]) -> str:
        """Why there is no change to name."""
        if stage != "filtered":
            return "no threshold, word or limit alone brings it in"
        if len(filters) == 1:
            return f"without {filters[0]} it is still not among the results"
        return f"{len(filters)} filters exclude it, each by itself"

    # --- runs ------------------------------------------------------------------------------

    def rank_with(
        self,
        *,
        overrides: dict[str, Any] | None = None,
        request: Request | None = None,
        limit: int | None = None,
    ) -> int | None:
        """The rank that the memory has with a change, from 1; None when it is no result."""
        ranking = None
        if overrides is not None:
            ranking = ranking_of_settings(self.config.with_overrides(overrides).settings)
        return self.rank_of(
            partial(self.bound.ranked, request=request, ranking=ranking, limit=limit)
        )

    def rank_of(self, run: Callable[[], Ranked]) -> int | None:
        """The rank that the memory has in a run, from 1; None when it is no result."""
        self.spend()
        results = run().results
        return next((rank for rank, row in enumerate(results, 1) if row.id == self.raw), None)

    def spend(self) -> None:
        """Counts a run."""
        if self.runs_left == 0:
            raise _NoRunsLeft
        self.runs_left -= 1

    def changes(self, stage: str, filters: list[str]) -> Iterator[Change]:
        """Changes that bring it in, in the order in which they are tried."""
        if stage == "filtered":
            newer = self.memory.superseded_by
            if filters == ["include_expired"] and newer is not None:
                yield self.replaced_by(newer, None)
            elif len(filters) == 1:
                yield from self.date_moved(filters[0])
                yield from self.filter_removed(filters[0])
            return
        if stage == "below_min_score":
            assert self.row is not None, "filters do not exclude it"
            score = self.ranked.score(self.row)
            yield from self.keyed("threshold", "recall.min_score", score)
            if self.ranked.below_cut:
                yield from self.uncut()
        yield from self.newer()
        yield from self.words()
        yield from self.limits()

    def value(self, key: str) -> Any:
        """The effective value of a key."""
        return self.config.entry(key).value

    def keyed(self, kind: str, key: str, after: Any) -> Iterator[Change]:
        """One key of the configuration with another value."""
        rank = self.rank_with(overrides={key: after})
        if rank is not None:
            yield Change(kind=kind, key=key, before=self.value(key), after=after, rank=rank)

    def uncut(self) -> Iterator[Change]:
        """Nothing is left out as no answer."""
        rank = self.rank_with(request=self.variant(all=True, silence=None))
        if rank is not None:
            yield _all(rank)

    # --- filters ---------------------------------------------------------------------------

    def variant(self, **fields: Any) -> Request:
        """The same request with other arguments, at the same query time."""
        arguments = self.request.arguments
        if arguments.query_time is None and not _TIMES & fields.keys():
            fields["query_time"] = self.request.moments.query_time_us
        inside = {name: fields.pop(name) for name in list(fields) if name in FIELDS}
        times = {name: to_us(at) for name, at in fields.items() if isinstance(at, datetime)}
        where = msgspec.structs.replace(arguments.where, **inside)
        arguments = msgspec.structs.replace(arguments, where=where, **fields | times)
        return request_of(self.bound.session, self.config, arguments)

    def given(self, name: str) -> Any:
        """Return what the call has at a field of the filter, or at a time."""
        request = self.request
        if _WITHOUT[name] and "statuses" not in request.filter.fields:
            return request.filter.core[PLACES[name].core]
        if name in FIELDS:
            return getattr(request.arguments.where, name)
        value = getattr(request.arguments, name)
        return from_us(value) if isinstance(value, int) else value

    def excluding(self) -> list[str]:
        """The filters that exclude the memory, each tried alone."""
        found = []
        for name, without in _WITHOUT.items():
            own = self.given(name)
            if own is None or (isinstance(own, bool) and own == without):
                continue
            fields = {**_WITHOUT, name: own}
            if not self.passes(self.variant(**fields)):
                found.append(name)
        return found

    def passes(self, request: Request) -> bool:
        """Return whether the memory is eligible under a request."""
        filter = self.bound.filter(request)
        listed = filter.get("ids")
        if listed is not None and self.raw not in split_ids(listed):
            return False
        if "min_similarity" in request.arguments.where.given():
            self.spend()
            only = msgspec.structs.replace(request, filter=request.filter.only((self.id,)))
            return bool(self.bound.scan(request=only, limit=1).rows)
        return bool(self.bound.eligible({**filter, "ids": self.raw}))

    def date_moved(self, name: str) -> Iterator[Change]:
        """With this bound moved just so far that the memory passes."""
        given, memory = self.given(name), self.memory
        if name in ("since", "until", "created_since", "created_until"):
            own = memory.t_created if name.startswith("created") else memory.t_valid
            moments = [own if name.endswith("since") else own + _INSTANT]
        elif name in ("as_of", "known_at", "valid_at"):
            ends = (memory.t_expired, memory.t_invalid)
            moments = [memory.t_created, memory.t_valid]
            moments += [end - _INSTANT for end in ends if end is not None]
            moments.sort(key=lambda moment: abs(moment - given))
        else:
            return
        for moment in moments:
            request = self.variant(**{name: moment})
            if self.passes(request):
                rank = self.rank_with(request=request)
                if rank is not None:
                    yield Change(kind="date", key=name, before=given, after=moment, rank=rank)

    def filter_removed(self, name: str) -> Iterator[Change]:
        """Without this filter."""
        after = _WITHOUT[name]
        rank = self.rank_with(request=self.variant(**{name: after}))
        if rank is not None:
            yield Change(
                kind="filter",
                key=name,
                before=self.given(name),
                after=after,
                rank=rank,
            )

    # --- newer, word, limit ------------------------------------------------------------------

    def newer(self) -> Iterator[Change]:
        """The memory that took its place because it says otherwise."""
        ranked, limit = self.ranked, self.limit
        ranks = {row.id: rank for rank, row in enumerate(ranked.scan.rows[:limit], 1)}
        if self.raw not in ranks:
            return
        came = [row for row in ranked.results if row.newer_than and row.id not in ranks]
        rank = self.rank_with(overrides={"ranking.newer_first": False}) if came else None
        if rank is not None:
            yield self.replaced_by(came[0].memory_id, rank)

    def replaced_by(self, id: str, rank: int | None) -> Change:
        """A newer memory says otherwise."""
        return Change(kind="newer", key="id", before=self.id, after=id, rank=rank)

    def words(self) -> Iterator[Change]:
        """The question with one more word of the memory, rare ones first."""
        query = self.request.query
        for word in self.missing_words():
            text = f"{query} {word}"
            if len(text) > QUERY_CHARS_MAX:
                continue
            rank = self.rank_of(self.query_with(text).ranked)
            if rank is not None:
                yield Change(kind="word", key="query", before=query, after=text, rank=rank)

    def missing_words(self) -> list[str]:
        """Words of the memory that say what it is about and that the query lacks, by their idf."""
        own = {term for term, _, _ in placed_terms(self.request.query)}
        content = self.memory.content
        found = dict[str, str]()
        for one in content_terms(content, ()):
            if one.term not in own:
                found.setdefault(one.term, content[one.start : one.end])
        if not found:
            return []
        terms = list(found)[:TERMS_MAX]
        self.spend()
        summed = self.config.with_overrides({"ranking.base": "linear"}).settings
        words = self.query_with(" ".join(found[term] for term in terms), embed=False)
        scan = words.scan(ranking=ranking_of_settings(summed), limit=1)
        idfs = dict(zip(scan.terms, scan.idfs, strict=True))
        terms = [term for term in terms if term in idfs]
        # by idf, then as they stand in the memory
        terms.sort(key=lambda term: -idfs[term])
        return [found[term] for term in terms[:WORDS_MAX]]

    def query_with(self, text: str, *, embed: bool = True) -> BoundQuery:
        """Another question, everything else as it is; a vector of the caller's stays."""
        query, bound = self.bound.query, self.bound
        vector, states = query.vector, None
        if not embed:
            vector = None
        elif vector is not None and self.request.query_vector is None:
            late = query.ranking.counts_states
            ((vector, states),) = query_vectors(bound.session, [text], late=late)
        request = self.variant(query=text, messages=None)
        made = analyse(
            bound.session,
            self.config,
            request,
            vector,
            states,
            rerank_scores=query.rerank_scores.of_text(text),
            judgements=None if query.judgements is None else query.judgements.of_text(text),
        )
        return BoundQuery(bound.session, bound.view, made)

    def limits(self) -> Iterator[Change]:
        """A greater limit, raised until it comes."""
        assert self.row is not None, "filters do not exclude it"
        rank = self.row.start_rank if self.row.pool_rank is None else self.row.pool_rank
        limit = max(self.limit + 1, 0 if rank is None else rank + 1)
        while True:
            rank = self.rank_with(limit=limit)
            if rank is not None:
                # all memories before it are results too, so its rank is the limit that is enough
                if rank < limit and self.rank_with(limit=max(rank, self.limit + 1)) is not None:
                    limit = max(rank, self.limit + 1)
                yield Change(kind="limit", key="limit", before=self.limit, after=limit, rank=rank)
                return
            if limit >= self.ranked.scan.eligible:
                return
            limit = min(2 * limit, self.ranked.scan.eligible)
