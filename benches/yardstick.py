"""N: numpy float32 matmul and argpartition for the best 10, on one core, in ms.

    python benches/yardstick.py MEMORIES

A process of its own: the number of threads has to be set before numpy is first imported, and
plugins of the test runner import it early.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 60
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def yardstick_ms(memories: int) -> float:
    """N over the vectors of a world of this size, measured now."""
    answer = subprocess.run(
        [sys.executable, str(Path(__file__)), str(memories)],
        env={**os.environ, **ONE_THREAD},
        stdout=subprocess.PIPE,
        check=True,
    )
    return float(answer.stdout)


def measured(memories: int) -> float:
    """Median of the rounds, after five to warm up."""
    import numpy as np

    from generator import vectors

    matrix, query = vectors(memories), vectors(1, seed=1)[0]
    times = []
    for _ in range(ROUNDS + 5):
        start = time.perf_counter()
        scores = matrix @ query
        top = np.argpartition(scores, -10)[-10:]
        top[np.argsort(-scores[top])]
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times[5:]))


if __name__ == "__main__":
    print(measured(int(sys.argv[1])))
