"""TraceRank: golden numbers, and the core against `oracle`."""

from __future__ import annotations

import random
from typing import Any

import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each
from vestig import _core
from vestig.store.projection.scan_objects import TraceFields
from vestig.types import EventType, Stability

DAY = 86_400_000_000
HOUR = 3_600_000_000
NOW = 1_773_835_200_000_000
CODES = {kind: code for code, kind in enumerate(EventType)}
STABILITY = {stability: code for code, stability in enumerate(Stability)}
WEIGHTS = [
    float(kind in (EventType.REINFORCE_EXACT, EventType.REINFORCE_NEAR)) for kind in EventType
]
UNKNOWN = STABILITY[Stability.UNKNOWN]
EVENTS = st.lists(
    st.tuples(
        st.integers(0, len(WEIGHTS)),
        st.integers(NOW - 400 * DAY, NOW + 10 * DAY) | st.sampled_from([NOW, NOW - DAY]),
        st.integers(0, 3),
        st.integers(0, 100),
    ),
    max_size=12,
    unique_by=lambda event: event[3],
)


def params(**settings: Any) -> TraceFields:
    return TraceFields(event_weights=settings.pop("event_weights", WEIGHTS), **settings)


def reinforced(*ages_us: int) -> list[tuple[int, int, int, int]]:
    code = CODES[EventType.REINFORCE_EXACT]
    return [(code, NOW - age, row, row) for row, age in enumerate(ages_us)]


def multiplier(events: list[tuple[int, int, int, int]], **settings: Any) -> float:
    return _core.testing.tracerank(events, NOW, NOW, UNKNOWN, params(**settings))[5]


def confidence(stability: Stability, age_days: float, **settings: Any) -> float:
    start = NOW - round(age_days * DAY)
    return _core.testing.tracerank([], NOW, start, STABILITY[stability], params(**settings))[3]


GOLDEN = [
    ((), 1.0),
    ((0,), 1.242601513),
    ((7 * DAY,), 1.189106951),
    ((21 * DAY,), 1.109641591),
    ((60 * DAY,), 1.019545370),
    ((0, 7 * DAY, 14 * DAY), 1.410363160),
    ((0, 7 * DAY, 14 * DAY, 21 * DAY, 28 * DAY), 1.472862701),
    ((0, 0, 0, 0, 0), 1.360366796),
    ((0, HOUR), 1.275897002),
    ((0, DAY), 1.379046457),
    ((0, DAY - HOUR // 60), 1.274478305),
    (tuple(i * DAY for i in range(365)), 2.0),
    ((0, 14 * DAY, 28 * DAY), 1.357481720),
]


@each(("ages", "wanted"), GOLDEN)
def test_golden_multipliers_in_any_order(ages: tuple[int, ...], wanted: float) -> None:
    events = reinforced(*ages)
    first = _core.testing.tracerank(events, NOW, NOW, UNKNOWN, params())
    assert first[5] == pytest.approx(wanted, abs=1e-9)
    random.Random(7).shuffle(events)
    assert _core.testing.tracerank(events, NOW, NOW, UNKNOWN, params()) == first


def test_burst_trace_daily_year_and_spacing() -> None:
    trace, *_ = _core.testing.tracerank(reinforced(*[0] * 5), NOW, NOW, UNKNOWN, params())
    assert trace == pytest.approx(1.8, abs=1e-9)
    year = reinforced(*(i * DAY for i in range(365)))
    assert _core.testing.tracerank(year, NOW, NOW, UNKNOWN, params())[4:] == (
        pytest.approx(2.089792069, abs=1e-9),
        2.0,
        365,
    )
    spaced = multiplier(reinforced(0, 14 * DAY, 28 * DAY), spacing_enabled=True)
    assert spaced == pytest.approx(1.402186855, abs=1e-9)


def test_no_event_is_exactly_one() -> None:
    assert _core.testing.tracerank([], NOW, NOW, UNKNOWN, params()) == (
        0.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        0,
    )


def test_a_future_event_weighs_as_one_now() -> None:
    assert multiplier(reinforced(-5 * DAY)) == multiplier(reinforced(0))


def test_add_and_import_change_nothing() -> None:
    other = [(CODES[kind], NOW, 9, 9) for kind in EventType if not kind.startswith("REINFORCE")]
    events = reinforced(0, 3 * DAY)
    assert _core.testing.tracerank(other, NOW, NOW, UNKNOWN, params())[5:] == (1.0, 0)
    assert _core.testing.tracerank(
        events + other, NOW, NOW, UNKNOWN, params()
    ) == _core.testing.tracerank(events, NOW, NOW, UNKNOWN, params())


@pytest.mark.parametrize(
    ("n", "wanted"), [(0, 1), (1, 1.103972), (5, 1.268764), (20, 1.456678), (100, 1.692268)]
)
def test_golden_connectivity(n: int, wanted: float) -> None:
    on = params(connectivity_enabled=True)
    assert _core.testing.tracerank([], NOW, NOW, UNKNOWN, on, n)[2] == pytest.approx(
        wanted, abs=5e-7
    )
    assert _core.testing.tracerank([], NOW, NOW, UNKNOWN, params(), n)[2] == 1.0


@each(
    ("stability", "age", "wanted"),
    [
        *((Stability.DYNAMIC, age, value) for age, value in
          [(1, 0.988950), (30, 0.716531), (90, 0.367879), (365, 0.017326)]),
        *((Stability.EPHEMERAL, age, value) for age, value in
          [(1, 0.866878), (7, 0.367879), (30, 0.013764), (60, 0.01)]),
        (Stability.DYNAMIC, 5000, 0.01),
        (Stability.STATIC, 365, 1.0),
        (Stability.UNKNOWN, 365, 1.0),
    ],
)  # fmt: skip
def test_golden_confidence(stability: Stability, age: float, wanted: float) -> None:
    assert confidence(stability, age) == pytest.approx(wanted, abs=5e-7)


@pytest.mark.parametrize("stability", list(Stability))
def test_a_fact_that_begins_later_has_confidence_one(stability: Stability) -> None:
    assert confidence(stability, -3) == confidence(stability, 0) == 1.0


@pytest.mark.parametrize(("tau", "ephemeral"), [(8, 3), (20, 5), (90, 7)])
def test_golden_ephemeral_tau(tau: float, ephemeral: float) -> None:
    derived = confidence(Stability.EPHEMERAL, 2, dynamic_tau_days=tau)
    assert derived == confidence(Stability.EPHEMERAL, 2, ephemeral_tau_days=ephemeral)


def test_golden_products_and_clip() -> None:
    month, year = NOW - 30 * DAY, NOW - 365 * DAY
    dynamic = STABILITY[Stability.DYNAMIC]
    linked = _core.testing.tracerank([], NOW, month, dynamic, params(connectivity_enabled=True), 5)
    assert linked[5] == pytest.approx(0.909109, abs=5e-7)
    once = _core.testing.tracerank(reinforced(0), NOW, month, dynamic, params())
    assert once[5] == pytest.approx(0.890363, abs=5e-7)
    assert _core.testing.tracerank([], NOW, year, dynamic, params())[5] == 0.25


def test_order_of_stabilities_at_equal_age() -> None:
    values = {s: confidence(s, 10) for s in Stability}
    assert values[Stability.EPHEMERAL] < values[Stability.DYNAMIC] < values[Stability.UNKNOWN]
    assert values[Stability.UNKNOWN] == values[Stability.STATIC]


@each(
    ("key", "value"),
    [
        ("event_weights", [0.5 * w for w in WEIGHTS]),
        ("tau_days", 7.0),
        ("cooldown_hours", 1.0),
        ("burst_discount", 0.9),
        ("k", 0.1),
        ("temporal_decay_enabled", False),
        ("dynamic_tau_days", 8.0),
        ("ephemeral_tau_days", 2.0),
        ("static_boost", 1.5),
        ("clip_min", 1.3),
        ("clip_max", 1.2),
        ("spacing_enabled", True),
        ("spacing_bonus", 0.9),
        ("spacing_days", 100.0),
        ("connectivity_enabled", True),
        ("graph_k", 0.5),
    ],
)
def test_each_key_changes_a_multiplier(key: str, value: Any) -> None:
    base: dict[str, Any] = {"spacing_enabled": key.startswith("spacing_") and key[8:] != "enabled"}
    base["connectivity_enabled"] = key == "graph_k"
    changed = base | {key: value}

    def all_multipliers(settings: dict[str, Any]) -> list[float]:
        events = reinforced(0, HOUR, 9 * DAY, 30 * DAY)
        return [
            _core.testing.tracerank(events, NOW, NOW - 10 * DAY, code, params(**settings), 4)[5]
            for code in STABILITY.values()
        ]

    assert all_multipliers(base) != all_multipliers(changed)


def test_off_is_exactly_one() -> None:
    events = reinforced(0, DAY)
    dynamic = STABILITY[Stability.DYNAMIC]
    off = _core.testing.tracerank(events, NOW, NOW - 90 * DAY, dynamic, params(enabled=False), 5)
    assert off == (0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0)


@each(
    ("key", "value"),
    [
        ("tau_days", 0.0),
        ("dynamic_tau_days", -1.0),
        ("ephemeral_tau_days", 0.0),
        ("spacing_days", 0.0),
        ("k", float("nan")),
        ("clip_min", -0.1),
        ("clip_min", 2.5),
        ("event_weights", [float("inf")]),
    ],
)
def test_impossible_settings_are_named(key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=key):
        _core.testing.tracerank([], NOW, NOW, UNKNOWN, params(**{key: value}))


def test_an_unknown_stability_is_refused() -> None:
    with pytest.raises(ValueError, match="0 to 3, got 4"):
        _core.testing.tracerank([], NOW, NOW, 4, params())


@given(
    EVENTS,
    st.integers(NOW - 500 * DAY, NOW + 5 * DAY),
    st.sampled_from(list(STABILITY.values())),
    st.booleans(),
    st.booleans(),
    st.integers(0, 1000),
)
def test_equals_the_definition(
    events: list[tuple[int, int, int, int]],
    valid: int,
    stability: int,
    spacing: bool,
    connectivity: bool,
    n: int,
) -> None:
    settings = {"spacing_enabled": spacing, "connectivity_enabled": connectivity}
    weights = [0.3 * (code % 4) for code in range(len(WEIGHTS))]
    got = _core.testing.tracerank(
        events, NOW, valid, stability, params(event_weights=weights, **settings), n
    )
    wanted = oracle.tracerank(
        events, NOW, valid, stability, event_weights=weights, connectivity_n=n, **settings
    )
    assert got == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@given(EVENTS.flatmap(lambda events: st.tuples(st.just(events), st.permutations(events))))
def test_input_order_never_matters(pair: tuple[list[Any], list[Any]]) -> None:
    weights = [0.3 * (code % 4) for code in range(len(WEIGHTS))]
    settings = params(event_weights=weights, spacing_enabled=True)
    first, second = (
        _core.testing.tracerank(events, NOW, NOW, UNKNOWN, settings) for events in pair
    )
    assert first == second
