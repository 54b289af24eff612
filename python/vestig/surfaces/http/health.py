"""The health of a server, as it answers it."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Final, Literal

import msgspec

from vestig.errors import StoreFullError, VestigError
from vestig.session.session import Session
from vestig.surfaces import wire
from vestig.types import JobState


class Health(msgspec.Struct, kw_only=True):
    """The health of a server of one store. A part that works in a weaker way, or not, is named by
    its field: `ok`, or the code of what is wrong with it."""

    status: Literal["healthy", "degraded", "unhealthy"] = "healthy"
    ledger: str = "ok"
    projection: str = "ok"
    embedder: str = "ok"
    llm: str
    pending_jobs: int = 0
    failed_jobs: int = 0
    version: str
    seq: int | None = None


class FleetHealth(msgspec.Struct, kw_only=True):
    """The health of a server of tenants, of which it names none."""

    status: Literal["healthy", "degraded"]
    postgresql: Literal["ok", "away"]
    version: str


_OPEN: Final = (JobState.PENDING, JobState.RUNNING, JobState.SUBMITTED)


def health(session: Session, damage: VestigError | None = None) -> tuple[int, dict[str, Any]]:
    """(status, document): `healthy`; `degraded` where something works in a weaker way, named by
    its field; `unhealthy` where the store is lost, damaged or no longer at its path (503).

    Args:
        damage: that the last read or the last write met, or a full disk; other than that the store
            is not at its path, which is looked at each time.
    """
    found = Health(llm=session.models.provider or "none", version=version("vestig"))
    if session.mismatch is not None:
        found.embedder = session.mismatch.code
    try:
        if damage is not None and not isinstance(damage, StoreFullError):
            raise damage
        session.ledger.require("empty")
        session.ledger.check_place()
        session.keeper.check_history()
        with session.ledger.read() as view:
            found.seq = view.seq
            jobs = view.stats(session.namespace)["jobs"]
        if session.keeper.core.applied_seq < found.seq:
            # the next read brings it up to date
            found.projection = "behind"
    except VestigError as error:
        found.status, found.ledger = "unhealthy", error.code
        return 503, wire.document("health", found)
    found.pending_jobs = sum(jobs.get(state.value, 0) for state in _OPEN)
    found.failed_jobs = jobs.get(JobState.FAILED.value, 0)
    if session.ledger.options.unwritable:
        found.ledger = "read-only"
    elif damage is not None:
        found.ledger = damage.code
    if found.embedder != "ok" or found.failed_jobs or found.ledger != "ok":
        found.status = "degraded"
    return 200, wire.document("health", found)
