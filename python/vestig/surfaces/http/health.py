"""Health of a server, in one look that costs little."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from vestig.errors import VestigError
from vestig.session.session import Session
from vestig.surfaces import wire
from vestig.types import JobState


def health(session: Session, damage: VestigError | None = None) -> tuple[int, dict[str, Any]]:
    """(status, document): `healthy`; `degraded` where something works in a weaker way, named by
    its field; `unhealthy` where the store is lost, damaged or no longer at its path (503).

    Args:
        damage: that the last read or the last write met.
    """
    found: dict[str, Any] = {
        "status": "healthy",
        "ledger": "ok",
        "projection": "ok",
        "embedder": "ok" if session.mismatch is None else session.mismatch.code,
        "llm": session.models.provider or "none",
        "pending_jobs": 0,
        "failed_jobs": 0,
        "version": version("vestig"),
        "seq": 0,
    }
    try:
        if damage is not None:
            raise damage
        session.ledger.require("empty")
        session.ledger.check_place()
        session.keeper.check_history()
        with session.ledger.read() as view:
            found["seq"] = view.seq
            jobs = view.stats(session.namespace)["jobs"]
        if session.keeper.core.applied_seq < found["seq"]:
            # the next read brings it up to date
            found["projection"] = "behind"
    except VestigError as error:
        found |= {"status": "unhealthy", "ledger": error.code}
        return 503, wire.document("health", found)
    found["pending_jobs"] = sum(jobs.get(state.value, 0) for state in _OPEN)
    found["failed_jobs"] = jobs.get(JobState.FAILED.value, 0)
    if found["embedder"] != "ok" or found["failed_jobs"]:
        found["status"] = "degraded"
    return 200, wire.document("health", found)


_OPEN = (JobState.PENDING, JobState.RUNNING, JobState.SUBMITTED)
