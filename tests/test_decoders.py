"""A type is first decoded by one thread at a time."""

from __future__ import annotations

import subprocess
import sys

# Types that are new each time, which four threads decode at once.
MANY = """
import sys, threading, types
from vestig.decoders import converted, decoded
source = '''
from __future__ import annotations
import msgspec
from collections.abc import Mapping
class Inner(msgspec.Struct):
    number: int
    weights: Mapping[str, float]
    words: tuple[str, ...] = ()
class Outer(msgspec.Struct):
    one: Inner
    other: Inner
'''
value = {"one": {"number": 1, "weights": {}}, "other": {"number": 2, "weights": {}}}
data = b'{"one":{"number":1,"weights":{}},"other":{"number":2,"weights":{}}}'
sys.setswitchinterval(1e-6)
for number in range(150):
    module = types.ModuleType(f"module{number}")
    sys.modules[module.__name__] = module
    exec(source, module.__dict__)
    ready, found = threading.Barrier(4), []
    def first(at):
        ready.wait()
        read = decoded(data, module.Outer) if at % 2 else converted(value, module.Outer)
        found.append(read.other.number)
    threads = [threading.Thread(target=first, args=(at,)) for at in range(4)]
    for one in threads: one.start()
    for one in threads: one.join()
    assert found == [2] * 4, found
"""


def test_several_threads_decode_a_type_for_the_first_time() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MANY], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
