"""Keys of the walk and of the final score, each with what can be seen of it."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from acts_of_recall import QUERY, some
from world import Act, World

from calls import selecting

__all__ = ["WALK"]

RANK: Final = "usage"
START: Final = "walk.start"
REFERENCE: Final = "reference"
WALKING: Final = "walk"
QUESTIONS: Final = "questions"
QUERY_OF_GRAPH: Final = "what lies nearest?"
# cosine of each memory to QUERY_OF_GRAPH
COSINES: Final = {"S": 1.0, "B": 0.5, "C": 0.4, "D": 0.3, "E": 0.2}
EDGES: Final = (
    ("S", "B", 0.9), ("S", "D", 0.8), ("B", "C", 0.3), ("S", "E", 0.5), ("B", "E", 0.9),
)  # fmt: skip
# no memory, edge or name but those of the graph below; every edge is taken
BASE: Final = {
    "recall.profile": "reference",
    "hygiene.near_duplicate.enabled": False,
    "links.related.enabled": False,
    "entities.enabled": False,
    f"{START}.limit": 1,
    f"{WALKING}.mode": "deterministic",
    f"{WALKING}.max_nodes": 5,
}


BESIDE: Final = {f"{START}.limit": 1, f"{WALKING}.mode": "deterministic",
                 f"{WALKING}.exploration_factor": 2.0}  # fmt: skip


def named(name: str) -> str:
    return f"The memory named {name} of the fixed graph"


def graph(world: World) -> tuple[Any, dict[str, str]]:
    """S, B, C, D and E as golden cases have them."""
    texts = {named(name): cosine for name, cosine in COSINES.items()}
    store = world.open({QUERY_OF_GRAPH: 1.0, **texts})
    ids = {name: store.commit(named(name)).memory_id for name in COSINES}
    for first, second, weight in EDGES:
        store.graph.link(ids[first], ids[second], "RELATED", weight=weight)
    return store, ids


def walk(world: World, **fields: Any) -> Any:
    """Which memories are found, along which paths, and with which numbers."""
    store, ids = graph(world)
    by_id = {id: name for name, id in ids.items()}
    found = store.recall(QUERY_OF_GRAPH, **selecting({"limit": 5, "seed": 7, **fields}))
    return [
        (
            by_id[hit.id],
            round(hit.score, 9),
            len(hit.reason.path),
            round(hit.reason.signal_strength, 9),
            [(round(step.p, 9), step.u) for step in hit.reason.steps],
        )
        for hit in found
    ]


def beside(world: World) -> Any:
    """How many memories the walk adds to the best one."""
    store, _ = graph(world)
    return len(store.recall(QUERY_OF_GRAPH, limit=1, config=BESIDE).associated)


def admitted(world: World) -> Any:
    """How many memories the walk visited."""
    store, _ = graph(world)
    return store.recall(QUERY_OF_GRAPH, limit=1).counts.walked


def boosts(world: World) -> Any:
    store, _ = graph(world)
    return [hit.reason.tracerank_boost.connectivity for hit in store.recall(QUERY_OF_GRAPH)]


def switched(world: World) -> Any:
    """Start scores: of the metadata too, or of the meaning alone."""
    found = some(world).recall(QUERY)
    return [round(hit.reason.start_score, 9) for hit in found]


def seed(world: World) -> Any:
    return some(world).recall(QUERY).seed


def over_names(world: World) -> Any:
    """Two memories that share a name and nothing else."""
    store = world.open(
        {QUERY_OF_GRAPH: 1.0, "Ada Lovelace wrote this": 1.0, "Grace met Ada Lovelace": 0.0}
    )
    store.commit("Ada Lovelace wrote this")
    store.commit("Grace met Ada Lovelace")
    return [hit.reason.path[1:] != () for hit in store.recall(QUERY_OF_GRAPH, limit=2)]


def metadata(world: World, query: str = "Ada Lovelace in Oslo last week") -> Any:
    """Metadata scores of memories with words, times and names."""
    store = world.open()
    for text, day in (
        ("Ada Lovelace opened the new office in Oslo", "2026-03-11"),
        ("The new office in Oslo belongs to Ada Lovelace and to Grace Hopper", "2026-02-01"),
        ("Deploys run on Fridays at noon in the office", "2026-01-01"),
    ):
        store.commit(text, t_valid=day)
        world.clock.move(hours=1)
    found = store.recall(query, query_time="2026-03-18T12:00:00Z")
    return [
        (hit.content, None if (s := hit.reason.metadata_score) is None else round(s, 9))
        for hit in found
    ]


def found_by_question(world: World) -> Any:
    """A memory that is known by a stored question."""
    text, question = "The centre of all these", "Which one is in the middle?"
    store = world.open({QUERY_OF_GRAPH: 1.0, text: 0.5, question: 0.9})
    store.commit(text, hypothetical_queries=[question], trigger="problem-solution")
    (hit,) = store.recall(QUERY_OF_GRAPH)
    return round(hit.reason.semantic_score, 9)


def summary(world: World) -> Any:
    """A memory and its summary, from another program's export."""
    vectors = {QUERY_OF_GRAPH: 1.0, named("S"): 0.9, named("B"): 0.1}
    store = world.open(vectors)
    ids = {name: store.commit(named(name)).memory_id for name in "SB"}

    def retype(lines: list[dict[str, Any]]) -> None:
        for line in lines:
            if line.get("id") == ids["S"]:
                line["kind"] = "SUMMARY"

    other = world.changed_copy(store, retype)
    other.graph.link(ids["S"], ids["B"], "SUMMARIZES")
    found = other.recall(QUERY_OF_GRAPH, limit=2)
    return [
        (hit.memory.kind.value, round(hit.score, 9), "Filled" in str(hit.reason.explanation))
        for hit in found
    ]


def blended(**more: Any) -> dict[str, Any]:
    return {"recall.profile": "reference", "ranking.base": "blend", **more}


EVERY: Final = {**BASE, f"{WALKING}.exploration_factor": 2.0}
DICE: Final = {
    **BASE,
    f"{WALKING}.mode": "probabilistic",
    f"{WALKING}.exploration_factor": 1.0,
}
SUMMED: Final = {**BASE, "ranking.pool": 1, f"{WALKING}.enabled": False}

SUMMED: Final = {**BASE, "ranking.pool": 1, f"{WALKING}.enabled": False}

WALK: Final[dict[str, Act]] = {
    "recall.expand_summaries": Act(True, summary, SUMMED),
    "recall.summary_prior": Act(-0.05, summary, SUMMED),
    f"{RANK}.graph_connectivity_enabled": Act(True, boosts, BASE),
    f"{RANK}.graph_k": Act(0.5, boosts, {**BASE, f"{RANK}.graph_connectivity_enabled": True}),
    f"{QUESTIONS}.content_weight": Act(0.1, found_by_question),
    f"{QUESTIONS}.question_weight": Act(0.1, found_by_question),
    f"{START}.enabled": Act(False, switched, blended()),
    f"{START}.limit": Act(3, walk, EVERY),
    f"{REFERENCE}.alpha_meta": Act(0.1, switched, blended()),
    f"{REFERENCE}.keyword_weight": Act(0.0, metadata, blended()),
    f"{REFERENCE}.temporal_weight": Act(0.0, metadata, blended()),
    f"{REFERENCE}.entity_weight": Act(0.0, metadata, blended()),
    f"{REFERENCE}.recency_weight": Act(0.9, metadata, blended()),
    f"{REFERENCE}.recency_tau_days": Act(
        3, metadata, blended(**{f"{REFERENCE}.recency_weight": 0.9})
    ),
    f"{REFERENCE}.keyword_mode": Act("weighted", metadata, blended()),
    f"{REFERENCE}.entity_mode": Act(
        "weighted",
        metadata,
        blended(**{f"{REFERENCE}.keyword_weight": 0.0, f"{REFERENCE}.temporal_weight": 0.0}),
    ),
    f"{WALKING}.enabled": Act(False, walk, EVERY),
    f"{WALKING}.mode": Act("probabilistic", walk, {**BASE, f"{WALKING}.mode": "deterministic"}),
    f"{WALKING}.order": Act("dfs", partial(walk, limit=4), {**EVERY, f"{WALKING}.max_nodes": 4}),
    f"{WALKING}.max_nodes": Act(1, admitted, EVERY),
    f"{WALKING}.exploration_factor": Act(0.6, walk, BASE),
    f"{WALKING}.signal_decay": Act(0.5, walk, EVERY),
    f"{WALKING}.normalize_weights": Act(True, walk, EVERY),
    f"{WALKING}.seed": Act(5, seed),
    f"{WALKING}.edge_types": Act(
        ["RELATED", "MENTIONS"], over_names, {**EVERY, "entities.enabled": True}
    ),
    f"{WALKING}.min_signal": Act(0.85, walk, EVERY),
    f"{WALKING}.max_hops": Act(1, walk, EVERY),
    f"{WALKING}.max_entity_degree": Act(
        1,
        over_names,
        {
            **EVERY,
            "entities.enabled": True,
            f"{WALKING}.edge_types": ["RELATED", "MENTIONS"],
        },
    ),
    f"{WALKING}.use_tracerank": Act(
        False,
        walk,
        {
            **EVERY,
            f"{RANK}.graph_connectivity_enabled": True,
            f"{WALKING}.exploration_factor": 0.9,
        },
    ),
    f"{WALKING}.deterministic_threshold": Act(
        0.95, walk, {**BASE, f"{WALKING}.exploration_factor": 1.0}
    ),
    "ranking.association": Act(0.9, walk, EVERY),
    f"{WALKING}.associated": Act(1, beside),
    "ranking.path_power": Act(2, walk, EVERY),
}
