"""Fitting confidence and the common scale of origins, on examples made by dice (R-24, Q-03)."""

from __future__ import annotations

import numpy as np
import pytest

from learn_confidence import MENUS, Data, Example, figures, tables
from mixing import CUT, Listed, _listwise, _loss, _ranked, _searched
from vestig.recall.confidence import BIAS, EVERYWHERE, SIGNALLED, Fit, Seen, told

pytest.importorskip("scipy", reason="make learn-confidence needs the extra `learn`")


def asked(count: int = 150, seed: int = 0) -> list[Example]:
    """`meaning` tells what is foreign, `margin` what is removed; chats have more signals."""
    dice = np.random.default_rng(seed)
    found = []
    for number in range(count):
        for origin in ("chat_peer", "note"):
            for population in ("answerable", "foreign", "removed"):
                numbers = {name: float(dice.normal()) for name in EVERYWHERE}
                numbers["meaning"] -= 4.0 * (population == "foreign")
                numbers["margin"] -= 1.5 * (population == "removed")
                if origin == "chat_peer":
                    numbers |= {name: float(dice.normal()) for name in SIGNALLED}
                found.append(Example(origin, origin, population, number % 5, numbers))
    return found


def test_r24_one_fit_knows_both_populations_and_is_calibrated() -> None:
    found = asked()
    for by_population in figures(found).values():
        assert by_population["foreign"]["auroc"] > 0.95
        assert by_population["removed"]["auroc"] > 0.75
        assert by_population["mixture"]["calibration_error"] < 0.08


def test_r24_written_tables_tell_what_was_fitted() -> None:
    found = asked()
    made = Fit(tables=_plain(tables(found)))
    assert set(made.tables) == {"chat_peer", "chat_agent", "note", "document"}
    assert len(made.tables["chat_peer"]) == 3
    assert [set(one.belongs) for one in made.tables["note"]] == [{BIAS, *EVERYWHERE}]
    own = [one for one in found if one.origin == "chat_peer"]
    data = Data(own, MENUS["chat_peer"][0])
    every = np.ones(len(own), bool)
    fitted = data.told(every, data.fit(every))
    values = [told(Seen(origin=one.origin, numbers=one.numbers), made) for one in own]
    assert values == pytest.approx(list(fitted), abs=2e-3)


def test_r24_the_same_examples_give_the_same_fit() -> None:
    assert tables(asked()) == tables(asked())


def _plain(made: object) -> object:
    import msgspec

    return msgspec.convert({"tables": made}, Fit).tables


def mixed(bias: float, count: int = 60) -> list[Listed]:
    """Two origins whose levels are apart by `bias`; a question's answer is the best of its own."""
    dice = np.random.default_rng(1)
    found = []
    for number in range(count):
        origins = np.repeat([0, 1], 40)
        own = dice.normal(size=80)
        answer = int(dice.integers(2)) * 40
        own[answer] = 4.0
        own[origins == 1] -= bias
        origin = ("chat_peer", "note")[origins[answer]]
        units = [frozenset({("c", f"u{row}")}) for row in range(80)]
        found.append(Listed(origin, number % 5, origin, origins, own, units, units[answer], 1.0))
    return found


def test_q03_origins_that_stand_apart_get_one_scale() -> None:
    lists = mixed(9.0)
    apart = np.array([1.0, 1.0, 0.0, 0.0])
    assert _loss(lists, apart) > 100, "the lower origin is not found"
    flat = _listwise(lists, 2)
    assert flat[3] - flat[2] > 5
    assert _loss(lists, flat) == pytest.approx(0)
    steps = (flat - np.array([0.0, 0.0, 0.0, move]) for move in np.arange(0.0, 30.0, 0.25))
    near = next(one for one in steps if _loss(lists, one) > 0)
    assert _loss(lists, _searched(lists, near)) == pytest.approx(0), "a few steps lead back"


def test_q03_the_best_count_up_to_the_cut() -> None:
    (one,) = mixed(0.0, 1)
    best = np.array([1.0, 1.0, 0.0, 0.0])
    assert _ranked(one, best) == 1.0
    assert _ranked(one, np.array([-1.0, -1.0, 0.0, 0.0])) == 0.0
    assert CUT == 10
