"""The training of the judge: its loss, its steps, and checkpoints that it continues from."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from judge_input import Asked, CandidateWorld, Pair, all_asked
from judge_model import Judge
from judge_recipe import DROPOUT, OUTDATED, RIGHT, WRONG, Settings, chance, lists_of, rate_share
from minilm import Parameters
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from training import contrast

# Pairs of like length that are computed together, in a step and in an evaluation.
_TOGETHER = 96


@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """The file of the last checkpoint of one seed, which a training continues from.

    Attributes:
        identity: of the training: a checkpoint of another one is refused.
        every: steps between two.
    """

    path: Path
    identity: str
    every: int

    def read(self, device: str) -> dict[str, Any] | None:
        """The checkpoint; None where there is none.

        Raises:
            ValueError: it is of another training.
        """
        if not self.path.exists():
            return None
        found: dict[str, Any] = torch.load(self.path, map_location=device, weights_only=True)
        if found["identity"] != self.identity:
            raise ValueError(
                f"{self.path}: expected a checkpoint of this training, got one of other worlds,"
                " settings or weights; name another folder in --out"
            )
        return found

    def write(self, step: int, own: Parameters, optimiser: torch.optim.Optimizer) -> None:
        """Replaces the file."""
        scratch = self.path.with_suffix(".new")
        state = {"identity": self.identity, "step": step, "parameters": own}
        torch.save(state | {"optimiser": optimiser.state_dict()}, scratch)
        os.replace(scratch, self.path)


def train(
    judge: Judge,
    questions: Sequence[Asked],
    settings: Settings,
    seed: int,
    checkpoints: Checkpoints,
) -> Parameters:
    """The parameters after all steps. A training that is continued gives the same ones as one
    that was never interrupted; PyTorch refuses what it cannot compute the same way twice.

    Raises:
        ValueError: the checkpoint is of another training.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it a GPU is refused
    torch.use_deterministic_algorithms(True)
    own = {name: values.requires_grad_() for name, values in judge.start(seed).items()}
    optimiser = _optimiser(own, settings)
    done = 0
    state = checkpoints.read(judge.device)
    if state is not None:
        with torch.no_grad():
            for name, values in own.items():
                values.copy_(state["parameters"][name])
        optimiser.load_state_dict(state["optimiser"])
        done = state["step"]
    steps = settings.steps(len(questions))
    began = time.monotonic()
    for step in range(done + 1, steps + 1):
        share = rate_share(step, steps, settings)
        for group, rate in zip(optimiser.param_groups, _rates(settings), strict=True):
            group["lr"] = rate * share
        torch.manual_seed(int(chance(seed, DROPOUT, step).integers(2**62)))
        found = loss(judge, own, lists_of(questions, step, settings, seed), settings.dropout)
        optimiser.zero_grad()
        found.backward()
        torch.nn.utils.clip_grad_norm_(own.values(), 1.0)
        optimiser.step()
        if step % checkpoints.every == 0 or step == steps:
            checkpoints.write(step, own, optimiser)
        if step % 10 == 0 or step == steps:
            spent = time.monotonic() - began
            print(f"seed {seed} step {step}/{steps} loss {found.item():.3f} ({spent:.0f} s)")
    return {name: values.detach() for name, values in own.items()}


def _rates(settings: Settings) -> tuple[float, float]:
    return settings.rate, settings.head_rate


def _optimiser(own: Parameters, settings: Settings) -> torch.optim.Optimizer:
    """AdamW in two groups, the layers and the head."""
    groups = [
        {"params": [values for name, values in own.items() if name.startswith("head.") is head]}
        for head in (False, True)
    ]
    return torch.optim.AdamW(
        groups, lr=settings.rate, betas=(0.9, 0.98), weight_decay=settings.decay
    )


def loss(
    judge: Judge,
    own: Parameters,
    lists: Sequence[tuple[Asked, list[tuple[int, int]]]],
    dropout: float,
) -> Tensor:
    """The listwise softmax of *rank*, each right record against the wrong ones of its question,
    plus the cross-entropy of *answers*. An outdated record answers, and takes no part in *rank*."""
    pairs = [one for asked, records in lists for one in asked.pairs(n for n, _ in records)]
    logits = _by_length(judge, own, pairs, dropout)
    rows = np.repeat(np.arange(len(lists)), [len(records) for _, records in lists])
    columns = np.concatenate([np.arange(len(records)) for _, records in lists])
    what = np.array([what for _, records in lists for _, what in records])
    truth = torch.tensor((what != WRONG).astype(np.float32), device=judge.device)
    answers = functional.binary_cross_entropy_with_logits(logits[:, 0], truth)
    shape = len(lists), int(columns.max()) + 1
    right, left_out = np.zeros(shape, bool), np.ones(shape, bool)
    right[rows, columns] = what == RIGHT
    left_out[rows, columns] = what == OUTDATED
    ranks = torch.zeros(shape, device=judge.device)
    ranks = ranks.index_put((_on(judge, rows), _on(judge, columns)), logits[:, 1])
    some = _on(judge, np.flatnonzero(right.any(1)))
    if not len(some):
        return answers
    return answers + contrast(ranks[some], _on(judge, right)[some], _on(judge, left_out)[some])


def _on(judge: Judge, values: NDArray[Any]) -> Tensor:
    return torch.from_numpy(values).to(judge.device)


def _by_length(judge: Judge, own: Parameters, pairs: Sequence[Pair], dropout: float) -> Tensor:
    """Logits of the pairs in their order; pairs of like length share a batch, which saves most of
    the padding."""
    order = np.argsort([len(one.pieces) for one in pairs], kind="stable")
    found = [
        judge.logits(own, [pairs[number] for number in order[first : first + _TOGETHER]], dropout)
        for first in range(0, len(order), _TOGETHER)
    ]
    return torch.cat(found)[_on(judge, np.argsort(order))]


@torch.no_grad()
def logits(
    judge: Judge, own: Parameters, worlds: Sequence[CandidateWorld]
) -> list[NDArray[np.float32]]:
    """Of each question candidates × (*answers*, *rank*)."""
    questions = all_asked(worlds)
    pairs = [one for asked in questions for one in asked.pairs(asked.candidates)]
    found = _by_length(judge, own, pairs, 0).cpu().numpy()
    ends = np.cumsum([len(asked.candidates) for asked in questions])[:-1]
    return np.split(found, ends)
