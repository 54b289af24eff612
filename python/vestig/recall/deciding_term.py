"""What decided the place of a result: the term that added most over the memory behind it, in
words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from vestig.config.signals import SIGNALS

__all__ = ["KIND_OF_MEMORY", "TERM_NAMES", "deciding_term", "summed"]

# What is constant within an origin.
KIND_OF_MEMORY: Final = "kind_of_memory"
# The parts of signals that count as one term, by the signal.
_PARTS: Final = {
    name: signal
    for name in SIGNALS
    for signal in ("context", "late")
    if name.startswith(f"{signal}.")
}
# A term, or the signal that it is a part of → how the sentence of a reason names it.
TERM_NAMES: Final[Mapping[str, str]] = {
    "cosine": "meaning",
    "lexical": "words",
    "keyword": "shared keywords",
    "temporal": "time",
    "entity": "names",
    "recency": "recency",
    "topic": "topic",
    "topic_lexical": "words of the topic",
    "bigram": "words side by side",
    "context": "the lines around it",
    "neighbours": "a line near it",
    "role": "being said by the user",
    "questions": "questions that it answers",
    "person": "its author",
    "date": "date",
    "when": "naming a time",
    "form": "its form",
    "reply": "the question before it",
    "answer_type": "the kind of answer",
    "entity_walk": "links between names",
    "pair": "names shared with another result",
    "title": "title",
    "late": "wording",
    "rerank": "the cross-encoder",
    KIND_OF_MEMORY: "kind of memory",
}


def summed(contributions: Iterable[tuple[str, float]]) -> dict[str, float]:
    """By term what each signal adds, with the parts of a signal that counts as one term added up.

    Example:
        >>> summed([("cosine", 1.0), ("late.own_idf", 0.5), ("late.w1_idf", 0.75)])
        {'cosine': 1.0, 'late': 1.25}
    """
    found: dict[str, float] = {}
    for name, value in contributions:
        if name in _PARTS:
            term = _PARTS[name]
            found[term] = found.get(term, 0.0) + value
        else:
            found[name] = value
    return found


def deciding_term(own: Mapping[str, float], following: Mapping[str, float] | None) -> str | None:
    """The term with the greatest lead over the next memory of the ranking; where nothing follows,
    the one that adds most. None where no term has a lead, or adds anything.

    Args:
        own: contributions by term, as `summed` gives them; what is constant within an origin only
            where the next memory is of another one.

    Example:
        >>> deciding_term({"cosine": 2.0, "lexical": 1.5}, {"cosine": 1.9, "lexical": 0.5})
        'lexical'
        >>> deciding_term({"late": 1.2, "cosine": 1.0}, None)
        'late'
        >>> deciding_term({"lexical": 0.0, "cosine": -0.2}, None) is None
        True
    """
    theirs = {} if following is None else following
    best, most = None, 0.0
    for term, value in own.items():
        lead = value - theirs.get(term, 0.0)
        if lead > most:
            best, most = term, lead
    for term, value in theirs.items():
        if term not in own and -value > most:
            best, most = term, -value
    return best
