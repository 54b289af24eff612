"""Warnings of Python about what a call left undone, for callers who look at no outcome."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Final, Protocol, TypeVar

from vestig.types import CommitOutcome, ItemError

# Modules between a public call and its caller. Another module of the package is a surface, which
# shows outcomes itself.
_WITHIN: Final = ("vestig.api.", "vestig.session.forks", "vestig.aio")
_PACKAGE: Final = "vestig"
_REASON_CHARS_MAX: Final = 300


class _Warning(Protocol):
    @property
    def warnings(self) -> tuple[str, ...]: ...


_R = TypeVar("_R", bound=_Warning)


def warn_caller(message: str) -> None:
    """Gives a `UserWarning` at the line of a program that called a store; to a surface none.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warn_caller("nothing was stored")
        >>> str(caught[0].message)
        'nothing was stored'
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] != _PACKAGE:
            break
        if not name.startswith(_WITHIN):
            return
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


def warn_of_refusal(call: str, outcome: CommitOutcome) -> None:
    """Warns of one text that was refused."""
    if not outcome:
        warn_caller(f"{call} stored nothing: {_why(outcome)}")


def warn_of_masked(call: str, results: Iterable[CommitOutcome | ItemError | None]) -> None:
    """Warns of secrets that were masked in what was stored, by the rules that found them."""
    stored = [one for one in results if isinstance(one, CommitOutcome) and one]
    rules = dict.fromkeys(mask.rule for one in stored for mask in one.masked)
    if rules:
        markers = ", ".join(f"[secret:{rule}]" for rule in rules)
        warn_caller(
            f"{call} stored {markers} in the place of what is a secret; `masked` of the outcome"
            " says where it was"
        )


def warn_of_items(results: Sequence[CommitOutcome | ItemError]) -> None:
    """Warns of items of a batch that were not stored, with the reason of the first."""
    refused = [place for place, result in enumerate(results) if not result]
    if refused:
        first = refused[0]
        warn_caller(
            f"commit_many stored {len(results) - len(refused)} of {len(results)} items;"
            f" items[{first}]: {_why(results[first])}"
        )


def warn_of_keys(results: Sequence[CommitOutcome | ItemError]) -> None:
    """Warns of the first item of a batch whose outcome has a warning about its key, and says how
    many there are."""
    told = [
        (place, result.warnings[0])
        for place, result in enumerate(results)
        if isinstance(result, CommitOutcome) and result.key is not None and result.warnings
    ]
    if told:
        place, first = told[0]
        more = f" ({len(told)} items have warnings)" if len(told) > 1 else ""
        warn_caller(f"commit_many: items[{place}]: {first}{more}")


def warn_of_errors(call: str, errors: Sequence[ItemError], more: int = 0) -> None:
    """Warns of what a call left out of what it was given, with the reason of the first. `more`: how
    many there are beyond these."""
    if errors:
        count = len(errors) + more
        left_out = "1 entry was" if count == 1 else f"{count} entries were"
        warn_caller(f"{call}: {left_out} not stored; errors[0]: {_why(errors[0])}")


def warned(call: str, result: _R) -> _R:
    """The result of a call; with a warning for each of its own."""
    warn_of_all(call, result.warnings)
    return result


def warn_of_all(call: str, notes: Iterable[str]) -> None:
    """Warns of each of these."""
    for note in notes:
        warn_caller(f"{call}: {note}")


def _why(result: CommitOutcome | ItemError) -> str:
    if isinstance(result, CommitOutcome):
        return "; ".join(result.hygiene_reasons)
    # behind the name that was meant, all names of the call say little
    said = result.message.partition(" It takes: ")[0]
    return said if len(said) <= _REASON_CHARS_MAX else f"{said[:_REASON_CHARS_MAX]}…"
