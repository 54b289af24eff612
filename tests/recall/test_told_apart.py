"""Two texts that say most in the same words: which of them a question is about."""

from __future__ import annotations

import vestig
from scripted import Opener
from tables import each
from vestig.recall.text_pairs import Aligned, is_about_another
from vestig.testing import HashingEmbedder, vector_at

NEIGHBOURS = [
    (
        "The hardness of weld Nord is 340 HV 10 in the heat-affected zone.",
        "The hardness of weld Nord is 235 HV 10 in the weld metal.",
        "What is the hardness of weld Nord in the heat-affected zone?",
    ),
    (
        "The elongation of the sample is 24.5 % at 23 °C.",
        "The elongation of the sample is 14.5 % at -23 °C.",
        "What is the elongation of the sample at 23 °C?",
    ),
    (
        "To start an evaluation without the cache run `evalx --no-cache`.",
        "To start an evaluation with the cache run `evalx --cache`.",
        "How do I run an evaluation without the cache?",
    ),
    (
        "Specimens of batch Alfa are 25 mm wide.",
        "Specimens of batch Alfa are 12 mm thick.",
        "How wide are specimens of batch Alfa?",
    ),
    (
        "The fume hood in room 108 is cleared for acids.",
        "The fume hood in room 103 is not cleared for acids.",
        "Which fume hood is cleared for acids?",
    ),
    (
        "The intrathecal dose of the drug is 12 mg.",
        "The dose of the drug is 15 mg.",
        "What is the intrathecal dose of the drug?",
    ),
    (
        "On even days the left pump is tested.",
        "On odd days the right pump is tested.",
        "Which pump is tested on even days?",
    ),
    (
        "At 3 am Olga has the pager.",
        "At 3 pm Hans has the pager.",
        "Who has the pager at 3 am?",
    ),
]


@each(("older", "newer", "question"), NEIGHBOURS)
def test_what_a_question_names_comes_first_whatever_reads_better(
    older: str, newer: str, question: str, opener: Opener
) -> None:
    """No judge reads them."""
    for texts in ((older, newer), (newer, older)):
        store = opener(embedder=HashingEmbedder())
        for text in texts:
            store.commit(text)
        found = store.recall(question, all=True)
        assert found[0].content == older
        assert found[0].final == max(hit.final for hit in found)


@each(("older", "newer", "question"), NEIGHBOURS)
def test_what_a_question_names_in_its_own_words_is_no_older_version(
    older: str, newer: str, question: str
) -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for text in (older, newer):
            store.commit(text)
        found = store.recall(question)
    assert found[0].content == older
    assert not any(flag.startswith("older_than") for hit in found for flag in hit.reason.flags)


ENDED = [
    ("The drill is on 4 March at 14:00.", "The drill is called off.", "When is the drill?", False),
    ("The fire drill is on 4 March.", "The fire drill is cancelled.", "When is the drill?", True),
    ("Dr. Ada Meier runs ward 5.", "Dr. Ada Meier has left the house.", "Who runs ward 5?", False),
]


@each(("older", "newer", "question", "first"), ENDED)
def test_what_says_that_something_ended_comes_with_it(
    older: str, newer: str, question: str, first: bool
) -> None:
    """First where the earlier text tells all that it is about."""
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for text in (older, newer, "The drill of Ada Meier is in the shed since March."):
            store.commit(text)
        found = store.recall(question)
    texts = [hit.content for hit in found]
    assert {older, newer} <= {*texts}
    assert not first or texts[0] == newer


@each(
    ("older", "newer", "question", "told"),
    [
        ("The API listens on port 8417.", "The API listens on port 8420.", "Which port?", True),
        ("Ben is allergic to nuts.", "Ben is allergic to cats.", "What is Ben allergic to?", False),
        ("Room 3 has 8 beds.", "Room 4 has 9 beds.", "How many beds?", False),
        ("Batch VC2201 is released.", "Batch VC2202 is released.", "Which batch?", False),
    ],
)
def test_an_older_number_behind_the_newer_one_is_told_to_be_older(
    older: str, newer: str, question: str, told: bool
) -> None:
    pair = Aligned(older, newer)
    assert (pair.differ_in_numbers() and not pair.tells_apart(question)) is told
    if told:
        with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
            store.commit(older, t_valid="2026-01-05")
            store.commit(newer, t_valid="2026-07-05")
            found = store.recall("Which port does the API listen on?", all=True)
        assert [hit.content for hit in found] == [newer, older]
        assert found[1].reason.older_than == found[0].id


def test_a_denial_of_the_old_value_is_no_statement_of_something_else() -> None:
    text = "Correction: enoxaparin prophylaxis on ward 4 is 30 mg once daily, not 20 mg."
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        store.commit("Enoxaparin prophylaxis on ward 3 is 40 mg once daily.")
        old = store.commit("Enoxaparin prophylaxis on ward 4 is 20 mg once daily.").memory_id
        store.supersede(old, store.commit(text).memory_id)
        assert store.recall("How much is enoxaparin prophylaxis on ward 4?")[0].content == text


@each(
    ("older", "newer", "question"),
    [
        (
            "The argon supplier is Linde.",
            "The argon supplier is now Air Liquide.",
            "Who is the argon supplier?",
        ),
        (
            "The gas vendor is Messer.",
            "The gas vendor is no longer Messer but Nippon Gases.",
            "Which company is the gas vendor?",
        ),
        # what it takes away is no narrower thing, and a list question asks for what holds too
        (
            "The help desk is open on weekdays and Saturdays.",
            "The help desk is now open only on weekdays.",
            "On which days is the help desk open?",
        ),
        (
            "Nora may approve orders and refunds.",
            "Nora may now approve only orders.",
            "What may Nora approve?",
        ),
        (
            "Support is available in English, French and German.",
            "Support is now available only in English.",
            "In which languages is support available?",
        ),
    ],
)
def test_what_says_that_it_holds_now_comes_first(older: str, newer: str, question: str) -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for text in (older, newer):
            store.commit(text)
        found = store.recall(question)
    assert found[0].content == newer


OPEN = [
    (
        "How do we handle money?",
        "Do not use float for money; use Decimal with four places.",
        "Rounding of money is half-even everywhere, in src/money/rounding.py.",
    ),
    (
        "What are the rules for migrations, and how do we write one?",
        "Migrations live in db/migrations and are named NNNN_verb_noun.sql.",
        "Never edit a migration that is merged; write a new one.",
    ),
    (
        "Is crushing of the tablets allowed?",
        "Crushing of the tablets is allowed.",
        "The tablets are not contraindicated in the third trimester.",
    ),
]


@each(("question", "older", "newer"), OPEN)
def test_facts_that_answer_together_are_no_versions(question: str, older: str, newer: str) -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for text in (older, newer):
            store.commit(text)
        found = store.recall(question, all=True)
    assert not any(flag.startswith("older_than") for hit in found for flag in hit.reason.flags)


SEVERAL = [
    ("What is Ben allergic to?", "Ben is allergic to peanuts.", "Ben is allergic to cats."),
    ("What instrument does Joe play?", "Joe plays the guitar.", "Joe plays the drums."),
    ("Who does Paul work with?", "Paul works with Kim on pay.", "Paul works with Ravi on pay."),
]


@each(("question", "older", "newer"), SEVERAL)
def test_one_of_several_that_hold_together_is_never_told_to_be_older(
    question: str, older: str, newer: str
) -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        store.commit(older, t_valid="2026-02-01")
        store.commit(newer, t_valid="2026-06-01")
        found = store.recall(question)
    assert {hit.content for hit in found} == {older, newer}
    assert [hit.reason.older_than for hit in found] == [None, None]


@each(
    ("holds", "ended", "question"),
    [
        (
            "Nora is allergic to penicillin.",
            "Nora is no longer allergic to latex.",
            "Can I give Nora penicillin?",
        ),
        (
            "Dana has access to the vault.",
            "Dana no longer has access to the lab.",
            "May Dana enter the vault?",
        ),
        (
            "Ann subscribes to Netflix.",
            "Ann no longer subscribes to Spotify.",
            "Does Ann subscribe to Netflix?",
        ),
        (
            "Ann is allergic to shellfish.",
            "Ann is now also allergic to cats.",
            "Is Ann allergic to shellfish?",
        ),
    ],
)
def test_the_end_or_the_addition_of_one_of_several_ends_no_other(
    holds: str, ended: str, question: str
) -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        store.commit("Nora likes tea.", t_valid="2026-01-05")
        store.commit(holds, t_valid="2026-01-06")
        store.commit(ended, t_valid="2026-02-05")
        found = store.recall(question)
    assert found[0].content == holds
    assert found[0].reason.older_than is None


@each(
    ("text", "question"),
    [
        ("Acme's plan is {}.", "What plan is Acme on?"),
        ("The contact of Acme is {}.", "Who is the contact of Acme?"),
    ],
)
def test_the_newest_value_of_what_is_asked_for_comes_first_and_the_others_are_older(
    text: str, question: str
) -> None:
    texts = [text.format(value) for value in ("Starter", "Business", "Enterprise")]
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for month, one in enumerate(texts, 1):
            store.commit(one, t_valid=f"2026-0{month}-05")
        found = store.recall(question, query_time="2026-09-01")
    assert found[0].content == texts[-1]
    assert {hit.content for hit in found if hit.reason.older_than} == set(texts[:-1])


OWNERS = (
    "The billing service is owned by Marta Sole.",
    "The chat-router service is owned by Dan Okafor.",
    "Dan Okafor left the company; chat-router is now owned by Petra Holm.",
)


@each(("question", "first"), [("billing service", 0), ("chat-router", 2)])
def test_news_of_one_thing_is_no_newer_version_of_another(question: str, first: int) -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for month, text in enumerate(OWNERS, 1):
            store.commit(text, t_valid=f"2026-0{month}-05")
        found = store.recall(f"Who owns the {question}?")
    assert found[0].content == OWNERS[first]
    marked = {hit.content for hit in found if hit.reason.older_than is not None}
    assert marked <= {OWNERS[1]}


def test_of_two_things_that_are_compared_none_is_a_version() -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        store.commit("Project Osprey has a budget of 180,000 euros.", t_valid="2026-02-01")
        newer = "The budget of Project Kestrel was raised to 420,000 euros."
        store.commit(newer, t_valid="2026-06-01")
        found = store.recall("Which project has the bigger budget, Kestrel or Osprey?")
    assert len(found) == 2
    assert [hit.reason.older_than for hit in found] == [None, None]


def test_the_next_event_of_a_thing_makes_an_earlier_one_no_older_version() -> None:
    events = ("started on 27 January", "finished its design on 3 March", "launched on 26 May")
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for month, event in enumerate(events, 1):
            store.commit(f"Project Kestrel {event} 2026.", t_valid=f"2026-0{month}-28")
        found = store.recall("Give a timeline of Project Kestrel", all=True)
    assert len(found) == 3
    assert {hit.reason.older_than for hit in found} == {None}


@each(
    ("question", "older", "newer", "another"),
    [
        ("Where does Ada live?", "Ada lives in Oslo.", "Ada moved to Bergen.", False),
        ("Which bus do we take?", "We take bus 41 there.", "We take bus X3 there.", False),
        ("What is for June?", "The plan for June is A.", "The plan for July is B.", True),
        ("How high is 5 mN?", "A load of 5 mN is low.", "A load of 5 MN is low.", True),
        ("Is it open at noon?", "It is open at noon daily.", "It is open at one daily.", True),
        ("Is rent 800 euros now?", "Rent is 800 euros here.", "Rent is 900 francs here.", False),
        ("Who is allowed in?", "Ada is allowed in.", "Ada is not allowed in.", False),
        ("Who is allowed in?", "Ada is allowed in.", "Ben is not allowed in.", True),
        ("Who is allowed in?", "Ada is allowed in.", "Ben is no longer allowed in.", False),
        ("Which fridge?", "Fridge 3 is at 4 °C here.", "Fridge 4 is at 5 °C here.", True),
        ("The prices?", "A small box costs 38 euros.", "A large box costs 61 euros.", True),
        ("The p?", "gardens est 0.41, p is 0.03", "gardens est 0.36, p is 0.07", False),
        ("Ada's days?", "Ada is in on Mondays at 9.", "Ada is in on Tuesdays at 10.", False),
        ("What dose?", "The dose of it is 5 mg.", "The paediatric dose of it is 7 mg.", True),
        ("Which port?", "The port of it is 5.", "The new port of it is 7.", False),
        ("When is it on?", "It comes on at 5 in winter.", "It is off in winter.", False),
    ],
)
def test_the_rest_of_like_texts_tells_them_apart(
    question: str, older: str, newer: str, another: bool
) -> None:
    assert is_about_another(question, older, newer) is another


STORED = (
    "The tensile strength of alloy KX-1042 is 412 MPa.",
    "Locker 15 belongs to the basses.",
    "Anna manages ward 3.",
    "The ferry to the island leaves at 9.",
)


@each(
    ("question", "answered"),
    [
        ("What is the tensile strength of alloy KX-1077?", None),
        ("To whom does locker 19 belong?", None),
        ("Who manages ward 5?", None),
        ("What is the tensile strength of alloy KX-1042?", STORED[0]),
        ("To whom does locker 15 belong?", STORED[1]),
        ("Who manages ward 3?", STORED[2]),
    ],
)
def test_what_is_called_by_another_code_or_number_answers_nothing(
    question: str, answered: str | None
) -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for text in STORED:
            store.commit(text)
        found = store.recall(question)
        every = store.recall(question, all=True)
    assert [hit.content for hit in found] == ([] if answered is None else [answered])
    assert found.abstained is (answered is None)
    assert len(every) == len(STORED)


@each(
    ("stored", "asked"),
    [
        ("PR-0098-A", "PR-0098-C"),
        ("HX44A", "HX44B"),
        ("12-B", "12-C"),
        ("0098.A", "0098.C"),
        ("LOT-A", "LOT-B"),
        ("VIAL-A-1", "VIAL-A-2"),
    ],
)
def test_codes_of_one_form_differ_in_digits_or_in_their_last_letter(
    stored: str, asked: str
) -> None:
    with unjudged() as store:
        store.commit(f"Propofol batch {stored} was recalled on 3 February 2026.")
        assert not store.recall(f"Was propofol batch {asked} recalled?")
        assert store.recall(f"Was propofol batch {stored} recalled?")


@each(
    ("text", "question"),
    [
        ("The 12-hour shift has a break of 60 minutes.", "How long is the 8-hour shift's break?"),
        ("The bag of 500-ml bottles is red.", "What colour is the bag of 250-ml bottles?"),
        ("We decided on 12-Apr-2026 to drop it.", "What did we decide in 30-Apr-2026?"),
        ("Tower 2-B leans.", "Does tower X-ray lean?"),
        ("WAY-12 is open.", "Is BAY-12 open?"),
    ],
)
def test_a_count_a_date_and_another_form_are_no_other_code(text: str, question: str) -> None:
    with unjudged() as store:
        store.commit(text)
        assert [hit.content for hit in store.recall(question)] == [text]


@each(
    ("others", "question", "brought"),
    [
        (
            ["Anna Meier is the consultant for ward 5."],
            "What is the order deadline for ward 5?",
            [],
        ),
        (["Orders of ward 5 are due at 11:00."], "What is the order deadline for ward 5?", [0, 1]),
        (["The week has five days."], "Which order deadline comes before that of ward 5?", [0]),
        (["The week has five days."], "Which ward orders earlier than ward 5?", [0]),
        (["Ward 4 and 5 order by 11:00."], "What is the order deadline for ward 5?", [1]),
        (["Ward 4 orders by 11:00, as 5 does."], "Whose order deadline is that of ward 5?", [1]),
    ],
)
def test_only_what_shares_another_word_is_what_is_called(
    others: list[str], question: str, brought: list[int]
) -> None:
    texts = ["The order deadline for ward 3 is 10:30.", *others]
    with unjudged() as store:
        for text in texts:
            store.commit(text)
        found = {hit.content for hit in store.recall(question)}
    assert {texts[at] for at in brought} <= found
    assert (texts[0] in found) is (0 in brought)


def test_a_row_that_is_called_too_is_no_other() -> None:
    with unjudged() as store:
        store.commit("H12 has a yellow tube and is female.")
        assert store.recall("Which sex is H12, H21 being male?")


@each(
    ("text", "question"),
    [
        ("On March 3 the board met in Oslo.", "Where did the board meet before March 5?"),
        ("In June 2025 Ada moved to Oslo.", "Where did Ada move since June 2024?"),
        ("INC-207 broke the gateway.", "Which incident broke the gateway before INC-208?"),
    ],
)
def test_what_lies_before_or_behind_what_is_called_is_no_other(text: str, question: str) -> None:
    with unjudged() as store:
        store.commit(text)
        assert [hit.content for hit in store.recall(question)] == [text]


def test_without_words_in_the_ranking_nothing_is_called_otherwise(opener: Opener) -> None:
    """What is called may lie behind the rows."""
    texts = [f"The deploy of service {number} runs on a port." for number in range(30)]
    question = "Which port has the deploy of service 3?"
    vectors = {text: vector_at(1.0) for text in (*texts, question)} | {texts[3]: vector_at(0.0)}
    store = opener(vectors=vectors, config={"hygiene.near_duplicate.enabled": False})
    store.commit_many(texts)
    assert store.recall(question, profile="baseline", limit=5)


def unjudged() -> vestig.Vestig:
    return vestig.open(":memory:", config={"judge": {"enabled": False}})


def test_a_number_that_counts_calls_nothing() -> None:
    texts = ("I finished 12 problems with an accuracy of 90 %.", "Bread is baked before six.")
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for text in texts:
            store.commit(text)
        found = store.recall("What is my accuracy now that I finished 15 problems?")
    assert texts[0] in [hit.content for hit in found]


@each(
    ("older", "newer", "question"),
    [
        ("The current tax rate is 19 percent.", "The tax rate is 21 percent.", "current tax rate"),
        ("The latest SDK version is 4.1.", "The SDK version is 5.0.", "latest SDK version"),
    ],
)
def test_a_word_of_newness_calls_nothing(older: str, newer: str, question: str) -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        store.commit(older, t_valid="2026-02-01")
        store.commit(newer, t_valid="2026-05-01")
        found = store.recall(f"What is the {question}?")
    assert found[0].content == newer


@each(
    ("older", "newer", "question"),
    [
        ("The monthly fee is 20 euros.", "The fee is 25 euros.", "What is the monthly fee?"),
        (
            "The production database runs on host db-3.",
            "The database runs on host db-7.",
            "On which host does the production database run?",
        ),
    ],
)
def test_what_is_called_by_less_later_comes_beside(older: str, newer: str, question: str) -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        store.commit("The office plants are watered on Mondays.", t_valid="2026-01-05")
        store.commit("The parking permit costs 40 euros a month.", t_valid="2026-01-08")
        store.commit(older, t_valid="2026-02-01")
        store.commit(newer, t_valid="2026-05-01")
        found = store.recall(question)
    assert {older, newer} <= {hit.content for hit in found}


@each(
    ("fact", "event", "question"),
    [
        (
            "Ruth Kern has the desk phone 4471.",
            "Ruth Kern is on leave.",
            "What is the desk phone of Ruth Kern?",
        ),
        (
            "Kim Dale, born in Oslo, is our founder.",
            "Kim Dale died in 2025.",
            "Who is our founder?",
        ),
    ],
)
def test_the_end_of_something_else_replaces_no_answer(fact: str, event: str, question: str) -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        store.commit(fact, t_valid="2026-02-01")
        store.commit(event, t_valid="2026-05-01")
        found = store.recall(question)
    assert (found[0].content, found[0].reason.older_than) == (fact, None)


@each("member", ["A port of the cluster is {}.", "An ingredient of the mix is {}."])
def test_what_says_that_it_is_one_of_several_is_never_told_to_be_older(member: str) -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        store.commit(member.format("E330"), t_valid="2026-02-01")
        store.commit(member.format("E415"), t_valid="2026-05-01")
        found = store.recall(f"What is {member[:-7].lower()}?")
    assert [hit.reason.older_than for hit in found] == [None, None]


@each("turn", ["She quit smoking last year.", "She lives at 14 Fjordveien in Bergen."])
def test_a_turn_that_only_follows_the_answer_takes_not_its_place(turn: str) -> None:
    """With the turn before it, it reads as an answer."""
    answer = "Mrs. Halvorsen is allergic to penicillin."
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for sequence, text in enumerate((answer, turn), 1):
            store.commit(text, author="Petra", session_id="d1", sequence=sequence)
        found = store.recall("what is Mrs. Halvorsen allergic to?")
    assert found[0].content == answer
