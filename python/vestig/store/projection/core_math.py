"""Functions of numbers as the core computes them: scores made in Python have the same bits."""

from __future__ import annotations

from vestig._core import ln
from vestig._core import pow as power

__all__ = ["ln", "power"]
