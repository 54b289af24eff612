"""Keys of what a language model adds, each with what can be seen of it."""

from __future__ import annotations

import threading
from typing import Any, Final

from world import Act, World

from read_by_model import document
from vestig.ports import ModelRequest
from vestig.testing import ScriptedModel

__all__ = ["ENRICHED"]

ANSWERS: Final = {
    "extract_entities": {"entities": [{"name": "Ada", "type": "PERSON", "confidence": 1}]},
    "generate_hypothetical_queries": {"queries": ["Who was it?"]},
    "classify_stability": {"stability": "static"},
    "synthesize_query": {"query": "the colour of the key"},
}


def models_asked(world: World) -> Any:
    """Which model is asked for which prompt."""
    model = ScriptedModel(ANSWERS)
    store = world.open(llm=model)
    store.commit("The login loop was fixed by clearing cookies.", trigger="problem-solution")
    store.admin.enrich()
    return sorted((request.purpose, request.model) for request in model.requests)


def at_once(world: World) -> Any:
    """Whether two memories are asked about at the same time."""
    both, met = threading.Barrier(2), []

    def waiting(_: ModelRequest) -> Any:
        try:
            both.wait(0.5)
            met.append(True)
        except threading.BrokenBarrierError:
            met.append(False)
        return {"entities": [], "stability": "static"}

    store = world.open(llm=ScriptedModel(waiting))
    store.commit("The ferry leaves the harbour at noon.")
    store.commit("A parrot lives in the lighthouse.")
    store.admin.enrich()
    return met


def superseded(world: World) -> Any:
    """Whether a new memory replaces the older one that a model names."""
    judged = {
        "number": 1, "verdict": "supersedes", "old_value": "noon", "new_value": "six",
        "confidence": 0.95,
    }  # fmt: skip
    answers = ANSWERS | {"judge_updates": {"updates": [judged]}}
    store = world.open(llm=ScriptedModel(answers))
    store.commit("The ferry leaves the harbour at noon", t_valid="2024-01-01")
    store.commit("The ferry leaves the harbour at six", t_valid="2026-01-01")
    return store.admin.enrich().superseded


def query_of_a_conversation(world: World) -> Any:
    store = world.open(llm=ScriptedModel(ANSWERS))
    return store.recall(messages=[{"author": "Ada", "content": "And which colour?"}]).query


def names_of_a_query(world: World) -> Any:
    store = world.open(llm=ScriptedModel(ANSWERS))
    store.commit("they spoke about it", entities=["Ada"], enrich=False)
    return [one.name for one in store.recall("what was said then?").analysis.entities]


def windows_read(world: World) -> Any:
    """What a model reads of three turns and of two passages, and what of a claim is stored."""
    claim = {
        "content": "Ann keeps the key of the vault", "subject": "Ann", "fact_type": "KEEPS",
        "confidence": 0.5, "from": [1],
    }  # fmt: skip
    model = ScriptedModel({"extract_claims": {"entities": [], "claims": [claim]}})
    store = world.open(llm=model)
    for number in range(3):
        said = f"The ferry number {number} is late again"
        store.commit(said, session_id="s", sequence=number, enrich=False)
    document(store, [f"Valve {number} is made of brass" for number in range(2)])
    report = store.cognify()
    return report.windows_read, report.claims_added


def summed_up(world: World) -> Any:
    """Whether a document of six passages gets a summary."""
    point = {"text": "They are of brass", "from": [1]}
    answers = {
        "extract_claims": {"entities": [], "claims": []},
        "summarize_document": {"overview": "It lists valves.", "bullets": [point]},
    }
    store = world.open(llm=ScriptedModel(answers))
    document(store, [f"Valve {number} is made of brass" for number in range(6)])
    return store.cognify().summaries_created


ENRICHED: Final[dict[str, Act]] = {
    "enrichment.workers": Act(1, at_once),
    "entities.model": Act("small", models_asked),
    "questions.model": Act("large", models_asked),
    "updates.enabled": Act(False, superseded),
    "updates.min_confidence": Act(0.96, superseded),
    "cognify.turns": Act(2, windows_read),
    "cognify.window_chars": Act(10, windows_read),
    "cognify.min_confidence": Act(0.51, windows_read),
    "summaries.enabled": Act(False, summed_up),
    "summaries.min_passages": Act(7, summed_up),
    "recall.synthesize": Act(True, query_of_a_conversation),
    "recall.query_entities": Act("llm", names_of_a_query),
}
