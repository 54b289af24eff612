"""Trains the version reader, a change of the judge, and writes its weights.

    pip install jax optax
    python benches/train/train_version_reader.py --train FOLDER … --out build/versions

An example is a question with an older and a newer memory: pairs of the results that the questions
of labelled folders bring, and the pairs of `version_pairs.jsonl`. Written to --out: `change.npz`,
the weights as `version_change_file.py` reads them, and `trained_on.json`, folders, hashes, settings
and steps. A checkpoint lies there meanwhile, and --resume continues from it. What is judged on must
not be trained on: `benches/learn_versions.py` says how good the weights are. JAX is no dependency
of the package.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from judge_recipe import chance
from version_input import Asked, Example, counted, drawn, written_pairs
from version_results import asked_in

from benchmarks.reader import read_benchmark
from vestig.embedders import builtin

# Kinds of draws.
_EXAMPLES, _PIECES = range(2)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Attributes:
    examples: of a step.
    rate, vector_rate: of AdamW, of the change and the head, and of biases and norms.
    warm: share of the steps in which the rate rises; it falls to `floor` of itself.
    unseen: share of the word pieces that a step does not read.
    """

    steps: int = 1000
    examples: int = 32
    rate: float = 1e-3
    vector_rate: float = 1e-4
    warm: float = 0.06
    floor: float = 0.02
    decay: float = 0.01
    dropout: float = 0.1
    unseen: float = 0.08
    seed: int = 0


class Passes:
    """The examples of each step. A pass reads all that is drawn for it in an order of its own,
    which is a function of the seed and the number of the pass."""

    def __init__(
        self, asked: Sequence[Asked], written: Sequence[Example], settings: Settings
    ) -> None:
        self._asked, self._written, self._settings = asked, written, settings
        self._passes: dict[int, list[Example]] = {}

    def _of(self, number: int) -> list[Example]:
        if number not in self._passes:
            draw = chance(self._settings.seed, _EXAMPLES, number)
            whole = [one for each in self._asked for one in drawn(each, draw)] + [*self._written]
            self._passes[number] = [whole[at] for at in draw.permutation(len(whole))]
        return self._passes[number]

    def examples(self, step: int) -> list[Example]:
        """Those of step 1, 2, …"""
        first, found, number = (step - 1) * self._settings.examples, list[Example](), 0
        while len(found) < self._settings.examples:
            whole = self._of(number)
            found += whole[first : first + self._settings.examples - len(found)]
            first, number = max(0, first - len(whole)), number + 1
        return found


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--train", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=None, help="folder of kept vectors")
    parser.add_argument("--steps", type=int, default=Settings.steps)
    parser.add_argument("--seed", type=int, default=Settings.seed)
    parser.add_argument("--checkpoint-every", type=int, default=50, help="steps")
    parser.add_argument("--resume", action="store_true", help="from the checkpoint in --out")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    """Trains and writes the files; 2 where JAX cannot be imported."""
    wanted = _arguments(given)
    try:
        import jax  # noqa: F401
        import optax  # noqa: F401
    except ImportError as error:
        print(f"JAX cannot be imported ({error}): run `pip install jax optax`")
        return 2
    settings = Settings(steps=wanted.steps, seed=wanted.seed)
    benchmarks = [read_benchmark(folder) for folder in wanted.train]
    read = builtin._vocabulary().ids
    asked = [one for each in benchmarks for one in asked_in(each, read, wanted.cache)]
    written = [*written_pairs(read)]
    wanted.out.mkdir(parents=True, exist_ok=True)
    about = {
        "settings": asdict(settings),
        "data": {one.name: one.digest for one in benchmarks},
        "examples of a pass": counted(
            [one for each in asked for one in drawn(each, np.random.default_rng(0))] + written
        ),
    }
    kept = Checkpoint(
        wanted.out / "checkpoint.npz",
        json.dumps(about),
        every=wanted.checkpoint_every,
        resumes=wanted.resume,
    )
    own = train(asked, written, settings, kept)
    np.savez(wanted.out / "change.npz", **own)
    digest = hashlib.sha256((wanted.out / "change.npz").read_bytes()).hexdigest()
    text = json.dumps(about | {"change.npz": digest}, indent=1)
    (wanted.out / "trained_on.json").write_text(text + "\n", encoding="utf-8")
    return 0


class Checkpoint:
    """The last state of a training in its file, which a training of the same data and settings
    continues from.

    Args:
        identity: of the training: a checkpoint of another one is refused.
        every: steps between two.
        resumes: continue from it.
    """

    def __init__(self, path: Path, identity: str, *, every: int, resumes: bool) -> None:
        self._path = path
        self._identity, self._every = identity, every
        self._resumes = resumes

    def read(self) -> dict[str, Any] | None:
        """The state; None where the training begins.

        Raises:
            ValueError: it is of another training.
        """
        if not (self._resumes and self._path.exists()):
            return None
        with np.load(self._path) as held:
            state = {name: held[name] for name in held.files}
        if str(state.pop("identity")) != self._identity:
            raise ValueError(
                f"{self._path}: expected a checkpoint of this training, got one of other data or"
                " settings; name another folder in --out"
            )
        return state

    def write(self, step: int, steps: int, leaves: Sequence[Any]) -> None:
        """Keeps the state, where it is time."""
        if step % self._every and step != steps:
            return
        scratch = self._path.with_suffix(".new.npz")
        named = {f"leaf.{number}": np.asarray(leaf) for number, leaf in enumerate(leaves)}
        np.savez(scratch, identity=self._identity, step=step, **named)
        scratch.replace(self._path)


def train(
    asked: Sequence[Asked], written: Sequence[Example], settings: Settings, kept: Checkpoint
) -> dict[str, Any]:
    """The parameters after all steps."""
    import jax
    import jax.numpy as jnp
    import optax
    from version_model import Parameters, batch, judge_arrays, logits, start

    judge = judge_arrays()

    def group(name: str) -> str:
        return "change" if name.endswith(("_inner", "_outer")) or "head" in name else "vectors"

    warm = int(settings.warm * settings.steps)

    def adamw(rate: float, decay: float) -> optax.GradientTransformation:
        rises = optax.linear_schedule(0, rate, warm)
        falls = optax.linear_schedule(rate, rate * settings.floor, settings.steps - warm)
        return optax.adamw(
            optax.join_schedules([rises, falls], [warm]), b2=0.98, weight_decay=decay
        )

    optimiser = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.multi_transform(
            {
                "change": adamw(settings.rate, settings.decay),
                "vectors": adamw(settings.vector_rate, 0),
            },
            lambda own: {name: group(name) for name in own},
        ),
    )
    own = start(judge, settings.seed)
    state, done = optimiser.init(own), 0
    held = kept.read()
    if held is not None:
        leaves, shape = jax.tree.flatten((own, state))
        found = [jnp.asarray(held[f"leaf.{number}"]) for number in range(len(leaves))]
        own, state = jax.tree.unflatten(shape, found)
        done = int(held["step"])

    def loss(own: Parameters, given: Any, takes: Any, key: Any) -> Any:
        found = logits(judge, own, given, settings.dropout, key)
        return optax.sigmoid_binary_cross_entropy(found, takes).sum() / settings.examples

    slope = jax.jit(jax.value_and_grad(loss))

    @jax.jit
    def moved(own: Parameters, state: Any, gradient: Any) -> tuple[Parameters, Any]:
        update, state = optimiser.update(gradient, state, own)
        return optax.apply_updates(own, update), state

    passes = Passes(asked, written, settings)
    began = time.monotonic()
    for step in range(done + 1, settings.steps + 1):
        draw = chance(settings.seed, _PIECES, step)
        examples = sorted(passes.examples(step), key=lambda one: len(one.triple.pieces))
        half, total, gradient = len(examples) // 2, 0.0, None
        # two batches of like length save most of the padding
        for number, part in enumerate((examples[:half], examples[half:])):
            given = batch(judge, [one.triple for one in part], settings.unseen, draw)
            takes = np.array([one.takes for one in part], np.float32)
            key = jax.random.fold_in(jax.random.key(settings.seed), 2 * step + number)
            value, slopes = slope(own, given, takes, key)
            total += float(value)
            gradient = slopes if gradient is None else jax.tree.map(jnp.add, gradient, slopes)
        own, state = moved(own, state, gradient)
        kept.write(step, settings.steps, jax.tree.leaves((own, state)))
        if step % 10 == 0 or step == settings.steps:
            print(
                f"step {step}/{settings.steps} loss {total:.3f} ({time.monotonic() - began:.0f} s)"
            )
    return {name: np.asarray(values) for name, values in own.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
