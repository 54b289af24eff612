"""What is in effect and why, for `config show` and `config explain`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from vestig.config.aliases import current_name
from vestig.config.load import Config
from vestig.config.meanings import MEANINGS
from vestig.config.merge import unknown_key_text
from vestig.config.schema import key_specs
from vestig.errors import ConfigError

__all__ = ["Explanation", "ShownEntry", "explain", "explanations", "show"]

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+(?=@)")


class ShownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `config show`; `secret` is set or unset for keys that name a secret."""

    key: str
    value: Any
    layer: str
    file: str | None
    secret: str | None = None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """One key explained: meaning, default, what is allowed, spec IDs, value and origin."""

    key: str
    meaning: str
    default: Any
    allowed: str
    ids: tuple[str, ...]
    value: Any
    layer: str
    file: str | None


def show(config: Config, environ: Mapping[str, str] | None = None) -> list[ShownEntry]:
    """Every effective value with the layer and file it came from; secrets are never shown.

    Example:
        >>> from vestig.config import load
        >>> show(load(environ={}), {})[0].key
        'store.path'
    """
    variables = os.environ if environ is None else environ
    shown = []
    for key, entry in config.effective().items():
        secret = None
        if key.endswith("_env") and entry.value is not None:
            secret = "set" if variables.get(entry.value) else "unset"
        shown.append(
            ShownEntry(
                key=key,
                value=_safe(entry.value),
                layer=entry.layer,
                file=entry.file,
                secret=secret,
            )
        )
    return shown


def _safe(value: Any) -> Any:
    """A value without the credentials that a URL may carry."""
    return _CREDENTIALS.sub("***", value) if isinstance(value, str) else value


def explain(config: Config, key: str) -> Explanation:
    """Meaning, default, range and IDs of one key, with its value here.

    Raises:
        ConfigError: unknown key; names the nearest.

    Example:
        >>> from vestig.config import load
        >>> explain(load(environ={}), "hygiene.min_chars").ids
        ('C-04',)
    """
    given, key = key, current_name(key)
    spec = key_specs().get(key)
    if spec is None:
        raise ConfigError(unknown_key_text(given))
    meaning, ids = MEANINGS[key]
    entry = config.effective()[key]
    return Explanation(
        key=key,
        meaning=meaning,
        default=spec.default,
        allowed=spec.allowed,
        ids=ids,
        value=_safe(entry.value),
        layer=entry.layer,
        file=entry.file,
    )


def explanations(config: Config) -> list[Explanation]:
    """Every key explained, in the order of the schema."""
    return [explain(config, key) for key in key_specs()]
