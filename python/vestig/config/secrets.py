"""Secrets are named by environment variable and read here only."""

from __future__ import annotations

import os
from collections.abc import Mapping

from vestig.errors import ConfigError

__all__ = ["read_secret"]


def read_secret(key: str, variable: str, environ: Mapping[str, str] | None = None) -> str:
    """The value of the environment variable that the setting `key` names.

    Raises:
        ConfigError: the variable is not set, or empty.

    Example:
        >>> read_secret("embedding.api_key_env", "KEY", {"KEY": "s"})
        's'
    """
    value = (os.environ if environ is None else environ).get(variable, "")
    if not value:
        raise ConfigError(
            f"{key}: expected the environment variable {variable} to hold a key, it is not set;"
            f" set {variable}, or remove {key}"
        )
    return value
