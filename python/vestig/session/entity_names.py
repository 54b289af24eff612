"""Entities by what a caller or a text calls them: an id, its beginning, a name or an alias."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from vestig.config.recall_sections import EntitySettings
from vestig.errors import NotFoundError, ValidationError
from vestig.ids import ID_PREFIXES, id_bytes, id_text, split_ids
from vestig.language.names import AnalysedText, EntityRows, KnownEntity, NameHit, norm_name
from vestig.language.ontology import UNTYPED, Ontology, read_ontology
from vestig.lazy_pattern import lazy_pattern
from vestig.session import nodes
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import NamedEntity
from vestig.types import Entity

if TYPE_CHECKING:
    from vestig.session.session import Session


_ID: Final = lazy_pattern(r"ent_[0-9a-f-]{8,36}")
# The id of something else.
_OTHER_ID: Final = lazy_pattern(rf"(?:{'|'.join(ID_PREFIXES)})_[0-9a-f-]{{8,36}}")
# Later than every transaction.
_LATEST_US: Final = 2**62


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
    ids = ids_with_name(view, core, space, name, _LATEST_US)
    if not ids and expired:
        ids = ids_with_name(view, core, space, name, None)
    found = only_entity(view, space, ids, field, name)
    if found is None:
        raise NotFoundError("Entity", name)
    return found.id


def ids_with_name(
    view: LedgerView, core: Any, space: str, name: str, known_at_us: int | None
) -> list[str]:
    """Ids of the entities with this name or alias that were unexpired at K, or all, ascending. A
    name without a visible character is nobody's."""
    try:
        key = norm_name(name)
    except ValidationError:
        return []
    raw = core.entities_with_name(view.seq, space, key, known_at_us)
    return [id_text("ent", one) for one in split_ids(raw)]


def only_entity(
    view: LedgerView, space: str, ids: Sequence[str], field: str, name: str
) -> Entity | None:
    """The only entity that these ids stand for, merged ones for what they were merged into; None
    when there is none. A name of unknown type may be that of the only typed one beside it.

    Raises:
        ValidationError: there are several: names up to five by id, type and name.
    """
    meant = nodes.following_merges(view, space, ids).values()
    found = list({one.id: one for one in meant if one is not None}.values())
    typed = [one for one in found if one.entity_type != UNTYPED]
    if len(typed) == 1:
        return typed[0]
    if len(found) > 1:
        raise ValidationError(
            field, name, "an id, for several entities have this name", nodes.candidates(found)
        )
    return found[0] if found else None


# Later than every transaction.
LATEST_US: Final = 2**62
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
