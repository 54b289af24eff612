"""Why an action is reminded of, asked about or denied, in words."""

from __future__ import annotations

from typing import Final

from vestig.calls.rules import DECISIONS
from vestig.rules.values import RuleCheck

_NAMED_MAX: Final = 3


def reasons(found: RuleCheck) -> list[str]:
    """Lines that say which rules an action meets: those that are certain first, the strongest of
    them before the others, three at most. Where none that is certain decides, why comes first."""
    ranked = sorted(found.fired, key=lambda one: (not one.certain, -DECISIONS.index(one.do)))
    lines = [f"Rule of the user ({one.id}): {one.text}" for one in ranked[:_NAMED_MAX]]
    if len(ranked) > _NAMED_MAX:
        lines.append(f"and {len(ranked) - _NAMED_MAX} more")
    if found.unread is None:
        return lines
    if any(one.certain and one.do == found.decision for one in ranked):
        return [*lines, f"What else the line runs is not certain: {found.unread}."]
    return [f"What the line runs is not certain: {found.unread}. It may be against:", *lines]
