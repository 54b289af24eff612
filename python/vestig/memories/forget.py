"""Forget and garbage collection: one transaction, then an erase that is proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from vestig.errors import ConflictError, StoreLockedError, ValidationError
from vestig.fields import ForgetFilter
from vestig.filters import RecallRequest, build_filter, moments
from vestig.hints import check_names
from vestig.ids import id_bytes, id_text, split_ids
from vestig.memories.states import Undo, clock_notice, finish
from vestig.ports import LedgerView
from vestig.results import ForgetReport, GcReport
from vestig.session.session import Session
from vestig.store.erasure import erase
from vestig.store.ledger.removal import Removed
from vestig.times import format_us, to_us
from vestig.types import Degradation, Memory

__all__ = ["forget", "forget_finish", "gc", "prove"]

OUTSIDE: Final = (
    "backups and exports are files of their own: what was copied to them before stays there"
)
_ACTOR_CHARS_MAX: Final = 200
_PREFIX_IDS_MAX: Final = 1_000
_NAMES: Final = frozenset(ForgetFilter.__annotations__)
# What a filter may hold beside a condition; alone it would mean everything.
_MODIFIERS: Final = frozenset(("tags_mode", "include_expired", "include_archived", "exclude_ids"))


def forget(
    session: Session,
    ids: object,
    filters: Mapping[str, Any],
    *,
    force: object,
    dry_run: object,
    actor: object,
    namespace: object,
) -> ForgetReport:
    """Removes memories for good, and proves it."""
    for name, value in (("force", force), ("dry_run", dry_run)):
        if not isinstance(value, bool):
            raise ValidationError(name, value, "true or false")
    by_id, wanted = _target(ids, filters)
    space, who = session.in_namespace(namespace), _actor(actor)
    degraded: list[Degradation] = []
    with session.operation("forget"):
        found = [] if by_id else _matching(session, space, wanted)
        removed, seq = Removed(rows={"memories": 0}), 0
        memories: list[Memory] = []
        with suppress(Undo), session.ledger.write(session.now_us()) as txn:
            seq = txn.seq
            named = _named(session, txn, space, wanted["ids"]) if by_id else found
            memories = txn.memories(space, named)
            if by_id:
                _check_all(session, txn, space, named, memories)
            _check_pins(memories, force=bool(force))
            if memories:
                removed = txn.forget(space, [memory.id for memory in memories], actor=who)
                if dry_run:
                    raise Undo
                degraded.extend(clock_notice(txn.clock_stepped_back))
                seq += 1
        proof = erase.ErasureProof()
        if memories and not dry_run:
            session.drop_cached(seq)
            finish(session, degraded)
            proof = prove(session)
        return ForgetReport(
            memory_ids=tuple(memory.id for memory in memories),
            rows_removed=removed.rows,
            entities_removed=removed.rows.get("entities", 0),
            summaries_removed=removed.summaries,
            edges_removed=removed.rows.get("edges", 0),
            files_scanned=proof.files_scanned,
            bytes_scanned=proof.bytes_scanned,
            shared_occurrences=proof.shared_occurrences,
            residues=0,
            outside=OUTSIDE,
            dry_run=bool(dry_run),
            seq=seq,
            degraded=tuple(degraded),
        )


def forget_finish(session: Session) -> ForgetReport:
    """Repeats the erase and the proof of what was forgotten before."""
    if session.read_only:
        raise StoreLockedError("this store was opened read-only: open it for writing to erase")
    with session.operation("forget_finish"):
        with session.ledger.read() as view:
            ids, seq = erase.unfinished(view.connection), view.seq
        proof = prove(session)
        return ForgetReport(
            memory_ids=tuple(ids),
            rows_removed={},
            edges_removed=0,
            files_scanned=proof.files_scanned,
            bytes_scanned=proof.bytes_scanned,
            shared_occurrences=proof.shared_occurrences,
            residues=0,
            outside=OUTSIDE,
            seq=seq,
        )


def prove(session: Session) -> erase.ErasureProof:
    """Erases and proves what is to be erased from the files.

    Raises:
        ForgetIncompleteError: bytes remain, or readers of an older state.
    """
    timeout_s = session.config.settings.store.lock_timeout_s
    return erase.finish(session.ledger, session.keeper, timeout_s=timeout_s)


def gc(session: Session, *, dry_run: object) -> GcReport:
    """Removes sources, entities and edges that support nothing."""
    if not isinstance(dry_run, bool):
        raise ValidationError("dry_run", dry_run, "true or false")
    counts: dict[str, int] = {}
    seq = 0
    with session.operation("gc"):
        with suppress(Undo), session.ledger.write(session.now_us()) as txn:
            counts = txn.collect(session.namespace)
            seq = txn.seq + (1 if any(counts.values()) and not dry_run else 0)
            if dry_run:
                raise Undo
        if any(counts.values()) and not dry_run:
            finish(session, [])
        return GcReport(
            sources_removed=counts["sources"],
            entities_removed=counts["entities"],
            edges_removed=counts["edges"],
            dry_run=dry_run,
            seq=seq,
        )


# --- which memories --------------------------------------------------------------------------


def _target(ids: object, filters: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
    """(whether memories are named by id, the ids or the filters)."""
    if isinstance(ids, Mapping):
        filters, ids = {**ids, **filters}, None
    check_names(filters, _NAMES, "a filter of forget", least=0.0)
    if ids is not None:
        if filters:
            raise ValidationError("ids", "ids and filters", "either ids or filters, not both")
        return True, {"ids": [ids] if isinstance(ids, str) else ids}
    if not set(filters) - _MODIFIERS:
        raise ValidationError("ids", None, "ids, or at least one filter")
    return False, dict(filters)


def _actor(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 1 <= len(value) <= _ACTOR_CHARS_MAX:
        raise ValidationError("actor", value, f"text of 1 to {_ACTOR_CHARS_MAX} characters")
    return value


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


def _matching(session: Session, space: str, filters: dict[str, Any]) -> list[str]:
    """Ids that all filters let through, of one state of the store."""
    asked = dict(filters)
    source_ids = _texts("source_ids", asked.pop("source_ids", None))
    message_ids = _texts("message_ids", asked.pop("message_ids", None))
    asked.setdefault("include_expired", False)
    request = RecallRequest(**asked)
    chosen = build_filter(request, space, moments(session.now_us()))
    if request.metadata is not None and not isinstance(request.metadata, Mapping):
        raise ValidationError("metadata", request.metadata, "an object of names and values")
    excluded = _texts("exclude_ids", request.exclude_ids)

    def read(view: LedgerView, _core: Any) -> list[str]:
        limits: list[set[str]] = []
        if request.metadata is not None:
            limits.append(set(view.ids_with_metadata(space, dict(request.metadata))))
        if source_ids is not None:
            limits.append(set(view.products_of(space, source_ids)))
        if message_ids is not None:
            limits.append(set(view.recorded_by(space, message_ids)))
        asked_of_core = dict(chosen)
        if limits:
            wanted = sorted(set.intersection(*limits))
            asked_of_core["ids"] = b"".join(map(id_bytes, wanted))
        if excluded:
            left_out = {
                id for one in excluded for id in view.ids_with_prefix(space, one, _PREFIX_IDS_MAX)
            }
            asked_of_core["exclude_ids"] = b"".join(map(id_bytes, sorted(left_out)))
        raw = session.keeper.eligible(view, asked_of_core)
        return [id_text("mem", one) for one in split_ids(raw)]

    return session.keeper.run(read)


def _texts(field: str, value: object) -> list[str] | None:
    if value is None:
        return None
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple, set, frozenset)):
        raise ValidationError(field, value, "text or a list of texts")
    for text in texts:
        if not isinstance(text, str):
            raise ValidationError(field, text, "text")
    return list(texts)
