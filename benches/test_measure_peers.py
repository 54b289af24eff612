"""What measures tools of others: its figures, its choice of questions, and one tool at work."""

from __future__ import annotations

import json
import subprocess
import sys
from array import array
from pathlib import Path
from typing import Any

import pytest

import measure_peers
from benchmarks.reader import Benchmark, Query

ASK = Path(measure_peers.__file__).parent / "peers" / "ask.py"


def query(number: int, **more: Any) -> Query:
    given = {"relevant": frozenset("b"), "outdated": frozenset("a"), "conversation": None}
    return Query(id=f"q{number}", text="which?", category="c", date=None, **given | more)


def test_figures_are_shares_of_the_questions() -> None:
    asked = [query(0), query(1), query(2, outdated=frozenset()), query(3)]
    rankings = [["b", "a"], ["a", "b"], ["x", "b"], ["x"]]
    found = measure_peers.figures(asked, rankings, seconds=0.01, stored=2_500_000)
    assert (found.hit_1, found.recall_5, found.newest) == (0.25, 0.75, 0.3333)
    assert (found.ms, found.mb) == (2.5, 2.5)


def test_questions_are_evenly_spaced_and_none_is_of_a_past_day() -> None:
    asked = tuple(query(number, as_of=number == 1) for number in range(9))
    whole = Benchmark(name="b", corpora=(), digest="", units={None: ()}, queries=asked)
    assert [one.id for one in measure_peers.sampled(whole, 4).queries] == ["q0", "q3", "q5", "q7"]
    assert len(measure_peers.sampled(whole, None).queries) == 8


@pytest.mark.parametrize("question", ["the blue lamp", 'a "blue" lamp*: (AND', "?"])
def test_a_tool_is_asked_in_another_process(tmp_path: Path, question: str) -> None:
    texts = ["a red lamp", "the blue lamps", "a boat"]
    conversations = [[["r", "b", "s"], texts, [question]]]
    (tmp_path / "given.json").write_text(
        json.dumps({"dimensions": 1, "conversations": conversations})
    )
    (tmp_path / "vectors.bin").write_bytes(array("f", [0.0] * 4).tobytes())
    subprocess.run([sys.executable, ASK, "fts5", tmp_path], check=True)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["rankings"]["full text"][0][:1] == ([] if question == "?" else ["b"])
    assert found["bytes"] > 0


def test_the_figures_of_the_docs_are_of_the_tools_that_stand_there() -> None:
    report = measure_peers.read_report()
    names = {peer.name for peer in measure_peers.PEERS} | {measure_peers.VESTIG}
    assert report.versions.keys() == report.install_mb.keys() == names
    for one in report.sets.values():
        assert all(name.startswith((*names, measure_peers.HYBRID)) for name in one.rows)
    for peer in measure_peers.PEERS:
        for requirement in peer.requirements:
            assert requirement.replace("==", " ") in report.versions[peer.name]
