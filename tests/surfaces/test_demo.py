"""The tour runs offline on a temporary store and says what happens."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from vestig.surfaces.cli import run


def test_demo_is_offline_and_ends_well(capfd: pytest.CaptureFixture[str]) -> None:
    """The suite refuses every connection that would leave the machine."""
    assert run(["demo"]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert "\x1b" not in out, "colours only on a terminal"
    for part in (
        "known already: counted",
        "says the same as “The staging database runs on port 5433”",
        "it may update “The staging database runs on port 5433”",
        "similar (0.9",
        "stored under kofi.city, in the place of “Kofi lives in Accra”",
        "kofi.city: “Kofi lives in Porto”",
        "port 5433” → “The staging database runs on port 5434”",
        "refused: Content too short: 6 chars (minimum: 12, or two words that say something)",
        "kept as “The password of the guest network is [secret:password]”",
        "because the database moved",
        "found after opening again: “The incident channel is called red-phone”",
        "Done in ",
    ):
        assert part in out, part
    now, past = out.split("? Which port does the staging database use?")[1:3]
    assert "port 5434" in now.splitlines()[2]
    assert "port 5433" in past.splitlines()[2]
    ten_days_ago = datetime.now(UTC) - timedelta(days=10)
    assert f"as of {ten_days_ago:%Y-%m-%d}" in past
    assert "mem_" not in out, "sentences, no ids"
    sure = [asked.splitlines()[1].split()[0] for asked in out.split("   ? ")[1:]]
    assert sure == ["likely"] * 4
    for asked in out.split("   ? ")[1:]:
        best, next_one = (float(asked.splitlines()[line].split()[0]) for line in (2, 4))
        assert best > 50 * next_one
    checks = out.partition("11. The doctor")[2].splitlines()
    assert len(checks[1:-1]) == 3


def test_demo_ignores_settings_from_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "vestig.yaml").write_text("embedding: {provider: openai, model: m}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VESTIG_EMBEDDING__PROVIDER", "openai")
    assert run(["demo", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["schema"] == "vestig/demo/1"
    assert len(document["steps"]) == 11
    assert document["kept"] is None
    assert [p.name for p in tmp_path.iterdir()] == ["vestig.yaml"]


def test_demo_keeps_its_store_when_asked(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--keep", "--json"]) == 0
    kept = json.loads(capfd.readouterr().out)["kept"]
    try:
        assert run(["memory", "list", "--store", kept, "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["total"] > 10
    finally:
        shutil.rmtree(Path(kept).parent)
