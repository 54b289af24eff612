"""What a reason names first, computed again from the traces of two results."""

from __future__ import annotations

from typing import Any

import pytest

from scripted import Opener
from vestig.config.signals import SIGNALS
from vestig.language.content_words import frame_words
from vestig.language.stopwords import STOPWORDS
from vestig.recall.deciding_term import TERM_NAMES

TEXTS = (
    "The boiler pump failed on the night of the storm",
    "A brass gasket was ordered from the works in Oslo",
    "Maria prefers short answers with a code example",
    "The release train of the billing team leaves on Tuesday",
    "Rent of the flat in Bergen is due on the first",
    "The pump of the garden pond was repaired in March",
)


def shares(reason: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, one in reason["signals"].items():
        signal = name.partition(".")[0]
        term = signal if signal in ("late", "context") else name
        if name != "bias":
            found[term] = found.get(term, 0.0) + one["weight"] * one["normalised"]
    return found


@pytest.mark.parametrize("query", ["why did the pump fail?", "what is due?", "who ordered brass?"])
def test_the_term_with_the_greatest_lead_is_named(opener: Opener, query: str) -> None:
    store = opener()
    for text in TEXTS:
        store.commit(text)
    reasons = [hit.to_dict(explain=True)["reason"] for hit in store.recall(query, limit=len(TEXTS))]
    for own, following in zip(reasons, [*reasons[1:], None], strict=True):
        ours, theirs = shares(own), {} if following is None else shares(following)
        leads = {term: ours.get(term, 0) - theirs.get(term, 0) for term in {*ours, *theirs}}
        if max(leads.values()) <= 0:
            assert not own["explanation"].startswith("Mostly by ")
            continue
        best = {TERM_NAMES.get(t) or TERM_NAMES[t.partition(".")[0]]
                for t, lead in leads.items() if lead >= max(leads.values()) - 1e-12}  # fmt: skip
        first = own["explanation"].removeprefix("Mostly by ").partition(".")[0].partition(":")[0]
        assert first in best
    # the last one shown is compared with the next, which is not shown
    (alone,) = store.recall(query, limit=1)
    assert alone.reason.explanation == reasons[0]["explanation"]


def test_every_term_has_words() -> None:
    assert {name.partition(".")[0] for name in SIGNALS} <= set(TERM_NAMES)


def test_no_function_word_is_named_as_a_match(opener: Opener) -> None:
    store = opener()
    for text in TEXTS:
        store.commit(text)
    functional = sorted(STOPWORDS | frame_words())
    for n in range(0, len(functional) - 4, 12):
        query = " ".join([*functional[n : n + 4], "pump"])
        for hit in store.recall(query, limit=3):
            for name, signal in hit.to_dict(explain=True)["reason"]["signals"].items():
                if "matched" in signal and name in ("keyword", "lexical", "topic_lexical"):
                    assert set(signal["matched"]) <= {"pump"}
            for word in functional[n : n + 4]:
                clauses = str(hit.reason.explanation).split(". ")
                named = [one for one in clauses if one.startswith(("Mostly", "Keywords"))]
                matches = [one.partition(":")[2].split(", ") for one in named]
                assert all(word not in (m.strip(" .") for m in some) for some in matches)
