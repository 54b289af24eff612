"""Trains the adapter of the judge, and writes its weights.

    pip install jax optax
    python benches/train/train_judge_adapter.py --kind questions --train FOLDER … --out build/judge

A question is read with some of its records: of labelled folders as `train_judge.py` reads them, and
of the scenes of `judge_scenes.jsonl`, `judge_lists.jsonl` and `judge_prompts.jsonl`, in the shares
of the kind of queries that the adapter is for. Written to --out: `adapter.npz`,
the weights as `adapter_file.py` reads them, and `trained_on.json`, folders, hashes, settings and
steps. A checkpoint lies there meanwhile, and --resume continues from it. What is judged on must not
be trained on: `benches/learn_judge.py` says how good the weights are.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from adapter_training import EXAMPLES, Settings, Step, arguments, can_train, train_and_write
from judge_input import Asked, CandidateWorld, all_asked, candidate_worlds, pair, question_pieces
from judge_recipe import RIGHT, WRONG, chance, list_of
from judge_scenes import (
    LISTS_FILE,
    PROMPTS_FILE,
    SCENES_FILE,
    Common,
    Listed,
    Scene,
    in_its_words,
    listed,
    others,
    scenes,
    strangers,
    text_of,
)

from vestig.embedders import builtin

STEPS: Final = 1_000
ROWS: Final = 64
RATE: Final = 8e-4
# Of the lists of a step so many are of the scenes of a file, by the kind of the adapter; each has
# fewer records than one of a folder, of which the others are.
SHARES: Final = {
    "questions": {SCENES_FILE: 0.6},
    "lists": {SCENES_FILE: 0.4, LISTS_FILE: 0.25},
    "prompts": {SCENES_FILE: 0.42, PROMPTS_FILE: 0.36},
}
# Of all lists so many have no record of the store that the question was written for.
STRANGERS_SHARE: Final = 0.05
# Of the lists of prompts so many are queries in the words of a record of a scene.
WORDS_SHARE: Final = 0.2
# Records of a question of a folder.
MEMORIES: Final = 9
RANK_SHARE: Final = 0.7
# Of a list as a whole: whether the records that are read answer its question at all.
LIST_SHARE: Final = 0.5
# Lists of a step that have a right record, and wrong ones of each, at most.
_LISTS, _WRONG = 40, 12


class Truth(NamedTuple):
    """Attributes:
    answers: of each row, 1 where the record answers, outdated or not.
    read: 1 for each row that is one, over their number.
    lists: rows, right one first and wrong ones behind it; ROWS for none.
    whole: lists × rows, which rows are of a list.
    """

    answers: Any
    read: Any
    lists: Any
    whole: Any


def _worlds(asked: Sequence[Asked]) -> list[CandidateWorld]:
    return [*{id(one.world): one.world for one in asked}.values()]


class Lists:
    """The lists of each step: draws are a function of the seed and the number of the step.

    Args:
        given: scenes by their file.
        kind: of the queries that the adapter is for.
    """

    def __init__(
        self,
        asked: Sequence[Asked],
        given: Mapping[Path, Sequence[Scene]],
        kind: str,
        seed: int,
    ) -> None:
        self._asked, self._seed = asked, seed
        every = [*(one for each in given.values() for one in each), *_worlds(asked)]
        self._common = Common([memory for one in every for memory in one.memories])
        shares = {file: share for file, share in SHARES[kind].items() if file in given}
        self._questions = {
            file: [(scene, at) for scene in given[file] for at in range(len(scene.questions))]
            for file in shares
        }
        self._files = [*shares, *([None] if asked else [])]
        chances = np.array([*shares.values(), *([1 - sum(shares.values())] if asked else [])])
        self._chances = chances / chances.sum()

    def lists(self, step: int) -> list[list[Listed]]:
        """Those of step 1, 2, …: as many as fit into ROWS."""
        draw = chance(self._seed, EXAMPLES, step)
        found, rows = [], 0
        while True:
            one = self._drawn(draw)
            rows += len(one)
            if rows > ROWS:
                return found
            found.append(one)

    def _drawn(self, draw: np.random.Generator) -> list[Listed]:
        file = self._files[draw.choice(len(self._files), p=self._chances)]
        if file is not None:
            given = self._questions[file]
            scene, number = given[draw.integers(len(given))]
            if file == PROMPTS_FILE and draw.random() < WORDS_SHARE:
                return in_its_words(scene, self._common, draw)
            if draw.random() < STRANGERS_SHARE:
                return strangers(scene.questions[number][0], scene.memories, self._common, draw)
            return listed(scene, number, self._common, draw)
        asked = self._asked[draw.integers(len(self._asked))]
        if draw.random() < STRANGERS_SHARE:
            own = question_pieces(asked.question.pieces)
            return strangers(own, asked.world.memories, self._common, draw)
        records = list_of(asked.question, asked.candidates, MEMORIES, draw)
        pairs = asked.pairs(number for number, _ in records)
        question = question_pieces(asked.question.pieces)
        return [
            *(Listed(text_of(each), what) for each, (_, what) in zip(pairs, records, strict=True)),
            *(
                Listed(text_of(pair(question, memory)), WRONG)
                for memory in others(question, asked.world.memories, self._common, draw)
            ),
        ]

    def step(self, number: int) -> Step:
        """Texts and truth of step 1, 2, …"""
        lists = self.lists(number)
        texts, whats = [], []
        rows = np.full((_LISTS, 1 + _WRONG), ROWS)
        whole = np.zeros((_LISTS, ROWS), bool)
        filled = 0
        for place, one in enumerate(lists):
            first = len(texts)
            whole[place, first : first + len(one)] = True
            texts += [each.text for each in one]
            whats += [each.what for each in one]
            of = {
                what: [first + at for at, each in enumerate(one) if each.what == what]
                for what in (RIGHT, WRONG)
            }
            for right in of[RIGHT]:
                wrong = of[WRONG][:_WRONG]
                rows[filled, : 1 + len(wrong)] = [right, *wrong]
                filled += 1
        answers, read = np.zeros(ROWS, np.float32), np.zeros(ROWS, np.float32)
        answers[: len(whats)] = np.array(whats) != WRONG
        read[: len(whats)] = 1 / max(1, len(whats))
        return Step(texts, Truth(answers, read, rows, whole))


def loss(outputs: Any, truth: Truth) -> Any:
    """The cross-entropy of *answers*, of each record and, by the logarithm of the sum of their
    exponentials, of each list, and a share of the softmax of *rank*: each right record against the
    wrong ones of its question. An outdated record answers, and takes no part in *rank*."""
    import jax
    import jax.numpy as jnp
    import optax

    answers = (truth.read * optax.sigmoid_binary_cross_entropy(outputs[:, 0], truth.answers)).sum()
    ranks = jnp.append(outputs[:, 1], -1e9)[truth.lists]
    filled = truth.lists[:, 0] < ROWS
    lost = jnp.where(filled, jax.nn.logsumexp(ranks, 1) - ranks[:, 0], 0)
    best = jax.nn.logsumexp(jnp.where(truth.whole, outputs[:, 0], -1e9), 1)
    answered = (truth.whole & (truth.answers > 0)).any(1)
    there = truth.whole.any(1)
    silent = jnp.where(there, optax.sigmoid_binary_cross_entropy(best, answered), 0)
    return (
        answers
        + LIST_SHARE * silent.sum() / jnp.maximum(1, there.sum())
        + RANK_SHARE * lost.sum() / jnp.maximum(1, filled.sum())
    )


def main(given: Sequence[str]) -> int:
    """Trains and writes the files; 2 where JAX cannot be imported."""
    parser = arguments(__doc__ or "", STEPS, RATE)
    parser.add_argument("--kind", choices=tuple(SHARES), required=True, help="what it is for")
    wanted = parser.parse_args(given)
    if not can_train():
        return 2
    settings = Settings(
        outputs=2,
        steps=wanted.steps,
        rows=ROWS,
        rate=wanted.rate,
        head_rate=2e-4,
        unseen=0.06,
        dropout=0.0,
        seed=wanted.seed,
    )
    read = builtin._vocabulary().ids
    worlds = [*candidate_worlds(wanted.train, read, builtin.BuiltinEmbedder())]
    data = {
        "trained on": [{"world": one.world.name, "sha256": one.sha256} for one in worlds],
        **{
            file.stem: hashlib.sha256(file.read_bytes()).hexdigest() for file in SHARES[wanted.kind]
        },
    }
    written = {file: [*scenes(read, file)] for file in SHARES[wanted.kind]}
    lists = Lists(all_asked(worlds), written, wanted.kind, wanted.seed)
    train_and_write(wanted, settings, data, lists.step, loss)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
