"""One question at one state of the store, which can be asked again with changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from vestig.answers import QueryEntity
from vestig.commit.text import normalise
from vestig.config import Config
from vestig.ids import id_bytes
from vestig.language import words
from vestig.language.expected_answer import answer_types, is_yearless
from vestig.language.time import expressions
from vestig.ports import LedgerView, Pieces, ScanRequest
from vestig.recall import query_entities
from vestig.recall.question_words import question_words
from vestig.recall.ranking import Recipe, recipe
from vestig.recall.reason import META_SIGNALS, Question, shares
from vestig.recall.request import RecallPlan, RecallRequest, chosen_seed, plan
from vestig.recall.rerank import Reranked, best, reranked
from vestig.session.filter_ids import resolved
from vestig.session.session import Session
from vestig.times import from_us, to_us
from vestig.types import TemporalWindow

__all__ = ["Asked", "Asking", "Scanner", "analysed", "planned"]

# seq, request → scan, of a projection that stands at that seq
Scanner = Callable[[int, ScanRequest], Any]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, before any state is looked at."""

    plan: RecallPlan
    config: Config
    vector: bytes | None
    pieces: Pieces | None
    keywords: tuple[str, ...]
    windows: tuple[TemporalWindow, ...]
    name_vectors: dict[str, bytes]
    # what a cross-encoder says, as far as it was asked
    reranked: Reranked


def planned(session: Session, config: Config, request: RecallRequest) -> RecallPlan:
    """The request checked under a configuration.

    Raises:
        ValidationError: a wrong argument.
    """
    settings = config.settings
    return plan(
        request,
        now_us=session.now_us(),
        limit_default=settings.recall.default_limit,
        query_chars_max=settings.recall.max_query_chars,
        namespace=session.namespace,
        include_expired=settings.recall.include_expired,
        dimensions=session.embedder.dimensions,
    )


def analysed(
    session: Session,
    config: Config,
    checked: RecallPlan,
    vector: bytes | None,
    pieces: Pieces | None,
    said: Reranked | None = None,
) -> Asked:
    """Keywords, windows and vectors of names of the query; `said`: what a
    cross-encoder said of memories, where nobody is to be asked."""
    settings = config.settings
    found = expressions.find_windows(
        checked.query, checked.moments.query_time_us, zone=settings.time.zone
    )
    windows = [
        TemporalWindow(
            text=one.text,
            start=None if one.window_start_us is None else from_us(one.window_start_us),
            end=None if one.window_end_us is None else from_us(one.window_end_us),
            grain=one.grain,
        )
        for one in found
        if one.resolved
    ]
    keywords = words.keywords(
        checked.query,
        limit=settings.keywords.max_per_memory,
        extra_stopwords=settings.keywords.stopwords,
    )
    return Asked(
        plan=checked,
        config=config,
        vector=vector,
        pieces=pieces,
        keywords=tuple(keywords),
        windows=tuple(windows),
        name_vectors=query_entities.name_vectors(session, checked.query, config),
        reranked=Reranked() if said is None else said,
    )


class Asking:
    """A question at the state of one view; every run sees this state and this seed.

    Args:
        core: the projection at the view's seq.
        scanner: how that projection is asked.
    """

    def __init__(
        self, session: Session, view: LedgerView, core: Any, scanner: Scanner, asked: Asked
    ) -> None:
        self.session = session
        self.view = view
        self.core = core
        self.asked = asked
        self.recipe = recipe(session, asked.config)
        self.runs = 0
        # milliseconds of what extra signals needed, by their name
        self.spent: dict[str, float] = {}
        self._scanner = scanner
        checked = asked.plan
        self.entities = _entities(session, view, asked)
        said = normalise(checked.query, asked.config.settings.hygiene)
        self.seed, self.seed_origin = chosen_seed(checked.seed, self.recipe.seed, said, view.seq)

    @property
    def mode(self) -> str:
        """How edges are drawn."""
        return self.recipe.mode

    @property
    def order(self) -> str:
        """Which offer is taken first."""
        return self.recipe.order

    @property
    def has_confidence(self) -> bool:
        """Whether the numbers that confidence is made of are there."""
        return self.recipe.has_confidence and self.asked.vector is not None

    @property
    def available(self) -> list[str]:
        """Metadata signals that the query has something for."""
        asked = self.asked
        has = {
            "keyword": bool(asked.keywords),
            "temporal": bool(asked.windows),
            "entity": bool(self.entities),
            "recency": self.recipe.meta_weights["recency"] != 0,
        }
        return [name for name in META_SIGNALS if has[name]]

    def shares(self) -> dict[str, float]:
        """Shares of the available signals in the metadata; {} where it has no part."""
        ranking = self.recipe.ranking
        if self.recipe.base not in ("semantic", "blend") or not ranking["start_enabled"]:
            return {}
        return shares(self.recipe.meta_weights, self.available)

    def run(
        self,
        *,
        checked: RecallPlan | None = None,
        made: Recipe | None = None,
        limit: int | None = None,
        watch: bytes = b"",
    ) -> Any:
        """One scan; what is not given is as asked."""
        own = self.asked.plan if checked is None else checked
        chosen = self.recipe if made is None else made
        self.runs += 1
        ranking, walk = chosen.for_call(
            limit=own.limit if limit is None else limit,
            query_time_us=own.moments.query_time_us,
        )
        let_through = resolved(self.view, self.core, own.filter)
        request = ScanRequest(
            query=self._query(chosen, let_through),
            filter=let_through,
            ranking={**ranking, "watch": watch},
            walk=walk,
            trace=chosen.trace,
        )
        if chosen.counts_rerank:
            request = self._reranked(request, chosen.rerank_pool)
        return self._scanner(self.view.seq, request)

    def _query(self, made: Recipe, let_through: dict[str, Any]) -> dict[str, Any]:
        asked = self.asked
        windows = [(_us(w.start), _us(w.end)) for w in asked.windows]
        query: dict[str, Any] = {
            "vector": asked.vector,
            "text": None,
            "keywords": asked.keywords,
            "windows": windows,
            "entities": [(id_bytes(entity.id), entity.score) for entity in self.entities],
            "seed": self.seed,
        }
        if made.base != "linear":
            return query
        said = asked.plan.query
        return query | {
            "text": said,
            "said": said,
            "dates": [
                (start, end, is_yearless(window.text))
                for (start, end), window in zip(windows, asked.windows, strict=True)
            ],
            "asks": answer_types(said),
            "pieces": asked.pieces,
            "questions": self._questions(let_through) if made.counts_questions else None,
        }

    def _reranked(self, request: ScanRequest, count: int) -> ScanRequest:
        started = time.perf_counter()
        checked = self.asked.plan
        pool = best(self._scanner, self.view.seq, request, count)
        found = reranked(
            self.session, self.view, checked.namespace, checked.query, pool, self.asked.reranked
        )
        self._spend("rerank", started)
        return msgspec.structs.replace(request, query={**request.query, "reranked": found})

    def _spend(self, name: str, since: float) -> None:
        spent = (time.perf_counter() - since) * 1e3
        self.spent[name] = self.spent.get(name, 0.0) + spent

    def _questions(self, let_through: dict[str, Any]) -> Any:
        started = time.perf_counter()
        found = question_words(
            self.session,
            self.view,
            self.asked.plan.namespace,
            self.eligible(let_through),
            self.asked.plan.query,
        )
        self._spend("questions", started)
        return found

    def eligible(self, chosen: dict[str, Any]) -> bytes:
        """Ids that a filter lets through, 16 bytes each; `min_similarity` is not looked at."""
        return self.session.keeper.eligible(self.view, chosen)

    def question(self, terms: Any) -> Question:
        """What reasons refer to; `terms` as the scan found them."""
        checked, made = self.asked.plan, self.recipe
        return Question(
            terms=terms,
            windows=self.asked.windows,
            entities={id_bytes(entity.id): entity for entity in self.entities},
            base=made.base,
            weights=made.ranking["weights"],
            meta_shares=self.shares(),
            has_vector=self.asked.vector is not None,
            query_time=from_us(checked.moments.query_time_us),
            known_at=from_us(checked.moments.known_at_us),
        )


def _us(moment: Any) -> int | None:
    return None if moment is None else to_us(moment)


def _entities(session: Session, view: LedgerView, asked: Asked) -> tuple[QueryEntity, ...]:
    """The entities that the query names, the surest first."""
    checked = asked.plan
    return query_entities.meant_entities(
        session,
        view,
        checked.query,
        namespace=checked.namespace,
        known_at_us=checked.moments.known_at_us,
        config=asked.config,
        vectors=asked.name_vectors,
    )
