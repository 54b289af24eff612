"""Keys in exports: they come back, and versions of two stores become one history."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.errors import NotFoundError, ValidationError
from vestig.testing import FrozenClock, HashingEmbedder

KEY = "lamp.colour"


def opened(folder: Path) -> vestig.Vestig:
    return vestig.open(folder, embedder=HashingEmbedder(16), clock=FrozenClock())


def exported(store: vestig.Vestig) -> str:
    target = io.StringIO()
    store.export(target)
    return target.getvalue()


def history(store: vestig.Vestig) -> list[tuple[str, str, str, str]]:
    where = {"keys": [KEY], "include_expired": True}
    return [
        (f"{one.t_valid:%Y}", f"{one.t_invalid or 'open':%Y}" if one.t_invalid else "open",
         one.status.word, one.content.rpartition(" ")[2])
        for one in store.list(where=where, order_by="t_valid", descending=False)
    ]  # fmt: skip


def filled(folder: Path, *values: tuple[str, int]) -> vestig.Vestig:
    store = opened(folder)
    for colour, year in values:
        store.commit(f"The lamp in the hall is {colour}", key=KEY, t_valid=f"{year}-01-01")
    return store


def test_a_key_comes_back_with_its_history(tmp_path: Path) -> None:
    with filled(tmp_path / "a", ("red", 2020), ("blue", 2024), ("green", 2022)) as store:
        lines, told = exported(store), history(store)
        current = store.get(KEY)
    with opened(tmp_path / "b") as other:
        other.import_(io.StringIO(lines))
        assert history(other) == told
        assert other.get(KEY) == current
        assert exported(other).splitlines()[1:-1] == lines.splitlines()[1:-1]
        assert other.admin.doctor().exit_code == 0


def test_versions_of_two_stores_are_ordered_by_their_times(tmp_path: Path) -> None:
    theirs = filled(tmp_path / "a", ("red", 2020), ("grey", 2023), ("black", 2026))
    lines = exported(theirs)
    theirs.close()
    with filled(tmp_path / "b", ("blue", 2021), ("green", 2024)) as store:
        green = store.get(KEY)
        report = store.import_(io.StringIO(lines), merge=True)
        assert report.superseded == (green.id,)
        assert len(report.warnings) == 1
        assert report.warnings[0].startswith("1 earlier value of keys end where")
        assert history(store) == [
            ("2020", "2021", "SUPERSEDED", "red"),
            ("2021", "2023", "SUPERSEDED", "blue"),
            ("2023", "2024", "SUPERSEDED", "grey"),
            ("2024", "2026", "SUPERSEDED", "green"),
            ("2026", "open", "ACTIVE", "black"),
        ]
        assert store.get(KEY).content.endswith("black")
        assert [one.content[-5:] for one in store.list(valid_at="2024-06-01")] == ["green"]
        green = store.list(where={"keys": KEY, "statuses": ["superseded"]}, order_by="t_valid")[0]
        assert green.superseded_by == store.get(KEY).id
        assert store.events(green.id)[-1].payload["reason"] == "key"
        assert store.admin.doctor().exit_code == 0
        again = store.import_(io.StringIO(lines), merge=True)
        assert (again.imported, len(history(store))) == (0, 5)


def test_the_same_value_of_two_stores_is_one(tmp_path: Path) -> None:
    theirs = filled(tmp_path / "a", ("red", 2020))
    lines = exported(theirs)
    theirs.close()
    with filled(tmp_path / "b", ("red", 2021)) as store:
        report = store.import_(io.StringIO(lines), merge=True)
        assert (report.duplicates, len(history(store))) == (1, 1)
        store.commit("The lamp in the hall is red")
        assert store.import_(io.StringIO(lines), merge=True).duplicates == 1


def test_a_file_that_was_edited_keeps_the_rules(tmp_path: Path) -> None:
    with filled(tmp_path / "a", ("red", 2020), ("blue", 2024)) as store:
        lines = exported(store).splitlines()
    for key, error in ((" lamp", "white space"), ("mem_0", "mem_"), ("la\nmp", "U\\+000A")):
        edited = [json.loads(line) for line in lines[:-1]]
        for record in edited:
            if record["record"] == "memory":
                record["key"] = key
        text = "\n".join(json.dumps(record) for record in edited)
        with opened(tmp_path / "b") as other:
            with pytest.raises(ValidationError, match=f"(?s)key: .*{error}"):
                other.import_(io.StringIO(text))
            with pytest.raises(NotFoundError):
                other.get(KEY)


@pytest.mark.parametrize(
    ("mine", "theirs", "stays", "beside"),
    [
        ({"pinned": True}, {}, True, True),
        ({"pinned": True}, {"t_valid": "2019-01-01"}, True, False),
        ({"role": "user"}, {"role": "assistant"}, True, True),
        ({"role": "assistant"}, {"role": "assistant"}, False, False),
        ({"role": "assistant"}, {"role": "user", "t_valid": "2019-01-01"}, False, False),
        ({"role": "assistant", "pinned": True}, {"role": "user"}, True, True),
        # of one time
        ({}, {"t_valid": "2020-01-01"}, True, False),
        ({}, {}, False, False),
        ({}, {"t_valid": "2019-01-01"}, True, False),
    ],
)
def test_a_merge_takes_a_key_as_a_commit_would(
    tmp_path: Path, mine: Any, theirs: Any, stays: bool, beside: bool
) -> None:
    with opened(tmp_path / "theirs") as other:
        other.commit("The lamp is blue", key=KEY, **{"t_valid": "2024-01-01"} | theirs)
        lines = exported(other)
    with opened(tmp_path / "mine") as store:
        red = store.commit("The lamp is red", key=KEY, t_valid="2020-01-01", **mine)
        report = store.import_(io.StringIO(lines), merge=True)
        current = store.get(KEY)
        assert (current.id == red.memory_id) == stays
        assert report.superseded == (() if stays else (red.memory_id,))
        blue = next(
            one for one in store.list(where={"include_expired": True}) if "blue" in one.content
        )
        assert (blue.key is None) == beside
        named = [one for one in report.warnings if one.startswith(f"{red.memory_id} keeps the key")]
        assert len(report.warnings) == len(named) == beside
        again = store.import_(io.StringIO(lines), merge=True)
        assert (again.imported, again.superseded) == (0, ())
        assert store.get(KEY) == current
        if beside and "role" in theirs and theirs["role"] == "assistant":
            store.confirm(blue.id, by="Ada")
            assert store.get(KEY).content == "The lamp is blue"
        assert store.admin.doctor().exit_code == 0


def test_an_archived_value_hides_none(tmp_path: Path) -> None:
    with filled(tmp_path / "theirs", ("blue", 2024)) as other:
        other.archive(other.get(KEY).id)
        lines = exported(other)
    with filled(tmp_path / "mine", ("red", 2020)) as store:
        assert len(store.import_(io.StringIO(lines), merge=True).warnings) == 1
        assert store.get(KEY).content.endswith("red")


def test_what_was_replaced_in_one_of_two_stores_is_named_in_the_other(tmp_path: Path) -> None:
    clock = FrozenClock()
    early, late = "The shop opens at eight", "The shop opens at nine"

    def store_of(name: str, *, replaced: bool) -> vestig.Vestig:
        store = vestig.open(tmp_path / name, embedder=HashingEmbedder(16), clock=clock)
        known = store.commit(early)
        clock.move(days=1)
        if replaced:
            store.commit(late, supersedes=[known.memory_id])
        return store

    def texts(store: vestig.Vestig) -> list[str]:
        return sorted(one.content for one in store.list())

    with store_of("old", replaced=False) as old, store_of("new", replaced=True) as new:
        clock.move(days=1)
        # replaced here since: it does not come back, unless it is stated later
        report = new.import_(io.StringIO(exported(old)), merge=True)
        assert (report.duplicates, report.imported, texts(new)) == (1, 0, [late])
        assert report.warnings[0].startswith("1 memory of the file stayed out")
        # replaced there: what holds here stays, and is named with what replaced it
        held = old.list()[0].id
        report = old.import_(io.StringIO(exported(new)), merge=True)
        assert texts(old) == [early, late]
        nine = next(one.id for one in old.list() if one.content == late)
        assert held in report.warnings[-1]
        assert nine in report.warnings[-1]
        old.supersede(held, nine)
        assert old.import_(io.StringIO(exported(new)), merge=True).warnings == ()
    with store_of("again", replaced=False) as again, store_of("newer", replaced=True) as newer:
        clock.move(days=1)
        again.commit(early)
        newer.import_(io.StringIO(exported(again)), merge=True)
        assert texts(newer) == [early, late]


def test_a_merge_changes_nothing_that_was_known_before(tmp_path: Path) -> None:
    clock = FrozenClock("2026-01-01")
    mine, theirs = (
        vestig.open(tmp_path / name, embedder=HashingEmbedder(16), clock=clock)
        for name in ("mine", "theirs")
    )

    def at(day: str) -> None:
        clock.move(
            seconds=(datetime.fromisoformat(day).replace(tzinfo=UTC) - clock()).total_seconds()
        )

    theirs.commit("The limit of Ada is 5", key="limit")
    at("2026-01-02")
    mine.commit("The limit of Ada is 3", key="limit")
    gone = theirs.commit("Ada sails to Porto")
    at("2026-01-04")
    theirs.deprecate(gone.memory_id, reason="wrong")
    at("2026-01-09")
    theirs.commit("The limit of Ada is 9", key="limit")
    at("2026-02-01")
    days = ("2026-01-01", "2026-01-03", "2026-01-08", "2026-01-20")
    where = {"include_expired": True}

    def known() -> list[list[str]]:
        return [[one.content for one in mine.list(known_at=day)] for day in days]

    before = known(), mine.diff("2026-01-01", "2026-01-31")
    mine.import_(io.StringIO(exported(theirs)), merge=True)
    at("2026-02-02")
    after = known(), mine.diff("2026-01-01", "2026-01-31")
    assert after[0] == before[0]
    assert [one.content for one in after[1].learnt] == [one.content for one in before[1].learnt]
    assert after[1].changed == before[1].changed == ()
    assert [one.content for one in mine.list(known_at="2026-02-01", where={"keys": "limit"})] == [
        "The limit of Ada is 9"
    ]
    assert mine.recall("limit of Ada", known_at="2026-01-20", all=True)[0].content.endswith("3")
    told = mine.diff("2026-01-31", "2026-02-02")
    assert len(told.learnt) == 3
    assert {one.id: one.reason for one in told.withdrawn} == {gone.memory_id: "wrong"}
    assert mine.admin.doctor().exit_code == 0
    # a later word is the newer one where nobody told since when the value holds
    mine.commit("The limit of Ada is 4", key="limit", t_valid="2026-01-05")
    assert mine.get("limit").content.endswith("4")
    # an empty store takes the times as well
    with opened(tmp_path / "copy") as copy:
        copy.import_(io.StringIO(exported(theirs)), merge=True)
        assert [one.content for one in copy.list(known_at="2026-01-01", where=where)] == [
            "The limit of Ada is 5"
        ]
    mine.close()
    theirs.close()
