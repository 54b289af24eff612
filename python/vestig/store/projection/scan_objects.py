"""What a scan takes and what is made of one, as the core has it: for rooms above, which do not
import the core."""

from __future__ import annotations

from vestig._core import (
    FEATURES,
    ROWS_READ,
    Filter,
    Projection,
    Query,
    Ranking,
    Row,
    TraceParams,
    Walk,
    absent_names,
    confidence_features,
    ln,
    logistic,
)

__all__ = [
    "FEATURES",
    "ROWS_READ",
    "Filter",
    "Projection",
    "Query",
    "Ranking",
    "Row",
    "TraceParams",
    "Walk",
    "absent_names",
    "confidence_features",
    "ln",
    "logistic",
]
