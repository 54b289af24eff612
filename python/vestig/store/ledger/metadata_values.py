"""Equality of metadata as JSON has it."""

from __future__ import annotations

from typing import Any

__all__ = ["holds"]


def holds(metadata: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether metadata equals `wanted` in every key given.

    Example:
        >>> holds({"n": 1, "on": True}, {"n": 1.0}), holds({"n": 1}, {"n": True})
        (True, False)
    """
    return all(key in metadata and _same(metadata[key], value) for key, value in wanted.items())


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON values: true is not 1, but 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[k], right[k]) for k in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(_same, left, right))
    return (type(left) is type(right) and left == right) or _same_number(left, right)


def _same_number(left: Any, right: Any) -> bool:
    return isinstance(left, (int, float)) and isinstance(right, (int, float)) and left == right
