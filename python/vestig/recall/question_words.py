"""The words of the questions that memories answer, made by rules when a ranking first weighs them.

Nothing of them is stored. The first recall that weighs them reads the texts of all memories that
its filters let through; later ones read those that were stored since.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Final

from vestig.ids import id_bytes, id_text, split_ids
from vestig.language.words import terms
from vestig.ports import LedgerView
from vestig.session.session import Session

__all__ = ["QuestionPostings", "QuestionWords", "QuestionWordsByNamespace", "question_words"]

_PAGE: Final = 500

# Ids (16 bytes each), number of words of each, and by term the places of the ids that hold it,
# with how often each does.
QuestionPostings = tuple[bytes, list[int], dict[str, tuple[list[int], list[int]]]]


class QuestionWords:
    """Those of the memories of one namespace that were read, in the order of reading."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seq = -1
        self._clear()

    def _clear(self) -> None:
        self._ids: dict[bytes, None] = {}
        self._lengths: list[int] = []
        self._postings: dict[str, tuple[list[int], list[int]]] = {}

    def drop(self, seq: int) -> None:
        """What was read before this seq goes, and an older view does not bring it back."""
        with self._lock:
            self._clear()
            self._seq = max(self._seq, seq)

    def postings(
        self, view: LedgerView, namespace: str, eligible: list[bytes], query: str
    ) -> QuestionPostings:
        """Where the words of a query stand. When memories were forgotten since the last read, all
        words go and are read anew; of an older view nothing stays."""
        with self._lock:
            if view.seq >= self._seq:
                return self._postings_of(view, namespace, eligible, query)
        return QuestionWords().postings(view, namespace, eligible, query)

    def _postings_of(
        self, view: LedgerView, namespace: str, eligible: list[bytes], query: str
    ) -> QuestionPostings:
        """`postings` of a view that is not older than what was read; the lock is held, so that
        nothing is dropped between the comparison and the reading."""
        if self._ids and view.removed_after(self._seq):
            self._clear()
        self._seq = view.seq
        unknown = [id for id in eligible if id not in self._ids]
        for start in range(0, len(unknown), _PAGE):
            ids = [id_text("mem", id) for id in unknown[start : start + _PAGE]]
            texts = view.normal_texts(namespace, ids)
            for memory in view.memories(namespace, ids):
                self._add(id_bytes(memory.id), texts[memory.id], memory.author)
        wanted = dict.fromkeys(terms(query))
        found = {term: self._postings[term] for term in wanted if term in self._postings}
        # copies: what the core reads must not grow meanwhile
        return (
            b"".join(self._ids),
            self._lengths[:],
            {term: (at[:], counts[:]) for term, (at, counts) in found.items()},
        )

    def _add(self, id: bytes, text: str, author: str | None) -> None:
        # imported here: the shipped weights count no questions
        from vestig.language.answered_questions import answered_questions

        counted = Counter(
            term for question in answered_questions(text, author) for term in terms(question)
        )
        place = len(self._lengths)
        self._ids[id] = None
        self._lengths.append(counted.total())
        for term, count in counted.items():
            at, counts = self._postings.setdefault(term, ([], []))
            at.append(place)
            counts.append(count)


class QuestionWordsByNamespace:
    """The question words of every namespace in which a ranking weighed them."""

    def __init__(self) -> None:
        self.words: dict[str, QuestionWords] = {}

    def of(self, namespace: str) -> QuestionWords:
        """Those of one namespace."""
        return self.words.setdefault(namespace, QuestionWords())

    def drop(self, seq: int) -> None:
        """What was read before this seq goes."""
        for words in list(self.words.values()):
            words.drop(seq)


def question_words(
    session: Session, view: LedgerView, namespace: str, eligible: bytes, query: str
) -> QuestionPostings:
    """`questions` of a query of the core, for memories of these ids (16 bytes each)."""
    own = session.cache(QuestionWordsByNamespace).of(namespace)
    return own.postings(view, namespace, split_ids(eligible), query)
