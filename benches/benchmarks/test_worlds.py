"""Folders of worlds: whole stores in which facts change and some questions have no answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET, UnsetType

from benchmarks import tables
from benchmarks.evaluate import evaluate
from benchmarks.rankings import CUTS, Tally, parameters_for, peer_rankings
from benchmarks.reader import read_benchmark
from benchmarks.run import CachedEmbedder
from vestig.testing import HashingEmbedder


def _unit(id: str, day: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "text": text, "timestamp": f"{day}T09:00:00Z", "kind": "note", **more}


def _ask(id: str, text: str, relevant: list[str], **more: Any) -> dict[str, Any]:
    return {"id": id, "text": text, "relevant": relevant, "date": "2026-06-01", **more}


_WORLDS = {
    "bakery": (
        [
            _unit("a", "2026-01-05", "The oven man is called Ruben and comes on Mondays"),
            _unit("b", "2026-03-05", "The oven man comes on Thursdays now"),
            _unit("c", "2026-03-06", "Rye flour is ordered from the mill in Aldern"),
        ],
        [
            _ask("1", "When does the oven man come?", ["b"], outdated=["a"], category="changed"),
            _ask("2", "When does the oven man come?", ["a"], date="2026-02-01", as_of=True),
            _ask("3", "Where does rye flour come from?", ["c"], category="exact"),
            _ask("4", "Who delivers the yeast?", [], category="unanswerable"),
        ],
    ),
    "choir": (
        [
            _unit("a", "2026-01-05", "Rehearsals are in the old gym", title="Notices"),
            _unit("b", "2026-02-05", "Selma sings alto", session="s", turn=0, speaker="Selma"),
        ],
        [_ask("1", "Where are rehearsals?", ["a"], category="exact")],
    ),
}


@pytest.fixture
def worlds(tmp_path: Path) -> Path:
    """A folder of two worlds whose ids repeat."""
    for name, parts in _WORLDS.items():
        (tmp_path / name).mkdir()
        for stem, rows in zip(("corpus", "queries"), parts, strict=True):
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (tmp_path / name / f"{stem}.jsonl").write_text(lines)
    return tmp_path


def test_each_world_is_a_conversation(worlds: Path) -> None:
    found = read_benchmark(worlds)
    assert {name: len(own) for name, own in found.units.items()} == {"bakery": 3, "choir": 2}
    assert [one.conversation for one in found.queries] == ["bakery"] * 3 + ["choir"]
    assert [one.id for one in found.unanswerable] == ["4"]
    first, second, *_ = found.queries
    assert (first.outdated, first.until) == (frozenset({"a"}), None)
    assert str(second.until) == "2026-02-02 00:00:00+00:00"


def test_one_world_alone_is_a_benchmark(worlds: Path) -> None:
    found = read_benchmark(worlds / "choir")
    assert (list(found.units), len(found.queries)) == ([None], 1)


def test_what_is_current_is_first_where_no_outdated_unit_stands_above_it() -> None:
    tally = Tally()
    for ranked in (["new", "old"], ["old", "new"], ["x", "new"], ["x"]):
        tally.add(dict.fromkeys(CUTS, ranked), {"new"}, {"old"})
    tally.add({cut: ["new"] for cut in CUTS}, {"new"})
    assert tally.newest_first == [True, False, True, False]


def test_peers_and_profiles_use_nothing_later_than_a_question_may(worlds: Path) -> None:
    found = read_benchmark(worlds)
    vectors = CachedEmbedder(HashingEmbedder())
    ranked = {
        query.id: rankings
        for query, rankings in peer_rankings(found, vectors, parameters_for("note"))
        if query.conversation == "bakery"
    }
    assert {len(own) for own in ranked["1"].values()} == {3}
    assert {tuple(own) for own in ranked["2"].values()} == {("a",)}
    report = evaluate(worlds, profiles=["baseline"], embedder=HashingEmbedder(), questions=True)
    row = report.benchmarks[0].row("baseline")
    assert row.questions[1].ranks == {"a": 1}  # type: ignore[index,union-attr]


def test_a_report_shows_versions_and_confidence_of_questions_without_answer(
    worlds: Path,
) -> None:
    report = evaluate(
        worlds, profiles=["default"], embedder=HashingEmbedder(), confidence=True
    ).benchmarks[0]
    assert report.queries == 4
    rows = {row.name: row for row in report.rows}
    assert {name: 0 <= row.newest_first <= 1 for name, row in rows.items()} == dict.fromkeys(
        ("cosine", "bm25", "hybrid", "default"), True
    )
    assert rows["default"].confidence["unanswerable"].questions == 5  # type: ignore[index]
    assert rows["cosine"].cut is UNSET
    cut = rows["default"].cut
    assert not isinstance(cut, UnsetType)
    assert 0 <= cut.recall <= 1
    assert 0 <= cut.results <= 3
    shown = tables.versions(report)
    assert shown.columns == (
        *("row", "hit@1", "newest first"),
        *("cut: precision", "cut: recall", "cut: results"),
        *("changed", "exact", "uncategorised"),
    )
    assert len(shown.rows) == 4
