"""Packed weights in a file of the user's cache folder: made at first use, mapped by every later
process, never trusted."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False  # as in `vestig`

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeVar

    class Packed(Protocol):
        """Weights of the core, packed."""

        def write(self, path: str) -> bool:
            """Writes the packed file."""
            ...

    _P = TypeVar("_P", bound=Packed)


def mapped(name: str, map: Callable[[str], _P], pack: Callable[[], _P]) -> _P:
    """The weights of the cache folder; packed into it where it has none that can be used.

    Args:
        name: of the model and its weights.
        map: the weights of a packed file.
        pack: the weights of the installation, in memory.

    Raises:
        What `pack` raises.
    """
    from vestig._core import WeightsUnusable

    try:
        return map(path_of(name))
    except FileNotFoundError:
        return packed(name, map, pack, None)
    except (WeightsUnusable, OSError) as error:
        if not _is_foreign(error):
            return packed(name, map, pack, str(error))
        _faults.append(str(error))
        return packed(name, map, pack, None)


def packed(name: str, map: Callable[[str], _P], pack: Callable[[], _P], reason: str | None) -> _P:
    """The weights of the installation, packed in memory, and written into the cache folder where
    that is possible. The first file of a user is mapped at once; whoever found one that cannot be
    used says so in the log, and stays with the weights in memory. Of a folder that this user may
    not use the log says nothing above INFO, for every process would: `doctor` does.

    Args:
        reason: why the file in the cache folder cannot be used; None where there is none, or where
            the folder is not this user's.

    Raises:
        What `pack` raises.
    """
    from vestig._core import WeightsUnusable

    weights = pack()
    try:
        path = path_of(name)
        if weights.write(path) and reason is None:
            weights = map(path)
    except (WeightsUnusable, OSError) as error:
        if _is_foreign(error):
            _faults.append(str(error))
        else:
            reason = reason or str(error)
    if reason is not None:
        _report(reason, damaged=True)
    elif _faults:
        _report(_faults[0], damaged=False)
    return weights


def path_of(name: str) -> str:
    """Path of the packed file of this name and this layout.

    Raises:
        OSError: the user has no cache folder.
    """
    from vestig._core import PackedWeights
    from vestig.config.environment import cache_directory

    folder = cache_directory()
    if not os.path.isabs(folder):
        raise OSError(f"the cache folder is not absolute: {folder}")
    return os.path.join(folder, f"{name}-{PackedWeights.LAYOUT}.weights")


def cache_fault() -> str | None:
    """Why the cache folder could not be used since this process began; None where it could, or
    where nothing was embedded.

    Example:
        >>> cache_fault() is None
        True
    """
    return _faults[0] if _faults else None


def _is_foreign(error: Exception) -> bool:
    """Return whether the folder is one that this user may not use: of somebody else, or
    read-only."""
    return isinstance(error, PermissionError) or getattr(error, "errno", None) == errno.EROFS


_faults: list[str] = []
_reported: list[str] = []


def _report(reason: str, *, damaged: bool) -> None:
    """Once in a process: what is wrong with the file, and that nothing depends on it."""
    _reported.append(reason)
    if len(_reported) > 1:
        return
    import logging

    from vestig.config.environment import cache_directory
    from vestig.telemetry import log_event

    level = logging.WARNING if damaged else logging.INFO
    log_event(level, "weights_packed_again", reason=reason, folder=cache_directory())
