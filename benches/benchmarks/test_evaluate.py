"""Benchmarks: import, queries, ranks and comparisons."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

import vestig
from benchmarks.evaluate import evaluate
from benchmarks.labelled_life import Bench, queries, units
from benchmarks.rankings import METRICS
from benchmarks.rows import ablations_of, planned_rows
from loopback_messages import LoopbackMessages
from vestig.api.store import Vestig
from vestig.config import load
from vestig.errors import ConfigError, ValidationError
from vestig.testing import HashingEmbedder

PROFILES = ["baseline", "default"]


def _evaluated(folder: Any, **options: Any) -> Any:
    options.setdefault("profiles", PROFILES)
    options.setdefault("embedder", HashingEmbedder())
    return evaluate(folder, **options).benchmarks[0]


def _without_times(report: Any) -> Any:
    rows = tuple(msgspec.structs.replace(row, latency=None) for row in report.rows)
    store = msgspec.structs.replace(report.store, import_seconds=0.0)
    return msgspec.structs.replace(report, rows=rows, store=store)


def test_peers_stand_beside_profiles(bench: Bench) -> None:
    report = _evaluated(bench(units(), queries()))
    assert [row.name for row in report.rows] == ["cosine", "bm25", "hybrid", *PROFILES]
    assert [row.kind for row in report.rows] == ["peer"] * 3 + ["profile"] * 2
    for row in report.rows:
        assert tuple(row.metrics) == METRICS
        assert set(row.categories) == {"keys", "chores", "places", "times"}
        assert (row.latency is None) == (row.kind == "peer")
    assert report.row("hybrid").parameters["hybrid_weight"] == 1.0, "people talk"
    assert report.row("cosine").metrics == report.row("baseline").metrics
    assert report.row("default").metrics["recall@10"].mean == 1.0
    assert report.row("default").latency.limit == 10


def test_a_report_holds_data_model_seeds_and_settings(bench: Bench) -> None:
    folder = bench(units(), queries())
    whole = evaluate(folder, profiles=PROFILES, embedder=HashingEmbedder())
    report = whole.benchmarks[0]
    assert (whole.seed, whole.interval_draws, whole.paired_draws) == (0, 2000, 5000)
    assert (report.units, report.conversations, report.queries) == (10, 2, 6)
    assert report.store.memories == 10
    assert report.store.units_missing == 0
    assert report.store.seq >= 1
    assert report.store.model == HashingEmbedder().model
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        keys = list(store._session.config.every_value())
    for name in PROFILES:
        assert list(report.row(name).settings) == keys
        assert report.row(name).settings["recall.profile"] == name
    assert report.row("baseline").settings["ranking.base"] == "cosine"


def test_two_runs_find_the_same_numbers(bench: Bench) -> None:
    folder = bench(units(), queries())
    first, second = (_without_times(_evaluated(folder)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("elsewhere", [{}, {"session": "S2"}, {"turn": 9}])
def test_the_rank_of_a_unit_is_that_of_the_best_memory_that_contains_it(
    bench: Bench, elsewhere: dict[str, Any]
) -> None:
    """A long unit is many memories, and units of one text are one memory, or at two places of a
    conversation one result."""
    filler = " ".join(f"filler{n} words about nothing" for n in range(143))
    long = {**units()[0], "id": "long", "text": f"{filler} the violet lantern hangs in the mill"}
    twin = {**units()[1], "id": "twin", **elsewhere}
    labelled = [
        {**queries()[0], "text": "violet lantern in the mill", "relevant": ["long"]},
        {**queries()[1], "relevant": ["1", "twin"]},
    ]
    folder = bench([*units(), long, twin], labelled)
    report = _evaluated(folder, profiles=["default"], peers=False)
    assert report.store.memories > report.units - 1, "the long unit was split"
    assert report.store.units_missing == 0
    metrics = report.row("default").metrics
    assert metrics["recall@1"].mean == pytest.approx((1.0 + 0.5) / 2)
    assert metrics["recall@5"].mean == 1.0
    assert metrics["mrr"].mean == 1.0


def test_the_limit_grows_until_enough_distinct_units_are_found(bench: Bench) -> None:
    """Parts of one unit fill the first places; others are still found at every cut."""
    tide = " ".join(f"tide table line {n} tide tide tide" for n in range(2_000))
    long = {**units()[6], "id": "long", "text": tide}
    labelled = [{**queries()[4], "text": "tide table", "relevant": ["long", "1"]}]
    report = _evaluated(bench([*units(), long], labelled), peers=False)
    assert report.store.memories > 20
    for name in PROFILES:
        assert report.row(name).metrics["recall@5"].mean == 1.0


def test_conversations_are_scopes_and_a_null_date_is_the_end_of_its_conversation(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, Any]] = []
    plain = Vestig.recall

    def recall(self: Vestig, query: str, **fields: Any) -> Any:
        seen.append((fields["scope"], fields["query_time"]))
        return plain(self, query, **fields)

    monkeypatch.setattr(Vestig, "recall", recall)
    _evaluated(bench(units(), queries()), profiles=["baseline"], peers=False)
    assert set(seen) == {
        ("garden", datetime(2025, 3, 6, 9, tzinfo=UTC)),
        ("garden", "2025-03-10"),
        ("harbour", datetime(2025, 4, 4, 9, tzinfo=UTC)),
        ("harbour", "2025-04-20T08:00:00"),
    }


def test_each_cut_is_measured_by_a_recall_with_that_limit(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: set[int] = set()
    plain = Vestig.recall

    def recall(self: Vestig, query: str, **fields: Any) -> Any:
        limits.add(fields["limit"])
        return plain(self, query, **fields)

    monkeypatch.setattr(Vestig, "recall", recall)
    _evaluated(bench(units(), queries()), profiles=["default"], peers=False)
    assert limits == {1, 5, 10, 20, 50}


def test_switches_and_ablations_are_rows_beside_their_profile(bench: Bench) -> None:
    folder = bench(units(), queries())
    changes = [{"signals.topic.enabled": False}, {"ranking.tracerank_power": 0.0}]
    report = _evaluated(folder, switches=changes, ablate=True, peers=False)
    names = [row.name for row in report.rows]
    assert "default signals.topic.enabled=false" in names
    assert "default ranking.tracerank_power=0.0" in names
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        off = ablations_of(store._session.config)
    ablated = [row for row in report.rows if row.kind == "ablation"]
    assert [row.overrides for row in ablated] == list(off.values())
    for key in ("ranking.enabled", "usage.enabled", "signals.topic.enabled"):
        assert {key: False} in off.values()
    one = report.row("default without words")
    assert one.settings["ranking.weights.all.words"] == 0
    assert report.row("default without topic").settings["signals.topic.enabled"] is False
    assert (
        report.row("default without topic").metrics
        == report.row("default signals.topic.enabled=false").metrics
    )
    compared = {(c.row, c.against) for c in report.comparisons}
    assert ("default without words", "default") in compared
    assert ("default", "baseline") in compared


def test_only_signals_that_weigh_something_are_ablated() -> None:
    config = load(environ={}, overrides={"ranking.weights.all.late_window": 0.5})
    off = ablations_of(config)
    assert {"words", "late"} <= set(off)
    assert "rerank" not in off, "it weighs nothing"
    quiet = config.with_overrides({"signals.late.enabled": False})
    assert "late" not in ablations_of(quiet), "it is off"
    other = ablations_of(config.with_overrides(profile="reference"))
    assert not {"words", "late", "topic"} & set(other), "nothing sums them"
    assert other["walk"] == {"walk.enabled": False}


def test_without_names_all_shipped_profiles_and_the_one_in_effect_are_measured() -> None:
    config = load(
        environ={},
        overrides={
            "recall.profiles.mine": {"ranking.base": "cosine"},
            "recall.profile": "mine",
        },
    )
    options: dict[str, Any] = {"switches": [{"recall.default_limit": 3}], "ablate": True}
    rows = planned_rows(config, profiles=None, gate=False, **options)
    profiles = [row.name for row in rows if row.kind == "profile"]
    assert profiles == ["baseline", "reference", "default", "mine"]
    assert {row.profile for row in rows if row.kind != "profile"} == {"mine"}
    named = planned_rows(config, profiles=["mine"], gate=True, **options)
    assert [row.name for row in named if row.kind == "profile"] == ["mine", "baseline", "default"]


def test_without_the_linear_score_and_tracerank_a_profile_equals_the_baseline(bench: Bench) -> None:
    both_off = {"ranking.enabled": False, "usage.enabled": False}
    report = _evaluated(bench(units(), queries()), profiles=PROFILES, switches=[both_off])
    row = next(row for row in report.rows if row.kind == "switch")
    assert row.metrics == report.row("baseline").metrics


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"profiles": ["nobody"]}, ConfigError),
        ({"switches": [{"ranking.no_such_key": 1}]}, ConfigError),
        ({"switches": [{"ranking.base": 3}]}, ConfigError),
        ({"switches": [{"hygiene.min_chars": 3}]}, ConfigError),
        ({"profiles": "default"}, ValidationError),
        ({"leave_out": ["keys", "chores", "places", "times"]}, ValidationError),
    ],
)
def test_what_cannot_be_measured_is_refused(
    bench: Bench, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        _evaluated(bench(units(), queries()), **options)


@pytest.mark.parametrize("benchmarks", [[], 3, [3]])
def test_benchmarks_are_folders(benchmarks: Any) -> None:
    with pytest.raises((ValidationError, TypeError)):
        evaluate(benchmarks, embedder=HashingEmbedder())


def test_a_profile_of_ones_own_is_measured_when_it_is_in_effect(bench: Bench) -> None:
    config = {
        "recall.profiles.mine": {"ranking.base": "cosine"},
        "recall.profile": "mine",
    }
    report = _evaluated(bench(units(), queries()), profiles=["baseline", "mine"], config=config)
    assert report.row("mine").settings["ranking.base"] == "cosine"
    assert report.row("mine").metrics == report.row("baseline").metrics


def test_a_profile_that_is_called_like_a_peer_stays_apart(bench: Bench) -> None:
    config = {"recall.profiles.bm25": {"ranking.base": "cosine"}}
    twice = {"ranking.tracerank_power": 0.0}
    report = _evaluated(
        bench(units(), queries()), profiles=["bm25"], config=config, switches=[twice, twice]
    )
    names = [row.name for row in report.rows]
    changed = "profile bm25 ranking.tracerank_power=0.0"
    assert names == ["cosine", "bm25", "hybrid", "profile bm25", changed]
    assert report.row("bm25").kind == "peer"
    pairs = {(c.row, c.against) for c in report.comparisons}
    assert {("profile bm25", "bm25"), (changed, "profile bm25")} <= pairs


def test_units_in_no_memory_are_a_warning(bench: Bench) -> None:
    empty = {**units()[0], "id": "void", "text": "\u0000"}
    whole = evaluate(
        bench([*units(), empty], queries()), profiles=["baseline"], embedder=HashingEmbedder()
    )
    assert whole.benchmarks[0].store.units_missing == 1
    assert any("1 units are on no memory" in line for line in whole.warnings)


def test_ranks_of_the_relevant_units_of_each_question_are_reported_on_request(
    bench: Bench,
) -> None:
    folder = bench(units(), queries())
    assert _evaluated(folder).rows[0].questions is msgspec.UNSET
    report = _evaluated(folder, questions=True)
    for row in report.rows:
        assert [one.id for one in row.questions] == [query["id"] for query in queries()]
        firsts = [min(r for r in one.ranks.values() if r) for one in row.questions]
        assert row.metrics["mrr"].mean == pytest.approx(sum(1 / r for r in firsts) / len(firsts))
    assert set(report.row("default").questions[2].ranks) == {"3", "5"}


def test_progress_grows_to_its_end(bench: Bench) -> None:
    calls: list[tuple[int, int | None]] = []
    _evaluated(bench(units(), queries()), progress=lambda done, all_: calls.append((done, all_)))
    done = [one for one, _ in calls]
    assert done == sorted(done)
    assert {all_ for _, all_ in calls} == {2 * 10 + 2 * 6}
    assert done[-1] == 2 * 10 + 2 * 6
    assert len(set(done)) > 6, "questions are counted one by one"


def test_no_language_model_is_asked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    folder = bench(units(), queries())
    with LoopbackMessages("[]") as server:
        config = {
            "llm.provider": "anthropic",
            "llm.base_url": server.base_url,
            "enrichment.mode": "inline",
            "recall.query_entities": "llm",
        }
        report = evaluate(folder, profiles=PROFILES, embedder=HashingEmbedder(), config=config)
        assert server.requests == []
    settings = report.benchmarks[0].row("default").settings
    assert settings["llm.provider"] == "none", "the report says what was measured"
