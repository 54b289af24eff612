"""Word lists of the fact guard: asides, contractions, negation cues, ignorable words."""

from __future__ import annotations

import re
from typing import Final

from vestig.language.word_list import word_list
from vestig.lazy_pattern import lazy_pattern

__all__ = [
    "APOSTROPHES",
    "CUES",
    "CUE_PAIRS",
    "IGNORABLE",
    "NEGATIONS",
    "SPECIAL",
    "expanded",
    "is_article",
    "without_asides",
]

# Marks that stand for an apostrophe, for `str.translate`.
APOSTROPHES: Final = {ord("’"): "'", ord("‘"): "'", ord("ʼ"): "'"}  # noqa: RUF001

IGNORABLE: Final = frozenset(
    word_list(
        "a an the this that these those is are am be been being also really very please it its of"
    )
)

_LEAD_IN: Final = lazy_pattern(
    r"\s*(?:note\s+that|remember\s+that|just\s+so\s+you\s+know|by\s+the\s+way|fyi"
    r"|for\s+the\s+record)\b(?:\s*[,:;–—-]+)?\s+",
    re.IGNORECASE,
)
# Behind a sentence these words are an aside only after a break: "he ran for the record" is none.
_TAIL: Final = lazy_pattern(
    r"(?:\s*[,;:.!?(–—-]\s*(?:just\s+so\s+you\s+know|by\s+the\s+way|for\s+the\s+record|fyi)"
    r"|\s+fyi)\s*[.!?)…]*\s*$",
    re.IGNORECASE,
)


# The longest tail with its punctuation and single spaces, with room to spare.
_TAIL_CHARS_MAX: Final = 48
# How lead-ins begin and tails end: a cheap test that most texts fail.
_LEAD_IN_INITIALS: Final = frozenset("nrjbfNRJBF \t\n")
_TAIL_ENDS: Final = ("know", "way", "record", "fyi")
_TAIL_MARKS: Final = " \t\n.!?)…"


def without_asides(text: str) -> str:
    """The text without listed lead-ins and tails.

    Example:
        >>> without_asides("By the way, note that Dana leads, fyi.")
        'Dana leads'
    """
    while text[:1] in _LEAD_IN_INITIALS:
        match = _LEAD_IN.match(text)
        if match is None or match.end() == len(text):
            break
        text = text[match.end() :]
    while text[-_TAIL_CHARS_MAX:].rstrip(_TAIL_MARKS).lower().endswith(_TAIL_ENDS):
        match = _TAIL.search(text, max(1, len(text) - _TAIL_CHARS_MAX))
        if match is None:
            break
        text = text[: match.start()]
    return text


# --- contractions --------------------------------------------------------------------------

_FUSED_NOT: Final = {
    "cannot": ("can", "not"),
    "can't": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "ain't": ("is", "not"),
    **{
        f"{word}nt": (word, "not")
        for word in (
            *("do", "does", "did", "is", "are", "was", "were", "has", "have", "had"),
            *("would", "should", "could", "must", "need"),
        )
    },
    "cant": ("can", "not"),
    "let's": ("let", "us"),
}
_TAILS: Final = {"'re": "are", "'m": "am", "'ve": "have", "'ll": "will"}
# After these words `'s` is "is", never a possessive.
_SUBJECTS: Final = frozenset(
    word_list(
        "he she it that this there here what who where when how why everything everyone"
        " everybody something someone somebody nothing nobody"
    )
)
# Before these words `'s` is "is": a possessive is followed by a noun.
_BEFORE_PREDICATE: Final = frozenset(
    word_list(
        "a an the not been being going also really very in on at from with to for now"
        " currently still already always never no just only"
    )
)
_ING_NOUNS: Final = frozenset(
    word_list("thing king ring spring string wing morning evening sibling ceiling darling wedding")
)
_HAD_BEFORE: Final = frozenset(("been", "better", "gone", "had"))
_HAS_BEFORE: Final = frozenset(("been", "got", "had"))
_WHEN: Final = frozenset(("<date>", "<time>"))


def expanded(word: str, following: str, ends: bool = False) -> tuple[str, ...]:
    """A token with its contraction written out.

    Args:
        word: lower-cased token with plain apostrophes.
        following: the next token, or the class of what is claimed there; "" at the end.
        ends: whether nothing comes behind `following`: "the demo's Monday" says when it is, "the
            demo's Monday slot" whose slot it is.

    Example:
        >>> expanded("dana's", "leading"), expanded("dana's", "laptop"), expanded("won't", "go")
        (('dana', 'is'), ('dana', "'s"), ('will', 'not'))
        >>> expanded("demo's", "<date>", ends=True), expanded("she's", "been")
        (('demo', 'is'), ('she', 'has'))
    """
    fused = _FUSED_NOT.get(word)
    if fused is not None:
        return fused
    at = word.find("'")
    if at < 0:
        return (word,)
    if word.endswith("n't") and len(word) > 3:
        return (word[:-3], "not")
    stem, tail = word[:at], word[at:]
    head = (stem,) if stem else ()
    if tail == "'s":
        if following in _HAS_BEFORE:
            return (*head, "has")
        if ends and following in _WHEN:
            return (*head, "is")
        return (*head, "is" if _is_verb(stem, following) else "'s")
    if tail == "'d":
        had = following in _HAD_BEFORE or following.endswith("ed")
        return (*head, "had" if had else "would")
    return (*head, _TAILS.get(tail, tail))


def _is_verb(stem: str, following: str) -> bool:
    if stem in _SUBJECTS or following in _BEFORE_PREDICATE:
        return True
    return following.endswith("ing") and len(following) > 4 and following not in _ING_NOUNS


_AFTER_LETTER_A: Final = frozenset(
    word_list("is was are were and or to vs versus has had will can must of in on at with does did")
)


def is_article(initial: bool, following: str) -> bool:
    """Whether a lone capital "A" is the article: only as the first word, before a noun."""
    return initial and bool(following) and following not in _AFTER_LETTER_A


# --- negation, tense, modality, opposites ---------------------------------------------------


def _forms(verb: str) -> tuple[str, ...]:
    """A verb with its regular endings."""
    if verb.endswith("e"):
        return (verb, f"{verb}s", f"{verb}d", f"{verb[:-1]}ing")
    if verb.endswith("y"):
        plural = f"{verb}s" if verb[-2] in "aeiou" else f"{verb[:-1]}ies"
        past = f"{verb}ed" if verb[-2] in "aeiou" else f"{verb[:-1]}ied"
        return (verb, plural, past, f"{verb}ing")
    return (verb, f"{verb}s", f"{verb}ed", f"{verb}ing")


# Words by which a statement is denied or ended.
NEGATIONS: Final = frozenset(
    (
        *word_list("not no never none nobody nothing neither nor without hardly"),
        *word_list("stop stops stopped stopping"),
        *_forms("cease"),
        *_forms("fail"),
    )
)
CUES: Final = NEGATIONS | frozenset(
    (
        *word_list("ex was were had did former formerly previously"),
        *word_list("will would may might could should must"),
        *word_list("start starts started starting"),
        *word_list("before after more less above below left right in out on off up down"),
        *word_list("first last min max true false"),
        *(
            form
            for verb in (
                *("like", "dislike", "enable", "disable", "allow", "deny"),
                *("accept", "reject", "increase", "decrease", "open", "close", "add", "remove"),
            )
            for form in _forms(verb)
        ),
    )
)


CUE_PAIRS: Final = frozenset(("no longer", "used to"))
# Words that `prepare` looks at twice; all others go straight to `words`.
SPECIAL: Final = (
    IGNORABLE | CUES | frozenset(_FUSED_NOT) | frozenset(pair.split()[0] for pair in CUE_PAIRS)
)
