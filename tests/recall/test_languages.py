"""A question and a memory in two languages: what a recall says of it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from unicodedata import normalize

import pytest

import documents
import vestig
from tables import each
from vestig.answers import Certainty, RecallResult
from vestig.language.languages import HAN, JAPANESE, differ, language_of
from vestig.recall.layouts import render
from vestig.types import CommitOutcomeKind

FACT = "Mirela hat den Ersatzschlüssel unter dem blauen Blumentopf und nicht im Haus."
QUESTION = "Where does Mirela keep the spare key of the house?"
FOREIGN = ", in another language than the question"
SENTENCE = "Written in German; the question is in English."


@each(
    ("text", "language"),
    [
        ("Where does the client keep his keys?", "English"),
        ("Wer hat den Schlüssel und wo ist er?", "German"),
        ("Le chat dort dans la cuisine avec nous.", "French"),
        ("¿Cómo podemos pagar nuestro alojamiento?", "Spanish"),
        ("Perché non abbiamo la chiave?", "Italian"),
        ("Não temos a chave, está com ele.", "Portuguese"),
        ("Waarom heeft hij de sleutel niet?", "Dutch"),
        ("Jag har inte nyckeln och är hemma.", "Swedish"),
        ("Gdzie jest klucz i kto go ma?", "Polish"),
        ("Ключ под ковриком дома", "Cyrillic"),
        ("Πού είναι το κλειδί", "Greek"),
        ("أين المفتاح", "Arabic"),
        ("איפה המפתח", "Hebrew"),
        ("चाबी कहाँ है", "Devanagari"),
        ("กุญแจอยู่ที่ไหน", "Thai"),
        ("열쇠는 어디에 있습니까", "Korean"),
        ("鍵はマットの下です", JAPANESE),
        ("备用钥匙在花盆下面", HAN),
    ],
)
def test_a_language_is_known_by_its_letters_or_function_words(text: str, language: str) -> None:
    assert language_of(text) == language


@each(
    "text",
    [
        "",
        "4471 😀",
        "gate code 4471",
        "Die Hard",
        "Los Angeles and El Paso",
        "Ludwig van Beethoven",
        "for x in range(3): if x not in y and z is None",
        "SELECT * FROM users WHERE id IN (1) AND name IS NOT NULL",
        "/usr/the/what.py the_are_of",
        "What does 'wer ist das und wo' mean?",
        "Привет the key is under the mat at home",
        "鍵を東京都渋谷区神宮前一丁目本社受付",
    ],
)
def test_what_is_not_certain_is_of_no_language(text: str) -> None:
    assert language_of(text) is None


def test_of_a_long_text_both_ends_are_read() -> None:
    english = "The keys are with the neighbour, who has them because of the cat. "
    german = "Die Schlüssel sind beim Nachbarn, und wir haben keine, weil er sie hat. "
    assert language_of(english * 20) == "English"
    assert language_of(english * 20 + german * 20) is None


def test_no_word_is_of_two_languages() -> None:
    file = documents.ROOT / "python/vestig/data/function_words.json"
    words = [word for listed in json.loads(file.read_text("utf-8")).values() for word in listed]
    assert len(words) == len(set(words))
    assert all(word == word.lower() and len(word) > 1 for word in words)


def test_japanese_may_have_no_kana() -> None:
    assert not differ(JAPANESE, HAN)
    assert differ(JAPANESE, "Korean")
    assert not differ(None, "English")


@pytest.fixture
def found() -> RecallResult:
    with vestig.open(":memory:") as store:
        store.commit(FACT)
        return store.recall(QUESTION)


def test_a_hit_in_another_language_is_flagged(found: RecallResult) -> None:
    reason = found[0].reason
    assert reason.flags == ("other_language",)
    assert reason.explanation.endswith(SENTENCE)


def test_the_first_line_says_so_where_the_first_hit_is(found: RecallResult) -> None:
    for layout in ("text", "compact", "explain", "list"):
        assert FOREIGN in render(found, layout).split("\n")[0]


NOTES = (
    "The deposit for a bicycle is 200 euros.",
    "The bike wash is behind the shop.",
    "The vending machine takes coins only.",
    "The summer party is on the roof.",
)


@each(
    "question",
    [
        "Who painted the ceiling of the Sistine Chapel?",
        "What is the boiling point of mercury?",
        "Which moon of Saturn has lakes?",
    ],
)
def test_a_memory_in_another_language_does_not_end_silence(question: str) -> None:
    with vestig.open(":memory:") as store:
        for text in (*NOTES, FACT):
            store.commit(text)
        found = store.recall(question)
    assert found.abstained
    assert not list(found)


def test_what_the_judge_cannot_read_comes_alone_where_the_rest_does_not_answer() -> None:
    with vestig.open(":memory:") as store:
        for text in (*NOTES, FACT):
            store.commit(text)
        found = store.recall(QUESTION)
        every = store.recall(QUESTION, all=True)
    assert [hit.content for hit in found] == [FACT]
    assert len(every) > 1
    assert found.counts.cut == len(every) - 1


def test_what_the_judge_cannot_read_stays_beside_an_answer_if_it_has_a_word() -> None:
    answer = "Mirela keeps the spare key of the house in the shed."
    with vestig.open(":memory:") as store:
        for text in (*NOTES, FACT, answer):
            store.commit(text)
        found = store.recall(QUESTION)
    assert [hit.content for hit in found] == [answer, FACT]


@each("question", ["¿Cuál es el SLA?", "Welches SLA haben wir?"])
def test_a_short_name_in_capitals_is_one_in_every_language(question: str) -> None:
    with vestig.open(":memory:") as store:
        for text in (*NOTES, "The SLA is 99.9 percent."):
            store.commit(text)
        found = store.recall(question)
    assert found[0].content == "The SLA is 99.9 percent."


FRENCH = "Les clés sont chez Hélène."
JAPANESE_NOTE = "鍵は佐藤さんが持っています。"


@each("other", [FRENCH, JAPANESE_NOTE])
@each(
    ("note", "question"),
    [
        ("Die Sauna kostet 10 €.", "Was kostet die Sauna?"),
        ("Maria lives in Lisbon.", "who is Maria's dentist?"),
        ("Soren Kjaer works nights.", "What is the birthday of Soren Kjaer?"),
        ("The sauna was painted in May.", "Who owns the sauna?"),
    ],
)
def test_a_memory_of_a_third_language_changes_nothing(note: str, question: str, other: str) -> None:
    with vestig.open(":memory:") as store:
        for text in (*NOTES, note):
            store.commit(text)
        before = [hit.content for hit in store.recall(question)]
        store.commit(other)
        for silence in (None, 0.05):
            found = store.recall(question, silence=silence)
            assert [hit.content for hit in found] == before
            assert found.abstained
        assert other in [hit.content for hit in store.recall(question, all=True)]


@each(
    ("fact", "question"),
    [
        (FACT, QUESTION),
        ("La facture F-2026-0098 est dans le tiroir avec les autres.", "invoice F-2026-0098?"),
        ("Im Zimmer 1101 wohnt jetzt eine Familie, die nicht raucht.", "Who is in room 1101?"),
        ("Цена машины Nissan теперь два миллиона.", "What is the price of the Nissan?"),
        ("Ada Byron habite chez nous, sous les toits.", "Где живёт Ada Byron?"),
    ],
)
def test_a_shared_name_or_number_finds_a_memory_in_another_language(
    fact: str, question: str
) -> None:
    with vestig.open(":memory:") as store:
        for text in (*NOTES, FRENCH, JAPANESE_NOTE, fact):
            store.commit(text)
        found = store.recall(question)
    assert found[0].content == fact
    assert found.certainty is not Certainty.LIKELY


@each(
    ("stored", "question", "brought"),
    [
        ((FRENCH, JAPANESE_NOTE), "Wer hat die Glühbirne erfunden?", False),
        ((FRENCH, JAPANESE_NOTE), "Кто зубной врач Татьяны?", False),
        ((FACT, FRENCH), "妹の靴のサイズはいくつですか", False),
        ((FRENCH, "Ключ под ковриком."), "Какой размер обуви брата?", True),
        ((FRENCH, FACT), "Wer hat den Schlüssel und wo ist er?", True),
    ],
)
def test_a_question_brings_what_may_be_in_its_language(
    stored: tuple[str, str], question: str, brought: bool
) -> None:
    with vestig.open(":memory:") as store:
        for text in stored:
            store.commit(text)
        found = store.recall(question)
    assert [hit.content for hit in found] == ([stored[1]] if brought else [])
    assert found.abstained is not brought


def test_a_confidence_that_is_not_learned_is_called_doubtful_at_best() -> None:
    with vestig.open(":memory:") as store:
        store.commit("Ключ от гаража под ковриком.")
        found = store.recall("Где ключ от гаража?")
    assert found.confidence is not None
    assert found.confidence > 0.5
    assert found.certainty is Certainty.DOUBTFUL
    assert render(found).startswith(f"doubtful (confidence {found.confidence:.2f})")


def test_a_promised_silence_takes_no_word_for_an_answer() -> None:
    with vestig.open(":memory:") as store:
        for text in (*NOTES, FACT):
            store.commit(text)
        assert store.recall(QUESTION, silence=0.02).abstained


def test_abstention_says_so_too() -> None:
    with vestig.open(":memory:") as store:
        store.commit(FACT)
        first = render(store.recall(QUESTION, silence=0.02)).split("\n")[0]
    assert first.startswith(("doubtful (confidence 0.", "nothing close (confidence 0."))
    assert first.endswith(f"; nearest{FOREIGN}:")


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        (FACT, "Wo hat Mirela den Schlüssel, und wer kennt ihn?"),
        ("The spare key is under the pot that they painted.", QUESTION),
        (FACT, "spare key"),
        ("Schlüssel: Blumentopf", QUESTION),
    ],
)
def test_nothing_is_said_where_the_languages_are_one_or_unknown(fact: str, question: str) -> None:
    with vestig.open(":memory:") as store:
        store.commit(fact)
        result = store.recall(question, all=True)
        assert result[0].reason.flags == ()
        assert "Written in" not in str(result[0].reason.explanation)
        assert FOREIGN not in render(result)


@pytest.mark.parametrize("layout", ["text", "explain"])
def test_what_says_so_is_an_echo_when_it_comes_back(layout: str) -> None:
    with vestig.open(":memory:") as store:
        store.commit(FACT)
        text = render(store.recall(QUESTION), layout, explained=True)
        assert SENTENCE in text
        assert store.commit(text).outcome is CommitOutcomeKind.EXACT_DUPE


@pytest.mark.parametrize("name", ["locomo_dev", "locomo_notes_dev"])
def test_no_english_text_is_of_another_language(labelled_data: Path, name: str) -> None:
    for part in ("corpus", "queries"):
        path = labelled_data / name / f"{part}.jsonl.gz"
        rows = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
        languages = {language_of(row["text"]) for row in rows}
        assert languages == {None, "English"}


def test_a_confidence_of_a_query_in_another_language_than_english_says_so() -> None:
    told = "the confidence is learned on English; the query is in {}"
    with vestig.open(":memory:") as store:
        store.commit(FACT)
        for query, warnings in {
            "Wo ist der Schlüssel und wer hat ihn?": (told.format("German"),),
            "Где лежит ключ?": (told.format("Cyrillic"),),
            "Where is the key of the house?": (),
            "Ersatzschlüssel": (),
        }.items():
            assert store.recall(query).warnings == warnings, query


def test_a_question_is_read_in_the_unicode_form_of_the_texts() -> None:
    with vestig.open(":memory:") as store:
        store.commit("ハハの電話番号は2222です。")
        store.commit("パパの電話番号は1111です。")
        store.commit("Der Beitrag beträgt 96 Euro für Einzelmitglieder.")
        store.commit("Der Beitrag beträgt 120 Euro für Familien.")
        for query in ("パパの電話番号は?", "Wie hoch ist der Beitrag für Familien?"):
            asked = normalize("NFD", query)
            assert asked != query
            one, other = store.recall(query), store.recall(asked)
            assert other.missing == one.missing
            assert [hit.score for hit in other] == [hit.score for hit in one]
            for found in (other, store.search(asked), store.recall_many([asked])[0]):
                assert [hit.content for hit in found] == [hit.content for hit in one]
            said = [{"author": "Ada", "content": text} for text in (query, asked)]
            facts = [store.retrieve([one]).facts for one in said]
            assert facts[0] == facts[1] != ()


@each(
    ("text", "query"),
    [
        ("Die Straße ist gesperrt.", "STRASSE"),
        ("Die Strasse ist gesperrt.", "Straße"),
        ("Der Ordner heißt ＰＲＯＢＥＮ２.", "Proben2"),  # noqa: RUF001
        ("Der Ordner heißt Proben2.", "ｐｒｏｂｅｎ２"),  # noqa: RUF001
    ],
)
def test_shapes_of_a_letter_are_one_word(text: str, query: str) -> None:
    with vestig.open(":memory:") as store:
        id = store.commit(text).memory_id
        store.commit("Das Klavier wird morgen gestimmt.")
        found = store.recall(query, all=True)
        assert found.missing == ()
        assert found[0].id == id
        assert found[0].content == text


@each(
    ("texts", "query"),
    [
        (("Room ５０８ has a balcony.", "Room ５０９ has a sauna."), "What does room 509 have?"),  # noqa: RUF001
        (("Room 508 has a balcony.", "Room ５０９ has a sauna."), "What does room ５０９ have?"),  # noqa: RUF001
        (("الغرفة ١١٠١ للسيد خالد.", "الغرفة ١١٠٢ للسيد عمر."), "لمن الغرفة 1102؟"),  # noqa: RUF001
    ],
)
def test_a_number_is_one_in_the_digits_of_any_script(texts: tuple[str, str], query: str) -> None:
    with vestig.open(":memory:") as store:
        for text in texts:
            store.commit(text)
        found = store.recall(query)
    assert texts[1] in [hit.content for hit in found]
    assert not found.abstained


def test_what_is_called_otherwise_leaves_no_likely_result_without_a_hit() -> None:
    with vestig.open(":memory:") as store:
        store.commit("الغرفة ١١٠١ للسيد خالد.")  # noqa: RUF001
        found = store.recall("لمن الغرفة ١١٠٢؟")
    assert not list(found)
    assert found.abstained
    assert found.certainty is Certainty.NOTHING_CLOSE
