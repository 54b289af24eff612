"""What a time in a memory is taken to mean: stored, matched by queries, printed for a prompt."""

from __future__ import annotations

import io
import json

import pytest

import vestig
from tables import each
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.types import Difference

FRIDAY, MONDAY, WEDNESDAY = "2026-02-20", "2026-03-09", "2026-03-18"


def one_store(**config: object) -> vestig.Vestig:
    return vestig.open(
        ":memory:", embedder=HashingEmbedder(), clock=FrozenClock("2026-11-20"), config=config
    )


@each(
    ("said", "text", "printed"),
    [
        (FRIDAY, "The launch is planned for April 13.", "April 13 [2026-04-13]"),
        (FRIDAY, "The launch moves to April 13 then.", "April 13 [2026-04-13]"),
        ("2026-02-18", "The deadline is in March, sharp.", "in March [2026-03],"),
        ("2026-11-20", "The conference starts January 8 in Oslo.", "January 8 [2027-01-08]"),
        (MONDAY, "the technician comes on Thursday", "on Thursday [2026-03-12]"),
        (MONDAY, "order 40 kg of flour by Friday", "Friday [2026-03-13]"),
        (MONDAY, "We met on Friday at the market", "on Friday [2026-03-06]"),
        ("2026-02-18", "We may change the port on Monday.", "on Monday [2026-02-23]"),
        (WEDNESDAY, "Ann said she will come on Friday", "on Friday [2026-03-20]"),
    ],
)
def test_one_meaning_is_printed_in_the_block(said: str, text: str, printed: str) -> None:
    with one_store() as store:
        store.commit(text, t_ref=f"{said}T12:00:00Z")
        block = store.recall(text, context=True).context
    assert block is not None
    assert printed in block.text


@each(
    ("text", "windows"),
    [
        ("Café Lou in Paris is closed on Monday", 0),
        ("We play football every Friday", 0),
        ("The choir sings on Mondays", 0),
        ("Friday's numbers look odd to me", 2),
        ("The launch is on May 5.", 2),
        ("The review was moved to Friday.", 2),
        ("The contract is dated 03/04/2026", 2),
        ("Noted, 24 March.", 2),
        ("We noted 24 March for the shoot.", 2),
        ("Told Ann, Friday.", 2),
    ],
)
def test_what_is_open_or_a_habit_is_not_printed(text: str, windows: int) -> None:
    with one_store() as store:
        id = store.commit(text, t_ref=f"{WEDNESDAY}T12:00:00Z").memory_id
        assert id is not None
        times = store.show(id).memory.times
        block = store.recall(text, context=True).context
    assert len(times) == windows
    assert all(one.either for one in times)
    assert block is not None
    assert f": {text}" in block.text


def test_an_open_expression_is_kept_with_both_windows() -> None:
    with one_store() as store:
        said = f"{WEDNESDAY}T12:00:00Z"
        open_id = store.commit("Friday's numbers look odd", t_ref=said).memory_id
        sure_id = store.commit("We met Kim yesterday", t_ref=said).memory_id
        assert open_id is not None
        assert sure_id is not None
        shown = json.loads(json.dumps(store.show(open_id).to_dict()))["times"]
        sure = store.show(sure_id).memory.to_dict()["times"]
    assert [(one["start"][:10], one["end"][:10], one["either"]) for one in shown] == [
        ("2026-03-13", "2026-03-14", True),
        ("2026-03-20", "2026-03-21", True),
    ]
    assert sure[0]["either"] is False


@pytest.mark.parametrize("day", ["2026-03-13", "2026-03-20", "2026-03-27"])
def test_a_query_about_either_side_meets_an_open_expression(day: str) -> None:
    with one_store() as store:
        store.commit("Friday's numbers look odd", t_ref=f"{WEDNESDAY}T12:00:00Z")
        found = store.recall(f"numbers of {day}", profile="reference")
    raw = found.results[0].reason.signals["temporal"].raw
    assert (raw == 1.0) is (day != "2026-03-27")


def test_a_query_that_leaves_a_time_open_has_both_windows_and_names_it_once() -> None:
    with one_store() as store:
        store.commit("The numbers of 2026-03-13 look odd", t_ref=f"{MONDAY}T12:00:00Z")
        store.commit("The numbers of 2026-03-20 are fine", t_ref=f"{MONDAY}T12:00:00Z")
        found = store.recall(
            "Friday's numbers", profile="reference", query_time=f"{WEDNESDAY}T12:00:00Z"
        )
    assert [one.either for one in found.analysis.windows] == [True, True]
    for hit in found.results:
        assert hit.reason.signals["temporal"].raw == 1.0
        assert hit.reason.signals["temporal"].matched == ("Friday",)


def test_one_statement_of_a_day_is_one_whenever_it_is_said_and_another_day_is_another() -> None:
    config = {"hygiene.near_duplicate.threshold": 0.0}
    with one_store(**config) as store:
        said = f"{WEDNESDAY}T12:00:00Z"
        first = store.commit("The review was moved to Friday.", t_ref=said)
        same = store.commit("The review was moved to Friday!", t_ref="2026-03-25T12:00:00Z")
        other = store.commit("The review was moved to Monday.", t_ref=said)
    assert first.outcome == other.outcome == "INSERTED_NEW"
    assert (same.outcome, same.memory_id) == ("NEAR_DUPE", first.memory_id)
    assert other.possible_update_of is not None
    assert other.possible_update_of.memory_id == first.memory_id
    assert other.possible_update_of.differs == (Difference(old="Friday", new="Monday"),)


def test_export_and_import_keep_what_was_left_open() -> None:
    with one_store() as store, one_store() as other:
        store.commit("Friday's numbers look odd", t_ref=f"{WEDNESDAY}T12:00:00Z")
        lines = io.StringIO()
        store.export(lines)
        assert lines.getvalue().count('"either":true') == 2
        lines.seek(0)
        other.import_(lines)
        assert other.list()[0].times == store.list()[0].times
