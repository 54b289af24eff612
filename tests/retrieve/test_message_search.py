"""Turns of an answer: which are searched, which are left out, which repeat others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.retrieve import searches
from vestig.retrieve.messages import message_blacklist, message_queries
from vestig.retrieve.values import Message, RetrieveResult
from vestig.testing import FrozenClock, HashingEmbedder

QUESTION = "Where does the keeper of the lighthouse hang the lantern?"
FACT = "The keeper of the lighthouse hangs the lantern in the hall."


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", clock=FrozenClock(), embedder=HashingEmbedder()) as opened:
        opened.commit(FACT)
        yield opened


def turns(store: vestig.Vestig, *texts: str, author: str = "Ada") -> None:
    """Stores these turns of one conversation."""
    for number, text in enumerate(texts):
        store.commit(text, author=author, session_id=author, sequence=number)


def asked(store: vestig.Vestig, **given: Any) -> RetrieveResult:
    given = {"max_facts": 1, "budget": 100_000, **given}
    return store.retrieve([{"content": QUESTION}], **given)


def test_turns_stand_beside_the_facts_and_are_none_of_them(store: vestig.Vestig) -> None:
    turns(store, "The keeper cleaned the lantern of the lighthouse.")
    found = asked(store)
    assert [line.partition("] ")[2] for line in found.facts] == [FACT]
    assert found.messages == (
        "[2026-03-18] Ada: The keeper cleaned the lantern of the lighthouse.",
    )
    assert found.metadata.tool_calls[-1].name == "message_search"
    # a turn that is returned as a fact is not returned again
    both = asked(store, max_facts=2)
    assert len(both.facts) == 2
    assert both.messages == ()


def test_the_filter_holds_for_turns_and_one_without_chats_finds_none(store: vestig.Vestig) -> None:
    turns(store, "The keeper cleaned the lantern of the lighthouse.")
    assert asked(store, where={"origin_types": ["chat_agent"]}).messages == ()
    plain = asked(store, where={"origin_types": ["note"]})
    assert plain.messages == ()
    assert [one.name for one in plain.metadata.tool_calls if one.name == "message_search"] == []


def test_repeats_and_trivial_turns_make_room_for_others(
    store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = list[int]()
    again = searches.Searches.again

    def watched(self: searches.Searches, answers: Any, filter: Any, limit: int) -> Any:
        limits.append(limit)
        return again(self, answers, filter, limit)

    monkeypatch.setattr(searches.Searches, "again", watched)
    turns(store, *("👍" * (1 + number) for number in range(20)), author="Bob")
    turns(store, "The lantern was cleaned.", "Ola sings.", "ok", "thanks!")
    turns(store, "ola sings.", author="ada")
    found = asked(store, max_messages=3)
    said = [line.partition("] ")[2].casefold() for line in found.messages]
    assert said == ["ada: the lantern was cleaned.", "ada: ola sings."]
    assert limits == [10, 40]


@pytest.mark.parametrize(
    "text", ["Thanks!", "okayyy", "👍🏽", "LOL", "...", "Got it.", "you’re welcome"]
)
def test_trivial_messages(text: str) -> None:
    listed, warning = message_blacklist(None)
    assert warning is None
    assert listed.covers(text)


@pytest.mark.parametrize(
    "text", ["ok by noon", "42", "thanks for the key of the shed", "Oslo", "東京"]
)
def test_messages_that_say_something(text: str) -> None:
    assert not message_blacklist(None)[0].covers(text)


def test_a_file_replaces_the_list(tmp_path: Path) -> None:
    file = tmp_path / "terms.txt"
    file.write_text("# own\nsplendid\n🎉\n", encoding="utf-8")
    listed, warning = message_blacklist(str(file))
    assert warning is None
    covered = [listed.covers(text) for text in ("Splendid!", "🎉", "thanks", "👍")]
    assert covered == [True, True, False, False]


def test_a_file_that_cannot_be_read_is_an_empty_list_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "long.txt").write_bytes(b"ok\n" * 400_000)
    for path in (tmp_path / "gone.txt", tmp_path, tmp_path / "bytes.txt", tmp_path / "long.txt"):
        listed, warning = message_blacklist(str(path))
        assert not listed.covers("thanks")
        assert "retrieve.message_blacklist" in (warning or "")


def test_the_end_of_the_conversation_is_searched_where_no_query_found_a_fact() -> None:
    messages = [Message(content=text) for text in ("one", "two", "three " * 200, "four?")]
    (query,) = message_queries(messages)
    assert query == ("two " + "three " * 200 + " four?")[-500:].strip()
    assert message_queries([Message(content=" ")]) == []


def test_turns_are_searched_with_the_focus_and_what_found_the_best_facts(
    store: vestig.Vestig,
) -> None:
    others = [f"The lantern {number} burns in hall {number}" for number in range(12)]
    store.commit_many([*others, *(f"Boat {number} lies in the harbour" for number in range(9))])
    turns(store, "The keeper cleaned the lantern of the lighthouse.")
    made = asked(store, max_facts=30).metadata.tool_calls
    run = [query for call in made if call.name == "fact_search" for query in call.queries]
    (search,) = [call for call in made if call.name == "message_search"]
    assert search.queries[0] == QUESTION
    assert 1 < len(search.queries) < len(run)
    assert set(search.queries) <= set(run)
