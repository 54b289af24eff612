"""Labelled pairs of near texts: two facts stay two memories, one fact is one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripted import Opener
from vestig.testing import vector_at
from vestig.types import CommitOutcome, CommitOutcomeKind

PAIRS = {
    name: [
        json.loads(line)
        for line in (Path(__file__).parent / f"fact_pairs_{name}.jsonl")
        .read_text("utf-8")
        .splitlines()
    ]
    for name in ("seen", "unseen")
}
SAID = "2026-03-18T12:00:00Z"


def outcomes(opener: Opener, pairs: list[dict[str, Any]], *order: str) -> list[CommitOutcome]:
    """Of the second text of each pair, behind its first; every pair is alone in a scope."""
    vectors = {pair[side]: vector_at(1.0) for pair in pairs for side in order}
    store = opener("-".join(order), vectors=vectors, config={"hygiene.min_chars": 1})
    made: list[Any] = []
    for side in order:
        made = store.commit_many(
            [
                {"content": pair[side], "scope": f"pair {place}", "t_ref": SAID}
                for place, pair in enumerate(pairs)
            ]
        )
    assert all(isinstance(one, CommitOutcome) for one in made)
    return made


@pytest.mark.parametrize("order", [("one", "other"), ("other", "one")])
@pytest.mark.parametrize("name", PAIRS)
def test_two_facts_never_merge(opener: Opener, name: str, order: tuple[str, str]) -> None:
    apart = [pair for pair in PAIRS[name] if not pair["same"]]
    made = outcomes(opener, apart, *order)
    merged = [
        pair
        for pair, outcome in zip(apart, made, strict=True)
        if outcome.outcome is not CommitOutcomeKind.INSERTED_NEW
    ]
    assert merged == []
    assert all(one.possible_update_of and one.possible_update_of.differs for one in made)


def test_nearly_all_restatements_merge(opener: Opener) -> None:
    pairs = [pair for name in PAIRS for pair in PAIRS[name]]
    assert len(pairs) >= 300
    alike = [pair for pair in pairs if pair["same"]]
    made = outcomes(opener, alike, "one", "other")
    apart = [
        pair
        for pair, outcome in zip(alike, made, strict=True)
        if outcome.outcome is CommitOutcomeKind.INSERTED_NEW
    ]
    assert len(apart) <= 0.05 * len(alike), apart
