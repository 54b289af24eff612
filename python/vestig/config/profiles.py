"""The shipped recall profiles: plain data over one pipeline (R-15)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["PROFILES", "PROFILE_PREFIXES"]

ORIGINS: Final = ("chat_peer", "chat_agent", "document", "note")

# Keys that a profile, or one call of recall, may set.
PROFILE_PREFIXES: Final = ("m3.", "m5.", "recall.")

PROFILES: Final[Mapping[str, Mapping[str, Any]]] = {
    "default": {
        "m5.start_node.direct_pool": "auto",
        "m5.signals.cosine.enabled": True,
        "m5.signals.lexical.enabled": True,
        "m5.final.base": "linear",
        "m5.final.tracerank_power": 0.5,
        **{f"m5.signals.weights.{origin}.bias": -12.0 for origin in ORIGINS},
        **{f"m5.signals.weights.{origin}.cosine": 8.0 for origin in ORIGINS},
        **{f"m5.signals.weights.{origin}.lexical": 5.6 for origin in ORIGINS},
    },
    "baseline": {
        "m5.start_node.direct_pool": "all",
        "m5.final.base": "cosine",
        "m5.final.tracerank_power": 0.0,
    },
}
