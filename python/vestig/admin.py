"""The work of a store's owner: counts, metrics and health of an open one, its projection made anew,
a copy of it; and work with the paths of stores, a backup brought to one, a list of all, lost ones
forgotten, one removed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from vestig.calls.files import RestoreRequest
from vestig.calls.upkeep import RebuildRequest
from vestig.config import Config, state_directory
from vestig.embedders.builtin import WEIGHTS_SHA256
from vestig.embedders.packed_file import cache_fault
from vestig.errors import ConflictError, StoreLockedError, ValidationError
from vestig.ports import Progress, gives_tokens
from vestig.registry import unused_entry_points
from vestig.results import DestroyReport, DoctorReport, Finding
from vestig.session.embedding import probed_identity, remember_identity, wants_codes
from vestig.session.opening import keeper_for, state_folder, store_directory
from vestig.session.session import Session
from vestig.store.doctor import checks
from vestig.store.ledger.absent_store import all_records, drop_record, find_record
from vestig.store.projection.keeper import discard_projection
from vestig.store.sqlite import files
from vestig.store.upkeep.reembed import fill_codes, reembed
from vestig.store.upkeep.whole_store import StoreFiles, destroy, survey
from vestig.store.upkeep.whole_store import backup as copy_store
from vestig.store.upkeep.whole_store import restore as restore_store
from vestig.times import DAY_US
from vestig.types import JobState, Status


def stats(session: Session, namespace: str | None) -> dict[str, Any]:
    """Counts of a namespace, and the sizes of the projection."""
    space = session.in_namespace(namespace)
    with session.operation("stats"):
        with session.ledger.read() as view:
            found = view.stats(space)
        for name, words in (("statuses", Status), ("jobs", JobState)):
            found[name] = {words(word).word: number for word, number in found[name].items()}
        core = session.keeper.core
        found["projection"] = {
            "rows": core.rows,
            "segments": core.segments,
            "tail_rows": core.tail_rows,
            "bytes": {name: size for name, size in core.sizes() if size},
        }
        return found


def metrics(session: Session) -> dict[str, float]:
    """Counters since open, with the gauges that the store answers."""
    session.check_open()
    found = session.metrics.snapshot()
    with session.ledger.read() as view:
        counts = view.stats(session.namespace)
    for state, number in counts["jobs"].items():
        found[f'vestig_jobs{{state="{state}"}}'] = number
    counts["edges"] = sum(counts["edges"].values())
    for kind in ("memories", "events", "entities", "edges", "sources"):
        found[f'vestig_storage_count{{type="{kind}"}}'] = counts[kind]
    for cost in session.models.costs():
        label = f'model="{cost.model}"'
        for kind in ("input", "output", "cache_read", "cache_write"):
            tokens = getattr(cost, f"{kind}_tokens")
            found[f'vestig_llm_tokens_total{{kind="{kind}",{label}}}'] = tokens
        if cost.money is not None:
            found[f"vestig_llm_money_total{{{label}}}"] = cost.money
    return dict(sorted(found.items()))


def doctor(session: Session) -> DoctorReport:
    """All checks; nothing is changed."""
    with session.operation("doctor", without_store="refuse"):
        findings: list[Finding] = checks(
            session.ledger,
            session.keeper,
            now_us=session.now_us(),
            wants_codes=wants_codes(session),
            # other models give other numbers on another machine, and may cost money
            embed=session.embed if session.embedder.fingerprint == WEIGHTS_SHA256 else None,
        )
        if session.has_model:
            findings.append(_language_model(session))
        findings += [_secrets(session), _configuration(session)]
        fault = cache_fault()
        if fault is not None:
            detail = (
                f"{fault}; every process packs the weights of the embedder anew (XDG_CACHE_HOME)"
            )
            findings.append(Finding(check="cache_folder", level="finding", detail=detail))
        findings += _providers()
        with session.ledger.read() as view:
            return DoctorReport(findings=tuple(findings), seq=view.seq)


def _language_model(session: Session) -> Finding:
    """Which model is asked; with a limit, how much of today's is used by all processes; and what
    this one has taken since the store was opened."""
    models, limit = session.models, session.config.settings.llm.max_calls_per_day
    parts = [f"{models.provider}, {session.config.settings.llm.model}"]
    if limit is not None:
        today = session.ledger.reserved_model_calls(session.now_us() // DAY_US)
        parts.append(f"{today} of {limit} calls of today (UTC) used")
    for cost in models.costs():
        money = "no price" if cost.money is None else f"{cost.money:.4f} by llm.prices"
        parts.append(
            f"{cost.model} since open: {cost.calls} calls, {cost.input_tokens} tokens in,"
            f" {cost.cache_read_tokens} read from the cache, {cost.cache_write_tokens} written to"
            f" it, {cost.output_tokens} out, {money}"
        )
    return Finding(check="language_model", level="ok", detail="; ".join(parts))


def _secrets(session: Session) -> Finding:
    """A store that keeps secrets is worth a look."""
    mode = session.config.settings.firewall.secrets
    if mode != "off":
        return Finding(check="secrets", level="ok", detail=f"secrets in texts: {mode}")
    detail = "firewall.secrets is off: passwords and keys of services are stored as they come"
    return Finding(check="secrets", level="finding", detail=detail)


def _configuration(session: Session) -> Finding:
    """Which settings are not the built-in ones; a store that opened has a valid configuration."""
    entries = session.config.effective()
    changed = [key for key, entry in entries.items() if entry.layer not in ("built-in", "profile")]
    detail = f"valid; profile {session.config.profile}, {len(changed)} of {len(entries)} keys set"
    passed_over = session.config.passed_over
    if passed_over is not None:
        return Finding(check="configuration", level="finding", detail=f"{detail}; {passed_over}")
    return Finding(check="configuration", level="ok", detail=detail)


def _providers() -> list[Finding]:
    """Return what other packages offer under a name of this one, and what is therefore not used."""
    return [
        Finding(
            check="providers",
            level="finding",
            detail=f"not used: {found}; the name is Vestig's own, ask its package for another one",
        )
        for found in unused_entry_points()
    ]


def rebuild(session: Session, asked: RebuildRequest) -> dict[str, Any]:
    """The projection again from the ledger; with `embeddings` every vector again first, with
    `tokens` codes of word pieces for the memories that lack them."""
    from vestig.graph.rebuild import rebuild_all
    from vestig.recall.scan import build_index

    embeddings, tokens, progress = asked.embeddings, asked.tokens, asked.progress
    if session.read_only:
        raise StoreLockedError("this store was opened read-only: open it for writing to rebuild")
    with session.operation("rebuild", without_store="refuse"):
        if tokens:
            _check_tokens(session)
        embedded = 0
        if embeddings:
            identity = probed_identity(session)
            counts = reembed(session.ledger, session.embedder, identity, progress=progress)
            embedded = counts.embedded
            # the projection holds vectors of the old model
            if session.directory is not None:
                discard_projection(session.directory / "projection")
            session.keeper = keeper_for(session.ledger, session.directory, identity)
            session.keeper.take_degraded()
            session.mismatch, session.identity_known = None, True
        made = _fill_tokens(session, progress) if tokens and not embeddings else 0
        rows = session.keeper.rebuild(progress)
        if embeddings:
            rebuild_all(session, progress)
            # last: nothing else needs them
            made = _fill_tokens(session, progress)
            rows = session.keeper.rebuild(progress) if made else rows
        build_index(session, progress)
        if session.directory is not None:
            files.remove_moved_aside(session.directory)
        core = session.keeper.core
        return {
            "rows": rows,
            "embedded": embedded,
            "tokens": made,
            "seq": core.applied_seq,
            "generation": core.generation,
            "bytes": _published(session)[1],
        }


def _check_tokens(session: Session) -> None:
    """A rebuild of codes needs an embedder that gives states and a weight that reads them."""
    if not gives_tokens(session.embedder):
        raise ConflictError(
            f"{session.embedder.model}: expected an embedder that gives hidden states of word"
            " pieces, this one gives none; use the built-in one"
        )
    if not wants_codes(session):
        raise ConflictError(
            "late interaction counts nothing under this configuration: set"
            " ranking.weights.all.late first"
        )


def _fill_tokens(session: Session, progress: Progress | None) -> int:
    if not wants_codes(session):
        return 0
    remember_identity(session)
    return fill_codes(session.ledger, session.embed_codes, progress=progress)


def compact(session: Session) -> dict[str, Any]:
    """All segments into one, with what that changed; others read and write meanwhile."""
    from vestig.recall.scan import build_index

    if session.read_only:
        raise StoreLockedError("this store was opened read-only: open it for writing to compact")
    with session.operation("compact", without_store="refuse"), session.freeing_space():
        core = session.keeper.core
        before = _published(session)
        written = session.keeper.compact() + build_index(session)
        after = _published(session)
        return {
            "rows": core.rows,
            "segments_before": before[0],
            "segments": after[0],
            "bytes_before": before[1],
            "bytes": after[1],
            "bytes_written": written,
        }


def _published(session: Session) -> tuple[int, int]:
    """Segments and their bytes."""
    core = session.keeper.core
    return core.segments, sum(size for name, size in core.sizes() if name != "tail")


def backup(session: Session, dest: str) -> dict[str, Any]:
    """A copy of the store that passes `doctor`.

    Raises:
        ValidationError: the copy would lie in the folder of the store, where a forgetting leaves
            it, and its texts with it.
    """
    if session.directory is None:
        raise ConflictError("a store in memory has no files to copy; use export")
    files.check_outside("dest", Path(dest), session.directory)
    with session.operation("backup", without_store="refuse"):
        return dict(copy_store(session.ledger, session.directory / "projection", Path(dest)))


def restore(config: Config, asked: RestoreRequest) -> dict[str, Any]:
    """A backup as the store of a path that holds none."""
    source = store_directory(asked.backup, config)
    directory = store_directory(asked.path, config)
    if source is None or directory is None:
        name = "backup" if source is None else "path"
        raise ValidationError(name, ":memory:", "the path of a store on disk")
    files.check_outside("path", directory, source)
    return dict(restore_store(source, directory, state_folder(directory)))


# Files of others that a report names.
_LEFT_SHOWN: Final = 20
_OUTSIDE: Final = "backups and exports of it are files of their own and stay"


def list_stores(*, forget: bool) -> DoctorReport:
    """Every path that held a store, as the user's state folder knows it. `forget` drops those whose
    path is gone."""
    state_dir = state_directory()
    findings = []
    for record in all_records(state_dir):
        text = f"{record.path}: {record.text(state_dir)}"
        if os.path.lexists(record.path / files.LEDGER_FILE):
            findings.append(Finding(check="store", level="ok", detail=text))
        elif forget:
            drop_record(state_dir, record)
            findings.append(Finding(check="store", level="ok", detail=f"{text}; dropped"))
        else:
            detail = f"{text}; gone, drop it with `vestig doctor --global --forget-lost`"
            findings.append(Finding(check="store", level="finding", detail=detail))
    if not findings:
        findings.append(Finding(check="store", level="ok", detail="no store is known here"))
    return DoctorReport(findings=tuple(findings), seq=0)


def forget_lost(config: Config) -> DoctorReport:
    """Drops the record of the configured path, where its store is gone."""
    directory = store_directory(None, config)
    state_dir = state_folder(directory)
    if directory is None:
        raise ValidationError("forget_lost", ":memory:", "the path of a store on disk")
    ledger = files.ledger_path(directory)
    record = find_record(state_dir, ledger.parent)
    left = None if ledger.exists() else files.leftovers(ledger.parent)
    level = "ok" if left is None else "finding"
    if record is None or state_dir is None:
        detail = f"{ledger.parent}: nothing is recorded of a store there"
    elif ledger.exists() and record.device == ledger.parent.stat().st_dev:
        detail = f"{ledger.parent}: the store is there, its record was kept"
    else:
        detail = f"{ledger.parent}: {record.text(state_dir)}; dropped"
        drop_record(state_dir, record)
    if left is not None:
        detail += f"; {left} of a store is left there: move it away, and the path is free"
    return DoctorReport(findings=(Finding(check="store", level=level, detail=detail),), seq=0)


def destroy_store(
    config: Config, path: str, confirm: Callable[[StoreFiles], bool]
) -> DestroyReport:
    """Removes the store of a path for good, once `confirm` has seen what would go.

    Raises:
        NotFoundError: no store there.
        StoreDamagedError: it is lost.
        StoreLockedError: somebody writes to it.
        ConflictError: not confirmed.
    """
    directory = store_directory(path, config)
    if directory is None:
        raise ValidationError("path", path, "the path of a store on disk")
    state_dir = state_folder(directory)
    found = survey(directory, state_dir)
    if not confirm(found):
        raise ConflictError("nothing was removed: the plan was not confirmed")
    left = destroy(found, state_dir, lock_timeout_s=config.settings.store.lock_timeout_s)
    return DestroyReport(
        path=str(found.folder),
        store_uuid=found.store_uuid,
        transactions=found.transactions,
        files=found.files,
        bytes=found.bytes,
        outside=_OUTSIDE,
        left=tuple(str(path) for path in left[:_LEFT_SHOWN]),
        left_more=max(0, len(left) - _LEFT_SHOWN),
    )
