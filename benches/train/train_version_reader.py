"""Trains the adapter of the version reader, and writes its weights.

    pip install jax optax
    python benches/train/train_version_reader.py --train FOLDER … --out build/versions

An example is a question with an older and a newer memory: pairs of the results that the questions
of labelled folders bring, records of the scenes of `judge_scenes.jsonl`, and the pairs of
`version_pairs.jsonl`. Written to --out: `adapter.npz`,
the weights as `adapter_file.py` reads them, and `trained_on.json`, folders, hashes, settings and
steps. A checkpoint lies there meanwhile, and --resume continues from it. What is judged on must not
be trained on: `benches/learn_versions.py` says how good the weights are.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from adapter_training import EXAMPLES, Settings, Step, arguments, can_train, train_and_write
from judge_recipe import chance
from judge_scenes import SCENES_FILE, Common, scenes
from version_input import Asked, Example, answered_in, counted, drawn, written_pairs
from version_results import asked_in

from benchmarks.reader import read_benchmark
from vestig.embedders import builtin

STEPS = 1000
ROWS = 32
RATE = 1e-3
# Questions of scenes of which a pass reads pairs.
OF_SCENES = 4_000


class Passes:
    """The examples of each step. A pass reads all that is drawn for it in an order of its own,
    which is a function of the seed and the number of the pass."""

    def __init__(
        self,
        asked: Sequence[Asked],
        of_scenes: Sequence[Asked],
        written: Sequence[Example],
        settings: Settings,
    ) -> None:
        self._asked, self._of_scenes = asked, of_scenes
        self._written, self._settings = written, settings
        self._passes: dict[int, list[Example]] = {}

    def whole(self, number: int) -> list[Example]:
        """All examples of pass 0, 1, …, in its order."""
        if number not in self._passes:
            draw = chance(self._settings.seed, EXAMPLES, number)
            count = min(OF_SCENES, len(self._of_scenes))
            places = draw.choice(len(self._of_scenes), count, replace=False).tolist()
            asked = [*self._asked, *(self._of_scenes[at] for at in places)]
            whole = [one for each in asked for one in drawn(each, draw)] + [*self._written]
            self._passes[number] = [whole[at] for at in draw.permutation(len(whole))]
        return self._passes[number]

    def examples(self, step: int) -> list[Example]:
        """Those of step 1, 2, …"""
        first, found, number = (step - 1) * self._settings.rows, list[Example](), 0
        while len(found) < self._settings.rows:
            whole = self.whole(number)
            found += whole[first : first + self._settings.rows - len(found)]
            first, number = max(0, first - len(whole)), number + 1
        return found

    def step(self, number: int) -> Step:
        """The texts of step 1, 2, …, and of which the newer memory takes the place."""
        examples = self.examples(number)
        takes = np.array([one.takes for one in examples], np.float32)
        return Step([one.text for one in examples], takes)


def loss(outputs: Any, takes: Any) -> Any:
    """The cross-entropy of whether the newer memory takes the place of the older one."""
    import optax

    return optax.sigmoid_binary_cross_entropy(outputs[:, 0], takes).mean()


def main(given: Sequence[str]) -> int:
    """Trains and writes the files; 2 where JAX cannot be imported."""
    parser = arguments(__doc__ or "", STEPS, RATE)
    parser.add_argument("--cache", type=Path, default=None, help="folder of kept vectors")
    wanted = parser.parse_args(given)
    if not can_train():
        return 2
    settings = Settings(
        outputs=1, steps=wanted.steps, rows=ROWS, rate=wanted.rate, seed=wanted.seed
    )
    benchmarks = [read_benchmark(folder) for folder in wanted.train]
    read = builtin._vocabulary().ids
    asked = [one for each in benchmarks for one in asked_in(each, read, wanted.cache)]
    read_scenes = [*scenes(read)]
    common = Common([memory for one in read_scenes for memory in one.memories])
    of_scenes = [one for scene in read_scenes for one in answered_in(scene, common)]
    passes = Passes(asked, of_scenes, [*written_pairs(read)], settings)
    data = {
        "data": {one.name: one.digest for one in benchmarks},
        SCENES_FILE.stem: hashlib.sha256(SCENES_FILE.read_bytes()).hexdigest(),
        "examples of a pass": counted(passes.whole(0)),
    }
    train_and_write(wanted, settings, data, passes.step, loss)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
