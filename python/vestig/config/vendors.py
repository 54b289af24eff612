"""What adapters of other makers share: the address of a service, and a setting that only the
environment of the process can carry."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from vestig.errors import ConfigError

if TYPE_CHECKING:
    from urllib.parse import SplitResult

__all__ = ["forbid_telemetry", "service_url"]


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
