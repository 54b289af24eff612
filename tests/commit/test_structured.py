"""Structured memories: a text that is made of fields, and made anew when one changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vestig
from exports import of, parsed, sealed
from scripted import Opener
from vestig.errors import ValidationError
from vestig.testing import HashingEmbedder
from vestig.types import StructuredText

QUEUE: dict[str, Any] = {
    "topic": "Job queue",
    "context": "Half of the nightly exports were lost",
    "decisions": ["acknowledge after the write", "retry thrice"],
    "rationale": ["RabbitMQ redelivers", "the disk is slow at night"],
}
QUEUE_TEXT = (
    "Topic: Job queue. Half of the nightly exports were lost."
    " Decisions: acknowledge after the write; retry thrice."
    " Rationale: RabbitMQ redelivers; the disk is slow at night."
)


def memory_of(store: vestig.Vestig, **fields: Any) -> Any:
    outcome = store.commit_structured(**fields)
    assert outcome.memory_id is not None
    return store.show(outcome.memory_id).memory


def test_the_text_is_made_of_all_fields_and_they_stay_beside_it(opener: Opener) -> None:
    store = opener()
    memory = memory_of(store, **QUEUE, tags=["ops"], metadata={"ticket": 7}, author="Ada")
    assert memory.content == QUEUE_TEXT
    assert memory.structured == StructuredText(
        topic=QUEUE["topic"],
        context=QUEUE["context"],
        decisions=tuple(QUEUE["decisions"]),
        rationale=tuple(QUEUE["rationale"]),
    )
    assert (memory.author, memory.tags, memory.metadata["ticket"]) == ("Ada", ("ops",), 7)
    assert store.events(memory.id)[0].payload["structured"] is True
    plain = store.commit("The canteen has soup on Mondays").memory_id
    assert plain is not None
    assert store.show(plain).memory.structured is None
    assert store.events(plain)[0].payload["structured"] is False


@pytest.mark.parametrize("words", ["job queue", "nightly exports", "retry thrice", "slow disk"])
def test_every_field_is_found(opener: Opener, words: str) -> None:
    store = opener()
    wanted = memory_of(store, **QUEUE).id
    for n in range(8):
        store.commit(f"The canteen served soup number {n * 7919} on a Monday")
    assert store.recall(words)[0].memory_id == wanted


def test_empty_parts_are_left_out_and_no_sentence_ends_twice(opener: Opener) -> None:
    store = opener()
    bare = memory_of(store, topic="Lifts?", context="Both were out of order.")
    assert bare.content == "Topic: Lifts? Both were out of order."
    one = memory_of(store, topic="Doors", context="They jam", rationale="old hinges")
    assert one.content == "Topic: Doors. They jam. Rationale: old hinges."


def test_the_hash_is_of_the_trimmed_fields_alone(opener: Opener) -> None:
    store = opener()
    first = store.commit_structured(**QUEUE, metadata={"n": 1}, source="a")
    spaced = {
        name: [f" {one} " for one in value] if isinstance(value, list) else f"  {value}\n"
        for name, value in QUEUE.items()
    }
    again = store.commit_structured(**spaced, metadata={"m": 2}, source="b")
    assert (again.outcome, again.memory_id) == ("EXACT_DUPE", first.memory_id)


fields = st.fixed_dictionaries(
    {
        "topic": st.sampled_from(["Queue", "Qüeue", "a; b", "T. x"]),
        "context": st.sampled_from(["Jobs were lost", "Decisions: none", "{}"]),
        "decisions": st.lists(st.sampled_from(["a", "b", "a; b"]), max_size=2).map(tuple),
        "rationale": st.lists(st.sampled_from(["c", "d"]), max_size=2).map(tuple),
    }
)


@given(fields, fields)
def test_equal_hashes_are_of_equal_fields_and_texts(one: Any, other: Any) -> None:
    import hashlib
    import json

    first, second = StructuredText(**one), StructuredText(**other)
    written = json.dumps(one, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert first.doc_hash == hashlib.sha256(written.encode()).hexdigest()
    assert (first.doc_hash == second.doc_hash) == (one == other)
    if one == other:
        assert first.content == second.content


def test_a_changed_field_makes_the_text_anew(opener: Opener) -> None:
    store = opener()
    old = memory_of(store, **QUEUE, tags=["ops"], metadata={"ticket": 7}, pinned=False)
    done = store.update(old.id, decisions=["move to Kafka"])
    new = store.show(done.memory_id).memory
    assert new.content == QUEUE_TEXT.replace(
        "acknowledge after the write; retry thrice", "move to Kafka"
    )
    assert new.structured is not None
    assert (new.structured.topic, new.structured.decisions) == ("Job queue", ("move to Kafka",))
    assert (new.tags, new.metadata["ticket"]) == (("ops",), 7)
    assert store.show(old.id).memory.superseded_by == new.id
    same = store.update(new.id, topic=" Job queue ")
    assert (same.changed, same.memory_id) == (False, new.id)
    none = store.show(store.update(new.id, rationale=[]).memory_id).memory
    assert "Rationale" not in none.content
    tagged = store.update(none.id, tags=["later"], clear=["metadata"])
    after = store.show(tagged.memory_id).memory
    assert (after.structured, after.tags) == (none.structured, ("later",))


def test_another_content_is_a_plain_text(opener: Opener) -> None:
    store = opener()
    old = memory_of(store, **QUEUE)
    new = store.show(store.update(old.id, "Exports are written twice now").memory_id).memory
    assert new.structured is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"topic": " \n", "context": "x"}, "topic cannot be empty"),
        ({"topic": "x", "context": ""}, "context cannot be empty"),
        ({"topic": 5, "context": "x"}, "topic"),
        ({"topic": "x", "context": "y", "decisions": ["a", " "]}, "decisions[1]: expected"),
        ({"topic": "x", "context": "y", "rationale": [None]}, "rationale[0]: expected"),
        ({"topic": "x", "context": "y", "metadata": {"structured": {}}}, "use commit_structured"),
    ],
    ids=str,
)
def test_a_wrong_field_is_named(opener: Opener, arguments: Any, told: str) -> None:
    store = opener()
    with pytest.raises((ValidationError, TypeError)) as caught:
        store.commit_structured(**arguments)
    assert told in str(caught.value)
    assert store.count() == 0


def test_fields_of_what_is_not_structured_are_refused(opener: Opener) -> None:
    store = opener()
    id = store.commit("The canteen has soup on Mondays").memory_id
    assert id is not None
    with pytest.raises(ValidationError, match="topic: expected a structured memory"):
        store.update(id, topic="Canteen")
    made = memory_of(store, **QUEUE)
    with pytest.raises(ValidationError, match="either topic or content, not both"):
        store.update(made.id, "A whole new text", topic="Canteen")
    assert store.count() == 2


def test_a_plain_memory_with_the_same_text_says_that_fields_are_not_added(opener: Opener) -> None:
    store = opener()
    store.commit(QUEUE_TEXT)
    again = store.commit_structured(**QUEUE)
    assert again.outcome == "EXACT_DUPE"
    assert any("structured fields are not added" in one for one in again.warnings)


def test_an_export_brings_the_fields_along(opener: Opener, tmp_path: Path) -> None:
    store, other = opener("one"), opener("two")
    memory = memory_of(store, **QUEUE)
    store.export(str(tmp_path / "out.jsonl"))
    other.import_(str(tmp_path / "out.jsonl"))
    assert other.show(memory.id).memory.structured == memory.structured


def test_nothing_of_the_fields_is_left_when_it_is_forgotten(tmp_path: Path) -> None:
    from traces import holding

    with vestig.open(str(tmp_path / "store"), embedder=HashingEmbedder()) as store:
        memory = memory_of(store, topic="Ximena", context="Her badge is 70079", decisions=["Zoe"])
        store.forget(memory.id)
        assert holding(tmp_path / "store", b"Ximena", b"70079", b"Zoe") == []


@pytest.mark.parametrize("fields", [1, {}, {"topic": "a"}, {"topic": 1, "context": "b"}], ids=str)
def test_an_export_with_fields_that_are_none_is_refused(
    opener: Opener, tmp_path: Path, fields: Any
) -> None:
    store, other = opener("one"), opener("two")
    memory_of(store, **QUEUE)
    path = tmp_path / "out.jsonl"
    store.export(str(path))
    lines = parsed(path.read_bytes())
    of(lines, "memory")["metadata"]["structured"] = fields
    path.write_bytes(b"\n".join(sealed(lines)) + b"\n")
    with pytest.raises(ValidationError, match="structured"):
        other.import_(str(path))
    assert other.count() == 0


def test_no_field_keeps_a_secret(opener: Opener, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    store = opener()
    for place in ("topic", "context", "decisions", "rationale"):
        fields = QUEUE | {"topic": f"Queue of {place}", place: f"the token is {secret}"}
        memory = memory_of(store, **fields)
        assert secret not in repr(memory)
        assert memory.structured is not None
        assert memory.structured.content == memory.content
        with pytest.raises(ValidationError, match=place):
            opener("strict", config={"firewall.secrets": "reject"}).commit_structured(**fields)
