"""Agent frameworks on a store, one module each, which is loaded only when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable

from vestig.results import PutOutcome
from vestig.telemetry import WARNING, log_event

__all__ = ["count_masked"]


def count_masked(outcomes: Iterable[PutOutcome]) -> int:
    """Return how many secrets were masked in the values that were put, and log it: a framework
    hands no outcome on."""
    found = [place for one in outcomes for secret in one.masked for place in secret.places]
    count = sum(place.startswith("value") for place in found)
    if count:
        log_event(WARNING, "secrets_masked", count=count)
    return count
