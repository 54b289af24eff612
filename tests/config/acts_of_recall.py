"""Keys that act when memories are recalled, each with what can be seen of it."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from functools import partial
from typing import Any, Final

from world import Act, World

from calls import committing, selecting
from exports import of
from vestig.config.weights import SIGNALS
from vestig.errors import ConfigError
from vestig.ids import new_id
from vestig.types import EventType

__all__ = ["RECALL"]

OSLO = "The new office is in Oslo"
NOTED = "Note that the new office is in Oslo"
QUERY = "where is the office"
RANK: Final = "usage"


def first(store: Any, **fields: Any) -> Any:
    return store.recall(
        QUERY, **selecting({"include_expired": True, "include_archived": True, **fields})
    ).results[0]


def boost(store: Any) -> Any:
    found = first(store).reason.tracerank_boost
    return found.multiplier, found.trace, found.basic, found.confidence


def newest_first(world: World) -> Any:
    """Which of two statements comes first."""
    old, new = "Tom lives in Oslo", "Tom moved to Bergen, he lives there now"
    where = "where does Tom live?"
    store = world.open({where: 1.0, old: 0.9, new: 0.8})
    store.commit(old, t_valid="2026-01-05")
    store.commit(new, t_valid="2026-03-05")
    plain = {**dict.fromkeys(SIGNALS, 0.0), "topic": 1.0}
    config = {"ranking.weights": {"all": plain}}
    return [hit.content for hit in store.recall(where, config=config)]


def happen(store: Any, event: EventType, id: str, world: World) -> None:
    """Makes an event of this type happen to a memory."""
    if event is EventType.REINFORCE_EXACT:
        store.commit(OSLO)
    elif event is EventType.REINFORCE_NEAR:
        assert store.commit(NOTED).outcome.value == "NEAR_DUPE"
    elif event is EventType.SUPERSEDE:
        store.supersede(id, store.commit("Some other text about ships").memory_id)
    elif event is EventType.UNARCHIVE:
        store.archive(id)
        store.unarchive(id)
    elif event is EventType.UNPIN:
        store.pin(id)
        store.unpin(id)
    elif event is EventType.CONFIRM:
        store.confirm(id, by="Ada")
    elif event is EventType.UPDATE:
        store.update(id, tags=["x"])
    elif event in (EventType.DEPRECATE, EventType.ARCHIVE, EventType.PIN):
        getattr(store, event.value.lower())(id)
    else:
        assert event is EventType.ADD, "the others come from a file"
    world.clock.move(hours=1)


def weight_of(event: EventType, world: World) -> Any:
    """The trace of a memory to which this happened; nothing of it changes otherwise."""
    same = {OSLO: 1.0, NOTED: 1.0, QUERY: 0.9}
    store = world.open(same)
    made = (EventType.IMPORT, EventType.ENTITY_EXTRACTED, EventType.SUMMARY_CREATED)
    role = "assistant" if event is EventType.CONFIRM else None
    id = store.commit(OSLO, role=role).memory_id
    if event not in made:
        happen(store, event, id, world)
        return first(store, ids=[id]).reason.tracerank_boost.trace

    def add(lines: list[dict[str, Any]]) -> None:
        """An event of this type, as another program's store may hold it."""
        one = of(lines, "event")
        another = {**one, "event_type": event.value, "id": new_id("evt")}
        lines.insert(lines.index(one) + 1, another)

    other = world.changed_copy(store, add)
    return first(other).reason.tracerank_boost.trace


def reinforced(world: World, *, hours: float = 12, times: int = 2, **fields: Any) -> Any:
    store = world.open()
    store.commit(OSLO, **committing(fields))
    for _ in range(times):
        world.clock.move(hours=hours)
        store.commit(OSLO)
    return store


def rank(world: World, **shape: Any) -> Any:
    return boost(reinforced(world, **shape))


def aged(stability: str, world: World) -> Any:
    store = world.open()
    store.commit(OSLO, temporal_stability=stability)
    world.clock.move(days=30)
    return boost(store)


def expired(world: World) -> Any:
    store = world.open()
    store.deprecate(store.commit(OSLO).memory_id)
    return len(store.recall(QUERY).results)


def some(world: World, **fields: Any) -> Any:
    store = reinforced(world, **fields)
    store.commit("Deploys run on Fridays at noon", **committing(fields))
    store.commit("Maria prefers the short form of an answer", **committing(fields))
    return store


def scores(world: World, **fields: Any) -> Any:
    found = some(world, **fields).recall(QUERY).results
    return [(hit.content, round(hit.score, 9)) for hit in found]


def formula(world: World) -> Any:
    result = some(world).recall(QUERY)
    return result.formula.base, result.formula.pool


def reason_fields(world: World) -> Any:
    return sorted(some(world).recall(QUERY).to_dict(explain=True)["results"][0]["reason"])


def profile(world: World) -> Any:
    result = some(world).recall(QUERY)
    return result.profile, result.formula.base


def own_profile(world: World) -> Any:
    try:
        return some(world).recall(QUERY, profile="mine").formula.base
    except ConfigError as error:
        return type(error).__name__


def layout(world: World) -> Any:
    from vestig.surfaces.cli import run

    store = world.open()
    store.commit(OSLO)
    keys = {
        **world.overrides,
        "store.path": str(world.folder / "store"),
        "embedding.provider": "hashing",
        "embedding.dimension": 64,
    }
    file = world.folder / "vestig.yaml"
    file.write_text(json.dumps(keys), encoding="utf-8")
    out = io.StringIO()
    with redirect_stdout(out):
        assert run(["memory", "recall", QUERY, "--config", str(file)]) == 0
    _, _, blocks = out.getvalue().partition("\n\n")
    return blocks[:1]


RECALL: Final[dict[str, Act]] = {
    **{
        f"usage.event_weights.{event.value}": Act(0.5, partial(weight_of, event))
        for event in EventType
    },
    f"{RANK}.enabled": Act(False, rank),
    f"{RANK}.tau_days": Act(1, rank),
    f"{RANK}.cooldown_hours": Act(1, rank),
    f"{RANK}.burst_discount": Act(0.9, rank),
    f"{RANK}.k": Act(0.7, rank),
    f"{RANK}.temporal_decay_enabled": Act(False, partial(aged, "dynamic")),
    f"{RANK}.dynamic_tau_days": Act(10, partial(aged, "dynamic")),
    f"{RANK}.ephemeral_tau_days": Act(30, partial(aged, "ephemeral")),
    f"{RANK}.static_boost": Act(1.5, partial(aged, "static")),
    f"{RANK}.clip_min": Act(0.5, partial(aged, "ephemeral")),
    f"{RANK}.clip_max": Act(3, partial(rank, times=3), {f"{RANK}.k": 5.0}),
    f"{RANK}.spacing.enabled": Act(True, rank),
    f"{RANK}.spacing.bonus": Act(1, rank, {f"{RANK}.spacing.enabled": True}),
    f"{RANK}.spacing.spacing_days": Act(1, rank, {f"{RANK}.spacing.enabled": True}),
    "recall.include_expired": Act(True, expired),
    "ranking.enabled": Act(False, formula),
    "ranking.pool": Act(1, formula),
    "ranking.base": Act("semantic", scores),
    "ranking.tracerank_power": Act(1, scores),
    "ranking.newer_first": Act(False, newest_first),
    "recall.reasons.enabled": Act(False, reason_fields),
    "recall.reasons.include_path": Act(False, reason_fields),
    "recall.reasons.include_scores": Act(False, reason_fields),
    "recall.default_limit": Act(1, lambda w: len(some(w).recall(QUERY).results)),
    "recall.profile": Act("baseline", profile),
    "recall.profiles": Act({"mine": {"ranking.base": "semantic"}}, own_profile),
    "recall.format": Act("compact", layout),
    "recall.min_score": Act(0.99, lambda w: len(some(w).recall(QUERY).results)),
    "recall.silence": Act(0.02, lambda w: some(w).recall(QUERY).abstained),
}
