"""Follow-ups and messages that stand by themselves."""

from __future__ import annotations

import json
from pathlib import Path

from tables import each
from vestig.language.follow_ups import Turn, only_goes_on, question_of, says_nothing

BIRTHDAY = ("When is Max's birthday?", "Max's birthday is on 3 May.")
GARDEN = ("Who looks after the garden?", "Juno Ferreira looks after it.")
KAYAK = ("I used the kayak today.", "Nice!")
LENA = ("Wo wohnt Lena?", "Lena wohnt seit Mai in Freiburg.")
WEDDING = ("The wedding is on 12 June at the old mill in Harwell. " * 20, "Noted.")


def asked(before: tuple[str, str], *texts: str) -> str:
    turns = [Turn(before[0]), Turn(before[1], assistant=True), *map(Turn, texts)]
    return question_of(turns).text


@each(
    ("before", "text", "expected"),
    [
        (BIRTHDAY, "and Juno's?", "When is Juno's birthday?"),
        (BIRTHDAY, "what about Juno?", "When is Juno's birthday?"),
        (GARDEN, "and where does she live?", "Juno Ferreira: and where does she live?"),
        (KAYAK, "How much was it?", "How much was it? I used the kayak today."),
        (KAYAK, "how much?", "how much? I used the kayak today."),
        (KAYAK, "since when?", "since when? I used the kayak today."),
        (KAYAK, "By whom?", "By whom? I used the kayak today."),
        (GARDEN, "Whose friend is she?", "Juno Ferreira: Whose friend is she?"),
        (GARDEN, "which teacher did she like?", "Juno Ferreira: which teacher did she like?"),
        (BIRTHDAY, "Thanks! And Juno's?", "When is Juno's birthday?"),
        (BIRTHDAY, "Ok, great. Thank you! what about Juno?", "When is Juno's birthday?"),
        (BIRTHDAY, "No, I meant Juno's.", "When is Juno's birthday?"),
        (BIRTHDAY, "sorry, I meant Juno", "When is Juno's birthday?"),
        (LENA, "Nein, ich meinte Jonas.", "Wo wohnt Jonas?"),
        (LENA, "und Jonas?", "Wo wohnt Jonas?"),
        (LENA, "Und seit wann wohnt sie dort?", "Und seit wann wohnt sie dort? Wo wohnt Lena?"),
        (
            ("Où habite Anne ?", "Anne habite à Lyon."),
            "et depuis quand ?",
            "et depuis quand ? Où habite Anne ?",
        ),
        (
            ("¿Cuánto costó el barco?", "El barco costó 900 euros."),
            "¿y dónde está?",
            "¿y dónde está? ¿Cuánto costó el barco?",
        ),
    ],
)
def test_a_follow_up_takes_what_it_leans_on(
    before: tuple[str, str], text: str, expected: str
) -> None:
    found = asked(before, text)
    assert found == expected or found.startswith(f"{expected} "), found


@each(
    "text",
    [
        "what's the capital of Peru?",
        "And where is the wifi password of the cabin?",
        "Did Aksel buy the boat, and when did he pay for it?",
        "When did Nora sell her boat?",
        "Does the gateway restart when it fails?",
        "when do deploys run and what do they wait for",
        "What time is it in Oslo?",
        "Is there a key to the shed?",
        "Who left their coat in the hall?",
        "Thanks! Where is the wifi password of the cabin?",
        "Yeah, sure. Having it in writing reminds me of the cabin.",
        "I meant to ask about the pump",
        "I mean the boiler is broken",
        "No, I meant that the pump of Juno Ferreira leaks",
        "When Mum comes can she bring the boat?",
        "Which doctor said he was ill?",
        "write a haiku about rain",
        "Wo liegt der Schlüssel zum Dachboden?",
        "Quelle heure est-il à Oslo ?",
        "ERROR worker 7: it failed; they were retried, then it gave up\n" * 10,
    ],
)
def test_a_message_that_stands_by_itself_is_asked_alone(text: str) -> None:
    for before in (WEDDING, BIRTHDAY, LENA):
        assert asked(before, text) == text.strip()


@each(
    ("question", "answer", "person"),
    [
        # the one name of question and answer, of the question, or of the answer
        ("Where does Emre live?", "Emre lives in Berlin, near Ben.", "Emre"),
        ("Where does Peter live?", "In Berlin.", "Peter"),
        ("Does Emre have allergies?", "I do not know, shall I ask Ben?", "Emre"),
        ("What is Emre's number?", "It is 0151 2345.", "Emre"),
        ("Who looks after the garden?", "Juno Ferreira looks after it.", "Juno Ferreira"),
        ("Which doctor treats the twins?", "Dr. Costa.", "Dr. Costa"),
        # of a question for somebody of a name, whom the answer names alone
        ("Who is Ben's best friend?", "Emre.", "Emre"),
        ("Who is the manager of Acme?", "That is Dana Reyes.", "Dana Reyes"),
        # a question that asks who, or for somebody of a name, may mean either
        ("Who is Emre?", "The brother of Ben.", None),
        ("Who is the manager of Acme?", "I think Ben has met Emre at the fair.", None),
        ("Who is Emre?", "Ben's best friend.", None),
        ("Who is Emre?", "Emre is Ben's best friend.", None),
        ("Who is Ben Schulte?", "The new drummer of Mia's band.", None),
        ("Where does Ben's friend live?", "In Berlin.", None),
        ("What is Ben's teacher called?", "Emre.", None),
        ("Do Ben and Emre know each other?", "From the party of Mia.", None),
    ],
)
def test_a_name_takes_the_place_of_a_pronoun_where_no_other_may_be_meant(
    question: str, answer: str, person: str | None
) -> None:
    found = asked((question, answer), "Can he eat nuts?")
    if person is None:
        assert found.startswith(f"Can he eat nuts? {question}")
        names = ("Ben", "Emre", "Mia")
        assert all(one in found for one in names if one in question + answer), found
    else:
        assert found == f"{person}: Can he eat nuts?"


def test_a_follow_up_of_a_follow_up() -> None:
    turns = [*BIRTHDAY, "and Juno's?", "On 9 February.", "and Piet's?"]
    talk = [Turn(text, assistant=at % 2 == 1) for at, text in enumerate(turns)]
    assert question_of(talk).text == "When is Piet's birthday?"


def test_remarks_between_are_passed_over_and_none_is_asked() -> None:
    assert asked(BIRTHDAY, "thanks!", "and Juno's?") == "When is Juno's birthday?"
    talk = [Turn(BIRTHDAY[0]), Turn(BIRTHDAY[1], assistant=True), Turn("ok great, thanks")]
    found = question_of(talk)
    assert (found.text, found.says_nothing, found.first) == ("ok great, thanks", True, 2)


def test_what_is_said_behind_an_open_question_goes_with_it() -> None:
    talk = [Turn("Where is the key?"), Turn("I looked everywhere.")]
    assert question_of(talk).text == "Where is the key? I looked everywhere."
    assert question_of([talk[0], Turn("please!")]).text == "Where is the key?"
    talk.insert(1, Turn("In the hall.", assistant=True))
    assert question_of(talk).text == "I looked everywhere."


def test_an_assistant_asks_only_where_nobody_else_speaks() -> None:
    talk = [Turn("Where is the key?"), Turn("Let me look.", assistant=True)]
    assert question_of(talk).text == "Where is the key?"
    assert question_of(talk[1:]).text == "Let me look."


@each(
    "text", ["Danke dir!", "merci beaucoup", "Gracias.", "grazie mille", "👍", "Yes, that helps."]
)
def test_remarks_of_several_languages(text: str) -> None:
    assert says_nothing(text)


@each("text", ["No, the red one", "the problem", "Thanks, and where is it?", "42", "ok by noon"])
def test_other_messages_say_something(text: str) -> None:
    assert not says_nothing(text)


ONWARD = """
carry on please | next step please | step 2 please | wait, stop that | keep going
use the second approach | please continue with step 3 | go with option B | go ahead and do it
mach bitte weiter | weiter mit Schritt 2 | continue s'il te plaît | sigue por favor
continua per favore | Prossiga com o próximo passo, por favor | ga verder alsjeblieft
No, the other way please.
"""
OWN = """
next steps | step 2 | bump the version | use tabs | use Go | use R | go with the plan of Oslo
when do we go on | what is next | do we use both? | continue the import | stop the staging server
use port 8080 | nimm den Zug | resume work on billing | take the two boxes to Ann
"""


def listed(lines: str) -> list[str]:
    return [one.strip() for line in lines.strip().splitlines() for one in line.split("|")]


@each("text", listed(ONWARD))
def test_a_message_that_only_goes_on_has_nothing_of_its_own(text: str) -> None:
    assert only_goes_on(text)


@each("text", listed(OWN))
def test_a_message_with_a_word_of_its_own_or_a_question_does_not_only_go_on(text: str) -> None:
    assert not only_goes_on(text)


def test_no_labelled_prompt_that_a_memory_answers_only_goes_on() -> None:
    files = Path(__file__).resolve().parents[2].glob("benches/*/queries.jsonl")
    rows = [json.loads(line) for one in files for line in one.read_text().splitlines()]
    assert len(rows) > 2_000
    assert [one["text"] for one in rows if one["relevant"] and only_goes_on(one["text"])] == []
