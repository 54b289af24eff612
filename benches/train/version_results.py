"""What the questions of labelled folders bring, as the version reader is trained on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from judge_input import memories, question_pieces
from judge_recipe import OUTDATED, RIGHT, WRONG
from version_input import Asked, Result
from worlds import Read

from benchmarks.reader import Benchmark
from benchmarks.run import cached_embedder
from learn_versions import about_now
from vestig.embedders.builtin import BuiltinEmbedder

# Questions of a set that are read beside those of which something is outdated, about.
_MOST: Final = 1_900


def asked_in(benchmark: Benchmark, read: Read, cache: Path | None) -> Iterator[Asked]:
    """The questions of a set that ask about now, with their results in the order of the judge.

    Args:
        cache: a folder that keeps vectors; None = none is kept.
    """
    parts = {
        (conversation, unit.id): (memory, (unit.time or 0, number))
        for conversation, units in benchmark.units.items()
        for number, (unit, memory) in enumerate(zip(units, memories(units, read), strict=True))
    }
    vectors = cached_embedder(BuiltinEmbedder(), cache)
    for one in about_now(benchmark, vectors, _MOST):
        results = []
        for unit, right, outdated in zip(one.units, one.right, one.outdated, strict=True):
            memory, since = parts[one.query.conversation, unit]
            results.append(
                Result(memory, RIGHT if right else OUTDATED if outdated else WRONG, since)
            )
        yield Asked(question_pieces(read(one.query.text)), tuple(results))
