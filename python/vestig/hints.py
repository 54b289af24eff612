"""Hints for unknown names: the nearest valid one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from vestig.errors import ValidationError

__all__ = ["check_names", "did_you_mean", "nearest"]

# Least similarity, 0 to 1, for a hint.
_ALIKE: Final = 0.6
# Of a longer word no more is compared: it is no misspelt name.
_WORD_CHARS_MAX: Final = 100


def nearest(word: str, names: Iterable[str], least: float = 0.0) -> str:
    """The name most like a word; "" when none is as alike as `least`, 0 to 1.

    Example:
        >>> nearest("hygene.min_chars", ["hygiene.max_chars", "hygiene.min_chars"])
        'hygiene.min_chars'
    """
    import difflib

    found = difflib.get_close_matches(word[:_WORD_CHARS_MAX], list(names), 1, least)
    return found[0] if found else ""


def did_you_mean(
    word: str, names: Iterable[str], least: float = _ALIKE, otherwise: str = ""
) -> str:
    """The hint of a `ValidationError`; `otherwise` when no name is alike.

    Example:
        >>> did_you_mean("limt", ["limit", "mode"]), did_you_mean("zzz", ["limit"])
        ('did you mean limit?', '')
    """
    near = nearest(word, names, least)
    return f"did you mean {near}?" if near else otherwise


def check_names(given: Mapping[str, Any], names: Collection[str], what: str) -> None:
    """Every given name is one of these.

    Raises:
        ValidationError: expected `what`; names the nearest.

    Example:
        >>> check_names({"limit": 3}, ["limit", "mode"], "a field of recall")
    """
    for name, value in given.items():
        if name not in names:
            hint = did_you_mean(str(name), names)
            raise ValidationError(str(name), type(value).__name__, what, hint)
