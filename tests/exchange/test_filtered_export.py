"""An export of a part: what belongs to the chosen memories, and nothing else."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig.testing import HashingEmbedder

ADA = "Ada Lovelace looks after the pump in the north hall"
GASKET = "A gasket of the pump was ordered by Ada Lovelace"
OSLO = "Grace Hopper moved to the office in Oslo last spring"


@pytest.fixture
def filled(opener: Opener) -> vestig.Vestig:
    store = opener("filled")
    pump = store.commit(ADA, tags=["plant"], author="Omar", provenance={"agent": "ci"}).memory_id
    gasket = store.commit(GASKET, tags=["plant"], scope="lab").memory_id
    office = store.commit(OSLO, tags=["people"]).memory_id
    assert pump is not None
    assert gasket is not None
    assert office is not None
    store.graph.link(pump, gasket, "RELATED", weight=0.9)
    store.graph.link(pump, office, "RELATED", weight=0.8)
    gone = store.commit("A sentence that is forgotten again").memory_id
    store.forget(str(gone))
    return store


def records(path: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text("utf-8").splitlines()[1:]:
        kind, fields = json.loads(line) if line.startswith("[") else ("", {})
        found.setdefault(kind, []).append(fields)
    return found


@pytest.mark.parametrize(
    ("where", "texts"),
    [
        ({"tags": "plant"}, {ADA, GASKET}),
        ({"authors": "Omar"}, {ADA}),
        ({"unscoped": True, "tags": "plant"}, {ADA}),
        ({"entities": "Grace Hopper"}, {OSLO}),
        ({"tags": "nothing"}, set()),
    ],
    ids=["tag", "author", "tag without scope", "entity", "nothing"],
)
def test_what_is_chosen_comes_with_what_belongs_to_it(
    filled: vestig.Vestig, tmp_path: Path, where: Any, texts: set[str]
) -> None:
    path = tmp_path / "part.jsonl"
    report = filled.export(path, where=where)
    assert report.lines == len(path.read_text("utf-8").splitlines())
    assert report.records.get("memory", 0) == len(texts)
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as other:
        assert other.import_(path).memories == len(texts)
        assert {memory.content for memory in other.list()} == texts
        assert other.admin.doctor().exit_code == 0
        names = {one.entity.canonical_name for one in other.graph.entities()}
        known = ("Ada Lovelace", "Grace Hopper", "Oslo")
        assert names == {name for name in known if name in str(texts)}
        for text in texts:
            assert other.recall(text, limit=1)[0].content == text
    assert "tombstone" not in report.records
    written = path.read_text("utf-8")
    assert not any(text in written for text in {ADA, GASKET, OSLO} - texts)


def test_without_a_field_everything_is_written(filled: vestig.Vestig, tmp_path: Path) -> None:
    whole = filled.export(tmp_path / "whole.jsonl")
    empty: Any = {"tags": {}, "authors": None}
    assert filled.export(tmp_path / "empty.jsonl", where=empty) == whole
    assert whole.records["tombstone"] == 1


def test_a_filter_and_all_namespaces_exclude_each_other(
    filled: vestig.Vestig, tmp_path: Path
) -> None:
    with pytest.raises(vestig.ValidationError, match="where"):
        filled.export(tmp_path / "x.jsonl", where={"tags": "plant"}, all_namespaces=True)
    assert not (tmp_path / "x.jsonl").exists()


def test_a_memory_whose_successor_stays_behind(opener: Opener, tmp_path: Path) -> None:
    store = opener("filled")
    old = store.commit("The office is in Oslo, by the harbour", tags=["old"]).memory_id
    new = store.commit("The office is in Bergen, by the harbour").memory_id
    store.supersede(str(old), str(new))
    path = tmp_path / "part.jsonl"
    store.export(path, where={"tags": "old", "include_expired": True})
    assert "Bergen" not in path.read_text("utf-8")
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as other:
        assert other.import_(path).memories == 1
        (memory,) = other.list({"include_expired": True})
        assert (memory.status.word, memory.superseded_by) == ("SUPERSEDED", None)
        assert other.admin.doctor().exit_code == 0
        # the copy does not hold the successor either, and its whole export says so
        again = tmp_path / "again.jsonl"
        assert other.export(again).cut_references == 1
        with vestig.open(":memory:", embedder=HashingEmbedder(64)) as third:
            assert third.import_(again).memories == 1


def test_the_header_names_the_filter_and_the_trailer_what_was_cut(
    opener: Opener, tmp_path: Path
) -> None:
    store = opener("filled")
    old = str(store.commit("The office is in Oslo, by the harbour", tags=["old"]).memory_id)
    new = store.commit("The office is in Bergen, by the harbour", supersedes=[old]).memory_id
    path = tmp_path / "part.jsonl"
    since = datetime(2020, 1, 1, tzinfo=UTC)
    fields: Any = {"tags": ("old",), "created_since": since, "include_expired": True}
    report = store.export(path, where=fields)
    header, *_records, trailer = map(json.loads, path.read_text("utf-8").splitlines())
    assert header["where"] == {
        "tags": ["old"], "created_since": "2020-01-01T00:00:00.000000Z", "include_expired": True,
    }  # fmt: skip
    # the successor of the memory, and the record of it
    assert trailer["cut_references"] == report.cut_references == 2
    whole = store.export(path)
    assert whole.cut_references == 0
    assert json.loads(path.read_text("utf-8").splitlines()[0])["where"] is None
    store.forget(str(new))
    store.export(path)
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as other:
        assert other.import_(path).memories == 1


def test_an_export_takes_the_place_of_an_export_alone(
    filled: vestig.Vestig, tmp_path: Path
) -> None:
    target = tmp_path / "all.jsonl"
    target.touch()
    filled.export(target)
    first = target.read_bytes()
    filled.commit("The gasket arrived in the north hall")
    filled.export(target)
    assert target.read_bytes() != first
    target.write_text('{"content": "Notes of my own"}\n')
    with pytest.raises(vestig.ValidationError, match="the file holds something else"):
        filled.export(target)
    assert target.read_text() == '{"content": "Notes of my own"}\n'
