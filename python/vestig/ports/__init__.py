"""Interfaces with more than one implementation: embedder, reranker, language model, index,
clock."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from vestig.ports.language_model import (
    ANSWER_BYTES_MAX,
    BatchAnswer,
    BatchLanguageModel,
    LanguageModel,
    LanguageModelSettings,
    ModelAnswer,
    ModelRequest,
    ModelUsage,
)
from vestig.ports.models import (
    CODE_BYTES,
    PIECES_MAX,
    SPECIAL_PIECE,
    STATE_DIMENSIONS,
    CandidateIndex,
    CodeEmbedder,
    Embedder,
    EmbeddingIdentity,
    PieceCounter,
    Pieces,
    Reranker,
    RerankerSettings,
    TokenEmbedder,
    TokenStates,
    are_pieces,
    are_states,
    gives_codes,
    gives_tokens,
    is_finite,
)
from vestig.ports.scan import (
    ProjectionRow,
    ScanFilter,
    ScanQuery,
    ScanRanking,
    ScanRequest,
)
from vestig.types import CommitOutcome

__all__ = [
    "ANSWER_BYTES_MAX",
    "CODE_BYTES",
    "PIECES_MAX",
    "SPECIAL_PIECE",
    "STATE_DIMENSIONS",
    "BatchAnswer",
    "BatchLanguageModel",
    "CandidateIndex",
    "Clock",
    "CodeEmbedder",
    "CommitHook",
    "Embedder",
    "EmbeddingIdentity",
    "LanguageModel",
    "LanguageModelSettings",
    "ModelAnswer",
    "ModelRequest",
    "ModelUsage",
    "PieceCounter",
    "Pieces",
    "Progress",
    "ProjectionRow",
    "Reranker",
    "RerankerSettings",
    "ScanFilter",
    "ScanQuery",
    "ScanRanking",
    "ScanRequest",
    "TokenEmbedder",
    "TokenStates",
    "are_pieces",
    "are_states",
    "gives_codes",
    "gives_tokens",
    "is_finite",
]

# Called with the outcome of each commit.
CommitHook = Callable[[CommitOutcome], None]

# Called with (done, total or None).
Progress = Callable[[int, int | None], None]


class Clock(Protocol):
    """Gives the current time."""

    def __call__(self) -> datetime:
        """The current time. A naive one is UTC."""
        ...
