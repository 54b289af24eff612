"""Layers checked and merged: which value wins, and who set it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from vestig.config.aliases import OLD_NAMES, current_name
from vestig.config.files import Item, profile_key
from vestig.config.problems import Problems
from vestig.config.profiles import PROFILE_PREFIXES, PROFILES
from vestig.config.schema import KeySpec, key_specs, sections
from vestig.hints import nearest

__all__ = [
    "PROFILE_KEYS",
    "Entry",
    "Layer",
    "check_layers",
    "merge_layers",
    "merge_profiles",
    "profiles_entry",
    "unknown_key_text",
    "unknown_profile_text",
]

PROFILE_KEYS: Final = "recall.profiles"
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
    """What one layer says, weakest first; `profile` is the one that a call names."""

    name: str
    items: tuple[Item, ...] = ()
    profile: str | None = None


def unknown_key_text(key: str) -> str:
    """What is said about a key that does not exist."""
    return f"unknown key {key!r}; the nearest valid key is {_nearest_key(key)}"


def _nearest_key(key: str) -> str:
    return current_name(nearest(key, (*key_specs(), *OLD_NAMES)))


def unknown_profile_text(name: str, names: Sequence[str]) -> str:
    return (
        f"recall.profile: unknown profile {name!r}; expected one of {', '.join(names)},"
        " or one defined under recall.profiles"
    )


def _place(layer: Layer, item: Item) -> str:
    return layer.name if item.file is None else item.place


def check_layers(layers: Sequence[Layer], problems: Problems) -> None:
    """Unknown keys, wrong types and ranges of every layer, even of values that lose."""
    specs = key_specs()
    for layer in layers:
        _check_spellings(layer, problems)
        for item in layer.items:
            place = _place(layer, item)
            if item.key in specs:
                if item.value is not None:
                    _check_value(specs[item.key], item, place, problems)
                continue
            inner = profile_key(item.key)
            if inner is not None:
                _check_profile_item(item, inner, place, problems)
            elif item.key in sections():
                problems.add(
                    place,
                    item.key,
                    "expected a mapping, this is a section; its keys"
                    f" are {', '.join(_keys_below(item.key))}",
                )
            else:
                near = _nearest_key(item.key)
                problems.add(place, item.key, f"unknown key; the nearest valid key is {near}")


def _check_spellings(layer: Layer, problems: Problems) -> None:
    """One layer spells a key in one way."""
    given: dict[str, str] = {}
    for item in layer.items:
        spelling = item.old or item.key
        first = given.setdefault(item.key, spelling)
        if first != spelling:
            old, new = sorted((first, spelling), key=lambda name: name == item.key)
            problems.add(
                _place(layer, item),
                item.key,
                f"{old} is the old spelling of {new}, and both are given; keep {new}",
            )


def _keys_below(section: str) -> list[str]:
    return [key for key in key_specs() if key.startswith(f"{section}.")]


def _check_value(spec: KeySpec, item: Item, place: str, problems: Problems) -> None:
    value = item.value
    fault = _not_finite(value)
    if not fault:
        try:
            msgspec.convert(value, spec.type)
        except (msgspec.ValidationError, RecursionError, OverflowError):
            fault = True
    if fault:
        given = "" if item.old is None else f" (given as {item.old})"
        text = f"expected {spec.allowed}, got {_shown(value)}{given}"
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
    spec = key_specs().get(inner)
    allowed = [key for key in key_specs() if _profile_may_set(key)]
    if spec is None or not _profile_may_set(inner):
        problems.add(
            place,
            item.key,
            f"a profile cannot set {inner!r}; the nearest key that it"
            f" can is {nearest(inner, allowed)}",
        )
    elif item.value is not None:
        _check_value(spec, item, place, problems)


def _profile_may_set(key: str) -> bool:
    return key.startswith(PROFILE_PREFIXES) and key not in (PROFILE_KEYS, "recall.profile")


def merge_profiles(layers: Sequence[Layer]) -> dict[str, dict[str, Any]]:
    """User-defined profiles, merged deeply over the layers; null takes a profile or key out."""
    found: dict[str, dict[str, Any]] = {}
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
            elif item.value is None:
                found.setdefault(name, {}).pop(inner, None)
            else:
                found.setdefault(name, {})[inner] = item.value
    return found


def profiles_entry(layers: Sequence[Layer], profiles: Mapping[str, Any]) -> Entry:
    origin = Entry(value={}, layer="built-in")
    for layer in layers:
        for item in layer.items:
            if item.key.startswith(PROFILE_KEYS):
                origin = Entry(value=None, layer=layer.name, file=item.file)
    if not profiles:
        return Entry(value={}, layer="built-in")
    return msgspec.structs.replace(origin, value={k: dict(v) for k, v in profiles.items()})


def merge_layers(
    layers: Sequence[Layer], profiles: Mapping[str, Mapping[str, Any]], problems: Problems
) -> dict[str, Entry]:
    base = {key: Entry(value=s.default, layer="built-in") for key, s in key_specs().items()}
    named = [n for n, layer in enumerate(layers) if layer.profile is not None]
    at_call = named[-1] if named else None
    if at_call is not None:
        profile = layers[at_call].profile
    else:
        last = [i.value for layer in layers for i in layer.items if i.key == "recall.profile"]
        profile = last[-1] if last and last[-1] is not None else base["recall.profile"].value
    values: Mapping[str, Any] = {}
    if isinstance(profile, str):
        if profile in PROFILES:
            values = PROFILES[profile]
        elif profile in profiles:
            values = profiles[profile]
        else:
            names = sorted({*PROFILES, *profiles})
            problems.add("", "", unknown_profile_text(profile, names))
    over = {key: Entry(value=v, layer="profile", file=profile) for key, v in values.items()}
    defaults = {**base, **over}
    entries = dict(defaults) if at_call is None else dict(base)
    for number, layer in enumerate(layers):
        if number == at_call:
            entries.update(over)
            entries["recall.profile"] = Entry(value=profile, layer=layer.name)
        for item in layer.items:
            if item.key not in entries or item.key == PROFILE_KEYS:
                continue
            if item.key == "recall.profile" and at_call is not None and number >= at_call:
                continue
            if item.value is None:
                entries[item.key] = defaults[item.key]
            else:
                entries[item.key] = Entry(value=item.value, layer=layer.name, file=item.file)
    return entries
