"""Rules: a check of an action at 200 rules, in a store and by the matcher alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.calls.condition import parse_condition
from vestig.rules.matcher import Action, CompiledRule, RuleSet

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
    "edit": {"tool": "Edit", "path": ["/srv/app/src/other/main.py"], "text": "a line\n" * 300},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vestig.Vestig]:
    place: Path = tmp_path_factory.mktemp("rules") / "store"
    with vestig.open(place) as opened:
        for number, when in enumerate(CONDITIONS):
            opened.rules.add(f"Rule number {number * 7919} of the harbour", when, "ask")
        yield opened


@pytest.mark.parametrize("kind", ACTIONS)
def test_check(benchmark: Any, store: vestig.Vestig, kind: str) -> None:
    assert benchmark(store.rules.check, **ACTIONS[kind]).decision is None


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
