"""Names in a text by the rules and by what the store already knows (G-03, first row).

A text is read once (`read`); its words are looked up by whoever holds the names; `resolve` joins
both. Nothing here asks a store: what it knows comes as arguments.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from vestig.language.entities import (
    Name,
    candidates,
    chosen,
    is_specific,
    title_name,
    without_first,
)
from vestig.language.name_forms import cased_name, norm_name, trimmed, without_possessive
from vestig.language.ontology import UNTYPED

__all__ = [
    "NOTHING",
    "Forms",
    "Hit",
    "Known",
    "Mentioned",
    "Reading",
    "best",
    "named",
    "read",
    "resolve",
    "single_words",
    "whole",
]

# (lower-cased word, left-stripped, right-stripped, stripped on both sides): a name's first word
# is compared left-stripped, its last right-stripped, one between as it stands.
Forms = tuple[str, str, str, str]
# Stands between stretches of words, so that no name is found across them.
NOTHING: Final[Forms] = ("", "", "", "")
# (first word, number of words, entity id, stored name)
Hit = tuple[int, int, str, str]

# Words end at whitespace and at marks that no name holds.
_WORD: Final = re.compile(r"[^\s“”„«»‹›—–…|]+")  # noqa: RUF001
_PARTS: Final = re.compile(r"[^/\\,;=]+")
_PARTED: Final = re.compile(r"[/\\,;=](?=.)")


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """An entity as the gazetteer sees it. The oldest has the least `order`."""

    id: str
    type: str
    name: str
    order: tuple[int, str] = (0, "")


class Mentioned(msgspec.Struct, frozen=True, kw_only=True):
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


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A text taken apart.

    Attributes:
        words: forms to look up; those of the title come last, behind `NOTHING`.
        spans: where each of `words` stands, (-1, -1) in the title and between.
        title_from: the place of the title's first word in `words`; None without a title.
        openers: lower-cased first words of runs that begin a sentence, to be asked for.
    """

    text: str
    title: Name | None
    found: tuple[Name, ...]
    words: tuple[Forms, ...]
    spans: tuple[tuple[int, int], ...]
    title_from: int | None
    openers: tuple[str, ...]


def read(
    text: str,
    title: str | None = None,
    *,
    rules: bool = True,
    types: Mapping[str, str] | None = None,
) -> Reading:
    """Takes a text apart.

    Args:
        title: the note's or document's title (Q-01).
        rules: whether the patterns of G-03 are tried too, or only known names are looked for.
        types: what the types of the patterns are called here; None = as they are.

    Example:
        >>> read("Ask (Ada Lovelace)").words[1]
        ('(ada', 'ada', '(ada', 'ada')
    """
    found = tuple(_called(candidates(text), types)) if rules else ()
    named = title_name(title) if rules else None
    words, spans, parts = list[Forms](), list[tuple[int, int]](), list[re.Match[str]]()
    for match in _WORD.finditer(text):
        _add(words, spans, match[0], match.start())
        if not match[0].isalnum() and _PARTED.search(match[0]) is not None:
            parts.append(match)
    for match in parts:
        words.append(NOTHING)
        spans.append((-1, -1))
        for part in _PARTS.finditer(match[0]):
            _add(words, spans, part[0], match.start() + part.start())
            words.append(NOTHING)
            spans.append((-1, -1))
    title_from = None
    if named is not None:
        words.append(NOTHING)
        title_from = len(words)
        for match in _WORD.finditer(named.name):
            _add(words, [], match[0], 0)
        spans += [(-1, -1)] * (len(words) - len(spans))
    openers = dict.fromkeys(_first(name) for name in found if name.opens)
    return Reading(
        text=text,
        title=named,
        found=found,
        words=tuple(words),
        spans=tuple(spans),
        title_from=title_from,
        openers=tuple(openers),
    )


def _called(names: list[Name], types: Mapping[str, str] | None) -> list[Name]:
    if types is None:
        return names
    return [msgspec.structs.replace(name, type=types.get(name.type, UNTYPED)) for name in names]


def _add(words: list[Forms], spans: list[tuple[int, int]], word: str, at: int) -> None:
    low = word.lower()
    if low.isalnum():
        words.append((low, low, low, low))
        spans.append((at, at + len(word)))
        return
    start, end = trimmed(word)
    while True:
        own = without_possessive(word[start:end])
        if start + len(own) == end:
            break
        end = start + trimmed(own)[1]
    words.append((low, word[start:].lower(), word[:end].lower(), word[start:end].lower()))
    spans.append((at + start, at + end))


def _first(name: Name) -> str:
    return name.name.split(None, 1)[0].lower()


# --- what the words of a text are known as ---------------------------------------------------


class _Match(msgspec.Struct, frozen=True):
    """A stretch of the text that is a known name, in these or other capitals."""

    start: int
    end: int
    count: int
    norm: str
    known: Known
    as_stored: bool


def _matches(reading: Reading, hits: Iterable[Hit], known: Mapping[str, Known]) -> list[_Match]:
    found = []
    for first, count, id, stored in hits:
        entity = known.get(id)
        if entity is None:
            continue
        start, end = reading.spans[first][0], reading.spans[first + count - 1][1]
        if start < 0:
            if first != reading.title_from or first + count != len(reading.words):
                continue
            assert reading.title is not None, "words behind `title_from` are a title's"
            written = reading.title.name
        else:
            written = reading.text[start:end]
        if not written.strip():
            continue
        norm = norm_name(stored)
        # words on both sides of a dash or quotation mark are no name, but for a title's own
        if start >= 0 and norm_name(written) != norm:
            continue
        same = cased_name(written) == cased_name(stored)
        found.append(_Match(start, end, count, norm, entity, same))
    return found


def single_words(
    reading: Reading, hits: Iterable[Hit], known: Mapping[str, Known]
) -> tuple[str, ...]:
    """Names of one word that a query writes in other capitals than the store: they are meant only
    when no text of the namespace holds the word in lower case.

    Example:
        >>> single_words(read("who knows ada?"), [(2, 1, "ent_1", "Ada")],
        ...              {"ent_1": Known(id="ent_1", type="PERSON", name="Ada")})
        ('ada',)
    """
    asked = {
        match.norm: None
        for match in _matches(reading, hits, known)
        if match.count == 1 and not match.as_stored
    }
    return tuple(asked)


def whole(reading: Reading, hits: Iterable[Hit], known: Mapping[str, Known]) -> list[Known]:
    """Entities of which the text, in any capitals, is a name."""
    if not reading.text.strip():
        return []
    norm = norm_name(reading.text)
    found = {match.known.id: match.known for match in _matches(reading, hits, known)
             if match.norm == norm}  # fmt: skip
    return list(found.values())


def named(entities: Iterable[Known], name: str, type: str) -> Known | None:
    """Whom a name of this type means among those that have it: one of its type, rather by its
    first name than by an alias; an untyped name takes the type of the only typed one (G-03).

    Example:
        >>> ada = Known(id="ent_1", type="PERSON", name="Ada")
        >>> named([ada], "Ada", "UNTYPED") == ada, named([ada], "Ada", "ORG")
        (True, None)
    """
    all = {entity.id: entity for entity in entities}.values()
    same = [entity for entity in all if entity.type == type]
    if type == UNTYPED:
        typed = [entity for entity in all if entity.type != UNTYPED]
        same = typed if len(typed) == 1 else same
    return _first_of(same, norm_name(name)) if same else None


def _first_of(entities: Collection[Known], norm: str) -> Known:
    """The one that has the name as its first, else the oldest."""
    if len(entities) == 1:
        return next(iter(entities))
    return min(entities, key=lambda entity: (norm_name(entity.name) != norm, entity.order))


def resolve(
    reading: Reading,
    hits: Sequence[Hit] = (),
    known: Mapping[str, Known] | None = None,
    *,
    common: Collection[str] = (),
    query: bool = False,
    rules_only: bool = False,
) -> list[Mentioned]:
    """Names in order of position, without overlaps; that of the title last (G-03).

    Args:
        hits: known names among `reading.words`, any overlap.
        known: the entities of the hits, by id.
        common: which of `openers`, and in a query of `single_words`, occur in lower case.
        query: whether the text asks, so that capitals matter less.
        rules_only: known names only tell whom a name of the rules means.

    Example:
        >>> hits = [(2, 2, "ent_1", "Ada Lovelace")]
        >>> known = {"ent_1": Known(id="ent_1", type="PERSON", name="Ada Lovelace")}
        >>> [found] = resolve(read("We met Ada Lovelace!"), hits, known)
        >>> found.name, found.type, found.confidence, found.entity
        ('Ada Lovelace', 'PERSON', 1.0, 'ent_1')
    """
    matches = _matches(reading, hits, known or {})
    by_norm: dict[str, list[_Match]] = {}
    for match in matches:
        by_norm.setdefault(match.norm, []).append(match)
    rules = _without_openers(reading, common)
    typed = {(name.start, name.end): name.type for name in rules}
    spans: dict[tuple[int, int], list[_Match]] = {}
    for match in () if rules_only else matches:
        if _is_meant(match, common, query):
            spans.setdefault((match.start, match.end), []).append(match)
    found = list(rules)
    chosen_at: dict[tuple[int, int], Known] = {}
    for span, group in spans.items():
        if span[0] < 0:
            continue
        entity = chosen_at[span] = _one(group, typed.get(span, UNTYPED))
        written = reading.text[span[0] : span[1]]
        found.append(
            Name(name=written, start=span[0], end=span[1], type=entity.type, confidence=1.0)
        )
    names = [name for name in chosen(found) if name.confidence == 1.0 or is_specific(name.name)]
    mentioned = [_mentioned(name, chosen_at, by_norm) for name in names]
    if reading.title is not None:
        mentioned.append(_titled(reading.title, spans.get((-1, -1), []), by_norm))
    return mentioned


def _is_meant(match: _Match, common: Collection[str], query: bool) -> bool:
    if match.as_stored:
        return True
    return query and (match.count > 1 or match.norm not in common)


def _without_openers(reading: Reading, common: Collection[str]) -> list[Name]:
    """A capital that only begins a sentence is no part of a name."""
    kept = list[Name]()
    for name in reading.found:
        if name.opens and _first(name) in common:
            kept += without_first(reading.text, name)
        else:
            kept.append(name)
    return kept


def _one(group: Sequence[_Match], type: str) -> Known:
    """Whom a name means: the entity of the type that the rules see, else the only typed one, else
    the untyped one, else the oldest."""
    entities = {match.known.id: match.known for match in group}.values()
    same = [entity for entity in entities if entity.type == type != UNTYPED]
    typed = [entity for entity in entities if entity.type != UNTYPED]
    if not same and len(typed) != 1:
        typed = [entity for entity in entities if entity.type == UNTYPED] or typed
    return _first_of(same or typed, group[0].norm)


def _mentioned(
    name: Name, chosen_at: Mapping[tuple[int, int], Known], by_norm: Mapping[str, list[_Match]]
) -> Mentioned:
    entity = chosen_at.get((name.start, name.end)) if name.confidence == 1.0 else None
    if entity is None:
        entity = _by_name(name, by_norm)
    return Mentioned(
        name=cased_name(name.name) if entity is None else entity.name,
        type=name.type if entity is None else entity.type,
        confidence=name.confidence,
        start=name.start,
        end=name.end,
        evidence=name.name,
        entity=None if entity is None else entity.id,
    )


def _titled(title: Name, group: Sequence[_Match], by_norm: Mapping[str, list[_Match]]) -> Mentioned:
    entity = _one(group, UNTYPED) if group else None
    found = _mentioned(title, {}, by_norm)
    if entity is None:
        return found
    return msgspec.structs.replace(
        found, name=entity.name, type=entity.type, entity=entity.id, confidence=1.0
    )


def _by_name(name: Name, by_norm: Mapping[str, list[_Match]]) -> Known | None:
    """A name of the rules that an entity of its type has in other capitals; an untyped one takes
    the type of the only typed entity that has it."""
    group = by_norm.get(norm_name(name.name), ())
    return named((match.known for match in group), name.name, name.type)


def best(names: Iterable[Mentioned], most: int) -> list[Mentioned]:
    """One of each name, then the best by confidence, then by position (G-03).

    Example:
        >>> names = resolve(read("NATO met NATO and Ada Lovelace"))
        >>> [name.name for name in best(names, 1)]
        ['Ada Lovelace']
    """
    own: dict[object, Mentioned] = {}
    for name in names:
        key = name.entity or (name.type, norm_name(name.name))
        known = own.get(key)
        if known is None or name.confidence > known.confidence:
            own[key] = name
    ranked = sorted(own.values(), key=lambda name: (-name.confidence, name.start))
    return sorted(ranked[:most], key=lambda name: name.start)
