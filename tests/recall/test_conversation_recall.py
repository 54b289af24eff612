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


def test_a_conversation_asks_by_its_last_message(opener: Opener) -> None:
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
    assert found.query == "Which day was that? We moved the build to the new cluster."
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


def test_a_message_that_says_nothing_brings_nothing(opener: Opener) -> None:
    store = opener(embedder=HashingEmbedder(64))
    store.commit("A great thank you goes to the harbour, ok")
    talk = [*TALK, {"role": "assistant", "content": "On the fifth of May."}]
    for thanks in ("ok great, thank you!", "danke"):
        said = [*talk, {"author": "Ben", "content": thanks}]
        found = store.recall(messages=said)
        assert (len(found), found.abstained, found.query) == (0, True, thanks)
        assert any("asks nothing" in warning for warning in found.warnings)
        assert len(store.recall(messages=said, all=True)) == 1


def test_a_change_of_subject_is_asked_alone(opener: Opener) -> None:
    store = opener(embedder=HashingEmbedder(64))
    store.commit("The build moved to the new cluster on the fifth of May")
    port = store.commit("The staging database runs on port 5433").memory_id
    asked = "Which port does the staging database use?"
    found = store.recall(messages=[*TALK, {"author": "Ben", "content": asked}])
    assert (found.query, found[0].id) == (asked, port)
