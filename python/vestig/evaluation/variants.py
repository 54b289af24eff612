"""Which rows an evaluation has: profiles, switches beside them, and ablations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from vestig.config import Config
from vestig.config.weights import KINDS, SWITCHES, weighing
from vestig.errors import ValidationError
from vestig.evaluation.peers import PEERS

BASELINE: Final = "baseline"
DEFAULT: Final = "default"
REFERENCE: Final = "reference"
# What a row is measured with when no profile is named.
SHIPPED: Final = (BASELINE, REFERENCE, DEFAULT)
# Sections whose switches change results.
_RANKED_BY: Final = ("usage.", "questions.", "walk.", "ranking.", "signals.")


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


def ablations_of(config: Config) -> dict[str, dict[str, Any]]:
    """Return what can be switched off one by one, with the keys that do so: every `….enabled` that
    is on and changes results, and every term that weighs something where terms are summed.

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
        if key.startswith(_RANKED_BY) and key.endswith(".enabled") and entry.value is True:
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


def plan(
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
