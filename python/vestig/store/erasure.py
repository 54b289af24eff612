"""Erases forgotten bytes from every file of a store, and proves that they are gone.

The rows are deleted already; their bytes may still be in freed pages, the WAL, segments and
copies. An erase has succeeded when a search of every file finds none of the bytes.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

import apsw
import msgspec

from vestig._core import ByteRuns, find_marks
from vestig.errors import ForgetIncompleteError, StoreDamagedError, StoreFullError, VestigError
from vestig.language.text_forms import count_of
from vestig.other_words import by_caller
from vestig.store.ledger.ledger import Ledger
from vestig.store.projection import candidate_file
from vestig.store.projection.keeper import ProjectionKeeper
from vestig.store.records.erase_patterns import (
    FRAGMENT_BYTES,
    Erasure,
    PlainRun,
    drop_patterns,
    live_bytes,
    unfinished,
    unproved,
)
from vestig.store.sqlite import processes
from vestig.store.sqlite.connections import fetch, store_faults
from vestig.store.sqlite.files import (
    FULL_ERRNOS,
    LEDGER_FILE,
    PROJECTION_FOLDER,
    is_own_projection,
    own_files,
)

# Fragments that this process has just forgotten, by the seq that removed them.
RunsBySeq = Mapping[int, Mapping[bytes, PlainRun]]

# As much as a processor keeps near.
_CHUNK: Final = 256 << 10
_POLL_S: Final = 0.02
_SHOWN: Final = 5
_LEDGER: Final = frozenset((LEDGER_FILE, f"{LEDGER_FILE}-wal"))
# Page numbers and checksums of the WAL. Closing it here would drop the locks of this process.
_NOT_READ: Final = f"{LEDGER_FILE}-shm"

_DISPENSABLE: Final = frozenset(("manifest.new", candidate_file.FILE, f"{candidate_file.FILE}.new"))

OUTSIDE: Final = (
    "backups and exports are files of their own: what was copied to them before stays there, and"
    " in .NAME.new-… beside one that was killed until the next one to its place succeeds; so does"
    " what was sent to a language model"
)

# The way to erase and prove what was forgotten before.
FINISH: Final = "`vestig memory forget --finish`"
_FULL: Final = "its disk is full. Once there is room on it"
_STILL_THERE: Final = (
    "one holds some, or others read it; the log of the server says which. Once that is mended"
)
_STOPPED: Final = "the log of the server says what stopped the search. Once that is mended"

# By erasure, length and mark: occurrences by file, and how many there are.
_Hits = defaultdict[tuple[int, int, int], Counter[str]]
_Found = dict[tuple[int, int, int], int]


class ErasureProof(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of a search that found no forgotten bytes. `shared_occurrences`: texts and vectors
    found that other, live records hold as well. `machines_open`, `outside`: see `ForgetReport`."""

    files_scanned: int = 0
    bytes_scanned: int = 0
    shared_occurrences: int = 0
    machines_open: tuple[str, ...] = ()
    outside: str = OUTSIDE


def finish(
    ledger: Ledger,
    keeper: ProjectionKeeper,
    *,
    timeout_s: float,
    runs: RunsBySeq = MappingProxyType({}),
    proved: Callable[[int], None] = lambda _: None,
    named: Collection[str] | None = None,
) -> ErasureProof:
    """Erases and proves every forgetting that is not proved yet; repeatable. What is in `runs` is
    searched for as it is, what an earlier process left by its marks, which takes longer. `proved`
    is called with the number of forgettings when the files hold nothing of them; where it raises,
    or the process ends in it, the marks stay, and all of it is repeated the next time. `named`: the
    memories that an error may name; None: all.

    Raises:
        ForgetIncompleteError: bytes remain, or readers of an older state, after `timeout_s`.
    """
    with ledger.read() as view:
        erasures = unproved(view.connection)
        ids = [one for one in unfinished(view.connection) if named is None or one in named]
    if not erasures:
        proved(0)
        return ErasureProof()
    folder = None if ledger.path is None else ledger.path.parent
    proof = ErasureProof()
    if folder is not None:
        try:
            proof = _Erase(ledger, keeper, folder, timeout_s).run(erasures, runs)
        except _BytesRemain as remains:
            raise _incomplete(ids, str(remains), remains.way, _STILL_THERE) from None
        except (OSError, VestigError) as error:
            # The rows are deleted: an erase that any error stopped must be repeated.
            if isinstance(error, StoreFullError) or getattr(error, "errno", None) in FULL_ERRNOS:
                raise stopped_by_full_disk(ids) from error
            where = f"{type(error).__name__}: {error}"
            raise _incomplete(ids, where, "Mend that", _STOPPED) from error
    proved(len(erasures))
    # each copy of a tenant proves its own files
    try:
        with ledger.writer(make=False, local=True) as conn, store_faults(ledger.where):
            drop_patterns(conn, [erasure.seq for erasure in erasures])
            ledger.commit(conn)
        ledger.checkpoint()
    except StoreFullError as error:
        raise stopped_by_full_disk(ids) from error
    return proof


def stopped_by_full_disk(ids: Sequence[str]) -> ForgetIncompleteError:
    """Return what is told where these memories are deleted, and a full disk stopped the rest."""
    return _incomplete(ids, "a full disk", "Free some space", _FULL)


def _incomplete(ids: Sequence[str], where: str, way: str, why: str) -> ForgetIncompleteError:
    """Args:
    where: what was found, and where; it may name files.
    why: the same for clients of a server, and what they wait for.
    """
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    named = f"{', '.join(ids[:_SHOWN])}{more}" or "what was forgotten"
    return ForgetIncompleteError(
        f"{named}: expected no trace in the files of the store, found:"
        f" {where}; the memories are deleted. {way}, then run `vestig memory forget --finish`",
        shown=f"{named}: deleted, and no read returns it any more; not proved is that no byte of it"
        f" is left in a file of the store: {why}, {by_caller(FINISH)} erases and searches again",
    )


class _BytesRemain(Exception):
    """Bytes that an erase left; the message says where, and `way` what is to be done."""

    def __init__(self, where: str, way: str) -> None:
        super().__init__(where)
        self.way = way


class _Erase:
    """One erase of the files of a store, and the search that proves it."""

    def __init__(
        self, ledger: Ledger, keeper: ProjectionKeeper, folder: Path, timeout_s: float
    ) -> None:
        self.ledger = ledger
        self.keeper = keeper
        self.folder = folder
        self.deadline = time.monotonic() + timeout_s

    def run(self, erasures: Sequence[Erasure], runs: RunsBySeq) -> ErasureProof:
        still_read = self.keeper.drop_forgotten(self.deadline)
        remove_copies(self.folder)
        flushed = self.flush()
        search = _Search(self.folder, erasures, runs)
        left = search.residues(self.ledger)
        if left and flushed and not still_read:
            if not _LEDGER.isdisjoint(left):
                # A page may keep a stale copy of a row that was moved within the file.
                self.ledger.rewrite()
                flushed = self.flush()
            if not _LEDGER.issuperset(left):
                # A segment may keep the version of a row that a later one replaced.
                still_read = self.keeper.drop_forgotten(self.deadline, whole=True)
            search = _Search(self.folder, erasures, runs)
            left = search.residues(self.ledger)
        problems = [
            f"{count_of(count, 'occurrence')} in {name}" for name, count in sorted(left.items())
        ]
        if still_read:
            problems.append(f"{still_read} segments that other readers hold")
        if not flushed:
            problems.append("a write-ahead log that other readers hold")
        if problems:
            others = [name for name in left if not _is_of_the_store(name)]
            ways = [f"Move {', '.join(sorted(others))} out of the store"] if others else []
            if still_read or not flushed or len(others) < len(left):
                ways.append("Let other readers of the store finish or close them")
            raise _BytesRemain(", ".join(problems), ". ".join(ways))
        return search.proof()

    def flush(self) -> bool:
        """Moves the WAL into the file and empties it; False when readers prevent it until the
        deadline."""
        while not self.ledger.checkpoint():
            if time.monotonic() >= self.deadline:
                return False
            time.sleep(_POLL_S)
        return True


def _is_of_the_store(name: str) -> bool:
    inner = name.removeprefix(f"{PROJECTION_FOLDER}/")
    return inner == name or is_own_projection(inner)


def remove_copies(folder: Path) -> None:
    """Removes files with older states: migration copies, files moved aside, unfinished files, and
    the index of candidates, which the next compaction makes again."""
    for path in _files(folder):
        name = path.name
        copy = name.startswith(("ledger.bak-", f"{LEDGER_FILE}.new-"))
        if copy or ".damaged-" in name or name in _DISPENSABLE:
            path.unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[Path]:
    for path in own_files(folder):
        if not path.is_symlink() and path.is_file():
            yield path


class _Search:
    """One search of all files of the store for the marks of these erasures."""

    def __init__(self, folder: Path, erasures: Sequence[Erasure], runs: RunsBySeq) -> None:
        self._folder = folder
        self._erasures = erasures
        # Erasures whose runs are known, and these runs.
        self._known = {
            at: runs[erasure.seq] for at, erasure in enumerate(erasures) if runs.get(erasure.seq)
        }
        # All of them as they are and as the ledger would hold them, for one pass, and for each the
        # erasures of which it is a run as it is.
        self._owners: dict[bytes, list[int]] = {}
        for at, known in self._known.items():
            for run in known:
                self._owners.setdefault(run, []).append(at)
                for form in _forms(run, known[run]):
                    self._owners.setdefault(form, [])
        self._plain = tuple(self._owners)
        # The others, by length.
        self._wanted: dict[tuple[int, int], set[int]] = {}
        for at, erasure in enumerate(erasures):
            if at in self._known:
                continue
            for pattern in erasure.patterns:
                self._wanted.setdefault((at, pattern.length), set()).update(pattern.marks)
        self._overlap = max((length for _at, length in self._wanted), default=1) - 1
        self._hits: _Hits = defaultdict(Counter)
        # The first place of each known run in the ledger.
        self._places: dict[bytes, int] = {}
        self._shared = 0
        self._read_files = 0
        self._bytes = 0

    def proof(self) -> ErasureProof:
        return ErasureProof(
            files_scanned=self._read_files,
            bytes_scanned=self._bytes,
            shared_occurrences=self._shared,
        )

    def _search_files(self) -> None:
        """Reads every file once; patterns longer than a fragment are searched for only in
        files where a shorter one was found, since their fragments would be there too."""
        short = {key: marks for key, marks in self._wanted.items() if key[1] <= FRAGMENT_BYTES}
        long = {key: marks for key, marks in self._wanted.items() if key[1] > FRAGMENT_BYTES}
        search = ByteRuns(self._plain)
        for path in _files(self._folder):
            if path.name == _NOT_READ:
                continue
            name = str(path.relative_to(self._folder))
            try:
                self._bytes += self._look_for_known(path, name, search)
                if short:
                    self._look(path, name, short)
                if long and any(name in found for found in self._hits.values()):
                    self._look(path, name, long)
            except FileNotFoundError:
                continue  # removed by another process since it was listed
            self._read_files += 1

    def _look_for_known(self, path: Path, name: str, search: ByteRuns) -> int:
        """Adds the known runs that a file holds to the hits; bytes read."""
        with _reader(path) as read:
            found, size = search.find_in_file(read)
        for number, (count, offset) in found.items():
            form = self._plain[number]
            if name == LEDGER_FILE:
                self._places[form] = offset
            for at in self._owners[form]:
                self._hits[at, len(form), self._known[at][form].mark][name] += count
        return size

    def _look(self, path: Path, name: str, wanted: dict[tuple[int, int], set[int]]) -> None:
        """Adds the marks that a file holds to the hits."""
        for seen, data in _windows(path, self._overlap):
            for hit, count in self._find(data, seen, wanted).items():
                self._hits[hit][name] += count

    def _find(self, data: bytes, seen: int, wanted: dict[tuple[int, int], set[int]]) -> _Found:
        found = {}
        for (at, length), marks in wanted.items():
            key = self._erasures[at].key
            for mark, (count, _offset) in find_marks(key, data, seen, length, marks).items():
                found[at, length, mark] = count
        return found

    def _live_in_pages(
        self, conn: apsw.Connection, hits: Collection[tuple[int, int, int]]
    ) -> set[tuple[int, int, int]]:
        """Those of these hits whose run stands in a live row of the ledger, as it is or as the
        ledger holds it. Read from the pages of the file, without the rows of the log."""
        live: set[tuple[int, int, int]] = set()
        sql = "SELECT rootpage FROM sqlite_schema WHERE rootpage > 0"
        roots = [1, *(root for (root,) in fetch(conn, sql))]
        for at, known in self._known.items():
            runs: dict[bytes, set[tuple[int, int, int]]] = {}
            for run, one in known.items():
                hit = (at, len(run), one.mark)
                if hit in hits:
                    for form in _forms(run, one):
                        runs.setdefault(form, set()).add(hit)
            # Nearly all stand in a live row where they stand first; for the others all are read.
            first = [self._places[form] for form in runs if form in self._places]
            for offsets in (first, None):
                runs = {form: own for form, own in runs.items() if not own <= live}
                for form in self._live_runs(tuple(runs), roots, offsets) if runs else ():
                    live |= runs[form]
        return live

    def _live_runs(
        self, runs: tuple[bytes, ...], roots: Sequence[int], offsets: Sequence[int] | None
    ) -> list[bytes]:
        with _opened(self._folder / LEDGER_FILE) as ledger:
            found = ByteRuns(runs).find_live(
                lambda start, count: ledger.xRead(count, start), ledger.xFileSize(), roots, offsets
            )
        return [runs[number] for number in found or ()]

    def _count(self, at: int, length: int, mark: int) -> int:
        return sum(self._hits.get((at, length, mark), Counter()).values())

    def residues(self, ledger: Ledger) -> Counter[str]:
        """File → number of fragments in it that no live record holds; those that one holds are
        counted as shared."""
        self._search_files()
        left = set(self._hits)
        if left:
            with ledger.read() as view, store_faults(str(ledger.path)):
                left -= self._live_in_pages(view.connection, left)
                for data in live_bytes(view.connection) if left else ():
                    wanted: dict[tuple[int, int], set[int]] = {}
                    for at, length, mark in left:
                        wanted.setdefault((at, length), set()).add(mark)
                    left.difference_update(self._find(data, 0, wanted))
                    if not left:
                        break
        # A whole text occurs at most as often as the rarest of its fragments.
        self._shared = sum(
            min(self._count(at, pattern.length, mark) for mark in pattern.marks)
            for at, erasure in enumerate(self._erasures)
            for pattern in erasure.patterns
            if pattern.counted
        )
        residues: Counter[str] = Counter()
        for hit in left:
            residues.update(self._hits[hit])
        return residues


def _forms(run: bytes, known: PlainRun) -> tuple[bytes, ...]:
    """A run as files hold it, and as the ledger would."""
    return (run,) if known.stored is None else (run, known.stored)


def _windows(path: Path, overlap: int) -> Iterator[tuple[int, bytes]]:
    """(bytes that the last window showed already, window)."""
    start = end = 0
    with _reader(path) as read:
        while len(data := read(start, end - start + _CHUNK)) > end - start:
            yield end - start, data
            end = start + len(data)
            start = max(0, end - overlap)


@contextmanager
def _reader(path: Path) -> Iterator[Callable[[int, int], bytes]]:
    """Bytes of a file from an offset on, as many as asked or as there are. A file of SQLite is read
    through its own layer: closing it otherwise would drop the locks that this process holds on
    it."""
    if path.name != LEDGER_FILE:
        with path.open("rb", buffering=0) as file:

            def read(start: int, count: int) -> bytes:
                file.seek(start)
                return file.read(count)

            yield read
        return
    with _opened(path) as ledger:
        size = ledger.xFileSize()

        def read_pages(start: int, count: int) -> bytes:
            # Not beyond the end: a short read comes back without its zeros.
            wanted = min(count, size - start)
            data = ledger.xRead(wanted, start) if wanted else b""
            if len(data) < wanted:
                found = start + len(data)
                raise StoreDamagedError(f"{path}: expected {size} bytes, found {found}")
            return data

        yield read_pages


@contextmanager
def _opened(ledger: Path) -> Iterator[apsw.VFSFile]:
    with processes.inside():
        flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
        file = apsw.VFSFile("", str(ledger), [flags, 0])
        try:
            yield file
        finally:
            file.xClose()
