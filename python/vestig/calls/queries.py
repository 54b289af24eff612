"""The calls that look for memories: recall and retrieve."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

from vestig.arguments import LABEL_CHARS_MAX, LIST_ITEMS_MAX, SILENCE_MIN
from vestig.calls.argument import (
    NO_FACTS,
    Facts,
    Flag,
    Ids,
    Integer,
    Keys,
    Label,
    Number,
    Numbers,
    Objects,
    Profile,
    Seed,
    Text,
    Time,
    or_null,
)
from vestig.calls.declaration import (
    WHERE,
    AsOf,
    InNamespace,
    KnownAt,
    QueryTime,
    Request,
    Touch,
    Trace,
    ValidAt,
    given_all,
    not_both,
)
from vestig.calls.filter import NO_FILTER, Filter, Where
from vestig.calls.scope import ScopeName
from vestig.errors import ValidationError, kind_of
from vestig.messages import NEVER_SPOKEN, TEXT_PARTS
from vestig.other_words import by_caller

_TEXT_PART: Final = {
    "type": "object",
    "properties": {"type": {"enum": list(TEXT_PARTS)}, "text": {"type": "string"}},
    "required": ["text"],
}
_OTHER_PART: Final = {
    "type": "object",
    "properties": {"type": {"not": {"enum": list(TEXT_PARTS)}}},
    "required": ["type"],
}
_PARTS: Final = {"anyOf": [{"type": "string"}, _TEXT_PART, _OTHER_PART]}
_CONTENT: Final = {"anyOf": [*_PARTS["anyOf"], {"type": "array", "items": _PARTS}]}
_LABELS: Final = ("role", "author", "author_id", "message_id", "reference_message_id")
# In the place of a query: of all else, nothing is read.
_ASKING: Final = {"author": {"type": ["string", "null"]}}
_SAID: Final[Mapping[str, Any]] = {
    "timestamp": or_null(Time("").schema()),
    **{name: or_null(Label("", chars_max=LABEL_CHARS_MAX).schema()) for name in _LABELS},
}
# One that somebody said.
_SPOKEN: Final = {
    "type": "object",
    "properties": {
        "content": Label("", blank=False).schema(),
        "role": {"type": ["string", "null"], "not": {"enum": list(NEVER_SPOKEN)}},
    },
    "required": ["content"],
}


class Messages(Objects, frozen=True, kw_only=True):
    """A conversation, oldest message first. `asking`: it stands in the place of a query."""

    asking: bool = False

    def schema(self, facts: Facts = NO_FACTS) -> dict[str, Any]:
        properties = {"content": _CONTENT, **(_ASKING if self.asking else _SAID)}
        item = {"type": "object", "properties": properties, "required": ["content"]}
        size = {"minItems": 1, "maxItems": LIST_ITEMS_MAX}
        return {"type": "array", "items": item, "contains": _SPOKEN, **size}


class _Question(Text, frozen=True, kw_only=True):
    """One text that asks."""

    def check(self, field: str, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            hint = by_caller("recall_many takes several", request="call it once for each question")
            raise ValidationError(field, kind_of(value), "text", hint)
        return super().check(field, value)


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
        _Question(
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
    offset: Annotated[int, Integer("Results to skip.", "--offset", least=0, default_text="0")] = 0
    messages: Annotated[
        Any, Messages("A conversation in the place of a query: objects with content.", asking=True)
    ] = None
    query_vector: Annotated[
        Any,
        Numbers(
            "Numbers that stand in for embedding the query, as many as the store's vectors have."
        ),
    ] = None
    silence: Annotated[
        float | None,
        Number(
            "How often a question that nothing stored answers may bring something, 0.02 to 1.",
            "--silence",
            otherwise=("all=True", "--all"),
            least=SILENCE_MIN,
            most=1,
            default_text="recall.silence; 0.2 where a judge read the memories",
        ),
    ] = None
    all: Annotated[
        bool, Flag("Give the best whatever they are: leave none out as no answer.", "--all")
    ] = False
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
            raise ValidationError(
                "budget",
                self.budget,
                by_caller("context=True beside it", "--context beside it"),
                "it bounds the block for a prompt",
            )
        if self.all and self.silence is not None:
            raise ValidationError("silence", self.silence, "either silence or all, not both")


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
        str | None, ScopeName("Only this scope, as where.scope: the spelling of older clients.")
    ] = None
    channel_id: Annotated[str | None, ScopeName("Another spelling of scope.")] = None
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
