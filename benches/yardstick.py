"""N: numpy float32 matmul and argpartition for the best 10, on one core, in ms.

    python benches/yardstick.py MEMORIES [cpu]

A process of its own: the number of threads has to be set before numpy is first imported, and
plugins of the test runner import it early.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROUNDS = 60
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def yardstick_ms(memories: int, *, cpu: bool = False) -> float:
    """N over the vectors of a world of this size, measured now; `cpu`: time of the processor."""
    answer = subprocess.run(
        [sys.executable, str(Path(__file__)), str(memories), *["cpu"] * cpu],
        env={**os.environ, **ONE_THREAD},
        stdout=subprocess.PIPE,
        check=True,
    )
    return float(answer.stdout)


def measured(memories: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Median of the rounds, after five to warm up."""
    import numpy as np

    from generator import vectors

    matrix, query = vectors(memories), vectors(1, seed=1)[0]
    times = []
    for _ in range(ROUNDS + 5):
        start = clock()
        scores = matrix @ query
        top = np.argpartition(scores, -10)[-10:]
        top[np.argsort(-scores[top])]
        times.append(clock() - start)
    return 1000 * float(np.median(times[5:]))


if __name__ == "__main__":
    clocks = {"cpu": time.thread_time}
    print(measured(int(sys.argv[1]), *[clocks[name] for name in sys.argv[2:]]))
