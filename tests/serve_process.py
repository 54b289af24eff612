"""`vestig serve` as a process of its own."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import forked

__all__ = ["Process", "settings_in", "started"]


class Process(NamedTuple):
    """A server of its own."""

    running: forked.Process
    port: int

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            data = None if body is None else json.dumps(body)
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            sent["Content-Type"] = "application/json"
            link.request(method, f"/api/memory/{path}", data, sent)
            answer = link.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            link.close()

    def stop(self) -> int:
        self.running.send_signal(signal.SIGTERM)
        return self.running.wait(timeout=20)


def settings_in(folder: Path, more: str = "") -> Path:
    """A configuration whose embedder needs no model; `more`: keys of `serve`."""
    path = folder / "vestig.yaml"
    path.write_text(
        "embedding: {provider: hashing, dimension: 64}\nstore: {path: store}\n"
        f"serve: {{max_wait_ms: 20000, max_waiting: 100{more}}}\n",
        encoding="utf-8",
    )
    return path


@contextmanager
def started(folder: Path, *words: str, more: str = "", command: str = "serve") -> Iterator[Process]:
    """A server on a port that it chooses; `more`: keys of `serve`."""
    line = [command, "--port", "0", *words, "--config", str(settings_in(folder, more))]
    running = forked.Process(line, env=os.environ)
    try:
        said = running.stdout.readline().decode()
        found = re.fullmatch(r"Listening on http://127\.0\.0\.1:(\d+)\n", said)
        assert found is not None, (said, running.poll())
        yield Process(running, int(found[1]))
    finally:
        running.end()
