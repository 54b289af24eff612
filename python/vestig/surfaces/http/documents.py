"""Results as the documents of HTTP answers."""

from __future__ import annotations

from typing import Any

from vestig.errors import HygieneError
from vestig.surfaces import wire
from vestig.types import CommitOutcome, CommitOutcomeKind, ItemError


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
