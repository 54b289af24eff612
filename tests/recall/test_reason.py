"""Reasons from rows made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from scan_rows import (
    EDGE,
    EDGE_2,
    ENTITY,
    NOW_US,
    OTHER,
    START,
    MadeRow,
    ada,
    explainer,
    memory,
)
from vestig.answers import Reason
from vestig.config.recall_sections import ReasonSettings
from vestig.ids import id_text
from vestig.recall.reason import Explainer, shares
from vestig.times import DAY_US, from_us
from vestig.types import TemporalWindow

THIRD = b"\1" * 16
S, B = id_text("mem", START), id_text("mem", OTHER)


def reason(row: MadeRow, query: Explainer | None = None, **fields: Any) -> Reason:
    made = explainer() if query is None else query
    question = fields.pop("question", None)
    replaced = fields.pop("replaced", ())
    return made.reason(row, memory(row.id, **fields), replaced, question)


def walked(**fields: Any) -> MadeRow:
    """S → B by RELATED, weight 0.9."""
    given: dict[str, Any] = {
        "direct": False,
        "path": [(1, OTHER)],
        "steps": [(EDGE, 0.9, 0.64, 0.25)],
        "signal_strength": 0.9,
        "path_score": 0.9,
        "start": START,
        "start_base": 0.8,
    }
    return MadeRow(**given | fields)


@pytest.mark.parametrize(
    ("available", "expected"),
    [
        (("keyword", "entity"), {"keyword": 0.714286, "entity": 0.285714}),
        (("keyword", "temporal"), {"keyword": 0.625, "temporal": 0.375}),
        (("temporal", "entity"), {"temporal": 0.6, "entity": 0.4}),
        (("keyword", "temporal", "entity"), {"keyword": 0.5, "temporal": 0.3, "entity": 0.2}),
        ((), {}),
    ],
)
def test_weights_over_what_the_query_has(
    available: tuple[str, ...], expected: dict[str, float]
) -> None:
    weights = {"keyword": 0.5, "temporal": 0.3, "entity": 0.2, "recency": 0.0}
    assert shares(weights, available) == pytest.approx(expected, abs=5e-7)


def test_weights_of_zero_have_no_share() -> None:
    assert shares({"keyword": 0.0, "temporal": 0.3, "entity": 0, "recency": 0}, ["keyword"]) == {}


def test_sentences_in_order_with_the_numbers_of_the_fields() -> None:
    window = TemporalWindow(
        text="last week",
        start=from_us(NOW_US - 7 * DAY_US),
        end=from_us(NOW_US),
        grain="week",
    )
    row = MadeRow(
        similarity=0.87,
        semantic_score=0.87,
        alpha_used=0.3,
        values={"keyword": 0.9, "temporal": 1.0},
        nearest_question=(1, 0.9),
        matched_keywords=["engine", "patterns"],
        matched_entities=[ENTITY],
        tracerank=1.42,
        events=3,
    )
    found = reason(
        row,
        explainer(windows=(window,), entities=ada(), meta_shares={"keyword": 0.6, "temporal": 0.4}),
        question="Who wrote of the engine?",
        t_valid=from_us(NOW_US - 2 * DAY_US),
        t_invalid=from_us(NOW_US - DAY_US),
    )
    assert found.explanation == (
        "Close in meaning (similarity 0.8700)."
        " Shares the words engine, patterns."
        " Of the time asked for: last week."
        ' Through stored question "Who wrote of the engine?" (0.9000).'
        " Reinforced 3×; TraceRank 1.4200."
        " No longer valid since 2026-03-17."
    )
    assert found.hypothetical is not None
    plain = found.to_dict()
    assert plain["hypothetical"] == {"question": "Who wrote of the engine?", "cosine": 0.9}
    assert plain["similarity"] == 0.87
    assert plain["tracerank_boost"]["multiplier"] == 1.42
    assert plain["tracerank_boost"]["events"] == 3
    assert "no_longer_valid" in plain["flags"]


def test_only_what_is_true_is_said() -> None:
    row = MadeRow(similarity=0.95, nearest_question=(0, 0.9))
    found = reason(row, question="What is it?")
    assert found.explanation == "Close in meaning (similarity 0.9500)."
    filled = reason(MadeRow(filled=True, direct=False, start_score=0.31))
    assert filled.explanation == "Filled by start score (0.3100)."
    assert filled.retrieval_method == "direct_match"
    blind = reason(MadeRow(), explainer(has_vector=False))
    assert blind.explanation == "Found by words (the query had no vector)."
    assert blind.similarity is None


def test_a_walked_path_with_its_steps() -> None:
    row = walked(
        path=[(1, OTHER), (1, THIRD)],
        steps=[(EDGE, 0.9, 1.0, None), (EDGE_2, 0.3, 0.54, 0.1)],
        signal_strength=0.27,
        path_score=0.27,
    )
    found = reason(row).to_dict()
    assert found["retrieval_method"] == "graph_traversal"
    assert found["path"] == ["START", f"RELATED:{B}", f"RELATED:{id_text('mem', THIRD)}"]
    assert (found["hops"], found["signal_strength"], found["path_score"]) == (2, 0.27, 0.27)
    first, second = found["steps"]
    assert first == {"edge": id_text("edge", bytes.fromhex(EDGE)), "weight": 0.9, "p": 1.0,
                     "u": None}  # fmt: skip
    assert (second["p"], second["u"]) == (0.54, 0.1)
    assert found["explanation"] == f"Reached via 2-hop traversal (signal 0.2700) from {S}."


def test_a_step_over_an_entity_counts_two_hops() -> None:
    row = walked(path=[(0, ENTITY), (0, OTHER)], steps=[(f"{EDGE}|{EDGE_2}", 0.81, 0.7, 0.6)])
    found = reason(row).to_dict()
    assert found["path"] == ["START", f"MENTIONS:{id_text('ent', ENTITY)}", f"MENTIONS:{B}"]
    assert found["hops"] == 2
    edges = [id_text("edge", bytes.fromhex(edge)) for edge in (EDGE, EDGE_2)]
    assert [step["edge"] for step in found["steps"]] == ["|".join(edges)]


@pytest.mark.parametrize("filled", [False, True])
def test_a_direct_candidate_that_was_walked_to_counts_as_direct(filled: bool) -> None:
    found = reason(walked(direct=not filled, filled=filled, path_score=1.0))
    assert found.retrieval_method == "direct_match"
    assert (found.hops, len(found.path), len(found.steps)) == (1, 2, 1)  # type: ignore[arg-type]


def test_a_query_without_time_has_no_temporal_signal() -> None:
    query = explainer(meta_shares={"keyword": 1.0})
    found = reason(MadeRow(values={"keyword": 0.25}), query).to_dict()["signals"]
    assert found == {"keyword": {"raw": 0.25, "weight": 1.0, "matched": []}}


WEIGHTS = {"bias": -12.0, "topic": 8.0, "words": 5.0, "late": 4.0, "late_window": 6.0, "reply": 9.0}


def linear(values: dict[str, float], **fields: Any) -> MadeRow:
    return MadeRow(values=values, weights=WEIGHTS, **fields)


def test_only_terms_that_were_weighed_are_there_the_greatest_first() -> None:
    query = explainer(linear=True, terms=("engin", "weav"), content={"weav": "weaving"})
    row = linear({"topic": 0.5, "words": 0.25, "long": 2.0}, matched_terms=[0, 1])
    found = reason(row, query).to_dict()["signals"]
    # -12; 0.5 · 8; 0.25 · 5; `long` weighs nothing
    assert list(found) == ["bias", "topic", "words"]
    assert found["bias"] == {"raw": 1.0, "weight": -12.0}
    assert found["words"] == {"raw": 0.25, "weight": 5.0, "matched": ["weaving"]}


def test_the_greatest_reasons_of_a_sum_are_told() -> None:
    query = explainer(linear=True, terms=("weav",), content={"weav": "weaving"})
    row = linear({"topic": 0.5, "words": 0.9, "late": 0.1}, similarity=0.4, matched_terms=[0])
    assert reason(row, query).explanation == (
        "Shares the words weaving. Close in meaning (similarity 0.4000)."
    )
    distant = linear({"topic": 0.1, "words": 0.9}, similarity=0.05, matched_terms=[0])
    assert "Distant in meaning (similarity 0.0500)." in str(reason(distant, query).explanation)
    nothing = linear({"topic": -0.1}, similarity=-0.1)
    assert reason(nothing, query).explanation == "Distant in meaning (similarity -0.1000)."


def test_shared_words_are_told_however_little_they_add() -> None:
    query = explainer(linear=True, terms=("weav",), content={"weav": "weaving"})
    row = linear({"topic": 0.9, "late": 0.4, "words": 0.01}, similarity=0.8, matched_terms=[0])
    assert reason(row, query).explanation == (
        "Close in meaning (similarity 0.8000). Shares the words weaving."
    )


def test_a_line_that_counts_is_shown_and_none_that_does_not_exist() -> None:
    query = explainer(linear=True)
    row = linear({"topic": 0.1, "reply": 0.5, "late": 0.3, "late_window": 0.0})
    told = query.reason(row, memory(), (), None, "When does it open?\nTell me.")
    assert 'Replies to the line before it: "When does it open? Tell me."' in str(told.explanation)
    assert "lines around" not in str(told.explanation), "the lines around it add nothing"
    beside = linear({"topic": 0.1, "late": 0.1, "late_window": 0.3})
    said = reason(beside, query, session_id="s").explanation
    assert "The lines around it have more of the question." in str(said)
    assert "line before" not in str(said)
    noted = reason(beside, query).explanation
    assert "What was noted within the hour has more of the question." in str(noted)


def test_versions_are_named() -> None:
    newest = reason(MadeRow(newer_than=START, own_final_score=0.4))
    assert newest.to_dict()["newer_than"] == S
    assert newest.to_dict()["own_final_score"] == 0.4
    assert newest.flags == (f"newer_than: {S}",)
    assert f"Newer than {S}." in str(newest.explanation)
    older = reason(MadeRow(older_than=START))
    assert older.to_dict()["older_than"] == S
    assert f"Older than {S}." in str(older.explanation)
    assert "own_final_score" not in older.to_dict()


def test_parts_of_a_reason_can_be_left_out() -> None:
    row = walked()

    def shown(**parts: bool) -> set[str]:
        found = reason(row, explainer(parts=ReasonSettings(**parts)))
        return {n for n in found.__struct_fields__ if getattr(found, n) is not UNSET}

    assert reason(row, explainer(parts=ReasonSettings(enabled=False))).to_dict() == {
        "retrieval_method": "graph_traversal",
        "similarity": 0.5,
        "final_score": 0.5,
    }
    scores = {"semantic_score", "hypothetical", "signals", "leads", "alpha_used", "metadata_score",
              "start_score", "base", "start_base", "tracerank_boost", "newer_than",
              "older_than"}  # fmt: skip
    paths = {"path", "hops", "steps", "start", "signal_strength", "path_score"}
    whole = shown()
    assert scores | paths < whole
    assert whole - shown(include_scores=False) == scores
    assert whole - shown(include_path=False) == paths
    assert whole - shown(include_scores=False, include_path=False) == scores | paths


def test_the_json_leaves_out_what_is_null_or_changes_nothing() -> None:
    direct = reason(MadeRow(start_base=0.5)).to_dict()
    assert {"hypothetical", "alpha_used", "metadata_score", "start_base"}.isdisjoint(direct)
    assert direct["tracerank_boost"] == {"multiplier": 1.0, "events": 0, "stability": "unknown"}
    assert reason(MadeRow(), explainer(has_vector=False)).to_dict()["similarity"] is None
    whole = reason(walked(trace=2.0, basic=1.5, unclipped=1.5, tracerank=1.5, events=3)).to_dict()
    assert whole["start_base"] == 0.8
    assert whole["tracerank_boost"] == {
        "multiplier": 1.5, "trace": 2.0, "basic": 1.5, "unclipped": 1.5, "events": 3,
        "stability": "unknown",
    }  # fmt: skip


def test_a_replacement_is_flagged() -> None:
    found = reason(MadeRow(), replaced=(S,), pinned=True)
    assert found.flags == ("pinned", f"supersedes: {S}")
