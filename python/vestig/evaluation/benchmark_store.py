"""Tools with which a benchmark is imported: its folders, the embedder of all of them, the job
queue."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from vestig.api.store import Vestig
from vestig.config import Config
from vestig.embedders.checked import checked_embedder
from vestig.errors import ValidationError
from vestig.evaluation.benchmarks import SHIPPED, Benchmark
from vestig.evaluation.cached_embedder import CachedEmbedder, cached_embedder
from vestig.ports import Embedder
from vestig.registry import make_embedder


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
        report = store.import_(corpus, format="messages", scope=conversation)
        rejected, failed = rejected + report.rejected, failed + report.failed
    finish_jobs(store)
    return rejected, failed
