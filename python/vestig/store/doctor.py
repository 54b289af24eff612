"""The checks of `doctor`, among them a comparison of the projection with the ledger, row by row,
and of stored vectors with those that the model in use makes, on a sample of texts. None of them
changes the store."""

from __future__ import annotations

import hashlib
import heapq
import os
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec

from vestig import _core
from vestig.config.environment import state_directory, user_folder
from vestig.errors import ConfigError, ProviderError, StoreDamagedError
from vestig.ids import id_text, split_ids
from vestig.language.claim_text import claim_text
from vestig.other_words import by_caller
from vestig.ports import EmbeddingIdentity, ProjectionRow
from vestig.results import Finding
from vestig.store.erasure import FINISH
from vestig.store.integrity.chain import decode_witness, witness_bytes, witness_files
from vestig.store.integrity.verify import Finding as LedgerFinding
from vestig.store.integrity.verify import verify
from vestig.store.ledger.ledger import Ledger
from vestig.store.projection import candidate_file
from vestig.store.projection.keeper import ProjectionKeeper, chunks_of
from vestig.store.records import erase_patterns, jobs
from vestig.store.records.graph_rows import claims_at
from vestig.store.records.memory_queries import embedded_rows, embedded_texts
from vestig.store.records.projection_rows import comparable_codes, wrong_codes
from vestig.store.records.reads import LedgerView
from vestig.store.records.store_rows import cosine, embedded_counts, other_keys, read_identity
from vestig.store.sqlite import files
from vestig.store.sqlite.connections import fetch, store_faults
from vestig.store.sqlite.files import LEDGER_FILE
from vestig.store.tables.graph import NODE_PREFIXES
from vestig.store.tables.schema import ALL
from vestig.store.tables.table import Erase
from vestig.store.upkeep.hook_log import recent_failures
from vestig.store.upkeep.reembed import unfinished_vectors, without_codes
from vestig.times import duration_text, format_us

_MOST: Final = 100
# Fields of a row that the core keeps in another form.
_ANALYSED: Final = ("content", "embedding", "heading", "questions")
# What the core makes of the words of a row.
_WORDS: Final = ("terms", "text_terms", "length")


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Memories and entities compared, and what differs. `stale`: why there was nothing to
    compare."""

    rows: int
    entities: int = 0
    differences: list[str]
    stale: str | None = None


def compare_projection(
    ledger: Ledger,
    keeper: ProjectionKeeper,
    view: LedgerView,
    identity: EmbeddingIdentity | None,
) -> Comparison:
    """Compares what lies on disk, brought up to the view in memory only.

    In memory there is one projection, the keeper's; it is compared as it stands.
    """
    if ledger.path is None or identity is None:
        core = keeper.core
        if core.applied_seq != view.seq:
            return Comparison(rows=0, differences=[], stale="is not at the ledger's seq yet")
        return _compare(core, view)
    folder = ledger.path.parent / "projection"
    core = _core.Projection.open(
        str(folder), ledger.store_uuid, identity.dimensions, identity.model, read_only=True
    )
    if core.discarded is not None:
        stale = f"cannot be used and is made again at the next opening: {core.discarded}"
        return Comparison(rows=0, differences=[], stale=stale)
    if core.generation == 0:
        stale = "no projection lies beside the ledger; the next opening makes it"
        return Comparison(rows=0, differences=[], stale=stale)
    broken = core.verify()
    if broken:
        stale = f"{broken[0]}; it is made again when it is read"
        return Comparison(rows=0, differences=[], stale=stale)
    history = _history(core, view)
    if history is not None:
        return Comparison(rows=0, differences=[history])
    if core.applied_seq < view.seq:
        _catch_up(core, view)
    return _compare(core, view)


def _history(core: _core.Projection, view: LedgerView) -> str | None:
    applied = core.applied_seq
    if applied > view.seq:
        return f"{applied - view.seq} transactions that it has seen are missing in the ledger"
    if applied and view.head_at(applied) != core.chain_head:
        return f"it was made from another ledger (transaction {applied} differs)"
    return None


def _catch_up(core: _core.Projection, view: LedgerView) -> None:
    applied = core.applied_seq
    for chunk in chunks_of(view.projection_rows(applied)):
        core.apply(chunk, applied, core.chain_head)
    core.apply([], view.seq, view.head, view.removed_after(applied))


def _compare(core: _core.Projection, view: LedgerView) -> Comparison:
    """Every node of the ledger in the projection, and none more."""
    differences: list[str] = []
    left = {(prefix, id) for prefix, ids in _nodes(core) for id in ids}
    counts: Counter[str] = Counter()
    for chunk in chunks_of(view.projection_rows(0)):
        words = _words(chunk, view)
        for row in chunk:
            id, prefix = row.id, NODE_PREFIXES[row.kind]
            counts[prefix] += 1
            left.discard((prefix, id))
            if len(differences) >= _MOST:
                continue
            found = core.row(id)
            if found is None:
                differences.append(f"{id_text(prefix, id)} is missing")
                continue
            wanted = _expected(row, words)
            wrong = sorted(name for name, want in wanted.items() if found[name] != want)
            if wrong:
                differences.append(f"{id_text(prefix, id)} differs in {', '.join(wrong)}")
    differences += [f"{id_text(*node)} is not in the ledger" for node in sorted(left)]
    return Comparison(rows=counts["mem"], entities=counts["ent"], differences=differences)


def _words(rows: Sequence[ProjectionRow], view: LedgerView) -> _core.Projection:
    """These rows without their vectors in a projection in memory: their words are counted as they
    were when the stored one was made, up to the same limits."""
    words = _core.Projection.open(None, bytes(16), 1, "")
    words.apply([row._replace(embedding=None, questions=()) for row in rows], view.seq, view.head)
    return words


def _nodes(core: _core.Projection) -> Iterator[tuple[str, list[bytes]]]:
    for prefix, stored in (("mem", core.ids()), ("ent", core.entity_ids())):
        yield prefix, split_ids(stored)


def _expected(row: ProjectionRow, words: _core.Projection) -> dict[str, Any]:
    """Return what `_core.Projection.row` must give for this row."""
    wanted = row._asdict()
    for name in _ANALYSED:
        del wanted[name]
    wanted["questions"] = [_core.unit(vector) for vector in row.questions]
    wanted["unit"] = None if row.embedding is None else _core.unit(row.embedding)
    counted = words.row(row.id)
    assert counted is not None, "the row was applied"
    return wanted | {name: counted[name] for name in _WORDS}


SAMPLE_MAX: Final = 100
# Vectors that another implementation made of the same weights lie above.
COSINE_MIN: Final = 0.9999

Embed = Callable[[list[str]], list[bytes]]


def other_vectors(view: LedgerView, store_uuid: bytes, embed: Embed) -> tuple[int, list[str]]:
    """How many memories were compared, and the ids of those whose stored vector has a cosine under
    0.9999 to the one that `embed` makes of their text.

    The sample is a function of the store's uuid and of the memories that have a vector.

    Raises:
        ProviderError: the embedder failed.
    """
    rows = embedded_rows(view.connection)

    def drawn(row: int) -> bytes:
        return hashlib.sha256(store_uuid + row.to_bytes(8, "little")).digest()

    sample = sorted(heapq.nsmallest(SAMPLE_MAX, rows, key=drawn))
    stored = list(_stored(view, sample))
    made = embed([text for _id, text, _vector in stored]) if stored else []
    if len(made) != len(stored):
        raise ProviderError(f"expected {len(stored)} vectors, got {len(made)}; check the embedder")
    others = [
        id_text("mem", id)
        for (id, _text, vector), again in zip(stored, made, strict=True)
        if not cosine(vector, again) >= COSINE_MIN
    ]
    return len(stored), others


def _stored(view: LedgerView, rows: Sequence[int]) -> Iterator[tuple[bytes, str, bytes]]:
    """Id, text as it is embedded, and vector."""
    conn = view.connection
    claims = claims_at(conn, rows)
    for row, id, author, content, vector in embedded_texts(conn, rows):
        text = content if author is None else f"{author}: {content}"
        yield id, claim_text(claims[row]) if row in claims else text, vector


# Sections that take less for each memory are not named.
_SHOWN_BYTES_MIN: Final = 0.05

OK: Final = "ok"
FINDING: Final = "finding"
DAMAGE: Final = "damage"

_SHOWN: Final = 5
# Clocks of processes may differ by so much.
_CLOCKS_APART_US: Final = 30 * 60 * 1_000_000
_ERROR_CHARS: Final = 120
_OPEN_STATES: Final = ("pending", "running", "submitted", "failed")
_FREE_BYTES_MIN: Final = 64 * 1024 * 1024
# Checks of the ledger by the names of `verify`, in the order they are shown.
_LEDGER_CHECKS: Final = (
    ("integrity", ("integrity",), "every page is whole"),
    ("chain", ("chain", "digest", "counts"), "every row is as it was written"),
    ("foreign_keys", ("foreign_keys",), "every reference has its row"),
    ("dangling_ends", ("ends",), "every edge has both ends"),
    ("tags", ("tags",), "the index of tags agrees with the memories"),
)
_KNOWN_FILES: Final = frozenset(
    (
        LEDGER_FILE,
        f"{LEDGER_FILE}-wal",
        f"{LEDGER_FILE}-shm",
        "witness",
        "projection",
        files.RESERVE_FILE,
    )
)


def checks(
    ledger: Ledger,
    keeper: ProjectionKeeper,
    *,
    now_us: int,
    wants_codes: bool = False,
    embed: Embed | None = None,
) -> list[Finding]:
    """One finding for each check, `ok` ones too, in a fixed order.

    `damage` means that something stored is lost or altered; `finding` that somebody should look.
    `now_us` is the clock the store is used with; with `wants_codes` memories should have codes of
    their word pieces. With `embed`, the model in use embeds a sample of the texts again.
    """
    where = ledger.where
    folder = None if ledger.path is None else ledger.path.parent
    # Copies of the witness before the chain: a commit in between must not look like a loss.
    has_witness = ledger.upstream is None
    seen = _witness_copies(ledger, folder) if folder is not None and has_witness else []
    found: list[Finding] = []
    with ledger.read() as view, store_faults(where):
        found += _ledger(verify(view.connection, ledger.store_uuid))
        steps: tuple[tuple[str, Callable[[], Finding]], ...] = (
            ("uniqueness", lambda: _uniqueness(view.connection)),
            ("vector_shapes", lambda: _vector_shapes(view)),
            ("embedding_identity", lambda: _identity(view)),
            ("token_codes", lambda: _token_codes(view.connection, wants_codes)),
            *(() if embed is None else (("vector_sample", lambda: _sample(ledger, view, embed)),)),
            ("projection", lambda: _projection(ledger, keeper, view)),
            ("jobs", lambda: _jobs(view.connection)),
            ("leases", lambda: _leases(view.connection, now_us)),
            ("clock", lambda: _clock(view, now_us)),
            ("residues", lambda: _residues(folder, view.connection)),
        )
        found += [_guarded(check, step) for check, step in steps]
        if has_witness:
            found.append(_witness(seen, ledger.unwritten_witnesses, view))
    found.append(_durability(ledger))
    if folder is not None:
        found += [_disk(folder), _permissions(folder), _hooks(folder)]
    return found


def _guarded(check: str, step: Callable[[], Finding]) -> Finding:
    """A finding of damage where the ledger is too damaged for a check to run."""
    try:
        return step()
    except (apsw.CorruptError, apsw.NotADBError, StoreDamagedError) as error:
        detail = f"could not be checked on a damaged ledger ({type(error).__name__})"
        return Finding(check=check, level=DAMAGE, detail=detail)


def _verdict(check: str, problems: list[str], good: str, level: str = DAMAGE) -> Finding:
    if not problems:
        return Finding(check=check, level=OK, detail=good)
    more = len(problems) - _SHOWN
    shown = "; ".join(problems[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
    return Finding(check=check, level=level, detail=shown)


# --- the ledger ------------------------------------------------------------------------------


def _ledger(found: list[LedgerFinding]) -> Iterator[Finding]:
    named = {name for _check, names, _good in _LEDGER_CHECKS for name in names}
    for check, names, good in _LEDGER_CHECKS:
        mine = [f for f in found if f.check in names or (check == "chain" and f.check not in named)]
        problems = [f.message + (f" ({f.row})" if f.row else "") for f in mine]
        yield _verdict(check, problems, good)


def _uniqueness(conn: apsw.Connection) -> Finding:
    """Counts the tables themselves: a damaged index may hide what it should refuse."""
    problems = []
    for table in ALL:
        for columns, condition, expected in () if table.made_when_needed else table.unequal():
            ((twice,),) = fetch(
                conn,
                f"SELECT COUNT(*) FROM (SELECT 1 FROM {table.name} NOT INDEXED WHERE {condition}"
                f" GROUP BY {columns} HAVING COUNT(*) > 1)",
            )
            if twice:
                problems.append(f"{twice} rows of {table.name} are repeated, expected {expected}")
    problems += other_keys(conn)
    return _verdict("uniqueness", problems, "ids, texts, keys and names are unique")


def _vector_shapes(view: LedgerView) -> Finding:
    identity = read_identity(view.connection, view.where)
    if identity is None:
        return Finding(check="vector_shapes", level=OK, detail="no vectors are expected yet")
    wrong = wrong_codes(view.connection, identity.model)
    for table in ALL:
        for column in table.columns:
            if column.erase is Erase.VECTOR and "model" in table.names:
                # None is said to be there where there is no model.
                ((count,),) = fetch(
                    view.connection,
                    f"SELECT COUNT(*) FROM {table.name} WHERE model NOT IN ('', ?1)"
                    f" OR length({column.name}) <> (model <> '') * ?2",
                    (identity.model, 4 * identity.dimensions),
                )
                wrong += count
    problems = [f"{wrong} vectors are not of {identity.model}, {identity.dimensions} dimensions"]
    good = f"all vectors have {identity.dimensions} dimensions"
    return _verdict("vector_shapes", problems if wrong else [], good)


def _identity(view: LedgerView) -> Finding:
    identity = read_identity(view.connection, view.where)
    vectors, without = embedded_counts(view.connection)
    if identity is None:
        problems = [f"{vectors} vectors and no record of the model that made them"]
        return _verdict("embedding_identity", problems if vectors else [], "no vectors yet")
    good = f"{identity.model}, {identity.dimensions} dimensions, {vectors} vectors"
    if without:
        good += f", {without} memories wait for theirs"
    return Finding(check="embedding_identity", level=OK, detail=good)


def _token_codes(conn: apsw.Connection, wanted: bool) -> Finding:
    held = comparable_codes(conn)
    lacking = without_codes(conn) if wanted else 0
    problems = []
    if lacking:
        problems.append(
            f"{lacking} memories have none that can be compared, and late interaction counts;"
            f" make them with {by_caller('`vestig rebuild --tokens`')}"
        )
    good = f"{held} memories have them" if held else "none, and none are needed"
    return _verdict("token_codes", problems, good, FINDING)


def _sample(ledger: Ledger, view: LedgerView, embed: Embed) -> Finding:
    try:
        compared, others = other_vectors(view, ledger.store_uuid, embed)
    except (ConfigError, ProviderError) as error:
        detail = f"could not be embedded: {error}"
        return Finding(check="vector_sample", level=FINDING, detail=detail)
    problems = [
        f"{len(others)} of {compared} vectors of a sample have a cosine under {COSINE_MIN} to that"
        f" which the model makes of their text ({', '.join(others[:_SHOWN])}); embed all texts"
        f" again with {by_caller('`vestig rebuild --embeddings`')}"
    ]
    good = f"{compared} vectors of a sample are those that the model makes of their texts"
    return _verdict("vector_sample", problems if others else [], good, FINDING)


# --- what belongs to it ----------------------------------------------------------------------


def _projection(ledger: Ledger, keeper: ProjectionKeeper, view: LedgerView) -> Finding:
    identity = read_identity(view.connection, view.where)
    result = compare_projection(ledger, keeper, view, identity)
    if result.stale is not None:
        return Finding(check="projection", level=FINDING, detail=result.stale)
    rows = f"{result.rows} memories and {result.entities} entities"
    good = f"{rows} equal the ledger's at seq {view.seq}; {_segments(keeper)}"
    return _verdict("projection", result.differences, good)


def _segments(keeper: ProjectionKeeper) -> str:
    """How many there are, and the bytes of their sections for each memory, largest first."""
    sizes = [(size, name) for name, size in keeper.core.sizes() if name != "tail" and size]
    count, total, memories = keeper.core.segments, sum(size for size, _ in sizes), keeper.core.rows
    plural = "" if count == 1 else "s"
    line = f"{count} segment{plural}, {total} bytes in sections"
    if not sizes or not memories:
        return line
    each = [(size / memories, name) for size, name in sorted(sizes, reverse=True)]
    shown = ", ".join(f"{name} {size:.1f}" for size, name in each if size >= _SHOWN_BYTES_MIN)
    return f"{line}, {total / memories:.0f} a memory: {shown}"


def _jobs(conn: apsw.Connection) -> Finding:
    queue = jobs.queue_of_all(conn)
    counts = queue.states
    shown = ", ".join(f"{counts[state]} {state}" for state in sorted(counts)) or "none"
    if queue.batches:
        shown += f" in {queue.batches} batches"
    if not any(counts.get(state) for state in _OPEN_STATES):
        return Finding(check="jobs", level=OK, detail=shown)
    last = f"; last error: {queue.last_error[:_ERROR_CHARS]}" if queue.last_error else ""
    detail = f"{shown}{last}; work them with {by_caller('`vestig housekeeping enrich`')}"
    return Finding(check="jobs", level=FINDING, detail=detail)


def _leases(conn: apsw.Connection, now_us: int) -> Finding:
    expired = jobs.expired_leases(conn, now_us)
    problems = [f"{expired} jobs were left by a worker that is gone; the next one takes them"]
    return _verdict("leases", problems if expired else [], "no lease has run out", FINDING)


def _clock(view: LedgerView, now_us: int) -> Finding:
    last = view.last_recorded_us
    if last - now_us <= _CLOCKS_APART_US:
        return Finding(check="clock", level=OK, detail="the ledger is not ahead of the clock")
    detail = (
        f"the ledger lies {duration_text(last - now_us)} ahead: its last transaction was recorded"
        f" at {format_us(last)}, the clock shows {format_us(now_us)}; until then new times stand"
        " still. In a new store they go on at the clock's: `vestig export FILE`, then"
        " `vestig import FILE` there"
    )
    return Finding(check="clock", level=FINDING, detail=detail)


def _residues(folder: Path | None, conn: apsw.Connection) -> Finding:
    problems = []
    pending = unfinished_vectors(conn)
    if pending is not None:
        problems.append(
            f"a re-embedding stopped after {pending} vectors; finish it with"
            f" {by_caller('`vestig rebuild --embeddings`')}"
        )
    if erase_patterns.unproved(conn):
        ids = erase_patterns.unfinished(conn)
        what = f"forgetting {len(ids)} memories" if ids else "the erase of left-out names"
        problems.append(f"{what} is not proved; finish it with {by_caller(FINISH)}")
    if folder is not None:
        problems += [f"leftover {name}{_way_out(name)}" for name in _leftovers(folder)]
    return _verdict("residues", problems, "no leftover files or unfinished work", FINDING)


def _way_out(name: str) -> str:
    """Return what removes a leftover file of this name."""
    folder, _, inner = name.rpartition("/")
    if name.startswith(files.SET_ASIDE_PREFIX):
        return ", of a lost store; delete it once nobody needs it"
    if folder and files.is_moved_aside(inner):
        return "; `vestig rebuild` removes it"
    if folder and not files.is_own_projection(inner):
        return ", which is not the store's; move it away"
    return "; delete it while nobody uses the store"


def _leftovers(folder: Path) -> Iterable[str]:
    for name in sorted(os.listdir(folder)):
        if name.startswith(files.SET_ASIDE_PREFIX):
            yield name
    for path in files.own_files(folder):
        name = path.name
        if path.parent == folder:
            if name not in _KNOWN_FILES and not name.startswith("ledger.bak-"):
                yield name
            continue
        plain = name in ("manifest", "lock", "merging", candidate_file.FILE) or (
            name.startswith("seg-") and "." not in name
        )
        if not plain:
            yield f"{path.parent.name}/{name}"


# --- witness, durability, disk, permissions --------------------------------------------------


def _witness_copies(ledger: Ledger, folder: Path) -> list[tuple[Path, bytes | None]]:
    # A read-only store writes no witness, but there may be one to compare with.
    paths = ledger.witness_paths or witness_files(folder, ledger.store_uuid, None)
    found: list[tuple[Path, bytes | None]] = []
    for path in paths:
        try:
            found.append((path, witness_bytes(path)))
        except OSError:
            found.append((path, None))
    return found


def _witness(
    seen: list[tuple[Path, bytes | None]], unwritten: Sequence[Path], view: LedgerView
) -> Finding:
    """Only the copy in the store must be there once something was committed: the other one
    comes with the next commit on this machine."""
    damage: list[str] = []
    problems = [f"{path} cannot be written" for path in unwritten]
    agreeing = 0
    for place, (path, raw) in enumerate(seen):
        if raw is None:
            if view.seq > 0 and place == 0:
                problems.append(f"no copy at {path}; the next commit writes one if it can")
            continue
        whole = decode_witness(raw)
        if whole is None:
            problems.append(f"a torn copy at {path}; the next commit writes it anew")
            continue
        missing = whole.rows - (view.seq + 1)
        if missing > 0:
            damage.append(f"{missing} transactions that {path} has seen are missing")
        elif view.head_at(whole.rows - 1) != whole.head:
            damage.append(f"transaction {whole.rows - 1} is not the one that {path} has seen")
        else:
            agreeing += 1
    if damage:
        return _verdict("witness", damage, "")
    return _verdict(
        "witness", problems, f"{agreeing} of {len(seen)} copies agree with the chain", FINDING
    )


def _durability(ledger: Ledger) -> Finding:
    if ledger.path is None:
        detail = "kept in memory only: everything is lost when the process ends"
        return Finding(check="durability", level=OK, detail=detail)
    if ledger.upstream is not None:
        detail = "a copy of a tenant: PostgreSQL keeps what is committed"
        return Finding(check="durability", level=OK, detail=detail)
    if ledger.options.durability == "full":
        return Finding(check="durability", level=OK, detail="commits survive the loss of power")
    detail = (
        "store.durability is normal: commits survive the death of the process, not the loss of"
        " power"
    )
    return Finding(check="durability", level=FINDING, detail=detail)


def _hooks(folder: Path) -> Finding:
    failed = recent_failures(folder, state_directory(), user_folder("data"))
    if not failed:
        return Finding(check="hooks", level=OK, detail="no call of an editor's hooks failed")
    last = failed[-1]
    detail = (
        f"{len(failed)} calls of an editor's hooks failed within seven days, the last at"
        f" {last.get('time')} ({last['event']}): {last['error']}"
    )
    return Finding(check="hooks", level=FINDING, detail=detail)


def _disk(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    needed = max(_FREE_BYTES_MIN, 2 * (folder / LEDGER_FILE).stat().st_size)
    detail = f"{free // (1024 * 1024)} MiB free"
    if free >= needed:
        return Finding(check="disk_space", level=OK, detail=detail)
    wanted = f"{detail}; a backup or a rebuild may need {needed // (1024 * 1024)} MiB"
    return Finding(check="disk_space", level=FINDING, detail=wanted)


def _permissions(folder: Path) -> Finding:
    problems = []
    projection = folder / files.PROJECTION_FOLDER
    for path in (folder, projection, *files.own_files(folder)):
        try:
            mode = stat.S_IMODE(path.lstat().st_mode)
        except FileNotFoundError:
            continue  # removed by another process since it was listed
        if mode & 0o077 and not path.is_symlink():
            name = "the folder" if path == folder else str(path.relative_to(folder))
            problems.append(f"{name} is open to others ({mode:o})")
    return _verdict("permissions", problems, "for the owner alone", FINDING)
