"""Exports tell other stores what was forgotten, and old ones bring no name of it back."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import vestig
from exports import parsed, records, sealed
from filled_store import file_bytes
from forget_checks import OTHER, QUICK, SECRET, clean, commit, folder_of
from traces import holding
from vestig.errors import ConflictError, NotFoundError, ValidationError
from vestig.testing import HashingEmbedder


def _open(path: Path | str, **options: Any) -> vestig.Vestig:
    return vestig.open(path, embedder=HashingEmbedder(64), **options)


def _exported(store: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    store.export(out, **options)
    return out.getvalue()


def _take(store: Any, raw: bytes, **options: Any) -> Any:
    return store.import_(io.BytesIO(raw), **options)


def _tombstones(raw: bytes) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in raw.splitlines()]
    return [line for line in lines if line["record"] == "tombstone"]


def _names(store: vestig.Vestig) -> set[str]:
    return {listed.entity.canonical_name for listed in store.graph.entities(include_expired=True)}


@pytest.fixture
def forgetful() -> Any:
    """A store, its export before and after a forgetting, and the id of what was forgotten."""
    with _open(":memory:") as store:
        gone = commit(store, SECRET)
        commit(store, OTHER)
        before = _exported(store)
        store.forget(gone, actor="Omar")
        yield store, before, _exported(store), gone


def test_a_tombstone_in_an_export_holds_nothing_of_the_text(forgetful: Any) -> None:
    _store, _before, after, gone = forgetful
    (tombstone,) = _tombstones(after)
    assert tombstone.keys() == {
        "record", "id", "namespace", "seq", "forgotten_at", "actor", "counts",
    }  # fmt: skip
    assert (tombstone["id"], tombstone["actor"], tombstone["counts"]) == (
        gone, "Omar", {"events": 1},
    )  # fmt: skip
    for part in ("vault", "harbour", "Ximena", "Quartz"):
        assert part.encode() not in after


def test_tombstones_come_back_byte_for_byte(forgetful: Any) -> None:
    _store, before, after, gone = forgetful
    with _open(":memory:") as copy:
        report = _take(copy, after)
        assert report.imported == report.lines - 2
        assert _exported(copy) == after
        with pytest.raises(NotFoundError, match="forgotten"):
            copy.show(gone)
        clean(copy)
        again = _take(copy, before, merge=True)
        assert (again.memories, again.warnings) == (
            0, ("1 memory that was forgotten here was left out",),
        )  # fmt: skip
        assert copy.count() == 1
        clean(copy)


def test_what_was_forgotten_elsewhere_is_not_taken_in_later(forgetful: Any) -> None:
    """Three stores: the one in the middle never held the memory."""
    _store, before, after, gone = forgetful
    with _open(":memory:") as middle:
        mine = commit(middle, "Quarterly numbers are read out on the first of May")
        assert _take(middle, after, merge=True).forgotten_elsewhere == ()
        report = _take(middle, before, merge=True)
        assert report.lines == report.imported + report.skipped + report.duplicates
        assert middle.count() == 2
        with pytest.raises(NotFoundError, match="forgotten"):
            middle.show(gone)
        assert "Ximena Quartz" not in _names(middle)
        assert [hit.id for hit in middle.recall("quarterly numbers", limit=1).results] == [mine]
        seq = middle.admin.stats().seq
        assert _take(middle, after, merge=True).imported == 0
        assert middle.admin.stats().seq == seq
        before_rebuild = middle.recall("deploys harbour", limit=5).results
        middle.admin.rebuild()
        assert middle.recall("deploys harbour", limit=5).results == before_rebuild
        clean(middle)


def test_what_this_store_holds_is_kept_and_named(forgetful: Any) -> None:
    _store, before, after, gone = forgetful
    with _open(":memory:") as other:
        _take(other, before)
        report = _take(other, after, merge=True)
        assert report.forgotten_elsewhere == (gone,)
        assert any(
            "namespace default were forgotten elsewhere and are kept" in line
            for line in report.warnings
        )
        assert other.show(gone).memory.content == SECRET
        assert _tombstones(_exported(other)) == []
        other.forget(report.forgotten_elsewhere)
        assert "Ximena Quartz" not in _names(other)
        again = _take(other, after, merge=True)
        assert (again.forgotten_elsewhere, again.warnings) == ((), ())
        assert [line["id"] for line in _tombstones(_exported(other))] == [gone]
        clean(other)


def test_tombstones_stay_in_their_namespace() -> None:
    with _open(":memory:") as store:
        gone = commit(store, SECRET, namespace="private")
        commit(store, OTHER, namespace="private")
        commit(store, OTHER)
        before = _exported(store, all_namespaces=True)
        store.forget(gone, namespace="private")
        assert _tombstones(_exported(store)) == []
        after = _exported(store, all_namespaces=True)
        assert [line["namespace"] for line in _tombstones(after)] == ["private"]
    with _open(":memory:") as other:
        _take(other, before)
        report = _take(other, after, merge=True)
        assert report.forgotten_elsewhere == (gone,)
        assert "1 memories of namespace private" in report.warnings[0]
        assert other.count(namespace="private") == 2
    with _open(":memory:") as walled:
        _take(walled, before)
        (header, *_), (stone,) = parsed(after), _tombstones(after)
        moved = [header | {"namespaces": ["default"]}, stone | {"namespace": "default"}]
        one = b"".join(sealed(moved))
        with pytest.raises(ConflictError, match="another namespace holds it"):
            _take(walled, one, merge=True)


def test_a_memory_and_its_tombstone_in_one_file_are_refused(forgetful: Any) -> None:
    _store, before, after, gone = forgetful
    (tombstone,) = _tombstones(after)
    header, *lines = records(before)
    header["seq"] = tombstone["seq"]
    early = {**tombstone, "seq": lines[0]["seq"]}
    for file in ([header, *lines, tombstone], [header, early, *lines]):
        raw = b"".join(sealed(file))
        with _open(":memory:") as store:
            with pytest.raises(ValidationError, match=f"line .*{gone}"):
                _take(store, raw)
            assert store.admin.stats().seq == 0
        # a store that holds the memory, and one that has forgotten it
        for held in (before, after):
            with _open(":memory:") as store:
                _take(store, held)
                whole = _exported(store)
                with pytest.raises(ValidationError, match=f"line .*{gone}"):
                    _take(store, raw, merge=True)
                assert _exported(store) == whole


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"counts": {"events": "one"}}, "line 2, counts"),
        ({"counts": {"events": -1}}, "line 2, counts.events"),
        ({"counts": {"evnts": 1}}, r"line 2, counts.evnts: expected counts.events"),
        ({"text": "x"}, "line 2"),
        ({"id": "ent_" + "0" * 36}, "line 2, id"),
    ],
)
def test_a_tombstone_that_is_none_is_refused(
    forgetful: Any, change: dict[str, Any], place: str
) -> None:
    _store, _before, after, _gone = forgetful
    (tombstone,) = _tombstones(after)
    raw = b"".join(sealed([parsed(after)[0], tombstone | change]))
    with _open(":memory:") as store:
        with pytest.raises(ValidationError, match=place):
            _take(store, raw)
        assert store.admin.stats().seq == 0


def test_a_second_import_of_an_export_writes_nothing(tmp_path: Path) -> None:
    with _open(tmp_path / "store", config=QUICK) as store:
        gone = commit(store, SECRET)
        commit(store, OTHER)
        before = _exported(store)
        store.forget(gone)
        first = _take(store, before, merge=True)
        folder, seq = folder_of(store), store.admin.stats().seq
        held = file_bytes(folder)
        second = _take(store, before, merge=True)
        assert structs.replace(second, imported=0, skipped=0) == structs.replace(
            first, imported=0, skipped=0
        )
        assert second.imported == 0
        assert store.admin.stats().seq == seq
        assert file_bytes(folder) == held
        clean(store)


def test_an_older_export_brings_no_name_of_the_forgotten_back(tmp_path: Path) -> None:
    """Names and sources that it alone supported stay out, and no byte of them in any file."""
    with _open(tmp_path / "store", config=QUICK) as store:
        gone = commit(store, SECRET, agent="scribe of the vault")
        shared = commit(store, "Ada Lovelace writes to Ximena Quartz on Mondays")
        lone = commit(store, "Ada Lovelace met Bartholomew Grimshaw at the old lighthouse")
        names = _names(store)
        assert {"Ximena Quartz", "Bartholomew Grimshaw"} <= names
        before = _exported(store)
        store.forget([gone, lone])
        left = _names(store)
        assert "Bartholomew Grimshaw" in names - left
        assert "Ximena Quartz" in left
        report = _take(store, before, merge=True)
        assert (report.imported, report.memories) == (0, 0)
        assert report.lines == report.skipped
        assert _names(store) == left
        assert store.admin.gc(dry_run=True).sources_removed == 0
        assert store.admin.gc(dry_run=True).entities_removed == 0
        clean(store)
        assert holding(folder_of(store), b"Grimshaw", b"scribe of the vault") == []
        store.forget(shared)
        _take(store, before, merge=True)
        assert _names(store) == set()
        clean(store)
        assert holding(folder_of(store), b"Grimshaw", b"Quartz", b"Lovelace") == []


def test_names_that_are_left_out_reach_no_file_beside_a_reader_either(tmp_path: Path) -> None:
    with _open(tmp_path / "store", config=QUICK) as store:
        gone = commit(store, SECRET)
        commit(store, OTHER)
        before = _exported(store)
        store.forget(gone)
        clean(store)
        with store._session.ledger.read() as view:
            assert view.seq
            report = _take(store, before, merge=True)
            assert report.warnings == ("1 memory that was forgotten here was left out",)
            assert holding(folder_of(store), b"Ximena") == []
        assert "Ximena Quartz" not in _names(store)
        clean(store)


def test_names_that_others_support_come_in_though_they_were_removed_here() -> None:
    with _open(":memory:") as store, _open(":memory:") as elsewhere:
        gone = commit(elsewhere, SECRET)
        _take(store, _exported(elsewhere))
        store.forget(gone)
        assert _names(store) == set()
        commit(elsewhere, "Ximena Quartz leads the harbour office since last summer")
        report = _take(store, _exported(elsewhere), merge=True)
        assert report.memories == 1
        assert "Ximena Quartz" in _names(store)
        assert store.search("Ximena Quartz", limit=3).seq == store.admin.stats().seq
        clean(store)


NAMES = ("Ada Lovelace", "Ximena Quartz", "Bartholomew Grimshaw", "Harbour Office", "NATO")
ACTS = ("keeps the key of", "wrote a letter about", "never trusted", "paid the bill for")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_order_of_exports_and_forgettings_brings_anything_back(seed: int) -> None:
    dice = random.Random(seed)
    stores = [_open(":memory:") for _ in range(3)]
    buried: list[set[str]] = [set(), set(), set()]
    files: list[tuple[bytes, set[str]]] = []
    try:
        for step in range(60):
            at = dice.randrange(3)
            store = stores[at]
            live = [memory.id for memory in store.list(limit=1000, where={"include_expired": True})]
            act = dice.choice(("commit", "commit", "forget", "export", "import", "import"))
            if act == "commit":
                text = (
                    f"{dice.choice(NAMES)} {dice.choice(ACTS)} {dice.choice(NAMES)} on day {step}"
                )
                old = dice.sample(live, 1) if live and dice.random() < 0.3 else []
                known = [id for id in old if store.show(id).memory.t_expired is None]
                store.commit(text, supersedes=known, session_id=f"s{step % 5}")
            elif act == "forget" and live:
                gone = dice.sample(live, min(len(live), dice.randrange(1, 3)))
                store.forget(gone)
                buried[at].update(gone)
            elif act == "export":
                raw = _exported(store)
                assert {line["id"] for line in _tombstones(raw)} == buried[at]
                files.append((raw, set(buried[at])))
            elif act == "import" and files:
                raw, forgotten = dice.choice(files)
                report = _take(store, raw, merge=True)
                assert report.lines == report.imported + report.skipped + report.duplicates
                assert set(report.forgotten_elsewhere) == forgotten & set(live)
                buried[at] |= forgotten - set(live)
            live = [memory.id for memory in store.list(limit=1000, where={"include_expired": True})]
            assert buried[at].isdisjoint(live)
        for store in stores:
            assert store._session.ledger.verify_all() == []
            collected = store.admin.gc(dry_run=True)
            assert (collected.entities_removed, collected.sources_removed) == (0, 0)
            found = store.recall("who keeps the key", limit=50).results
            store.admin.rebuild()
            assert store.recall("who keeps the key", limit=50).results == found
            assert [f for f in store.admin.doctor().findings if f.level != "ok"] == []
    finally:
        for store in stores:
            store.close()


def test_an_entity_that_was_purged_here_does_not_come_back_alone() -> None:
    """The memories that mention it are here already, so the import brings none that supports it."""
    with _open(":memory:") as store:
        commit(store, SECRET)
        before = _names(store)
        raw = _exported(store)
        entities = [one.entity.id for one in store.graph.entities()]
        for id in entities:
            store.graph.expire_entity(id)
        store.graph.purge_entities(entities)
        assert before
        assert not _names(store)
        report = _take(store, raw, merge=True)
        assert report.imported == 0
        assert not _names(store)
        assert store.admin.gc(dry_run=True).entities_removed == 0


def test_an_export_of_all_namespaces_says_that_it_went_to_none_that_was_named() -> None:
    raw = io.BytesIO()
    with _open(":memory:") as store:
        store.commit("The mill is of oak and slate")
        store.export(raw, all_namespaces=True)
    for space, told in (("default", ()), ("other", ("default; none is other",))):
        with vestig.open(":memory:", embedder=HashingEmbedder(64), namespace=space) as store:
            warnings = _take(store, raw.getvalue()).warnings
            assert len(warnings) == len(told)
            assert all(end in one for one, end in zip(warnings, told, strict=True))
            assert store.count(namespace="default") == 1
