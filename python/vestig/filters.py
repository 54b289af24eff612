"""The filters of `recall`, checked and made plain."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from vestig.arguments import parse_time, required_choice
from vestig.errors import ValidationError
from vestig.types import Kind, OriginType, Role, Word

__all__ = [
    "FilterParts",
    "Moments",
    "RecallRequest",
    "build_filter",
    "count_argument",
    "flag_argument",
    "moments",
    "scopes_argument",
    "text_argument",
    "texts_argument",
]

# The last moment that can be written.
FAR_FUTURE_US: Final = 253_402_300_799_999_999
_MODES: Final = ("any", "all")
# More than any store holds; what is above means the same.
_COUNT_MAX: Final = 2**40


class RecallRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of `recall`; None = not asked for, except `scope` where None = unscoped."""

    query: Any = None
    messages: Any = None
    query_vector: Any = None
    limit: Any = None
    namespace: Any = None
    scope: Any = UNSET
    kinds: Any = None
    tags: Any = None
    tags_mode: Any = "any"
    sources: Any = None
    actors: Any = None
    authors: Any = None
    roles: Any = None
    session_ids: Any = None
    origin_types: Any = None
    entities: Any = None
    metadata: Any = None
    since: Any = None
    until: Any = None
    created_since: Any = None
    created_until: Any = None
    include_expired: Any = None
    include_archived: Any = False
    exclude_ids: Any = None
    ids: Any = None
    min_similarity: Any = None
    min_confidence: Any = None
    as_of: Any = None
    known_at: Any = None
    valid_at: Any = None
    query_time: Any = None
    seed: Any = None
    mode: Any = None
    order: Any = None
    expect: Any = None
    receipt: Any = False
    context: Any = False
    budget: Any = None
    touch: Any = False
    include_vectors: Any = False


class Moments(msgspec.Struct, frozen=True, kw_only=True):
    """The times a read stands at. `past` = K was given and lies before now; otherwise K
    is the far future."""

    known_at_us: int
    valid_at_us: int | None
    query_time_us: int
    past: bool
    as_of_given: int | None
    known_at_given: int | None
    valid_at_given: int | None
    warnings: tuple[str, ...]


class FilterParts(msgspec.Struct, frozen=True, kw_only=True):
    """A checked filter. `columns` are keyword arguments of `_core.Filter` (codes, µs), which the
    core decides by itself; of the rest (`entities`: ids or names) only the ledger knows the ids."""

    namespace: str
    columns: dict[str, Any]
    metadata: dict[str, Any] | None
    ids: tuple[str, ...] | None
    exclude_ids: tuple[str, ...]
    entities: tuple[str, ...] | None
    moments: Moments


def count_argument(field: str, value: object, *, least: int = 1) -> int:
    """An integer >= `least`; true is no integer. More than any store holds is fine, and is
    cut to a number that every layer can hold.

    Example:
        >>> count_argument("limit", 5)
        5
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValidationError(field, value, f"an integer >= {least}")
    return min(value, _COUNT_MAX)


def flag_argument(field: str, value: object) -> bool:
    """true or false, nothing that merely counts as one.

    Example:
        >>> flag_argument("touch", False)
        False
    """
    if not isinstance(value, bool):
        raise ValidationError(field, value, "true or false")
    return value


def text_argument(field: str, value: object) -> str:
    """A text that can be written as UTF-8."""
    if not isinstance(value, str):
        raise ValidationError(field, type(value).__name__, "text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValidationError(field, "…", "text without lone surrogates") from None
    return value


def texts_argument(field: str, value: object) -> list[str]:
    """One text, or a list of them."""
    if isinstance(value, str):
        return [text_argument(field, value)]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [text_argument(field, item) for item in value]
    raise ValidationError(field, type(value).__name__, "text or a list of texts")


def _codes(field: str, value: object, choices: type[Word]) -> list[int]:
    """Positions of the named members among `choices`."""
    codes = [member.value for member in choices]
    return [codes.index(choice.value) for choice in _choices(field, value, choices)]


def _choices(field: str, value: object, choices: type[Word]) -> list[Word]:
    return [required_choice(field, word, choices) for word in texts_argument(field, value)]


def scopes_argument(value: object) -> list[str | None] | None:
    """UNSET = all scopes; None = unscoped only; text, or a list of texts and None."""
    if isinstance(value, UnsetType):
        return None
    if value is None:
        return [None]
    if isinstance(value, (list, tuple)):
        return [None if item is None else text_argument("scope", item) for item in value]
    return [text_argument("scope", value)]


def moments(
    now_us: int,
    *,
    as_of: object = None,
    known_at: object = None,
    valid_at: object = None,
    query_time: object = None,
) -> Moments:
    """K, V and the query time of a read."""
    if as_of is not None and (known_at is not None or valid_at is not None):
        other = "known_at" if known_at is not None else "valid_at"
        raise ValidationError("as_of", as_of, f"either as_of or {other}, not both")
    given_as_of = None if as_of is None else parse_time(as_of, "as_of")
    given_known = None if known_at is None else parse_time(known_at, "known_at")
    given_valid = None if valid_at is None else parse_time(valid_at, "valid_at")
    wanted = given_as_of if given_as_of is not None else given_known
    warnings: tuple[str, ...] = ()
    if wanted is not None and wanted > now_us:
        name = "as_of" if given_as_of is not None else "known_at"
        warnings = (f"{name} lies in the future: answered as of now",)
    # Now means "all that is recorded", even where the clock is behind the ledger's times.
    known = FAR_FUTURE_US if wanted is None or wanted >= now_us else wanted
    valid = given_as_of if given_as_of is not None else given_valid
    at = min(known, now_us) if query_time is None else parse_time(query_time, "query_time")
    return Moments(
        known_at_us=known,
        valid_at_us=valid,
        query_time_us=at,
        past=wanted is not None and wanted < now_us,
        as_of_given=given_as_of,
        known_at_given=given_known,
        valid_at_given=given_valid,
        warnings=warnings,
    )


def _window(request: RecallRequest, first: str, last: str) -> tuple[int | None, int | None]:
    low, high = getattr(request, first), getattr(request, last)
    start = None if low is None else parse_time(low, first)
    end = None if high is None else parse_time(high, last)
    if start is not None and end is not None and start >= end:
        raise ValidationError(first, low, f"a time before {last}")
    return start, end


def _similarity(value: object) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not -1.0 <= float(value) <= 1.0:  # type: ignore[arg-type]
        raise ValidationError("min_similarity", value, "a number from -1 to 1")
    return float(value)  # type: ignore[arg-type]


_MEMBERSHIP: Final = (
    ("sources", "sources"),
    ("actors", "actors"),
    ("authors", "authors"),
    ("roles", "roles"),
    ("session_ids", "session_ids"),
)


def build_filter(request: RecallRequest, namespace: str, at: Moments) -> dict[str, Any]:
    """Keyword arguments of `_core.Filter`; only what was asked for."""
    chosen: dict[str, Any] = {"namespace": namespace, "known_at_us": at.known_at_us}
    if at.past:
        chosen["past"] = True
    if at.valid_at_us is not None:
        chosen["valid_at_us"] = at.valid_at_us
    scopes = scopes_argument(request.scope)
    if scopes is not None:
        chosen["scopes"] = scopes
    if request.kinds is not None:
        chosen["kinds"] = _codes("kinds", request.kinds, Kind)
    if request.origin_types is not None:
        chosen["origin_types"] = _codes("origin_types", request.origin_types, OriginType)
    for name, key in _MEMBERSHIP:
        value = getattr(request, name)
        if value is not None:
            chosen[key] = texts_argument(name, value)
    if request.roles is not None:
        chosen["roles"] = [role.value for role in _choices("roles", request.roles, Role)]
    if request.tags is not None:
        chosen["tags"] = texts_argument("tags", request.tags)
    if request.tags_mode not in _MODES:
        raise ValidationError("tags_mode", request.tags_mode, "one of any, all")
    chosen["tags_all"] = request.tags_mode == "all"
    for first, last in (("since", "until"), ("created_since", "created_until")):
        start, end = _window(request, first, last)
        if start is not None:
            chosen[f"{first}_us"] = start
        if end is not None:
            chosen[f"{last}_us"] = end
    chosen["include_expired"] = flag_argument("include_expired", request.include_expired)
    chosen["include_archived"] = flag_argument("include_archived", request.include_archived)
    if request.min_similarity is not None:
        chosen["min_similarity"] = _similarity(request.min_similarity)
    return chosen
