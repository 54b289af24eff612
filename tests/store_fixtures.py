"""Stores whose vectors, clock and hooks the test supplies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import vestig
from graph_rows import entity
from postgres_server import PostgresServer, find_programs
from scripted import ELSEWHERE, Opener
from search_world import COSINES, GASKET, LEDGER, NO_ENTITIES, PUMP, QUERY
from vestig.embedders.checked import float32_bytes
from vestig.testing import FrozenClock, HashingEmbedder, ScriptedEmbedder, vector_at


@pytest.fixture
def clock() -> FrozenClock:
    """Stands at 2026-03-18T12:00:00Z, a Wednesday; `move` sets it on."""
    return FrozenClock()


@pytest.fixture
def opener(tmp_path: Path, clock: FrozenClock) -> Iterator[Opener]:
    """Opens stores below tmp_path and closes them; `vectors` scripts the embedder."""
    opened: list[vestig.Vestig] = []

    def open_one(
        path: str = "store", vectors: dict[str, Any] | None = None, **options: Any
    ) -> vestig.Vestig:
        if "embedder" not in options:
            options["embedder"] = (
                HashingEmbedder(64)
                if vectors is None
                else ScriptedEmbedder(vectors, default=ELSEWHERE)
            )
        place = path if path == ":memory:" else str(tmp_path / path)
        store = vestig.open(place, clock=options.pop("clock", clock), **options)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(opener: Opener) -> vestig.Vestig:
    """A store with the hashing embedder."""
    return opener()


@pytest.fixture
def reopened(world: dict[str, Any], opener: Opener) -> Callable[..., Any]:
    """The store of `world`, opened again with these keys."""

    def again(**config: Any) -> vestig.Vestig:
        embedder = world["store"]._session.embedder
        return opener(embedder=embedder, config={**NO_ENTITIES, **config})

    return again


@pytest.fixture
def world(opener: Opener) -> dict[str, Any]:
    """Four memories at known cosines, and the entity `Ada` at 0.5."""
    vectors = {text: vector_at(c, 16, n + 1) for n, (text, c) in enumerate(COSINES.items())}
    vectors[QUERY] = vector_at(1.0, 16)
    store = opener(
        embedder=ScriptedEmbedder(vectors, default=[0.0] * 15 + [1.0]), config=NO_ENTITIES
    )
    ids: dict[str, Any] = {text: store.commit(text).memory_id for text in COSINES}
    ids["Ada"] = entity(store, "Ada", vector=float32_bytes(vector_at(0.5, 16, 9)))
    return {"store": store, **ids}


@pytest.fixture
def chain(world: dict[str, Any]) -> dict[str, Any]:
    """P – G – L by RELATED, C and E apart."""
    store = world["store"]
    store.graph.link(world[PUMP], world[GASKET], "RELATED", weight=0.0)
    store.graph.link(world[LEDGER], world[GASKET], "RELATED")
    return world


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that lives as long as the tests."""
    pytest.importorskip("psycopg", reason="the extra fleet is not installed")
    programs = find_programs()
    if programs is None:
        pytest.skip("expected the programs of PostgreSQL (initdb, postgres): none are installed")
    one = PostgresServer(programs)
    yield one
    one.close()
