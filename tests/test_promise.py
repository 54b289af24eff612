"""The promises of docs/promises.md by the public interface; their trials are in tests/store/."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import vestig
from vestig.testing import HashingEmbedder

TEXT = "The vault key lies with Ines in the harbour office"
OPEN = (
    "import os, signal, sys, vestig\n"
    "from vestig.testing import HashingEmbedder\n"
    "store = vestig.open(sys.argv[1], embedder=HashingEmbedder())\n"
)


def in_another_process(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", OPEN + code, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_confirmed_memory_survives_kill_9(tmp_path: Path) -> None:
    """The process dies right after the answer, with no chance to close anything."""
    done = in_another_process(
        f"print(store.commit({TEXT!r}).memory_id, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n",
        tmp_path / "s",
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with vestig.open(tmp_path / "s", embedder=HashingEmbedder()) as store:
        assert store.show(done.stdout.strip()).memory.content == TEXT
        assert store.recall("who has the vault key?", limit=1).results[0].content == TEXT
        assert store.admin.doctor().exit_code == 0


def test_a_commit_is_recalled_at_once_by_a_process_that_was_open_before(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "s", embedder=HashingEmbedder()) as store:
        assert len(store.recall("who has the vault key?")) == 0
        done = in_another_process(f"store.commit({TEXT!r})\n", tmp_path / "s")
        assert done.returncode == 0, done.stderr
        assert [hit.content for hit in store.recall("who has the vault key?")] == [TEXT]


@pytest.mark.parametrize("harm", ["deleted", "damaged"])
def test_arrays_are_rebuilt_without_a_model_call(tmp_path: Path, harm: str) -> None:
    folder = tmp_path / "s"
    maker = HashingEmbedder()
    texts = [f"Crate {n} went to the harbour of town {n}" for n in range(40)]
    with vestig.open(folder, embedder=maker) as store:
        store.commit_many(texts)
        store.admin.rebuild()
        before = [(hit.id, hit.score) for hit in store.recall("harbour of town 7", limit=9)]
    arrays = folder / "projection"
    segments = [path for path in arrays.rglob("*") if path.is_file() and path.stat().st_size > 999]
    assert segments
    if harm == "deleted":
        shutil.rmtree(arrays)
    else:
        for path in segments:
            path.chmod(0o600)
            damaged = bytearray(path.read_bytes())
            damaged[len(damaged) // 2] ^= 0xFF
            path.write_bytes(bytes(damaged))
    silent = HashingEmbedder()
    query = bytes(maker.embed(["harbour of town 7"])[0])
    with vestig.open(folder, embedder=silent) as store:
        found = store.recall("harbour of town 7", query_vector=query, limit=9)
        assert [(hit.id, hit.score) for hit in found] == before
        assert harm == "deleted" or found.degraded[0].code == "projection_rebuilt"
        levels = {finding.check: finding.level for finding in store.admin.doctor().findings}
        assert levels["projection"] == "ok"
        assert "damage" not in levels.values()
    assert silent.call_count == 0
