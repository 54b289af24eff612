"""What every change of an open store does around its transaction."""

from __future__ import annotations

from vestig.session.session import Session
from vestig.types import Degradation

__all__ = ["RollBack", "catch_up", "clock_notice"]


class RollBack(Exception):
    """Leaves a transaction without writing; caught outside of it."""


def clock_notice(stepped_back: bool) -> list[Degradation]:
    """The degradation of a transaction that kept the last recorded time: times never go back."""
    if not stepped_back:
        return []
    detail = "the clock is behind the ledger: the last recorded time was used"
    return [Degradation(code="clock_stepped_back", detail=detail)]


def catch_up(session: Session, degraded: list[Degradation]) -> tuple[Degradation, ...]:
    """After a durable change: the projection follows; all that degraded is counted and given."""
    degraded.extend(session.keeper.after_commit())
    session.metrics.degraded(degraded)
    return tuple(degraded)
