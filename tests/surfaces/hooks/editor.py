"""An editor that starts hooks, with a project, transcripts and a store of its own."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forked
import vestig

SCOPE = "project:host.example/acme/rocket"
# what a busy machine needs to start is no part of these tests
_CALL = (
    "import sys\n"
    "from vestig.surfaces.hooks import client\n"
    "from vestig.surfaces.cli import run\n"
    "client.TIME_LIMIT_S = client.ACTION_TIME_LIMIT_S = {limit}\n"
    "sys.exit(run(sys.argv[1:]))"
)


class Editor:
    """Sessions on one project. `state`: of the user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "rocket"
        git = self.project / ".git"
        git.mkdir(parents=True)
        (git / "config").write_text('[remote "origin"]\n\turl = git@host.example:acme/rocket.git\n')
        self.store = folder / "store"
        self.config = folder / "vestig.yaml"
        self.config.write_text(
            "embedding: {provider: hashing, dimension: 64}\n"
            "recall: {silence: 1}\n"
            f"store: {{path: {json.dumps(str(self.store))}}}\n"
        )
        self.transcripts = folder / "transcripts"
        self.transcripts.mkdir()
        self.state = folder / "state"

    def hook(
        self, event: str, session: str, *, limit: float = 60, **told: Any
    ) -> subprocess.CompletedProcess[str]:
        """The process of one event, ended."""
        known = {
            "session_id": session,
            "transcript_path": str(self.transcript(session)),
            "cwd": str(self.project),
            "hook_event_name": event,
        }
        return self.run(json.dumps(known | told), "hook", event, limit=limit)

    def run(
        self, text: str, *words: str, limit: float = 60, stdin: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        """One command line."""
        code = _CALL.format(limit=limit)
        line = [*words, "--config", str(self.config)]
        return forked.run(line, code=code, env=self.environment(), input=text, stdin=stdin)

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CLAUDE")}
        return kept | {"XDG_STATE_HOME": str(self.state), "HOME": str(self.folder)}

    def shown(self, event: str, session: str, **told: Any) -> str:
        """The block that an event brings; "" for none."""
        ended = self.hook(event, session, **told)
        assert (ended.returncode, ended.stderr) == (0, "")
        if not ended.stdout:
            return ""
        answer = json.loads(ended.stdout)
        assert list(answer) == ["hookSpecificOutput"]
        assert answer["hookSpecificOutput"]["hookEventName"] == event
        block = str(answer["hookSpecificOutput"]["additionalContext"])
        assert block.startswith("Quoted data")
        return block

    def transcript(self, session: str) -> Path:
        return self.transcripts / f"{session}.jsonl"

    def said(self, session: str, *texts: str, **row: Any) -> None:
        """Appends turns of user and assistant in turn to the transcript."""
        with self.transcript(session).open("a") as file:
            for number, text in enumerate(texts):
                role = ("user", "assistant")[number % 2]
                line = {
                    "type": role,
                    "uuid": f"{session}-{text[:40]}",
                    "sessionId": session,
                    "timestamp": "2026-03-02T10:00:00Z",
                    "cwd": str(self.project),
                    "message": {"role": role, "content": text},
                }
                file.write(json.dumps(line | row) + "\n")

    def log(self) -> list[dict[str, Any]]:
        """The lines of the log beside the ledger."""
        path = self.store / "hooks.log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def wait_for(self, holds: Callable[[], Any], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, self.log()
            time.sleep(0.05)

    def read(self, event: str, session: str, **told: Any) -> None:
        """An event after which the transcript is read, to the end of the reading."""
        before = len(self.readings())
        assert self.shown(event, session, **told) == ""
        self.wait_for(lambda: len(self.readings()) > before)

    def readings(self) -> list[dict[str, Any]]:
        return [one for one in self.log() if one["event"] == "transcript"]

    def memories(self) -> dict[str, str | None]:
        """Text → scope of all that is stored."""
        with vestig.open(config=self.config) as store:
            return {one.content: one.scope for one in store.list(limit=1_000)}

    def events(self) -> int:
        with vestig.open(config=self.config) as store:
            return store.admin.stats().events
