"""A benchmark in a store, and its run: which units recall finds for each question, and how fast.
Its texts are embedded once for all rows and runs, in a cache in memory and in a file.

The rank of a unit is that of the best memory that contains it; units of one memory follow the
order of the corpus. For a cut k the limit of recall is k memories, doubled until k distinct units
are found.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from benchmarks.rankings import CUTS, DEPTH, Tally
from benchmarks.reader import SHIPPED, Benchmark, Query, passages
from benchmarks.report import CutFigures, Latency
from benchmarks.rows import Variant
from vestig._core import PieceAxes
from vestig.api.store import Vestig
from vestig.config import Config
from vestig.config.schema import Settings
from vestig.embedders.checked import checked_embedder
from vestig.errors import ValidationError
from vestig.ports import (
    CODE_BYTES,
    STATE_DIMENSIONS,
    CodeEmbedder,
    Embedder,
    PieceCounter,
    Pieces,
    TokenStates,
    gives_codes,
)
from vestig.registry import make_embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_KEY_BYTES: Final = 16
_FLOAT_BYTES: Final = 4
_BATCH: Final = 256
# How many pieces a record has; then the number of each, then what is held of each.
_COUNT_BYTES: Final = 4
_NUMBER_BYTES: Final = 4
_STATE_BYTES: Final = STATE_DIMENSIONS * _FLOAT_BYTES
_PLACE_BYTES: Final = 8
_PAGE: Final = 1_000
# The limit of the recalls whose latency is measured.
_TIMED_CUT: Final = 10
# Results that a recall may bring where it may be silent.
_CUT_OF: Final = 20


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()


class CachedEmbedder:
    """Wraps an embedder; with a folder, its vectors are stored there between runs.

    A file holds vectors of one model: records of the text's hash and its vector. Records are
    appended, and a torn end of an interrupted run is cut off.

    Args:
        inner: makes the vectors that are not known yet.
        folder: of the file; None = in memory only.
        variant: what else determines the vectors, such as a cut of the texts.

    Example:
        >>> from vestig.testing import HashingEmbedder
        >>> inner = HashingEmbedder(8)
        >>> embedder = CachedEmbedder(inner)
        >>> embedder.embed(["a", "b"]) == embedder.embed(["a", "b"]), inner.call_count
        (True, 1)
    """

    def __init__(self, inner: Embedder, folder: Path | None = None, variant: str = "") -> None:
        self._inner = inner
        self._size = inner.dimensions * _FLOAT_BYTES
        self._known: dict[bytes, bytes] = {}
        # called with the number of new vectors after each batch
        self.on_made: Callable[[int], None] | None = None
        self._file = None if folder is None else folder / f"{self._name(variant)}.vectors"
        if self._file is not None:
            self._load(self._file)

    def _name(self, variant: str) -> str:
        print_ = self._inner.fingerprint or hashlib.sha256(self._inner.model.encode()).hexdigest()
        return f"{print_[:16]}-{variant}" if variant else print_[:16]

    def _load(self, file: Path) -> None:
        try:
            raw = file.read_bytes()
        except FileNotFoundError:
            return
        step = _KEY_BYTES + self._size
        whole = len(raw) - len(raw) % step
        if whole < len(raw):
            os.truncate(file, whole)
        for place in range(0, whole, step):
            middle = place + _KEY_BYTES
            self._known[raw[place:middle]] = raw[middle : place + step]

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._inner.model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._inner.dimensions

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights, or ""."""
        return self._inner.fingerprint

    def truncated(self, text: str) -> bool:
        """Return whether only a beginning of the text is read."""
        return self._inner.truncated(text)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector per text; only texts never seen before reach the model."""
        keys = [_key(text) for text in texts]
        unknown = [
            (key, text)
            for key, text in dict(zip(keys, texts, strict=True)).items()
            if key not in self._known
        ]
        for start in range(0, len(unknown), _BATCH):
            part = unknown[start : start + _BATCH]
            made = self._inner.embed([text for _, text in part])
            fresh = {key: vector for (key, _), vector in zip(part, made, strict=True)}
            self._add(fresh)
            if self.on_made is not None:
                self.on_made(len(fresh))
        return [self._known[key] for key in keys]

    def _add(self, fresh: Mapping[bytes, bytes]) -> None:
        self._known.update(fresh)
        self._write(self._file, b"".join(key + vector for key, vector in fresh.items()))

    def _write(self, file: Path | None, records: bytes) -> None:
        if file is None or not records:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        # unbuffered: a block of records is one write, whole beside other processes
        with file.open("ab", buffering=0) as opened:
            opened.write(records)

    def count_pieces(self, text: str) -> int | None:
        """Word pieces of a text; None when the embedder does not count them."""
        inner = self._inner
        return inner.count_pieces(text) if isinstance(inner, PieceCounter) else None

    def matrix(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts as float32 rows: texts × dimensions."""
        import numpy as np

        found = np.frombuffer(b"".join(self.embed(texts)), dtype="<f4")
        return found.reshape(len(texts), self.dimensions)


class _PieceFile:
    """The word pieces of texts, in a file of its own: records of the text's hash, the number of
    pieces, their numbers and their codes or states."""

    def __init__(self, file: Path | None, width: int) -> None:
        self.file = file
        self._width = width
        self.known: dict[bytes, tuple[bytes, bytes]] = {}
        if file is not None:
            self._load(file)

    def _load(self, file: Path) -> None:
        try:
            raw = file.read_bytes()
        except FileNotFoundError:
            return
        place, head = 0, _KEY_BYTES + _COUNT_BYTES
        while place + head <= len(raw):
            count = int.from_bytes(raw[place + _KEY_BYTES : place + head], "little")
            ids = place + head + _NUMBER_BYTES * count
            end = ids + self._width * count
            if end > len(raw):
                break
            key = raw[place : place + _KEY_BYTES]
            self.known[key] = raw[place + head : ids], raw[ids:end]
            place = end
        if place < len(raw):
            os.truncate(file, place)

    def add(self, fresh: Mapping[bytes, tuple[bytes, bytes]]) -> bytes:
        """The records to write."""
        self.known.update(fresh)
        return b"".join(
            b"".join((key, (len(ids) // _NUMBER_BYTES).to_bytes(_COUNT_BYTES, "little"), ids, held))
            for key, (ids, held) in fresh.items()
        )


class CachedTokenEmbedder(CachedEmbedder):
    """A `CachedEmbedder` for a model that gives states and codes of word pieces too."""

    def __init__(self, inner: CodeEmbedder, folder: Path | None = None, variant: str = "") -> None:
        super().__init__(inner, folder, variant)
        self._tokens, self._codes = inner.embed_tokens, inner.embed_codes
        suffix = f".codes-{b''.join(PieceAxes.SHA256).hex()[:16]}"
        codes = None if self._file is None else self._file.with_suffix(suffix)
        states = None if self._file is None else self._file.with_suffix(".placed-states")
        self._held = _PieceFile(codes, CODE_BYTES)
        self._states = _PieceFile(states, _STATE_BYTES + _PLACE_BYTES)

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
        """Vector and states of each text; only texts never seen before reach the model."""
        made = self._of_pieces(texts, self._states, self._placed_states)
        return [(vector, _token_states(*parts)) for vector, parts in made]

    def _placed_states(self, texts: list[str]) -> list[tuple[bytes, tuple[bytes, bytes]]]:
        """States with places behind them; without places the pieces stand nowhere."""
        return [
            (vector, (own.ids, own.states + (own.places or bytes(2 * len(own.ids)))))
            for vector, own in self._tokens(texts)
        ]

    def embed_codes(self, texts: Sequence[str]) -> list[tuple[bytes, Pieces]]:
        """Vector and codes of each text; only texts never seen before reach the model."""
        made = self._of_pieces(texts, self._held, self._codes)
        return [(vector, Pieces(*parts)) for vector, parts in made]

    def _of_pieces(
        self,
        texts: Sequence[str],
        held: _PieceFile,
        make: Callable[[list[str]], Sequence[tuple[bytes, tuple[bytes, bytes]]]],
    ) -> list[tuple[bytes, tuple[bytes, bytes]]]:
        keys = [_key(text) for text in texts]
        unknown = {
            key: text
            for key, text in zip(keys, texts, strict=True)
            if key not in held.known or key not in self._known
        }
        pairs = list(unknown.items())
        for start in range(0, len(pairs), _BATCH):
            part = pairs[start : start + _BATCH]
            made = make([text for _, text in part])
            fresh = {key: vector for (key, _), (vector, _) in zip(part, made, strict=True)}
            pieces = {key: found for (key, _), (_, found) in zip(part, made, strict=True)}
            self._add({key: one for key, one in fresh.items() if key not in self._known})
            self._write(held.file, held.add(pieces))
            if self.on_made is not None:
                self.on_made(len(part))
        return [(self._known[key], held.known[key]) for key in keys]


def _token_states(ids: bytes, held: bytes) -> TokenStates:
    cut = _STATE_BYTES * (len(ids) // _NUMBER_BYTES)
    places = held[cut:]
    return TokenStates(ids, held[:cut], places if any(places) else b"")


def cached_embedder(
    inner: Embedder, folder: Path | None = None, variant: str = ""
) -> CachedEmbedder:
    """The embedder wrapped, with states and codes of word pieces where it has them."""
    if gives_codes(inner):
        return CachedTokenEmbedder(inner, folder, variant)
    return CachedEmbedder(inner, folder, variant)


def benchmark_folders(given: Any) -> list[Any]:
    """The folders that a caller names; None = the benchmark that comes with the package.

    Raises:
        ValidationError: none, or no paths.
    """
    if given is None:
        return [SHIPPED]
    if isinstance(given, (str, os.PathLike)):
        return [given]
    folders = list(given)
    if not folders or not all(isinstance(one, (str, os.PathLike)) for one in folders):
        raise ValidationError("benchmarks", type(given).__name__, "folders of benchmarks")
    return folders


def vectors_of(
    config: Config, embedder: Embedder | None, cache: str | os.PathLike[str] | None
) -> CachedEmbedder:
    """The embedder of all benchmarks; vectors of other settings are kept apart."""
    settings = config.settings.embedding
    inner = make_embedder(settings) if embedder is None else checked_embedder(embedder)
    plain = "" if settings.normalize else "plain"
    return cached_embedder(inner, None if cache is None else Path(cache).expanduser(), plain)


def finish_jobs(store: Vestig) -> None:
    """Runs the job queue until it is empty: its results are part of what recall finds."""
    while store.admin.enrich().done:
        pass


def import_benchmark(store: Vestig, benchmark: Benchmark) -> tuple[int, int]:
    """Imports the files of a benchmark, each conversation as a scope, and runs the job queue until
    it is empty: its results are part of what recall finds.

    Returns:
        How many lines were refused, and how many failed.
    """
    rejected = failed = 0
    for conversation, corpus in benchmark.corpora:
        units = _documents(corpus) if corpus.is_dir() else corpus
        report = store.import_(units, format="messages", scope=conversation)
        rejected, failed = rejected + report.rejected, failed + report.failed
    finish_jobs(store)
    return rejected, failed


def _documents(folder: Path) -> IO[bytes]:
    """The passages of documents as lines of JSON."""
    return io.BytesIO(b"\n".join(msgspec.json.encode(row) for _, row in passages(folder)))


class StoredUnits(msgspec.Struct, kw_only=True):
    """Where the units of a benchmark lie in a store.

    `units_of`, `scope_of` and `text_of` (the hash of its text): by memory id. `ends`: conversation
    → latest `t_valid`. `origin`: the most frequent origin type of memories with units. `missing`:
    number of units in no memory.
    """

    units_of: dict[str, tuple[str, ...]] = {}
    scope_of: dict[str, str | None] = {}
    text_of: dict[str, str] = {}
    ends: dict[str | None, Any] = {}
    origin: str | None = None
    missing: int = 0

    def when(self, query: Query, conversation: str | None) -> Any:
        """The query time of a question: its date, else the end of the conversation."""
        return self.ends.get(conversation) if query.date is None else query.date


def _memories(store: Vestig) -> Iterator[Any]:
    offset = 0
    while page := store.list(offset=offset, limit=_PAGE).memories:
        yield from page
        offset += len(page)


def stored_units(store: Vestig, benchmark: Benchmark) -> StoredUnits:
    """Reads the references of all memories back from the event log."""
    place = {
        (conversation, unit.id): number
        for conversation, units in benchmark.units.items()
        for number, unit in enumerate(units)
    }
    stored = StoredUnits()
    found: set[tuple[str | None, str]] = set()
    origins: dict[str, int] = {}
    for memory in _memories(store):
        references = {event.artifact_ref or "" for event in store.events(memory.id)}
        units = [unit for unit in references if (memory.scope, unit) in place]
        units.sort(key=lambda unit: place[memory.scope, unit])
        stored.units_of[memory.id] = tuple(units)
        stored.scope_of[memory.id] = memory.scope
        stored.text_of[memory.id] = memory.content_hash
        found.update((memory.scope, unit) for unit in units)
        stored.ends[memory.scope] = max(
            memory.t_valid, stored.ends.get(memory.scope, memory.t_valid)
        )
        if units:
            origin = str(memory.origin_type)
            origins[origin] = origins.get(origin, 0) + 1
    stored.missing = len(place) - len(found)
    stored.origin = max(sorted(origins), key=origins.__getitem__, default=None)
    return stored


def _limit_matters(settings: Settings) -> bool:
    """Return whether the limit of a recall can change the order of its results: by walk or pool."""
    ranking = settings.ranking
    return ranking.enabled and (settings.walk.enabled or ranking.pool != "all")


class BenchmarkRun:
    """The recalls of one row; `degraded` collects the codes of weaker paths."""

    def __init__(self, store: Vestig, stored: StoredUnits, variant: Variant) -> None:
        assert variant.config is not None
        self._store = store
        self._stored = stored
        self._profile = variant.profile
        self._config = dict(variant.overrides)
        # equal results in the same order, without their reasons
        self._unexplained = {**variant.overrides, "recall.reasons.enabled": False}
        self._each_cut = _limit_matters(variant.config.settings)
        self._times_ms: list[float] = []
        self.degraded: set[str] = set()

    def tally(self, benchmark: Benchmark, done: Callable[[int], None]) -> Tally:
        """Ranks and metrics of every question; calls `done(1)` after each."""
        tally = Tally()
        for query in benchmark.queries:
            tally.add(self.rankings(query), query.relevant, query.outdated)
            done(1)
        return tally

    def latency(self) -> Latency:
        """Percentiles of the recalls so far, in ms."""
        import numpy as np

        p50, p95 = np.percentile(self._times_ms, [50, 95])
        return Latency(p50_ms=float(p50), p95_ms=float(p95), limit=_TIMED_CUT)

    def rankings(self, query: Query) -> dict[int, list[str]]:
        """Distinct units, best first, for each cut; deeper only where no cut found a relevant
        one."""
        started = time.perf_counter()
        timed = self._hits(query, _TIMED_CUT, self._config)
        self._times_ms.append(1e3 * (time.perf_counter() - started))
        if self._each_cut:
            found = {
                cut: self._ranked(query, cut, timed if cut == _TIMED_CUT else None) for cut in CUTS
            }
        else:
            found = dict.fromkeys(CUTS, self._ranked(query, CUTS[-1]))
        if query.relevant.isdisjoint(found[CUTS[-1]]):
            found[DEPTH] = self._ranked(query, DEPTH)
        return found

    def cut(self, benchmark: Benchmark) -> CutFigures | UnsetType:
        """Return what a recall brings where it may be silent; UNSET without a confidence."""
        precision, recall, results = [], [], []
        for query in benchmark.queries:
            answer = self._store.recall(
                query.text,
                limit=_CUT_OF,
                scope=query.conversation,
                query_time=self._stored.when(query, query.conversation),
                until=query.until,
                profile=self._profile,
                config=self._unexplained,
            )
            if answer.confidence is None:
                return UNSET
            units = [self._stored.units_of[hit.id] for hit in answer.results]
            right = [not query.relevant.isdisjoint(own) for own in units]
            found = query.relevant.intersection(unit for own in units for unit in own)
            recall.append(len(found) / len(query.relevant))
            results.append(len(units))
            if units:
                precision.append(sum(right) / len(right))
        return CutFigures(
            precision=sum(precision) / len(precision) if precision else None,
            recall=sum(recall) / len(recall),
            results=sum(results) / len(results),
        )

    def _hits(self, query: Query, limit: int, config: dict[str, Any]) -> list[list[str]]:
        """Ids of the results of one recall, in the query's conversation and at its time, each with
        those of its repeats."""
        conversation = query.conversation
        answer = self._store.recall(
            query.text,
            limit=limit,
            all=True,
            scope=conversation,
            query_time=self._stored.when(query, conversation),
            until=query.until,
            profile=self._profile,
            config=config,
        )
        self.degraded.update(entry.code for entry in answer.degraded)
        return [[hit.id, *(repeat.id for repeat in hit.repeats)] for hit in answer.results]

    def _ranked(self, query: Query, wanted: int, hits: list[list[str]] | None = None) -> list[str]:
        """The best `wanted` distinct units; fewer where the store has no more. A unit ranks where
        the result does that has its text."""
        limit = wanted
        while True:
            found = self._hits(query, limit, self._unexplained) if hits is None else hits
            ids = (id for group in found for id in group)
            units = list(dict.fromkeys(u for id in ids for u in self._stored.units_of[id]))
            if len(units) >= wanted or len(found) < limit:
                return units[:wanted]
            limit, hits = limit * 2, None
