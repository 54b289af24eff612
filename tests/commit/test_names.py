"""Entities and questions that callers give, and what becomes of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tables import each
from vestig.calls.commit import CommitRequest, GivenEntity
from vestig.calls.declaration import rows_of
from vestig.commit.item import is_allowed, questions_by_rule, usable_questions
from vestig.commit.names import new_entity, sure_enough, with_known_types
from vestig.commit.rows import EntityMention, Rows, add_mentions
from vestig.config.recall_sections import EntitySettings
from vestig.errors import ValidationError
from vestig.language.names import Mention, best_mentions, embedded_name
from vestig.language.ontology import read_ontology
from vestig.language.text_forms import evidence_text
from vestig.types import EdgeType

TYPES = read_ontology(None)


def given_entities(value: Any) -> tuple[GivenEntity, ...]:
    found: tuple[GivenEntity, ...] = rows_of(CommitRequest)["entities"].check("entities", value)
    return found


def given_questions(value: Any) -> object:
    name = "hypothetical_queries"
    return rows_of(CommitRequest)[name].check(name, value)


def test_names_and_objects_are_entities() -> None:
    given = given_entities(
        ["Ada", {"name": "NATO", "type": "org", "confidence": 0.8, "evidence": "of NATO"}]
    )
    assert given == (
        GivenEntity(name="Ada", type="UNTYPED", confidence=1.0, is_text=True),
        GivenEntity(name="NATO", type="org", confidence=0.8, evidence="of NATO"),
    )
    assert [entity.type for entity in with_known_types(given, TYPES)] == ["UNTYPED", "ORG"]
    assert given_entities([]) == ()


def test_a_type_may_stand_before_a_name_that_is_one_text() -> None:
    given = given_entities(["person: Ada", "https://vestig.dev", "ORG:", {"name": "ORG:x"}])
    found = [(one.type, one.name) for one in with_known_types(given, TYPES)]
    assert found == [
        ("PERSON", "Ada"),
        ("UNTYPED", "https://vestig.dev"),
        ("UNTYPED", "ORG:"),
        ("UNTYPED", "ORG:x"),
    ]


@each(
    ("value", "said"),
    [
        (3, "entities: expected a list of names or objects, got an int"),
        (" ", "entities[0]: expected text that is not blank"),
        ({"name": "Ada"}, "entities: expected a list of names or objects, got a dict"),
        ([" "], "entities[0]: expected text that is not blank"),
        ([3], "entities[0]: expected a name, or an object with a name, got an int"),
        ([{"type": "PERSON"}], "entities[0].name: expected text that is not blank, got None"),
        ([{"name": ""}], "entities[0].name: expected text that is not blank"),
        (
            [{"name": "Ada", "kind": "x"}],
            "entities[0] has no field kind; it takes: name, type, conf",
        ),
        ([{"name": "Ada", "confidense": 1}], "did you mean confidence?"),
        ([{"name": "Ada", "confidence": 1.5}], "entities[0].confidence: expected a number from 0"),
        ([{"name": "Ada", "confidence": True}], "entities[0].confidence: expected a number"),
        ([{"name": "Ada", "confidence": float("nan")}], "entities[0].confidence: expected a num"),
        ([{"name": "Ada", "confidence": "1"}], "entities[0].confidence: expected a number from 0"),
        ([{"name": "x" * 201}], "entities[0].name: expected at most 200 characters, got 201 char"),
    ],
)
def test_a_bad_entity_is_refused_with_its_place(value: Any, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        given_entities(value)
    assert said in str(caught.value)


def test_an_unknown_type_is_refused_and_the_nearest_named() -> None:
    with pytest.raises(ValidationError, match=r"entities\[1\].type: .*did you mean PERSON\?"):
        with_known_types((GivenEntity(name="Ada"), GivenEntity(name="Ada", type="Persom")), TYPES)


def mentioned(name: str, confidence: float, start: int) -> Mention:
    return Mention(
        name=name,
        type="UNTYPED",
        confidence=confidence,
        start=start,
        end=start + len(name),
        evidence=name,
    )


def test_the_gate_is_inclusive_and_low_confidence_is_kept_on_request() -> None:
    names = [mentioned("Sure", 0.75, 0), mentioned("Unsure", 0.74, 10)]
    gates = EntitySettings(min_confidence=0.75)
    assert [name.name for name in sure_enough(names, gates)] == ["Sure"]
    gates = EntitySettings(min_confidence=0.75, store_low_confidence=True)
    assert [name.name for name in sure_enough(names, gates)] == ["Sure", "Unsure"]


def test_of_eleven_the_best_ten_by_confidence_then_position() -> None:
    names = [mentioned(f"Name{at}", 0.75, at * 10) for at in range(11)]
    assert [name.name for name in best_mentions(names, 10)] == [f"Name{at}" for at in range(10)]
    names[10] = mentioned("Last", 0.8, 100)
    assert [name.name for name in best_mentions(names, 10)] == [
        *(f"Name{at}" for at in range(9)),
        "Last",
    ]


def test_evidence_of_five_hundred_characters_is_cut_to_two_hundred() -> None:
    cut = evidence_text("x" * 500, 200)
    assert (len(cut), cut[197:]) == (200, "...")
    assert evidence_text("x" * 200, 200) == "x" * 200
    assert (evidence_text("abcdef", 2), evidence_text("", 2)) == ("..", "")


def test_a_new_entity_comes_with_its_aliases_vector_and_mention() -> None:
    entity = new_entity(
        "default", "Dr. Ada Lovelace", "PERSON", origin="extracted", model="m", embedding=b"v"
    )
    assert (entity.norm_key, entity.aliases) == ("PERSON:dr. ada lovelace", ("Ada Lovelace",))
    assert (entity.type_certain, entity.model, entity.embedding) == (True, "m", b"v")
    mention = EntityMention(
        entity_id=entity.id, confidence=0.9, evidence="Dr. Ada Lovelace", new=entity
    )
    known = EntityMention(entity_id="ent_known", confidence=1.0, evidence="Ada")
    rows = Rows(now_us=0, model="m")
    add_mentions(rows, "mem_1", [mention, known], with_edges=True, evidence_chars_max=200)
    assert rows.entities == [entity]
    assert [(e.from_id, e.to_id, e.confidence, e.evidence, e.weight) for e in rows.edges] == [
        ("mem_1", entity.id, 0.9, "Dr. Ada Lovelace", 1.0),
        ("mem_1", "ent_known", 1.0, "Ada", 1.0),
    ]
    assert {edge.edge_type for edge in rows.edges} == {EdgeType.MENTIONS}


def test_without_mentions_entities_are_stored_all_the_same() -> None:
    entity = new_entity("default", "Ada", "UNTYPED", origin="forced", model="m", embedding=None)
    assert (entity.type_certain, entity.model) == (False, "")
    rows = Rows(now_us=0, model="m")
    mention = EntityMention(entity_id=entity.id, confidence=0.9, evidence="Ada", new=entity)
    add_mentions(rows, "mem_1", [mention], with_edges=False, evidence_chars_max=200)
    assert (rows.entities, rows.edges) == ([entity], [])


def test_what_is_embedded_of_an_entity() -> None:
    assert embedded_name("Ada Lovelace") == "ada lovelace"


# --- questions ------------------------------------------------------------------------------


def chosen(**values: Any) -> Any:
    triggers = ("problem-solution", "learning-failure")
    return SimpleNamespace(**({"enabled": True, "allowed_triggers": triggers} | values))


def test_two_triggers_are_allowed() -> None:
    assert is_allowed("problem-solution", chosen())
    assert is_allowed("learning-failure", chosen())
    assert not is_allowed("positive-feedback", chosen())
    assert not is_allowed(None, chosen())
    assert not is_allowed("problem-solution", chosen(enabled=False))
    assert is_allowed("positive-feedback", chosen(allowed_triggers=("positive-feedback",)))


def test_questions_are_cleaned_and_cut() -> None:
    given = [" Why? ", None, 3, "", "  ", "Why?", "x" * 301, "y" * 300, "How?"]
    assert usable_questions(given, 5) == ("Why?", "y" * 300, "How?")
    assert usable_questions(["a?", "b?", "c?", "d?", "e?"], 2) == ("a?", "b?")
    assert usable_questions([], 2) == ()


@pytest.mark.parametrize("value", [{"a": 1}, 3, ["\ud800"]])
def test_questions_are_a_list_of_text(value: Any) -> None:
    with pytest.raises(ValidationError, match="hypothetical_queries"):
        given_questions(value)


@each(
    ("text", "questions"),
    [
        ("The login loop was fixed by clearing cookies.", ("How was the login loop fixed?",)),
        ("We fixed the flaky test by freezing time.", ("How was the flaky test fixed?",)),
        (
            "Problem: The build hangs. Solution: set PATH first.",
            (
                "How is it solved that the build hangs?",
                "Which problem is solved when you set PATH first?",
            ),
        ),
        (
            "If the cache is stale, delete the folder. Nothing else helps.",
            ("What should be done when the cache is stale?",),
        ),
        ("To avoid deadlocks, lock in one order.", ("What helps against deadlocks?",)),
        (
            "Redis times out because the pool is small. A. B because C.",
            ("Why is it that Redis times out?",),
        ),
        (
            "Increase max_connections to {0}",
            ("How is this solved: Increase max_connections to {0}?",),
        ),
    ],
)
def test_questions_from_the_first_two_sentences_of_a_solution(
    text: str, questions: tuple[str, ...]
) -> None:
    assert questions_by_rule(text, "problem-solution", 2) == questions
    assert questions_by_rule(text, "problem-solution", 1) == questions[:1]


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        (
            "Tried to shard by user id, but hot users broke it. Never shard by user.",
            (
                "What happens when you try to shard by user id?",
                "Why is it a mistake to shard by user?",
            ),
        ),
        ("The backup failed because the disk was full", ("Why does the backup fail?",)),
        (
            "Mocking the database hid the bug",
            ("What went wrong: Mocking the database hid the bug?",),
        ),
    ],
)
def test_questions_from_a_failure(text: str, questions: tuple[str, ...]) -> None:
    assert questions_by_rule(text, "learning-failure", 2) == questions


def test_other_triggers_have_no_rules() -> None:
    assert questions_by_rule("The login loop was fixed by luck.", "positive-feedback", 2) == ()
