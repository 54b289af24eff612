"""What schemathesis needs to send lines of JSON, and what no schema can say of a request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import schemathesis
from hypothesis import strategies as st

SPANS = (
    ("since", "until"),
    ("created_since", "created_until"),
    ("t_valid", "t_invalid"),
    ("start", "end"),
)
# What texts have to say is no matter of a schema: memories, conditions of rules.
SAID = {
    **dict.fromkeys(
        ("content", "text", "topic", "context", "decisions", "rationale"),
        "The lift stops at floor two",
    ),
    **dict.fromkeys(("when", "unless"), 'command ~ "lift *"'),
}
FAR = "9998-12-31T23:00:00Z"
# A document has no schema for what stands between the ends of lines, nor for a table.
LINES = st.lists(
    st.fixed_dictionaries(
        {"content": st.from_regex(r"[a-z]{4,9}( [a-z]{2,9}){3,9}", fullmatch=True)},
        optional={"author": st.sampled_from(["Ann", "Omar"]), "t_valid": st.just("2026-03-18")},
    ),
    min_size=1,
    max_size=5,
).map(lambda rows: "".join(json.dumps(row) + "\n" for row in rows).encode())

for kind in ("application/x-ndjson", "application/jsonl"):
    schemathesis.openapi.media_type(kind, LINES)

TABLE = st.lists(
    st.from_regex(r"[a-z]{4,9}( [a-z]{2,9}){3,9}", fullmatch=True), min_size=1, max_size=5
).map(lambda rows: "\n".join(("content", *rows)).encode())
schemathesis.openapi.media_type("text/csv", TABLE)


@schemathesis.serializer("application/x-ndjson", "application/jsonl", "text/csv")
def as_text(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.hook
def map_case(_: Any, case: Any) -> Any:
    """Moves the end of each span behind its beginning, which is now where nothing is said."""
    query = case.query or {}
    where = query.get("where")
    if isinstance(where, str):
        found = json.loads(where)
        query["where"] = json.dumps(_in_order(found))
    elif where is not None:
        query["where"] = _in_order(where)
    if query:
        case.query = _in_order(query)
    if isinstance(case.body, Mapping):
        case.body = _saying_something(_in_order(case.body))
        if isinstance(case.body.get("where"), Mapping):
            case.body["where"] = _in_order(case.body["where"])
    return case


def _saying_something(given: Any) -> Any:
    return {**given, **{name: text for name, text in SAID.items() if given.get(name)}}


def _in_order(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    ends = [last for _, last in SPANS if re.match(r"\d{4}-", str(given.get(last)))]
    return {**given, **dict.fromkeys(ends, FAR)}


@schemathesis.hook
def filter_case(_: Any, case: Any) -> bool:
    """Drops requests that are refused for how two values are to each other: a node that is linked
    with itself, a scope that has two names, a field that is cleared and set, of a file that is no
    export what only an export can be, a deletion of items that selects none, and the id of a memory
    from an answer as that of an entity."""
    body = case.body if isinstance(case.body, Mapping) else {}
    query = case.query or {}
    where = body.get("where") if isinstance(body.get("where"), Mapping) else {}
    scopes = (where.get("scope"), body.get("channel_id"), body.get("scope"))
    if case.operation.path.endswith("/retrieve") and len([one for one in scopes if one]) > 1:
        return False
    if case.operation.path.endswith("/import") and (query.get("merge") or query.get("partial")):
        return False
    if case.operation.path.endswith("/update"):
        cleared = body.get("clear") or ()
        names = [cleared] if isinstance(cleared, str) else cleared
        return all(body.get(name) is None for name in names)
    if "/entity/" in case.operation.path:
        given = (*query.values(), *body.values())
        return not any(str(one).startswith("mem_") for one in given)
    if case.operation.path.endswith("/item/delete"):
        return any(body.get(name) for name in ("keys", "scope", "scope_prefix"))
    return not ("from_id" in body and body["from_id"] == body.get("to_id"))
