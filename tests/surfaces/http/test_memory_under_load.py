"""Ten minutes of requests leave a server as large as it was after the first two."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MINUTES = 10
GROWTH_KB_MAX = 20_000


@pytest.mark.torture
def test_memory_stays_flat_under_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    import load
    from generator import stream

    store = load.filled(tmp_path, 1_000)
    sizes: list[int] = []
    with load.server(store) as (port, pid):
        # commits grow the store, and what is kept of it in memory with it: recalls alone
        monkeypatch.setattr(load, "COMMITS", 0.0)
        mix = load.Mix(5, stream(10_000, seed=11))
        end = time.monotonic() + MINUTES * 60
        while time.monotonic() < end:
            asyncio.run(load.open_loop(port, mix, 20.0, 60.0, len(sizes)))
            sizes.append(load.resident_kb(pid))
    settled = max(sizes[: max(2, len(sizes) // 5)])
    assert max(sizes) - settled < GROWTH_KB_MAX, sizes
