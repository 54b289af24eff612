"""The plan of a search: the goal of a conversation, what it is about, the queries of a round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from vestig.config import Config
from vestig.recall.query import BoundQuery
from vestig.retrieve.fact_search import FactSearch
from vestig.retrieve.fallback_queries import fallback_queries
from vestig.retrieve.query_words import Synonyms, facets, synonyms
from vestig.retrieve.request import Request
from vestig.retrieve.types import PlannedQuery
from vestig.session.filter_ids import resolved
from vestig.store.projection.scan_objects import Filter as CoreFilter
from vestig.store.projection.scan_objects import Projection
from vestig.store.records.reads import LedgerView

_GOAL_CHARS: Final = 200
# Rounds from which the words of what was found make queries, and of how many facts.
_FACTS_FROM: Final = 3
FACTS_READ: Final = 10
# How many of the last messages are read for queries: what came before them is another subject.
MESSAGES_READ: Final = 5


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """Analysis of a conversation. `names`: entities of the store that it names; `idf`: index term →
    idf over the eligible memories, None where the ranking counts no words."""

    goal: str
    focus: str
    recent: tuple[str, ...]
    names: tuple[str, ...]
    facets: tuple[str, ...]
    idf: Mapping[str, float] | None


def goal_of(contents: Sequence[str]) -> str:
    """The last message with a question mark, else the last one; at most 200 characters.

    Example:
        >>> goal_of(["Where is the key?", "I looked everywhere."])
        'Where is the key?'
    """
    asking = (text for text in reversed(contents) if "?" in text)
    return next(asking, contents[-1]).strip()[:_GOAL_CHARS]


class Planner:
    """Queries by rules, for one request."""

    def __init__(self, search: FactSearch, config: Config, request: Request) -> None:
        self.search = search
        self.settings = config.settings.retrieve
        self.request = request
        self.deadline = search.deadline
        self.synonyms: Synonyms = synonyms(self.settings.synonyms)

    def analyse(self) -> Analysis:
        """Return what the end of the conversation asks, by rules and by the names of the store;
        without names and facets that its time does not suffice for."""
        # cut first: whatever is said, the analysis costs what that of a few questions does
        latest = self.request.messages[-MESSAGES_READ:]
        window = [
            self.search.cut(message.content) if message.content.strip() else ""
            for message in latest
        ]
        goal = goal_of(window)
        focus = window[-1].strip() or goal
        names, idf = self._known_words("\n".join(dict.fromkeys((focus, goal, *window))))
        return Analysis(
            goal=goal,
            focus=focus,
            recent=tuple(window[:-1]),
            names=names,
            facets=() if self.deadline.passed else tuple(facets(goal, focus, names, idf=idf)),
            idf=idf,
        )

    def queries(
        self,
        analysis: Analysis,
        iteration: int,
        tried: Mapping[str, int],
        facts: Sequence[str],
    ) -> list[PlannedQuery]:
        """The queries of a round beside the focus, [] when nothing is left to ask, or no time to.

        Args:
            tried: query → number of its results.
            facts: texts of the facts found so far, best first.
        """
        texts = facts[:FACTS_READ] if iteration >= _FACTS_FROM else ()
        idf = analysis.idf
        if texts and idf is not None and not self.deadline.passed:
            said = "\n".join(texts)
            more = self.search.session.keeper.run(lambda view, core: self._idf(view, core, said))
            idf = {**(more or {}), **idf}
        if self.deadline.passed:
            return []
        return fallback_queries(
            analysis.focus,
            analysis.recent,
            None if analysis.goal == analysis.focus else analysis.goal,
            tried,
            iteration,
            analysis.names,
            facts=texts,
            idf=idf,
            max_queries=self.settings.fallback_max_queries,
            max_length=self.settings.fallback_max_query_length,
            synonym_table=self.synonyms,
        )

    def _known_words(self, text: str) -> tuple[tuple[str, ...], Mapping[str, float] | None]:
        """Names of entities of the store in a text, and the idf of its index terms."""
        if not text.strip() or self.deadline.passed:
            return (), None
        query = self.search.analysed(text)

        def read(
            view: LedgerView, core: Projection
        ) -> tuple[tuple[str, ...], Mapping[str, float] | None]:
            if self.deadline.passed:
                return (), None
            bound = BoundQuery(self.search.session, view, query)
            names = tuple(one.name for one in bound.entities)
            return names, None if self.deadline.passed else self._idf(view, core, text)

        return self.search.session.keeper.run(read)

    def _idf(self, view: LedgerView, core: Projection, text: str) -> Mapping[str, float] | None:
        """Index term of a text → its idf over the eligible memories; None where the profile sums no
        terms, or the text has none."""
        if self.search.ranking.base != "linear":
            return None
        chosen = CoreFilter(**resolved(view, core, self.request.filter))
        return core.idfs(view.seq, self.search.cut(text), chosen) or None
