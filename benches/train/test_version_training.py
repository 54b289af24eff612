"""The parts of the version reader's training that need no JAX, and a tiny one where it is there."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from judge_input import Memory
from made_up_world import folder
from train_version_reader import Checkpoint, Passes, Settings, train
from version_change_file import MATRICES, RANK, version_change_file
from version_input import (
    MEMORY_PIECES,
    OUTDATED,
    PAIRS_FILE,
    RIGHT,
    WRONG,
    Asked,
    Example,
    Result,
    drawn,
    triple,
    written_pairs,
)
from version_results import asked_in

from benchmarks.reader import read_benchmark
from vestig.embedders import builtin

READ = builtin._vocabulary().ids
DAY = [2000, 2001]


def memory(number: int, length: int = 3) -> Memory:
    return Memory(day=DAY, before=[], lead=[], text=[3000 + number] * length)


def asked(*whats: int) -> Asked:
    """A question whose results are these, each later than the one before."""
    results = (Result(memory(n), what, (n, n)) for n, what in enumerate(whats))
    return Asked([1500], tuple(results))


def kinds(found: list[Example]) -> Counter[tuple[int, int, bool]]:
    return Counter((one.older.text[0] - 3000, one.newer.text[0] - 3000, one.takes) for one in found)


def test_a_triple_has_marks_around_its_parts_and_cuts_long_texts() -> None:
    found = triple([1500], memory(1), memory(2, 200))
    assert found.pieces[: found.older] == [101, 1500, 102]
    assert found.pieces[found.older : found.newer] == [*DAY, *[3001] * 3, 102]
    assert found.pieces[found.newer :] == [*DAY, *[3002] * (MEMORY_PIECES - 2), 102]


def test_what_is_drawn_is_later_and_takes_the_place_of_what_is_outdated_alone() -> None:
    one = asked(OUTDATED, RIGHT, WRONG)
    found = Counter[tuple[int, int, bool]]()
    for seed in range(20):
        found += kinds(drawn(one, np.random.default_rng(seed)))
    assert {(older, newer) for older, newer, takes in found if takes} == {(0, 1)}
    assert {(older, newer) for older, newer, takes in found if not takes} == {(0, 2), (1, 2)}


def test_an_outdated_text_behind_the_right_one_takes_no_place() -> None:
    found = drawn(asked(RIGHT, OUTDATED), np.random.default_rng(0))
    assert not any(one.takes for one in found)


def test_a_pass_reads_every_example_once_and_a_step_is_the_same_each_time() -> None:
    written = [Example([1500], memory(n), memory(n + 1), n % 2 == 0) for n in range(10)]
    settings = Settings(examples=4)
    passes = Passes([], written, settings)
    steps = [passes.examples(step) for step in range(1, 6)]
    assert kinds([one for step in steps for one in step]) == Counter(
        dict.fromkeys(kinds(written), 2)
    )
    assert Passes([], written, settings).examples(4) == steps[3]


def test_the_written_pairs_are_whole_and_of_both_kinds() -> None:
    rows = [json.loads(line) for line in PAIRS_FILE.read_text("utf-8").splitlines()]
    found = [*written_pairs(READ)]
    assert len(found) == len(rows) > 2_000
    assert 0.35 < sum(one.takes for one in found) / len(found) < 0.45
    assert all(one.older.text and one.newer.text and one.question for one in found)
    assert all(row["older_date"] <= row["newer_date"] for row in rows)
    kinds_of = {row["kind"]: row["update"] for row in rows}
    assert all(kinds_of[row["kind"]] is row["update"] for row in rows)


def test_the_file_of_a_change_is_a_function_of_its_arrays() -> None:
    chance = np.random.default_rng(1)
    change = {"head.weight": chance.normal(size=1152), "head.bias": np.zeros(())}
    for layer in range(6):
        for name, (outputs, inputs, _) in MATRICES.items():
            change[f"L.{layer}.{name}_inner"] = chance.normal(size=(RANK, inputs))
            change[f"L.{layer}.{name}_outer"] = chance.normal(size=(outputs, RANK))
            change[f"L.{layer}.{name}_b"] = chance.normal(size=outputs)
        for norm in ("n1_w", "n1_b", "n2_w", "n2_b"):
            change[f"L.{layer}.{norm}"] = chance.normal(size=384)
    shipped = Path(builtin.data_file("version_change.bin")).stat().st_size
    assert len(version_change_file(change)) == shipped
    del change["L.3.w1_outer"]
    with pytest.raises(ValueError, match=r"L\.3\.w1_outer: expected .* got nothing"):
        version_change_file(change)


def test_a_change_that_changes_nothing_reads_as_the_judge() -> None:
    jax = pytest.importorskip("jax")
    from version_model import batch, judge_arrays, logits, start

    judge = judge_arrays()
    own = start(judge, 0)
    one = triple([1500, 1501], memory(1), memory(2, 9))
    other = triple([1500], memory(3, 40), memory(4))
    given = [batch(judge, rows, 0.0, np.random.default_rng(0)) for rows in ([one], [other, one])]
    alone, together = (logits(judge, own, each, 0.0, None) for each in given)
    assert np.allclose(alone[0], together[1], atol=1e-4)
    dropped = logits(judge, own, given[0], 0.5, jax.random.key(0))
    assert not np.allclose(alone, dropped)


def test_a_training_that_is_continued_ends_as_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jax")
    pytest.importorskip("optax")
    written = [Example([1500], memory(n), memory(n + 1), n % 2 == 0) for n in range(6)]
    settings = Settings(steps=3, examples=4)

    def checkpoint(place: str, identity: str = "this training") -> Checkpoint:
        folder = tmp_path / place
        folder.mkdir(exist_ok=True)
        return Checkpoint(folder / "checkpoint.npz", identity, every=2, resumes=True)

    whole = train([], written, settings, checkpoint("whole"))
    begun = checkpoint("begun")
    write = begun.write

    def write_and_stop(step: int, *rest: Any) -> None:
        write(step, *rest)
        if step == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(begun, "write", write_and_stop)
    with pytest.raises(KeyboardInterrupt):
        train([], written, settings, begun)
    continued = train([], written, settings, checkpoint("begun"))
    assert all(np.array_equal(continued[name], values) for name, values in whole.items())
    assert any(whole[f"L.5.{name}_outer"].any() for name in MATRICES)
    with pytest.raises(ValueError, match="expected a checkpoint of this training"):
        train([], written, settings, checkpoint("begun", "another one"))


def test_results_of_a_labelled_store_are_what_their_labels_say(tmp_path: Path) -> None:
    benchmark = read_benchmark(folder(tmp_path / "world", "Ada", 5))
    found = [*asked_in(benchmark, READ, None)]
    assert found
    for one in found:
        assert len({result.since for result in one.results}) == len(one.results)
        assert {result.what for result in one.results} <= {RIGHT, WRONG, OUTDATED}
    labels = Counter(result.what for one in found for result in one.results)
    assert min(labels[what] for what in (RIGHT, WRONG, OUTDATED)) > 0
    draw = np.random.default_rng(0)
    assert any(example.takes for one in found for example in drawn(one, draw))
