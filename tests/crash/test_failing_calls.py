"""System calls that fail: an error of Vestig, nothing lost, reading goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from trials import failing_calls


@pytest.mark.slow
def test_a_call_that_fails_loses_nothing(tmp_path: Path) -> None:
    """At creation, commit and publication."""
    outcome = failing_calls(tmp_path, 15)
    assert outcome.broken == []
    assert outcome.also["places"] > 30
    assert outcome.also["failed"] >= 12
    assert outcome.also["refused"] > 0
