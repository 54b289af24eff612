"""The parts of the judge's training that need no PyTorch."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from judge_input import (
    CANDIDATES,
    MEMORY_PIECES,
    PAIR_PIECES,
    CandidateWorld,
    Memory,
    all_asked,
    candidate_worlds,
    memory_pieces,
    pair,
    question_pieces,
    window,
)
from judge_recipe import (
    OUTDATED,
    RIGHT,
    WRONG,
    Settings,
    best_seed,
    chance,
    check_checkpoints,
    figures,
    first_stage_figures,
    held_out,
    list_of,
    lists_of,
    questions_of,
    rate_share,
)
from made_up_world import folder, written
from worlds import refuse_seen

from vestig.embedders import builtin
from vestig.testing import HashingEmbedder

READ = builtin._vocabulary().ids


def made(*folders: Path) -> list[CandidateWorld]:
    return list(candidate_worlds(folders, READ, HashingEmbedder()))


def memory(**parts: list[int]) -> Memory:
    return Memory(**{"day": [], "before": [], "lead": [], "text": [], **parts})


def test_a_pair_has_the_day_the_turn_before_the_speaker_and_the_text(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": " ".join(f"x{n}" for n in range(30)), "session": "s", "turn": 4},
        {
            "id": "b",
            "text": "The key hangs in the hall",
            "timestamp": "2026-03-03T10:00:00",
            "speaker": "Ada",
            "title": "Keys",
            "session": "s",
            "turn": 5,
        },
        {"id": "c", "text": "Nothing else", "title": "Rest"},
    ]
    asked = [{"id": "q", "text": "where is the key?", "relevant": ["b"]}]
    (world,) = made(written(tmp_path / "one", rows, asked))
    (question,) = all_asked([world])
    last = " ".join(f"x{n}" for n in range(10, 30))
    first, second, third = question.pairs([0, 1, 2])
    expected = f"Tuesday 3 March 2026 · {last} Ada: The key hangs in the hall"
    own = [*READ("where is the key?"), *READ(expected)[1:]]
    assert (second.pieces, second.first) == (own, len(READ("where is the key?")))
    assert first.pieces == [*READ("where is the key?"), *READ(rows[0]["text"])[1:]]
    assert third.pieces[third.first :] == READ("Rest: Nothing else")[1:]


def test_of_a_long_question_the_first_ten_and_the_last_twenty_pieces_are_read() -> None:
    whole = [101, *range(1000, 1031), 102]
    assert question_pieces(whole) == [*range(1000, 1010), *range(1011, 1031)]
    assert question_pieces([101, *range(1000, 1030), 102]) == [*range(1000, 1030)]


def test_of_a_long_text_the_window_nearest_to_the_question_is_read() -> None:
    text = [*range(1000, 1100)]
    assert window(text, frozenset({1050, 1051, 1052}), 20)[0] == 1040
    # of equal ones the first
    assert window(text, frozenset(), 20)[0] == 1000
    assert window(text[:20], frozenset({1019}), 20) == text[:20]


def test_a_memory_is_cut_to_its_share_and_the_turn_before_to_what_is_left() -> None:
    long = memory(day=[1] * 6, before=[2] * 20, lead=[3] * 90, text=[*range(1000, 1200)])
    assert memory_pieces([], long) == [*[1] * 6, *[3] * 25, *range(1000, 1040)]
    short = memory(day=[1] * 6, before=[*range(20, 40)], lead=[3], text=[4] * (64 - 5))
    assert memory_pieces([], short) == [*[1] * 6, *range(35, 40), 3, *[4] * 59]
    fuller = memory(day=[1] * 6, before=[*range(20, 40)], lead=[3], text=[4] * (64 - 4))
    assert memory_pieces([], fuller) == [*[1] * 6, 3, *[4] * 60]
    assert len(memory_pieces([], long)) == MEMORY_PIECES
    assert len(pair([9] * 30, long).pieces) == PAIR_PIECES


def test_candidates_are_the_first_of_bm25_and_cosine_that_a_question_may_use(
    tmp_path: Path,
) -> None:
    rows = [
        {"id": f"r{n}", "text": f"note {n} of the garden", "timestamp": f"2026-03-{n + 1:02}"}
        for n in range(25)
    ]
    rows[7]["text"] = "the blue kettle leaks"
    asked = [
        {"id": "q", "text": "which kettle leaks?", "relevant": ["r7"]},
        {"id": "p", "text": "which note?", "relevant": ["r1"], "date": "2026-03-03", "as_of": True},
        {"id": "u", "text": "who is Ada?", "relevant": []},
    ]
    (world,) = made(written(tmp_path / "one", rows, asked))
    assert [len(one) for one in world.candidates] == [CANDIDATES, 3, CANDIDATES]
    assert world.candidates[0][0] == 7
    assert set(world.candidates[1]) == {0, 1, 2}
    assert [bool(one.question.relevant) for one in all_asked([world])] == [True, True, False]


def test_the_hash_of_a_world_is_of_its_records_and_questions(tmp_path: Path) -> None:
    one, same, other = made(
        folder(tmp_path / "one", "Ada"),
        folder(tmp_path / "two" / "one", "Ada"),
        folder(tmp_path / "three", "Bo"),
    )
    assert one.sha256 == same.sha256 != other.sha256


def test_right_and_outdated_records_are_read_whether_they_were_found_or_not(
    tmp_path: Path,
) -> None:
    (world,) = made(folder(tmp_path / "one", "Ada"))
    one = all_asked([world])[0]
    wrong = [number for number in range(16) if number not in (0, 1)]
    found = list_of(one.question, wrong, 6, chance(0, 1, 1))
    assert found[:2] == [(1, RIGHT), (0, OUTDATED)]
    assert len(found) == 6
    assert {what for _, what in found[2:]} == {WRONG}
    assert len({number for number, _ in found}) == 6
    assert list_of(one.question, [0, 1, 5], 6, chance(0, 1, 1))[2:] == [(5, WRONG)]


def test_wrong_records_that_stand_higher_are_drawn_more_often(tmp_path: Path) -> None:
    (world,) = made(folder(tmp_path / "one", "Ada"))
    one = all_asked([world])[-1]
    often = np.zeros(16)
    for draw in range(400):
        for number, _ in list_of(one.question, range(16), 4, chance(0, 1, draw)):
            often[number] += 1
    assert often[:4].sum() > 1.5 * often[-4:].sum() > 0


def test_each_pass_reads_all_questions_in_another_order() -> None:
    steps = [questions_of(step, 10, 4, seed=3) for step in range(1, 6)]
    first, second = np.concatenate(steps)[:10], np.concatenate(steps)[10:]
    assert sorted(first) == sorted(second) == list(range(10))
    assert first.tolist() != second.tolist()
    assert questions_of(3, 10, 4, seed=3) == steps[2]
    assert questions_of(3, 10, 4, seed=4) != steps[2]


def test_candidates_are_drawn_anew_in_each_pass(tmp_path: Path) -> None:
    questions = all_asked(made(folder(tmp_path / "one", "Ada")))
    settings = Settings(questions=len(questions), memories=6)
    first, second = (
        {one.number: records for one, records in lists_of(questions, step, settings, 0)}
        for step in (1, 2)
    )
    assert first.keys() == second.keys()
    assert first != second
    assert lists_of(questions, 1, settings, 0) == lists_of(questions, 1, settings, 0)


def test_the_rate_rises_and_falls_to_a_floor() -> None:
    shares = [rate_share(step, 1000, Settings()) for step in range(1, 1001)]
    assert shares.index(max(shares)) == 59
    assert shares[59] == pytest.approx(0.94)
    assert shares[29] == pytest.approx(0.485, abs=1e-3)
    assert shares[-1] == 0.02
    assert Settings().steps(7310) == 913


def test_worlds_held_out_are_the_same_ones_in_every_run(tmp_path: Path) -> None:
    names = ("Ada", "Bo", "Cy", "Di")
    worlds = made(*(folder(tmp_path / name, name, 2) for name in names))
    learnt, out = held_out(worlds, 2, seeds=2)
    assert held_out(worlds, 2, seeds=2) == (learnt, out)
    both = sorted(one.world.name for one in (*learnt, *out))
    assert (both, len(out)) == (list(names), 2)
    assert held_out(worlds, 0, seeds=1) == (worlds, [])
    for count, seeds in ((0, 2), (4, 2), (-1, 1)):
        with pytest.raises(ValueError, match="--held-out: expected from"):
            held_out(worlds, count, seeds)


def test_a_world_of_which_half_was_read_is_not_evaluated_on(tmp_path: Path) -> None:
    rows = [{"id": f"r{n}", "text": f"note {n}"} for n in range(4)]
    other = [{"id": f"r{n}", "text": f"note {n + 2}"} for n in range(4)]
    most = [{"id": f"r{n}", "text": f"note {n + 3}"} for n in range(4)]
    asked = {"id": "q", "text": "which note?", "relevant": ["r0"]}
    trained = made(written(tmp_path / "one", rows, [asked]))
    half = made(written(tmp_path / "two", other, [{**asked, "text": "what?"}]))
    less = made(written(tmp_path / "three", most, [{**asked, "text": "what?"}]))
    refuse_seen([trained[0].world], [less[0].world])
    with pytest.raises(ValueError, match="not trained on, got two"):
        refuse_seen([trained[0].world], [half[0].world])


def test_figures_are_of_rank_and_of_the_best_answers(tmp_path: Path) -> None:
    worlds = made(folder(tmp_path / "one", "Ada", 2))
    questions = all_asked(worlds)
    logits = []
    for one in questions:
        right = np.isin(one.candidates, one.question.relevant)
        outdated = np.isin(one.candidates, list(one.question.outdated))
        answers = np.where(right, 90, -90).astype(np.float32)
        logits.append(np.stack([answers, 2 * outdated + right.astype(np.float32)], 1))
    found = figures(worlds, logits)
    assert found["all"] == {"hit@1": 0.0, "R@5": 100.0, "MRR": 50.0, "questions": 2}
    assert found["changed"] == found["all"]
    assert found["unanswerable"] == {"AUROC": 1.0, "questions": 1}
    assert "unanswerable" not in first_stage_figures(worlds)
    turned = [one * np.array([-1, 1]) for one in logits]
    assert figures(worlds, turned)["unanswerable"]["AUROC"] < 1


def test_the_seed_with_the_better_hit_at_1_is_kept() -> None:
    held = {seed: {"all": {"hit@1": value}} for seed, value in ((4, 50.0), (2, 51.0), (3, 51.0))}
    assert best_seed(held) == 2
    assert best_seed({9: {}}) == 9


def test_a_training_begins_without_checkpoints_and_continues_from_one(tmp_path: Path) -> None:
    paths = [tmp_path / "seed-0.checkpoint", tmp_path / "seed-1.checkpoint"]
    check_checkpoints(paths, resume=False)
    with pytest.raises(ValueError, match="--resume: expected a checkpoint"):
        check_checkpoints(paths, resume=True)
    paths[0].touch()
    check_checkpoints(paths, resume=True)
    with pytest.raises(ValueError, match="continue with --resume"):
        check_checkpoints(paths, resume=False)
