"""The calls of an open store that concern entities (G-05, G-09)."""

from __future__ import annotations

from vestig.engine.context import Context

__all__ = ["EntityMethods"]


class EntityMethods:
    """Base of `Vestig`. Every method delegates; none decides."""

    _context: Context
