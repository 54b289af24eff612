"""Hooks: called once per attempt, after the transaction, outside the lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from vestig.commit.item import Item
from vestig.errors import ConflictError
from vestig.ports import CommitHook
from vestig.session.session import Session
from vestig.telemetry import WARNING, caused_by_interrupt, log_event
from vestig.types import Degradation

# A commit made by a hook calls hooks again; one made by those is refused.
DEPTH_MAX: Final = 2


def check_depth(session: Session) -> None:
    """Refuses a commit made inside the hook of a commit that a hook made."""
    if getattr(session.hook_depth, "value", 0) >= DEPTH_MAX:
        raise ConflictError(
            "a commit inside the hook of a commit that was itself made by a hook is refused:"
            " hand the work to another thread or a queue"
        )


def call_hooks(session: Session, items: Sequence[Item]) -> Exception | None:
    """The store's hook, then the call's own, per item; failures become `hook_failed`.

    Returns the first failure, for `hooks.strict`.
    """
    first: Exception | None = None
    for item in items:
        if item.request.dry_run or item.outcome is None:
            continue
        for hook in (session.hook, item.request.on_commit):
            if hook is None:
                continue
            failure = _call(session, hook, item)
            if failure is not None:
                first = first or failure
                _report(session, item, failure)
    return first


def _call(session: Session, hook: CommitHook, item: Item) -> Exception | None:
    assert item.outcome is not None, "hooks are called once the outcome is known"
    depth = getattr(session.hook_depth, "value", 0)
    session.hook_depth.value = depth + 1
    try:
        hook(item.outcome)
    except Exception as error:  # the caller's code: whatever it raises, the data stays
        if caused_by_interrupt(error):
            raise KeyboardInterrupt from error
        return error
    finally:
        session.hook_depth.value = depth
    return None


def _report(session: Session, item: Item, failure: Exception) -> None:
    session.metrics.add("vestig_hook_failures_total")
    log_event(WARNING, "hook_failed", error_type=type(failure).__name__)
    entry = Degradation(code="hook_failed", detail=f"the hook raised {type(failure).__name__}")
    session.metrics.degraded([entry])
    assert item.outcome is not None, "only finished items call hooks"
    item.outcome = msgspec.structs.replace(item.outcome, degraded=(*item.outcome.degraded, entry))
