"""`doctor --clock`: a ledger that lies ahead is put right."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from command_answers import Vestig

from vestig import open as opened
from vestig.testing import FrozenClock, HashingEmbedder


def clock_line(out: str) -> str:
    (line,) = [line for line in out.split("\n") if line.split()[1:2] == ["clock"]]
    return line


def test_doctor_names_a_ledger_that_lies_ahead_and_puts_it_right(
    vestig: Vestig, tmp_path: Path
) -> None:
    later = FrozenClock(datetime.now(UTC) + timedelta(days=400))
    with opened(tmp_path / "store", clock=later, embedder=HashingEmbedder(64)) as store:
        id = store.commit("The archive was moved under a wrong clock").memory_id
    before = vestig("doctor")
    assert before.code == 1
    assert "ahead" in clock_line(before.out)
    assert "vestig doctor --clock" in clock_line(before.out)
    said = vestig("memory", "add", "The keys hang beside the door", "--json").document
    assert [one["code"] for one in said["degraded"]] == ["clock_stepped_back"]
    after = vestig("doctor", "--clock")
    assert "it was corrected once" in clock_line(after.out)
    assert "ahead:" not in clock_line(after.out)
    fresh = vestig("memory", "add", "Ada has the other keys", "--json").document
    assert fresh["degraded"] == []
    shown = vestig("memory", "show", fresh["memory_id"], "--json").document
    assert shown["t_created"][:4] == str(datetime.now(UTC).year)
    assert vestig("memory", "show", id, "--json").code == 0
    assert "it was corrected once" in clock_line(vestig("doctor", "--clock").out)
