"""The names in a group of commits, seen against one state of the store: those that texts hold, that
the caller gave, and those of a claim."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from vestig.calls.commit import GivenEntity
from vestig.changes import NewEntity
from vestig.commit.item import Item
from vestig.commit.rows import EntityMention
from vestig.config.recall_sections import EntitySettings
from vestig.errors import NotFoundError, ValidationError
from vestig.hints import did_you_mean
from vestig.ids import new_id
from vestig.language.names import (
    AnalysedText,
    KnownEntity,
    Mention,
    NameHit,
    NameTable,
    aliases_of,
    analyse,
    analyse_all,
    best_mentions,
    cased_name,
    embedded_name,
    entity_named,
    named_by_whole_text,
    norm_key,
    resolve_names,
)
from vestig.language.ontology import UNTYPED, Ontology
from vestig.language.text_forms import TextCache
from vestig.language.words import lower_words, terms
from vestig.session.references import entity, entity_id, known_words, types_of_rules
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import UniquenessCollision
from vestig.types import Claim


def with_known_types(given: Sequence[GivenEntity], types: Ontology) -> tuple[GivenEntity, ...]:
    """The same with types of the ontology; synonyms name their type. A text `TYPE:Name` is a name
    of that type where the store has it, and otherwise a name with a colon.

    Raises:
        ValidationError: a type that the store does not have.
    """
    typed = []
    for at, named in enumerate(_split(one, types) for one in given):
        known = types.get(named.type)
        if known is None:
            field = f"entities[{at}].type"
            written = named.type.strip().upper()
            hint = did_you_mean(written, types.names, otherwise="add it to entities")
            names = ", ".join((*types.names, UNTYPED))
            raise ValidationError(field, named.type, f"one of {names}", hint)
        typed.append(msgspec.structs.replace(named, type=known.name))
    return tuple(typed)


def _split(entity: GivenEntity, types: Ontology) -> GivenEntity:
    """A text `TYPE:Name` as type and name."""
    head, _, name = entity.name.partition(":")
    if not entity.is_text or not name.strip() or types.get(head) is None:
        return entity
    return msgspec.structs.replace(entity, name=name.strip(), type=head)


def told(session: Session, mentions: Sequence[EntityMention], *, dry: bool) -> tuple[str, ...]:
    """Ids of the entities of an outcome. A dry run has none for what it does not store, and none in
    a view, where they would say what other scopes mention."""
    if dry and session.scope is not None:
        return ()
    return tuple([one.entity_id for one in mentions if not (dry and one.new)])


def sure_enough(names: Sequence[Mention], settings: EntitySettings) -> list[Mention]:
    """Return those whose confidence reaches the minimum; with `store_low_confidence`, all."""
    if settings.store_low_confidence:
        return list(names)
    return [name for name in names if name.confidence >= settings.min_confidence]


def new_entity(
    namespace: str, name: str, type: str, *, origin: str, model: str, embedding: bytes | None
) -> NewEntity:
    """The row of a name that the store does not know."""
    return NewEntity(
        id=new_id("ent"),
        namespace=namespace,
        entity_type=type,
        canonical_name=name,
        norm_key=norm_key(name, type),
        aliases=aliases_of(name, type),
        type_certain=type != UNTYPED,
        origin=origin,
        model="" if embedding is None else model,
        embedding=embedding,
    )


def _as_typed(
    hits: Sequence[NameHit],
    given: Sequence[tuple[GivenEntity, AnalysedText, list[NameHit]]],
    meant: Sequence[Mention],
) -> list[NameHit]:
    """The hits without namesakes of the names that the caller gave with a type.

    Args:
        meant: the entities of the given names, in their order.
    """
    typed = {
        name.entity for (one, _, _), name in zip(given, meant, strict=True) if one.type != UNTYPED
    }
    own = {name.entity for name in meant}
    places = {hit[:2] for hit in hits if hit[2] in typed}
    return [hit for hit in hits if hit[2] in own or hit[:2] not in places]


# --- names of a group of commits --------------------------------------------------------------

_GIVEN_START: Final = -2
# Entities of this group are younger than all of the store.
_YOUNGEST: Final = 2**63


# word in lower case → its index terms
_LOWER_TERMS: Final = TextCache(lambda word: tuple(terms(word)))


class NameVectors(msgspec.Struct, kw_only=True):
    """Vectors by name, for all attempts of one group; `wanted`: names that an attempt found to
    need one after the embedding call."""

    known: dict[str, bytes] = msgspec.field(default_factory=dict)
    wanted: dict[str, None] = msgspec.field(default_factory=dict)


class _ItemNames(msgspec.Struct, kw_only=True, gc=False):
    """Knowledge of the store about one item's words. `given`: the caller's names with the entities
    that have them. `alone`: the names of the text while no item of the group counts."""

    analysed: AnalysedText
    hits: list[NameHit]
    given: list[tuple[GivenEntity, AnalysedText, list[NameHit]]]
    alone: list[Mention] | None = None


class NameResolution:
    """Which entities the items of one namespace mention."""

    def __init__(self, session: Session, items: Sequence[Item], vectors: NameVectors) -> None:
        self.session = session
        self.vectors = vectors
        self._items = items
        self._settings = session.config.settings
        self._seq: int | None = None
        # place → its rank among the places looked up
        self._ranks: dict[int, int] = {}
        # place → its names when all before it are inserted, and how many given ones are left out
        self._expected: dict[int, tuple[list[Mention], int]] = {}
        self._common_by_place: dict[int, set[str]] = {}
        self._names: dict[int, _ItemNames] = {}
        self._known: dict[str, KnownEntity] = {}
        self._common: set[str] = set()
        # index term → openers that have it
        self._openers_by_term: dict[str, set[str]] = {}
        # lower-case words of the items that are no opener
        self._other_words: set[str] = set()
        # norm_key → entity of the store, None = there is none
        self._keys: dict[str, str | None] = {}
        self.start()

    def start(self) -> None:
        """Nothing is inserted yet."""
        self._table = NameTable()
        self._own_keys: dict[str, str] = {}
        self._inserted = 0
        self._own_common: set[str] = set()
        # what the store knows, and what earlier items add to it
        self._all_known = dict(self._known)
        self._all_common = set(self._common)

    # --- the store -------------------------------------------------------------------------

    def look_up(self, view: LedgerView, places: Sequence[int]) -> None:
        """Reads what the store knows of these items' words, once for each of its states."""
        if self._seq == view.seq and self._ranks.keys() >= set(places):
            return
        self._seq, self._ranks = view.seq, {place: rank for rank, place in enumerate(places)}
        self._names, self._keys, self._expected, self._common_by_place = {}, {}, {}, {}
        self._analyse([self._items[place] for place in places])
        parts = [part for place in places for part in self._readings(self._items[place])]
        if not parts:
            return
        words = known_words(self.session, view, self._items[places[0]].request.namespace, parts)
        own = {id: one for id, one in self._all_known.items() if id not in self._known}
        self._known, self._common = words.known, words.common
        self._all_known = self._known | own
        self._all_common = self._common | self._own_common
        self._openers_by_term, self._other_words = {}, set()
        for opener in {opener for reading in parts for opener in reading.openers}:
            for term in terms(opener)[:1]:
                self._openers_by_term.setdefault(term, set()).add(opener)
        self._assign(places, zip(parts, words.hits, strict=True))

    def _assign(
        self, places: Sequence[int], parts: Iterable[tuple[AnalysedText, list[NameHit]]]
    ) -> None:
        waiting = iter(parts)
        for place in places:
            item = self._items[place]
            if not self._may_have_names(item):
                continue
            reading, hits = next(waiting)
            given = [(entity, *next(waiting)) for entity in item.entities]
            self._names[place] = _ItemNames(analysed=reading, hits=hits, given=given)

    def _may_have_names(self, item: Item) -> bool:
        return self._settings.entities.enabled or bool(item.entities)

    def _analyse(self, items: Sequence[Item]) -> None:
        """Takes the texts with their titles apart that were not yet."""
        fresh = [item for item in items if item.analysed is None and self._may_have_names(item)]
        if not self._settings.entities.enabled:
            for item in fresh:
                item.analysed = analyse("", rules=False)
            return
        texts = [(item.text, item.request.title) for item in fresh]
        made = analyse_all(texts, types=types_of_rules(self._settings.entities))
        for item, analysed in zip(fresh, made, strict=True):
            item.analysed = analysed

    def _readings(self, item: Item) -> list[AnalysedText]:
        """The text with its title, then each of the caller's names."""
        if not self._may_have_names(item):
            return []
        assert item.analysed is not None, "`_analyse` takes every text apart"
        return [item.analysed, *(analyse(given.name, rules=False) for given in item.entities)]

    def names_to_embed(self, view: LedgerView, places: Sequence[int]) -> list[str]:
        """The texts that are embedded of names new to the store, as if each item were inserted."""
        self.look_up(view, places)
        self.start()
        missing: dict[str, str] = {}
        for place in places:
            self._expected[place] = self._mentioned(place)
            for name in self._expected[place][0]:
                if self._entity(name) is None:
                    key = norm_key(name.name, name.type)
                    missing[key] = name.name
                    aliases = aliases_of(name.name, name.type)
                    self._know(place, f"new {key}", name.type, name.name, aliases)
            self._add_common_words(place)
        self.start()
        self._find_by_key(view, list(missing))
        new = [embedded_name(name) for key, name in missing.items() if self._keys[key] is None]
        wanted = dict.fromkeys([*new, *self.vectors.wanted])
        return [name for name in wanted if name not in self.vectors.known]

    def _find_by_key(self, view: LedgerView, keys: Sequence[str]) -> None:
        """Names of more words than are looked for are found by their key."""
        fresh = [key for key in keys if key not in self._keys]
        if fresh:
            found = view.entity_ids_by_key(self._items[0].request.namespace, fresh)
            for key in fresh:
                self._keys[key] = found.get(key)

    # --- one item --------------------------------------------------------------------------

    def mentions(self, view: LedgerView, place: int) -> tuple[list[EntityMention], int]:
        """The entities that an item mentions, best names only; and how many of the caller's were
        left out.

        Raises:
            UniquenessCollision: a name needs a vector that was not made.
        """
        if self._seq != view.seq or place not in self._ranks:
            self.look_up(view, self._insertable())
        if place not in self._names:
            return [], 0
        item = self._items[place]
        as_expected = place in self._expected and self._inserted == self._ranks[place]
        names, left_out = self._expected[place] if as_expected else self._mentioned(place)
        ids = [self._entity(name) for name in names]
        if None in ids:
            unknown = [name for name, id in zip(names, ids, strict=True) if id is None]
            self._find_by_key(view, [norm_key(name.name, name.type) for name in unknown])
        found: dict[str, EntityMention] = {}
        for own, name in zip(ids, names, strict=True):
            id, new = own or self._keys.get(norm_key(name.name, name.type)), None
            if id is None:
                new = self._new(item, name)
                id = new.id
            mention = EntityMention(
                entity_id=id, confidence=name.confidence, evidence=name.evidence, new=new
            )
            found.setdefault(id, mention)
        return list(found.values()), left_out

    def _insertable(self) -> list[int]:
        """Items that may be inserted."""
        return [
            place
            for place, item in enumerate(self._items)
            if item.vector is not None or item.deferred is not None
        ]

    def _entity(self, name: Mention) -> str | None:
        if name.entity in self._all_known:
            return name.entity
        return self._own_keys.get(norm_key(name.name, name.type))

    def _new(self, item: Item, name: Mention) -> NewEntity:
        text = embedded_name(name.name)
        vector = self.vectors.known.get(text)
        if vector is None and item.deferred is None:
            self.vectors.wanted[text] = None
            raise UniquenessCollision("a name is new that was not a moment ago")
        return new_entity(
            item.request.namespace,
            name.name,
            name.type,
            origin="forced" if name.start == _GIVEN_START else "extracted",
            model=self.session.embedder.model,
            embedding=vector,
        )

    def _mentioned(self, place: int) -> tuple[list[Mention], int]:
        """The best names of an item, and how many of the caller's are not among them."""
        names = self._names.get(place)
        if names is None:
            return [], 0
        given = list[Mention]()
        if names.given or self._table or self._own_common:
            hits = names.hits + self._table.find(names.analysed)
            every = self._all_known
            if names.given:
                given, table, known = self._given(names)
                hits = _as_typed(hits + table.find(names.analysed), names.given, given)
                every = every | known
            found = resolve_names(names.analysed, hits, every, common=self._all_common)
        else:
            if names.alone is None:
                names.alone = resolve_names(
                    names.analysed, names.hits, self._known, common=self._common
                )
            found = names.alone
        gates = self._settings.entities
        passed = best_mentions(sure_enough([*given, *found], gates), gates.max_per_memory)
        if not given:
            return passed, 0
        chosen = {(name.entity, name.type, name.name) for name in passed}
        lost = [name for name in given if (name.entity, name.type, name.name) not in chosen]
        return passed, len(lost)

    def _given(self, names: _ItemNames) -> tuple[list[Mention], NameTable, dict[str, KnownEntity]]:
        """The caller's names; those new to the store are known for this text."""
        found, table, known = list[Mention](), NameTable(), dict[str, KnownEntity]()
        for at, (given, reading, hits) in enumerate(names.given):
            near = hits + self._table.find(reading) + table.find(reading)
            entities = named_by_whole_text(reading, near, ChainMap(known, self._all_known))
            entity = entity_named(entities, given.name, given.type)
            if entity is None:
                name = cased_name(given.name)
                entity = KnownEntity(
                    id=f"given {at}", type=given.type, name=name, order=(_YOUNGEST, "")
                )
                known[entity.id] = entity
                table.add(entity.id, name)
            found.append(
                Mention(
                    name=entity.name,
                    type=entity.type,
                    confidence=given.confidence,
                    start=_GIVEN_START,
                    end=_GIVEN_START,
                    evidence=given.name if given.evidence is None else given.evidence,
                    entity=entity.id,
                )
            )
        return found, table, known

    # --- earlier items of the group --------------------------------------------------------

    def inserted(self, place: int, mentions: Sequence[EntityMention]) -> None:
        """The item's names and words exist for later items."""
        if len(self._items) == 1 or place not in self._ranks:
            return
        self._inserted += 1
        for mention in mentions:
            if mention.new is not None:
                new = mention.new
                self._know(place, new.id, new.entity_type, new.canonical_name, new.aliases)
        self._add_common_words(place)

    def _know(self, place: int, id: str, type: str, name: str, aliases: Sequence[str]) -> None:
        self._own_keys[norm_key(name, type)] = id
        order = (_YOUNGEST + place, name)
        self._all_known[id] = KnownEntity(id=id, type=type, name=name, order=order)
        self._table.add(id, name, *aliases)

    def _add_common_words(self, place: int) -> None:
        """Words that the item writes in lower case are common from now on, for later items."""
        if not self._openers_by_term or len(self._items) == 1:
            return
        common = self._common_by_place.get(place)
        if common is None:
            common = self._common_by_place[place] = set()
            for word in set(lower_words(self._items[place].text)) - self._other_words:
                meant = [term for term in _LOWER_TERMS[word] if term in self._openers_by_term]
                for term in meant:
                    common |= self._openers_by_term[term]
                if not meant:
                    self._other_words.add(word)
        self._own_common |= common
        self._all_common |= common


# --- names of a claim -------------------------------------------------------------------------

_ENTITIES: Final = ("subject_id", "object_id")


def named_claim(session: Session, space: str, claim: Claim) -> Claim:
    """The claim with entities that were named by name or alias by their ids.

    Raises:
        ValidationError, NotFoundError: as `entity_id`.
    """
    found = {
        field: entity_id(session, space, getattr(claim, field), f"claim.{field}")
        for field in _ENTITIES
        if getattr(claim, field) is not None
    }
    return msgspec.structs.replace(claim, **found) if found else claim


def _may_cite(session: Session, view: LedgerView, space: str, id: str) -> bool:
    """Return whether the namespace holds a memory or source that a call may name: a source by the
    memories that it produced."""
    if not view.holds(space, id):
        return False
    if session.scope is None:
        return True
    ids = [id] if id.startswith("mem_") else view.products_of(space, [id])
    return any(session.may_name(scope) for scope, _, _ in view.places(space, ids).values())


def stored_claim(session: Session, view: LedgerView, space: str, claim: Claim) -> Claim:
    """The claim with full ids of entities in use, all of it in this state of the store.

    Raises:
        NotFoundError: an entity, source or memory that the namespace does not hold.
    """
    for one in claim.evidence:
        if one.source_id is not None and not _may_cite(session, view, space, one.source_id):
            kind = "Memory" if one.source_id.startswith("mem_") else "Source"
            raise NotFoundError(kind, one.source_id)
    found = {
        field: entity(view, space, getattr(claim, field), f"claim.{field}").id
        for field in _ENTITIES
        if getattr(claim, field) is not None
    }
    return msgspec.structs.replace(claim, **found) if found else claim
