"""The functions that rank, in their one implementation, for rooms that compute with them."""

from __future__ import annotations

from vestig._core import ln
from vestig._core import pow as power

__all__ = ["ln", "power"]
