"""A process that reads turns and a document with a scripted model, and ends without warning.

    python cognify_writer.py STORE STATEMENT DAYS

It kills itself before its STATEMENT-th statement of the reading; 0 = not at all. DAYS: how far its
clock is behind the start, so that a later run finds the leases of an earlier one over. At the end
it says how many statements ran.
"""

from __future__ import annotations

import sys
from typing import Any

from claim_writer import Statements
from writer import open_store, say

import vestig
from read_by_model import QUIET, claim, document, entity, found, shown
from read_by_model import say as tell
from vestig.ports import ModelRequest
from vestig.testing import FrozenClock, ScriptedModel

TURNS = (
    "I moved to Oslo and work at Acme now",
    "Bo still works at Acme in Bergen",
    "On Sundays I row on the fjord",
    "In May I left Acme for Globex",
)
PASSAGES = tuple(f"Valve {n} of the pump house opens with key {n * 13}" for n in range(1, 8))


def read(request: ModelRequest) -> Any:
    """Claims that repeat, replace and relate; and a summary."""
    if request.purpose == "summarize_document":
        point = {"text": "Each valve has its key", "from": [1, 3]}
        return {"title": "The valves", "overview": "It lists valves.", "bullets": [point]}
    items: list[dict[str, Any]] = [entity("Ann"), entity("Bo"), entity("Acme", "ORG")]
    for one in shown(request):
        text, number = one["text"], one["number"]
        if "Acme" in text:
            who = "Bo" if text.startswith("Bo") else "Ann"
            at = "Globex" if "Globex" in text else "Acme"
            items.append(
                claim(f"{who} works at {at}", number, subject=who, fact_type="WORKS_AT",
                      object=at, attributes={"organization": at}, t_valid=one["date"])
            )  # fmt: skip
            items.append(
                claim("Acme is an employer", number, subject="Acme", fact_type="IS",
                      object="an employer", quote="Acme")
            )  # fmt: skip
        else:
            items.append(claim(f"It is noted that {text.lower()}", number, object=text))
    return found(*items)


def opened(path: str, days: int) -> vestig.Vestig:
    """The store, with windows of two turns and one call at a time."""
    clock = FrozenClock()
    clock.move(days=days)
    config = {**QUIET, "cognify.turns": 2, "cognify.window_chars": 130, "enrichment.workers": 1}
    return open_store(path, clock=clock, llm=ScriptedModel(read), config=config)


def fill(store: vestig.Vestig) -> None:
    """Turns and a document that nobody has read."""
    for at, text in enumerate(TURNS):
        tell(store, [text], start=at, t_valid=f"2025-0{at + 1}-01")
    document(store, PASSAGES)


def main(path: str, statement: int, days: int) -> None:
    """Reads all that is left."""
    store = opened(path, days)
    statements = Statements(statement)
    store.cognify()
    say(".", str(statements.ran))
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
