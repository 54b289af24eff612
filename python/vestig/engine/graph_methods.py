"""The calls of an open store that concern edges and search over the graph (G-09, G-10, G-20)."""

from __future__ import annotations

from vestig.engine.context import Context

__all__ = ["GraphMethods"]


class GraphMethods:
    """Base of `Vestig`. Every method delegates; none decides."""

    _context: Context
