"""A language model that fails most of the time, in processes that are killed.

    python models.py STORE FIRST COUNT

commits COUNT memories from the number FIRST on with a model that fails in 70 % of its calls, works
the queue now and then, and writes `+ TEXT` for each commit that was acknowledged.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from outcome import Outcome

import vestig
from vestig.errors import ModelCallError, ProviderTimeoutError
from vestig.ports import ModelRequest
from vestig.testing import FrozenClock, HashingEmbedder, ScriptedModel
from vestig.types import EventType

NAMES: Final = ("Ada Lovelace", "Charles Babbage", "Grace Hopper", "Mary Somerville")
FAILING_SHARE: Final = 0.7
WORK_EVERY: Final = 5
# Jobs of one memory: entities, questions, stability and, of all but the first, updates.
JOBS: Final = 4
_BEGIN: Final = datetime(2026, 3, 18, 12, tzinfo=UTC)
_RUNS_MAX: Final = 60


def text_of(number: int) -> str:
    """A text that names two people, alike for no two numbers."""
    first, second = NAMES[number % 4], NAMES[(number * 7 + 1) % 4]
    return f"Fault {number:05} was found by {first} and repaired by {second} with part {number}."


def answer(request: ModelRequest) -> dict[str, Any]:
    """What the model says when it does: all that it sees, and always the same of one text."""
    found = [name for name in NAMES if name in request.user]
    number = re.search(r"Fault (\d+)", request.user)
    assert number is not None
    return {
        "entities": [{"name": name, "type": "PERSON", "confidence": 0.9} for name in found],
        "queries": [f"Who repaired fault {number[1]}?"],
        "stability": "static",
        "updates": [{"number": 1, "verdict": "unrelated", "confidence": 0.9}],
    }


class Unreliable:
    """Fails in 70 % of its calls, in one of several ways."""

    provider = "unreliable"

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._model = ScriptedModel(answer)

    def complete(self, request: ModelRequest) -> Any:
        """An answer, or one of the faults."""
        if self._chance.random() >= FAILING_SHARE:
            return self._model.complete(request)
        good = self._model.complete(request)
        match self._chance.randrange(6):
            case 0:
                raise ProviderTimeoutError("no answer")
            case 1:
                raise ModelCallError("overloaded", status=529, retryable=True)
            case 2:
                raise ModelCallError("refused", status=400)
            case 3:
                raise ConnectionResetError("gone")
            case 4:
                return ScriptedModel(lambda _: good.text[: len(good.text) // 2]).complete(request)
            case _:
                return ScriptedModel(lambda _: "").complete(request)


def open_store(path: Path, clock: FrozenClock, seed: int) -> vestig.Vestig:
    """The store with a model of this seed."""
    embedder = HashingEmbedder(32)
    return vestig.open(path, embedder=embedder, llm=Unreliable(seed), clock=clock)


def commit_all(path: Path, first: int, count: int) -> None:
    """The process that is killed. Its time goes on by a minute with every process."""
    clock = FrozenClock(_BEGIN)
    clock.move(minutes=first)
    with open_store(path, clock, first) as store:
        for number in range(first, first + count):
            store.commit(text_of(number), trigger="problem-solution")
            os.write(1, f"+ {number}\n".encode())
            if number % WORK_EVERY == 0:
                store.admin.enrich(limit=10 * JOBS)


def models(folder: Path, memories: int) -> Outcome:
    """All memories committed by processes that are killed on the way, then the queue is worked
    until it is empty."""
    outcome = Outcome(trial="models", size=f"{memories:,} memories, a model failing 70 %")
    path, chance, done = folder / "store", random.Random(5), 0
    while done < memories:
        process = subprocess.Popen(
            [sys.executable, __file__, str(path), str(done), str(memories - done)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        wanted = chance.randint(1, max(2, memories // 4))
        for line in process.stdout:
            done = int(line.split()[1]) + 1
            if wanted == 1:
                process.kill()
            wanted -= 1
        _, errors = process.communicate()
        if process.returncode not in (0, -9):
            outcome.breach([f"crash: {errors[-500:]}"])
            return outcome
        outcome.count("processes")
    outcome.acknowledged = done
    clock = FrozenClock(_BEGIN)
    for run in range(_RUNS_MAX):
        clock.move(days=1)
        with open_store(path, clock, 1_000_000 + run) as store:
            report = store.admin.enrich()
            if not report.pending:
                judge(store, memories, outcome)
                return outcome
    outcome.breach(["lost: jobs that never end"])
    return outcome


def judge(store: vestig.Vestig, memories: int, outcome: Outcome) -> None:
    """Every memory is there once, and every job was done once or has visibly failed."""
    stored = {memory.content: memory for memory in store.list(limit=1_000)}
    wanted = {text_of(number) for number in range(memories)}
    outcome.breach([f"lost: {text}" for text in sorted(wanted - stored.keys())])
    # the commit that was under way when its process was killed may have been written
    outcome.breach([f"twice: {text}" for text in sorted(stored.keys() - wanted)])
    if store.count() != memories:
        outcome.breach([f"twice: {store.count()} memories for {memories} texts"])
    jobs = store.admin.stats().jobs
    if set(jobs) - {"DONE", "FAILED"} or sum(jobs.values()) != JOBS * memories - 1:
        outcome.breach([f"half: jobs {jobs}"])
    failed = jobs.get("FAILED", 0)
    outcome.count("failed jobs", failed)
    [told] = [one for one in store.admin.doctor().findings if one.check == "jobs"]
    if failed and f"{failed} failed" not in told.detail:
        outcome.breach([f"hidden: {failed} failed jobs, doctor says {told.detail}"])
    for memory in stored.values():
        outcome.breach(_of_memory(store, memory, failed))
    if store.admin.doctor().exit_code == 3:
        outcome.breach(["damage: doctor finds some"])


def _of_memory(store: vestig.Vestig, memory: vestig.Memory, failed: int) -> list[str]:
    """What is wrong with one memory, whose jobs may have failed for good."""
    written = store.events(memory.id)
    events = Counter(event.event_type for event in written if "verdicts" not in event.payload)
    linked = store.show(memory.id, expand=1).mentions
    assert isinstance(linked, tuple)
    names = Counter(one.name for one in linked)
    with store._session.ledger.read() as view:
        questions = view.questions("default", [memory.id]).get(memory.id)
    found = []
    if max(events.values()) > 1 or len(written) - events.total() > 1:
        found.append(f"twice: events {events} of {memory.content}")
    if max(names.values(), default=1) > 1:
        found.append(f"twice: mentions {names} of {memory.content}")
    if memory.processing == "ready":
        people = {one.name for one in linked if one.type == "PERSON"}
        missing = {name for name in NAMES if name in memory.content} - people
        if missing or questions is None or len(questions) != 1:
            found.append(f"half: {memory.content} lacks {missing or 'its question'}")
        if events[EventType.ENTITY_EXTRACTED] != 1 or memory.temporal_stability != "static":
            found.append(f"half: {memory.content} has events {events}")
    elif not failed or memory.processing != "failed":
        found.append(f"half: {memory.content} is {memory.processing}")
    return found


if __name__ == "__main__":
    commit_all(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
