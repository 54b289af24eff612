"""Many writers and readers on one store, stopped and killed at any moment.

Every commit is a group of six memories in one transaction, so that whoever sees a part of it has
seen half a commit. Readers ask without pause and tell their parent when each call began and ended;
the parent knows when it had stopped them and judges what is left.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import writer
from outcome import Outcome
from promise import Worker, broken_promises, crashes
from writer import open_store, say, text_of

from vestig import Vestig
from vestig.errors import ForgetIncompleteError, NotFoundError, StoreLockedError, VestigError
from vestig.store.ledger.opening import open_ledger
from vestig.types import CommitOutcome, CommitOutcomeKind

_T = TypeVar("_T")
GROUP: Final = 6
LIMIT_S: Final = 2.0
_PAGE: Final = 20 * GROUP
_REBUILD_EVERY: Final = 200
_COMPACT_EVERY: Final = 16
_FORGET_EVERY: Final = 12


# --- the processes ---------------------------------------------------------------------------


def texts_of(session: str) -> list[str]:
    """The texts of one commit."""
    return [text_of(session, place) for place in range(GROUP)]


def commit_groups(path: str, prefix: str, fault: str) -> None:
    """Commits group after group until somebody ends the process. Fault `apart`: in two parts."""
    store = open_store(path)
    number = 0
    while True:
        session = f"{prefix}/{number}"
        items = [{"content": text, "session_id": session} for text in texts_of(session)]
        try:
            if fault == "apart":
                store.commit_many(items[:3])
                time.sleep(0.05)
                items = items[3:]
            ends = store.commit_many(items)
            if number % _REBUILD_EVERY == _REBUILD_EVERY - 1:
                store.admin.rebuild()
            if number % _COMPACT_EVERY == _COMPACT_EVERY - 1:
                store.admin.compact()
            if number % _FORGET_EVERY == _FORGET_EVERY - 1:
                forget_group(store, f"{prefix}/{number - 5}")
        except VestigError as error:
            say("!", error.code)
        else:
            wrong = [end for end in ends if not isinstance(end, CommitOutcome)]
            new = [end for end in ends if end not in wrong]
            if wrong:
                say("!", wrong[0].code)
            elif any(end.outcome is not CommitOutcomeKind.INSERTED_NEW for end in new):
                say("x", f"group {session} was not taken for new")
            else:
                say("+", session)
        number += 1
        time.sleep(0.002)


def forget_group(store: Vestig, session: str) -> None:
    """Takes a group back. Told first: from now on it may be there or not, but whole."""
    say("-", session)
    try:
        store.forget(where={"session_ids": [session]})
    except ForgetIncompleteError:
        say("!", ForgetIncompleteError.code)


class _Reader:
    """Asks, and tells of everything that is not as promised."""

    def __init__(self, path: str, fault: str) -> None:
        self._path = path
        self._fault = fault
        self._seq = 0

    def timed(self, what: str, call: Callable[[], _T]) -> _T:
        """Tells when the call began and ended, and how long it only waited for a processor."""
        waited = _processor_wait_s()
        say(">", f"{time.monotonic()} {what}")
        result = call()
        if self._fault == "slow":
            time.sleep(0.3)
        say("<", f"{time.monotonic()} {_processor_wait_s() - waited}")
        return result

    def saw(self, seq: int) -> None:
        """Time goes forward only."""
        if self._fault == "backwards":
            seq = 1_000_000 - self._seq
        if seq < self._seq:
            say("b", f"silent: seq {seq} was read after {self._seq}")
        self._seq = seq

    def opened(self, read_only: bool) -> Vestig:
        return self.timed("open", lambda: open_store(self._path, read_only=read_only))

    def ask(self, store: Vestig, chance: random.Random) -> None:
        """One listing, one recall of a group that may be being committed, one read of events."""
        page = self.timed("list", lambda: store.list(limit=_PAGE))
        self.saw(page.seq)
        if page.total % GROUP:
            say("b", f"half: {page.total} memories at seq {page.seq}")
        memories = page.memories
        if not memories:
            return
        # What was created with the last of the page may go on behind it.
        sizes = Counter(m.session_id for m in memories)
        last = memories[-1].t_created
        for session in {m.session_id for m in memories if m.t_created > last}:
            if sizes[session] != GROUP:
                say("b", f"half: {sizes[session]} of {session} at seq {page.seq}")
        prefix, number = str(chance.choice(memories[: 4 * GROUP]).session_id).split("/")
        session = f"{prefix}/{int(number) + chance.randrange(3)}"
        query = chance.choice(texts_of(session))
        found = self.timed(
            "recall", lambda: store.recall(query, session_ids=[session], limit=2 * GROUP)
        )
        self.saw(found.seq)
        texts = {hit.content for hit in found.results}
        if texts not in (set(), set(texts_of(session))):
            say("b", f"half: recall gives {len(texts)} of {session} at seq {found.seq}")
        elif texts and found.results[0].content != query:
            say("b", f"silent: recall of a text of {session} finds another one first")
        try:
            events = self.timed("events", lambda: store.events(memories[0].id))
        except NotFoundError:
            say("<", f"{time.monotonic()} 0.0")
            return  # forgotten since it was listed
        if not events:
            say("b", f"half: a memory of {memories[0].session_id} without event")


def read_groups(path: str, read_only: bool, fault: str) -> None:
    """Reads until somebody ends the process; opens the store anew now and then."""
    reader = _Reader(path, fault)
    chance = random.Random(os.getpid())
    while True:
        store = reader.opened(read_only)
        for _ in range(chance.randint(5, 100)):
            reader.ask(store, chance)
            say("#", "")
            time.sleep(0.005)
        reader.timed("close", store.close)


def _processor_wait_s() -> float:
    """How long this thread waited for a processor so far; 0.0 where the kernel does not say."""
    try:
        with open("/proc/thread-self/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except OSError:
        return 0.0


def crowd_child(out: Connection, environment: dict[str, str], arguments: tuple[Any, ...]) -> None:
    """One of the crowd: name of a function here, and its arguments."""
    os.environ.update(environment)
    writer._out = out.fileno()
    name, *rest = arguments
    try:
        getattr(sys.modules[__name__], name)(*rest)
    except BrokenPipeError:
        return
    except Exception as error:
        say("x", f"{name}: {type(error).__name__} {error}".replace("\n", " "))


# --- who stops and kills them ----------------------------------------------------------------


class Stop(NamedTuple):
    """From … to, in seconds of the monotonic clock."""

    start: float
    end: float


class Member:
    """One process of the crowd as its parent sees it."""

    def __init__(self, role: str, arguments: tuple[Any, ...]) -> None:
        self.role = role
        self.worker = Worker(crowd_child, (role, *arguments))
        self.stops: list[Stop] = []
        self.stopped_at: float | None = None
        self.resume_at = 0.0
        self.open_call: tuple[float, str] | None = None

    def stop(self, resume_at: float) -> None:
        """SIGSTOP."""
        assert self.worker.process.pid is not None
        # Taken after: a process may run on for a moment, but never counts as stopped while it does.
        os.kill(self.worker.process.pid, signal.SIGSTOP)
        self.stopped_at, self.resume_at = time.monotonic(), resume_at

    def resume(self) -> None:
        """SIGCONT."""
        assert self.worker.process.pid is not None
        os.kill(self.worker.process.pid, signal.SIGCONT)
        self._stop_ends()

    def _stop_ends(self) -> None:
        if self.stopped_at is not None:
            self.stops.append(Stop(self.stopped_at, time.monotonic()))
            self.stopped_at = None

    def kill(self) -> list[str]:
        """SIGKILL; the lines that were left. A call it was in by then has ended too."""
        self._stop_ends()
        ended = time.monotonic()
        self.worker.kill()
        return [*self.worker.finish(), f"killed {ended}"]

    def running_s(self, start: float, end: float) -> float:
        """Seconds of this call in which the process was not stopped."""
        stopped = sum(max(0.0, min(end, s.end) - max(start, s.start)) for s in self.stops)
        return end - start - stopped


class Crowd:
    """Starts, stops, kills, replaces and listens, until the time is over."""

    def __init__(self, store: Path, outcome: Outcome, fault: str = "") -> None:
        # readers that come first find a store
        open_ledger(store).close()
        self.store = store
        self.outcome = outcome
        self.fault = fault
        self.limit_s = 0.2 if fault == "slow" else LIMIT_S
        self.sessions: set[str] = set()
        self.forgotten: set[str] = set()
        self.longest_s = 0.0
        self._started = 0
        self._chance = random.Random(8)

    def start(self, role: str) -> Member:
        """A new process of this role."""
        self._started += 1
        if role == "commit_groups":
            prefix = f"w{self._started}"
            return Member(role, (str(self.store), prefix, self.fault))
        return Member(role, (str(self.store), self._started % 3 != 0, self.fault))

    def hear(self, member: Member, lines: list[str]) -> None:
        """What a process said."""
        for line in lines:
            mark, _, rest = line.partition(" ")
            if mark == "+":
                self.sessions.add(rest)
            elif mark == "-":
                self.forgotten.add(rest)
                self.outcome.count("forgotten")
            elif mark == "#":
                self.outcome.count("reads")
            elif mark == "b":
                self.outcome.breach([rest])
            elif mark == "x":
                self.outcome.breach(crashes([line]), member.role)
            elif mark == "!":
                self.refused(rest)
            elif mark == ">":
                start, _, what = rest.partition(" ")
                member.open_call = (float(start), what)
            elif mark in ("<", "killed") and member.open_call is not None:
                end, _, waited = rest.partition(" ")
                self.judge(member, float(end), float(waited) if waited else 0.0)

    def refused(self, code: str) -> None:
        """A writer may have to wait for a stopped one, in vain; nothing else may happen to it."""
        if code == StoreLockedError.code:
            self.outcome.count("refused: locked by a stopped writer")
        elif code == ForgetIncompleteError.code:
            self.outcome.count("erases that others held up")
        else:
            self.outcome.breach([f"crash: a writer met {code}"])

    def judge(self, member: Member, end: float, waited_s: float) -> None:
        """A call of a reader has ended."""
        assert member.open_call is not None
        start, what = member.open_call
        member.open_call = None
        seconds = member.running_s(start, end) - waited_s
        self.longest_s = max(self.longest_s, seconds)
        if seconds > self.limit_s:
            self.outcome.breach([f"blocked: {what} took {seconds:.2f} s"])

    def disturb(self, members: list[Member]) -> None:
        """Stops one, kills one, or lets stopped ones go on."""
        now = time.monotonic()
        for member in members:
            if member.stopped_at is not None and now >= member.resume_at:
                member.resume()
        place = self._chance.randrange(len(members))
        member = members[place]
        deed = self._chance.random()
        if deed < 0.25 and member.stopped_at is None:
            self.outcome.count("SIGSTOP")
            member.stop(now + self._chance.uniform(0.1, 3.0))
        elif deed > 0.9:
            self.outcome.count("SIGKILL")
            self.hear(member, member.kill())
            members[place] = self.start(member.role)

    def run(self, writers: int, readers: int, seconds: float) -> None:
        """All of it."""
        members = [self.start("commit_groups") for _ in range(writers)]
        members += [self.start("read_groups") for _ in range(readers)]
        end = time.monotonic() + seconds
        next_deed = time.monotonic() + 1.0
        while time.monotonic() < end:
            time.sleep(0.02)
            for member in members:
                self.hear(member, member.worker.ready())
            if not self.fault and time.monotonic() >= next_deed:
                self.disturb(members)
                next_deed = time.monotonic() + self._chance.uniform(0.02, 0.4)
        for member in members:
            if member.stopped_at is not None:
                member.resume()
        for member in members:
            self.hear(member, member.kill())


def crowd(
    folder: Path, seconds: float, writers: int = 4, readers: int = 3, fault: str = ""
) -> Outcome:
    """The whole trial. `also["reads"]` counts rounds of three reads each."""
    outcome = Outcome(trial="crowd", size=f"{writers} writers × {readers} readers, {seconds:g} s")
    store = folder / "store"
    open_store(str(store)).close()
    crowd = Crowd(store, outcome, fault)
    crowd.run(writers, readers, seconds)
    outcome.acknowledged = len(crowd.sessions)
    with open_store(str(store)) as opened:
        # Killed in the middle of an erase, or held up by a reader: finished now.
        opened.admin.forget_finish()
    kept = crowd.sessions - crowd.forgotten
    texts = {text for session in kept for text in texts_of(session)}
    outcome.breach(broken_promises(store, texts), "afterwards")
    with open_store(str(store)) as opened:
        total = opened.count()
    if total % GROUP:
        outcome.breach([f"half: {total} memories are no whole number of commits"])
    outcome.also["longest read, ms"] = round(crowd.longest_s * 1000)
    return outcome
