"""Keys of an editor's hooks, each with what can be seen of it."""

from __future__ import annotations

import io
import json
import sys
from typing import Any, Final

from world import Act, World

from vestig.ids import repeatable_ids
from vestig.surfaces.hooks import events

__all__ = ["HOOKED"]


def shown_at_a_prompt(world: World) -> Any:
    """Characters of the block that a prompt brings; None where it brings none."""
    with repeatable_ids("hooks"), world.open() as store:
        for number in range(5):
            store.commit(f"Plan {number} of the move to Oslo: " + "pack the boxes here. " * 80)
    told = {"prompt": "Which boxes do we pack for the move to Oslo?", "cwd": str(world.folder)}
    world.monkeypatch.setattr(events, "configuration", lambda *_: world.config)
    given = io.TextIOWrapper(io.BytesIO(json.dumps(told).encode()))
    world.monkeypatch.setattr(sys, "stdin", given)
    world.monkeypatch.setattr(events, "process_age_s", lambda: 0.0)
    answer = events.answer_event("UserPromptSubmit", {})
    return None if answer is None else len(answer["hookSpecificOutput"]["additionalContext"])


_HASHED: Final = {"embedding.provider": "hashing", "recall.silence": 1.0}

HOOKED: Final = {
    "hooks.budget": Act(200, shown_at_a_prompt, base=_HASHED),
}
