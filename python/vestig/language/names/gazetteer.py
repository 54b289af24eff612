"""Names in a text, from the rules and from the names that the store knows.

`analyse` takes a text apart; the caller looks its words up among the known names
(`NameTable`, or the index of the core); `resolve_names` joins both. Nothing here reads a store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from vestig._core import AnalysedText, EntityRows, NameTable
from vestig._core import entity_named as _entity_named
from vestig.language.names.forms import norm_name
from vestig.language.names.rules import RULES

__all__ = ["AnalysedText", "EntityRows", "NameTable", "analyse", "analyse_all"]


def analyse(
    text: str,
    title: str | None = None,
    *,
    rules: bool = True,
    types: Mapping[str, str] | None = None,
) -> AnalysedText:
    """Splits a text into words and finds names by the rules.

    Args:
        title: the note's or document's title.
        rules: false = only known names are wanted.
        types: type of a rule → type of this store's ontology; None = unchanged.

    Example:
        >>> analyse("Ask (Ada Lovelace)").words[1]
        ('(ada', 'ada', '(ada', 'ada')
    """
    return RULES.analyse([(text, title)], rules=rules, types=types)[0]


def analyse_all(
    texts: Sequence[tuple[str, str | None]], *, types: Mapping[str, str] | None = None
) -> list[AnalysedText]:
    """The same of many texts with their titles, at once.

    Example:
        >>> [one.openers for one in analyse_all([("Deploy it", None), ("so Ada", None)])]
        [['deploy'], []]
    """
    return RULES.analyse(texts, types=types)


# (first word, number of words, entity id, stored name)
NameHit = tuple[int, int, str, str]


class KnownEntity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entity of the store. The oldest has the least `order`."""

    id: str
    type: str
    name: str
    order: tuple[int, str] = (0, "")


class Mention(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A name in a text: as written there, or as stored when `entity` is known.

    Attributes:
        start, end: code points of the text, half-open; both -1 for a title beside the text.
        entity: id of the entity that is meant, or None for a name new to the store.
    """

    name: str
    type: str
    confidence: float
    start: int
    end: int
    evidence: str
    entity: str | None = None


def named_by_whole_text(
    analysed: AnalysedText, hits: Sequence[NameHit], known: Mapping[str, KnownEntity]
) -> list[KnownEntity]:
    """Entities that the whole text names, in any capitals."""
    found = dict.fromkeys(analysed.named_by_whole(hits, known))
    return [known[id] for id in found]


def entity_named(entities: Iterable[KnownEntity], name: str, type: str) -> KnownEntity | None:
    """The entity that a name of this type means, among those that have it.

    One of its type, rather by its canonical name than by an alias; an untyped name takes the type
    of the only typed one.

    Example:
        >>> ada = KnownEntity(id="ent_1", type="PERSON", name="Ada")
        >>> entity_named([ada], "Ada", "UNTYPED") == ada, entity_named([ada], "Ada", "ORG")
        (True, None)
    """
    by_id = {entity.id: entity for entity in entities}
    found = _entity_named(list(by_id.values()), name, type) if by_id else None
    return None if found is None else by_id[found]


def resolve_names(
    analysed: AnalysedText,
    hits: Sequence[NameHit] = (),
    known: Mapping[str, KnownEntity] | None = None,
    *,
    common: Collection[str] = (),
    query: bool = False,
    rules_only: bool = False,
) -> list[Mention]:
    """Names in order of position, without overlaps; that of the title last.

    Args:
        hits: known names among `analysed.words`, any overlap.
        known: the entities of the hits, by id.
        common: which of `openers`, and in a query which of its known names of one word, occur in
            lower case.
        query: the text is a query, in which capitals matter less.
        rules_only: known names only resolve names that the rules find.

    Example:
        >>> from vestig.language.names.gazetteer import analyse
        >>> hits = [(2, 2, "ent_1", "Ada Lovelace")]
        >>> known = {"ent_1": KnownEntity(id="ent_1", type="PERSON", name="Ada Lovelace")}
        >>> [found] = resolve_names(analyse("We met Ada Lovelace!"), hits, known)
        >>> found.name, found.type, found.confidence, found.entity
        ('Ada Lovelace', 'PERSON', 1.0, 'ent_1')
    """
    rows = analysed.resolve(
        hits, {} if known is None else known, common, query=query, rules_only=rules_only
    )
    return [
        Mention(
            name=name,
            type=type,
            confidence=confidence,
            start=start,
            end=end,
            evidence=evidence,
            entity=entity,
        )
        for name, type, confidence, start, end, evidence, entity in rows
    ]


def best_mentions(names: Iterable[Mention], most: int) -> list[Mention]:
    """The `most` names of highest confidence, each once, in order of position.

    Example:
        >>> from vestig.language.names.gazetteer import analyse
        >>> names = resolve_names(analyse("NATO met NATO and Ada Lovelace"))
        >>> [name.name for name in best_mentions(names, 1)]
        ['Ada Lovelace']
    """
    own: dict[object, Mention] = {}
    for name in names:
        key = name.entity or (name.type, norm_name(name.name))
        known = own.get(key)
        if known is None or name.confidence > known.confidence:
            own[key] = name
    kept = list(own.values())
    if len(kept) > most:
        kept = sorted(kept, key=lambda name: (-name.confidence, name.start))[:most]
    return sorted(kept, key=lambda name: (name.start, -name.confidence))
