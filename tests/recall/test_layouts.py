"""Layouts of results made by hand, byte for byte."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from scan_rows import EDGE, ENTITY, NOW_US, OTHER, START, MadeRow, ada, explainer, memory
from tables import each
from vestig.answers import Analysis, Counts, Formula, RecallHit, RecallResult
from vestig.config.recall_sections import ReasonSettings
from vestig.ids import id_text
from vestig.recall.layouts import render
from vestig.times import from_us

WHOLE, BARE = ReasonSettings(), ReasonSettings(include_path=False, include_scores=False)
S, B, E = id_text("mem", START), id_text("mem", OTHER), id_text("ent", ENTITY)


def result(*hits: RecallHit, **fields: Any) -> RecallResult:
    formula = Formula(
        base="semantic", bias=None, pool=None, path_power=1.0, tracerank_power=1.0,
        tracerank_bound=None, association=0.0, content_weight=0.4, query_weight=0.6,
        summary_prior=0.0,
    )  # fmt: skip
    counts = Counts(
        stored=2, eligible=2, folded=0, scored=2, walked=0, returned=len(hits), below_min_score=0,
        approximate=False,
    )  # fmt: skip
    analysis = Analysis(keywords=(), windows=(), entities=(), available=(), weights={})
    return RecallResult(
        results=hits, query="q", namespace="default", profile="reference", mode="deterministic",
        order="best", seed=1, seed_origin="call", seq=1, as_of=None, known_at=None, valid_at=None,
        query_time=from_us(NOW_US), analysis=analysis, counts=counts, formula=formula,
        timings_ms={"total": 1.0}, **fields,
    )  # fmt: skip


def hit(row: MadeRow, parts: ReasonSettings = WHOLE, **fields: Any) -> RecallHit:
    own = memory(row.id, **fields)
    made = explainer(entities=ada(), parts=parts)
    return RecallHit(
        memory=own,
        score=row.final_score,
        final=row.final_score,
        similarity=row.similarity,
        reason=made.reason(row, own, (), "Who wrote it?"),
    )


DIRECT = MadeRow(id=START, final_score=0.87, similarity=0.87, semantic_score=0.87, start_score=0.87,
                 base=0.87)  # fmt: skip
WALKED = MadeRow(
    final_score=0.5,
    direct=False,
    path=[(0, ENTITY), (0, OTHER)],
    steps=[(f"{EDGE}|{EDGE}", 0.9, 0.64, None)],
    signal_strength=0.9,
    path_score=0.9,
    start=START,
    start_base=0.8,
    nearest_question=(0, 0.4),
    alpha_used=0.6,
    metadata_score=0.25,
)
AT = "date=2026-03-18"


def test_hops_only_where_the_walk_went() -> None:
    found = result(hit(DIRECT, content="One line"), hit(WALKED, content="a\n---\nb"))
    assert render(found, "text") == (
        f"[{S}] (score=0.8700, method=direct_match, {AT})\n"
        "Content: One line\n"
        "\n---\n\n"
        f"[{B}] (score=0.5000, method=graph_traversal, hops=2, {AT})\n"
        "Content: a\n  ---\n  b"
    )
    with_reason = render(found, "text", explained=True).split("\n")
    assert with_reason[1] == "Reason: Close in meaning (similarity 0.8700)."
    assert with_reason[7] == f"Reason: Reached via 2-hop traversal (signal 0.9000) from {S}."


def test_explain_has_a_line_for_each_group() -> None:
    edge = id_text("edge", bytes.fromhex(EDGE))
    assert render(result(hit(WALKED, content="One line", pinned=True)), "explain") == (
        f"[{B}] (score=0.5000, method=graph_traversal, hops=2, {AT})\n"
        f"Reason: Reached via 2-hop traversal (signal 0.9000) from {S}.\n"
        "Above the pool: meaning +0.2000\n"
        "Score: start 0.5000; semantic 0.5000; metadata 0.2500; alpha 0.6000; base 0.5000;"
        " base of the start 0.8000\n"
        'Stored question: "Who wrote it?" (0.4000)\n'
        f"Path: START → MENTIONS:{E} → MENTIONS:{B}; signal 0.9000; path score 0.9000\n"
        f"Steps: {edge}|{edge} (weight 0.9000, p 0.6400, u –)\n"
        "TraceRank: 1.0000 (trace 0.0000, basic 1.0000, connectivity 1.0000, confidence 1.0000,"
        " unclipped 1.0000, events 0, stability unknown)\n"
        "Flags: pinned\n"
        "Content: One line"
    )


def test_explain_shows_the_terms_that_add_something() -> None:
    """The bias and the signals by what they add."""
    found = {"topic": 0.8, "words": 0.5, "late_window": 0.25, "person": -1.0, "late": 0.0}
    weights = {"bias": -12.0, "topic": 2.0, "words": 4.0, "late_window": 2.0, "person": 0.5,
               "late": 3.0}  # fmt: skip
    made = explainer(linear=True)
    row = MadeRow(values=found, weights=weights, constant=-12.0)
    reason = made.reason(row, memory(row.id), (), None)
    shown = RecallHit(memory=memory(row.id), score=0.5, final=0.5, similarity=0.5, reason=reason)
    assert render(result(shown), "explain").split("\n")[2] == (
        "Signals: bias 1.0000 × -12.0000; words 0.5000 × 4.0000; topic 0.8000 × 2.0000;"
        " late_window 0.2500 × 2.0000; person -1.0000 × 0.5000"
    )


def test_groups_that_are_left_out() -> None:
    assert render(result(hit(DIRECT, BARE, content="One line")), "explain") == (
        f"[{S}] (score=0.8700, method=direct_match, {AT})\n"
        "Reason: Close in meaning (similarity 0.8700).\n"
        "Content: One line"
    )


def test_compact_and_list() -> None:
    found = result(hit(DIRECT, content="x" * 101), hit(WALKED, content="One line"))
    assert render(found, "compact").startswith(
        "(score=0.8700, age=just now, stability=unknown, date=2026-03-18)\n"
    )
    assert render(found, "list") == (
        f"ID: {S}\nScore: 0.8700\nDate: 2026-03-18\nContent: {'x' * 100}...\n\n"
        f"ID: {B}\nScore: 0.5000\nDate: 2026-03-18\nContent: One line"
    )


@pytest.mark.parametrize(
    ("layout", "separator"),
    [
        ("text", "\n\n---\n\n"),
        ("explain", "\n\n---\n\n"),
        ("compact", "\n\n---\n\n"),
        ("list", "\n\n"),
    ],
)
def test_what_is_associated_stands_behind_the_results(layout: str, separator: str) -> None:
    """A line each: how the walk came there where the reason has it, then the text on one line."""
    linked = (
        hit(WALKED, content="a\n---\nRelated: b"),
        hit(MadeRow(id=START), BARE, content="x" * 101),
    )
    direct = hit(DIRECT, content="One line")
    assert render(result(direct, associated=linked), layout) == (
        f"{render(result(direct), layout)}{separator}"
        f"Related: [{B}] (signal=0.9000, hops=2, {AT}) a --- Related: b\n"
        f"Related: [{S}] ({AT}) {'x' * 100}..."
    )


def test_nothing_found() -> None:
    assert render(result(), "text") == "No memories found."


BLOCK = f"[{S}] (score=0.8700, method=direct_match, {AT})\nContent: One line"


@each(
    ("fields", "first"),
    [
        ({"confidence": 0.9477}, "likely (confidence 0.95)"),
        ({"confidence": 0.5}, "likely (confidence 0.50)"),
        ({"confidence": 0.29}, "doubtful (confidence 0.29)"),
        ({"confidence": 1.0}, "likely (confidence 1.00)"),
        ({"confidence": 0.0999}, "nothing close (confidence 0.10); nearest:"),
        ({"confidence": 0.0612}, "nothing close (confidence 0.06); nearest:"),
        ({"confidence": 0.0}, "nothing close (confidence 0.00); nearest:"),
        ({"confidence": 0.3, "least_confidence": 0.3}, "doubtful (confidence 0.30, needed 0.30)"),
        ({"confidence": 0.6, "least_confidence": 0.3}, "likely (confidence 0.60)"),
    ],
)
def test_the_first_line_says_how_sure_the_store_is(fields: dict[str, Any], first: str) -> None:
    found = result(hit(DIRECT, content="One line"), **fields)
    assert render(found, "text") == f"{first}\n\n{BLOCK}"
    for format in ("compact", "explain", "list"):
        lines = render(found, format).split("\n")
        assert lines[:2] == [first, ""]
        assert lines[2]


@pytest.mark.parametrize(
    ("least", "best", "first"),
    [
        (0.5, 0.2871, "too doubtful (confidence 0.29, needed 0.50); nearest:"),
        (1.0, 0.999, "too doubtful (confidence 0.999, needed 1.00); nearest:"),
        (0.5432, 0.5431, "too doubtful (confidence 0.54, needed 0.55); nearest:"),
        (0.00001, 0.0, "nothing close (confidence 0.00, needed 0.01); nearest:"),
    ],
)
def test_abstention_shows_the_nearest(least: float, best: float, first: str) -> None:
    near = hit(DIRECT, content="One line")
    found = result(nearest=(near,), abstained=True, confidence=best, least_confidence=least)
    assert render(found, "text") == f"{first}\n\n{BLOCK}"


def test_a_least_score_that_leaves_no_result_stands_alone() -> None:
    fields = {"min_score": 0.5, "best_score": 0.289}
    for confidence in (None, 0.0):
        found = result(confidence=confidence, **fields)
        for format in ("text", "compact", "explain", "list"):
            assert render(found, format) == "no score above 0.5 (best 0.29)"


def test_a_profile_without_confidence_has_no_first_line() -> None:
    assert render(result(hit(DIRECT, content="One line")), "text") == BLOCK


def test_nothing_eligible_has_no_first_line() -> None:
    assert render(result(confidence=0.0), "text") == "No memories found."
    abstained = result(confidence=0.0, abstained=True, least_confidence=0.2)
    assert render(abstained, "text") == "No memories found."


def test_the_date_is_that_of_the_fact_where_its_zone_is() -> None:
    late = datetime(2025, 8, 3, 23, 30, tzinfo=UTC)
    found = result(hit(DIRECT, content="One line", t_valid=late))
    for layout in ("text", "explain"):
        assert ", date=2025-08-03)" in render(found, layout)
        assert ", date=2025-08-04)" in render(found, layout, zone="Europe/Oslo")
    assert ", stability=unknown, date=2025-08-03)\n" in render(found, "compact")
    assert "\nDate: 2025-08-04\n" in render(found, "list", zone="Europe/Oslo")
