"""The command line. `cli` is the tree of commands, `run` runs one line, `main` is the entry point.

What they need is loaded when they are used: texts for humans (`render`, `why`) are needed without
any command, and an interrupt while modules load is one like any other.
"""

from __future__ import annotations

import _thread
import gc
import importlib
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from vestig.surfaces.cli.commands import cli, run

__all__ = ["cli", "main", "run"]

INTERRUPTED: Final = 130
# What is loaded lives to the end of the command: to look through it for cycles after every 700
# objects, and once more at the end, takes a fifth of the time of a short one.
_OBJECTS_BETWEEN_COLLECTIONS: Final = 50_000
# Libraries import them for what a short command never does; `inspect` loads the compiler's modules.
_SELDOM_USED: Final = ("inspect", "ipaddress", "textwrap")
_RETRY_DELAY_S: Final = 0.01


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from vestig.surfaces.cli import commands

    return getattr(commands, name)


class _LoadedWhenUsed(ModuleType):
    """Stands for a module until something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def load_msgspec() -> None:
    """Loads msgspec without what it uses where it happens to be installed: `typing_extensions`
    gives it what `typing` has too, and takes as long to load as the rest of it."""
    if "typing_extensions" in sys.modules:
        return
    # an import of it fails now, and msgspec goes on to `typing`
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
    modules["typing_extensions"] = None
    try:
        import msgspec  # noqa: F401
    finally:
        del modules["typing_extensions"]


def _fill_closed_streams() -> None:
    """Opens the null device in place of standard streams that are closed: their numbers must not
    be given to files of the store."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _raise_dropped_interrupt_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Interrupts once more if an interrupt was dropped: Python ignores what is raised in a
    finaliser or a callback of a weak reference, and loading a module calls such callbacks."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    thread = threading.get_ident()
    # `threading` would wait for the thread's start, in which the next interrupt can come
    while True:
        with suppress(KeyboardInterrupt):
            _thread.start_new_thread(_interrupt_outside_of_hook, (thread,))
            return


def _interrupt_outside_of_hook(thread: int) -> None:
    """Interrupts a thread once it has left the hook, in which what is raised is ignored too."""
    inside = True
    while inside:
        time.sleep(_RETRY_DELAY_S)
        frame = sys._current_frames().get(thread)
        while frame is not None and frame.f_code is not _raise_dropped_interrupt_again.__code__:
            frame = frame.f_back
        inside = frame is not None
    signal.pthread_kill(thread, signal.SIGINT)


def _answer_editor(words: list[str]) -> None:
    """Answers an event and ends, where these are the words that an installed hook is started with:
    an editor waits for it, and a quarter of its time would go into reading options and taking
    modules apart. Other words are for the command to read."""
    load_msgspec()
    from vestig.surfaces.hooks.hooks_file import hook_options

    found = hook_options(words)
    if found is None:
        return
    from vestig.surfaces.hooks.events import answer_event, print_answer

    # an editor takes another exit of a hook for an order to drop the prompt
    with suppress(KeyboardInterrupt):
        print_answer(answer_event(*found))
    os._exit(0)


def main() -> NoReturn:
    """Entry point of the `vestig` command."""
    try:
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        for name in _SELDOM_USED:
            sys.modules.setdefault(name, _LoadedWhenUsed(name))
        sys.unraisablehook = _raise_dropped_interrupt_again
        _fill_closed_streams()
        words = sys.argv[1:]
        if words[:1] == ["hook"]:
            _answer_editor(words)
        from vestig.surfaces.cli.commands import run

        code = run(words)
        # what remains is the end of the process, which has nothing to interrupt
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except BaseException as error:  # an interrupt can come wrapped in an error of any kind
        # first of all, so that another one cannot break what follows
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        from vestig.telemetry import caused_by_interrupt

        if not caused_by_interrupt(error):
            raise
        code = INTERRUPTED
    gc.freeze()
    sys.exit(code)
