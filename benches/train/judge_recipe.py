"""The recipe of the judge as far as it needs no PyTorch: what a step reads, how fast it learns,
which worlds are held out, and the figures of what came of it.

All chance is a function of the seed and the number of the step, so that a training that is
continued draws what it would have drawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from judge_input import Asked, CandidateWorld, all_asked
from numpy.typing import NDArray
from worlds import Question

from benchmarks.confidence import calibrations
from benchmarks.rankings import score

Figures: TypeAlias = dict[str, dict[str, float]]

# What a memory is to a question.
WRONG, RIGHT, OUTDATED = range(3)
_RIGHT_MAX: Final = 4
_OUTDATED_MAX: Final = 3
# Wrong ones are drawn the more often the better they stand: e times at this many places higher.
_DECAY: Final = 8
_ORDER, _LISTS, HEAD, DROPOUT = range(4)
_HELD_OUT: Final = 7
_UNANSWERABLE: Final = "unanswerable"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Attributes:
    layers: of the judge, 6 or 3: every second of the embedder's.
    passes: how often each question is read.
    questions, memories: of a step, and of each of its questions.
    rate, head_rate: of AdamW, of the layers and of the new head.
    warm: share of the steps in which the rate rises; it falls to `floor` of itself.
    """

    layers: int = 6
    passes: float = 4
    questions: int = 32
    memories: int = 12
    rate: float = 2e-4
    head_rate: float = 8e-4
    warm: float = 0.06
    floor: float = 0.02
    decay: float = 0.01
    dropout: float = 0.1

    def steps(self, total: int) -> int:
        """How many steps read so many questions; at least one."""
        return max(1, int(self.passes * total / self.questions))


def chance(seed: int, what: int, number: int) -> np.random.Generator:
    """The generator of one kind of draw in one step or pass."""
    return np.random.default_rng((seed, what, number))


def rate_share(step: int, steps: int, settings: Settings) -> float:
    """The share of the rate that step 1 … `steps` learns with.

    Example:
        >>> [round(rate_share(step, 100, Settings()), 2) for step in (3, 6, 50, 100)]
        [0.48, 0.94, 0.5, 0.02]
    """
    return min(1, step / (settings.warm * steps)) * max(settings.floor, 1 - step / steps)


def questions_of(step: int, total: int, count: int, seed: int) -> list[int]:
    """Numbers of the questions of a step, out of `total`: each pass reads all of them in an order
    of its own."""
    places = range((step - 1) * count, step * count)
    orders = {place // total for place in places}
    drawn = {one: chance(seed, _ORDER, one).permutation(total) for one in orders}
    return [int(drawn[place // total][place % total]) for place in places]


def list_of(
    question: Question, candidates: Sequence[int], count: int, draw: np.random.Generator
) -> list[tuple[int, int]]:
    """Numbers of the records that a question is read with in a step, and what each is to it: some
    that are right or outdated, and up to `count` in all wrong ones out of its candidates."""
    found = _some(question.relevant, _RIGHT_MAX, RIGHT, draw)
    found += _some(sorted(question.outdated), _OUTDATED_MAX, OUTDATED, draw)
    known = {*question.relevant, *question.unjudged}
    wrong = [number for number in candidates if number not in known]
    room = max(0, count - len(found))
    if len(wrong) > room:
        weights = np.exp(-np.arange(len(wrong)) / _DECAY)
        wrong = draw.choice(wrong, room, replace=False, p=weights / weights.sum()).tolist()
    return found + [(number, WRONG) for number in wrong]


def _some(
    numbers: Sequence[int], most: int, what: int, draw: np.random.Generator
) -> list[tuple[int, int]]:
    drawn = numbers if len(numbers) <= most else draw.choice(numbers, most, replace=False).tolist()
    return [(number, what) for number in drawn]


def lists_of(
    questions: Sequence[Asked], step: int, settings: Settings, seed: int
) -> list[tuple[Asked, list[tuple[int, int]]]]:
    """The questions of a step with their records."""
    draw = chance(seed, _LISTS, step)
    found = []
    for number in questions_of(step, len(questions), settings.questions, seed):
        one = questions[number]
        found.append((one, list_of(one.question, one.candidates, settings.memories, draw)))
    return found


def held_out(
    worlds: Sequence[CandidateWorld], count: int, seeds: int
) -> tuple[list[CandidateWorld], list[CandidateWorld]]:
    """Worlds to train on, and `count` that choose among seeds, the same ones in every run, each
    with a question that has an answer.

    Raises:
        ValueError: none is left to train on, or none would choose among several seeds.
    """
    able = [
        number
        for number, one in enumerate(worlds)
        if any(question.relevant for question in one.world.questions)
    ]
    if not (seeds > 1) <= count < len(able):
        raise ValueError(
            f"--held-out: expected from {int(seeds > 1)} to {len(able) - 1} worlds, fewer than"
            f" --train has, got {count}; with one --seed none need be held out"
        )
    drawn = np.random.default_rng(_HELD_OUT).permutation(len(able))[:count]
    out = {able[place] for place in drawn}
    return (
        [one for number, one in enumerate(worlds) if number not in out],
        [one for number, one in enumerate(worlds) if number in out],
    )


def best_seed(held: Mapping[int, Figures]) -> int:
    """The seed whose hit@1 on the worlds held out is the highest; of equal ones, or of one alone,
    the first.

    Example:
        >>> best_seed({0: {"all": {"hit@1": 55.0}}, 1: {"all": {"hit@1": 57.5}}})
        1
    """
    if len(held) == 1:
        return next(iter(held))
    return max(held, key=lambda seed: held[seed]["all"]["hit@1"])


def check_checkpoints(paths: Sequence[Path], *, resume: bool) -> None:
    """Checks that a training begins where no checkpoint lies, and continues where one does.

    Raises:
        ValueError: it does not.
    """
    there = [str(path) for path in paths if path.exists()]
    if there and not resume:
        raise ValueError(
            f"{', '.join(there)}: expected no checkpoint in --out; continue with --resume, or name"
            " another folder"
        )
    if resume and not there:
        raise ValueError(
            f"--resume: expected a checkpoint in {paths[0].parent}, there is none;"
            " begin without --resume"
        )


def figures(worlds: Sequence[CandidateWorld], logits: Iterable[NDArray[np.float32]]) -> Figures:
    """Per cent of hit@1, R@5 and MRR of the candidates by *rank* alone, and the number of
    questions; by category and of "all". Under "unanswerable" the area under the ROC curve (AUROC)
    of the best *answers* of answerable and unanswerable questions, where there are both.

    Args:
        logits: of each question candidates × (*answers*, *rank*).
    """
    questions = all_asked(worlds)
    answers, ranks = list[float](), list[NDArray[np.float32]]()
    for one in logits:
        answers.append(float(1 / (1 + np.exp(-one[:, 0].max().astype(float)))))
        ranks.append(one[:, 1])
    found = rank_figures(worlds, ranks)
    parts = {True: list[float](), False: list[float]()}
    for asked, answer in zip(questions, answers, strict=True):
        parts[bool(asked.question.relevant)].append(answer)
    apart = calibrations(parts[True], {_UNANSWERABLE: parts[False]})
    if apart:
        auroc = round(apart[_UNANSWERABLE].auroc, 3)
        found[_UNANSWERABLE] = {"AUROC": auroc, "questions": len(parts[False])}
    return found


def rank_figures(worlds: Sequence[CandidateWorld], ranks: Iterable[NDArray[np.float32]]) -> Figures:
    """The part of `figures` that *rank* decides."""
    found = defaultdict(list)
    for one, of_question in zip(all_asked(worlds), ranks, strict=True):
        relevant = {str(record) for record in one.question.relevant}
        if relevant:
            order = np.argsort(-of_question, kind="stable")
            metrics = score([str(one.candidates[place]) for place in order], relevant)
            row = [100 * metrics[name] for name in ("hit@1", "recall@5", "mrr")]
            found["all"].append(row)
            found[one.question.category].append(row)
    return {
        name: dict(zip(("hit@1", "R@5", "MRR"), np.mean(rows, 0).round(1).tolist(), strict=True))
        | {"questions": len(rows)}
        for name, rows in sorted(found.items())
    }


def first_stage_figures(worlds: Sequence[CandidateWorld]) -> Figures:
    """Those of the candidates in their order, without a judge."""
    places = [-np.arange(len(one.candidates), dtype=np.float32) for one in all_asked(worlds)]
    return rank_figures(worlds, places)
