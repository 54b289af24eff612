"""Learning of weights finds what answers, and finds it again (Q-06)."""

from __future__ import annotations

import numpy as np
import pytest

from learning import (
    Question,
    Terms,
    Values,
    calibrated,
    candidates,
    cross_fitted,
    held_out,
    learn,
    ranking,
    rounded,
    stages,
    without_set,
)

TERMS = Terms(
    first=("cosine", "lexical", "context.words", "form.question"),
    after=("entity_walk",),
    late=("late.mean",),
)
ON = np.ones(len(TERMS.all), bool)


def made(
    count: int = 40, memories: int = 150, *, set: str = "one", walk: bool = False, seed: int = 0
) -> list[Question]:
    """Questions whose answer is told by cosine and a little by the question mark; words mislead
    half of them. With `walk`, the answer is beside the best by L₁."""
    dice = np.random.default_rng(seed)
    found = []
    for number in range(count):
        first = dice.random((memories, len(TERMS.first))).astype(np.float32)
        answer = int(dice.integers(memories))
        first[answer, 0] += 0.5
        first[answer, 3] += 0.1

        def after(level: Values, answer: int = answer) -> Values:
            beside = np.zeros((len(level), 1))
            if walk and answer in np.argsort(-level)[:20]:
                beside[answer] = 1.0
            return beside

        found.append(
            Question(
                id=f"{set}{number}",
                set=set,
                fold=number % 5,
                origin="note",
                category="",
                units=[(f"u{row}",) for row in range(memories)],
                relevant=frozenset((f"u{answer}",)),
                first=first,
                after=after,
                late=None,
            )
        )
    return found


def test_the_term_that_answers_gets_the_weight_and_the_same_again() -> None:
    pytest.importorskip("scipy", reason="make learn needs the extra `learn`")
    asked = made()
    weights = learn(TERMS, asked, ON)
    assert weights[0] > 5 * abs(weights[1])
    assert weights[0] > weights[3] > 0
    assert weights[5] == 0, "there are no token vectors"
    assert (rounded(weights) == rounded(learn(TERMS, made(), ON))).all()
    off = learn(TERMS, asked, TERMS.chosen(["form", "context.words"]))
    assert off[2] == off[3] == 0 < off[0]


def test_what_begins_the_walk_keeps_its_direction() -> None:
    pytest.importorskip("scipy", reason="make learn needs the extra `learn`")
    asked = made(walk=True)
    alone = learn(TERMS, asked, TERMS.chosen(["entity_walk", "late"]))
    both = learn(TERMS, asked, ON)
    assert both[4] > 0
    assert both[:4] / both[0] == pytest.approx(alone[:4] / alone[0], rel=1e-9)
    assert both[0] > 0


def test_weights_judge_only_what_they_have_not_seen() -> None:
    one, two = made(10), made(10, set="two", seed=1)
    asked = one + two
    splits = held_out(asked)
    assert sorted(at for _, judged in splits for at in judged) == list(range(20))
    for training, judged in splits:
        assert set(training).isdisjoint(judged)
        assert len({(asked[at].set, asked[at].fold) for at in judged}) == 1
        other = {"one": "two", "two": "one"}[asked[judged[0]].set]
        assert sum(asked[at].set == other for at in training) == 10
    assert without_set(one) == []
    assert [len(judged) for _, judged in without_set(asked)] == [10, 10]


def test_cross_fitting_ranks_every_question() -> None:
    pytest.importorskip("scipy", reason="make learn needs the extra `learn`")
    asked = made(20)
    ranked = cross_fitted(TERMS, asked, ON, held_out(asked), 10)
    first = sum(next(iter(q.relevant)) == units[0] for q, units in zip(asked, ranked, strict=True))
    assert all(len(units) == 10 for units in ranked)
    assert first >= 5, "chance finds none"


def test_of_the_parts_of_a_unit_the_best_stands_for_it() -> None:
    [asked] = made(1, 4)
    first = np.zeros((4, len(TERMS.first)), np.float32)
    first[:, 0] = 0.1, 0.9, 0.5, 0.3
    units = [("a",), ("a",), ("b",), ("c",)]
    parts = Question(
        id="q", set="s", fold=0, origin="note", category="", units=units,
        relevant=frozenset(("a",)), first=first, after=asked.after, late=None,
    )  # fmt: skip
    rows, wanted = candidates(TERMS, parts)
    assert rows.tolist() == [1, 2, 3]
    assert wanted.tolist() == [1, 0, 0]
    assert ranking(parts, first[:, 0].astype(float), 2) == ["a", "b"]


def test_late_terms_count_inside_the_pool_only() -> None:
    [asked] = made(1, 200)
    late = np.full((200, 1), 4, np.float32)
    late[:100] = 2
    with_tokens = Question(
        id="q", set="s", fold=0, origin="note", category="", units=asked.units,
        relevant=asked.relevant, first=asked.first, after=asked.after, late=late,
    )  # fmt: skip
    weights = np.array([1.0, 0, 0, 0, 0, 0.5])
    made_terms, level = stages(TERMS, with_tokens, weights)
    pool = np.argsort(-asked.first[:, 0], kind="stable")[:128]
    outside = np.setdiff1d(np.arange(200), pool)
    assert (made_terms[outside, 5] == 0).all()
    assert set(made_terms[pool, 5].tolist()) == {0.5, 1.0}
    assert level == pytest.approx(asked.first[:, 0] + 0.5 * made_terms[:, 5])


def test_a_scale_that_is_a_probability() -> None:
    pytest.importorskip("scipy", reason="make learn needs the extra `learn`")
    dice = np.random.default_rng(0)
    level = dice.normal(size=20_000)
    wanted = (dice.random(20_000) < 1 / (1 + np.exp(-(2 * level - 3)))).astype(float)
    slope, bias = calibrated([level], [wanted])
    assert slope == pytest.approx(2, abs=0.1)
    assert bias == pytest.approx(-3, abs=0.1)
