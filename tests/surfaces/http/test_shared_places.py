"""Places for requests: whose turn it is, and what takes long gives way to others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import vestig
from served import Reply, Site, serving, serving_config, serving_store
from vestig.config import load
from vestig.surfaces.http import places as places_module
from vestig.surfaces.http.access import Refusal
from vestig.surfaces.http.places import Place, Places, Progress
from vestig.testing import HashingEmbedder, ScriptedModel

PASSAGES = "\n\n".join(
    f"## Part {number}\n\n" + f"Pallet {number} went to hall {number % 17}, where it stays. " * 10
    for number in range(240)
)


class SlowEmbedder(HashingEmbedder):
    """Takes a while for each call of several texts, until it is told to be quick."""

    def __init__(self) -> None:
        super().__init__(64)
        self.begun, self.quick = threading.Event(), threading.Event()
        self.sizes: list[int] = []

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if len(texts) > 1 or self.begun.is_set():
            self.sizes.append(len(texts))
            self.begun.set()
            if len(texts) > 1:
                self.quick.wait(0.1)
        return super().embed(texts)


@contextmanager
def slow_site(folder: Path, **serve: Any) -> Iterator[tuple[Site, SlowEmbedder]]:
    """A server with one place, unless more are named, whose embedder is slow."""
    embedder = SlowEmbedder()
    keys = {f"serve.{name}": value for name, value in {"max_concurrent": 1, **serve}.items()}
    config = load(environ={}, overrides={"store.path": str(folder / "store"), **keys})
    with (
        vestig.open(config=config, embedder=embedder) as store,
        serving_store(store) as site,
        ThreadPoolExecutor(8) as threads,
    ):
        site.store.commit("The gate is red and tall")
        try:
            yield site, embedder
        finally:
            embedder.quick.set()
            threads.shutdown()


def added(site: Site, source: str = "notes") -> tuple[threading.Thread, list[Reply]]:
    """A document that is on its way."""
    found: list[Reply] = []

    def add() -> None:
        found.append(site.post("document/add", {"text": PASSAGES, "source": source}))

    thread = threading.Thread(target=add)
    thread.start()
    return thread, found


# --- whose turn it is ---------------------------------------------------------------------------


def enter(places: Places, client: str, *, long: bool = False) -> Coroutine[Any, Any, Place]:
    return places.enter(client, Progress(), long=long)


def order(running_max: int, *wanted: tuple[str, bool]) -> list[str]:
    """The clients of requests that wait for a place together, (client, whether it takes long), in
    the order in which they get one; each gives it back at once."""

    async def main() -> list[str]:
        places, had = Places(running_max, 100, 10.0), list[str]()
        held = [await enter(places, "nobody") for _ in range(running_max)]

        async def one(client: str, long: bool) -> None:
            place = await enter(places, client, long=long)
            had.append(f"{client} long" if long else client)
            await asyncio.sleep(0)
            places.leave(place)

        tasks = [asyncio.create_task(one(*each)) for each in wanted]
        await asyncio.sleep(0)
        for place in held:
            places.leave(place)
        await asyncio.gather(*tasks)
        return had

    return asyncio.run(main())


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has had a place for longer than another one."""
    monkeypatch.setattr(places_module.time, "monotonic", lambda: 0.0)


@pytest.mark.usefixtures("standing")
def test_a_client_waits_for_one_request_of_another_not_for_all() -> None:
    assert order(1, *[("a", False)] * 4, ("b", False)) == ["a", "b", "a", "a", "a"]
    three = [*[("a", False)] * 3, *[("b", False)] * 2, ("c", False)]
    assert order(1, *three) == ["a", "b", "c", "a", "b", "a"]


@pytest.mark.usefixtures("standing")
def test_a_short_request_of_a_client_waits_for_one_long_one_of_its_own() -> None:
    wanted = [*[("a", True)] * 3, ("a", False)]
    assert order(1, *wanted) == ["a long", "a", "a long", "a long"]


@pytest.mark.usefixtures("standing")
def test_a_place_goes_to_who_has_had_places_for_the_least_time() -> None:
    async def main() -> None:
        places, had = Places(1, 100, 10.0), list[str]()

        async def one(client: str, seconds: float) -> None:
            place = await enter(places, client)
            had.append(client)
            # so long it has had it
            place.since_s -= seconds
            await asyncio.sleep(0)
            places.leave(place)

        held = await enter(places, "nobody")
        tasks = [asyncio.create_task(one("a", 9.0)) for _ in range(3)]
        tasks += [asyncio.create_task(one("b", 3.0)) for _ in range(5)]
        await asyncio.sleep(0)
        places.leave(held)
        await asyncio.gather(*tasks)
        assert had == ["a", "b", "b", "b", "a", "b", "b", "a"]
        # what was not used is not saved: one that begins is as all others
        held = await enter(places, "a")
        tasks = [asyncio.create_task(one(client, 3.0)) for client in ("c", "c", "b", "b")]
        await asyncio.sleep(0)
        places.leave(held)
        await asyncio.gather(*tasks)
        assert had[8:] == ["c", "b", "c", "b"]

    asyncio.run(main())


@pytest.mark.usefixtures("standing")
def test_the_time_of_long_requests_counts_fourfold() -> None:
    async def main() -> None:
        places, had = Places(1, 100, 10.0), list[str]()
        held = await enter(places, "nobody")

        async def one(client: str, *, long: bool) -> None:
            place = await enter(places, client, long=long)
            had.append(client)
            place.since_s -= 1.0
            await asyncio.sleep(0)
            places.leave(place)

        tasks = [asyncio.create_task(one("a", long=True)) for _ in range(2)]
        tasks += [asyncio.create_task(one("b", long=False)) for _ in range(5)]
        await asyncio.sleep(0)
        places.leave(held)
        await asyncio.gather(*tasks)
        assert had == ["a", "b", "b", "b", "b", "a", "b"]

    asyncio.run(main())


def test_long_requests_leave_a_place() -> None:
    async def main() -> None:
        places = Places(2, 0, 10.0)
        long = await enter(places, "a", long=True)
        with pytest.raises(Refusal):
            await enter(places, "b", long=True)
        places.leave(await enter(places, "b"))
        places.leave(long)
        places.leave(await enter(places, "b", long=True))

    asyncio.run(main())


def test_of_one_client_two_long_requests_are_begun() -> None:
    async def main() -> None:
        places = Places(1, 10, 0.1)
        begun = []
        for _ in range(2):
            begun.append(await enter(places, "a", long=True))
            # it waits for a model
            places.pause(begun[-1])
        with pytest.raises(Refusal):
            await enter(places, "a", long=True)
        places.leave(await enter(places, "a"))
        places.leave(await enter(places, "b", long=True))
        for place in begun:
            places.go_on(place)
            places.leave(place)
        places.leave(await enter(places, "a", long=True))

    asyncio.run(main())


def test_a_full_queue_drops_a_request_of_the_client_with_most() -> None:
    async def main() -> None:
        places = Places(1, 3, 10.0)
        held = await enter(places, "nobody")
        many = [asyncio.create_task(enter(places, "a")) for _ in range(3)]
        await asyncio.sleep(0)
        assert (places.has_room("a"), places.has_room("b")) == (False, True)
        with pytest.raises(Refusal):
            await enter(places, "a")
        one = asyncio.create_task(enter(places, "b"))
        await asyncio.sleep(0.01)
        refused = [task for task in many if task.done()]
        assert refused == many[2:], "the one that came last makes room"
        with pytest.raises(Refusal):
            await refused[0]
        places.leave(held)
        for task in (many[0], one, many[1]):
            places.leave(await task)

    asyncio.run(main())


def test_a_request_that_becomes_long_gives_way() -> None:
    async def main() -> None:
        places = Places(1, 10, 10.0)
        first = await enter(places, "a")
        other = asyncio.create_task(enter(places, "b"))
        await asyncio.sleep(0)
        first.give_way()
        assert not other.done(), "its share of time is not over"
        first.since_s -= places_module.SLICE_S
        waiting = asyncio.get_running_loop().run_in_executor(None, first.give_way)
        place = await other
        assert not waiting.done()
        places.leave(place)
        await waiting
        assert first.is_long
        places.leave(first)

    asyncio.run(main())


def test_what_waits_when_the_server_ends_is_refused() -> None:
    async def main() -> None:
        places = Places(1, 10, 10.0)
        long = await enter(places, "a", long=True)
        new = asyncio.create_task(enter(places, "b"))
        await asyncio.sleep(0)
        places.close()
        with pytest.raises(Refusal):
            await new
        long.since_s = 0.0
        with pytest.raises(Refusal, match="the server ends"):
            long.give_way()
        places.leave(long)

    asyncio.run(main())


# --- what takes long ----------------------------------------------------------------------------


def test_a_recall_comes_in_between_the_steps_of_a_document(tmp_path: Path) -> None:
    with slow_site(tmp_path) as (site, embedder):
        thread, found = added(site)
        assert embedder.begun.wait(10)
        for _ in range(3):
            assert site.post("recall", {"query": "which colour has the gate?"}).status == 200
        assert site.get("document/list").document["documents"] == []
        assert thread.is_alive(), "the document is not written yet"
        embedder.quick.set()
        thread.join(timeout=30)
        assert found[0].status == 200, found
        assert found[0].document["added"] == 240
        assert max(embedder.sizes[:4]) <= 8, "few texts at a time"


def test_documents_of_two_sources_take_turns(tmp_path: Path) -> None:
    with slow_site(tmp_path) as (site, embedder):
        first, second = added(site, "a"), added(site, "b")
        assert embedder.begun.wait(10)
        assert site.post("recall", {"query": "which colour has the gate?"}).status == 200
        embedder.quick.set()
        for thread, found in (first, second):
            thread.join(timeout=30)
            assert found[0].status == 200, found


def test_a_document_that_takes_longer_than_the_limit_says_how_far_it_is(tmp_path: Path) -> None:
    with slow_site(tmp_path, request_timeout_s=0.3) as (site, embedder):
        late = site.post("document/add", {"text": PASSAGES, "source": "notes"})
        assert late.status == 202
        asked = late.headers["location"]
        assert late.document["location"] == asked
        embedder.quick.set()
        seen = {late.document["done"]}
        while (reply := site.get(asked)).status == 202:
            seen.add(reply.document["done"])
            assert reply.document["total"] in (None, 240)
        assert (reply.status, reply.document["added"]) == (200, 240)
        assert seen <= {None, 100, 200, 240}
        again = site.post("document/add", {"text": PASSAGES, "source": "notes"})
        while again.status == 202:
            again = site.get(again.headers["location"])
        assert (again.document["added"], again.document["kept"]) == (0, 240)


def test_a_server_that_ends_leaves_the_version_before(tmp_path: Path) -> None:
    with slow_site(tmp_path) as (site, embedder):
        known = site.post("document/add", {"text": "# A\n\nThe old text is here.", "source": "n"})
        embedder.begun.clear()
        thread, found = added(site, "n")
        assert embedder.begun.wait(10)
        site.service.places.close()
        thread.join(timeout=30)
        assert (found[0].status, found[0].code) == (503, "not-ready")
        assert [one.id for one in site.store.documents().documents] == [known.document["source_id"]]


def test_many_texts_are_written_in_several_transactions(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as site:
        items = [{"content": f"Pallet {number} went to the long hall"} for number in range(250)]
        outcomes = site.post("commit", {"items": items}).document["outcomes"]
        assert [one["outcome"] for one in outcomes] == ["INSERTED_NEW"] * 250
        assert len({one["seq"] for one in outcomes}) == 3


def test_a_reading_by_a_model_gives_its_place_back_while_it_waits() -> None:
    asked, go = threading.Event(), threading.Event()

    def answer(_: object) -> str:
        asked.set()
        go.wait(20)
        return "{}"

    config = load(environ={}, overrides={"store.path": ":memory:", "serve.max_concurrent": 1})
    with serving_config(config, llm=ScriptedModel(answer)) as site:
        site.store.commit("Ada Lovelace keeps the key", session_id="s", sequence=1)
        found: list[Reply] = []
        thread = threading.Thread(target=lambda: found.append(site.post("cognify", {})))
        thread.start()
        try:
            assert asked.wait(20), found
            assert site.post("recall", {"query": "who keeps the key?"}).status == 200
            assert thread.is_alive(), "the model has not answered"
        finally:
            go.set()
            thread.join(timeout=20)
        assert found[0].status == 200, found
