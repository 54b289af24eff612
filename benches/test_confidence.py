"""Fitting confidence and the common scale of origins, on examples made by dice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from learn_confidence import MENUS, Data, Example, figures, settings_of, tables
from mixing import CUT, found
from vestig.config.weights import OriginWeights, WeightsFile
from vestig.recall.confidence import (
    BASIC_FEATURES,
    BIAS,
    SIGNAL_FEATURES,
    Features,
    Fit,
    probability,
)

pytest.importorskip("scipy", reason="make learn-confidence needs the extra `learn`")


def asked(count: int = 150, seed: int = 0) -> list[Example]:
    """`meaning` tells what is foreign, `margin` what is removed; chats have more signals."""
    dice = np.random.default_rng(seed)
    found = []
    for number in range(count):
        for origin in ("chat_peer", "note"):
            for population in ("answerable", "foreign", "removed"):
                numbers = {name: float(dice.normal()) for name in BASIC_FEATURES}
                numbers["meaning"] -= 4.0 * (population == "foreign")
                numbers["margin"] -= 1.5 * (population == "removed")
                if origin == "chat_peer":
                    numbers |= {name: float(dice.normal()) for name in SIGNAL_FEATURES}
                found.append(Example(origin, origin, population, number % 5, numbers))
    return found


def test_one_fit_knows_both_populations_and_is_calibrated() -> None:
    found = asked()
    for by_population in figures(found).values():
        assert by_population["foreign"]["auroc"] > 0.95
        assert by_population["removed"]["auroc"] > 0.75
        assert by_population["mixture"]["calibration_error"] < 0.08


def test_written_tables_tell_what_was_fitted() -> None:
    found = asked()
    made = Fit(tables=_plain(tables(found)))
    assert set(made.tables) == {"chat_peer", "chat_agent", "note", "document"}
    assert len(made.tables["chat_peer"]) == 3
    assert [set(one.belongs) for one in made.tables["note"]] == [{BIAS, *BASIC_FEATURES}]
    own = [one for one in found if one.origin == "chat_peer"]
    data = Data(own, MENUS["chat_peer"][0])
    every = np.ones(len(own), bool)
    fitted = data.confidence(every, data.fit(every))
    values = [probability(Features(origin=one.origin, values=one.numbers), made) for one in own]
    assert values == pytest.approx(list(fitted), abs=2e-3)


def test_the_same_examples_give_the_same_fit() -> None:
    assert tables(asked()) == tables(asked())


def _plain(made: object) -> object:
    import msgspec

    return msgspec.convert({"tables": made}, Fit).tables


def test_distinct_units_count_up_to_the_cut() -> None:
    ranked = [frozenset({("c", f"u{row // 2}")}) for row in range(40)]
    assert CUT == 10
    assert found(ranked, frozenset({("c", "u9"), ("c", "u10")})) == 0.5
    assert found(ranked[::-1], frozenset({("c", "u19")})) == 1.0


def test_weights_of_a_file_stand_in_for_those_built_in(tmp_path: Path) -> None:
    weights = OriginWeights(
        chat_peer={"bias": -3.0},
        chat_agent={"bias": -2.0},
        document={"date": 2.0},
        note={"date": 2.0},
    )
    file = tmp_path / "learned.json"
    file.write_text(WeightsFile(origins=weights).text(), encoding="utf-8")
    found = settings_of(file)
    assert found["ranking.weights.chat_peer.bias"] == -3.0
    assert found["ranking.weights.chat_peer.late.w1_idf"] == 0.0, "what is not named"
    assert found["ranking.weights.document.date"] == 2.0
    assert settings_of(None) == {}
