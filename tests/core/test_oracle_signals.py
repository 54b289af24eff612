"""The definitions of the signals, against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracle_graph import Mentions, contrast, entity_rank, pairs, titles
from oracle_late import Late, QueryPieces, Tokens
from oracle_signals import FIRST_TERMS, Eligible, Memory, Places, Query, memory_terms, shortness
from oracle_texts import DAY_US, Window, date_match, every_year

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


def test_words_author_then_title_then_text() -> None:
    memory = Memory(content="Caches fail", author="Bob", title="Night shift")
    assert memory_terms(memory) == ["bob", "night", "shift", "cach", "fail"]


def test_words_of_agents_are_cut_behind_1200() -> None:
    long = "x1 " * 399 + "abc later words"
    assert memory_terms(Memory(content=long))[-3:] == ["abc", "later", "word"]
    cut = memory_terms(Memory(content=long, origin="chat_agent"))
    assert cut[-1] == "abc", "begins at 1,197, before the cut"


def test_words_by_hand_are_a_share_of_the_idf() -> None:
    own = Eligible([Memory(content="red red fox"), Memory(content="blue fox barks"),
                    Memory(content="green owl sleeps now")])  # fmt: skip
    raw = own.raw(Query(text="red fox fox unheard"))["words"]
    mean = 10 / 3
    norms = [0.9 * (0.6 + 0.4 * length / mean) for length in (3, 3, 4)]
    red, fox, unheard = LN(1 + 2.5 / 1.5), LN(1 + 1.5 / 2.5), LN(1 + 3.5 / 0.5)
    held = [red * 2 / (2 + norms[0]) + fox / (1 + norms[0]), fox / (1 + norms[1]), 0]
    assert raw == pytest.approx([one / (red + fox + unheard) for one in held])


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


def test_words_of_the_turns_around_count_less() -> None:
    own = Eligible(chat(("A", "key"), ("B", "box"), ("A", "hat"), ("B", "map")))
    raw = own.raw(Query(text="key"))
    # with the authors: windows of lengths 2 + 1 + .5, 2 + 2 + .5, the same from the other end
    # one memory of four holds the word: its idf, and the whole of it
    idf = whole = LN(1 + 3.5 / 1.5)
    lengths = (3.5, 4.5, 4.5, 3.5)
    norms = [0.9 * (0.6 + 0.4 * length / 4) for length in lengths]
    wanted = [
        idf * tf / (tf + norm) / whole for tf, norm in zip((1, 0.5, 0.25), norms[:3], strict=True)
    ]
    assert raw["words"] == pytest.approx([*wanted, 0])


def test_replies_by_position_not_by_number() -> None:
    own = Eligible(chat(("A", "key?"), ("B", "In the box."), ("A", "hat"), ("B", "map")))
    raw = own.raw(Query(text="key"))
    words = own.words.scores(["key"])[0] / own.words.idf("key")
    assert raw["reply"] == pytest.approx([0, words, 0, 0])
    late = Eligible(chat(("A", "the key? Yes."), ("B", "In the box.")))
    assert not late.raw(Query(text="key"))["reply"].any(), "it does not end with the mark"


def test_parts_of_one_text_are_one_position() -> None:
    own = Eligible(
        [
            Memory(content="box", session="s", sequence=0),
            Memory(content="key part?", session="s", sequence=1),
            Memory(content="part", session="s", sequence=1),
            Memory(content="ok", session="s", sequence=2),
        ]
    )
    raw = own.raw(Query(text="key"))
    words = own.words.scores(["key"])[1] / own.words.idf("key")
    assert raw["reply"] == pytest.approx([0, 0, 0, words])


def test_shortness_counts_content_words() -> None:
    for text, words in (("", 0), ("What did she do?", 0), ("Yes, the red box.", 3), ("x1 " * 9, 8)):
        assert shortness(Memory(content=text)) == 1 - words / 8


def test_questions_and_long_texts() -> None:
    own = Eligible(chat(("A", "why red?\n"), ("B", "because"), ("B", "o" * 3_000)))
    raw = own.raw(Query(text="x"))
    assert raw["question"] == pytest.approx([1 - 1 / 8, 0, 0])
    assert raw["long"] == pytest.approx([0, 0, LN(2001 / 300)])


def test_date_falls_off_by_the_length_of_the_window() -> None:
    day, month = (100 * DAY_US, 101 * DAY_US), (100 * DAY_US, 130 * DAY_US)

    def stated(start: float, end: float, window: Window) -> float:
        return date_match([(int(start * DAY_US), int(end * DAY_US))], None, None, window)

    assert stated(100, 101, day) == 1
    assert stated(101, 102, day) == stated(99, 100, day) == pytest.approx(math.exp(-2))
    assert stated(94, 95, day) == pytest.approx(math.exp(-7))
    assert stated(129, 130, month) == stated(98, 103, day) == 0.5
    assert stated(0, 300, day) == 0.25
    assert stated(160, 161, month) == pytest.approx(math.exp(-3))
    assert stated(98, 99, (100 * DAY_US, None)) == 0
    assert stated(99, 100, (100 * DAY_US, None)) == 0.5
    at = 100 * DAY_US
    assert date_match([], at, None, day) == 0.8
    assert date_match([], at - 1, at, day) == 0.5
    assert date_match([], None, None, day) == 0


def test_date_a_month_without_a_year_is_that_of_every_year() -> None:
    # May 1970
    window = (120 * DAY_US, 151 * DAY_US)
    assert every_year((*window, "in May 1970"), [1970, 1971]) == [window]
    shifted = tuple(end + 365 * DAY_US for end in window)
    assert every_year((*window, "in May"), [1970, 1971]) == [window, shifted]
    assert every_year((*window, "last week"), [1970, 1971]) == [window]


def test_pair_two_memories_hold_together_what_neither_holds_alone() -> None:
    own = Eligible(
        [
            Memory(content="red", entities=["UNTYPED:z"]),
            Memory(content="owl", entities=["UNTYPED:z"]),
            Memory(content="owl"),
        ]
    )
    mentions = Mentions([memory.entities for memory in own.memories])
    pair = pairs(own, mentions, np.array([3.0, 1, 2]), "red owl")
    held = 1 / (1 + 0.9)
    assert pair == pytest.approx([held, held, 0])


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


def test_every_term_has_a_value() -> None:
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
    assert raw["late"] == pytest.approx([0.4, 0, 0.25, 0.125, 0.4]), "alike is alike"
    assert raw["late_window"] == pytest.approx([0, 0.4, 0.15, 0.275, 0])
    nothing = late.raw(asked(9))
    assert all(values.tolist() == [0] * 5 for values in nothing.values())
