"""A small index of names by their words, for those of a batch that are not yet in the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oracle_name_forms import norm_name
from oracle_name_words import WordForms

from vestig.language.names import NameHit

__all__ = ["RUN_WORDS_MAX", "NameTable"]

# Longer names are found by their key alone.
RUN_WORDS_MAX: Final = 8


class NameTable:
    """Finds names among words, with the results of `_core.Projection.find_names`.

    Example:
        >>> from oracle_name_words import analyse
        >>> table = NameTable()
        >>> table.add("ent_1", "Ada Lovelace")
        >>> table.find(analyse("We met Ada Lovelace's sister.").words)
        [(2, 2, 'ent_1', 'Ada Lovelace')]
    """

    def __init__(self) -> None:
        # normal form → (entity id, stored name)
        self._names: dict[str, list[tuple[str, str]]] = {}
        # first word → how many words names that begin with it have
        self._lengths: dict[str, set[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def add(self, id: str, *stored: str) -> None:
        """Adds names of an entity."""
        for name in stored:
            norm = norm_name(name)
            words = norm.split(" ")
            if len(words) <= RUN_WORDS_MAX:
                self._names.setdefault(norm, []).append((id, name))
                self._lengths.setdefault(words[0], set()).add(len(words))

    def find(self, words: Sequence[WordForms]) -> list[NameHit]:
        """Every run of words that is one of the names, any overlap."""
        hits: list[NameHit] = []
        for first, (_, opening, _, alone) in enumerate(words):
            for count in self._lengths.get(opening, ()):
                if count > 1 and first + count <= len(words):
                    inner = [form[0] for form in words[first + 1 : first + count - 1]]
                    whole, _, last, _ = words[first + count - 1]
                    for end in _with_possessive(whole, last):
                        hits += self._named(" ".join((opening, *inner, end)), first, count)
            for word in _with_possessive(opening, alone):
                hits += self._named(word, first, 1)
        return hits

    def _named(self, norm: str, first: int, count: int) -> list[NameHit]:
        return [(first, count, *name) for name in self._names.get(norm, ())]


def _with_possessive(whole: str, word: str) -> tuple[str, ...]:
    """A word, and the same with the `'s` that it has."""
    return (word, f"{word}'s") if whole[len(word) :].startswith("'s") else (word,)
