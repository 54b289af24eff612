"""The forward pass of the built-in embedder beside onnxruntime, two threads beside one, the judge
and the version reader.

    VESTIG_TEST_BENCH=small pytest benches/test_bench_forward.py

Napkin: 10.6 M weights × 256 pieces = 2.7 G products; AVX2 makes 16 of them with two instructions.
Both run in turns in one process, so that the load of the machine weighs on both.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pytest

from conftest import note_line
from test_bench_embedder import onnxruntime_session
from vestig import _core
from vestig.embedders import builtin
from vestig.rerankers import judge, version_reader

# How many times as fast as onnxruntime at so many pieces, by instruction level.
BARS = {
    "avx512-vnni": {13: 3.3, 40: 2.4, 128: 2.0, 256: 1.8},
    "avx512": {13: 1.9, 40: 1.5, 128: 1.1, 256: 0.9},
    "avx2": {13: 1.9, 40: 1.5, 128: 1.1, 256: 0.9},
}
LEVELS = [level for level in _core.testing.levels() if level in BARS]
ROUNDS = 5 if os.environ.get("VESTIG_TEST_BENCH") == "small" else 25
BAR_TWO_THREADS = 1.8
# CPU time of the version reader, beside that of the judge.
BAR_VERSIONS = 1.2
# Wall time of the judge by instruction level and threads.
JUDGE_BARS_MS = {
    "avx512-vnni": {1: 42.5, 2: 22.5},
    "avx512": {1: 85, 2: 45},
    "avx2": {1: 85, 2: 45},
}


def ids_of(pieces: int) -> list[int]:
    """Ids of a text of so many pieces."""
    chance = np.random.default_rng(pieces)
    return [101, *chance.integers(1000, 30_000, pieces - 2).tolist(), 102]


def cpu_ms(call: Callable[[], Any]) -> float:
    """CPU time of this thread in a call."""
    start = time.thread_time()
    call()
    return 1000 * (time.thread_time() - start)


@pytest.mark.parametrize("pieces", [13, 40, 128, 256])
def test_forward_pass(pieces: int) -> None:
    model, session, ids = builtin.packed(), onnxruntime_session(), ids_of(pieces)
    tokens = np.array([ids], np.int64)
    feed = {
        "input_ids": tokens,
        "attention_mask": np.ones_like(tokens),
        "token_type_ids": np.zeros_like(tokens),
    }
    session.run(None, feed)
    for level in LEVELS:

        def own(level: str = level) -> None:
            _core.testing.hidden_states(level, model, [ids], 1)

        own()
        times = [(cpu_ms(own), cpu_ms(lambda: session.run(None, feed))) for _ in range(ROUNDS)]
        ratio = median(theirs / ours for ours, theirs in times)
        ours, theirs = (median(column) for column in zip(*times, strict=True))
        bar = BARS[level][pieces]
        note_line(
            f"forward pass, {pieces} pieces, {level}: {ours:.2f} ms CPU · {ratio:.2f} × as fast as"
            f" onnxruntime's {theirs:.2f} ms · bar {bar} {'met' if ratio >= bar else 'MISSED'}"
        )


def test_two_threads() -> None:
    model, ids = builtin.packed(), [ids_of(40) for _ in range(48)]
    level = _core.testing.levels()[0]

    def spent_ms(threads: int) -> tuple[float, float]:
        """Wall time and CPU time of all threads."""
        wall, cpu = time.perf_counter(), time.process_time()
        _core.testing.hidden_states(level, model, ids, threads)
        return 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - cpu)

    spent_ms(2)
    times = [(spent_ms(1), spent_ms(2)) for _ in range(ROUNDS)]
    ratio = median(one[0] / two[0] for one, two in times)
    # Where other processes take turns with both threads, wall time says nothing of them.
    alone = median(2 * one[1] / two[1] for one, two in times)
    note_line(
        f"forward pass, 48 texts of 40 pieces, {level}: two threads {ratio:.2f} × as fast as one ·"
        f" bar {BAR_TWO_THREADS} {'met' if ratio >= BAR_TWO_THREADS else 'MISSED'} ·"
        f" {alone:.2f} × by CPU time"
    )


def test_judge() -> None:
    words, weights = builtin.packed(), judge.QUESTIONS.packed()
    chance = np.random.default_rng(1)

    def pair() -> tuple[list[int], int]:
        question, memory = (chance.integers(1000, 30_000, count).tolist() for count in (12, 45))
        return [101, *question, 102, *memory, 102], 14

    pairs = [pair() for _ in range(8)]
    for level in LEVELS:
        for threads, bar in JUDGE_BARS_MS[level].items():

            def spent_ms(level: str = level, threads: int = threads) -> tuple[float, float]:
                """Wall time, and CPU time of a thread."""
                wall, cpu = time.perf_counter(), time.process_time()
                _core.testing.judge_with(level, weights, words, pairs, threads)
                cpu = (time.process_time() - cpu) / threads
                return 1000 * (time.perf_counter() - wall), 1000 * cpu

            spent_ms()
            columns = zip(*(spent_ms() for _ in range(ROUNDS)), strict=True)
            wall, cpu = (median(column) for column in columns)
            note_line(
                f"judge, 8 memories of 45 pieces, question of 12, {level}, {threads} threads:"
                f" {wall:.1f} ms · bar {bar:g} {'met' if wall <= bar else 'MISSED'} ·"
                f" {cpu:.1f} ms CPU a thread"
            )


def test_version_reader() -> None:
    words, reader, own = (
        builtin.packed(),
        version_reader.ADAPTER.packed(),
        judge.QUESTIONS.packed(),
    )
    chance = np.random.default_rng(1)

    def part(count: int) -> list[int]:
        return chance.integers(1000, 30_000, count).tolist()

    triples = [([101, *part(12), 102, *part(45), 102, *part(45), 102], 14, 60) for _ in range(4)]
    pairs = [([101, *part(12), 102, *part(45), 102], 14) for _ in range(8)]
    level = _core.testing.levels()[0]
    for threads in (1, 2):

        def spent_ms(read: Callable[[], object], threads: int = threads) -> float:
            """CPU time of a thread."""
            cpu = time.process_time()
            read()
            return 1000 * (time.process_time() - cpu) / threads

        def judged(threads: int = threads) -> object:
            return _core.testing.judge_with(level, own, words, pairs, threads)

        def compared(threads: int = threads) -> object:
            return _core.testing.version_logits_with(level, reader, words, triples, threads)

        judged(), compared()
        times = [(spent_ms(judged), spent_ms(compared)) for _ in range(ROUNDS)]
        ratio = median(two / one for one, two in times)
        note_line(
            f"version reader, 4 pairs of 45 pieces, question of 12, {level}, {threads} threads:"
            f" {median(two for _, two in times):.1f} ms CPU a thread, {ratio:.2f} × the judge's 8"
            f" memories · bar {BAR_VERSIONS} {'met' if ratio <= BAR_VERSIONS else 'MISSED'}"
        )
