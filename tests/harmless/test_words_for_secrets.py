"""Sentences with words that also name secrets, in which nothing is one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import vestig
from scripted import Opener
from vestig.firewall import masked_text

SENTENCES: Final = Path(__file__).with_name("words_for_secrets.txt").read_text("utf-8").splitlines()
_LEAST: Final = 250


def test_nothing_of_a_harmless_sentence_is_masked() -> None:
    assert len(set(SENTENCES)) >= _LEAST
    assert {text: masked_text(text)[0] for text in SENTENCES if masked_text(text)[1]} == {}


def test_the_outcome_says_what_was_masked_and_the_rest_stays(opener: Opener) -> None:
    store: vestig.Vestig = opener()
    outcome = store.commit("The PIN of the card is 4821, the pass over the mountain is 2106m high")
    assert [(one.rule, one.count, one.places) for one in outcome.masked] == [
        ("pin", 1, ("content[23:27]",))
    ]
    assert outcome.memory_id is not None
    assert store.show(outcome.memory_id).memory.content == (
        "The PIN of the card is [secret:pin], the pass over the mountain is 2106m high"
    )
