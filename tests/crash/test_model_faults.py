"""A language model that fails most of the time, in processes that end without warning."""

from __future__ import annotations

from pathlib import Path

import pytest
from models import judge, models, open_store, text_of
from outcome import Outcome

from vestig.testing import FrozenClock


@pytest.mark.slow
def test_a_failing_model_and_kills_lose_no_memory_and_double_no_job(tmp_path: Path) -> None:
    outcome = models(tmp_path, 20)
    assert outcome.broken == []
    assert outcome.acknowledged == 20
    assert outcome.also["processes"] > 2


def test_the_judge_sees_jobs_that_were_not_done(tmp_path: Path) -> None:
    outcome = Outcome(trial="models", size="1 memory")
    with open_store(tmp_path / "store", FrozenClock(), 1) as store:
        store.commit(text_of(0), trigger="problem-solution")
        store.commit(text_of(7), enrich=False)
        judge(store, 1, outcome)
    found = [what.partition(":")[0] for what in outcome.broken]
    assert found == ["twice", "twice", "half", "half", "half", "half"]
