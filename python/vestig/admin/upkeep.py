"""Stats, metrics, doctor, rebuild, export, backup: delegation to the store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

from vestig.errors import ConflictError, StoreLockedError, ValidationError
from vestig.ports import Progress, gives_tokens
from vestig.results import DoctorReport, Finding
from vestig.session.embedding import probed_identity, remember_identity, wanted_tokens
from vestig.session.opening import keeper_for
from vestig.session.session import Context
from vestig.store.checks import doctor as checking
from vestig.store.portable import export as portability
from vestig.store.projection.discard import discard_projection
from vestig.store.upkeep import backup as copying
from vestig.store.upkeep import reembed, token_vectors

__all__ = ["backup", "compact", "doctor", "export", "metrics", "rebuild", "stats"]


def stats(context: Context, namespace: object) -> dict[str, Any]:
    """Counts of a namespace, and the sizes of the projection."""
    space = context.in_namespace(namespace)
    with context.operation("stats"):
        with context.ledger.read() as view:
            found = view.stats(space)
        core = context.keeper.core
        found["projection"] = {
            "rows": core.rows,
            "segments": core.segments,
            "tail_rows": core.tail_rows,
            "bytes": dict(core.sizes()),
        }
        return found


def metrics(context: Context) -> dict[str, float]:
    """Counters since open, with the gauges that the store answers."""
    context.check_open()
    found = context.metrics.snapshot()
    with context.ledger.read() as view:
        counts = view.stats(context.namespace)
    for state, number in counts["jobs"].items():
        found[f'vestig_jobs{{state="{state}"}}'] = number
    for kind in ("memories", "events", "edges", "sources"):
        if isinstance(counts.get(kind), int):
            found[f'vestig_storage_count{{type="{kind}"}}'] = counts[kind]
    return dict(sorted(found.items()))


def doctor(context: Context) -> DoctorReport:
    """All checks; nothing is changed."""
    with context.operation("doctor"):
        findings: list[Finding] = checking.checks(
            context.ledger,
            context.keeper,
            now_us=context.now_us(),
            token_origins=wanted_tokens(context),
        )
        findings.append(_configuration(context))
        with context.ledger.read() as view:
            return DoctorReport(findings=tuple(findings), seq=view.seq)


def _configuration(context: Context) -> Finding:
    """Which settings are not the built-in ones; a store that opened has a valid configuration."""
    entries = context.config.effective()
    changed = [key for key, entry in entries.items() if entry.layer not in ("built-in", "profile")]
    detail = f"valid; profile {context.config.profile}, {len(changed)} of {len(entries)} keys set"
    return Finding(check="configuration", level="ok", detail=detail)


def rebuild(
    context: Context, *, embeddings: bool, tokens: bool, progress: Progress | None
) -> dict[str, Any]:
    """The projection again from the ledger; with `embeddings` every vector again first, with
    `tokens` token vectors for the memories that lack them."""
    from vestig.graph.related import rebuild_all
    from vestig.recall.candidate_index import build

    for name, value in (("embeddings", embeddings), ("tokens", tokens)):
        if not isinstance(value, bool):
            raise ValidationError(name, value, "true or false")
    if context.read_only:
        raise StoreLockedError("this store was opened read-only: open it for writing to rebuild")
    with context.operation("rebuild"):
        if tokens:
            _check_tokens(context)
        embedded = 0
        if embeddings:
            identity = probed_identity(context)
            counts = reembed.reembed(context.ledger, context.embedder, identity, progress=progress)
            embedded = counts.embedded
            # vectors of the old model are of no use to anyone any more
            if context.directory is not None:
                discard_projection(context.directory / "projection")
            context.keeper = keeper_for(context.ledger, context.directory, identity)
            context.keeper.take_degraded()
            context.mismatch, context.identity_known = None, True
        made = _fill_tokens(context, progress) if tokens and not embeddings else 0
        rows = context.keeper.rebuild(progress)
        if embeddings:
            rebuild_all(context, progress)
            # last, since all the rest does without them
            made = _fill_tokens(context, progress)
            rows = context.keeper.rebuild(progress) if made else rows
        build(context, progress)
        core = context.keeper.core
        return {
            "rows": rows,
            "embedded": embedded,
            "tokens": made,
            "seq": core.applied_seq,
            "generation": core.generation,
            "bytes": _published(core)[1],
        }


def _check_tokens(context: Context) -> None:
    """Asked for by name, they must be of use."""
    if not gives_tokens(context.embedder):
        raise ConflictError(
            f"{context.embedder.model}: expected an embedder that gives vectors of word pieces,"
            " this one gives none; use the built-in one"
        )
    if not wanted_tokens(context):
        raise ConflictError(
            "late interaction counts for no origin under this configuration: set a weight of"
            " m5.signals.weights.<origin>.late first"
        )


def _fill_tokens(context: Context, progress: Progress | None) -> int:
    origins = wanted_tokens(context)
    if not origins:
        return 0
    remember_identity(context)
    return token_vectors.fill_tokens(
        context.ledger, context.embed_tokens, origins, progress=progress
    )


def compact(context: Context) -> dict[str, Any]:
    """All segments into one, with what that changed; others read and write meanwhile."""
    from vestig.recall.candidate_index import build

    if context.read_only:
        raise StoreLockedError("this store was opened read-only: open it for writing to compact")
    with context.operation("compact"):
        core = context.keeper.core
        before = _published(core)
        written = context.keeper.compact() + build(context)
        after = _published(core)
        return {
            "rows": core.rows,
            "segments_before": before[0],
            "segments": after[0],
            "bytes_before": before[1],
            "bytes": after[1],
            "bytes_written": written,
        }


def _published(core: Any) -> tuple[int, int]:
    """Segments and their bytes."""
    return core.segments, sum(size for name, size in core.sizes() if name != "tail")


def export(
    context: Context,
    target: str | os.PathLike[str] | IO[str],
    *,
    all_namespaces: bool,
) -> dict[str, Any]:
    """JSON lines of a namespace, or of all."""
    if not isinstance(all_namespaces, bool):
        raise ValidationError("all_namespaces", all_namespaces, "true or false")
    if not isinstance(target, (str, os.PathLike)) and not hasattr(target, "write"):
        raise ValidationError("target", type(target).__name__, "a file's path, or an open file")
    with context.operation("export"):
        space = None if all_namespaces else context.namespace
        place = Path(target) if isinstance(target, (str, os.PathLike)) else target
        counts = portability.export(context.ledger, place, namespace=space)
        return dict(counts)


def backup(context: Context, dest: str | os.PathLike[str]) -> dict[str, Any]:
    """A copy of the store that passes `doctor`."""
    if context.directory is None:
        raise ConflictError("a store in memory has no files to copy; use export")
    if not isinstance(dest, (str, os.PathLike)):
        raise ValidationError("dest", dest, "a directory's path")
    with context.operation("backup"):
        return dict(copying.backup(context.ledger, context.directory / "projection", Path(dest)))
