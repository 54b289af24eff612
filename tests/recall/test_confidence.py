"""The numbers that confidence is made of, from scans written by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from vestig.config.signals import ORIGINS, SIGNALS
from vestig.recall.confidence import (
    BIAS,
    EVERYWHERE,
    LOOKED_AT,
    SIGNALLED,
    Fit,
    Seen,
    Table,
    confidence,
    fit,
    level,
    seen,
    told,
)


def row(similarity: float, level: float, matched: list[int], **signals: float) -> Any:
    return SimpleNamespace(
        similarity=similarity,
        embedded=True,
        direct=True,
        base=1 / (1 + math.exp(-level)),
        matched_terms=matched,
        origin=ORIGINS.index("chat_peer"),
        signals=[(signals.get(name), None) for name in SIGNALS],
    )


def scan(rows: list[Any], **maxima: float) -> Any:
    most = {"lexical": 3.0, **maxima}
    return SimpleNamespace(
        rows=rows, idfs=[1.0, 3.0, 4.0], maxima=[most.get(name) for name in SIGNALS]
    )


def test_numbers_of_the_best_rows() -> None:
    found = seen(scan([row(0.2, -3.0, [0]), row(0.6, -4.0, [0, 2]), row(0.1, -7.5, [1])]))
    assert found is not None
    assert found.origin == "chat_peer"
    assert found.numbers == pytest.approx(
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
    best = [row(0.2, -3.0 - n, [0]) for n in range(LOOKED_AT)]
    assert seen(scan(best)) == seen(scan([*best, row(0.9, -20.0, [0, 1, 2])]))


def test_signals_count_where_they_are_computed() -> None:
    first = row(0.2, -3.0, [0], date=0.4, **{"neighbours.lexical.-1": 0.0})
    found = seen(scan([first], **{"context.wide": 6.0, "late.window": 0.7}))
    assert found is not None
    assert found.numbers["most.context.wide"] == 6 / 8, "a part of the query's idf"
    assert found.numbers["most.late.window"] == 0.7
    assert found.numbers["first.date"] == 0.4
    assert found.numbers["first.neighbours.lexical.-1"] == 0.0
    assert "most.context.vector" not in found.numbers
    assert "first.neighbours.lexical.+1" not in found.numbers


def test_what_a_walk_brought_in_does_not_count() -> None:
    walked = row(0.9, -20.0, [1, 2])
    walked.direct = False
    best = [row(0.2, -3.0, [0]), row(0.1, -4.0, [])]
    assert seen(scan([best[0], walked, best[1]])) == seen(scan(best))


def test_one_row_has_no_lead() -> None:
    found = seen(scan([row(0.2, -3.0, [])]))
    assert found is not None
    assert (found.numbers["lead"], found.numbers["margin"], found.numbers["cover"]) == (0, 0, 0)


def test_a_query_without_words_has_no_cover() -> None:
    asked = scan([row(0.2, -3.0, [])])
    asked.idfs = []
    found = seen(asked)
    assert found is not None
    assert (found.numbers["words"], found.numbers["cover"]) == (0.0, 0.0)


def test_nothing_eligible_answers_nothing() -> None:
    assert confidence(scan([])) == 0.0


def test_without_words_or_meaning_there_is_no_confidence() -> None:
    asked = scan([row(0.2, -3.0, [0])])
    asked.maxima[SIGNALS.index("lexical")] = None
    assert confidence(asked) is None
    unembedded = row(0.0, -3.0, [0])
    unembedded.embedded = False
    assert confidence(scan([unembedded])) is None


def test_the_first_table_whose_numbers_are_there_counts() -> None:
    rich = Table(belongs={BIAS: 0.0, "most.late.window": 1.0}, answered={BIAS: 0.0})
    poor = Table(belongs={BIAS: math.log(3)}, answered={BIAS: 0.0, "meaning": 0.0})
    made = Fit(tables={"note": [rich, poor]})
    with_pieces = Seen(origin="note", numbers={"meaning": 0.5, "most.late.window": 0.0})
    assert told(with_pieces, made) == pytest.approx(0.25)
    assert told(Seen(origin="note", numbers={"meaning": 0.5}), made) == pytest.approx(0.375)


@pytest.mark.parametrize("base", [0.0, 1.0, 5e-324, 1 - 2**-53])
def test_levels_are_finite(base: float) -> None:
    assert math.isfinite(level(base))


def test_confidence_stays_a_probability() -> None:
    wild = Table(belongs={BIAS: 1e9}, answered={BIAS: -1e9, "meaning": 1e12})
    for meaning in (-1.0, 0.0, 1.0):
        value = told(
            Seen(origin="note", numbers={"meaning": meaning}), Fit(tables={"note": [wild]})
        )
        assert 0 <= value <= 1


def test_the_shipped_fit_has_a_table_for_every_store() -> None:
    assert set(fit().tables) == set(ORIGINS)
    for tables in fit().tables.values():
        for table in tables:
            assert table.belongs.keys() == table.answered.keys()
            assert table.belongs.keys() <= {BIAS, *EVERYWHERE, *SIGNALLED}
        assert tables[-1].belongs.keys() <= {BIAS, *EVERYWHERE}, "numbers that every store has"
    assert fit().data, "what it was fitted on"
