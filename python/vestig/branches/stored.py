"""Memories of branches: listed, moved to the project when their branch was merged, ended when it is
dropped. A call is one transaction, and each change an event of its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from vestig.branches.plan import Plan, Project
from vestig.branches.values import (
    BranchChange,
    BranchChanges,
    BranchList,
    BranchMemories,
    BranchMemory,
)
from vestig.calls.branches import (
    BranchRequest,
    DropBranchRequest,
    ListBranchesRequest,
    MergeBranchesRequest,
)
from vestig.changes import ChangeSet, NewSupersession
from vestig.commit.update import FieldChanges, text_in_scope, update_changes
from vestig.errors import NotFoundError
from vestig.memories import states
from vestig.memories.states import Successor
from vestig.other_words import by_caller
from vestig.session.session import Session, catch_up, clock_notice, keep_answer
from vestig.store.records import item_rows, keyed_memories, rule_rows
from vestig.store.records.reads import LedgerView
from vestig.store.records.writes import WriteTransaction
from vestig.times import to_us
from vestig.types import Degradation, Memory, RetentionPolicy, Status

_BY_CALL: Final = "call"
_IS_A_RULE: Final = "it is a rule, which `vestig rule remove` ends"


def listed(session: Session, asked: ListBranchesRequest) -> BranchList:
    """The branches with which memories are kept.

    Raises:
        ValidationError: no repository is worked in.
    """
    space = session.in_namespace(asked.namespace)
    with session.operation("branch_list"):
        project = Project(session, space)
        default = project.git.default
        with session.ledger.read() as view:
            return BranchList(
                branches=tuple(plan.branch for plan in project.plans(view)),
                project=project.scope,
                default=None if default is None else default.name,
                current=project.git.current,
                seq=view.seq,
            )


def show(session: Session, asked: BranchRequest) -> BranchMemories:
    """The memories of a branch, and why those that are not moved unasked stay.

    Raises:
        ValidationError: no repository is worked in.
        NotFoundError: no memory is kept with the branch.
    """
    space = session.in_namespace(asked.namespace)
    with session.operation("branch_show"):
        project = Project(session, space)
        with session.ledger.read() as view:
            plan = _named(project, view, asked.name)
            return BranchMemories(
                memories=tuple(
                    BranchMemory(id=one.id, text=one.content, stays=plan.stays.get(one.id))
                    for one in plan.memories
                ),
                branch=plan.branch,
                seq=view.seq,
            )


def merge(session: Session, asked: MergeBranchesRequest) -> BranchChanges:
    """Moves what belongs to branches that were merged to the project, and of a renamed one to its
    new name; of a branch that is named all memories.

    Raises:
        ValidationError: no repository is worked in.
        NotFoundError: no memory is kept with the branch.
    """
    space = session.in_namespace(asked.namespace)
    with session.operation("branch_merge"):
        project = Project(session, space)
        with session.ledger.read() as view:
            if asked.name is None:
                plans = [plan for plan in project.plans(view) if plan.branch.moves]
            else:
                plans = [_by_call(_named(project, view, asked.name))]
        return _written(session, space, plans, _Changes.move)


def drop(session: Session, asked: DropBranchRequest) -> BranchChanges:
    """Withdraws all memories of a branch but its rules, which a call that names them ends.

    Raises:
        ValidationError: no repository is worked in.
        NotFoundError: no memory is kept with the branch.
    """
    space = session.in_namespace(asked.namespace)
    with session.operation("branch_drop"):
        project = Project(session, space)
        with session.ledger.read() as view:
            plan = _named(project, view, asked.name)
        return _written(session, space, [plan], _Changes.drop)


def _named(project: Project, view: LedgerView, name: str) -> Plan:
    for plan in project.plans(view):
        if name in (plan.branch.name, plan.branch.scope):
            return plan
    raise NotFoundError(
        "Branch", name, by_caller("`vestig branch list` names those that have memories")
    )


def _by_call(plan: Plan) -> Plan:
    """The same branch, all memories of which are to move."""
    how = plan.branch.how or _BY_CALL
    branch = msgspec.structs.replace(plan.branch, how=how, moves=len(plan.memories))
    return plan._replace(branch=branch, stays={})


class _Changes:
    """Decisions about the memories of branches in one transaction. No two that move take one key or
    one text: what comes second stays, and moves another time."""

    def __init__(self, session: Session, txn: WriteTransaction) -> None:
        self._session = session
        self._now_us = session.now_us()
        self._txn = txn
        self._parts: list[ChangeSet] = []
        self._records: list[NewSupersession] = []
        self._taken: set[tuple[object, ...]] = set()

    def all(self, namespace: str) -> ChangeSet | None:
        """All that was decided; None for nothing."""
        if not self._parts:
            return None
        joined = states.joined(namespace, self._parts)
        return msgspec.structs.replace(joined, supersessions=tuple(self._records))

    def drop(self, plan: Plan, memories: Sequence[Memory]) -> BranchChange:
        """Ends these memories of a branch, but no rules."""
        reason = f"the branch {plan.branch.name} was dropped"
        ended, stayed = list[str](), list[BranchMemory]()
        for one in memories:
            if rule_rows.is_rule(self._txn, one):
                stayed.append(
                    BranchMemory(id=one.id, text=one.content, stays=by_caller(_IS_A_RULE))
                )
            else:
                self._parts.append(states.deprecate_changes(one, reason, None, self._now_us))
                ended.append(one.id)
        return BranchChange(
            branch=plan.branch.name,
            scope=plan.branch.scope,
            ended=tuple(ended),
            stayed=tuple(stayed),
        )

    def move(self, plan: Plan, memories: Sequence[Memory]) -> BranchChange:
        """Moves those of these memories of a branch that can."""
        moved, ended, replaced = list[str](), list[str](), list[str]()
        stayed = list[BranchMemory]()
        for memory in memories:
            why = plan.stays.get(memory.id)
            if why is None:
                why = self._move(plan, memory, moved, ended, replaced)
            if why is not None:
                stayed.append(BranchMemory(id=memory.id, text=memory.content, stays=why))
        return BranchChange(
            branch=plan.branch.name,
            scope=plan.branch.scope,
            to=plan.to,
            moved=tuple(moved),
            ended=tuple(ended),
            replaced=tuple(replaced),
            stayed=tuple(stayed),
        )

    def _move(
        self, plan: Plan, memory: Memory, moved: list[str], ended: list[str], replaced: list[str]
    ) -> str | None:
        """Moves a memory, or ends it where its text is in the project; returns why it stays."""
        place = _place(memory, plan.to)
        if place in self._taken:
            return "another memory of its key or text moves with it; merge again"
        if memory.key is not None:
            if item_rows.find(self._txn, memory.namespace, memory.scope, memory.key) is not None:
                return "it is the text of an item"
            other = keyed_memories.current(self._txn, memory.namespace, plan.to, memory.key)
        else:
            other = text_in_scope(self._txn, memory, plan.to)
        if other is not None and other.content_hash == memory.content_hash:
            bound = rule_rows.is_rule(self._txn, memory)
            if bound or memory.pinned or other.status is not Status.ACTIVE:
                return f"{other.id} has the same text there"
            self._replace(plan, memory, other)
            ended.append(memory.id)
            return None
        if other is not None:
            why = _keeps_key(other, memory)
            if why is not None:
                return why
            self._replace(plan, other, memory)
            replaced.append(other.id)
        self._parts.append(self._moved(plan, memory))
        self._taken.add(place)
        moved.append(memory.id)
        return None

    def _replace(self, plan: Plan, old: Memory, new: Memory) -> None:
        successor = Successor(id=new.id, t_valid_us=to_us(new.t_valid), key=new.key, scope=plan.to)
        reason = f"the branch {plan.branch.name} was merged"
        done = states.replace(old, successor, reason=reason, t_invalid_us=None, now_us=self._now_us)
        self._parts.append(done.change_set(old.namespace))
        self._records.append(done.record)

    def _moved(self, plan: Plan, memory: Memory) -> ChangeSet:
        """The other scope, and an event that says from which branch and how it was merged."""
        policy = self._session.config.settings.lifecycle.default_policy
        changes, _ = update_changes(
            memory,
            FieldChanges(scope=plan.to),
            default_policy=RetentionPolicy(policy),
            now_us=self._now_us,
        )
        assert changes is not None, "it is another scope"
        branch = {"name": plan.branch.name, "how": plan.branch.how, "head": plan.head}
        (event,) = changes.events
        told = msgspec.structs.replace(event, payload={**event.payload, "branch": branch})
        return msgspec.structs.replace(changes, events=(told,))


def _place(memory: Memory, scope: str) -> tuple[object, ...]:
    """The key or text that no two memories of a scope have."""
    if memory.key is not None:
        return scope, memory.key
    position = None if memory.session_id is None else (memory.session_id, memory.sequence)
    return scope, memory.author, memory.content_hash, position


def _keeps_key(holder: Memory, memory: Memory) -> str | None:
    """Why a memory of the project keeps its key beside one of a branch; None: it does not."""
    if holder.t_valid > memory.t_valid:
        return f"{holder.id} has its key there, and is newer"
    if holder.pinned:
        return f"{holder.id} has its key there, and is pinned"
    if holder.confirmed and not memory.confirmed:
        return f"{holder.id} has its key there, and this is a statement of a model"
    return None


def _written(
    session: Session,
    namespace: str,
    plans: Sequence[Plan],
    decide: Callable[[_Changes, Plan, Sequence[Memory]], BranchChange],
) -> BranchChanges:
    """Decides under the write lock about those memories that are where they were, and writes."""
    degraded: list[Degradation] = []
    with session.ledger.write(session.now_us(), make=False) as txn:
        decided, found = _Changes(session, txn), []
        for plan in plans:
            stored = txn.memories(namespace, [one.id for one in plan.memories])
            there = [
                one for one in stored if one.scope == plan.branch.scope and one.t_expired is None
            ]
            found.append(decide(decided, plan, there))
        changes = decided.all(namespace)
        seq = txn.seq if changes is None else txn.apply(changes)
        degraded.extend(clock_notice(txn.clock_behind_us))
        done = BranchChanges(changes=tuple(found), seq=seq)
        keep_answer(txn, lambda: done)
    return msgspec.structs.replace(done, degraded=tuple(catch_up(session, degraded)))
