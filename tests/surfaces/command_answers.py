"""What a command line leaves behind, and the facts that tests store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from command_lines import Answer
from vestig.testing import FailingEmbedder

FACTS = (
    "The staging database runs on port 5433",
    "Maria prefers short answers with a code example",
    "Deploys to production happen on Tuesdays after the stand-up",
)
UNKNOWN = "mem_00000000-0000-4000-8000-000000000000"


# Runs one command line on the store of a test.
Vestig = Callable[..., Answer]


def failing_embedder(_: Any) -> FailingEmbedder:
    """For `embedding.provider: unreachable`."""
    return FailingEmbedder("error", dimensions=64)
