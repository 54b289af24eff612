"""Keys that act when names and questions are stored, each with what can be seen of it."""

from __future__ import annotations

from typing import Any, Final

from world import Act, World

from vestig.recall.query_entities import name_vectors, named_entities
from vestig.session.references import LATEST_US

__all__ = ["NAMES"]

TEXT = "We met Ada Lovelace of Acme Ltd about ABC-123, said NATO"
SOLVED = "The login loop was fixed by clearing cookies. If it comes back, restart the proxy."


def names(world: World) -> Any:
    """Type, name and mentions of what a text and a caller name."""
    store = world.open()
    store.commit(TEXT, entities=[{"name": "Grace Hopper", "confidence": 0.6}])
    return sorted(
        (one.entity.entity_type, one.entity.canonical_name, one.mentions)
        for one in store.graph.entities()
    )


def evidence(world: World) -> Any:
    store = world.open()
    id = store.commit(TEXT).memory_id
    return sorted(one.edge.evidence or "" for one in store.graph.edges(id))


def questions(world: World) -> Any:
    """Those of the caller, and those made by rules."""
    store = world.open()
    stored = ["How was the login loop fixed?", "What ends a login loop?", "Why clear cookies?"]
    trigger = "problem-solution"
    given = store.commit(SOLVED, trigger=trigger, hypothetical_queries=stored).memory_id
    made = store.commit(f"{SOLVED} Always.", trigger=trigger, on_near_dup="insert").memory_id
    with store._session.ledger.read() as view:
        found = view.questions("default", [given, made])
    return [found.get(given), found.get(made)]


def matches(world: World) -> Any:
    """Entities of a query that spells a name otherwise than the store."""
    store = world.open()
    id = store.commit("they spoke about it", entities=["Ada Byron Lovelace"]).entities[0]
    context, query = store._session, "what did Ada Lovelace say?"
    vectors = name_vectors(context, query)
    found, _ = context.keeper.run(
        lambda view, _: named_entities(
            context,
            view,
            query,
            namespace=context.namespace,
            known_at_us=LATEST_US,
            config=context.config,
            vectors=vectors,
        )
    )
    return [(one.id == id, one.score > 0) for one in found]


OWN_TYPES: Final = [{"name": "COMPANY", "description": "A firm", "synonyms": ["ORG"]}]

NAMES: Final[dict[str, Act]] = {
    "entities.ontology": Act(OWN_TYPES, names),
    "entities.allowed_types": Act(["PERSON", "ORG"], names),
    "entities.enabled": Act(False, names),
    "entities.min_confidence": Act(0.85, names),
    "entities.max_per_memory": Act(2, names),
    "entities.store_low_confidence": Act(True, names),
    "links.mentions.enabled": Act(False, names),
    "questions.enabled": Act(False, questions),
    "questions.allowed_triggers": Act(["learning-failure"], questions),
    "questions.max_per_memory": Act(1, questions),
    "questions.offline": Act("templates", questions),
    "recall.entity_similarity_threshold": Act(0.3, matches),
}
