"""The session of the OpenAI Agents SDK: a conversation whose entries are items."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

from vestig.arguments import text_argument
from vestig.errors import ConflictError, ValidationError, kind_of
from vestig.integrations import check_store, count_masked
from vestig.module_words import missing_name
from vestig.results import ItemPage
from vestig.types import Role

try:
    from agents.memory.session import SessionABC
    from agents.memory.session_settings import SessionSettings, resolve_session_limit
except ImportError as error:
    from vestig.hints import missing_package

    raise ImportError(
        missing_package("vestig.integrations.openai_agents", "openai-agents", "openai-agents")
    ) from error

if TYPE_CHECKING:
    from vestig.api.store import Vestig

_PAGE: Final = 1_000
_TRIES: Final = 20
_ROLES: Final = frozenset(one.value for one in Role)
# Keys sort as their numbers do.
_DIGITS: Final = 12


if not TYPE_CHECKING:  # a type checker knows the names that there are

    def __getattr__(name: str) -> NoReturn:
        raise missing_name(name, globals())


class VestigSession(SessionABC):
    """A conversation in a store; what was said in it is found by searches, in any session.

    Entries come back as they were given, in order, also to other processes.

    Args:
        session_id: the conversation.
        store: an open store.
        scope: the scope below which sessions lie.
        session_settings: as of the SDK: `limit` of entries that are read.

    Example:
        >>> import asyncio
        >>> import vestig
        >>> from vestig.testing import HashingEmbedder
        >>> store = vestig.open(":memory:", embedder=HashingEmbedder())
        >>> session = VestigSession("s1", store)
        >>> asyncio.run(session.add_items([{"role": "user", "content": "Ada likes green tea"}]))
        >>> asyncio.run(session.get_items())
        [{'role': 'user', 'content': 'Ada likes green tea'}]
        >>> store.recall("what does Ada like?")[0].content
        'Ada likes green tea'
    """

    def __init__(
        self,
        session_id: str,
        store: Vestig,
        *,
        scope: str = "sessions",
        session_settings: SessionSettings | None = None,
    ) -> None:
        check_store(store, scope, below=True)
        self.session_id = text_argument("session_id", session_id)
        self.session_settings = session_settings
        self._items = store.items
        part = session_id.replace("%", "%25").replace("/", "%2F").replace("\x1f", "%1F")
        self._scope = f"{scope}/{part}"

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The last `limit` entries, oldest first; all by default."""
        wanted = resolve_session_limit(limit, self.session_settings)
        return await asyncio.to_thread(self._last, wanted)

    async def add_items(self, items: list[Any]) -> None:
        """Appends entries: all of them, or none, up to a thousand."""
        if isinstance(items, (str, Mapping)):
            raise ValidationError("items", kind_of(items), "a list of entries")
        for start in range(0, len(items), _PAGE):
            await asyncio.to_thread(self._append, items[start : start + _PAGE])

    async def pop_item(self) -> Any | None:
        """Takes the last entry out for good; None where there is none."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Takes all entries out for good."""
        await asyncio.to_thread(self._items.delete, scope=self._scope)

    def _page(self, offset: int, limit: int = _PAGE) -> ItemPage:
        return self._items.list(self._scope, offset=offset, limit=limit)

    def _last(self, limit: int | None) -> list[Any]:
        total = self._page(0, 1).total
        # a negative limit is none, as in the SDK's own sessions
        offset = 0 if limit is None or limit < 0 else max(0, total - limit)
        found: list[Any] = []
        while limit != 0 and (page := self._page(offset)):
            found += [one.value for one in page]
            offset += len(page)
        return found

    def _append(self, items: list[Any]) -> None:
        for attempt in range(_TRIES):
            first = self._end() + 1
            puts = [
                {
                    "key": str(first + at).zfill(_DIGITS),
                    "scope": self._scope,
                    "value": item,
                    "text": "\n".join(_texts(item)) or None,
                    "role": _role(item),
                    "expected": 0,
                }
                for at, item in enumerate(items)
            ]
            try:
                count_masked(self._items.put_many(puts))
            except ConflictError:
                # another writer of the session was faster
                if attempt == _TRIES - 1:
                    raise
            else:
                return

    def _end(self) -> int:
        """The number of the last entry."""
        last = self._page(max(0, self._page(0, 1).total - 1), 1)
        return int(last[0].key) if last else 0

    def _pop(self) -> Any | None:
        last = self._page(max(0, self._page(0, 1).total - 1), 1)
        if not last:
            return None
        self._items.delete(last[0].key, scope=self._scope)
        return last[0].value


def _role(item: Any) -> str | None:
    """Return the role that an entry names, where it is one that a memory has."""
    named = item.get("role") if isinstance(item, dict) else None
    return named if isinstance(named, str) and named in _ROLES else None


def _texts(item: Any) -> Iterator[str]:
    """Yields what was said in an entry: its content, or the texts of its parts."""
    content = item.get("content") if isinstance(item, dict) else None
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            text = part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str):
                yield text
