"""Names in a text, from the rules and from the names that the store knows.

`analysed_text.analyse` takes a text apart; the caller looks its words up among the known names
(`name_table`, or the index of the core); `resolve_names` joins both. Nothing here reads a store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec
from oracle_name_forms import cased_name, norm_name
from oracle_name_rules import without_first, without_overlaps
from oracle_name_words import AnalysedText, first_word, may_be_opener

from vestig._core import visible
from vestig.language.names import KnownEntity, Mention, Name, NameHit
from vestig.language.ontology import UNTYPED

__all__ = [
    "entity_named",
    "named_by_whole_text",
    "names_of_query",
    "resolve_names",
]

# --- known names among the words of a text ---------------------------------------------------


class _Match(msgspec.Struct, frozen=True, gc=False):
    """A span of the text that is a known name; `as_stored`: in equal capitals; `opens`: the capital
    may be that of a sentence."""

    start: int
    end: int
    count: int
    norm: str
    known: KnownEntity
    as_stored: bool
    opens: bool


def _matches(
    analysed: AnalysedText, hits: Iterable[NameHit], known: Mapping[str, KnownEntity]
) -> list[_Match]:
    found = []
    for first, count, id, stored in hits:
        entity = known.get(id)
        if entity is None:
            continue
        start, end = analysed.starts[first], analysed.ends[first + count - 1]
        norm = norm_name(stored)
        if start >= 0 and norm.endswith("'s") and analysed.text[end : end + 2] in ("'s", "’s"):
            end += 2
        if start < 0:
            if first != analysed.title_start or first + count != len(analysed.words):
                continue
            assert analysed.title is not None, "words behind `title_start` are a title's"
            written = analysed.title.name
        else:
            written = analysed.text[start:end]
        if not written.strip():
            continue
        same = written == stored
        if not same:
            # words on both sides of a dash or quotation mark are no name, but for a title's own
            if start >= 0 and norm_name(written) != norm:
                continue
            same = cased_name(written) == cased_name(stored)
        opens = same and count == 1 and start >= 0 and may_be_opener(analysed.text, start, end)
        found.append(_Match(start, end, count, norm, entity, same, opens))
    return found


def names_of_query(
    analysed: AnalysedText,
    hits: Sequence[NameHit],
    known: Mapping[str, KnownEntity],
    is_common: Callable[[str], bool],
) -> tuple[list[str], list[str]]:
    """Ids of the entities that a query names, by the position of the name, and its other names. A
    name that several entities have means all of them."""
    doubtful = {
        *analysed.openers,
        *(one.norm for one in _matches(analysed, hits, known) if one.count == 1),
    }
    common = {word for word in doubtful if is_common(word)}
    having: dict[str, list[KnownEntity]] = {}
    for _, _, id, stored in hits:
        if id in known:
            having.setdefault(norm_name(stored), []).append(known[id])
    found: dict[str, None] = {}
    unknown = []
    for name in resolve_names(analysed, hits, known, common=common, query=True):
        group = having.get(norm_name(name.evidence), [])
        if name.entity is None and not group:
            unknown.append(name.name)
        for entity in sorted(group, key=lambda entity: entity.order):
            found[entity.id] = None
        if name.entity is not None:
            found.setdefault(name.entity)
    return list(found), unknown


def named_by_whole_text(
    analysed: AnalysedText, hits: Iterable[NameHit], known: Mapping[str, KnownEntity]
) -> list[KnownEntity]:
    """Entities that the whole text names, in any capitals."""
    if not visible(analysed.text).strip():
        return []
    norm = norm_name(analysed.text)
    found = {match.known.id: match.known for match in _matches(analysed, hits, known)
             if match.norm == norm}  # fmt: skip
    return list(found.values())


def entity_named(entities: Iterable[KnownEntity], name: str, type: str) -> KnownEntity | None:
    """The entity that a name of this type means, among those that have it.

    One of its type, rather by its canonical name than by an alias; an untyped name takes the type
    of the only typed one.

    Example:
        >>> ada = KnownEntity(id="ent_1", type="PERSON", name="Ada")
        >>> entity_named([ada], "Ada", "UNTYPED") == ada, entity_named([ada], "Ada", "ORG")
        (True, None)
    """
    all = {entity.id: entity for entity in entities}.values()
    same = [entity for entity in all if entity.type == type]
    if type == UNTYPED:
        typed = [entity for entity in all if entity.type != UNTYPED]
        same = typed if len(typed) == 1 else same
    return _first_of(same, norm_name(name)) if same else None


def _first_of(entities: Collection[KnownEntity], norm: str) -> KnownEntity:
    """The one whose canonical name it is, else the oldest."""
    if len(entities) == 1:
        return next(iter(entities))
    return min(entities, key=lambda entity: (norm_name(entity.name) != norm, entity.order))


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
        common: which of `openers`, and in a query of `single_words`, occur in lower case.
        query: the text is a query, in which capitals matter less.
        rules_only: known names only resolve names that the rules find.

    Example:
        >>> from oracle_name_words import analyse
        >>> hits = [(2, 2, "ent_1", "Ada Lovelace")]
        >>> known = {"ent_1": KnownEntity(id="ent_1", type="PERSON", name="Ada Lovelace")}
        >>> [found] = resolve_names(analyse("We met Ada Lovelace!"), hits, known)
        >>> found.name, found.type, found.confidence, found.entity
        ('Ada Lovelace', 'PERSON', 1.0, 'ent_1')
    """
    matches = _matches(analysed, hits, known or {})
    by_norm: dict[str, list[_Match]] = {}
    for match in matches:
        by_norm.setdefault(match.norm, []).append(match)
    rules = _without_openers(analysed, common)
    typed = {(name.start, name.end): name.type for name in rules}
    spans: dict[tuple[int, int], list[_Match]] = {}
    for match in () if rules_only else matches:
        if _is_meant(match, common, query):
            spans.setdefault((match.start, match.end), []).append(match)
    found = list(rules)
    chosen_at: dict[tuple[int, int], KnownEntity] = {}
    for span, group in spans.items():
        if span[0] < 0:
            continue
        entity = chosen_at[span] = _one(group, typed.get(span, UNTYPED))
        written = analysed.text[span[0] : span[1]]
        found.append(
            Name(name=written, start=span[0], end=span[1], type=entity.type, confidence=1.0)
        )
    names = without_overlaps(found)
    mentioned = [_mentioned(name, chosen_at, by_norm) for name in names]
    if analysed.title is not None:
        mentioned.append(_titled(analysed.title, spans.get((-1, -1), []), by_norm))
    return mentioned


def _is_meant(match: _Match, common: Collection[str], query: bool) -> bool:
    if match.as_stored:
        return query or not (match.opens and match.norm in common)
    return query and (match.count > 1 or match.norm not in common)


def _without_openers(analysed: AnalysedText, common: Collection[str]) -> list[Name]:
    """A capital that only begins a sentence is no part of a name."""
    kept = list[Name]()
    for name in analysed.rule_names:
        if name.opens and first_word(name) in common:
            kept += without_first(analysed.text, name)
        else:
            kept.append(name)
    return kept


def _one(group: Sequence[_Match], type: str) -> KnownEntity:
    """The entity that a name means: the one of the type that the rules give, else the only typed
    one, else the untyped one, else the oldest."""
    if len(group) == 1:
        return group[0].known
    entities = {match.known.id: match.known for match in group}.values()
    same = [entity for entity in entities if entity.type == type != UNTYPED]
    typed = [entity for entity in entities if entity.type != UNTYPED]
    if not same and len(typed) != 1:
        typed = [entity for entity in entities if entity.type == UNTYPED] or typed
    return _first_of(same or typed, group[0].norm)


def _mentioned(
    name: Name,
    chosen_at: Mapping[tuple[int, int], KnownEntity],
    by_norm: Mapping[str, list[_Match]],
) -> Mention:
    entity = chosen_at.get((name.start, name.end)) if name.confidence == 1.0 else None
    if entity is None:
        entity = _by_name(name, by_norm)
    return Mention(
        name=cased_name(name.name) if entity is None else entity.name,
        type=name.type if entity is None else entity.type,
        confidence=name.confidence,
        start=name.start,
        end=name.end,
        evidence=name.name,
        entity=None if entity is None else entity.id,
    )


def _titled(title: Name, group: Sequence[_Match], by_norm: Mapping[str, list[_Match]]) -> Mention:
    entity = _one(group, UNTYPED) if group else None
    found = _mentioned(title, {}, by_norm)
    if entity is None:
        return found
    return msgspec.structs.replace(
        found, name=entity.name, type=entity.type, entity=entity.id, confidence=1.0
    )


def _by_name(name: Name, by_norm: Mapping[str, list[_Match]]) -> KnownEntity | None:
    """A name of the rules that an entity of its type has in other capitals; an untyped one takes
    the type of the only typed entity that has it."""
    group = by_norm.get(norm_name(name.name), ())
    return entity_named((match.known for match in group), name.name, name.type)
