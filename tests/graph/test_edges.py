"""Edges that callers make, and one hop from memories."""

from __future__ import annotations

import math
from typing import Any

import pytest

import vestig
from graph_rows import entity, mention, summary
from scripted import Opener
from tables import each
from vestig.calls.graph import EDGE_TYPES
from vestig.errors import NotFoundError, ValidationError
from vestig.testing import FrozenClock

PUMP, GASKET, LEDGER, CANOE = (
    "the pump of the boiler failed at noon",
    "a gasket was ordered by telephone",
    "nobody signed the ledger of visitors",
    "a canoe drifts past the lower weir",
)
UNKNOWN = "mem_00000000-0000-4000-8000-000000000000"


def stored(store: vestig.Vestig, *texts: str) -> list[str]:
    found = [store.commit(text).memory_id for text in texts]
    assert all(found)
    return [str(id) for id in found]


@pytest.fixture
def pair(store: vestig.Vestig) -> list[str]:
    return stored(store, PUMP, GASKET)


@pytest.mark.parametrize(("given", "kept"), [(0.0, 0.0), (0.37, 0.37), (None, 1.0), (-0.0, 0.0)])
def test_weights_survive(
    store: vestig.Vestig, opener: Opener, pair: list[str], given: Any, kept: float
) -> None:
    chosen = {} if given is None else {"weight": given}
    edge = store.graph.link(*pair, "RELATED", **chosen)
    assert edge.edge.weight == kept
    assert store.graph.edge(edge.id).edge.weight == kept
    assert math.copysign(1, store.graph.edge(edge.id).edge.weight) == 1
    store.close()
    assert opener().graph.edge(edge.id).edge.weight == kept


def test_evidence_is_cut(store: vestig.Vestig, pair: list[str]) -> None:
    edge = store.graph.link(*pair, "RELATED", evidence="e" * 500).edge
    assert edge.evidence == "e" * 197 + "..."
    again = store.graph.link(*reversed(pair), "RELATED", evidence="e" * 200).edge
    assert again.evidence == "e" * 200


def test_an_unknown_type_names_the_ten(store: vestig.Vestig, pair: list[str]) -> None:
    with pytest.raises(ValidationError) as caught:
        store.graph.link(*pair, "FOO")
    assert len(EDGE_TYPES) == 6
    for name in EDGE_TYPES:
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "maker"),
    [
        ("AFFECTS", "event log"),
        ("MENTIONS", "extraction"),
        ("PRODUCED", "commit"),
    ],
)
def test_types_that_others_make_are_refused(
    store: vestig.Vestig, pair: list[str], kind: str, maker: str
) -> None:
    with pytest.raises(ValidationError, match=maker):
        store.graph.link(*pair, kind)
    assert store.graph.edges(edge_type="RELATED").edges == ()


def test_the_same_edge_is_stored_once(store: vestig.Vestig, pair: list[str]) -> None:
    first = store.graph.link(*pair, "RELATED", weight=0.9)
    again = store.graph.link(*pair, "RELATED", weight=0.2, evidence="other")
    assert (first.changed, again.changed) == (True, False)
    assert again.id == first.id
    assert again.seq == first.seq
    assert again.edge == first.edge
    assert first.edge.origin == "caller"
    assert store.graph.link(*reversed(pair), "RELATED").id != first.id


@each(
    "fields",
    [
        {"weight": math.nan},
        {"weight": math.inf},
        {"weight": -1},
        {"weight": True},
        {"weight": "1"},
        {"weight": 10**400},
        {"confidence": 1.1},
        {"confidence": math.nan},
        {"confidence": -0.1},
        {"relation": "KNOWS"},
        {"evidence": 5},
        {"evidence": "\ud800"},
    ],
    ids=repr,
)
def test_values_out_of_range_are_refused(
    store: vestig.Vestig, pair: list[str], fields: dict[str, Any]
) -> None:
    (name,) = fields
    with pytest.raises(ValidationError, match=name):
        store.graph.link(*pair, "RELATED", **fields)
    assert len(store.graph.edges(edge_type="RELATED")) == 0


def test_a_node_is_not_linked_with_itself(store: vestig.Vestig, pair: list[str]) -> None:
    for other in (pair[0], pair[0][:14]):
        with pytest.raises(ValidationError, match="another node"):
            store.graph.link(pair[0], other, "RELATED")


def test_both_ends_exist_in_the_namespace(store: vestig.Vestig, pair: list[str]) -> None:
    with pytest.raises(NotFoundError, match=f"Memory not found: {UNKNOWN}"):
        store.graph.link(pair[0], UNKNOWN, "RELATED")
    with pytest.raises(NotFoundError, match="Entity not found"):
        store.graph.link(entity(store, "Ada"), "ent_00000000-0000-4000-8000-000000000000",
                   "RELATION", relation="knows")  # fmt: skip
    with pytest.raises(ValidationError, match="ent_"):
        store.graph.link(*pair, "RELATION", relation="knows")


def test_edges_of_another_namespace_do_not_exist(store: vestig.Vestig, pair: list[str]) -> None:
    edge = store.graph.link(*pair, "RELATED")
    for call in (
        lambda: store.graph.link(*pair, "RELATED", namespace="other"),
        lambda: store.graph.edge(edge.id, namespace="other"),
        lambda: store.graph.unlink(edge.id, namespace="other"),
        lambda: store.graph.edges(pair[0], namespace="other"),
    ):
        with pytest.raises(NotFoundError):
            call()
    assert len(store.graph.edges(namespace="other")) == 0
    assert store.graph.expand_via_related(pair, namespace="other") == []
    assert store.graph.edge(edge.id).edge.t_expired is None


def test_relations_join_entities_under_a_label(store: vestig.Vestig) -> None:
    ada, acme = entity(store, "Ada"), entity(store, "Acme", "ORG")
    edge = store.graph.link(ada, acme[:14], "RELATION", relation=" works   at ").edge
    assert (edge.relation, edge.to_id) == ("WORKS_AT", acme)
    assert store.graph.link(ada, acme, "RELATION", relation="WORKS_AT").id == edge.id
    assert store.graph.link(ada, acme, "RELATION", relation="left").id != edge.id
    for missing in (None, "", "  ", "x" * 201):
        with pytest.raises(ValidationError, match="relation"):
            store.graph.link(ada, acme, "RELATION", relation=missing)
    (shown,) = [one for one in store.graph.edges(ada) if one.edge.relation == "LEFT"]
    assert (shown.from_label, shown.to_label) == ("PERSON:Ada", "ORG:Acme")


def test_only_a_summary_summarizes(store: vestig.Vestig, pair: list[str]) -> None:
    with pytest.raises(ValidationError, match="SUMMARY"):
        store.graph.link(*pair, "SUMMARIZES")
    whole = summary(store, "boiler repairs in short", [pair[0]])
    assert store.graph.link(whole, pair[1], "SUMMARIZES").changed
    assert len(store.graph.edges(whole, edge_type="SUMMARIZES")) == 2


def test_unlink_ends_an_edge_and_keeps_it_for_the_past(
    store: vestig.Vestig, pair: list[str], clock: FrozenClock
) -> None:
    edge = store.graph.link(*pair, "RELATED")
    clock.move(hours=1)
    gone = store.graph.unlink(edge.id[:14])
    assert gone.changed
    assert gone.edge.t_expired == clock()
    again = store.graph.unlink(edge.id)
    assert (again.changed, again.edge) == (False, gone.edge)
    assert store.graph.edges(edge_type="RELATED").edges == ()
    kept = store.graph.edges(edge_type="RELATED", include_expired=True)
    assert [one.id for one in kept] == [edge.id]
    assert [
        one.id for one in store.graph.edges(pair[0], edge_type="RELATED", include_expired=True)
    ] == [edge.id]
    # an ended edge never blocks a new one
    assert store.graph.link(*pair, "RELATED").id != edge.id


def test_edges_are_listed_newest_first(
    store: vestig.Vestig, pair: list[str], clock: FrozenClock
) -> None:
    (third,) = stored(store, LEDGER)
    made = []
    for end in (pair[1], third):
        clock.move(minutes=1)
        made.append(store.graph.link(pair[0], end, "RELATED").id)
    assert [one.id for one in store.graph.edges(edge_type="RELATED")] == made[::-1]
    assert [one.id for one in store.graph.edges(edge_type="RELATED", limit=1)] == made[1:]
    assert [one.id for one in store.graph.edges(pair[0], edge_type="RELATED")] == made[::-1]
    assert [one.id for one in store.graph.edges(third, edge_type="RELATED")] == made[1:]
    assert (
        store.graph.edges(snippet_len=3, edge_type="RELATED").edges[0].from_label
        == PUMP[:3] + "..."
    )
    produced = store.graph.edges(pair[0], edge_type="PRODUCED").edges
    assert [one.from_label for one in produced] == ["agentic"]
    for fields in ({"limit": 0}, {"edge_type": "FOO"}, {"edge_type": "AFFECTS"}):
        with pytest.raises(ValidationError):
            store.graph.edges(**fields)  # type: ignore[arg-type]


def test_a_linked_edge_survives_in_an_export(store: vestig.Vestig, opener: Opener) -> None:
    pair = stored(store, PUMP, GASKET)
    edge = store.graph.link(*pair, "RELATED", weight=0.0, confidence=0.5, evidence="same boiler")
    import io

    copy = io.StringIO()
    store.export(copy)
    other = opener("other")
    other.import_(io.StringIO(copy.getvalue()))
    assert other.graph.edge(edge.id).edge == edge.edge


# --- expansion -------------------------------------------------------------------------------


@pytest.fixture
def four(store: vestig.Vestig) -> dict[str, str]:
    """F4: memories that mention {P, X}, {P, Y}, {Q, X}, {}."""
    ids = dict(zip("abcd", stored(store, PUMP, GASKET, LEDGER, CANOE), strict=True))
    names = {name: entity(store, name) for name in "PQXY"}
    for memory, mentioned in {"a": "PX", "b": "PY", "c": "QX"}.items():
        mention(store, ids[memory], *(names[name] for name in mentioned))
    return ids | names


def test_expansion_by_shared_entities(store: vestig.Vestig, four: dict[str, str]) -> None:
    found = store.graph.expand_via_entities([four["a"]])
    assert {one.memory.id: one.shared_entities for one in found} == {
        four["b"]: (four["P"],),
        four["c"]: (four["X"],),
    }
    assert [one.expansion_score for one in found] == [1, 1]
    assert [one.memory.id for one in found] == sorted((four["b"], four["c"]))
    assert {one.retrieval_reason for one in found} == {"graph_expansion_entity"}
    assert four["d"] not in {one.memory.id for one in found}


def test_limits_expired_and_empty(store: vestig.Vestig, four: dict[str, str]) -> None:
    assert store.graph.expand_via_entities([]) == []
    assert store.graph.expand_via_entities([four["a"]], limit=0) == []
    assert len(store.graph.expand_via_entities([four["a"]], limit=1)) == 1
    assert store.graph.expand_via_entities([UNKNOWN, four["d"]]) == []
    both = store.graph.expand_via_entities([four["b"], four["c"]])
    assert [(one.memory.id, one.expansion_score) for one in both] == [(four["a"], 2)]
    store.deprecate(four["b"])
    assert [one.memory.id for one in store.graph.expand_via_entities([four["a"]])] == [four["c"]]
    more = store.graph.expand_via_entities([four["a"]], include_expired=True)
    assert {one.memory.id for one in more} == {four["b"], four["c"]}
    store.archive(four["c"])
    assert store.graph.expand_via_entities([four["a"]]) == []
    for fields in (
        {"limit": -1},
        {"min_confidence": 1.5},
        {"min_confidence": 10**400},
        {"include_expired": 1},
    ):
        with pytest.raises(ValidationError):
            store.graph.expand_via_entities([four["a"]], **fields)  # type: ignore[arg-type]


def test_unsure_mentions_do_not_expand(store: vestig.Vestig) -> None:
    first, second, third = stored(store, PUMP, GASKET, LEDGER)
    name = entity(store, "boiler")
    mention(store, first, name, confidence=None)
    mention(store, second, name, confidence=0.75)
    mention(store, third, name, confidence=0.74)
    assert [one.memory.id for one in store.graph.expand_via_entities([first])] == [second]
    low = store.graph.expand_via_entities([first], min_confidence=0.5)
    assert {one.memory.id for one in low} == {second, third}


def test_expansion_by_related(store: vestig.Vestig) -> None:
    a, b, c, d = stored(store, PUMP, GASKET, LEDGER, CANOE)
    store.graph.link(a, b, "RELATED", weight=0.7, confidence=0.7)
    store.graph.link(c, a, "RELATED", weight=0.9)
    store.graph.link(b, c, "RELATED", weight=0.95, confidence=0.2)
    found = store.graph.expand_via_related([a])
    assert [(one.memory.id, one.similarity_score, one.source_memory_id) for one in found] == [
        (c, 0.9, a),
        (b, 0.7, a),
    ]
    assert {one.retrieval_reason for one in found} == {"graph_expansion_related"}
    both = store.graph.expand_via_related([a, b])
    assert [(one.memory.id, one.similarity_score, one.source_memory_id) for one in both] == [
        (c, 0.95, b)
    ]
    sure = store.graph.expand_via_related([b], min_confidence=0.7)
    assert [one.memory.id for one in sure] == [a]
    assert store.graph.expand_via_related([d]) == []
    assert store.graph.expand_via_related([a], limit=0) == []
    store.deprecate(c)
    assert [one.memory.id for one in store.graph.expand_via_related([a])] == [b]


def test_both_ways_at_once(store: vestig.Vestig, four: dict[str, str]) -> None:
    store.graph.link(four["a"], four["d"], "RELATED", weight=0.8)
    found = store.graph.expand_with_graph([four["a"]])
    assert {one.memory.id for one in found.via_entities} == {four["b"], four["c"]}
    assert [one.memory.id for one in found.via_related] == [four["d"]]
    less = store.graph.expand_with_graph([four["a"]], entity_limit=1, related_limit=0)
    assert (len(less.via_entities), less.via_related) == (1, ())
    nothing = store.graph.expand_with_graph([])
    assert (nothing.via_entities, nothing.via_related) == ((), ())
