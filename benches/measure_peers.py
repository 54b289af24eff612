"""Measures tools of others beside Vestig, on the same texts, questions and vectors:

    python benches/measure_peers.py KIND=FOLDER … [--questions N] [--environments DIR]
        [--cache DIR]

KIND names a column of the table (`worlds`, `notes`, `chats`, `documents`), FOLDER a labelled set as
of `benches/evaluate.py`. Each tool runs in an environment of its own, made in DIR with the versions
that stand here from the package index. The figures of the kinds named go into `peers/figures.json`,
`make docs` makes the table of docs/comparison.md from them.

Each conversation or world is one store. Questions asked as of a past day are left out. `ms` is the
CPU time of one search for ten results, the question's vector given.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import vestig
from benchmarks.rankings import CUTS, Tally, parameters_for, peer_rankings
from benchmarks.reader import Benchmark, Query, read_benchmark
from benchmarks.run import CachedEmbedder, import_benchmark, stored_units, vectors_of
from peers.ask import LIMIT, bytes_below
from vestig.config import load

ROOT = Path(__file__).resolve().parent.parent
FIGURES = Path(__file__).parent / "peers" / "figures.json"
VESTIG = "Vestig"
HYBRID = "plain hybrid"


class Peer(NamedTuple):
    """A tool: its name in the table, its module in `peers`, what is installed for it."""

    name: str
    module: str
    requirements: tuple[str, ...]


PEERS = (
    Peer("Chroma", "chroma", ("chromadb==1.5.9",)),
    Peer("LanceDB", "lance_table", ("lancedb==0.40.0",)),
    Peer("Qdrant, local mode", "qdrant", ("qdrant-client==1.20.0",)),
    Peer("SQLite FTS5", "fts5", ()),
    Peer("LangGraph InMemoryStore", "langgraph_store", ("langgraph==1.2.24", "numpy==2.4.6")),
)


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """One row on one set: shares of the questions; `newest`: of those with an outdated version,
    None where a set has none; `ms` and `mb` (on disk): None where nothing is timed or kept."""

    hit_1: float
    recall_5: float
    newest: float | None
    ms: float | None = None
    mb: float | None = None


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A set: how many texts it has and questions were asked, and a row a tool."""

    name: str
    texts: int
    questions: int
    rows: dict[str, Figures]


class Report(msgspec.Struct, kw_only=True):
    """The file of figures: what each environment holds (versions, MB beyond a bare one), and the
    sets by kind."""

    versions: dict[str, str] = {}
    install_mb: dict[str, float] = {}
    sets: dict[str, Measured] = {}


def figures(
    asked: Sequence[Query],
    rankings: Iterable[Sequence[str]],
    seconds: float | None = None,
    stored: int | None = None,
) -> Figures:
    """The figures of one row, from the ids found for each question, best first."""
    tally = Tally()
    for query, ranked in zip(asked, rankings, strict=True):
        tally.add(dict.fromkeys(CUTS, ranked[:LIMIT]), query.relevant, query.outdated)
    return Figures(
        hit_1=_mean(tally.scores["hit@1"]),
        recall_5=_mean(tally.scores["recall@5"]),
        newest=_mean(tally.newest_first) if tally.newest_first else None,
        ms=None if seconds is None else round(1e3 * seconds / len(asked), 2),
        mb=round(stored / 1e6, 1) if stored else None,
    )


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)


def sampled(benchmark: Benchmark, count: int | None) -> Benchmark:
    """The benchmark with at most so many questions, evenly spaced, conversation by conversation."""
    kept = [query for query in benchmark.queries if not query.as_of]
    if count is not None and count < len(kept):
        kept = [kept[place * len(kept) // count] for place in range(count)]
    order = {conversation: number for number, conversation in enumerate(benchmark.units)}
    kept.sort(key=lambda query: order[query.conversation])
    return msgspec.structs.replace(benchmark, queries=tuple(kept))


def _own(benchmark: Benchmark, vectors: CachedEmbedder, folder: Path) -> Iterator[tuple[str, Any]]:
    """(name, figures) of Vestig and of the plain hybrid."""
    with vestig.open(folder, embedder=vectors) as store:
        import_benchmark(store, benchmark)
        stored = stored_units(store, benchmark)
        # the vectors of all questions are made before the time is taken
        vectors.embed([query.text for query in benchmark.queries])
        ranked, spent = [], 0.0
        for query in benchmark.queries:
            began = time.process_time()
            answer = store.recall(
                query.text,
                limit=LIMIT,
                all=True,
                scope=query.conversation,
                query_time=stored.when(query, query.conversation),
            )
            spent += time.process_time() - began
            ids = [id for hit in answer for id in (hit.id, *(one.id for one in hit.repeats))]
            ranked.append(list(dict.fromkeys(u for id in ids for u in stored.units_of[id])))
        yield VESTIG, figures(benchmark.queries, ranked, spent, bytes_below(folder))
    pairs = peer_rankings(benchmark, vectors, parameters_for(stored.origin))
    yield HYBRID, figures(benchmark.queries, [found["hybrid"] for _, found in pairs])


def write_given(benchmark: Benchmark, vectors: CachedEmbedder, folder: Path) -> None:
    """What `peers/ask.py` reads."""
    conversations, blobs = [], []
    for conversation, units in benchmark.units.items():
        texts = [unit.embedded_text for unit in units]
        asked = [q.text for q in benchmark.queries if q.conversation == conversation]
        conversations.append(([unit.id for unit in units], texts, asked))
        blobs += [*vectors.embed(texts), *vectors.embed(asked)]
    given = {"dimensions": vectors.dimensions, "conversations": conversations}
    (folder / "given.json").write_text(json.dumps(given), "utf-8")
    (folder / "vectors.bin").write_bytes(b"".join(blobs))


def _environment(place: Path, requirements: Sequence[str]) -> Path:
    """The Python of an environment that holds the requirements; one that is there is used."""
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
    if requirements:
        command = [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        subprocess.run([*command, *requirements], check=True)
    return python


def _others(
    given: Path, environments: Path, asked: Sequence[Query]
) -> Iterator[tuple[str, Figures]]:
    """(name, figures) of each way to search of each peer."""
    for peer in PEERS:
        python = _environment(environments / peer.module, peer.requirements)
        subprocess.run(
            [python, Path(__file__).parent / "peers" / "ask.py", peer.module, given],
            check=True,
        )
        found = json.loads((given / "found.json").read_text("utf-8"))
        for mode, ranked in found["rankings"].items():
            name = peer.name if len(found["rankings"]) == 1 else f"{peer.name}, {mode}"
            seconds = found["seconds"][mode]
            yield name, figures(asked, ranked, seconds, found["bytes"])


def measured(
    folder: Path, environments: Path, cache: Path | None, questions: int | None
) -> Measured:
    """All rows of one set."""
    benchmark = sampled(read_benchmark(folder), questions)
    vectors = vectors_of(load(), None, cache)
    with tempfile.TemporaryDirectory() as scratch:
        store, given = Path(scratch, "store"), Path(scratch, "given")
        given.mkdir()
        rows = dict(_own(benchmark, vectors, store))
        write_given(benchmark, vectors, given)
        rows |= dict(_others(given, environments, benchmark.queries))
    return Measured(
        name=benchmark.name,
        texts=benchmark.unit_count,
        questions=len(benchmark.queries),
        rows=rows,
    )


def installed(environments: Path) -> tuple[dict[str, str], dict[str, float]]:
    """Versions of the peers, and what each install adds to a bare environment, in MB."""
    bare = _site_bytes(_environment(environments / "bare", ()))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needs = _environment(environments / "vestig", project["dependencies"])
    package = [
        one for one in (ROOT / "python" / "vestig").rglob("*") if "__pycache__" not in one.parts
    ]
    own = sum(one.stat().st_size for one in package if one.is_file())
    sizes = {VESTIG: _site_bytes(needs) - bare + own}
    versions = {VESTIG: vestig.__version__}
    for peer in PEERS:
        python = _environment(environments / peer.module, peer.requirements)
        sizes[peer.name] = _site_bytes(python) - bare
        versions[peer.name] = ", ".join(one.replace("==", " ") for one in peer.requirements)
    code = "import sqlite3; print(sqlite3.sqlite_version)"
    said = subprocess.run(
        [environments / "fts5" / "bin" / "python", "-c", code], check=True, stdout=subprocess.PIPE
    )
    versions["SQLite FTS5"] = f"sqlite3 {said.stdout.decode().strip()}"
    return versions, {name: round(size / 1e6, 1) for name, size in sizes.items()}


def _site_bytes(python: Path) -> int:
    return sum(
        one.stat().st_size
        for one in (python.parent.parent / "lib").rglob("*")
        if one.is_file() and "__pycache__" not in one.parts
    )


def read_report() -> Report:
    """The figures of the file."""
    return msgspec.json.decode(FIGURES.read_bytes(), type=Report)


def main(words: list[str]) -> None:
    """Measures the sets of a command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("sets", nargs="+", metavar="KIND=FOLDER")
    parser.add_argument("--questions", type=int, metavar="N", help="at most, of each set")
    parser.add_argument("--environments", type=Path, metavar="DIR", help="default: temporary")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keeps vectors between runs")
    given = parser.parse_args(words)
    report = read_report() if FIGURES.exists() else Report()
    with tempfile.TemporaryDirectory() as scratch:
        environments = given.environments or Path(scratch)
        for one in given.sets:
            kind, _, folder = one.partition("=")
            report.sets[kind] = measured(Path(folder), environments, given.cache, given.questions)
            FIGURES.write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
        report.versions, report.install_mb = installed(environments)
        FIGURES.write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    print(f"{FIGURES}: {', '.join(report.sets)}; `make docs` writes docs/comparison.md")


if __name__ == "__main__":
    main(sys.argv[1:])
