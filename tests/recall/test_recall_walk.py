"""The walk, from a store to the reason."""

from __future__ import annotations

import pytest

import vestig
from calls import selecting
from fixed_graph import FixedGraph, fixed_graph, text
from recomputed_scores import final
from scripted import Opener
from vestig.calls.argument import SEED_MAX
from vestig.recall.request import derived_seed
from vestig.testing import FrozenClock


def near(value: float) -> object:
    return pytest.approx(value, abs=1e-9)


def test_best_first_takes_the_strongest_offer(opener: Opener) -> None:
    graph = fixed_graph(opener)
    found = graph.recall()
    assert graph.names(found) == ["S", "B", "E"]
    assert graph.reason(found, "S").path == ("START",)
    assert graph.reason(found, "B").signal_strength == near(0.9)
    assert graph.reason(found, "E").signal_strength == near(0.81)
    assert graph.path(found, "E") == ["START", "RELATED:B", "RELATED:E"]
    assert found.counts.walked == 2
    assert (found.mode, found.order) == ("deterministic", "best")


def test_best_first_and_depth_first(opener: Opener) -> None:
    graph = fixed_graph(opener, "SBCD")
    best = graph.recall()
    assert set(graph.names(best)) == {"S", "B", "D"}
    dfs = graph.recall(config={"walk.order": "dfs"})
    assert set(graph.names(dfs)) == {"S", "B", "C"}
    assert graph.path(dfs, "C") == ["START", "RELATED:B", "RELATED:C"]
    reason = graph.reason(dfs, "C")
    assert (reason.hops, reason.retrieval_method) == (2, "graph_traversal")
    assert reason.signal_strength == reason.path_score == near(0.27)
    first, second = reason.steps
    assert (first.p, first.weight, second.weight) == (1.0, near(0.9), near(0.3))
    assert second.p == near(0.54)
    assert (first.u, second.u) == (None, None)
    assert reason.start_base == near(1.0)
    # its own meaning times the path
    assert reason.final_score == pytest.approx(0.4 * 0.27, abs=1e-7)


def test_cycles_end_and_no_node_comes_twice(opener: Opener) -> None:
    ring = (("S", "B", 0.9), ("B", "C", 0.9), ("C", "S", 0.9), ("C", "D", 0.9), ("D", "B", 0.9))
    graph = fixed_graph(opener, "SBCD", ring)
    for order in ("best", "dfs"):
        found = graph.recall(limit=10, config={"walk.order": order, "walk.max_nodes": 100})
        assert sorted(graph.names(found)) == ["B", "C", "D", "S"]


def test_what_is_filtered_is_not_crossed(opener: Opener) -> None:
    chain = (("S", "B", 0.9), ("B", "C", 0.9))
    graph = fixed_graph(opener, "SBC", chain)
    everything = {"walk.max_nodes": 100}
    assert graph.names(graph.recall(config=everything)) == ["S", "B", "C"]
    for hidden in ({"exclude_ids": [graph.ids["B"]]}, {}):
        if not hidden:
            graph.store.deprecate(graph.ids["B"])
        found = graph.recall(config=everything, **selecting(hidden))
        assert sorted(graph.names(found)) == ["C", "S"]
        reason = graph.reason(found, "C")
        assert reason.path == ("START",)
        assert "Filled" in str(reason.explanation)
        assert found.counts.walked == 0


@pytest.mark.parametrize("max_nodes", [3, 1])
def test_all_starts_are_present(opener: Opener, max_nodes: int) -> None:
    graph = fixed_graph(opener)
    config = {"walk.start.limit": 3, "walk.max_nodes": max_nodes}
    found = graph.recall(limit=3, config=config)
    assert set(graph.names(found)) == {"S", "B", "C"}
    for name in "SBC":
        assert graph.reason(found, name).path == ("START",)
    assert found.counts.walked == 0


def test_always_as_many_as_asked_for(opener: Opener) -> None:
    graph = fixed_graph(opener, "S")
    graph.store.commit_many([f"An unlinked memory with the number {n}" for n in range(49)])
    assert len(graph.recall(limit=10)) == 10
    assert len(graph.store.recall("unlinked memory", profile="reference", limit=10)) == 10


def test_seeds(opener: Opener) -> None:
    graph = fixed_graph(opener)
    query = "what lies nearest?"
    loose = {"walk.exploration_factor": 1.0}

    def trace(**fields: object) -> object:
        plain = graph.recall(
            mode="probabilistic", config=loose, limit=5, **selecting(fields)
        ).to_dict(explain=True)
        return plain["results"], plain["seed"]

    first = graph.recall(mode="probabilistic", config=loose)
    assert (first.seed, first.seed_origin) == (derived_seed(query, first.seq), "derived")
    assert trace() == trace()
    configured = {**loose, "walk.seed": 3}
    found = graph.recall(mode="probabilistic", config=configured)
    assert (found.seed, found.seed_origin) == (3, "config")
    found = graph.recall(mode="probabilistic", config=configured, seed=4)
    assert (found.seed, found.seed_origin) == (4, "call")
    drawn = graph.recall(mode="probabilistic", seed="random", config=loose, limit=5)
    assert drawn.seed_origin == "random"
    assert 0 <= drawn.seed <= SEED_MAX
    assert trace(seed=drawn.seed) == (drawn.to_dict(explain=True)["results"], drawn.seed)
    with pytest.raises(vestig.ValidationError, match="seed"):
        graph.recall(seed=SEED_MAX + 1)


def test_any_seed_gives_one_walk_after_a_rebuild_too(opener: Opener) -> None:
    graph = fixed_graph(opener)
    loose = {"walk.exploration_factor": 1.0, "walk.max_nodes": 5}

    def walks() -> list[object]:
        shape = {"mode": "probabilistic", "config": loose, "limit": 5}
        return [
            graph.recall(seed=s, **selecting(shape)).to_dict(explain=True)["results"]
            for s in range(200)
        ]  # type: ignore[arg-type]

    before = walks()
    assert len({str(walk) for walk in before}) > 1, "the seed decides"
    graph.store.admin.rebuild()
    assert walks() == before


def test_a_drawn_number_is_told_and_decides(opener: Opener) -> None:
    graph = fixed_graph(opener, "SB", (("S", "B", 0.5),))
    loose = {"walk.exploration_factor": 1.0}
    outcomes = set()
    for seed in range(40):
        found = graph.recall(mode="probabilistic", config=loose, seed=seed)
        reason = graph.reason(found, "B")
        if reason.hops:
            (step,) = reason.steps
            assert step.p == near(0.5)
            assert step.u < step.p
        outcomes.add(reason.hops)
    assert outcomes == {0, 1}


def test_weight_zero_is_never_walked(opener: Opener) -> None:
    graph = fixed_graph(opener, "SB", (("S", "B", 0.0),))
    for mode in ("deterministic", "probabilistic"):
        for seed in range(20):
            config = {"walk.deterministic_threshold": 0.0}
            found = graph.recall(mode=mode, seed=seed, config=config)
            assert found.counts.walked == 0


def test_what_is_newer_than_k_neither_boosts_nor_conducts(
    opener: Opener, clock: FrozenClock
) -> None:
    graph = fixed_graph(opener, "SB", ())
    known = clock.move(hours=1)
    clock.move(hours=1)
    graph.store.graph.link(graph.ids["S"], graph.ids["B"], "RELATED", weight=0.9)
    graph.store.commit(text("B"))
    now, then = graph.recall(), graph.recall(known_at=known)
    assert graph.reason(now, "B").hops == 1
    assert graph.reason(now, "B").tracerank_boost.multiplier > 1
    assert graph.reason(then, "B").hops == 0
    assert graph.reason(then, "B").tracerank_boost.multiplier == 1
    assert then.counts.walked == 0


def test_an_edge_that_ended_after_k_conducts_then(opener: Opener, clock: FrozenClock) -> None:
    graph = fixed_graph(opener, "SB", ())
    edge = graph.store.graph.link(graph.ids["S"], graph.ids["B"], "RELATED", weight=0.9)
    known = clock.move(hours=1)
    clock.move(hours=1)
    graph.store.graph.unlink(edge.id)
    assert graph.recall().counts.walked == 0
    assert graph.recall(known_at=known).counts.walked == 1


def test_edges_are_walked_in_both_directions(opener: Opener) -> None:
    graph = fixed_graph(opener, "SB", (("B", "S", 0.9),))
    assert graph.recall().counts.walked == 1


def far_away(opener: Opener) -> FixedGraph:
    """A memory that is unlike the query, linked with the one that is nearest, and sixty between."""
    graph = fixed_graph(opener, "SE", (("S", "E", 1.0),))
    graph.store.commit_many([f"what lies nearest? Number {n} of sixty" for n in range(60)])
    return graph


def test_default_brings_what_is_linked_beside_the_results(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However unlike the query it is; and it takes no place of a result."""
    graph = far_away(opener)
    found = graph.store.recall("what lies nearest?", limit=10, seed=1)
    assert found.formula.pool == 50 < found.counts.eligible
    (walked,) = found.associated
    reason = walked.reason
    assert (walked.id, reason.retrieval_method, reason.hops) == (
        *(graph.ids["E"], "graph_traversal"),
        1,
    )
    assert reason.path == ("START", f"RELATED:{graph.ids['E']}")
    (step,) = reason.steps
    assert step.weight == near(1.0)
    assert str(reason.explanation).startswith("Reached via 1-hop traversal (signal 1.0000) from")
    plain = found.to_dict(explain=True)
    assert [hit["id"] for hit in plain["associated"]] == [walked.id]
    assert near(final(plain["associated"][0], plain["formula"])) == walked.final
    without = graph.store.recall("what lies nearest?", config={"walk.enabled": False}, limit=10)
    assert without.associated == ()
    assert [(hit.id, hit.score) for hit in without] == [(hit.id, hit.score) for hit in found]
    none = graph.store.recall("what lies nearest?", config={"walk.associated": 0}, limit=10, seed=1)
    assert none.associated == ()
    monkeypatch.setattr("vestig.recall.query.confidence", lambda *_: 0.1)
    abstained = graph.store.recall("what lies nearest?", silence=0.02, limit=10, seed=1)
    assert abstained.abstained
    assert abstained.associated == ()


def test_a_share_set_by_hand_mixes_walked_memories_with_the_results(opener: Opener) -> None:
    graph = far_away(opener)
    config = {"ranking.association": 0.5}
    found = graph.store.recall("what lies nearest?", config=config, limit=10, seed=1)
    assert len(found) == 10
    assert found.associated == ()
    (walked,) = [hit for hit in found if hit.reason.retrieval_method == "graph_traversal"]
    assert (walked.id, walked.reason.hops) == (graph.ids["E"], 1)
    share = found.formula.association * walked.reason.signal_strength
    assert walked.final == pytest.approx(share * walked.reason.start_base, abs=1e-9)


@pytest.mark.parametrize(("author", "count"), [(None, 1), ("Ada", 2)])
def test_one_text_is_associated_once(opener: Opener, author: str | None, count: int) -> None:
    """Equal texts of one author are one."""
    graph = far_away(opener)
    copy = graph.store.commit(text("E"), session_id="s", sequence=0, author=author).memory_id
    assert copy is not None
    graph.store.graph.link(graph.ids["S"], copy, "RELATED", weight=1.0)
    found = graph.store.recall("what lies nearest?", limit=10, seed=1)
    assert found.counts.walked == 2
    assert len({graph.ids["E"], copy} & {hit.id for hit in found.associated}) == count
    assert len(found.associated) == count


def test_only_what_a_result_leads_to_is_associated(opener: Opener) -> None:
    graph = fixed_graph(opener, "SBE", (("B", "E", 1.0),))
    both = graph.store.recall("what lies nearest?", limit=2, seed=1, config={"walk.start.limit": 2})
    assert [hit.id for hit in both.associated] == [graph.ids["E"]]
    one = graph.store.recall("what lies nearest?", limit=1, seed=1, config={"walk.start.limit": 2})
    assert one.counts.walked == 1
    assert one.associated == ()
