"""What a retrieval takes over from recall: order, versions, reasons, confidence and the cut; and
what of it is paid for once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pytest
from conversations import FACTS, opened, said
from msgspec import UNSET

import vestig
from chat_store import weighed
from tables import each
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.ids import repeatable_ids
from vestig.recall import judged
from vestig.retrieve import searches
from vestig.retrieve.searches import READ
from vestig.retrieve.values import FactDetail
from vestig.testing import FrozenClock, WordReranker

ASKED = "Which port does the staging server use?"
TEXTS = (
    "The staging server uses port 5433",
    "The staging server uses port 6000",
    "The staging server stands in Oslo",
    "The harbour has one port and no server",
    "The server room is locked at night",
    "Ada repairs the old server on Fridays",
    "The garden needs water twice a week",
    "Omar plays the cello in an orchestra",
)


class Judge:
    """Prefers the texts that hold a word, and keeps what it was asked."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.asked: list[str] = []
        self.read_count = 0

    def load(self) -> None:
        """Nothing."""

    def read(self, question: str, memories: Sequence[Any]) -> list[tuple[float, float]]:
        self.asked.append(question)
        self.read_count += len(memories)
        return [(4.0, 4.0) if self.word in one.text else (-4.0, -4.0) for one in memories]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    made = Judge("harbour")
    monkeypatch.setattr(judged, "_judge", lambda _: made)
    return made


JUDGED = {"judge.enabled": True, "judge.budget_ms": 60_000.0, "judge.pool": 5}


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    # of texts that are as near the first id decides: that of the older version
    with repeatable_ids("a"), opened(()) as made:
        for day, text in enumerate(TEXTS):
            made.commit(text, t_valid=f"2026-03-{day + 1:02}")
        yield made


def details(store: vestig.Vestig, asked: str = ASKED, **given: Any) -> tuple[FactDetail, ...]:
    found = store.retrieve(said(asked), debug=True, budget=100_000, **given).details
    assert found is not UNSET
    return found


def test_the_first_facts_are_those_of_recall_in_its_order(store: vestig.Vestig) -> None:
    recalled = store.recall(ASKED, limit=READ, all=True)
    found = details(store)
    assert [one.memory_id for one in found[:5]] == [hit.id for hit in recalled[:5]]
    assert {one.query for one in found[:5]} == {ASKED}
    assert [one.score for one in found[:5]] == [hit.score for hit in recalled[:5]]


def test_the_newest_version_comes_first_and_the_reason_says_so(store: vestig.Vestig) -> None:
    older = store.recall(ASKED, config={"ranking.newer_first": False})[0]
    assert older.content == TEXTS[0]
    first, second = details(store)[:2]
    assert store.show(first.memory_id).memory.content.endswith("6000")
    assert first.reason.newer_than == second.memory_id
    assert second.reason.older_than == first.memory_id


def test_a_fact_of_another_query_has_the_score_and_the_reason_that_it_has_there() -> None:
    texts = [f"Note {number} about the harbour and its ships" for number in range(40)]
    texts.append("Grace keeps the lantern of the lighthouse in Bergen")
    # what a follow-up leans on is longer than what is taken of it
    before = "I read each note about the harbour and its ships. " * 7
    talk = said(f"{before}And about the lighthouse lantern in Bergen.", "Where was it?")
    with opened(texts) as store:
        found = store.retrieve(talk, budget=100_000, debug=True).details
        assert found is not UNSET
        (one,) = [one for one in found if "lantern" in store.show(one.memory_id).memory.content]
        assert not one.query.startswith(talk[-1]["content"])
        (hit,) = [hit for hit in store.recall(one.query, limit=10) if hit.id == one.memory_id]
    assert one.score == pytest.approx(hit.score)
    assert one.reason.signals == hit.reason.signals


def test_its_relevance_is_the_confidence_of_recall(store: vestig.Vestig) -> None:
    for asked in (ASKED, "Who won the chess match in Lima?"):
        made = store.retrieve(said(asked)).metadata
        sure = store.recall(asked, limit=READ, all=True).confidence
        assert made.confidence_breakdown["relevance"].value == pytest.approx(sure)


def test_the_judge_reads_for_the_message_alone_and_once(judge: Judge) -> None:
    with opened(TEXTS, config=JUDGED) as store:
        first, *_ = details(store)
        made = store.retrieve(said("The server broke.", ASKED)).metadata
        assert made.queries_executed > 10
        assert "harbour" in store.show(first.memory_id).memory.content
        assert first.reason.judged is not UNSET
        assert set(judge.asked) == {ASKED}
        judge.read_count = 0
        sure = store.recall(ASKED, limit=READ, all=True).confidence
        assert judge.read_count == 5
        judge.read_count = 0
        again = store.retrieve(said(ASKED)).metadata.confidence_breakdown["relevance"].value
        assert judge.read_count == 5
        assert again == pytest.approx(sure)


def test_a_reranker_reads_for_the_message_alone() -> None:
    class Reading(WordReranker):
        asked: ClassVar[list[str]] = []

        def score(self, query: str, texts: Sequence[str]) -> bytes:
            self.asked.append(query)
            return super().score(query, texts)

    reranker = Reading()
    with opened(TEXTS, reranker=reranker, config=weighed(2.0, "words", "rerank")) as store:
        found = details(store)
        assert found[0].reason.signals["rerank"].weight == 2.0
    assert set(reranker.asked) == {ASKED}


def test_news_are_what_recall_would_keep() -> None:
    asked, texts = "Where is the staging server?", (TEXTS[2], *TEXTS[6:], "Bread is baked at six")
    with opened(texts, embedder=BuiltinEmbedder()) as store:
        kept = store.recall(asked, limit=READ, silence=1.0)
        assert 0 < len(kept) < len(texts)
        assert store.retrieve(said(asked)).metadata.new_facts_per_iteration[0] == len(kept)
    # without word pieces a right answer has a low score too: nothing is cut
    with opened(texts) as store:
        made = store.retrieve(said(asked)).metadata
        assert made.new_facts_per_iteration[0] == len(texts)


def test_what_is_forgotten_between_a_search_and_its_reading_is_no_fact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with opened(TEXTS) as store:
        gone = store.recall(ASKED)[0]
        read = searches.read_together

        def forgetting(*given: Any) -> Any:
            found = read(*given)
            if store.count() == len(TEXTS):
                store.forget(gone.id)
            return found

        monkeypatch.setattr(searches, "read_together", forgetting)
        found = store.retrieve(said(ASKED), debug=True)
    assert found.details is not UNSET
    assert gone.id not in [one.memory_id for one in found.details]
    assert len(found.facts) == len(TEXTS) - 1


def test_what_recall_is_silent_about_brings_little_and_is_low() -> None:
    """Five of the message itself, and nothing where the confidence is far from enough."""
    places = ("The ferry to Bergen", "The library", "The bakery in Oslo", "The night train")
    ends = ("opens at nine", "is closed on Sundays", "was painted green", "has a new owner")
    config = {"judge.budget_ms": 60_000.0}
    with vestig.open(":memory:", clock=FrozenClock(), config=config) as store:
        store.commit_many([*FACTS, *(f"{place} {end}." for place in places for end in ends)])
        for asked, most in (
            ("Who won the chess match in Lima?", 0),
            ("write a haiku about rain", 0),
            ("Where does Grace Hopper live?", 5),
        ):
            found = store.retrieve(said(asked))
            assert store.recall(asked).abstained
            assert (len(found.facts), found.messages, found.confidence) == (most, (), "low")
        answered = store.retrieve(said("Who maintains the billing service?"))
        assert len(answered.facts) > 5
        assert answered.confidence != "low"


@pytest.mark.parametrize("judges", [True, False])
def test_of_what_a_code_or_number_calls_that_nothing_holds_it_is_as_unsure_as_recall(
    judges: bool,
) -> None:
    config = {"judge": {"enabled": judges, "budget_ms": 60_000.0}}
    with vestig.open(":memory:", clock=FrozenClock(), config=config) as store:
        store.commit("Heparin batch HX4471 expires in March 2027.")
        found = store.retrieve(said("When does heparin batch HX4714 expire?"))
        assert (found.facts, found.confidence) == ((), "low")
        store.commit("The on-call pharmacist in week 12 is Jonas Falk.")
        for asked in ("When does heparin batch HX4714 expire?", "Who is on call in week 15?"):
            found = store.retrieve(said(asked))
            brought = store.recall(asked)
            assert len(brought) == 0 or not judges
            assert brought.certainty != "likely"
            assert found.confidence == "low"
            assert len(found.facts) <= (0 if judges else 2)
            # whoever wants all is told of no doubt
            assert len(store.recall(asked, all=True)) == 2
        for asked in ("When does heparin batch HX4471 expire?", "Who is on call in week 12?"):
            assert store.retrieve(said(asked)).confidence != "low"


def test_thanks_are_not_searched_for(store: vestig.Vestig) -> None:
    found = store.retrieve(said(ASKED, "Port 5433.", "ok great, thanks"), budget=9_000)
    assert (found.facts, found.messages, found.confidence) == ((), (), "low")
    assert (found.metadata.stop_reason, found.metadata.queries_executed) == ("no_queries", 0)


def test_what_a_message_does_not_lean_on_is_not_searched_for(store: vestig.Vestig) -> None:
    before = "Omar plays the cello in an orchestra, and Ada repairs the old server."
    for asked, names_it in ((ASKED, False), ("Since when does he play it?", True)):
        found = store.retrieve(said(before, asked), debug=True)
        queries = [text for call in found.metadata.tool_calls for text in call.queries]
        assert any("cello" in query for query in queries) == names_it


PEOPLE = ("Ada Brook", "Ben Cole", "Cara Drew", "Dov Ekman", "Elif Frost", "Finn Gale")
MANAGERS = ("Greta Aalto", "Oskar Weiss")


@each(
    "question",
    [
        "Who manages the owner of {}?",
        "Who does the owner of {} report to?",
        "Who is the manager of the person who owns {}?",
    ],
)
def test_what_a_found_name_leads_to_is_found_however_it_is_asked(question: str) -> None:
    with vestig.open(":memory:") as store:
        for at, person in enumerate(PEOPLE):
            store.commit(f"The mailer-{at} service is owned by {person}.")
            store.commit(f"{person} reports to {MANAGERS[at % 2]}.")
            store.commit(f"{person} sits in room {at + 40}.")
            store.commit(f"The printer of room {at + 40} takes toner M{at}.")
        asked = question.format("mailer-3")
        found = store.retrieve([{"role": "user", "content": asked}], max_facts=12)
    assert any(f"{PEOPLE[3]} reports to" in fact for fact in found.facts)


def test_the_line_of_an_older_version_says_so() -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        store.commit("Acme's plan is Starter.", t_valid="2026-01-05")
        store.commit("Acme's plan is Business.", t_valid="2026-02-05")
        asked = [{"role": "user", "content": "What plan is Acme on?"}]
        found = store.retrieve(asked, query_time="2026-09-01")
        assert found.facts == (
            "[2026-02-05] Acme's plan is Business.",
            "[2026-01-05] (older) Acme's plan is Starter.",
        )
