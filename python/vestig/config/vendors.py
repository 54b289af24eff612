"""Code that adapters of other makers share: secrets, which are named by environment variable and
read here only, the address of a service, and a setting that only the environment can carry."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from vestig.errors import ConfigError
from vestig.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from urllib.parse import SplitResult

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


def forbid_telemetry() -> None:
    """Keeps onnxruntime from reporting its use; call before it is imported.

    From version 1.29 on it writes a device id below the user's cache and sends events to its
    maker as soon as it is imported; only this variable, set before, prevents both. A value that
    the user has set stays.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def service_url(key: str, given: str, example: str) -> SplitResult:
    """The parts of the address that the key of the configuration gives.

    Raises:
        ConfigError: not http or https, no host, or a port that is no number. The text itself is not
            shown: an address may hold a password.

    Example:
        >>> service_url("llm.base_url", "http://localhost:8080/v1", "http://localhost").port
        8080
    """
    from urllib.parse import urlsplit

    parts = urlsplit(given)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        raise ConfigError(
            f"{key}: expected a URL such as {example}, got something else; correct {key}"
        )
    return parts
