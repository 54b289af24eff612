"""The rows that a decided commit writes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from vestig.changes import NewMemory, StoredWindow
from vestig.commit import rows as decided
from vestig.commit.request import validate
from vestig.commit.rows import Arrival, Found, Rows
from vestig.commit.text import content_hash
from vestig.types import EdgeType, EventType, Memory, PossibleUpdate, Status

SETTINGS: Any = SimpleNamespace(
    hygiene=SimpleNamespace(near_duplicate=SimpleNamespace(on_near_dup="reinforce")),
    lifecycle=SimpleNamespace(default_policy="standard"),
)
TEXT = "the release is today"
DAY = StoredWindow(text="today", start_us=0, end_us=10, grain="day")
NEXT = StoredWindow(text="today", start_us=20, end_us=30, grain="day")


def arrival(text: str = TEXT, *, now: int = 100, **fields: Any) -> Arrival:
    windows = fields.pop("windows", ())
    vector = fields.pop("vector", b"\0" * 8)
    request = validate({"content": text} | fields, SETTINGS)
    return Arrival(
        request=request,
        text=text,
        content_hash=content_hash(text),
        occurred_us=now if request.t_ref_us is None else request.t_ref_us,
        now_us=now,
        windows=windows,
        vector=vector,
        model="m",
        embed_later=vector is None,
    )


def stored(came: Arrival, **changes: Any) -> Memory:
    memory = decided.memory_of(decided.insert(Rows(), came, Found()), came.now_us)
    return memory if not changes else _replaced(memory, changes)


def _replaced(memory: Memory, changes: dict[str, Any]) -> Memory:
    fields = {name: getattr(memory, name) for name in memory.__struct_fields__}
    return Memory(**(fields | changes))


def inserted(came: Arrival, found: Found | None = None) -> tuple[Rows, NewMemory]:
    rows = Rows()
    return rows, decided.insert(rows, came, Found() if found is None else found)


def test_c_10_inserted_rows_belong_together() -> None:
    came = arrival(tags=["a"], metadata={"k": 1}, actor="cli", artifact_ref="ref", agent="bot")
    rows, memory = inserted(came, Found(related=(("mem_x", 0.75),), revives="mem_y"))
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
def test_d_01_t_valid_is_argument_else_reference_else_now(
    fields: dict[str, Any], expected: int
) -> None:
    _, memory = inserted(arrival(**fields))
    assert memory.t_valid_us == expected


def test_c_10_tags_only_when_given() -> None:
    assert inserted(arrival())[1].metadata == {"source": "manual"}
    assert inserted(arrival(tags=[]))[1].metadata == {"source": "manual", "tags": []}


def test_d_04_import_event_and_deferred_job() -> None:
    rows, memory = inserted(arrival(source="import", vector=None))
    assert rows.events[0].event_type is EventType.IMPORT
    (job,) = rows.jobs
    assert (job.kind, job.memory_id, memory.processing) == ("embed", memory.id, "pending")
    assert rows.vectors == []


def test_d_05_one_agentic_source_per_agent_and_session() -> None:
    rows = Rows()
    for session in ("s", "s", "t"):
        decided.insert(rows, arrival(session_id=session), Found())
    assert len(rows.sources) == 2
    assert len({edge.from_id for edge in rows.edges}) == 2


def test_exact_repeat_unites_tags_and_keeps_metadata() -> None:
    known = stored(arrival(tags=["a", "b"], metadata={"k": 1, "same": 2}, now=5))
    rows = Rows()
    came = arrival(tags=["b", "c"], metadata={"k": 9, "same": 2}, now=50)
    event, _ = decided.reinforce(rows, came, known, near_score=None)
    (patch,) = rows.patches
    assert event.event_type is EventType.REINFORCE_EXACT
    assert patch.columns["metadata"]["tags"] == ["a", "b", "c"]
    assert patch.columns["metadata"]["k"] == 1
    assert (patch.reinforce, patch.seen_us) == (1, 50)
    assert event.payload["added_tags"] == ["c"]
    assert event.payload["metadata"] == {"k": 9}
    assert "variant" not in event.payload
    assert rows.memories == []
    assert [edge.edge_type for edge in rows.edges] == [EdgeType.PRODUCED]


def test_c_07_near_repeat_keeps_the_variant() -> None:
    known = stored(arrival())
    rows = Rows()
    event, _ = decided.reinforce(rows, arrival("The release is today!"), known, near_score=0.95)
    assert event.event_type is EventType.REINFORCE_NEAR
    assert event.payload["variant"] == "The release is today!"
    assert event.payload["query_score"] == 0.95
    assert event.payload["matched_memory_id"] == known.id


def test_c_05_archived_match_is_restored() -> None:
    known = stored(arrival(), status=Status.ARCHIVED)
    rows = Rows()
    _, columns = decided.reinforce(rows, arrival(), known, near_score=None)
    assert [event.event_type for event in rows.events] == [
        EventType.REINFORCE_EXACT,
        EventType.RESTORE,
    ]
    assert columns["status"] == "active"
    assert decided.merged(known, columns, arrival()).status is Status.ACTIVE


def test_c_05_both_days_are_kept() -> None:
    known = stored(arrival(windows=(DAY,)))
    rows = Rows()
    event, columns = decided.reinforce(rows, arrival(windows=(NEXT,)), known, near_score=None)
    assert [(window.start_us, window.end_us) for window in columns["times"]] == [(0, 10), (20, 30)]
    assert len(event.payload["times"]) == 1
    again = decided.merged(known, columns, arrival())
    _, columns = decided.reinforce(rows, arrival(windows=(DAY, NEXT)), again, near_score=None)
    assert "times" not in columns


def test_c_05_last_seen_never_goes_back() -> None:
    known = stored(arrival(now=1_000))
    rows = Rows()
    late = decided.merged(known, {}, arrival(now=2_000))
    early = decided.merged(late, {}, arrival(now=500))
    assert late.last_seen_at == early.last_seen_at
    assert early.reinforce_count == 2
    decided.reinforce(rows, arrival(now=500), late, near_score=None)
    assert rows.patches[0].seen_us == 500


def test_c_07_possible_update_has_its_own_edge() -> None:
    hint = PossibleUpdate(memory_id="mem_old", score=0.99, differs=("units",))
    rows, memory = inserted(arrival(), Found(possible_update=hint))
    decided.link_possible_update(rows, memory.id, hint)
    decided.link_possible_update(rows, memory.id, hint)
    guard = [edge for edge in rows.edges if edge.origin == "guard"]
    assert [(edge.from_id, edge.to_id, edge.weight) for edge in guard] == [
        (memory.id, "mem_old", 0.99)
    ]
    payload = rows.events[0].payload["possible_update_of"]
    assert (payload["memory_id"], payload["differs"]) == ("mem_old", ["units"])
