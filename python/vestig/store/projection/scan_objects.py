"""What a scan takes and what is made of one, as the core has it: for rooms above, which do not
import the core."""

from __future__ import annotations

from vestig._core import (
    BASIC_FEATURES,
    OWN_FEATURES,
    ROWS_READ,
    SIGNAL_FEATURES,
    ConfidenceTables,
    Filter,
    Projection,
    Query,
    Ranking,
    Row,
    Scoring,
    TraceParams,
    Walk,
    confidence_features,
    scores,
)

__all__ = [
    "BASIC_FEATURES",
    "OWN_FEATURES",
    "ROWS_READ",
    "SIGNAL_FEATURES",
    "ConfidenceTables",
    "Filter",
    "Projection",
    "Query",
    "Ranking",
    "Row",
    "Scoring",
    "TraceParams",
    "Walk",
    "confidence_features",
    "scores",
]
