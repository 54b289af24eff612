"""Facets of a question: what an answer should speak about, and which texts do."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import inf
from typing import Final

from vestig.language.words import terms, terms_among
from vestig.retrieve.query_words import names_in, rarity, words_of
from vestig.retrieve.synonyms import Synonyms

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
        >>> from vestig.retrieve.synonyms import synonyms
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
        >>> from vestig.retrieve.synonyms import synonyms
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
