"""The result of a graph search. Immutable values."""

from __future__ import annotations

from typing import Any

from vestig.answers import SNIPPET, Repeat, memory_in_brief
from vestig.language.text_forms import one_line
from vestig.results import SequenceResult, listing
from vestig.telemetry.spans import Span
from vestig.times import to_plain
from vestig.types import Degradation, Entity, Memory, _Value


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

    def plain_fields(self, *, explain: bool = False) -> dict[str, Any]:
        """Return what JSON shows: the node in brief, its score and how it was reached; with
        `explain` the whole node, its similarity, repeats, and what was asked for."""
        if not explain:
            names = ("node_id", "kind", "score", "source", "graph_depth")
            return {name: getattr(self, name) for name in names} | {"node": _in_brief(self.node)}
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        absent = {name for name in ("repeats", "repeats_more") if not shown[name]}
        absent |= {name for name in ("memory_ids", "raw_score") if shown[name] is None}
        shown = {name: value for name, value in shown.items() if name not in absent}
        reason = {
            "retrieval_method": "graph_traversal" if self.graph_depth else "direct_match",
            "similarity": self.similarity,
            "hops": self.graph_depth,
            "final_score": self.score,
        }
        return shown | {"final": self.score, "reason": reason}

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """Plain JSON types; times as `YYYY-MM-DDTHH:MM:SS.ffffffZ`.

        Args:
            explain: with the whole node, and what its score is made of.
        """
        plain = to_plain(self.plain_fields(explain=explain))
        assert isinstance(plain, dict)
        return plain


def _in_brief(node: Memory | Entity) -> dict[str, Any]:
    if isinstance(node, Memory):
        return {"content": node.content, **memory_in_brief(node)}
    return {"canonical_name": node.canonical_name, "entity_type": node.entity_type}


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

    def plain_fields(self, *, explain: bool = False) -> dict[str, Any]:
        """Return what JSON shows: the trace where it was asked for."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        shown["results"] = [hit.plain_fields(explain=explain) for hit in self.results]
        if self.trace is None:
            del shown["trace"]
        return shown

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """Plain JSON types; times as `YYYY-MM-DDTHH:MM:SS.ffffffZ`.

        Args:
            explain: with whole nodes, and what their scores are made of.
        """
        plain = to_plain(self.plain_fields(explain=explain))
        assert isinstance(plain, dict)
        return plain
