"""Forgetting: one transaction, then an erase that is proved.

Garbage collection and prune, which takes memories whose retention is over, or that were superseded
long ago and hold no more, forget the same way.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from vestig.calls.items import DeleteRequest
from vestig.calls.memories import ForgetRequest
from vestig.calls.upkeep import PruneRequest
from vestig.changes import ChangeSet, EntityPatch
from vestig.errors import (
    ConflictError,
    EmbeddingMismatchError,
    ForgetIncompleteError,
    ProviderError,
    StoreFullError,
    StoreLockedError,
    VestigError,
)
from vestig.ids import id_text
from vestig.language.names import embedded_name, mention_pattern
from vestig.language.text_forms import count_of, first_of
from vestig.lazy_pattern import lazy_pattern
from vestig.memories.shared_sources import (
    Shared,
    left_of,
    said_of_gone,
    said_of_shared,
    shared_by,
    without_own,
)
from vestig.memories.states import (
    check_selection,
    joined,
    selected_documents,
    selected_ids,
    selected_items,
    selected_names,
    selection_warnings,
    stated_by_no_other,
    superseded_by_them,
)
from vestig.memories.withdrawal import HoldingOn, all_holding_on
from vestig.other_words import by_caller
from vestig.results import ForgetReport, GcReport, PruneKept, PruneReport
from vestig.session.session import RollBack, Session, catch_up, clock_notice
from vestig.store import erasure
from vestig.store.records import erase_patterns, item_rows, rule_rows, store_rows
from vestig.store.records.documents import histories, name_of
from vestig.store.records.erase_patterns import PlainRun
from vestig.store.records.item_rows import ItemRow
from vestig.store.records.memory_queries import (
    DueTimes,
    authors_with_pattern,
    count_all,
    due_memories,
    ids_with_pattern,
    referring_count,
)
from vestig.store.records.reads import LedgerView
from vestig.store.records.removal import Removed
from vestig.telemetry import span
from vestig.times import DAY_US, format_us, to_us
from vestig.types import Degradation, ItemError, Memory, Source

_IDS_SHOWN: Final = 3
_DIVIDERS: Final = lazy_pattern(r"[-_./\\]+")


def forget(
    session: Session,
    asked: ForgetRequest,
    *,
    document: tuple[str, ...] = (),
    pieces: Collection[str] = (),
) -> ForgetReport:
    """Removes memories for good, and proves it; with them the documents of scopes that are selected
    as a whole. `document`: the versions (ids of sources) of one that goes too, oldest first;
    `pieces`: parts of their texts of which no file is to hold any either."""
    whole = by_caller("", "; `vestig destroy PATH` removes a whole store")
    check_selection(asked, "ids", asked.ids, whole)
    by_id = asked.ids is not None
    space = session.in_namespace(asked.namespace)
    with session.operation("forget", without_store="make"), session.freeing_space():
        found = [] if by_id else selected_ids(session, space, asked.where)
        notes = () if by_id else selection_warnings(session, space, asked.where)
        by_name = not by_id and "entities" in asked.where.given()
        names = selected_names(session, space, asked.where) if by_name else []
        rules, shared = list[str](), list[Shared]()

        def select(view: LedgerView) -> _Selected:
            nonlocal shared
            named = found if asked.ids is None else _named(session, view, space, asked.ids)
            if asked.only:
                named = stated_by_no_other(view, space, named, asked.where.given()["sources"])
            memories = view.memories(space, named)
            if by_id:
                _check_all(session, view, space, named, memories)
            shared = shared_by(view, space, memories, asked.where, document)
            if not document:
                memories = left_of(memories, shared)
            if not (by_id or document):
                ids = tuple(asked.where.given().get("ids", ()))
                rules[:] = rule_rows.beside_named(view, space, memories, ids)
                memories = [one for one in memories if one.id not in rules]
            items = item_rows.of_memories(view, memories)
            if not by_id:
                items += selected_items(view, space, asked.where)
            selected = _with_items(view, space, memories, items)
            if document:
                return selected._replace(documents=(document,))
            beside = tuple(without_own(one, session.now_us()) for one in shared)
            return selected._replace(
                documents=selected_documents(view, space, asked.where), beside=beside
            )

        keep = asked.summaries == "keep"
        how = _How(
            asked.actor,
            asked.force,
            dry_run=asked.dry_run,
            keep_summaries=keep,
            pieces=pieces,
        )
        report = _forgotten(session, space, select, how)
        stays = _with_words_of(session, space, names, report)
        bound = dict.fromkeys((*rules, *stays.rules))
        say = said_of_gone if document else said_of_shared
        said = (*say(session, shared), *_said_of_rules(tuple(bound)), *report.warnings)
        said = (*notes, *said, *_said_of_names(stays))
        return msgspec.structs.replace(report, also_named=stays.texts, warnings=said)


def delete_items(session: Session, asked: DeleteRequest) -> ForgetReport:
    """Removes items with all their versions for good, and proves it."""
    space = session.in_namespace(asked.namespace)

    def select(view: LedgerView) -> _Selected:
        if asked.keys is not None:
            found = [item_rows.find(view, space, asked.scope, key) for key in asked.keys]
            items = [one for one in found if one is not None]
        elif asked.scope is not None:
            items = item_rows.of_scope(view, space, asked.scope)
        else:
            items = item_rows.below(view, space, asked.scope_prefix)
        return _with_items(view, space, [], items)

    with session.operation("item_delete", without_store="make"), session.freeing_space():
        how = _How(asked.actor, force=asked.force, dry_run=asked.dry_run)
        return _forgotten(session, space, select, how)


def replace_values(
    session: Session,
    space: str,
    select: Callable[[LedgerView], list[tuple[ItemRow, str]]],
    pieces: Collection[str] = (),
) -> int:
    """Puts other values (JSON) in the place of those of the selected items, and proves that no byte
    of these stays, nor of `pieces`; returns how many."""
    with session.freeing_space():
        with session.ledger.write(session.now_us(), make=False) as txn:
            values, seq = select(txn), txn.seq + 1
            if not values:
                return 0
            removed = txn.forget(space, [], actor=None, values=values, pieces=pieces)
        session.drop_cached(seq)
        catch_up(session, [])
        prove(session, {seq: removed.runs})
    return len(values)


class _Selected(NamedTuple):
    """Holds the items and memories that a forgetting removes, texts of the items among these, and
    the versions (ids of sources) of each document that goes as a whole, oldest first; `beside`:
    changes of memories that stay."""

    memories: list[Memory]
    items: list[ItemRow]
    documents: tuple[tuple[str, ...], ...] = ()
    beside: tuple[ChangeSet, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.memories or self.items or self.documents)


# Tables whose rows several scopes may hold together.
_SHARED_BY_SCOPES: Final = ("edges", "entities", "entity_access", "entity_vectors", "sources")


class _How(msgspec.Struct, frozen=True):
    """How a forgetting is done: by whom, pinned memories too, or not at all but in a report;
    without the summaries that cover what goes; with parts of texts that are to go everywhere."""

    actor: str | None
    force: bool
    dry_run: bool
    keep_summaries: bool = False
    pieces: Collection[str] = ()


def _with_items(
    view: LedgerView, space: str, memories: list[Memory], items: Sequence[ItemRow]
) -> _Selected:
    """These memories and items, with all versions of the items' texts."""
    own = {item.row: item for item in items}
    known = {memory.id for memory in memories}
    more = [id for id in item_rows.memory_ids(view, space, own.values()) if id not in known]
    return _Selected([*memories, *view.memories(space, more)], list(own.values()))


def _forgotten(
    session: Session, space: str, select: Callable[[LedgerView], _Selected], how: _How
) -> ForgetReport:
    """Removes what is selected under the write lock, and proves it; else what is still to be
    proved, so that the same call again ends one that was stopped."""
    degraded, named, on = list[Degradation](), list[str](), list[HoldingOn]()
    chosen, had_superseded, same_text = _Selected([], []), tuple[str, ...](), tuple[str, ...]()
    removed, seq, outside, unproved = Removed(rows={"memories": 0}), 0, "", False
    with suppress(RollBack), session.ledger.write(session.now_us(), make=False) as txn:
        unproved = store_rows.unproved_count(txn.connection) > 0
        seq, chosen = txn.seq, select(txn)
        _check_pins(chosen.memories, force=how.force)
        if not chosen.is_empty:
            named = [memory.id for memory in chosen.memories]
            had_superseded = superseded_by_them(txn, space, named)
            on = all_holding_on(txn, chosen.memories, session.now_us())
            outside = _where_they_came_from(txn, space, chosen)
            removed = txn.forget(
                space,
                named,
                actor=how.actor,
                items=chosen.items,
                documents=[id for versions in chosen.documents for id in versions],
                keep_summaries=how.keep_summaries,
                pieces=how.pieces,
            )
            same_text = _with_their_texts(session, txn, space, chosen.memories)
            if how.dry_run:
                raise RollBack
            degraded.extend(clock_notice(txn.clock_behind_us))
            seq += 1
    proof = erasure.ErasureProof()
    rest = [*(one.changes for one in on), *chosen.beside]
    if not how.dry_run and (rest or not chosen.is_empty):
        session.drop_cached(seq)
        _write(session, space, named, rest)
    if not chosen.is_empty and not how.dry_run:
        jobs = tuple(removed.embed_jobs.values())
        proof = prove_and_run(session, space, {seq: removed.runs}, jobs, degraded, named)
        _embed_names(session, space, removed.undescribed, degraded)
    elif not how.dry_run:
        proof = _proved_alone(session, degraded, is_written=bool(rest), unproved=unproved)
    proof = msgspec.structs.replace(proof, outside=proof.outside + outside)
    proof, rows = _as_seen(session, proof, removed.rows, same_text)
    return ForgetReport(
        memory_ids=tuple(memory.id for memory in chosen.memories),
        reembedded=tuple(removed.embed_jobs),
        had_superseded=had_superseded,
        same_text=same_text,
        rows_removed=rows,
        entities_removed=rows.get("entities", 0),
        summaries_removed=removed.summaries,
        derived_removed=removed.derived,
        documents_removed=tuple(versions[-1] for versions in chosen.documents),
        residual_holders=removed.holders,
        edges_removed=rows.get("edges", 0),
        **_proved(proof),
        dry_run=how.dry_run,
        seq=seq,
        degraded=tuple(degraded),
        warnings=tuple(_said_beside(session, same_text, on, removed)),
    )


def _proved_alone(
    session: Session, degraded: list[Degradation], *, is_written: bool, unproved: bool
) -> erasure.ErasureProof:
    """The proof of earlier deletions that have none, after a call that deleted nothing."""
    if is_written:
        catch_up(session, degraded)
    return prove(session) if unproved else erasure.ErasureProof()


def _said_beside(
    session: Session, same_text: tuple[str, ...], on: Sequence[HoldingOn], removed: Removed
) -> Iterator[str]:
    """Yields what the rest of a report does not say of the memories and entities that stay."""
    yield from _said_of_equal_texts(same_text)
    yield from (one.warning for one in on)
    yield from _said_of_descriptions(session, removed.undescribed)


def _embed_names(
    session: Session, space: str, names: Mapping[str, str], degraded: list[Degradation]
) -> None:
    """Gives entities (id → name) that lost their description the vectors of their names alone."""
    if not names:
        return
    try:
        vectors = session.embed([embedded_name(name) for name in names.values()])
    except (ProviderError, EmbeddingMismatchError) as error:
        detail = f"{count_of(len(names), 'name')} without a vector until a rebuild: {error}"
        degraded.append(Degradation(code="enrichment_pending", detail=detail))
        return
    model = session.embedder.model
    patches = tuple(
        EntityPatch(entity_id=id, columns={"model": model, "embedding": vector})
        for id, vector in zip(names, vectors, strict=True)
    )
    _write(session, space, (), [ChangeSet(namespace=space, entity_patches=patches)])
    catch_up(session, degraded)


def _said_of_descriptions(session: Session, names: Mapping[str, str]) -> Iterator[str]:
    """Yields that entities (id → name) stay without what a language model wrote of them; a view
    does not learn that others hold them."""
    ids = tuple(names)
    if ids and session.scope is None:
        what = "entity stays" if len(ids) == 1 else "entities stay"
        yield (
            f"{len(ids)} {what} without the description that a language model wrote, for it may"
            f" say what was forgotten: {first_of(ids, _IDS_SHOWN)}; cognify writes it anew"
        )


@contextmanager
def _deleted(ids: Sequence[str]) -> Iterator[None]:
    """Within it these memories are deleted for good: a full disk undoes nothing of that.

    Raises:
        ForgetIncompleteError: in the place of StoreFullError, which says that nothing changed.
    """
    try:
        yield
    except StoreFullError as error:
        raise erasure.stopped_by_full_disk(ids) from error


def _write(session: Session, space: str, gone: Sequence[str], changes: Sequence[ChangeSet]) -> None:
    """Writes what changes in memories that stay, after others are gone."""
    if changes:
        with _deleted(gone), session.ledger.write(session.now_us(), make=False) as txn:
            txn.apply(joined(space, changes))


def _as_seen(
    session: Session, proof: erasure.ErasureProof, rows: dict[str, int], same_text: Sequence[str]
) -> tuple[erasure.ErasureProof, dict[str, int]]:
    """The proof and the rows that went, as a caller may see them: a view learns nothing of what
    other scopes hold as well."""
    if session.scope is None:
        return proof, rows
    own = {name: count for name, count in rows.items() if name not in _SHARED_BY_SCOPES}
    return msgspec.structs.replace(proof, shared_occurrences=len(same_text)), own


def _where_they_came_from(view: LedgerView, space: str, chosen: _Selected) -> str:
    """Says that what memories and documents came from brings them again: of a forgotten text
    nothing is kept by which an import could know it."""
    count = referring_count(view, space, [memory.id for memory in chosen.memories])
    parts = [count_of(count, "memory")] if count else []
    parts += [count_of(len(chosen.documents), "document")] if chosen.documents else []
    if not parts:
        return ""
    return (
        f"; what {' and '.join(parts)} came from, such as a file, holds the texts too, and an"
        " import of it brings them back"
    )


def _said_of_equal_texts(ids: Sequence[str]) -> tuple[str, ...]:
    if not ids:
        return ()
    others, shown = count_of(len(ids), "other"), first_of(ids, _IDS_SHOWN)
    return (f"the very text of a memory that goes stays in {others}: {shown}",)


def _with_their_texts(
    session: Session, view: LedgerView, space: str, gone: Sequence[Memory]
) -> tuple[str, ...]:
    """Ids of the memories that are there yet and have the text of one that is gone, of scopes that
    the caller may name."""
    hashes = {memory.content_hash for memory in gone}
    ids = [id_text("mem", id) for id in view.ids_with_hashes(space, sorted(hashes))]
    found = view.places(space, ids)
    return tuple(id for id in ids if id in found and session.may_name(found[id][0]))


class _StaysOfNames(NamedTuple):
    """Holds what stays, of scopes that the caller may name, and has a word of a name: ids of
    memories, by their text and by their author, and documents, by title or path (id → path);
    `rules`: those of `texts` that are of rules which may bind."""

    texts: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    authored: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    documents: Mapping[str, str] = MappingProxyType({})


def _with_words_of(
    session: Session, space: str, names: Sequence[str], report: ForgetReport
) -> _StaysOfNames:
    """Find what stays after a forgetting and may speak of what has one of these names of entities,
    shorter or as part of another name."""
    if not names:
        return _StaysOfNames()
    pattern, gone = mention_pattern(names), {*report.memory_ids, *report.documents_removed}
    with session.ledger.read() as view:
        found = [id for id in ids_with_pattern(view, space, pattern) if id not in gone]
        authored = authors_with_pattern(view, space, pattern)
        places = view.places(space, [*found, *authored])
        bound = {row.memory_id for row in rule_rows.of_namespace(view, space)}
        of_rules = view.memories(space, [id for id in found if id in bound])
        rules = rule_rows.beside_named(view, space, of_rules, ())
        documents = {
            history[-1].id: str(history[-1].path or history[-1].metadata.get("title", ""))
            for history in histories(view, space)
            if history[-1].id not in gone
            and session.may_name(name_of(history[-1]).scope)
            and any(pattern.search(_words_of(one)) for one in history)
        }

    def stays(id: str) -> bool:
        return id not in gone and id in places and session.may_name(places[id][0])

    said = {id: author for id, author in authored.items() if stays(id)}
    return _StaysOfNames(
        texts=tuple(filter(stays, found)),
        rules=tuple(filter(stays, rules)),
        authored=tuple(said),
        authors=tuple(dict.fromkeys(said.values())),
        documents=documents,
    )


def _words_of(version: Source) -> str:
    """The path and the title of a document, with spaces for what divides words in them."""
    return _DIVIDERS.sub(" ", f"{version.path or ''} {version.metadata.get('title', '')}")


def _said_of_rules(ids: Sequence[str]) -> Iterator[str]:
    if len(ids) == 1:
        named = by_caller(f'forget("{ids[0]}")', f"`vestig forget {ids[0]}`")
        yield f"{ids[0]} is the text of a rule, which stays: {named} deletes both"
    elif ids:
        named = by_caller(f"forget({list(ids)})", f"`vestig forget {' '.join(ids)}`")
        yield f"{len(ids)} memories are texts of rules, which stay: {named} deletes texts and rules"


def _said_of_names(stays: _StaysOfNames) -> Iterator[str]:
    if stays.texts:
        others, shown = count_of(len(stays.texts), "memory"), first_of(stays.texts, _IDS_SHOWN)
        drop = by_caller("forget(id)", "`vestig forget ID`")
        yield (
            f"a word of the name stays in {others}, which may speak of the same: {shown};"
            f" {drop} deletes one"
        )
    if stays.documents:
        count, listed = len(stays.documents), [f"{id} {at}" for id, at in stays.documents.items()]
        drop = by_caller("store.forget_document(id)", "`vestig document forget ID`")
        yield (
            f"a word of the name stays in title or path of {count_of(count, 'document')}:"
            f" {first_of(listed, _IDS_SHOWN)}; {drop} deletes one with all of its passages"
        )
    if stays.authored:
        others = count_of(len(stays.authored), "memory")
        named = first_of(stays.authors, _IDS_SHOWN)
        select = by_caller(
            f'where={{"authors": {stays.authors[0]!r}}}',
            f"`vestig forget --authors {shlex.quote(stays.authors[0])}`",
        )
        yield f"{others} whose author has a word of the name ({named}) stay: {select} selects them"


def forget_finish(session: Session) -> ForgetReport:
    """Repeats the erase and the proof of what was forgotten before."""
    if session.read_only:
        raise StoreLockedError("this store was opened read-only: open it for writing to erase")
    with session.operation("forget_finish", without_store="make"), session.freeing_space():
        with session.ledger.read() as view:
            ids, seq = erase_patterns.unfinished(view.connection), view.seq
        proof = prove(session)
        return ForgetReport(
            memory_ids=tuple(ids),
            rows_removed={},
            edges_removed=0,
            **_proved(proof),
            seq=seq,
        )


def prove(
    session: Session, runs: erasure.RunsBySeq | None = None, own: Collection[str] = ()
) -> erasure.ErasureProof:
    """Erases and proves what is to be erased from the files.

    Args:
        runs: what this process has just forgotten, by the seq that removed it.
        own: ids of that; an error names no others where the session is bound to a scope.

    Raises:
        ForgetIncompleteError: bytes remain, or readers of an older state.
    """
    timeout_s = session.config.settings.store.lock_timeout_s
    tenant, ledger, history = session.tenant, session.ledger, erasure.ErasureProof()
    position = 0 if tenant is None else tenant.copy.position

    def proved(count: int) -> None:
        nonlocal history
        if tenant is not None:
            history = tenant.erase_history(ledger, position, count)

    with span("erase") as counts:
        proof = erasure.finish(
            ledger,
            session.keeper,
            timeout_s=timeout_s,
            runs=runs or {},
            proved=proved,
            named=None if session.scope is None else own,
        )
        counts.update(files=proof.files_scanned, bytes=proof.bytes_scanned)
    return msgspec.structs.replace(
        proof, machines_open=history.machines_open, outside=history.outside
    )


def prove_and_run(
    session: Session,
    space: str,
    runs: erasure.RunsBySeq,
    jobs: Sequence[str],
    degraded: list[Degradation],
    own: Collection[str] = (),
) -> erasure.ErasureProof:
    """After a durable deletion: the projection follows, the erase is proved, and the jobs run; also
    where the proof fails, for one that is repeated runs none."""
    with _deleted(tuple(own)):
        catch_up(session, degraded)
        try:
            proof = prove(session, runs, own)
        except ForgetIncompleteError:
            session.run_jobs(space, jobs)
            raise
        degraded.extend(session.run_jobs(space, jobs))
    return proof


def _proved(proof: erasure.ErasureProof) -> dict[str, Any]:
    """The fields of a report that say what was searched."""
    return {
        "files_scanned": proof.files_scanned,
        "bytes_scanned": proof.bytes_scanned,
        "shared_occurrences": proof.shared_occurrences,
        "residues": 0,
        "machines_open": proof.machines_open,
        "outside": proof.outside,
    }


def gc(session: Session, *, dry_run: bool) -> GcReport:
    """Removes expired items, and sources, entities and edges that support nothing."""
    counts: dict[str, int] = {}
    space, now_us = session.namespace, session.now_us()
    with session.operation("gc", without_store="make"), session.freeing_space():
        items = _forgotten(
            session,
            space,
            lambda view: _with_items(view, space, [], item_rows.expired(view, space, now_us)),
            _How(None, force=True, dry_run=dry_run),
        )
        seq = items.seq
        with suppress(RollBack), session.ledger.write(session.now_us(), make=False) as txn:
            counts = txn.collect(space)
            seq = txn.seq + (1 if any(counts.values()) and not dry_run else 0)
            if dry_run:
                raise RollBack
        if any(counts.values()) and not dry_run:
            catch_up(session, [])
        return GcReport(
            items_removed=items.rows_removed.get("items", 0),
            sources_removed=counts["sources"],
            entities_removed=counts["entities"],
            edges_removed=counts["edges"],
            dry_run=dry_run,
            seq=seq,
        )


# --- which memories --------------------------------------------------------------------------


def _named(session: Session, view: LedgerView, space: str, ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(session.full_id(view, space, id, "ids") for id in ids))


def _check_all(
    session: Session, view: LedgerView, space: str, ids: Sequence[str], found: Sequence[Memory]
) -> None:
    """An unknown id: nothing is done."""
    known = {memory.id for memory in found if session.may_name(memory.scope)}
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
                " or use force (--force)"
            )


# --- prune ------------------------------------------------------------------------------------


class _Removals(msgspec.Struct):
    """Removals of one prune. `seq`: of the last one; `rules`: those of rules."""

    seq: int
    ids: list[str] = []
    rules: list[str] = []
    warnings: list[str] = []
    errors: list[ItemError] = []
    summaries: set[str] = set()
    embed_jobs: list[str] = []
    runs: dict[int, Mapping[bytes, PlainRun]] = {}
    degraded: list[Degradation] = []


def prune(session: Session, asked: PruneRequest) -> PruneReport:
    """Removes every memory that is due, each in a transaction of its own, and proves it once."""
    space, now_us = session.in_namespace(asked.namespace), session.now_us()
    days = asked.superseded_after_days
    times = DueTimes(now_us, None if days is None else now_us - round(days * DAY_US))
    with session.operation("prune", without_store="make"), session.freeing_space():
        chosen: Collection[str] | None = None
        if asked.where.given():
            chosen = frozenset(selected_ids(session, space, asked.where))
        with session.ledger.read() as view:
            evaluated = count_all(view, space) if chosen is None else len(chosen)
            due = [
                one
                for one in due_memories(view, space, times)
                if chosen is None or one.id in chosen
            ]
            removals = _Removals(seq=view.seq)
            ids = [one.id for one in due if one.kept_by is None]
            if asked.dry_run:
                of_rules = {row.memory_id for row in rule_rows.of_namespace(view, space)}
                due_rules = view.memories(space, [id for id in ids if id in of_rules])
                removals.rules = [one.id for one in due_rules if one.t_expired is None]
                plans = [one.id for one in due if one.kept_by is None and one.is_announced]
                on = all_holding_on(view, view.memories(space, plans), now_us)
                removals.warnings = [one.warning for one in on]
        kept = Counter(one.kept_by for one in due if one.kept_by is not None)
        if asked.dry_run:
            removals.ids = ids
        else:
            for index, id in enumerate(ids):
                try:
                    _remove(session, space, id, times, removals)
                except VestigError as error:
                    removals.errors.append(
                        ItemError(index=index, code=error.code, message=f"{id}: {error}")
                    )
        degraded = removals.degraded
        if removals.runs:
            session.drop_cached(removals.seq)
            jobs = tuple(removals.embed_jobs)
            prove_and_run(session, space, removals.runs, jobs, degraded)
        return PruneReport(
            evaluated=evaluated,
            removed=len(removals.ids),
            kept=PruneKept(**kept),
            memory_ids=tuple(removals.ids),
            errors=tuple(removals.errors),
            dry_run=asked.dry_run,
            seq=removals.seq,
            degraded=tuple(degraded),
            warnings=(
                *(
                    f"{id} is the text of a rule, which ends with it: its retention is over"
                    for id in removals.rules
                ),
                *removals.warnings,
            ),
        )


def _remove(session: Session, space: str, id: str, times: DueTimes, done: _Removals) -> None:
    """Removes a memory, unless it is not due any more: somebody may have changed it meanwhile."""
    if id in done.summaries:
        # it went with what it covers
        done.ids.append(id)
        return
    removed: Removed | None = None
    on = list[HoldingOn]()
    with suppress(RollBack), session.ledger.write(session.now_us(), make=False) as txn:
        if not any(one.kept_by is None for one in due_memories(txn, space, times, [id])):
            raise RollBack
        # a damaged text is named, not removed
        (memory,) = txn.memories(space, [id])
        is_rule = memory.t_expired is None and rule_rows.is_rule(txn, memory)
        on = all_holding_on(txn, [memory], session.now_us())
        removed = txn.forget(space, [id], actor=None)
        seq = txn.seq + 1
        clock = clock_notice(txn.clock_behind_us)
    if removed is not None:
        done.seq = seq
        done.ids.append(id)
        done.rules += [id] if is_rule else []
        done.summaries.update(removed.summaries)
        done.embed_jobs.extend(removed.embed_jobs.values())
        done.runs[seq] = removed.runs
        done.degraded = done.degraded or clock
        _write(session, space, [id], [one.changes for one in on])
        _embed_names(session, space, removed.undescribed, done.degraded)
        done.warnings += [one.warning for one in on]
        done.warnings += _said_of_descriptions(session, removed.undescribed)
