"""The turns of conversations that belong to an answer, beside its facts: which texts ask for them,
which turns say something, which repeat others.

More is asked for when too much of what was found falls away.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from vestig.answers import RecallHit
from vestig.config import Config
from vestig.filters import FilterParts, filter_parts
from vestig.lazy_pattern import lazy_pattern
from vestig.retrieve.calls import Calls
from vestig.retrieve.merge import merged_order
from vestig.retrieve.searches import PER_QUERY, Answer, Searches
from vestig.retrieve.values import Message, PlannedQuery, Request, folded_text
from vestig.types import Degradation, Memory, OriginType

# Turns that each query brings at most, and how the number grows where too few are left.
FOUND_MAX: Final = 500
_GROWTH: Final = 4

_SHIPPED: Final = Path(__file__).resolve().parent.parent / "data" / "trivial_messages.txt"
_LATEST: Final = 3
_LATEST_CHARS: Final = 500
_BYTES_MAX: Final = 1_048_576
# A letter or a digit.
_LETTER: Final = lazy_pattern(r"[^\W_]")
_BARE_WORD: Final = lazy_pattern(r"(?:[^\W_]|['+])+")
# A letter that is drawn out at the end of a word, as in "okayyy".
_DRAWN_OUT: Final = lazy_pattern(r"([^\W\d_])\1+(?!\w)")


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


def message_queries(messages: Sequence[Message]) -> list[str]:
    """Return what turns are searched with where no query found a fact: the end of the conversation,
    which is the last 500 characters of its last three messages.

    Example:
        >>> message_queries([Message(content="Hello."), Message(content="Where is the key?")])
        ['Hello. Where is the key?']
    """
    said = " ".join(message.content for message in messages[-_LATEST:])
    return [said[-_LATEST_CHARS:].strip()] if said.strip() else []


_CHATS = (OriginType.CHAT_PEER.value, OriginType.CHAT_AGENT.value)


class TurnSearch:
    """The search for turns of one request: the recalls that found facts, over what was said in
    conversations. Runs once, at the end."""

    def __init__(self, search: Searches, config: Config, request: Request) -> None:
        self.search = search
        self.config = config
        self.request = request
        self.warnings: list[str] = []
        self.degraded: list[Degradation] = []

    def best(
        self, calls: Calls, successful: Sequence[Answer], left_out: Collection[str]
    ) -> list[Memory]:
        """The best turns that are not among the returned facts: in the order of facts, each text of
        an author once, trivial ones left out.

        Args:
            successful: of the queries that found the best facts.
            left_out: ids of the memories that are returned as facts.
        """
        chats = self._chats(left_out)
        if chats is None:
            return []
        listed, warning = message_blacklist(self.config.settings.retrieve.message_blacklist)
        self.warnings += [] if warning is None else [warning]
        texts = [one.planned.text for one in successful]
        texts = texts or message_queries(self.request.messages)
        if not texts:
            return []
        planned = [PlannedQuery(text=text, source="focus") for text in texts]

        def run() -> list[Memory]:
            asked = successful or self.search.run(planned).answers
            return self._turns(asked, chats, listed)

        turns = calls.call("message_search", texts, run, len)
        if turns is None:
            detail = f"turns could not be searched ({calls.made[-1].error})"
            self.degraded.append(Degradation(code="partial_backend", detail=detail))
            return []
        return turns

    def _turns(
        self, asked: Sequence[Answer], chats: FilterParts, listed: Blacklist
    ) -> list[Memory]:
        """The best turns of these queries; where too many fall away, the search is asked for
        more."""
        most = self.request.max_messages
        limit = max(most, PER_QUERY)

        def key_of(hit: RecallHit) -> tuple[str | None, str] | None:
            if listed.covers(hit.content):
                return None
            return (hit.author and hit.author.casefold(), folded_text(hit.content))

        while True:
            answers = self.search.again(asked, chats, limit)
            found = merged_order(answers, key_of)
            short = len(found) < most and any(len(one.hits) >= limit for one in answers)
            if not short or limit >= FOUND_MAX:
                return [hit.memory for hit in found.values()][:most]
            limit = min(_GROWTH * limit, FOUND_MAX)

    def _chats(self, left_out: Collection[str]) -> FilterParts | None:
        """The filter of the request for turns alone, without these memories; None where it lets
        none of them through."""
        request = self.request
        origins = [
            one for one in request.where.given().get("origin_types", _CHATS) if one in _CHATS
        ]
        if not origins:
            return None
        parts = filter_parts(
            msgspec.structs.replace(request.where, origin_types=origins),
            request.namespace,
            request.moments,
            include_expired=self.config.settings.recall.include_expired,
        )
        return parts.without(sorted(left_out))
