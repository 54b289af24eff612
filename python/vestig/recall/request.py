"""The arguments of `recall`, checked: a query, or a conversation in its place."""

from __future__ import annotations

import array
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgspec

from vestig.arguments import text_argument
from vestig.calls.argument import RANDOM
from vestig.calls.queries import RecallRequest
from vestig.errors import Description, ValidationError, kind_of
from vestig.filters import FilterParts, Moments, filter_parts, moments
from vestig.language.follow_ups import Question, Turn, question_of
from vestig.language.text_forms import normal_form, plain_characters
from vestig.messages import (
    ASSISTANTS,
    NEVER_SPOKEN,
    SPEAKERS,
    only_calls_tools,
    plain_role,
    text_parts,
)
from vestig.ports import is_finite

if TYPE_CHECKING:
    from typing_extensions import Buffer


# The end of a long message holds what it asks for.
MESSAGE_CHARS_MAX: Final = 2_000
_CUT: Final = "..."
_BETWEEN: Final = "\n\n"


class Conversation(NamedTuple):
    """Turns of a conversation, oldest first, at least one, and who said each."""

    turns: tuple[Turn, ...]
    speakers: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return what was said: `speaker: text` after `speaker: text`.

        Example:
            >>> conversation_in([{"author": "Ada", "content": "Where is the key?"}]).text
            'Ada: Where is the key?'
        """
        pairs = zip(self.speakers, self.turns, strict=True)
        return _BETWEEN.join(f"{speaker}: {turn.text}" for speaker, turn in pairs)


def conversation_in(messages: object) -> Conversation:
    """The turns of `messages=[…]`.

    Args:
        messages: objects with `content` (text, or a list of parts) and a
            speaker: `author`, `role`, or `type`. Texts of tools and systems, and turns that only
            call a tool, are left out.

    Raises:
        ValidationError: no list, an entry without text, or no text of a speaker.

    Example:
        >>> conversation_in([{"role": "user", "content": "Where is the key?"}]).turns
        (Turn(text='Where is the key?', assistant=False),)
    """
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise ValidationError("messages", kind_of(messages), "a list of messages")
    turns: list[tuple[str, Turn]] = []
    for at, message in enumerate(messages):
        found = _spoken(message)
        role = message.get("role") if isinstance(message, Mapping) else None
        if role is not None and not isinstance(role, str):
            raise ValidationError(f"messages[{at}].role", kind_of(role), "text, such as user")
        if found is None:
            raise ValidationError(
                f"messages[{at}]", kind_of(message), "an object with a text under content"
            )
        turns += found
    if not turns:
        raise ValidationError(
            "messages", Description("no text"), "at least one entry that somebody said"
        )
    return _of(turns)


def _of(turns: Sequence[tuple[str, Turn]]) -> Conversation:
    return Conversation(tuple(turn for _, turn in turns), tuple(speaker for speaker, _ in turns))


def conversation_of(query: str) -> Conversation | None:
    """The turns of a query that is a JSON or JSONL conversation; None when it is none.

    Example:
        >>> conversation_of('{"role": "user", "content": "Where is the key?"}').text
        'user: Where is the key?'
        >>> conversation_of("where is {the} key?") is None
        True
    """
    text = query.strip()
    if text[:1] not in ("[", "{"):
        return None
    entries = _entries(text)
    if not entries:
        return None
    turns: list[tuple[str, Turn]] = []
    for entry in entries:
        found = _spoken(entry)
        if found is None:
            return None
        turns += found
    return _of(turns) if turns else None


def _entries(text: str) -> list[Any]:
    whole = _decoded(text)
    if isinstance(whole, dict):
        inner = whole.get("messages")
        return inner if isinstance(inner, list) else [whole]
    if isinstance(whole, list):
        return whole
    found = [_decoded(line) for line in text.splitlines() if line.strip()]
    return found if all(isinstance(entry, dict) for entry in found) else []


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _spoken(message: object) -> list[tuple[str, Turn]] | None:
    """The speaker and turn of each block of text; [] where nobody speaks; None for no message."""
    if not isinstance(message, Mapping):
        return None
    inner = message.get("message")
    body: Mapping[Any, Any] = inner if isinstance(inner, Mapping) else message
    role, kind = body.get("role"), message.get("type")
    if isinstance(role, str):
        role = plain_role(role)
    elif role is not None:
        return None
    elif kind in SPEAKERS:
        role = kind
    speaker = _first(message.get("author"), message.get("author_name"), role, "user")
    content = _first(body.get("content"), body.get("text"))
    logged = isinstance(inner, Mapping) or "type" in message
    if content is None:
        # lines of a session log that carry no message, such as summaries
        return [] if logged or only_calls_tools(body) else None
    if role in NEVER_SPOKEN or (role is None and kind is not None):
        return []
    texts = text_parts(content)
    if texts is None or not isinstance(speaker, str):
        return None
    assistant = (role or plain_role(speaker)) in ASSISTANTS
    return [(speaker, Turn(text.strip(), assistant)) for text in texts if text.strip()]


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def ending(text: str) -> str:
    """The text of a question: its last 2000 characters, with leading `...` if cut.

    Example:
        >>> len(ending("x" * 3_000))
        2003
    """
    return text if len(text) <= MESSAGE_CHARS_MAX else _CUT + text[-MESSAGE_CHARS_MAX:]


# Code points of a query that are read: a longer one is a text, and costs what it holds.
QUERY_CHARS_MAX: Final = 4_000
_BITS: Final = 53


def derived_seed(query: str, seq: int) -> int:
    """The seed that a normalised query has at one state of the ledger.

    Example:
        >>> derived_seed("when did we move the build?", 42)
        4550294274369451
    """
    parts = b"\0".join((b"vestig-seed-1", query.encode(), str(seq).encode()))
    return int.from_bytes(hashlib.sha256(parts).digest()[:8], "big") >> (64 - _BITS)


def chosen_seed(
    given: int | str | None, configured: int | None, query: str, seq: int
) -> tuple[int, str]:
    """(seed, where it comes from): call, config, derived or random.

    Example:
        >>> chosen_seed(3, 4, "q", 1), chosen_seed(None, 4, "q", 1)
        ((3, 'call'), (4, 'config'))
    """
    if given == RANDOM:
        return int.from_bytes(os.urandom(8), "big") >> (64 - _BITS), RANDOM
    if isinstance(given, int):
        return given, "call"
    if configured is not None:
        return configured, "config"
    return derived_seed(query, seq), "derived"


# Tokens of a context block.
BUDGET_DEFAULT: Final = 1_000


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A checked call of `recall`.

    `arguments`: those of the call as values that can be read again, for another run of it with
    one of them changed. `query`: as it is read; `asked`: as it was asked, where that differs.
    """

    arguments: RecallRequest
    query: str
    asked: str | None = None
    # what was said in the conversation that the query stands for
    conversation: str | None
    # what asks is a message that says nothing, for which nothing is brought
    says_nothing: bool = False
    query_vector: bytes | None
    limit: int
    offset: int
    namespace: str
    filter: FilterParts
    moments: Moments
    seed: int | str | None
    expect: tuple[str, ...]
    # tokens that the context block may have; None = no block
    budget: int | None
    silence: float | None
    all: bool
    # with `all`, the result has the confidence below which it would have brought nothing
    tells_least: bool = False
    touch: bool
    include_vectors: bool
    trace: bool = False
    warnings: tuple[str, ...]

    @property
    def takes_all(self) -> bool:
        """Return whether all that is found is taken, however sure the store is of it."""
        return self.all and not self.tells_least


def vector_argument(field: str, value: object, dimensions: int) -> bytes:
    """float32 bytes of a caller's vector: finite and of the store's length. A buffer of float32
    values, such as an array, is taken as it is; other numbers are rounded to it."""
    if isinstance(value, (str, Mapping)):
        raise ValidationError(field, kind_of(value), f"{dimensions} numbers")
    if isinstance(value, (bytes, bytearray)):
        if len(value) % 4:
            raise ValidationError(
                field, Description(f"{len(value)} bytes"), f"{dimensions} float32 values"
            )
        numbers = bytes(value)
    else:
        numbers = _float32(field, value, dimensions)
    if len(numbers) != 4 * dimensions:
        raise ValidationError(
            field, Description(f"{len(numbers) // 4} values"), f"{dimensions} values"
        )
    if not is_finite(numbers):
        raise ValidationError(field, Description("NaN or infinity"), "finite numbers")
    return numbers


def _float32(field: str, value: object, dimensions: int) -> bytes:
    with suppress(TypeError, ValueError, BufferError):
        view = memoryview(cast("Buffer", value))
        if view.format == "f" and view.ndim == 1:
            return view.tobytes()
    try:
        return array.array("f", cast("Iterable[float]", value)).tobytes()
    except (TypeError, ValueError, OverflowError):
        raise ValidationError(field, kind_of(value), f"{dimensions} numbers") from None


def as_stored(text: str) -> str:
    """A text that is asked, in the Unicode form in which texts are stored.

    Example:
        >>> as_stored("cafe\u0301?") == "caf\u00e9?"
        True
    """
    return text if text.isascii() else normal_form(text, single_spaces=False)


def query_argument(value: object) -> tuple[str, tuple[str, ...]]:
    """Return the query in the Unicode form in which it is read, cut to `QUERY_CHARS_MAX` code
    points with a warning."""
    query = plain_characters(as_stored(text_argument("query", value)))
    if not query.strip():
        raise ValidationError("query", Description("blank text"), "a question or some words")
    if len(query) <= QUERY_CHARS_MAX:
        return query, ()
    warning = f"the query was cut to its first {QUERY_CHARS_MAX} characters"
    return query[:QUERY_CHARS_MAX], (warning,)


def _conversation(arguments: RecallRequest) -> Conversation | None:
    """Return the conversation that stands in the place of a query; None = a query."""
    if arguments.messages is not None:
        if arguments.query is not None:
            raise ValidationError(
                "messages", Description("both"), "exactly one of query and messages"
            )
        return conversation_in(arguments.messages)
    if arguments.query is None:
        if arguments.query_vector is not None:
            return None
        raise ValidationError(
            "query", None, "exactly one of query and messages, or a query_vector alone"
        )
    return conversation_of(text_argument("query", arguments.query))


_NOTHING_ASKED: Final = ("the last message asks nothing: all=True brings the nearest memories",)


def check_request(
    arguments: RecallRequest,
    *,
    now_us: int,
    limit_default: int,
    namespace: str,
    include_expired: bool,
    dimensions: int,
) -> Request:
    """Checks everything before any work is done.

    Raises:
        ValidationError: names the field, its value and what is allowed.
    """
    conversation = _conversation(arguments)
    question: Question | None = None
    text = arguments.query
    if conversation is not None:
        question = question_of(conversation.turns)
        text = ending(question.text)
    silent = question is not None and question.says_nothing and not arguments.all
    # a vector alone is a query without words
    query, warnings = ("", ()) if text is None else query_argument(text)
    request = arguments
    asked = None if text is None else as_stored(text)[:QUERY_CHARS_MAX]
    if text is not None and arguments.query is not query:
        request = msgspec.structs.replace(arguments, query=query, messages=None)
    if request.namespace is not None:
        namespace = request.namespace
    at = moments(
        now_us,
        as_of=request.as_of,
        known_at=request.known_at,
        valid_at=request.valid_at,
        query_time=request.query_time,
    )
    vector = request.query_vector
    return Request(
        arguments=request,
        query=query,
        asked=None if asked == query else asked,
        conversation=None if conversation is None else conversation.text,
        says_nothing=silent,
        query_vector=None
        if vector is None
        else vector_argument("query_vector", vector, dimensions),
        limit=request.offset + (limit_default if request.limit is None else request.limit),
        offset=request.offset,
        namespace=namespace,
        filter=filter_parts(request.where, namespace, at, include_expired=include_expired),
        moments=at,
        seed=request.seed,
        expect=request.expect,
        budget=(request.budget or BUDGET_DEFAULT) if request.context else None,
        silence=request.silence,
        all=request.all,
        touch=request.touch,
        include_vectors=request.include_vectors,
        trace=request.trace,
        warnings=warnings + at.warnings + (_NOTHING_ASKED if silent else ()),
    )
