"""Vestig: durable long-term memory for AI agents.

    >>> import vestig
    >>> from vestig.testing import HashingEmbedder
    >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
    ...     outcome = store.commit("The staging database runs on port 5433")
    ...     outcome.outcome.value
    'INSERTED_NEW'

The calls of a store, each with help of its own (`help(vestig.Vestig.recall)`):

    commit        stores a text; with `key` it takes the place of the text that has the key
    recall        the memories that answer a question, each with the reason; or none
    forget        removes memories for good, and proves that no file holds them
    scoped        a view for one user, project or conversation
    get, keys     the text of a key, and the keys that there are; `history` has its versions
    list, count   memories by a filter; `show` one with its evidence; `update` changes its fields
    export, import_, add_document
    items, rules, graph, anchors, branches, admin   groups of calls, as `store.admin.backup`

`vestig.restore` brings a backup back, `vestig.aio` has all of it for event loops, `vestig.testing`
stand-ins for models, `vestig.integrations` adapters for agent frameworks.

Importing this package loads no model, no numeric library and no web framework.
"""

from __future__ import annotations

# By this name a type checker knows what it is; the import of `typing` takes longer than the rest.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Final

    from vestig import aio as aio
    from vestig import errors as errors
    from vestig import ports as ports
    from vestig import telemetry as telemetry
    from vestig import testing as testing
    from vestig import types as types
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

    __version__: str

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

# Modules that callers ask for without an import of their own.
_MODULES: Final = ("aio", "errors", "integrations", "ports", "telemetry", "testing", "types")


if not TYPE_CHECKING:  # a type checker knows the names that there are

    def __getattr__(name: str) -> Any:
        """Public names are loaded when they are first asked for."""
        import importlib
        import sys

        if name == "__version__":
            from importlib.metadata import version

            return version("vestig")
        if name not in __all__:
            if name in _MODULES:
                return importlib.import_module(f"vestig.{name}")
            # the part of Python that looks for a module of the name next
            if sys._getframe(1).f_code.co_name == "_handle_fromlist":
                raise AttributeError(name)
            from vestig.module_words import missing_name

            raise missing_name(name, globals())
        home = "vestig.api.store" if name == "open" else _HOME.get(name, "vestig.errors")
        found = getattr(importlib.import_module(home), "open_store" if name == "open" else name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted(__all__)
