"""Settings of other libraries that only the environment of the process can carry."""

from __future__ import annotations

import os

__all__ = ["forbid_telemetry"]


def forbid_telemetry() -> None:
    """Keeps onnxruntime from reporting its use; call before it is imported.

    From version 1.29 on it writes a device id below the user's cache and sends events to its
    maker as soon as it is imported; only this variable, set before, prevents both. A value that
    the user has set stays.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
