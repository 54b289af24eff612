"""The signals of the linear score: their terms, and the keys that switch them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec

from vestig.config.kinds import Count, Section, doc
from vestig.types import OriginType

__all__ = [
    "CANDIDATE_TERMS",
    "CONTENT_TERMS",
    "EVIDENCE",
    "ORIGINS",
    "SIGNALS",
    "SITTING_SIGNALS",
    "SWITCHES",
    "TERMS",
    "TOKEN_TERMS",
    "SignalSettings",
]


ORIGINS: Final = tuple(origin.value for origin in OriginType)
# What a weight can be given to, in the order in which the linear score sums it; a term is a part of
# the signal before its first dot.
TERMS: Final[Mapping[str, str]] = {
    "bias": "a constant",
    "cosine": "meaning",
    "keyword": "shared keywords",
    "temporal": "the times that the query names",
    "entity": "the entities that the query names",
    "recency": "recency",
    "lexical": "words (BM25)",
    "topic": "meaning of the words that say what the query is about",
    "topic_lexical": "words that say what the query is about (BM25)",
    "bigram": "neighbouring words of the query that are neighbours in it",
    "context.words": "words of the memory and its neighbours as one text",
    "context.vector": "meaning of the memory and its neighbours as one text",
    "context.soft": "words of five memories around it, near ones more",
    "context.wide": "words of five memories around it as one text",
    **{
        f"neighbours.lexical.{place}": f"words of the memory at {place} in the session"
        for place in ("-2", "-1", "+1", "+2", "+3")
    },
    "role": "being said by the user",
    "questions": "words of the questions that its statements answer",
    "person": "the author being named by the query (another one: minus)",
    "date": "nearness to the dates that the query names",
    "when": "expressions of time, where the query asks when",
    "form.question": "holding a question mark",
    "form.length": "length",
    "form.first": "being the first of the session",
    "reply.question": "following a question by somebody else",
    "reply.lexical": "words of the question that it follows",
    "answer_type.number": "holding a number, where the query asks how many",
    "answer_type.name": "holding names, where the query asks who, where or which",
    "entity_walk": "the walk over shared entities",
    "pair.pair": "words of the query in it or in one of the best that shares a name",
    "pair.gain": "words that it adds to one of the best that shares a name",
    "title": "its title being a name in the query or in one of the best memories",
    "late.own_idf": "word pieces, each with its best partner (MaxSim), rare ones more",
    "late.w1_idf": "word pieces of it and its neighbours, rare ones more",
    "late.w2_idf": "word pieces of it and of two neighbours on each side, rare ones more",
    "late.w2_cube": "the most similar word pieces of these, rare ones more",
    "rerank": "what a cross-encoder says of query and text",
}
# What puts the memories of an origin on one scale with those of others, beside its terms: meaning
# and value where none is learned.
EVIDENCE: Final[Mapping[str, tuple[str, float]]] = {
    "evidence.scale": ("the sum of its terms, where memories of several origins compete", 1.0),
    "evidence.constant": ("a constant, where memories of several origins compete", 0.0),
    "evidence.cosine": ("the largest meaning among memories of its origin", 0.0),
    "evidence.lexical": ("the largest score by words among memories of its origin", 0.0),
    "evidence.best": ("the largest sum of terms among memories of its origin", 0.0),
    "evidence.mean": ("the mean of the five largest sums of terms of its origin", 0.0),
}
# Terms beside the bias.
SIGNALS: Final = tuple(TERMS)[1:]
# Terms that look at the content terms of the query alone.
CONTENT_TERMS: Final = ("topic", "topic_lexical", "bigram")
# Signals that look at neighbours in sittings of notes.
SITTING_SIGNALS: Final = frozenset(("context", "neighbours", "late"))
# Terms that are made of vectors of word pieces.
TOKEN_TERMS: Final = tuple(name for name in SIGNALS if name.startswith("late."))
# Name of a weight → its term. These weights choose the memories that the others rank, and rank the
# rest: terms say more in a sum without word pieces, and where walks begin is told without walks.
CANDIDATE_TERMS: Final[Mapping[str, str]] = {
    f"candidate.{term}": term for term in TERMS if term not in (*TOKEN_TERMS, "rerank")
}


class SignalSwitch(Section, frozen=True, kw_only=True):
    enabled: bool = True


class ExtraSwitch(Section, frozen=True, kw_only=True):
    """Of a signal that is off by default."""

    enabled: bool = False


class LateSwitch(Section, frozen=True, kw_only=True):
    enabled: bool = True
    pool: Annotated[
        Count,
        doc(
            "How many of the best memories of an origin by its candidate weights are ranked by its"
            " other weights, and compared word piece by word piece where late terms weigh."
        ),
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
    cosine: Annotated[SignalSwitch, part("meaning")] = SignalSwitch()
    keyword: Annotated[SignalSwitch, part("shared keywords")] = SignalSwitch()
    temporal: Annotated[SignalSwitch, part("the times that the query names")] = SignalSwitch()
    entity: Annotated[SignalSwitch, part("the entities that the query names")] = SignalSwitch()
    recency: Annotated[SignalSwitch, part("recency")] = SignalSwitch()
    lexical: Annotated[SignalSwitch, part("words (BM25)")] = SignalSwitch()
    topic: Annotated[
        SignalSwitch, part("meaning of the words that say what the query is about")
    ] = SignalSwitch()
    topic_lexical: Annotated[
        SignalSwitch, part("words that say what the query is about (BM25)")
    ] = SignalSwitch()
    bigram: Annotated[
        SignalSwitch, part("neighbouring words of the query that are neighbours in the memory")
    ] = SignalSwitch()
    context: Annotated[SignalSwitch, part("the memory with its neighbours in the session")] = (
        SignalSwitch()
    )
    neighbours: Annotated[SignalSwitch, part("the neighbours in the session")] = SignalSwitch()
    role: Annotated[SignalSwitch, part("being said by the user")] = SignalSwitch()
    sittings: Annotated[
        SignalSwitch,
        doc("Whether notes that were written within an hour of each other count as a session."),
    ] = SignalSwitch()
    questions: Annotated[
        ExtraSwitch, part("words of the questions that its statements answer", shown=True)
    ] = ExtraSwitch()
    person: Annotated[
        SignalSwitch, part("the author being named by the query (another one: minus)")
    ] = SignalSwitch()
    date: Annotated[SignalSwitch, part("nearness to the dates that the query names")] = (
        SignalSwitch()
    )
    when: Annotated[SignalSwitch, part("expressions of time, where the query asks when")] = (
        SignalSwitch()
    )
    form: Annotated[SignalSwitch, part("question mark, length, place in the session")] = (
        SignalSwitch()
    )
    reply: Annotated[SignalSwitch, part("the question that a memory answers")] = SignalSwitch()
    answer_type: Annotated[SignalSwitch, part("the kind of answer that the query asks for")] = (
        SignalSwitch()
    )
    entity_walk: Annotated[SignalSwitch, part("the walk over shared entities")] = SignalSwitch()
    pair: Annotated[SignalSwitch, part("memories that answer together with a best one")] = (
        SignalSwitch()
    )
    title: Annotated[
        SignalSwitch, part("its title being a name in the query or in one of the best memories")
    ] = SignalSwitch()
    late: Annotated[
        LateSwitch,
        part(
            "word pieces of query and memory, each with its best partner (late interaction)",
            shown=True,
        ),
    ] = LateSwitch()
    evidence: Annotated[
        SignalSwitch,
        doc(
            "Score each origin by itself, and put origins on one scale by how well the best of each"
            " fit the query; off: all memories are scored together."
        ),
    ] = SignalSwitch()
    rerank: Annotated[
        RerankSwitch, part("what a cross-encoder says of query and text", shown=True)
    ] = RerankSwitch()


# What can be switched off; a term belongs to the one before its first dot.
SWITCHES: Final = SignalSettings.__struct_fields__
