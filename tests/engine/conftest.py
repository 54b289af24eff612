"""Stores whose vectors, clock and hooks the test supplies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted import ELSEWHERE, Opener

import vestig
from vestig.testing import FrozenClock, HashingEmbedder, ScriptedEmbedder


@pytest.fixture
def clock() -> FrozenClock:
    """FC: 2026-03-18T12:00:00Z, a Wednesday, movable."""
    return FrozenClock()


@pytest.fixture
def opener(tmp_path: Path, clock: FrozenClock) -> Iterator[Opener]:
    """Opens stores below tmp_path and closes them; `vectors` scripts the embedder (FV)."""
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
