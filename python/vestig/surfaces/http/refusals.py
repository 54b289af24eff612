"""Refusals of a request before any operation runs, and errors as problem objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Final

from vestig.errors import ConfigError, StoreLockedError, VestigError
from vestig.surfaces import wire
from vestig.telemetry.logs import logger

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


# what clients are told of faults of the store; the log says the rest
_DETAILS: Final = {
    "internal": "the store cannot be read or written: the log of the server says why",
    "store-locked": "another process writes to the store: expected the lock in time; ask again",
    "store-full": "the disk of the store is full: nothing was changed",
    "store-damaged": "the store is damaged, lost or no longer at its path: run `vestig doctor`"
    " where it lies",
    "forget-incomplete": "something that was to be forgotten is still in a file: run `vestig forget"
    " --finish` where the store lies",
    "embedding-mismatch": "the server's embedder is not the one that made the store's vectors: run"
    " `vestig doctor` where it lies",
}


class ClientGone(Exception):
    """The client closed the connection: nobody waits for an answer."""


class Refusal(Exception):
    """A request that is answered without an operation.

    Args:
        code: of the problem.
        detail: what was expected and what came, without anything stored.
        status: where it is not the code's own.
        headers: further headers of the answer.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.status = wire.STATUS[code] if status is None else status
        self.headers = dict(headers or {})


def busy() -> Refusal:
    """Return what a request is told that finds no place."""
    return Refusal(
        "not-ready",
        "the server is busy: expected a free place, all are taken; ask again later",
        headers={"Retry-After": "1"},
    )


async def send_problem(send: Send, error: BaseException, request_id: str) -> None:
    """Answers a request with the problem object of an error."""
    status, shown, headers = problem_of(error, request_id)
    body = wire.encode(shown)
    named = {
        "content-type": "application/problem+json",
        "content-length": str(len(body)),
        **headers,
    }
    pairs = [(name.lower().encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


def problem_of(
    error: BaseException, request_id: str, folder: Path | None = None
) -> tuple[int, dict[str, Any], dict[str, str]]:
    """(status, problem object, further headers) of an error. What nobody raised on purpose says
    only the id of the request; what is wrong with the server's store, only of which kind it is.

    Args:
        folder: of the store, which no problem names.

    Example:
        >>> from vestig.errors import NotFoundError
        >>> problem_of(NotFoundError("Memory", "mem_1"), "req_1")[0]
        404
    """
    if isinstance(error, Refusal):
        shown = wire.plain_problem(error.code, error.detail, instance=request_id)
        return error.status, shown | {"status": error.status}, error.headers
    shown = wire.problem(error) | {"instance": request_id}
    if isinstance(error, VestigError) and error.code in _DETAILS:
        shown["detail"] = _DETAILS[error.code]
        shown["errors"] = []
        if error.code != StoreLockedError.code:
            logger("vestig.http").error("request %s: %s", request_id, error)
    elif folder is not None:
        shown["detail"] = shown["detail"].replace(str(folder), "the store")
    headers = {"Retry-After": "1"} if isinstance(error, StoreLockedError) else {}
    if isinstance(error, ConfigError) and error.code == ConfigError.code:
        # keys and profiles that the request itself named; those of the server were read before
        shown["status"] = wire.STATUS["validation"]
    if not isinstance(error, VestigError):
        shown["detail"] = f"an internal error of request {request_id}"
        _report(error, request_id)
    return int(shown["status"]), shown, headers


def _report(error: BaseException, request_id: str) -> None:
    """Type and place only: the message of a foreign exception may hold stored text."""
    name = type(error).__name__
    logger("vestig.http").error("request %s: %s at %s", request_id, name, place_of(error))


def place_of(error: BaseException) -> str:
    """The function and line that raised an error; "" where nobody knows."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "" if step is None else f"{step.tb_frame.f_code.co_qualname}:{step.tb_lineno}"
