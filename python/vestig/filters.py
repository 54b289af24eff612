"""The filter of memories: one for recall, search, list, count, forget and export.

`FIELDS` is the table of its fields, one row each; `Filter` and `FilterFields` write them out for
readers and type checkers, and a test holds the three together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, TypeAlias, TypedDict

import msgspec
from msgspec import UNSET, UnsetType

from vestig.arguments import as_number, check_unicode, parse_time
from vestig.errors import ValidationError
from vestig.hints import check_names, nearest_name
from vestig.ids import check_id_prefix
from vestig.parameters import Parameter, by_name, words
from vestig.times import from_us
from vestig.types import Kind, OriginType, RetentionPolicy, Role, Status

__all__ = [
    "FIELDS",
    "KEYWORDS",
    "NARROWING",
    "NO_FILTER",
    "SELECTORS",
    "Filter",
    "FilterFields",
    "FilterParts",
    "Moments",
    "Time",
    "Words",
    "checked_filter",
    "checked_selection",
    "filter_parts",
    "moments",
]

Time: TypeAlias = str | datetime | date | None
Words: TypeAlias = str | Sequence[str] | None

# The last moment that can be written.
FAR_FUTURE_US: Final = 253_402_300_799_999_999
ENTITY: Final = "ENTITY"

FIELDS: Final[dict[str, Parameter]] = by_name(
    Parameter(
        name="scope",
        kind="texts",
        flag="--scope",
        help="Only these scopes; all when absent.",
    ),
    Parameter(
        name="unscoped",
        kind="flag",
        flag="--unscoped",
        help="Memories without a scope; beside scope: these too.",
    ),
    Parameter(
        name="kinds",
        kind="words",
        flag="--kinds",
        choices=words(Kind),
        help="Kinds of memory; in graph search ENTITY too.",
    ),
    Parameter(
        name="statuses",
        kind="words",
        flag="--statuses",
        choices=tuple(word.upper() for word in words(Status)),
        help="Exactly these statuses; ACTIVE when absent, and what include_… adds.",
    ),
    Parameter(
        name="include_expired",
        kind="switch",
        flag="--include-expired",
        help="Superseded and deprecated memories too.",
    ),
    Parameter(
        name="include_archived",
        kind="switch",
        flag="--include-archived",
        help="Archived memories too.",
    ),
    Parameter(name="tags", kind="words", flag="--tags", help="Memories with any of these tags."),
    Parameter(
        name="tags_mode",
        kind="choice",
        flag="--tags-mode",
        choices=("any", "all"),
        help="Whether any of the tags is enough, or all are needed.",
        default_text="any",
    ),
    Parameter(
        name="sources",
        kind="texts",
        flag="--sources",
        help="The source word of an event that stated the text.",
    ),
    Parameter(
        name="actors",
        kind="texts",
        flag="--actors",
        help="The actor of an event that stated the text.",
    ),
    Parameter(name="authors", kind="texts", flag="--authors", help="Who said or wrote it."),
    Parameter(
        name="roles",
        kind="words",
        flag="--roles",
        choices=words(Role),
        help="Part in a dialogue.",
    ),
    Parameter(
        name="session_ids", kind="texts", flag="--session-ids", help="Conversations it belongs to."
    ),
    Parameter(
        name="origin_types",
        kind="words",
        flag="--origin-types",
        choices=words(OriginType),
        help="Kinds of text.",
    ),
    Parameter(
        name="exclude_authors",
        kind="texts",
        flag="--exclude-authors",
        help="None of these authors; a memory without one stays.",
    ),
    Parameter(
        name="exclude_session_ids",
        kind="texts",
        flag="--exclude-session-ids",
        help="None of these conversations, such as the running one; notes outside any stay.",
    ),
    Parameter(
        name="exclude_tags",
        kind="words",
        flag="--exclude-tags",
        help="No memory with one of these tags.",
    ),
    Parameter(
        name="exclude_sources",
        kind="texts",
        flag="--exclude-sources",
        help="No memory that an event of one of these source words stated.",
    ),
    Parameter(
        name="entities",
        kind="texts",
        flag="--entities",
        help="Memories that mention one of these entities, by id, name or alias.",
    ),
    Parameter(
        name="metadata",
        kind="pairs",
        flag="--metadata",
        help="Equality for each name; null means that the value is null.",
    ),
    Parameter(
        name="since",
        kind="time",
        flag="--since",
        help="Facts that began, or were stated again, at or after this time.",
    ),
    Parameter(
        name="until",
        kind="time",
        flag="--until",
        help="Facts that began, or were stated again, before this time.",
    ),
    Parameter(
        name="created_since",
        kind="time",
        flag="--created-since",
        help="Stored at or after this time.",
    ),
    Parameter(
        name="created_until", kind="time", flag="--created-until", help="Stored before this time."
    ),
    Parameter(name="ids", kind="words", flag="--ids", help="Only these ids."),
    Parameter(name="exclude_ids", kind="words", flag="--exclude-ids", help="All but these ids."),
    Parameter(
        name="source_ids",
        kind="words",
        flag="--source-ids",
        help="What these sources produced.",
    ),
    Parameter(
        name="message_ids",
        kind="texts",
        flag="--message-ids",
        help="What carries one of these artifact references.",
    ),
    Parameter(
        name="pinned",
        kind="switch",
        flag="--pinned",
        help="Only pinned memories, or only others.",
    ),
    Parameter(
        name="retention_policies",
        kind="words",
        flag="--retention-policies",
        choices=words(RetentionPolicy),
        help="How long they are worth keeping.",
    ),
    Parameter(
        name="min_similarity",
        kind="number",
        flag="--min-similarity",
        least=-1,
        most=1,
        help="Least cosine to the query, from -1 to 1; only where there is a query.",
    ),
)
# Those that stand as keywords beside `where` on recall, search, list and count.
KEYWORDS: Final = ("scope", "tags", "session_ids", "since", "until", "exclude_session_ids")
# Those that say which memories, and those that only narrow what they say; the others say how a
# field is meant.
SELECTORS: Final = frozenset(
    (
        "ids",
        "scope",
        "unscoped",
        "tags",
        "sources",
        "actors",
        "authors",
        "roles",
        "session_ids",
        "origin_types",
        "metadata",
        "entities",
        "source_ids",
        "message_ids",
    )
)
NARROWING: Final = frozenset(
    (
        "kinds",
        "statuses",
        "exclude_authors",
        "exclude_session_ids",
        "exclude_tags",
        "exclude_sources",
        "since",
        "until",
        "created_since",
        "created_until",
        "exclude_ids",
        "pinned",
        "retention_policies",
    )
)
_ID_FIELDS: Final = ("ids", "exclude_ids")
_WINDOWS: Final = (("since", "until"), ("created_since", "created_until"))
_DEPTH_MAX: Final = 32


class FilterFields(TypedDict, total=False):
    """The fields of `Filter` as an object, for `where={...}`."""

    scope: Words
    unscoped: bool | None
    kinds: Words
    statuses: Words
    include_expired: bool | None
    include_archived: bool | None
    tags: Words
    tags_mode: str | None
    sources: Words
    actors: Words
    authors: Words
    roles: Words
    session_ids: Words
    origin_types: Words
    exclude_authors: Words
    exclude_session_ids: Words
    exclude_tags: Words
    exclude_sources: Words
    entities: Words
    metadata: Mapping[str, Any] | None
    since: Time
    until: Time
    created_since: Time
    created_until: Time
    ids: Words
    exclude_ids: Words
    source_ids: Words
    message_ids: Words
    pinned: bool | None
    retention_policies: Words
    min_similarity: float | None


class Filter(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """Which memories take part, for `where=`. It applies before ranking and before any cut.

    A field that is None, an empty text or an empty mapping is absent; 0 and false are values. An
    empty list selects nothing, and one of an `exclude_…` field leaves nothing out. `forget`
    refuses a field that is named without a value. All fields must hold. One text stands for a
    list of one. Tags, authors, sources, actors and names of entities that nobody has match
    nothing.

    Args:
        scope: Only these scopes; all when absent.
        unscoped: Memories without a scope; beside scope: these too.
        kinds: Kinds of memory; in graph search ENTITY too.
        statuses: Exactly these statuses; ACTIVE when absent, and what include_… adds.
        include_expired: Superseded and deprecated memories too.
        include_archived: Archived memories too.
        tags: Memories with any of these tags.
        tags_mode: Whether any of the tags is enough, or all are needed.
        sources: The source word of an event that stated the text.
        actors: The actor of an event that stated the text.
        authors: Who said or wrote it.
        roles: Part in a dialogue.
        session_ids: Conversations it belongs to.
        origin_types: Kinds of text.
        exclude_authors: None of these authors; a memory without one stays.
        exclude_session_ids: None of these conversations, such as the running one; notes outside
            any stay.
        exclude_tags: No memory with one of these tags.
        exclude_sources: No memory that an event of one of these source words stated.
        entities: Memories that mention one of these entities, by id, name or alias.
        metadata: Equality for each name; null means that the value is null.
        since: Facts that began, or were stated again, at or after this time.
        until: Facts that began, or were stated again, before this time.
        created_since: Stored at or after this time.
        created_until: Stored before this time.
        ids: Only these ids.
        exclude_ids: All but these ids.
        source_ids: What these sources produced.
        message_ids: What carries one of these artifact references.
        pinned: Only pinned memories, or only others.
        retention_policies: How long they are worth keeping.
        min_similarity: Least cosine to the query, from -1 to 1; only where there is a query.

    Example:
        >>> import vestig
        >>> from vestig.testing import HashingEmbedder
        >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        ...     _ = store.commit("Deploys run on Fridays at noon", author="Omar", tags=["infra"])
        ...     _ = store.commit("Deploys are announced in the morning", author="Maria")
        ...     mine = vestig.Filter(authors="Omar")
        ...     len(store.recall("when do deploys run?", where=mine)), store.count(where=mine)
        (1, 1)
    """

    scope: Words | UnsetType = UNSET
    unscoped: bool | UnsetType | None = UNSET
    kinds: Words | UnsetType = UNSET
    statuses: Words | UnsetType = UNSET
    include_expired: bool | UnsetType | None = UNSET
    include_archived: bool | UnsetType | None = UNSET
    tags: Words | UnsetType = UNSET
    tags_mode: str | UnsetType | None = UNSET
    sources: Words | UnsetType = UNSET
    actors: Words | UnsetType = UNSET
    authors: Words | UnsetType = UNSET
    roles: Words | UnsetType = UNSET
    session_ids: Words | UnsetType = UNSET
    origin_types: Words | UnsetType = UNSET
    exclude_authors: Words | UnsetType = UNSET
    exclude_session_ids: Words | UnsetType = UNSET
    exclude_tags: Words | UnsetType = UNSET
    exclude_sources: Words | UnsetType = UNSET
    entities: Words | UnsetType = UNSET
    metadata: Mapping[str, Any] | UnsetType | None = UNSET
    since: Time | UnsetType = UNSET
    until: Time | UnsetType = UNSET
    created_since: Time | UnsetType = UNSET
    created_until: Time | UnsetType = UNSET
    ids: Words | UnsetType = UNSET
    exclude_ids: Words | UnsetType = UNSET
    source_ids: Words | UnsetType = UNSET
    message_ids: Words | UnsetType = UNSET
    pinned: bool | UnsetType | None = UNSET
    retention_policies: Words | UnsetType = UNSET
    min_similarity: float | UnsetType | None = UNSET

    def given(self) -> dict[str, Any]:
        """The fields that are not absent.

        Example:
            >>> Filter(tags=["a"], roles=[], authors=None, since="").given()
            {'tags': ['a'], 'roles': []}
        """
        fields = self.named()
        return {name: value for name, value in fields.items() if not is_absent(value)}

    def named(self) -> dict[str, Any]:
        """The fields that were passed, those of None too."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in fields.items() if value is not UNSET}


# What lets through what every call does that names no filter.
NO_FILTER: Final = Filter()


def is_absent(value: object) -> bool:
    """Says that a field of a filter restricts nothing in a read: None, an empty text or mapping.

    Example:
        >>> [is_absent(value) for value in (None, "", {}, [], 0, False)]
        [True, True, True, False, False, False]
    """
    if isinstance(value, (str, Mapping)):
        return not value
    return value is None


def nearest_argument(word: str, names: Collection[str]) -> str:
    """The argument that was probably meant of a call that takes `where` too, or the field of it; ""
    where none is near.

    Example:
        >>> [nearest_argument(word, ["query", "limit"]) for word in ("k", "author", "tags", "zzz")]
        ['limit', 'where.authors', 'where.tags', '']
    """
    if word not in FIELDS and (near := nearest_name(word, names)):
        return near
    field = nearest_name(word, FIELDS)
    return f"where.{field}" if field else ""


# --- checks ----------------------------------------------------------------------------------


def _texts(field: str, value: object) -> tuple[str, ...]:
    """One text, or several; a null or a blank among them is a mistake."""
    items = (value,) if isinstance(value, str) else value
    if isinstance(items, (str, bytes, Mapping)) or not hasattr(items, "__iter__"):
        raise ValidationError(field, type(value).__name__, "text or a list of texts")
    found = []
    for item in items:
        if not isinstance(item, str):
            raise ValidationError(field, type(item).__name__, "text or a list of texts")
        if not item.strip():
            raise ValidationError(field, item, "texts that are not blank")
        found.append(check_unicode(field, item))
    # sets have no order of their own; what is derived from a filter must not depend on it
    return tuple(sorted(found)) if isinstance(items, (set, frozenset)) else tuple(found)


def _node_id(field: str, id: str, *, nodes: bool) -> str:
    """The id of a memory, or of an entity where these take part; or its beginning."""
    prefix = "ent" if nodes and id.startswith("ent_") else "mem"
    return check_id_prefix(field, id, prefix)


def _choices(row: Parameter, value: object) -> tuple[str, ...]:
    """Words of a closed list, in any case, as they are stored."""
    allowed = {word.casefold(): word for word in row.choices}
    if row.name == "kinds":
        allowed[ENTITY.casefold()] = ENTITY
    if row.name == "statuses":
        allowed = {word.casefold(): word.lower() for word in row.choices}
    found = []
    for word in _texts(row.name, value):
        if word.casefold() not in allowed:
            raise ValidationError(row.name, word, "one of " + ", ".join(row.choices))
        found.append(allowed[word.casefold()])
    return tuple(found)


def _flag(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValidationError(field, value, "true or false")
    return value


def _metadata(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValidationError("metadata", type(value).__name__, "an object of names and values")
    return {check_unicode("metadata", name): _plain(item, 1) for name, item in value.items()}


def _plain(value: object, depth: int) -> Any:
    """A value of metadata as JSON has it."""
    if depth > _DEPTH_MAX:
        raise ValidationError("metadata", "a deeper one", f"at most {_DEPTH_MAX} levels of nesting")
    if isinstance(value, str):
        return check_unicode("metadata", value)
    number = as_number(value)
    if number is not None:
        if not math.isfinite(number):
            raise ValidationError("metadata", value, "finite numbers")
        return number
    if isinstance(value, Mapping):
        return {_plain(name, depth + 1): _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    return value


def _similarity(value: object) -> float:
    number = as_number(value)
    if number is None or not -1 <= number <= 1:
        raise ValidationError("min_similarity", value, "a number from -1 to 1")
    return float(number)


def _checked(row: Parameter, value: object, *, nodes: bool) -> Any:
    """One field as it is kept: texts as tuples, times as aware datetimes."""
    if row.name == "min_similarity":
        return _similarity(value)
    if row.name == "metadata":
        return _metadata(value)
    if row.name in _ID_FIELDS:
        return tuple(_node_id(row.name, id, nodes=nodes) for id in _texts(row.name, value))
    if row.kind == "time":
        return from_us(parse_time(value, row.name))
    if row.kind in ("flag", "switch"):
        return _flag(row.name, value)
    if row.kind == "choice":
        if not isinstance(value, str):
            raise ValidationError(
                row.name, type(value).__name__, "one of " + ", ".join(row.choices)
            )
        return _choices(row, value)[0]
    return _choices(row, value) if row.choices else _texts(row.name, value)


def checked_filter(
    where: Filter | FilterFields | Mapping[str, Any] | None,
    beside: Mapping[str, Any] | None = None,
    *,
    query: bool = False,
    nodes: bool = False,
) -> Filter:
    """A filter as values that can be read more than once and written as JSON.

    Args:
        where: the filter, or its fields as an object.
        beside: fields that the call took as keywords.
        query: whether the call has a query to which a memory can be similar.
        nodes: whether entities take part too, so that ids may be theirs and ENTITY is a kind.

    Raises:
        ValidationError: names the field, what came and what is allowed; the nearest field for an
            unknown one; a field that stands both in `where` and beside it.

    Example:
        >>> checked_filter({"tags": "infra", "authors": None}).given()
        {'tags': ('infra',)}
    """
    if where is None:
        # a loop: this runs for every call
        for value in () if beside is None else beside.values():
            if value is not None:
                break
        else:
            return NO_FILTER
        fields: dict[str, Any] = {}
    elif isinstance(where, Filter):
        fields = where.given()
    elif isinstance(where, Mapping):
        check_names(where, tuple(FIELDS), "the filter", path="where")
        fields = {name: value for name, value in where.items() if not is_absent(value)}
    else:
        raise ValidationError("where", type(where).__name__, "a Filter, or an object of its fields")
    for name, value in (beside or {}).items():
        if is_absent(value):
            continue
        if name in fields:
            raise ValidationError(
                name, "given twice", "either the keyword or the field of where, not both"
            )
        fields[name] = value
    found = {name: _checked(FIELDS[name], value, nodes=nodes) for name, value in fields.items()}
    if "min_similarity" in found and not query:
        raise ValidationError(
            "min_similarity", found["min_similarity"], "nothing: there is no query to be similar to"
        )
    if ENTITY in found.get("kinds", ()) and not nodes:
        raise ValidationError("kinds", ENTITY, "one of " + ", ".join(FIELDS["kinds"].choices))
    for first, last in _WINDOWS:
        if first in found and last in found and found[first] >= found[last]:
            raise ValidationError(first, fields[first], f"a time before {last}")
    return Filter(**found)


def checked_selection(where: Filter | FilterFields | Mapping[str, Any] | None) -> Filter:
    """A checked filter that says what goes: a field that is named has a value, for one that lost
    its value would widen what goes.

    Raises:
        ValidationError: as `checked_filter`; a field that is named without a value.

    Example:
        >>> checked_selection({"authors": "Ann", "session_ids": None})
        Traceback (most recent call last):
        ...
        vestig.errors.ValidationError: where.session_ids: expected a value, got None; leave the \
field out where it selects nothing
    """
    chosen = checked_filter(where)
    named = where.named() if isinstance(where, Filter) else where or {}
    checked = chosen.given()
    for name, value in named.items():
        if is_absent(value) or checked[name] == ():
            raise ValidationError(
                f"where.{name}", value, "a value", "leave the field out where it selects nothing"
            )
    return chosen


# --- what the core and the ledger are asked ---------------------------------------------------


class Moments(msgspec.Struct, frozen=True, kw_only=True):
    """The times a read stands at. `known_at_us`: what was recorded by then; `past` = that time was
    given and lies before now, otherwise it is the far future. `valid_at_us`: only facts that hold
    then."""

    known_at_us: int
    valid_at_us: int | None
    query_time_us: int
    past: bool
    as_of_given: int | None
    known_at_given: int | None
    valid_at_given: int | None
    warnings: tuple[str, ...]


def moments(
    now_us: int,
    *,
    as_of: object = None,
    known_at: object = None,
    valid_at: object = None,
    query_time: object = None,
) -> Moments:
    """The times of a read, checked."""
    if as_of is known_at is valid_at is query_time is None:
        return Moments(
            known_at_us=FAR_FUTURE_US,
            valid_at_us=None,
            query_time_us=min(FAR_FUTURE_US, now_us),
            past=False,
            as_of_given=None,
            known_at_given=None,
            valid_at_given=None,
            warnings=(),
        )
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


class FilterParts(msgspec.Struct, frozen=True, kw_only=True):
    """A checked filter, taken apart by who can decide. `columns` are keyword arguments of the
    core's filter (codes, µs); of the rest only the ledger knows the ids of the memories. A filter
    that selects nothing has no `ids`, and no other field of a list."""

    namespace: str
    moments: Moments
    columns: dict[str, Any]
    metadata: dict[str, Any] | None = None
    ids: tuple[str, ...] | None = None
    exclude_ids: tuple[str, ...] = ()
    entities: tuple[str, ...] | None = None
    source_ids: tuple[str, ...] | None = None
    message_ids: tuple[str, ...] | None = None
    statuses: tuple[Status, ...] | None = None
    pinned: bool | None = None
    retention_policies: tuple[RetentionPolicy, ...] | None = None

    @property
    def asks_rows(self) -> bool:
        """Whether a field needs columns that only the ledger's table of memories has."""
        chosen = (self.statuses, self.pinned, self.retention_policies)
        return any(field is not None for field in chosen)


_MEMBERSHIP: Final = (
    "sources",
    "actors",
    "authors",
    "roles",
    "session_ids",
    "tags",
    "exclude_authors",
    "exclude_session_ids",
    "exclude_tags",
    "exclude_sources",
)


def filter_parts(
    chosen: Filter,
    namespace: str,
    at: Moments,
    *,
    include_expired: bool = False,
    include_archived: bool = False,
) -> FilterParts:
    """A checked filter at a time.

    Args:
        chosen: as `checked_filter` gave it.
        include_expired, include_archived: what counts where the filter does not say.
    """
    columns: dict[str, Any] = {"namespace": namespace, "known_at_us": at.known_at_us}
    if at.past:
        columns["past"] = True
    if at.valid_at_us is not None:
        columns["valid_at_us"] = at.valid_at_us
    if chosen is NO_FILTER:
        columns["tags_all"] = False
        columns["include_expired"] = include_expired
        columns["include_archived"] = include_archived
        return FilterParts(namespace=namespace, moments=at, columns=columns)
    given = chosen.given()
    if _selects_nothing(given):
        given = {"ids": ()}
    scopes = [*given.get("scope", ()), *([None] if given.get("unscoped") else [])]
    if scopes:
        columns["scopes"] = scopes
    kinds = [word for word in given.get("kinds", ()) if word != ENTITY]
    if kinds:
        columns["kinds"] = _codes(kinds, words(Kind))
    if "origin_types" in given:
        columns["origin_types"] = _codes(given["origin_types"], words(OriginType))
    columns |= {name: list(given[name]) for name in _MEMBERSHIP if name in given}
    columns["tags_all"] = given.get("tags_mode") == "all"
    for name in (name for window in _WINDOWS for name in window):
        if name in given:
            columns[f"{name}_us"] = parse_time(given[name], name)
    statuses = given.get("statuses")
    # the ledger says which statuses; the core must not hold any of them back
    named = statuses is not None
    columns["include_expired"] = named or given.get("include_expired", include_expired)
    columns["include_archived"] = named or given.get("include_archived", include_archived)
    if "min_similarity" in given:
        columns["min_similarity"] = given["min_similarity"]
    policies = given.get("retention_policies")
    return FilterParts(
        namespace=namespace,
        moments=at,
        columns=columns,
        metadata=given.get("metadata"),
        ids=given.get("ids"),
        exclude_ids=given.get("exclude_ids", ()),
        entities=given.get("entities"),
        source_ids=given.get("source_ids"),
        message_ids=given.get("message_ids"),
        statuses=None if statuses is None else tuple(Status(word) for word in statuses),
        pinned=given.get("pinned"),
        retention_policies=None
        if policies is None
        else tuple(RetentionPolicy(word) for word in policies),
    )


def _selects_nothing(given: Mapping[str, Any]) -> bool:
    """Says that a list names no value: no memory has one of none."""
    return any(
        value == ()
        and not name.startswith("exclude_")
        and not (name == "scope" and given.get("unscoped"))
        for name, value in given.items()
    )


def _codes(chosen: Sequence[str], every: Sequence[str]) -> list[int]:
    return [every.index(word) for word in chosen]
