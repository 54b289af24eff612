"""Weights of each origin, then one scale for all, on questions made by dice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from candidate_lists import (
    ALL,
    ALMOST_NOTHING,
    BY_HAND,
    MIXED,
    OFFERED,
    CandidateLists,
    common,
    in_place_of_learned,
    settings,
)
from learn import (
    Fitted,
    cross_fitted,
    factors_of,
    first_weights,
    fit_sums,
    gains,
    offered,
)
from learning import (
    FOLDS,
    PENALTIES,
    POOL,
    Block,
    Listed,
    OriginRows,
    Sums,
    columns,
    evidence_columns,
    gains_of,
    means,
    newton,
    shares_of,
)
from vestig.config.signals import EVIDENCE, ORIGINS, SIGNALS
from vestig.config.weights import (
    LEARNED,
    OriginWeights,
    WeightsFile,
    candidate_weights_of,
    evidence_of,
    learned,
    weights_of,
)
from vestig.evaluation.benchmarks import SHIPPED, read_benchmark
from vestig.evaluation.cached_embedder import cached_embedder
from vestig.session.opening import load_config
from vestig.testing import TokenHashingEmbedder

COSINE, LEXICAL, DATE = (OFFERED.index(name) for name in ("cosine", "lexical", "date"))
ON = np.ones(len(OFFERED))


def question(dice: np.random.Generator, number: int, name: str, origins: list[int]) -> Listed:
    """Ten candidates of each of these origins, of which the first answers: the one with the most of
    `cosine` in chats of people and notes, of `lexical` elsewhere. The date tells nothing, and
    values of the other origins are greater without being better."""
    rows = np.repeat(origins, 10)
    terms = np.zeros((len(rows), len(OFFERED)), np.float32)
    tells = COSINE if origins[0] in (0, 3) else LEXICAL
    for at in (COSINE, LEXICAL, DATE):
        terms[:, at] = dice.random(len(rows)) * np.where(rows == origins[0], 0.7, 1.0)
    best = int(np.argmax(np.where(rows == origins[0], terms[:, tells], -1)))
    most = np.zeros((len(ORIGINS), 2))
    for origin in origins:
        most[origin] = terms[rows == origin][:, (COSINE, LEXICAL)].max(0)
    units = [(f"{name}/{number}/{row}",) for row in range(len(rows))]
    return Listed(
        set=name,
        fold=number % FOLDS,
        terms=terms,
        origins=rows,
        most=most,
        weight=1.0,
        units=units,
        relevant=frozenset(units[best]),
    )


def world(count: int = 40) -> tuple[list[Listed], list[Listed]]:
    """Lists of single origins, and lists of two each."""
    dice = np.random.default_rng(3)
    alone = [
        question(dice, n, f"set {origin}", [origin]) for origin in range(4) for n in range(count)
    ]
    competing = [
        question(dice, n, f"both {origin}", [origin, (origin + 1) % 4])
        for origin in range(4)
        for n in range(count)
    ]
    return alone, competing


def test_each_origin_learns_what_tells_there_and_the_scale_puts_them_together() -> None:
    alone, competing = world()
    fitted = Fitted(alone, competing, {}, ON)
    by_origin = fitted.by_origin()
    chat = by_origin["chat_peer"]
    assert chat["cosine"] > 5 * abs(chat.get("lexical", 0.0))
    document = by_origin["document"]
    assert document["lexical"] > 5 * abs(document.get("cosine", 0.0))
    assert set(by_origin["note"]) <= {"bias", "cosine", "lexical", "date", *EVIDENCE}
    assert all(own["evidence.scale"] > 0 for own in by_origin.values())
    assert means(columns(alone, fitted.cross_fitted))["set 1"]["recall@5"] == 100.0
    plain = means(columns(competing, fitted.sums.levels))
    scaled = means(columns(competing, fitted.cross_fitted))
    assert all(scaled[name]["mrr"] > plain[name]["mrr"] for name in plain)
    best = [fitted.scale.score(one, fitted.sums).max() for one in (*alone, *competing)]
    assert np.percentile(best, 98) <= -3


def test_the_same_questions_give_the_same_file(tmp_path: Path) -> None:
    texts = [
        WeightsFile(origins=OriginWeights(**Fitted(*world(15), {}, ON).by_origin())).text()
        for _ in range(2)
    ]
    assert texts[0] == texts[1]
    (tmp_path / "weights.json").write_text(texts[0])
    again = WeightsFile.read(tmp_path / "weights.json")
    assert again.text() == texts[0]
    assert again.origins.note["cosine"] == float(f"{again.origins.note['cosine']:.3g}")


def test_the_fit_is_the_least_loss() -> None:
    """The loss as it is written down rises on both sides of every weight."""
    alone, _ = world(15)
    asked = [one for one in alone if one.set == "set 3"]
    rows = OriginRows.of(3, asked, {})
    weights = rows.block.fit(PENALTIES["note"])
    spread = rows.block.x.std(0)

    def loss(plain: np.ndarray) -> float:
        total = PENALTIES["note"] * float(((plain * spread) ** 2).sum())
        for one in asked:
            level = one.terms.astype(float) @ plain
            log = level - level.max() - np.log(np.exp(level - level.max()).sum())
            total -= log[one.relevant_rows].mean() / len(asked)
        return total

    for at in np.flatnonzero(spread > 0):
        step = np.zeros(len(weights))
        step[at] = 1e-3 / spread[at]
        assert loss(weights + step) > loss(weights)
        assert loss(weights - step) > loss(weights)


def test_what_is_left_out_gains_little_and_a_rare_term_that_tells_stays() -> None:
    """A column that one row in 120 has, of half of the answers, beside one that tells the
    other half and one that tells nothing."""
    dice = np.random.default_rng(5)
    parts = []
    for number in range(600):
        x = np.column_stack([dice.random(60), np.zeros(60), dice.random(60)])
        relevant = np.zeros(60, bool)
        if number % 2:
            relevant[int(np.argmax(x[:, 0]))] = True
        else:
            relevant[7] = True
            x[7, 1] = 1.0
        parts.append((x, relevant))
    block = Block(parts, [1.0] * len(parts))
    weights = block.fit_few(0.03, None, np.ones(3, bool), 0.003)
    assert (weights != 0).tolist() == [True, True, False]
    # greater than that of the other, and standardised smaller than that
    assert abs(weights[1]) > abs(weights[0])
    assert abs(weights[1] * block.spread[1]) < 0.5 * abs(weights[0] * block.spread[0])
    np.testing.assert_allclose(weights, block.fit(0.03, on=weights != 0), rtol=1e-3)


def test_weights_rank_the_rows_that_candidate_weights_choose() -> None:
    """The rows of a sum that chooses, and every relevant one: of 400 rows the best 128 by a column
    that does not tell."""
    dice = np.random.default_rng(8)
    lists = []
    for number in range(30):
        terms = dice.random((400, len(OFFERED))).astype(np.float32)
        relevant = int(np.argmax(terms[:, LEXICAL]))
        units = [(f"{number}/{row}",) for row in range(400)]
        lists.append(
            Listed(
                set="a",
                fold=number % FOLDS,
                terms=terms,
                origins=np.full(400, 2),
                most=np.zeros((len(ORIGINS), 2)),
                weight=1.0,
                units=units,
                relevant=frozenset(units[relevant]),
            )
        )
    rows = OriginRows.of(2, lists, {})
    by_cosine = np.zeros(len(OFFERED))
    by_cosine[COSINE] = 1.0
    chosen = rows.chosen(by_cosine)
    sizes = np.diff([*chosen.block.starts, len(chosen.block.x)])
    for one, start, size in zip(lists, chosen.block.starts, sizes, strict=True):
        cosines = np.sort(one.terms[:, COSINE])[::-1]
        own = chosen.block.x[start : start + size]
        least = np.float32(cosines[POOL - 1])
        outside = own[:, COSINE] < least
        assert size - outside.sum() == POOL
        assert (chosen.block.target[start : start + size][outside] > 0).all()
    weights, candidates = fit_sums(rows, np.ones(len(OFFERED), bool), None)
    assert (weights != candidates).any()
    np.testing.assert_array_equal(weights, rows.chosen(candidates).fit(None, offered(2, ON > 0)))


def test_the_best_are_level_in_both_sums() -> None:
    alone, _ = world(20)
    terms = np.array(OFFERED)
    candidates = np.zeros((len(ORIGINS), len(OFFERED)))
    candidates[:, terms == "cosine"] = 2.0
    weights = 2 * candidates
    weights[3] = candidates[3]
    sums = Sums.of(weights, candidates, alone)
    for origin in range(3):
        own = [one.terms[one.origins == origin] for one in alone if (one.origins == origin).any()]
        leads = [(rows @ weights[origin]).max() - (rows @ candidates[origin]).max() for rows in own]
        assert sums.constants[origin] == pytest.approx(np.median(leads), abs=0.05) != 0.0
    assert sums.constants[3] == 0.0


def test_what_a_term_gains_is_what_the_loss_grows_by_without_it() -> None:
    alone, _ = world(40)
    block = OriginRows.of(1, alone, {}).block
    used, _, of, ridge = block._losses(0.06, None, None, None)
    found = newton(of, ridge)

    def least(at: np.ndarray) -> float:
        return sum(share * one.loss(at) for share, one in of) + float(ridge @ (at * at))

    gain = gains_of(of, ridge, found)
    for at, column in enumerate(used):
        on = np.ones(len(OFFERED), bool)
        on[column] = False
        kept, _, others, penalty = block._losses(0.06, None, on, None)
        fitted = newton(others, penalty)
        assert len(kept) == len(used) - 1
        without = sum(share * one.loss(fitted) for share, one in others)
        without += float(penalty @ (fitted * fitted))
        assert gain[at] == pytest.approx(without - least(found), rel=0.6, abs=0.01)


def test_a_fold_is_not_seen() -> None:
    alone, competing = world()
    rows = OriginRows.of(0, alone, {})
    others = [one for one in alone if one.fold != 2]
    block = OriginRows.of(0, others, {}).block
    only = np.array([one.fold != 2 for one in rows.lists])
    np.testing.assert_allclose(rows.block.fit(0.02, only), block.fit(0.02), rtol=0.05)
    fitted = Fitted(alone, competing, {}, ON)
    assert not np.array_equal(fitted.folds[2].weights, fitted.sums.weights)
    assert not np.array_equal(fitted.fold_scales[2].evidence, fitted.scale.evidence)


def test_sets_share_by_factors_and_questions_by_weights() -> None:
    alone, _ = world(10)
    few = [one for one in alone if one.set == "set 0"][:4]
    both = [*few, *(one for one in alone if one.set == "set 1")]
    shares = np.array(shares_of(both, {"set 0": 3.0}))
    np.testing.assert_allclose([shares[:4].sum(), shares[4:].sum()], [3.0, 1.0])


def test_evidence_is_of_the_own_origin() -> None:
    one = question(np.random.default_rng(0), 0, "a", [3, 0])
    level = np.arange(20.0)
    found = evidence_columns(one, level).reshape(20, 4, 6)
    assert not found[:, 1:3].any()
    np.testing.assert_allclose(found[3, 3], (3.0, 1.0, *one.most[3], 9.0, 7.0))
    np.testing.assert_allclose(found[12, 0], (12.0, 1.0, *one.most[0], 19.0, 17.0))
    assert not found[3, 0].any()


def test_what_a_signal_brings_is_told_by_origin_and_set_with_interval() -> None:
    alone, competing = world(30)
    told = list(gains(alone, Fitted(alone, competing, {}, ON), {}, ON))
    found = {(one["origin"], one["signal"]): one["gain"] for one in told}
    assert len(found) == len(told)
    delta, low, high, p = found["chat_peer", "cosine"]["set 0"]["mrr"]
    assert 0 < low <= delta <= high
    assert p < 0.01
    assert ("chat_peer", "role") not in found, "what weighs nothing is not told"
    assert found["document", "lexical"].keys() == {"set 2"}


def test_terms_are_asked_of_the_core_for_every_origin() -> None:
    assert {"questions", "rerank", "recency"}.isdisjoint(OFFERED)
    by_hand = settings(None)
    assert by_hand["ranking.weights.document.cosine"] == BY_HAND["cosine"]
    assert by_hand["ranking.weights.note.topic_lexical"] == ALMOST_NOTHING
    assert by_hand["ranking.weights.note.recency"] == 0
    assert by_hand["signals.late.pool"] == ALL
    given = settings(learned())
    assert given["ranking.weights.chat_peer.bias"] == learned()["chat_peer"]["bias"]
    assert {f"ranking.weights.note.{name}" for name in (*SIGNALS, *EVIDENCE)} <= given.keys()


def test_figures_are_of_all_questions_of_a_set() -> None:
    alone, competing = world(15)
    found = cross_fitted([*alone, *competing], Fitted(alone, competing, {}, ON))
    assert {name: row["questions"] for name, row in found.items()} == {
        **{f"set {origin}": 15 for origin in range(4)},
        **{f"both {origin}": 15 for origin in range(4)},
    }
    assert all(0 <= row["mrr"] <= 100 for row in found.values())
    shipped = WeightsFile.read(LEARNED)
    assert shipped.data.keys() <= shipped.figures.keys()
    assert all(row["questions"] > 0 for row in shipped.figures.values())


def test_a_file_of_ones_own_leaves_nothing_of_the_learned_weights(tmp_path: Path) -> None:
    own = {origin: {"cosine": 1.0} for origin in ORIGINS}
    own["note"]["evidence.scale"] = 2.0
    own["chat_peer"] |= {"candidate.cosine": 3.0, "late.own_idf": 4.0}
    own["document"] = {"title": 2.0, "candidate.bias": 1.0, "candidate.cosine": 3.0}
    file = tmp_path / "weights.json"
    whole = in_place_of_learned(own)
    file.write_text(WeightsFile(origins=OriginWeights(**whole)).text(), encoding="utf-8")
    found = load_config(None, None).with_overrides({"ranking.weights": str(file)}).settings
    assert weights_of(found, "document") == {"bias": 0.0, "title": 2.0}
    assert candidate_weights_of(found, "document") == {"bias": 1.0, "cosine": 3.0}
    for origin in ("chat_peer", "chat_agent", "note"):
        late = {"late.own_idf": 4.0} if origin == "chat_peer" else {}
        assert weights_of(found, origin) == {"bias": 0.0, "cosine": 1.0, **late}
        scale = 2.0 if origin == "note" else 1.0
        assert evidence_of(found, origin) == (scale, 0.0, 0.0, 0.0, 0.0, 0.0)
        chooses = 3.0 if origin == "chat_peer" else 1.0
        assert candidate_weights_of(found, origin) == {"bias": 0.0, "cosine": chooses}


def test_the_file_of_the_package_is_as_the_command_writes_it() -> None:
    assert WeightsFile.read(LEARNED).text() == LEARNED.read_text(encoding="utf-8")


def test_lists_of_a_store_hold_every_row_of_the_conversation() -> None:
    benchmark = read_benchmark(SHIPPED)
    listing = CandidateLists([benchmark], cached_embedder(TokenHashingEmbedder(64)), ["note"])
    lists = listing.alone(None, 90)
    assert len(lists) == 3
    for one in lists:
        rows = len(benchmark.units[next(iter(one.relevant)).partition("\t")[0]])
        assert len(one.units) == rows
        assert one.terms.shape == (rows, len(OFFERED))
        assert one.relevant_rows.any()
        assert set(one.origins.tolist()) == {0, 1, 3}
    assert {one.set for one in listing.mixed(learned(), 90)} == {f"{MIXED}shipped"}
    with pytest.raises(SystemExit, match="memories of origin"):
        first_weights(lists, {})


def test_sets_of_the_same_conversations_do_not_compete() -> None:
    one = read_benchmark(SHIPPED)
    assert [(len(asked), len(held)) for asked, held in common([one, one])] == [(1, 1), (1, 1)]


def test_factors_name_sets_that_are_asked() -> None:
    assert factors_of(["a=2", "mixed/a=.25"], {"a"}) == {"a": 2.0, "mixed/a": 0.25}
    for wrong in ("b=1", "a", "a=-1", "a=many"):
        with pytest.raises(SystemExit, match="NAME=TIMES"):
            factors_of([wrong], {"a"})
