"""A small index of names by their words, for those of a batch that are not yet in the store."""

from __future__ import annotations

from vestig._core import NameTable

__all__ = ["NameTable"]
