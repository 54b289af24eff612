"""A store in an event loop."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig import aio
from vestig.errors import ValidationError
from vestig.other_words import GROUPS
from vestig.testing import HashingEmbedder


class SlowEmbedder(HashingEmbedder):
    """Takes its time, in whatever thread it is asked."""

    def __init__(self) -> None:
        super().__init__(64)
        self.threads: set[int] = set()

    def embed(self, texts: Any) -> list[bytes]:
        self.threads.add(threading.get_ident())
        time.sleep(0.2)
        return super().embed(texts)


def test_the_event_loop_goes_on_while_a_call_runs() -> None:
    embedder = SlowEmbedder()

    async def main() -> int:
        turns = 0
        async with aio.open(":memory:", embedder=embedder) as store:
            call = asyncio.ensure_future(store.commit("Deploys run on Fridays at noon"))
            while not call.done():
                await asyncio.sleep(0.005)
                turns += 1
            assert (await call).outcome.value == "INSERTED_NEW"
        return turns

    assert asyncio.run(main()) >= 5
    assert threading.get_ident() not in embedder.threads


def test_a_cancelled_call_is_not_waited_for_and_leaves_the_store_whole() -> None:
    go = threading.Event()

    class WaitingEmbedder(HashingEmbedder):
        def embed(self, texts: Any) -> list[bytes]:
            assert go.wait(60)
            return super().embed(texts)

    async def main() -> int:
        async with aio.open(":memory:", embedder=WaitingEmbedder(64)) as store:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await store.commit("Deploys run on Fridays at noon")
            assert await store.count() == 0, "the call still runs"
            go.set()
            while await store.count() == 0:
                await asyncio.sleep(0.01)
            return await store.count()

    assert asyncio.run(main()) == 1


def test_every_method_can_be_awaited_and_none_is_written_out() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        wrapped = aio.wrap(store)
        for target, inner in (
            (wrapped, store),
            (wrapped.graph, store.graph),
            (wrapped.admin, store.admin),
        ):
            for name in dir(inner):
                if (
                    not name.startswith("_")
                    and callable(getattr(inner, name))
                    and name not in (*GROUPS, "scoped")
                ):
                    assert inspect.iscoroutinefunction(getattr(target, name)), name
                    assert getattr(target, name).__doc__ == getattr(inner, name).__doc__
    assert not {"commit", "recall"} & set(vars(aio.Awaitables))


def test_errors_and_results_are_those_of_the_library() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        with pytest.raises(ValidationError, match="limit"):
            asyncio.run(aio.wrap(store).recall("a question", limit=0))
        with pytest.raises(AttributeError):
            _ = aio.wrap(store).recal
        assert asyncio.run(aio.wrap(store).admin.stats()).memories == 0
    with pytest.raises(vestig.ConflictError):
        asyncio.run(aio.wrap(store).count())


def test_a_store_is_opened_with_and_without_a_block(tmp_path: Path) -> None:
    async def main() -> list[int]:
        counts = []
        store = await aio.open(tmp_path / "store", embedder=HashingEmbedder(64))
        await store.commit("The ferry to Skye leaves at seven")
        counts.append(await store.count())
        await store.close()
        async with aio.open(tmp_path / "store", embedder=HashingEmbedder(64)) as store:
            counts.append(await store.count())
        with pytest.raises(vestig.ConflictError):
            await store.count()
        async with await aio.open(tmp_path / "store", embedder=HashingEmbedder(64)) as store:
            counts.append(await store.count())
        with pytest.raises(vestig.ConflictError):
            await store.count()
        return counts

    assert asyncio.run(main()) == [1, 1, 1]


def test_a_store_that_nobody_waited_for_says_what_to_write() -> None:
    with pytest.raises(AttributeError, match=r"store = await aio\.open"):
        _ = aio.open(":memory:").count
    with pytest.raises(vestig.ValidationError):
        asyncio.run(_opened_with(namespace=""))


async def _opened_with(**options: Any) -> Any:
    return await aio.open(":memory:", **options)


def test_a_store_that_is_not_awaited_names_the_one_that_is() -> None:
    async def main() -> None:
        store: Any = vestig.open(":memory:", embedder=HashingEmbedder(64))
        with store, pytest.raises(TypeError, match=r"use async with vestig\.aio\.open\(path\)$"):
            async with store:
                pass

    asyncio.run(main())


def test_async_for_has_each_memory_once() -> None:
    async def texts() -> list[str]:
        async with aio.open(":memory:", embedder=HashingEmbedder(64)) as store:
            await store.commit_many([f"The pump of hall {n} is old" for n in range(205)])
            return [memory.content async for memory in store]

    assert len({*asyncio.run(texts())}) == 205


def test_what_python_does_not_await_names_what_is_awaited() -> None:
    async def main() -> None:
        async with aio.open(":memory:", embedder=HashingEmbedder()) as store:
            with pytest.raises(TypeError, match=r"use await store\.count\(\)"):
                len(store)
            with pytest.raises(TypeError, match=r"use await store\.get\(key\)"):
                "flat12" in store  # noqa: B015
            assert store

    asyncio.run(main())
