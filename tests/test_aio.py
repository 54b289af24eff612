"""A store in an event loop."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import aio_stub
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
        with pytest.raises(AttributeError, match=r"; use store\.recall$"):
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
        with store, pytest.raises(TypeError, match=r"use for memory in store, or async for with"):
            async for _ in store:
                pass

    asyncio.run(main())


def test_a_call_of_an_async_store_that_is_not_there_names_one_of_it() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        wrapped = aio.wrap(store)
        for place, name, call in (
            (wrapped, "aclose", "store.close"),
            (wrapped, "aadd", "store.commit"),
            (wrapped.scoped("ada"), "asearch", "store.search"),
            (wrapped.items, "aput", "store.items.put"),
        ):
            with pytest.raises(AttributeError, match=rf"; use {call}, and await it$"):
                getattr(place, name)
        with pytest.raises(AttributeError, match=r"; use vestig\.aio\.open\(path\), and await its"):
            _ = store.aclose


def test_what_is_no_store_is_not_wrapped() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        for other in ("memory", aio.wrap(store)):
            with pytest.raises(ValidationError, match=r"^store: expected a store as vestig\.open"):
                aio.wrap(other)  # type: ignore[arg-type]


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
            with pytest.raises(TypeError, match=r"use async for memory in store$"):
                list(store)
            for opened in (store, aio.open(":memory:")):
                with (
                    pytest.raises(TypeError, match=r"use async with vestig\.aio\.open\(path\)$"),
                    opened,
                ):
                    pass
            assert store
            assert aio.open(":memory:")

    asyncio.run(main())


# --- types -------------------------------------------------------------------------------------

PROGRAM = """
from typing import assert_type
import vestig
from vestig import aio

async def main(path: str) -> None:
    async with vestig.aio.open(path) as store:
        assert_type(store, aio.Awaitables)
        assert_type(await store.recall("x"), vestig.RecallResult)
        assert_type((await store.recall("x"))[0].content, str)
        assert_type(await store.items.get("x"), vestig.Item | None)
        assert_type(await store.scoped("ada").count(tags="a"), int)
        assert_type(store.position, int | None)
        async for memory in store:
            assert_type(memory, vestig.Memory)
        store.recall("x")[0]  # error: index
        store.commit("x")  # error: unused-coroutine
        await store.recal("x")  # error: attr-defined
        await store.recall("x", limits=3)  # error: call-arg
        await store.recall("x", limit="3")  # error: arg-type
        await store.admin.stat()  # error: attr-defined
        await store.scoped("ada")  # error: misc
        len(store)  # error: arg-type
    aio.open(path, embeder=None)  # error: call-arg
    aio.open(path).count()  # error: attr-defined
    with aio.open(path):  # error: attr-defined
        pass
    assert_type(await aio.open(path), aio.Awaitables)
    assert_type(aio.wrap(vestig.open(path)), aio.Awaitables)
    vestig.opne(path)  # error: attr-defined
"""


def checked(*words: str) -> subprocess.CompletedProcess[str]:
    """A module of mypy that is run on this package, wherever it is installed."""
    place = str(aio_stub.PACKAGE.parent)
    env = {**os.environ, "MYPYPATH": place, "PYTHONPATH": place}
    command = [sys.executable, "-m", *words]
    return subprocess.run(
        command, cwd=aio_stub.PACKAGE.parent.parent, env=env, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_a_type_checker_knows_what_is_awaited_and_sees_what_is_not(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, "utf-8")
    cache = ("--cache-dir", str(tmp_path / "cache"))
    told = checked("mypy", "--config-file", "", "--strict", *cache, str(path)).stdout
    found = re.findall(r"program\.py:(\d+): error: .*\[([\w-]+)\]$", told, re.MULTILINE)
    marked = re.compile("# error: (.+)")
    lines = enumerate(PROGRAM.split("\n"), 1)
    wanted = {(number, one[1]) for number, line in lines if (one := marked.search(line))}
    assert {(int(number), code) for number, code in found} == wanted, told


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("mypy.stubtest", "--mypy-config-file", "pyproject.toml", "vestig.aio"),
        # where both are, types of the module are read for the module itself
        ("mypy", str(aio_stub.PACKAGE / "aio.py")),
    ],
    ids=["types", "module"],
)
def test_the_types_agree_with_the_module(words: tuple[str, ...]) -> None:
    told = checked(*words)
    assert told.returncode == 0, told.stdout + told.stderr


def test_the_types_are_what_the_script_makes_of_the_calls() -> None:
    made = aio_stub.made()
    assert aio_stub.STUB.read_text("utf-8") == made, "run `make docs`: aio.pyi is out of date"
    classes = {node.name: node for node in ast.parse(made).body if isinstance(node, ast.ClassDef)}
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        for name, owner in {"store": store, **{one: getattr(store, one) for one in GROUPS}}.items():
            body = classes[f"_{name.title()}"].body
            awaited = {node.name for node in body if isinstance(node, ast.AsyncFunctionDef)}
            others = (node.targets[0] for node in body if isinstance(node, ast.Assign))
            awaited |= {ast.unparse(one) for one in others}
            calls = {one for one in dir(owner) if one[0] != "_" and callable(getattr(owner, one))}
            assert awaited == calls - {*GROUPS, "scoped"}
