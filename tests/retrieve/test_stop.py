"""When a retrieval ends: each reason, their order, and what is never one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from vestig.config.recall_sections import RetrieveSettings
from vestig.retrieve.confidence import Progress, Verdict, stop_reason

SETTINGS = RetrieveSettings()
GOING_ON = Progress(
    iteration=2,
    max_iterations=10,
    max_facts=30,
    failed=False,
    used_s=0.1,
    deadline_s=10.0,
    facts=8,
    new_facts=3,
    streak=0,
    coverage=0.5,
    score=0.5,
    empty_calls=0,
    verdict=None,
)
SURE = Verdict(should_continue=False, confidence="high")


def reason(settings: RetrieveSettings = SETTINGS, **changed: Any) -> str | None:
    return stop_reason(msgspec.structs.replace(GOING_ON, **changed), settings)


def test_a_round_that_found_something_is_no_reason() -> None:
    assert reason() is None
    assert reason(new_facts=30, coverage=0.79, facts=30) is None


REASONS: list[tuple[str, dict[str, Any]]] = [
    ("error", {"failed": True}),
    ("deadline", {"used_s": 10.0}),
    ("max_iterations", {"iteration": 10}),
    ("strong_first_pass", {"iteration": 1, "coverage": 0.9, "score": 0.7}),
    ("max_facts", {"facts": 30, "coverage": 0.8}),
    ("novelty_exhausted", {"streak": 2}),
    ("llm_confident", {"verdict": SURE, "coverage": 0.8}),
    ("tool_loop", {"empty_calls": 3}),
]


@pytest.mark.parametrize(("wanted", "changed"), REASONS, ids=[name for name, _ in REASONS])
def test_each_reason(wanted: str, changed: dict[str, Any]) -> None:
    assert reason(**changed) == wanted


@pytest.mark.parametrize("at", range(len(REASONS) - 1), ids=[name for name, _ in REASONS[:-1]])
def test_the_first_of_several_reasons_counts(at: int) -> None:
    wanted, changed = REASONS[at]
    # those behind it hold as well, as far as one round can have both
    later = {name: value for _, more in reversed(REASONS[at + 1 :]) for name, value in more.items()}
    assert reason(**{**later, "iteration": 2, **changed}) == wanted


def test_the_floor_holds_back_facts_novelty_and_verdicts() -> None:
    enough = {"facts": 30, "coverage": 0.8}
    assert reason(iteration=1, **enough) is None
    assert reason(iteration=2, **enough) == "max_facts"
    assert reason(iteration=1, streak=2) is None
    assert reason(iteration=1, verdict=SURE, new_facts=0) is None
    without = msgspec.structs.replace(SETTINGS, early_stop_min_iterations=0)
    assert reason(without, iteration=1, streak=2) == "novelty_exhausted"
    assert reason(without, iteration=1, coverage=1.0, score=1.0) is None


def test_a_verdict_alone_is_never_enough() -> None:
    assert reason(verdict=SURE, coverage=0.5, new_facts=3) is None
    assert reason(verdict=SURE, coverage=0.5, new_facts=0) == "llm_confident"
    medium = Verdict(should_continue=False, confidence="medium")
    assert reason(verdict=medium, new_facts=0) is None
    on = Verdict(should_continue=True, confidence="high")
    assert reason(verdict=on, new_facts=0, coverage=1.0) is None
    lenient = msgspec.structs.replace(SETTINGS, stop_confidence_required="medium")
    assert reason(lenient, verdict=medium, new_facts=0) == "llm_confident"
