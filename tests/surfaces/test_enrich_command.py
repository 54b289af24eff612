"""What `vestig housekeeping enrich` prints."""

from __future__ import annotations

from vestig.results import EnrichReport, ModelCost
from vestig.surfaces.cli import render


def test_counts_and_what_the_calls_took() -> None:
    cost = ModelCost(
        model="small",
        calls=3,
        input_tokens=1_200,
        output_tokens=90,
        cache_read_tokens=800,
        cache_write_tokens=0,
        money=0.01234,
    )
    free = ModelCost(
        model="free",
        calls=1,
        input_tokens=10,
        output_tokens=2,
        cache_read_tokens=0,
        cache_write_tokens=0,
        money=None,
    )
    report = EnrichReport(
        taken=9, done=5, retried=1, failed=2, pending=3, submitted=4, possible_updates=0,
        superseded=2, costs=(cost, free),
    )  # fmt: skip
    assert render.enriched(report, {}).splitlines() == [
        "5 jobs done, 1 to be retried, 2 failed, 3 pending, 4 in a batch",
        "2 memories superseded, as a language model judged",
        "small: 3 calls, 1200 tokens in (800 from the cache), 90 out, 0.0123 by llm.prices",
        "free: 1 calls, 10 tokens in, 2 out",
    ]


def test_a_dry_run_says_what_would_be_sent() -> None:
    cost = ModelCost(
        model="small",
        calls=2,
        input_tokens=900,
        output_tokens=0,
        cache_read_tokens=0,
        cache_write_tokens=0,
        money=0.0027,
    )
    report = EnrichReport(
        taken=0, done=0, retried=0, failed=0, pending=5, possible_updates=0, dry_run=True,
        costs=(cost,),
    )  # fmt: skip
    assert render.enriched(report, {}).splitlines() == [
        "5 jobs are due; nothing was asked",
        "what would be sent, estimated, without the answers:",
        "small: 2 calls, 900 tokens in, 0 out, 0.0027 by llm.prices",
    ]
