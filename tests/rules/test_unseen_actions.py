"""Sixty rules and six hundred actions, written and labelled by somebody who knew docs/rules.md and
had not seen the matcher: `unseen_actions.jsonl` says which rules fire at each action."""

from __future__ import annotations

import json
from pathlib import Path

import vestig
from vestig.testing import HashingEmbedder

ROWS = Path(__file__).with_name("unseen_actions.jsonl")


def test_no_rule_is_missed_and_no_action_is_held_up_for_nothing() -> None:
    rows = [json.loads(line) for line in ROWS.read_text("utf-8").splitlines()]
    actions = [row for row in rows if "action" in row]
    with vestig.open(":memory:", embedder=HashingEmbedder(32)) as store:
        rules = [store.rules.add(**row["rule"]).id for row in rows if "rule" in row]
        assert (len(rules), len(actions)) == (60, 600)
        for row in actions:
            checked = store.rules.check(**row["action"])
            fired = {rules.index(rule.id) for rule in checked.fired}
            assert not set(row["fires"]) - fired, row
            # what comes from an input may complete a rule, which then asks at most, and says so
            more = fired - set(row["fires"])
            assert not more or (checked.unread and checked.decision != "deny"), row
