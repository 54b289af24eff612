"""Codes of word pieces for late interaction, made of hidden states by fixed axes.

The mean and the axes are files of this package, pinned by their hashes; they are read when the
first code is made.
"""

from __future__ import annotations

import os
from _thread import allocate_lock

from vestig.errors import ConfigError, ProviderError

TYPE_CHECKING = False  # as in `vestig`

if TYPE_CHECKING:
    from typing import Final

    from vestig import _core
    from vestig.ports import Pieces, TokenStates

_LOCK: Final = allocate_lock()
_known: list[_core.PieceAxes] = []


def piece_axes() -> _core.PieceAxes:
    """The axes of the codes, read once.

    Raises:
        ConfigError: a file is missing.
        ProviderError: a file is not the pinned one.
    """
    with _LOCK:
        if not _known:
            _known.append(_read())
        return _known[0]


def _read() -> _core.PieceAxes:
    from vestig._core import PieceAxes

    data = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data")
    try:
        return PieceAxes(os.path.join(data, "piece_mean.txt"), os.path.join(data, "piece_axes.txt"))
    except OSError as error:
        raise ConfigError(
            "late interaction: expected vestig/data/piece_mean.txt and piece_axes.txt in the"
            f" installation, reading them failed: {error.strerror}; install vestig again"
        ) from error
    except ValueError as error:
        raise ProviderError(f"late interaction: {error}; install vestig again") from error


def codes_identity() -> bytes:
    """SHA-256 of the mean and of the axes, one behind the other: codes of another identity cannot
    be compared."""
    from vestig._core import PieceAxes

    return b"".join(PieceAxes.SHA256)


def piece_codes(states: TokenStates) -> Pieces:
    """One-bit codes of the word pieces of a memory.

    Example:
        >>> from array import array
        >>> from vestig.ports import TokenStates
        >>> state = array("f", [1.0] + 383 * [0.0]).tobytes()
        >>> [len(part) for part in piece_codes(TokenStates(bytes(8), 2 * state))]
        [8, 68]
    """
    from vestig.ports import Pieces

    return Pieces(states.ids, piece_axes().codes(states.states))


def query_codes(states: TokenStates) -> tuple[bytes, bytes, bytes]:
    """Ids, 4-bit codes (256 numbers from -7 to 7 a piece, int8) and steps (float64) of the word
    pieces of a query, as the core's `Query` takes them."""
    ids, codes, steps = piece_axes().query(states.ids, states.states)
    return ids, codes, steps
