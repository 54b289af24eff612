"""Processes with one store: what one forgets, no other writes back."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import forked
from serve_process import Process, started

WORD = "Sandpiperwick"
ASKED = {"query": "which word opens the lock gate?", "context": True}


def _files_with_word(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if WORD.encode() in path.read_bytes()]


def _forget(folder: Path, other: Process | None, id: str) -> None:
    if other is not None:
        status, document = other.ask("POST", "forget", {"ids": id, "confirm": True})
        assert (status, document["residues"]) == (200, 0)
        return
    words = ["memory", "forget", id, "--yes", "--config", str(folder / "vestig.yaml")]
    made = forked.run(words, env=os.environ)
    assert made.returncode == 0, made.stderr


@pytest.mark.slow
@pytest.mark.parametrize("by", ["another server", "a command"])
def test_a_server_writes_back_nothing_that_another_process_forgot(tmp_path: Path, by: str) -> None:
    folder, log = tmp_path / "store", ", audit_payloads: true"
    with started(tmp_path, more=log) as server, started(tmp_path, more=log) as other:
        id = server.ask("POST", "commit", {"content": f"The lock gate opens to {WORD} alone."})[1]
        server.ask("POST", "commit", {"content": "The crane lifts forty tonnes."})
        assert WORD in server.ask("POST", "recall", ASKED)[1]["context"]["text"]
        _forget(tmp_path, other if by == "another server" else None, id["memory_id"])
        time.sleep(2)
        assert _files_with_word(folder) == []
        assert server.stop() == other.stop() == 0
    assert _files_with_word(folder) == []
