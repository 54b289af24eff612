"""The rows that a decided commit writes."""

from __future__ import annotations

from typing import Any

import pytest

from vestig.calls.commit import commit_request
from vestig.commit.item import Item
from vestig.commit.rows import (
    RepeatWishes,
    Rows,
    add_memory,
    add_nearest,
    add_reinforcement,
    reinforced,
)
from vestig.commit.text import content_hash
from vestig.times import from_us
from vestig.types import (
    EdgeType,
    EventType,
    Memory,
    RetentionPolicy,
    Status,
    TemporalWindow,
)

TEXT = "the release is today"
DAY = TemporalWindow(text="today", start=from_us(0), end=from_us(10), grain="day")
NEXT = TemporalWindow(text="today", start=from_us(20), end=from_us(30), grain="day")


def rows_at(now: int = 100) -> Rows:
    return Rows(now_us=now, model="m")


def item(text: str = TEXT, *, now: int = 100, **fields: Any) -> Item:
    windows = fields.pop("windows", ())
    vector = fields.pop("vector", b"\0" * 8)
    request = commit_request({"content": text} | fields, "default")
    return Item(
        request=request,
        text=text,
        given=text,
        content_hash=content_hash(text),
        reference_us=now if request.t_ref is None else request.t_ref,
        policy=request.retention_policy or RetentionPolicy.STANDARD,
        windows=windows,
        vector=vector,
        deferred=None if vector is not None else "ProviderError",
        enrich=True,
    )


def stored(one: Item, *, now: int = 100, **changes: Any) -> Memory:
    memory = add_memory(rows_at(now), one)
    return memory if not changes else _replaced(memory, changes)


def _replaced(memory: Memory, changes: dict[str, Any]) -> Memory:
    fields = {name: getattr(memory, name) for name in memory.__struct_fields__}
    return Memory(**(fields | changes))


def inserted(one: Item, **links: Any) -> tuple[Rows, Memory]:
    rows = rows_at()
    return rows, add_memory(rows, one, **links)


def test_inserted_rows_belong_together() -> None:
    one = item(tags=["a"], metadata={"k": 1}, actor="cli", artifact_ref="ref", agent="bot")
    rows, memory = inserted(one, related=(("mem_x", 0.75),), revives="mem_y")
    (event,), (source,), (vector,) = rows.events, rows.sources, rows.vectors
    assert event.event_type is EventType.ADD
    assert (event.memory_id, event.actor, event.source) == (memory.id, "cli", "manual")
    assert event.payload["content_hash"] == memory.content_hash
    assert event.payload["tags"] == ["a"]
    assert event.payload["artifact_ref"] == "ref"
    assert event.payload["revives"] == memory.revives == "mem_y"
    assert (source.source_type, source.agent) == ("agentic", "bot")
    assert (vector.memory_id, vector.model) == (memory.id, "m")
    assert memory.metadata == {"source": "manual", "tags": ["a"], "k": 1}
    produced, related = rows.edges
    assert (produced.edge_type, produced.from_id, produced.to_id) == (
        EdgeType.PRODUCED,
        source.id,
        memory.id,
    )
    assert (related.from_id, related.to_id, related.weight, related.confidence) == (
        memory.id,
        "mem_x",
        0.75,
        0.75,
    )
    assert (related.evidence, related.origin) == ("semantic_similarity=0.750", "computed")
    assert rows.jobs == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({}, 100), ({"t_ref": "1970-01-01"}, 0), ({"t_valid": "1970-01-02"}, 86_400_000_000)],
)
def test_t_valid_is_argument_else_reference_else_now(fields: dict[str, Any], expected: int) -> None:
    _, memory = inserted(item(**fields))
    assert memory.t_valid == from_us(expected)


def test_tags_only_when_given() -> None:
    assert inserted(item())[1].metadata == {"source": "manual"}
    assert inserted(item(tags=[]))[1].metadata == {"source": "manual", "tags": []}


def test_import_event_and_deferred_job() -> None:
    rows, memory = inserted(item(source="import", vector=None))
    assert rows.events[0].event_type is EventType.IMPORT
    (job,) = rows.jobs
    assert (job.kind, job.memory_id, memory.processing) == ("embed", memory.id, "pending")
    assert rows.vectors == []


def test_one_agentic_source_per_agent_and_session() -> None:
    rows = rows_at()
    for session in ("s", "s", "t"):
        add_memory(rows, item(session_id=session))
    assert len(rows.sources) == 2
    assert len({edge.from_id for edge in rows.edges}) == 2


def test_exact_repeat_unites_tags_and_keeps_metadata() -> None:
    known = stored(item(tags=["a", "b"], metadata={"k": 1, "same": 2}, now=5))
    rows = rows_at()
    one = item(tags=["b", "c"], metadata={"k": 9, "same": 2}, now=50)
    event, _ = add_reinforcement(rows, one, known, RepeatWishes(), near_score=None)
    (patch,) = rows.patches
    assert event.event_type is EventType.REINFORCE_EXACT
    assert patch.fields["metadata"]["tags"] == ["a", "b", "c"]
    assert patch.fields["metadata"]["k"] == 1
    assert (patch.reinforce, patch.seen_us) == (1, 50)
    assert event.payload["added_tags"] == ["c"]
    assert event.payload["metadata"] == {"k": 9}
    assert "variant" not in event.payload
    assert rows.memories == []
    assert [edge.edge_type for edge in rows.edges] == [EdgeType.PRODUCED]


def test_near_repeat_keeps_the_variant() -> None:
    known = stored(item())
    rows = rows_at()
    event, _ = add_reinforcement(
        rows, item("The release is today!"), known, RepeatWishes(), near_score=0.95
    )
    assert event.event_type is EventType.REINFORCE_NEAR
    assert event.payload["variant"] == "The release is today!"
    assert event.payload["query_score"] == 0.95
    assert event.payload["matched_memory_id"] == known.id


def test_archived_match_is_restored() -> None:
    known = stored(item(), status=Status.ARCHIVED)
    rows = rows_at()
    _, fields = add_reinforcement(rows, item(), known, RepeatWishes(), near_score=None)
    assert [event.event_type for event in rows.events] == [
        EventType.REINFORCE_EXACT,
        EventType.UNARCHIVE,
    ]
    assert fields["status"] is Status.ACTIVE
    assert reinforced(known, fields, item()).status is Status.ACTIVE


def test_both_days_are_kept() -> None:
    known = stored(item(windows=(DAY,)))
    rows = rows_at()
    event, fields = add_reinforcement(
        rows, item(windows=(NEXT,)), known, RepeatWishes(), near_score=None
    )
    assert fields["times"] == (DAY, NEXT)
    assert len(event.payload["times"]) == 1
    again = reinforced(known, fields, item())
    _, fields = add_reinforcement(
        rows, item(windows=(DAY, NEXT)), again, RepeatWishes(), near_score=None
    )
    assert "times" not in fields


def test_last_seen_never_goes_back() -> None:
    known = stored(item(now=1_000))
    rows = rows_at()
    late = reinforced(known, {}, item(now=2_000))
    early = reinforced(late, {}, item(now=500))
    assert late.last_seen_at == early.last_seen_at
    assert early.reinforce_count == 2
    add_reinforcement(rows, item(now=500), late, RepeatWishes(), near_score=None)
    assert rows.patches[0].seen_us == 500


def test_the_nearest_has_its_own_edge_and_the_event_names_similar_memories() -> None:
    rows, memory = inserted(item(), similar=[("mem_old", 0.99)])
    add_nearest(rows, memory.id, ("mem_old", 0.99))
    add_nearest(rows, memory.id, ("mem_old", 0.99))
    guard = [edge for edge in rows.edges if edge.origin == "guard"]
    assert [(edge.from_id, edge.to_id, edge.weight) for edge in guard] == [
        (memory.id, "mem_old", 0.99)
    ]
    assert rows.events[0].payload["similar"] == [{"memory_id": "mem_old", "score": 0.99}]
