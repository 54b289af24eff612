"""Demands of a checked filter on the core and the ledger, at the times of a read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from vestig.arguments import parse_time
from vestig.calls.argument import words_of
from vestig.calls.filter import ENTITY, NO_FILTER, WINDOWS, Filter
from vestig.errors import ValidationError
from vestig.times import format_us
from vestig.types import Kind, OriginType, RetentionPolicy, Status

# The last moment that can be written.
FAR_FUTURE_US: Final = 253_402_300_799_999_999


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
    # of the call: what has expired by then is not shown, whatever time is asked for
    now_us: int


def moments(
    now_us: int,
    *,
    as_of: int | None = None,
    known_at: int | None = None,
    valid_at: int | None = None,
    query_time: int | None = None,
) -> Moments:
    """The times of a read; those given in microseconds.

    Raises:
        ValidationError: `as_of` beside another one.
    """
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
            now_us=now_us,
        )
    if as_of is not None and (known_at is not None or valid_at is not None):
        other = "known_at" if known_at is not None else "valid_at"
        raise ValidationError("as_of", format_us(as_of), f"either as_of or {other}, not both")
    wanted = as_of if as_of is not None else known_at
    warnings: tuple[str, ...] = ()
    if wanted is not None and wanted > now_us:
        name = "as_of" if as_of is not None else "known_at"
        warnings = (f"{name} lies in the future: answered as of now",)
    # Now means "all that is recorded", even where the clock is behind the ledger's times.
    known = FAR_FUTURE_US if wanted is None or wanted >= now_us else wanted
    return Moments(
        known_at_us=known,
        valid_at_us=as_of if as_of is not None else valid_at,
        query_time_us=min(known, now_us) if query_time is None else query_time,
        past=wanted is not None and wanted < now_us,
        as_of_given=as_of,
        known_at_given=known_at,
        valid_at_given=valid_at,
        warnings=warnings,
        now_us=now_us,
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
    keys: tuple[str, ...] | None = None
    key_prefix: str | None = None
    scope_prefix: str | None = None
    statuses: tuple[Status, ...] | None = None
    pinned: bool | None = None
    retention_policies: tuple[RetentionPolicy, ...] | None = None

    @property
    def needs_ledger(self) -> bool:
        """Return whether a field needs columns that only the ledger's table of memories has."""
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
    columns = {"namespace": namespace, **_times(at)}
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
        columns["kinds"] = _codes(kinds, words_of(Kind))
    if "origin_types" in given:
        columns["origin_types"] = _codes(given["origin_types"], words_of(OriginType))
    columns |= {name: list(given[name]) for name in _MEMBERSHIP if name in given}
    columns["tags_all"] = given.get("tags_mode") == "all"
    for name in (name for window in WINDOWS for name in window):
        if name in given:
            columns[f"{name}_us"] = parse_time(given[name], name)
    statuses = given.get("statuses")
    # the ledger says which statuses; the core must not hold any of them back
    named = statuses is not None
    columns["include_expired"] = named or given.get("include_expired", include_expired)
    columns["include_archived"] = named or given.get("include_archived", include_archived)
    if "min_similarity" in given:
        columns["min_similarity"] = given["min_similarity"]
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
        keys=given.get("keys"),
        key_prefix=given.get("key_prefix"),
        scope_prefix=given.get("scope_prefix"),
        statuses=None if statuses is None else tuple(Status(word) for word in statuses),
        pinned=given.get("pinned"),
        retention_policies=_policies(given.get("retention_policies")),
    )


def _times(at: Moments) -> dict[str, Any]:
    columns: dict[str, Any] = {"known_at_us": at.known_at_us, "asked_at_us": at.query_time_us}
    if at.past:
        columns["past"] = True
    if at.valid_at_us is not None:
        columns["valid_at_us"] = at.valid_at_us
    return columns


def _policies(words: Sequence[str] | None) -> tuple[RetentionPolicy, ...] | None:
    return None if words is None else tuple(RetentionPolicy(word) for word in words)


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
