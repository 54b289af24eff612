"""Agent frameworks on a store, one module each, which is loaded only when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

from vestig.arguments import text_argument
from vestig.errors import ValidationError, kind_of
from vestig.module_words import missing_name
from vestig.results import PutOutcome
from vestig.telemetry import WARNING, log_event

__all__ = ["check_store", "count_masked"]


if not TYPE_CHECKING:  # a type checker knows the names that there are

    def __getattr__(name: str) -> NoReturn:
        raise missing_name(name, globals())


def check_store(store: object, scope: object = None, *, below: bool = False) -> None:
    """Refuses what an adapter cannot keep its state in, before any call of it.

    Args:
        scope: the scope in which the adapter writes; None: it writes nothing.
        below: it writes in scopes below that one.

    Raises:
        ValidationError: no store that is open, or a view, which has another scope.

    Example:
        >>> check_store("memory", "sessions")
        Traceback (most recent call last):
        ...
        vestig.errors.ValidationError: store: expected a store as vestig.open(path) gives it, \
got a str
    """
    from vestig.api.store import Vestig

    if not isinstance(store, Vestig):
        raise ValidationError("store", kind_of(store), "a store as vestig.open(path) gives it")
    if scope is None:
        return
    text_argument("scope", scope)
    bound = store._binding
    if bound is not None and (below or scope != bound.scope):
        raise ValidationError(
            "store",
            store,
            f"a store, not the view of it that has the scope {bound.scope!r}",
            f"pass the store itself, and scope={bound.scope!r}",
        )


def count_masked(outcomes: Iterable[PutOutcome]) -> int:
    """Return how many secrets were masked in the values that were put, and log it: a framework
    hands no outcome on."""
    found = [place for one in outcomes for secret in one.masked for place in secret.places]
    count = sum(place.startswith("value") for place in found)
    if count:
        log_event(WARNING, "secrets_masked", count=count)
    return count
