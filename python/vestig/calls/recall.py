"""Asking for the memories that answer a question."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from vestig.calls.argument import (
    Cut,
    Flag,
    Ids,
    Integer,
    Keys,
    Number,
    Numbers,
    Profile,
    Seed,
    Text,
)
from vestig.calls.declaration import Request, given_all, not_both
from vestig.calls.filter import NO_FILTER, Filter, Where
from vestig.calls.messages import Messages
from vestig.calls.shared import (
    WHERE,
    AsOf,
    InNamespace,
    KnownAt,
    QueryTime,
    Touch,
    Trace,
    ValidAt,
)
from vestig.errors import ValidationError


class RecallRequest(Request, frozen=True, kw_only=True):
    """A question to the store; times are microseconds since the epoch, None = absent."""

    call: ClassVar = "recall"
    rules: ClassVar = (
        {"anyOf": [given_all(name) for name in ("query", "messages", "query_vector")]},
        not_both("query", "messages"),
        {
            "anyOf": [
                {"properties": {"budget": {"type": "null"}}},
                {"required": ["context"], "properties": {"context": {"const": True}}},
            ]
        },
    )

    query: Annotated[
        str | None,
        Text(
            "The question, or words; a JSON or JSONL conversation stands for its end.",
            blank=False,
            stdin=True,
        ),
    ] = None
    where: Annotated[Filter, Where(WHERE, query=True, beside=True)] = NO_FILTER
    limit: Annotated[
        int | None,
        Integer(
            "Most results; default recall.default_limit.",
            "--limit",
            default_text="recall.default_limit, 5",
        ),
    ] = None
    messages: Annotated[
        Any, Messages("A conversation in the place of a query: objects with content.", asking=True)
    ] = None
    query_vector: Annotated[
        Any,
        Numbers(
            "Numbers that stand in for embedding the query, as many as the store's vectors have."
        ),
    ] = None
    min_confidence: Annotated[
        float | None,
        Number(
            "From 0 to 1: where the store is less sure that it holds an answer, nothing is given"
            " but the nearest misses.",
            "--min-confidence",
            least=0,
            most=1,
        ),
    ] = None
    cut: Annotated[
        float | Literal["auto"] | None,
        Cut(
            'Keep only what has this score at least, 0 to 1; "auto": what comes near the best.',
            "--cut",
            default_text="auto with context, else all",
        ),
    ] = None
    profile: Annotated[
        str | None, Profile("A recall profile in place of the store's.", "--profile")
    ] = None
    namespace: InNamespace = None
    as_of: AsOf = None
    known_at: KnownAt = None
    valid_at: ValidAt = None
    query_time: QueryTime = None
    seed: Annotated[
        int | str | None,
        Seed(
            'Seed of the walk, 0 to 9007199254740991, or "random"; default from query and state.',
            "--seed",
        ),
    ] = None
    config: Annotated[
        Mapping[str, Any] | None,
        Keys("Keys of the configuration for this call, of ranking and layout."),
    ] = None
    expect: Annotated[
        tuple[str, ...],
        Ids(
            "Ids expected in the result: for those missing, why, and what would bring them in.",
            "--expect",
            unordered=True,
        ),
    ] = ()
    context: Annotated[
        bool,
        Flag(
            "Add what was found as one block of text for a prompt, by session and time.",
            "--context",
        ),
    ] = False
    budget: Annotated[
        int | None, Integer("Most tokens of that block.", "--budget", default_text="1000")
    ] = None
    touch: Touch = False
    include_vectors: Annotated[bool, Flag("Give each result its stored vector.")] = False
    trace: Trace = False

    def __post_init__(self) -> None:
        if self.budget is not None and not self.context:
            raise ValidationError("budget", self.budget, "a budget beside context=True")
