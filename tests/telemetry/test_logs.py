"""Log records: silent in a library, configured in a command."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import vestig
from command_lines import Answer, run_line
from scripted import Opener
from vestig.telemetry import log_event, logs_to
from vestig.testing import HashingEmbedder

TEXT = "The staging database runs on port 5433"
LIBRARY = """
import sys, vestig
from vestig.testing import HashingEmbedder
with vestig.open(sys.argv[1], embedder=HashingEmbedder(8),
                 config={"telemetry.trace_file": "/dev/full"}) as store:
    store.commit("The staging database runs on port 5433")
    try:
        store.show("mem_00000000-0000-4000-8000-000000000000")
    except vestig.NotFoundError:
        print("done")
"""


@pytest.fixture
def line(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Answer]:
    def run(*words: str, **settings: str) -> Answer:
        for name, value in settings.items():
            monkeypatch.setenv(f"VESTIG_TELEMETRY__{name.upper()}", value)
        return run_line(capfd, tmp_path / "above" / "s", words)

    (tmp_path / "above").mkdir()
    return run


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_library_is_silent(tmp_path: Path) -> None:
    """Even of what is a warning, until the program attaches a handler."""
    done = subprocess.run(
        [sys.executable, "-c", LIBRARY, str(tmp_path / "store")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_an_attached_handler_gets_structured_records(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="vestig")
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(8)) as store:
        store.commit(TEXT)
        with pytest.raises(vestig.NotFoundError):
            store.show("mem_00000000-0000-4000-8000-000000000000")
    commit, show = [one for one in caplog.records if one.message == "operation"]
    assert (commit.name, commit.levelno, show.levelno) == ("vestig", logging.DEBUG, logging.INFO)
    fields = commit.vestig  # type: ignore[attr-defined]
    assert (fields["operation"], fields["ok"]) == ("commit", True)
    assert {"extract", "embed", "write"} <= {one["name"] for one in fields["spans"]}
    assert fields["duration_ms"] > 0
    failed = show.vestig  # type: ignore[attr-defined]
    assert (failed["code"], failed["error_type"]) == ("not-found", "unknown")


def test_a_hook_that_raises_is_a_warning(opener: Opener, caplog: pytest.LogCaptureFixture) -> None:
    """A commit returns as usual, and names what the hook raised in `degraded` alone."""

    def hook(_: object) -> None:
        raise KeyError("port 5433")

    opener("s").commit(TEXT, on_commit=hook)
    (record,) = [one for one in caplog.records if one.name == "vestig"]
    assert (record.levelno, record.message) == (logging.WARNING, "hook_failed")
    assert record.vestig == {"error_type": "KeyError"}  # type: ignore[attr-defined]


def test_a_command_says_nothing_below_a_warning(line: Callable[..., Answer]) -> None:
    assert line("add", TEXT).err == ""
    assert line("recall", "which port?").err == ""


def test_levels_and_formats(line: Callable[..., Answer]) -> None:
    text = line("add", TEXT, log_level="DEBUG").err.splitlines()
    assert text[-1].startswith("DEBUG vestig: operation operation=commit ok=True duration_ms=")
    assert "embed=" in text[-1]
    found = line("recall", "which port?", log_format="json").err.splitlines()
    last = json.loads(found[-1])
    assert (last["level"], last["event"], last["operation"]) == ("DEBUG", "operation", "recall")
    assert line("show", "mem_00000000-0000-4000-8000-000000000000", log_level="INFO").code == 1
    assert line("recall", "which port?", log_level="ERROR").err == ""
    assert logging.getLogger("vestig").level == logging.NOTSET


class _Closed(io.StringIO):
    def write(self, _: str) -> int:
        raise OSError("gone")


def test_a_record_that_cannot_be_written_fails_nothing() -> None:
    with logs_to(_Closed(), level="DEBUG", format="json"):
        log_event(logging.ERROR, "degraded", code="x")
    with logs_to(None, level="DEBUG", format="text"):
        log_event(logging.ERROR, "degraded", code="x")
