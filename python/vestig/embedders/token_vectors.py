"""Token vectors for late interaction (Khattab and Zaharia, ColBERT, 2020), made from last hidden
states: projected to 64 dimensions by random signs (Achlioptas, Database-friendly random
projections, 2003) and quantised to 8 bits."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from vestig.ports import PIECE_DIMENSIONS, PIECES_MAX, Pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["quantised", "signs"]

_NAME: Final = b"vestig-late-1"
_BLOCK_BITS: Final = 256
_CODE_MAX: Final = 127


@lru_cache(maxsize=4)
def signs(rows: int) -> NDArray[np.float32]:
    """The fixed sign matrix, rows × 64: row r takes the bits, highest first, of SHA-256 over
    `vestig-late-1`, 0x00, decimal r, 0x00, decimal block, block by block; 1 is +1, 0 is −1.

    Example:
        >>> signs(384).shape, sorted(set(signs(384).flat)) == [-1.0, 1.0]
        ((384, 64), True)
    """
    import numpy as np

    blocks = range(-(-PIECE_DIMENSIONS // _BLOCK_BITS))
    drawn = b"".join(
        hashlib.sha256(_NAME + b"\0%d\0%d" % (row, block)).digest()
        for row in range(rows)
        for block in blocks
    )
    bits = np.unpackbits(np.frombuffer(drawn, np.uint8)).reshape(rows, -1)[:, :PIECE_DIMENSIONS]
    matrix: NDArray[np.float32] = np.where(bits == 1, np.float32(1), np.float32(-1))
    matrix.setflags(write=False)
    return matrix


def quantised(ids: Sequence[int], hidden: NDArray[np.float32]) -> Pieces:
    """The token vectors of the first 160 word pieces of a text.

    Args:
        ids: numbers of the pieces.
        hidden: last hidden states, pieces × dimensions of the model.

    Returns:
        Unit vectors of 64 values as signed 8-bit codes with a scale each: value = code · scale.
    """
    import numpy as np

    projected = hidden[:PIECES_MAX] @ signs(hidden.shape[1])
    lengths = np.sqrt((projected.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    unit = projected / lengths.astype(np.float32)
    scales = np.abs(unit).max(axis=1) / np.float32(_CODE_MAX)
    codes = np.rint(unit / scales[:, None]).astype(np.int8)
    numbers = np.array(ids[:PIECES_MAX], dtype="<u4")
    return Pieces(numbers.tobytes(), codes.tobytes(), scales.astype("<f4").tobytes())
