"""What a command line leaves behind, and the facts that tests store."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from vestig.testing import FailingEmbedder

FACTS = (
    "The staging database runs on port 5433",
    "Maria prefers short answers with a code example",
    "Deploys to production happen on Tuesdays after the stand-up",
)
UNKNOWN = "mem_00000000-0000-4000-8000-000000000000"


class Answer(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        assert self.out.endswith("\n")
        assert self.out.count("\n") == 1, "one document on one line"
        found = json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))
        assert isinstance(found, dict)
        return found

    @property
    def problem(self) -> dict[str, Any]:
        """The one problem object on stderr."""
        found = json.loads(self.err)
        assert isinstance(found, dict)
        assert self.out == ""
        return found


# Runs one command line on the store of a test.
Vestig = Callable[..., Answer]


def failing_embedder(_: Any) -> FailingEmbedder:
    """For `embedding.provider: unreachable`."""
    return FailingEmbedder("error", dimensions=64)
