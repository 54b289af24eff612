"""Entities, edges between nodes, and search over both and memories."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from vestig.arguments import SCOPE_CHARS_MAX, check_unicode
from vestig.calls.argument import (
    Choice,
    Flag,
    Function,
    Id,
    Ids,
    Integer,
    Label,
    Number,
    Switch,
    Text,
    Words,
)
from vestig.calls.declaration import (
    WHERE,
    AsOf,
    InNamespace,
    KnownAt,
    QueryTime,
    Request,
    Touch,
    Trace,
    ValidAt,
    given_all,
)
from vestig.calls.filter import NO_FILTER, Filter, Where
from vestig.errors import ValidationError
from vestig.types import EdgeType

_STORED = tuple(kind.value for kind in EdgeType)
# Those that others make are told by whom.
EDGE_TYPES = (*_STORED, "AFFECTS")


class _Entity(Label, frozen=True, kw_only=True):
    """An entity by its id, at least 8 characters of it, its name or an alias."""

    blank: bool = False

    @property
    def expected(self) -> str:
        return "the id or the name of an entity"

    def check(self, field: str, value: Any) -> Any:
        if not isinstance(value, str) or not value.strip():
            raise ValidationError(field, value, self.expected)
        return super().check(field, value)


_EntityId = Annotated[
    str, _Entity("The entity by its id, at least 8 characters of it, its name or an alias.")
]
_BatchSize = Annotated[
    int, Integer("Memories of one transaction.", "--batch-size", default_text="500")
]
_Progress = Annotated[
    Callable[[int, int | None], None] | None,
    Function("Called with what is done and how much there is, or None."),
]
_EDGE_ID = "Id of the edge, or at least 8 characters of it."
_SnippetLen = Annotated[int, Integer("Characters shown of each end.", "--snippet-len", default=60)]


class EntitiesRequest(Request, frozen=True, kw_only=True):
    """One page of entities."""

    call: ClassVar = "entities"

    entity_type: Annotated[
        str | None, Label("Only entities of this type, in any case.", "--type", blank=False)
    ] = None
    offset: Annotated[int, Integer("Entities to skip.", "--offset", least=0, default=0)] = 0
    limit: Annotated[int, Integer("Entities per page, at most 1000.", "--limit", default=20)] = 20
    include_expired: Annotated[
        bool, Flag("Expired and merged entities too.", "--include-expired")
    ] = False
    namespace: InNamespace = None


class EntityRequest(Request, frozen=True, kw_only=True):
    """One entity."""

    call: ClassVar = "entity"

    id: _EntityId
    limit: Annotated[
        int,
        Integer(
            "Memories at most, the newest first; `mentions` counts all.", "--limit", default=20
        ),
    ] = 20
    include_expired: Annotated[
        bool,
        Flag("The entity itself, even when it was merged or expired.", "--include-expired"),
    ] = False
    namespace: InNamespace = None


class MergeEntitiesRequest(Request, frozen=True, kw_only=True):
    """Two entities that are one."""

    call: ClassVar = "merge_entities"

    a: Annotated[
        str,
        _Entity("The entity that becomes a name of the other, by id, name or alias."),
    ]
    b: Annotated[str, _Entity("The one that stays, by id, name or alias.")]
    namespace: InNamespace = None


class ExpireEntityRequest(Request, frozen=True, kw_only=True):
    """An entity that is hidden."""

    call: ClassVar = "expire_entity"

    id: _EntityId
    namespace: InNamespace = None


class PurgeEntitiesRequest(Request, frozen=True, kw_only=True):
    """Expired entities that go for good."""

    call: ClassVar = "purge_entities"

    ids: Annotated[
        tuple[str, ...] | None,
        Words(
            "Expired entities by id, name or alias; None: all of the namespace.",
            many=True,
            required=False,
            chars_max=2_000,
        ),
    ] = None
    dry_run: Annotated[bool, Flag("Say what would go and keep it.", "--dry-run")] = False
    namespace: InNamespace = None


class ExtractEntitiesRequest(Request, frozen=True, kw_only=True):
    """Memories in which entities are looked for."""

    call: ClassVar = "extract_entities"

    reprocess: Annotated[bool, Flag("Every memory again; what is linked stays.", "--reprocess")] = (
        False
    )
    batch_size: _BatchSize = 500
    namespace: InNamespace = None
    progress: _Progress = None


class EntityBackfillRequest(Request, frozen=True, kw_only=True):
    """Memories without entities."""

    call: ClassVar = "entity_backfill"

    dry_run: Annotated[bool, Flag("Say what would happen and change nothing.", "--dry-run")] = False
    batch_size: _BatchSize = 500
    namespace: InNamespace = None
    progress: _Progress = None


_MEMORY = Id("").schema()
_ENTITY = {"not": {"pattern": r"^(?:mem_.*|[0-9a-f-]{8,36})$"}}
_MEMORIES_LINKED = {
    "properties": {
        "edge_type": {"enum": ["RELATED", "SUMMARIZES", None]},
        "from_id": _MEMORY,
        "to_id": _MEMORY,
    },
    "not": given_all("relation"),
}
_ENTITIES_RELATED = {
    **given_all("relation"),
    "allOf": [
        {
            "properties": {
                "edge_type": {"enum": ["RELATION", None]},
                "from_id": _ENTITY,
                "to_id": _ENTITY,
            }
        }
    ],
}


class LinkRequest(Request, frozen=True, kw_only=True):
    """An edge of a caller's."""

    call: ClassVar = "link"
    rules: ClassVar = ({"anyOf": [_MEMORIES_LINKED, _ENTITIES_RELATED]},)

    from_id: Annotated[
        str,
        Label(
            "Where the edge starts: a memory by id, an entity by id, name or alias.", blank=False
        ),
    ]
    to_id: Annotated[str, Label("Where it ends.", blank=False)]
    edge_type: Annotated[
        str | None,
        Choice(
            "RELATED or SUMMARIZES between memories, RELATION between entities; absent: RELATED for"
            " two memories, RELATION for two entities.",
            "--type",
            words=EDGE_TYPES,
        ),
    ] = None
    relation: Annotated[
        str | None,
        Label(
            "Label of a RELATION, such as WORKS_AT.",
            "--relation",
            chars_max=SCOPE_CHARS_MAX,
            blank=False,
        ),
    ] = None
    weight: Annotated[
        float,
        Number(
            "Finite, at least 0; 0 is kept and never walked.",
            "--weight",
            least=0,
            default_text="1.0",
        ),
    ] = 1.0
    confidence: Annotated[
        float | None, Number("From 0 to 1, or None.", "--confidence", least=0, most=1)
    ] = None
    evidence: Annotated[
        str | None,
        Label("Why; cut to entities.max_evidence_length.", "--evidence"),
    ] = None
    namespace: InNamespace = None


class UnlinkRequest(Request, frozen=True, kw_only=True):
    """An edge that ends."""

    call: ClassVar = "unlink"

    edge_id: Annotated[str, Id(_EDGE_ID, kind="edge")]
    namespace: InNamespace = None


class EdgeRequest(Request, frozen=True, kw_only=True):
    """One edge."""

    call: ClassVar = "edge"

    id: Annotated[str, Id(_EDGE_ID, kind="edge")]
    snippet_len: _SnippetLen = 60
    namespace: InNamespace = None


class EdgesRequest(Request, frozen=True, kw_only=True):
    """One page of edges."""

    call: ClassVar = "edges"

    node_id: Annotated[
        str | None,
        Label(
            "Only edges of this memory, by id, or entity, by id, name or alias.",
            "--node",
            blank=False,
        ),
    ] = None
    edge_type: Annotated[
        str | None, Choice("Only edges of this type.", "--type", words=_STORED)
    ] = None
    limit: Annotated[int, Integer("Most edges.", "--limit", default=20)] = 20
    include_expired: Annotated[bool, Flag("Ended edges too.", "--include-expired")] = False
    snippet_len: _SnippetLen = 60
    namespace: InNamespace = None


class RebuildEdgesRequest(Request, frozen=True, kw_only=True):
    """Edges that are computed again."""

    call: ClassVar = "rebuild_edges"

    edge_type: Annotated[
        str,
        Choice(
            "RELATED; no other type is computed.",
            "--type",
            words=(EdgeType.RELATED.value,),
            default=EdgeType.RELATED.value,
        ),
    ] = EdgeType.RELATED.value
    progress: _Progress = None
    namespace: InNamespace = None


class StartNodes(Words, frozen=True):
    """Memories by id, entities by id, name or alias."""

    limited = False

    def check(self, field: str, value: Any) -> Any:
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, (list, tuple, set, frozenset)):
            raise ValidationError(field, value, "a list of memories by id, entities by id or name")
        for id in listed:
            if not isinstance(id, str) or not id.strip():
                allowed = "the id of a memory, or the id or name of an entity"
                raise ValidationError(field, id, allowed)
            check_unicode(field, id)
        return tuple(dict.fromkeys(id.strip() for id in listed))

    def _item(self) -> dict[str, Any]:
        return Text("", blank=False).schema()

    def _alone(self) -> dict[str, Any]:
        return self._item()


class SearchRequest(Request, frozen=True, kw_only=True):
    """Start and reach of a walk; None = the configured value."""

    call: ClassVar = "search"
    # by links alone, it begins at nodes
    rules: ClassVar = (
        {
            "anyOf": [
                {
                    "required": ["query"],
                    "properties": {
                        "query": Text("", blank=False).schema(),
                        "type": {"not": {"const": "graph"}},
                    },
                },
                {
                    "required": ["seed_nodes"],
                    "properties": {
                        "type": {"not": {"const": "vector"}},
                        "seed_nodes": {"not": {"type": "null"}, "minItems": 1},
                    },
                },
            ]
        },
    )

    query: Annotated[
        str | None,
        Text(
            "Question or words; needed unless it begins at seed nodes.", stdin=True, required=False
        ),
    ] = None
    type: Annotated[
        str,
        Choice(
            "Rank by meaning (vector), by links from seed nodes (graph), or by their sum.",
            "--type",
            words=("vector", "graph", "hybrid"),
            default_text="hybrid",
        ),
    ] = "hybrid"
    where: Annotated[Filter, Where(WHERE, query=True, nodes=True, beside=True)] = NO_FILTER
    limit: Annotated[
        int | None,
        Integer("Most hits; default search.limit.", "--limit", default_text="search.limit, 10"),
    ] = None
    graph_depth: Annotated[
        int | None,
        Integer(
            "Hops from seed nodes or vector hits, 0 for none; default search.graph_depth.",
            "--depth",
            least=0,
            default_text="search.graph_depth, 1",
        ),
    ] = None
    seed_nodes: Annotated[
        tuple[str, ...],
        StartNodes(
            "Where a graph search begins: memories by id, entities by id, name or alias.",
            "--seed-node",
        ),
    ] = ()
    include_memory_ids: Annotated[
        bool, Switch("Give each entity the ids of the memories that mention it.", "--memory-ids")
    ] = True
    decay: Annotated[bool | None, Switch("Let old memories count less.", "--decay")] = None
    as_of: AsOf = None
    known_at: KnownAt = None
    valid_at: ValidAt = None
    query_time: QueryTime = None
    namespace: InNamespace = None
    touch: Touch = False
    trace: Trace = False


class NeighbourhoodRequest(Request, frozen=True, kw_only=True):
    """Nodes around others."""

    call: ClassVar = "neighbourhood"

    ids: Annotated[
        tuple[str, ...],
        StartNodes("Where it begins: memories by id, entities by id, name or alias.", many=True),
    ]
    depth: Annotated[
        int, Integer("Links between a start and a node, at most.", "--depth", least=0, most=10)
    ] = 2
    limit: Annotated[
        int, Integer("Most nodes, starts among them, the nearest.", "--limit", most=1000)
    ] = 40
    include_expired: Annotated[
        bool,
        Flag("Superseded, deprecated and archived memories too.", "--include-expired"),
    ] = False
    snippet_len: Annotated[
        int, Integer("Characters shown of each node.", "--snippet-len", default=60)
    ] = 60
    as_of: AsOf = None
    known_at: KnownAt = None
    valid_at: ValidAt = None
    namespace: InNamespace = None


_StartIds = Annotated[
    tuple[str, ...], Ids("Ids of the memories to start from.", many=True, unordered=True)
]


class ExpandRequest(Request, frozen=True, kw_only=True):
    """Memories one hop from others, by shared entities or by RELATED edges; a `min_confidence` of
    None is the configured one for entities, and 0 for edges."""

    call: ClassVar = "expand_via_entities"

    ids: _StartIds
    limit: Annotated[int, Integer("Most memories.", least=0)] = 5
    include_expired: Annotated[bool, Flag("Superseded and deprecated memories too.")] = False
    min_confidence: Annotated[
        float | None,
        Number(
            "Least confidence of the mentions, or of the edge.",
            least=0,
            most=1,
            default_text="links.expansion.min_confidence",
        ),
    ] = None
    namespace: InNamespace = None


class ExpandBothRequest(Request, frozen=True, kw_only=True):
    """Memories one hop from others, both ways."""

    call: ClassVar = "expand_with_graph"

    ids: _StartIds
    entity_limit: Annotated[int | None, Integer("Most memories by entities.", least=0)] = None
    related_limit: Annotated[int | None, Integer("Most memories by RELATED edges.", least=0)] = None
    namespace: InNamespace = None
