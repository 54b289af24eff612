"""The steps of the training: which loss, on what, and how it goes down."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from layers_file import Arrays
from minilm import (
    Model,
    Parameters,
    centred,
    flat,
    inner_pieces,
    mean_of,
    mean_state,
    mixed,
    vectors_of,
)
from numpy.typing import NDArray
from torch import Tensor
from worlds import MARKS, Question, World

_ReadWorld = tuple[World, int]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Attributes:
    steps, worlds, questions: how many steps, worlds of a step and questions of a world.
    rate: of AdamW, reached after `warm` steps.
    cosine, late: temperatures of the two scores.
    unseen: share of the word pieces that a step does not see.
    """

    steps: int = 300
    worlds: int = 4
    questions: int = 32
    rate: float = 3e-5
    warm: int = 30
    cosine: float = 0.05
    late: float = 0.03
    dropout: float = 0.1
    unseen: float = 0.1
    record_pieces: int = 128
    question_pieces: int = 48


def train(
    original: Arrays,
    learnt: Sequence[World],
    settings: Settings,
    seeds: Sequence[int],
    share: float,
    device: str | None,
) -> Arrays:
    """Layers: `share` of the mean over the seeds, and the rest of the original."""
    model = Model(original, device_of(device))
    start = model.layers(original)
    mean = mean_state(model, start, [record for world in learnt for record in world.records])
    found = [_one_seed(model, start, learnt, settings, seed, mean) for seed in seeds]
    return dict(flat(mixed(mean_of(found), start, share)))


def device_of(asked: str | None) -> str:
    """The device that is asked for; by default a GPU where there is one."""
    return asked or ("cuda" if torch.cuda.is_available() else "cpu")


def _one_seed(
    model: Model,
    start: Parameters,
    learnt: Sequence[World],
    settings: Settings,
    seed: int,
    mean: Tensor,
) -> Parameters:
    chance = np.random.default_rng(seed)
    torch.manual_seed(seed)
    layers = {name: values.clone().requires_grad_() for name, values in start.items()}
    optimiser = torch.optim.AdamW(
        layers.values(), lr=settings.rate, betas=(0.9, 0.98), weight_decay=0
    )
    bag: list[int] = []
    began = time.monotonic()
    for step in range(1, settings.steps + 1):
        optimiser.param_groups[0]["lr"] = settings.rate * min(1, step / settings.warm)
        while len(bag) < settings.worlds:
            bag += chance.permutation(len(learnt)).tolist()
        read, bag = [learnt[one] for one in bag[: settings.worlds]], bag[settings.worlds :]
        loss = _loss(model, layers, _Step(read, settings, chance), settings, mean)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(layers.values(), 1.0)
        optimiser.step()
        if step % 10 == 0 or step == settings.steps:
            spent = time.monotonic() - began
            print(f"seed {seed} step {step} loss {loss.item():.3f} ({spent:.0f} s)", flush=True)
    return {name: values.detach() for name, values in layers.items()}


class _Step:
    """The records of some worlds, and some questions of each."""

    def __init__(
        self, read: Sequence[World], settings: Settings, chance: np.random.Generator
    ) -> None:
        self.records = [record for world in read for record in world.records]
        self.asked: list[tuple[Question, World, int]] = []
        first = 0
        for world in read:
            count = min(settings.questions, len(world.questions))
            for number in chance.choice(len(world.questions), count, replace=False):
                self.asked.append((world.questions[number], world, first))
            first += len(world.records)

    def masks(self, device: str) -> tuple[Tensor, Tensor]:
        """Questions × records: which are right, and which are neither right nor wrong."""
        right = torch.zeros(len(self.asked), len(self.records), dtype=torch.bool)
        unjudged = torch.zeros_like(right)
        for row, (question, _, first) in enumerate(self.asked):
            right[row, [first + number for number in question.relevant]] = True
            unjudged[row, [first + number for number in question.unjudged]] = True
        return right.to(device), unjudged.to(device)


def _loss(
    model: Model, layers: Parameters, step: _Step, settings: Settings, mean: Tensor
) -> Tensor:
    ids, seen = model.padded([one.pieces for one, _, _ in step.asked], settings.question_pieces)
    seen = _thinned(ids, seen, settings.unseen)
    states = model.states(layers, ids, seen, settings.dropout)
    vectors, asked = vectors_of(states, seen), centred(states, mean)
    weights = torch.stack(
        [
            torch.tensor(world.weights, device=model.device)[ids[row]]
            for row, (_, world, _) in enumerate(step.asked)
        ]
    ) * inner_pieces(ids, seen)
    weights = weights / weights.sum(1, keepdim=True).clamp(min=1e-6)
    # Long records in a batch of their own: padding costs most of the time else.
    order = sorted(range(len(step.records)), key=lambda number: len(step.records[number]))
    cut = len(order) * 3 // 4
    cosines, lates = [], []
    for part in filter(None, (order[:cut], order[cut:])):
        given = model.padded([step.records[number] for number in part], settings.record_pieces)
        ids, seen = given[0], _thinned(*given, settings.unseen)
        states = model.states(layers, ids, seen, settings.dropout)
        cosines.append(vectors @ vectors_of(states, seen).T)
        similar = torch.einsum("qlh,dmh->qdlm", asked, centred(states, mean))
        similar = similar.masked_fill(~inner_pieces(ids, seen)[None, :, None, :], -1.0)
        lates.append(torch.einsum("qdl,ql->qd", similar.amax(-1), weights))
    back = torch.tensor(np.argsort(order), device=model.device)
    right, unjudged = step.masks(model.device)
    scores = (
        torch.cat(cosines, 1)[:, back] / settings.cosine,
        torch.cat(lates, 1)[:, back] / settings.late,
    )
    return sum(
        (contrast(one, right, unjudged) for one in scores), torch.zeros((), device=back.device)
    )


def contrast(scores: Tensor, right: Tensor, unjudged: Tensor) -> Tensor:
    """Each right record by softmax against all wrong ones, not against other right ones: the mean
    over the right records of a question, and over the questions."""
    wrong = torch.logsumexp(scores.masked_fill(right | unjudged, -1e9), 1, keepdim=True)
    each = (torch.logaddexp(scores, wrong) - scores) * right
    return (each.sum(1) / right.sum(1)).mean()


def _thinned(ids: Tensor, seen: Tensor, share: float) -> Tensor:
    """Some pieces, never the marks of ends, are not seen at all."""
    drawn = torch.rand(seen.shape, device=seen.device) > share
    return seen & (drawn | (ids == MARKS[0]) | (ids == MARKS[1]))


def judge(
    original: Arrays, tuned: Arrays, judged: Sequence[World], device: str | None
) -> list[NDArray[np.float32]]:
    """Cosines of each world, questions × records."""
    model = Model(original, device_of(device))
    layers = model.layers(tuned)
    found = []
    for world in judged:
        records, _ = model.embedded(layers, world.records)
        asked, _ = model.embedded(layers, [one.pieces for one in world.questions])
        found.append((asked @ records.T).cpu().numpy())
    return found
