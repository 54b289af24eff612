"""The definitions of the signals, against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracle_graph import Mentions, contrast, entity_rank, pairs, titles
from oracle_late import Late, QueryPieces, Tokens, within
from oracle_signals import (
    FIRST_TERMS,
    Eligible,
    Memory,
    Places,
    Query,
    memory_terms,
    normalised,
)
from oracle_texts import DAY_US, date_match, every_year, names

LN = math.log


def test_entity_walk_f4_has_the_golden_ranks() -> None:
    mentions = Mentions([("P", "X"), ("P", "Y"), ("Q", "X"), ()])
    level = np.array([0.5, 0.4, 0.3, 0.2])
    limit = entity_rank(mentions, level, ["P"], threshold=0)
    wanted = [0.207394102, 0.209890479, 0.082714928, 0.00000025]
    assert limit == pytest.approx(wanted, abs=5e-10)
    pushed = entity_rank(mentions, level, ["P"])
    assert pushed == pytest.approx(wanted, abs=3e-4)
    assert (pushed <= limit).all()


def test_entity_walk_all_on_one_half_when_the_other_is_empty() -> None:
    mentions = Mentions([("P",), ("P",), ()])
    rank = entity_rank(mentions, np.array([0.2, 0.1, 0.1]), [], threshold=0)
    # the best holds nearly everything; it and its neighbour share what comes back
    assert rank.sum() < 1
    assert rank[0] > rank[1] > rank[2] > 0
    nobody = entity_rank(mentions, np.array([0.2, 0.1, 0.1]), ["unknown"], threshold=0)
    assert nobody == pytest.approx(rank)


def test_entity_walk_hubs_are_no_part_of_the_graph() -> None:
    # df 4 > max(3, 0.1 · 5)
    mentions = Mentions([("H", "A"), ("H", "A"), ("H",), ("H",), ()])
    assert mentions.weight[mentions.number["H"]] == 0
    assert mentions.weight[mentions.number["A"]] == pytest.approx(LN(1 + 5 / 2))
    assert mentions.sharing(0).tolist() == [1]


def test_entity_walk_contrast() -> None:
    assert contrast(np.array([0.0, 0.05, 0.1])) == pytest.approx([0, LN(5001) / LN(10001), 1])
    assert contrast(np.zeros(2)).tolist() == [0, 0]


def chat(*said: tuple[str, str], **more: object) -> list[Memory]:
    return [
        Memory(content=text, author=who, session="s", sequence=10 * at, origin="chat_peer", **more)
        for at, (who, text) in enumerate(said)
    ]


def test_words_author_first_and_cut_behind_1200() -> None:
    assert memory_terms(Memory(content="Caches fail", author="Bob")) == ["bob", "cach", "fail"]
    long = "x1 " * 399 + "abc later words"
    whole = memory_terms(Memory(content=long))
    cut = memory_terms(Memory(content=long, origin="chat_agent"))
    assert whole[-3:] == ["abc", "later", "word"]
    assert cut[-1] == "abc", "begins at 1,197, before the cut"


def test_words_lexical_by_hand() -> None:
    own = Eligible([Memory(content="red red fox"), Memory(content="blue fox barks"),
                    Memory(content="green owl sleeps now")])  # fmt: skip
    raw = own.raw(Query(text="red fox fox"))["lexical"]
    mean = 10 / 3
    norms = [0.9 * (0.6 + 0.4 * length / mean) for length in (3, 3, 4)]
    red, fox = LN(1 + 2.5 / 1.5), LN(1 + 1.5 / 2.5)
    wanted = [red * 2 / (2 + norms[0]) + fox / (1 + norms[0]), fox / (1 + norms[1]), 0]
    assert raw == pytest.approx(wanted)


def test_content_terms_alone_with_the_lengths_of_all_words() -> None:
    own = Eligible([Memory(content="what kind of fox is it"), Memory(content="fox")])
    raw = own.raw(Query(text="what kind of fox?"))
    mean, idf = 3.5, LN(1 + 0.5 / 2.5)
    norms = [0.9 * (0.6 + 0.4 * length / mean) for length in (6, 1)]
    assert raw["topic_lexical"] == pytest.approx([idf / (1 + norm) for norm in norms])
    assert raw["lexical"][0] > raw["topic_lexical"][0]


def test_the_topic_weighs_words_by_idf() -> None:
    # idf of "red" and "fox" by 4 memories: ln(1 + 3.5 / 1.5), ln(1 + 2.5 / 2.5)
    texts = ("red", "fox", "fox", "owl")
    vectors = [np.array(pair) for pair in ((1.0, 0), (0, 1), (0.6, 0.8), (0, 0))]
    own = Eligible([Memory(content=t, vector=v) for t, v in zip(texts, vectors, strict=True)])
    first, second = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    pieces = [(second, 0, 0), (second, 0, 4), (first, 5, 8), (second, 9, 12), (first, 12, 13)]
    query = Query(text="what red fox?", vector=second, pieces=pieces)
    red, fox = LN(1 + 3.5 / 1.5), LN(1 + 2.5 / 2.5)
    wanted = np.array([red, fox]) / math.hypot(red, fox)
    assert own.topic(query) == pytest.approx(wanted)
    assert own.raw(query)["topic"] == pytest.approx([vector @ wanted for vector in vectors])
    framed = Query(text="what is it", vector=second, pieces=[(first, 0, 4), (first, 5, 7)])
    assert own.topic(framed) is second
    assert own.raw(framed)["topic"].tolist() == [0, 1, 0.8, 0]


def test_words_of_a_time_that_no_memory_meets_are_content() -> None:
    text = "rain on 3 June"
    times = [(text.index("3"), len(text))]
    june = (153 * DAY_US, 154 * DAY_US, "3 June 1970")
    met = Eligible([Memory(content="rain", t_valid_us=june[0]), Memory(content="June")])
    raw = met.raw(Query(text=text, windows=[june], times=times))
    assert (raw["topic_lexical"] > 0).tolist() == [True, False]
    late = {"t_valid_us": 9_000 * DAY_US}
    far = Eligible([Memory(content="rain", **late), Memory(content="June", **late)])
    raw = far.raw(Query(text=text, windows=[june], times=times))
    assert not raw["date"].any()
    assert (raw["topic_lexical"] > 0).tolist() == [True, True]


@pytest.mark.parametrize(
    ("query", "text", "count"),
    [
        ("red bicycle of Tom", "Tom bought a red bicycle", 1),
        ("bicycle red", "Tom bought a red bicycle", 0),
        ("red bicycle", "the red, old bicycle", 0),
        ("red bicycle", "the red of the bicycle", 1),
        ("red bicycle and red bicycle", "a red bicycle", 1),
        ("red bicycle and red bicycle", "red bicycle, red bicycle", 2),
        ("which red kind of bicycle", "red bicycles", 1),
        ("src/main.rs", "see src/main.rs", 3),
    ],
)
def test_neighbours_in_order(query: str, text: str, count: int) -> None:
    own = Eligible([Memory(content=text), Memory(content="nothing")])
    assert own.raw(Query(text=query))["bigram"].tolist() == [count, 0]


def test_the_author_is_part_of_the_text() -> None:
    own = Eligible([Memory(content="bought it", author="Tom")])
    assert own.raw(Query(text="Tom bought"))["bigram"].tolist() == [1]
    long = "x1 " * 399 + "red bicycle"
    cut = Eligible([Memory(content=long), Memory(content=long, origin="chat_agent")])
    assert cut.raw(Query(text="red bicycle"))["bigram"].tolist() == [1, 0]


def test_context_windows_have_statistics_of_their_own() -> None:
    own = Eligible(chat(("A", "key"), ("B", "box"), ("A", "hat"), ("B", "map")))
    raw = own.raw(Query(text="key"))
    # every field has the two authors too: lengths 4, 6, 6, 4; "key" stands in two windows
    idf = LN(1 + 2.5 / 2.5)
    norm = {length: 0.9 * (0.6 + 0.4 * length / 5) for length in (4, 6)}
    assert raw["context.words"] == pytest.approx([idf / (1 + norm[4]), idf / (1 + norm[6]), 0, 0])
    assert (raw["context.wide"] > 0).tolist() == [True, True, True, False]
    soft = raw["context.soft"]
    assert soft[0] > soft[1] > soft[2] > soft[3] == 0


def test_context_vector_of_the_neighbourhood() -> None:
    first, second = np.array([1.0, 0]), np.array([0, 1.0])
    own = Eligible(
        [
            Memory(content="a", vector=first, session="s", sequence=0),
            Memory(content="b", vector=second, session="s", sequence=1),
            Memory(content="c", vector=first),
        ]
    )
    raw = own.raw(Query(text="x", vector=second))
    assert raw["cosine"].tolist() == [0, 1, 0]
    assert raw["context.vector"] == pytest.approx([0.5**0.5, 0.5**0.5, 0])


def test_neighbours_by_position_not_by_number() -> None:
    own = Eligible(chat(("A", "key"), ("B", "box"), ("A", "hat"), ("B", "map")))
    raw = own.raw(Query(text="hat"))
    assert raw["neighbours.lexical.-2"].tolist() == [0, 0, 0, 0]
    assert raw["neighbours.lexical.+2"].tolist() == [1, 0, 0, 0]
    assert raw["neighbours.lexical.+1"].tolist() == [0, 1, 0, 0]
    assert raw["neighbours.lexical.-1"].tolist() == [0, 0, 0, 1]


def test_positions_parts_of_one_text_are_one_position() -> None:
    own = Eligible(
        [
            Memory(content="ask", session="s", sequence=0),
            Memory(content="part", session="s", sequence=1),
            Memory(content="key part", session="s", sequence=1),
        ]
    )
    raw = own.raw(Query(text="key"))
    assert raw["neighbours.lexical.+1"].tolist() == [1, 0, 0]
    assert raw["neighbours.lexical.-1"].tolist() == [0, 0, 0]


def test_roles() -> None:
    own = Eligible(
        [
            Memory(content="how?", role="user", session="s", sequence=0, origin="chat_agent"),
            Memory(content="the key", role="assistant", session="s", sequence=1),
            Memory(content="the key", role="user", session="s", sequence=2),
        ]
    )
    raw = own.raw(Query(text="key"))
    assert raw["role"].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("what did Ann say?", [1, -1]),
        ("what did ann tell Bob?", [1, 1]),
        ("what did Annie say?", [0, 0]),
        ("what happened?", [0, 0]),
    ],
)
def test_person(text: str, wanted: list[int]) -> None:
    own = Eligible(chat(("Ann", "hello"), ("Bob", "hello")))
    assert own.raw(Query(text=text))["person"].tolist() == wanted


def test_date_days_fall_off_and_months_do_not() -> None:
    day, month = (100 * DAY_US, 101 * DAY_US), (100 * DAY_US, 130 * DAY_US)

    def at(days: float) -> list[tuple[int, int]]:
        return [(int(days * DAY_US),) * 2]

    assert date_match(at(100), day) == 1
    assert date_match(at(95), day) == pytest.approx(math.exp(-0.5))
    assert date_match(at(111), day) == pytest.approx(math.exp(-0.5))
    assert date_match(at(130), month) == date_match(at(140.9), month) == 0.4
    assert date_match(at(129), month) == 1
    assert date_match(at(141), month) == date_match(at(99), month) == 0
    assert date_match([(0, 100 * DAY_US + 1)], day) == 1
    assert date_match(at(99), (100 * DAY_US, None)) == 0
    assert date_match(at(1e6), (100 * DAY_US, None)) == 1


def test_date_a_month_without_a_year_is_that_of_every_year() -> None:
    # May 1970
    window = (120 * DAY_US, 151 * DAY_US)
    assert every_year((*window, "in May 1970"), [1970, 1971]) == [window]
    shifted = tuple(end + 365 * DAY_US for end in window)
    assert every_year((*window, "in May"), [1970, 1971]) == [window, shifted]
    assert every_year((*window, "last week"), [1970, 1971]) == [window]


def test_when() -> None:
    own = Eligible([Memory(content="a", times=[(0, 1)]), Memory(content="b", times=[(0, 1)] * 3)])
    assert own.raw(Query(text="When did it open?"))["when"].tolist() == [0.5, 1]
    assert own.raw(Query(text="who came when it rained?"))["when"].tolist() == [0, 0]


def test_form() -> None:
    own = Eligible(chat(("A", "why?"), ("B", "because")))
    raw = own.raw(Query(text="x"))
    assert raw["form.question"].tolist() == [1, 0]
    assert raw["form.first"].tolist() == [1, 0]
    assert raw["form.length"] == pytest.approx([LN(5), LN(8)])


def test_reply_needs_another_author() -> None:
    own = Eligible(chat(("A", "the key?"), ("A", "here?"), ("B", "yes"), ("A", "fine")))
    raw = own.raw(Query(text="key"))
    assert raw["reply.question"].tolist() == [0, 0, 1, 0]
    assert raw["reply.lexical"].tolist() == [0, 0, 0, 0]
    other = Eligible(chat(("A", "the key?"), ("B", "yes")))
    assert other.raw(Query(text="key"))["reply.lexical"].tolist() == [0, 1]


def test_kind_of_answer() -> None:
    own = Eligible([Memory(content="We saw Rome with Ann"), Memory(content="Maybe 3 of them")])
    assert own.raw(Query(text="how many were there"))["answer_type.number"].tolist() == [0, 1]
    raw = own.raw(Query(text="which city did we see"))
    assert raw["answer_type.name"] == pytest.approx([2 / 3, 0])
    assert not own.raw(Query(text="what is it"))["answer_type.name"].any()
    assert names('Then "red fish" came. Later Ann, Bob left') == 3


def test_pair_two_memories_hold_together_what_neither_holds_alone() -> None:
    own = Eligible(
        [
            Memory(content="red", entities=["UNTYPED:z"]),
            Memory(content="owl", entities=["UNTYPED:z"]),
            Memory(content="owl"),
        ]
    )
    mentions = Mentions([memory.entities for memory in own.memories])
    pair, gain = pairs(own, mentions, np.array([3.0, 1, 2]), "red owl")
    red, owl = LN(1 + 2.5 / 1.5), LN(1 + 1.5 / 2.5)
    held = 1 / (1 + 0.9)
    assert pair == pytest.approx([held, held, 0])
    # from "owl" to "red" adds red, from "red" to "owl" adds owl
    assert gain == pytest.approx([held * red / (red + owl), held * owl / (red + owl), 0])


def test_titles_that_the_best_name() -> None:
    own = Eligible(
        [
            Memory(content="a", entities=["UNTYPED:rome", "UNTYPED:oslo"]),
            Memory(content="b", title="Rome", entities=["UNTYPED:rome"]),
            Memory(content="c", title="Oslo (city)", entities=["UNTYPED:oslo"]),
            Memory(content="d", title="Bonn"),
        ]
    )
    level = np.array([2.0, 3, 1, 0])
    # Rome is best and names itself, which does not count; "a" is second
    found = titles(own, level, Query(text="?", entities=["PLACE:bonn"]))
    assert found.tolist() == [0, 0.5, 0.5, 1]


def test_every_term_by_its_maximum() -> None:
    assert normalised(np.array([-1.0, 2, 4])).tolist() == [-0.25, 0.5, 1]
    assert normalised(np.array([-1.0, 0])).tolist() == [0, 0]
    own = Eligible(chat(("A", "key")))
    assert tuple(own.raw(Query(text="key"))) == FIRST_TERMS


def held(*pieces: tuple[int, float]) -> Tokens:
    """Pieces of a memory with all signs set."""
    ids, scales = zip(*pieces, strict=True) if pieces else ((), ())
    return Tokens(np.array(ids, int), np.ones((len(ids), 256), int), np.array(scales))


def asked(*ids: int) -> QueryPieces:
    """Pieces of a query that are similar by the scale of the memory alone."""
    return QueryPieces(np.array(ids), np.ones((len(ids), 256), np.int8), np.full(len(ids), 1 / 256))


def test_late_windows_end_with_the_session_and_special_pieces_weigh_nothing() -> None:
    talk = chat(*((who, text) for who, text in zip("ABABA", "vwxyz", strict=True)))
    memories = [held((9, 0.5)), held(), held((1, 0.25)), held((2, 0.125)), held((3, 1.0))]
    late = Late(memories, Places.of(talk), frozenset((9,)))
    raw = late.raw(asked(1, 9))
    assert raw["late.own_idf"] == pytest.approx([0.5, 0, 0.25, 0.125, 1])
    assert raw["late.w1_idf"] == pytest.approx([0.5, 0.5, 0.25, 1, 1])
    assert raw["late.w2_idf"] == pytest.approx([0.5, 0.5, 1, 1, 1])
    assert raw["late.w2_cube"] == pytest.approx([0.125, 0.125, 1, 1, 1])
    nothing = late.raw(asked(9))
    assert all(values.tolist() == [0] * 5 for values in nothing.values())


def test_late_values_of_the_pool_only() -> None:
    values = np.array([4.0, 2, 8])
    assert within(values, np.array([0, 1])).tolist() == [1, 0.5, 0]
    assert within(values, np.array([], int)).tolist() == [0, 0, 0]
