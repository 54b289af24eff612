"""The arguments of `recall`, checked."""

from __future__ import annotations

import array
import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import msgspec

from vestig.arguments import (
    as_integer,
    as_number,
    count_argument,
    flag_argument,
    parse_time,
    text_argument,
)
from vestig.errors import ValidationError
from vestig.filters import NO_FILTER, Filter, FilterParts, Moments, filter_parts, moments
from vestig.ids import check_id_prefix, check_namespace
from vestig.ports import is_finite
from vestig.recall.conversation import conversation_text, ending, messages_text
from vestig.times import from_us

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "SEED_MAX",
    "Cut",
    "RecallRequest",
    "Request",
    "Seed",
    "check_request",
    "chosen_seed",
    "derived_seed",
    "query_argument",
    "seed_argument",
]

# Code points of a query that are read: a longer one is a text, and costs what it holds.
QUERY_CHARS_MAX: Final = 4_000
# What a double holds exactly.
SEED_MAX: Final = 2**53 - 1
_BITS: Final = 53
RANDOM: Final = "random"

# From which score on results are kept; auto: from a share of the best one's. None = all are.
Cut = float | Literal["auto"] | None

# A number, or `random` for one of the operating system; None = not given.
Seed = int | Literal["random"] | None


def seed_argument(value: object) -> Seed:
    """The argument `seed` checked. A number written as text counts, as command lines have it.

    Example:
        >>> seed_argument(7), seed_argument("7"), seed_argument("random")
        (7, 7, 'random')
    """
    if value is None:
        return None
    if value == RANDOM:
        return "random"
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 16:
        value = int(value)
    number = as_integer(value)
    if number is None or not 0 <= number <= SEED_MAX:
        raise ValidationError("seed", value, f"an integer from 0 to {SEED_MAX}, or random")
    return number


def cut_argument(value: object) -> Cut:
    """The argument `cut` checked. A number written as text counts, as command lines have it.

    Example:
        >>> cut_argument("auto"), cut_argument("0.5"), cut_argument(None)
        ('auto', 0.5, None)
    """
    if value is None:
        return None
    if value == "auto":
        return "auto"
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value)
    number = as_number(value)
    if number is None or not 0 <= number <= 1:
        raise ValidationError("cut", value, "auto, or a number from 0 to 1")
    return float(number)


def derived_seed(query: str, seq: int) -> int:
    """The seed that a normalised query has at one state of the ledger.

    Example:
        >>> derived_seed("when did we move the build?", 42)
        4550294274369451
    """
    parts = b"\0".join((b"vestig-seed-1", query.encode(), str(seq).encode()))
    return int.from_bytes(hashlib.sha256(parts).digest()[:8], "big") >> (64 - _BITS)


def chosen_seed(given: Seed, configured: int | None, query: str, seq: int) -> tuple[int, str]:
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


class RecallRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `recall`; None = absent. `where` is a checked filter."""

    query: Any = None
    messages: Any = None
    query_vector: Any = None
    where: Filter = NO_FILTER
    limit: Any = None
    namespace: Any = None
    min_confidence: Any = None
    cut: Any = None
    as_of: Any = None
    known_at: Any = None
    valid_at: Any = None
    query_time: Any = None
    seed: Any = None
    expect: Any = None
    context: Any = False
    budget: Any = None
    touch: Any = False
    include_vectors: Any = False
    trace: Any = False


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A checked call of `recall`.

    `arguments`: those of the call as values that can be read again, for another run of it with
    one of them changed.
    """

    arguments: RecallRequest
    query: str
    # what was said in the conversation that the query stands for
    conversation: str | None
    query_vector: bytes | None
    limit: int
    namespace: str
    filter: FilterParts
    moments: Moments
    seed: Seed
    expect: tuple[str, ...]
    # tokens that the context block may have; None = no block
    budget: int | None
    min_confidence: float | None
    cut: Cut
    touch: bool
    include_vectors: bool
    trace: bool = False
    warnings: tuple[str, ...]


def vector_argument(field: str, value: object, dimensions: int) -> bytes:
    """float32 bytes of a caller's vector: finite and of the store's length. A buffer of float32
    values, such as an array, is taken as it is; other numbers are rounded to it."""
    if isinstance(value, (str, Mapping)):
        raise ValidationError(field, type(value).__name__, f"{dimensions} numbers")
    if isinstance(value, (bytes, bytearray)):
        if len(value) % 4:
            raise ValidationError(field, f"{len(value)} bytes", f"{dimensions} float32 values")
        numbers = bytes(value)
    else:
        numbers = _float32(field, value, dimensions)
    if len(numbers) != 4 * dimensions:
        raise ValidationError(field, f"{len(numbers) // 4} values", f"{dimensions} values")
    if not is_finite(numbers):
        raise ValidationError(field, "NaN or infinity", "finite numbers")
    return numbers


def _float32(field: str, value: object, dimensions: int) -> bytes:
    with suppress(TypeError, ValueError, BufferError):
        view = memoryview(cast("Buffer", value))
        if view.format == "f" and view.ndim == 1:
            return view.tobytes()
    try:
        return array.array("f", cast("Iterable[float]", value)).tobytes()
    except (TypeError, ValueError, OverflowError):
        raise ValidationError(field, type(value).__name__, f"{dimensions} numbers") from None


def _ids(field: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = [value]
    return tuple(check_id_prefix(field, item, "mem") for item in value)


def query_argument(value: object) -> tuple[str, tuple[str, ...]]:
    """Return the query, cut to `QUERY_CHARS_MAX` code points with a warning."""
    query = text_argument("query", value)
    if not query.strip():
        raise ValidationError("query", "blank text", "a question or some words")
    if len(query) <= QUERY_CHARS_MAX:
        return query, ()
    warning = f"the query was cut to its first {QUERY_CHARS_MAX} characters"
    return query[:QUERY_CHARS_MAX], (warning,)


def _conversation(arguments: RecallRequest) -> str | None:
    """What was said in the conversation that stands in the place of a query; None = a query."""
    if arguments.messages is not None:
        if arguments.query is not None:
            raise ValidationError("messages", "both", "exactly one of query and messages")
        return messages_text(arguments.messages)
    if arguments.query is None:
        if arguments.query_vector is not None:
            return None
        raise ValidationError(
            "query", None, "exactly one of query and messages, or a query_vector alone"
        )
    return conversation_text(text_argument("query", arguments.query))


_TIMES: Final = (
    "as_of",
    "known_at",
    "valid_at",
    "query_time",
)


def _budget(arguments: RecallRequest) -> int | None:
    """How many tokens the context block may have; None without a block."""
    budget = arguments.budget
    if not flag_argument("context", arguments.context):
        if budget is not None:
            raise ValidationError("budget", budget, "a budget beside context=True")
        return None
    return BUDGET_DEFAULT if budget is None else count_argument("budget", budget)


def _confidence(value: object) -> float | None:
    """The least confidence at which recall does not abstain."""
    if value is None:
        return None
    number = as_number(value)
    if number is None or not 0 <= number <= 1:
        raise ValidationError("min_confidence", value, "a number from 0 to 1")
    return float(number)


def _readable_again(request: RecallRequest, query: str | None) -> RecallRequest:
    """The arguments as values that can be read more than once and written as JSON: the query that
    is used, times as moments, sets and iterables as tuples."""
    if (
        request.query is query
        and request.as_of is request.known_at is request.valid_at is request.query_time is None
        and request.expect is None
    ):
        return request
    fields: dict[str, Any] = {}
    if request.query is not query:
        fields = {"query": query, "messages": None}
    for name in _TIMES:
        given = getattr(request, name)
        if given is not None:
            fields[name] = from_us(parse_time(given, name))
    if request.expect is not None:
        fields["expect"] = _ids("expect", request.expect)
    return msgspec.structs.replace(request, **fields) if fields else request


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
    if arguments.cut is None and arguments.context is True:
        # what belongs to no answer takes room from what does
        arguments = msgspec.structs.replace(arguments, cut="auto")
    conversation = _conversation(arguments)
    text = arguments.query if conversation is None else ending(conversation)
    # a vector alone is a query without words
    query, warnings = ("", ()) if text is None else query_argument(text)
    request = _readable_again(arguments, None if text is None else query)
    if request.namespace is not None:
        namespace = check_namespace(request.namespace)
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
        conversation=conversation,
        query_vector=None
        if vector is None
        else vector_argument("query_vector", vector, dimensions),
        limit=limit_default if request.limit is None else count_argument("limit", request.limit),
        namespace=namespace,
        filter=filter_parts(request.where, namespace, at, include_expired=include_expired),
        moments=at,
        seed=seed_argument(request.seed),
        expect=() if request.expect is None else request.expect,
        budget=_budget(request),
        min_confidence=_confidence(request.min_confidence),
        cut=cut_argument(request.cut),
        touch=flag_argument("touch", request.touch),
        include_vectors=flag_argument("include_vectors", request.include_vectors),
        trace=flag_argument("trace", request.trace),
        warnings=warnings + at.warnings,
    )
