"""The entities that a query names: by name or alias, and where it is configured by similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from vestig.answers import QueryEntity, QueryName
from vestig.config import Config
from vestig.ids import id_text
from vestig.language.names import analyse, embedded_name, find_names
from vestig.language.ontology import UNTYPED
from vestig.session.embedding import check_identity
from vestig.session.references import known_names, query_names, types_of_rules
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView

MATCHES_MAX: Final = 10


def best_matches(found: Mapping[str, float]) -> list[tuple[str, float]]:
    """At most ten, best match first, equal ones in their order.

    Example:
        >>> best_matches({"ent_1": 0.8, "ent_2": 1.0})
        [('ent_2', 1.0), ('ent_1', 0.8)]
    """
    ranked = sorted(found.items(), key=lambda pair: -pair[1])
    return ranked[:MATCHES_MAX]


def named_entities(
    session: Session,
    view: LedgerView,
    query: str,
    *,
    namespace: str,
    known_at_us: int,
    config: Config,
    vectors: dict[str, bytes],
    names: Sequence[QueryName] | None = None,
) -> tuple[tuple[QueryEntity, ...], tuple[str, ...]]:
    """At most ten entities that a query names, best match first, and its names that no entity has.
    A match is 1.0 by name or alias, a cosine by similarity. For a callback of
    `ProjectionKeeper.run`.

    Args:
        known_at_us: names as they were known then.
        config: of this call.
        vectors: what `name_vectors` made; needed only where `recall.entity_similarity_threshold`
            is set.
        names: what a language model found in the query, in the place of what rules find.
    """
    at = (namespace, known_at_us)
    if names is None:
        found, known, unknown = _matches(session, view, query, at, config, vectors)
    else:
        found, known, unknown = _matches_of_names(session, view, names, at, config, vectors)
    named = dict(known)
    others = [id for id, _ in found if id not in named]
    if others:
        rows = view.named_entities(namespace, others)
        named |= {id: (type, name) for id, type, name, *_ in rows}
    entities = [
        QueryEntity(id=id, type=named[id][0], name=named[id][1], score=score) for id, score in found
    ]
    return tuple(entities), tuple([name for name, _ in unknown])


# Entities with their match scores, best first; what is known of them, as type and name by id; and
# the other names, as name and type.
_Matches = tuple[list[tuple[str, float]], dict[str, tuple[str, str]], Sequence[tuple[str, str]]]


def _matches(
    session: Session,
    view: LedgerView,
    query: str,
    at: tuple[str, int],
    config: Config,
    vectors: dict[str, bytes] | None,
) -> _Matches:
    """The entities of a query in a namespace as names were known then, every entity that one of
    its names could mean, and its names that no entity has."""
    (space, known_at_us), settings = at, config.settings
    analysed = analyse(query, types=types_of_rules(settings.entities))
    entities, unknown = query_names(session, view, space, analysed, known_at_us)
    found = {id: 1.0 for id, _, _ in entities}
    if len(found) < MATCHES_MAX:
        for id, cosine in _similar(session, view, space, unknown, vectors, config):
            found[id] = max(cosine, found.get(id, 0.0))
    return best_matches(found), {id: (type, name) for id, type, name in entities}, unknown


def _matches_of_names(
    session: Session,
    view: LedgerView,
    names: Sequence[QueryName],
    at: tuple[str, int],
    config: Config,
    vectors: dict[str, bytes],
) -> _Matches:
    """Return what `_matches` returns, of names with types: an entity of that name or alias and of
    that type, where an unknown type equals every other; without one, every entity of the name."""
    space, known_at_us = at
    found, known, unknown = (
        dict[str, float](),
        dict[str, tuple[str, str]](),
        list[tuple[str, str]](),
    )
    for name in names:
        words = analyse(name.name, rules=False)
        [hits], entities = known_names(session, view, space, [words], known_at_us)
        whole = {id for first, count, id, _ in hits if first == 0 and count == len(words)}
        having = [one for id, one in entities.items() if id in whole]
        typed = [one for one in having if UNTYPED in (one.type, name.type) or one.type == name.type]
        chosen = sorted(typed or having, key=lambda entity: entity.order)
        known |= {one.id: (one.type, one.name) for one in chosen}
        found |= {one.id: 1.0 for one in chosen}
        if not chosen:
            unknown.append((name.name, name.type))
    if len(found) < MATCHES_MAX:
        for id, cosine in _similar(session, view, space, unknown, vectors, config):
            found[id] = max(cosine, found.get(id, 0.0))
    return best_matches(found), known, unknown


def _similar(
    session: Session,
    view: LedgerView,
    space: str,
    names: Sequence[tuple[str, str]],
    vectors: dict[str, bytes] | None,
    config: Config,
) -> list[tuple[str, float]]:
    """The entities that are most like these names, where that is configured."""
    threshold = config.settings.recall.entity_similarity_threshold
    if threshold is None or not vectors:
        return []
    embedded = [(embedded_name(name), type) for name, type in names]
    near = [(vectors[name], type) for name, type in embedded if name in vectors]
    if not near:
        return []
    nearest = session.keeper.core.entity_similar(
        view.seq,
        space,
        b"".join([vector for vector, _ in near]),
        [type for _, type in near],
        threshold,
    )
    return [(id_text("ent", raw), cosine) for raw, cosine in (one for one in nearest if one)]


def name_vectors(
    session: Session,
    query: str,
    config: Config | None = None,
    given: Sequence[QueryName] | None = None,
) -> dict[str, bytes]:
    """Vectors of the names in a query, by what is embedded of them; made before the store is read.

    Args:
        given: as in `names_to_embed`.

    Raises:
        ProviderError: the embedder failed.
    """
    names = names_to_embed(query, session.config if config is None else config, given)
    if not names:
        return {}
    check_identity(session)
    return dict(zip(names, session.embed(names), strict=True))


def names_to_embed(
    query: str, config: Config, given: Sequence[QueryName] | None = None
) -> list[str]:
    """Return what is embedded of the names in a query; [] unless
    `recall.entity_similarity_threshold` is set.

    Args:
        given: the names that a language model found; None = those that rules see.
    """
    if config.settings.recall.entity_similarity_threshold is None:
        return []
    seen = find_names(query) if given is None else given
    return list(dict.fromkeys(embedded_name(name.name) for name in seen))
