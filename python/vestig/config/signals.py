"""The signals of the linear score, and the keys that switch them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from vestig.config.kinds import Count, Section, Stage, doc

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


class SignalSettings(Stage, frozen=True, kw_only=True):
    """Switches; any other term is switched off by a weight of 0 (`ranking.weights`)."""

    topic: Annotated[
        SignalSwitch, doc("Part of the linear score: meaning; false: words and names alone rank.")
    ] = SignalSwitch()
    sittings: Annotated[
        SignalSwitch,
        doc("Notes that were written within an hour of each other count as a session."),
    ] = SignalSwitch()
    late: Annotated[
        LateSwitch,
        doc(
            "Part of the linear score: word pieces of query and memory, each with its best partner"
            " (late interaction); false: nothing is stored for it.",
            shown=True,
        ),
    ] = LateSwitch()
    rerank: Annotated[
        RerankSwitch,
        doc(f"Part of the linear score: {TERMS['rerank']}.", shown=True),
    ] = RerankSwitch()


# What can be switched off.
SWITCHES: Final = SignalSettings.__struct_fields__


def switch_of(term: str) -> str | None:
    """The signal that switches a term; None: its weight alone does.

    Example:
        >>> switch_of("late_window"), switch_of("words")
        ('late', None)
    """
    name = "late" if term in LATE_TERMS else term
    return name if name in SWITCHES else None
