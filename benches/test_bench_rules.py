"""Rules: a check of an action at 200 rules, in a store, by the matcher alone, and by a server that
an editor's hook asks.

Napkin: a line is split once; of 200 rules nearly none is decided, for a text or a program that each
needs is not there. A server reads the event and the state of the project, which no check does.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vestig
from conftest import report, slowness, yardstick_ms
from vestig.calls.condition import parse_condition
from vestig.repository.project import project_scope
from vestig.rules.matcher import Action, CompiledRule, RuleSet
from vestig.surfaces.cli.opening import configuration
from vestig.surfaces.hooks import client
from vestig.surfaces.hooks.server import HookServer

CHECK_BAR_MS = 0.2
SERVED_BAR_MS = 5.0
CONDITIONS = [
    *(f'tool = Bash and command ~ "deploy{n}*prod*"' for n in range(100)),
    *(f'tool in (Edit, Write) and path ~ "src/{n}/*"' for n in range(70)),
    *(f'text ~ "secret{n}*"' for n in range(30)),
]
ACTIONS: dict[str, dict[str, Any]] = {
    "command": {
        "tool": "Bash",
        "command": "cd /srv/app && RAILS_ENV=staging bundle exec rake db:migrate 2>&1 | tee x.log",
    },
    "wrapped": {
        "tool": "Bash",
        "command": "git ls-files '*.rb' | xargs -0 -n 10 sudo -u deploy env RAILS_ENV=staging nice"
        " timeout 60 bundle exec rubocop --format simple",
    },
    "filled": {
        "tool": "Bash",
        "command": "cat hosts | xargs -I{} timeout 30 ssh {} 'sudo systemctl status app && df -h'",
    },
    "edit": {"tool": "Edit", "path": ["/srv/app/src/other/main.py"], "text": "a line\n" * 300},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vestig.Vestig]:
    place: Path = tmp_path_factory.mktemp("rules") / "store"
    with vestig.open(place) as opened:
        for number, when in enumerate(CONDITIONS):
            opened.rules.add(f"Rule number {number * 7919} of the harbour", when, "ask")
        yield opened


def said(name: str, benchmark: Any, bar_ms: float) -> None:
    slow = slowness(1_000)
    report(
        name,
        benchmark,
        yardstick=yardstick_ms(1_000),
        bar=bar_ms * slow,
        note=f"{len(CONDITIONS)} rules; bar × {slow:.1f}",
    )


@pytest.mark.parametrize("kind", ACTIONS)
def test_check(benchmark: Any, store: vestig.Vestig, kind: str) -> None:
    assert benchmark(store.rules.check, **ACTIONS[kind]).decision is None
    said(f"rules.check, {kind}", benchmark, CHECK_BAR_MS)


@pytest.mark.parametrize("kind", ACTIONS)
def test_match(benchmark: Any, kind: str) -> None:
    rules = RuleSet(
        (when, CompiledRule(parse_condition("when", when), None)) for when in CONDITIONS
    )
    given = ACTIONS[kind]

    def match() -> object:
        return rules.decide(
            Action(
                given["tool"], given.get("path", ()), given.get("command"), text=given.get("text")
            )
        )

    assert benchmark(match) == []


@pytest.mark.parametrize("kind", ACTIONS)
def test_served(
    benchmark: Any, store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The client's question to a server, from its connection to the end of the answer."""
    runtime = tempfile.mkdtemp(prefix="v", dir="/tmp")
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    options = {"store": str(store._session.config.settings.store.path)}
    scope, settings = project_scope(Path.cwd()), configuration(options).settings
    given = {name: value for name, value in ACTIONS[kind].items() if name != "tool"}
    path = given.pop("path", None)
    told = {
        "cwd": os.getcwd(),
        "tool_name": ACTIONS[kind]["tool"],
        "tool_input": given if path is None else {"file_path": path[0], "content": given["text"]},
    }
    event = json.dumps(told).encode()
    words = ["hook", "PreToolUse", "--store", options["store"]]
    with HookServer(options, settings, store, scope):
        (socket,) = client._servers(words[2:])

        def ask() -> bytes | None:
            return client._answer(socket, words, event, time.monotonic() + 5)

        assert benchmark(ask) == b""
    shutil.rmtree(runtime)
    said(f"rules beside a server, {kind}", benchmark, SERVED_BAR_MS)
