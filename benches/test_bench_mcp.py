"""`vestig mcp` from its start to its first answer.

Napkin: nearly all of it is the import of the SDK, which the yardstick has too; what is ours are the
modules of Vestig, the configuration and an open store.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import vestig
from conftest import fewer, median_ms, report, slowness

BARE = "import mcp.server"
SERVE = "from vestig.surfaces.cli import main; main()"
BAR_OVER_BARE_MS = 400.0
ROUNDS = fewer(9, 3)
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


def compiled(folder: Path) -> dict[str, str]:
    """An environment in which modules are compiled once, as where they are installed."""
    kept = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept


def first_answer_ms(config: Path, env: dict[str, str]) -> float:
    """Milliseconds from the start of the process to the answer to the handshake."""
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, "mcp", "--config", str(config)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        spent = (time.perf_counter() - started) * 1_000
        assert answer["result"]["serverInfo"]["name"] == "vestig"
    return spent


def test_first_answer(benchmark: Any, tmp_path: Path) -> None:
    config = tmp_path / "vestig.yaml"
    config.write_text("store: {path: store}\n")
    with vestig.open(config=config) as store:
        store.commit("The copper kettle carries the label BKT-7")
    env = compiled(tmp_path)

    def bare() -> None:
        subprocess.run([sys.executable, "-c", BARE], check=True, env=env)

    yardstick, slow = median_ms(bare, rounds=ROUNDS, warm=1), slowness(1_000)
    benchmark.pedantic(lambda: first_answer_ms(config, env), rounds=ROUNDS, warmup_rounds=1)
    report(
        "vestig mcp: start → first answer",
        benchmark,
        yardstick=yardstick,
        bar=yardstick + BAR_OVER_BARE_MS * slow,
        note=f"yardstick: import mcp.server; the rest of the bar × {slow:.1f}",
    )
