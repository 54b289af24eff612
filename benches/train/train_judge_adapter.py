"""Trains the adapter of the judge, and writes its weights.

    pip install jax optax
    python benches/train/train_judge_adapter.py --train FOLDER … --out build/judge

A question is read with some of its records: of labelled folders as `train_judge.py` reads them, and
of the scenes of `judge_scenes.jsonl` and `judge_prompts.jsonl`. Written to --out: `adapter.npz`,
the weights as `adapter_file.py` reads them, and `trained_on.json`, folders, hashes, settings and
steps. A checkpoint lies there meanwhile, and --resume continues from it. What is judged on must not
be trained on: `benches/learn_judge.py` says how good the weights are.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from adapter_training import EXAMPLES, Settings, Step, arguments, can_train, train_and_write
from judge_input import Asked, all_asked, candidate_worlds
from judge_recipe import RIGHT, WRONG, chance, list_of
from judge_scenes import (
    PROMPTS_FILE,
    SCENES_FILE,
    Common,
    Listed,
    Scene,
    in_its_words,
    listed,
    scenes,
    text_of,
)

from vestig.embedders import builtin

STEPS: Final = 1_000
ROWS: Final = 64
RATE: Final = 8e-4
# Of the lists of a step so many are questions and prompts of a scene; each has fewer records than
# one of a folder.
SCENES_SHARE, PROMPTS_SHARE = 0.42, 0.36
# Of the lists of prompts so many are queries in the words of a record of a scene.
WORDS_SHARE: Final = 0.2
# Records of a question of a folder.
MEMORIES: Final = 9
RANK_SHARE: Final = 0.7
# Lists of a step that have a right record, and wrong ones of each, at most.
_LISTS, _WRONG = 40, 12


class Truth(NamedTuple):
    """Attributes:
    answers: of each row, 1 where the record answers, outdated or not.
    read: 1 for each row that is one, over their number.
    lists: rows, right one first and wrong ones behind it; ROWS for none.
    """

    answers: Any
    read: Any
    lists: Any


class Lists:
    """The lists of each step: draws are a function of the seed and the number of the step."""

    def __init__(
        self, asked: Sequence[Asked], given: Sequence[Scene], prompts: Sequence[Scene], seed: int
    ) -> None:
        self._asked, self._seed = asked, seed
        self._common = Common([*given, *prompts])
        self._questions, self._prompts = (
            [(scene, number) for scene in each for number in range(len(scene.questions))]
            for each in (given, prompts)
        )

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
        at = draw.random()
        if not self._asked or at < SCENES_SHARE + PROMPTS_SHARE:
            given = self._prompts if self._prompts and at < PROMPTS_SHARE else self._questions
            scene, number = given[draw.integers(len(given))]
            if given is self._prompts and draw.random() < WORDS_SHARE:
                return in_its_words(scene, self._common, draw)
            return listed(scene, number, self._common, draw)
        asked = self._asked[draw.integers(len(self._asked))]
        records = list_of(asked.question, asked.candidates, MEMORIES, draw)
        pairs = asked.pairs(number for number, _ in records)
        return [Listed(text_of(pair), what) for pair, (_, what) in zip(pairs, records, strict=True)]

    def step(self, number: int) -> Step:
        """Texts and truth of step 1, 2, …"""
        lists = self.lists(number)
        texts, whats = [], []
        rows = np.full((_LISTS, 1 + _WRONG), ROWS)
        filled = 0
        for one in lists:
            first = len(texts)
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
        return Step(texts, Truth(answers, read, rows))


def loss(outputs: Any, truth: Truth) -> Any:
    """The cross-entropy of *answers*, and a share of the softmax of *rank*: each right record
    against the wrong ones of its question. An outdated record answers, and takes no part in
    *rank*."""
    import jax
    import jax.numpy as jnp
    import optax

    answers = (truth.read * optax.sigmoid_binary_cross_entropy(outputs[:, 0], truth.answers)).sum()
    ranks = jnp.append(outputs[:, 1], -1e9)[truth.lists]
    filled = truth.lists[:, 0] < ROWS
    lost = jnp.where(filled, jax.nn.logsumexp(ranks, 1) - ranks[:, 0], 0)
    return answers + RANK_SHARE * lost.sum() / jnp.maximum(1, filled.sum())


def main(given: Sequence[str]) -> int:
    """Trains and writes the files; 2 where JAX cannot be imported."""
    wanted = arguments(__doc__ or "", STEPS, RATE).parse_args(given)
    if not can_train():
        return 2
    settings = Settings(
        outputs=2,
        steps=wanted.steps,
        rows=ROWS,
        rate=wanted.rate,
        head_rate=2e-4,
        unseen=0.06,
        seed=wanted.seed,
    )
    read = builtin._vocabulary().ids
    worlds = [*candidate_worlds(wanted.train, read, builtin.BuiltinEmbedder())]
    data = {
        "trained on": [{"world": one.world.name, "sha256": one.sha256} for one in worlds],
        **{
            file.stem: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in (SCENES_FILE, PROMPTS_FILE)
        },
    }
    written, prompts = [*scenes(read)], [*scenes(read, PROMPTS_FILE)]
    lists = Lists(all_asked(worlds), written, prompts, wanted.seed)
    train_and_write(wanted, settings, data, lists.step, loss)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
