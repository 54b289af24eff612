"""The training of an adapter: its settings, its steps, and a checkpoint that it continues from.
JAX is no dependency of the package."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from adapter_file import adapter_arrays
from judge_recipe import chance
from numpy.typing import NDArray

if TYPE_CHECKING:
    from adapter_model import Text

# Kinds of draws.
EXAMPLES, PIECES = range(2)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Attributes:
    outputs: of the head.
    rows: texts of a step, at most.
    rate, vector_rate, head_rate: of AdamW, of the factors, of biases and norms, and of the head.
    warm: share of the steps in which the rate rises; it falls to `floor` of itself.
    unseen: share of the word pieces that a step does not read.
    """

    outputs: int
    steps: int
    rows: int
    rate: float = 1e-3
    vector_rate: float = 1e-4
    head_rate: float = 1e-3
    warm: float = 0.06
    floor: float = 0.02
    decay: float = 0.01
    dropout: float = 0.1
    unseen: float = 0.08
    seed: int = 0


class Step(NamedTuple):
    """What a step reads, and what the loss compares their outputs with."""

    texts: Sequence[Text]
    truth: Any


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


def arguments(about: str, steps: int, rate: float) -> argparse.ArgumentParser:
    """The arguments of every training."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--train", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=Path, help="the file of an adapter to begin with")
    parser.add_argument("--rate", type=float, default=rate, help="of the factors")
    parser.add_argument(
        "--share",
        type=float,
        default=1.0,
        help="of the trained weights in what is written; the rest is that of --start",
    )
    parser.add_argument("--checkpoint-every", type=int, default=50, help="steps")
    parser.add_argument("--resume", action="store_true", help="from the checkpoint in --out")
    return parser


def can_train() -> bool:
    """Says how to install JAX where it cannot be imported."""
    try:
        import jax  # noqa: F401
        import optax  # noqa: F401
    except ImportError as error:
        print(f"JAX cannot be imported ({error}): run `pip install jax optax`")
        return False
    return True


def train_and_write(
    wanted: argparse.Namespace,
    settings: Settings,
    data: dict[str, Any],
    steps: Callable[[int], Step],
    loss: Callable[[Any, Any], Any],
) -> None:
    """Trains, and writes to --out `adapter.npz`, as `adapter_file.py` reads it, and
    `trained_on.json`: settings and data."""
    wanted.out.mkdir(parents=True, exist_ok=True)
    about = {"settings": asdict(settings), **data}
    begun = None
    if wanted.start is not None:
        content = wanted.start.read_bytes()
        about["start"] = hashlib.sha256(content).hexdigest()
        begun = adapter_arrays(content)
    kept = Checkpoint(
        wanted.out / "checkpoint.npz",
        json.dumps(about),
        every=wanted.checkpoint_every,
        resumes=wanted.resume,
    )
    own = train(settings, steps, loss, kept, begun)
    if begun is not None:
        own = averaged(own, begun, wanted.share)
        about["share"] = wanted.share
    np.savez(wanted.out / "adapter.npz", **own)
    digest = hashlib.sha256((wanted.out / "adapter.npz").read_bytes()).hexdigest()
    text = json.dumps(about | {"adapter.npz": digest}, indent=1)
    (wanted.out / "trained_on.json").write_text(text + "\n", encoding="utf-8")


def averaged(
    trained: dict[str, NDArray[Any]], begun: dict[str, NDArray[Any]], share: float
) -> dict[str, NDArray[Any]]:
    """The mean of the weights of two adapters of one descent, the first of which counts `share`: a
    mean keeps more of what the second was good at (Wortsman and others, 2022)."""
    return {
        name: (share * values + (1 - share) * begun[name]).astype(np.float32)
        for name, values in trained.items()
    }


_GROUPS: Final = {"_inner": "factors", "_outer": "factors", ".weight": "head", ".bias": "head"}


def train(
    settings: Settings,
    steps: Callable[[int], Step],
    loss: Callable[[Any, Any], Any],
    kept: Checkpoint,
    begun: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The parameters after all steps.

    Args:
        begun: those before the first step; None = an adapter that adds nothing.
        steps: texts and truth of step 1, 2, …
        loss: of outputs (rows × outputs, those behind the texts of no meaning) and truth.
    """
    import jax
    import jax.numpy as jnp
    import optax
    from adapter_model import Parameters, layers_arrays, logits, start

    layers = layers_arrays()
    warm = int(settings.warm * settings.steps)

    def group(name: str) -> str:
        return next((of for end, of in _GROUPS.items() if name.endswith(end)), "vectors")

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
                "factors": adamw(settings.rate, settings.decay),
                "head": adamw(settings.head_rate, settings.decay),
                "vectors": adamw(settings.vector_rate, 0),
            },
            lambda own: {name: group(name) for name in own},
        ),
    )
    own = start(layers, settings.outputs, settings.seed) if begun is None else begun
    state, done = optimiser.init(own), 0
    held = kept.read()
    if held is not None:
        leaves, shape = jax.tree.flatten((own, state))
        found = [jnp.asarray(held[f"leaf.{number}"]) for number in range(len(leaves))]
        own, state = jax.tree.unflatten(shape, found)
        done = int(held["step"])

    def whole(own: Parameters, halves: Any, places: Any, truth: Any, key: Any) -> Any:
        keys = jax.random.split(key, len(halves))
        found = [
            logits(layers, own, half, settings.dropout, one)
            for half, one in zip(halves, keys, strict=True)
        ]
        return loss(jnp.concatenate(found)[places], truth)

    @jax.jit
    def moved(own: Parameters, state: Any, *given: Any) -> tuple[Parameters, Any, Any]:
        value, gradient = jax.value_and_grad(whole)(own, *given)
        update, state = optimiser.update(gradient, state, own)
        return optax.apply_updates(own, update), state, value

    began = time.monotonic()
    for step in range(done + 1, settings.steps + 1):
        read = steps(step)
        halves, places = _halves(read.texts, settings, chance(settings.seed, PIECES, step))
        key = jax.random.fold_in(jax.random.key(settings.seed), step)
        own, state, value = moved(own, state, halves, places, read.truth, key)
        kept.write(step, settings.steps, jax.tree.leaves((own, state)))
        if step % 10 == 0 or step == settings.steps:
            spent = time.monotonic() - began
            print(f"step {step}/{settings.steps} loss {float(value):.3f} ({spent:.0f} s)")
    return {name: np.asarray(values) for name, values in own.items()}


def _halves(
    texts: Sequence[Text], settings: Settings, draw: np.random.Generator
) -> tuple[list[Any], Any]:
    """The shorter and the longer half as batches, which saves most of the padding, and the place of
    each text among the rows of both."""
    from adapter_model import batch

    order = sorted(range(len(texts)), key=lambda number: len(texts[number].pieces))
    half = -(-settings.rows // 2)
    places = np.arange(2 * half)
    places[order] = np.arange(len(texts))
    parts = (order[:half], order[half:])
    return (
        [batch([texts[at] for at in part], half, settings.unseen, draw) for part in parts],
        places,
    )
