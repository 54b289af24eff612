"""Whether a short text says enough to be worth a memory."""

from __future__ import annotations

from typing import Final

from vestig.language.contractions import APOSTROPHES, expanded
from vestig.language.names.rules import quotations, starts_sentence
from vestig.language.word_list import word_list
from vestig.lazy_pattern import lazy_pattern

__all__ = ["is_too_short"]

# Han, Hiragana, Katakana and Hangul: such a character says about as much as three letters.
_DENSE: Final = lazy_pattern(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3038-\u303b\u3041-\u30ff\u3130-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7fb\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff]"
)
_DENSE_WORTH: Final = 3
_WORDS_MIN: Final = 2
_LETTERS: Final = lazy_pattern(r"[^\W\d_]{2,}")
_WORD: Final = lazy_pattern(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_NEGATIONS: Final = frozenset(
    word_list(
        "not no never none nobody nothing neither nor without hardly stop stops stopped stopping"
        " cease ceases ceased ceasing fail fails failed failing"
    )
)


def is_too_short(text: str, chars_min: int) -> bool:
    """Whether a note is shorter than the minimum and holds nothing that makes up for it.

    A character of Han, Hiragana, Katakana or Hangul counts as three. A shorter text of at least two
    words passes when it holds a digit, a quotation, a capitalised word inside a sentence, or a
    negation.

    Args:
        text: a normalised text.
        chars_min: the least number of code points (`hygiene.min_chars`).

    Example:
        >>> [is_too_short(text, 12) for text in ("I'm 34.", "no nuts", "good point", "ok")]
        [False, False, True, True]
    """
    if len(text) >= chars_min:
        return False
    if len(text) + (_DENSE_WORTH - 1) * len(_DENSE.findall(text)) >= chars_min:
        return False
    words = [word for word in text.split() if any(map(str.isalnum, word))]
    return len(words) < _WORDS_MIN or not _is_specific(text)


def _is_specific(text: str) -> bool:
    return (
        any(map(str.isdigit, text))
        or bool(quotations(text))
        or any(
            match[0][0].isupper() and not starts_sentence(text, match.start())
            for match in _LETTERS.finditer(text)
        )
        or _negates(text)
    )


def _negates(text: str) -> bool:
    words = _WORD.findall(text.lower().translate(APOSTROPHES))
    return any(part in _NEGATIONS for word in words for part in expanded(word, ""))
