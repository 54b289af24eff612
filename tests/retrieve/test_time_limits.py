"""A retrieval keeps its time, whatever is said to it and however slow a model is."""

from __future__ import annotations

import time
from typing import Any

import pytest

import vestig
from loopback_messages import LoopbackMessages
from vestig.testing import HashingEmbedder

FACTS = (
    "Ines keeps the spare key of the boathouse behind the third plank.",
    "The boathouse has a new lock since the spring.",
    "Ola paid for the lock of the boathouse.",
)
QUESTION = [{"content": "Where does Ines keep the key of the boathouse?"}]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["silence", "drip", "drip_headers"])
def test_a_silent_model_costs_half_of_the_time_and_no_fact(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-test")

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("never asked for an answer")

    with LoopbackMessages(answer, failures=[fault] * 9) as server:
        config = {"llm.provider": "anthropic", "llm.base_url": server.base_url}
        embedder = HashingEmbedder(64)
        with vestig.open(":memory:", embedder=embedder, config=config) as store:
            for text in FACTS:
                store.commit(text, enrich=False)
            began = time.monotonic()
            found = store.retrieve(QUESTION, deadline_ms=6_000)
            took = time.monotonic() - began
    assert FACTS[0] in found.facts[0]
    assert len(found.facts) == len(FACTS)
    assert "llm_failed" in [one.code for one in found.metadata.degraded]
    assert found.metadata.stop_reason != "deadline"
    assert took < 5.4, "half of the time is the model's, no more"


UNITS = {
    "names": "Name{0} Sur{0} ",
    "possessives": "Ann's ",
    "pairs": "Ann and Bob and ",
    "quotes": '"Ada {0}" said ',
    "dates": "March {0}, ",
    "one word": "x",
}


@pytest.mark.parametrize("kind", UNITS)
def test_a_message_of_any_length_is_read_as_far_as_a_query(kind: str) -> None:
    short = "".join(UNITS[kind].format(n) for n in range(6_000))[:6_000]
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as store:
        for text in FACTS:
            store.commit(text)
        answers = [
            store.retrieve([{"content": text}], request_id="r", deadline_ms=60_000)
            for text in (short[:4_000], short * 100)
        ]
    queries = [[call.queries for call in one.metadata.tool_calls] for one in answers]
    assert queries[0] == queries[1]
    assert answers[0].facts == answers[1].facts
    assert not answers[0].metadata.warnings
    assert "the first 4000 characters" in answers[1].metadata.warnings[0]
