"""Parameters that several operations on memories share, and the calls made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestig.filters import FIELDS
from vestig.parameters import COMMIT, RECALL, TIME_TRAVEL, Parameter

__all__ = [
    "COMMIT_PARAMETERS",
    "FILTER_PARAMETERS",
    "FORMATS",
    "ID",
    "INCLUDE_EXPIRED",
    "LAYOUT_PARAMETERS",
    "REASON",
    "RECALL_PARAMETERS",
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
# Fields of a filter where there is no query.
FILTER_PARAMETERS: Final = tuple(row for row in FIELDS.values() if row.name != "min_similarity")
LAYOUT_PARAMETERS: Final = (
    Parameter(
        name="explain", kind="flag", flag="--explain", help="Say why each memory was returned."
    ),
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
    inside = ("agent", "artifact_ref", "origin_type")
    rest = {name: value for name, value in given.items() if name not in inside}
    return rest | {"provenance": {name: given[name] for name in inside if name in given}}


COMMIT_PARAMETERS: Final = tuple(
    row
    for row in COMMIT.values()
    if row.name == "content" or (row.flag and row.name not in _PROGRAM_ONLY)
)
