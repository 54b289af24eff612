"""What an operation is: one entry of the table that all surfaces are made from, and one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any

import msgspec

from vestig.parameters import Parameter
from vestig.surfaces.outlines import OUTLINES

if TYPE_CHECKING:
    from vestig.api.store import Vestig
    from vestig.config import Config
    from vestig.session.session import Session
    from vestig.store.ledger.absent_store import WithoutStore

__all__ = ["Arguments", "Call", "Operation"]


class Call(msgspec.Struct, kw_only=True):
    """One call of an operation. `args` holds only the parameters that were given."""

    args: dict[str, Any]
    # None only for operations that need none of them
    config: Config = None  # type: ignore[assignment]
    store: Vestig = None  # type: ignore[assignment]
    session: Session = None  # type: ignore[assignment]
    progress: Callable[[int, int | None], None] | None = None
    # the streams that `-` stands for in an export and an import
    output: Callable[[], IO[str]] | None = None
    input: Callable[[], IO[str]] | None = None
    # prints a line, in a style, while the operation runs
    say: Callable[..., None] | None = None
    # asks before something is destroyed: plan → whether to go on
    confirm: Callable[[str], bool] | None = None


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """What an operation takes as one JSON object: the arguments of one public call.

    `method` is that call, dotted from the store (`admin.stats`). `filtered`: it takes the filter,
    as the object `where`. `confirmed`: it destroys, so `confirm: true` has to stand beside it
    unless `dry_run` does; the call itself does not take it.
    """

    method: str
    parameters: tuple[Parameter, ...] = ()
    required: tuple[str, ...] = ()
    filtered: bool = False
    confirmed: bool = False

    def answer(self, store: Vestig, given: Mapping[str, Any]) -> Any:
        """What the call returns for arguments as `json_schema.read_arguments` made them."""
        call: Any = store
        for name in self.method.split("."):
            call = getattr(call, name)
        return call(**given)


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation, declared once; what it is for stands in `outlines.py` under its name.

    `document` names its JSON (`vestig/<document>/1`); `text` makes its text for humans;
    `exit_code` is that of a result: an error has its own. `open_options` makes options of
    `vestig.open` from the arguments. `without_store`: on a path without a store the operation
    answers as from an empty one, makes it, or is refused. `alone` answers certain arguments without
    opening the store; None: it has to be opened. `works_queue`: while it runs, a thread works the
    jobs that commits leave. `arguments` is what it takes from surfaces that speak JSON; None: they
    do not offer it.
    """

    name: str
    params: tuple[Parameter, ...] = ()
    run: Callable[[Call], Any]
    document: str
    text: Callable[[Any, Mapping[str, Any]], str]
    exit_code: Callable[[Any], int] = lambda _: 0
    needs_config: bool = True
    needs_store: bool = True
    alone: Callable[[Call], Any] = lambda _: None
    without_store: WithoutStore = "refuse"
    writes: bool = False
    works_queue: bool = False
    open_options: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _: {}
    arguments: Arguments | None = None

    @property
    def help(self) -> str:
        """What it does."""
        return OUTLINES[self.name].help

    @property
    def short(self) -> str:
        """Its other name, outside of its group; "" for none."""
        return OUTLINES[self.name].short
