"""Scenes: a few closely related records and questions, each of which some of them answer or none.

They were written for this project (`judge_scenes.jsonl`). A question that none answers is a near
miss of one of them: another attribute of the same subject, the same attribute of another one, a
detail that is not stated, a plan without outcome, a wrong presupposition. Scenes of the same shape
hold prompts in place of questions (`judge_prompts.jsonl`): tasks, statements, topics and values
looked up by a noun phrase, which some records help with or none; and questions for several things,
each of which a record of its own holds (`judge_lists.jsonl`). JAX is not needed here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from adapter_input import Text, written_memory
from judge_input import Memory, Pair, pair, question_pieces
from judge_recipe import OUTDATED, RIGHT, WRONG
from worlds import Pieces, Read

SCENES_FILE: Final = Path(__file__).with_name("judge_scenes.jsonl")
PROMPTS_FILE: Final = Path(__file__).with_name("judge_prompts.jsonl")
LISTS_FILE: Final = Path(__file__).with_name("judge_lists.jsonl")
# Records of a question that a step reads.
_RIGHT_MAX, _OUTDATED_MAX, _WRONG_MAX = 2, 1, 3
# How often records of other scenes and folders stand beside them, and how many.
_OTHERS_SHARE, _OTHERS_MAX = 0.5, 2
# Records of other scenes and folders are those with most in common with the question of so many.
_OTHERS_OF = 100
# How many of them there are where no own record is read, and out of how many.
_STRANGERS_MAX, _STRANGERS_OF = 5, 400
# A wrong record is drawn e times as often as one whose common pieces weigh so much less.
_DECAY: Final = 4.5


# How often a turn of an earlier session stands beside them that asks for the same or orders more.
_TURN_SHARE: Final = 0.15
# Prompts that ask for something to be done, and those that tell or look up something.
_ORDERS: Final = frozenset(("task", "long"))
_TOLD: Final = frozenset(("statement", "lookup", "topic"))
# Shares of the pieces of a record that a query in its words has.
_WORDS_MIN, _WORDS_MAX = 0.4, 1.0


class Scene(NamedTuple):
    """Records, and questions with what each record is to them.

    Attributes:
        turns: of each question, those of a user that ask for something and tell nothing about it:
            the question or order itself, and for an order the other ones.
    """

    memories: tuple[Memory, ...]
    questions: tuple[tuple[Pieces, tuple[int, ...]], ...]
    turns: tuple[tuple[Memory, ...], ...]


class Listed(NamedTuple):
    """A question with a record, and what it is to the question."""

    text: Text
    what: int


def scenes(read: Read, path: Path = SCENES_FILE) -> Iterator[Scene]:
    """The scenes of a file, in its order."""
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        memories = tuple(
            written_memory(read, one["date"], one["by"], one["text"], one["before"])
            for one in row["records"]
        )
        questions = []
        for one in row["questions"]:
            what = [WRONG] * len(memories)
            for name, kind in (("answers", RIGHT), ("outdated", OUTDATED)):
                for number in one[name]:
                    what[number] = kind
            questions.append((question_pieces(read(one["q"])), tuple(what)))
        yield Scene(memories, tuple(questions), tuple(_turns(read, row)))


def _turns(read: Read, row: Mapping[str, Any]) -> Iterator[tuple[Memory, ...]]:
    """What `turns` of a scene holds."""
    day = row["records"][-1]["date"]
    as_turns = [written_memory(read, day, "user", one["q"]) for one in row["questions"]]
    kinds = [one.get("kind") for one in row["questions"]]
    orders = [one for one, kind in zip(as_turns, kinds, strict=True) if kind in _ORDERS]
    for own, kind in zip(as_turns, kinds, strict=True):
        if kind in _TOLD:
            yield ()
        else:
            yield (own, *(one for one in orders if kind in _ORDERS and one is not own))


def text_of(given: Pair) -> Text:
    """A question and a memory as the judge reads them."""
    first, end = given.first, len(given.pieces)
    return Text(given.pieces, first, slice(1, first - 1), slice(first, end - 1))


class Common:
    """How much a question and a record have in common: the pieces of both, each the more the rarer
    it is in the records."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self.memories = memories
        self._in = Counter(piece for memory in self.memories for piece in _own(memory))

    def weight(self, question: Pieces, memory: Memory) -> float:
        """The sum of the weights."""
        both = set(question) & _own(memory)
        return float(sum(np.log(1 + len(self.memories) / (1 + self._in[piece])) for piece in both))

    def nearest(
        self,
        question: Pieces,
        own: Sequence[Memory],
        most: int,
        of: int,
        draw: np.random.Generator,
    ) -> list[Memory]:
        """Those of `of` drawn memories, without its own, that have most in common with a
        question; at most `most`."""
        known = {id(memory) for memory in own}
        count = min(of, len(self.memories))
        drawn = draw.choice(len(self.memories), count, replace=False).tolist()
        found = [self.memories[at] for at in drawn if id(self.memories[at]) not in known]
        found.sort(key=lambda memory: -self.weight(question, memory))
        return found[:most]


def _own(memory: Memory) -> set[int]:
    return {*memory.before, *memory.lead, *memory.text}


def listed(scene: Scene, number: int, common: Common, draw: np.random.Generator) -> list[Listed]:
    """Some of the records of a question of a scene: wrong ones the more often the more they have
    in common with it; and now and then some of other scenes, or a turn that asks for it or for
    something else, which are wrong too."""
    question, whats = scene.questions[number]
    found = list[tuple[Memory, int]]()
    for what, most in ((RIGHT, _RIGHT_MAX), (OUTDATED, _OUTDATED_MAX), (WRONG, _WRONG_MAX)):
        places = [place for place, one in enumerate(whats) if one == what]
        if len(places) > most:
            shares = np.ones(len(places))
            if what == WRONG:
                weights = [common.weight(question, scene.memories[place]) for place in places]
                shares = np.exp((np.array(weights) - max(weights)) / _DECAY) + 0.02
            places = draw.choice(places, most, replace=False, p=shares / shares.sum()).tolist()
        found += [(scene.memories[place], what) for place in places]
    found += [(memory, WRONG) for memory in others(question, scene.memories, common, draw)]
    turns = scene.turns[number]
    if turns and draw.random() < _TURN_SHARE:
        place = 0 if draw.random() < 0.5 else draw.integers(len(turns))
        found.append((turns[place], WRONG))
    return [Listed(text_of(pair(question, memory)), what) for memory, what in found]


def in_its_words(scene: Scene, common: Common, draw: np.random.Generator) -> list[Listed]:
    """A query in the words of a record that answers some question of the scene, or in a part of
    them, as one looks up what one remembers: that record answers it, and others do not."""
    stated = sorted(
        {place for _, whats in scene.questions for place, one in enumerate(whats) if one == RIGHT}
    )
    if not stated:
        return []
    at = stated[draw.integers(len(stated))]
    own = scene.memories[at].text
    count = max(2, round(len(own) * draw.uniform(_WORDS_MIN, _WORDS_MAX)))
    places = np.arange(len(own))
    if draw.random() < 0.5:
        places = np.sort(draw.permutation(len(own))[:count])
    question = question_pieces([own[place] for place in places[:count]])
    weights = [-common.weight(question, one) for one in scene.memories]
    others = [place for place in np.argsort(weights).tolist() if place != at][:_WRONG_MAX]
    return [
        Listed(text_of(pair(question, scene.memories[place])), RIGHT if place == at else WRONG)
        for place in (at, *others)
    ]


def others(
    question: Pieces, own: Sequence[Memory], common: Common, draw: np.random.Generator
) -> list[Memory]:
    """Now and then records that are not its own and have words in common with a question: a store
    that knows nothing of it finds such ones."""
    if draw.random() >= _OTHERS_SHARE:
        return []
    return common.nearest(question, own, _OTHERS_MAX, _OTHERS_OF, draw)


def strangers(
    question: Pieces, own: Sequence[Memory], common: Common, draw: np.random.Generator
) -> list[Listed]:
    """A question with records of other scenes and folders alone, none of which answers: what a
    store brings that knows nothing of it."""
    nearest = common.nearest(question, own, _STRANGERS_MAX, _STRANGERS_OF, draw)
    return [Listed(text_of(pair(question, memory)), WRONG) for memory in nearest]
