"""Conversations as queries of a store."""

from __future__ import annotations

import json

import pytest

import vestig
from scripted import Opener
from vestig.testing import HashingEmbedder

TALK = [
    {"author": "Ada", "content": "We moved the build to the new cluster."},
    {"author": "Ben", "content": "Which day was that?"},
]


def test_a_conversation_asks_by_its_end(opener: Opener) -> None:
    texts: list[str] = []

    class Listening(HashingEmbedder):
        def embed(self, given: object) -> list[bytes]:
            texts.extend(given)  # type: ignore[arg-type]
            return super().embed(given)  # type: ignore[arg-type]

    store = opener(embedder=Listening(64))
    store.commit("The build moved to the new cluster on the fifth of May")
    long = [{"author": "Ada", "content": f"Sentence number {n} of the talk."} for n in range(200)]
    found = store.recall(messages=[*long, *TALK])
    assert found.query is not None
    assert (len(found.query), found.query[:3]) == (2003, "...")
    assert found.query.endswith("Ben: Which day was that?")
    assert texts[-1] == found.query, "the query is what is embedded"
    assert "cluster" in found.analysis.keywords
    assert found.results[0].content.startswith("The build moved")
    as_text = store.recall(json.dumps([*long, *TALK]))
    assert as_text.query == found.query
    assert [hit.id for hit in as_text] == [hit.id for hit in found]


def test_exactly_one_of_query_and_messages(store: vestig.Vestig) -> None:
    with pytest.raises(vestig.ValidationError, match="exactly one"):
        store.recall("which day?", messages=TALK)
    with pytest.raises(vestig.ValidationError, match="exactly one"):
        store.recall()
    with pytest.raises(vestig.ValidationError, match="messages"):
        store.recall(messages=[])
