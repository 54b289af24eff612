"""Stored rules: added, read, changed and ended.

A rule is a memory and a row that says what it binds. The memory is written first, and an older one
ends last, so that a rule which is edited binds at every moment: a call that was interrupted is
done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from vestig.calls.condition import parse_condition, why_never
from vestig.calls.declaration import checked
from vestig.calls.memories import DeprecateRequest, SupersedeRequest
from vestig.calls.rules import (
    AddRuleRequest,
    EditRuleRequest,
    ListRulesRequest,
    RemoveRuleRequest,
    RuleRequest,
)
from vestig.changes import ChangeSet, NewRule, RuleCounts
from vestig.commit import pipeline
from vestig.commit.text import content_hash, normalise
from vestig.errors import ConflictError, NotFoundError, ValidationError
from vestig.memories import states, withdrawal
from vestig.memories.states import StateChange
from vestig.other_words import by_caller
from vestig.rules.doubts import doubts
from vestig.rules.values import ANNOUNCED, ENDED, Rule, RulePage
from vestig.session.session import Session, catch_up, cleaned, clock_notice
from vestig.store.records import rule_rows
from vestig.store.records.reads import LedgerView
from vestig.store.records.rule_rows import RuleRow
from vestig.times import format_us, from_us, to_us
from vestig.types import CommitOutcome, Degradation, Memory, Status


def add(session: Session, asked: AddRuleRequest) -> Rule:
    """A memory of the text, and what it binds.

    Raises:
        ConflictError: the text has a rule that says something else.
        HygieneError: the text is none that is kept.
    """
    space = session.in_namespace(asked.namespace)
    _check_no_secret(session, asked.text, {"when": asked.when, "unless": asked.unless})
    new = NewRule(memory_id="", condition=asked.when, decision=asked.do, exception=asked.unless)
    known, over = _known(session, space, asked.text, asked.scope, new)
    if known is not None:
        return known
    outcome = _committed(session, space, asked.text, asked.scope)
    new = msgspec.structs.replace(new, memory_id=_id_of(outcome))
    made = _written(session, space, new, replaces=new.memory_id in over)
    return msgspec.structs.replace(
        made, masked=outcome.masked, degraded=(*outcome.degraded, *made.degraded)
    )


def edit(session: Session, asked: EditRuleRequest) -> Rule:
    """A rule with other words, or another condition, decision or exception.

    Raises:
        NotFoundError: the memory has no rule.
        ConflictError: the rule has ended, or the new text has a rule that says something else.
    """
    space = session.in_namespace(asked.namespace)
    with session.operation("rule_edit"), session.ledger.read() as view:
        memory, row = _found(session, view, space, asked.id)
    exception = row.exception if asked.unless is None else asked.unless or None
    conditions = {"when": asked.when, "unless": asked.unless}
    if asked.text is not None:
        conditions = {"when": asked.when or row.condition, "unless": exception}
    _check_no_secret(session, asked.text or memory.content, conditions)
    status = binding(memory, session.now_us())
    if status not in (Status.ACTIVE, ANNOUNCED):
        after = memory.superseded_by
        raise ConflictError(
            f"cannot edit {memory.id}: its memory is {status}, so that it binds"
            f" nothing; {f'{after} took its place' if after else 'add the rule again'}"
        )
    new = NewRule(
        memory_id=memory.id,
        condition=asked.when or row.condition,
        decision=asked.do or row.decision,
        exception=exception,
    )
    if asked.text is None:
        return _written(session, space, new, replaces=True)
    _, over = _known(session, space, asked.text, memory.scope, new, but=memory.id)
    outcome = _committed(session, space, asked.text, memory.scope)
    new_id = _id_of(outcome)
    if new_id == memory.id:
        return _written(session, space, new, replaces=True)
    counts = RuleCounts(
        fired=row.fired, gave_way=row.gave_way, denied=row.denied, last_fired_us=row.last_fired_us
    )
    successor = msgspec.structs.replace(new, memory_id=new_id, counts=counts)
    made = _written(session, space, successor, replaces=new_id in over)
    pair = {"old": memory.id, "new": new_id, "reason": "the rule was edited", "namespace": space}
    states.supersede(session, checked(SupersedeRequest, pair))
    return msgspec.structs.replace(
        made, masked=outcome.masked, degraded=(*outcome.degraded, *made.degraded)
    )


def remove(session: Session, asked: RemoveRuleRequest) -> StateChange:
    """Ends a rule: its memory is withdrawn, and its history stays.

    Raises:
        NotFoundError: the memory has no rule.
        ConflictError: it has ended already.
    """
    space = session.in_namespace(asked.namespace)
    with session.operation("rule_remove"), session.ledger.read() as view:
        memory, _ = _found(session, view, space, asked.id)
    why = "the rule was removed" if asked.reason is None else asked.reason
    given = {"id": memory.id, "reason": why, "namespace": space}
    done = withdrawal.deprecate(session, checked(DeprecateRequest, given))
    return msgspec.structs.replace(done, warnings=())


def show(session: Session, asked: RuleRequest) -> Rule:
    """One rule, an ended one too.

    Raises:
        NotFoundError: the memory has no rule.
    """
    space = session.in_namespace(asked.namespace)
    with session.operation("rule_show"), session.ledger.read() as view:
        return _rule(*_found(session, view, space, asked.id), session.now_us())


def page(session: Session, asked: ListRulesRequest) -> RulePage:
    """Rules, the oldest first."""
    space = session.in_namespace(asked.namespace)
    with session.operation("rule_list"), session.ledger.read() as view:
        now_us = session.now_us()
        found = [
            rule
            for rule in (
                _rule(memory, row, now_us)
                for memory, row in stored(view, space)
                if in_scope(memory, asked.scope)
            )
            if asked.ended or rule.status in (Status.ACTIVE, ANNOUNCED)
        ]
        shown = tuple(found[asked.offset : asked.offset + asked.limit])
        return RulePage(rules=shown, total=len(found), offset=asked.offset, seq=view.seq)


def stored(view: LedgerView, namespace: str) -> list[tuple[Memory, RuleRow]]:
    """All rules of a namespace with their memories, ended ones too."""
    rows = rule_rows.of_namespace(view, namespace)
    by_id = {one.id: one for one in view.memories(namespace, [row.memory_id for row in rows])}
    return [(by_id[row.memory_id], row) for row in rows if row.memory_id in by_id]


def in_scope(memory: Memory, scope: str | None) -> bool:
    """Return whether a rule binds what happens in a scope; None: in any."""
    return scope is None or memory.scope is None or memory.scope == scope


def binding(memory: Memory, now_us: int) -> str:
    """The state of a rule at a moment: it binds where that is active."""
    if memory.status is not Status.ACTIVE:
        return memory.status
    if memory.t_invalid is not None and to_us(memory.t_invalid) <= now_us:
        return ENDED
    return ANNOUNCED if to_us(memory.t_valid) > now_us else memory.status


def _found(session: Session, view: LedgerView, namespace: str, id: str) -> tuple[Memory, RuleRow]:
    memory = session.memory(view, namespace, id)
    row = rule_rows.of_memory(view, namespace, memory.id)
    if row is None:
        listed = by_caller("rules.list()", "`vestig rule list`")
        raise NotFoundError("Rule", memory.id, f"the memory binds nothing; {listed} has the ids")
    return memory, row


def _rule(memory: Memory, row: RuleRow, now_us: int, degraded: Iterable[Degradation] = ()) -> Rule:
    return Rule(
        id=memory.id,
        text=memory.content,
        when=row.condition,
        do=row.decision,
        unless=row.exception,
        scope=memory.scope,
        namespace=memory.namespace,
        status=binding(memory, now_us),
        created_at=memory.t_created,
        fired=row.fired,
        gave_way=row.gave_way,
        denied=row.denied,
        last_fired_at=None if row.last_fired_us is None else from_us(row.last_fired_us),
        warnings=(*_limits(memory, now_us), *_warnings(row)),
        degraded=tuple(degraded),
    )


def _limits(memory: Memory, now_us: int) -> list[str]:
    """Return that a rule which binds, or will, is not to bind for ever."""
    if binding(memory, now_us) not in (Status.ACTIVE, ANNOUNCED):
        return []
    end, kept = memory.t_invalid, memory.retention_until
    begins = (
        []
        if to_us(memory.t_valid) <= now_us
        else [f"the rule binds from {format_us(to_us(memory.t_valid))} on"]
    )
    ends = [] if end is None else [f"the rule binds until {format_us(to_us(end))}"]
    due = [] if kept is None else [f"a prune may delete the rule from {format_us(to_us(kept))} on"]
    return [*begins, *ends, *due]


def _warnings(row: RuleRow) -> tuple[str, ...]:
    """Return why a rule fires at no action, where that is certain, and what is hardly meant so."""
    when = parse_condition("when", row.condition)
    unless = None if row.exception is None else parse_condition("unless", row.exception)
    why = why_never(when, unless)
    never = [] if why is None else [f"the rule can never fire: {why}"]
    return (*never, *doubts(when))


def _check_no_secret(session: Session, text: str, conditions: Mapping[str, str | None]) -> None:
    """Refuses a condition in which a secret stands, one of the rule's text too: without it, it
    would be another one."""
    for secret in cleaned(session, {"content": text, **conditions}).secrets:
        name, _, _ = secret.place.partition("[")
        if name != "content":
            raise ValidationError(
                name,
                "text with a secret",
                "a condition without secrets",
                "it can name the place or the words around a secret instead",
            )


def _committed(session: Session, namespace: str, text: str, scope: str | None) -> CommitOutcome:
    arguments = {"content": text, "namespace": namespace, "on_near_dup": "insert", "strict": True}
    return pipeline.commit(session, arguments | ({} if scope is None else {"scope": scope}))


def _id_of(outcome: CommitOutcome) -> str:
    assert outcome.memory_id is not None, "a text that is refused is an error"
    return outcome.memory_id


def _known(
    session: Session, namespace: str, text: str, scope: str | None, new: NewRule, *, but: str = ""
) -> tuple[Rule | None, frozenset[str]]:
    """The rule that a text is already, where it says the same; None where it is none. With it the
    ids of the rules of this text that bind nothing: what one of them said counts no longer.

    Args:
        but: the memory of a rule that does not count.

    Raises:
        ConflictError: it says something else.
    """
    now_us = session.now_us()
    hashed, over = content_hash(normalise(text, session.config.settings.hygiene)), set[str]()
    with session.operation("rule_add", without_store="make"), session.ledger.read() as view:
        for memory, row in stored(view, namespace):
            if (memory.content_hash, memory.scope) != (hashed, scope) or memory.id == but:
                continue
            if binding(memory, now_us) not in (Status.ACTIVE, ANNOUNCED):
                over.add(memory.id)
            elif _says(row, new):
                return _rule(memory, row, now_us), frozenset(over)
            else:
                raise _another(memory)
    return None, frozenset(over)


def _says(row: RuleRow, new: NewRule) -> bool:
    said = (new.condition, new.decision, new.exception)
    return (row.condition, row.decision, row.exception) == said


def _another(memory: Memory) -> ConflictError:
    return ConflictError(
        f"the text is the rule {memory.id} already, with another condition, decision or exception;"
        " edit that one"
    )


def _written(session: Session, namespace: str, new: NewRule, *, replaces: bool) -> Rule:
    """Writes a rule where its memory has another one, or none.

    Raises:
        ConflictError: it has another one, which this one does not replace.
    """
    degraded: list[Degradation] = []
    with session.operation("rule_write"):
        with session.ledger.write(session.now_us()) as txn:
            (memory,) = txn.memories(namespace, [new.memory_id])
            old = rule_rows.of_memory(txn, namespace, new.memory_id)
            same = old is not None and _says(old, new)
            if old is not None and not (same or replaces):
                raise _another(memory)
            if not same:
                txn.apply(ChangeSet(namespace=namespace, rules=(new,)))
                degraded.extend(clock_notice(txn.clock_behind_us))
            row = rule_rows.of_memory(txn, namespace, new.memory_id)
            assert row is not None, "a rule that was written is readable"
        return _rule(memory, row, session.now_us(), catch_up(session, degraded))
