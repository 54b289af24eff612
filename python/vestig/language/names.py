"""Names in a text: rules, names that the store knows, and the forms in which names are compared.

The rules are the core's. `analyse` takes a text apart; the caller looks its words up among the
known names (`NameTable`, or the index of the core); `resolve_names` joins both. Nothing here reads
a store.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from vestig import _core
from vestig._core import (
    AnalysedText,
    EntityRows,
    NameRules,
    NameTable,
    is_specific,
    quotations,
    starts_sentence,
)
from vestig._core import entity_named as _entity_named
from vestig.errors import ValidationError
from vestig.language.text_forms import TextCache, word_list
from vestig.language.words import NAME_STOPWORDS
from vestig.lazy_pattern import lazy_pattern

__all__ = [
    "RULES",
    "AnalysedText",
    "EntityRows",
    "Name",
    "NameTable",
    "analyse",
    "analyse_all",
    "find_names",
    "is_specific",
    "mention_pattern",
    "name_pattern",
    "quotations",
    "starts_sentence",
    "title_key",
    "title_name",
]


# --- forms ------------------------------------------------------------------------------------

TITLES: Final = frozenset(("dr", "mr", "ms", "mrs", "prof", "professor"))
_WORD_CHARS_MIN: Final = 3
LEGAL_FORMS: Final = frozenset(
    word_list(
        "ltd limited inc incorporated corp corporation llc gmbh plc llp ag kg ohg bv nv srl spa"
        " pty co"
    )
)


def norm_name(name: str) -> str:
    """A name in lower case, composed (NFC), without outer punctuation and repeated spaces: the part
    of a `norm_key` after the type.

    Raises:
        ValidationError: only whitespace.

    Example:
        >>> norm_name("PostgreSQL."), norm_name('"C++"'), norm_name(".NET")
        ('postgresql', 'c++', '.net')
    """
    return _NORM[name]


def cased_name(name: str) -> str:
    """A name without outer punctuation, inner runs of whitespace as one space, in its capitals.

    Raises:
        ValidationError: only whitespace.

    Example:
        >>> cased_name(" (Ada  Lovelace), ")
        'Ada Lovelace'
    """
    return _CASED[name]


def _visible(name: str, found: str) -> str:
    if not found:
        raise ValidationError("name", name, "a name with at least one visible character")
    return found


_CASED: Final = TextCache(lambda name: _visible(name, _core.cased_name(name)))
_TYPES: Final = TextCache(lambda type: type.strip().upper())
_NORM: Final = TextCache(lambda name: _visible(name, _core.normal_name(name)))


def norm_key(name: str, type: str) -> str:
    """The key of an entity, `TYPE:name`: entities of a namespace with equal keys are one.

    Raises:
        ValidationError: an empty name.

    Example:
        >>> norm_key("  Dr. Lovelace  ", "person"), norm_key("C#", "SKILL")
        ('PERSON:dr. lovelace', 'SKILL:c#')
    """
    return f"{_TYPES[type]}:{_NORM[name]}"


def aliases_of(name: str, type: str) -> tuple[str, ...]:
    """The name without the titles of a person or the legal form of an organisation.

    Example:
        >>> aliases_of("Prof. Dr. Ada Lovelace", "PERSON"), aliases_of("Acme Ltd.", "ORG")
        (('Ada Lovelace',), ('Acme',))
    """
    words = name.split()
    kept = list(words)
    if type == "PERSON":
        while kept and kept[0].rstrip(".").lower() in TITLES:
            kept.pop(0)
    elif type == "ORG":
        while kept and kept[-1].rstrip(".,").lower() in LEGAL_FORMS | {"&"}:
            kept.pop()
    stripped = " ".join(kept).rstrip(",")
    return (stripped,) if kept and len(kept) < len(words) and stripped else ()


def name_pattern(names: Iterable[str]) -> re.Pattern[str]:
    """Finds a whole word by which a text may call what has one of these names, in any case: no
    title, no legal form and nothing shorter than three letters, unless a name has nothing else.

    Example:
        >>> name_pattern(["Dr. Ada Lovelace"]).findall("Ask ada, not Dr. Adams")
        ['ada']
        >>> name_pattern(["C++", "Li", "Dr."]).findall("Dr. Li likes C++")
        ['Dr', 'Li', 'C++']
    """
    words = {word for name in names for word in _words_of(name)}
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(words)))})(?!\w)", re.IGNORECASE)


def _words_of(name: str) -> list[str]:
    words = [word.strip(".,'\"") or word for word in name.split()]
    kept = [one for one in words if one.lower() not in TITLES | LEGAL_FORMS]
    return [one for one in kept if len(one) >= _WORD_CHARS_MIN] or kept or words


# Scripts that write what belongs to a name without a space beside it: Han, kana, Hangul, Thai,
# Arabic, Hebrew.
_ATTACHED: Final = lazy_pattern(
    "[\u0590-\u05ff\u0600-\u06ff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af々]+"
)
_HONORIFICS: Final = lazy_pattern(
    "(?:さん|さま|ちゃん|くん|様|氏|君|殿|先生|女士|小姐|씨|님|선생님)$"
)
_HAN: Final = lazy_pattern("[\u3400-\u9fff々]+")
_HANGUL: Final = lazy_pattern("[\uac00-\ud7af]+")
_TWO_WAYS: Final = (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("å", "aa"), ("ø", "oe"), ("ß", "ss"))
_WITHOUT_MARK: Final = str.maketrans("łøđ\u0131", "lodi")
_EYES: Final = "[i\u0131\u0130]"


def mention_pattern(names: Iterable[str]) -> re.Pattern[str]:
    """Finds what may speak of what has one of these names, wider than `name_pattern`: a word also
    as a genitive or of a family, without its marks, with what its script attaches to it, in an
    address of mail; of a name of three or four Han or Hangul letters also the given name, of four
    the family's.

    Example:
        >>> text = "Annas Koffer, at the Bergs, a.berg@example.org, Bergen"
        >>> [found[0] for found in mention_pattern(["Anna Berg"]).finditer(text)]
        ['Annas', 'Bergs', 'berg']
        >>> mention_pattern(["佐藤さん"]).findall("佐藤様は魚が苦手です。")
        ['佐藤']
    """
    words = {form for name in names for word in _words_of(name) for form in _forms_of(word)}
    attached = sorted(word for word in words if len(word) > 1 and _ATTACHED.fullmatch(word))
    plain = sorted(words.difference(attached))
    long = [word for word in plain if len(word) >= _WORD_CHARS_MIN and word.isalpha()]
    parts = [_any_of(attached)] if attached else []
    parts += [rf"(?<!\w){_any_of(plain)}(?!\w)"] if plain else []
    if long:
        some = _any_of(long)
        parts += [
            rf"(?<!\w){some}(?:s|es|ens)(?!\w)",
            rf"(?<![^\W\d_])[^\W\d_]?{some}+[^\W\d_]?(?![^\W\d_])(?=[\w.+-]*@)",
        ]
    return re.compile("|".join(parts), re.IGNORECASE)


def _any_of(words: Iterable[str]) -> str:
    # the capital of i differs by language
    return f"(?:{'|'.join(re.sub(_EYES, _EYES, re.escape(word)) for word in words)})"


def _forms_of(word: str) -> set[str]:
    """The forms in which a word of a name stands, in lower case: without its marks (Müller: muller,
    mueller), or as its script shortens it."""
    low = unicodedata.normalize("NFC", word.lower().replace("i̇", "i"))
    if _ATTACHED.fullmatch(low):
        bare = _HONORIFICS.sub("", low)
        bare = bare if len(bare) > 1 else low
        found = {bare}
        if len(bare) in (3, 4) and (_HAN.fullmatch(bare) or _HANGUL.fullmatch(bare)):
            found.add(bare[-2:])
        if len(bare) == 4 and _HAN.fullmatch(bare):
            found.add(bare[:2])
        return found
    spelled = low
    for letter, letters in _TWO_WAYS:
        spelled = spelled.replace(letter, letters)
    marks = unicodedata.normalize("NFD", low)
    plain = "".join(one for one in marks if not unicodedata.combining(one))
    return {low, spelled, plain.translate(_WITHOUT_MARK)}


def embedded_name(name: str, description: str = "") -> str:
    """The text that is embedded of an entity.

    Example:
        >>> embedded_name("Ada Lovelace", "wrote notes")
        'ada lovelace wrote notes'
    """
    low = name.lower()
    return f"{low} {description}" if description else low


# --- rules ------------------------------------------------------------------------------------

RULES: Final = NameRules(NAME_STOPWORDS)
_TITLE_CONFIDENCE: Final = 0.95


class Name(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A name as written.

    Attributes:
        name: the words, without a final `'s`.
        start, end: code point offsets, half-open; both -1 for a title given beside the text.
        type: an entity type of the ontology, or `UNTYPED`.
        confidence: 0-1, that of the pattern.
        opens: whether several capitalised words begin a sentence, so that the first may have its
            capital from there.
    """

    name: str
    start: int
    end: int
    type: str
    confidence: float
    opens: bool = False


def title_name(title: str | None) -> Name | None:
    """The title of a note or document as a name: of a path of headings the last part, without a
    final parenthesis.

    Example:
        >>> title_name("Harbor plan (draft)").name, title_name("Guide > Harbor plan").name
        ('Harbor plan', 'Harbor plan')
    """
    found = None if title is None else RULES.title_name(title)
    if found is None:
        return None
    return Name(name=found, start=-1, end=-1, type="UNTYPED", confidence=_TITLE_CONFIDENCE)


def title_key(title: str | None) -> str | None:
    """A title in the normal form of entity names; None when it is no name.

    Example:
        >>> title_key("Harbor Plan (draft)"), title_key("42"), title_key(None)
        ('harbor plan', None, None)
    """
    if title is None:
        return None
    named = RULES.title_name(title)
    return None if named is None else norm_name(named)


def find_names(text: str, *, title: str | None = None) -> list[Name]:
    """Names in order of position, without overlaps.

    Args:
        text: any text.
        title: the note's or document's title; its last part is a name too, without a final
            parenthesis.

    Example:
        >>> [name.name for name in find_names("Ticket ABC-123 is with Ada Lovelace at NATO")]
        ['ABC-123', 'Ada Lovelace', 'NATO']
    """
    names = [
        Name(name=name, start=start, end=end, type=type, confidence=confidence, opens=opens)
        for name, start, end, type, confidence, opens in RULES.find(text)
    ]
    given = title_name(title)
    return names if given is None else [*names, given]


# --- known names ------------------------------------------------------------------------------


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


# A single word that is longer is no name.
_WORD_CHARS_MAX: Final = 100
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
        >>> from vestig.language.names import analyse
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
        if entity is not None or not _is_encoded(name)
    ]


def _is_encoded(name: str) -> bool:
    """Return whether a name that only rules found is one word that nobody speaks, as in base64."""
    return len(name) > _WORD_CHARS_MAX and len(name.split(None, 1)) == 1


def best_mentions(names: Iterable[Mention], most: int) -> list[Mention]:
    """The `most` names of highest confidence, each once, in order of position.

    Example:
        >>> from vestig.language.names import analyse
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
