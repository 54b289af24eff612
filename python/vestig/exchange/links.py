"""Entities and relations that a file names, written beside its memories."""

from __future__ import annotations

from collections.abc import Sequence

from vestig.changes import ChangeSet, NewEdge, NewEntity
from vestig.commit.names import new_entity
from vestig.exchange.formats.drafts import Link
from vestig.ids import new_id
from vestig.language.names import embedded_name, norm_key
from vestig.session.embedding import embed_memories, remember_identity
from vestig.session.session import Session
from vestig.session.transaction import catch_up
from vestig.types import Degradation, EdgeType


def write_links(
    session: Session, links: Sequence[Link], *, dry_run: bool
) -> tuple[list[bool], list[Degradation]]:
    """Writes what the store lacks, in one transaction; for each whether it did, and what degraded.
    With `dry_run` it writes nothing and says the same.

    Raises:
        ProviderError: the embedder failed.
    """
    named = {norm_key(name, kind): (name, kind) for one in links for name, kind in _ends(one)}
    with session.ledger.read() as view:
        known = view.entity_ids_by_key(session.namespace, list(named))
    wanted = {key: end for key, end in named.items() if key not in known}
    vectors: list[bytes] = []
    if wanted and dry_run:
        vectors = [b""] * len(wanted)
    elif wanted:
        remember_identity(session)
        names = [embedded_name(name) for name, _ in wanted.values()]
        _, vectors = embed_memories(session, [], names)
    entities = {
        key: new_entity(
            session.namespace, name, kind, origin="manual",
            model=session.embedder.model, embedding=vector,
        )
        for (key, (name, kind)), vector in zip(wanted.items(), vectors, strict=True)
    }  # fmt: skip
    ids = known | {key: entity.id for key, entity in entities.items()}
    written, edges = _edges(session, links, ids, entities)
    degraded: list[Degradation] = []
    if any(written) and not dry_run:
        changes = ChangeSet(
            namespace=session.namespace, entities=tuple(entities.values()), edges=edges
        )
        with session.ledger.write(session.now_us()) as txn:
            txn.apply(changes)
        catch_up(session, degraded)
    return written, degraded


def _edges(
    session: Session, links: Sequence[Link], ids: dict[str, str], entities: dict[str, NewEntity]
) -> tuple[list[bool], tuple[NewEdge, ...]]:
    """For each link whether it is new, and the relations that are."""
    written: list[bool] = []
    edges: dict[tuple[str, str, str], NewEdge] = {}
    made: set[str] = set()
    with session.ledger.read() as view:
        for link in links:
            keys = [norm_key(name, kind) for name, kind in _ends(link)]
            if link.relation is None:
                written.append(keys[0] in entities and keys[0] not in made)
                made.add(keys[0])
                continue
            start, end = (ids[key] for key in keys)
            place = (start, end, link.relation)
            stored = [] if keys[0] in entities else view.edges(session.namespace, start, "RELATION")
            is_new = place not in edges and all(
                (edge.from_id, edge.to_id, edge.relation) != place for edge in stored
            )
            written.append(is_new)
            if is_new:
                edges[place] = NewEdge(
                    id=new_id("edge"),
                    from_id=start,
                    to_id=end,
                    edge_type=EdgeType.RELATION,
                    origin="caller",
                    relation=link.relation,
                )
    return written, tuple(edges.values())


def _ends(link: Link) -> list[tuple[str, str]]:
    first = (link.name, link.type)
    return [first] if link.other is None else [first, (link.other, link.other_type)]
