"""Jobs that a call leaves, tried at once. What works them is loaded where there are some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vestig.session.session import Session
    from vestig.types import Degradation


def run_jobs(session: Session, namespace: str, ids: Sequence[str]) -> list[Degradation]:
    """Tries these jobs at once, as `enrich_inline` does; what degraded."""
    if not ids:
        return []
    from vestig.commit.enrich import enrich_inline

    return enrich_inline(session, namespace, ids)
