"""The kind of an error, as metrics, traces and logs name it."""

from __future__ import annotations

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

__all__ = ["error_code", "error_type"]


def error_type(error: BaseException) -> str:
    """network, timeout, llm, database, validation or unknown; wrapped causes are looked through.

    Example:
        >>> error_type(StoreLockedError("busy")), error_type(KeyError("x"))
        ('database', 'unknown')
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, (ProviderTimeoutError, TimeoutError)):
            return "timeout"
        if isinstance(seen, (ModelCallError, ModelBudgetError)):
            return "llm"
        if isinstance(seen, (ConnectionError,)):
            return "network"
        if isinstance(seen, (ValidationError, TypeError)):
            return "validation"
        if isinstance(seen, (StoreLockedError, StoreFullError, StoreDamagedError)):
            return "database"
        seen = seen.__cause__ or seen.__context__
    return "unknown"


def error_code(error: BaseException) -> str:
    """The stable code of an error, or the name of its class; never its message.

    Example:
        >>> error_code(StoreLockedError("busy")), error_code(KeyError("x"))
        ('store-locked', 'KeyError')
    """
    return error.code if isinstance(error, VestigError) else type(error).__name__
