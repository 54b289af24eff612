"""A few names and the runs of words that are they: those of a batch not yet in the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vestig.language.gazetteer import Hit
from vestig.language.name_forms import norm_name
from vestig.language.readings import Forms

__all__ = ["RUN_WORDS_MAX", "NameTable"]

# Longer names are found by their key alone.
RUN_WORDS_MAX: Final = 8


class NameTable:
    """Finds names among words in the way of `_core.Projection.find_names`.

    Example:
        >>> from vestig.language.readings import read
        >>> table = NameTable()
        >>> table.add("ent_1", "Ada Lovelace")
        >>> table.find(read("We met Ada Lovelace's sister.").words)
        [(2, 2, 'ent_1', 'Ada Lovelace')]
    """

    def __init__(self) -> None:
        # first word → (all words, entity id, stored name)
        self._names: dict[str, list[tuple[list[str], str, str]]] = {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def add(self, id: str, *stored: str) -> None:
        """These names are those of the entity."""
        for name in stored:
            words = norm_name(name).split(" ")
            if len(words) <= RUN_WORDS_MAX:
                self._names.setdefault(words[0], []).append((words, id, name))

    def find(self, words: Sequence[Forms]) -> list[Hit]:
        """Every run of words that is one of the names, any overlap."""
        if not self._names:
            return []
        hits: list[Hit] = []
        for first, (_, opening, _, alone) in enumerate(words):
            for key in {opening, alone}:
                for name, id, stored in self._names.get(key, ()):
                    if _is_run(words, first, name):
                        hits.append((first, len(name), id, stored))
        return hits


def _is_run(words: Sequence[Forms], first: int, name: Sequence[str]) -> bool:
    count = len(name)
    if count == 1:
        return words[first][3] == name[0]
    if first + count > len(words) or words[first][1] != name[0]:
        return False
    inner = all(words[first + at][0] == name[at] for at in range(1, count - 1))
    return inner and words[first + count - 1][2] == name[-1]
