"""References of names, ids and filters to what an open store holds: nodes of the graph by id or
prefix, entities by what a caller or a text calls them, and the filters that only the ledger or the
names can resolve, as ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from vestig.calls.filter import PLACES
from vestig.config.recall_sections import EntitySettings
from vestig.errors import NotFoundError, ValidationError
from vestig.filters import FilterParts
from vestig.ids import ID_PREFIXES, check_id_prefix, id_bytes, id_text, is_full_id, split_ids
from vestig.language.names import AnalysedText, EntityRows, KnownEntity, NameHit, norm_name
from vestig.language.ontology import UNTYPED, Ontology, read_ontology
from vestig.language.text_forms import one_line
from vestig.lazy_pattern import lazy_pattern
from vestig.store.records import documents, item_rows, keyed_memories
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import EntityListing, Listing, NamedEntity
from vestig.times import to_us
from vestig.types import Edge, EdgeType, Entity, Status, _Value

if TYPE_CHECKING:
    from vestig.session.session import Session


_CANDIDATES_MAX: Final = 5


class Described(_Value, frozen=True, kw_only=True):
    """A node or edge (the first field) and facts about it (the others)."""

    @property
    def id(self) -> str:
        """The id of the node or edge."""
        return str(self._first().id)

    def plain_fields(self) -> dict[str, Any]:
        """The fields of the node or edge beside the others."""
        others = {name: getattr(self, name) for name in self.__struct_fields__[1:]}
        return msgspec.structs.asdict(self._first()) | others

    def _first(self) -> Any:
        return getattr(self, self.__struct_fields__[0])


def unambiguous_id(found: Sequence[str], field: str, text: str) -> str | None:
    """The only one of the ids that a prefix fits; None when there is none.

    Raises:
        ValidationError: there are several (names up to five).
    """
    if len(found) > 1:
        shown = ", ".join(found[:5])
        raise ValidationError(field, text, "an unambiguous id", f"it fits {shown}")
    return found[0] if found else None


def candidates(entities: Sequence[Entity]) -> str:
    """Up to five entities by id, type and name, for a message."""
    shown = ", ".join(
        f"{one.id} {one.entity_type} {one.canonical_name}" for one in entities[:_CANDIDATES_MAX]
    )
    more = len(entities) - _CANDIDATES_MAX
    return f"{shown} and {more} more" if more > 0 else shown


def entity_with_prefix(view: LedgerView, namespace: str, prefix: str, field: str) -> str | None:
    """The id of the only entity whose id begins so; None when there is none.

    Raises:
        ValidationError: there are several (names up to five).
    """
    found = view.ids_with_prefix(namespace, prefix, kind="ent")
    if len(found) > 1:
        fits = candidates(view.entities(namespace, found))
        raise ValidationError(field, prefix, "an unambiguous id", f"it fits {fits}")
    return found[0] if found else None


def full_edge_id(view: LedgerView, namespace: str, id: object, field: str = "id") -> str:
    """The full id of an edge's id or unambiguous prefix."""
    text = check_id_prefix(field, id, "edge")
    if is_full_id(text, "edge"):
        return text
    found = unambiguous_id(view.edge_ids_with_prefix(namespace, text), field, text)
    if found is None:
        raise NotFoundError("Edge", text)
    return found


# Later than every transaction.
LATEST_US: Final = 2**62


def following_merges(
    view: LedgerView, namespace: str, ids: Sequence[str], known_at_us: int = LATEST_US
) -> dict[str, Entity | None]:
    """id → the entity it stood for at K: a merged one through any chain of merges until then; None
    = unknown."""
    known: dict[str, Entity] = {}
    wanted = list(dict.fromkeys(ids))
    while wanted:
        known.update({one.id: one for one in view.entities(namespace, wanted)})
        into = (_merged_into(known[id], known_at_us) for id in wanted if id in known)
        wanted = [id for id in dict.fromkeys(into) if id is not None and id not in known]
    found: dict[str, Entity | None] = {}
    for id in ids:
        one = known.get(id)
        while one is not None and (into_id := _merged_into(one, known_at_us)) is not None:
            one = known.get(into_id)
        found[id] = one
    return found


def _merged_into(one: Entity, known_at_us: int) -> str | None:
    """The entity that one was another name of at K: a merge ends the one that is merged."""
    later = one.expired_at is not None and to_us(one.expired_at) > known_at_us
    return None if later else one.merged_into


def entity(view: LedgerView, namespace: str, id: object, field: str = "id") -> Entity:
    """The unexpired entity of a full id or an unambiguous prefix; a merged one is what it was
    merged into.

    Raises:
        ValidationError: no id, or ambiguous. NotFoundError: unknown here, or expired.
    """
    text = check_id_prefix(field, id, "ent")
    if not is_full_id(text, "ent"):
        found = entity_with_prefix(view, namespace, text, field)
        if found is None:
            raise NotFoundError("Entity", text)
        text = found
    one = following_merges(view, namespace, [text])[text]
    if one is None:
        raise NotFoundError("Entity", text)
    if one.expired_at is not None:
        raise NotFoundError("Entity", text, "expired")
    return one


def node_labels(
    view: LedgerView, namespace: str, ids: Sequence[str], length: int
) -> dict[str, str]:
    """id → what a node is called: a memory by its first words, an entity by type and name; anything
    else by its id."""
    named = {id: id for id in ids}
    memories = [id for id in ids if id.startswith("mem_")]
    for memory in view.memories(namespace, memories) if memories else ():
        named[memory.id] = one_line(memory.content, length)
    entities = [id for id in ids if id.startswith("ent_")]
    for one in view.entities(namespace, entities) if entities else ():
        named[one.id] = one_line(f"{one.entity_type}:{one.canonical_name}", length)
    return named


def labels(view: LedgerView, namespace: str, edges: Iterable[Edge], length: int) -> dict[str, str]:
    """id → what an end of these edges is called: as `node_labels`, a source by what it was."""
    found = list(edges)
    ids = list(dict.fromkeys(id for edge in found for id in (edge.from_id, edge.to_id)))
    named = node_labels(view, namespace, ids, length)
    for made in {e.to_id for e in found if e.edge_type is EdgeType.PRODUCED}:
        for source in view.sources(namespace, made):
            parts = (source.source_type, source.path, source.agent, source.session_id)
            named[source.id] = one_line(" · ".join(part for part in parts if part), length)
    return named


_ID: Final = lazy_pattern(r"ent_[0-9a-f-]{8,36}")
# The id of something else.
_OTHER_ID: Final = lazy_pattern(rf"(?:{'|'.join(ID_PREFIXES)})_[0-9a-f-]{{8,36}}")


def is_entity_id(text: str) -> bool:
    """Return whether a text is the id of an entity, whole or its beginning, and so no name.

    Example:
        >>> is_entity_id("ent_0123abcd"), is_entity_id("Ada Lovelace")
        (True, False)
    """
    return _ID.fullmatch(text) is not None


def entity_id(
    session: Session, space: str, given: str, field: str = "id", *, expired: bool = False
) -> str:
    """The id of the entity that is meant; an id, or the beginning of one, is returned as it is.

    Args:
        expired: whether a name that no unexpired entity has may be that of an expired one.

    Raises:
        ValidationError: neither an id nor a name, or the name of several entities.
        NotFoundError: nobody has this name.
    """
    text = given.strip()
    if is_entity_id(text):
        return text
    if _OTHER_ID.fullmatch(text):
        raise ValidationError(field, text, "the id (ent_…) or the name of an entity")
    return session.keeper.run(
        lambda view, core: id_of_entity(view, core, space, text, field, expired=expired)
    )


def id_of_entity(
    view: LedgerView, core: Any, space: str, name: str, field: str, *, expired: bool = False
) -> str:
    """The full id of the only entity with this name. For a callback of the keeper's `run`.

    Raises:
        ValidationError, NotFoundError: as `entity_id`.
    """
    ids = ids_with_name(view, core, space, name, LATEST_US)
    if not ids and expired:
        ids = ids_with_name(view, core, space, name, None)
    found = only_entity(view, space, ids, field, name)
    if found is None:
        raise NotFoundError("Entity", name)
    return found.id


def ids_with_name(
    view: LedgerView, core: Any, space: str, name: str, known_at_us: int | None
) -> list[str]:
    """Ids of the entities with this name or alias that were unexpired at K, or all, ascending;
    without those to which a later merge gave the name. A name without a visible character is
    nobody's."""
    try:
        key = norm_name(name)
    except ValidationError:
        return []
    raw = core.entities_with_name(view.seq, space, key, known_at_us)
    ids = [id_text("ent", one) for one in split_ids(raw)]
    if known_at_us is None or len(ids) < 2:
        return ids
    found = view.entities(space, ids)
    later = {one.merged_into for one in found} - {_merged_into(one, known_at_us) for one in found}
    own = {one.id for one in found if norm_name(one.canonical_name) == key}
    return [id for id in ids if id not in later or id in own]


def only_entity(
    view: LedgerView,
    space: str,
    ids: Sequence[str],
    field: str,
    name: str,
    known_at_us: int = LATEST_US,
) -> Entity | None:
    """The only entity that these ids stood for at K, merged ones for what they were merged into;
    None when there is none. A name of unknown type may be that of the only typed one beside it.

    Raises:
        ValidationError: there are several: names up to five by id, type and name.
    """
    meant = following_merges(view, space, ids, known_at_us).values()
    found = list({one.id: one for one in meant if one is not None}.values())
    typed = [one for one in found if one.entity_type != UNTYPED]
    if len(typed) == 1:
        return typed[0]
    if len(found) > 1:
        raise ValidationError(
            field, name, "an id, for several entities have this name", candidates(found)
        )
    return found[0] if found else None


# A row takes about 300 bytes.
_ROWS_MAX: Final = 16_384
# The types that the patterns for names give.
_OF_RULES: Final = ("ORG", "PERSON", "FILE", "PLACE", "SYSTEM", "CONCEPT")


@cache
def types_of(section: EntitySettings) -> Ontology:
    """The types that `entities` configures."""
    return read_ontology(msgspec.to_builtins(section))


@cache
def types_of_rules(section: EntitySettings) -> dict[str, str] | None:
    """Return what the types of the patterns are called in this store; one that it does not have is
    left out, and None says that all are as they are."""
    types = types_of(section)
    found = {type: types.resolve(type) for type in _OF_RULES}
    if all(type == own for type, own in found.items()):
        return None
    return {type: own for type, own in found.items() if own is not None}


class _EntityRowsByNamespace:
    """Rows of entities as they are at one seq."""

    def __init__(self) -> None:
        self._state: tuple[int, dict[str, EntityRows]] = (-1, {})

    def drop(self, _seq: int, /) -> None:
        """Names of what was forgotten go, with all others."""
        self._state = (-1, {})

    def of(self, seq: int, namespace: str) -> EntityRows:
        """Those of one namespace that were read at this seq."""
        known, rows = self._state
        if known != seq or sum(map(len, list(rows.values()))) > _ROWS_MAX:
            rows = {}
            self._state = (seq, rows)
        # no copy: what another thread dropped meanwhile does not come back
        return rows.setdefault(namespace, EntityRows())


def query_names(
    session: Session, view: LedgerView, namespace: str, text: AnalysedText, known_at_us: int
) -> tuple[list[tuple[str, str, str]], list[tuple[str, str]]]:
    """The entities that a query names, each as id, type and name, by the position of the name; and
    its names that no entity has, with their types. Rows of entities that were read at this seq
    before are not read again. For a callback of `ProjectionKeeper.run`, or under `held`; never for
    a view of what a transaction is writing.

    Args:
        known_at_us: names as they were known then.
    """
    core, seq = session.keeper.core, view.seq
    rows = session.cache(_EntityRowsByNamespace).of(seq, namespace)
    missing, entities, unknown = core.query_names(seq, namespace, text, known_at_us, rows)
    if missing:
        found = view.named_entities(namespace, [id_text("ent", raw) for raw in missing])
        rows.add(missing, [_core_row(row) for row in found])
        _, entities, unknown = core.query_names(seq, namespace, text, known_at_us, rows)
    return entities, unknown


def _core_row(
    row: NamedEntity,
) -> tuple[bytes, str, str, str, int, int | None, bytes | None]:
    """A row as the core takes it."""
    id, type, name, seq, expired_us, merged_into = row
    into = None if merged_into is None else id_bytes(merged_into)
    return id_bytes(id), id, type, name, seq, expired_us, into


def known_names(
    session: Session,
    view: LedgerView,
    namespace: str,
    texts: Sequence[AnalysedText],
    known_at_us: int = LATEST_US,
) -> tuple[list[list[NameHit]], dict[str, KnownEntity]]:
    """Runs of the words of each text that are names of entities unexpired at K, by first word; and
    those entities. For a callback of `ProjectionKeeper.run`, or under `held`."""
    core = session.keeper.core
    found = core.find_names(view.seq, namespace, texts, known_at_us)
    ids = {raw: id_text("ent", raw) for raw in {hit[2] for own in found for hit in own}}
    if not ids:
        return [[] for _ in texts], {}
    hits = [
        sorted([(first, count, ids[raw], stored) for first, count, raw, stored in own])
        for own in found
    ]
    known: dict[str, KnownEntity] = {}
    merged: dict[str, str] = {}
    for id, type, name, seq, expired, into in view.named_entities(namespace, list(ids.values())):
        if expired is None or expired > known_at_us:
            known[id] = KnownEntity(id=id, type=type, name=name, order=(seq, name))
            if into is not None:
                merged[id] = into
    if merged:
        hits = [_before_merges(own, merged) for own in hits]
    return hits, known


def _before_merges(hits: list[NameHit], merged: Mapping[str, str]) -> list[NameHit]:
    """A name that an entity had before it was merged is not yet that of the other."""
    later = {(first, count, merged[id]) for first, count, id, _ in hits if id in merged}
    return [hit for hit in hits if hit[:3] not in later]


def common_words(
    session: Session, view: LedgerView, namespace: str, words: Iterable[str]
) -> set[str]:
    """Those of these words that a memory of the namespace holds in lower case. For a callback of
    `ProjectionKeeper.run`, or under `held`."""
    distinct = list(dict.fromkeys(words))
    if not distinct:
        return set()
    answers = session.keeper.core.lowercase(view.seq, namespace, distinct)
    return {word for word, common in zip(distinct, answers, strict=True) if common}


class KnownWords(msgspec.Struct, frozen=True, kw_only=True):
    """Knowledge of the store about some readings: the hits of each, the entities that they mean,
    and which first words of sentences are common ones."""

    hits: list[list[NameHit]]
    known: dict[str, KnownEntity]
    common: set[str]


def known_words(
    session: Session, view: LedgerView, namespace: str, readings: Sequence[AnalysedText]
) -> KnownWords:
    """Return what the store knows of all readings together. For a callback of
    `ProjectionKeeper.run`, or under `held`."""
    hits, known = known_names(session, view, namespace, readings)
    openers = (word for reading in readings for word in reading.openers)
    common = common_words(session, view, namespace, openers)
    return KnownWords(hits=hits, known=known, common=common)


_IDS_MAX: Final = 1_000
# What a word of a source hardly has, and a path nearly always.
_PATH: Final = lazy_pattern(r"[/\\.]")
# What a warning repeats of a name.
NAME_CHARS_MAX: Final = 80


def resolved(
    view: LedgerView, core: Any, parts: FilterParts, *, nodes: bool = False
) -> dict[str, Any]:
    """Keyword arguments of the core's filter, complete.

    Args:
        core: the projection at the view's seq; for a callback of the keeper's `run`.
        nodes: whether entities take part too. What only memories can have (metadata, statuses,
            a source) then leaves every entity in.
    """
    namespace, chosen, fields = parts.namespace, dict(parts.core), parts.fields
    limits = _of_memories(view, parts)
    if limits and nodes:
        listed = view.list_entities(namespace, EntityListing(limit=None, include_expired=True))
        every = {entity.id for entity, _ in listed}
        limits = [ids | every for ids in limits]
    if "ids" in fields:
        limits.append(_known(view, namespace, fields["ids"]))
    if "scope_prefix" in fields:
        scopes = _scopes_below(view, parts, fields["scope_prefix"])
        if not scopes:
            limits.append(set())
        chosen["scopes"] = scopes or [fields["scope_prefix"]]
    if limits:
        chosen["ids"] = _joined(set.intersection(*limits))
    excluded = set(item_rows.hidden_ids(view, namespace, parts.moments.now_us))
    if "exclude_ids" in fields:
        excluded |= _known(view, namespace, fields["exclude_ids"])
    if excluded:
        chosen["exclude_ids"] = _joined(excluded)
    if "entities" in fields:
        chosen["entities"] = entity_ids(
            view, core, namespace, fields["entities"], parts.moments.known_at_us
        )
    if parts.moments.past:
        ends = view.ends_before(namespace, parts.moments.known_at_us)
        chosen["ends"] = [(id_bytes(id), end) for id, end in ends.items()]
    return chosen


def _products_of(view: LedgerView, namespace: str, named: Sequence[str]) -> list[str]:
    """Ids of the memories of these sources: of their ids, and of the documents at their paths."""
    paths = [one for one in named if not is_full_id(one, "source")]
    ids = [one for one in named if is_full_id(one, "source")]
    if paths:
        for source in documents.versions(view, namespace):
            if any(documents.is_at(source.path, path) for path in paths):
                ids.append(source.id)
    return view.products_of(namespace, ids)


# What the ledger asks for the memories that have what a field says.
_MEMORIES_WITH: Final[Mapping[str, Callable[[LedgerView, str, Any], Iterable[str]]]] = {
    "metadata": LedgerView.ids_with_metadata,
    "source_ids": _products_of,
    "message_ids": LedgerView.recorded_by,
    "keys": keyed_memories.ids_with_keys,
    "key_prefix": keyed_memories.ids_with_key_prefix,
}


def _of_memories(view: LedgerView, parts: FilterParts) -> list[set[str]]:
    """Ids of memories, for each field of which only the ledger knows who has it."""
    found = [
        set(memories_with(view, parts.namespace, parts.fields[name]))
        for name, memories_with in _MEMORIES_WITH.items()
        if name in parts.fields
    ]
    if parts.needs_ledger:
        found.append(set(view.listed_ids(parts.namespace, row_listing(parts))))
    return found


def paths_as_sources(view: LedgerView, parts: FilterParts) -> dict[str, str]:
    """Source words of a filter that are paths of documents, each with a warning."""
    named = [one for one in parts.fields.get("sources", ()) if _PATH.search(one)]
    if not named:
        return {}
    paths = [source.path for source in documents.versions(view, parts.namespace)]
    return {
        word: f"sources: {word[:NAME_CHARS_MAX]!r} is the path of a document and no source word;"
        " source_ids (--source-ids) takes paths"
        for word in named
        if any(documents.is_at(path, word) for path in paths)
    }


def _scopes_below(view: LedgerView, parts: FilterParts, prefix: str) -> list[str | None]:
    """The scopes that pass: of those that `scope` names, where it does, those below the prefix; and
    none at all beside them, where `unscoped` says so."""
    below = item_rows.memory_scopes(view, parts.namespace, prefix)
    named = parts.core.get("scopes")
    if named is None:
        return list[str | None](below)
    only = [one for one in named if one is not None]
    passed = [one for one in below if not only or one in only]
    return [*passed, *([None] if None in named else [])]


def row_listing(parts: FilterParts) -> Listing:
    """The fields that the ledger's table of memories decides, as a listing of all of them."""
    at, fields = parts.moments, dict(parts.fields)
    named = fields.pop("statuses", None)
    if named is None:
        statuses = (
            Status.ACTIVE,
            *((Status.SUPERSEDED, Status.DEPRECATED) if parts.core["include_expired"] else ()),
            *((Status.ARCHIVED,) if parts.core["include_archived"] else ()),
        )
    else:
        statuses = tuple(map(Status, named))
    return Listing(
        limit=None,
        statuses=None if len(statuses) == len(Status) else statuses,
        columns={
            PLACES[name].column: (value,) if isinstance(value, bool) else tuple(value)
            for name, value in fields.items()
            if PLACES[name].column
        },
        known_at_us=at.known_at_us if at.past else None,
        valid_at_us=at.valid_at_us,
        announced_at_us=at.query_time_us if named is None else None,
    )


def entity_ids(
    view: LedgerView, core: Any, namespace: str, named: tuple[str, ...], known_at_us: int
) -> bytes:
    """Ids of the entities with these ids, beginnings of ids, or names; one that was merged by then
    stands for what it was merged into. What nobody knows matches nothing.

    Raises:
        ValidationError: several entities have one of the names.
    """
    found: set[str] = set()
    for text in named:
        if is_entity_id(text):
            found.update(_entities(view, namespace, text, known_at_us))
        else:
            ids = ids_with_name(view, core, namespace, text, known_at_us)
            only_entity(view, namespace, ids, "entities", text, known_at_us)
            found.update(one for id in ids for one in _entities(view, namespace, id, known_at_us))
    return _joined(found)


def _entities(view: LedgerView, namespace: str, id: str, known_at_us: int) -> list[str]:
    """Return what an id or a beginning of one stood for at K, through merges until then."""
    ids = (
        [id] if is_full_id(id, "ent") else view.ids_with_prefix(namespace, id, _IDS_MAX, kind="ent")
    )
    seen: set[str] = set()
    while fresh := [one for one in ids if one not in seen]:
        seen.update(fresh)
        into = (_merged_into(one, known_at_us) for one in view.entities(namespace, fresh))
        ids = [one for one in into if one is not None]
    return sorted(seen)


def _known(view: LedgerView, namespace: str, ids: Sequence[str]) -> set[str]:
    """Full ids of what these ids and beginnings of ids stand for; an unknown beginning is none."""
    found: set[str] = set()
    for id in ids:
        if is_full_id(id, "mem"):
            found.add(id)
        elif id.startswith("ent_"):
            found.update(view.ids_with_prefix(namespace, id, _IDS_MAX, kind="ent"))
        else:
            found.update(view.ids_with_prefix(namespace, id, _IDS_MAX))
    return found


def _joined(ids: set[str]) -> bytes:
    return b"".join(id_bytes(id) for id in sorted(ids))
