"""Names by their words, for those of a batch that are not yet in the store, and entities as they
were read from it."""

from __future__ import annotations

from vestig._core import EntityRows, NameTable

__all__ = ["EntityRows", "NameTable"]
