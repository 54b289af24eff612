"""Vestig: durable long-term memory for AI agents.

    >>> import vestig
    >>> from vestig.testing import HashingEmbedder
    >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
    ...     outcome = store.commit("The staging database runs on port 5433")
    ...     outcome.outcome.value
    'INSERTED_NEW'

Importing this package loads no model, no numeric library and no web framework.
"""

from __future__ import annotations

# By this name a type checker knows what it is; the import of `typing` takes longer than the rest.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Final

    from vestig.answers import RecallHit, RecallResult
    from vestig.api.admin import restore
    from vestig.api.store import Vestig
    from vestig.api.store import open_store as open
    from vestig.calls.filter import Filter
    from vestig.errors import (
        ConfigError,
        ConfigNotFoundError,
        ConflictError,
        EmbeddingMismatchError,
        ForgetIncompleteError,
        HygieneError,
        ModelBudgetError,
        ModelCallError,
        NotFoundError,
        OutcomeUnknownError,
        ProviderError,
        ProviderTimeoutError,
        SchemaVersionError,
        StoreDamagedError,
        StoreFullError,
        StoreLockedError,
        ValidationError,
        VestigError,
    )
    from vestig.evaluation.evaluate import evaluate
    from vestig.evaluation.replay import RetrievalReplay, replay_requests
    from vestig.evaluation.report import EvaluationReport
    from vestig.graph.search_result import SearchHit, SearchResult
    from vestig.results import Item, MemoryDetail
    from vestig.types import CommitOutcome, Edge, Entity, Event, Memory

__all__ = [
    "CommitOutcome",
    "ConfigError",
    "ConfigNotFoundError",
    "ConflictError",
    "Edge",
    "EmbeddingMismatchError",
    "Entity",
    "EvaluationReport",
    "Event",
    "Filter",
    "ForgetIncompleteError",
    "HygieneError",
    "Item",
    "Memory",
    "MemoryDetail",
    "ModelBudgetError",
    "ModelCallError",
    "NotFoundError",
    "OutcomeUnknownError",
    "ProviderError",
    "ProviderTimeoutError",
    "RecallHit",
    "RecallResult",
    "RetrievalReplay",
    "SchemaVersionError",
    "SearchHit",
    "SearchResult",
    "StoreDamagedError",
    "StoreFullError",
    "StoreLockedError",
    "ValidationError",
    "Vestig",
    "VestigError",
    "__version__",
    "evaluate",
    "open",
    "replay_requests",
    "restore",
]

_HOME: Final = {
    "CommitOutcome": "vestig.types",
    "Edge": "vestig.types",
    "Entity": "vestig.types",
    "EvaluationReport": "vestig.evaluation.report",
    "Event": "vestig.types",
    "Filter": "vestig.calls.filter",
    "Item": "vestig.results",
    "Memory": "vestig.types",
    "MemoryDetail": "vestig.results",
    "RecallHit": "vestig.answers",
    "RecallResult": "vestig.answers",
    "RetrievalReplay": "vestig.evaluation.replay",
    "SearchHit": "vestig.graph.search_result",
    "SearchResult": "vestig.graph.search_result",
    "Vestig": "vestig.api.store",
    "evaluate": "vestig.evaluation.evaluate",
    "replay_requests": "vestig.evaluation.replay",
    "restore": "vestig.api.admin",
}


# How other libraries name what opens a store.
_OPENED_ELSEWHERE = frozenset(
    ("Store", "MemoryStore", "Client", "Database", "Vault", "connect", "create", "load", "init")
)


def __getattr__(name: str) -> Any:
    """Public names are loaded when they are first asked for."""
    import importlib

    if name == "__version__":
        from importlib.metadata import version

        return version("vestig")
    if name not in __all__:
        hint = "; a store is opened by vestig.open(path)" if name in _OPENED_ELSEWHERE else ""
        raise AttributeError(f"module 'vestig' has no attribute {name!r}{hint}")
    home = "vestig.api.store" if name == "open" else _HOME.get(name, "vestig.errors")
    found = getattr(importlib.import_module(home), "open_store" if name == "open" else name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
