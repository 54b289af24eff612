"""An import that was killed ends, run again, as one that was not."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vestig
from chats import conversation, message, tree
from vestig.testing import HashingEmbedder

TURNS, PER_CHAT = 2_600, 65

IMPORT = """
import os, signal, sys, vestig
from vestig.testing import HashingEmbedder
calls = 0
def progress(done, total):
    global calls
    calls += 1
    if calls == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
with vestig.open(sys.argv[1], embedder=HashingEmbedder()) as store:
    store.import_(sys.argv[2], progress=progress)
"""


def written(path: Path) -> Path:
    chats = []
    for number in range(TURNS // PER_CHAT):
        nodes: list[Any] = [("root", None, None)]
        for place in range(PER_CHAT):
            role = "user" if place % 2 == 0 else "assistant"
            text = f"Turn {place} of chat {number} is about rope {number * place % 97}"
            id = f"{number}-{place}"
            nodes.append((id, nodes[-1][0], message(id, role, text, create_time=place + 1.0)))
        chats.append(conversation(f"chat-{number}", "Ropes", tree(*nodes), nodes[-1][0]))
    path.write_text(json.dumps(chats))
    return path


def held(path: Path) -> list[Any]:
    with vestig.open(path, embedder=HashingEmbedder()) as store:
        assert store.admin.doctor().exit_code == 0
        return sorted(
            (one.session_id, one.sequence, one.content, one.role, one.t_valid, one.reinforce_count)
            for page in range(0, TURNS, 1_000)
            for one in store.list(limit=1_000, offset=page)
        )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """A file, and what an import of it that nothing ended holds."""
    folder = tmp_path_factory.mktemp("whole")
    file = written(folder / "conversations.json")
    with vestig.open(folder / "store", embedder=HashingEmbedder()) as store:
        assert store.import_(file).imported == TURNS
    return file, held(folder / "store")


@pytest.mark.slow
@pytest.mark.parametrize("groups", [pytest.param(1, marks=pytest.mark.torture), 2])
def test_a_killed_import_goes_on(
    groups: int, whole: tuple[Path, list[Any]], tmp_path: Path
) -> None:
    file, wanted = whole
    killed = tmp_path / "killed"
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, str(killed), str(file), str(groups)], check=False
    )
    assert done.returncode == -signal.SIGKILL
    with vestig.open(killed, embedder=HashingEmbedder()) as store:
        begun = store.count()
        assert 0 < begun < TURNS
        again = store.import_(file)
        assert (again.skipped, again.imported, again.failed) == (begun, TURNS - begun, 0)
    assert held(killed) == wanted
