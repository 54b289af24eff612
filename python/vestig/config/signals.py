"""The signals: their names, the weights they have built in, and the keys of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from vestig.config.kinds import Count, Section

if TYPE_CHECKING:
    from vestig.config.schema import Settings

__all__ = [
    "ORIGINS",
    "SIGNALS",
    "SWITCHES",
    "TOKEN_TERMS",
    "WEIGHTS",
    "OriginWeights",
    "SignalSettings",
    "all_weights",
    "by_term",
    "nested",
    "weighing",
    "weights_of",
]

T = TypeVar("T")

# Learned as in Q-06 from people's chats, agents' sessions, documents and the shipped benchmark,
# together, so that origins that lie in one store rank on one scale (Q-03; `make learn`).
# The biases keep the logistic of R-12 unsaturated, so that use cannot outrank meaning.
_TEXTS: Final = {
    "bias": -11.6,
    "cosine": 3.29,
    "lexical": 1.85,
    "entity_walk": 2.71,
    "title": 0.787,
}

# What each origin's terms weigh unless a file or a call says otherwise; what is not named weighs 0
# and is never computed. `vestig eval` measures what a change does.
WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = {
    "chat_peer": {
        "bias": -16.2,
        "cosine": 2.76,
        "lexical": 1.03,
        "context.vector": 1.7,
        "context.wide": 2.18,
        "neighbours.lexical.-2": 0.442,
        "neighbours.lexical.-1": -0.835,
        "neighbours.lexical.+1": -0.723,
        "person": 0.316,
        "date": 2.22,
        "when": 2.03,
        "form.question": -0.747,
        "form.first": 0.481,
        "reply.lexical": 1.95,
        "answer_type.name": 1.24,
        "first_person.said": 0.427,
        "late.window": -3.31,
        "late.window_idf": 7.68,
    },
    "chat_agent": {
        "bias": -11.2,
        "cosine": 3.79,
        "lexical": 1.99,
        "context.words": -1.27,
        "context.vector": 1.54,
        "context.soft": 1.61,
        "neighbours.lexical.+1": 1.13,
        "role": 1.33,
        "form.length": -2.72,
    },
    "document": _TEXTS,
    "note": _TEXTS,
}


class ContextWeights(Section, frozen=True, kw_only=True):
    words: float = 0.0
    vector: float = 0.0
    soft: float = 0.0
    wide: float = 0.0


class OffsetWeights(Section, frozen=True, kw_only=True):
    """By place in the session, counted from the memory's own."""

    before_2: float = msgspec.field(default=0.0, name="-2")
    before_1: float = msgspec.field(default=0.0, name="-1")
    after_1: float = msgspec.field(default=0.0, name="+1")
    after_2: float = msgspec.field(default=0.0, name="+2")
    after_3: float = msgspec.field(default=0.0, name="+3")


class NeighbourWeights(Section, frozen=True, kw_only=True):
    lexical: OffsetWeights = OffsetWeights()
    cosine: OffsetWeights = OffsetWeights()


class AnswerWeights(Section, frozen=True, kw_only=True):
    lexical: float = 0.0
    cosine: float = 0.0


class FormWeights(Section, frozen=True, kw_only=True):
    question: float = 0.0
    length: float = 0.0
    first: float = 0.0


class ReplyWeights(Section, frozen=True, kw_only=True):
    question: float = 0.0
    lexical: float = 0.0
    late: float = 0.0


class AnswerTypeWeights(Section, frozen=True, kw_only=True):
    number: float = 0.0
    name: float = 0.0


class FirstPersonWeights(Section, frozen=True, kw_only=True):
    said: float = 0.0
    person: float = 0.0


class PairWeights(Section, frozen=True, kw_only=True):
    pair: float = 0.0
    gain: float = 0.0


class LateWeights(Section, frozen=True, kw_only=True):
    mean: float = 0.0
    idf: float = 0.0
    window: float = 0.0
    window_idf: float = 0.0


class SignalWeights(Section, frozen=True, kw_only=True):
    """Weights of one origin, in the order in which L sums them."""

    bias: float = 0.0
    cosine: float = 0.0
    keyword: float = 0.0
    temporal: float = 0.0
    entity: float = 0.0
    recency: float = 0.0
    lexical: float = 0.0
    context: ContextWeights = ContextWeights()
    neighbours: NeighbourWeights = NeighbourWeights()
    answer: AnswerWeights = AnswerWeights()
    role: float = 0.0
    questions: float = 0.0
    person: float = 0.0
    date: float = 0.0
    when: float = 0.0
    form: FormWeights = FormWeights()
    reply: ReplyWeights = ReplyWeights()
    answer_type: AnswerTypeWeights = AnswerTypeWeights()
    first_person: FirstPersonWeights = FirstPersonWeights()
    entity_walk: float = 0.0
    pair: PairWeights = PairWeights()
    title: float = 0.0
    late: LateWeights = LateWeights()
    rerank: float = 0.0


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as mappings of mappings.

    Example:
        >>> nested({"late.mean": 1.0, "late.idf": 2.0})
        {'late': {'mean': 1.0, 'idf': 2.0}}
    """
    found: dict[str, Any] = {}
    for key, value in values.items():
        *path, name = key.split(".")
        place = found
        for part in path:
            place = place.setdefault(part, {})
        place[name] = value
    return found


def _built_in(origin: str) -> SignalWeights:
    return msgspec.convert(nested(WEIGHTS[origin]), SignalWeights)


class OriginWeights(Section, frozen=True, kw_only=True):
    chat_peer: SignalWeights = _built_in("chat_peer")
    chat_agent: SignalWeights = _built_in("chat_agent")
    document: SignalWeights = _built_in("document")
    note: SignalWeights = _built_in("note")


class SignalSwitch(Section, frozen=True, kw_only=True):
    enabled: bool = True


class ExtraSwitch(Section, frozen=True, kw_only=True):
    """Of a signal that is off unless it is asked for."""

    enabled: bool = False


class LateSwitch(Section, frozen=True, kw_only=True):
    enabled: bool = True
    pool: Count = 128


class RerankSwitch(ExtraSwitch, frozen=True, kw_only=True):
    pool: Count = 20


class SignalSettings(Section, frozen=True, kw_only=True):
    cosine: SignalSwitch = SignalSwitch()
    keyword: SignalSwitch = SignalSwitch()
    temporal: SignalSwitch = SignalSwitch()
    entity: SignalSwitch = SignalSwitch()
    recency: SignalSwitch = SignalSwitch()
    lexical: SignalSwitch = SignalSwitch()
    context: SignalSwitch = SignalSwitch()
    neighbours: SignalSwitch = SignalSwitch()
    answer: SignalSwitch = SignalSwitch()
    role: SignalSwitch = SignalSwitch()
    questions: ExtraSwitch = ExtraSwitch()
    person: SignalSwitch = SignalSwitch()
    date: SignalSwitch = SignalSwitch()
    when: SignalSwitch = SignalSwitch()
    form: SignalSwitch = SignalSwitch()
    reply: SignalSwitch = SignalSwitch()
    answer_type: SignalSwitch = SignalSwitch()
    first_person: SignalSwitch = SignalSwitch()
    entity_walk: SignalSwitch = SignalSwitch()
    pair: SignalSwitch = SignalSwitch()
    title: SignalSwitch = SignalSwitch()
    late: LateSwitch = LateSwitch()
    rerank: RerankSwitch = RerankSwitch()


def _places(section: Section, name: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """(dotted name, path of attributes) of every weight, in order."""
    for own, key in zip(section.__struct_fields__, section.__struct_encode_fields__, strict=True):
        inner = getattr(section, own)
        if isinstance(inner, Section):
            yield from ((k, (own, *path)) for k, path in _places(inner, f"{name}{key}."))
        else:
            yield f"{name}{key}", (own,)


_PLACES: Final = dict(_places(SignalWeights()))
ORIGINS: Final = OriginWeights.__struct_fields__
# Terms of the linear score beside its bias, in the order in which it sums them.
SIGNALS: Final = tuple(_PLACES)[1:]
# Terms that are made of vectors of word pieces.
TOKEN_TERMS: Final = (*(name for name in SIGNALS if name.startswith("late.")), "reply.late")
# Signals that can be switched off; a term belongs to the one before its first dot.
SWITCHES: Final = SignalSettings.__struct_fields__


def by_term(values: Sequence[T]) -> dict[str, T]:
    """What a scan gives in the order of the terms, by their names.

    Example:
        >>> by_term([0.5] * len(SIGNALS))["late.mean"]
        0.5
    """
    return dict(zip(SIGNALS, values, strict=True))


def all_weights(settings: Settings, origin: str) -> dict[str, float]:
    """Every weight of an origin by the name of its term, `bias` first."""
    own = getattr(settings.ranking.weights, origin)
    return {name: reduce(getattr, path, own) for name, path in _PLACES.items()}


def weights_of(settings: Settings, origin: str) -> dict[str, float]:
    """What counts for an origin: `bias`, and the terms that are switched on and weigh something.

    Example:
        >>> from vestig.config.schema import Settings
        >>> quiet = Settings(signals=SignalSettings(lexical=SignalSwitch(enabled=False)))
        >>> ["lexical" in weights_of(one, "note") for one in (Settings(), quiet)]
        [True, False]
    """
    off = {name for name in SWITCHES if not getattr(settings.signals, name).enabled}
    return {
        name: weight
        for name, weight in all_weights(settings, origin).items()
        if name == "bias" or (weight != 0 and name.partition(".")[0] not in off)
    }


def weighing(settings: Settings) -> tuple[str, ...]:
    """Signals that have a weight for any origin, whether they are switched on or not.

    Example:
        >>> from vestig.config.schema import Settings
        >>> "lexical" in weighing(Settings()), "keyword" in weighing(Settings())
        (True, False)
    """
    found = {
        name.partition(".")[0]
        for origin in ORIGINS
        for name, weight in all_weights(settings, origin).items()
        if weight != 0
    }
    return tuple(name for name in SWITCHES if name in found)
