"""Retrievals over HTTP: the answer, its trace, how often one may ask, and what is logged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from served import Site, serving
from tables import each

ASKED = {"messages": [{"content": "When do deploys run?", "author": "Ada"}]}


def test_a_retrieval_is_answered_as_in_python(site: Site) -> None:
    site.commit("Deploys run on Fridays at noon", author="Omar")
    asked = {**ASKED, "query_time": "2027-01-01", "request_id": "req-17"}
    reply = site.post("retrieve", asked)
    assert (reply.status, reply.document["schema"]) == (200, "vestig/retrieve/1")
    direct = site.store.retrieve(**asked).to_dict()  # type: ignore[arg-type]
    for name in ("facts", "messages", "context_summary", "confidence"):
        assert reply.document[name] == direct[name]
    assert reply.document["facts"]
    assert reply.document["metadata"]["request_id"] == "req-17"


@each(
    "beside",
    [
        {"messages": []},
        {"messages": [{}]},
        {"messages": [{"content": 5}]},
        {"messages": "When?"},
        {"max_facts": 0},
        {"max_facts": 501},
        {"max_facts": True},
        {"where": {"tag": "infra"}},
        {"tags": ["infra"]},
        {"debug": 1},
        {"surprise": 1},
    ],
    ids=str,
)
def test_a_wrong_retrieval_is_refused(site: Site, beside: dict[str, Any]) -> None:
    reply = site.post("retrieve", {**ASKED, **beside})
    assert (reply.status, reply.code) == (422, "validation")


def test_the_trace_has_a_route_where_it_is_offered() -> None:
    with serving(None) as site:
        assert site.post("retrieve/debug", ASKED).status == 404
    with serving(None, debug_endpoint=True) as site:
        assert site.post("retrieve/debug", ASKED).document["reasoning_trace"]
        assert not site.post("retrieve", ASKED).document.get("reasoning_trace")


def test_a_client_may_ask_so_often(tmp_path: Path) -> None:
    with serving(tmp_path / "one") as site:
        assert [site.post("retrieve", ASKED).status for _ in range(12)] == [200] * 12
    with serving(tmp_path / "two", **{"rate_limit.requests": 2}) as site:
        replies = [site.post("retrieve", ASKED) for _ in range(3)]
        assert [reply.status for reply in replies] == [200, 200, 429]
        assert (replies[2].code, int(replies[2].headers["retry-after"]) <= 60) == (
            "rate-limited",
            True,
        )
        assert site.post("recall", {"query": "deploys"}).status == 200


def test_the_log_says_how_sure_and_why_it_ended(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as site:
        site.commit("Deploys run on Fridays at noon", author="Omar")
        score = site.post("retrieve", ASKED).document["metadata"]
        site.service.close()
        with site.store._session.ledger.read() as view:
            rows = view.connection.execute(
                "SELECT confidence, reason FROM requests WHERE route = 'retrieve'"
            )
            assert [tuple(row) for row in rows] == [
                (score["confidence_score"], score["stop_reason"])
            ]
