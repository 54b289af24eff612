"""A text that was not stored is hard to miss: its outcome is false, and Python gives a warning."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import vestig
from served import serving_store
from tables import each
from vestig import aio
from vestig.testing import HashingEmbedder

LONG = "A note about the harbour. " * 300
FACT = "The pump of the harbour is red"


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as opened:
        yield opened


def warned(call: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    # what an earlier test left open may be collected in between
    told = [
        one for one in caught if not issubclass(one.category, (ResourceWarning, RuntimeWarning))
    ]
    assert {one.category for one in told} <= {UserWarning}, [str(one.message) for one in told]
    return [str(one.message) for one in told]


@each(
    ("content", "why"),
    [(LONG, "Content too long: 7799 chars"), ("", "cannot be empty"), ("ok", "too short")],
    ids=["long", "empty", "filler"],
)
def test_a_refused_text_is_false_and_gives_a_warning_that_says_why(
    store: vestig.Vestig, content: str, why: str
) -> None:
    outcomes: list[vestig.CommitOutcome] = []
    (said,) = warned(lambda: outcomes.append(store.commit(content)))
    assert not outcomes[0]
    # fields that say nothing are not printed, so that the refusal stands out
    assert "REJECTED_HYGIENE" in repr(outcomes[0])[:80]
    assert len(repr(outcomes[0])) < 600
    assert said.startswith("commit stored nothing: ")
    assert why in said
    (said,) = warned(lambda: store.scoped("yard").commit(content))
    assert why in said
    assert warned(lambda: store.commit(content, dry_run=True)) == []


def test_what_was_stored_or_known_is_true_and_gives_none(store: vestig.Vestig) -> None:
    outcomes: list[Any] = []
    assert warned(lambda: outcomes.extend((store.commit(FACT), store.commit(FACT)))) == []
    assert warned(lambda: outcomes.extend(store.commit_many([FACT, "The crane is old"]))) == []
    assert all(outcomes)
    assert all((store.commit("The mast is tall", dry_run=True), store.commit_structured("a", "b")))


def test_secrets_that_were_masked_give_a_warning_that_names_their_rules(
    store: vestig.Vestig,
) -> None:
    text, secret = "The password of the gate is {}", "Kettenblatt42!"
    outcomes: list[Any] = []
    (said,) = warned(lambda: outcomes.append(store.commit(text.format(secret))))
    assert said.startswith("commit stored [secret:password] in the place of what is a secret")
    assert secret not in said
    assert outcomes[0].masked[0].places
    items = ["The mast is tall", text.format("Zahnkranz77!")]
    (said,) = warned(lambda: store.commit_many(items))
    assert said.startswith("commit_many stored [secret:password]")
    mast = str(store.commit("The mast is tall").memory_id)
    (said,) = warned(lambda: store.update(mast, f"The mast is old, its password is {secret}"))
    assert said.startswith("update stored [secret:password]")
    assert warned(lambda: store.commit(text.format("Ritzel_88x!"), dry_run=True)) == []


def test_a_long_text_is_led_to_a_document(store: vestig.Vestig) -> None:
    (said,) = warned(lambda: store.commit_structured("Harbour", LONG))
    assert said.startswith("commit_structured stored nothing: Content too long")
    assert said.endswith("add it as a document, which is cut into passages.")
    assert store.add_document(LONG).added


@each(
    ("items", "said"),
    [
        (
            [{"text": FACT}],
            "commit_many stored 0 of 1 items; items[0]: commit has no argument text; did you mean"
            " content?",
        ),
        (
            [FACT, ("yard", "The yard is closed on Sundays")],
            "commit_many stored 1 of 2 items; items[1]: item: expected a text or an object of"
            " commit's fields, got 'tuple'; a text with its key is"
            ' {"content": text, "key": key}',
        ),
        (
            ["ok", FACT, ""],
            "commit_many stored 1 of 3 items; items[0]: Content too short: 2 chars (minimum: 12,"
            " or two words that say something)",
        ),
    ],
    ids=["dictionary", "pair", "refused"],
)
def test_items_that_were_not_stored_are_false_and_counted_in_a_warning(
    store: vestig.Vestig, items: list[Any], said: str
) -> None:
    results: list[Any] = []
    assert warned(lambda: results.extend(store.commit_many(items))) == [said]
    assert sum(map(bool, results)) == store.count()


def test_the_warning_is_at_the_line_that_called(store: vestig.Vestig) -> None:
    with pytest.warns(UserWarning, match="stored nothing") as caught:
        store.commit("ok")
    assert caught[0].filename == __file__


def test_it_is_given_by_a_store_of_an_event_loop_too(store: vestig.Vestig) -> None:
    assert warned(lambda: asyncio.run(aio.wrap(store).commit("ok")))
    assert warned(lambda: asyncio.run(aio.wrap(store).commit_many(["ok"])))


def test_a_surface_shows_the_outcome_itself_and_gives_none(store: vestig.Vestig) -> None:
    def asked() -> None:
        with serving_store(store) as site:
            assert site.post("commit", {"content": "ok"}).status == 422
            assert site.post("commit", {"items": [{"content": "ok"}]}).status == 207

    assert [one for one in warned(asked) if "stored" in one] == []


def test_equal_texts_that_stay_are_named_by_forget_and_by_a_warning(store: vestig.Vestig) -> None:
    store.commit(FACT, key="pump.colour")
    again = store.commit(FACT, author="Bo")
    elsewhere = store.commit(FACT, scope="yard")
    stay = {again.memory_id, elsewhere.memory_id}
    keyed: Any = {"keys": ["pump.colour"]}
    reports: list[Any] = []
    (planned,) = warned(lambda: reports.append(store.forget(where=keyed, dry_run=True)))
    (said,) = warned(lambda: reports.append(store.forget(where=keyed)))
    assert set(reports[0].same_text) == set(reports[1].same_text) == stay
    assert said.startswith("forget: the very text of a memory that goes stays in 2 others: mem_")
    assert planned == said == f"forget: {reports[1].warnings[0]}"
    assert all(id is not None and id in said for id in stay)
    assert f"same_text=('{reports[1].same_text[0]}', … 2 in all)" in repr(reports[1])
    assert [hit.content for hit in store.recall("What colour has the pump?", all=True)]
    assert warned(lambda: reports.append(store.forget([str(id) for id in stay]))) == []
    assert reports[2].same_text == ()


def test_a_view_names_no_equal_text_of_another_scope(store: vestig.Vestig) -> None:
    store.commit(FACT, scope="bo")
    ada = store.scoped("ada")
    id = ada.commit(FACT).memory_id
    assert id is not None
    assert warned(lambda: ada.forget(id)) == []


def test_a_key_that_a_replacement_leaves_behind_is_warned_of(store: vestig.Vestig) -> None:
    old = store.commit("The pump costs 90 euros", key="pump.price").memory_id
    new = store.commit("The pump costs 95 euros now").memory_id
    assert old is not None
    assert new is not None
    (said,) = warned(lambda: store.supersede(old, new))
    assert said == (
        f"supersede: the key pump.price of {old} is free now: {new}, which replaces it, does not"
        " have it; commit(text, key=…) stores a new value of a key"
    )
    with pytest.raises(vestig.NotFoundError):
        store.get("pump.price")
    lamp = str(store.commit("The lamp costs 9 euros", key="lamp.price").memory_id)
    (said,) = warned(lambda: store.commit("The lamp costs 10 euros", supersedes=lamp))
    assert said.startswith("commit: the key lamp.price of ")
    assert warned(lambda: store.commit("The pump costs 99 euros", key="pump.price")) == []
    assert warned(lambda: store.update(store.get("pump.price").id, "It costs 98 euros")) == []


def test_a_name_that_no_entity_has_is_warned_of_with_those_that_begin_so(
    store: vestig.Vestig,
) -> None:
    for number in range(3):
        store.commit(f"walk {number} went to the old pier", entities=["Rex the German"])
    where: Any = {"entities": ["rex"]}
    reports: list[Any] = []
    told = "entities: no entity is called 'rex'; known are 'Rex the German'"
    assert warned(lambda: reports.append(store.forget(where=where))) == [f"forget: {told}"]
    assert warned(lambda: store.deprecate(where=where)) == [f"deprecate: {told}"]
    assert warned(lambda: store.count(where)) == [f"count: {told}"]
    assert warned(lambda: reports.append(store.list(where))) == [f"list: {told}"]
    assert [one.warnings for one in reports] == [(told,)] * 2
    (said,) = warned(lambda: store.scoped("bo").count(where))
    assert "German" not in said, "another scope may have brought it"
    other: Any = {"entities": ["Nobody"]}
    (said,) = warned(lambda: store.count(other))
    assert said.endswith("'Nobody'; store.graph.entities() gives those that there are")
    known: Any = {"entities": ["Rex the German"]}
    assert warned(lambda: reports.append(store.forget(where=known))) == []
    assert len(reports[2].memory_ids) == 3


def test_a_known_name_is_told_with_the_longer_ones_and_several_in_one_text_with_each(
    store: vestig.Vestig,
) -> None:
    for number in range(3):
        store.commit(f"walk {number} went to the old pier", entities=["Rex"])
        store.commit(f"swim {number} went to the lake", entities=["Rex Falk"])
    where: Any = {"entities": ["rex"]}
    told = "entities: beside 'rex', also known: 'Rex Falk'"
    assert warned(lambda: store.forget(where=where, dry_run=True))[0] == f"forget: {told}"
    assert store.list(where).warnings == (told,)
    assert warned(lambda: (store.count(where), store.list(where))) == [], "some were found"
    assert store.scoped("bo").list(where).warnings[1:] == ()
    both: Any = {"entities": ["Rex", "Rex Falk"]}
    assert store.list(both).warnings == ()
    joined: Any = {"entities": ["Rex,Rex Falk"]}
    (said,) = warned(lambda: store.count(joined))
    assert said.endswith("name each by itself: entities=['Rex', 'Rex Falk']")
    one: Any = {"entities": ["Rex, Nobody"]}
    (said,) = warned(lambda: store.count(one))
    assert "name each" not in said


def test_an_export_whose_name_promises_one_document_says_what_it_is(
    store: vestig.Vestig, tmp_path: Path
) -> None:
    store.commit(FACT)
    reports: list[Any] = []
    said = warned(lambda: reports.append(store.export(tmp_path / "all.JSON")))
    assert said == [
        "export: target: the file holds a JSON object a line, for which names end in .jsonl"
    ]
    assert reports[0].to_dict()["warnings"] == [said[0].removeprefix("export: ")]
    assert warned(lambda: reports.append(store.export(tmp_path / "all.jsonl"))) == []
    assert "warnings" not in reports[1].to_dict()
    assert warned(lambda: store.export(tmp_path / "notes", format="md")) == []
    where: Any = {"entities": ["Nobody"]}
    (said_of_filter,) = warned(lambda: store.export(tmp_path / "some.jsonl", where=where))
    assert "no entity is called 'Nobody'" in said_of_filter


def test_lines_of_a_file_that_were_not_stored_are_counted_in_a_warning(
    store: vestig.Vestig, tmp_path: Path
) -> None:
    path = tmp_path / "notes.jsonl"
    lines = [{"content": FACT}, {"content": "The crane is old"}, {"content": FACT, "t_valid": "?"}]
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines), encoding="utf-8")
    assert warned(lambda: store.import_(path, dry_run=True)) == []
    (said,) = warned(lambda: store.import_(path))
    assert said.startswith("import_: 1 entry was not stored; errors[0]: ")
    assert "t_valid: expected a time" in said
    assert store.count() == 2
