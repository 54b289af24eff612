"""Prints the time per character of 20 kinds of text at 1, 4, 16 and 64 KB.

    .venv/bin/python benches/text_kinds.py [STAGE …] [--kb 4 16]

A stage that costs no more than its text prints about the same number at every length. Numbers are
nanoseconds of CPU per character, the least of three runs; `*` marks a length at which a character
costs more than 1.5 times of what it cost at a quarter of it.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

import vestig
from vestig.commit.canonical_form import canonical_form, differences
from vestig.language.names import find_names
from vestig.language.time.expressions import find_times
from vestig.retrieve.queries import facets
from vestig.testing import HashingEmbedder

KILOBYTES: Final = (1, 4, 16, 64)
RUNS: Final = 3
KINDS: Final[Mapping[str, str]] = {
    "dates": "March {0} we met Ola. ",
    "weekdays": "On Monday we ship {0}. ",
    "iso": "2026-03-04T05:{0:02} ",
    "numbers": "{0} ",
    "names": "Name{0} Sur{0} ",
    "urls": "https://a.example/p/{0}?q={0} ",
    "quotes": '"so {0}" he said, ',
    "punctuation": "?!.,;:",
    "cjk": "我在东京住了三年",
    "emoji": "🙂🚀",
    "table": "| April {0} | Ann |\n",
    "code": "def f{0}(x): return x + {0}\n",
    "base64": "aGVsbG8gd29ybGQ",
    "one word": "x",
    "possessives": "Ann's ",
    "dotted": "a.b.c.d",
    "signs": "@#-/",
    "brackets": "([{{",
    "newlines": "\n",
    "mixed": "Ann's 3 cats (see a.b) met Bob on May {0}, “why?” 我 ",
}


def _text(kind: str, length: int) -> str:
    unit = KINDS[kind]
    parts, size, number = [], 0, 0
    while size < length:
        parts.append(unit.format(number % 59 + 1))
        size += len(parts[-1])
        number += 1
    return "".join(parts)[:length]


def _store(*, near_duplicates: bool = False) -> vestig.Vestig:
    config: dict[str, Any] = {
        "hygiene.max_chars": 100_000,
        "hygiene.near_duplicate.enabled": near_duplicates,
        "hygiene.near_duplicate.threshold": 0.0,
    }
    return vestig.open(":memory:", embedder=HashingEmbedder(32), config=config)


def _commit(text: str) -> None:
    with _store() as store:
        store.commit(f"Note to read. {text}")


def _commit_near(text: str) -> None:
    """Two texts that differ at three places are compared, whatever their vectors say."""
    with _store(near_duplicates=True) as store:
        store.commit(f"Note 1 to read. {text} It ends at 5.")
        store.commit(f"Note 2 to read. {text[: len(text) // 2]} and {text} It ends at 6.")


def _compare(text: str) -> None:
    one = canonical_form(f"Note 1 to read. {text} It ends at 5.")
    other = canonical_form(f"Note 2 to read. {text[: len(text) // 2]} and {text} It ends at 6.")
    differences(one, other)


def _import_line(text: str) -> None:
    line = json.dumps({"content": f"Note to read. {text}", "t_valid": "2026-03-01"})
    with _store() as store:
        store.import_(io.StringIO(line + "\n"))


def _import_message(text: str) -> None:
    line = json.dumps({"role": "user", "content": f"Note to read. {text}"})
    with _store() as store:
        store.import_(io.StringIO(line + "\n"))


def _on_filled(ask: Callable[[vestig.Vestig, str], object]) -> Callable[[str], object]:
    store = _store()
    for number in range(20):
        store.commit(f"Ann met Bob at berth {number * 37} in May.")
    return lambda text: ask(store, f"who? {text}")


STAGES: Final[Mapping[str, Callable[[], Callable[[str], object]]]] = {
    "times": lambda: lambda text: find_times(text, 0),
    "names": lambda: find_names,
    "facets": lambda: lambda text: facets(text, text),
    "compare": lambda: _compare,
    "commit": lambda: _commit,
    "commit near": lambda: _commit_near,
    "import line": lambda: _import_line,
    "import message": lambda: _import_message,
    "recall": lambda: _on_filled(lambda store, text: store.recall(text)),
    "context": lambda: _on_filled(lambda store, text: store.recall(text, context=True)),
    "messages": lambda: _on_filled(lambda store, text: store.recall(messages=[{"content": text}])),
    "retrieve": lambda: _on_filled(lambda store, text: store.retrieve([{"content": text}])),
}


def _per_char(run: Callable[[str], object], text: str) -> float:
    least = float("inf")
    for _ in range(RUNS):
        began = time.process_time()
        run(text)
        least = min(least, time.process_time() - began)
    return 1e9 * least / len(text)


def main(arguments: list[str]) -> None:
    """Prints a table for each stage."""
    parser = argparse.ArgumentParser(description="Time per character of 20 kinds of text.")
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=", ".join(STAGES))
    parser.add_argument("--kb", nargs="+", type=int, default=KILOBYTES, help="lengths in KB")
    asked = parser.parse_args(arguments)
    for name in asked.stages or STAGES:
        run = STAGES[name]()
        print(f"{name:14}" + "".join(f"{length:>9} KB" for length in asked.kb))
        for kind in KINDS:
            costs = [_per_char(run, _text(kind, 1_024 * length)) for length in asked.kb]
            grows = [False, *(b > 1.5 * a for a, b in pairwise(costs))]
            cells = (f"{c:>10,.0f} {'*' if g else ' '}" for c, g in zip(costs, grows, strict=True))
            print(f"  {kind:14}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
