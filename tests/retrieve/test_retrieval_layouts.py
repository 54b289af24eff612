"""Facts and messages as lines of a prompt, claims as text."""

from __future__ import annotations

from datetime import UTC, datetime

import vestig
from vestig.language.claim_text import claim_attributes, claim_embedded_text
from vestig.recall.context.block import Measure
from vestig.retrieve.retrieve import within_budget
from vestig.retrieve.values import (
    MEMORY_FACT,
    Fact,
    fact_line,
    fact_text,
    memory_key,
    message_line,
    message_text,
)
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.times import to_us
from vestig.types import Claim, Evidence, Memory


def memory() -> Memory:
    store = vestig.open(":memory:", clock=FrozenClock(), embedder=HashingEmbedder(16))
    with store:
        store.commit("The red key opens\nthe shed", author="Ada")
        return store.list().memories[0]


def seen(snippet: str, author: str | None = None) -> Evidence:
    return Evidence(source_id=None, timestamp=None, author=author, snippet=snippet)


def fact(claim: Claim | None, *evidence: Evidence) -> Fact:
    stored = memory()
    return Fact(
        key=memory_key(bytes.fromhex(stored.content_hash)),
        id=stored.id,
        content=stored.content,
        t_valid_us=to_us(stored.t_valid),
        claim=claim,
        evidence=evidence,
        evidence_count=len(evidence),
        keywords=(),
        entities=(),
    )


def claim(**changes: object) -> Claim:
    fields: dict[str, object] = {
        "subject": "Ada",
        "subject_id": None,
        "fact_type": "EMPLOYMENT",
        "object": "Acme",
        "object_id": None,
        "object_type": None,
        "evidence": (),
        "relationship_type": "works at",
        "attributes": {"since": 2021, "role": "lead", "note": "", "assessment": "sure"},
        "confidence": 0.9,
    }
    return Claim(**{**fields, **changes})  # type: ignore[arg-type]


def test_a_claim_with_its_evidence() -> None:
    line = fact_text(fact(claim(), seen("I joined\nAcme", "Ada"), seen("she works there")))
    assert line == (
        "[2026-03-18] Ada works at Acme role=lead, since=2021 (confidence: 0.90, evidence:"
        ' Ada: "I joined Acme" | "she works there")'
    )


def test_a_confidence_of_zero_is_printed_and_a_missing_one_is_not() -> None:
    assert "(confidence: 0.00, evidence: unknown)" in fact_text(fact(claim(confidence=0.0)))
    assert fact_text(fact(claim(confidence=None))).endswith("since=2021 (evidence: unknown)")


def test_a_plain_memory_stands_there_once_behind_its_day_and_author() -> None:
    line = fact_text(fact(None, seen("The red key opens the shed", "Ada")))
    assert line == "[2026-03-18] Ada: The red key opens the shed"
    assert fact_text(fact(None)) == "[2026-03-18] The red key opens the shed"


def test_lines_of_a_budget_are_whole_and_the_first_is_cut() -> None:
    def words(budget: int) -> Measure:
        return Measure(count=lambda text: len(text.split()), counted_by="words", budget=budget)

    lines = ["one two three", "four five six seven", "eight", "nine"]
    assert within_budget(lines, words(100)) == dict(enumerate(lines))
    assert within_budget(lines, words(7)) == {0: lines[0], 2: "eight", 3: "nine"}
    assert within_budget(lines, words(3)) == {0: lines[0]}
    assert within_budget(lines, words(2)) == {0: "one two…"}
    assert within_budget([], words(2)) == {}


def test_a_claim_without_a_relation_names_its_type_unless_it_is_plain() -> None:
    plain = claim(relationship_type=None, fact_type=MEMORY_FACT, attributes={}, confidence=None)
    assert fact_text(fact(plain)) == "[2026-03-18] Ada Acme (evidence: unknown)"
    assert fact_text(fact(claim(relationship_type=None))).startswith(
        "[2026-03-18] Ada EMPLOYMENT Acme role"
    )
    assert fact_text(fact(claim(object=None, attributes={}))).startswith(
        "[2026-03-18] Ada works at (conf"
    )


def test_snippets_and_messages_are_cut() -> None:
    day = datetime(2026, 3, 18, tzinfo=UTC)
    line = fact_line(day, "x", None, [seen("y" * 600)])
    assert line == f'[2026-03-18] x (evidence: "{"y" * 500}")'
    line = message_line(day, "Ada", "z" * 400)
    assert line == f"[2026-03-18] Ada: {'z' * 400}"[:300]


def test_a_message_has_its_day_and_author() -> None:
    assert message_text(memory()) == "[2026-03-18] Ada: The red key opens the shed"
    assert message_line(datetime(26, 3, 1, tzinfo=UTC), None, "a") == "[0026-03-01] a"


def test_attributes_are_sorted_and_only_empty_ones_are_left_out() -> None:
    values = {"b": 0, "a": False, "e": [], "d": {}, "c": None, "f": " ", "g": [1, "x"], "h": 0.5}
    assert claim_attributes(values) == 'a=false, b=0, g=[1, "x"], h=0.5'


def test_the_embedded_text_of_a_claim_leaves_blanks_out() -> None:
    assert claim_embedded_text("Ada", "works at", "Acme", {"since": 2021}, ["a", " ", "b"]) == (
        "Ada works at Acme. since=2021. Evidence: a | b"
    )
    assert claim_embedded_text("Ada", None, None, {}) == "Ada"
