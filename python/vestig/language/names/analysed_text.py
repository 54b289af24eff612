"""Texts taken apart for the gazetteer: words in the forms that are looked up, and the names that
the rules find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vestig._core import AnalysedText
from vestig.language.names.rules import RULES

__all__ = ["AnalysedText", "analyse", "analyse_all"]


def analyse(
    text: str,
    title: str | None = None,
    *,
    rules: bool = True,
    types: Mapping[str, str] | None = None,
) -> AnalysedText:
    """Splits a text into words and finds names by the rules.

    Args:
        title: the note's or document's title.
        rules: false = only known names are wanted.
        types: type of a rule → type of this store's ontology; None = unchanged.

    Example:
        >>> analyse("Ask (Ada Lovelace)").words[1]
        ('(ada', 'ada', '(ada', 'ada')
    """
    return RULES.analyse([(text, title)], rules=rules, types=types)[0]


def analyse_all(
    texts: Sequence[tuple[str, str | None]], *, types: Mapping[str, str] | None = None
) -> list[AnalysedText]:
    """The same of many texts with their titles, at once.

    Example:
        >>> [one.openers for one in analyse_all([("Deploy it", None), ("so Ada", None)])]
        [['deploy'], []]
    """
    return RULES.analyse(texts, types=types)
