"""What a scan of the projection gives, as recall reads it: that of the core, or one of candidates.

The meaning of every number stands in the core's own description of `Row` and `Scan`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import msgspec

from vestig.ports import ScanRequest

__all__ = [
    "ChangedScan",
    "Scan",
    "ScanFunction",
    "ScanRow",
    "Scoring",
    "is_approximate",
    "scoring_of_first",
]


class ScanRow(Protocol):
    """One memory of a scan: scores, then the walk, then TraceRank."""

    @property
    def id(self) -> bytes: ...
    @property
    def final_score(self) -> float: ...
    @property
    def similarity(self) -> float: ...
    @property
    def semantic_score(self) -> float: ...
    @property
    def start_score(self) -> float: ...
    @property
    def level(self) -> float | None: ...
    @property
    def constant(self) -> float: ...
    @property
    def chosen(self) -> bool: ...
    @property
    def evidence(self) -> tuple[float, float, float, float, float, float] | None: ...
    @property
    def base(self) -> float: ...
    @property
    def origin(self) -> int: ...
    @property
    def kind(self) -> int: ...
    @property
    def embedded(self) -> bool: ...
    @property
    def signals(self) -> Sequence[tuple[str, float, float | None]]: ...
    def signal(self, name: str) -> tuple[float | None, float | None]: ...
    @property
    def nearest_question(self) -> tuple[int, float] | None: ...
    @property
    def metadata_score(self) -> float | None: ...
    @property
    def alpha_used(self) -> float | None: ...
    @property
    def matched_terms(self) -> list[int]: ...
    @property
    def matched_keywords(self) -> list[str]: ...
    @property
    def matched_entities(self) -> list[bytes]: ...
    @property
    def filled(self) -> bool: ...
    @property
    def direct(self) -> bool: ...
    @property
    def start_rank(self) -> int | None: ...
    @property
    def pool_rank(self) -> int | None: ...
    @property
    def path(self) -> Sequence[tuple[int, bytes]]: ...
    @property
    def steps(self) -> Sequence[tuple[str, float, float, float | None]]: ...
    @property
    def signal_strength(self) -> float: ...
    @property
    def path_score(self) -> float: ...
    @property
    def start(self) -> bytes | None: ...
    @property
    def start_base(self) -> float | None: ...
    @property
    def trace(self) -> float: ...
    @property
    def basic(self) -> float: ...
    @property
    def connectivity(self) -> float: ...
    @property
    def confidence(self) -> float: ...
    @property
    def unclipped(self) -> float: ...
    @property
    def tracerank(self) -> float: ...
    @property
    def events(self) -> int: ...
    @property
    def stability(self) -> int: ...
    @property
    def newer_than(self) -> bytes | None: ...
    def put_before(self, older: Any) -> ScanRow: ...


class Scoring(Protocol):
    """What memories that are scored together have in common."""

    @property
    def maxima(self) -> Sequence[float | None]: ...
    @property
    def idfs(self) -> Sequence[float]: ...
    @property
    def topic_of_query(self) -> bool | None: ...


class Scan(Protocol):
    """Rows, best first, and what was counted on the way to them."""

    @property
    def rows(self) -> Sequence[ScanRow]: ...
    @property
    def watched(self) -> Sequence[ScanRow]: ...
    @property
    def associated(self) -> Sequence[ScanRow]: ...
    @property
    def terms(self) -> Sequence[str]: ...
    @property
    def stored(self) -> int: ...
    @property
    def eligible(self) -> int: ...
    @property
    def scored(self) -> int: ...
    @property
    def walked(self) -> int: ...
    @property
    def unembedded(self) -> int: ...
    @property
    def idfs(self) -> Sequence[float]: ...
    @property
    def scorings(self) -> Sequence[Scoring]: ...


def scoring_of_first(scan: Scan) -> Scoring:
    """What the memories of the origin of the first row are scored with; without rows it means
    nothing."""
    return scan.scorings[scan.rows[0].origin if scan.rows else 0]


class ChangedScan(msgspec.Struct, frozen=True, kw_only=True):
    """A scan of which something is not as the core gave it. `approximate`: the rows are the best of
    those that an index proposed."""

    rows: Sequence[ScanRow]
    watched: Sequence[ScanRow]
    associated: Sequence[ScanRow]
    terms: Sequence[str]
    stored: int
    eligible: int
    scored: int
    walked: int
    unembedded: int
    idfs: Sequence[float]
    scorings: Sequence[Scoring]
    approximate: bool = False

    @classmethod
    def of(cls, scan: Scan, **changes: Any) -> ChangedScan:
        """A scan with other values of these fields."""
        kept = {name: getattr(scan, name) for name in _OF_SCAN if name not in changes}
        return cls(approximate=is_approximate(scan), **kept, **changes)


_OF_SCAN: Final = tuple(name for name in ChangedScan.__struct_fields__ if name != "approximate")


def is_approximate(scan: Scan) -> bool:
    """Whether an index proposed what was scored."""
    return isinstance(scan, ChangedScan) and scan.approximate


# seq, request → scan, of a projection that stands at that seq
ScanFunction = Callable[[int, ScanRequest], Scan]
