"""Passages that move between the files of an import, and that several files state."""

from __future__ import annotations

import os
from itertools import permutations
from pathlib import Path

import pytest

import vestig
from vestig.exchange import documents
from vestig.store.records import documents as document_records
from vestig.testing import HashingEmbedder

YAW = "# Yaw\n\nThe yaw brake holds at 160 bar.\n"
VANS = "# Vans\n\nVan 1 is registered as ABC 12D.\n"
LIFT = "# Lift\n\nThe forklift is serviced in October.\n"
CRANE = "# Crane\n\nThe crane is yellow, and it stands in the yard.\n"

MOVES = {
    "swap": ({"a": YAW, "b": VANS}, {"a": VANS, "b": YAW}),
    "rotate": ({"a": YAW, "b": VANS, "c": LIFT}, {"a": VANS, "b": LIFT, "c": YAW}),
    "to a new file": ({"a": YAW}, {"a": CRANE, "b": YAW}),
    "to a known file": ({"a": YAW, "b": VANS}, {"a": CRANE, "b": YAW}),
    "copied": ({"a": YAW}, {"a": CRANE, "b": YAW, "c": YAW}),
    "both lose it": ({"a": YAW, "b": YAW}, {"a": VANS, "b": CRANE}),
    "one of two loses it": ({"a": YAW, "b": YAW}, {"a": VANS, "b": YAW}),
}


@pytest.fixture
def store() -> vestig.Vestig:
    return vestig.open(":memory:", embedder=HashingEmbedder())


def put(folder: Path, texts: dict[str, str], at: int) -> None:
    for path in folder.glob("*.md"):
        path.unlink()
    for name, text in texts.items():
        path = folder / f"{name}.md"
        path.write_text(text, encoding="utf-8")
        os.utime(path, (at, at))


def contents(store: vestig.Vestig) -> set[str]:
    return {one.content for one in store.list(limit=100)}


@pytest.mark.parametrize("group", [250, 1])
@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize("move", MOVES)
def test_what_a_file_holds_stays_whatever_the_order_of_files(
    move: str, mirror: bool, group: int, store: vestig.Vestig, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(documents, "_GROUP_PASSAGES", group)
    before, after = MOVES[move]
    for at, names in enumerate(permutations("abc")):
        names_of = dict(zip("abc", names, strict=True))
        scope, folder = f"s{at}", tmp_path / str(at)
        folder.mkdir()
        put(folder, {names_of[name]: text for name, text in before.items()}, 1_770_000_000)
        store.import_(folder, scope=scope, mirror=mirror)
        ids = {one.content: one.id for one in store.list(where={"scope": scope})}
        put(folder, {names_of[name]: text for name, text in after.items()}, 1_780_000_000)
        planned = store.import_(folder, scope=scope, mirror=mirror, dry_run=True)
        report = store.import_(folder, scope=scope, mirror=mirror)
        for counted in ("added", "kept", "ended", "imported", "skipped", "memories"):
            assert getattr(planned, counted) == getattr(report, counted), counted
        now = {one.content: one.id for one in store.list(where={"scope": scope})}
        assert now.keys() == {text.strip() for text in after.values()}
        assert all(now[text] == ids[text] for text in now.keys() & ids.keys())
        assert store.import_(folder, scope=scope, mirror=mirror).skipped == len(after)
    assert store.admin.doctor().exit_code == 0


def test_a_plain_import_brings_back_what_ended_though_a_file_holds_it(
    store: vestig.Vestig, tmp_path: Path
) -> None:
    put(tmp_path, {"a": YAW, "b": VANS}, 1_770_000_000)
    store.import_(tmp_path)
    [yaw] = [one.id for one in store.list() if "yaw" in one.content]
    # as an import ended it that took each file by itself
    store.deprecate(yaw, reason=f"{document_records.NO_LONGER_IN} source_1")
    assert contents(store) == {VANS.strip()}
    report = store.import_(tmp_path)
    assert (report.added, report.skipped) == (1, 1)
    assert contents(store) == {VANS.strip(), YAW.strip()}
    assert store.import_(tmp_path).skipped == 2
    # what a caller withdraws stays so
    [yaw] = [one.id for one in store.list() if "yaw" in one.content]
    store.deprecate(yaw, reason="wrong")
    assert (store.import_(tmp_path).skipped, store.count()) == (2, 1)


@pytest.mark.parametrize("mirror", [False, True])
def test_a_file_that_lost_a_passage_is_no_source_of_it(
    mirror: bool, store: vestig.Vestig, tmp_path: Path
) -> None:
    put(tmp_path, {"a": YAW, "b": YAW}, 1_770_000_000)
    store.import_(tmp_path)
    [yaw] = store.list()
    put(tmp_path, {"b": YAW} if mirror else {"a": CRANE, "b": YAW}, 1_770_000_000)
    if not mirror:
        os.utime(tmp_path / "a.md", (1_780_000_000, 1_780_000_000))
    store.import_(tmp_path, mirror=mirror)
    assert [one.path for one in store.show(yaw.id).sources] == [str(tmp_path / "b.md")]
    of_a = {"source_ids": [str(tmp_path / "a.md")]}
    assert YAW.strip() not in [one.content for one in store.list(where=of_a)]
    if not mirror:
        store.forget(where=of_a)
    assert contents(store) == {YAW.strip()}
    assert store.admin.doctor().exit_code == 0


def test_kept_passages_take_over_what_the_front_matter_says_anew(
    store: vestig.Vestig, tmp_path: Path
) -> None:
    path, at = tmp_path / "vans.md", 1_770_000_000

    def imported(matter: str, name: str = "vans") -> vestig.ImportReport:
        nonlocal at
        at += 100_000
        file = tmp_path / f"{name}.md"
        text = f"---\n{matter}---\n# Vans\n\n" + "Van 1 is ABC 12D. " * 40
        file.write_text(f"{text}\n\n## Tyres\n\nWinter tyres go on in week 44.\n", "utf-8")
        os.utime(file, (at, at))
        return store.import_(tmp_path)

    def stored() -> set[tuple[object, ...]]:
        return {(one.title, one.tags, str(one.t_valid)[:10]) for one in store.list()}

    imported("tags: [draft, van]\ndate: 2024-01-10\n")
    [tyres] = [one.id for one in store.list() if "Winter" in one.content]
    store.update(tyres, tags=["draft", "van", "own"])
    for matter, title, tags, day in (
        ("tags: [van, current]\ndate: 2024-01-10\n", "", ("van", "current"), "2024-01-10"),
        ("tags: [van, current]\ndate: 2024-06-30\n", "", ("van", "current"), "2024-06-30"),
        ("title: Company\ndate: 2024-06-30\n", "Company > ", (), "2024-06-30"),
    ):
        report = imported(matter)
        assert (report.added, report.ended, report.imported) == (0, 0, 1)
        own = (*tags[:1], "own", *tags[1:])
        assert stored() == {(f"{title}Vans", tags, day), (f"{title}Vans > Tyres", own, day)}
    # the time of the file is that of no passage which was there before
    imported("title: Company\ndate: 2024-06-30\nowner: Ann\n")
    assert {day for _, _, day in stored()} == {"2024-06-30"}
    # another document with the same passages adds its tags, and takes away its own alone
    imported("title: Company\ndate: 2024-06-30\ntags: [fleet]\n", "copy")
    imported("title: Other\ndate: 2024-09-30\ntags: [fleet, van]\n")
    imported("title: Other\ndate: 2024-09-30\ntags: [van]\n")
    assert stored() == {
        ("Company; Other > Vans", ("fleet", "van"), "2024-06-30"),
        ("Company; Other > Vans > Tyres", ("own", "fleet", "van"), "2024-06-30"),
    }
    assert store.admin.doctor().exit_code == 0
    assert path.exists()


def test_a_passage_with_another_value_succeeds_the_one_before(
    store: vestig.Vestig, tmp_path: Path
) -> None:
    put(tmp_path, {"a": YAW, "b": VANS, "c": LIFT + "\n" + CRANE}, 1_770_000_000)
    store.import_(tmp_path)
    edited = {"a": YAW.replace("160", "170"), "b": VANS.replace("Vans", "Cars"), "c": LIFT}
    put(tmp_path, edited, 1_780_000_000)
    before = {one.content: one.id for one in store.list()}
    store.import_(tmp_path)
    [now] = [one.id for one in store.list() if "170" in one.content]
    old = store.get(before[YAW.strip()])
    assert (old.status.value, old.superseded_by) == ("superseded", now)
    assert {one.id for one in store.history(old.id)} == {now, old.id}
    # another heading, and text that is gone, say nothing for certain
    assert store.get(before[VANS.strip()]).superseded_by is None
    assert store.count(where={"statuses": "DEPRECATED"}) == 2
    assert store.admin.doctor().exit_code == 0
