"""The only JSON: documents and problems."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vestig.errors import HygieneError, ValidationError, VestigError
from vestig.ids import new_id
from vestig.times import to_plain

# problem code → (CLI exit, HTTP status, title)
_CODES: Final[dict[str, tuple[int, int, str]]] = {
    "validation": (2, 422, "Invalid argument"),
    "hygiene-rejected": (1, 422, "Text refused"),
    "not-found": (1, 404, "Not found"),
    "conflict": (1, 409, "Conflict"),
    "config": (2, 500, "Invalid configuration"),
    "embedding-mismatch": (2, 500, "Other embedding model"),
    "store-locked": (3, 503, "Store locked"),
    "outcome-unknown": (3, 504, "Outcome unknown"),
    "store-full": (3, 507, "Disk full"),
    "schema-version": (3, 503, "Other schema version"),
    "store-damaged": (3, 500, "Store damaged"),
    "forget-incomplete": (3, 500, "Forgetting incomplete"),
    "provider": (4, 502, "Provider failed"),
    "provider-timeout": (4, 504, "Provider did not answer"),
    "unauthorized": (1, 401, "Not allowed"),
    "too-large": (1, 413, "Request too large"),
    "rate-limited": (1, 429, "Too many requests"),
    "not-ready": (3, 503, "Not ready"),
    "internal": (1, 500, "Internal error"),
}
EXIT_CODES: Final = {code: row[0] for code, row in _CODES.items()}
STATUS: Final = {code: row[1] for code, row in _CODES.items()}


def encode(value: Any) -> bytes:
    """One line of JSON. NaN and infinity never appear: they become null.

    Example:
        >>> encode({"a": float("nan")})
        b'{"a":null}'
    """
    return msgspec.json.encode(to_plain(value))


def document(type_name: str, value: Any, *, explain: bool = False) -> dict[str, Any]:
    """A value as a document of schema `vestig/<type_name>/1`; a sequence becomes one member.

    Args:
        explain: with the reasons of a ranked result, and all that its scores are made of.

    Example:
        >>> document("events", [])
        {'schema': 'vestig/events/1', 'events': []}
    """
    if explain:
        plain = value.to_dict(explain=True)
    else:
        plain = value.to_dict() if hasattr(value, "to_dict") else to_plain(value)
    if not isinstance(plain, dict):
        plain = {type_name: plain}
    return {"schema": f"vestig/{type_name}/1", **plain}


def exit_code(error: BaseException) -> int:
    """The exit code that an error stands for.

    Example:
        >>> exit_code(ValidationError("limit", 0, "an integer >= 1"))
        2
    """
    return EXIT_CODES.get(error.code, 1) if isinstance(error, VestigError) else 1


def problem(error: BaseException, *, local: bool = False) -> dict[str, Any]:
    """An error as a problem object. An error that nobody raised on purpose says only its id.

    Args:
        local: who reads it sees the files of this machine, which a message of the base class names.

    Example:
        >>> problem(ValidationError("limit", 0, "an integer >= 1"))["type"]
        'urn:vestig:problem:validation'
    """
    if not isinstance(error, VestigError) or (error.code == "internal" and not local):
        return _problem("internal", "an internal error; see the instance", [])
    errors = []
    if isinstance(error, ValidationError):
        errors = [{"loc": [error.field], "msg": error.brief, "allowed": error.allowed}]
    for fault in getattr(error, "problems", ()):
        errors.append({"loc": [fault.key], "msg": fault.text(), "allowed": fault.allowed})
    shown = _problem(error.code, str(error), errors)
    if isinstance(error, HygieneError):
        shown["outcome"] = error.outcome.to_dict()
    return shown


def plain_problem(code: str, detail: str, *, instance: str | None = None) -> dict[str, Any]:
    """A problem that no exception of the engine stands for.

    Example:
        >>> plain_problem("too-large", "expected at most 10 bytes")["status"]
        413
    """
    shown = _problem(code, detail, [])
    return shown if instance is None else shown | {"instance": instance}


def usage_problem(message: str, name: str | None = None) -> dict[str, Any]:
    """A wrong command line as a problem object."""
    loc = [] if name is None else [name]
    return _problem("validation", message, [{"loc": loc, "msg": message, "allowed": ""}])


def _problem(code: str, detail: str, errors: list[dict[str, Any]]) -> dict[str, Any]:
    _, status, title = _CODES[code]
    return {
        "type": f"urn:vestig:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "instance": new_id("req"),
        "errors": errors,
    }
