"""The part of a text that a reader of a query wants to see first."""

from __future__ import annotations

from typing import Final

from vestig._core import terms
from vestig.language.text_forms import sentences, single_spaced
from vestig.language.words import keywords

CUT: Final = "…"
_KEYWORDS_MAX: Final = 32


def best_window(text: str, query: str, chars: int) -> str:
    """The neighbouring sentences of a text, at most `chars` characters, that have the most words of
    a query, on one line; `…` stands where something is left out. A text that fits is whole.

    Example:
        >>> best_window("It rained. The pump failed. We left.", "which pump failed?", 18)
        '… The pump failed. …'
        >>> best_window("It rained.", "which pump failed?", 18)
        'It rained.'
    """
    whole = single_spaced(text)
    if len(whole) <= chars:
        return whole
    parts = [
        single_spaced(sentence) for line in text.splitlines() for _, sentence in sentences(line)
    ]
    wanted = {term for word in keywords(query, limit=_KEYWORDS_MAX) for term in terms(word)}
    found = [wanted.intersection(terms(part)) for part in parts]
    first, last = _best(parts, found, chars)
    while last + 1 < len(parts) and _fits(parts[first : last + 2], chars):
        last += 1
    while first > 0 and _fits(parts[first - 1 : last + 1], chars):
        first -= 1
    shown = " ".join(parts[first : last + 1])
    if len(shown) > chars:
        return _within(shown, wanted, chars, before=first > 0)
    return f"{f'{CUT} ' if first else ''}{shown}{f' {CUT}' if last + 1 < len(parts) else ''}"


def _fits(parts: list[str], chars: int) -> bool:
    return len(" ".join(parts)) <= chars


def _best(parts: list[str], found: list[set[str]], chars: int) -> tuple[int, int]:
    """The first and last sentence of the shortest run that has the most words; a sentence that is
    too long by itself is a run of its own."""
    best, chosen = (-1, 0), (0, 0)
    for first in range(len(parts)):
        seen: set[str] = set()
        for last in range(first, len(parts)):
            if last > first and not _fits(parts[first : last + 1], chars):
                break
            seen = seen | found[last]
            rank = (len(seen), first - last)
            if rank > best:
                best, chosen = rank, (first, last)
    return chosen


def _within(sentence: str, wanted: set[str], chars: int, *, before: bool) -> str:
    """The words around the first one that is wanted, of a sentence that is too long."""
    words = sentence.split(" ")
    at = next((n for n, word in enumerate(words) if wanted.intersection(terms(word))), 0)
    # a few words before it say what it belongs to
    start = max(0, at - 4)
    shown = " ".join(words[start:])
    cut = shown[:chars].rpartition(" ")[0] if len(shown) > chars else shown
    end = "" if len(cut) == len(shown) else f" {CUT}"
    return f"{f'{CUT} ' if start or before else ''}{cut or shown[:chars]}{end}"
