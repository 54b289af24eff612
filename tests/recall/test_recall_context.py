"""`recall(context=True)`: neighbours, folding, budget and abstention."""

from __future__ import annotations

import os
import random
import re
from typing import Any

import pytest

import vestig
from calls import committing, selecting
from scripted import Opener, pair
from vestig.answers import ContextBlock
from vestig.config.weights import SIGNALS
from vestig.ids import NewIds, id_text
from vestig.recall.context.block import ESTIMATE, estimate
from vestig.testing import FailingEmbedder, FrozenClock, HashingEmbedder, vector_at

QUERY = "where did Ben go on holiday?"
# By meaning alone the question of the talk is the first: it asks what is asked here.
MEANING = "baseline"
ID = re.compile(r"\[([0-9a-f]{8})\]")
TALK = (
    ("Ann", "Where did you go on holiday, Ben?"),
    ("Ben", "Oslo, for three days last week"),
    ("Ann", "I would rather stay at home"),
    ("Ben", "The opera was the best of it"),
)


class Counting(HashingEmbedder):
    """A model whose word pieces are words."""

    def count_pieces(self, text: str) -> int:
        return len(text.split())


def talk(store: vestig.Vestig, *turns: tuple[str, str], **fields: Any) -> list[str]:
    given = {"session_id": "s-1", "t_valid": "2026-03-10T09:00:00Z", **fields}
    ids = []
    for place, (author, text) in enumerate(turns or TALK):
        outcome = store.commit(
            text, author=author, sequence=place, t_ref=given["t_valid"], **committing(given)
        )
        ids.append(str(outcome.memory_id))
    return ids


def context(store: vestig.Vestig, query: str = QUERY, **fields: Any) -> ContextBlock:
    fields.setdefault("all", "silence" not in fields)
    fields.setdefault("profile", MEANING)
    found = store.recall(query, context=True, **selecting(fields)).context
    assert isinstance(found, ContextBlock)
    return found


def short(id: str | None) -> str:
    return str(id)[4:12]


def test_a_block_with_the_answer_beside_its_question(opener: Opener) -> None:
    store = opener(embedder=Counting())
    ids = talk(store)
    found = store.recall(QUERY, limit=1, context=True, all=True, profile=MEANING)
    assert [hit.id for hit in found] == [ids[0]]
    block = found.context
    assert isinstance(block, ContextBlock)
    assert (block.ids, block.neighbours, block.left_out) == ((ids[0],), (ids[1], ids[2]), ())
    assert block.text.split("\n")[2:] == [
        "## Session s-1 · 2026-03-10",
        f"[{short(ids[0])}] Ann: Where did you go on holiday, Ben?",
        f"+ [{short(ids[1])}] Ben: Oslo, for three days last week [2026-03-02 to 2026-03-08]",
        f"+ [{short(ids[2])}] Ann: I would rather stay at home",
    ]
    assert (block.tokens, block.counted_by) == (
        len(block.text.split()),
        store._session.embedder.model,
    )
    assert found.to_dict()["context"]["neighbours"] == ids[1:3]
    assert "context" not in store.recall(QUERY, limit=1).to_dict()


@pytest.mark.parametrize("profile", ["default", "reference", "baseline"])
def test_every_profile_and_every_switch(opener: Opener, profile: str) -> None:
    store = opener(embedder=Counting())
    ids = talk(store)
    for config in ({}, {"recall.reasons.enabled": False}, {"ranking.enabled": False}):
        block = context(store, limit=2, profile=profile, config=config)
        assert set(ID.findall(block.text)) == {short(id) for id in (*block.ids, *block.neighbours)}
        assert len(block.ids) == 2
        assert ids[1] in (*block.ids, *block.neighbours)


@pytest.mark.parametrize("looked_up_max", [2_000, 0])
def test_neighbours_pass_every_filter(
    opener: Opener, monkeypatch: pytest.MonkeyPatch, looked_up_max: int
) -> None:
    """However their sessions are read: memory by memory, or around the results."""
    monkeypatch.setattr("vestig.recall.context.entries._LOOKED_UP_MAX", looked_up_max)
    store = opener(embedder=Counting())
    ids = talk(store, source="chat", tags=["a"])
    first = store.commit(TALK[0][1], author="Eve", session_id="s-2", sequence=0, scope="x")
    other = store.commit("Rome, as ever", author="Dan", session_id="s-2", sequence=1, scope="y")
    assert context(store, limit=1, authors=["Ann"]).neighbours == (ids[2],)
    assert context(store, limit=1, exclude_ids=ids[1:3], authors=["Ann", "Ben"]).neighbours == (
        ids[3],
    )
    assert context(store, limit=1, ids=[ids[0], ids[3]]).neighbours == (ids[3],)
    assert context(store, limit=1, tags=["a"]).neighbours == (ids[1], ids[2])
    # another scope is another session
    assert other.memory_id not in context(store, limit=1, authors=["Eve", "Dan"]).neighbours
    assert context(store, limit=1, authors=["Eve"]).ids == (first.memory_id,)
    store.deprecate(ids[1])
    assert ids[1] not in context(store, limit=1, session_ids=["s-1"]).neighbours
    withdrawn = context(store, limit=1, session_ids=["s-1"], include_expired=True)
    assert withdrawn.neighbours == (ids[1], ids[2])
    assert f"+ [{short(ids[1])}] Ben (withdrawn): Oslo" in withdrawn.text


def test_neighbours_are_of_the_time_asked_for(opener: Opener, clock: FrozenClock) -> None:
    store = opener(embedder=Counting())
    ids = talk(store, TALK[0])
    before = clock.move(days=1)
    outcome = store.commit("Oslo, as I said", author="Ben", session_id="s-1", sequence=1)
    late = str(outcome.memory_id)
    clock.move(days=1)
    assert context(store, limit=1).neighbours == (late,)
    block = context(store, limit=1, known_at="2026-03-18T13:00:00Z")
    assert (block.ids, block.neighbours) == ((ids[0],), ())
    now = clock.move(days=1)
    store.deprecate(late, t_invalid=before)
    clock.move(days=1)
    assert context(store, limit=1, authors=["Ann", "Ben"]).neighbours == ()
    then = context(store, limit=1, known_at=now - (now - before) / 2)
    assert then.neighbours == (late,)
    assert "ended" not in then.text
    assert "withdrawn" not in then.text


def test_min_similarity_holds_for_neighbours(opener: Opener) -> None:
    vectors = {f"Ann: {TALK[0][1]}": vector_at(0.9), f"Ben: {TALK[1][1]}": vector_at(0.4, axis=2)}
    store = opener(vectors={QUERY: vector_at(1.0), **vectors})
    ids = talk(store)
    assert context(store, limit=1).neighbours == (ids[1], ids[2])
    assert context(store, limit=1, min_similarity=0.3).neighbours == (ids[1],)
    block = context(store, limit=1, min_similarity=0.5)
    assert (block.ids, block.neighbours) == ((ids[0],), ())


def test_a_forgotten_neighbour_is_gone(opener: Opener) -> None:
    store = opener(embedder=Counting())
    ids = talk(store)
    assert context(store, limit=1).neighbours == (ids[1], ids[2])
    store.forget(ids[1])
    block = context(store, limit=1)
    assert block.ids == (ids[0],)
    assert "Oslo" not in block.text


def test_a_turn_that_has_the_words_stands_in_the_context(opener: Opener) -> None:
    store = opener(embedder=Counting())
    turns = (
        ("Ann", "So much for the whole week"),
        ("Ben", "The red pump of the boiler failed"),
        ("Ann", "Nothing else is to be block"),
    )
    ids = talk(store, *turns)
    own = "ranking.weights.chat_peer"
    weights = {f"{own}.{name}": 0.0 for name in SIGNALS} | {f"{own}.words": 9.0}
    query = "what happened to the red pump of the boiler?"
    block = context(store, query, limit=1, config=weights, profile="default")
    assert (block.ids, block.neighbours) == ((ids[1],), (ids[0], ids[2]))


def test_long_sessions_are_read_around_the_results(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opener(embedder=Counting())
    texts = {n: ("Eve", f"filler number {n}") for n in range(90) if not 60 < n < 90}
    # at the beginning, in the middle, before a gap, and at the end
    for place, after in ((0, 1), (40, 41), (60, 160), (500, 501)):
        texts[place] = ("Ann", f"Where did you go on holiday {place}, Ben?")
        texts[after] = ("Ben", f"Oslo, as on every holiday since {place}")
    ids = {
        place: store.commit(text, author=author, sequence=place, session_id="s-1").memory_id
        for place, (author, text) in texts.items()
    }
    arguments: dict[str, Any] = {"limit": 3, "authors": ["Ann", "Ben"], "budget": 5000}
    plain = context(store, **arguments)
    monkeypatch.setattr("vestig.recall.context.entries._LOOKED_UP_MAX", 0)
    for one in (
        context(store, **arguments),
        context(store, **{**arguments, "ids": list(ids.values())}),
    ):
        assert one == plain
    answers = {ids[0]: ids[1], ids[40]: ids[41], ids[60]: ids[160], ids[500]: ids[501]}
    asking = [id for id in plain.ids if id in answers]
    assert asking
    assert {answers[id] for id in asking} <= {*plain.ids, *plain.neighbours}


# --- folding ------------------------------------------------------------------------------------


def near(first: str, second: str, opener: Opener, **fields: Any) -> tuple[Any, ContextBlock]:
    """Two texts at cosine 0.95, both stored, and the context of both."""
    store = opener(vectors=pair(0.95, first, second, query="the question"))
    ids = [
        store.commit(text, on_near_dup="insert", **committing(fields)).memory_id
        for text in (first, second)
    ]
    return ids, context(store, "the question", limit=2)


def test_near_duplicates_fold_and_keep_both_ids(opener: Opener) -> None:
    ids, block = near("The office is in Oslo", "the office is in Oslo.", opener)
    assert set(block.ids) == set(ids)
    assert len(block.folded) == 1
    assert block.text.count("Oslo") == 1
    assert all(block.text.count(f"[{short(id)}]") == 1 for id in ids)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The limit is 500 EUR", "The limit is 500 USD"),
        ("The limit is 500 EUR", "The limit is 50 EUR"),
        ("Maria likes tea", "Maria no longer likes tea"),
        ("The office is in Oslo", "The office is in Bergen"),
        ("Is the office in Oslo?", "The office is in Oslo."),
        ("Filter it with grep -v", "Filter it with grep -V"),
    ],
)
def test_other_statements_do_not_fold(opener: Opener, first: str, second: str) -> None:
    ids, block = near(first, second, opener)
    assert (set(block.ids), block.folded) == (set(ids), {})
    assert first in block.text
    assert second in block.text


def test_equal_texts_share_one_line_with_both_days(opener: Opener, clock: FrozenClock) -> None:
    store = opener(embedder=Counting())
    text = "The release is today"
    old = str(store.commit(text, session_id="s-1", sequence=0).memory_id)
    clock.move(days=1)
    store.deprecate(old, t_invalid="2026-03-19")
    clock.move(days=6)
    new = store.commit(text, session_id="s-2", sequence=0).memory_id
    block = context(store, "when is the release?", limit=2, include_expired=True)
    assert block.folded == {new: old}
    assert block.text.split("\n")[-1] == (
        f"[{short(old)}] 2026-03-18 (withdrawn), also [{short(new)}] 2026-03-25"
        " today [2026-03-25]: The release is today [2026-03-18]"
    )


def test_scopes_and_authors_are_never_folded(opener: Opener) -> None:
    store = opener(embedder=Counting())
    text = "The passport lies in the desk"
    places: list[dict[str, Any]] = [
        {"scope": "a"},
        {"scope": "b"},
        {"author": "A"},
        {"author": "B"},
    ]
    for fields in places:
        store.commit(text, **committing(fields))
    block = context(store, "where is the passport?", limit=9)
    assert (len(block.ids), block.folded) == (4, {})


# --- bytes and budget ---------------------------------------------------------------------------


def test_same_arguments_same_bytes(opener: Opener, clock: FrozenClock) -> None:
    store = opener(embedder=Counting())
    for number in range(4):
        talk(store, session_id=f"s-{number}", scope=f"scope {number % 2}")
    store.commit_many([f"Ben went on holiday number {n}" for n in range(10)])
    arguments: dict[str, Any] = {"limit": 12, "budget": 400, "profile": "default"}
    first = store.recall(QUERY, context=True, all=True, **selecting(arguments))
    block = context(store, **arguments)
    assert block == first.context
    # neither the hour nor what was read changes a byte
    clock.move(days=3)
    assert context(store, **arguments, touch=True).text == block.text
    store.admin.compact()
    assert context(store, **arguments).text == block.text
    store.admin.rebuild()
    assert context(store, **arguments).text == block.text
    path = store._session.directory
    store.close()
    with vestig.open(path, embedder=Counting(), clock=clock) as again:
        assert context(again, **arguments).text == block.text


def test_every_returned_id_once_within_any_budget(opener: Opener) -> None:
    dice = random.Random(5)
    words = ["holiday", "Ben", "Oslo", "went", "where?", "last", "week", "yesterday\n## x", "[x]:"]
    store = opener(embedder=HashingEmbedder(64), config={"hygiene.normalize_whitespace": False})
    store.commit_many(
        [
            {
                "content": f"note {n} " + " ".join(dice.choices(words, k=dice.randint(2, 60))),
                "session_id": dice.choice(["a", "b", None]),
                "sequence": n,
                "author": dice.choice(["Ann", "Ben"]),
            }
            for n in range(60)
        ]
    )
    for _ in range(30):
        limit, budget = dice.randint(1, 40), dice.randint(1, 3000)
        found = store.recall(QUERY, context=True, limit=limit, budget=budget)
        block = found.context
        assert isinstance(block, ContextBlock)
        assert estimate(block.text) == block.tokens <= block.budget == budget
        assert block.counted_by == ESTIMATE
        left = [one.id for one in block.left_out if not one.neighbour]
        assert sorted([*block.ids, *left]) == sorted(hit.id for hit in found)
        shown = [*block.ids, *block.neighbours, *block.associated]
        named = ID.findall(block.text)
        assert len(set(named)) == len(named)
        assert {short(id) for id in shown if id not in block.folded} <= set(named)
        assert set(named) <= {short(id) for id in shown}
        assert len(set(shown)) == len(shown)


WALK = {"mode": "deterministic", "start": {"limit": 1}}


def test_what_is_associated_stands_in_the_block(opener: Opener) -> None:
    store = opener(embedder=Counting(), config={"walk": WALK})
    found = store.commit("Ben went on holiday to Oslo", t_valid="2026-03-10").memory_id
    linked = store.commit("The opera has a white roof", t_valid="2026-03-12").memory_id
    assert found is not None
    assert linked is not None
    store.graph.link(found, linked, "RELATED", weight=1.0)
    block = context(store, limit=1, profile=None)
    assert (block.ids, block.neighbours, block.associated) == ((found,), (), (linked,))
    assert "~: linked with what was found." in block.text
    assert "The opera has a white roof" in block.text
    # what is left out says whether a result is among it
    left_out = context(store, limit=1, budget=1, profile=None).left_out
    assert [(one.id, one.neighbour) for one in left_out] == [(found, False), (linked, True)]
    none = context(store, limit=1, config={"walk.associated": 0}, profile=None)
    assert none.associated == ()
    assert "opera" not in none.text


def test_word_pieces_of_the_built_in_embedder(opener: Opener) -> None:
    from vestig.embedders.builtin import MODEL, BuiltinEmbedder

    store = opener(embedder=BuiltinEmbedder())
    talk(store)
    count = BuiltinEmbedder().count_pieces
    for budget in (40, 60, 80, 100):
        block = context(store, budget=budget)
        assert count(block.text) == block.tokens <= budget
        assert block.counted_by == MODEL
        assert block.ids
        assert block.left_out


NOTES = (
    "Dana prefers dark roast coffee in the early morning.",
    "The office kitchen is closed for repairs until summer.",
)


def test_a_small_budget_is_spent_on_text(opener: Opener) -> None:
    from vestig.embedders.builtin import BuiltinEmbedder

    store = opener(embedder=BuiltinEmbedder())
    store.commit(NOTES[0])
    store.commit(NOTES[1], author="Ann", t_valid="2026-03-01")
    block = context(store, "who prefers what, and what is closed?", budget=60)
    assert block.tokens <= 60
    assert all(text in block.text for text in NOTES)
    long = opener("long", embedder=BuiltinEmbedder())
    long.commit(" ".join(NOTES * 9))
    block = context(long, "who prefers what?", budget=80)
    assert 40 < block.tokens <= 80
    assert block.text.endswith("…")


def test_lines_of_a_text_are_quoted(opener: Opener) -> None:
    store = opener(embedder=Counting())
    store.commit("def holiday():\n    return 'Oslo'\n## Session x", t_valid="2026-03-10")
    lines = context(store).text.split("\n")
    assert lines[1].endswith(": def holiday():")
    assert lines[2:] == [">     return 'Oslo'", "> ## Session x"]


def test_the_ids_of_a_block_are_ids(opener: Opener) -> None:
    store = opener(embedder=Counting())
    ids = talk(store)
    block = context(store)
    for text in ID.findall(block.text):
        shown = store.show(text)
        assert short(shown.memory.id) == text
    store.forget(short(ids[0]))
    assert store.count() == len(ids) - 1


def test_ids_that_begin_alike_are_longer(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opener(embedder=Counting())
    starts = iter((bytes(4) + b"\x10", bytes(5), bytes(4) + b"\x11", b"\x01" * 5))

    def scripted_id(_: NewIds, prefix: str) -> str:
        start = next(starts) if prefix == "mem" else b""
        return id_text(prefix, start + os.urandom(16 - len(start)))

    monkeypatch.setattr(NewIds, "take", scripted_id)
    ids = talk(store)
    block = context(store, limit=4)
    found = re.findall(r"\[([0-9a-f-]{8,})\] ", block.text)
    assert sorted(found) == ["00000000-0", "00000000-10", "00000000-11", "01010101"]
    assert {store.show(text).memory.id for text in found} == set(ids)


def test_nothing_found_and_wrong_arguments(store: vestig.Vestig) -> None:
    nothing = context(store)
    assert (nothing.text, nothing.note, nothing.tokens) == ("", "No memories found.", 0)
    assert not nothing
    for bad in (0, -1, True, "5"):
        with pytest.raises(vestig.ValidationError, match="budget"):
            store.recall(QUERY, context=True, budget=bad)  # type: ignore[arg-type]
    with pytest.raises(vestig.ValidationError, match="context"):
        store.recall(QUERY, budget=100)
    with pytest.raises(vestig.ValidationError, match="context"):
        store.recall(QUERY, context="yes")  # type: ignore[arg-type]


def test_a_recall_that_abstains_gives_no_memory(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opener(embedder=Counting())
    ids = talk(store)
    monkeypatch.setattr("vestig.recall.query.confidence", lambda *_: 0.25)
    assert len(context(store, silence=1, profile="default").ids) == len(ids)
    found = store.recall(QUERY, context=True, silence=0.02)
    assert (found.abstained, len(found)) == (True, 0)
    assert isinstance(found.context, ContextBlock)
    assert (found.context.ids, found.context.neighbours, found.context.left_out) == ((), (), ())
    assert found.context.text == ""
    assert found.context.note.startswith("too doubtful (confidence 0.25, needed 0.")
    assert not found.context
    assert context(store, profile="default", all=True)


def test_a_query_without_a_vector_has_a_context_too(opener: Opener) -> None:
    store = opener(embedder=FailingEmbedder("error", after=len(TALK)))
    ids = talk(store)
    found = store.recall(QUERY, limit=4, context=True)
    assert "partial_backend" in {one.code for one in found.degraded}
    # the caller sees it wherever the block is shown from; who reads the block can do nothing of it
    assert "degraded partial_backend" in repr(found)
    assert "partial_backend" in {one["code"] for one in found.to_dict()["degraded"]}
    assert "egraded" not in str(found.context)
    assert isinstance(found.context, ContextBlock)
    assert set(found.context.ids) == set(ids)


def test_a_block_as_text_is_its_text() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        talk(store)
        block = store.recall(QUERY, all=True, context=True).context
        assert block is not None
        assert block.text == str(block) == f"{block}"
        assert repr(block).startswith("ContextBlock(")
