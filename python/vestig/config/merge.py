"""The shipped recall profiles, and layers checked and merged: which value wins, and who set it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from vestig.config.files import Item, Problems, profile_key
from vestig.config.schema import (
    MAPPINGS,
    KeySpec,
    default_values,
    entry_specs,
    mapping_of,
    sections,
    spec_of,
)
from vestig.config.signals import KINDS, SWITCHES, SignalSettings
from vestig.hints import nearest_or_all
from vestig.other_words import nearest
from vestig.types import EventType

# Keys that a profile, or one call of recall, may set.
PROFILE_PREFIXES: Final = (
    "usage.", "questions.", "walk.", "ranking.", "reference.", "signals.", "judge.", "recall.",
)  # fmt: skip

_QUESTIONS: Final = {
    "questions.enabled": True,
    "questions.content_weight": 0.4,
    "questions.question_weight": 0.6,
}

_SIGNALS: Final = SignalSettings()


PROFILES: Final[Mapping[str, Mapping[str, Any]]] = {
    # the given formula, to compare with
    "reference": {
        **_QUESTIONS,
        "walk.start.enabled": True,
        "walk.start.limit": 3,
        "reference.alpha_meta": 0.6,
        "ranking.pool": "starts",
        "reference.keyword_weight": 0.5,
        "reference.temporal_weight": 0.3,
        "reference.entity_weight": 0.2,
        "reference.recency_weight": 0.0,
        "reference.keyword_mode": "jaccard",
        "reference.entity_mode": "overlap",
        "walk.enabled": True,
        "walk.mode": "probabilistic",
        "walk.order": "best",
        "walk.max_nodes": 5,
        "walk.exploration_factor": 2.0,
        "walk.signal_decay": 1.0,
        "walk.normalize_weights": False,
        "walk.associated": 0,
        "ranking.base": "semantic",
        "ranking.association": 0.0,
        "ranking.path_power": 1.0,
        "ranking.tracerank_power": 1.0,
    },
    "default": {
        **_QUESTIONS,
        "walk.start.enabled": True,
        "walk.start.limit": 5,
        # acts where ranking.base is set to blend
        "reference.alpha_meta": 0.3,
        "ranking.pool": "auto",
        "reference.keyword_mode": "weighted",
        "reference.entity_mode": "weighted",
        "walk.enabled": True,
        "walk.mode": "probabilistic",
        "walk.order": "best",
        "walk.max_nodes": 20,
        "walk.exploration_factor": 1.0,
        "walk.signal_decay": 1.0,
        "walk.normalize_weights": True,
        "walk.associated": 3,
        "ranking.base": "linear",
        "ranking.association": 0.0,
        "ranking.path_power": 1.0,
        "ranking.tracerank_power": 0.5,
        "ranking.newer_first": True,
        **{f"signals.{name}.enabled": getattr(_SIGNALS, name).enabled for name in SWITCHES},
        "signals.late.pool": _SIGNALS.late.pool,
        "signals.rerank.pool": _SIGNALS.rerank.pool,
        # the learned ones
        "ranking.weights": {},
    },
    # plain cosine
    "baseline": {
        "questions.enabled": False,
        "walk.start.enabled": False,
        "reference.alpha_meta": 0.0,
        "ranking.pool": "all",
        "walk.enabled": False,
        "ranking.base": "cosine",
        "ranking.association": 0.0,
        "ranking.path_power": 0.0,
        "ranking.tracerank_power": 0.0,
    },
}


_PROFILE_HINT: Final = (
    f"its keys begin with one of {', '.join(one.removesuffix('.') for one in PROFILE_PREFIXES)}"
)
PROFILE_KEYS: Final = "recall.profiles"
LAYERS: Final = ("built-in", "profile", "user", "project", "environment", "call")
_SHOWN_CHARS_MAX: Final = 60


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An effective value and who set it.

    `layer` is built-in, profile, user, project, environment or call; `file` is the path of the
    file, the variable or the profile that set it, None for built-in values and calls.
    """

    value: Any
    layer: str
    file: str | None = None


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """The statements of one layer, weakest first; `profile` is the one that a call names,
    `passed_over` why its file was not read."""

    name: str
    items: tuple[Item, ...] = ()
    profile: str | None = None
    passed_over: str | None = None


def unknown_key_text(key: str) -> str:
    """Return what is said about a key that does not exist."""
    mapping = mapping_of(key)
    if mapping is not None:
        return f"{key}: {_unknown_entry_text(mapping, key)}"
    return f"unknown key {key!r}{_instead_of(key)}"


def _instead_of(key: str) -> str:
    """The clause behind an unknown key: the one that is near, else those of its section, else where
    all stand."""
    section = key.rpartition(".")[0]
    near = nearest_keys(key)
    if len(near) == 1:
        return f"; the nearest valid key is {near[0]}"
    if near and not section:
        return f"; the keys of this name are {', '.join(near)}"
    if section in sections():
        return f"; {section} has {', '.join(_below(section, default_values()))}"
    return "; `vestig config show` lists the keys"


def nearest_keys(key: str) -> list[str]:
    """The keys that may have been meant: a misspelt one; else those of the named section, or
    without a section of all, that have the last part as their name, or else as a word of it.

    Example:
        >>> [nearest_keys(key) for key in ("recall.limt", "silence", "recall.colour", "k")]
        [['recall.default_limit'], ['recall.silence'], [], []]
    """
    if near := nearest(key, default_values()):
        return [near]
    section, _, name = key.rpartition(".")
    among = [one for one in default_values() if one.rpartition(".")[0] == section or not section]
    last = {one: one.rpartition(".")[2] for one in among}
    # a single letter is a short word of something else
    named = [one for one in among if len(name) > 1 and nearest(name, [last[one]])]
    return named or [one for one in among if section and nearest(name, last[one].split("_"))]


def unknown_profile_text(name: str, names: Sequence[str]) -> str:
    return (
        f"recall.profile: unknown profile {_shown(name)}; expected one of {', '.join(names)},"
        " or one defined under recall.profiles"
    )


def _place(layer: Layer, item: Item) -> str:
    return layer.name if item.file is None else item.place


def check_layers(layers: Sequence[Layer], problems: Problems) -> None:
    """Unknown keys, wrong types and ranges of every layer, even of values that lose; the first
    twenty."""
    for layer in layers:
        for item in layer.items:
            if problems.enough:
                return
            inner = profile_key(item.key)
            if inner is None:
                _check_item(item, item.key, _place(layer, item), problems)
            else:
                _check_profile_item(item, inner, _place(layer, item), problems)


def _check_item(item: Item, key: str, place: str, problems: Problems) -> None:
    """One value for a key, for an entry of a mapping, or null for a group of entries."""
    spec, mapping = spec_of(key), mapping_of(key)
    if spec is not None:
        if item.value is not None:
            _check_value(spec, item, place, problems)
    elif mapping is not None:
        if item.value is not None or not _below(key, entry_specs()):
            problems.add(place, item.key, _unknown_entry_text(mapping, key))
    elif key in sections():
        names = ", ".join(_below(key, default_values()))
        problems.add(
            place, item.key, f"expected a mapping, this is a section; its keys are {names}"
        )
    else:
        problems.add(place, item.key, f"unknown key{_instead_of(key)}")


def _unknown_entry_text(mapping: str, key: str) -> str:
    """Return what is said about an entry that a mapping does not have."""
    name = key[len(mapping) + 1 :]
    if mapping == "usage.event_weights":
        return f"unknown type of event {name!r}{nearest_or_all(name, EventType)}"
    if mapping in ("prompts", "lifecycle.retention"):
        names = [entry[len(mapping) + 1 :] for entry in _below(mapping, entry_specs())]
        return f"unknown entry {name!r}{nearest_or_all(name, names)}"
    from vestig.config.weights import TERMS, unknown_term_text

    kind, _, term = name.partition(".")
    if kind not in KINDS:
        return f"unknown kind {kind!r}{nearest_or_all(kind, KINDS)}"
    if not term:
        return f"expected a mapping of terms to numbers; its terms are {', '.join(TERMS)}"
    return unknown_term_text(term)


def _below(name: str, keys: Iterable[str]) -> list[str]:
    return [key for key in keys if key.startswith(f"{name}.")]


def _check_value(spec: KeySpec, item: Item, place: str, problems: Problems) -> None:
    value = item.value
    fault = _not_finite(value)
    if not fault:
        try:
            msgspec.convert(value, spec.type)
        except (msgspec.ValidationError, RecursionError, OverflowError):
            fault = True
    if fault:
        text = f"expected {spec.allowed}, got {_shown(item.value)}"
        problems.add(place, item.key, text, spec.allowed)


def _shown(value: Any) -> str:
    """A wrong value, cut short."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, endless nesting
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN_CHARS_MAX else text[:_SHOWN_CHARS_MAX] + "…"


def _not_finite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _check_profile_item(item: Item, inner: str, place: str, problems: Problems) -> None:
    name = item.key[len(PROFILE_KEYS) + 1 :].partition(".")[0]
    if name in PROFILES:
        problems.add(
            place,
            f"{PROFILE_KEYS}.{name}",
            "the name belongs to a shipped profile;"
            " choose another one and select it with recall.profile",
        )
        return
    if inner == "":
        if item.value is not None and item.value != {}:
            problems.add(place, item.key, "expected a mapping of keys to values")
        return
    if not _profile_may_set(inner) or (spec_of(inner) is None and mapping_of(inner) is None):
        near = nearest(inner, [key for key in default_values() if _profile_may_set(key)])
        hint = f"the nearest key that it can is {near}" if near else _PROFILE_HINT
        problems.add(place, item.key, f"a profile cannot set {inner!r}; {hint}")
    else:
        _check_item(item, inner, place, problems)


def _profile_may_set(key: str) -> bool:
    return key.startswith(PROFILE_PREFIXES) and key not in (PROFILE_KEYS, "recall.profile")


def merge_profiles(layers: Sequence[Layer]) -> dict[str, dict[str, Item]]:
    """User-defined profiles, merged deeply over the layers; null takes a profile or key out."""
    found: dict[str, dict[str, Item]] = {}
    for layer in layers:
        for item in layer.items:
            if item.key == PROFILE_KEYS and item.value is None:
                found.clear()
            inner = profile_key(item.key)
            if inner is None:
                continue
            name = item.key[len(PROFILE_KEYS) + 1 :].partition(".")[0]
            if inner == "" and item.value is None:
                found.pop(name, None)
            elif inner == "":
                found.setdefault(name, {})
            else:
                _put(found.setdefault(name, {}), inner, item)
    return found


def _put(values: dict[str, Item], key: str, item: Item) -> None:
    """Sets a key of a profile; null takes it, or each entry below it, out."""
    if item.value is None:
        for name in (key, *_below(key, values)):
            values.pop(name, None)
    elif key not in MAPPINGS:
        values[key] = item


def profiles_entry(layers: Sequence[Layer], profiles: Mapping[str, Mapping[str, Item]]) -> Entry:
    """Return the entry of all user-defined profiles, with the last layer that says one of them."""
    origin = Entry(value={}, layer="built-in")
    for layer in layers:
        for item in layer.items:
            if profiles and item.key.startswith(PROFILE_KEYS):
                origin = Entry(value={}, layer=layer.name, file=item.file)
    value = {
        name: {key: item.value for key, item in items.items()} for name, items in profiles.items()
    }
    return msgspec.structs.replace(origin, value=value)


def merge_layers(
    layers: Sequence[Layer], profiles: Mapping[str, Mapping[str, Item]], problems: Problems
) -> dict[str, Entry]:
    base = _built_in()
    named = [n for n, layer in enumerate(layers) if layer.profile is not None]
    at_call = named[-1] if named else None
    name = ""
    if at_call is not None:
        profile = layers[at_call].profile
        name = profile or ""
    else:
        last = [i for layer in layers for i in layer.items if i.key == "recall.profile"]
        given = last[-1] if last and last[-1].value is not None else None
        profile = base["recall.profile"].value if given is None else given.value
        name = profile
    over: Mapping[str, Entry] = {}
    if isinstance(profile, str):
        found = _profile_values(profile, profiles)
        if found is None:
            problems.add("", "", unknown_profile_text(name, sorted({*PROFILES, *profiles})))
        else:
            over = {
                key: Entry(value=item.value, layer="profile", file=name)
                for key, item in found.items()
            }
    defaults = _with_profile(base, over)
    entries = dict(defaults) if at_call is None else dict(base)
    for number, layer in enumerate(layers):
        if number == at_call:
            entries = _with_profile(entries, over)
            entries["recall.profile"] = Entry(value=profile, layer=layer.name)
        for item in layer.items:
            if item.key == PROFILE_KEYS or not (
                item.key in base or item.key in MAPPINGS or mapping_of(item.key)
            ):
                continue
            if item.key == "recall.profile" and at_call is not None and number >= at_call:
                continue
            if item.value is None:
                _reset(entries, item.key, defaults)
            elif item.key not in MAPPINGS:
                entries[item.key] = _merged(entries.get(item.key), item, layer.name)
    return entries


def _merged(below: Entry | None, item: Item, layer: str) -> Entry:
    """A value over the one below it; two mappings are merged member by member."""
    if below is None or not (isinstance(below.value, Mapping) and isinstance(item.value, Mapping)):
        return Entry(value=item.value, layer=layer, file=item.file)
    value = _merged_members(below.value, item.value)
    return Entry(value=value, layer=layer, file=item.file)


def _merged_members(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` over `below`; null takes a member out."""
    found = dict(below)
    for name, value in above.items():
        known = found.get(name)
        if value is None:
            found.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(known, Mapping):
            found[name] = _merged_members(known, value)
        else:
            found[name] = value
    return found


def _profile_values(
    name: str, profiles: Mapping[str, Mapping[str, Item]]
) -> Mapping[str, Item] | None:
    """Return what a profile sets; None: there is none of this name."""
    if name in PROFILES:
        return {key: Item(key=key, value=value) for key, value in PROFILES[name].items()}
    return profiles.get(name)


@cache
def _built_in() -> Mapping[str, Entry]:
    """The built-in values: of each key but the mappings, of these each entry that is not 0."""
    found = {}
    for key, default in default_values().items():
        values = (
            {f"{key}.{name}": value for name, value in default.items()}
            if key in MAPPINGS
            else {key: default}
        )
        found.update({name: Entry(value=v, layer="built-in") for name, v in values.items()})
    return found


def _with_profile(entries: Mapping[str, Entry], profile: Mapping[str, Entry]) -> dict[str, Entry]:
    """Entries with those of a profile over them; one that names a mapping as a whole sets what is
    not built in of it back."""
    found = dict(entries)
    for key, entry in profile.items():
        if key in MAPPINGS:
            _reset(found, key, _built_in())
        else:
            found[key] = entry
    return found


def _reset(entries: dict[str, Entry], key: str, defaults: Mapping[str, Entry]) -> None:
    """A key, or an entry of a mapping with all below it, as the layers below have it."""
    if key in defaults and key not in MAPPINGS:
        entries[key] = defaults[key]
        return
    for name in (key, *_below(key, entries)):
        entries.pop(name, None)
    entries.update({name: defaults[name] for name in _below(key, defaults)})


def collapsed(entries: Mapping[str, Entry], key: str) -> Entry:
    """The value of a mapping from its entries, with the highest layer that sets one."""
    own = {name[len(key) + 1 :]: entries[name] for name in _below(key, entries)}
    strongest = max(own.values(), key=lambda entry: LAYERS.index(entry.layer), default=None)
    value: dict[str, Any] = {}
    for name, entry in own.items():
        if key == "ranking.weights":
            kind, _, term = name.partition(".")
            value.setdefault(kind, {})[term] = entry.value
        else:
            value[name] = entry.value
    if strongest is None:
        return Entry(value=value, layer="built-in")
    return msgspec.structs.replace(strongest, value=value)
