"""The values in effect and why, for `config show` and `config explain`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.config.environment import without_credentials
from vestig.config.loader import Config
from vestig.config.merge import unknown_key_text
from vestig.config.schema import (
    entry_sections,
    entry_specs,
    key_specs,
    mapping_of,
    sections,
    spec_of,
)
from vestig.decoders import decoded
from vestig.errors import ConfigError

_OCCASIONS: Final = Path(__file__).resolve().parent.parent / "data" / "occasions.json"


class ShownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `config show`; `secret` is set or unset for keys that name a secret."""

    key: str
    value: Any
    layer: str
    file: str | None
    secret: str | None = None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """One key explained: meaning, when somebody would change it, default, what is allowed, value
    and origin."""

    key: str
    meaning: str
    when: str
    default: Any
    allowed: str
    value: Any
    layer: str
    file: str | None


def show(
    config: Config, environ: Mapping[str, str] | None = None, *, every: bool = False
) -> list[ShownEntry]:
    """The effective values that most people set, each with the layer and file it came from;
    `every`: of all keys, and every learned weight. Secrets are never shown.

    Example:
        >>> from vestig.config import load
        >>> show(load(environ={}), {})[0].key
        'store.path'
    """
    variables = os.environ if environ is None else environ
    specs = key_specs()
    entries = (
        config.every_value()
        if every
        else {key: entry for key, entry in config.effective().items() if specs[key].shown}
    )
    shown = []
    for key, entry in entries.items():
        secret = None
        if key.endswith("_env") and entry.value is not None:
            secret = "set" if variables.get(entry.value) else "unset"
        shown.append(
            ShownEntry(
                key=key,
                value=without_credentials(entry.value),
                layer=entry.layer,
                file=entry.file,
                secret=secret,
            )
        )
    return shown


def explain(config: Config, name: str) -> list[Explanation]:
    """A key, an entry of a mapping, or all of a section or of a group of entries explained, with
    its value here.

    Raises:
        ConfigError: unknown key; names the nearest.

    Example:
        >>> from vestig.config import load
        >>> [found] = explain(load(environ={}), "walk.max_nodes")
        >>> found.key, found.value
        ('walk.max_nodes', 20)
    """
    if name in sections():
        keys = [key for key in key_specs() if key.startswith(f"{name}.")]
    elif name in entry_sections().difference(key_specs()):
        keys = [key for key in entry_specs() if key.startswith(f"{name}.")]
    else:
        keys = [name]
    return [_explained(config, key, given=name) for key in keys]


@cache
def occasions() -> Mapping[str, str]:
    """A key → what completes "Change it when …"; a key without one is no key, but a constant
    beside its use."""
    return decoded(_OCCASIONS.read_bytes(), dict[str, str])


def _explained(config: Config, key: str, *, given: str) -> Explanation:
    spec = spec_of(key)
    if spec is None:
        raise ConfigError(unknown_key_text(given))
    entry = config.entry(key)
    return Explanation(
        key=key,
        meaning=spec.meaning,
        when=occasions().get(mapping_of(key) or key, ""),
        default=spec.default,
        allowed=spec.allowed,
        value=without_credentials(entry.value),
        layer=entry.layer,
        file=entry.file,
    )


def explanations(config: Config) -> list[Explanation]:
    """Every key explained, in the order of the schema."""
    return [_explained(config, key, given=key) for key in key_specs()]
