"""The confidence below which recall brings nothing, from how often it may be wrong.

Split-conformal prediction (Vovk and others, 2005): of questions that nothing stored answers, and
that the fits have not seen, it is known how sure the store was. Below the confidence that a given
share of them reaches, recall is silent; a further question of their kind reaches it no more often.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

# Without a word of the caller's, where a judge read the memories.
SILENCE: Final = 0.25


def least_confidence(silence: float, unanswered: Sequence[float]) -> float:
    """The confidence below which at least 1 − `silence` of the questions without an answer lie.

    Args:
        silence: how often such a question may bring something, 0 to 1.
        unanswered: confidences of those of the calibration, in rising order.

    Example:
        >>> known = [0.1, 0.2, 0.3, 0.4]
        >>> least_confidence(1.0, known), least_confidence(0.6, known) > 0.2
        (0.0, True)
        >>> least_confidence(0.1, known)
        inf
    """
    rank = math.ceil((len(unanswered) + 1) * (1 - silence))
    if rank == 0:
        return 0.0
    if rank > len(unanswered):
        return math.inf
    return math.nextafter(unanswered[rank - 1], math.inf)
