"""The entities that a query names: by name or alias, and where it is configured by similarity."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from vestig.answers import QueryEntity, QueryName
from vestig.commit.names import embedded_name
from vestig.config import Config
from vestig.ids import id_text
from vestig.language.names.analysed_text import AnalysedText, analyse
from vestig.language.names.forms import norm_name
from vestig.language.names.gazetteer import (
    KnownEntity,
    Mention,
    NameHit,
    resolve_names,
    single_word_names,
)
from vestig.language.names.ontology import UNTYPED
from vestig.ports import LedgerView
from vestig.session.embedding import check_identity
from vestig.session.known_names import LATEST_US, common_words, known_names, types_of_rules
from vestig.session.session import Session

__all__ = [
    "MATCHES_MAX",
    "Matches",
    "QueryNames",
    "best_matches",
    "matched",
    "name_vectors",
    "named_entities",
    "names_to_embed",
    "query_entities",
]

MATCHES_MAX: Final = 10


class Matches(msgspec.Struct, frozen=True, kw_only=True):
    """Match scores of the entities that a query names, by id; and its names that no entity has."""

    scores: dict[str, float]
    unknown: tuple[Mention, ...]


class QueryNames(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The entities that a query names, best match first, and its names that no entity has."""

    entities: tuple[QueryEntity, ...]
    unknown: tuple[str, ...]


def matched(
    analysed: AnalysedText,
    hits: Sequence[NameHit],
    known: Mapping[str, KnownEntity],
    common: Collection[str],
) -> Matches:
    """Entities by name or alias, in order of position. A name that several entities have means
    all of them: the query says no type, and that matches every type.

    Example:
        >>> from vestig.language.names.analysed_text import analyse
        >>> ada = KnownEntity(id="ent_1", type="PERSON", name="Ada Lovelace")
        >>> analysed = analyse("what did ada lovelace tell Grace Hopper?")
        >>> found = matched(analysed, [(2, 2, "ent_1", "Ada Lovelace")], {"ent_1": ada}, ())
        >>> found.scores, [name.name for name in found.unknown]
        ({'ent_1': 1.0}, ['Grace Hopper'])
    """
    having: dict[str, list[KnownEntity]] = {}
    for _, _, id, stored in hits:
        if id in known:
            having.setdefault(norm_name(stored), []).append(known[id])
    found: dict[str, float] = {}
    unknown: list[Mention] = []
    for name in resolve_names(analysed, hits, known, common=common, query=True):
        group = having.get(norm_name(name.evidence), [])
        if name.entity is None and not group:
            unknown.append(name)
        for entity in sorted(group, key=lambda entity: entity.order):
            found[entity.id] = 1.0
        if name.entity is not None:
            found.setdefault(name.entity, 1.0)
    return Matches(scores=found, unknown=tuple(unknown))


def best_matches(found: Mapping[str, float]) -> list[tuple[str, float]]:
    """At most ten, best match first, equal ones in their order.

    Example:
        >>> best_matches({"ent_1": 0.8, "ent_2": 1.0})
        [('ent_2', 1.0), ('ent_1', 0.8)]
    """
    ranked = sorted(found.items(), key=lambda pair: -pair[1])
    return ranked[:MATCHES_MAX]


def query_entities(
    session: Session,
    view: LedgerView,
    query: str,
    *,
    namespace: str | None = None,
    known_at_us: int = LATEST_US,
    config: Config | None = None,
    vectors: dict[str, bytes] | None = None,
) -> list[tuple[str, float]]:
    """At most ten entities with their match score, best first: 1.0 by name or alias, a cosine by
    similarity. For a callback of `ProjectionKeeper.run`, or under `held`.

    Args:
        namespace: where; None = the store's.
        known_at_us: names as they were known then.
        config: of this call; None = the store's.
        vectors: what `name_vectors` made; needed only where `recall.entity_similarity_threshold`
            is set.
    """
    space = session.namespace if namespace is None else namespace
    chosen = session.config if config is None else config
    return _matches(session, view, query, (space, known_at_us), chosen, vectors)[0]


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
) -> QueryNames:
    """As `query_entities`, with the type and the name of each, and the names that no entity has.

    Args:
        names: what a language model found in the query, in the place of what rules find.
    """
    at = (namespace, known_at_us)
    if names is None:
        found, known, unknown = _matches(session, view, query, at, config, vectors)
    else:
        found, known, unknown = _matches_of_names(session, view, names, at, config, vectors)
    named = {id: (one.type, one.name) for id, one in known.items()}
    others = [id for id, _ in found if id not in named]
    if others:
        rows = view.named_entities(namespace, others)
        named |= {id: (type, name) for id, type, name, *_ in rows}
    return QueryNames(
        entities=tuple(
            [
                QueryEntity(id=id, type=named[id][0], name=named[id][1], score=score)
                for id, score in found
            ]
        ),
        unknown=tuple([name.name for name in unknown]),
    )


def _matches(
    session: Session,
    view: LedgerView,
    query: str,
    at: tuple[str, int],
    config: Config,
    vectors: dict[str, bytes] | None,
) -> tuple[list[tuple[str, float]], dict[str, KnownEntity], Sequence[Mention]]:
    """The entities of a query in a namespace as names were known then, every entity that one of
    its names could mean, and its names that no entity has."""
    (space, known_at_us), settings = at, config.settings
    analysed = analyse(query, types=types_of_rules(settings.entities))
    [hits], known = known_names(session, view, space, [analysed], known_at_us, kept=True)
    threshold = settings.recall.entity_similarity_threshold
    doubtful = (*analysed.openers, *single_word_names(analysed, hits, known))
    matches = matched(analysed, hits, known, common_words(session, view, space, doubtful))
    found = dict(matches.scores)
    if threshold is not None and vectors and len(found) < MATCHES_MAX:
        near = [name for name in matches.unknown if embedded_name(name.name) in vectors]
        for id, cosine in _similar(session, view, space, near, vectors, threshold):
            found[id] = max(cosine, found.get(id, 0.0))
    return best_matches(found), known, matches.unknown


def _matches_of_names(
    session: Session,
    view: LedgerView,
    names: Sequence[QueryName],
    at: tuple[str, int],
    config: Config,
    vectors: dict[str, bytes],
) -> tuple[list[tuple[str, float]], dict[str, KnownEntity], Sequence[Mention]]:
    """As `_matches`, of names with types: an entity of that name or alias and of that type, where
    an unknown type equals every other; without one, every entity of the name."""
    space, known_at_us = at
    threshold = config.settings.recall.entity_similarity_threshold
    found, known, unknown = dict[str, float](), dict[str, KnownEntity](), list[Mention]()
    for name in names:
        words = analyse(name.name, rules=False)
        [hits], entities = known_names(session, view, space, [words], known_at_us)
        whole = {id for first, count, id, _ in hits if first == 0 and count == len(words)}
        having = [one for id, one in entities.items() if id in whole]
        typed = [one for one in having if UNTYPED in (one.type, name.type) or one.type == name.type]
        chosen = sorted(typed or having, key=lambda entity: entity.order)
        known |= {one.id: one for one in chosen}
        found |= {one.id: 1.0 for one in chosen}
        if not chosen:
            unknown.append(_mention(name))
    if threshold is not None and len(found) < MATCHES_MAX:
        near = [name for name in unknown if embedded_name(name.name) in vectors]
        for id, cosine in _similar(session, view, space, near, vectors, threshold):
            found[id] = max(cosine, found.get(id, 0.0))
    return best_matches(found), known, unknown


def _mention(name: QueryName) -> Mention:
    return Mention(
        name=name.name, type=name.type, confidence=1.0, start=-1, end=-1, evidence=name.name
    )


def _similar(
    session: Session,
    view: LedgerView,
    space: str,
    names: list[Mention],
    vectors: dict[str, bytes],
    threshold: float,
) -> list[tuple[str, float]]:
    if not names:
        return []
    nearest = session.keeper.core.entity_similar(
        view.seq,
        space,
        b"".join(vectors[embedded_name(name.name)] for name in names),
        [name.type for name in names],
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
    """What is embedded of the names in a query; [] unless `recall.entity_similarity_threshold` is
    set.

    Args:
        given: the names that a language model found; None = those that rules see.
    """
    if config.settings.recall.entity_similarity_threshold is None:
        return []
    from vestig.language.names.rules import find_names

    seen = find_names(query) if given is None else given
    return list(dict.fromkeys(embedded_name(name.name) for name in seen))
