"""Search queries that rules make of the end of a conversation."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestig.errors import ValidationError
from vestig.retrieve.queries import fallback_queries, query_key, shipped_groups, synonyms, words_of

LONG = (
    "Which developer on the payments team said that the kubernetes deployment of the billing"
    " service breaks?"
)


def texts(*args: Any, **fields: Any) -> list[str]:
    return [query.text for query in fallback_queries(*args, **fields)]


def test_a_long_question_gives_many_kinds_of_queries() -> None:
    found = fallback_queries(LONG)
    assert 6 <= len(found) <= 12
    assert sum(len(query.text.split()) > 1 for query in found) >= 3
    assert any(query.source == "synonym" for query in found)
    assert all(any(word.content for word in words_of(query.text)) for query in found)
    assert len({query_key(query.text) for query in found}) == len(found)


def test_a_second_round_with_history_has_new_queries() -> None:
    first = texts(LONG)
    recent = [
        "we need to talk about the billing migration",
        "the cluster upgrade was delayed by the vendor",
        "my manager asked about costs",
    ]
    second = fallback_queries(LONG, recent, tried=dict.fromkeys(first, 3), iteration=2)
    known = {query_key(text) for text in first}
    assert len(second) >= 6
    assert all(query_key(query.text) not in known for query in second)
    # synonyms and what was said before the message come first
    assert second[0].source == "synonym"
    assert any("manager" in query.text for query in second)


def test_names_of_earlier_messages_serve_a_message_that_only_points_at_them() -> None:
    found = fallback_queries("and where does she live?", ["Yesterday I met Grace Hopper."])
    assert (found[0].source, found[0].text) == ("entity", "Grace Hopper")
    assert "Grace Hopper live" in [query.text for query in found]
    # the latest message first
    assert texts("And she?", ["Ask Ada Lovelace.", "No, ask Grace Hopper."])[0] == "Grace Hopper"


def test_known_names_are_found_in_any_case() -> None:
    assert texts("what did blue harbor ship?", (), None, {}, 1, ["Blue Harbor"])[0] == "blue harbor"
    unknown = fallback_queries("what did blue harbor ship?")
    assert all(query.source != "entity" for query in unknown)


def test_blank_messages_have_no_queries() -> None:
    assert fallback_queries("", goal=None) == []
    assert fallback_queries(" \n", goal=" ") == []
    assert fallback_queries("what did you say?") == []
    assert fallback_queries("🙂", ["The port is 5433."]) == []
    assert texts("", goal="Which port has the staging database?")


def test_never_more_than_twenty() -> None:
    long = " ".join(f"lantern{number} of harbor{number}" for number in range(60))
    assert len(fallback_queries(long, max_queries=500)) == 20
    assert len(fallback_queries(long, max_queries=1)) == 1
    assert len(fallback_queries(long, max_queries=15)) == 15


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"max_queries": 0}, "max_queries"),
        ({"max_queries": True}, "max_queries"),
        ({"max_length": 9}, "max_length"),
        ({"iteration": 0}, "iteration"),
    ],
)
def test_counts_that_are_too_small_are_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        fallback_queries("Where is the key?", **fields)


def test_queries_are_cut_at_the_end_of_a_word() -> None:
    goal = "find the red key of the north shed before the storm arrives"
    found = fallback_queries("and now the lamp?", goal=goal, max_length=24)
    assert [query.text for query in found if query.source == "goal"] == ["find the red key of the"]
    # a single longer word is cut inside
    assert texts("x" * 30 + "?", max_length=12) == ["x" * 12]


def test_names_come_before_single_words() -> None:
    sources = [
        query.source for query in fallback_queries("Did you ask Grace Hopper about compilers?")
    ]
    assert sources.index("entity") < sources.index("keyword")


def test_what_was_tried_is_made_again_only_when_something_changed() -> None:
    question = "What does the cloud cost report say?"
    tried = {"cloud cost report": 0, "cloud cost": 4}
    assert "cloud cost report" not in texts(question, tried=tried)
    again = texts(question, tried=tried, context_changed=True)
    assert "cloud cost report" in again
    assert "cloud cost" not in again
    # one that holds another is another one
    assert "cloud cost report" in texts(question, tried={"cloud": 3})
    # the same words in another form are the same
    assert "cloud cost report" not in texts(question, tried={"the reports of cloud costs": 2})


def test_rare_words_go_first() -> None:
    question = "Was the shed near the oak?"
    assert texts(question)[1] == "shed"
    common = {"shed": 1.0, "near": 1.0, "oak": 4.0}
    assert texts(question, idf=common)[1] == "oak"
    # a word that no memory has comes last
    singles = [text for text in texts(question, idf={"oak": 4.0}) if " " not in text]
    assert singles == ["oak", "shed"]


def test_words_that_frame_a_question_make_no_queries() -> None:
    found = texts("What kind of trips and/or tours did you mention regarding Norway recently?")
    words = {word for text in found for word in text.lower().split()}
    assert {"trips", "tours", "norway"} <= words
    singles = {text for text in found if " " not in text}
    assert not singles & {"and/or", "kind", "regarding", "recently", "mention"}


def test_earlier_messages_take_turns_in_a_second_round() -> None:
    recent = [
        "The ferry to Bergen leaves at noon every single working day of summer.",
        "My cousin repairs wooden sailing boats.",
    ]
    question = "Where is the key?"
    second = texts(question, recent, tried=dict.fromkeys(texts(question), 1), iteration=2)
    assert any("day" in text or "ferry" in text for text in second[:6])
    assert any("sailing" in text for text in second[:6])


def test_a_second_round_reads_what_was_found() -> None:
    question = "Where is the key?"
    facts = ["The locksmith Ada Lovelace keeps spare blanks in Oslo."]
    first = texts(question)
    tried = dict.fromkeys(first, 1)
    assert texts(question, tried=tried, iteration=1, facts=facts) == []
    second = texts(question, tried=tried, iteration=2, facts=facts)
    assert {"Ada Lovelace", "locksmith"} <= set(second)


def test_a_goal_that_is_the_message_is_no_query_of_its_own() -> None:
    message = "Where is the key of the boat house?"
    assert all(q.source != "goal" for q in fallback_queries(message, goal=message))
    found = fallback_queries("It is urgent.", goal=message)
    assert [q.text for q in found if q.source == "goal"] == ["Where is the key of the boat house"]


def test_phrases_stay_inside_of_a_clause() -> None:
    found = texts("I left the ladder, the rope (wet) and the lamp: nobody noticed.", max_queries=20)
    assert not [text for text in found if re.search(r"[,():]", text)]


def test_the_table_has_groups_of_words_of_every_kind() -> None:
    groups = shipped_groups()
    assert len(groups) >= 40
    assert all(len(group) > 1 and len(set(group)) == len(group) for group in groups)
    table = synonyms({})
    for term, other in (
        ("developers", "programmer"),
        ("supervisor", "lead"),
        ("Company", "organisation"),
        ("job", "role"),
        ("k8s", "kubernetes"),
        ("javascript", "js"),
        ("machine learning", "ml"),
        ("databases", "db"),
    ):
        assert other in table.of(term), term


def test_further_synonyms_extend_the_table() -> None:
    own = synonyms({"Blue Harbor": ["the north depot"], "outage": ["sev1"]})
    found = fallback_queries("When did Blue Harbor report an outage?", synonym_table=own)
    made = [query.text for query in found if query.source == "synonym"]
    assert any("the north depot" in text for text in made)
    assert {"downtime", "sev1"} <= set(own.of("outage"))


def test_the_same_call_gives_the_same_queries() -> None:
    fields: dict[str, Any] = {"recent": ["Ada wrote it."], "iteration": 2, "max_queries": 20}
    assert fallback_queries(LONG, **fields) == fallback_queries(LONG, **fields)


def test_scripts_without_spaces_have_queries() -> None:
    assert texts("東京の天気はどうですか?")


@given(
    focus=st.text(max_size=80),
    recent=st.lists(st.text(max_size=40), max_size=3),
    iteration=st.integers(1, 4),
    most=st.integers(1, 30),
    length=st.integers(10, 40),
)
def test_any_text_gives_clean_distinct_queries(
    focus: str, recent: list[str], iteration: int, most: int, length: int
) -> None:
    found = texts(
        focus, recent, iteration=iteration, facts=recent, max_queries=most, max_length=length
    )
    keys = [query_key(text) for text in found]
    assert len(found) <= min(most, 20)
    assert all(keys)
    assert len(set(keys)) == len(keys)
    assert all(0 < len(text) <= length and text == text.strip() for text in found)
