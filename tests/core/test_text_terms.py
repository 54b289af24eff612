"""The projection holds the terms of each text in their order, without those of function words."""

from __future__ import annotations

import random
from pathlib import Path

from rows import HEAD, STORE, Given, id_of, vector

from vestig import _core
from vestig.language.words import STOPWORDS, placed_terms

WORDS = ("the", "Of", "DOING", "doing", "river", "rivers", "v2.1", "a/the_map.rs", "東京都", "Ada")


def defined(*parts: str | None) -> list[str]:
    """Terms of author, title and text whose word is no function word."""
    return [
        term
        for part in parts
        for term, start, stop in placed_terms(part or "")
        if (part or "")[start:stop].lower() not in STOPWORDS
    ]


def test_terms_stand_in_the_order_of_author_title_and_text() -> None:
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
            heading=dice.choice([None, "The old map"]),
            embedding=vector(1, 0),
        )
        rows[number] = row
        projection.apply([row.row()], seq, HEAD)
        if dice.random() < 0.2:
            projection.publish(compact=dice.random() < 0.3)
    for compact in (False, True):
        projection.publish(compact=compact)
        for row in rows.values():
            held = projection.row(row.id)
            assert held is not None
            assert held["text_terms"] == defined(row.author, row.heading, row.content)
