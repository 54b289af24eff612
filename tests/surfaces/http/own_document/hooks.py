"""What schemathesis needs to send lines of JSON, and what no schema can say of a request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import schemathesis
from hypothesis import strategies as st

SPANS = (("since", "until"), ("created_since", "created_until"), ("t_valid", "t_invalid"))
# A document has no schema for what stands between the ends of lines.
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


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def as_text(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.hook
def filter_case(_: Any, case: Any) -> bool:
    """Drops requests that are refused for how two values are to each other: the ends of a span in
    the wrong order, a node that is linked with itself."""
    body = case.body if isinstance(case.body, Mapping) else {}
    query = case.query or {}
    parts = (body, body.get("where"), query.get("where"))
    for part in parts:
        if isinstance(part, Mapping) and any(set(span) <= set(part) for span in SPANS):
            return False
    return not ("from_id" in body and body["from_id"] == body.get("to_id"))
