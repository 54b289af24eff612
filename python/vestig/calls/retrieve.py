"""Asking for what the end of a conversation needs."""

from typing import Annotated, Any, ClassVar

from vestig.calls.argument import Flag, Integer, Label, Text
from vestig.calls.declaration import Request
from vestig.calls.filter import NO_FILTER, Filter, Where
from vestig.calls.messages import Messages
from vestig.calls.shared import WHERE, AsOf, InNamespace, KnownAt, QueryTime, ValidAt


class RetrieveRequest(Request, frozen=True, kw_only=True):
    """The end of a conversation; None = the configured value."""

    call: ClassVar = "retrieve"

    messages: Annotated[
        Any,
        Messages(
            "The end of a conversation, oldest first: objects with content, and author,"
            " timestamp, message_id where they are known. The last one is to be answered."
        ),
    ]
    where: Annotated[Filter, Where(WHERE, query=True)] = NO_FILTER
    scope: Annotated[
        str | None, Text("Only this scope, as where.scope: the spelling of older clients.")
    ] = None
    channel_id: Annotated[str | None, Text("Another spelling of scope.")] = None
    max_facts: Annotated[
        int | None,
        Integer(
            "Most facts, 1 to 500; default retrieve.max_facts.",
            "--max-facts",
            most=500,
            default_text="retrieve.max_facts, 30",
        ),
    ] = None
    max_messages: Annotated[
        int | None,
        Integer(
            "Most turns of conversations beside them, 1 to 100; default retrieve.max_messages.",
            "--max-messages",
            most=100,
            default_text="retrieve.max_messages, 10",
        ),
    ] = None
    max_iterations: Annotated[
        int | None,
        Integer(
            "Most rounds of searches, 1 to 50; default retrieve.max_iterations.",
            "--max-iterations",
            most=50,
            default_text="retrieve.max_iterations, 10",
        ),
    ] = None
    budget: Annotated[
        int | None,
        Integer(
            "Most tokens of facts and turns together, at least 40; default retrieve.budget.",
            "--budget",
            least=40,
            most=2_147_483_647,
            default_text="retrieve.budget, 700",
        ),
    ] = None
    request_id: Annotated[
        str | None,
        Label(
            "An id of the caller's for the request, at most 128 characters; made when absent.",
            "--request-id",
            chars_max=128,
            blank=False,
        ),
    ] = None
    deadline_ms: Annotated[
        int | None,
        Integer(
            "Milliseconds after which nothing more is begun; default retrieve.deadline_ms.",
            "--deadline-ms",
            most=3600000,
            default_text="retrieve.deadline_ms, 10000",
        ),
    ] = None
    as_of: AsOf = None
    known_at: KnownAt = None
    valid_at: ValidAt = None
    query_time: QueryTime = None
    namespace: InNamespace = None
    debug: Annotated[
        bool, Flag("Add why each fact is there, and the steps that led to it.", "--debug")
    ] = False
