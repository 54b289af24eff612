"""What an operation is, and one call of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, Any

import msgspec

from vestig.parameters import Parameter

__all__ = ["Call", "Operation"]


class Call(msgspec.Struct, kw_only=True):
    """One call of an operation: where it acts and with what. `args` holds only what was given."""

    args: dict[str, Any]
    config: Any = None
    store: Any = None
    progress: Callable[[int, int | None], None] | None = None
    # where an export to `-` goes and an import from `-` comes from
    output: Callable[[], IO[str]] | None = None
    input: Callable[[], IO[str]] | None = None
    # a running account: line, style
    say: Callable[..., None] | None = None
    # asks before something is destroyed: plan → whether to go on
    confirm: Callable[[str], bool] | None = None


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation, declared once.

    `document` names its JSON (`vestig/<document>/1`); `text` makes its text for humans;
    `exit_code` judges a value that is no error. `open_options` makes options of `vestig.open`
    from the arguments.
    """

    name: str
    help: str
    params: tuple[Parameter, ...] = ()
    run: Callable[[Call], Any]
    document: str
    text: Callable[[Any, Mapping[str, Any]], str]
    exit_code: Callable[[Any], int] = lambda _: 0
    needs_store: bool = True
    writes: bool = False
    open_options: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _: {}
