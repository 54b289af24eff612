"""What `search` returns. Immutable values."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from vestig.answers import SNIPPET, Repeat
from vestig.language.text_forms import one_line
from vestig.results import SequenceResult, listing
from vestig.telemetry.spans import Span
from vestig.types import Degradation, Entity, Memory, _Value

__all__ = ["SearchHit", "SearchResult"]


class SearchHit(_Value, frozen=True, kw_only=True):
    """One node. `similarity` is its plain cosine, null where none was compared. `repeats`: the
    other memories of its scope and author with its text, oldest first, at most 50; `repeats_more`
    counts the rest. `raw_score` is there when scores were decayed, `memory_ids` unless they were
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
    memory_ids: tuple[str, ...] | UnsetType = UNSET
    raw_score: float | UnsetType = UNSET

    def __repr__(self) -> str:
        node = self.node
        text = node.content if isinstance(node, Memory) else node.canonical_name
        return f"<SearchHit {self.id} {self.score:.3f} {one_line(text, SNIPPET)!r}>"

    @property
    def id(self) -> str:
        """The node's id."""
        return self.node_id

    def plain_fields(self) -> dict[str, Any]:
        """What JSON shows: repeats only where there are some."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        absent = [name for name in ("repeats", "repeats_more") if not shown[name]]
        return {name: value for name, value in shown.items() if name not in absent}


class SearchResult(SequenceResult[SearchHit], frozen=True, kw_only=True):
    """The sequence of the nodes, best first; `score_scale` names what their scores are."""

    results: tuple[SearchHit, ...]
    query: str | None
    type: str
    score_scale: str
    decayed: bool
    namespace: str
    seq: int
    trace: tuple[Span, ...] | UnsetType = UNSET
    degraded: tuple[Degradation, ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = [f"{len(self)} by {self.type}"]
        parts += [f"degraded {entry.code}" for entry in self.degraded]
        return listing(f"<SearchResult {', '.join(parts)}>", self.results)
