"""Features of confidence from scans written by hand; confidence and what is missing in a store."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from scripted import Opener, without_vectors
from tables import each
from vestig import _core
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.recall.confidence import (
    BIAS,
    FEATURES,
    ROWS_READ,
    ConfidenceInput,
    ScoreWeights,
    fits,
    probability,
    score_formula,
    scored,
)

# (late, topic, whether direct, matched terms, entities of the query)
Row = tuple[float, float, bool, list[int], int]
# idf of a term that one of a thousand memories holds, and of one that a hundred hold
RARE, COMMON = (_core.ln(1 + (1000 - n + 0.5) / (n + 0.5)) for n in (1, 100))


def row(matched: list[int] | None = None, **given: Any) -> Row:
    fields = {"late": 0.0, "topic": 0.0, "direct": True, "names": 0, **given}
    return (
        fields["late"],
        fields["topic"],
        fields["direct"],
        matched or [],
        fields["names"],
    )


def found(rows: list[Row], **given: Any) -> dict[str, float]:
    """Features of rows and a query; each term but the first two says what it is about."""
    fields: dict[str, Any] = {
        "terms": ("the", "of", "red", "key"),
        "frequencies": (900, 900, 1, 100),
        "eligible": 1000,
        "content": ("red", "key"),
        "in_time": (),
        "dates_met": False,
        "entities": 0,
        "unknown": (),
        **given,
    }
    words = [
        *(_core.ContentTerm(word, 0, 1) for word in fields["content"]),
        *(_core.ContentTerm(word, 0, 1, in_time=True) for word in fields["in_time"]),
    ]
    made = _core.testing.features_by_hand(
        rows,
        ConfidenceInput(
            fields["terms"],
            fields["frequencies"],
            fields["eligible"],
            words,
            fields["dates_met"],
            fields["entities"],
            fields["unknown"],
        ),
    )
    return dict(zip(FEATURES, made, strict=True))


def test_features_of_the_best_rows() -> None:
    rows = [row([0, 2]), row([3], late=0.4, topic=0.7), row()]
    assert found(rows) == pytest.approx(
        {
            "late": 0.4,
            "topic": 0.7,
            "cover": RARE / (RARE + COMMON),
            "absent": 0.0,
            "names": 1.0,
        }
    )


def test_only_the_best_ten_and_direct_ones_count() -> None:
    rows = [row()] * ROWS_READ
    assert found([*rows, row(late=0.9)])["late"] == 0.0
    assert found([row(late=0.9, direct=False), row(late=0.2)])["late"] == 0.2
    assert found([row(late=0.9, direct=False)])["late"] == 0.9


def test_what_no_memory_holds_is_absent() -> None:
    made = found([row([3])], frequencies=(900, 900, 0, 100))
    unheard = _core.ln(1 + 1000.5 / 0.5)
    assert made["absent"] == pytest.approx(unheard / (unheard + COMMON))
    assert made["cover"] == pytest.approx(COMMON / (unheard + COMMON))


def test_a_query_without_content_lacks_all_where_nothing_of_it_is_held() -> None:
    nothing = {"terms": ("c++",), "content": ()}
    assert found([row()], frequencies=(0,), **nothing)["absent"] == 1.0
    assert found([row()], frequencies=(3,), **nothing)["absent"] == 0.0
    assert found([row()], terms=(), frequencies=(), content=())["absent"] == 1.0


def test_words_of_a_date_that_a_memory_meets_are_no_content() -> None:
    dated = {"content": ("red",), "in_time": ("key",)}
    assert found([row([2])], **dated)["cover"] < 1.0
    assert found([row([2])], dates_met=True, **dated)["cover"] == 1.0


def test_names_of_no_entity_are_missing_where_a_word_of_them_is_unheard() -> None:
    rows = [row(names=1), row(names=2)]
    assert found(rows, entities=2)["names"] == 1.0
    assert found(rows, entities=4)["names"] == 0.5
    unknown = {"terms": ("red", "fox"), "frequencies": (1, 0), "unknown": ("Red Fox",)}
    assert found(rows, entities=2, **unknown)["names"] == pytest.approx(2 / 3)
    held = {**unknown, "frequencies": (1, 4)}
    assert found(rows, entities=2, **held)["names"] == 1.0


def test_more_memories_below_a_thousand_change_no_share() -> None:
    assert found([row([2])], eligible=9) == found([row([2])], eligible=800)


def test_the_fit_names_features_alone() -> None:
    for fit in (fits().with_pieces, fits().without_pieces):
        assert {*fit.confidence} - {BIAS} <= {*FEATURES}
        assert 0 < probability(dict.fromkeys(FEATURES, 0.0), fit.confidence) < 1


def test_a_score_depends_on_its_own_place_and_the_best() -> None:
    weights = ScoreWeights(bias=1.0, level=0.5, behind=-0.25, lead=0.5)
    by = score_formula(weights, 0.5, [0.5, 0.2, 0.0])
    x = _core.ln(0.2 / 0.8)
    first = 0.5 * _core.logistic(1.0 + 0.5 * -x)
    second = 0.5 * _core.logistic(1.0 + 0.5 * -x + 0.5 * x - 0.25 * (0.0 - x) ** 0.5)
    assert scored([0.5, 0.2, 0.0], by) == pytest.approx([first, second, 0.0])
    alone = score_formula(weights, 0.5, [0.5])
    assert alone == score_formula(weights, 0.5, [0.5, 1e-9]), "far behind is as good as not there"
    lifted = score_formula(weights, 1.0, [2.0, 1.0])
    assert scored([1.0, 2.0], lifted)[0] <= 1.0, "use may lift a final score above 1"


def test_without_memories_it_is_0_and_without_a_vector_there_is_none(opener: Opener) -> None:
    assert opener().recall("who?").confidence == 0.0
    blind = without_vectors(opener, ("The red key opens the shed",))
    assert blind.recall("Which key opens the shed?").confidence is None


NOTES = (
    "Maria lives in Lisbon with her two dogs",
    "The boiler is serviced every October",
    "Tom prefers green tea in the morning",
    "The wifi password of the office is on the fridge",
    "Peter is allergic to peanuts",
)


def test_what_is_missing_is_named(opener: Opener) -> None:
    store = opener(embedder=BuiltinEmbedder())
    for text in NOTES:
        store.commit(text)
    found = store.recall("Where does Ottilie keep the sextant of the boiler?")
    assert found.missing == ("Ottilie", "keep", "sextant")
    assert store.recall("where does Maria live?").missing == ()
    assert store.recall("C++").missing == ("C++",)
    assert opener("empty").recall("Where is Oslo?").missing == ("Oslo",)


@each(
    ("query", "missing"),
    [
        ("Which lenses do I own?", ()),
        ("How many knives do I own?", ()),
        ("Whose children came?", ()),
        ("Which sextants do I own?", ("sextants",)),
        # the verb of an order, and the name that it would begin
        ("Name every lens that I own", ()),
        ("Compare the Gold and Silver packages.", ()),
        ("Compare the Gold and Bronze packages.", ("Bronze",)),
        # the parts of a code stand in several texts
        ("Which lens is in drawer B2.35?", ("B2.35",)),
        ("Which lens is in drawer B2.14?", ()),
        ("Which lens is in drawer B2-14?", ()),
        ("Which lens is in drawer C3.77?", ()),
        ("Who pays grant MU 4711/2-3?", ("4711/2-3",)),
        ("Who pays grant MU 4711/2-1?", ()),
        ("Was there an 8-hour party?", ()),
        # a currency is one by any of its names
        ("How many EUR does package Gold cost?", ()),
        ("How many euros does package Silver cost?", ()),
        ("How many CHF does package Gold cost?", ("CHF",)),
    ],
)
def test_another_form_and_the_verb_of_an_order_are_not_missing(
    query: str, missing: tuple[str, ...]
) -> None:
    with vestig.open(":memory:", embedder=BuiltinEmbedder()) as store:
        for text in (
            "I own a 35mm lens for the camera.",
            "I own a knife of Damascus steel.",
            "A child of Ada came to the party, which took 8 hours.",
            "Drawer B2.14 has lens 16, and drawer B1.35 has lens 3.",
            "Ada pays grant MU 4711/2-1, Ben pays grant MU 4711/2-2.",
            "Which lens is there for 3 euros?",
            "Drawer C377 has no lens.",
            "Wedding package Gold costs 3,200 euros.",
            "Wedding package Silver costs €2,100.",
        ):
            store.commit(text)
        assert store.recall(query).missing == missing


def test_words_that_ask_are_not_missing(opener: Opener) -> None:
    """How a question is put says nothing of what it is about."""
    store = opener(embedder=BuiltinEmbedder())
    store.commit("The observatory dome was repainted white in June.")
    plain = store.recall("Which colour has the observatory dome?", all=True)
    for asked in (
        "Could you please tell me which colour the observatory dome has?",
        "I was wondering which colour the observatory dome has, thanks!",
        "Any idea which colour the observatory dome has? Let me know.",
        "Remind me again: which colour has the observatory dome?",
    ):
        found = store.recall(asked, all=True)
        assert found.missing == plain.missing == ("colour",)
        assert found[0].id == plain[0].id


def test_queries_of_signs_have_a_low_confidence(opener: Opener) -> None:
    store = opener(embedder=BuiltinEmbedder())
    for text in NOTES:
        store.commit(text)
    for query in ("C++", "\U0001f680", "!!!"):
        found = store.recall(query, silence=1)
        assert found.confidence is not None, query
        assert found.confidence < 0.2, query
        assert store.recall(query, silence=0.25).abstained, query


def test_unrelated_memories_move_neither_confidence_nor_score(opener: Opener) -> None:
    store = opener(embedder=BuiltinEmbedder())
    for text in NOTES:
        store.commit(text)
    asked = ("where does Maria live?", "What is the name of Peter's brother?")
    before = [store.recall(query, all=True) for query in asked]
    places = ("harbour", "orchard", "tunnel", "foundry", "meadow")
    things = ("lantern", "barrel", "engine", "ledger", "saddle", "kiln", "anchor", "loom")
    for n in range(200):
        thing, place = things[n % 8], places[n // 40]
        store.commit(f"The {thing} number {n} stands beside the {place} gate since week {n % 50}.")
    for query, then in zip(asked, before, strict=True):
        now = store.recall(query, all=True)
        assert now[0].id == then[0].id
        assert isinstance(then, vestig.RecallResult)
        assert now.confidence == pytest.approx(then.confidence, abs=0.05)
        assert now[0].score == pytest.approx(then[0].score, abs=0.06)


def test_a_day_is_the_same_however_it_is_written() -> None:
    with vestig.open(":memory:") as store:
        store.commit("Anna leads the choir.", key="lead", t_valid="2025-01-01")
        store.commit("Bodo leads the choir.", key="lead", t_valid="2025-08-15")
        for days in (
            ("3 August 2025", "2025-08-03", "03.08.2025", "3.8.2025"),
            ("28 August 2025", "2025-08-28", "28.08.2025", "28/08/2025"),
        ):
            asked = [store.recall(f"Who led the choir on {day}?", seed=1) for day in days]
            for day, found in zip(days, asked, strict=True):
                assert found.query == f"Who led the choir on {day}?"
                assert found.missing == ("led",)
                assert [hit.content for hit in found] == [hit.content for hit in asked[0]] != []
                assert found.confidence == asked[0].confidence
                assert found.analysis.windows == asked[0].analysis.windows
            many = store.recall_many([f"Who led the choir on {day}?" for day in days], seed=1)
            assert [one.confidence for one in many] == [one.confidence for one in asked]
        # a date with two readings is left open, and what stands so in a text is found so
        open_date = store.recall("Who led the choir on 03/08/2025?")
        assert [window.either for window in open_date.analysis.windows] == [True, True]
        store.commit("Log 2025-08-28: the organ was tuned.")
        found = store.recall("Log 2025-08-28")
        assert found[0].content == "Log 2025-08-28: the organ was tuned."
        assert [window.text for window in found.analysis.windows] == ["2025-08-28"]


def test_what_is_not_known_to_be_missing_is_not_said_to_be() -> None:
    with vestig.open(":memory:") as store:
        store.commit("楽譜棚の鍵は鈴木さんが持っています。")
        assert store.recall("鍵").missing == ()
        assert store.recall("楽器").missing == ("楽器",)
        store.commit("Den Schlüssel hat Jörg.")
        assert "Schlüssel" not in " ".join(store.recall("Welchen Schlüssel hat Jörg?").missing)


def test_a_memory_that_is_not_eligible_does_not_change_how_a_day_is_read() -> None:
    with vestig.open(":memory:") as store:
        store.commit("Ada moored the Rosa in Bremen", t_ref="2025-08-28T10:00:00Z", scope="team")
        query = "What happened on 2025-08-28?"
        alone = store.recall(query, scope="team", seed=1)
        assert [hit.content for hit in alone] == ["Ada moored the Rosa in Bremen"]
        other = store.commit("Log line 2025-08-28 stays private", scope="other")
        beside = store.recall(query, scope="team", seed=1)
        assert (beside.confidence, beside.missing) == (alone.confidence, alone.missing)
        everywhere = store.recall("Log line 2025-08-28")
        assert everywhere[0].content == "Log line 2025-08-28 stays private"
        # a least similarity does not hide what is held
        near = store.recall("Log line 2025-08-28", where={"min_similarity": 0.1})
        assert near[0].content == everywhere[0].content
        assert [window.text for window in near.analysis.windows] == ["2025-08-28"]
        archived = store.commit("Log line 2025-08-28 was told to the team", scope="team")
        for id in (other.memory_id, archived.memory_id):
            store.archive(id)
        assert store.recall(query, scope="team", seed=1).confidence == alone.confidence


def test_a_query_is_read_in_plain_characters_and_shown_as_asked() -> None:
    with vestig.open(":memory:") as store:
        for text in (
            "The lens of the camera is scratched",
            "\uff30\uff29\uff3a\uff3a\uff21 is served at the \uff26\uff2f\uff2f bar",
        ):
            store.commit(text)
        plain = store.recall("lens", seed=1)
        wide = store.recall("\uff4c\uff45\uff4e\uff53", seed=1)
        assert wide.query == "\uff4c\uff45\uff4e\uff53"
        assert [hit.content for hit in wide] == [hit.content for hit in plain]
        assert wide[0].content == "The lens of the camera is scratched"
        assert wide.confidence == plain.confidence
        assert store.recall("lens of the \uff42\uff4f\uff41\uff54").missing == (
            "\uff42\uff4f\uff41\uff54",
        )


@pytest.mark.parametrize(
    ("query", "missing"),
    [
        ('What is in "2025-08-28"?', {"2025-08-28"}),
        ("release named '28.08.2025'", {"28.08.2025", "named"}),
        ("Welche Kamera ist zerkratzt?", {"Kamera", "zerkratzt"}),
    ],
)
def test_what_is_missing_stands_in_the_question(query: str, missing: set[str]) -> None:
    with vestig.open(":memory:") as store:
        store.commit("Ben tagged the release of the docs", t_ref="2025-08-28T10:00:00Z")
        assert set(store.recall(query).missing) == missing
