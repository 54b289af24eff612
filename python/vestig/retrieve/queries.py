"""Search queries from the end of a conversation by rules: pure and repeatable, without a model.

Of the words of a text: which carry a topic, when two queries are the same, how rare a word is,
which names a text holds, the facets of a request, the synonyms of terms. Each source makes
candidates from the messages, best first: names, runs of words, rare words, synonyms, the question,
the goal. The sources then take turns, so that the queries of a round look at the message from every
side; what was tried before is left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain, pairwise, zip_longest
from math import ceil, inf
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from vestig.arguments import count_argument
from vestig.language.names import find_names
from vestig.language.text_forms import word_list
from vestig.language.words import (
    STOPWORDS,
    asking_words,
    frame_words,
    terms,
    terms_among,
    tokens,
)
from vestig.lazy_pattern import lazy_pattern
from vestig.retrieve.values import PlannedQuery, QuerySource

# Verbs of speaking and asking, in every form, and words that only frame a request: beside those
# that recall leaves out of what a query is about.
_CONVERSATION: Final = frozenset(
    word_list(
        "mention mentions mentioned mentioning say says said saying tells told telling ask asks"
        " asked asking bring brings brought bringing list lists listed listing reminds reminded"
        " reminding remembers remembered recall recalls recalled talk talks talked talking speak"
        " speaks spoke spoken discuss discusses discussed discussing describe describes described"
        " explain explains explained summarize summarise knows knew known think thinks thought hi"
        " hello hey okay ok yes yeah sure got get gets getting give gives gave given kinds types"
        " sorts regarding concerning"
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


@cache
def _without_topic() -> frozenset[str]:
    return STOPWORDS | frame_words() | asking_words() | _CONVERSATION


def _carries_topic(word: str, length: int, identifier: bool) -> bool:
    if identifier:
        # "and/or" has the form of an identifier and is none
        if _without_topic().issuperset(_PART.findall(word)):
            return False
    elif word in _without_topic():
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
        >>> from vestig.retrieve.queries import synonyms
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
        >>> from vestig.retrieve.queries import synonyms
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


# More queries than this are never made, whatever is asked for.
QUERIES_MAX: Final = 20
_LENGTH_MIN: Final = 10
# source → its places among twelve queries, in the order in which sources take turns
_QUOTAS: Final[dict[QuerySource, int]] = {
    "entity": 4,
    "phrase": 4,
    "keyword": 2,
    "synonym": 3,
    "question": 1,
    "goal": 1,
}
_QUOTA_OF: Final = 12
_PHRASE_WORDS: Final = (4, 3, 2)
_KEYWORD_CHARS_MIN: Final = 3
# Iterations from which material beyond the focus is read.
_RECENT_FROM: Final = 2
_FACTS_FROM: Final = 2
_SENTENCE: Final = lazy_pattern(r"[^.!?\n]+[.!?]*")
# A phrase does not reach across these.
_BREAK: Final = lazy_pattern(r"[.,;:!?()\[\]{}\"“”«»|\n]")
# The end of a message holds what it asks for, the beginning of a fact what it states.
_FOCUS_CHARS: Final = 2_000
_RECENT_CHARS: Final = 1_000
_FACT_CHARS: Final = 500
_OUTER: Final = " \t\n\r.,;:!?…'\"“”„«»‹›()[]{}<>*_~|/\\-–—`"  # noqa: RUF001

Candidates = dict[QuerySource, list[str]]


class _Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings with which every message of a call is read."""

    known_entities: tuple[str, ...]
    idf: Mapping[str, float] | None
    synonyms: Synonyms


def fallback_queries(
    focus: str,
    recent: Sequence[str] = (),
    goal: str | None = None,
    tried: Mapping[str, int] | None = None,
    iteration: int = 1,
    known_entities: Sequence[str] = (),
    *,
    facts: Sequence[str] = (),
    idf: Mapping[str, float] | None = None,
    context_changed: bool = False,
    max_queries: int = 12,
    max_length: int = 120,
    synonym_table: Synonyms | None = None,
) -> list[PlannedQuery]:
    """Queries for one round of a search, at most 20; [] where neither focus nor goal has a word.

    Args:
        focus: the message that is to be answered; its last 2,000 characters are read.
        recent: the messages before it, oldest first; of each the last 1,000 characters. Names in
            them count from the first round, other words of them from the second.
        goal: what the conversation wants, where it is not the focus.
        tried: query → number of results. One that found something is not made again.
        iteration: number of the round, from 1.
        known_entities: names in the store; they are found in messages in any case.
        facts: texts of what was found so far; of each the first 500 characters. Their names and
            rare words count from the third round.
        idf: index term → idf over the store; a term that is missing is in no memory and comes
            last. Without it longer words count as rarer.
        context_changed: a message or a name arrived since the last round: queries that found
            nothing may be made again.
        max_queries: at least 1; 20 is the most that counts.
        max_length: of a query in code points, at least 10.
        synonym_table: None = the one that comes with the package.

    Raises:
        ValidationError: a count that is too small.

    Example:
        >>> found = fallback_queries("Where does she live?", ["I met Grace Hopper."])
        >>> [(query.source, query.text) for query in found]
        [('entity', 'Grace Hopper'), ('keyword', 'live'), ('entity', 'Grace Hopper live')]
    """
    most = min(count_argument("max_queries", max_queries), QUERIES_MAX)
    length = count_argument("max_length", max_length, least=_LENGTH_MIN)
    count_argument("iteration", iteration)
    if not focus.strip() and not (goal or "").strip():
        return []
    settings = _Settings(
        known_entities=tuple(known_entities),
        idf=idf,
        synonyms=synonyms({}) if synonym_table is None else synonym_table,
    )
    made = _candidates(focus, recent, goal, iteration, facts, settings)
    seen = {
        query_key(text)
        for text, results in (tried or {}).items()
        if results > 0 or not context_changed
    }
    return _in_turns(made, seen, most, length)


def _candidates(
    focus: str,
    recent: Sequence[str],
    goal: str | None,
    iteration: int,
    facts: Sequence[str],
    settings: _Settings,
) -> Candidates:
    """Candidates of each source, in the order in which the sources take turns."""
    latest_first = [text for text in reversed(recent) if text.strip()]
    own = _Text((focus if focus.strip() else goal or "")[-_FOCUS_CHARS:], settings)
    others = [_Text(text[-_RECENT_CHARS:], settings) for text in latest_first]
    read = others if iteration >= _RECENT_FROM else []
    found = (
        [_Text(text[:_FACT_CHARS], settings) for text in facts] if iteration >= _FACTS_FROM else []
    )
    made: Candidates = {
        "entity": list(chain(own.entities(own), *(one.entities(own) for one in (*others, *found)))),
        # what was just said before the focus comes before what is left of the focus
        "phrase": _alternating([one.phrases() for one in (*read, own)]),
        "keyword": [
            *_alternating([one.keywords() for one in (*read, own)]),
            *_alternating([one.rare_words() for one in found]),
        ],
        "synonym": _alternating([one.synonyms() for one in (own, *read)]),
        "question": list(chain(*(one.questions() for one in (own, *read)))),
        "goal": [] if goal is None or query_key(goal) == query_key(focus) else [goal],
    }
    if iteration < _RECENT_FROM:
        return made
    return {"synonym": made["synonym"], **made}


def _alternating(lists: Sequence[Sequence[str]]) -> list[str]:
    """One text of each list in turn.

    Example:
        >>> _alternating([["a", "b", "c"], ["x"]])
        ['a', 'x', 'b', 'c']
    """
    return [text for row in zip_longest(*lists) for text in row if text is not None]


def _in_turns(
    made: Candidates, seen: set[frozenset[str]], most: int, length: int
) -> list[PlannedQuery]:
    """One query of each source in turn until its quota is met; what is left of the places then
    goes to sources that have more."""
    chosen: list[PlannedQuery] = []
    left = {source: iter(texts) for source, texts in made.items()}
    quotas = {name: ceil(places * most / _QUOTA_OF) for name, places in _QUOTAS.items()}
    for limit in (quotas, dict.fromkeys(quotas, most)):
        counts = dict.fromkeys(quotas, 0)
        open_sources = list(made)
        while open_sources and len(chosen) < most:
            for source in list(open_sources):
                text = None
                if counts[source] < limit[source] and len(chosen) < most:
                    text = _next_new(left[source], seen, length)
                if text is None:
                    open_sources.remove(source)
                    continue
                counts[source] += 1
                chosen.append(PlannedQuery(text=text, source=source))
    return chosen


def _next_new(texts: Iterator[str], seen: set[frozenset[str]], length: int) -> str | None:
    """The next candidate, cleaned, whose words no query has; None at the end."""
    for text in texts:
        cleaned = cut_query(" ".join(text.split()).strip(_OUTER), length)
        key = query_key(cleaned)
        if key and key not in seen:
            seen.add(key)
            return cleaned
    return None


def cut_query(text: str, length: int) -> str:
    """The text up to a length, at the end of a word; a single longer word is cut inside.

    Example:
        >>> cut_query("a long enough query", 12), cut_query("unbreakable", 5)
        ('a long', 'unbre')
    """
    if len(text) <= length:
        return text
    whole, space, _ = text[: length + 1].rpartition(" ")
    return (whole if space else text[:length]).strip(_OUTER)


class _Text:
    """A message as material of queries."""

    def __init__(self, text: str, settings: _Settings) -> None:
        self.text = text
        self._synonyms = settings.synonyms
        self._words = words_of(text)
        self._names = names_in(text, settings.known_entities)
        content = {word.text for word in self._words if word.content}
        # words cannot find what no memory has: such a word is asked for last
        self._rarity = {word: rarity(word, settings.idf, unknown=0.0) for word in content}

    def entities(self, focus: _Text) -> Iterator[str]:
        """Names, each alone and with the rarest words of the focus, rarest first."""
        rare = focus.rare_words()
        for name in self._names:
            yield name.text
            yield from (f"{name.text} {word}" for word in rare[:1])
        for name in self._names:
            yield from (f"{name.text} {word}" for word in rare[1:])

    def rare_words(self) -> list[str]:
        """Words of three letters and more outside of names, rarest first, then by position."""
        return self._rare

    @cached_property
    def _rare(self) -> list[str]:
        found = dict.fromkeys(
            word.text
            for word in self._words
            if word.content
            and word.end - word.start >= _KEYWORD_CHARS_MIN
            and not _inside(word, self._names)
        )
        return sorted(found, key=self._rarity.__getitem__, reverse=True)

    def phrases(self) -> list[str]:
        """Runs of two to four words of a clause that begin and end with a content word and have at
        least as many of them as others; longer first, then those with rarer words."""
        return [self.text[start:end] for start, end in self._runs]

    @cached_property
    def _runs(self) -> list[tuple[int, int]]:
        found: list[tuple[int, float, int, int]] = []
        for clause in _clauses(self.text, self._words):
            weights = [self._rarity[word.text] if word.content else 0.0 for word in clause]
            for size in _PHRASE_WORDS:
                for at in range(len(clause) - size + 1):
                    if not (clause[at].content and clause[at + size - 1].content):
                        continue
                    run = clause[at : at + size]
                    if 2 * sum(word.content for word in run) >= size:
                        weight = sum(weights[at : at + size])
                        found.append((-size, -weight, run[0].start, run[-1].end))
        return [(start, end) for *_, start, end in sorted(found)]

    def keywords(self) -> list[str]:
        """The rarest words, each followed by a pair of adjacent ones as long as there are some."""
        singles = self.rare_words()
        content = [word.text for word in self._words if word.content]
        adjacent = dict.fromkeys(pairwise(content))
        pairs = [
            f"{first} {second}"
            for first, second in sorted(
                adjacent, key=lambda two: max(map(self._rarity.__getitem__, two)), reverse=True
            )
        ]
        found: list[str] = []
        for at in range(max(len(singles), len(pairs))):
            found += singles[at : at + 1] + pairs[at : at + 1]
        return found

    def synonyms(self) -> list[str]:
        """Phrases and words with one term replaced; the first synonym of every term first."""
        alone = {word.text: (word.start, word.end) for word in reversed(self._words)}
        bases = [*self._runs, *(alone[word] for word in self.rare_words())]
        found: list[tuple[int, int, str]] = []
        for term in self._synonyms.occurrences(self.text):
            for order, (start, end) in enumerate(bases):
                if start <= term.start and term.end <= end:
                    before, after = self.text[start : term.start], self.text[term.end : end]
                    found += [
                        (place, order, f"{before}{other}{after}")
                        for place, other in enumerate(term.others)
                    ]
        return [text for *_, text in sorted(found)]

    def questions(self) -> Iterator[str]:
        """Questions without the words that make them one, the last first."""
        for match in reversed(list(_SENTENCE.finditer(self.text))):
            if match[0].endswith("?"):
                words = [word for word in self._words if match.start() <= word.start < match.end()]
                first = next((word for word in words if word.content), None)
                if first is not None:
                    yield self.text[first.start : match.end()]


def _inside(word: Word, names: Sequence[Name]) -> bool:
    return any(name.start <= word.start and word.end <= name.end for name in names)


def _clauses(text: str, words: Sequence[Word]) -> Iterator[list[Word]]:
    """The words of a text between marks that a phrase does not reach across."""
    clause: list[Word] = []
    for word in words:
        if clause and _BREAK.search(text, clause[-1].end, word.start):
            yield clause
            clause = []
        # bigrams of scripts without spaces overlap: a phrase is made of whole words
        if not clause or clause[-1].end <= word.start:
            clause.append(word)
    if clause:
        yield clause
