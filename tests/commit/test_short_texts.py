"""Short texts: what says enough is kept, and turns are refused for noise alone."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from calls import committing
from tables import each
from vestig.commit.text import is_too_short
from vestig.types import CommitOutcomeKind as Kind

KEPT = [
    *("I'm 34.", "Call me Al.", "no nuts", "PIN: 4711", "我对花生过敏。", "東京に住んでいます"),
    *("sin gluten", "kein Fisch", "pas d'ail", "senza pepe", "bez mleka", "geen kaas"),
    *("нет рыбы", "без соли", "لا ثوم", "בלי גבינה", "inte katter", "değil tuzlu", "δεν πίνω"),
    *("I'm bald", "We have twins", "I drink tea", "soy zurdo", "ich bin blind", "я ем рыбу"),
    *("我怕狗", "不吃鱼", "แพ้กุ้ง", "je suis noir"),
    *("Bob is ill.", "Bo is deaf.", "Likes jazz", "likes tea.", "Mars is red", "Ana moved on"),
    *("Tess swims.", "I like figs", "buy milk", "Hund bellt", "Cats purr", "Leo dort"),
    *("Anna is out", "DB is down", "Tess is in.", "VPN was off"),
    *("has a dog", "Ed eats eel", "He has gout"),
    *("저는 채식주의자예요", "I can’t swim", "don't call", 'say "hi"', "room B12", "eggs? never"),
]
TOO_SHORT = [
    *("ok", "good point", "thanks!", "東京", "하하", "Good one.", "so true", "34", "nothing"),
    *("Well. Fine", "ok, k", "- -", "is it?", "I'm fine", "I see", "we are", "me too", "I do so"),
    *("it is so", "that is odd", "it is fine", "life is ok", "was it?", "it has", "what is up"),
    *("it is off", "he was out", "that is on"),
    *("nice job", "nice work", "Cool thanks", "good night", "hi there", "danke gut"),
    *("tak skal du", "ja genau", "好的", "merci bien"),
]


@pytest.mark.parametrize("text", KEPT)
def test_a_short_note_that_says_something_is_kept(store: vestig.Vestig, text: str) -> None:
    outcome = store.commit(text)
    assert (outcome.outcome, outcome.hygiene_reasons) == (Kind.INSERTED_NEW, ())
    assert [memory.content for memory in store.list()] == [text]


@each("text", TOO_SHORT)
def test_a_short_note_that_says_nothing_is_refused(store: vestig.Vestig, text: str) -> None:
    outcome = store.commit(text)
    assert outcome.outcome is Kind.REJECTED_HYGIENE
    why = f"Content too short: {len(text)} chars (minimum: 12, or two words that say something)"
    assert outcome.hygiene_reasons == (why,)
    assert store.count() == 0


@pytest.mark.parametrize("fields", [{"session_id": "s"}, {"role": "user"}])
def test_a_turn_is_refused_for_noise_alone(store: vestig.Vestig, fields: dict[str, Any]) -> None:
    for place, text in enumerate(("yes", "东京", "k 1", "good point", "thanks!", "?!1")):
        outcome = store.commit(text, sequence=place, **committing(fields))
        assert outcome.outcome is Kind.INSERTED_NEW, text
    for text in ("ok", "OK", "...", "lol", "", "  "):
        assert store.commit(text, **committing(fields)).outcome is Kind.REJECTED_HYGIENE, text


def test_the_minimum_is_the_caller_s() -> None:
    assert [is_too_short("東京都", chars) for chars in (3, 9, 10)] == [False, False, True]
    assert [is_too_short("good point", chars) for chars in (10, 11)] == [False, True]
    assert [is_too_short("I'm 34.", chars) for chars in (8, 4000)] == [False, False]
