"""Demands of a checked filter on the core and the ledger, at the times of a read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from vestig.calls.filter import ENTITY, NO_FILTER, PLACES, Effect, Filter
from vestig.errors import ValidationError
from vestig.times import DAY_US, LAST_OF_DAY_US, format_us

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

    @property
    def holding_at_us(self) -> int:
        """When what is asked for holds: `valid_at_us`, else the time of the query."""
        return self.query_time_us if self.valid_at_us is None else self.valid_at_us


def not_to_come(us: int, now_us: int) -> int:
    """A time, or now in the place of the end of today: a day that is given means its end.

    Example:
        >>> noon = 43_200_000_000
        >>> [not_to_come(one, noon) for one in (LAST_OF_DAY_US, noon + 1)] == [noon, noon + 1]
        True
    """
    return now_us if us == now_us - now_us % DAY_US + LAST_OF_DAY_US else us


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
    as_of, known_at, valid_at = (
        None if one is None else not_to_come(one, now_us) for one in (as_of, known_at, valid_at)
    )
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
    """A checked filter at the times of a read.

    Attributes:
        core: keyword arguments of the core's filter, as far as the filter itself says them.
        fields: those that are given; of a filter that selects nothing `ids` alone, which are none.
    """

    namespace: str
    moments: Moments
    core: dict[str, Any]
    fields: Mapping[str, Any] = {}

    @property
    def needs_ledger(self) -> bool:
        """Return whether a field needs columns that only the ledger's table of memories has."""
        return any(PLACES[name].by_ledger for name in self.fields)

    @property
    def is_of_rows(self) -> bool:
        """Return whether the ledger's table of memories decides every field by itself, so that a
        page of a large store reads no more than it shows."""
        return all(
            PLACES[name].column or PLACES[name].effect is Effect.WIDENS for name in self.fields
        )

    def only(self, ids: Sequence[str]) -> FilterParts:
        """The same filter for these memories alone."""
        return msgspec.structs.replace(self, fields={**self.fields, "ids": tuple(ids)})

    def without(self, ids: Sequence[str]) -> FilterParts:
        """The same filter without these memories."""
        excluded = (*self.fields.get("exclude_ids", ()), *ids)
        return msgspec.structs.replace(self, fields={**self.fields, "exclude_ids": excluded})


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
    core = {
        "namespace": namespace,
        "include_expired": include_expired,
        "include_archived": include_archived,
        **_times(at),
    }
    if chosen is NO_FILTER:
        return FilterParts(namespace=namespace, moments=at, core=core)
    given = _selecting(chosen.given())
    scopes = [*given.get("scope", ()), *([None] if given.get("unscoped") else [])]
    if scopes:
        core["scopes"] = scopes
    for name, value in given.items():
        place = PLACES[name]
        if place.core:
            core[place.core] = place.as_core(value)
    if "statuses" in given:
        # the ledger says which; the core must not hold any of them back
        core |= {"include_expired": True, "include_archived": True}
    return FilterParts(namespace=namespace, moments=at, core=core, fields=given)


def _times(at: Moments) -> dict[str, Any]:
    core: dict[str, Any] = {"known_at_us": at.known_at_us, "asked_at_us": at.query_time_us}
    if at.past:
        core["past"] = True
    if at.valid_at_us is not None:
        core["valid_at_us"] = at.valid_at_us
    return core


def _selecting(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a filter; no memory has one of no values, and none is an entity."""
    if any(
        value == ()
        and not name.startswith("exclude_")
        and not (name == "scope" and given.get("unscoped"))
        for name, value in given.items()
    ):
        return {"ids": ()}
    kinds = tuple(word for word in given.get("kinds", ()) if word != ENTITY)
    if kinds:
        return {**given, "kinds": kinds}
    return {name: value for name, value in given.items() if name != "kinds"}
