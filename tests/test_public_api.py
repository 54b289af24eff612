"""The public names: pinned, sorted, documented, and the tree of exceptions as it is drawn."""

from __future__ import annotations

import inspect
import re

import vestig
import vestig.errors

PINNED = {
    "CommitOutcome",
    "ConfigError",
    "ConfigNotFoundError",
    "ConflictError",
    "Edge",
    "EmbeddingMismatchError",
    "Entity",
    "EvaluationReport",
    "Event",
    "ForgetIncompleteError",
    "HygieneError",
    "Memory",
    "MemoryDetail",
    "NotFoundError",
    "ProviderError",
    "ProviderTimeout",
    "RecallHit",
    "RecallResult",
    "SearchHit",
    "SearchResult",
    "StoreDamagedError",
    "StoreLockedError",
    "ValidationError",
    "Vestig",
    "VestigError",
    "__version__",
    "evaluate",
    "open",
}
METHODS = {
    "archive",
    "backup",
    "close",
    "commit",
    "commit_many",
    "compact",
    "count",
    "deprecate",
    "doctor",
    "edge",
    "edges",
    "enrich",
    "entities",
    "entity",
    "entity_backfill",
    "events",
    "expand_via_entities",
    "expand_via_related",
    "expand_with_graph",
    "expire_entity",
    "export",
    "extract_entities",
    "forget",
    "forget_finish",
    "gc",
    "import_",
    "link",
    "list",
    "merge_entities",
    "metrics",
    "pin",
    "purge_entities",
    "rebuild",
    "rebuild_edges",
    "recall",
    "record_access",
    "replay_receipt",
    "restore",
    "search",
    "show",
    "stats",
    "supersede",
    "supersession_chain",
    "unlink",
    "unpin",
    "update",
}
DOCUMENTED_BASES = {
    "VestigError": {"Exception"},
    "ValidationError": {"VestigError", "ValueError"},
    "HygieneError": {"VestigError", "ValueError"},
    "NotFoundError": {"VestigError", "LookupError"},
    "ConflictError": {"VestigError"},
    "ConfigError": {"VestigError", "ValueError"},
    "ConfigNotFoundError": {"ConfigError", "FileNotFoundError"},
    "EmbeddingMismatchError": {"ConfigError"},
    "StoreLockedError": {"VestigError"},
    "StoreDamagedError": {"VestigError"},
    "ForgetIncompleteError": {"StoreDamagedError"},
    "ProviderError": {"VestigError"},
    "ProviderTimeout": {"ProviderError"},
}


def test_public_names_are_sorted_and_resolve() -> None:
    assert list(vestig.__all__) == sorted(vestig.__all__)
    assert len(set(vestig.__all__)) == len(vestig.__all__)
    for name in vestig.__all__:
        assert getattr(vestig, name) is not None, name
    assert set(vestig.__all__) <= set(dir(vestig))


def test_public_names_are_pinned() -> None:
    assert set(vestig.__all__) == PINNED


def test_every_error_is_public() -> None:
    assert set(vestig.errors.__all__) <= set(vestig.__all__)


def test_methods_of_the_engine_are_pinned() -> None:
    public = {name for name, _ in inspect.getmembers(vestig.Vestig) if not name.startswith("_")}
    callables = {name for name in public if callable(getattr(vestig.Vestig, name))}
    assert callables == METHODS


def test_every_public_function_and_class_has_a_docstring() -> None:
    missing = [name for name in vestig.__all__ if not inspect.getdoc(getattr(vestig, name))]
    methods = inspect.getmembers(vestig.Vestig, callable)
    missing += [
        f"Vestig.{name}"
        for name, method in methods
        if not name.startswith("_") and not (method.__doc__ or "").strip()
    ]
    assert not missing


def test_to_b30_exceptions_have_the_documented_bases() -> None:
    assert set(vestig.errors.__all__) == set(DOCUMENTED_BASES)
    for name, bases in DOCUMENTED_BASES.items():
        assert {base.__name__ for base in getattr(vestig.errors, name).__bases__} == bases, name


def test_exception_tree_in_the_docstring_is_the_real_one() -> None:
    tree = vestig.errors.__doc__ or ""
    path: list[str] = []
    drawn: dict[str, str | None] = {}
    for line in tree.splitlines():
        match = re.match(r"^    ([│ ├└─]*)([A-Z]\w+)(?:\s|$)", line)
        if match is None or match.group(2) not in vestig.errors.__all__:
            continue
        depth = len(match.group(1)) // 4
        path = [*path[:depth], match.group(2)]
        drawn[path[-1]] = path[-2] if depth else None
    assert drawn.keys() == DOCUMENTED_BASES.keys()
    for name, parent in drawn.items():
        assert parent is None or parent in DOCUMENTED_BASES[name], name


def test_every_error_has_a_code_of_the_problem_list() -> None:
    codes = {
        "validation",
        "hygiene-rejected",
        "not-found",
        "conflict",
        "config",
        "embedding-mismatch",
        "store-locked",
        "store-damaged",
        "provider",
        "provider-timeout",
        "forget-incomplete",
        "internal",
    }
    assert {getattr(vestig.errors, name).code for name in vestig.errors.__all__} == codes
