"""The features of confidence, from scans written by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from vestig.config.signals import ORIGINS, SIGNALS
from vestig.recall.confidence import (
    BASIC_FEATURES,
    BIAS,
    ROWS_READ,
    SIGNAL_FEATURES,
    Features,
    Fit,
    Table,
    confidence,
    features,
    fit,
    level,
    probability,
)


def row(similarity: float, level: float, matched: list[int], **signals: float) -> Any:
    return SimpleNamespace(
        similarity=similarity,
        embedded=True,
        direct=True,
        base=1 / (1 + math.exp(-level)),
        matched_terms=matched,
        origin=ORIGINS.index("chat_peer"),
        signal=lambda name: (signals.get(name), None),
    )


def scan(rows: list[Any], **maxima: float) -> Any:
    most = {"lexical": 3.0, **maxima}
    return SimpleNamespace(
        rows=rows, idfs=[1.0, 3.0, 4.0], maxima=[most.get(name) for name in SIGNALS]
    )


def test_features_of_the_best_rows() -> None:
    found = features(scan([row(0.2, -3.0, [0]), row(0.6, -4.0, [0, 2]), row(0.1, -7.5, [1])]))
    assert found is not None
    assert found.origin == "chat_peer"
    assert found.values == pytest.approx(
        {
            "meaning": 0.6,
            "words": 3 / 8,
            "cover": 5 / 8,
            "level": -3.0,
            "lead": 1.0,
            "margin": 4.5,
        }
    )


def test_rows_behind_the_best_change_nothing() -> None:
    best = [row(0.2, -3.0 - n, [0]) for n in range(ROWS_READ)]
    assert features(scan(best)) == features(scan([*best, row(0.9, -20.0, [0, 1, 2])]))


def test_signals_count_where_they_are_computed() -> None:
    first = row(0.2, -3.0, [0], date=0.4, **{"neighbours.lexical.-1": 0.0})
    found = features(scan([first], **{"context.wide": 6.0, "late.w1_idf": 0.7}))
    assert found is not None
    assert found.values["most.context.wide"] == 6 / 8, "a part of the query's idf"
    assert found.values["most.late.w1_idf"] == 0.7
    assert found.values["first.date"] == 0.4
    assert found.values["first.neighbours.lexical.-1"] == 0.0
    assert "most.context.vector" not in found.values
    assert "first.neighbours.lexical.+1" not in found.values


def test_memories_that_the_walk_reached_do_not_count() -> None:
    walked = row(0.9, -20.0, [1, 2])
    walked.direct = False
    best = [row(0.2, -3.0, [0]), row(0.1, -4.0, [])]
    assert features(scan([best[0], walked, best[1]])) == features(scan(best))


def test_one_row_has_no_lead() -> None:
    found = features(scan([row(0.2, -3.0, [])]))
    assert found is not None
    assert (found.values["lead"], found.values["margin"], found.values["cover"]) == (0, 0, 0)


def test_a_query_without_words_has_no_cover() -> None:
    made = scan([row(0.2, -3.0, [])])
    made.idfs = []
    found = features(made)
    assert found is not None
    assert (found.values["words"], found.values["cover"]) == (0.0, 0.0)


def test_nothing_eligible_answers_nothing() -> None:
    assert confidence(scan([])) == 0.0


def test_without_words_or_meaning_there_is_no_confidence() -> None:
    made = scan([row(0.2, -3.0, [0])])
    made.maxima[SIGNALS.index("lexical")] = None
    assert confidence(made) is None
    unembedded = row(0.0, -3.0, [0])
    unembedded.embedded = False
    assert confidence(scan([unembedded])) is None


def test_the_first_table_whose_features_are_there_counts() -> None:
    rich = Table(belongs={BIAS: 0.0, "most.late.w1_idf": 1.0}, answered={BIAS: 0.0})
    poor = Table(belongs={BIAS: math.log(3)}, answered={BIAS: 0.0, "meaning": 0.0})
    made = Fit(tables={"note": [rich, poor]})
    with_pieces = Features(origin="note", values={"meaning": 0.5, "most.late.w1_idf": 0.0})
    assert probability(with_pieces, made) == pytest.approx(0.25)
    assert probability(Features(origin="note", values={"meaning": 0.5}), made) == pytest.approx(
        0.375
    )


@pytest.mark.parametrize("base", [0.0, 1.0, 5e-324, 1 - 2**-53])
def test_levels_are_finite(base: float) -> None:
    assert math.isfinite(level(base))


def test_confidence_stays_a_probability() -> None:
    wild = Table(belongs={BIAS: 1e9}, answered={BIAS: -1e9, "meaning": 1e12})
    for meaning in (-1.0, 0.0, 1.0):
        value = probability(
            Features(origin="note", values={"meaning": meaning}), Fit(tables={"note": [wild]})
        )
        assert 0 <= value <= 1


def test_the_shipped_fit_has_a_table_for_every_store() -> None:
    assert set(fit().tables) == set(ORIGINS)
    for tables in fit().tables.values():
        for table in tables:
            assert table.belongs.keys() == table.answered.keys()
            assert table.belongs.keys() <= {BIAS, *BASIC_FEATURES, *SIGNAL_FEATURES}
        assert tables[-1].belongs.keys() <= {BIAS, *BASIC_FEATURES}, "numbers that every store has"
    assert fit().data, "what it was fitted on"
