"""The words of queries: which of them carry a topic, when two queries are the same, how rare a word
is, which names a text holds, the facets of a request, and the synonyms of terms."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from math import inf
from pathlib import Path
from typing import Final, NamedTuple

from vestig.language.names.rules import find_names
from vestig.language.text_forms import word_list
from vestig.language.words import STOPWORDS, terms, terms_among, tokens
from vestig.lazy_pattern import lazy_pattern

# Verbs of speaking and asking, in every form, and words that only frame a request.
_CONVERSATION: Final = frozenset(
    word_list(
        "mention mentions mentioned mentioning say says said saying tell tells told telling"
        " ask asks asked asking bring brings brought bringing list lists listed listing"
        " remind reminds reminded reminding remember remembers remembered recall recalls recalled"
        " talk talks talked talking speak speaks spoke spoken discuss discusses discussed"
        " discussing describe describes described explain explains explained summarize summarise"
        " know knows knew known think thinks thought let please hi hello hey thanks thank okay ok"
        " yes yeah much many often sure got get gets getting give gives gave given kind kinds type"
        " types sort sorts recently currently now regarding concerning"
    )
)
_CHARS_MIN: Final = 2
_PART: Final = lazy_pattern(r"[^\W_]+")
_VOWELS: Final = frozenset("aeiou")
# Endings after which a plural has `es`.
_HISSING: Final = ("ss", "x", "ch", "sh")


class Word(NamedTuple):
    """A word of a text: in lower case, its span in code points, and whether it carries a topic."""

    text: str
    start: int
    end: int
    content: bool


class Name(NamedTuple):
    """A name in a text as it is written there, and its span in code points."""

    text: str
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """The words of a text in order. Stop words, rests of contractions, verbs of conversation and
    single letters carry no topic.

    Example:
        >>> words = words_of("Tell me what the deploy of jira-9988 said")
        >>> [word.text for word in words if word.content]
        ['deploy', 'jira-9988']
    """
    return [
        Word(word, start, end, _carries_topic(word, end - start, identifier))
        for word, start, end, identifier in tokens(text)
    ]


def _carries_topic(word: str, length: int, identifier: bool) -> bool:
    if identifier:
        # "and/or" has the form of an identifier and is none
        if all(part in STOPWORDS or part in _CONVERSATION for part in _PART.findall(word)):
            return False
    elif word in STOPWORDS or word in _CONVERSATION:
        return False
    # a run of one Han, Hiragana, Katakana or Thai character is a word of its own
    return length >= _CHARS_MIN or not word.isascii()


def singular(word: str) -> str:
    """A word without the ending of an English plural; other words are unchanged.

    Example:
        >>> [singular(word) for word in ("parties", "boxes", "houses", "glass", "js")]
        ['party', 'box', 'house', 'glass', 'js']
    """
    if len(word) < 4 or not word.isalpha() or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4 and word[-4] not in _VOWELS:
        return f"{word[:-3]}y"
    if word.endswith("es") and word[:-2].endswith(_HISSING):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


def query_key(text: str) -> frozenset[str]:
    """Return what makes two queries the same: their content words without plural endings; empty
    where a text has none.

    Example:
        >>> query_key("the cats of Ada") == query_key("Ada, cat?"), query_key("what did you say?")
        (True, frozenset())
    """
    return frozenset(singular(word.text) for word in words_of(text) if word.content)


def rarity(text: str, idf: Mapping[str, float] | None, *, unknown: float) -> float:
    """How rare the rarest word of a text is: its idf; without idf, its length.

    Args:
        idf: by index term, as `vestig.language.words.terms` gives them.
        unknown: what a word counts for that no memory has.

    Example:
        >>> [rarity("lantern", idf, unknown=9.0) for idf in ({"lantern": 2.5}, {}, None)]
        [2.5, 9.0, 7.0]
    """
    if idf is None:
        return float(max((word.end - word.start for word in words_of(text)), default=0))
    return max((idf.get(term, unknown) for term in terms(text)), default=0.0)


def names_in(text: str, known: Iterable[str] = ()) -> list[Name]:
    """The names of a text in order of position, without overlaps and each once: those that rules
    find by their form, and known ones in any case. Of two that overlap the longer one counts.

    Example:
        >>> names = names_in("did ada lovelace call Grace Hopper?", ["Ada Lovelace"])
        >>> [name.text for name in names]
        ['ada lovelace', 'Grace Hopper']
    """
    found = [
        Name(name.name, name.start, name.end)
        for name in find_names(text)
        if _has_content(name.name)
    ]
    for wanted in known:
        if wanted.strip():
            pattern = rf"(?<!\w){re.escape(wanted.strip())}(?!\w)"
            found += [Name(m[0], *m.span()) for m in re.finditer(pattern, text, re.IGNORECASE)]
    found.sort(key=lambda name: (name.start - name.end, name.start))
    kept: list[Name] = []
    covered = bytearray(len(text))
    for name in found:
        if covered.find(1, name.start, name.end) < 0:
            covered[name.start : name.end] = bytes([1]) * (name.end - name.start)
            kept.append(name)
    once = {name.text.casefold(): name for name in sorted(kept, key=lambda name: -name.start)}
    return sorted(once.values(), key=lambda name: name.start)


def _has_content(name: str) -> bool:
    return any(word.content for word in words_of(name))


# Facet → the index terms of each of its forms, none of which is empty.
FacetForms = Mapping[str, Sequence[frozenset[str]]]

FACETS_MAX: Final = 12


def facets(
    goal: str,
    focus: str,
    known_entities: Sequence[str] = (),
    *,
    idf: Mapping[str, float] | None = None,
) -> list[str]:
    """The names and keywords of goal and focus in lower case, each once; keywords inside of a name
    are left out. At most 12, rarest first, then by position.

    Args:
        goal: what the conversation wants; may be the focus.
        focus: the message that is to be answered.
        known_entities: names in the store; they are found in any case.
        idf: index term → idf over the store; a term that is missing is in no memory. Without it
            longer words count as rarer.

    Example:
        >>> facets("Where does Ada Lovelace hide lanterns?", "and the map?")
        ['ada lovelace', 'lanterns', 'hide', 'map']
    """
    found: dict[str, float] = {}
    for text in dict.fromkeys((goal, focus)):
        names = names_in(text, known_entities)
        starts = [name.start for name in names]
        placed = [(name.start, name.text) for name in names]
        for word in words_of(text):
            before = bisect_right(starts, word.start)
            inside = before > 0 and word.end <= names[before - 1].end
            if word.content and not inside:
                placed.append((word.start, word.text))
        for _, facet in sorted(placed):
            found.setdefault(" ".join(facet.lower().split()), rarity(facet, idf, unknown=inf))
    return sorted(found, key=found.__getitem__, reverse=True)[:FACETS_MAX]


def facet_forms(wanted: Iterable[str], synonyms: Synonyms) -> FacetForms:
    """Facet → the index terms of each of its forms: its own and those of its synonyms.

    Example:
        >>> from vestig.retrieve.query_words import synonyms
        >>> facet_forms(["ml"], synonyms({}))["ml"][0] == frozenset(["ml"])
        True
    """
    return {
        facet: tuple(
            needed for form in (facet, *synonyms.of(facet)) if (needed := frozenset(terms(form)))
        )
        for facet in wanted
    }


def facets_hit(forms: FacetForms, memories: Iterable[Iterable[str]]) -> list[frozenset[str]]:
    """The facets that each memory contains: all words of the facet, or of one of its synonyms, are
    among its words, whatever their endings.

    Args:
        forms: of the facets.
        memories: of each its keywords and the names of the entities that it mentions.

    Example:
        >>> from vestig.retrieve.query_words import synonyms
        >>> forms = facet_forms(["ada lovelace", "engineers", "lantern"], synonyms({}))
        >>> (found,) = facets_hit(forms, [["developer", "hired", "Ada Lovelace"]])
        >>> sorted(found)
        ['ada lovelace', 'engineers']
    """
    needed = frozenset(term for own in forms.values() for form in own for term in form)
    given = [list(texts) for texts in memories]
    every = list(dict.fromkeys(chain.from_iterable(given)))
    # no index term reaches across a space: those of the texts are those of the memory
    held: dict[str, set[str]] = {}
    for at, term in terms_among(needed, every):
        held.setdefault(every[at], set()).add(term)
    holders: dict[str, set[int]] = {term: set() for term in needed}
    for place, texts in enumerate(given):
        for text in [text for text in texts if text in held]:
            for term in held[text]:
                holders[term].add(place)
    found = [set[str]() for _ in given]
    for facet, own in forms.items():
        for form in own:
            for place in set.intersection(*[holders[term] for term in form]):
                found[place].add(facet)
    return [frozenset(facets) for facets in found]


_FILE: Final = Path(__file__).resolve().parent.parent / "data" / "synonyms.txt"
_WORD: Final = lazy_pattern(r"[^\W_]+(?:['’+#-]*[^\W_]+)*")


class Occurrence(NamedTuple):
    """A term of the table in a text: its span in code points, and its synonyms."""

    start: int
    end: int
    others: tuple[str, ...]


class Synonyms:
    """Groups of terms of one word or more; a term may stand in several.

    Example:
        >>> table = Synonyms([("k8s", "kubernetes"), ("ml", "machine learning")])
        >>> table.of("Kubernetes"), table.of("machine learning"), table.of("cat")
        (('k8s',), ('ml',), ())
    """

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        self._others: dict[str, dict[str, None]] = {}
        for group in groups:
            for term in group:
                rest = dict.fromkeys(one for one in group if one != term)
                self._others.setdefault(_key(term), {}).update(rest)
        # first word of a term → words of the longest that begins so
        self._longest: dict[str, int] = {}
        for key in self._others:
            words = key.split()
            self._longest[words[0]] = max(len(words), self._longest.get(words[0], 0))

    def of(self, term: str) -> tuple[str, ...]:
        """The synonyms of a term, in the order of the table; case and plural do not matter."""
        return tuple(self._others.get(_key(term), ()))

    def occurrences(self, text: str) -> Iterator[Occurrence]:
        """The terms of the table that a text holds, in order, the longest at each place.

        Example:
            >>> table = Synonyms([("ml", "machine learning")])
            >>> list(table.occurrences("two machine learning jobs"))
            [Occurrence(start=4, end=20, others=('ml',))]
        """
        words = [
            (match.start(), match.end(), singular(match[0].lower()))
            for match in _WORD.finditer(text)
        ]
        at = 0
        while at < len(words):
            step = 1
            for length in range(min(self._longest.get(words[at][2], 0), len(words) - at), 0, -1):
                part = words[at : at + length]
                others = self._others.get(" ".join(word for _, _, word in part))
                if others:
                    yield Occurrence(part[0][0], part[-1][1], tuple(others))
                    step = length
                    break
            at += step


def _key(term: str) -> str:
    return " ".join(singular(word) for word in term.lower().split())


@cache
def shipped_groups() -> tuple[tuple[str, ...], ...]:
    """The groups that come with the package."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return tuple(
        tuple(term.strip() for term in line.split(","))
        for line in lines
        if line.strip() and not line.startswith("#")
    )


def synonyms(added: Mapping[str, Sequence[str]]) -> Synonyms:
    """The shipped table with further groups.

    Args:
        added: term → its synonyms (`retrieve.synonyms`).

    Example:
        >>> synonyms({"SEV1": ["outage"]}).of("outage")
        ('downtime', 'incident', 'sev1')
    """
    own = tuple((term, *others) for term, others in added.items())
    return _table(tuple(tuple(term.strip().lower() for term in group) for group in own))


@cache
def _table(own: tuple[tuple[str, ...], ...]) -> Synonyms:
    return Synonyms((*shipped_groups(), *own))
