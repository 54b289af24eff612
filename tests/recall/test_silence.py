"""What recall leaves out as no answer, and when it brings nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vestig
from scripted import Opener
from tables import each
from vestig.arguments import SILENCE_MIN
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.recall.confidence import fits
from vestig.recall.judgement import fit
from vestig.recall.silence import least_confidence
from vestig.testing import FrozenClock, HashingEmbedder

ASKED = "where does Maria live?"
TEXTS = (
    "Maria lives in Lisbon, near the river",
    "The invoice of March was paid late",
    "Bread is baked before six at the mill",
    "The ferry to Grey Island leaves at nine",
    "A brass gasket was ordered from the works",
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store of `TEXTS`, of which tests take copies."""
    folder = tmp_path_factory.mktemp("silence") / "store"
    with vestig.open(folder, embedder=BuiltinEmbedder(), clock=FrozenClock()) as made:
        for text in TEXTS:
            made.commit(text)
    return folder


@pytest.fixture
def store(original: Path, opener: Opener, tmp_path: Path) -> vestig.Vestig:
    shutil.copytree(original, tmp_path / "store")
    # what the judge says, however busy the machine is
    return opener(embedder=BuiltinEmbedder(), config={"judge.budget_ms": 60_000})


UNANSWERED = "Who is Maria's dentist?"


def test_a_question_brings_what_comes_near_the_best(store: vestig.Vestig) -> None:
    every = store.recall(ASKED, all=True)
    assert (len(every), every.counts.cut) == (5, 0)
    least = 0.2 * every[0].score
    wanted = [hit.id for hit in every if hit.score >= least]
    assert 0 < len(wanted) < 5
    near = store.recall(ASKED)
    assert [hit.id for hit in near] == wanted
    assert (near.counts.cut, near.counts.returned) == (5 - len(wanted), len(wanted))
    block = store.recall(ASKED, context=True)
    assert [hit.id for hit in block] == wanted
    assert block.context is not None
    assert list(block.context.ids) == wanted
    assert len(store.recall(ASKED, context=True, all=True)) == 5


@pytest.mark.parametrize(
    "question",
    ["who is Maria's dentist", "which dentist treats Maria", "did Maria ever see a dentist"],
)
def test_a_question_is_one_without_its_mark(store: vestig.Vestig, question: str) -> None:
    assert store.recall(question).abstained


def test_a_question_that_nothing_answers_brings_nothing(store: vestig.Vestig) -> None:
    every = store.recall(UNANSWERED, all=True)
    assert (len(every), every.abstained, every.nearest) == (5, False, ())
    found = store.recall(UNANSWERED)
    assert (len(found), found.abstained, found.confidence) == (0, True, every.confidence)
    assert [hit.id for hit in found.nearest] == [hit.id for hit in every[:3]]
    block = store.recall(UNANSWERED, context=True).context
    assert block is not None
    assert (block.text, block.ids) == ("", ())
    assert block.note.startswith("nothing close (confidence 0.0")


def test_the_first_of_nothing_says_why(store: vestig.Vestig) -> None:
    with pytest.raises(IndexError, match=r"no item 0: there are 0, .*nearest names 3, all=True"):
        store.recall(UNANSWERED)[0]
    with pytest.raises(IndexError, match=r"no item 9: there are 5$"):
        store.recall(UNANSWERED, all=True)[9]


def test_a_topic_in_a_word_brings_what_is_about_it(store: vestig.Vestig) -> None:
    for topic, text in (("ferry", 3), ("Maria?", 0), ("who is Maria?", 0)):
        found = store.recall(topic)
        assert (found[0].content, found.abstained) == (TEXTS[text], False), topic
        assert found.counts.cut >= 3, topic
        assert len(store.recall(topic, all=True)) == 5


@pytest.mark.parametrize("query", ["Ada", "who is Ada?", "everything about Ada", "all about Ada"])
def test_what_is_about_a_topic_stays_together(opener: Opener, query: str) -> None:
    store = opener(embedder=BuiltinEmbedder())
    about = (
        "Ada is allergic to hazelnuts and cannot eat pesto from the shop.",
        "Ada's birthday is 3 May.",
        "Ada works as a structural engineer in Bremen, mostly on bridges.",
        "Ada likes jazz.",
    )
    for text in (*about, "Ben prefers trains to planes.", *TEXTS):
        store.commit(text)
    found = store.recall(query, limit=8, config={"judge.budget_ms": 60_000})
    brought = {hit.content for hit in found}
    assert brought >= {*about}
    assert len(brought) < 8


def test_a_date_is_no_reason_to_bring_what_does_not_help(store: vestig.Vestig) -> None:
    """Only what asks for a day alone gets all that it holds."""
    patient = {"judge.budget_ms": 60_000}
    for query in ("what happened today?", "my diary of today", "list the notes of today"):
        assert len(store.recall(query, config=patient)) == 5, query
    assert store.recall("which dentist did Maria see today?", config=patient).abstained
    found = store.recall("send the parcel to Maria in Lisbon today", config=patient)
    assert [hit.content for hit in found] == [TEXTS[0]]


def test_a_note_is_found_by_its_own_words(store: vestig.Vestig) -> None:
    patient = {"judge.budget_ms": 60_000}
    for text in TEXTS:
        for query in (text, " ".join(reversed(text.replace(",", "").split()))):
            found = store.recall(query, config=patient)
            assert found[0].content == text, query
    turn = "Order another brass gasket from the old works"
    store.commit(turn, role="user", session_id="monday")
    assert turn not in [hit.content for hit in store.recall(turn, config=patient)]


def test_a_day_brings_nothing_where_its_question_is_about_something_else(
    store: vestig.Vestig,
) -> None:
    patient = {"judge.budget_ms": 60_000}
    for query in ("what's the weather today?", "who won the match today?"):
        assert store.recall(query, config=patient).abstained, query
    for query in ("what did I buy today?", "what happened today?"):
        assert len(store.recall(query, config=patient)) == 5, query


@pytest.mark.parametrize(
    ("prompt", "helps"),
    [
        ("plan a day on Grey Island", 3),
        ("I'm travelling to Lisbon soon", 0),
        ("departure time of the ferry", 3),
        ("brass gasket", 4),
        ("Maria dentist appointment", None),
        ("fix the ferry calendar code", None),
        ("fare of the ferry to Grey Island", None),
        ("Maria's phone number", None),
    ],
)
def test_what_asks_nothing_brings_what_helps(
    store: vestig.Vestig, prompt: str, helps: int | None
) -> None:
    found = store.recall(prompt, config={"judge.budget_ms": 60_000})
    assert [hit.content for hit in found] == ([] if helps is None else [TEXTS[helps]])
    assert found.abstained is (helps is None)
    assert len(store.recall(prompt, all=True)) == 5


@pytest.mark.parametrize(
    "said",
    [
        "fix the dentist calendar code", "dentist", "dentist?", "Hi, how are you?", "thanks, bye",
        "hello", "ok, go on", "can you help me?", "why?",
    ],
)  # fmt: skip
def test_what_shares_no_word_with_a_memory_and_is_close_to_none_brings_nothing(
    store: vestig.Vestig, said: str
) -> None:
    found = store.recall(said)
    assert (len(found), found.abstained, found.certainty) == (0, True, "nothing close")
    assert len(found.nearest) == 3
    assert store.recall(said, context=True).context.text == ""
    assert len(store.recall(said, all=True)) == 5


def test_a_question_of_one_word_that_no_memory_holds_is_judged(store: vestig.Vestig) -> None:
    for question in ("who is my dentist?", "who is the landlord", "whose dentist", "dentist?"):
        found = store.recall(question)
        assert (len(found), found.abstained) == (0, True), question
        assert "judge" in found.timings_ms, question


def test_a_question_of_one_word_that_is_held_is_a_topic(store: vestig.Vestig) -> None:
    for question, text in (("who is Maria?", 0), ("what was paid?", 1), ("when is the ferry?", 3)):
        found = store.recall(question)
        assert (found[0].content, found.abstained) == (TEXTS[text], False), question
    # whatever it reads as
    assert store.recall("who is late?").results


ABOUT_MAREN = (
    "Maren Holt plays Titania in the summer production.",
    "Maren is allergic to latex, so no latex masks.",
    "Maren Holt cannot rehearse on Thursdays.",
    "Maren Holt wears costume size 38.",
)


@pytest.mark.parametrize(
    "query",
    ["tell me everything about Maren Holt", "Maren Holt", "who is maren holt?"],
)
def test_of_a_known_name_all_is_brought_that_has_a_word_of_it(
    store: vestig.Vestig, query: str
) -> None:
    for text in (*ABOUT_MAREN, "Tom Beddoes is the stage manager."):
        store.commit(text)
    assert {hit.content for hit in store.recall(query)} == {*ABOUT_MAREN}
    # one content word more, and what reads as no answer is left out
    asked = store.recall("what is Maren Holt allergic to?")
    assert asked[0].content == ABOUT_MAREN[1]
    assert len(asked) < len(ABOUT_MAREN)
    assert not store.recall("who is Maren Holt's landlord?")
    assert len(store.recall("where is Maren Holt?")) < len(ABOUT_MAREN)


TABLE = "# Spares\n\n| No | Name | Turbine | Price |\n|---|---|---|---|\n" + "".join(
    f"| {code} | {('slip ring', 'brake pad', 'yaw motor')[n % 3]} | V{90 + n % 4} | {100 + n} |\n"
    for n in range(90)
    for code in (f"NV-{20000 + 7 * n}", f"WI-{10 + n}", f"v{n}.{n % 7}.3", f"{4000 + n}/2-{n}")
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vestig.Vestig]:
    config = {"judge.budget_ms": 60_000}
    folder = tmp_path_factory.mktemp("table") / "store"
    with vestig.open(folder, embedder=BuiltinEmbedder(), config=config) as store:
        for text in TEXTS:
            store.commit(text)
        store.add_document(TABLE, source="spares")
        store.commit("WI-25 is done by two people.")
        yield store


@pytest.mark.parametrize("asked", ["{}", "{}?", "what is {}?"])
@pytest.mark.parametrize("code", ["NV-{0}", "WI-{1}", "v{2}.{3}.3", "{4}/2-{2}"])
def test_a_code_that_a_memory_holds_is_a_topic(table: vestig.Vestig, asked: str, code: str) -> None:
    for n in range(0, 90, 12):
        held = code.format(20000 + 7 * n, 10 + n, n, n % 7, 4000 + n)
        found = table.recall(asked.format(held))
        assert any(f"| {held} |" in hit.content for hit in found), held


def test_a_code_that_is_held_is_wanted_however_others_are_written(table: vestig.Vestig) -> None:
    for asked in ("wi-25", "WI-25, X-7041", "WI-25 NV-20105."):
        assert "WI-25 is done by two people." in [hit.content for hit in table.recall(asked)], asked


@pytest.mark.parametrize(
    "asked",
    # held by no memory, with its parts in several; beside another word; one thing about it
    ["NV-20106", "WI-4711", "NV-20106?", "the landlord of NV-20105", "why is NV-20105?"],
)
def test_a_code_that_is_not_held_or_not_all_is_judged(table: vestig.Vestig, asked: str) -> None:
    found = table.recall(asked)
    assert (len(found), found.abstained) == (0, True)
    assert "judge" in found.timings_ms


def test_what_brings_nothing_is_not_likely(store: vestig.Vestig) -> None:
    store.commit_many([f"Pallet {n} of the depot went to Ghent" for n in range(60)])
    known = store.recall("where did pallets of wine go?", silence=0.02)
    sure = store.recall("where did pallets of wine go?")
    assert (known.confidence, known.abstained) == (sure.confidence, True)
    assert (sure.certainty, known.certainty) == ("likely", "doubtful")


def test_where_no_memory_is_eligible_silence_holds_nothing_back(store: vestig.Vestig) -> None:
    found = store.recall("thanks, bye", where={"tags": ["none"]})
    assert (len(found), found.abstained, found.counts.eligible) == (0, False, 0)


def test_a_vector_or_a_day_is_left_nothing_out(store: vestig.Vestig) -> None:
    vector = BuiltinEmbedder().embed(["thanks, bye"])[0]
    assert len(store.recall(query_vector=vector)) == 5
    assert len(store.recall("what happened today?")) == 5


def test_without_a_judge_nothing_is_left_out_unasked(store: vestig.Vestig) -> None:
    off = {"judge.enabled": False}
    assert len(store.recall(UNANSWERED, config=off)) == 5
    assert store.recall(UNANSWERED, config=off, silence=0.25).abstained
    assert len(store.recall(ASKED, config=off, silence=0.25)) > 0


def test_where_the_judge_fails_nothing_is_left_out(store: vestig.Vestig) -> None:
    # less than the clock itself takes: nothing is read
    late = {"judge.budget_ms": 1e-9}
    for query in (ASKED, "gasket order of the works"):
        found = store.recall(query, config=late)
        assert (len(found), found.least_confidence) == (5, None)
        assert found.degraded


def test_what_was_said_about_a_topic_that_is_held_is_brought(store: vestig.Vestig) -> None:
    for query in ("What did I say about the ferry?", "what have you told me about a ferry"):
        found = store.recall(query)
        assert (found[0].content, found.abstained) == (TEXTS[3], False)
    assert store.recall("What did I say about the ferry?", silence=0.02).abstained
    for query in (
        "What did I say about the dentist?",
        "What did the ferry say about bread?",
        "What did I note as the wifi password for the ferry?",
        "What did I say the price is on the island?",
    ):
        assert store.recall(query).abstained


def test_a_topic_in_a_word_passes_a_silence_in_a_small_store(store: vestig.Vestig) -> None:
    assert store.recall("Maria?", silence=0.2, context=True).context.text
    assert store.recall("Maria?", silence=0.02).abstained
    assert store.recall("plumber", silence=0.2).abstained


def test_several_right_ones_stay_together(store: vestig.Vestig) -> None:
    prices = [
        store.commit(f"The Pro plan costs {price} EUR.", t_valid=f"2025-0{month}-01").memory_id
        for month, price in ((3, 29), (4, 34), (5, 39))
    ]
    found = store.recall("How much is the Pro plan?", limit=8)
    assert [hit.id for hit in found] == prices[::-1]


def test_more_silence_brings_less(store: vestig.Vestig) -> None:
    questions = (ASKED, UNANSWERED, "when does the ferry leave?", "what is baked at the mill?")
    before = set(questions)
    for silence in (1, 0.5, 0.25, 0.1, 0.05, 0.02):
        found = {one for one in questions if store.recall(one, silence=silence).results}
        assert found <= before
        before = found
    assert all(store.recall(one, silence=1).results for one in questions)
    assert UNANSWERED not in before


def test_the_configuration_says_how_often(store: vestig.Vestig) -> None:
    keyed = store.recall(UNANSWERED, config={"recall.silence": 1.0})
    assert len(keyed) > 0
    assert store.recall(UNANSWERED, config={"recall.silence": 1.0}, silence=0.05).abstained
    never = {"recall.silence": 0.02}
    assert store.recall("Maria dentist appointment", config=never).abstained
    assert len(store.recall(UNANSWERED, config=never, all=True)) == 5


@pytest.mark.parametrize("profile", ["reference", "baseline"])
def test_without_a_confidence_nothing_is_left_out(store: vestig.Vestig, profile: str) -> None:
    assert len(store.recall(ASKED, profile=profile)) == 5
    assert len(store.recall(ASKED, profile=profile, context=True)) == 5


@pytest.mark.parametrize(
    "question", ["where does Maria live?", "which ferry leaves at nine?", "who bakes bread?"]
)
def test_where_word_pieces_are_not_compared_a_block_has_every_result(
    opener: Opener, question: str
) -> None:
    """Their scores say which is better, and not how likely it is."""
    store = opener(embedder=HashingEmbedder())
    for text in TEXTS:
        store.commit(text)
    block = store.recall(question, context=True)
    assert (len(block), block.counts.cut) == (5, 0)


def test_of_a_vector_alone_nothing_is_left_out(store: vestig.Vestig) -> None:
    (vector,) = BuiltinEmbedder().embed([ASKED])
    assert len(store.recall(query_vector=vector)) == 5


def test_why_not_names_it(store: vestig.Vestig) -> None:
    last = store.recall(ASKED, all=True)[4]
    found = store.recall(ASKED, expect=last.id)
    assert found.why_not is not None
    (entry,) = found.why_not
    assert entry.stage == "below_min_score"
    assert entry.change is not None
    assert (entry.change.kind, entry.change.key, entry.change.rank) == ("threshold", "all", 5)


@pytest.mark.parametrize("bad", [-0.1, 0, 0.01, 1.1, "much", True, float("nan"), [0.5]])
def test_what_cannot_be_promised_is_refused(store: vestig.Vestig, bad: Any) -> None:
    with pytest.raises(vestig.ValidationError, match=r"silence: expected a number from 0\.02 to 1"):
        store.recall(ASKED, silence=bad)


def test_silence_and_all_exclude_each_other(store: vestig.Vestig) -> None:
    with pytest.raises(vestig.ValidationError, match="silence or all"):
        store.recall(ASKED, silence=0.5, all=True)


def test_the_shipped_calibrations_can_promise_the_least_silence() -> None:
    judged = (fit().questions, fit().lists, fit().prompts)
    for unanswered in (fits().with_pieces, fits().without_pieces, *judged):
        known = list(unanswered.unanswered)
        assert known == sorted(known)
        assert least_confidence(SILENCE_MIN, known) <= 1
        for silence in (0.05, 0.1, 0.25, 0.5):
            least = least_confidence(silence, known)
            assert sum(one >= least for one in known) / len(known) <= silence


def test_what_a_newer_word_took_the_place_of_is_not_cut_for_it(opener: Opener) -> None:
    store = opener(embedder=BuiltinEmbedder())
    store.commit("Nora works as a nurse at the clinic.", t_valid="2025-01-10")
    store.commit("Nora has the flu and stays at home.", t_valid="2025-08-10")
    for text in TEXTS:
        store.commit(text, t_valid="2025-05-01")
    found = store.recall("What is Nora's job?")
    assert "Nora works as a nurse at the clinic." in [hit.content for hit in found]


def test_a_newest_version_that_came_first_is_not_cut(opener: Opener) -> None:
    store = opener(embedder=BuiltinEmbedder())
    store.commit("The monthly rent of the workshop is 900 euros.", t_valid="2025-01-01")
    newest = store.commit("The monthly workshop rent is 980 euros by now.", t_valid="2025-08-01")
    for text in TEXTS:
        store.commit(text, t_valid="2025-05-01")
    question = "What is the monthly rent of the workshop in euros?"
    first, second = store.recall(question)[:2]
    assert (first.id, first.reason.newer_than) == (newest.memory_id, second.id)
    kept = [hit.id for hit in store.recall(question)]
    assert kept == [first.id, second.id]


@pytest.mark.parametrize(
    ("said", "later", "question"),
    [
        (
            "The printer in the hall is a Brother HL-2350.",
            "The printer in the hall was cleaned by Otto.",
            "Which model is the printer in the hall?",
        ),
        (
            "Ben's passport expires in March 2031.",
            "Ben left his passport at the hotel.",
            "When does Ben's passport expire?",
        ),
        (
            "The bike lock code is 4471.",
            "The bike lock was oiled.",
            "What is the code of the bike lock?",
        ),
    ],
)
def test_a_later_word_without_a_number_is_no_version_of_one_with_a_number(
    opener: Opener, said: str, later: str, question: str
) -> None:
    # what the models say, however busy the machine is
    patient = {"judge": {"budget_ms": 60_000.0}}
    store = opener(embedder=BuiltinEmbedder(), config=patient)
    store.commit(said, t_valid="2025-01-10")
    store.commit(later, t_valid="2025-08-10")
    for text in TEXTS:
        store.commit(text, t_valid="2025-05-01")
    hit = store.recall(question)[0]
    assert (hit.content, hit.reason.older_than) == (said, None)


@each(
    ("text", "members", "question"),
    [
        ("Omar has access to {}.", ["the vault", "the server room", "the roof"], "Which rooms"),
        ("Kofi is a member of {}.", ["the rowing club", "the choir", "Unit 4"], "Which clubs"),
    ],
)
def test_what_is_of_one_set_with_the_best_is_not_cut_where_all_are_asked_for(
    text: str, members: list[str], question: str
) -> None:
    """The class that a question names is a word of one of them, which scores far above the rest."""
    asks = f"{question} may Omar enter?" if "Omar" in text else f"{question} is Kofi a member of?"
    texts = {text.format(member) for member in members}
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for one in (*sorted(texts), "The guest room is cold.", "Ben moved to Leeds in April."):
            store.commit(one)
        assert {hit.content for hit in store.recall(asks)} == texts
        named = store.recall(f"Does {text.format(members[0]).rstrip('.')}?")
    assert named[0].content == text.format(members[0])
