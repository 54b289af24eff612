"""One fit for all origins, on questions made by dice."""

from __future__ import annotations

import numpy as np
import pytest

from candidate_lists import ALMOST_NOTHING, BY_HAND, LATE_POOL, settings
from learn import counted, form_of, gains, signals, weights_file
from learning import (
    FOLDS,
    GROUPS,
    PLACE,
    Batch,
    Form,
    Listed,
    columns,
    cross_fitted,
    grouped,
    means,
)
from vestig.config.signals import SIGNALS
from vestig.config.weights import LEARNED, learned

pytest.importorskip("scipy", reason="make learn needs the extra `learn`")

FORM = Form.of({"chat_peer": ["date", "cosine"], "chat_agent": ["cosine", "role"], "note": []})
PEER, AGENT = 0, 1


def questions(count: int = 60, set: str = "dice") -> list[Listed]:
    """Ten candidates of each of two origins; the one with the most cosine is relevant, and those
    of the second origin have more of it without being better. The date tells nothing."""
    dice = np.random.default_rng(3)
    found = []
    for number in range(count):
        value = dice.random(20)
        terms = np.zeros((20, len(SIGNALS)))
        groups = np.arange(20) % 2
        terms[:, PLACE["cosine"]] = value * 0.5 + 0.5 * groups
        terms[:, PLACE["date"]] = dice.random(20)
        units = [(f"{number}/{row}",) for row in range(20)]
        relevant = frozenset(units[int(value.argmax())])
        design = FORM.design(terms, groups)
        found.append(Listed(set, number % FOLDS, design, units, relevant))
    return found


def test_one_fit_brings_origins_to_one_scale() -> None:
    asked = questions()
    batch = Batch(FORM, asked)
    assert means(columns(asked, cross_fitted(batch)))["dice"]["recall@5"] == 100.0
    made = FORM.weights(batch.fit())
    assert made["chat_peer"]["bias"] > made["chat_agent"]["bias"]
    assert made["chat_peer"]["cosine"] > 10 * abs(made["chat_peer"]["date"])
    assert made["chat_agent"]["role"] == 0, "what never varies weighs nothing"
    assert set(made["note"]) == {"bias"}


def test_the_same_questions_give_the_same_weights_however_the_fit_begins() -> None:
    batch = Batch(FORM, questions(), {"dice": 2.0})
    first = batch.fit()
    assert FORM.weights(first) == FORM.weights(batch.fit(start=first * 3))
    assert FORM.weights(first) == FORM.weights(Batch(FORM, questions(), {"dice": 2.0}).fit())


def test_the_fit_is_the_least_loss() -> None:
    """The slope of the loss as it is written down, by differences, is 0 there."""
    asked = questions(15)
    batch = Batch(FORM, asked)
    weights = batch.fit()

    def loss(plain: np.ndarray) -> float:
        total = float(batch.penalty @ (plain * batch.spread) ** 2)
        for one in asked:
            level = one.design @ plain
            log = level - level.max() - np.log(np.exp(level - level.max()).sum())
            total -= log[one.relevant_rows == 1].mean() / len(asked)
        return total

    for at in np.flatnonzero(batch.spread > 0):
        step = np.zeros(FORM.width)
        step[at] = 1e-3 / batch.spread[at]
        assert loss(weights + step) > loss(weights)
        assert loss(weights - step) > loss(weights)


def test_a_fold_is_not_seen_and_sets_share_by_their_counts() -> None:
    asked = questions()
    batch = Batch(FORM, asked)
    others = Batch(FORM, [one for one in asked if one.fold != 2])
    others.spread = batch.spread
    np.testing.assert_allclose(batch.fit(without_fold=2), others.fit(), rtol=1e-4, atol=1e-4)
    both = Batch(FORM, asked + questions(5, "few"), {"few": 3.0})
    share = [both.count[[one.set == name for one in both.lists]].sum() for name in ("dice", "few")]
    np.testing.assert_allclose(share, [1.0, 3.0])


def test_what_a_signal_brings_is_told_by_set_with_interval() -> None:
    asked = questions()
    folds = cross_fitted(Batch(FORM, asked))
    found = {gain["signal"]: gain["gain"] for gain in gains(FORM, asked, {}, folds)}
    assert list(found) == [
        "chat_peer.cosine",
        "chat_peer.date",
        "chat_agent.cosine",
        "chat_agent.role",
    ]
    delta, low, high, p = found["chat_peer.cosine"]["dice"]["mrr"]
    assert 0 < low <= delta <= high
    assert p < 0.01
    assert found["chat_agent.role"] == {}


def test_terms_are_asked_of_the_core_by_origin() -> None:
    offered = ["chat_agent.when", "note.topic_lexical", "note.bigram"]
    form = form_of(offered, ["chat_peer.when", "chat_peer.date"])
    terms = {(GROUPS[group], term) for group, term in form.columns}
    assert ("chat_agent", "when") in terms
    assert not {("chat_peer", "when"), ("chat_peer", "date")} & terms
    by_hand = settings(form, None)
    assert by_hand["ranking.weights.document.cosine"] == BY_HAND["cosine"]
    assert by_hand["ranking.weights.chat_agent.when"] == ALMOST_NOTHING
    for name in ("topic_lexical", "bigram"):
        assert by_hand[f"ranking.weights.note.{name}"] == ALMOST_NOTHING
        assert by_hand[f"signals.{name}.enabled"] is True
    assert by_hand["signals.late.pool"] == LATE_POOL
    given = settings(form, {group: learned()[group] for group in GROUPS})
    assert given["ranking.weights.chat_peer.bias"] == learned()["chat_peer"]["bias"]
    assert given["ranking.weights.note.title"] == learned()["note"]["title"]
    file = weights_file({group: learned()[group] for group in GROUPS})
    assert file.text() == LEARNED.read_text(encoding="utf-8")
    late = dict(signals(form))["chat_peer.late"]
    assert late == ["chat_peer.late.w1_idf", "chat_peer.late.w2_idf"]
    assert grouped(["document", "note", "chat_peer"]).tolist() == [2, 2, 0]


def test_the_best_candidates_of_a_list_hold_the_relevant_one() -> None:
    one = questions(1)[0]
    weights = np.zeros(FORM.width)
    weights[FORM.columns.index((PEER, "date"))] = 1.0
    best = one.best(-weights, 3)
    assert best.relevant_rows.sum() == 1
    assert 3 <= len(best.units) <= 4
    assert len(best.design) == len(best.units)


def test_counts_name_sets_that_are_asked() -> None:
    assert counted(["a=2", "mixed/a=.25"], {"a"}, mixed=True) == {"a": 2.0, "mixed/a": 0.25}
    for wrong in ("b=1", "a", "a=-1", "a=many", "mixed/a=1"):
        with pytest.raises(SystemExit, match="NAME=TIMES"):
            counted([wrong], {"a"}, mixed=False)
    with pytest.raises(SystemExit, match="all of them are 0"):
        counted(["a=0"], {"a"}, mixed=False)
