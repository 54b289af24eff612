"""What a scan takes, as objects of the core: for rooms above, which do not import it."""

from __future__ import annotations

from vestig._core import Filter, Projection, Query, Ranking, TraceParams, Walk

__all__ = ["Filter", "Projection", "Query", "Ranking", "TraceParams", "Walk"]
