"""The session of the OpenAI Agents SDK does what the SDK's own session does."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

import vestig
from vestig.testing import HashingEmbedder

agents = pytest.importorskip("agents", reason="the OpenAI Agents SDK is not installed")
from agents.memory import Session, SessionSettings, SQLiteSession  # noqa: E402

from vestig.integrations.openai_agents import VestigSession  # noqa: E402

OPERATIONS = 1_000
ENTRIES: list[Any] = [
    {"role": "user", "content": "Ada likes green tea"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "Noted."}], "id": "m1"},
    {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"},
    {"role": "user", "content": "ok"},
]


@pytest.mark.parametrize("seed", range(2))
def test_it_does_what_the_session_in_sqlite_does(seed: int) -> None:
    async def run() -> None:
        rng = random.Random(seed)
        with vestig.open(":memory:", embedder=HashingEmbedder(16)) as store:
            pairs = [(SQLiteSession(name), VestigSession(name, store)) for name in ("a/b", "a%2Fb")]
            for _ in range(OPERATIONS // 2):
                theirs, mine = rng.choice(pairs)
                kind = rng.choice(["add", "add", "get", "get", "pop", "clear"])
                if kind == "add":
                    entries = [dict(rng.choice(ENTRIES)) for _ in range(rng.randint(0, 4))]
                    wanted, got = [await one.add_items(entries) for one in (theirs, mine)]
                elif kind == "get":
                    limit = rng.choice([None, 0, 1, 2, 100])
                    wanted, got = [await one.get_items(limit) for one in (theirs, mine)]
                elif kind == "pop":
                    wanted, got = [await one.pop_item() for one in (theirs, mine)]
                elif rng.random() < 0.1:
                    wanted, got = [await one.clear_session() for one in (theirs, mine)]
                else:
                    continue
                assert wanted == got, kind
            assert store._session.ledger.verify_all() == []

    asyncio.run(run())


def test_two_writers_lose_nothing_and_searches_find_what_was_said() -> None:
    async def run() -> None:
        with vestig.open(":memory:", embedder=HashingEmbedder(16)) as store:
            both = [VestigSession("s", store), VestigSession("s", store)]
            assert isinstance(both[0], Session)
            await asyncio.gather(
                *(one.add_items([{"role": "user", "content": f"{at} says {n}"}])
                  for at, one in enumerate(both) for n in range(6))
            )  # fmt: skip
            assert len(await both[0].get_items()) == 12
            limited = VestigSession("s", store, session_settings=SessionSettings(limit=3))
            assert len(await limited.get_items()) == 3
            assert store.recall("1 says 4", limit=1)[0].content == "1 says 4"

    asyncio.run(run())


def test_the_runner_takes_it() -> None:
    """The framework itself accepts the session: its protocol is checked at run time."""
    with vestig.open(":memory:", embedder=HashingEmbedder(16)) as store:
        session: Session = VestigSession("s", store)
        assert session.session_id == "s"


def test_what_it_cannot_keep_a_conversation_in_is_refused_when_it_is_made() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(16)) as store:
        for given, field in (
            (("s", "memory"), "store"),
            ((store, "s"), "store"),
            ((7, store), "session_id"),
            (("s", store.scoped("users/ada")), "store"),
        ):
            with pytest.raises(vestig.ValidationError, match=rf"^{field}: expected "):
                VestigSession(*given)  # type: ignore[arg-type]
        with pytest.raises(vestig.ValidationError, match=r"^scope: expected text"):
            VestigSession("s", store, scope=7)  # type: ignore[arg-type]


def test_one_entry_is_no_list_of_entries() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(16)) as store:
        for entries in ("hello", {"role": "user", "content": "hello"}):
            with pytest.raises(vestig.ValidationError, match=r"^items: expected a list of entries"):
                asyncio.run(VestigSession("s", store).add_items(entries))  # type: ignore[arg-type]
        assert store.items.scopes() == []
