"""Load on a server, in an open loop: requests come when they come, whether or not the server
keeps up.

    python benches/load.py --memories 10000 --seconds 60

Nine recalls to one commit, with the built-in embedder. Capacity is what two clients that wait for
each answer get; unloaded is a tenth of it. A dozen clients that wait for each answer are all
served, and so are recalls beside large documents of another client. At four times the capacity,
doubled until anything is refused, what is accepted waits no longer than the queue lets it, the rest
is refused with Retry-After, and every acknowledged commit is found afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import vestig
from generator import questions, records, stream
from vestig.config import load

# Clients that ask one after the other.
CROWD = 12
# What one client sends at once, beside so many recalls a second of another one; of what the idle
# server can answer at most that share, for the documents take a processor of two.
DOCUMENTS = 2
DOCUMENT_CHARS = 900_000
RECALLS = 20.0
RECALLS_SHARE = 0.4
RUN = "from vestig.surfaces.cli import main; main()"
COMMITS = 0.1


@dataclass
class Outcome:
    """What came of the requests of one run."""

    accepted_ms: list[float] = field(default_factory=list)
    refused: int = 0
    without_retry_after: int = 0
    failed: int = 0
    acknowledged: list[str] = field(default_factory=list)
    late_ms: float = 0.0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Accepted requests in a second."""
        return len(self.accepted_ms) / self.seconds

    def quantile_ms(self, share: float) -> float:
        """A quantile of what was accepted."""
        ordered = sorted(self.accepted_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class Client:
    """Connections that are kept open, each used by one request at a time."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self.port = port
        self._token = "" if token is None else f"Authorization: Bearer {token}\r\n"
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, route: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        """(status, headers, body) of one request."""
        reader, writer = link = await self._link()
        data = json.dumps(body).encode()
        head = (
            f"POST /api/memory/{route} HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\n{self._token}Content-Length: {len(data)}\r\n\r\n"
        )
        writer.write(head.encode() + data)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        self._idle.append(link)
        return int(lines[0].split()[1]), headers, content

    async def _link(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """An idle connection that the server has not closed meanwhile, or a new one."""
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof():
                return reader, writer
            writer.close()
        return await asyncio.open_connection("127.0.0.1", self.port)

    def close(self) -> None:
        """Closes what is idle."""
        for _, writer in self._idle:
            writer.close()


class Mix:
    """Nine recalls to one commit, by a seed; no text twice."""

    def __init__(self, seed: int, texts: Iterator[dict[str, Any]]) -> None:
        self._random = random.Random(seed)
        self._questions = questions(200, seed=seed)
        self._texts = texts

    def next(self) -> tuple[str, dict[str, Any]]:
        """(route, arguments) of the next request."""
        if self._random.random() < COMMITS:
            return "commit", {"content": next(self._texts)["content"]}
        return "recall", {"query": self._random.choice(self._questions)}


async def one(client: Client, mix: Mix, outcome: Outcome, due: float | None = None) -> None:
    """One request, measured from the moment at which it was due."""
    route, body = mix.next()
    began = time.perf_counter() if due is None else due
    try:
        status, headers, content = await client.post(route, body)
    except (OSError, asyncio.IncompleteReadError):
        outcome.failed += 1
        return
    if status in (429, 503):
        outcome.refused += 1
        outcome.without_retry_after += "retry-after" not in headers
        return
    if status not in (200, 201):
        outcome.failed += 1
        return
    outcome.accepted_ms.append((time.perf_counter() - began) * 1000)
    if route == "commit":
        outcome.acknowledged.append(json.loads(content)["memory_id"])


class Recalls(Mix):
    """Recalls alone."""

    def next(self) -> tuple[str, dict[str, Any]]:
        """(route, arguments) of the next request."""
        return "recall", {"query": self._random.choice(self._questions)}


async def closed_loop(
    port: int, mix: Mix, seconds: float, clients: int, token: str | None = None
) -> Outcome:
    """Clients that wait for each answer before they ask again."""
    outcome = Outcome(seconds=seconds)
    client = Client(port, token)
    end = time.perf_counter() + seconds

    async def ask() -> None:
        while time.perf_counter() < end:
            await one(client, mix, outcome)

    await asyncio.gather(*(ask() for _ in range(clients)))
    client.close()
    return outcome


async def open_loop(
    port: int, mix: Mix, seconds: float, rate: float, seed: int, token: str | None = None
) -> Outcome:
    """Requests that come at random moments, `rate` a second, whatever the server does."""
    outcome = Outcome(seconds=seconds)
    client = Client(port, token)
    pauses = random.Random(seed)
    tasks = []
    due = time.perf_counter()
    end = due + seconds
    while due < end:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        outcome.late_ms = max(outcome.late_ms, (time.perf_counter() - due) * 1000)
        tasks.append(asyncio.create_task(one(client, mix, outcome)))
        due += pauses.expovariate(rate)
    await asyncio.gather(*tasks)
    client.close()
    return outcome


@dataclass
class Beside:
    """Recalls of one client, `rate` of them a second, idle and beside large documents of another
    one; the statuses of the answers about these, and the seconds until each came."""

    idle: Outcome
    beside: Outcome
    answers: list[tuple[int, float]]
    rate: float

    @property
    def slower(self) -> float:
        """The 95th percentile beside the documents, of that of an idle server."""
        return self.beside.quantile_ms(0.95) / max(self.idle.quantile_ms(0.95), 1e-9)

    def __str__(self) -> str:
        answers = ", ".join(f"{status} after {seconds:.0f} s" for status, seconds in self.answers)
        runs = (("idle", self.idle), ("beside the documents", self.beside))
        shown = "; ".join(
            f"{name} p50 {run.quantile_ms(0.5):.0f} ms, p95 {run.quantile_ms(0.95):.0f} ms,"
            f" {run.refused} refused of {run.refused + len(run.accepted_ms)}"
            for name, run in runs
        )
        return (
            f"{self.rate:.1f} recalls a second, {DOCUMENTS} documents of"
            f" {DOCUMENT_CHARS // 1000} kB: {shown}; p95 {self.slower:.1f} times;"
            f" the documents: {answers}"
        )


def document(chars: int, seed: int) -> str:
    """A document of sections of a few sentences."""
    texts, parts, length = stream(1_000_000, seed=seed), list[str](), 0
    while length < chars:
        sentences = [next(texts)["content"] for _ in range(8)]
        parts.append(f"## Part {len(parts)}\n\n" + "\n\n".join(sentences) + "\n\n")
        length += len(parts[-1])
    return "".join(parts)[:chars]


async def beside_documents(
    port: int, seconds: float, recalling: str | None = None, adding: str | None = None
) -> Beside:
    """Recalls of one client, first alone, then while another one adds large documents. The tokens
    are those of the two."""
    mix = Recalls(5, iter(()))
    await closed_loop(port, mix, min(3.0, seconds), 2, recalling)  # warm
    capacity = await closed_loop(port, mix, seconds, 2, recalling)
    rate = min(RECALLS, max(1.0, capacity.rate * RECALLS_SHARE))
    idle = await open_loop(port, mix, seconds, rate, 2, recalling)
    answers: list[tuple[int, float]] = []

    async def add(number: int) -> None:
        began = time.perf_counter()
        text = document(DOCUMENT_CHARS, seed=number)
        body = {"text": text, "source": f"document {number}"}
        status, _, _ = await Client(port, adding).post("document/add", body)
        answers.append((status, time.perf_counter() - began))

    adds = [asyncio.create_task(add(number)) for number in range(DOCUMENTS)]
    await asyncio.sleep(0.5)
    beside = await open_loop(port, mix, seconds, rate, 3, recalling)
    await asyncio.gather(*adds)
    return Beside(idle, beside, answers, rate)


@contextmanager
def server(store: Path | str, *words: str, folder: Path | None = None) -> Iterator[tuple[int, int]]:
    """(port, process id) of a server of a store, with the limits that it has by default; its
    configuration and the copies of tenants lie in `folder`."""
    config = (Path(store).parent if folder is None else folder) / "vestig.yaml"
    keys = "{}\n" if folder is None else f"fleet: {{cache_dir: {folder / 'copies'}}}\n"
    config.write_text(keys, encoding="utf-8")
    command = [sys.executable, "-c", RUN, "serve", "--port", "0", "--store", str(store), *words]
    with subprocess.Popen(
        [*command, "--config", str(config)], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        port = int(running.stdout.readline().rpartition(":")[2])
        try:
            yield port, running.pid
        finally:
            running.terminate()
            assert running.wait(timeout=20) == 0, "a server ends without an error"


def filled(folder: Path, count: int) -> Path:
    """A store of so many memories."""
    store = folder / "store"
    with vestig.open(store) as opened:
        rows = records(count, seed=3)
        for start in range(0, count, 1_000):
            opened.commit_many(rows[start : start + 1_000])
    return store


def resident_kb(pid: int) -> int:
    """Memory of a process that no other has."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Anonymous:"))


@dataclass
class Measured:
    """The runs, and the share of acknowledged commits that are found afterwards."""

    capacity: Outcome
    unloaded: Outcome
    crowd: Outcome
    overloaded: Outcome
    found: float

    @property
    def wait_bar_ms(self) -> float:
        """What an accepted request may take: the longest wait, and three times the slow ones of a
        server that has nothing else to do."""
        return load().settings.serve.max_wait_ms + 3 * self.unloaded.quantile_ms(0.99)

    @property
    def keeps_its_rate(self) -> float:
        """Accepted requests beyond the capacity, of those within it."""
        return self.overloaded.rate / max(self.capacity.rate, 1e-9)


def measured(store: Path, seconds: float) -> Measured:
    """All runs, one after the other, on one server."""
    texts = stream(1_000_000, seed=11)
    mix = Mix(5, texts)
    with server(store) as (port, _):
        asyncio.run(closed_loop(port, mix, min(5.0, seconds), 2))  # warm
        capacity = asyncio.run(closed_loop(port, mix, seconds, 2))
        unloaded = asyncio.run(open_loop(port, mix, seconds * 2, capacity.rate * 0.1, 1))
        crowd = asyncio.run(closed_loop(port, mix, seconds, CROWD))
        # what else the machine does can hide most of its capacity while that is measured
        rate = capacity.rate * 4
        overloaded = asyncio.run(open_loop(port, mix, seconds, rate, 2))
        for seed in range(3, 7):
            if overloaded.refused:
                break
            capacity.acknowledged += overloaded.acknowledged
            rate *= 2
            overloaded = asyncio.run(open_loop(port, mix, seconds, rate, seed))
    runs = (capacity, unloaded, crowd, overloaded)
    ids = [id for run in runs for id in run.acknowledged]
    with vestig.open(store, read_only=True) as opened:
        found = sum(
            opened.count(where={"ids": ids[at : at + 500]}) for at in range(0, len(ids), 500)
        )
    return Measured(*runs, found / max(1, len(ids)))


def described(found: Measured) -> str:
    """The figures in a few lines."""
    unloaded, overloaded, crowd = found.unloaded, found.overloaded, found.crowd
    return "\n".join(
        (
            f"capacity {found.capacity.rate:.0f}/s, p50 {found.capacity.quantile_ms(0.5):.1f} ms",
            f"unloaded p50 {unloaded.quantile_ms(0.5):.1f} ms, p99"
            f" {unloaded.quantile_ms(0.99):.1f} ms ({len(unloaded.accepted_ms)} requests)",
            f"{CROWD} clients: {crowd.rate:.0f}/s, p99 {crowd.quantile_ms(0.99):.1f} ms,"
            f" {crowd.refused} refused",
            f"beyond the capacity: {overloaded.rate:.0f}/s accepted,"
            f" {found.keeps_its_rate:.0%} of it;"
            f" p50 {overloaded.quantile_ms(0.5):.1f} ms, p99 {overloaded.quantile_ms(0.99):.1f} ms;"
            f" {overloaded.refused} refused, {overloaded.without_retry_after} of them without"
            f" Retry-After, {overloaded.failed} failed; the client late by"
            f" {overloaded.late_ms:.0f} ms at most",
            f"acknowledged commits found: {found.found:.1%}",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        server(filled(Path(folder), given.memories)) as (port, _),
    ):
        print(asyncio.run(beside_documents(port, given.seconds)))
    with tempfile.TemporaryDirectory() as folder:
        print(described(measured(filled(Path(folder), given.memories), given.seconds)))


if __name__ == "__main__":
    main()
