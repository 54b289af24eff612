"""Keys in exports: they come back, and versions of two stores become one history."""

from __future__ import annotations

import io
import json
from pathlib import Path

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
        store.import_(io.StringIO(lines), merge=True)
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
