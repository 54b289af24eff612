"""Keys of retrieval, each with what can be seen of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from world import Act, World

import vestig
from vestig.config.recall_sections import RetrieveSettings
from vestig.retrieve.messages import message_blacklist
from vestig.retrieve.queries import fallback_queries, synonyms
from vestig.testing import HashingEmbedder, ScriptedModel

__all__ = ["RETRIEVE"]

_MESSAGE: Final = "Which developer broke the kubernetes deployment of the billing service?"


def settings(world: World) -> RetrieveSettings:
    return world.config.settings.retrieve


def queries(world: World) -> Any:
    own = settings(world)
    return fallback_queries(
        _MESSAGE,
        max_queries=own.fallback_max_queries,
        max_length=own.fallback_max_query_length,
        synonym_table=synonyms(own.synonyms),
    )


def trivial(world: World) -> Any:
    (world.folder / "terms.txt").write_text("splendid\n")
    listed, warning = message_blacklist(settings(world).message_blacklist)
    return [listed.covers(text) for text in ("splendid!", "thanks")], warning


_TEXTS: Final = (
    "The billing service runs on kubernetes",
    "Grace maintains the billing service",
    "The kubernetes cluster stands in Oslo",
    "A developer broke the deployment on Friday",
    "Soup is cooked on Mondays",
    "The piano was tuned in spring",
)


def found(world: World, *contents: str, **options: Any) -> Any:
    """A retrieval over a few notes and turns."""
    texts = {text: (6 - place) / 10 for place, text in enumerate(_TEXTS)}
    store = world.open({**texts, _MESSAGE: 1.0}, **options.pop("open", {}))
    store.commit_many(_TEXTS)
    for place in range(3):
        text = f"I looked at the deployment {place} times"
        store.commit(text, author="Al", session_id="s", sequence=place)
    talk = [{"content": text} for text in (*contents, _MESSAGE)]
    return store.retrieve(talk, request_id="r", debug=True, **options)


def counts(world: World) -> Any:
    made = found(world)
    return len(made.facts), len(made.messages)


def rounds(world: World) -> Any:
    made = found(world, max_facts=2).metadata
    return made.iterations_used, made.stop_reason, made.novelty_streak_without_gain


def patient(world: World) -> Any:
    made = found(world).metadata
    return made.iterations_used, made.stop_reason


def purposes(world: World) -> Any:
    model = ScriptedModel(
        {
            "plan_queries": {"goal": "who", "queries": ["soup", "piano"]},
            "stop_verdict": {"should_continue": False, "confidence": "medium"},
            "context_summary": "A summary.",
        }
    )
    made = found(world, open={"llm": model})
    return [one.purpose for one in model.requests], made.metadata.stop_reason


class Slow(HashingEmbedder):
    """Takes a while for each batch of queries."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if _MESSAGE in texts:
            time.sleep(0.3)
        return super().embed(texts)


def patience(world: World) -> Any:
    made = found_slowly(world).metadata
    return made.stop_reason, [call.error for call in made.tool_calls[:1]]


def found_slowly(world: World) -> Any:
    store = vestig.open(":memory:", config=world.overrides, embedder=Slow(32))
    world.opened.append(store)
    store.commit_many(_TEXTS)
    return store.retrieve([{"content": _MESSAGE}])


def weakly(observe: Callable[[World], Any]) -> Callable[[World], Any]:
    """Observes where no first round is strong, which ends a search before anything else does."""

    def observed(world: World) -> Any:
        world.monkeypatch.setattr("vestig.retrieve.confidence.HIGH", 1.0)
        return observe(world)

    return observed


RETRIEVE: Final[dict[str, Act]] = {
    "retrieve.max_facts": Act(3, counts),
    "retrieve.max_messages": Act(1, counts, {"retrieve.max_facts": 2}),
    "retrieve.max_iterations": Act(1, rounds),
    "retrieve.deadline_ms": Act(100, patience),
    "retrieve.llm": Act(False, purposes),
    "retrieve.llm_max_calls": Act(1, weakly(purposes)),
    "retrieve.early_stop_min_iterations": Act(5, weakly(rounds)),
    "retrieve.novelty_min_new_facts": Act(0, weakly(rounds)),
    "retrieve.novelty_patience": Act(1, weakly(patient)),
    "retrieve.stop_confidence_required": Act("medium", weakly(purposes)),
    "retrieve.budget": Act(40, counts),
    "retrieve.fallback_max_queries": Act(3, queries),
    "retrieve.fallback_max_query_length": Act(12, queries),
    "retrieve.synonyms": Act({"broke": ["wrecked"]}, queries),
    "retrieve.message_blacklist": Act("terms.txt", trivial),
}
