"""The kind of an error, as metrics, traces and logs name it, and whether it is one at all."""

from __future__ import annotations

from collections.abc import Iterator

from vestig.errors import (
    ModelBudgetError,
    ModelCallError,
    ProviderTimeoutError,
    StoreDamagedError,
    StoreFullError,
    StoreLockedError,
    ValidationError,
    VestigError,
)


def error_type(error: BaseException) -> str:
    """network, timeout, llm, database, validation or unknown; wrapped causes are looked through.

    Example:
        >>> error_type(StoreLockedError("busy")), error_type(KeyError("x"))
        ('database', 'unknown')
    """
    for cause in _with_causes(error, implicit=True):
        if isinstance(cause, (ProviderTimeoutError, TimeoutError)):
            return "timeout"
        if isinstance(cause, (ModelCallError, ModelBudgetError)):
            return "llm"
        if isinstance(cause, (ConnectionError,)):
            return "network"
        if isinstance(cause, (ValidationError, TypeError)):
            return "validation"
        if isinstance(cause, (StoreLockedError, StoreFullError, StoreDamagedError)):
            return "database"
    return "unknown"


def caused_by_interrupt(error: BaseException) -> bool:
    """Return whether an error was made of an interrupt: Python makes a RuntimeError of one that
    comes while the body of a class gives names to its members. Whoever takes the errors of other
    code for its faults raises an interrupt again.

    Example:
        >>> error = RuntimeError("while a name was given")
        >>> error.__cause__ = KeyboardInterrupt()
        >>> caused_by_interrupt(error), caused_by_interrupt(ValueError())
        (True, False)
    """
    return any(
        isinstance(cause, KeyboardInterrupt) for cause in _with_causes(error, implicit=False)
    )


def _with_causes(error: BaseException, *, implicit: bool) -> Iterator[BaseException]:
    """The error, what it was raised from, and so on; each once, for they can go in a circle.

    Args:
        implicit: also what was being handled when it was raised, where it was raised from nothing.
    """
    seen = set[int]()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        yield cause
        seen.add(id(cause))
        cause = cause.__cause__ or (cause.__context__ if implicit else None)


def error_code(error: BaseException) -> str:
    """The stable code of an error, or the name of its class; never its message.

    Example:
        >>> error_code(StoreLockedError("busy")), error_code(KeyError("x"))
        ('store-locked', 'KeyError')
    """
    return error.code if isinstance(error, VestigError) else type(error).__name__
