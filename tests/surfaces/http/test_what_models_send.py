"""Arguments over HTTP as language models and their libraries write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from served import Site


@pytest.fixture
def id(site: Site) -> str:
    return site.commit("The lamp of the pier is green.", tags="pier, lamp", author="Ann")


@pytest.mark.parametrize("tags", ["pier,lamp", '["pier", "lamp"]', ["pier", "lamp"]])
@pytest.mark.parametrize("as_text", [False, True])
def test_lists_and_filters_that_come_as_text(site: Site, id: str, tags: Any, as_text: bool) -> None:
    where: Any = {"tags": tags, "tags_mode": "all", "authors": '["Ann"]'}
    given = json.dumps(where) if as_text else where
    found = site.post("recall", {"query": "which lamp?", "where": given, "limit": 1})
    assert [hit["id"] for hit in found.document["results"]] == [id]


def test_a_text_that_may_be_several_names_is_refused(site: Site) -> None:
    reply = site.post("recall", {"query": "which lamp?", "where": {"authors": "Ann,Bob"}})
    assert reply.status == 422
    assert reply.document["detail"].startswith("where.authors: expected a list, got a text with")


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("commit", {"content": "The lamp is red", "scope": "auto"}),
        ("recall", {"query": "which lamp?", "where": {"scope": ["auto"]}}),
        ("item/put", {"key": "lamp", "value": 1, "scope": "auto"}),
    ],
)
def test_a_server_has_no_project(site: Site, path: str, given: dict[str, Any]) -> None:
    reply = site.post(path, given)
    assert reply.status == 422
    assert "auto is the project of the folder" in reply.document["detail"]


def test_messages_as_programs_have_them(site: Site, id: str) -> None:
    chat = [
        {"role": "developer", "content": "Be short."},
        {"role": "user", "content": [{"type": "text", "text": "Which lamp is on the pier?"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]},
        {"role": "tool", "tool_call_id": "1", "content": "noon"},
    ]
    recalled = site.post("recall", {"messages": chat})
    assert recalled.status == 200, recalled
    assert recalled.document["query"] == "Which lamp is on the pier?"
    retrieved = site.post("retrieve", {"messages": chat})
    assert retrieved.status == 200, retrieved
    assert any("green" in fact for fact in retrieved.document["facts"])


@pytest.mark.parametrize(
    ("path", "given", "told"),
    [
        ("recall", {"query": "a", "k": 3}, "recall has no argument k; did you mean limit?"),
        ("recall", {"q": "a"}, "recall has no argument q; did you mean query?"),
        ("recall", {"query": "a", "user_id": "b"}, "did you mean where.scope?"),
        ("commit", {"text": "a"}, "commit has no argument text; did you mean content?"),
        ("forget", {"memory_ids": "a", "confirm": True}, "did you mean ids?"),
    ],
)
def test_an_unknown_argument(site: Site, path: str, given: dict[str, Any], told: str) -> None:
    reply = site.post(path, given)
    assert reply.status == 422
    assert told in reply.document["detail"]
    assert "It takes: " in reply.document["detail"]
