"""Words that mean much the same: the table that comes with the package, and what configuration
adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from vestig.lazy_pattern import lazy_pattern
from vestig.retrieve.query_words import singular

_FILE: Final = Path(__file__).resolve().parent.parent / "data" / "synonyms.txt"
_WORD: Final = lazy_pattern(r"[^\W_]+(?:['’+#-]*[^\W_]+)*")


class Occurrence(NamedTuple):
    """A term of the table in a text: its span in code points, and its synonyms."""

    start: int
    end: int
    others: tuple[str, ...]


class Synonyms:
    """Groups of terms of one word or more; a term may stand in several.

    Example:
        >>> table = Synonyms([("k8s", "kubernetes"), ("ml", "machine learning")])
        >>> table.of("Kubernetes"), table.of("machine learning"), table.of("cat")
        (('k8s',), ('ml',), ())
    """

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        self._others: dict[str, dict[str, None]] = {}
        for group in groups:
            for term in group:
                rest = dict.fromkeys(one for one in group if one != term)
                self._others.setdefault(_key(term), {}).update(rest)
        # first word of a term → words of the longest that begins so
        self._longest: dict[str, int] = {}
        for key in self._others:
            words = key.split()
            self._longest[words[0]] = max(len(words), self._longest.get(words[0], 0))

    def of(self, term: str) -> tuple[str, ...]:
        """The synonyms of a term, in the order of the table; case and plural do not matter."""
        return tuple(self._others.get(_key(term), ()))

    def occurrences(self, text: str) -> Iterator[Occurrence]:
        """The terms of the table that a text holds, in order, the longest at each place.

        Example:
            >>> table = Synonyms([("ml", "machine learning")])
            >>> list(table.occurrences("two machine learning jobs"))
            [Occurrence(start=4, end=20, others=('ml',))]
        """
        words = [
            (match.start(), match.end(), singular(match[0].lower()))
            for match in _WORD.finditer(text)
        ]
        at = 0
        while at < len(words):
            step = 1
            for length in range(min(self._longest.get(words[at][2], 0), len(words) - at), 0, -1):
                part = words[at : at + length]
                others = self._others.get(" ".join(word for _, _, word in part))
                if others:
                    yield Occurrence(part[0][0], part[-1][1], tuple(others))
                    step = length
                    break
            at += step


def _key(term: str) -> str:
    return " ".join(singular(word) for word in term.lower().split())


@cache
def shipped_groups() -> tuple[tuple[str, ...], ...]:
    """The groups that come with the package."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return tuple(
        tuple(term.strip() for term in line.split(","))
        for line in lines
        if line.strip() and not line.startswith("#")
    )


def synonyms(added: Mapping[str, Sequence[str]]) -> Synonyms:
    """The shipped table with further groups.

    Args:
        added: term → its synonyms (`retrieve.synonyms`).

    Example:
        >>> synonyms({"SEV1": ["outage"]}).of("outage")
        ('downtime', 'incident', 'sev1')
    """
    own = tuple((term, *others) for term, others in added.items())
    return _table(tuple(tuple(term.strip().lower() for term in group) for group in own))


@cache
def _table(own: tuple[tuple[str, ...], ...]) -> Synonyms:
    return Synonyms((*shipped_groups(), *own))
