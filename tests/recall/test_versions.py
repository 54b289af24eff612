"""Of versions of one statement the newest comes first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
import pytest

import vestig
from scripted import Opener
from tables import each
from vestig.config.signals import KINDS
from vestig.config.weights import SIGNALS
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.ids import id_bytes
from vestig.recall.versions import ROWS_MOVED, announced_last, asks_about_now
from vestig.store.projection.scan_objects import VERSION_SIGNALS
from vestig.store.projection.scan_objects import Filter as CoreFilter
from vestig.store.records.memory_queries import OfKey
from vestig.testing import FrozenClock, vector_at

WHERE = "where does Tom live?"
PLAIN = {
    "links": {"related": {"enabled": False}},
    "entities": {"enabled": False},
    "hygiene": {"near_duplicate": {"enabled": False}},
}
DAY = datetime(2026, 1, 5, tzinfo=UTC)
FAR_US = 4_000_000_000_000_000
MONTHS = ("2026-01-05", "2026-02-05", "2026-03-05")


def weights(topic: float = 4.0) -> dict[str, Any]:
    """Ranked by meaning alone."""
    own = {**dict.fromkeys(("bias", *SIGNALS), 0.0), "topic": topic}
    return {"ranking.weights": dict.fromkeys(KINDS, own)}


def store_of(
    opener: Opener, texts: dict[str, str], cosines: dict[str, float] | None = None
) -> tuple[vestig.Vestig, list[str]]:
    """A store that holds these texts since these days, the first one nearest to every query; and
    their ids."""
    near = {text: 0.9 - at / 50 for at, text in enumerate(texts)} | (cosines or {})
    store = opener(vectors={t: vector_at(near[t], 8, 1) for t in texts}, config=PLAIN)
    ids = [store.commit(text, t_valid=day).memory_id for text, day in texts.items()]
    assert None not in ids
    return store, [str(id) for id in ids]


def found(store: vestig.Vestig, query: str = WHERE, **fields: Any) -> vestig.RecallResult:
    fields.setdefault("config", weights())
    result = store.recall(query, query_vector=vector_at(1.0), **fields)
    for values in ([hit.final for hit in result], [hit.score for hit in result]):
        assert values == sorted(values, reverse=True)
    return result


def ids(store: vestig.Vestig, query: str = WHERE, **fields: Any) -> list[str]:
    return [hit.id for hit in found(store, query, **fields)]


def read_by_the_judge(facts: dict[str, str], question: str) -> vestig.RecallResult:
    """What a store of these texts, since these days, brings to the built-in judge's question."""
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for text in ("The tram to Lund leaves at 6:15.", "Solveig keeps the boat key."):
            store.commit(text, t_valid="2025-05-01")
        for text, day in facts.items():
            store.commit(text, t_valid=day)
        return store.recall(question, all=True)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("what does the ticket cost?", "The ferry ticket costs {} crowns"),
        ("which port does the server use?", "The staging server uses port {}"),
        ("who owns the billing service?", "The billing service is owned by team {}"),
    ],
)
def test_the_newest_of_three_versions_comes_first(opener: Opener, query: str, text: str) -> None:
    values = (410, 425, 440)
    texts = {text.format(n): day for n, day in zip(values, MONTHS, strict=True)}
    store, made = store_of(opener, texts)
    result = found(store, query)
    assert [hit.id for hit in result] == made[::-1], "all of them in order of time"
    newest, *others = result
    assert newest.reason.newer_than == made[1]
    assert [hit.reason.older_than for hit in others] == [made[2]] * 2
    shown = [hit.to_dict(explain=True)["reason"] for hit in result]
    assert ["newer_than" in one for one in shown] == [True, True, False]
    assert ["older_than" in one for one in shown] == [False, True, True]
    assert f"Newer than {made[1]}." in newest.reason.explanation
    assert f"Older than {made[2]}." in others[0].reason.explanation


def test_places_keep_their_final_scores(opener: Opener) -> None:
    store, _ = store_of(opener, {f"Tom lives in flat {n}": MONTHS[n] for n in range(3)})
    moved = found(store)
    still = found(store, config={**weights(), "ranking.newer_first": False})
    assert [hit.final for hit in moved] == [hit.final for hit in still]
    own = {hit.id: hit.final for hit in still}
    for hit in moved:
        reason = hit.to_dict(explain=True)["reason"]
        assert reason.get("own_final_score", hit.final) == own[hit.id]
    assert ids(store, limit=1) == [moved[0].id], "before the cut to the limit"


@each(
    ("query", "dated", "now"),
    [
        ("Where does Tom live?", False, True),
        ("Where did Tom live?", False, False),
        ("Where did Tom use to live before?", False, False),
        ("What was the original price?", False, False),
        ("Where does Tom live?", True, False),
        ("Where did Tom live, and where now?", False, True),
        ("Where is he still?", True, True),
        ("What is washed here?", False, True),
        ("When does the last ferry go to the island?", False, True),
        ("last ferry to the island", False, True),
        ("What was agreed in the last meeting?", False, False),
        ("Who came last Monday?", False, False),
        ("How old is Mila?", False, True),
        ("The old address of Mila?", False, False),
        ("Until when is the pass valid?", False, True),
        ("Who had it until May?", False, False),
        ("What must be done before a deployment?", False, True),
        ("Where was it before?", False, False),
        ("How do I change the filter?", False, True),
        ("What changed in the rota?", False, False),
        ("Who are the first aiders?", False, True),
        ("What is the first price of the wagon?", False, False),
    ],
)
def test_what_asks_about_now(query: str, dated: bool, now: bool) -> None:
    assert asks_about_now(query, dated) == now


def test_a_word_of_the_present_asks_for_the_latest(opener: Opener) -> None:
    """A version without the number of the earlier one is shown first only where that is asked."""
    texts = {"Tom lives in flat 12": "2026-01-05", "Tom lives in the old mill": "2026-02-05"}
    store, made = store_of(opener, texts)
    assert ids(store, "where does Tom live?") == made
    assert ids(store, "where does Tom live now?") == made[::-1]
    assert ids(store, "where did Tom live?") == made


@pytest.mark.parametrize(
    "query", ["where did Tom live before?", "where does Tom live in January?", "Tom in 2025"]
)
def test_a_question_about_the_past_changes_nothing(opener: Opener, query: str) -> None:
    store, made = store_of(opener, {f"Tom lives in flat {n}": MONTHS[n] for n in range(3)})
    result = found(store, query)
    assert [hit.id for hit in result] == made
    assert not any(hit.reason.newer_than for hit in result)


def test_what_is_stated_later_is_newer_at_the_same_moment_too(opener: Opener) -> None:
    texts = dict.fromkeys(("Tom lives in flat 1", "Tom lives in flat 2"), "2026-01-05T10:00:00Z")
    store, made = store_of(opener, texts)
    assert ids(store) == made[::-1]


@pytest.mark.parametrize(("session", "newest"), [(None, 0), ("monday", 1)])
def test_what_one_call_stores_without_times_has_no_order(
    opener: Opener, session: str | None, newest: int
) -> None:
    """Unless it is a session, whose turns have one."""
    texts = [f"Tom lives in flat {number}" for number in (1, 2)]
    near = {text: vector_at(0.9 - at / 50, 8, 1) for at, text in enumerate(texts)}
    store = opener(vectors=near, config=PLAIN)
    turn = {} if session is None else {"session_id": session}
    store.commit_many(
        [
            {"content": one, **turn, **({"sequence": at} if turn else {})}
            for at, one in enumerate(texts)
        ]
    )
    assert found(store)[0].content == texts[newest]


FACTS = {
    "Which port has the queue?": "The message queue listens on port 7070.",
    "who keeps the boat key?": "The key of the boat is kept by Solveig.",
    "when does the tram to Lund leave?": "The tram to Lund leaves at 6:15 on Monday.",
    "which toner does the plotter need?": "The plotter on floor 2 needs toner type M4.",
}
TAKEN = pytest.mark.xfail(strict=True, reason="the version reader takes it for a change")


@pytest.mark.parametrize(
    "query",
    [pytest.param(one, marks=TAKEN if "toner" in one else ()) for one in FACTS],
)
def test_a_list_of_the_words_of_many_facts_is_a_version_of_none(query: str) -> None:
    words = sorted({word.strip(".") for text in FACTS.values() for word in text.split()})
    with vestig.open(":memory:", config={"judge.budget_ms": 60_000}) as store:
        for text in FACTS.values():
            store.commit(text, t_ref="2026-03-01")
        store.commit(" ".join(words), t_ref="2026-11-01")
        first, *others = store.recall(query)
        assert (first.content, first.reason.newer_than) == (FACTS[query], None)
        assert not any(hit.reason.older_than for hit in others)


def test_a_long_text_is_a_version_of_nothing(opener: Opener) -> None:
    long = "Tom lives in flat 2" + ", as he said" * 25
    store, made = store_of(opener, {"Tom lives in flat 1": MONTHS[0], long: MONTHS[1]})
    assert ids(store) == made


def test_what_holds_less_of_the_question_takes_no_place(opener: Opener) -> None:
    texts = {"Tom lives in flat 1 in Oslo": MONTHS[0], "Tom lives in flat 2 now": MONTHS[1]}
    store, made = store_of(opener, texts)
    assert ids(store, "where in Oslo does Tom live?") == made
    assert ids(store, "where does Tom live?") == made[::-1]


def test_the_fact_about_another_number_takes_no_place(opener: Opener) -> None:
    asked = "Customer 7 pays by invoice within 17 days"
    other = "Customer 17 pays by invoice within 27 days"
    store, (first, _) = store_of(opener, {asked: MONTHS[0], other: MONTHS[1]})
    assert ids(store, "does customer 7 pay by invoice?")[0] == first


def test_facts_that_have_nothing_in_common_keep_their_places_beside_versions(
    opener: Opener,
) -> None:
    texts = {
        "Tom lives in flat 1": MONTHS[0],
        "Bread is baked at six": MONTHS[1],
        "Tom lives in flat 2": MONTHS[2],
    }
    store, (old, bread, new) = store_of(opener, texts)
    assert ids(store) == [new, bread, old]


def test_what_says_something_else_stays_where_it_is(opener: Opener) -> None:
    texts = {"Tom lives in Oslo": MONTHS[0], "Bread is baked at six": MONTHS[2]}
    near = ((0.9, 1), (0.4, 2))
    vectors = {t: vector_at(cosine, 8, at) for t, (cosine, at) in zip(texts, near, strict=True)}
    store = opener(vectors=vectors, config=PLAIN)
    made = [store.commit(text, t_valid=day).memory_id for text, day in texts.items()]
    result = found(store, config=weights(40.0))
    assert [hit.id for hit in result] == made
    assert not any(hit.reason.newer_than or hit.reason.older_than for hit in result)


def test_only_the_best_few_move(opener: Opener) -> None:
    texts = {f"Tom lives in flat {n}": f"2026-01-{n + 1:02}" for n in range(ROWS_MOVED + 2)}
    store, made = store_of(opener, texts)
    order = ids(store, limit=ROWS_MOVED + 2)
    assert order == [*made[:ROWS_MOVED][::-1], *made[ROWS_MOVED:]]


def test_a_switch_turns_it_off_and_other_profiles_have_none(opener: Opener) -> None:
    store, made = store_of(opener, {f"Tom lives in flat {n}": MONTHS[n] for n in range(2)})
    assert ids(store, config={**weights(), "ranking.newer_first": False}) == made
    for profile in ("reference", "baseline"):
        assert ids(store, profile=profile, config={}) == made


# --- successors stand where what they replaced would -----------------------------------------


def replaced_store(opener: Opener) -> tuple[vestig.Vestig, str, str]:
    """A store in which the nearest memory was replaced by the farthest; and the ids of both."""
    texts = {
        "Parcels go out with the courier Brix": "2025-01-05",
        "The parcel shelf stands by the door": "2025-02-05",
        "A parcel scale was ordered for the desk": "2025-03-05",
        "Nordpost collects everything on Tuesdays": "2025-04-05",
    }
    cosines = dict(zip(texts, (0.9, 0.5, 0.4, 0.05), strict=True))
    store, own = store_of(opener, texts, cosines)
    store.supersede(own[0], own[3])
    return store, own[0], own[3]


def test_a_successor_ranks_where_the_replaced_one_would(opener: Opener) -> None:
    store, old, new = replaced_store(opener)
    (first, *_) = result = found(store, "who takes the parcels?", limit=3)
    assert first.id == new
    assert first.reason.in_place_of == old
    assert f"Replaced {old}, which would stand here." in str(first.reason.explanation)
    assert old not in [hit.id for hit in result]
    assert [hit.reason.in_place_of for hit in result[1:]] == [msgspec.UNSET] * 2


def test_a_successor_beyond_the_limit_is_found_too(opener: Opener) -> None:
    store, _, new = replaced_store(opener)
    assert ids(store, "who takes the parcels?", limit=1) == [new]
    off = weights() | {"ranking.newer_first": False}
    assert new not in ids(store, "who takes the parcels?", limit=1, config=off)


def test_the_last_of_a_chain_stands_for_all(opener: Opener) -> None:
    store, _, new = replaced_store(opener)
    last = store.commit("Everything is fetched by Fjordfrakt", t_valid="2025-06-05").memory_id
    store.supersede(new, last)
    assert ids(store, "who takes the parcels?", limit=1) == [last]


def test_a_withdrawn_memory_has_no_successor(opener: Opener) -> None:
    store, _, new = replaced_store(opener)
    store.deprecate(new)
    assert new not in ids(store, "who takes the parcels?", limit=4)


def test_a_successor_that_the_filter_leaves_out_stands_nowhere(opener: Opener) -> None:
    store, _, new = replaced_store(opener)
    assert new not in ids(store, "who takes the parcels?", where={"exclude_ids": [new]})


def test_the_past_is_told_by_what_held_then(opener: Opener) -> None:
    store, old, new = replaced_store(opener)
    then = found(store, "who takes the parcels?", valid_at="2025-02-01")
    assert [hit.id for hit in then] == [old]
    assert new not in [hit.id for hit in then]


@pytest.mark.parametrize(
    ("when", "was_old"),
    [
        ("in February 2025", True),
        ("in March 2025", True),
        ("in May 2025", False),
        ("in 2025", True),
        # the first one was not there yet
        ("in 2024", False),
    ],
)
def test_a_question_about_a_time_that_is_over_is_told_what_held_then(
    opener: Opener, when: str, was_old: bool
) -> None:
    store, old, new = replaced_store(opener)
    result = found(store, f"who took the parcels {when}?", limit=4)
    places = {hit.id: place for place, hit in enumerate(result)}
    if was_old:
        assert places[old] < places[new]
    else:
        assert new in places
        assert old not in places


def test_what_held_then_is_brought_however_the_judge_reads_its_day(opener: Opener) -> None:
    patient = {"judge.budget_ms": 60_000}
    store = opener(embedder=BuiltinEmbedder(), clock=FrozenClock("2026-11-01"), config=patient)
    for text in ("Tess swims on Mondays.", "The kitchen is painted green.", "Backups run at 2."):
        store.commit(text)
    for name, day in (("Nordbank", "2023-04-01"), ("Helix Labs", "2024-09-01")):
        store.commit(f"Mira works at {name}.", key="mira.job", t_valid=day)
    for name, day in (("Kiel", "2023-04-01"), ("Ulm", "2024-09-01"), ("Trier", "2026-02-01")):
        store.commit(f"Jonas lives in {name}.", key="jonas.city", t_valid=day)
    for when in ("in June 2023", "in 2023"):
        assert store.recall(f"Where did Jonas live {when}?")[0].content == "Jonas lives in Kiel."
    for when in ("in March 2025", "on 15 January 2025"):
        assert store.recall(f"Where did Jonas live {when}?")[0].content == "Jonas lives in Ulm."


@pytest.mark.parametrize(
    ("query", "room"),
    [
        ("Which room was Dr. Osei in before?", "3"),
        ("What was Dr. Osei's previous room?", "3"),
        ("Have you put Dr. Osei in a room before?", "5"),
        ("Where was Dr. Osei before March 2026?", "3"),
        ("Where was Dr. Osei before March 2025?", "2"),
        ("Which room is Dr. Osei in?", "5"),
        ("Which room was Dr. Osei in before the holidays?", "5"),
    ],
)
def test_a_question_for_what_was_before_is_told_what_was_replaced(
    opener: Opener, query: str, room: str
) -> None:
    patient = {"judge.budget_ms": 60_000}
    store = opener(embedder=BuiltinEmbedder(), clock=FrozenClock("2026-11-01"), config=patient)
    for text in ("Tess swims on Mondays.", "The kitchen is painted green.", "Backups run at 2."):
        store.commit(text)
    for number, day in (("2", "2024-03-01"), ("3", "2025-03-01"), ("5", "2026-03-01")):
        store.commit(f"Dr. Osei is in room {number}.", key="osei.room", t_valid=day)
    found = store.recall(query)
    assert found[0].content == f"Dr. Osei is in room {room}."
    assert found.counts.eligible == (4 if room == "5" else 5)


def test_a_text_that_was_stated_again_stands_for_itself(opener: Opener) -> None:
    store, old, new = replaced_store(opener)
    again = store.commit("Parcels go out with the courier Brix", t_valid="2025-07-05")
    assert again.revives == old
    (first, second, *_) = found(store, "who takes the parcels?", limit=4)
    assert first.id == again.memory_id
    assert new != second.id


@pytest.mark.parametrize(
    ("fields", "returns"),
    [
        ({}, True),
        ({"t_valid": MONTHS[2]}, True),
        ({"t_ref": MONTHS[2], "provenance": {"artifact_ref": "notes.md:3"}}, True),
        # an echo of what somebody else said
        ({"role": "assistant"}, False),
        ({"role": "tool", "t_valid": MONTHS[2]}, False),
        # what is read from a file once more, or from one that does not tell the time
        ({"t_valid": MONTHS[0]}, False),
        ({"t_ref": MONTHS[0]}, False),
        ({"provenance": {"artifact_ref": "notes.md:3"}}, False),
        ({"t_ref": MONTHS[2], "metadata": {"time_from": "file_time"}}, False),
        ({"t_valid": "2126-01-05"}, False),
    ],
)
def test_what_is_said_again_later_is_the_newest_version(
    opener: Opener, fields: dict[str, Any], returns: bool
) -> None:
    bergen, oslo = "Tom lives in Bergen", "Tom lives in Oslo"
    cosines = {bergen: 0.8, oslo: 0.9}
    store, (first, second) = store_of(opener, {bergen: MONTHS[0], oslo: MONTHS[1]}, cosines)
    again = store.commit(bergen, **fields)
    assert (again.memory_id, again.deduplicated) == (first, True)
    assert ids(store) == ([first, second] if returns else [second, first])


@pytest.mark.parametrize("order", [(0.9, 0.8), (0.8, 0.9)])
def test_what_returns_marks_what_was_said_between_wherever_it_ranks(
    opener: Opener, order: tuple[float, float]
) -> None:
    texts = {"Tom lives in Bergen": MONTHS[0], "Tom lives in Oslo": MONTHS[1]}
    store, (first, second) = store_of(opener, texts, dict(zip(texts, order, strict=True)))
    store.commit("Tom lives in Bergen", t_valid=MONTHS[2])
    newest, older = found(store)
    assert (newest.id, newest.reason.newer_than) == (first, second)
    assert (older.id, older.reason.older_than) == (second, first)


@pytest.mark.parametrize(("sequence", "returns"), [(1, False), (3, True)])
def test_a_turn_that_is_sent_again_says_nothing_again(
    opener: Opener, sequence: int, returns: bool
) -> None:
    bergen, oslo = "Tom lives in Bergen", "Tom lives in Oslo"
    vectors, clock = {bergen: vector_at(0.8), oslo: vector_at(0.9)}, FrozenClock(DAY)
    store = opener(vectors=vectors, config=PLAIN, clock=clock)
    for at, text in ((1, bergen), (2, oslo), (sequence, bergen)):
        store.commit(text, session_id="chat", sequence=at, role="user")
        clock.move(days=1)
    assert found(store)[0].content == (bergen if returns else oslo)
    assert found(store, known_at=DAY + timedelta(days=1))[0].content == oslo, "not yet said"


def test_who_names_no_role_says_nothing_again_for_a_user(opener: Opener) -> None:
    bergen, oslo = "Tom lives in Bergen", "Tom lives in Oslo"
    store = opener(vectors={bergen: vector_at(0.8), oslo: vector_at(0.9)}, config=PLAIN)
    for text, role, day in ((bergen, "user", 0), (oslo, "user", 1), (bergen, None, 2)):
        store.commit(text, role=role, t_valid=MONTHS[day])
    assert found(store)[0].content == oslo
    store.commit(bergen, role="user", t_valid=MONTHS[2])
    assert found(store)[0].content == bergen


def test_a_question_is_no_later_version(opener: Opener) -> None:
    texts = {
        "Tom lives in Bergen by the old harbour": "2026-01-05",
        "Does Tom live in Bergen by the old harbour?": "2026-02-05",
    }
    store, own = store_of(opener, texts)
    (first, _) = found(store, WHERE)
    assert first.id == own[0]
    assert first.reason.older_than is None


def test_a_context_block_marks_the_older_version(opener: Opener) -> None:
    texts = {"Tom lives in Bergen": "2026-01-05", "Tom lives in Oslo": "2026-02-05"}
    store, _ = store_of(opener, texts)
    context = found(store, WHERE, context=True).context
    assert context is not None
    lines = context.text.splitlines()
    assert [line.partition(" ")[2] for line in lines[1:]] == [
        "2026-01-05 (older): Tom lives in Bergen",
        "2026-02-05: Tom lives in Oslo",
    ]


def test_what_is_called_by_another_number_is_no_version(opener: Opener) -> None:
    texts = {
        "Crate number 5 is in row 2": MONTHS[0],
        "Crate number 439 is in row 5": MONTHS[1],
        "Crate number 5 is in row 4": MONTHS[2],
    }
    store, (old, other, new) = store_of(opener, texts)
    assert ids(store, "in which row is crate number 5?") == [new, other, old]


def test_the_value_that_holds_comes_before_one_that_is_announced(opener: Opener) -> None:
    """Of one key; a question about what is to come, or a day, is answered as it ranks."""
    store = opener(embedder=BuiltinEmbedder(), clock=FrozenClock("2026-03-01"))
    for scope in (None, "other"):
        store.commit("Ana lives in Porto.", key="ana.city", scope=scope)
    store.commit("Ana lives in Oslo.", key="ana.city", t_valid="2030-01-01")
    for question in ("where does Ana live?", "which city does Ana live in now?", "Ana lives where"):
        texts = [hit.content for hit in store.recall(question, all=True, where={"unscoped": True})]
        assert texts == ["Ana lives in Porto.", "Ana lives in Oslo."], question
    for question in ("where will Ana live?", "where does Ana live in 2030?"):
        first = store.recall(question, all=True, where={"unscoped": True})[0]
        assert first.content == "Ana lives in Oslo.", question
    later = store.recall(
        "where does Ana live?", all=True, query_time="2031-01-01", where={"unscoped": True}
    )
    assert later[0].content == "Ana lives in Oslo."


class Placed(NamedTuple):
    """A row as far as its place is concerned."""

    id: bytes
    final_score: float
    newer_than: bytes | None = None
    older_than: bytes | None = None

    def moved(self, final: float, newer_than: bytes | None, older_than: bytes | None) -> Placed:
        return Placed(self.id, final, newer_than, older_than)


def test_a_row_that_changes_its_place_still_says_what_it_is_a_version_of() -> None:
    rows: Any = [Placed(b"later", 0.9), Placed(b"now", 0.5, newer_than=b"older")]
    slot = None, "ana.city"
    slots = {b"later": OfKey(slot, 200, None), b"now": OfKey(slot, 100, None)}
    assert announced_last(rows, lambda _: slots, 150) == [
        Placed(b"now", 0.9, newer_than=b"older"),
        Placed(b"later", 0.5),
    ]
    assert announced_last(rows, lambda _: slots, 250) == rows


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("Mira lives in Porto.", "Mira moved to Lisbon in June.", "Where does Mira live?"),
        (
            "Our car insurance is with Allianz.",
            "We switched car insurance to HUK.",
            "Who insures our car?",
        ),
        (
            "The conference is held in Vienna.",
            "The conference was moved from Vienna to Graz.",
            "In which city is the conference?",
        ),
    ],
)
def test_what_the_judge_reads_as_newer_comes_first_in_other_words(
    older: str, newer: str, question: str
) -> None:
    first, second, *_ = read_by_the_judge({older: MONTHS[0], newer: MONTHS[2]}, question)
    assert [first.content, second.content] == [newer, older]
    assert (first.reason.newer_than, second.reason.older_than) == (second.id, first.id)


@pytest.mark.parametrize(
    ("asked", "other", "question"),
    [
        (
            "The rate limit is 100 requests per minute for free users.",
            "The rate limit is 250 requests per minute for paying users.",
            "What is the rate limit for free users?",
        ),
        (
            "The staging database listens on port 5433.",
            "The production database listens on port 5432.",
            "On which port does the staging database listen?",
        ),
        ("Elif studies law.", "Deniz studies medicine.", "What does Elif study?"),
        (
            "Nora works as a nurse at the clinic.",
            "Nora has the flu and stays at home.",
            "Where does Nora work?",
        ),
    ],
)
def test_a_later_text_about_another_case_is_no_version(
    asked: str, other: str, question: str
) -> None:
    first, *others = read_by_the_judge({asked: MONTHS[0], other: MONTHS[2]}, question)
    assert (first.content, first.reason.older_than) == (asked, None)
    assert not any(hit.reason.newer_than for hit in others)


def test_pairs_are_of_rows_that_were_read_the_later_behind_the_earlier(opener: Opener) -> None:
    days = (*MONTHS, "2026-04-05")
    texts = {f"Tom lives in flat {n}": day for n, day in enumerate(days)}
    store, made = store_of(opener, texts)
    session = store._session
    rows = [
        (id_bytes(id), 0.0, answers, False, None)
        for id, answers in zip(made, (2.0, 1.0, None, -2.0), strict=True)
    ]

    def pairs(order: Sequence[int], of_models: int | None = None) -> list[tuple[int, int]]:
        placed = [(*rows[at][:3], at == of_models, None) for at in order]
        core = session.keeper.core
        return session.keeper.run(lambda view, _: core.version_pairs(view.seq, placed, FAR_US))

    assert pairs([0, 1, 2, 3]) == [(0, 1), (0, 3), (1, 3)], "next to the top first, read ones"
    assert pairs([3, 1, 0]) == [], "the later one stands before the earlier one"
    assert pairs([0, 1, 3], of_models=1) == [(0, 2)], "as much confirmed"


def test_signals_are_of_the_pairs_that_a_model_read(opener: Opener) -> None:
    texts = {f"Tom lives in flat {n}": MONTHS[n] for n in range(2)}
    store, made = store_of(opener, texts)
    session, filter = store._session, CoreFilter(namespace="default", known_at_us=FAR_US)
    rows = [
        (id_bytes(id), 0.0, answers, False, None)
        for id, answers in zip(made, (2.0, 1.0), strict=True)
    ]
    ((older, newer, signals),) = session.keeper.run(
        lambda view, _: session.keeper.core.version_signals(
            view.seq, filter, rows, [(0, 1, 0.25), (0, 1, -3.0)], FAR_US
        )
    )
    named = dict(zip(VERSION_SIGNALS, signals, strict=True))
    assert (older, newer) == (0, 1)
    assert (named["reads"], named["answers"]) == (0.25, 1.0)
    assert 0 < named["shared"] < 1
    assert 0.7 < named["alike"] < 1
    # no other pair was read: three of a cosine of 0.4 stand for others
    assert named["others_alike"] == pytest.approx(0.4)


@pytest.mark.parametrize("days", [0, 1, 30])
@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (["Maria lives in Porto.", "Maria lives in Lisbon."], "Where does Maria live?"),
        (
            ["Maria lives in Porto.", "Maria lives in Lisbon.", "Maria lives in Madrid."],
            "Where does Maria live?",
        ),
        (["Tom works at Acme.", "Tom works at Globex."], "Where does Tom work?"),
        (["Ann's manager is Helen.", "Ann's manager is Omar."], "Who is Ann's manager?"),
    ],
)
def test_a_restatement_in_like_words_comes_first_alone_and_at_once(
    texts: list[str], question: str, days: int
) -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for at, text in enumerate(texts):
            store.commit(text, t_valid=DAY + timedelta(days=days * at))
        assert [hit.content for hit in store.recall(question, all=True)] == texts[::-1]


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (
            ["The staging server runs version 4.2.", "The production server runs version 4.1."],
            "What is the version of the staging server?",
        ),
        (["The gym opens at 6.", "The gym closes at 22."], "What time does the gym open?"),
    ],
)
def test_a_store_of_two_facts_keeps_the_one_that_is_asked_for(
    texts: list[str], question: str
) -> None:
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        for at, text in enumerate(texts):
            store.commit(text, t_valid=DAY + timedelta(days=30 * at))
        assert store.recall(question, all=True)[0].content == texts[0]


@pytest.mark.parametrize("announced", [False, True], ids=["ended", "announced"])
@pytest.mark.parametrize("swapped", [False, True])
def test_what_holds_comes_before_what_has_ended_or_is_announced(
    announced: bool, swapped: bool
) -> None:
    other = {"t_valid": "2099-01-01"} if announced else {"t_valid": DAY, "t_invalid": MONTHS[1]}
    facts: list[tuple[str, dict[str, Any]]] = [
        ("The heparin rate is 20 ml per hour.", {"t_valid": "2025-10-01"}),
        ("The heparin rate is 15 ml per hour.", other),
    ]
    with vestig.open(":memory:", config={"judge.budget_ms": 60_000.0}) as store:
        for text, times in facts[::-1] if swapped else facts:
            store.commit(text, **times)
        for question in ("What is the heparin rate now?", "What is the heparin rate?"):
            first, second = store.recall(question, all=True)
            assert (first.content, second.content) == (facts[0][0], facts[1][0])
            assert second.reason.older_than is None or not announced
        if announced:
            first = store.recall("What will the heparin rate be in 2099?", all=True)[0]
            assert first.content == facts[1][0]


@pytest.mark.parametrize("key", [None, "limit"])
def test_nothing_but_a_value_of_the_key_takes_the_place_of_what_holds_under_it(
    opener: Opener, key: str | None
) -> None:
    one, other = "The limit is 900 a minute", "The limit is 600 a minute"
    store = opener(vectors={one: vector_at(0.9, 8, 1), other: vector_at(0.88, 8, 1)}, config=PLAIN)
    store.commit(one, t_valid=MONTHS[0], key=key)
    store.commit(other, t_valid=MONTHS[1])
    result = found(store, "what is the limit?")
    assert result[0].content == (other if key is None else one)
    assert [hit.reason.older_than is None for hit in result] == [True, key is not None]


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("Which room has pump BX-300-{}?", "Room 14 has the pump BX-300-04471", "04477"),
        ("Welche Dosis hat {}mutter?", "Großmutters Dosis ist 5", "Großvaters Dosis ist 10"),
    ],
)
def test_a_code_and_a_form_of_a_name_say_what_a_question_is_about(
    opener: Opener, question: str, older: str, newer: str
) -> None:
    newer = older.replace("04471", newer) if "BX" in question else newer
    store, made = store_of(opener, {older: MONTHS[0], newer: MONTHS[1]})
    assert ids(store, question.format("04471" if "BX" in question else "Groß"))[0] == made[0]
    # two people's doses are no versions, whatever is asked
    assert "BX" not in question or ids(store, "Which pump or Dosis is it?")[0] == made[1]


def test_what_holds_the_code_of_a_query_comes_before_what_holds_another(opener: Opener) -> None:
    texts = {
        "WAY-1041 is blocked by WAY-1043.": MONTHS[0],
        "Tickets are closed on Fridays.": MONTHS[0],
        "WAY-1042: events come twice": MONTHS[0],
    }
    store, (other, none, right) = store_of(opener, texts)
    config = {**weights(), "ranking.newer_first": False}
    asked = [found(store, f"What is {it} about?", config=config) for it in ("it", "WAY-1042")]
    orders = [[hit.id for hit in result] for result in asked]
    assert orders == [[other, none, right], [right, none, other]]
    assert len({tuple(hit.final for hit in result) for result in asked}) == 1


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        (
            "what is my dose of levothyroxine",
            "I take 75 micrograms of levothyroxine every morning before breakfast.",
            "I take 88 micrograms now.",
        ),
        (
            "Has the mill paid invoice 118?",
            "The mill still owes invoice 118, 1,430 euros.",
            "The mill has paid invoice 118.",
        ),
        (
            "When do we visit the oyster farm?",
            "We visit the oyster farm in Zeeland in the first week of April.",
            "The visit is cancelled, the farm withdrew.",
        ),
    ],
)
def test_what_replaced_the_answer_is_the_answer(question: str, older: str, newer: str) -> None:
    with vestig.open(":memory:", config={"judge.budget_ms": 60_000.0}) as store:
        for text in ("The tram to Lund leaves at 6:15.", "Solveig keeps the boat key."):
            store.commit(text, t_valid="2025-05-01")
        first, second = (
            str(store.commit(text, t_valid=day).memory_id)
            for text, day in ((older, MONTHS[0]), (newer, MONTHS[1]))
        )
        store.supersede(first, second)
        result = store.recall(question)
        assert [hit.id for hit in result][:1] == [second]
        assert result.certainty == "likely"


def test_of_several_things_that_are_asked_for_none_is_older(opener: Opener) -> None:
    store, made = store_of(opener, {f"We sell tables of oak {n}": MONTHS[n] for n in range(3)})
    assert ids(store, "Which tables do we sell?") == made
    assert ids(store, "Which table do we sell?") == made[::-1]


def test_the_value_of_a_key_that_has_ended_gives_way_to_what_holds(opener: Opener) -> None:
    one, other = "The limit is 900 a minute", "The limit is 600 a minute"
    store = opener(vectors={one: vector_at(0.9, 8, 1), other: vector_at(0.88, 8, 1)}, config=PLAIN)
    store.commit(one, t_valid=MONTHS[1], t_invalid=MONTHS[2], key="limit")
    store.commit(other, t_valid=MONTHS[0])
    assert found(store, "what is the limit?")[0].content == other
    assert found(store, "what is the limit?", valid_at="2026-02-10")[0].content == one


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("What is the state of W-1042?", "W-1042 is in review.", "feature/W-1042 is merged."),
        ("What is the state of PR#1041?", "Ticket PR#1041 is open.", "Ticket PR 1041 is merged."),
    ],
)
def test_a_code_is_the_same_however_it_is_joined(question: str, older: str, newer: str) -> None:
    facts = {older: MONTHS[0], newer: MONTHS[1]}
    assert read_by_the_judge(facts, question)[0].content == newer
