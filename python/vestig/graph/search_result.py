"""What `search` returns. Immutable values."""

from __future__ import annotations

from typing import Any

from vestig.answers import SNIPPET, Repeat
from vestig.language.text_forms import one_line
from vestig.results import SequenceResult, listing
from vestig.telemetry.spans import Span
from vestig.types import Degradation, Entity, Memory, _Value

__all__ = ["SearchHit", "SearchResult"]


class SearchHit(_Value, frozen=True, kw_only=True):
    """One node. `similarity` is its plain cosine, null where none was compared. `repeats`: the
    other memories of its scope and author with its text, oldest first, at most 50; `repeats_more`
    counts the rest. `raw_score` is None unless scores were decayed, `memory_ids` where they were
    left out."""

    node_id: str
    kind: str
    score: float
    source: str
    graph_depth: int
    similarity: float | None
    node: Memory | Entity
    repeats: tuple[Repeat, ...] = ()
    repeats_more: int = 0
    memory_ids: tuple[str, ...] | None = None
    raw_score: float | None = None

    def __repr__(self) -> str:
        node = self.node
        text = node.content if isinstance(node, Memory) else node.canonical_name
        return f"<SearchHit {self.id} {self.score:.3f} {one_line(text, SNIPPET)!r}>"

    @property
    def id(self) -> str:
        """The node's id."""
        return self.node_id

    def plain_fields(self) -> dict[str, Any]:
        """What JSON shows: repeats where there are some, and what was asked for."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        absent = {name for name in ("repeats", "repeats_more") if not shown[name]}
        absent |= {name for name in ("memory_ids", "raw_score") if shown[name] is None}
        return {name: value for name, value in shown.items() if name not in absent}


class SearchResult(SequenceResult[SearchHit], frozen=True, kw_only=True):
    """The sequence of the nodes, best first; `score_scale` names what their scores are, `trace` is
    None unless it was asked for."""

    results: tuple[SearchHit, ...]
    query: str | None
    type: str
    score_scale: str
    decayed: bool
    namespace: str
    seq: int
    trace: tuple[Span, ...] | None = None
    degraded: tuple[Degradation, ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = [f"{len(self)} by {self.type}"]
        parts += [f"degraded {entry.code}" for entry in self.degraded]
        return listing(f"<SearchResult {', '.join(parts)}>", self.results)

    def plain_fields(self) -> dict[str, Any]:
        """What JSON shows: the trace where it was asked for."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        if self.trace is None:
            del shown["trace"]
        return shown
