"""Many writers and readers, stopped and killed; the checker against its faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from crowd import crowd


@pytest.mark.slow
def test_readers_see_whole_commits_and_are_never_blocked(tmp_path: Path) -> None:
    outcome = crowd(tmp_path, seconds=8)
    assert outcome.broken == []
    assert outcome.acknowledged > 20
    assert min(outcome.also[what] for what in ("reads", "SIGSTOP", "SIGKILL")) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "column"), [("apart", "half"), ("slow", "blocked"), ("backwards", "silent")]
)
def test_the_checker_sees(tmp_path: Path, fault: str, column: str) -> None:
    """A commit in two transactions; a read beyond the limit; a reader that goes back in time.

    A busy machine may start its processes too late for the short run to hold any fault."""
    others = {"lost", "half", "blocked", "silent", "crashes"} - {column}
    for seconds in (3, 12, 40):
        folder = tmp_path / str(seconds)
        folder.mkdir()
        outcome = crowd(folder, seconds=seconds, writers=2, readers=2, fault=fault)
        assert [name for name in others if getattr(outcome, name)] == []
        if getattr(outcome, column) > 0:
            return
    pytest.fail(f"{fault} was not seen in {seconds} s: {outcome}")
