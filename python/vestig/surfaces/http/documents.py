"""Results as the documents of HTTP answers: compact, with reasons where they are asked for."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from vestig.answers import RecallHit, RecallResult
from vestig.errors import HygieneError
from vestig.graph.search_result import SearchHit, SearchResult
from vestig.surfaces import wire
from vestig.times import to_plain
from vestig.types import CommitOutcome, CommitOutcomeKind, ItemError

__all__ = ["answer_document", "committed", "outcomes_document"]


def answer_document(name: str, value: Any, *, reasons: bool) -> dict[str, Any]:
    """A result as `vestig/<name>/1`. Ranked results have `final` and `score`; why each is there
    comes with `reasons`."""
    if isinstance(value, RecallResult):
        return {"schema": f"vestig/{name}/1", **_recalled(value, reasons=reasons)}
    if isinstance(value, SearchResult):
        plain = value.to_dict()
        plain["results"] = [_found(hit, reasons=reasons) for hit in value]
        return {"schema": f"vestig/{name}/1", **plain}
    return wire.document(name, value)


def _recalled(value: RecallResult, *, reasons: bool) -> Any:
    shown = value.plain_fields()
    if not reasons:
        # what a reader needs to compute a score again
        del shown["formula"]
        for name in ("results", "nearest_misses", "associated"):
            shown[name] = [_without_reason(hit) for hit in shown[name]]
    return to_plain({name: part for name, part in shown.items() if part is not UNSET})


def _without_reason(hit: RecallHit) -> dict[str, Any]:
    return {name: part for name, part in hit.fields_without_reason().items() if part is not UNSET}


def _found(hit: SearchHit, *, reasons: bool) -> Any:
    shown = {**hit.to_dict(), "final": hit.score}
    if reasons:
        shown["reason"] = {
            "retrieval_method": "graph_traversal" if hit.graph_depth else "direct_match",
            "similarity": hit.similarity,
            "hops": hit.graph_depth,
            "final_score": hit.score,
        }
    return shown


def committed(outcome: CommitOutcome) -> tuple[int, dict[str, Any]]:
    """(status, document) of one commit: 201 for a new memory, 200 for one that is known.

    Raises:
        HygieneError: the text was refused.
    """
    if outcome.outcome is CommitOutcomeKind.REJECTED_HYGIENE:
        raise HygieneError(outcome)
    new = outcome.outcome is CommitOutcomeKind.INSERTED_NEW and outcome.seq is not None
    return (201 if new else 200), wire.document("outcome", outcome)


def outcomes_document(outcomes: list[CommitOutcome | ItemError]) -> dict[str, Any]:
    """Several commits: the outcome of each, null for those that failed, which are in `errors`."""
    failed = [one for one in outcomes if isinstance(one, ItemError)]
    return wire.document(
        "outcomes",
        {
            "outcomes": [None if isinstance(one, ItemError) else one for one in outcomes],
            "errors": failed,
        },
    )
