"""The projection holds the terms of each text in their order, without those of function words."""

from __future__ import annotations

import random
from pathlib import Path

from rows import HEAD, STORE, Given, id_of, vector

from vestig import _core
from vestig.language.stopwords import STOPWORDS
from vestig.language.words import placed_terms

AGENT_WORDS_END = 1_200
CHAT_AGENT = 1
WORDS = ("the", "Of", "DOING", "doing", "river", "rivers", "v2.1", "a/the_map.rs", "東京都", "Ada")


def defined(text: str, author: str | None, until: int | None = None) -> list[str]:
    """Terms of author and text whose word is no function word."""
    found = []
    for part, end in ((author or "", None), (text, until)):
        placed, whole_end = placed_terms(part), 0
        begins = 0
        for term, start, stop in placed:
            # the parts of an identifier begin where the whole of it does
            if stop > whole_end:
                begins, whole_end = start, stop
            if end is not None and begins >= end:
                continue
            if part[start:stop].lower() not in STOPWORDS:
                found.append(term)
    return found


def test_terms_stand_in_the_order_of_author_and_text() -> None:
    projection = _core.Projection.open(None, STORE, 2, "test")
    row = Given(id=id_of(1), seq=1, content="The red, old bicycle of THE Tom's", author="May Day")
    projection.apply([row.row()], 1, HEAD)
    held = projection.row(row.id)
    assert held is not None
    assert held["text_terms"] == ["day", "red", "old", "bicycl", "tom"]


def test_the_order_stays_through_files_merges_and_newer_versions(tmp_path: Path) -> None:
    dice = random.Random(11)
    projection = _core.Projection.open(str(tmp_path / "p"), STORE, 2, "test")
    rows = {}
    for seq in range(1, 90):
        number = dice.randrange(60)
        text = " ".join(dice.choice(WORDS) for _ in range(dice.choice([0, 1, 9, 30, 250])))
        row = Given(
            id=id_of(number),
            seq=seq,
            wseq=seq,
            content=text,
            author=dice.choice([None, "Ada of the River"]),
            origin=dice.choice([CHAT_AGENT, 3]),
            embedding=vector(1, 0),
        )
        rows[number] = row
        projection.apply([row.row()], seq, HEAD)
        if dice.random() < 0.2:
            projection.publish(compact=dice.random() < 0.3)
    for compact in (False, True):
        projection.publish(compact=compact)
        for row in rows.values():
            until = AGENT_WORDS_END if row.origin == CHAT_AGENT else None
            held = projection.row(row.id)
            assert held is not None
            assert held["text_terms"] == defined(row.content, row.author, until)
