"""Stores and conversations of the tests of retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import vestig
from vestig.testing import FrozenClock, HashingEmbedder

FACTS = (
    "Grace Hopper maintains the billing service",
    "The billing service runs on kubernetes",
    "Ada moved to Oslo in March",
    "The staging database runs on port 5433",
    "Deploys run on Fridays at noon",
    "The spare key lies under the pot",
    "The garden needs water twice a week",
    "Omar plays the cello in an orchestra",
)


def opened(facts: Sequence[str] = FACTS, **options: Any) -> vestig.Vestig:
    """A store in memory with these facts, whose vectors are those of words."""
    options.setdefault("embedder", HashingEmbedder())
    options.setdefault("clock", FrozenClock())
    store = vestig.open(":memory:", **options)
    store.commit_many(list(facts))
    return store


def said(*contents: str) -> list[dict[str, Any]]:
    """A conversation of these messages."""
    return [{"content": content} for content in contents]
