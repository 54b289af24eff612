"""The public names: pinned, sorted, documented, and the tree of exceptions as it is drawn."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import vestig
import vestig.errors
from tables import each
from vestig.api.admin import Admin
from vestig.api.anchors import Anchors
from vestig.api.branches import Branches
from vestig.api.graph import Graph
from vestig.api.items import Items
from vestig.api.rules import Rules
from vestig.api.store import Vestig
from vestig.arguments import Provenance
from vestig.calls.commit import CommitRequest
from vestig.calls.declaration import Request, rows_of
from vestig.calls.files import ImportRequest, RestoreRequest
from vestig.calls.filter import FIELDS, KEYWORDS, Filter, FilterFields, Where
from vestig.calls.opening import OpenRequest
from vestig.surfaces.operation import operations

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
    "SearchHit",
    "SearchResult",
    "SchemaVersionError",
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
}
METHODS = {
    "add_document",
    "documents",
    "forget_document",
    "commit_structured",
    "confirm",
    "archive",
    "cognify",
    "close",
    "commit",
    "commit_many",
    "count",
    "deprecate",
    "diff",
    "events",
    "export",
    "forget",
    "fresh",
    "get",
    "history",
    "import_",
    "keys",
    "list",
    "pin",
    "recall",
    "recall_many",
    "record_access",
    "retrieve",
    "scoped",
    "search",
    "show",
    "supersede",
    "supersession_chain",
    "unarchive",
    "unpin",
    "update",
}
GRAPH_METHODS = {
    "search",
    "neighbourhood",
    "edge",
    "edges",
    "entities",
    "entity",
    "entity_backfill",
    "expand_via_entities",
    "expand_via_related",
    "expand_with_graph",
    "expire_entity",
    "extract_entities",
    "link",
    "merge_entities",
    "purge_entities",
    "rebuild_edges",
    "unlink",
}
ADMIN_METHODS = {
    "backup",
    "compact",
    "doctor",
    "enrich",
    "forget_finish",
    "gc",
    "prune",
    "secrets",
    "metrics",
    "rebuild",
    "stats",
}
ITEM_METHODS = {"delete", "get", "list", "put", "put_many", "scopes"}
ANCHOR_METHODS = {"refresh", "show", "stale"}
BRANCH_METHODS = {"drop", "list", "merge", "show"}
RULE_METHODS = {"add", "check", "edit", "list", "remove", "show", "suggest", "test"}
DOCUMENTED_BASES = {
    "VestigError": {"Exception"},
    "ValidationError": {"VestigError", "ValueError"},
    "HygieneError": {"VestigError", "ValueError"},
    "NotFoundError": {"VestigError", "LookupError"},
    "ConflictError": {"VestigError"},
    "ConfigError": {"VestigError", "ValueError"},
    "ConfigNotFoundError": {"ConfigError", "FileNotFoundError"},
    "EmbeddingMismatchError": {"ConfigError"},
    "OutcomeUnknownError": {"StoreLockedError"},
    "SchemaVersionError": {"VestigError"},
    "StoreFullError": {"VestigError"},
    "StoreLockedError": {"VestigError"},
    "StoreDamagedError": {"VestigError"},
    "ForgetIncompleteError": {"StoreDamagedError"},
    "ProviderError": {"VestigError"},
    "ProviderTimeoutError": {"ProviderError"},
    "ModelCallError": {"ProviderError"},
    "ModelBudgetError": {"ProviderError"},
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


@pytest.mark.parametrize(
    ("owner", "pinned"),
    [
        (Vestig, METHODS),
        (Graph, GRAPH_METHODS),
        (Admin, ADMIN_METHODS),
        (Items, ITEM_METHODS),
        (Rules, RULE_METHODS),
        (Anchors, ANCHOR_METHODS),
        (Branches, BRANCH_METHODS),
    ],
)
def test_methods_are_pinned(owner: type, pinned: set[str]) -> None:
    public = {name for name, _ in inspect.getmembers(owner) if not name.startswith("_")}
    assert {name for name in public if callable(getattr(owner, name))} == pinned


def public_calls() -> list[tuple[str, Callable[..., Any]]]:
    owners = (
        (Vestig, METHODS),
        (Graph, GRAPH_METHODS),
        (Admin, ADMIN_METHODS),
        (Items, ITEM_METHODS),
        (Rules, RULE_METHODS),
        (Anchors, ANCHOR_METHODS),
        (Branches, BRANCH_METHODS),
    )
    found = [(f"{o.__name__}.{name}", getattr(o, name)) for o, names in owners for name in names]
    return [*sorted(found), ("open", vestig.open), ("restore", vestig.restore)]


def described(call: Callable[..., Any]) -> dict[str, str]:
    """The sentences of the section Args of a docstring, by parameter."""
    text = inspect.cleandoc(call.__doc__ or "")
    section = re.search(r"^Args:\n((?:    .*\n?|\n)+)", text, re.MULTILINE)
    if section is None:
        return {}
    rows = re.split(r"^    (?=\w+(?:, \w+)*: )", section.group(1), flags=re.MULTILINE)
    found = {}
    for row in filter(None, (" ".join(row.split()) for row in rows)):
        names, _, sentence = row.partition(": ")
        found.update(dict.fromkeys(names.split(", "), sentence))
    return found


def named(value: object) -> str:
    """The id of a case: its name, for the address of a function differs between processes."""
    return value if isinstance(value, str) else ""


@each(("name", "call"), public_calls(), ids=named)
def test_every_parameter_is_written_out_and_described(name: str, call: Callable[..., Any]) -> None:
    parameters = [p for p in inspect.signature(call).parameters.values() if p.name != "self"]
    assert all(p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters), name
    assert all(p.annotation is not p.empty for p in parameters), name
    missing = {p.name for p in parameters} - set(described(call))
    assert not missing, f"{name}: {missing} have no sentence in the docstring"


def declared() -> dict[str, type[Request]]:
    """The declaration of each public call that has one."""
    owners = {
        "": "Vestig.",
        "admin": "Admin.",
        "graph": "Graph.",
        "items": "Items.",
        "rules": "Rules.",
        "anchors": "Anchors.",
        "branches": "Branches.",
    }
    found: dict[str, type[Request]] = {
        "open": OpenRequest,
        "restore": RestoreRequest,
        "Vestig.import_": ImportRequest,
    }
    for operation in operations():
        if operation.arguments is not None:
            place, _, method = operation.arguments.method.rpartition(".")
            found[owners[place] + method] = operation.arguments.call
    return found


@each(("name", "declaration"), declared().items(), ids=named)
def test_a_signature_is_its_declaration(name: str, declaration: type[Request]) -> None:
    """Names, defaults and sentences; what a docstring says of a keyword is what its field says."""
    call = dict(public_calls())[name]
    signature = inspect.signature(call).parameters
    where = rows_of(declaration).get("where")
    beside = KEYWORDS if isinstance(where, Where) and where.beside else ()
    inside = set(Provenance.__annotations__) if issubclass(declaration, CommitRequest) else set()
    rows = {n: row for n, row in rows_of(declaration).items() if n not in inside}
    assert set(signature) - {"self"} == {*rows, *beside}, name
    sentences = described(call)
    fields = {one.name: one for one in msgspec.structs.fields(declaration)}
    for parameter, row in (rows | {n: FIELDS[n] for n in beside}).items():
        assert sentences[parameter] == row.help, parameter
        default = signature[parameter].default
        if parameter in fields and fields[parameter].required:
            assert default is inspect.Parameter.empty, parameter
        elif default is not None:
            assert default == fields[parameter].default, parameter


def test_the_filter_is_written_out_three_times_alike() -> None:
    assert tuple(FIELDS) == Filter.__struct_fields__
    assert list(FIELDS) == list(FilterFields.__annotations__)
    sentences = described(Filter)
    for name, row in FIELDS.items():
        assert sentences[name] == row.help, name


def test_exceptions_have_the_documented_bases() -> None:
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
        "schema-version",
        "store-full",
        "store-locked",
        "outcome-unknown",
        "store-damaged",
        "provider",
        "provider-timeout",
        "forget-incomplete",
        "internal",
    }
    assert {getattr(vestig.errors, name).code for name in vestig.errors.__all__} == codes
