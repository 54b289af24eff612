"""Forget and garbage collection: one transaction, then an erase that is proved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from vestig.arguments import check_unicode, flag
from vestig.errors import (
    ConflictError,
    ForgetIncompleteError,
    StoreLockedError,
    ValidationError,
)
from vestig.filters import (
    FIELDS,
    NARROWING,
    SELECTORS,
    FilterParts,
    checked_selection,
    filter_parts,
    moments,
)
from vestig.ids import id_text, split_ids
from vestig.results import ForgetReport, GcReport
from vestig.session.filter_ids import resolved
from vestig.session.session import Session
from vestig.session.transaction import RollBack, catch_up, clock_notice
from vestig.store.erasure import erase
from vestig.store.ledger.reads import LedgerView
from vestig.store.ledger.removal import Removed
from vestig.telemetry.spans import span
from vestig.times import format_us, to_us
from vestig.types import Degradation, Memory

OUTSIDE: Final = (
    "backups and exports are files of their own: what was copied to them before stays there;"
    " so does what was sent to a language model"
)
_ACTOR_CHARS_MAX: Final = 200
# Tries these jobs (ids) of a namespace at once; what degraded.
RunJobs = Callable[[Session, str, Sequence[str]], list[Degradation]]


def forget(
    session: Session,
    ids: object,
    where: object,
    *,
    every: object,
    force: object,
    dry_run: object,
    actor: object,
    namespace: object,
    run_jobs: RunJobs,
) -> ForgetReport:
    """Removes memories for good, and proves it."""
    for name, value in (("all", every), ("force", force), ("dry_run", dry_run)):
        flag(name, value)
    by_id, wanted = _target(ids, where, every=bool(every))
    space, who = session.in_namespace(namespace), _actor(actor)
    degraded: list[Degradation] = []
    with session.operation("forget", without_store="make"), session.freeing_space():
        found = []
        if not by_id:
            at = moments(session.now_us())
            parts = filter_parts(wanted, space, at, include_expired=True, include_archived=True)
            found = _matching(session, parts)
        removed, seq, memories = Removed(rows={"memories": 0}), 0, list[Memory]()
        with suppress(RollBack), session.ledger.write(session.now_us(), make=False) as txn:
            seq = txn.seq
            named = _named(session, txn, space, wanted) if by_id else found
            memories = txn.memories(space, named)
            if by_id:
                _check_all(session, txn, space, named, memories)
            _check_pins(memories, force=bool(force))
            if memories:
                removed = txn.forget(space, [memory.id for memory in memories], actor=who)
                if dry_run:
                    raise RollBack
                degraded.extend(clock_notice(txn.clock_behind_us))
                seq += 1
        proof = erase.ErasureProof()
        if memories and not dry_run:
            session.drop_cached(seq)
            catch_up(session, degraded)
            jobs = tuple(removed.embed_jobs.values())
            proof = _prove_and_run(
                session, {seq: removed.runs}, lambda: run_jobs(session, space, jobs), degraded
            )
        return ForgetReport(
            memory_ids=tuple(memory.id for memory in memories),
            reembedded=tuple(removed.embed_jobs),
            rows_removed=removed.rows,
            entities_removed=removed.rows.get("entities", 0),
            summaries_removed=removed.summaries,
            edges_removed=removed.rows.get("edges", 0),
            **_proved(proof),
            dry_run=bool(dry_run),
            seq=seq,
            degraded=tuple(degraded),
        )


def forget_finish(session: Session) -> ForgetReport:
    """Repeats the erase and the proof of what was forgotten before."""
    if session.read_only:
        raise StoreLockedError("this store was opened read-only: open it for writing to erase")
    with session.operation("forget_finish", without_store="make"), session.freeing_space():
        with session.ledger.read() as view:
            ids, seq = erase.unfinished(view.connection), view.seq
        proof = prove(session)
        return ForgetReport(
            memory_ids=tuple(ids),
            rows_removed={},
            edges_removed=0,
            **_proved(proof),
            seq=seq,
        )


def prove(session: Session, runs: erase.RunsBySeq | None = None) -> erase.ErasureProof:
    """Erases and proves what is to be erased from the files.

    Args:
        runs: what this process has just forgotten, by the seq that removed it.

    Raises:
        ForgetIncompleteError: bytes remain, or readers of an older state.
    """
    timeout_s = session.config.settings.store.lock_timeout_s
    with span("erase") as counts:
        proof = erase.finish(session.ledger, session.keeper, timeout_s=timeout_s, runs=runs or {})
        counts.update(files=proof.files_scanned, bytes=proof.bytes_scanned)
        return proof


def _prove_and_run(
    session: Session,
    runs: erase.RunsBySeq,
    run: Callable[[], list[Degradation]],
    degraded: list[Degradation],
) -> erase.ErasureProof:
    """Proves it, then runs the jobs; also where the proof fails, for one that is repeated runs
    none."""
    try:
        proof = prove(session, runs)
    except ForgetIncompleteError:
        run()
        raise
    degraded.extend(run())
    return proof


def _proved(proof: erase.ErasureProof) -> dict[str, Any]:
    """The fields of a report that say what was searched."""
    return {
        "files_scanned": proof.files_scanned,
        "bytes_scanned": proof.bytes_scanned,
        "shared_occurrences": proof.shared_occurrences,
        "residues": 0,
        "outside": OUTSIDE,
    }


def gc(session: Session, *, dry_run: object) -> GcReport:
    """Removes sources, entities and edges that support nothing."""
    if not isinstance(dry_run, bool):
        raise ValidationError("dry_run", dry_run, "true or false")
    counts: dict[str, int] = {}
    seq = 0
    with session.operation("gc", without_store="make"):
        with suppress(RollBack), session.ledger.write(session.now_us(), make=False) as txn:
            counts = txn.collect(session.namespace)
            seq = txn.seq + (1 if any(counts.values()) and not dry_run else 0)
            if dry_run:
                raise RollBack
        if any(counts.values()) and not dry_run:
            catch_up(session, [])
        return GcReport(
            sources_removed=counts["sources"],
            entities_removed=counts["entities"],
            edges_removed=counts["edges"],
            dry_run=dry_run,
            seq=seq,
        )


# --- which memories --------------------------------------------------------------------------


def _target(ids: object, where: object, *, every: bool) -> tuple[bool, Any]:
    """(whether memories are named by id, the ids or the checked filter).

    Raises:
        ValidationError: nothing is selected, or a field is named without a value.
    """
    chosen = checked_selection(where)  # type: ignore[arg-type]
    given = chosen.given()
    if ids is not None:
        if given:
            raise ValidationError("ids", "ids and where", "either ids or where, not both")
        return True, [ids] if isinstance(ids, str) else ids
    # `unscoped: false` restricts nothing
    effective = {name for name, value in given.items() if name != "unscoped" or value}
    if not effective & (SELECTORS | NARROWING if every else SELECTORS):
        raise ValidationError(
            "where",
            f"only {', '.join(given)}" if given else "no filter",
            "ids, or a filter that says which memories",
            "name at least one of "
            + ", ".join(name for name in FIELDS if name in SELECTORS)
            + (
                "; all=True takes what only narrows as the selection"
                if effective & NARROWING
                else ""
            ),
        )
    return False, chosen


def _actor(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 1 <= len(value) <= _ACTOR_CHARS_MAX:
        raise ValidationError("actor", value, f"text of 1 to {_ACTOR_CHARS_MAX} characters")
    return check_unicode("actor", value)


def _named(session: Session, view: LedgerView, space: str, ids: object) -> list[str]:
    if not isinstance(ids, (list, tuple, set, frozenset)) or not ids:
        raise ValidationError("ids", ids, "an id or a list of ids")
    return list(dict.fromkeys(session.full_id(view, space, id, "ids") for id in ids))


def _check_all(
    session: Session, view: LedgerView, space: str, ids: Sequence[str], found: Sequence[Memory]
) -> None:
    """An unknown id: nothing is done."""
    known = {memory.id for memory in found}
    for id in ids:
        if id not in known:
            raise session.not_found(view, space, id)


def _check_pins(memories: Sequence[Memory], *, force: bool) -> None:
    for memory in memories:
        if memory.pinned and not force:
            since = (
                "" if memory.pinned_at is None else f" since {format_us(to_us(memory.pinned_at))}"
            )
            raise ConflictError(
                f"cannot forget {memory.id}: it is pinned{since}; nothing was forgotten, unpin it"
                " or use force"
            )


def _matching(session: Session, parts: FilterParts) -> list[str]:
    """Ids that the filter lets through, of one state of the store."""

    def read(view: LedgerView, core: Any) -> list[str]:
        raw = session.keeper.eligible(view, resolved(view, core, parts))
        return [id_text("mem", one) for one in split_ids(raw)]

    return session.keeper.run(read)
