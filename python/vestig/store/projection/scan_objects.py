"""What a scan takes, as objects of the core: for rooms above, which do not import it."""

from __future__ import annotations

from vestig._core import Filter, Query, Ranking, TraceParams, Walk

__all__ = ["Filter", "Query", "Ranking", "TraceParams", "Walk"]
