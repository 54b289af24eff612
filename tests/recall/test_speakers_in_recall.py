"""What an assistant or a tool states is shown as such, and stands behind what a user states."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import vestig
from dialogues import Dialogue, made_dialogues
from vestig.echoes import Memories, Stored, unframed
from vestig.recall.layouts import FORMATS, render
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.types import Status

OTHERS: Final = (
    "The meeting about the budget was moved.",
    "Jonas cooks on Sundays.",
    "Maria plays chess with Omar.",
    "The staging server runs Debian.",
    "Acme sells anvils.",
)


# Every relation, with a key and without; all wordings of each in torture.
sampled = pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.torture)])


@pytest.fixture(scope="module")
def embedder() -> vestig.Embedder:
    with vestig.open(":memory:") as opened:
        return opened._session.embedder


def order(
    embedder: vestig.Embedder, said: Dialogue, first: str, role: str, *, confirmed: bool = False
) -> list[str]:
    """The texts that a question finds after a user's statement and a guess of this role."""
    with vestig.open(":memory:", embedder=embedder) as store:
        for text in OTHERS:
            store.commit(text, role="user", t_valid="2026-01-01")
        for text, who, since in ((first, "user", "2026-03"), (said.guess, role, "2026-05")):
            key = None if first == said.beside else said.key
            made = store.commit(text, role=who, t_valid=f"{since}-01", key=key)
        if confirmed:
            store.confirm(str(made.memory_id), by="Ada")
        found = [one.content for one in store.recall(said.question, all=True)]
        return [text for text in found if text in (first, said.guess)]


@sampled
def test_the_fact_of_the_user_comes_before_the_later_guess(
    embedder: vestig.Embedder, step: int
) -> None:
    wrong = [
        one
        for one in made_dialogues(60)[::step]
        if order(embedder, one, one.fact, "assistant")[0] != one.fact
    ]
    assert wrong == []


@sampled
def test_what_answers_nothing_stays_behind_a_guess(embedder: vestig.Embedder, step: int) -> None:
    keyed = [one for one in made_dialogues(64) if one.key is not None]
    wrong = [
        one
        for one in keyed[::step]
        if order(embedder, one, one.beside, "assistant")[0] != one.guess
    ]
    assert wrong == []


@sampled
def test_a_confirmed_guess_ranks_as_that_of_a_user(embedder: vestig.Embedder, step: int) -> None:
    keyless = [one for one in made_dialogues(60) if one.key is None]
    for said in keyless[::step]:
        confirmed = order(embedder, said, said.fact, "assistant", confirmed=True)
        assert confirmed == order(embedder, said, said.fact, "user"), said


@pytest.mark.parametrize(
    "question",
    [
        "Where did Rasa move in spring?",
        "Where had Rasa moved to?",
        "Where was Rasa living on 3 June 2026?",
    ],
)
def test_a_guess_stands_behind_where_the_question_asks_for_no_newest(
    embedder: vestig.Embedder, question: str
) -> None:
    texts = {"user": "Rasa moved to Riga in spring.", "assistant": "Rasa moved to Oslo in spring."}

    def found(*roles: str) -> list[str]:
        with vestig.open(":memory:", embedder=embedder) as store:
            for month, (text, role) in enumerate(zip(texts.values(), roles, strict=True), start=3):
                store.commit(text, role=role, t_valid=f"2026-{month:02}-01")
            return [one.content for one in store.recall(question, all=True)]

    fact, guess = texts.values()
    assert found("user", "assistant") == [fact, guess]
    assert found("assistant", "user") == [guess, fact]
    # of one kind, both stay where their scores put them
    assert found("user", "user") == found("assistant", "assistant")


# --- dialogues that were written without sight of the rules -------------------------------------

UNSEEN: Final = [
    json.loads(line)
    for line in (Path(__file__).parent / "dialogues_unseen.jsonl").read_text("utf-8").splitlines()
]
# The fact lies more than the bounds of a version below the guess, and reads as no answer to a
# judge; that of the practice has no word beside those of the question.
MISSED: Final = {
    "What is broken on Luca's scooter?",
    "When does Dr. Okonkwo's practice close on Wednesdays?",
    "Which format does the archive use?",
}
UNCONFIRMED: Final = {
    "Build artefacts are kept for 14 days, yes.",
    "The clock tower bell is tuned to B flat, that is correct.",
    "I checked: Hamid's carpet is from Tabriz.",
    "Ja, das Boot von Friederike liegt in Greetsiel.",
    "My tent's flysheet is 20-denier nylon.",
    "My lease ends on 31 August 2027.",
}
some = pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.torture)])


@pytest.mark.slow
@some
def test_dialogues_of_others(embedder: vestig.Embedder, step: int) -> None:
    wrong = list[str]()
    for said in UNSEEN[::step]:
        with vestig.open(":memory:", embedder=embedder) as store:
            for text in OTHERS:
                store.commit(text, role="user", t_valid="2026-01-01")
            made = [
                store.commit(
                    text,
                    role=None if role == "document" else role,
                    t_valid=f"2026-{3 + 2 * place:02}-01",
                    session_id="talk",
                    sequence=place,
                )
                for place, (role, text) in enumerate(said["turns"])
            ]
            texts = [text for _, text in said["turns"]]
            stored = [store.get(str(one.memory_id)) for one in made]
            assert {one.status for one in stored} == {Status.ACTIVE}
            hits = store.recall(said["question"], all=True)
            first = next((one.content for one in hits if one.content in texts), None)
            if said["kind"] == "confirmed":
                assert stored[0].confirmed is (texts[1] not in UNCONFIRMED), said
            elif first != texts[said["first"]] and said.get("how") != "agrees":
                wrong.append(said["question"])
    assert set(wrong) == MISSED & {said["question"] for said in UNSEEN[::step]}


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as opened:
        opened.commit("The gate of the pier is blue", role="user", t_valid="2026-03-01")
        guess = opened.commit(
            "The gate of the pier is red", role="assistant", author="Bot", t_valid="2026-05-01"
        )
        tool = opened.commit("The gate of the pier is 4 m wide", role="tool", t_valid="2026-05-02")
        opened.confirm(str(tool.memory_id), by="Ada")
        assert guess.memory_id
        yield opened


def test_a_guess_does_not_come_without_what_a_user_states_about_the_same(
    embedder: vestig.Embedder,
) -> None:
    fact = "Redis was taken out of the queue in spring."
    guess = "The queue is based on Redis."

    def found(role: str, *, fact: str = fact) -> list[str]:
        with vestig.open(":memory:", embedder=embedder) as store:
            store.commit(fact, role="user", t_valid="2026-01-01")
            store.commit("The queue at the bakery was long.", role="user", t_valid="2026-01-03")
            store.commit(guess, role=role, t_valid="2026-02-01")
            return [one.content for one in store.recall("What is the queue based on?")]

    assert found("assistant") == [guess, fact]
    assert found("user") == [guess]
    # one word in common says nothing of the same
    assert found("assistant", fact="Omar repaired the queue.") == [guess]


def test_every_layout_says_who_stated_it(store: vestig.Vestig) -> None:
    found = store.recall("What is the gate of the pier like?", all=True, context=True, budget=400)
    assert len(found) == 3
    for layout in FORMATS:
        shown = render(found, layout)
        if layout == "list":
            assert (
                shown.count("\nRole: assistant\n") == shown.count("\nRole: tool, confirmed\n") == 1
            )
        else:
            assert shown.count(", role=assistant)") == 1
            assert shown.count(", role=tool, confirmed)") == 1
    block = "" if found.context is None else found.context.text
    assert "Bot (assistant): The gate of the pier is red" in block
    assert "(tool, confirmed): The gate of the pier is 4 m wide" in block
    assert "user (older): The gate of the pier is blue" in block
    plain = {
        (one.get("role"), one.get("confirmed"), one["content"].split()[6])
        for one in found.to_dict()["results"]
    }
    assert plain == {(None, None, "blue"), ("assistant", False, "red"), ("tool", True, "4")}
    flags = {one.content: one.reason.flags for one in found}
    assert "unconfirmed" in flags["The gate of the pier is red"]
    assert "confirmed" in flags["The gate of the pier is 4 m wide"]


def test_an_echo_of_a_model_is_taken_out_before_and_after_it_is_confirmed(
    store: vestig.Vestig,
) -> None:
    found = store.recall("What is the gate of the pier like?", all=True, context=True, budget=400)
    assert found.context is not None
    shown = [render(found, layout) for layout in FORMATS] + [found.context.text]
    for confirmed in (False, True):
        if confirmed:
            guess = next(one.id for one in found if one.content.endswith("red"))
            store.confirm(guess, by="Ada")
        stored = {one.id: Stored(store.get(one.id)) for one in found}
        by_short = {id[4:12]: one for id, one in stored.items()}
        by_text = {one.memory.content: one for one in stored.values()}
        memories = Memories(
            by_id=lambda id, s=stored, b=by_short: s.get(id) or b.get(id), by_text=by_text.get
        )
        for text in shown:
            assert unframed(text, memories).text.strip() == "", text


def test_a_filter_takes_what_somebody_stands_for(store: vestig.Vestig) -> None:
    question = "What is the gate of the pier like?"
    sure = [one.content for one in store.recall(question, where={"confirmed": True}, all=True)]
    assert len(sure) == 2
    assert "The gate of the pier is red" not in sure
    (guess,) = store.recall(question, where={"confirmed": False}, all=True)
    assert guess.memory.role == "assistant"


def test_the_reason_says_why_a_guess_stands_behind(embedder: vestig.Embedder) -> None:
    said = next(one for one in made_dialogues(1))
    with vestig.open(":memory:", embedder=embedder) as store:
        store.commit(said.fact, role="user", t_valid="2026-03-01")
        store.commit(said.guess, role="assistant", t_valid="2026-05-01")
        first, second = store.recall(said.question, all=True)
        assert (first.content, second.content) == (said.fact, said.guess)
        for one in (first, second):
            assert one.reason.newer_than is one.reason.older_than is None
        told = second.reason.explanation
        moved = isinstance(second.reason.own_final_score, float)
        assert ("stands behind what one stated" in str(told)) is moved


@sampled
def test_stores_without_roles_are_ranked_as_ever(embedder: vestig.Embedder, step: int) -> None:
    """A statement of no role counts as one of a user: the numbers are those of the formula."""

    def found(role: str | None) -> list[Any]:
        clock = FrozenClock("2026-06-01T00:00:00Z")
        with vestig.open(":memory:", embedder=embedder, clock=clock) as store:
            note = {"origin_type": "note"}
            for place, said in enumerate(made_dialogues(32)):
                day = f"2026-03-{1 + place % 28:02}"
                store.commit(said.fact, role=role, t_valid=day, provenance=note)
                store.commit(said.guess, role=role, t_valid=day, provenance=note)
            results = [store.recall(one.question, all=True) for one in made_dialogues(32)[::step]]
            return [
                [(hit.content, hit.score, hit.final, hit.similarity) for hit in one]
                for one in results
            ]

    assert found(None) == found("user")
