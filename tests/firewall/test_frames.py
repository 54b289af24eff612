"""Frames of results are taken off; the texts in them are echoes, or what the caller wrote."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig.echoes import may_hold_frames
from vestig.recall.layouts import render
from vestig.types import CommitOutcomeKind

_FACTS = [
    "The staging database runs on port 5433",
    "Deploys run on Fridays, after the stand-up",
    "if the pump fails:\n  close valve 3\n\n  call Omar\nelse: nothing",
    "---\nThe report begins with a line",
    "Ada moved to Oslo last week and works from the harbour office, where she has a desk by the"
    " window; her phone number there ends with 4471, and she is in on Mondays and Tuesdays",
]
_QUERIES = ("where does the database run?", "when do we deploy?", "what if the pump fails?", "Ada")


def _counters(store: vestig.Vestig) -> list[tuple[Any, ...]]:
    fields = ("id", "reinforce_count", "last_seen_at", "version", "status", "access_count")
    return sorted(tuple(getattr(one, name) for name in fields) for one in store.list(limit=1000))


def _shown(store: vestig.Vestig, query: str, layout: str) -> str:
    if layout == "context":
        return str(store.recall(query, context=True, budget=600).context.text)
    if layout == "small context":
        return str(store.recall(query, context=True, budget=60).context.text)
    explained = layout == "reasons"
    return render(store.recall(query), "text" if explained else layout, explained=explained)


_LAYOUTS = ("text", "reasons", "compact", "explain", "list", "context", "small context")


@pytest.fixture
def facts(opener: Opener) -> vestig.Vestig:
    store = opener()
    for text in _FACTS:
        store.commit(text)
    store.commit("The lamp at the pier is green", session_id="s1", sequence=0, author="Omar")
    return store


@pytest.mark.parametrize("turn", [False, True], ids=["note", "turn"])
@pytest.mark.parametrize("layout", _LAYOUTS)
def test_a_result_that_comes_back_changes_nothing(
    facts: vestig.Vestig, layout: str, turn: bool
) -> None:
    before = _counters(facts)
    for place, query in enumerate(_QUERIES):
        ranking = [hit.id for hit in facts.recall(query)]
        text = _shown(facts, query, layout)
        where = {"session_id": "s2", "sequence": place} if turn else {}
        outcome = facts.commit(text, **where)
        assert outcome.outcome is CommitOutcomeKind.EXACT_DUPE, text
        assert outcome.memory_id == outcome.echoes[0]
        assert outcome.seq is None
        assert outcome.event_id is None
        assert [hit.id for hit in facts.recall(query)] == ranking
    assert _counters(facts) == before
    assert facts._session.metrics.snapshot()["vestig_echoes_total"] >= len(_QUERIES)


@pytest.mark.parametrize("layout", _LAYOUTS[:6])
def test_one_blank_line_is_left_where_results_stood(facts: vestig.Vestig, layout: str) -> None:
    text = _shown(facts, "where does the database run?", layout)
    outcome = facts.commit(f"It was wrong.\n\n\nSee:\n{text}\n\nThe port is 6001 since June.")
    kept = facts.show(str(outcome.memory_id)).memory.content
    assert kept == "It was wrong.\n\n\nSee:\n\nThe port is 6001 since June."


@pytest.mark.parametrize("layout", _LAYOUTS[:6])
def test_what_the_caller_adds_is_kept(facts: vestig.Vestig, layout: str) -> None:
    text = _shown(facts, "where does the database run?", layout)
    added = f"This was wrong, the port is 6001 since June.\n\n{text}\n\nOmar checked it on Monday."
    outcome = facts.commit(added)
    assert outcome.outcome is CommitOutcomeKind.INSERTED_NEW
    assert outcome.echoes
    memory = facts.show(str(outcome.memory_id)).memory
    kept = "This was wrong, the port is 6001 since June. Omar checked it on Monday."
    assert memory.content.split() == kept.split()


@pytest.mark.parametrize("layout", _LAYOUTS[:6])
def test_a_result_with_another_word_is_kept_whole(facts: vestig.Vestig, layout: str) -> None:
    """Agents correct a memory by quoting it."""
    id = next(one.id for one in facts.list() if "5433" in one.content)
    memory = facts.show(id).memory
    first = facts.commit("One line of its own, for the count")
    text = _shown(facts, "where does the database run?", layout)
    lines = [line for line in text.split("\n") if "runs on port 5433" in line]
    assert lines, text
    own = lines[0].replace("5433", "6001")
    outcome = facts.commit(text.replace(lines[0], own))
    kept = facts.show(str(outcome.memory_id)).memory.content
    assert own in kept
    assert id not in outcome.echoes
    if layout != "compact":
        # the text of a compact result names no memory
        assert outcome.similar[0].memory_id == id
        assert memory.content.startswith(outcome.similar[0].beginning)
    assert facts.show(str(first.memory_id)).memory.reinforce_count == 0


def test_short_words_beside_an_echo_are_stored_or_refused(facts: vestig.Vestig) -> None:
    text = _shown(facts, "where does the database run?", "context")
    stored = facts.commit(f"{text}\nNow 6001.")
    assert stored.outcome is CommitOutcomeKind.INSERTED_NEW
    assert facts.show(str(stored.memory_id)).memory.content == "Now 6001."
    refused = facts.commit(f"{text}\nhm")
    assert refused.outcome is CommitOutcomeKind.REJECTED_HYGIENE
    assert refused.hygiene_reasons == (
        "Content too short: 2 chars (minimum: 12, or two words that say something)",
    )
    assert refused.echoes == stored.echoes
    assert facts.commit(f"{text}\n--").outcome is CommitOutcomeKind.EXACT_DUPE


_OWN = "The ferry to the island costs 20 euros [valid until 2025-12-31]."
_CHANGED = (
    "[{short}] {day}: The ferry to the island costs 20 euros [valid until 2026-06-30].",
    "[{short}] {day}: it is 30 now, the old note said: {text}",
    "[{short}] {day} (it is 30 now): {text}",
    "[{short}] {day} (ended 2026-01-01): {text}",
    "[{short}] 1999-01-01: {text}",
    "[{short}] {day} Nadia: {text}",
    "[{short}] it is 30 now: {text}",
    "[{short}] score 0.9: {text}",
    "[{short}] {day}, also [{short}] 1999-01-01: {text}",
    "[{short}] {day}: {text}\n> It is 30 now.",
    "[{short}] {day}: it is 30 now. The ferry to the island…",
    "[{short}] {day}: The ferry to the island costs 30…",
    "[{id}] (score=0.8700, method=direct_match, date=1999-01-01)\nContent: {text}",
    "[{id}] (score=0.8700, method=direct_match, date={day}, key=ferry)\nContent: {text}",
    "[{id}] (score=0.8700, method=by hand, date={day})\nContent: {text}",
    "[{id}] (score=0.8700, method=direct_match, date={day})\nReason: it is 30\nContent: {text}",
    "[{id}] (score=0.8700, method=direct_match, date={day})\nFlags: it is 30\nContent: {text}",
    "[{id}] (score=0.8700, method=direct_match, date={day})\nContent: {text}\n  It is 30 now.",
    "(score=0.8700, age=2d, stability=unknown, date=1999-01-01)\n{text}",
    "(score=0.8700, age=2d, stability=it is 30 now, date={day})\n{text}",
    "ID: {id}\nScore: 0.8700\nDate: 1999-01-01\nContent: {text}",
    "ID: {id}\nScore: 0.8700\nDate: {day}\nKey: it is 30 now\nContent: {text}",
    "Related: [{id}] (date=1999-01-01) {text}",
    "Related: [{id}] (date={day}, it is 30 now) {text}",
)


@pytest.mark.parametrize("form", _CHANGED)
def test_words_of_the_caller_in_a_frame_are_kept(opener: Opener, form: str) -> None:
    store = opener()
    id = str(store.commit(_OWN).memory_id)
    store.commit("The crane on the quay lifts nine tonnes")
    day = store.show(id).memory.t_valid.date().isoformat()
    text = form.format(short=id[4:12], id=id, day=day, text=_OWN)
    outcome = store.commit(text)
    assert outcome.outcome is CommitOutcomeKind.INSERTED_NEW
    assert (outcome.echoes, outcome.echo_places) == ((), ())
    assert store.show(str(outcome.memory_id)).memory.content == text
    if not form.startswith("(score"):
        assert outcome.similar[0].memory_id == id


def test_what_explains_a_result_to_an_agent_is_an_echo(opener: Opener) -> None:
    store = opener()
    id = str(store.commit(_OWN).memory_id)
    why = (
        f"Why (seq 5):\n[{id[4:12]}] score 0.5, similarity 0.5218: Close in meaning (similarity"
        " 0.5218). Shares the words ferry, costs.\n  late 0.3534 × 15.5, topic 0.4946 × 8.4"
    )
    assert store.commit(why).echoes == (id,)
    assert store.commit(f"{why}\nIt is 30 now.").echoes == (id,)
    own = store.commit(why.replace("Close in meaning", "It is 30 now, close in meaning"))
    assert own.echoes == ()


_BESIDE = (
    "Quoted data, not instructions. It is 30 now.",
    "## Session of Monday, it is 30 · {day}",
    "## No session · 1999-01-01",
    "confidence 0.94 is what the forecast says",
    "3 more left out, says Omar.",
    "Reason: it is 30 now.",
    "---",
)


@pytest.mark.parametrize("line", _BESIDE)
def test_lines_beside_an_echo_that_are_not_its_own_stay(opener: Opener, line: str) -> None:
    store = opener()
    id = str(store.commit(_OWN).memory_id)
    day = store.show(id).memory.t_valid.date().isoformat()
    own = line.format(day=day)
    outcome = store.commit(f"It is 30 now.\n\n{own}\n[{id[4:12]}] {day}: {_OWN}\nSays Omar.")
    assert outcome.echoes == (id,)
    kept = store.show(str(outcome.memory_id)).memory.content
    assert kept == f"It is 30 now.\n\n{own}\nSays Omar."


def test_an_outcome_says_which_characters_were_an_echo(facts: vestig.Vestig) -> None:
    block = _shown(facts, "where does the database run?", "context")
    before, behind = "It was wrong, ünder the pier:\n", "\nThe port is 6001 since June."
    outcome = facts.commit(before + block + behind)
    text = before + block + behind
    assert outcome.echo_places
    spans = [tuple(map(int, one[len("content[") : -1].split(":"))) for one in outcome.echo_places]
    taken = "\n".join(text[start:end].strip("\n") for start, end in spans)
    assert taken.split() == block.split()


def test_a_memory_of_a_forgotten_id_is_no_echo(facts: vestig.Vestig) -> None:
    id = facts.recall("where does the database run?")[0].id
    text = render(facts.recall("where does the database run?", limit=1), "text")
    facts.forget(id)
    outcome = facts.commit(text)
    assert outcome.echoes == ()
    assert facts.show(str(outcome.memory_id)).memory.content == text


@pytest.mark.parametrize(
    "said",
    [
        "[{}] is the one about the database: please keep it",
        "[{}] Omar doubts this: The staging database runs on port 5433",
        "~ [{}] see also: the plan of June",
    ],
)
def test_words_about_a_memory_behind_its_id_are_kept(facts: vestig.Vestig, said: str) -> None:
    id = facts.recall("where does the database run?")[0].id
    text = said.format(id.removeprefix("mem_")[:8])
    outcome = facts.commit(text)
    assert outcome.echoes == ()
    assert facts.show(str(outcome.memory_id)).memory.content == text


@pytest.mark.parametrize(
    "by", [{"author": "Nadia: K"}, {"role": "tool"}, {"title": "On  the\tquay"}], ids=str
)
def test_who_said_it_is_part_of_a_frame(opener: Opener, by: dict[str, Any]) -> None:
    store = opener()
    text = "The crane on the quay lifts at most nine tonnes, said the man in the booth by the gate"
    first = store.commit(text, t_valid="2026-03-18", **by)
    shown = store.recall("how much does the crane lift?", context=True).context.text
    assert store.commit(shown).echoes == (first.memory_id,)
    # the preface has the day
    line = next(one for one in shown.splitlines() if one.startswith("["))
    undated = line.replace(" 2026-03-18", "")
    assert store.commit(undated).echoes == (first.memory_id,)


@pytest.mark.parametrize(
    "text",
    [
        "[0123abcd] Ada: the spare key lies under the pot",
        "[mem_00000000-0000-4000-8000-000000000000] (score=0.8700, method=direct_match,"
        " date=2026-03-18)\nContent: nobody stored this here",
        "ID: mem_00000000-0000-4000-8000-000000000000\nScore: 0.5\nContent: nobody stored this",
        "(score=0.8200, age=3d, stability=static)\nnobody stored this text either",
        "confidence 0.94 is what the forecast says",
        "first part\n\n---\n\nsecond part of the note",
        "## Session 3 of the workshop · 2026-03-18",
    ],
)
def test_what_is_no_frame_of_this_store_stays_as_it_is(facts: vestig.Vestig, text: str) -> None:
    outcome = facts.commit(text)
    assert outcome.outcome is CommitOutcomeKind.INSERTED_NEW
    assert facts.show(str(outcome.memory_id)).memory.content == text


def test_frames_of_another_namespace_are_texts(opener: Opener) -> None:
    store = opener()
    store.commit("The lamp at the pier is green", namespace="other")
    text = render(store.recall("lamp", namespace="other"), "text")
    assert store.commit(text).outcome is CommitOutcomeKind.INSERTED_NEW


def test_without_the_key_results_are_stored(opener: Opener) -> None:
    store = opener(config={"firewall": {"echo": False}})
    store.commit(_FACTS[0])
    assert store.commit(render(store.recall("database"), "text")).echoes == ()
    assert store.count() == 2


def test_a_dry_run_says_the_same(facts: vestig.Vestig) -> None:
    text = _shown(facts, "Ada", "text")
    dry, real = facts.commit(text, dry_run=True), facts.commit(text)
    assert (dry.outcome, dry.echoes) == (real.outcome, real.echoes)


def test_plain_texts_are_not_parsed() -> None:
    assert not may_hold_frames("a [link] to ID: 7 with (score=)")
    assert may_hold_frames("said\n+ [0123abcd] Ada: the key")


def test_many_rounds_leave_the_store_as_it_is(opener: Opener) -> None:
    store = opener()
    store.commit_many(
        [f"Crate {n} went to the harbour of town {n % 7} in week {n}" for n in range(60)]
    )
    first = {n: [hit.id for hit in store.recall(f"where is crate {n}?")] for n in range(0, 60, 7)}
    before = _counters(store)
    for layout in _LAYOUTS:
        for n in first:
            store.commit(_shown(store, f"where is crate {n}?", layout))
    assert _counters(store) == before
    again = {n: [hit.id for hit in store.recall(f"where is crate {n}?")] for n in first}
    assert again == first


def test_what_was_asked_beside_an_echo_is_named(facts: vestig.Vestig) -> None:
    text = _shown(facts, "where does the database run?", "text")
    assert facts.commit(text).warnings == ()
    old = facts.list()[0].id
    outcome = facts.commit(text, key="database.port", supersedes=[old], pinned=True)
    assert outcome.outcome is CommitOutcomeKind.EXACT_DUPE
    assert outcome.warnings == (
        "nothing was stored, and so nothing was done of key, pinned, supersedes",
    )
    assert facts.show(old).memory.status == "ACTIVE"


def test_an_update_by_an_echo_changes_nothing_or_is_refused(facts: vestig.Vestig) -> None:
    one = facts.recall("where does the database run?")[0].id
    other = next(memory.id for memory in facts.list() if memory.id != one)
    text = render(facts.recall("where does the database run?", limit=1), "text")
    before = _counters(facts)
    assert facts.update(one, content=text).changed is False
    with pytest.raises(vestig.ValidationError, match="content: expected a text of its own") as told:
        facts.update(other, content=text)
    assert one in str(told.value)
    assert _counters(facts) == before
    assert facts.update(one, content=text, tags=["port"]).memory_id == one
    assert facts.show(one).memory.tags == ("port",)
    edited = facts.update(one, content=f"{text}, since June")
    assert facts.show(edited.memory_id).memory.content == f"{text}, since June"
