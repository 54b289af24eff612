"""Which rules an action fires, and the counts of that."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from vestig.calls.condition import parse_condition
from vestig.calls.rules import DECISIONS, ActionRequest
from vestig.changes import AccessTouch, RuleCounts
from vestig.errors import VestigError
from vestig.rules.matcher import NO, YES, Action, CompiledRule, RuleSet, composed
from vestig.rules.stored import binding, in_scope, stored
from vestig.rules.values import RuleCheck, RuleFired
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.types import Degradation, Memory, Status

_COMPILED_MAX: Final = 4_096
_STATES_MAX: Final = 64


class _Bound(NamedTuple):
    """A rule that binds."""

    memory: Memory
    decision: str


class _RuleSets:
    """The rules of each namespace and scope as they were last read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str | None], tuple[int, RuleSet[_Bound]]] = {}

    def drop(self, seq: int) -> None:
        """Drops what was read before this seq."""
        with self._lock:
            self._found = {place: one for place, one in self._found.items() if one[0] >= seq}

    def of(self, view: LedgerView, namespace: str, scope: str | None) -> RuleSet[_Bound]:
        """The rules that bind in a scope, in the state of a view."""
        with self._lock:
            known = self._found.get((namespace, scope))
        if known is not None and known[0] == view.seq:
            return known[1]
        made = RuleSet(
            (_Bound(memory, row.decision), _compiled(row.condition, row.exception))
            for memory, row in stored(view, namespace)
            if memory.status is Status.ACTIVE and in_scope(memory, scope)
        )
        with self._lock:
            if len(self._found) >= _STATES_MAX:
                self._found.clear()
            self._found[namespace, scope] = view.seq, made
        return made


@lru_cache(maxsize=_COMPILED_MAX)
def _compiled(when: str, unless: str | None) -> CompiledRule:
    return CompiledRule(
        parse_condition("when", composed(when)),
        None if unless is None else parse_condition("unless", composed(unless)),
    )


def check(session: Session, asked: ActionRequest, *, counts: bool) -> RuleCheck:
    """The rules that an action meets.

    Args:
        counts: count that they fired, gave way and denied. Where that fails, the result says so.
    """
    space = session.in_namespace(asked.namespace)
    action = Action(asked.tool, asked.path or (), asked.command, asked.url, asked.text)
    fired: list[RuleFired] = []
    gave_way: list[str] = []
    unread: str | None = None
    with session.operation("rule_check"), session.ledger.read() as view:
        rules = session.cache(_RuleSets).of(view, space, asked.scope)
        now_us = session.now_us()
        for bound, decision in rules.decide(action):
            if binding(bound.memory, now_us) != Status.ACTIVE:
                continue
            if decision.fires == NO:
                gave_way.append(bound.memory.id)
                continue
            certain = decision.fires == YES
            unread = unread or decision.unread
            fired.append(
                RuleFired(
                    id=bound.memory.id,
                    text=bound.memory.content,
                    do="ask" if bound.decision == "deny" and not certain else bound.decision,
                    command=decision.command,
                    certain=certain,
                )
            )
    strongest = max((DECISIONS.index(one.do) for one in fired), default=None)
    found = RuleCheck(
        decision=None if strongest is None else DECISIONS[strongest],
        fired=tuple(fired),
        gave_way=tuple(gave_way),
        unread=unread,
    )
    if not counts:
        return found
    return msgspec.structs.replace(found, degraded=count(session, space, found))


def count(session: Session, namespace: str | None, found: RuleCheck) -> tuple[Degradation, ...]:
    """Adds what a check found to the counts of its rules. An action is not held up where that
    fails; what is returned says so."""
    now_us = session.now_us()
    counts = [
        (one.id, RuleCounts(fired=1, denied=int(one.do == "deny"), last_fired_us=now_us))
        for one in found.fired
    ]
    counts += [(id, RuleCounts(gave_way=1)) for id in found.gave_way]
    if not counts or session.read_only:
        return ()
    touch = AccessTouch(rules=tuple(counts), accessed_us=now_us)
    try:
        session.ledger.touch(session.in_namespace(namespace), touch)
    except VestigError as error:
        detail = f"the rules that fired were not counted: {type(error).__name__}"
        entry = Degradation(code="rules_not_counted", detail=detail)
        session.metrics.degraded([entry])
        return (entry,)
    return ()
