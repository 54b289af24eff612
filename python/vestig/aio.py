"""A store in an event loop: every call of the synchronous library as one that can be awaited.

The engine is synchronous and thread-safe. `wrap` gives an object with the same attributes, whose
methods run in a worker thread; none is written out a second time. `scoped` alone is not awaited.
Type checkers read them in aio.pyi, which tests/aio_stub.py makes of the synchronous ones.

Example:
    >>> import asyncio
    >>> from vestig import aio
    >>> from vestig.testing import HashingEmbedder
    >>> async def main():
    ...     async with aio.open(":memory:", embedder=HashingEmbedder()) as store:
    ...         await store.commit("Deploys run on Fridays at noon")
    ...         found = await store.recall("when do deploys run?")
    ...         return found[0].content, await store.graph.entities(limit=3)
    >>> asyncio.run(main())[0]
    'Deploys run on Fridays at noon'
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from functools import partial, wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from vestig.api.store import Vestig, open_store
from vestig.errors import ValidationError, kind_of
from vestig.module_words import missing_name
from vestig.other_words import GROUPS, said_of_awaited

if TYPE_CHECKING:
    from vestig.types import Memory

__all__ = ["Awaitables", "Opening", "open", "wrap"]

# Memories that one step of `async for` loads.
_PAGE: Final = 100


if not TYPE_CHECKING:  # a type checker knows the names that there are

    def __getattr__(name: str) -> NoReturn:
        raise missing_name(name, globals())


class _Calls:
    """A store, or one of its groups of calls, whose methods are awaited; other attributes are those
    of the object."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        try:
            found = getattr(self._target, name)
        except AttributeError as error:
            raise AttributeError(said_of_awaited(str(error)), name=name) from None
        if name in GROUPS:
            return _Calls(found)
        if name == "scoped":  # reads no file, so that there is nothing to wait for
            return _wrapping(found)
        return _awaitable(found) if callable(found) else found

    def __reduce__(self) -> Any:
        return self._target.__reduce__()

    def __dir__(self) -> list[str]:
        return dir(self._target)

    def __repr__(self) -> str:
        return f"<vestig.aio {self._target!r}>"


class _Unawaited:
    """Refuses what Python does without a wait, with what is awaited."""

    def __enter__(self) -> NoReturn:
        raise TypeError("an async store has no `with`; use async with vestig.aio.open(path)")

    def __exit__(self, *_: object) -> None: ...

    def __iter__(self) -> NoReturn:
        raise TypeError("an async store has no `for`; use async for memory in store")

    def __len__(self) -> int:
        raise TypeError("an async store has no len(); use await store.count()")

    def __contains__(self, _: object) -> bool:
        raise TypeError(
            "an async store has no `in`; use await store.get(key), which raises NotFoundError where"
            " nothing has it"
        )

    def __bool__(self) -> bool:
        return True


class Awaitables(_Calls, _Unawaited):
    """A store whose calls are awaited; made by `open` or `wrap`.

    A call that is cancelled is no longer waited for: its thread ends by itself, and what it writes
    is whole or not there.
    """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[Memory]:
        """Each memory, a page at a time, as `for memory in store` has them."""
        memories = iter(self._target)
        while page := await asyncio.to_thread(lambda: list(islice(memories, _PAGE))):
            for one in page:
                yield one


def _awaitable(call: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    @wraps(call)
    async def run(*args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(call, *args, **kwargs)

    return run


def _wrapping(call: Callable[..., Vestig]) -> Callable[..., Awaitables]:
    @wraps(call)
    def view(*args: Any, **kwargs: Any) -> Awaitables:
        return Awaitables(call(*args, **kwargs))

    return view


def wrap(store: Vestig) -> Awaitables:
    """A store that is open, for an event loop. Closing either closes both.

    Args:
        store: what `vestig.open` gave.

    Raises:
        ValidationError: it is something else.

    Example:
        >>> import asyncio
        >>> import vestig
        >>> from vestig.testing import HashingEmbedder
        >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        ...     asyncio.run(wrap(store).count())
        0
    """
    if not isinstance(store, Vestig):
        raise ValidationError(
            "store",
            kind_of(store),
            "a store as vestig.open(path) gives it",
            "vestig.aio.open(path) opens one for an event loop",
        )
    return Awaitables(store)


class Opening(_Unawaited):
    """A store that is about to be opened: `async with` closes it at the end, `await` leaves that to
    the caller."""

    def __init__(self, open_it: Callable[[], Vestig]) -> None:
        self._open_it = open_it
        self._opened: Awaitables | None = None

    async def _open(self) -> Awaitables:
        return Awaitables(await asyncio.to_thread(self._open_it))

    def __await__(self) -> Generator[Any, None, Awaitables]:
        return self._open().__await__()

    async def __aenter__(self) -> Awaitables:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(self, *_: object) -> None:
        if self._opened is not None:
            await self._opened.close()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"the store is not open yet, so it has no {name}: write `store = await aio.open(…)`,"
            " or `async with aio.open(…) as store:`"
        )


# its signature is that of the call whose arguments it takes
@wraps(open_store, assigned=(), updated=())
def open(*args: Any, **kwargs: Any) -> Opening:
    """A store for an event loop; arguments are those of `vestig.open`.

    Example:
        >>> import asyncio
        >>> from vestig.testing import HashingEmbedder
        >>> async def main():
        ...     store = await open(":memory:", embedder=HashingEmbedder())
        ...     try:
        ...         return await store.count()
        ...     finally:
        ...         await store.close()
        >>> asyncio.run(main())
        0
    """
    return Opening(partial(open_store, *args, **kwargs))
