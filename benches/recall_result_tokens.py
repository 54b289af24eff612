"""How many tokens a recall result over MCP has, over the questions of labelled folders:
python benches/recall_result_tokens.py FOLDER… --cache DIR

Each question is asked as the tool `recall` asks it, with 5 memories of its own conversation, as it
is and with `explain`.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from pathlib import Path

from benchmark_store import BenchmarkStore
from benchmarks.reader import read_benchmark
from benchmarks.run import cached_embedder
from vestig.config import Settings
from vestig.recall.context.budget import measure
from vestig.registry import make_embedder
from vestig.surfaces.mcp.answers import OpenStore
from vestig.surfaces.mcp.tools import TOOLS

LIMIT = 5
BOUNDS = {False: 700, True: 2_500}


def percentile(sizes: Sequence[int], share: float) -> int:
    """The least size that this share of all does not exceed.

    Example:
        >>> percentile([3, 1, 2, 4], 0.5), percentile([3, 1, 2, 4], 0.95)
        (2, 4)
    """
    return sorted(sizes)[max(0, math.ceil(share * len(sizes)) - 1)]


def main() -> None:
    """Prints a row for each folder, with and without reasons.

    Raises:
        SystemExit: a result exceeds its budget.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, help="folder for vectors")
    given = parser.parse_args()
    vectors = cached_embedder(make_embedder(Settings().embedding), given.cache)
    head = ("questions", "median", "p95", "max", "shown")
    print(f"{'set':16} {'explain':8} " + " ".join(f"{name:>9}" for name in head))
    too_large = 0
    for folder in given.folders:
        benchmark = read_benchmark(folder)
        with BenchmarkStore([benchmark], vectors) as world:
            at = OpenStore(store=world.store, session=world.session)
            count = measure(world.session, 1).count
            for explain, bound in BOUNDS.items():
                sizes, shown = list[int](), 0
                for query in benchmark.queries:
                    case = world.case(benchmark, query)
                    where = {"scope": case["scope"]}
                    asked = {"query": query.text, "limit": LIMIT, "where": where}
                    answer = TOOLS["recall"].call(at, {**asked, "explain": explain})
                    sizes.append(count(answer))
                    block = answer.partition("\n\nWhy")[0]
                    shown += len(re.findall(r"^\[\w", block, re.MULTILINE))
                too_large += sum(size > bound for size in sizes)
                print(
                    f"{benchmark.name:16} {explain!s:8} {len(sizes):9} {percentile(sizes, 0.5):9}"
                    f" {percentile(sizes, 0.95):9} {max(sizes):9} {shown / len(sizes):9.2f}"
                )
    if too_large:
        raise SystemExit(f"{too_large} results are larger than their budget")


if __name__ == "__main__":
    main()
