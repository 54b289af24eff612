"""The first gate: texts that are not worth a memory (C-04)."""

from __future__ import annotations

from typing import Final

from vestig.commit.text import HygieneSettings

__all__ = ["check"]

_SHOWN_CHARS: Final = 50
_FILLERS: Final = frozenset(
    ("ok", "okay", "thanks", "thx", "lol", "haha", "yeah", "yep", "nope", "k")
)


def check(text: str, settings: HygieneSettings) -> str | None:
    """Why a normalised text is refused, or None when it may pass (C-04).

    Lengths are code points; both bounds are inclusive. The first failing check decides.

    Args:
        text: a text that went through `normalise`.
        settings: the configuration section `hygiene`.

    Example:
        >>> from types import SimpleNamespace
        >>> section = SimpleNamespace(min_chars=12, max_chars=4000, normalize_whitespace=True)
        >>> check("ok", section)
        'Content too short: 2 chars (minimum: 12)'
        >>> check("Deploys run on Fridays", section) is None
        True
    """
    if not text:
        return "Memory content cannot be empty"
    if "\0" in text:
        return "Content contains a NUL character"
    length = len(text)
    if length < settings.min_chars:
        return f"Content too short: {length} chars (minimum: {settings.min_chars})"
    if length > settings.max_chars:
        return (
            f"Content too long: {length} chars (maximum: {settings.max_chars})."
            " Split it into several memories or commit a summary."
        )
    if text.lower() in _FILLERS or not text.strip(".…"):
        return f"Content rejected: appears to be non-substantive ('{text[:_SHOWN_CHARS]}')"
    return None
