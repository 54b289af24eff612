"""Which terms of the linear score are switched as a whole, and how."""

from __future__ import annotations

from typing import Annotated, Final

from vestig.config.kinds import Count, Section, Stage, doc

# What has weights of its own: people's chats, whose lines answer each other, and all else.
KINDS: Final = ("chat_peer", "all")
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
        doc("Part of the linear score: a cross-encoder reads the best memories.", shown=True),
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
