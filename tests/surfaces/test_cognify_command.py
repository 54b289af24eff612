"""What `vestig cognify` prints."""

from __future__ import annotations

from vestig.results import CognifyReport, ModelCost
from vestig.surfaces.cli import render
from vestig.types import ItemError

COST = ModelCost(
    model="small", calls=3, input_tokens=1_200, output_tokens=90, cache_read_tokens=0,
    cache_write_tokens=0, money=0.01234,
)  # fmt: skip


def test_counts_errors_and_costs() -> None:
    errors = tuple(ItemError(index=n, code="provider", message="late") for n in range(7))
    report = CognifyReport(
        windows_read=2, windows_failed=7, windows_left=1, claims_added=5, claims_merged=4,
        items_dropped=3, ends_unresolved=2, entities_created=6, relations_created=8,
        summaries_created=1, errors=errors, warnings=("a type is unknown",), costs=(COST,),
    )  # fmt: skip
    assert render.cognified(report, {}).splitlines() == [
        "2 windows read, 7 failed, 1 left",
        "5 claims added, 4 stated again, 6 entities, 8 relations, 1 summaries",
        "3 items of answers dropped",
        "2 names in claims are no entity's, or several'",
        *(f"window {n}: late" for n in range(5)),
        "and 2 more errors",
        "a type is unknown",
        "small: 3 calls, 1200 tokens in, 90 out, 0.0123 by llm.prices",
    ]


def test_a_dry_run_says_what_would_be_sent() -> None:
    report = CognifyReport(windows_left=3, dry_run=True, costs=(COST,))
    assert render.cognified(report, {}).splitlines()[:2] == [
        "3 windows would be read; nothing was asked",
        "what would be sent, estimated, without the answers:",
    ]
