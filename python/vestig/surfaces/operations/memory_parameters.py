"""Parameters that several operations on memories share, and the calls made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestig.arguments import Provenance
from vestig.filters import FIELDS
from vestig.parameters import (
    COMMIT,
    GRAPH_SEARCH,
    LIST,
    NAMESPACE,
    RECALL,
    TIME_TRAVEL,
    Parameter,
)
from vestig.surfaces.operation import Arguments

__all__ = [
    "COMMIT_ARGUMENTS",
    "COMMIT_PARAMETERS",
    "COUNT_ARGUMENTS",
    "EXPLAIN",
    "FILTER_PARAMETERS",
    "FORMATS",
    "GRAPH_SEARCH_ARGUMENTS",
    "ID",
    "INCLUDE_EXPIRED",
    "LAYOUT_PARAMETERS",
    "LIST_ARGUMENTS",
    "REASON",
    "RECALL_ARGUMENTS",
    "RECALL_PARAMETERS",
    "SEARCH_ARGUMENTS",
    "TIME_PARAMETERS",
    "T_INVALID",
    "commit_arguments",
    "filter_arguments",
]

FORMATS: Final = ("text", "compact", "explain", "list", "json")
ID: Final = Parameter(name="id", help="Id of the memory, or at least 8 characters of it.")
REASON: Final = Parameter(name="reason", flag="--reason", help="Why; recorded in the event.")
T_INVALID: Final = Parameter(
    name="t_invalid",
    kind="time",
    flag="--t-invalid",
    help="When the fact ended; absent: the memory is withdrawn as wrong.",
)
INCLUDE_EXPIRED: Final = FIELDS["include_expired"]
TIME_PARAMETERS: Final = tuple(TIME_TRAVEL.values())
# Rows of public calls that are no options here: objects of a program, and options of every command.
_PROGRAM_ONLY: Final = frozenset(("messages", "query_vector", "profile", "namespace", "config"))
_IN_PROVENANCE: Final = tuple(Provenance.__annotations__)
# Fields of a filter where there is no query.
FILTER_PARAMETERS: Final = tuple(row for row in FIELDS.values() if row.name != "min_similarity")
EXPLAIN: Final = Parameter(
    name="explain",
    kind="flag",
    flag="--explain",
    help="Say why each result is there; with --json, all that its score is made of.",
)
LAYOUT_PARAMETERS: Final = (
    EXPLAIN,
    Parameter(
        name="timing", kind="flag", flag="--timing", help="Print the time of each stage on stderr."
    ),
    Parameter(name="format", kind="choice", flag="--format", choices=FORMATS, help="Layout."),
)
# How edges are walked: keys of the configuration that a call may set.
WALK_PARAMETERS: Final = (
    Parameter(
        name="mode",
        kind="choice",
        flag="--mode",
        choices=("probabilistic", "deterministic"),
        help="Whether edges are drawn or taken by a threshold.",
        default_text="walk.mode",
    ),
    Parameter(
        name="order",
        kind="choice",
        flag="--order",
        choices=("best", "dfs"),
        help="Whether the walk takes the strongest signal first, or goes depth first.",
        default_text="walk.order",
    ),
)
RECALL_PARAMETERS: Final = (
    RECALL["query"],
    RECALL["limit"],
    *LAYOUT_PARAMETERS,
    *WALK_PARAMETERS,
    *(
        row
        for name, row in RECALL.items()
        if name not in ("query", "limit") and row.flag and name not in _PROGRAM_ONLY
    ),
    *FIELDS.values(),
)


def filter_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the fields of the filter gathered in `where`.

    Example:
        >>> filter_arguments({"limit": 3, "tags": ["infra"]})
        {'limit': 3, 'where': {'tags': ['infra']}}
    """
    where = {name: value for name, value in given.items() if name in FIELDS}
    rest = {name: value for name, value in given.items() if name not in FIELDS}
    return rest | ({"where": where} if where else {})


def commit_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a commit with agent, reference and origin gathered in `provenance`."""
    rest = {name: value for name, value in given.items() if name not in _IN_PROVENANCE}
    return rest | {"provenance": {name: given[name] for name in _IN_PROVENANCE if name in given}}


COMMIT_PARAMETERS: Final = tuple(
    row
    for row in COMMIT.values()
    if row.name == "content" or (row.flag and row.name not in _PROGRAM_ONLY)
)
COMMIT_ARGUMENTS: Final = Arguments(
    method="commit",
    # a hook is a function of a program
    parameters=tuple(
        row for row in COMMIT.values() if row.name not in ("on_commit", *_IN_PROVENANCE)
    ),
    required=("content",),
)
RECALL_ARGUMENTS: Final = Arguments(
    method="recall", parameters=tuple(RECALL.values()), filtered=True
)
SEARCH_ARGUMENTS: Final = Arguments(
    method="search", parameters=tuple(RECALL.values()), filtered=True
)
GRAPH_SEARCH_ARGUMENTS: Final = Arguments(
    method="graph.search", parameters=tuple(GRAPH_SEARCH.values()), filtered=True
)
LIST_ARGUMENTS: Final = Arguments(method="list", parameters=tuple(LIST.values()), filtered=True)
COUNT_ARGUMENTS: Final = Arguments(
    method="count", parameters=(*TIME_PARAMETERS, NAMESPACE), filtered=True
)
