"""The signals of the linear score, and the keys that switch them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec

from vestig.config.kinds import Count, Section, doc

# What a weight can be given to, in the order in which the linear score sums it.
TERMS: Final[Mapping[str, str]] = {
    "bias": "a constant",
    "words": "words that it and, less, the turns around it share with the query (BM25)",
    "date": "nearness to the dates that the query names",
    "question": "being itself a short question",
    "reply": "words of the question that it answers",
    "long": "length beyond 300 characters",
    "person": "the author being named by the query (another one: minus)",
    "topic": "meaning",
    "entity_walk": "the walk over shared entities",
    "pair": "words that it and one of the best that shares a name hold together",
    "title": "its title being a name in the query or in one of the best memories",
    "late": "word pieces, each with its best partner (MaxSim), rare ones more",
    "late_window": "word pieces of the turns around it, what they add",
    "rerank": "what a cross-encoder says of query and text",
}
# What has weights of its own: people's chats, whose lines answer each other, and all else.
KINDS: Final = ("chat_peer", "all")
# Terms beside the bias.
SIGNALS: Final = tuple(TERMS)[1:]
# Terms that are made of vectors of word pieces.
LATE_TERMS: Final = ("late", "late_window")
# Signals that look at neighbours in sittings of notes.
SITTING_TERMS: Final = frozenset(("words", "reply", "late_window"))


class SignalSwitch(Section, frozen=True, kw_only=True):
    enabled: bool = True


class LateSwitch(Section, frozen=True, kw_only=True):
    enabled: bool = True
    pool: Annotated[
        Count,
        doc("How many of the best memories by all other terms are compared by their word pieces."),
    ] = 128


class RerankSwitch(Section, frozen=True, kw_only=True):
    enabled: bool = False
    pool: Annotated[
        Count, doc("How many of the best memories by all other terms a cross-encoder reads.")
    ] = 20


def part(what: str, *, shown: bool = False) -> msgspec.Meta:
    """The description of a signal's switch."""
    return doc(f"Part of the linear score: {what}.", shown=shown)


class SignalSettings(Section, frozen=True, kw_only=True):
    words: Annotated[SignalSwitch, part(TERMS["words"])] = SignalSwitch()
    date: Annotated[SignalSwitch, part(TERMS["date"])] = SignalSwitch()
    question: Annotated[SignalSwitch, part(TERMS["question"])] = SignalSwitch()
    reply: Annotated[SignalSwitch, part(TERMS["reply"])] = SignalSwitch()
    long: Annotated[SignalSwitch, part(TERMS["long"])] = SignalSwitch()
    person: Annotated[SignalSwitch, part(TERMS["person"])] = SignalSwitch()
    topic: Annotated[SignalSwitch, part(TERMS["topic"])] = SignalSwitch()
    sittings: Annotated[
        SignalSwitch,
        doc("Whether notes that were written within an hour of each other count as a session."),
    ] = SignalSwitch()
    entity_walk: Annotated[SignalSwitch, part(TERMS["entity_walk"])] = SignalSwitch()
    pair: Annotated[SignalSwitch, part(TERMS["pair"])] = SignalSwitch()
    title: Annotated[SignalSwitch, part(TERMS["title"])] = SignalSwitch()
    late: Annotated[
        LateSwitch,
        part(
            "word pieces of query and memory, each with its best partner (late interaction)",
            shown=True,
        ),
    ] = LateSwitch()
    rerank: Annotated[RerankSwitch, part(TERMS["rerank"], shown=True)] = RerankSwitch()


# What can be switched off.
SWITCHES: Final = SignalSettings.__struct_fields__


def switch_of(term: str) -> str:
    """The signal that switches a term.

    Example:
        >>> switch_of("late_window"), switch_of("words")
        ('late', 'words')
    """
    return "late" if term in LATE_TERMS else term
