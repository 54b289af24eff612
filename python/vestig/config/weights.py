"""Learned weights: what each term counts for, by origin of the memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from vestig.config.signals import (
    CANDIDATE_TERMS,
    EVIDENCE,
    ORIGINS,
    SITTING_SIGNALS,
    SWITCHES,
    TERMS,
    TOKEN_TERMS,
)
from vestig.errors import ConfigError
from vestig.hints import nearest

if TYPE_CHECKING:
    from vestig.config.schema import Settings

__all__ = [
    "LEARNED",
    "OriginWeights",
    "WeightsFile",
    "all_weights",
    "candidate_weights_of",
    "changed_weights",
    "evidence_of",
    "learned",
    "learned_value",
    "unknown_term_text",
    "weighing",
    "weights_of",
]

# Terms, those of candidates, then evidence.
NAMES: Final = (*TERMS, *CANDIDATE_TERMS, *EVIDENCE)
SCALE: Final = "evidence.scale"
# What evidence weighs where none is learned.
NO_EVIDENCE: Final = tuple(default for _, default in EVIDENCE.values())
LEARNED: Final = Path(__file__).resolve().parent.parent / "data" / "weights.json"


class OriginWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Weights of the terms and of the evidence that count, by origin; a term that is not named
    weighs 0, an `evidence` that is not named what `EVIDENCE` says. An origin that names no
    `candidate` chooses candidates by the weights of its terms."""

    chat_peer: dict[str, float]
    chat_agent: dict[str, float]
    document: dict[str, float]
    note: dict[str, float]


class WeightsFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file that comes with the package and that `make learn` writes.

    `data`: name of a labelled set → SHA-256 of it; `figures`: set → metric → per cent over
    questions that the weights had not seen, and `questions`, their number.
    """

    version: Literal[1] = 1
    origins: OriginWeights
    data: dict[str, str] = {}
    figures: dict[str, dict[str, float]] = {}

    @classmethod
    def read(cls, path: Path) -> WeightsFile:
        """Reads a file.

        Raises:
            ConfigError: unreadable, an unknown member, origin or term.
        """
        try:
            found = msgspec.json.decode(path.read_bytes(), type=cls)
        except (OSError, msgspec.DecodeError) as error:
            raise ConfigError(f"{path}: expected learned weights: {error}") from None
        for origin, weights in msgspec.structs.asdict(found.origins).items():
            for term in weights:
                if term not in NAMES:
                    raise ConfigError(f"{path}: {origin}: {unknown_term_text(term)}")
            if weights.get(SCALE, 1.0) <= 0:
                raise ConfigError(f"{path}: {origin}: expected {SCALE} > 0, got {weights[SCALE]}")
        return found

    def text(self) -> str:
        """The file's text: a line for each term, in the order in which terms are summed."""
        origins = {
            origin: {term: weights[term] for term in NAMES if term in weights}
            for origin, weights in msgspec.structs.asdict(self.origins).items()
        }
        rest = {"data": self.data, "figures": self.figures}
        named = {name: value for name, value in rest.items() if value}
        document = msgspec.json.encode({"version": self.version, "origins": origins, **named})
        return msgspec.json.format(document, indent=1).decode() + "\n"


def unknown_term_text(name: str) -> str:
    """What is said about a name that is none of `NAMES`: the nearest of those that are valid where
    it stands, in the deepest group that has any.

    Example:
        >>> unknown_term_text("late.own")
        "unknown term 'late.own'; the nearest is late.own_idf"
    """
    group, _, term = name.partition(".")
    if group == "candidate" and term in TERMS:
        known = ", ".join(CANDIDATE_TERMS.values())
        return f"{term} has no weight among candidates; the terms that have one are {known}"
    place = ""
    for part in name.split(".")[:-1]:
        if not any(one.startswith(f"{place}{part}.") for one in NAMES):
            break
        place += f"{part}."
    valid = (one.removeprefix(place) for one in NAMES if one.startswith(place))
    near = nearest(name.removeprefix(place), valid)
    return f"unknown term {name!r}; the nearest is {place}{near}"


@cache
def learned() -> Mapping[str, Mapping[str, float]]:
    """The weights that come with the package: origin → term → weight of those that count."""
    origins: dict[str, dict[str, float]] = msgspec.structs.asdict(WeightsFile.read(LEARNED).origins)
    return origins


def all_weights(settings: Settings, origin: str) -> dict[str, float]:
    """Every weight of an origin by the name of its term, `bias` first."""
    own = {**learned()[origin], **settings.ranking.weights.get(origin, {})}
    return {term: own.get(term, 0.0) for term in TERMS}


def changed_weights(settings: Settings) -> dict[str, dict[str, float]]:
    """The weights that differ from the learned ones: origin → term → weight."""
    changed = {
        origin: {
            name: weight for name, weight in given.items() if _changes(origin, name, weight, given)
        }
        for origin, given in settings.ranking.weights.items()
    }
    return {origin: given for origin, given in changed.items() if given}


@cache
def _has_candidates(origin: str) -> bool:
    """Whether an origin has learned weights of candidates."""
    return any(name in CANDIDATE_TERMS for name in learned()[origin])


def learned_value(origin: str, name: str) -> float:
    """What a name of `NAMES` counts where nothing is set.

    Example:
        >>> learned_value("note", "candidate.cosine") == learned_value("note", "cosine")
        True
    """
    term = CANDIDATE_TERMS.get(name)
    if term is not None and not _has_candidates(origin):
        name = term
    return learned()[origin].get(name, EVIDENCE[name][1] if name in EVIDENCE else 0.0)


def _unset(origin: str, name: str, given: Mapping[str, float]) -> float:
    """What counts where this name is not set and others are: who sets the weight of a term sets it
    for candidates too."""
    own = given.get(CANDIDATE_TERMS.get(name, ""))
    return learned_value(origin, name) if own is None else own


def _changes(origin: str, name: str, weight: float, given: Mapping[str, float]) -> bool:
    """Whether the ranking would be another one without this entry."""
    choosing = f"candidate.{name}"
    chooses = choosing in CANDIDATE_TERMS and choosing not in given
    return weight != _unset(origin, name, given) or (
        chooses and weight != learned_value(origin, choosing)
    )


def evidence_of(settings: Settings, origin: str) -> tuple[float, ...]:
    """Scale, constant, and weights of cosine, lexical, best and mean of an origin, in the order of
    `EVIDENCE`; as if none were learned where `signals.evidence` is off.

    Example:
        >>> from vestig.config.schema import Settings
        >>> from vestig.config.signals import SignalSettings, SignalSwitch
        >>> quiet = Settings(signals=SignalSettings(evidence=SignalSwitch(enabled=False)))
        >>> evidence_of(quiet, "note")
        (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    """
    if not settings.signals.evidence.enabled:
        return NO_EVIDENCE
    own = settings.ranking.weights.get(origin, {})
    return tuple(own.get(name, learned_value(origin, name)) for name in EVIDENCE)


def weights_of(settings: Settings, origin: str) -> dict[str, float]:
    """What counts for an origin: `bias`, and the terms that are switched on and weigh something.

    Weights that were learned beside those of word pieces rank badly without them: where these are
    switched off, or weigh nothing while the weights beside them are the learned ones, the weights
    of candidates count.

    Example:
        >>> from vestig.config.schema import Settings
        >>> from vestig.config.signals import SignalSettings, SignalSwitch
        >>> quiet = Settings(signals=SignalSettings(topic=SignalSwitch(enabled=False)))
        >>> ["topic" in weights_of(one, "note") for one in (Settings(), quiet)]
        [True, False]
    """
    whole = all_weights(settings, origin)
    found = _counting(settings, whole)
    if any(term in found for term in TOKEN_TERMS):
        return found
    own = settings.ranking.weights.get(origin, {})
    beside = [term for term in TERMS if term not in TOKEN_TERMS]
    switched_off = any(whole[term] for term in TOKEN_TERMS)
    silenced = any(learned()[origin].get(term) for term in TOKEN_TERMS)
    if switched_off or (silenced and not any(term in own for term in beside)):
        return candidate_weights_of(settings, origin)
    return found


def _counting(settings: Settings, weights: Mapping[str, float]) -> dict[str, float]:
    off = {name for name in SWITCHES if not getattr(settings.signals, name).enabled}
    without = TOKEN_TERMS if "late" in off else ()
    return {
        term: weight
        for term, weight in weights.items()
        if term == "bias"
        or (weight != 0 and term.partition(".")[0] not in off and term not in without)
    }


def _all_candidate_weights(settings: Settings, origin: str) -> dict[str, float]:
    given = settings.ranking.weights.get(origin, {})
    own = {
        term: given[name] if name in given else _unset(origin, name, given)
        for name, term in CANDIDATE_TERMS.items()
    }
    return {**own, "rerank": all_weights(settings, origin)["rerank"]}


def candidate_weights_of(settings: Settings, origin: str) -> dict[str, float]:
    """As `weights_of`, of the sum that chooses the memories that these rank.

    Example:
        >>> from vestig.config.schema import Settings
        >>> "late.own_idf" in candidate_weights_of(Settings(), "chat_peer")
        False
    """
    return _counting(settings, _all_candidate_weights(settings, origin))


def weighing(settings: Settings) -> tuple[str, ...]:
    """Signals that have a weight for any origin, whether they are switched on or not; `sittings`
    where one that looks at them weighs something for notes.

    Example:
        >>> from vestig.config.schema import Settings
        >>> "lexical" in weighing(Settings()), "recency" in weighing(Settings())
        (True, False)
    """
    of_notes = all_weights(settings, "note")
    found = {
        term.partition(".")[0]
        for origin in ORIGINS
        for weights in (all_weights(settings, origin), _all_candidate_weights(settings, origin))
        for term, weight in weights.items()
        if weight != 0
    }
    if any(evidence_of(settings, origin) != NO_EVIDENCE for origin in ORIGINS):
        found.add("evidence")
    notes = {term.partition(".")[0] for term, weight in of_notes.items() if weight != 0}
    if not SITTING_SIGNALS.isdisjoint(notes):
        found.add("sittings")
    return tuple(name for name in SWITCHES if name in found)
