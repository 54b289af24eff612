"""The neighbourhood of nodes: what is nearest to them by links, and the links between all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from vestig.calls.filter import NO_FILTER
from vestig.calls.graph import NeighbourhoodRequest
from vestig.filters import Moments, filter_parts, moments
from vestig.graph.start_nodes import node_id, skipped
from vestig.results import SequenceResult
from vestig.session.filter_ids import resolved
from vestig.session.nodes import node_labels
from vestig.session.session import Session
from vestig.session.transaction import ahead_notice
from vestig.store.projection.scan_objects import DEGREE_MAX, NodeScan
from vestig.store.records import graph_rows
from vestig.store.records.reads import LedgerView
from vestig.types import Degradation, Edge, _Value

# id → (kind, depth), from the core's walk
_Reached = Mapping[str, tuple[str, int]]
# Fields of an edge in JSON.
_SHOWN: Final = ("id", "from_id", "to_id", "edge_type", "relation", "weight", "confidence")
# node → neighbour → weight
_Weights = Mapping[str, Mapping[str, float]]


class NeighbourhoodNode(_Value, frozen=True, kw_only=True, gc=False):
    """One node. `kind`: memory or entity; `depth`: the fewest links from a start, which
    has 0; `label`: the first characters of a memory, or type and name of an entity."""

    id: str
    kind: str
    depth: int
    label: str


class Neighbourhood(SequenceResult[NeighbourhoodNode], frozen=True, kw_only=True):
    """The sequence of the nodes, starts first, then by depth.

    `edges`: all links between two of them, the heaviest first. `left_out`: how many more nodes lie
    within the depth.
    """

    nodes: tuple[NeighbourhoodNode, ...]
    edges: tuple[Edge, ...]
    left_out: int
    namespace: str
    seq: int
    degraded: tuple[Degradation, ...] = ()
    warnings: tuple[str, ...] = ()

    def plain_fields(self) -> dict[str, Any]:
        """The fields that JSON shows, of the edges what a picture needs; `edge show` has the
        rest."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        edges = [{name: getattr(edge, name) for name in _SHOWN} for edge in self.edges]
        shown["edges"] = [
            {name: value for name, value in edge.items() if value is not None} for edge in edges
        ]
        return shown


def nearest(
    starts: Sequence[str],
    reached: _Reached,
    weights: Callable[[Sequence[str]], _Weights],
    limit: int,
) -> list[str]:
    """The ids to show, depth by depth; of one depth those with the largest share of a walk that
    begins at the starts and takes each link by its weight, ties by id.

    Args:
        reached: what lies around, starts included.
        weights: gives the weights of the links around some nodes.
    """
    ring = sorted(starts)[:limit]
    shares = dict.fromkeys(ring, 1.0)
    kept = list(ring)
    depth = 0
    while ring and len(kept) < limit:
        depth += 1
        shares = _next_shares(shares, reached, depth, weights(ring))
        ring = sorted(shares, key=lambda id: (-shares[id], id))[: limit - len(kept)]
        kept += ring
    return kept


def _next_shares(
    shares: Mapping[str, float],
    reached: _Reached,
    depth: int,
    weights: _Weights,
) -> dict[str, float]:
    """Share of the walk of each node of a depth, of those of the depth before it."""
    found: dict[str, float] = {}
    for id, around in weights.items():
        outward = {
            other: weight
            for other, weight in around.items()
            if reached.get(other, ("", -1))[1] == depth
        }
        whole = sum(outward.values())
        for other, weight in outward.items():
            # links of weight 0 lead on as well, behind all others
            share = weight / whole if whole > 0 else 0.0
            found[other] = found.get(other, 0.0) + shares[id] * share
    return found


class _Read:
    """One call. `read` may run more than once, when ledger and projection move apart."""

    def __init__(self, session: Session, asked: NeighbourhoodRequest) -> None:
        self.session = session
        self.asked = asked
        self.space = session.in_namespace(asked.namespace)
        self.moments: Moments = moments(
            session.now_us(), as_of=asked.as_of, known_at=asked.known_at, valid_at=asked.valid_at
        )
        at = self.moments
        self.known_at_us = at.known_at_us if at.past else None

    def read(self, view: LedgerView, core: Any) -> Neighbourhood:
        """The neighbourhood in one state of the store."""
        asked = self.asked
        parts = filter_parts(
            NO_FILTER,
            self.space,
            self.moments,
            include_expired=asked.include_expired,
            include_archived=asked.include_expired,
        )
        scan = NodeScan(core, view.seq, resolved(view, core, parts, nodes=True))
        warnings = [*self.moments.warnings]
        named = {
            text: node_id(view, core, self.space, text, self.moments.known_at_us, field="ids")
            for text in asked.ids
        }
        origins = [id for id in named.values() if id is not None]
        around, wide = scan.around(origins, asked.depth, True, True)
        reached = {id: (kind, depth) for id, kind, depth in around}
        warnings += [skipped(text) for text, id in named.items() if id not in reached]
        warnings += [f"{id} has more than {DEGREE_MAX} neighbours: not expanded" for id in wide]
        hubs = set(wide)

        def weights(ids: Sequence[str]) -> _Weights:
            walked = [id for id in ids if id not in hubs]
            return graph_rows.weights_around(view, self.space, walked, self.known_at_us)

        starts = [id for id, (_, depth) in reached.items() if depth == 0]
        chosen = nearest(starts, reached, weights, asked.limit)
        labels = node_labels(view, self.space, chosen, asked.snippet_len)
        return Neighbourhood(
            nodes=tuple(
                NeighbourhoodNode(
                    id=id, kind=reached[id][0], depth=reached[id][1], label=labels[id]
                )
                for id in chosen
            ),
            edges=tuple(graph_rows.edges_between(view, self.space, chosen, self.known_at_us)),
            left_out=len(reached) - len(chosen),
            namespace=self.space,
            seq=view.seq,
            degraded=(
                *ahead_notice(view.last_recorded_us, self.session.now_us()),
                *self.session.keeper.take_degraded(),
            ),
            warnings=tuple(warnings),
        )


def neighbourhood(session: Session, asked: NeighbourhoodRequest) -> Neighbourhood:
    """The nodes that are nearest by links to those given."""
    call = _Read(session, asked)
    with session.operation("neighbourhood"):
        result = session.keeper.run(call.read)
        session.metrics.degraded(result.degraded)
        return result
