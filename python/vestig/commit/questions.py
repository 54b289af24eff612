"""Questions that a memory answers: the caller's, cleaned, or made by rules. Pure.

The rules know English. Each is a pattern over one of the first two sentences and the question
that it makes of its groups; the first that fits a sentence decides for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import islice
from typing import Final

from vestig.config.recall_sections import QuestionSettings
from vestig.language.text_forms import sentences, word_list
from vestig.lazy_pattern import lazy_pattern

CHARS_MAX: Final = 300
_SENTENCES: Final = 2

_IS: Final = r"(?:was|were|is|are|got|has been|have been)"
_SOLVED: Final = r"(?:fixed|solved|resolved|repaired|cured)"
_WHEN: Final = r"(?:if|when|whenever)\s+(.+?),\s+(?:then\s+)?.+"
_WHY: Final = (r"(.+?)\s+(?:because|since|due to|caused by)\s+.+", "Why is it that {0}?")
_PROBLEM: Final = (
    (
        r"(?:the )?(?:problem|issue|bug|error)\s*(?::|was that|is that)\s*(.+)",
        "How is it solved that {0}?",
    ),
    (
        r"(?:the )?(?:solution|fix|answer|workaround|remedy)\s*(?::|was to|is to)\s*(.+)",
        "Which problem is solved when you {0}?",
    ),
    (rf"(.+?)\s+{_IS}\s+{_SOLVED} (?:by|with|when|after)\s+.+", "How was {0} fixed?"),
    (rf"(?:we |i |they )?{_SOLVED}\s+(.+?)\s+(?:by|with|when|after)\s+.+", "How was {0} fixed?"),
    (r"to\s+(?:fix|solve|resolve|repair|avoid|prevent)\s+(.+?),\s+.+", "What helps against {0}?"),
    (_WHEN, "What should be done when {0}?"),
    _WHY,
)
_FAILURE: Final = (
    (
        r"(?:we |i |they )?(?:tried|attempted) to\s+(.+?),?\s+(?:but|and it|which|without)\b.*",
        "What happens when you try to {0}?",
    ),
    (
        r"(?:we |i |they )?(?:tried|attempted)\s+(.+?),?\s+(?:but|and it|which|without)\b.*",
        "What happens when you try {0}?",
    ),
    (
        r"(?:never|do not|don't|avoid)\s+(.+?)(?:\s+(?:because|since|as|or)\s+.+)?",
        "Why is it a mistake to {0}?",
    ),
    (
        r"(.+?)\s+(?:fail(?:s|ed)|br(?:oke|eaks)|crash(?:es|ed)|(?:did|does)(?: not|n't) work)\b.*",
        "Why does {0} fail?",
    ),
    (_WHEN, "What goes wrong when {0}?"),
    _WHY,
    (
        r"(?:the )?(?:lesson|mistake|error|failure)\s*(?::|was that|is that|was to|is to)\s*(.+)",
        "What was learnt about {0}?",
    ),
)
_RULES: Final = {"problem-solution": _PROBLEM, "learning-failure": _FAILURE}
# The question about a first sentence that fits no rule.
_FALLBACK: Final = {
    "problem-solution": "How is this solved: {0}?",
    "learning-failure": "What went wrong: {0}?",
}
_PREFIX: Final = lazy_pattern(
    r"(?:note|remember|fyi|reminder|(?:lesson )?learn(?:ed|t))\s*:\s*", re.I
)
# Words whose capital goes when they no longer begin a sentence.
_LOWERED: Final = frozenset(
    word_list(
        "the a an this that these those our my your their its his her we it they he she you some"
        " any all every each no using"
    )
)


_Rules = tuple[tuple[re.Pattern[str], str], ...]


@cache
def _rules(trigger: str) -> _Rules:
    """Compiled at their first use: few stores make questions."""
    return tuple(
        (lazy_pattern(pattern, re.I | re.S), question) for pattern, question in _RULES[trigger]
    )


def is_allowed(trigger: str | None, chosen: QuestionSettings) -> bool:
    """Return whether a memory of this trigger gets questions."""
    return chosen.enabled and trigger is not None and trigger in chosen.allowed_triggers


def usable_questions(questions: Iterable[object], most: int) -> tuple[str, ...]:
    """Texts that are not blank and not longer than 300 characters, each once, at most so many.

    Example:
        >>> usable_questions([" Why? ", 3, "", "Why?", "x" * 301, "How?", "When?"], 2)
        ('Why?', 'How?')
    """
    found: dict[str, None] = {}
    for question in questions:
        if not isinstance(question, str):
            continue
        text = question.strip()
        if text and len(text) <= CHARS_MAX and "\0" not in text:
            found[text] = None
    return tuple(found)[:most]


def questions_by_rule(text: str, trigger: str, most: int) -> tuple[str, ...]:
    """Questions that rules make of the first two sentences; () for a trigger without rules.

    Example:
        >>> questions_by_rule("The loop was fixed by clearing cookies.", "problem-solution", 2)
        ('How was the loop fixed?',)
    """
    if trigger not in _RULES:
        return ()
    rules = _rules(trigger)
    first = [sentence for _, sentence in islice(sentences(text), _SENTENCES)]
    found = [_question(sentence, rules) for sentence in first]
    if found and found[0] is None:
        found[0] = _FALLBACK[trigger].format(_plain(first[0]))
    return usable_questions(found, most)


def _plain(sentence: str) -> str:
    return _PREFIX.sub("", sentence.strip(), count=1).rstrip(" .!?;:,\"')")


def _question(sentence: str, rules: _Rules) -> str | None:
    plain = _plain(sentence)
    for pattern, question in rules:
        match = pattern.fullmatch(plain)
        if match is not None:
            return question.format(_inside(match[1]))
    return None


def _inside(part: str) -> str:
    """A part as it stands within a question: the capital of an ordinary first word goes."""
    part = part.strip(" ,;:")
    first = part.split(None, 1)[0] if part else ""
    ordinary = first[:1].isupper() and first.lower() in _LOWERED
    return part[:1].lower() + part[1:] if ordinary else part
