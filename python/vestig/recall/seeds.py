"""The seed of a walk: given, configured, drawn, or derived from query and state (R-11)."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final, Literal

from vestig.errors import ValidationError

__all__ = ["SEED_MAX", "Seed", "chosen_seed", "derived_seed", "seed_argument"]

# What a double holds exactly.
SEED_MAX: Final = 2**53 - 1
_BITS: Final = 53
RANDOM: Final = "random"

# A number, or the word that asks for one; None = not given.
Seed = int | Literal["random"] | None


def seed_argument(value: object) -> Seed:
    """The argument `seed` checked. A number written as text counts, as command lines have it.

    Example:
        >>> seed_argument(7), seed_argument("7"), seed_argument("random")
        (7, 7, 'random')
    """
    if value is None:
        return None
    if value == RANDOM:
        return "random"
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= SEED_MAX:
        raise ValidationError("seed", value, f"an integer from 0 to {SEED_MAX}, or random")
    return value


def derived_seed(query: str, seq: int) -> int:
    """The seed that a normalised query has at one state of the ledger.

    Example:
        >>> derived_seed("when did we move the build?", 42)
        4550294274369451
    """
    said = b"\0".join((b"vestig-seed-1", query.encode(), str(seq).encode()))
    return int.from_bytes(hashlib.sha256(said).digest()[:8], "big") >> (64 - _BITS)


def chosen_seed(given: Seed, configured: int | None, query: str, seq: int) -> tuple[int, str]:
    """(seed, where it comes from): call, config, derived or random.

    Example:
        >>> chosen_seed(3, 4, "q", 1), chosen_seed(None, 4, "q", 1)
        ((3, 'call'), (4, 'config'))
    """
    if given == RANDOM:
        return secrets.randbits(_BITS), RANDOM
    if isinstance(given, int):
        return given, "call"
    if configured is not None:
        return configured, "config"
    return derived_seed(query, seq), "derived"
