"""Keys of logs and traces, each with what can be seen of it."""

from __future__ import annotations

import io
import sys
from typing import Any, Final

import msgspec
from world import Act, World

from vestig.surfaces.cli import run

__all__ = ["OBSERVED"]


def logged(world: World) -> Any:
    """Level and form of what a command says on standard error."""
    path = world.folder / "vestig.json.yaml"
    settings = {**world.overrides, "store.path": str(world.folder / "store")}
    settings["embedding.provider"] = "hashing"
    path.write_bytes(msgspec.json.encode(settings))
    stream = io.StringIO()
    world.monkeypatch.setattr(sys, "stderr", stream)
    run(["count", "--config", str(path)])
    return [line[:6] for line in stream.getvalue().splitlines() if "operation" in line]


def traced(world: World) -> Any:
    """Files of traces after some calls."""
    world.monkeypatch.chdir(world.folder)
    store = world.open()
    for _ in range(8):
        store.count()
    return sorted(path.name for path in world.folder.glob("t.jsonl*"))


_FILE: Final = {"telemetry.trace_file": "t.jsonl"}
OBSERVED: Final[dict[str, Act]] = {
    "telemetry.log_level": Act("DEBUG", logged),
    "telemetry.log_format": Act("json", logged, {"telemetry.log_level": "DEBUG"}),
    "telemetry.trace_file": Act("t.jsonl", traced),
}
