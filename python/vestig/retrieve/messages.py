"""The turns of conversations that belong to an answer, beside its facts: which texts ask for them,
which turns say something, which repeat others.

More is asked for when too much of what was found falls away.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from vestig.config import Config
from vestig.filters import FilterParts, filter_parts
from vestig.ids import id_bytes
from vestig.lazy_pattern import lazy_pattern
from vestig.memories.read import as_known
from vestig.retrieve.calls import Calls
from vestig.retrieve.fact_search import EmbeddedQuery, FactSearch, QueryResults
from vestig.retrieve.rank import FOCUS
from vestig.retrieve.values import Message, PlannedQuery, Request, folded_text
from vestig.store.records.reads import LedgerView
from vestig.types import Degradation, Memory, OriginType

# Turns that each query brings at first, and at most.
PER_QUERY: Final = 50
FOUND_MAX: Final = 500

_SHIPPED: Final = Path(__file__).resolve().parent.parent / "data" / "trivial_messages.txt"
_LATEST: Final = 3
_LATEST_CHARS: Final = 500
_BYTES_MAX: Final = 1_048_576
# A letter or a digit.
_LETTER: Final = lazy_pattern(r"[^\W_]")
_BARE_WORD: Final = lazy_pattern(r"(?:[^\W_]|['+])+")
# A letter that is drawn out at the end of a word, as in "okayyy".
_DRAWN_OUT: Final = lazy_pattern(r"([^\W\d_])\1+(?!\w)")


class FoundMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that the search found."""

    memory: Memory
    relevance: float


class Blacklist:
    """Messages that say too little to be returned. Case, punctuation and drawn-out endings do not
    matter.

    Args:
        terms: whole messages.
        wordless: whether messages without a letter or a digit, such as emoji, are among them.

    Example:
        >>> listed = Blacklist(["ok", "thank you"], wordless=True)
        >>> [listed.covers(text) for text in ("OKKK!", "Thank you :)", "👍🏽", "ok by noon", "42")]
        [True, True, True, False, False]
    """

    def __init__(self, terms: Collection[str], *, wordless: bool = False) -> None:
        self._plain = frozenset(" ".join(_bare_words(term)) for term in terms)
        self._words_max = max([term.count(" ") + 1 for term in self._plain], default=0)
        self._shortened = frozenset(_DRAWN_OUT.sub(r"\1", term) for term in self._plain)
        self._wordless = wordless

    def covers(self, text: str) -> bool:
        """Return whether a message is trivial."""
        if self._wordless and not _LETTER.search(text):
            return True
        words = _bare_words(text, self._words_max + 1)
        bare = " ".join(words)
        return bare in self._plain or _DRAWN_OUT.sub(r"\1", bare) in self._shortened


def _bare_words(text: str, most: int | None = None) -> list[str]:
    """Its first words in lower case without punctuation; all parts of a text without words."""
    lower = text.lower().replace("’", "'")
    if not _LETTER.search(lower):
        return lower.split()
    return [found[0] for found in islice(_BARE_WORD.finditer(lower), most)]


def message_blacklist(path: str | None) -> tuple[Blacklist, str | None]:
    """The blacklist of a file, one message a line, `#` before a comment; None = the shipped one.
    A file that cannot be read stands for an empty list, and the second value warns of it.

    Example:
        >>> listed, warning = message_blacklist(None)
        >>> listed.covers("Thanks!"), warning
        (True, None)
    """
    if path is None:
        return _shipped(), None
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_BYTES_MAX + 1)
        if len(raw) > _BYTES_MAX:
            raise ValueError(f"more than {_BYTES_MAX} bytes")
        return Blacklist(_terms(raw.decode("utf-8-sig"))), None
    except (OSError, ValueError) as error:
        return Blacklist(()), (
            f"retrieve.message_blacklist cannot be read ({type(error).__name__}): no message is"
            " left out as trivial"
        )


@cache
def _shipped() -> Blacklist:
    return Blacklist(_terms(_SHIPPED.read_text(encoding="utf-8")), wordless=True)


def _terms(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def message_queries(found_facts: Sequence[str], messages: Sequence[Message]) -> list[str]:
    """Return what messages are searched with: the queries that found facts, else the end of the
    conversation, which is the last 500 characters of its last three messages.

    Example:
        >>> message_queries([], [Message(content="Hello."), Message(content="Where is the key?")])
        ['Hello. Where is the key?']
        >>> message_queries(["key"], [Message(content="Where is the key?")])
        ['key']
    """
    if found_facts:
        return list(found_facts)
    said = " ".join(message.content for message in messages[-_LATEST:])
    return [said[-_LATEST_CHARS:].strip()] if said.strip() else []


def best_messages(
    search: Callable[[int], tuple[Sequence[FoundMessage], int]], limit: int
) -> Sequence[FoundMessage]:
    """The best turns. Where too few are left the search is asked for more.

    Args:
        search: most results for each query → what `distinct_messages` leaves of them, and how many
            they were.
        limit: most turns, >= 1.
    """
    per_query = PER_QUERY
    while True:
        chosen, found = search(per_query)
        if len(chosen) >= limit or per_query >= FOUND_MAX or found < per_query:
            return chosen
        per_query = min(2 * per_query, FOUND_MAX)


def by_relevance(relevance: Mapping[str, float], size: int) -> Iterator[list[str]]:
    """Ids in pages, the most relevant first; equally relevant ones stand on one page.

    Args:
        size: least length of a page, but for the last.

    Example:
        >>> list(by_relevance({"a": 0.1, "b": 0.5, "c": 0.5, "d": 0.9}, 2))
        [['d', 'b', 'c'], ['a']]
    """
    page: list[str] = []
    for id in sorted(relevance, key=lambda id: -relevance[id]):
        if len(page) >= size and relevance[id] < relevance[page[-1]]:
            yield page
            page = []
        page.append(id)
    if page:
        yield page


def distinct_messages(
    pages: Iterable[Sequence[FoundMessage]],
    limit: int,
    *,
    left_out: Collection[str],
    blacklist: Blacklist,
) -> list[FoundMessage]:
    """The first turns, each text of an author once, trivial ones left out: by relevance, then
    time, then id.

    Args:
        pages: the more relevant first, equally relevant ones on one page; no more of them are
            read than are needed.
        limit: most turns, >= 1.
        left_out: ids of memories that are returned as facts, or that the caller has.
    """
    chosen: dict[tuple[str | None, str], FoundMessage] = {}
    for page in pages:
        ranked = sorted(page, key=lambda one: (-one.relevance, one.memory.t_valid, one.memory.id))
        for one in ranked:
            memory = one.memory
            if memory.id not in left_out and not blacklist.covers(memory.content):
                author = None if memory.author is None else memory.author.casefold()
                chosen.setdefault((author, folded_text(memory.content)), one)
        if len(chosen) >= limit:
            break
    return list(chosen.values())[:limit]


_CHATS = (OriginType.CHAT_PEER.value, OriginType.CHAT_AGENT.value)
# Turns that are read at once, as a multiple of those that are returned: facts are left out of them.
_PAGE_OF_LIMIT: Final = 3


class TurnSearch:
    """The search for turns of one request: that for facts, over what was said in conversations.
    Runs once, at the end."""

    def __init__(self, search: FactSearch, config: Config, request: Request) -> None:
        self.search = search
        self.config = config
        self.request = request
        self.warnings: list[str] = []
        self.degraded: list[Degradation] = []

    def best(
        self, calls: Calls, found: QueryResults | None, left_out: Collection[str]
    ) -> list[Memory]:
        """The best turns that are not among the returned facts.

        Args:
            left_out: ids of the memories that are.
        """
        where = self._chats()
        if where is None:
            return []
        listed, warning = message_blacklist(self.config.settings.retrieve.message_blacklist)
        self.warnings += [] if warning is None else [warning]
        successful = self._successful(found)
        texts = message_queries([one.planned.text for one in successful], self.request.messages)
        if not texts:
            return []
        planned = [PlannedQuery(text=text, source="focus") for text in texts]

        limit = self.request.max_messages

        def chosen(pages: Iterable[Sequence[FoundMessage]]) -> Sequence[FoundMessage]:
            return distinct_messages(pages, limit, left_out=left_out, blacklist=listed)

        def run() -> tuple[Sequence[FoundMessage], Degradation | None]:
            vectors, lost = (successful, None) if successful else self.search.embed(planned)
            found = best_messages(lambda most: self._found(where, vectors, most, chosen), limit)
            return found, lost

        answer = calls.call("message_search", texts, run, lambda one: len(one[0]))
        if answer is None:
            detail = f"turns could not be searched ({calls.made[-1].error})"
            self.degraded.append(Degradation(code="partial_backend", detail=detail))
            return []
        if answer[1] is not None:
            self.degraded.append(answer[1])
        return [one.memory for one in answer[0]]

    @staticmethod
    def _successful(found: QueryResults | None) -> Sequence[EmbeddedQuery]:
        """The focus and the other queries that found a fact above the cut of recall; none where no
        query found any fact."""
        if found is None or not any(found.best):
            return ()
        above, pairs = found.above_cut(), zip(found.queries, found.best, strict=True)
        return tuple(
            one for at, (one, best) in enumerate(pairs) if at == FOCUS or not above.isdisjoint(best)
        )

    def _chats(self) -> FilterParts | None:
        """The filter of the request for turns alone; None where it lets none of them through."""
        request = self.request
        origins = [
            one for one in request.where.given().get("origin_types", _CHATS) if one in _CHATS
        ]
        if not origins:
            return None
        return filter_parts(
            msgspec.structs.replace(request.where, origin_types=origins),
            request.namespace,
            request.moments,
            include_expired=self.config.settings.recall.include_expired,
        )

    def _found(
        self,
        chats: FilterParts,
        queries: Sequence[EmbeddedQuery],
        most: int,
        choose: Callable[[Iterable[Sequence[FoundMessage]]], Sequence[FoundMessage]],
    ) -> tuple[Sequence[FoundMessage], int]:
        """Return what is chosen of the best turns of each query, and how many these are."""

        def load(
            view: LedgerView, relevance: Mapping[str, float]
        ) -> tuple[Sequence[FoundMessage], int]:
            return choose(self._pages(view, relevance)), len(relevance)

        return self.search.best(queries, chats, most, load)

    def _pages(
        self, view: LedgerView, relevance: Mapping[str, float]
    ) -> Iterator[list[FoundMessage]]:
        """The turns of these ids in pages, read when they are looked at."""
        space, at = self.request.namespace, self.request.moments
        for ids in by_relevance(relevance, _PAGE_OF_LIMIT * self.request.max_messages):
            self.search.deadline.check()
            stored = view.recalled(space, [id_bytes(id) for id in ids])
            known = as_known(view, space, [one.make() for one in stored.values()], at)
            yield [FoundMessage(memory=one, relevance=relevance[one.id]) for one in known]
