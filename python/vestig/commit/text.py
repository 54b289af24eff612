"""The text of a memory: how it is stored, whether it is worth storing, how long it will hold."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from vestig.arguments import check_unicode
from vestig.config.schema import HygieneSettings
from vestig.language.text_forms import normal_form, trimmed, unusable_reason
from vestig.language.time.expressions import PRESENT_CUE, TemporalExpression, lowered
from vestig.times import DAY_US
from vestig.types import Stability

# Texts that say nothing by themselves.
_FILLERS: Final = frozenset(
    ("ok", "okay", "thanks", "thx", "lol", "haha", "yeah", "yep", "nope", "k")
)
_SHOWN_CHARS: Final = 50
# The text as it was given may be so many times longer than its normal form may be.
_WHITE_SPACE_FACTOR: Final = 4
# A text about a time this near its reference may be about a passing state.
_NEAR_DAYS: Final = 2


class TextForms(NamedTuple):
    """`normal`: the form that hashes, words and vectors are made of. `given`: the text that a
    caller gets back, as it was given but for white space at its ends."""

    normal: str
    given: str


def check_text(text: object) -> str:
    """Return a caller's text.

    Raises:
        TypeError: not a string.
    """
    if not isinstance(text, str):
        raise TypeError(f"content: expected str, got {type(text).__name__}; pass the text itself")
    return text


def normalise(text: object, settings: HygieneSettings) -> str:
    """The normal form of a text: trimmed, in NFC, without characters that are not seen, and by
    default with single spaces but for the indentation of lines. Lengths, hashes, words and vectors
    are made of it.

    Case and punctuation stay.

    Args:
        text: what the caller committed.
        settings: the configuration section `hygiene`.

    Raises:
        TypeError: not a string.
        ValidationError: a lone surrogate.

    Example:
        >>> normalise("  two\\t words\\n", HygieneSettings())
        'two words'
    """
    text = check_text(text)
    check_unicode("content", text)
    return normal_form(text, single_spaces=settings.normalize_whitespace)


def text_forms(text: object, settings: HygieneSettings) -> TextForms:
    """Both forms of a text.

    Args:
        text: what the caller committed.
        settings: the configuration section `hygiene`.

    Raises:
        TypeError: not a string.
        ValidationError: a lone surrogate.

    Example:
        >>> text_forms("\\tif so:\\n\\t\\tstop\\n", HygieneSettings())
        TextForms(normal='if so:\\n\\t\\tstop', given='if so:\\n\\t\\tstop')
    """
    normal = normalise(text, settings)
    assert isinstance(text, str), "checked by normalise"
    return TextForms(normal, trimmed(text))


def content_hash(normalised: str) -> str:
    """Lower-case hex SHA-256 of the UTF-8 bytes of a normalised text.

    Example:
        >>> content_hash("Vestig keeps the ledger as its single source of truth.")[:16]
        'a4edb32bfc9bafa8'
    """
    return hashlib.sha256(normalised.encode("utf-8")).hexdigest()


def refusal_reason(
    text: str, settings: HygieneSettings, *, turn: bool = False, given_chars: int = 0
) -> str | None:
    """Why a normalised text is refused, or None when it may pass.

    Lengths are code points; both bounds are inclusive. The first failing check decides.

    Args:
        text: a text that went through `normalise`.
        settings: the configuration section `hygiene`.
        turn: whether it is a turn of a conversation: what answers another text may be short.
        given_chars: length of the text as it was given, white space included.

    Example:
        >>> refusal_reason("ok", HygieneSettings())
        'Content too short: 2 chars (minimum: 12)'
        >>> refusal_reason("yes", HygieneSettings(), turn=True) is None
        True
    """
    unusable = unusable_reason(text)
    if unusable is not None:
        return unusable
    length = len(text)
    if not turn and length < settings.min_chars:
        # imported here: few texts are so short
        from vestig.commit.short_texts import is_too_short

        if is_too_short(text, settings.min_chars):
            return f"Content too short: {length} chars (minimum: {settings.min_chars})"
    if length > settings.max_chars:
        return (
            f"Content too long: {length} chars (maximum: {settings.max_chars})."
            " Split it into several memories or commit a summary."
        )
    given_max = _WHITE_SPACE_FACTOR * settings.max_chars
    if given_chars > given_max:
        return f"Content too long: {given_chars} chars with white space (maximum: {given_max})"
    if text.lower() in _FILLERS or not any(_says_something(char) for char in text):
        return f"Content rejected: appears to be non-substantive ('{text[:_SHOWN_CHARS]}')"
    return None


def _says_something(char: str) -> bool:
    """Return whether a character is a letter, a digit or a symbol."""
    return unicodedata.category(char)[0] in "LNS"


def derive_stability(
    text: str,
    expressions: Sequence[TemporalExpression],
    t_ref_us: int,
    *,
    given: Stability | None = None,
) -> Stability:
    """How long the text will hold true: the caller's value; else `ephemeral` when its only time is
    within two days of its reference and it speaks of the present or the future; else `unknown`. A
    time that lies on either side of the reference makes no text ephemeral.

    Args:
        text: the memory's text.
        expressions: its windows, as `find_windows` gave them for the same reference.
        t_ref_us: the reference, microseconds since the epoch.
        given: the caller's value, None = none.

    Example:
        >>> from vestig.language.time.expressions import find_windows
        >>> derive_stability("I am tired today", find_windows("I am tired today", 0), 0).value
        'ephemeral'
        >>> derive_stability("I am from Oslo", [], 0).value
        'unknown'
    """
    if given is not None:
        return given
    windows = [item for item in expressions if item.resolved]
    if len(windows) != 1:
        return Stability.UNKNOWN
    start, end = windows[0].window_start_us, windows[0].window_end_us
    if start is None or end is None:
        return Stability.UNKNOWN
    # Whole days: a window of the second day from the reference's own day still counts.
    if start <= t_ref_us - (_NEAR_DAYS + 1) * DAY_US or end >= t_ref_us + (_NEAR_DAYS + 1) * DAY_US:
        return Stability.UNKNOWN
    # imported here: most texts name no time
    from vestig.language.time.cues import Direction, has_cue

    lower = lowered(text).replace("’", "'")
    speaks_of_these_days = PRESENT_CUE.search(lower) is not None or has_cue(
        text, lower, Direction.FUTURE
    )
    return Stability.EPHEMERAL if speaks_of_these_days else Stability.UNKNOWN
