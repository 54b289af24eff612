"""What `retrieve` gives back, through the public call."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
from conversations import FACTS, opened, said
from msgspec import UNSET

from vestig.recall.context.budget import measure
from vestig.testing import FailingEmbedder, HashingEmbedder

QUESTION = said("I met Grace yesterday.", "Which developer maintains the billing service?")


def test_the_fact_asked_for_comes_first() -> None:
    with opened() as store:
        found = store.retrieve(QUESTION, debug=True)
    assert found.facts[0].endswith("] Grace Hopper maintains the billing service")
    assert (len(found), list(found), found[0]) == (8, list(found.facts), found.facts[0])
    assert found.metadata.facts_returned == len(found.facts) == 8
    assert found.metadata.unique_facts_seen == 8
    assert found.context_summary == ""
    assert found.metadata.degraded == ()
    assert found.metadata.tool_calls[0].queries[0] == QUESTION[-1]["content"]
    assert found.details
    first = found.details[0]
    assert first.fact_key[1] == "MEMORY"
    assert first.query_coverage_count >= 1
    assert first.supporting_evidence_count == 1
    assert QUESTION[-1]["content"] in first.queries


def test_debug_alone_adds_details_and_steps() -> None:
    with opened() as store:
        plain, full = store.retrieve(QUESTION), store.retrieve(QUESTION, debug=True)
    assert not {"details", "reasoning_trace"} & plain.to_dict().keys()
    assert full.reasoning_trace
    assert [one.step for one in full.reasoning_trace[:4]] == [
        "analyse",
        "plan",
        "execute",
        "evaluate",
    ]
    assert full.reasoning_trace[-1].step == "synthesise"
    assert len(full.reasoning_trace) <= 20
    assert full.facts == plain.facts


def test_numbers_of_the_metadata_fit_each_other() -> None:
    with opened() as store:
        made = store.retrieve(QUESTION).metadata
    searches = [call for call in made.tool_calls if call.name == "fact_search"]
    assert made.iterations_used == len(searches) == len(made.new_facts_per_iteration)
    assert made.queries_executed == sum(len(call.queries) for call in searches)
    assert made.queries_generated == made.queries_executed
    assert made.queries_executed > len(made.tool_calls)
    assert made.new_facts_last_iteration == made.new_facts_per_iteration[-1]
    assert len(made.new_evidence_per_iteration) == made.iterations_used
    assert sum(made.new_evidence_per_iteration) == 8
    parts = made.confidence_breakdown
    assert set(parts) == {"relevance", "evidence", "coverage", "reliability"}
    assert made.confidence_score == pytest.approx(sum(one.product for one in parts.values()))
    assert made.confidence_score <= parts["relevance"].value


def test_two_requests_at_one_state_are_identical_but_for_times() -> None:
    def without_times(value: Any) -> Any:
        if isinstance(value, dict):
            timed = ("processing_time_ms", "duration_ms", "timestamp", "request_id")
            return {k: without_times(v) for k, v in value.items() if k not in timed}
        return [without_times(item) for item in value] if isinstance(value, list) else value

    with opened() as store:
        store.commit("Who fixed the billing service?", author="Al", session_id="s", sequence=0)
        first, second = (store.retrieve(QUESTION, debug=True).to_dict() for _ in range(2))
    assert without_times(first) == without_times(second)


def test_turns_that_the_agent_has_stored_already_do_not_come_back() -> None:
    with opened() as store:
        question = QUESTION[-1]["content"]
        store.commit(question, author="user", session_id="now", sequence=1)
        store.commit(question, author="another", session_id="then", sequence=4)
        store.commit(
            "Grace told me about the billing service in other words",
            session_id="now",
            sequence=2,
            provenance={"artifact_ref": "m-17"},
        )
        messages = [*QUESTION[:-1], {"content": question}, {**said("Hm?")[0], "message_id": "m-17"}]
        found = store.retrieve(messages)
        shown = json.dumps(found.to_dict()["facts"] + found.to_dict()["messages"])
        assert "in other words" not in shown
        assert question not in shown
        assert "Grace Hopper maintains" in shown
        # without the reference the turn is one among others
        assert any("in other words" in text for text in store.retrieve(QUESTION).facts)


def test_every_field_of_the_filter_holds_in_every_round() -> None:
    texts = [f"The pump {n} in hall {n % 4} was oiled with oil {n % 7}" for n in range(60)]
    with opened(()) as store:
        inside = {
            store.commit(text, scope="in", tags=["good"]).memory_id if n % 3 else None
            for n, text in enumerate(texts)
        } - {None}
        for n, text in enumerate(texts):
            if not n % 3:
                store.commit(text, scope="out")
        asked = said("Which pump in hall 2 was oiled?", "With which oil was it oiled by Ada?")
        for where in ({"scope": "in"}, {"tags": "good"}):
            found = store.retrieve(asked, where=where, debug=True, max_facts=500, budget=9_000)
            assert found.metadata.iterations_used >= 2
            assert found.details
            assert {one.memory_id for one in found.details} <= inside
            assert found.metadata.facts_returned == len(inside)


def test_evidence_of_several_sightings_counts() -> None:
    with opened() as store:
        for day in range(4):
            store.commit(
                "Omar keeps the spare fuses in the attic",
                author="Ada",
                t_ref=datetime(2026, 2, day + 1, tzinfo=UTC),
            )
        found = store.retrieve(said("Who keeps the spare fuses in the attic?"), debug=True)
    assert found.details
    assert found.details[0].supporting_evidence_count == 4
    assert found.facts[0] == "[2026-02-01] Ada: Omar keeps the spare fuses in the attic"


def test_one_record_of_each_request(caplog: pytest.LogCaptureFixture) -> None:
    with opened() as store, caplog.at_level(logging.INFO, logger="vestig"):
        caplog.clear()
        made = store.retrieve(QUESTION, request_id="call-1").metadata
        counted = store.admin.metrics()
    records = {one.getMessage(): one.vestig for one in caplog.records}
    assert sorted(one.getMessage() for one in caplog.records) == [
        "retrieve.request",
        "retrieve.stop",
    ]
    assert records["retrieve.stop"] == {
        "request_id": "call-1",
        "reason": made.stop_reason,
        "iteration": made.iterations_used,
        "floor": 2,
        "streak": made.novelty_streak_without_gain,
        "coverage": made.coverage_score,
        "unique_facts": made.unique_facts_seen,
        "score": made.confidence_score,
    }
    whole = records["retrieve.request"]
    assert whole["queries_executed"] == made.queries_executed
    assert whole["queries_generated"] == made.queries_generated
    assert whole["new_facts"] == ",".join(map(str, made.new_facts_per_iteration))
    assert whole["duplicates_merged"] == made.duplicates_merged
    sources = ("focus", "entity", "phrase", "keyword", "synonym", "question", "goal")
    assert sum(whole.get(f"queries_{name}", 0) for name in sources) == made.queries_executed
    assert counted[f'vestig_retrieve_stops_total{{reason="{made.stop_reason}"}}'] == 1
    queries = [counted.get(f'vestig_queries_total{{source="{name}"}}', 0) for name in sources]
    assert sum(queries) == made.queries_executed
    assert queries[0] == 1
    assert not any(fact[:20] in str(records) for fact in FACTS)


def test_without_vectors_words_alone_answer() -> None:
    with opened() as store:
        broken = FailingEmbedder("error", dimensions=HashingEmbedder().dimensions)
        store._session.embedder = broken
        found = store.retrieve(QUESTION)
    assert found.facts[0].startswith("[2026-03-18] Grace Hopper maintains")
    assert [one.code for one in found.metadata.degraded] == ["partial_backend"]


def test_an_empty_store_answers_with_nothing() -> None:
    with opened(()) as store:
        found = store.retrieve(QUESTION)
    assert found.facts == found.messages == ()
    assert found.confidence == "low"
    assert found.metadata.confidence_score == 0
    assert found.metadata.coverage_score == 0


def test_time_travel_shows_what_was_known() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    times = [now - timedelta(days=9), now - timedelta(days=3)]
    with opened((), clock=lambda: times[0]) as store:
        store.commit("The archive key hangs behind the door")
        times[0] = times[1]
        store.commit("The archive key hangs behind the door")
        store.commit("The archive key was lost in the harbour")
        asked = said("Where is the archive key?")
        assert len(store.retrieve(asked).facts) == 2
        then = store.retrieve(asked, known_at=now - timedelta(days=5), debug=True)
    assert len(then.facts) == 1
    assert then.details
    assert then.details[0].supporting_evidence_count == 1


def test_memories_with_one_claim_are_one_fact() -> None:
    def claim(relationship: str, object: str | None = "Acme") -> dict[str, Any]:
        return {
            "subject": "Ana",
            "fact_type": "EMPLOYMENT",
            "object": object,
            "relationship_type": relationship,
            "confidence": 0.8,
            "evidence": [{"author": "Ana", "snippet": f"I said {relationship} once"}],
        }

    with opened() as store:
        store.commit("Ana works at Acme since 2019", claim=claim("works_at"))
        store.commit("Acme has employed Ana for years", claim=claim("works_at", " ACME "))
        store.commit("Ana once consulted Acme", claim=claim("consulted"))
        store.commit("Ana is employed somewhere", claim=claim("works_at", None))
        found = store.retrieve(said("Where does Ana work, at Acme?"), debug=True)
    assert found.details
    claims = [one for one in found.details if one.fact_key[1] == "EMPLOYMENT"]
    assert {one.fact_key for one in claims} == {
        ("ana", "EMPLOYMENT", "acme", "works_at"),
        ("ana", "EMPLOYMENT", "acme", "consulted"),
        ("ana", "EMPLOYMENT", None, "works_at"),
    }
    assert found.metadata.unique_facts_seen == 8 + 3
    lines = [fact for fact in found.facts if "] Ana " in fact]
    assert len(lines) == 3
    assert all("confidence: 0.80" in line and 'Ana: "I said' in line for line in lines)


def test_a_blank_name_is_found_in_the_message_before() -> None:
    with opened() as store:
        store.commit("Grace Hopper lives in Arlington")
        found = store.retrieve(said("I met Grace Hopper.", "and where does she live?"))
    assert any("Grace Hopper" in query for query in found.metadata.tool_calls[0].queries)
    assert found.facts[0].endswith("] Grace Hopper lives in Arlington")


def test_one_batch_of_the_embedder_for_each_round() -> None:
    class Counted(HashingEmbedder):
        batches: ClassVar[list[int]] = []

        def embed(self, texts: Sequence[str]) -> list[bytes]:
            self.batches.append(len(texts))
            return super().embed(texts)

    config = {"recall.entity_similarity_threshold": 0.5}
    embedder = Counted()
    with opened(embedder=embedder, config=config) as store:
        store.commit("I looked at the billing service", author="Al", session_id="s", sequence=0)
        embedder.batches.clear()
        made = store.retrieve(QUESTION).metadata
    assert len(embedder.batches) == made.iterations_used
    assert sum(embedder.batches) >= made.queries_executed


def test_reading_changes_nothing() -> None:
    with opened() as store:
        before = store.admin.stats()
        store.retrieve(QUESTION)
        assert store.admin.stats() == before


def test_the_answer_keeps_its_budget_and_its_confidence() -> None:
    facts = [f"The pump {n} of the billing service was oiled in hall {n}" for n in range(40)]
    asked = said("Which pump of the billing service was oiled in hall 7?")
    with opened((*FACTS, *facts)) as store:
        count = measure(store._session, 0).count
        found = {most: store.retrieve(asked, budget=most, debug=True) for most in (40, 120, 5_000)}
        for most, one in found.items():
            assert 0 < sum(map(count, (*one.facts, *one.messages))) <= most
            assert one.details is not UNSET
            assert len(one.details) == len(one.facts) == one.metadata.facts_returned
        assert len(found[40].facts) < len(found[120].facts) < len(found[5_000].facts) == 30
        assert found[120].facts == found[5_000].facts[: len(found[120].facts)]
        several = [store.retrieve(asked, max_facts=most) for most in (1, 5, 30, 100)]
    scores = {one.metadata.confidence_score for one in (*several, *found.values())}
    assert len(scores) == 1


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "Who maintains the billing service?"},
        {"author_name": "Al", "content": "Who maintains the billing service?"},
        {
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Who maintains the billing service?"}],
        },
        {
            "author": "Al",
            "content": [
                {"type": "input_text", "text": "Who maintains the billing service?"},
                {"type": "input_image", "image_url": "data:,"},
            ],
        },
    ],
)
def test_messages_of_any_program_are_read_by_retrieve_and_recall(message: dict[str, Any]) -> None:
    with opened() as store:
        assert "Grace Hopper" in store.retrieve([message]).facts[0]
        assert "Grace Hopper" in store.recall(messages=[message])[0].memory.content


def test_facts_begin_with_the_day_on_which_they_began_and_stand_there_once() -> None:
    text = "The gate of the harbour was painted green"
    with opened() as store:
        for day in (3, 9):
            store.commit(text, t_valid=datetime(2026, 1, day, tzinfo=UTC), author="Ada")
        found = store.retrieve(said("Which colour has the gate of the harbour?"))
    assert found.facts[0] == f"[2026-01-03] Ada: {text}"
    assert "\n".join(found.facts).count(text) == 1
