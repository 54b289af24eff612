"""English contractions, written out."""

from __future__ import annotations

from typing import Final

from vestig.language.text_forms import word_list

# Marks that stand for an apostrophe, for `str.translate`.
APOSTROPHES: Final = dict.fromkeys(map(ord, "’‘ʼ‛‹›"), "'")  # noqa: RUF001

_NOT_AFTER: Final = word_list(
    "do does did is are was were has have had would should could must need might"
)
_WHOLE: Final = {
    "cannot": ("can", "not"),
    "can't": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "let's": ("let", "us"),
    **{f"{word}n't": (word, "not") for word in _NOT_AFTER},
    # without the apostrophe, where that is no other word
    **{f"{word}nt": (word, "not") for word in _NOT_AFTER},
}
# Contractions that have no apostrophe.
JOINED_NEGATIONS: Final = frozenset(word for word in _WHOLE if word.isalpha())
_TAILS: Final = {"re": "are", "ve": "have", "ll": "will"}
# Behind these words `'s` is a verb, never a possessive.
_SUBJECTS: Final = frozenset(
    word_list(
        "he she it that this there here what who where when how why everything everyone"
        " everybody something someone somebody nothing nobody"
    )
)
_PRONOUNS: Final = frozenset(word_list("i you he she it we they that there who what this"))
# `'s` is "has" before these words; before another participle it may be either.
_HAS_BEFORE: Final = frozenset(("been", "got", "had"))
_HAD_BEFORE: Final = frozenset(("been", "better"))
_WOULD_BEFORE: Final = frozenset(
    word_list("like love prefer rather be have say go want need hate buy take do not")
)
_PARTICIPLES: Final = frozenset(
    word_list(
        "gone done come become seen taken given known made found left lost won paid sold told"
        " said put set cut hit let read run begun broken chosen driven eaten fallen forgotten"
        " grown hidden kept led met sent spent stood taught thought written worn built bought"
        " brought caught felt held"
    )
)


def expanded(word: str, following: str) -> tuple[str, ...]:
    """A word with its contraction written out; the word alone where it has none, or where it may
    mean two things ("he's finished"). The 's of a noun stays.

    Args:
        word: with plain apostrophes; in lower case but for "I".
        following: the next word in lower case, "" at the end.

    Example:
        >>> expanded("won't", "go"), expanded("it's", "late"), expanded("it's", "been")
        (('will', 'not'), ('it', 'is'), ('it', 'has'))
        >>> expanded("ann's", "in"), expanded("he's", "finished")
        (("ann's",), ("he's",))
    """
    whole = _WHOLE.get(word)
    if whole is not None:
        return whole
    stem, apostrophe, tail = word.rpartition("'")
    if not apostrophe:
        return (word,)
    lower = stem.lower()
    if tail == "s" and lower in _SUBJECTS:
        verb = _is_or_has(following)
    elif lower not in _PRONOUNS:
        return (word,)
    elif tail == "m" and lower == "i":
        verb = "am"
    elif tail == "d":
        verb = _would_or_had(following)
    else:
        verb = _TAILS.get(tail, "")
    return (stem, verb) if verb else (word,)


def _is_or_has(following: str) -> str:
    if following in _HAS_BEFORE:
        return "has"
    return "" if following.endswith("ed") or following in _PARTICIPLES else "is"


def _would_or_had(following: str) -> str:
    if following in _HAD_BEFORE:
        return "had"
    return "would" if following in _WOULD_BEFORE else ""
