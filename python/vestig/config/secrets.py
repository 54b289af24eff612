"""Secrets are named by environment variable and read here only."""

from __future__ import annotations

import os
from typing import Any, Final

from vestig.errors import ConfigError
from vestig.lazy_pattern import lazy_pattern

__all__ = ["read_secret", "without_credentials"]

_CREDENTIALS: Final = lazy_pattern(r"(?<=://)[^/@\s]+(?=@)")


def without_credentials(value: Any) -> Any:
    """A value without the credentials that a URL may carry.

    Example:
        >>> without_credentials("https://me:pw@host/v1")
        'https://***@host/v1'
    """
    return _CREDENTIALS.sub("***", value) if isinstance(value, str) else value


def read_secret(key: str, variable: str) -> str:
    """The value of the environment variable that the setting `key` names.

    Raises:
        ConfigError: the variable is not set, or empty.

    Example:
        >>> read_secret("embedding.api_key_env", "NO_SUCH_VARIABLE")
        Traceback (most recent call last):
        ...
        vestig.errors.ConfigError: embedding.api_key_env: expected the environment variable \
NO_SUCH_VARIABLE to hold a key, it is not set; set NO_SUCH_VARIABLE, or remove embedding.api_key_env
    """
    value = os.environ.get(variable, "")
    if not value:
        raise ConfigError(
            f"{key}: expected the environment variable {variable} to hold a key, it is not set;"
            f" set {variable}, or remove {key}"
        )
    return value
