"""Arguments of commit and update are checked before anything else."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each
from vestig.arguments import parse_time
from vestig.calls.commit import CommitRequest, UpdateRequest, commit_request
from vestig.calls.declaration import checked, rows_of
from vestig.errors import ValidationError
from vestig.types import OriginType, Stability

ID = "mem_01234567-89ab-4cde-8f01-23456789abcd"


def valid(**fields: Any) -> CommitRequest:
    return commit_request({"content": "Deploys run on Fridays"} | fields, "team")


def test_absent_arguments_have_defaults() -> None:
    request = valid()
    assert (request.source, request.namespace, request.scope) == ("manual", "team", None)
    assert request.tags is request.metadata is None
    assert request.retention_policy is request.on_near_dup is None
    assert (request.origin, request.origin_type) == (OriginType.NOTE, None)
    assert request.temporal_stability is None
    assert (request.pinned, request.strict, request.dry_run, request.enrich) == (
        *(False, False, False),
        None,
    )


def test_empty_values_are_not_absent() -> None:
    request = valid(tags=[], metadata={}, author="", sequence=0, enrich=False)
    assert (request.tags, request.metadata) == ((), {})
    assert (request.author, request.sequence) == ("", 0)
    assert request.enrich is False


def test_values_become_plain_and_times_microseconds() -> None:
    request = valid(
        tags=("b", "a", "b"),
        metadata={"n": (1, 2.5, None, True), "o": {"k": "v"}},
        t_valid=date(2026, 1, 5),
        t_invalid=datetime(2026, 2, 1, tzinfo=UTC),
        t_ref="2026-01-06T10:00:00+01:00",
        origin_type="document",
        temporal_stability="static",
        retention_policy="permanent",
        on_near_dup="insert",
        supersedes=[ID, ID],
        keywords=["Alpha", "beta"],
        namespace="a.b-c_9",
        role="user",
    )
    assert request.tags == ("b", "a")
    assert request.metadata == {"n": [1, 2.5, None, True], "o": {"k": "v"}}
    assert request.t_valid == parse_time("2026-01-05", "t")
    assert request.t_ref == parse_time("2026-01-06T09:00Z", "t")
    assert request.origin is request.origin_type is OriginType.DOCUMENT
    assert request.temporal_stability is Stability.STATIC
    assert request.supersedes == (ID,)
    assert (request.namespace, request.role) == ("a.b-c_9", "user")


def test_metadata_is_a_copy() -> None:
    given_by_caller: dict[str, Any] = {"list": [1]}
    request = valid(metadata=given_by_caller)
    given_by_caller["list"].append(2)
    assert request.metadata == {"list": [1]}


DEEP: dict[str, Any] = {}
node = DEEP
for _ in range(50):
    node["x"] = {}
    node = node["x"]
CYCLE: list[Any] = []
CYCLE.append(CYCLE)

BAD: list[tuple[dict[str, Any], str]] = [
    ({"tag": ["a"]}, "did you mean tags?"),
    ({"t_vaild": "2026-01-01"}, "did you mean t_valid?"),
    ({"entites": []}, "did you mean entities?"),
    ({"entities": 5}, "a list of names or objects"),
    ({"hypothetical_queries": {"Why?"}}, "a list of questions"),
    ({"source": ""}, "source"),
    ({"source": "x" * 65}, "at most 64"),
    ({"source": 3}, "source"),
    ({"namespace": ""}, "namespace"),
    ({"namespace": "Team"}, "a-z 0-9"),
    ({"namespace": "n" * 65}, "64 characters"),
    ({"namespace": "a b"}, "namespace"),
    ({"scope": "x" * 201}, "at most 200"),
    ({"scope": 5}, "scope"),
    ({"scope": "a\0b"}, "NUL"),
    ({"scope": "\udc80"}, "lone surrogate"),
    ({"tags": 5}, "a list of texts"),
    ({"tags": [""]}, r"tags\[0\]"),
    ({"tags": ["a", 1]}, r"tags\[1\]"),
    ({"tags": {"a"}}, "a list of texts"),
    ({"tags": [" "]}, "not blank"),
    ({"metadata": []}, "metadata"),
    ({"metadata": {"source": "x"}}, "use the argument source"),
    ({"metadata": {"tags": []}}, "use the argument tags"),
    ({"metadata": {1: "x"}}, "name of every value"),
    ({"metadata": {"a": float("nan")}}, "metadata.a: expected a finite number"),
    ({"metadata": {"a": {"b": [float("inf")]}}}, r"metadata.a.b\[0\]"),
    ({"metadata": {"a": b"x"}}, "a JSON value"),
    ({"metadata": {"a": datetime(2026, 1, 1)}}, "a JSON value"),
    ({"metadata": {"a": 2**64}}, "64 bits"),
    ({"metadata": {"a": "\ud800"}}, "lone surrogate"),
    ({"metadata": DEEP}, "levels of nesting"),
    ({"metadata": {"a": CYCLE}}, "levels of nesting"),
    ({"metadata": {"a": "x" * 70_000}}, "65536 bytes"),
    ({"author": ["Dana"]}, "author"),
    ({"actor": 1.5}, "actor"),
    ({"agent": True}, "agent"),
    ({"session_id": 7}, "session_id"),
    ({"title": b"t"}, "title"),
    ({"artifact_ref": "x" * 5000}, "artifact_ref"),
    ({"sequence": -1}, "an integer from 0 to"),
    ({"sequence": 1.0}, "an integer from 0 to"),
    ({"sequence": True}, "an integer from 0 to"),
    ({"sequence": 2**63}, "an integer from 0 to"),
    ({"role": "robot"}, "user, assistant, tool, system"),
    ({"role": 1}, "one of user"),
    ({"origin_type": "docment"}, "did you mean document?"),
    ({"temporal_stability": "stable"}, "static, dynamic, ephemeral, unknown"),
    ({"trigger": "solved"}, "problem-solution"),
    ({"retention_policy": "forever"}, "permanent, decision, standard, ephemeral, session"),
    ({"on_near_dup": "merge"}, "reinforce, link, insert"),
    ({"t_valid": "soon"}, "t_valid"),
    ({"t_ref": 12345}, "t_ref"),
    ({"t_invalid": "2026-02-30"}, "t_invalid"),
    ({"t_valid": "2026-02-01", "t_invalid": "2026-01-01"}, "t_invalid: expected a time from"),
    ({"t_ref": "2026-02-01", "t_invalid": "2026-01-01"}, "t_invalid: expected a time from"),
    ({"retention_until": "never"}, "retention_until"),
    ({"pinned": 1}, "true or false"),
    ({"strict": "no"}, "true or false"),
    ({"dry_run": 0}, "true or false"),
    ({"enrich": 1}, "true or false"),
    ({"supersedes": {ID}}, "a list of memory ids"),
    ({"supersedes": "Ada"}, r"supersedes\[0\]"),
    ({"supersedes": ["mem_1"]}, r"supersedes\[0\]"),
    ({"supersedes": [None]}, r"supersedes\[0\]"),
    ({"keywords": 5}, "a list of texts"),
    ({"on_commit": "print"}, "a function"),
]


@each(("fields", "message"), BAD)
def test_bad_arguments_are_refused_by_name(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        valid(**fields)


def test_content_is_required() -> None:
    with pytest.raises(ValidationError, match="content"):
        commit_request({"source": "hook"}, "team")


def test_fields_of_an_update_are_checked() -> None:
    given = {"id": ID, "scope": None, "t_invalid": "1970-01-01", "trigger": "Learning-Failure"}
    request = checked(UpdateRequest, given | {"clear": ["tags"]})
    assert (request.scope, request.t_invalid, request.trigger) == (None, 0, "learning-failure")
    assert request.clear == ("tags",)
    for fields, message in (
        ({"scop": "x"}, "update has no argument scop; did you mean scope"),
        ({"metadata": {"tags": []}}, "metadata"),
        ({"retention_policy": "x"}, "retention_policy"),
        ({"clear": "content"}, "clear"),
    ):
        with pytest.raises(ValidationError, match=message):
            checked(UpdateRequest, {"id": ID, **fields})


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = list(rows_of(CommitRequest))


@given(st.sampled_from(NAMES), ANYTHING)
def test_any_value_is_taken_or_refused(name: str, value: Any) -> None:
    """Nothing but ValidationError ever comes out, and it names the field."""
    try:
        valid(**{name: value})
    except ValidationError as error:
        assert error.field.startswith(name)  # noqa: PT017
