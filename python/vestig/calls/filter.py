"""The filter of memories: one for every call that selects some. Its declaration is `Filter`: each
field is annotated with its argument, and with where it is decided. `FilterFields` writes the fields
out for type checkers."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from functools import partial
from typing import Annotated, Any, Final, TypeAlias, TypedDict
from unicodedata import normalize

import msgspec
from msgspec import UNSET, UnsetType

from vestig.arguments import check_unicode, plain_object
from vestig.calls import argument as a
from vestig.calls.scope import OfScopes, ScopeRange
from vestig.errors import Description, ValidationError, kind_of
from vestig.hints import check_names, meant_name, nearest_name, unknown_name
from vestig.ids import check_id_prefix
from vestig.json_text import json_in_text
from vestig.other_words import by_caller
from vestig.times import DAY_US, from_us, to_us
from vestig.types import Kind, OriginType, RetentionPolicy, Role, Status, Word

Time: TypeAlias = str | datetime | date | None
Words: TypeAlias = str | Sequence[str] | None

ENTITY: Final = "ENTITY"
WINDOWS: Final = (("since", "until"), ("created_since", "created_until"))


# --- what a field does -------------------------------------------------------------------------


class Effect(Enum):
    """Effects of a field on the memories that a call considers."""

    SELECTS = "it says which"
    NARROWS = "it leaves out some of those that others say"
    WIDENS = "it lets in what is left out without it"
    READS = "it says how another field is read"
    COMPARES = "it leaves out what is unlike the query, where there is one"


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """Where a field of the filter is decided; by the ids that the ledger gives, if neither of the
    two places has it.

    Attributes:
        beside: it stands as a keyword beside `where` on recall, search, list and count.
        core: the keyword of the core's filter.
        as_core: makes of a checked value what the core takes.
        column: the column of the table of memories that has one of its values.
    """

    effect: Effect
    beside: bool = False
    core: str = ""
    as_core: Callable[[Any], Any] = list
    column: str = ""

    @property
    def by_ledger(self) -> bool:
        """Return whether only the ledger's table of memories has what the field asks for."""
        return bool(self.column) and not self.core


def _codes(kind: type[Word]) -> Callable[[Collection[str]], list[int]]:
    """Makes of words of an enum their codes."""
    every = a.words_of(kind)
    return lambda words: [every.index(word) for word in words]


def _as_is(value: Any) -> Any:
    return value


_selects: Final = partial(Field, effect=Effect.SELECTS)
_narrows: Final = partial(Field, effect=Effect.NARROWS)
_widens: Final = partial(Field, effect=Effect.WIDENS)


# --- types of fields ---------------------------------------------------------------------------


# A field whose blank may come of a caller who knows no name → what is said of it.
_NONE_AMONG: Final = {"scope": 'where={"scope": […], "unscoped": True} adds what has no scope'}
_NO_SCOPE: Final = {"scope": "leave it out where every scope is meant"}


def _texts(field: str, value: Any) -> tuple[str, ...]:
    """One text, or several in any iterable; a null or a blank among them is a mistake."""
    items = (value,) if isinstance(value, str) else value
    if isinstance(items, (bytes, Mapping)) or not isinstance(items, Iterable):
        raise ValidationError(field, kind_of(value), "text or a list of texts")
    try:
        given = list(items)
    except Exception as error:  # whatever the caller's own iterator raises
        got = Description(f"an iterable that raises {type(error).__name__}")
        raise ValidationError(field, got, "text or a list of texts") from error
    found = []
    for item in given:
        if not isinstance(item, str):
            hint = by_caller(_NONE_AMONG.get(field, "")) if item is None else ""
            raise ValidationError(field, kind_of(item), "text or a list of texts", hint)
        if not item.strip():
            raise ValidationError(field, item, "texts that are not blank", _NO_SCOPE.get(field, ""))
        found.append(check_unicode(field, item))
    # sets have no order of their own; what is derived from a filter must not depend on it
    return tuple(sorted(found)) if isinstance(items, (set, frozenset)) else tuple(found)


class Names(a.Texts, frozen=True):
    """Names, any of which will do."""

    limited = False

    def check(self, field: str, value: Any) -> Any:
        return _texts(field, value)


class ScopeNames(OfScopes, Names, frozen=True):
    """Names of scopes."""


class KeyNames(Names, frozen=True):
    """Keys of memories as they are written; what can be none matches nothing."""


class KeyPrefix(a.Label, frozen=True):
    """The beginning of a key."""

    def check(self, field: str, value: Any) -> Any:
        text = super().check(field, value)
        return normalize("NFC", text)


class NameWords(a.Words, frozen=True):
    """Names that are words without commas."""

    limited = False

    def check(self, field: str, value: Any) -> Any:
        return _texts(field, a.words_of_text(value))


class Chosen(a.Words, frozen=True, kw_only=True):
    """Words of a closed list, in any case. `stored`: as they are kept, where that is otherwise;
    `nodes`: entities take part too."""

    stored: tuple[str, ...] = ()
    nodes: bool = False
    limited = False

    def check(self, field: str, value: Any) -> Any:
        shown = (*self.choices, ENTITY) if self.nodes else self.choices
        kept = self.stored or shown
        allowed = {word.casefold(): one for word, one in zip(shown, kept, strict=True)}
        found = []
        for word in _texts(field, a.words_of_text(value)):
            if word.casefold() not in allowed:
                raise ValidationError(field, word, "one of " + ", ".join(shown))
            found.append(allowed[word.casefold()])
        return tuple(found)

    def schema(self, facts: a.Facts = a.NO_FACTS) -> dict[str, Any]:
        shown = (*self.choices, ENTITY) if self.nodes else self.choices
        return a.one_or_more({"type": "string", "enum": list(shown)}, most=None)


class NodeIds(a.Ids, frozen=True, kw_only=True):
    """Ids of memories; `nodes`: of entities too."""

    nodes: bool = False
    limited = False

    def check(self, field: str, value: Any) -> Any:
        def prefix(id: str) -> str:
            return "ent" if self.nodes and id.startswith("ent_") else "mem"

        return tuple(check_id_prefix(field, id, prefix(id)) for id in _texts(field, value))

    def _item(self) -> dict[str, Any]:
        own = super()._item()
        return {"anyOf": [own, a.id_schema("ent")]} if self.nodes else own

    def _alone(self) -> dict[str, Any]:
        return self._item()


class Moment(a.Time, frozen=True):
    """A time, kept as an aware datetime."""

    def check(self, field: str, value: Any) -> Any:
        return from_us(super().check(field, value))


# Comparisons in the filters of other stores; a value that is compared with another is none.
_OPERATORS: Final = frozenset(
    f"${name}"
    for name in (
        "eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "exists", "not", "regex", "contains",
        "and", "or", "between", "like",
    )
)  # fmt: skip


class Values(a.Pairs, frozen=True):
    """Values by the names that metadata has."""

    def check(self, field: str, value: Any) -> Any:
        wanted = plain_object(field, value)
        for name, one in wanted.items():
            if isinstance(one, dict) and one and _OPERATORS.issuperset(one):
                raise ValidationError(
                    f"{field}.{name}", ", ".join(one), "the value that the name has: a filter"
                    " compares metadata by equality alone"
                )  # fmt: skip
        return wanted

    def schema(self, facts: a.Facts = a.NO_FACTS) -> dict[str, Any]:
        return {"type": "object"}


# --- the filter --------------------------------------------------------------------------------


class FilterFields(TypedDict, total=False):
    """The fields of `Filter` as an object, for `where={...}`."""

    scope: Words
    scope_prefix: str | None
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
    keys: Words
    key_prefix: str | None
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
    confirmed: bool | None
    retention_policies: Words
    min_similarity: float | None


class _Checked(msgspec.StructMeta):
    """The class of the filter: a field that it does not have is an error with the nearest."""

    def __call__(cls, *args: Any, **fields: Any) -> Any:
        """A filter of these fields."""
        try:
            return super().__call__(*args, **fields)
        except TypeError:
            names = cls.__struct_fields__
            unknown = next((name for name in fields if name not in names), None)
            if unknown is None:
                raise
            raise TypeError(unknown_name(unknown, names, "the filter", "field")) from None


class Filter(
    msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True, metaclass=_Checked
):
    """Which memories take part, for `where=`. It applies before ranking and before any cut.

    A field that is None, an empty text or an empty mapping is absent, but an empty scope is
    refused; 0 and false are values. An empty list selects nothing, and one of an `exclude_…` field
    leaves nothing out. `forget` refuses a field that is named without a value. All fields must
    hold. One text stands for a list of one. Tags, authors, sources, actors and names of entities
    that nobody has match nothing.

    Args:
        scope: Only these scopes; all when absent.
        scope_prefix: Only this scope and those below it, whose names go on with a slash.
        unscoped: Memories without a scope; beside scope or scope_prefix: these too.
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
        keys: Memories that are the value of one of these keys.
        key_prefix: Memories whose key begins so.
        exclude_authors: None of these authors; a memory without one stays.
        exclude_session_ids: None of these conversations, such as the running one; notes outside
            any stay.
        exclude_tags: No memory with one of these tags.
        exclude_sources: No memory that an event of one of these source words stated.
        entities: Memories that mention one of these entities, by id, name or alias.
        metadata: Equality for each name; null means that the value is null.
        since: Facts that began, or were stated again, at or after this time.
        until: Facts that began, or were stated again, before this time, or on this day.
        created_since: Stored at or after this time.
        created_until: Stored before this time, or on this day.
        ids: Only these ids.
        exclude_ids: All but these ids.
        source_ids: What these sources produced, by their ids, or by the path of a file or folder.
        message_ids: What carries one of these artifact references.
        pinned: Only pinned memories, or only others.
        confirmed: No statements of an assistant or a tool that no user confirmed, or only these.
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

    scope: Annotated[
        Words | UnsetType,
        ScopeNames("Only these scopes; all when absent.", "--scope"),
        _selects(beside=True),
    ] = UNSET
    scope_prefix: Annotated[
        str | UnsetType | None,
        ScopeRange(
            "Only this scope and those below it, whose names go on with a slash.",
            "--scope-prefix",
        ),
        _selects(),
    ] = UNSET
    unscoped: Annotated[
        bool | UnsetType | None,
        a.Flag("Memories without a scope; beside scope or scope_prefix: these too.", "--unscoped"),
        _selects(),
    ] = UNSET
    kinds: Annotated[
        Words | UnsetType,
        Chosen("Kinds of memory; in graph search ENTITY too.", "--kinds", choices=a.words_of(Kind)),
        _narrows(core="kinds", as_core=_codes(Kind), column="kind"),
    ] = UNSET
    statuses: Annotated[
        Words | UnsetType,
        Chosen(
            "Exactly these statuses; ACTIVE when absent, and what include_… adds.",
            "--statuses",
            choices=tuple(word.upper() for word in a.words_of(Status)),
            stored=a.words_of(Status),
        ),
        _narrows(column="status"),
    ] = UNSET
    include_expired: Annotated[
        bool | UnsetType | None,
        a.Switch("Superseded and deprecated memories too.", "--include-expired"),
        _widens(core="include_expired", as_core=bool),
    ] = UNSET
    include_archived: Annotated[
        bool | UnsetType | None,
        a.Switch("Archived memories too.", "--include-archived"),
        _widens(core="include_archived", as_core=bool),
    ] = UNSET
    tags: Annotated[
        Words | UnsetType,
        NameWords("Memories with any of these tags.", "--tags"),
        _selects(beside=True, core="tags"),
    ] = UNSET
    tags_mode: Annotated[
        str | UnsetType | None,
        a.Choice(
            "Whether any of the tags is enough, or all are needed.",
            "--tags-mode",
            words=("any", "all"),
            default_text="any",
        ),
        Field(effect=Effect.READS, core="tags_all", as_core=lambda mode: mode == "all"),
    ] = UNSET
    sources: Annotated[
        Words | UnsetType,
        Names("The source word of an event that stated the text.", "--sources"),
        _selects(core="sources"),
    ] = UNSET
    actors: Annotated[
        Words | UnsetType,
        Names("The actor of an event that stated the text.", "--actors"),
        _selects(core="actors"),
    ] = UNSET
    authors: Annotated[
        Words | UnsetType, Names("Who said or wrote it.", "--authors"), _selects(core="authors")
    ] = UNSET
    roles: Annotated[
        Words | UnsetType,
        Chosen("Part in a dialogue.", "--roles", choices=a.words_of(Role)),
        _selects(core="roles"),
    ] = UNSET
    session_ids: Annotated[
        Words | UnsetType,
        Names("Conversations it belongs to.", "--session-ids"),
        _selects(beside=True, core="session_ids"),
    ] = UNSET
    origin_types: Annotated[
        Words | UnsetType,
        Chosen("Kinds of text.", "--origin-types", choices=a.words_of(OriginType)),
        _selects(core="origin_types", as_core=_codes(OriginType)),
    ] = UNSET
    keys: Annotated[
        Words | UnsetType,
        KeyNames("Memories that are the value of one of these keys.", "--keys"),
        _selects(),
    ] = UNSET
    key_prefix: Annotated[
        str | UnsetType | None,
        KeyPrefix(
            "Memories whose key begins so.", "--key-prefix", chars_max=a.KEY_CHARS_MAX, blank=False
        ),
        _selects(),
    ] = UNSET
    exclude_authors: Annotated[
        Words | UnsetType,
        Names("None of these authors; a memory without one stays.", "--exclude-authors"),
        _narrows(core="exclude_authors"),
    ] = UNSET
    exclude_session_ids: Annotated[
        Words | UnsetType,
        Names(
            "None of these conversations, such as the running one; notes outside any stay.",
            "--exclude-session-ids",
        ),
        _narrows(beside=True, core="exclude_session_ids"),
    ] = UNSET
    exclude_tags: Annotated[
        Words | UnsetType,
        NameWords("No memory with one of these tags.", "--exclude-tags"),
        _narrows(core="exclude_tags"),
    ] = UNSET
    exclude_sources: Annotated[
        Words | UnsetType,
        Names("No memory that an event of one of these source words stated.", "--exclude-sources"),
        _narrows(core="exclude_sources"),
    ] = UNSET
    entities: Annotated[
        Words | UnsetType,
        Names("Memories that mention one of these entities, by id, name or alias.", "--entities"),
        _selects(),
    ] = UNSET
    metadata: Annotated[
        Mapping[str, Any] | UnsetType | None,
        Values("Equality for each name; null means that the value is null.", "--metadata"),
        _selects(),
    ] = UNSET
    since: Annotated[
        Time | UnsetType,
        Moment("Facts that began, or were stated again, at or after this time.", "--since"),
        _narrows(beside=True, core="since_us", as_core=to_us),
    ] = UNSET
    until: Annotated[
        Time | UnsetType,
        Moment(
            "Facts that began, or were stated again, before this time, or on this day.",
            "--until",
            day_us=DAY_US,
        ),
        _narrows(beside=True, core="until_us", as_core=to_us),
    ] = UNSET
    created_since: Annotated[
        Time | UnsetType,
        Moment("Stored at or after this time.", "--created-since"),
        _narrows(core="created_since_us", as_core=to_us),
    ] = UNSET
    created_until: Annotated[
        Time | UnsetType,
        Moment("Stored before this time, or on this day.", "--created-until", day_us=DAY_US),
        _narrows(core="created_until_us", as_core=to_us),
    ] = UNSET
    ids: Annotated[Words | UnsetType, NodeIds("Only these ids.", "--ids"), _selects()] = UNSET
    exclude_ids: Annotated[
        Words | UnsetType, NodeIds("All but these ids.", "--exclude-ids"), _narrows()
    ] = UNSET
    source_ids: Annotated[
        Words | UnsetType,
        NameWords(
            "What these sources produced, by their ids, or by the path of a file or folder.",
            "--source-ids",
        ),
        _selects(),
    ] = UNSET
    message_ids: Annotated[
        Words | UnsetType,
        Names("What carries one of these artifact references.", "--message-ids"),
        _selects(),
    ] = UNSET
    pinned: Annotated[
        bool | UnsetType | None,
        a.Switch("Only pinned memories, or only others.", "--pinned"),
        _narrows(column="pinned"),
    ] = UNSET
    confirmed: Annotated[
        bool | UnsetType | None,
        a.Switch(
            "No statements of an assistant or a tool that no user confirmed, or only these.",
            "--confirmed",
        ),
        _narrows(column="confirmed"),
    ] = UNSET
    retention_policies: Annotated[
        Words | UnsetType,
        Chosen(
            "How long they are worth keeping.",
            "--retention-policies",
            choices=a.words_of(RetentionPolicy),
        ),
        _narrows(column="retention_policy"),
    ] = UNSET
    min_similarity: Annotated[
        float | UnsetType | None,
        a.Number(
            "Least cosine to the query, from -1 to 1; only where there is a query.",
            "--min-similarity",
            least=-1,
            most=1,
        ),
        Field(effect=Effect.COMPARES, core="min_similarity", as_core=_as_is),
    ] = UNSET

    def given(self) -> dict[str, Any]:
        """The fields that are not absent.

        Example:
            >>> Filter(tags=["a"], roles=[], authors=None, since="").given()
            {'tags': ['a'], 'roles': []}
        """
        fields = self.named()
        return {name: value for name, value in fields.items() if not is_absent(value, name)}

    def named(self) -> dict[str, Any]:
        """The fields that were passed, those of None too."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in fields.items() if value is not UNSET}


FIELDS: Final[Mapping[str, a.Argument]] = {
    name: msgspec.structs.replace(annotation.__metadata__[0], name=name)
    for name, annotation in Filter.__annotations__.items()
}
PLACES: Final[Mapping[str, Field]] = {
    name: annotation.__metadata__[1] for name, annotation in Filter.__annotations__.items()
}


def with_effect(effect: Effect) -> frozenset[str]:
    """The fields that do such a thing.

    Example:
        >>> sorted(with_effect(Effect.WIDENS))
        ['include_archived', 'include_expired']
    """
    return frozenset(name for name, one in PLACES.items() if one.effect is effect)


# Where entities take part.
_NODE_FIELDS: Final[Mapping[str, a.Argument]] = {
    **FIELDS,
    **{n: msgspec.structs.replace(FIELDS[n], nodes=True) for n in ("kinds", "ids", "exclude_ids")},
}
KEYWORDS: Final = tuple(name for name, one in PLACES.items() if one.beside)
SELECTORS: Final = with_effect(Effect.SELECTS)
NARROWING: Final = with_effect(Effect.NARROWS)

# What lets through what every call does that names no filter.
NO_FILTER: Final = Filter()


# Whose memories are read: an empty one would read those of everybody.
BOUNDS: Final = ("scope", "scope_prefix")


def is_absent(value: object, name: str = "") -> bool:
    """Says that a field of a filter restricts nothing in a read: None, an empty text or mapping;
    of a scope None alone.

    Example:
        >>> [is_absent(value) for value in (None, "", {}, [], 0, False)]
        [True, True, True, False, False, False]
        >>> is_absent("", "scope")
        False
    """
    if name not in BOUNDS and isinstance(value, (str, Mapping)):
        return not value
    return value is None


def nearest_argument(word: str, names: Collection[str], call: str = "") -> str:
    """The argument that was probably meant of a call that takes `where` too, or the field of it; ""
    where none is near.

    Example:
        >>> [nearest_argument(word, ["query", "limit"]) for word in ("k", "author", "tags", "zzz")]
        ['limit', 'where.authors', 'where.tags', '']
    """
    if near := meant_name(word, names, call):
        return near
    if word not in FIELDS and (near := nearest_name(word, names)):
        return near
    field = nearest_name(word, FIELDS)
    return f"where.{field}" if field else ""


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
        query: the call has a query to which a memory can be similar.
        nodes: entities take part too, so that ids may be theirs and ENTITY is a kind.

    Raises:
        ValidationError: names the field, what came and what is allowed; the nearest field for an
            unknown one; a field that stands both in `where` and beside it.

    Example:
        >>> checked_filter({"tags": "infra", "authors": None}).given()
        {'tags': ('infra',)}
    """
    if where is None:
        if beside is None:
            return NO_FILTER
        fields: dict[str, Any] = {}
    elif isinstance(where, Filter):
        fields = where.given()
    elif isinstance(where, Mapping):
        check_names(where, tuple(FIELDS), "the filter", path="where")
        fields = {name: value for name, value in where.items() if not is_absent(value, name)}
    else:
        raise no_filter(where)
    for name, value in (beside or {}).items():
        if is_absent(value, name):
            continue
        if name in fields:
            raise ValidationError(
                name,
                Description("given twice"),
                "either the keyword or the field of where, not both",
            )
        fields[name] = value
    rows = _NODE_FIELDS if nodes else FIELDS
    found = {name: rows[name].check(name, value) for name, value in fields.items()}
    if "min_similarity" in found and not query:
        raise ValidationError(
            "min_similarity", found["min_similarity"], "nothing: there is no query to be similar to"
        )
    for first, last in WINDOWS:
        if first in found and last in found and found[first] >= found[last]:
            raise ValidationError(first, fields[first], f"a time before {last}")
    return Filter(**found)


def no_filter(value: object) -> ValidationError:
    """The error of what stands in the place of a filter and is none."""
    expected = "a Filter, or an object of its fields"
    return ValidationError("where", kind_of(value), expected)


class Where(a.Argument, frozen=True, kw_only=True):
    """The filter of a call.

    `query`, `nodes`: as of `checked_filter`. `beside`: some fields stand as keywords beside it.
    `selects`: it says what goes, so that a field that is named has a value, for one that lost its
    value would widen what goes.
    """

    query: bool = False
    nodes: bool = False
    beside: bool = False
    selects: bool = False

    @property
    def expected(self) -> str:
        return "an object of filter fields"

    @property
    def fields(self) -> Mapping[str, a.Argument]:
        """The fields that it may have."""
        rows = _NODE_FIELDS if self.nodes else FIELDS
        return {n: row for n, row in rows.items() if self.query or n != "min_similarity"}

    def filter(self, where: Any, beside: Mapping[str, Any] | None = None) -> Filter:
        """The checked filter of a call.

        Raises:
            ValidationError: as `checked_filter`; what selects names a field without a value.

        Example:
            >>> Where("", selects=True).filter({"authors": "Ann", "session_ids": None})
            Traceback (most recent call last):
            ...
            vestig.errors.ValidationError: where.session_ids: expected a value, got None; leave \
the field out where it selects nothing
        """
        chosen = checked_filter(where, beside, query=self.query, nodes=self.nodes)
        if not self.selects:
            return chosen
        named = where.named() if isinstance(where, Filter) else where or {}
        kept = chosen.given()
        for name, value in named.items():
            if is_absent(value, name) or kept[name] == ():
                hint = "leave the field out where it selects nothing"
                raise ValidationError(f"where.{name}", value, "a value", hint)
        return chosen

    def check(self, field: str, value: Any) -> Any:
        return self.filter(value)

    def of_json(self, field: str, value: Any) -> Any:
        """Fields as their own arguments read them; the whole may stand in a text as JSON."""
        inner = json_in_text(value, dict) if isinstance(value, str) else None
        fields = value if inner is None else inner
        if not isinstance(fields, Mapping):
            raise ValidationError(field, kind_of(fields), self.expected)
        return {
            name: item
            if is_absent(item, name) or name not in FIELDS
            else FIELDS[name].of_json(f"where.{name}", item)
            for name, item in fields.items()
        }
