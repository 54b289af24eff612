"""Trains the judge, a small cross-encoder, on labelled folders and writes its weights.

    pip install torch
    python benches/train/train_judge.py --train FOLDER … --evaluate FOLDER … --out build/judge

It begins with the built-in embedder, whose word vectors it keeps. Each seed trains a copy; the one
with the best hit@1 on some worlds of --train, held out of every copy, is kept and measured on
--evaluate. Written to --out: `judge.npz`, the weights as `judge_file.py` reads them;
`trained_on.json`, worlds, hashes, seeds and steps; `figures.json`, the figures of a model card. A
checkpoint of every seed lies there meanwhile, and --resume continues from it to the same weights.
Settings have the values of the shipped recipe by default. PyTorch is no dependency of the package.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from judge_input import CandidateWorld, all_asked, candidate_worlds
from judge_recipe import (
    Settings,
    best_seed,
    check_checkpoints,
    figures,
    first_stage_figures,
    held_out,
)
from worlds import World, refuse_seen

from vestig.embedders import builtin

if TYPE_CHECKING:
    from judge_model import Judge
    from minilm import Parameters


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=Path, nargs="+", required=True)
    parser.add_argument("--evaluate", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--layers", type=int, choices=(6, 3), default=6)
    parser.add_argument("--seed", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--passes", type=float, default=4, help="over all questions")
    parser.add_argument("--held-out", type=int, default=2, help="worlds that choose the seed")
    parser.add_argument("--checkpoint-every", type=int, default=50, help="steps")
    parser.add_argument("--resume", action="store_true", help="from the checkpoints in --out")
    parser.add_argument("--device", default=None, help="cuda or cpu; by default what there is")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    """Trains, evaluates and writes the files; 2 where the arguments or the worlds do not fit."""
    wanted = _arguments(given)
    try:
        import torch  # noqa: F401
    except ImportError as error:
        print(f"PyTorch cannot be imported ({error}): run `pip install torch`")
        return 2
    try:
        check_checkpoints(_checkpoints(wanted), resume=wanted.resume)
        _run(wanted)
    except ValueError as error:
        print(error)
        return 2
    return 0


def _run(wanted: argparse.Namespace) -> None:
    from judge_model import Judge, embedder_arrays, weights_of
    from judge_training import logits
    from training import device_of

    settings = Settings(layers=wanted.layers, passes=wanted.passes)
    read, embedder = builtin._vocabulary().ids, builtin.BuiltinEmbedder()
    given = list(candidate_worlds(wanted.train, read, embedder))
    evaluated = list(candidate_worlds(wanted.evaluate, read, embedder))
    refuse_seen(_plain(given), _plain(evaluated))
    learnt, chooses = held_out(given, wanted.held_out, len(wanted.seed))
    refuse_seen(_plain(learnt), _plain(chooses))
    judge = Judge(embedder_arrays(), settings.layers, device_of(wanted.device))
    about = _about(settings, learnt, chooses, judge.device)
    wanted.out.mkdir(parents=True, exist_ok=True)
    trained = _all_seeds(wanted, judge, learnt, settings, json.dumps(about))
    held = {seed: figures(chooses, logits(judge, own, chooses)) for seed, own in trained.items()}
    kept = best_seed(held)
    np.savez(wanted.out / "judge.npz", **weights_of(trained[kept], settings.layers))
    digest = hashlib.sha256((wanted.out / "judge.npz").read_bytes()).hexdigest()
    seeds = {"seeds": wanted.seed, "seed": kept, "judge.npz": digest}
    _write(wanted.out / "trained_on.json", about | seeds)
    found = {
        "held out": held,
        "evaluated on": _named(evaluated),
        "first stage": first_stage_figures(evaluated),
        "judge": figures(evaluated, logits(judge, trained[kept], evaluated)),
    }
    _write(wanted.out / "figures.json", found)
    print(json.dumps({name: found[name]["all"] for name in ("first stage", "judge")}))
    for path in _checkpoints(wanted):
        path.unlink(missing_ok=True)


def _all_seeds(
    wanted: argparse.Namespace,
    judge: Judge,
    learnt: Sequence[CandidateWorld],
    settings: Settings,
    identity: str,
) -> dict[int, Parameters]:
    from judge_training import Checkpoints, train

    found = {}
    for seed, path in zip(wanted.seed, _checkpoints(wanted), strict=True):
        checkpoints = Checkpoints(path=path, identity=identity, every=wanted.checkpoint_every)
        found[seed] = train(judge, all_asked(learnt), settings, seed, checkpoints)
    return found


def _checkpoints(wanted: argparse.Namespace) -> list[Path]:
    return [wanted.out / f"seed-{seed}.checkpoint" for seed in wanted.seed]


def _plain(given: Sequence[CandidateWorld]) -> list[World]:
    return [one.world for one in given]


def _about(
    settings: Settings,
    learnt: Sequence[CandidateWorld],
    chooses: Sequence[CandidateWorld],
    device: str,
) -> dict[str, Any]:
    """All that decides the weights but the seed."""
    import torch

    questions = len(all_asked(learnt))
    return {
        "settings": asdict(settings),
        "steps": settings.steps(questions),
        "questions": questions,
        "trained on": _named(learnt),
        "held out": _named(chooses),
        "begins with": {
            builtin.MODEL: builtin.WEIGHTS_SHA256,
            "embeddings": builtin.EMBEDDINGS_SHA256,
        },
        "computed by": {"torch": torch.__version__, "device": device},
    }


def _named(given: Sequence[CandidateWorld]) -> list[dict[str, str]]:
    return [{"world": one.world.name, "sha256": one.sha256} for one in given]


def _write(path: Path, values: dict[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
