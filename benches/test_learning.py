"""Weights, confidence and score, on lists made by dice and on a tiny folder of worlds."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from benchmarks.reader import read_benchmark
from benchmarks.run import cached_embedder
from candidate_lists import ADVERSARIAL_WEIGHT, OFFERED, lists, questions, with_neighbours
from learn import factors_of, learn, without
from learn_confidence import SCORE, score_columns
from learning import (
    BEST_ROWS,
    DRAWN_ROWS,
    FOLDS,
    POOL,
    Listed,
    Softmax,
    Weights,
    _drawn,
    fit,
    means,
    newton,
    shares_of,
)
from vestig.config.weights import WeightsFile
from vestig.recall.confidence import FEATURES, FitFile
from vestig.testing import TokenHashingEmbedder

TERMS = len(OFFERED)
LATE = np.isin(OFFERED, ("late", "late_window"))


def listed(rng: np.random.Generator, rows: int = 30, **changes: Any) -> Listed:
    """A question whose answer has the largest of the first term."""
    terms = rng.normal(size=(rows, TERMS)).astype(np.float32)
    best = int(np.argmax(terms[:, 0]))
    given = {
        "set": "dice",
        "fold": int(rng.integers(FOLDS)),
        "terms": terms,
        "peer": np.zeros(rows, bool),
        "weight": 1.0,
        "units": [(f"u{row}",) for row in range(rows)],
        "relevant": frozenset({f"u{best}"}),
    }
    return Listed(**{**given, **changes})


def test_the_fit_finds_the_term_that_ranks() -> None:
    rng = np.random.default_rng(1)
    found = [listed(rng) for _ in range(40)]
    weights = fit(found, [1.0] * 40, LATE, {})
    assert np.argmax(np.abs(weights.all)) == 0
    measured = means(found, lambda one: weights.levels(one, LATE))["dice"]
    assert measured["questions"] == 40.0
    assert measured["hit@1"] > 95
    again = fit(found, [1.0] * 40, LATE, {})
    assert np.array_equal(weights.all, again.all)


def test_people_s_chats_get_weights_of_their_own() -> None:
    rng = np.random.default_rng(2)
    found = []
    for number in range(80):
        one = listed(rng, fold=number % FOLDS)
        if number % 2:
            worst = int(np.argmin(one.terms[:, 0]))
            one = listed(
                rng,
                fold=number % FOLDS,
                terms=one.terms,
                peer=np.ones(30, bool),
                relevant=frozenset({f"u{worst}"}),
            )
        found.append(one)
    weights = fit(found, [1.0] * 80, LATE, {})
    assert weights.all[0] > 0 > weights.peer[0]


def test_the_newton_steps_end_where_the_slope_is_the_penalty() -> None:
    rng = np.random.default_rng(3)
    parts = [
        (rng.normal(size=(9, 4)), np.arange(9) == 2, np.zeros(9)),
        (rng.normal(size=(5, 4)), np.arange(5) < 2, np.log(np.arange(1.0, 6.0))),
    ]
    loss, ridge = Softmax(parts, np.array([0.25, 0.75])), np.full(4, 0.01)
    w = newton(loss, ridge)
    assert np.abs(loss.derivatives(w)[0] + 2 * ridge * w).max() < 1e-4


def test_rows_that_are_drawn_stand_for_all_others() -> None:
    relevant = np.zeros(1000, bool)
    relevant[999] = True
    rows, offset = _drawn(relevant, np.random.default_rng(0))
    assert set(range(BEST_ROWS)) | {999} <= set(rows.tolist())
    assert len(rows) == BEST_ROWS + 1 + DRAWN_ROWS
    assert np.exp(offset).sum() == pytest.approx(1000)
    few, offset = _drawn(relevant[900:], np.random.default_rng(0))
    assert (len(few), offset.any()) == (100, False)


def test_no_memory_outside_of_the_pool_passes_one_of_it() -> None:
    rng = np.random.default_rng(4)
    one = listed(rng, rows=400)
    weights = Weights(rng.normal(size=TERMS), rng.normal(size=TERMS), 0.0)
    level = weights.levels(one, LATE)
    early = one.terms[:, ~LATE] @ weights.all[~LATE]
    order = np.argsort(-early, kind="stable")
    assert level[order[:POOL]].min() >= level[order[POOL:]].max()
    assert (np.diff(level[order[POOL:]]) <= 0).all()


def test_sets_count_their_factors() -> None:
    rng = np.random.default_rng(5)
    found = [listed(rng, set="a"), listed(rng, set="a", weight=0.25), listed(rng, set="b")]
    assert shares_of(found, {"a": 1.0, "b": 0.25}) == [0.8, 0.2, 0.25]


def test_a_term_that_is_left_out_says_nothing() -> None:
    one = listed(np.random.default_rng(6))
    (rest,) = without([one], ["words"])
    assert not rest.terms[:, OFFERED.index("words")].any()
    assert (rest.terms != 0).sum() == (one.terms != 0).sum() - 30


def test_scores_are_made_of_the_level_and_how_far_the_first_is() -> None:
    found = score_columns([5.0, 4.0, 1.0])
    assert found.shape == (3, len(SCORE))
    assert found.tolist() == [[5.0, 0.0, 1.0], [4.0, 1.0, 1.0], [1.0, 2.0, 1.0]]
    assert score_columns([3.0]).tolist() == [[3.0, 0.0, 4.0]]


def test_what_neighbours_add_weighs_half_of_what_a_memory_has() -> None:
    assert with_neighbours({"late": 12.0, "words": 3.0}) == {
        "late": 12.0,
        "words": 3.0,
        "late_window": 6.0,
    }
    assert with_neighbours({"words": 3.0}) == {"words": 3.0}


@pytest.fixture
def worlds(tmp_path: Path) -> Path:
    """Six stores of a few notes each, with questions that have and have no answer."""
    things = ("boiler", "ferry", "violin", "tandem", "kettle", "hedge")
    for number in range(len(things)):
        folder = tmp_path / "worlds" / f"w{number}"
        folder.mkdir(parents=True)
        units = [
            {
                "id": f"u{n}",
                "text": f"The {other} of house {number} is number {n}",
                "timestamp": f"2026-0{n + 1}-01T08:00:00Z",
            }
            for n, other in enumerate(things)
        ]
        queries = [
            {
                "id": f"q{n}",
                "text": f"What number is the {other}?",
                "relevant": [f"u{n}"] if n != number else [],
                "category": "adversarial" if n == 5 else "plain",
            }
            for n, other in enumerate(things)
        ]
        for stem, rows in (("corpus", units), ("queries", queries)):
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{stem}.jsonl").write_text(text)
    return tmp_path / "worlds"


def test_lists_hold_all_memories_of_a_world(worlds: Path) -> None:
    benchmark = read_benchmark(worlds)
    found = lists(benchmark, cached_embedder(TokenHashingEmbedder()))
    assert len(found) == len(list(questions(benchmark))) == 30
    assert {len(one.units) for one in found} == {6}
    assert all(one.relevant_rows.sum() == 1 for one in found)
    assert {one.weight for one in found} == {1.0, ADVERSARIAL_WEIGHT}
    assert {one.fold for one in found} == set(range(FOLDS))
    assert all(one.terms[:, OFFERED.index("words")].any() for one in found)


def test_one_command_writes_weights_and_confidence(worlds: Path, tmp_path: Path) -> None:
    given = argparse.Namespace(
        folders=[worlds], shipped=False, cache=None, factor=[], leave_out=[], off=[], gains=False
    )
    texts = []
    for name in ("a", "b"):
        given.out = tmp_path / name
        given.out.mkdir()
        report = learn(given, lambda: cached_embedder(TokenHashingEmbedder()))
        texts.append(
            [(given.out / f"{stem}.json").read_text() for stem in ("weights", "confidence")]
        )
    assert texts[0] == texts[1], "the same folders give the same files"
    weights = WeightsFile.read(tmp_path / "a" / "weights.json")
    assert weights.data.keys() == {"worlds"}
    assert weights.figures["worlds"]["questions"] == 30.0
    made = json.loads(texts[0][1])
    for pieces in ("with_pieces", "without_pieces"):
        assert made[pieces]["confidence"].keys() == {*FEATURES, "bias"}
        assert made[pieces]["score"].keys() == {*SCORE, "bias"}
    msgspec.json.decode(texts[0][1], type=FitFile)
    figures = report["confidence"]["with_pieces"]["worlds"]
    assert figures["auroc"].keys() == {"unanswerable", "foreign", "mixture"}
    assert figures["questions"] == 30
    assert 0 <= figures["score_error"] <= 1


def test_factors_name_sets(worlds: Path) -> None:
    benchmark = read_benchmark(worlds)
    assert factors_of([], [benchmark]) == {"worlds": 1.0}
    assert factors_of(["worlds=.5"], [benchmark]) == {"worlds": 0.5}
    with pytest.raises(SystemExit, match="expected NAME=TIMES with one of worlds"):
        factors_of(["others=1"], [benchmark])
