"""Reading benchmarks: both packings, every fault named with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.labelled_life import Bench, queries, units
from benchmarks.reader import read_benchmark, without_categories
from vestig.errors import ValidationError


def _query(**changes: Any) -> dict[str, Any]:
    return {**queries()[0], **changes}


def test_packed_or_not_a_benchmark_is_the_same(bench: Bench) -> None:
    plain = read_benchmark(bench(units(), queries(), name="a"))
    packed = read_benchmark(bench(units(), queries(), name="b", packed=True))
    assert (plain.units, plain.queries, plain.digest) == (
        packed.units,
        packed.queries,
        packed.digest,
    )
    assert (plain.name, plain.unit_count, len(plain.units)) == ("a", 10, 2)
    assert plain.categories == {"chores": 2, "keys": 2, "places": 1, "times": 1}
    assert plain.units["garden"][0].embedded_text == f"Ada: {units()[0]['text']}"


def test_keys_are_those_of_an_imported_transcript(bench: Bench) -> None:
    other = {"message_id": 7, "content": "Hello there", "author": "Ada", "scope": "c"}
    query = {"id": 1, "text": "who?", "relevant": [7], "conversation": "c"}
    found = read_benchmark(bench([other], [query]))
    assert found.units["c"][0].id == "7"
    assert found.units["c"][0].embedded_text == "Ada: Hello there"
    assert found.queries[0].relevant == frozenset({"7"})
    assert found.queries[0].category == "uncategorised"
    assert found.queries[0].date is None


def test_a_unit_keeps_its_title_and_its_place_in_its_session(bench: Bench) -> None:
    own = {"id": "a", "text": "Hello", "title": "Notes", "session_id": 4, "sequence": 0}
    turn = {"id": "b", "text": "Hello", "session": "s", "turn": 2}
    query = {"id": 1, "text": "who?", "relevant": ["a"]}
    first, second = read_benchmark(bench([own, turn], [query])).units[None]
    assert (first.title, first.session, first.sequence) == ("Notes", "4", 0)
    assert (second.title, second.session, second.sequence) == (None, "s", 2)
    with pytest.raises(ValidationError, match="a whole number under sequence or turn"):
        read_benchmark(bench([{**turn, "id": "a", "turn": "2"}], [query], name="b"))


@pytest.mark.parametrize(
    ("labelled", "words"),
    [
        ([], "nothing to ask"),
        ([_query(relevant=["0", "77"])], "1 of 2 do not exist"),
        ([_query(relevant=[])], "nothing to ask"),
        ([_query(relevant=None)], "a list of ids under relevant"),
        ([_query(outdated=["77"])], "outdated ids of units.*1 of 1 do not exist"),
        ([_query(as_of=True, date=None)], "a date beside as_of"),
        ([_query(relevant="0")], "a list of ids under relevant"),
        ([_query(conversation="elsewhere")], "do not exist"),
        ([_query(conversation=None)], "do not exist"),
        ([_query(text=" \n")], "not blank"),
        ([_query(text=3)], "a text under content or text"),
        ([_query(id=None)], "a text under id"),
        ([_query(category=["a"])], "a text or null"),
        ([_query(date="next week")], "queries.jsonl:1, date"),
        ([_query(date=[2025])], "queries.jsonl:1, date"),
    ],
)
def test_a_benchmark_that_measures_nothing_is_refused(
    bench: Bench, labelled: list[dict[str, Any]], words: str
) -> None:
    with pytest.raises(ValidationError, match=words) as caught:
        read_benchmark(bench(units(), labelled))
    assert "shed" not in str(caught.value), "messages hold no text of the data"


def test_labels_are_looked_for_in_their_own_conversation(bench: Bench) -> None:
    only_garden = _query(relevant=["5"], conversation="harbour")
    with pytest.raises(ValidationError, match=r"queries\.jsonl:1"):
        read_benchmark(bench(units(), [only_garden]))


def test_ids_may_not_repeat_within_a_conversation(bench: Bench) -> None:
    with pytest.raises(ValidationError, match="an id repeats"):
        read_benchmark(bench([*units(), units()[0]], queries()))


@pytest.mark.parametrize("broken", [b"{", b"[1]\n", b'{"id": "1"}\n\xff\n'])
def test_unreadable_lines_are_named(bench: Bench, broken: bytes) -> None:
    folder = bench(units(), queries())
    (folder / "queries.jsonl").write_bytes(broken)
    with pytest.raises(ValidationError, match=r"queries\.jsonl:[12]"):
        read_benchmark(folder)


@pytest.mark.parametrize("left", ["corpus", "queries"])
def test_a_missing_file_is_named(bench: Bench, left: str) -> None:
    folder = bench(units(), queries())
    (folder / f"{left}.jsonl").unlink()
    with pytest.raises(ValidationError, match=f"{left}.jsonl or {left}.jsonl.gz"):
        read_benchmark(folder)


def test_a_torn_packed_file_is_refused(bench: Bench) -> None:
    folder = bench(units(), queries(), packed=True)
    whole = (folder / "corpus.jsonl.gz").read_bytes()
    (folder / "corpus.jsonl.gz").write_bytes(whole[:-20])
    with pytest.raises(ValidationError, match="cannot be read"):
        read_benchmark(folder)


def test_categories_can_be_left_out_but_not_all(bench: Bench) -> None:
    found = read_benchmark(bench(units(), queries()))
    fewer = without_categories(found, ["keys", "unheard of"])
    assert fewer.categories == {"chores": 2, "places": 1, "times": 1}
    assert fewer.left_out == ("keys",)
    with pytest.raises(ValidationError, match="leave queries"):
        without_categories(found, list(found.categories))


def test_the_shipped_benchmark_has_its_documented_size() -> None:
    from benchmarks.reader import SHIPPED

    if not Path(SHIPPED).is_dir():
        pytest.skip("no benchmark is shipped yet")
    found = read_benchmark(SHIPPED)
    assert found.unit_count >= 300
    assert len(found.queries) >= 150
