"""People's chats, agents' sessions and documents in one store, and the weights to rank them by."""

from __future__ import annotations

from typing import Any, Final

import vestig
from vestig.config.signals import KINDS, switch_of
from vestig.config.weights import SIGNALS
from vestig.testing import FrozenClock

# Only the sum of the terms ranks: every memory competes, and nothing walks or counts use.
PLAIN: Final[dict[str, Any]] = {
    "hygiene.near_duplicate.enabled": False,
    "links.related.enabled": False,
    "ranking.pool": "all",
    "walk.enabled": False,
    "ranking.tracerank_power": 0.0,
}
# (author, text) of a chat that began on 2026-02-01
CHAT: Final = (
    ("Ann", "Did you paint the old boat, and which colour did you take?"),
    ("Bob", "Bright red, as my father had it."),
    ("Ann", "I met Grace Hopper and Ada Lovelace on 3 February 2026, and two of her friends."),
    ("Bob", "How lovely! We stayed at home since last week."),
    ("Cid", "Nobody of us saw Grace Hopper."),
    ("Ann", "Somebody said that Bob talks about boats too much."),
)
AGENT: Final = (
    ("user", "Please paint the chart of the colours of boats."),
    ("assistant", "Here is the chart, in three colours and with a legend."),
    ("user", "Who is Grace Hopper?"),
)
# (title, text)
DOCUMENTS: Final = (
    ("Grace Hopper", "Nothing of the harbour was known at that time to anybody."),
    (None, "The navy gave a boat to Grace Hopper, who wrote the first compiler."),
    (None, "One of the readers of that compiler was Ada Lovelace."),
)
QUESTION: Final = "When and where did Ann meet how many friends of Grace Hopper in February?"


def weighed(value: float, *names: str) -> dict[str, Any]:
    """These terms are on and weigh so much for every kind; no other weighs anything."""
    found: dict[str, Any] = {
        f"ranking.weights.{kind}.{name}": 0.0 for kind in KINDS for name in ("bias", *SIGNALS)
    }
    found |= {f"signals.{switch_of(name)}.enabled": True for name in names if switch_of(name)}
    return found | {f"ranking.weights.{kind}.{name}": value for kind in KINDS for name in names}


def commit_texts(store: vestig.Vestig, clock: FrozenClock) -> None:
    """Fills a store."""
    for place, (author, text) in enumerate(CHAT):
        day = f"2026-02-{place + 1:02}"
        store.commit(text, author=author, session_id="chat", sequence=place, t_valid=day)
        clock.move(minutes=1)
    for place, (role, text) in enumerate(AGENT):
        store.commit(text, role=role, session_id="agent", sequence=place, t_valid="2026-03-01")
    for title, text in DOCUMENTS:
        store.commit(
            text, title=title, provenance={"origin_type": "document"}, t_valid="2025-02-14"
        )
    store.commit("A note on the colour of the old boat.")
    clock.move(minutes=1)
