"""A tiny store in which a configuration key can be seen at work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import vestig
from exports import parsed, sealed
from vestig.config import Config, load
from vestig.testing import FrozenClock, HashingEmbedder, ScriptedEmbedder, vector_at

CALLS: list[list[str]] = []
REQUESTS: list[dict[str, Any]] = []


class World:
    """One folder, one clock, one configuration."""

    def __init__(
        self, folder: Path, overrides: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder = folder
        self.monkeypatch = monkeypatch
        self.clock = FrozenClock()
        self.overrides = {"store.path": "store", **overrides}
        self.opened: list[Any] = []
        CALLS.clear()
        REQUESTS.clear()

    @property
    def config(self) -> Config:
        """The configuration under observation."""
        return load(
            environ={"XDG_CONFIG_HOME": str(self.folder)},
            cwd=self.folder,
            overrides=self.overrides,
        )

    def open(self, vectors: Mapping[str, float] | None = None, **options: Any) -> Any:
        """A store; `vectors` gives texts a cosine to the first axis."""
        if "embedder" not in options and "embedding.provider" not in self.overrides:
            options["embedder"] = HashingEmbedder(64)
        if vectors is not None:
            scripted = {
                text: vector_at(cosine, 8, axis + 1)
                for axis, (text, cosine) in enumerate(vectors.items())
            }
            options["embedder"] = ScriptedEmbedder(scripted, default=vector_at(0.0, 8, 7))
        store = vestig.open(config=self.config, clock=self.clock, **options)  # type: ignore[arg-type]
        self.opened.append(store)
        return store

    def changed_copy(self, store: Any, change: Callable[[list[dict[str, Any]]], None]) -> Any:
        """A store that holds an export of this one whose records another program has changed."""
        file = self.folder / "export.jsonl"
        store.export(str(file))
        lines = parsed(file.read_bytes())
        change(lines)
        file.write_bytes(b"".join(sealed(lines)))
        other = vestig.open(
            str(self.folder / "other"),
            config=self.overrides,
            clock=self.clock,
            embedder=store._session.embedder,
        )
        self.opened.append(other)
        other.import_(str(file))
        return other

    def close(self) -> None:
        """Closes every store."""
        for store in self.opened:
            store.close()


class Act(NamedTuple):
    """How a key is seen: `observe` must differ between `base` and `base` with `changed`."""

    changed: Any
    observe: Callable[[World], Any]
    base: Mapping[str, Any] = {}


class RecordedEmbedder(HashingEmbedder):
    """A hashing embedder named after `embedding.model`, whose batches are recorded in `CALLS`."""

    def __init__(self, settings: Any) -> None:
        super().__init__(32)
        self.name = settings.model or "recorded"

    @property
    def model(self) -> str:
        return str(self.name)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        CALLS.append(list(texts))
        return super().embed(texts)


def recorded(settings: Any) -> RecordedEmbedder:
    """For `embedding.provider: recorded`."""
    return RecordedEmbedder(settings)


def failing(_: Any) -> Any:
    """For `embedding.provider: failing`."""
    from vestig.testing import FailingEmbedder

    return FailingEmbedder("error", dimensions=32)


class HttpCall:
    """In place of the request that the OpenAI embedder sends: records what it carries."""

    def __init__(self, url: Any, body: bytes, headers: Mapping[str, str]) -> None:
        self.said = {"path": url.path, "key": headers.get("Authorization")}
        self.texts = msgspec.json.decode(body)["input"]

    def within(self, timeout_s: float, _: str) -> tuple[int, bytes]:
        """A good answer at once."""
        REQUESTS.append({**self.said, "timeout_s": timeout_s})
        data = [{"index": n, "embedding": [1.0, float(n)]} for n in range(len(self.texts))]
        return 200, msgspec.json.encode({"data": data})
