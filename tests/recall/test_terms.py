"""The terms of scores: one table in the core, from which groups, weights and sentences follow."""

from __future__ import annotations

from string import Formatter

import pytest

from vestig import _core, echoes
from vestig.config.weights import METADATA, SIGNALS, TABLE, TERMS, Term
from vestig.recall.reason import GROUPS


def test_every_term_is_in_one_group_and_has_a_meaning_of_its_own() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(TABLE)
    assert list(TABLE) == ["bias", *SIGNALS, "semantic", *METADATA]
    assert list(TERMS) == ["bias", *_core.SIGNALS]
    assert len(set(TERMS.values())) == len(TERMS)


@pytest.mark.parametrize("term", TABLE.values(), ids=list(TABLE))
def test_a_sentence_of_a_term_is_known_where_it_comes_back_as_a_text(term: Term) -> None:
    for sentence in term.sentences:
        names = {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}
        assert names <= set(echoes._VALUES), sentence
        assert sentence.format_map(dict.fromkeys(names, "x")).endswith((".", '"')), sentence
