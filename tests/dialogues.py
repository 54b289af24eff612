"""Made dialogues in which a user states a fact and an assistant guesses another one later."""

# ruff: noqa: E501

from __future__ import annotations

from itertools import islice, product
from typing import Final, NamedTuple


class Dialogue(NamedTuple):
    """`fact` is the user's, `guess` the assistant's later one about the same, and `beside` a
    statement about the same subject that answers nothing; `key`: what fact and guess are the value
    of, None = they have no key."""

    question: str
    fact: str
    guess: str
    beside: str
    key: str | None


# key, question, the user's wordings, the assistant's wordings, values of both, and what answers
# nothing
_RELATIONS: Final = (
    (
        "{who}.city", "Where does {who} live?",
        ("{who} lives in {value}.", "{who} has a flat in {value} and lives there."),
        ("{who} lives in {value}.", "As far as I can tell, {who} lives in {value} now."),
        ("Porto", "Lisbon"), "{who} painted the flat in spring.",
    ),
    (
        "{who}.employer", "Which company does {who} work for?",
        ("{who} works for {value}.", "{who} is employed by the company {value}."),
        ("{who} works for {value}.", "{who} works for the company {value}, it seems."),
        ("Acme", "Globex"), "{who} had lunch with the people of the company.",
    ),
    (
        "{who}.birthday", "When is the birthday of {who}?",
        ("The birthday of {who} is on {value}.", "{who} has a birthday on {value}."),
        ("The birthday of {who} is on {value}.", "{who} was born on {value}, so that is the day."),
        ("3 May", "9 June"), "The birthday party of {who} was loud.",
    ),
    (
        "{who}.port", "Which port does the database of {who} listen on?",
        ("The database of {who} listens on port {value}.", "{who} set the database to port {value}."),
        ("The database of {who} listens on port {value}.", "The port of {who}'s database is {value}."),
        ("5433", "5432"), "The database of {who} runs on a new disk.",
    ),
    (
        "{who}.editor", "Which editor does {who} prefer?",
        ("{who} prefers {value} as an editor.", "The editor that {who} prefers is {value}."),
        ("{who} prefers the editor {value}.", "{who} probably prefers {value} as an editor."),
        ("Helix", "Emacs"), "{who} bought a licence for the editor.",
    ),
    (
        "{who}.deadline", "What is the deadline of {who}'s report?",
        ("The deadline of {who}'s report is {value}.", "{who} has to hand in the report by {value}, the deadline."),
        ("The deadline of {who}'s report is {value}.", "{who}'s report has its deadline on {value}."),
        ("Friday", "Tuesday"), "{who}'s report is about whales.",
    ),
    (
        "{who}.pet", "What is the name of {who}'s dog?",
        ("{who}'s dog is called {value}.", "The name of {who}'s dog is {value}."),
        ("{who}'s dog is called {value}.", "The dog of {who} has the name {value}."),
        ("Rex", "Bello"), "{who}'s dog was ill last week.",
    ),
    (
        "{who}.allergy", "What is {who} allergic to?",
        ("{who} is allergic to {value}.", "{who} has an allergy: {value}."),
        ("{who} is allergic to {value}.", "{who} seems to be allergic to {value}."),
        ("peanuts", "shellfish"), "{who} asked the doctor for an appointment.",
    ),
)  # fmt: skip
_PEOPLE: Final = ("Maria", "Jonas")


def made_dialogues(count: int = 60) -> list[Dialogue]:
    """So many dialogues: relations, people and wordings of both, half of them with keys."""
    chosen = product(_PEOPLE, range(2), range(2), _RELATIONS, (True, False))
    return [
        Dialogue(
            question=question.format(who=who),
            fact=facts[mine].format(who=who, value=value),
            guess=guesses[other].format(who=who, value=guessed),
            beside=beside.format(who=who),
            key=key.format(who=who.lower()) if keyed else None,
        )
        for who, mine, other, relation, keyed in islice(chosen, count)
        for key, question, facts, guesses, (value, guessed), beside in (relation,)
    ]
