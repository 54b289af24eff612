"""The parts of the trainings of adapters that need no JAX, and tiny ones where it is there."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import train_judge_adapter
import train_version_reader
from adapter_file import MATRICES, RANK, adapter_file
from adapter_training import Checkpoint, Settings, averaged, train
from judge_input import Memory, pair
from judge_recipe import OUTDATED, RIGHT, WRONG
from judge_scenes import (
    LISTS_FILE,
    PROMPTS_FILE,
    SCENES_FILE,
    Common,
    in_its_words,
    listed,
    scenes,
    text_of,
)
from made_up_world import folder
from train_judge_adapter import ROWS, SHARES, Lists
from train_version_reader import Passes
from version_input import (
    MEMORY_PIECES,
    PAIRS_FILE,
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
    older, newer = [*DAY, *[3001] * 3], [*DAY, *[3002] * (MEMORY_PIECES - 2)]
    assert found.pieces == [101, 1500, 102, *older, 102, *newer, 102]
    assert found.types_from == 3
    assert found.pieces[found.first] == older
    assert found.pieces[found.second] == newer


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
    settings = Settings(outputs=1, steps=5, rows=4)
    passes = Passes([], [], written, settings)
    steps = [passes.examples(step) for step in range(1, 6)]
    assert kinds([one for step in steps for one in step]) == Counter(
        dict.fromkeys(kinds(written), 2)
    )
    assert Passes([], [], written, settings).examples(4) == steps[3]


def test_the_written_pairs_are_whole_and_of_both_kinds() -> None:
    rows = [json.loads(line) for line in PAIRS_FILE.read_text("utf-8").splitlines()]
    found = [*written_pairs(READ)]
    assert len(found) == len(rows) > 2_000
    assert 0.35 < sum(one.takes for one in found) / len(found) < 0.45
    assert all(one.older.text and one.newer.text and one.question for one in found)
    assert all(row["older_date"] <= row["newer_date"] for row in rows)
    kinds_of = {row["kind"]: row["update"] for row in rows}
    assert all(kinds_of[row["kind"]] is row["update"] for row in rows)


@pytest.mark.parametrize(
    ("outputs", "shipped"), [(1, "version_adapter.bin"), (2, "judge_adapter.bin")]
)
def test_the_file_of_an_adapter_is_a_function_of_its_arrays(outputs: int, shipped: str) -> None:
    chance = np.random.default_rng(1)
    adapter = {"head.weight": chance.normal(size=(outputs, 1152)), "head.bias": np.zeros(outputs)}
    for layer in range(6):
        for name, (columns, inputs, _) in MATRICES.items():
            adapter[f"L.{layer}.{name}_inner"] = chance.normal(size=(RANK, inputs))
            adapter[f"L.{layer}.{name}_outer"] = chance.normal(size=(columns, RANK))
            adapter[f"L.{layer}.{name}_b"] = chance.normal(size=columns)
        for norm in ("n1_w", "n1_b", "n2_w", "n2_b"):
            adapter[f"L.{layer}.{norm}"] = chance.normal(size=384)
    assert len(adapter_file(adapter)) == Path(builtin.data_file(shipped)).stat().st_size
    del adapter["L.3.w1_outer"]
    with pytest.raises(ValueError, match=r"L\.3\.w1_outer: expected .* got nothing"):
        adapter_file(adapter)


def test_the_written_scenes_are_whole_and_ask_for_what_is_not_there() -> None:
    rows = [json.loads(line) for line in SCENES_FILE.read_text("utf-8").splitlines()]
    found = [*scenes(READ)]
    whats = [what for scene in found for _, what in scene.questions]
    assert len(found) == len(rows) > 1_000
    assert all(
        len(one.memories) == len(row["records"]) for one, row in zip(found, rows, strict=True)
    )
    assert 0.35 < sum(RIGHT not in one for one in whats) / len(whats) < 0.5
    assert all(
        set(one["answers"]).isdisjoint(one["outdated"]) for r in rows for one in r["questions"]
    )
    assert all(memory.text for one in found for memory in one.memories)


def test_the_written_lists_have_questions_that_several_records_answer() -> None:
    found = [what for scene in scenes(READ, LISTS_FILE) for _, what in scene.questions]
    assert len(found) > 1_000
    assert 0.5 < sum(one.count(RIGHT) > 1 for one in found) / len(found) < 0.7
    assert 0.25 < sum(RIGHT not in one for one in found) / len(found) < 0.4


def test_the_written_prompts_ask_nothing_and_half_of_them_need_no_record() -> None:
    rows = [json.loads(line) for line in PROMPTS_FILE.read_text("utf-8").splitlines()]
    asked = [one for row in rows for one in row["questions"]]
    kinds_of = Counter(one["kind"] for one in asked)
    assert min(kinds_of[kind] for kind in ("task", "long", "topic", "lookup", "statement")) > 150
    assert 0.4 < sum(not one["answers"] for one in asked) / len(asked) < 0.5
    # an order may be put as a question ("can you look at the build?")
    assert sum(one["q"].rstrip().endswith("?") for one in asked) < 0.01 * len(asked)
    whats = [what for scene in scenes(READ, PROMPTS_FILE) for _, what in scene.questions]
    assert [RIGHT in one for one in whats] == [bool(one["answers"]) for one in asked]


def test_the_records_of_a_question_are_what_their_labels_say() -> None:
    """Those of other scenes and a turn that asks, now and then beside them, are wrong."""
    given = [*scenes(READ)][:20]
    common = Common([memory for scene in given for memory in scene.memories])
    others, turns = Counter[int](), Counter[bool]()
    for scene in given:
        own = [memory.text for memory in scene.memories]
        for number, (question, what) in enumerate(scene.questions):
            found = listed(scene, number, common, np.random.default_rng(number))
            kinds_of = Counter(one.what for one in found)
            assert kinds_of[RIGHT] == min(2, what.count(RIGHT))
            assert kinds_of[OUTDATED] == min(1, what.count(OUTDATED))
            for one in found:
                assert one.text.pieces[one.text.first] == question
                assert one.text.types_from == len(question) + 2
            of_others = kinds_of[WRONG] - min(3, what.count(WRONG))
            behind = found[len(found) - of_others :]
            assert all(one.what == WRONG for one in behind)
            assert not any(one.text.pieces[one.text.second][2:] in own for one in behind)
            asked = [text_of(pair(question, turn)).pieces for turn in scene.turns[number]]
            asks = [one for one in behind if one.text.pieces in asked]
            turns[bool(asks)] += 1
            others[of_others - len(asks)] += 1
    assert set(others) == {0, 2}
    assert 0.4 < others[2] / others.total() < 0.6
    assert 0.08 < turns[True] / turns.total() < 0.25


def test_a_turn_that_asks_is_the_question_itself_or_another_order() -> None:
    whole = [json.loads(line) for line in PROMPTS_FILE.read_text("utf-8").splitlines()][:20]
    for scene, row in zip(scenes(READ, PROMPTS_FILE), whole, strict=False):
        orders = [one["kind"] in ("task", "long") for one in row["questions"]]
        own = [turns[0].text for turns in scene.turns if turns]
        assert len(own) == sum(orders)
        for is_order, turns in zip(orders, scene.turns, strict=True):
            assert bool(turns) is is_order
            texts = [one.text for one in turns]
            assert sorted(texts) == (sorted(own) if is_order else [])


def test_a_query_in_the_words_of_a_record_is_answered_by_it() -> None:
    given = [*scenes(READ, PROMPTS_FILE)][:10]
    common = Common([memory for scene in given for memory in scene.memories])
    for number in range(40):
        scene = given[number % 10]
        found = in_its_words(scene, common, np.random.default_rng(number))
        assert [one.what for one in found] == [RIGHT, *[WRONG] * (len(found) - 1)]
        right = found[0].text
        assert {*right.pieces[right.first]} <= {*right.pieces[right.second]}


@pytest.mark.parametrize("kind", SHARES)
def test_a_step_of_the_judge_holds_lists_with_the_right_record_first(kind: str) -> None:
    lists = Lists([], {file: [*scenes(READ, file)][:20] for file in SHARES[kind]}, kind, seed=0)
    read = lists.step(3)
    assert len(read.texts) <= ROWS
    assert [one.pieces for one in lists.step(3).texts] == [one.pieces for one in read.texts]
    assert [one.pieces for one in lists.step(4).texts] != [one.pieces for one in read.texts]
    whats = [one.what for each in lists.lists(3) for one in each]
    rows = [[place for place in row if place < ROWS] for row in read.truth.lists.tolist()]
    firsts = [row[0] for row in rows if row]
    assert firsts == [place for place, what in enumerate(whats) if what == RIGHT]
    assert all(whats[place] == WRONG for row in rows for place in row[1:])
    assert read.truth.answers[: len(whats)].tolist() == [what != WRONG for what in whats]
    assert read.truth.read.sum() == pytest.approx(1)
    lengths = [len(one) for one in lists.lists(3)]
    assert read.truth.whole.sum(1).tolist()[: len(lengths)] == lengths
    assert read.truth.whole.sum(0).tolist() == [1] * len(whats) + [0] * (ROWS - len(whats))


def test_the_loss_of_the_judge_falls_where_what_is_right_stands_higher() -> None:
    pytest.importorskip("jax")
    pytest.importorskip("optax")
    read = Lists([], {SCENES_FILE: [*scenes(READ)][:20]}, "questions", seed=0).step(1)
    outputs = np.zeros((ROWS, 2), np.float32)
    even = float(train_judge_adapter.loss(outputs, read.truth))
    better = outputs + 3 * (2 * read.truth.answers - 1)[:, None]
    assert float(train_judge_adapter.loss(better, read.truth)) < even / 2
    assert float(train_judge_adapter.loss(-better, read.truth)) > 2 * even
    # so it does where *answers* stay as they are
    ranked = outputs.copy()
    ranked[:, 1] = better[:, 1]
    assert float(train_judge_adapter.loss(ranked, read.truth)) < even
    assert float(train_judge_adapter.loss(-ranked, read.truth)) > even
    # rows behind the texts are nothing
    behind = better.copy()
    behind[len(read.texts) :] = 9
    assert float(train_judge_adapter.loss(behind, read.truth)) == pytest.approx(
        float(train_judge_adapter.loss(better, read.truth))
    )


def test_a_list_that_nothing_answers_costs_by_its_best_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("jax")
    pytest.importorskip("optax")
    scenes_read = [*scenes(READ)][:20]
    steps = [Lists([], {SCENES_FILE: scenes_read}, "questions", seed=0).step(n) for n in (1, 2, 3)]
    found = [
        (read.truth, row)
        for read in steps
        for row in read.truth.whole
        if row.sum() > 2 and not (row & (read.truth.answers > 0)).any()
    ]
    truth, row = found[0]
    spread = np.full((ROWS, 2), -4, np.float32)
    one_high = spread.copy()
    one_high[np.flatnonzero(row)[0], 0] = 4

    def rise() -> float:
        losses = [float(train_judge_adapter.loss(each, truth)) for each in (spread, one_high)]
        return losses[1] - losses[0]

    by_list = rise()
    monkeypatch.setattr(train_judge_adapter, "LIST_SHARE", 0.0)
    assert by_list > rise() > 0


def test_a_mean_of_adapters_lies_between_both() -> None:
    trained, begun = ({"head.bias": np.full(2, value, np.float32)} for value in (1, 0))
    assert averaged(trained, begun, 0.6)["head.bias"].tolist() == pytest.approx([0.6, 0.6])
    assert averaged(trained, begun, 1.0)["head.bias"].tolist() == [1, 1]


def test_an_adapter_that_adds_nothing_reads_as_the_layers() -> None:
    jax = pytest.importorskip("jax")
    from adapter_model import batch, layers_arrays, logits, start

    layers = layers_arrays()
    own = start(layers, 1, 0)
    one = triple([1500, 1501], memory(1), memory(2, 9))
    other = triple([1500], memory(3, 40), memory(4))
    given = [batch(rows, 2, 0.0, np.random.default_rng(0)) for rows in ([one], [other, one])]
    alone, together = (logits(layers, own, each, 0.0, None) for each in given)
    assert np.allclose(alone[0], together[1], atol=1e-4)
    dropped = logits(layers, own, given[0], 0.5, jax.random.key(0))
    assert not np.allclose(alone[0], dropped[0])


def test_a_training_that_is_continued_ends_as_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jax")
    pytest.importorskip("optax")
    written = [Example([1500], memory(n), memory(n + 1), n % 2 == 0) for n in range(6)]
    settings = Settings(outputs=1, steps=3, rows=4)
    steps, loss = Passes([], [], written, settings).step, train_version_reader.loss

    def checkpoint(place: str, identity: str = "this training") -> Checkpoint:
        folder = tmp_path / place
        folder.mkdir(exist_ok=True)
        return Checkpoint(folder / "checkpoint.npz", identity, every=2, resumes=True)

    whole = train(settings, steps, loss, checkpoint("whole"))
    begun = checkpoint("begun")
    write = begun.write

    def write_and_stop(step: int, *rest: Any) -> None:
        write(step, *rest)
        if step == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(begun, "write", write_and_stop)
    with pytest.raises(KeyboardInterrupt):
        train(settings, steps, loss, begun)
    continued = train(settings, steps, loss, checkpoint("begun"))
    assert all(np.array_equal(continued[name], values) for name, values in whole.items())
    assert any(whole[f"L.5.{name}_outer"].any() for name in MATRICES)
    still = replace(settings, steps=1, rate=0.0, vector_rate=0.0, head_rate=0.0)
    kept = train(still, steps, loss, checkpoint("still"), whole)
    assert all(np.array_equal(kept[name], values) for name, values in whole.items())
    with pytest.raises(ValueError, match="expected a checkpoint of this training"):
        train(settings, steps, loss, checkpoint("begun", "another one"))


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
