"""A tiny training of the judge; skipped where PyTorch is not installed."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

# ruff: noqa: E402
torch = pytest.importorskip("torch")

from judge_input import Asked, Pair, all_asked, candidate_worlds
from judge_model import Judge, embedder_arrays, kept_layers, weights_of
from judge_recipe import OUTDATED, RIGHT, WRONG, Settings, lists_of
from judge_training import Checkpoints, loss, train
from layers_file import Arrays
from made_up_world import folder
from minilm import Parameters
from train_judge import main

import model_reference
from vestig.embedders import builtin

TINY = Settings(layers=3, passes=2, questions=4, memories=6, rate=1e-4, head_rate=4e-3)
READ = builtin._vocabulary().ids


@pytest.fixture(scope="module")
def arrays() -> Arrays:
    return embedder_arrays()


@pytest.fixture(scope="module")
def judge(arrays: Arrays) -> Judge:
    return Judge(arrays, TINY.layers, "cpu")


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> list[Asked]:
    made = folder(tmp_path_factory.mktemp("worlds") / "world", "Ada", 7)
    return all_asked(candidate_worlds([made], READ, builtin.BuiltinEmbedder()))


@pytest.fixture(scope="module")
def whole(
    judge: Judge, questions: list[Asked], tmp_path_factory: pytest.TempPathFactory
) -> Parameters:
    """The parameters of a training that nothing interrupts."""
    return train(judge, questions, TINY, 0, checkpoints(tmp_path_factory.mktemp("whole") / "c"))


def checkpoints(path: Path) -> Checkpoints:
    return Checkpoints(path=path, identity="this training", every=2)


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_the_judge_begins_as_the_embedder(arrays: Arrays) -> None:
    """Without the second token kind its states are those that the embedder gives."""
    judge = Judge(arrays, 6, "cpu")
    own = judge.start(0)
    own["head.weight"] = torch.zeros_like(own["head.weight"])
    own["head.weight"][:, :384] = torch.eye(384)[:2]
    pieces = READ("The key hangs in the hall")
    (found,) = judge.logits(own, [Pair(pieces=pieces, first=len(pieces))]).tolist()
    expected = model_reference.plain_states(pieces)[0][:2]
    assert found == pytest.approx(expected, abs=1e-4)


def test_padding_and_other_pairs_change_nothing(judge: Judge, questions: list[Asked]) -> None:
    own = judge.start(0)
    short, long = questions[0].pairs([0])[0], Pair(pieces=[101, *[2003] * 90, 102], first=12)
    alone, beside = judge.logits(own, [short]), judge.logits(own, [long, short])[1:]
    assert torch.allclose(alone, beside, atol=1e-5)


def test_an_outdated_record_answers_and_takes_no_part_in_rank(
    judge: Judge, questions: list[Asked]
) -> None:
    own = judge.start(0)
    own["head.weight"] = torch.zeros_like(own["head.weight"])
    # every logit is 0: a right record against two wrong ones, and two of four that answer
    records = [(1, RIGHT), (0, OUTDATED), (3, WRONG), (5, WRONG)]
    found = loss(judge, own, [(questions[0], records)], 0)
    assert found.item() == pytest.approx(np.log(3) + np.log(2), abs=1e-5)
    # no question with an answer: *answers* alone
    found = loss(judge, own, [(questions[-1], [(0, WRONG), (1, WRONG)])], 0)
    assert found.item() == pytest.approx(np.log(2), abs=1e-5)


def test_a_training_lowers_the_loss(
    judge: Judge, questions: list[Asked], whole: Parameters
) -> None:
    lists = lists_of(questions, 1, TINY, 9)
    before, after = (loss(judge, own, lists, 0).item() for own in (judge.start(0), whole))
    assert after < 0.9 * before


def test_an_interrupted_training_continues_to_the_same_weights(
    judge: Judge,
    questions: list[Asked],
    whole: Parameters,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    interrupted = checkpoints(tmp_path / "part")
    write = Checkpoints.write

    def stop(self: Checkpoints, step: int, *rest: Any) -> None:
        write(self, step, *rest)
        raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoints, "write", stop)
    with pytest.raises(KeyboardInterrupt):
        train(judge, questions, TINY, 0, interrupted)
    monkeypatch.undo()
    state = interrupted.read("cpu")
    assert state is not None
    assert state["step"] == 2
    assert not same(state["parameters"], whole)
    assert same(train(judge, questions, TINY, 0, interrupted), whole)


def test_a_checkpoint_of_another_training_is_refused(judge: Judge, tmp_path: Path) -> None:
    own = judge.start(0)
    checkpoints(tmp_path / "c").write(2, own, torch.optim.SGD(own.values()))
    foreign = Checkpoints(path=tmp_path / "c", identity="another", every=2)
    with pytest.raises(ValueError, match="expected a checkpoint of this training"):
        foreign.read("cpu")


def test_weights_have_the_names_and_shapes_that_their_file_is_made_of(judge: Judge) -> None:
    own = judge.start(0)
    found = weights_of(own, 3)
    assert kept_layers(6) == list(range(6))
    assert len(found) == 4 + 3 * 12 + 2
    shapes = {name: values.shape for name, values in found.items()}
    assert shapes["pos"], shapes["seg"] == ((320, 384), (2, 384))
    assert shapes["L.2.qkv_w"], shapes["L.2.w2_w"] == ((1152, 384), (384, 1536))
    assert shapes["head.weight"] == (2, 1152)
    key = own["encoder.layer.2.attention.self.key.weight"].numpy()
    assert np.array_equal(found["L.2.qkv_w"][384:768], key)


def test_the_command_trains_evaluates_and_says_on_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train_on = [str(folder(tmp_path / name, name, 2)) for name in ("Ada", "Bo", "Cy")]
    unseen, out = str(folder(tmp_path / "Di", "Di", 2)), tmp_path / "out"
    settings = ["--out", str(out), "--layers", "3", "--held-out", "1", "--device", "cpu"]
    given = ["--train", *train_on, *settings]
    assert main([*given, "--evaluate", train_on[0]]) == 2
    assert "not trained on, got Ada" in capsys.readouterr().out
    assert main([*given, "--evaluate", unseen, "--resume"]) == 2
    assert "begin without --resume" in capsys.readouterr().out
    assert main([*given, "--evaluate", unseen]) == 0
    about, figures = (
        json.loads((out / f"{name}.json").read_text()) for name in ("trained_on", "figures")
    )
    assert len(about["trained on"]) == 2
    assert (about["seeds"], about["steps"]) == ([0, 1], 1)
    weights = (out / "judge.npz").read_bytes()
    assert about["judge.npz"] == hashlib.sha256(weights).hexdigest()
    assert figures["evaluated on"][0]["world"] == "Di"
    assert set(figures["judge"]["all"]) == {"hit@1", "R@5", "MRR", "questions"}
    assert 0 <= figures["judge"]["unanswerable"]["AUROC"] <= 1
    assert list(figures["held out"]) == ["0", "1"]
    assert sorted(path.name for path in out.iterdir()) == [
        "figures.json",
        "judge.npz",
        "trained_on.json",
    ]
