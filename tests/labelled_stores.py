"""The small stores of a labelled set, filled one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import vestig
from benchmarks.reader import Query, read_benchmark
from vestig.times import from_us


def labelled_stores(
    folder: Path, step: int
) -> Iterator[tuple[vestig.Vestig, dict[str, str], list[Query]]]:
    """Every `step`-th store by name, the unit of each memory by its id, and what is asked of it."""
    benchmark = read_benchmark(folder)
    asked = (*benchmark.queries, *benchmark.unanswerable)
    for name in sorted({query.conversation or "" for query in benchmark.queries})[::step]:
        # what the models say, however busy the machine is
        with vestig.open(":memory:", config={"judge.budget_ms": 60_000}) as store:
            ids = {}
            for unit in benchmark.units[name]:
                time = None if unit.time is None else from_us(unit.time)
                found = store.commit(
                    unit.text,
                    t_valid=time,
                    author=unit.author,
                    role=unit.role,
                    session_id=unit.session,
                )
                ids[str(found.memory_id)] = unit.id
            yield store, ids, [query for query in asked if query.conversation == name]
