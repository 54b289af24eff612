"""Passages of a document that were forgotten, found in its text by their places.

Nothing is kept of a forgotten text but where it stood among the passages of its document and how
long it was. In the text of that document a passage which is new to the store is taken for it where
it stands between the same passages and is as long.

Invariant: a version notes no text and no hash of a passage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from vestig.store.records import documents
from vestig.store.records.removal import PLACES
from vestig.types import Memory, Source

_CHARS, _NUMBERS = PLACES


class _Gap(NamedTuple):
    """The nearest texts before and after a passage that both versions have; None at an end."""

    before: str | None
    after: str | None


def places(
    chars: Mapping[str, int], ids: Mapping[str, str], forgotten: Collection[str]
) -> dict[str, object]:
    """The metadata of a version that say how many passages it has, how long each is, and in their
    order the number of each memory, 0 of one that was forgotten.

    Args:
        chars: text → its length, of all passages in order.
        ids: text → id of the memory.

    Example:
        >>> places({"a": 7, "b": 9}, {"b": "mem_00000000-0000-4000-8000-00000000000f"}, {"a"})
        {'memories': 2, 'passage_chars': [7, 9], 'passage_numbers': [0, 15]}
    """
    stored = [text for text in chars if text in ids or text in forgotten]
    return {
        "memories": len(stored),
        _CHARS: [chars[text] for text in stored],
        _NUMBERS: [_number(ids[text]) if text in ids else 0 for text in stored],
    }


def _number(id: str) -> int:
    """The end of an id, which tells the memories of one document apart."""
    return int(id[-12:], 16)


def has_forgotten(version: Source, left: int) -> bool:
    """Return whether of a version with so many passages left some were forgotten."""
    return documents.memory_count(version) > left


def notes_places(version: Source) -> bool:
    """Return whether a version says where its passages stood."""
    return all(isinstance(version.metadata.get(name), list) for name in PLACES)


def forgotten_texts(
    chars: Mapping[str, int],
    size: int,
    version: Source,
    left: Sequence[Memory],
    fresh: Collection[str],
) -> frozenset[str]:
    """Those of the texts of a document that are passages of a version which were forgotten.

    Args:
        chars: text → its length, of all passages of the document in order.
        size: bytes of its file.
        version: an earlier one, or one of a document with the same passages.
        left: the passages of that which were not forgotten.
        fresh: the texts that no memory has.
    """
    if not has_forgotten(version, len(left)):
        return frozenset()
    if not notes_places(version):
        is_same = documents.memory_count(version) == len(chars)
        is_same = is_same and version.metadata.get("size") == size
        is_same = is_same and all(one.content_hash in chars for one in left)
        return frozenset(fresh) if is_same else frozenset()
    lengths, numbers = (version.metadata[name] for name in PLACES)
    text_of = {_number(one.id): one.content_hash for one in left}
    before = [text_of.get(number) for number in numbers]
    stay = {text for text in before if text in chars}
    order = [*chars]
    now = _by_gap(order, stay)
    found = _Found(chars, fresh)
    moved: list[int] = []
    for gap, at in _by_gap(before, stay).items():
        texts = [order[place] for place in now.get(gap, ())]
        is_aligned = len(texts) == len(at)
        for nth, place in enumerate(at):
            if before[place] is not None:
                continue
            among = texts[nth : nth + 1] if is_aligned else texts
            if not found.add(lengths[place], among):
                moved.append(lengths[place])
    for length in moved:
        found.add(length, chars)
    return frozenset(found.texts)


def _by_gap(texts: Sequence[str | None], stay: Collection[str | None]) -> dict[_Gap, list[int]]:
    """The places of what does not stay, in order, by their gaps."""
    after: list[str | None] = [None] * len(texts)
    following: str | None = None
    for place in range(len(texts) - 1, -1, -1):
        after[place] = following
        following = texts[place] if texts[place] in stay else following
    found: dict[_Gap, list[int]] = {}
    before: str | None = None
    for place, text in enumerate(texts):
        if text in stay:
            before = text
        else:
            found.setdefault(_Gap(before, after[place]), []).append(place)
    return found


class _Found:
    """The texts that were found so far."""

    def __init__(self, chars: Mapping[str, int], fresh: Collection[str]) -> None:
        self._chars = chars
        self._fresh = fresh
        self.texts: set[str] = set()

    def add(self, length: int, among: Iterable[str]) -> bool:
        """Takes the first of some texts that is so long; whether there is one."""
        for text in among:
            if text in self._fresh and text not in self.texts and self._chars[text] == length:
                self.texts.add(text)
                return True
        return False
