"""The terms of scores, as the core computes them, and their learned weights, for people's chats and
for all else.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec

from vestig import _core
from vestig.config.signals import KINDS, SWITCHES, switch_of
from vestig.decoders import decoded
from vestig.errors import ConfigError
from vestig.hints import nearest_or_all

if TYPE_CHECKING:
    from vestig.config.schema import Settings


class Term(NamedTuple):
    """A term of a score, as the core computes it.

    `group`: terms of one are one reason to a reader; `meaning`: what a weight is given to;
    `sentences`: what a reason says where the term adds something, the first of them whose `{names}`
    all have a value.
    """

    name: str
    group: str
    meaning: str
    definition: str
    sentences: tuple[str, ...]


# Every term, by name: the bias and the signals in the order in which the linear score sums them,
# the cosine of the query, and the metadata.
TABLE: Final[Mapping[str, Term]] = {
    name: Term(name, group, meaning, definition, tuple(sentences))
    for name, group, meaning, definition, sentences in _core.term_table()
}
# Terms beside the bias.
SIGNALS: Final = _core.SIGNALS
# Terms of the metadata.
METADATA: Final = _core.METADATA
# What a weight can be given to, in the order of the sum, and what it is.
TERMS: Final[Mapping[str, str]] = {name: TABLE[name].meaning for name in ("bias", *SIGNALS)}


LEARNED: Final = Path(__file__).resolve().parent.parent / "data" / "weights.json"


class KindWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Weights of the terms that count; a term that is not named weighs 0."""

    chat_peer: dict[str, float]
    all: dict[str, float]


class WeightsFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file that comes with the package and that `make learn` writes.

    `data`: name of a labelled set → SHA-256 of it; `figures`: set → metric → per cent over
    questions that the weights had not seen, and `questions`, their number.
    """

    version: Literal[1] = 1
    weights: KindWeights
    data: dict[str, str] = {}
    figures: dict[str, dict[str, float]] = {}

    @classmethod
    def read(cls, path: Path) -> WeightsFile:
        """Reads a file.

        Raises:
            ConfigError: unreadable, an unknown member, kind or term.
        """
        try:
            found = decoded(path.read_bytes(), cls)
        except (OSError, msgspec.DecodeError) as error:
            raise ConfigError(f"{path}: expected learned weights: {error}") from None
        for kind, weights in msgspec.structs.asdict(found.weights).items():
            for term in weights:
                if term not in TERMS:
                    raise ConfigError(f"{path}: {kind}: {unknown_term_text(term)}")
        return found

    def text(self) -> str:
        """The file's text: a line for each term, in the order in which terms are summed."""
        weights = {
            kind: {term: own[term] for term in TERMS if term in own}
            for kind, own in msgspec.structs.asdict(self.weights).items()
        }
        rest = {"data": self.data, "figures": self.figures}
        named = {name: value for name, value in rest.items() if value}
        document = msgspec.json.encode({"version": self.version, "weights": weights, **named})
        return msgspec.json.format(document, indent=1).decode() + "\n"


def unknown_term_text(name: str) -> str:
    """Return what is said about a name that is no term.

    Example:
        >>> unknown_term_text("late_windows")
        "unknown term 'late_windows'; the nearest is late_window"
    """
    return f"unknown term {name!r}{nearest_or_all(name, TERMS)}"


@cache
def learned() -> Mapping[str, Mapping[str, float]]:
    """The weights that come with the package: kind → term → weight, 0 = it counts nothing."""
    given: dict[str, dict[str, float]] = msgspec.structs.asdict(WeightsFile.read(LEARNED).weights)
    return {kind: {term: own.get(term, 0.0) for term in TERMS} for kind, own in given.items()}


def all_weights(settings: Settings, kind: str) -> dict[str, float]:
    """The weight of every term, whether its signal is switched on or not."""
    return {**learned()[kind], **settings.ranking.weights.get(kind, {})}


def weights_of(settings: Settings, kind: str) -> dict[str, float]:
    """Return what counts for memories of a kind: `bias`, and the terms that are switched on and
    weigh something.

    Example:
        >>> from vestig.config.schema import Settings
        >>> from vestig.config.signals import SignalSettings, SignalSwitch
        >>> quiet = Settings(signals=SignalSettings(topic=SignalSwitch(enabled=False)))
        >>> ["topic" in weights_of(one, "all") for one in (Settings(), quiet)]
        [True, False]
    """
    off = {name for name in SWITCHES if not getattr(settings.signals, name).enabled}
    return {
        term: weight
        for term, weight in all_weights(settings, kind).items()
        if term == "bias" or (weight != 0 and switch_of(term) not in off)
    }


def counting_terms(settings: Settings) -> frozenset[str]:
    """Terms that are switched on and weigh something for any kind."""
    return frozenset[str]().union(*(weights_of(settings, kind) for kind in KINDS))
