"""Rows of an evaluation, profiles, switches beside them and ablations, and their comparison, and
the gate that `default` passes when it is nowhere below `baseline`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from benchmarks.rankings import PEERS
from benchmarks.report import Comparison, Row
from vestig.config import Config
from vestig.config.schema import Settings
from vestig.config.signals import KINDS, SITTING_TERMS, SWITCHES, switch_of
from vestig.config.weights import SIGNALS, all_weights
from vestig.errors import ValidationError
from vestig.evaluation.intervals import differences

BASELINE: Final = "baseline"
DEFAULT: Final = "default"
REFERENCE: Final = "reference"
# What a row is measured with when no profile is named.
SHIPPED: Final = (BASELINE, REFERENCE, DEFAULT)
# Sections whose switches change results.
_RANKED_BY: Final = ("usage.", "questions.", "walk.", "ranking.", "signals.", "judge.")
COMPARED: Final = (
    "recall@1",
    "recall@5",
    "recall@10",
    "recall@20",
    "recall@50",
    "ndcg@5",
    "ndcg@10",
    "mrr",
)
# Metrics that are compared within a category.
IN_CATEGORIES: Final = ("recall@10",)
GATED: Final = ("recall@5", "ndcg@5")
Scores = Mapping[str, Sequence[float]]


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One row to measure. `config` is null for a peer."""

    name: str
    kind: Literal["peer", "profile", "switch", "ablation"]
    profile: str | None = None
    overrides: Mapping[str, Any] = {}
    config: Config | None = None

    @classmethod
    def peer(cls, name: str) -> Variant:
        """A row that is no recall of a store."""
        return cls(name=name, kind="peer")

    @property
    def settings(self) -> dict[str, Any]:
        """Every effective value, {} for a peer."""
        if self.config is None:
            return {}
        from vestig.config.explain import show

        return {entry.key: entry.value for entry in show(self.config, every=True)}


def _value_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _variant(
    config: Config,
    profile: str,
    kind: Literal["profile", "switch", "ablation"],
    overrides: Mapping[str, Any],
    name: str,
) -> Variant:
    return Variant(
        name=name,
        kind=kind,
        profile=profile,
        overrides=overrides,
        config=config.with_overrides(overrides, profile=profile),
    )


def weighing(settings: Settings) -> tuple[str, ...]:
    """Signals that weigh something, whether they are switched on or not; `sittings` where one does
    that looks at neighbours.

    Example:
        >>> from vestig.config.schema import Settings
        >>> "words" in weighing(Settings()), "rerank" in weighing(Settings())
        (True, False)
    """
    terms = {
        term
        for kind in KINDS
        for term, weight in all_weights(settings, kind).items()
        if weight != 0 and term != "bias"
    }
    found = {switch_of(term) or term for term in terms}
    if not SITTING_TERMS.isdisjoint(terms):
        found.add("sittings")
    return tuple(name for name in dict.fromkeys((*SIGNALS, *SWITCHES)) if name in found)


def ablations_of(config: Config) -> dict[str, dict[str, Any]]:
    """Return what can be switched off one by one, with the keys that do so: every `….enabled` that
    is not off and changes results, and every term that weighs something where terms are summed.

    Example:
        >>> from vestig.config import load
        >>> found = ablations_of(load(environ={}))
        >>> found["late"], "recall.reasons" in found
        ({'signals.late.enabled': False}, False)
        >>> found["words"]
        {'ranking.weights.chat_peer.words': 0.0, 'ranking.weights.all.words': 0.0}
    """
    settings = config.settings
    ranking = settings.ranking
    counted = weighing(settings) if ranking.enabled and ranking.base == "linear" else ()
    found: dict[str, dict[str, Any]] = {}
    for key, entry in config.effective().items():
        if key.startswith(_RANKED_BY) and key.endswith(".enabled") and entry.value is not False:
            name = key.removesuffix(".enabled").removeprefix("signals.")
            if not key.startswith("signals.") or name in counted:
                found[name] = {key: False}
    for name in counted:
        if name not in SWITCHES:
            found[name] = {f"ranking.weights.{kind}.{name}": 0.0 for kind in KINDS}
    return found


def _tuned(config: Config, named: Sequence[str] | None) -> list[str]:
    """Profiles that get rows of switches: those named, else the one in effect."""
    if named is None:
        return [config.profile]
    return [name for name in named if name != BASELINE] or list(named)


def _row_name(profile: str) -> str:
    """A profile of one's own that is called like a peer stays apart from it."""
    return f"profile {profile}" if profile in PEERS else profile


def planned_rows(
    config: Config,
    *,
    profiles: Sequence[str] | None,
    switches: Sequence[Mapping[str, Any]],
    ablate: bool,
    gate: bool,
) -> list[Variant]:
    """The rows in the order in which they are measured and shown.

    Raises:
        ConfigError: an unknown profile or key, or a value it cannot take.
        ValidationError: profiles that are no list of names.
    """
    known = config.profile_names
    if isinstance(profiles, str):
        raise ValidationError("profiles", profiles, "a list of names")
    shipped = [*(name for name in SHIPPED if name in known), config.profile]
    names = shipped if profiles is None else list(profiles)
    if gate:
        names += [name for name in (BASELINE, DEFAULT) if name not in names]
    names = list(dict.fromkeys(names))
    rows = [_variant(config, name, "profile", {}, _row_name(name)) for name in names]
    for name in _tuned(config, profiles):
        for change in switches:
            words = " ".join(f"{key}={_value_text(value)}" for key, value in change.items())
            row = f"{_row_name(name)} {words}"
            rows.append(_variant(config, name, "switch", dict(change), row))
        if ablate:
            for off, change in ablations_of(config.with_overrides({}, profile=name)).items():
                row = f"{_row_name(name)} without {off}"
                rows.append(_variant(config, name, "ablation", change, row))
    # a switch that is named twice is one row
    return list({row.name: row for row in rows}.values())


def _pairs(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """(row, against): each main profile against every peer and profile, a changed profile
    against the unchanged one."""
    profiles = {row.profile: row.name for row in rows if row.kind == "profile"}
    others = [row.name for row in rows if row.kind in ("peer", "profile")]
    for main in main_profiles(rows):
        yield from ((main, other) for other in others if other != main)
    for row in rows:
        if row.kind in ("switch", "ablation") and row.profile in profiles:
            yield row.name, profiles[row.profile]


def main_profiles(rows: Sequence[Row]) -> list[str]:
    """The profiles that an evaluation is about: `default` and those of one's own, else the last
    that is measured."""
    profiles = [row for row in rows if row.kind == "profile"]
    found = [row.name for row in profiles if row.profile == DEFAULT or row.profile not in SHIPPED]
    return found or [row.name for row in profiles[-1:]]


def compare(
    scores: Mapping[str, Scores], rows: Sequence[Row], categories: Sequence[str]
) -> Iterator[Comparison]:
    """Every comparison, over all questions and by category.

    Args:
        scores: row → metric → one value per question.
        categories: the category of each question.
    """
    members: dict[str, list[int]] = {}
    for number, category in enumerate(categories):
        members.setdefault(category, []).append(number)
    for row, against in _pairs(rows):
        yield from _compared(scores, row, against, None, range(len(categories)))
        for category, chosen in sorted(members.items()):
            yield from _compared(scores, row, against, category, chosen)


def _compared(
    scores: Mapping[str, Scores],
    row: str,
    against: str,
    category: str | None,
    chosen: Sequence[int],
) -> Iterator[Comparison]:
    metrics = COMPARED if category is None else IN_CATEGORIES
    ours, theirs = (
        {metric: [scores[name][metric][n] for n in chosen] for metric in metrics}
        for name in (row, against)
    )
    for metric, difference in differences(ours, theirs).items():
        pairs = list(zip(ours[metric], theirs[metric], strict=True))
        yield Comparison(
            row=row,
            against=against,
            metric=metric,
            category=category,
            queries=len(chosen),
            gained=sum(here > there for here, there in pairs),
            lost=sum(here < there for here, there in pairs),
            difference=difference,
        )


def named_difference(row: str, against: str) -> str:
    """Return what a difference is called; a changed profile is compared with the unchanged one.

    Example:
        >>> named_difference("default", "cosine"), named_difference("default k=1", "default")
        ('default against cosine', 'default k=1')
    """
    return row if row.startswith(f"{against} ") else f"{row} against {against}"


def gate_breaches(benchmark: str, rows: Sequence[Row]) -> list[str]:
    """A line for each metric of `GATED` in which `default` is below `baseline`; [] = none."""
    by_name = {row.name: row for row in rows}
    ours, theirs = by_name[DEFAULT].metrics, by_name[BASELINE].metrics
    found = []
    for metric in GATED:
        here, there = ours[metric].mean, theirs[metric].mean
        if here is None or there is None or here < there:
            shown = ["null" if mean is None else f"{100 * mean:.2f}" for mean in (here, there)]
            found.append(f"{benchmark}: {metric} of default is {shown[0]}, of baseline {shown[1]}")
    return found
