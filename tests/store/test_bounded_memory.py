"""What is read again or merged is never held at once: the kernel refuses more than a share of it.

Private memory (RLIMIT_DATA) is limited, mapped files are not: a process that holds the whole image
of the rows cannot allocate it and dies.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROWS = 16_384
DIMENSIONS = 4_096
# A row takes 20 KiB of vector and codes, 4.5 KiB of 128 word pieces: 411 MB in all. Held may be
# 64 MiB of them, twice while halves are merged, with the 12 MB of rows that come in and the slack
# of the allocator (182 to 206 MiB are enough, by where the heap happens to lie), or less than a KiB
# a row of the other columns.
IMAGE = ROWS * (DIMENSIONS * 5 + 128 * 36)
MOST = {"rebuild": (2 * 64 + 104) << 20, "merge": ROWS * 1024 + (24 << 20)}

LIMITED = """
import resource, struct, sys
from collections import namedtuple
from vestig import _core
ProjectionRow = namedtuple("ProjectionRow", _core.ROW_FIELDS)
folder, rows, dimensions, chunk, most, how = sys.argv[1], *map(int, sys.argv[2:6]), sys.argv[6]
def row(number):
    id = number.to_bytes(16, "big")
    vector = struct.pack("<f", number % 97 + 1.0) * dimensions
    text = f"memory {number} of {number % 13} others"
    return ProjectionRow(
            id, 1, 1, text, None, "default", None, 0, 0, None, None, None, 0, 0, False, number,
            None, number, None, vector, [], ["manual"], [], [(0, number, number, 1, number)],
            [], [], [], [], [], 0, None, (bytes(4 * 128), bytes(34 * 128)), None, None, False)
projection = _core.Projection.open(folder, bytes(16), dimensions, "m")
def limit():
    with open("/proc/self/status") as status:
        held = next(int(line.split()[1]) for line in status if line.startswith("VmData:"))
    resource.setrlimit(resource.RLIMIT_DATA, (held * 1024 + most,) * 2)
if how == "rebuild":
    limit()
for start in range(0, rows, chunk):
    projection.apply([row(n) for n in range(start, start + chunk)], 0, bytes(32))
    if how == "merge":
        projection.publish(False)
projection.apply([], 1, bytes(32))
if how == "merge":
    projection.publish(False)
    limit()
    assert projection.merge(1) > 0
else:
    projection.publish(True)
assert (projection.segments, projection.rows) == (1, rows)
print("done")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA counts maps on Linux only")
@pytest.mark.parametrize("how", ["merge", "rebuild"])
def test_the_image_is_never_held(tmp_path: Path, how: str) -> None:
    assert MOST[how] < 0.6 * IMAGE
    arguments = [str(tmp_path / "p"), str(ROWS), str(DIMENSIONS), "512", str(MOST[how]), how]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-500:]
