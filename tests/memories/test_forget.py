"""Forgetting for good: what goes, what stays, and the proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forget_checks import OTHER, QUICK, SECRET, clean, commit, folder_of, raw_vector
from scripted import Opener
from traces import holding
from vestig.changes import ChangeSet, NewSource
from vestig.errors import (
    ConflictError,
    ForgetIncompleteError,
    NotFoundError,
    StoreLockedError,
    ValidationError,
)
from vestig.ids import id_bytes, new_id
from vestig.testing import FrozenClock

# --- what goes -------------------------------------------------------------------------------


def test_nothing_is_left_in_any_file(opener: Opener, clock: FrozenClock) -> None:
    variant = f"{SECRET}!"
    store = opener()
    id = commit(store, SECRET, source="hook", tags=["secret-tag-of-ximena"])
    other = commit(store, OTHER, source="hook")
    assert store.commit(variant, source="hook").memory_id == id
    store._session.keeper.compact()
    vector = raw_vector(store, id)
    with store._session.ledger.read() as view:
        salts = [
            bytes(salt)
            for (salt,) in view.connection.execute(
                "SELECT salt FROM memories WHERE id = ? UNION SELECT salt FROM events"
                ' WHERE memory = (SELECT "row" FROM memories WHERE id = ?)',
                (id_bytes(id), id_bytes(id)),
            )
        ]
    hash_hex = store.show(id).memory.content_hash
    traces = (
        SECRET.encode(), variant.encode(), b"ximena", b"Ximena", vector, bytes.fromhex(hash_hex),
        hash_hex.encode(), b"secret-tag", *salts,
    )  # fmt: skip
    assert holding(folder_of(store), *traces) != []
    report = store.forget(id)
    assert holding(folder_of(store), *traces) == []
    assert report.memory_ids == (id,)
    assert report.residues == 0
    assert report.files_scanned >= 4
    assert report.bytes_scanned > 0
    assert report.rows_removed["events"] == 2
    assert report.rows_removed["tags"] == 1
    with pytest.raises(NotFoundError, match=r"forgotten at 2026-03-18T12:00"):
        store.show(id)
    with pytest.raises(NotFoundError, match="forgotten"):
        store.pin(id[:14])
    assert [hit.id for hit in store.recall("vault code").results] == [other]
    clean(store)


def test_a_long_text_over_many_pages(opener: Opener) -> None:
    store = opener()
    text = " ".join(f"word{number:04d}" for number in range(400))
    id = commit(store, text)
    for number in range(40):
        commit(store, f"Station {number * 7919} reports calm seas and {number} ships")
    assert store.forget(id).residues == 0
    assert holding(folder_of(store), *(f"word{n:04d} word".encode() for n in range(0, 399))) == []
    clean(store)


def test_segments_without_the_memory_stay_as_they_are(opener: Opener) -> None:
    """However many of one size there are: what a forgetting writes does not grow with the store."""
    store = opener()
    projection = folder_of(store) / "projection"
    ids = []
    for part in ("harbour", "orchard", "library", "railway"):
        ids += [commit(store, f"{part} {number * 7919} of {part}") for number in range(40)]
        store._session.keeper._publish(False)
    before = {path.name for path in projection.glob("seg-*")}
    store.forget(ids[60])
    left = {path.name for path in projection.glob("seg-*")}
    assert len(before) == 4
    assert len(before & left) == 3
    clean(store)


def test_texts_of_other_memories_are_shared_not_residues(opener: Opener) -> None:
    store = opener()
    id = commit(store, SECRET, scope="a")
    kept = commit(store, SECRET, scope="b")
    report = store.forget(id)
    assert report.shared_occurrences >= 1
    assert holding(folder_of(store), SECRET.encode()) != []
    assert store.show(kept).memory.content == SECRET
    assert store.forget(kept).shared_occurrences == 0
    assert holding(folder_of(store), SECRET.encode()) == []


def test_copies_and_files_moved_aside_go_too(opener: Opener) -> None:
    store = opener()
    id, folder = commit(store, SECRET), folder_of(store)
    for name in ("ledger.bak-1", "projection/seg-1-0.damaged-1", "ledger.sqlite.new-00ff"):
        (folder / name).write_bytes(SECRET.encode())
    store.forget(id)
    assert holding(folder, SECRET.encode()) == []
    assert not (folder / "ledger.bak-1").exists()


def test_a_strange_file_with_the_text_is_a_residue(opener: Opener) -> None:
    store = opener(config=QUICK)
    id = commit(store, SECRET)
    notes = folder_of(store) / "projection" / "notes.txt"
    notes.write_text(f"by hand: {SECRET}")
    with pytest.raises(ForgetIncompleteError, match=r"notes\.txt"):
        store.forget(id)
    assert notes.exists(), "only the store's own files are removed"
    notes.unlink()
    assert store.admin.forget_finish().memory_ids == (id,)


def test_files_of_others_beside_a_store_are_neither_searched_nor_removed(
    opener: Opener, tmp_path: Path
) -> None:
    folder = tmp_path / "store"
    theirs = [folder / "notes.txt", folder / "data" / "manifest.new", folder / "old.damaged-1"]
    for path in theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    folder.chmod(0o700)
    store = opener(init=True)
    store.forget(commit(store, SECRET))
    assert [path.read_text() for path in theirs] == [SECRET] * 3
    clean(store)


def test_sources_with_no_other_product_go(opener: Opener) -> None:
    store = opener()
    alone = commit(store, SECRET, agent="a")
    first = commit(store, OTHER, agent="b", session_id="s")
    shared = commit(store, "Kofi owns the search cluster", agent="b", session_id="s")
    assert store.forget(alone).rows_removed["sources"] == 1
    assert store.forget(first).rows_removed["sources"] == 0
    assert len(store.show(shared).sources) == 1
    assert store.admin.stats().sources == 1
    clean(store)


def test_pointers_of_others_become_null(opener: Opener) -> None:
    store = opener()
    old, new = commit(store, OTHER), commit(store, SECRET)
    store.supersede(old, new)
    again = store.commit(OTHER)
    assert again.revives == old
    edges = store.forget(new).edges_removed
    assert edges >= 1
    shown = store.show(old)
    assert shown.memory.superseded_by is None
    assert shown.memory.status == "SUPERSEDED"
    assert shown.supersessions == ()
    store.forget(old)
    assert again.memory_id is not None
    assert store.show(again.memory_id).memory.revives is None
    clean(store)


def test_forgotten_at_every_time(opener: Opener, clock: FrozenClock) -> None:
    store = opener()
    before = clock.move(hours=1)
    id = commit(store, SECRET)
    during = clock.move(hours=1)
    store.forget(id)
    clock.move(hours=1)
    for moment in (before, during, clock()):
        assert store.recall("vault code", as_of=moment).results == ()
        assert store.list(known_at=moment).total == 0
    again = store.commit(SECRET)
    assert again.memory_id != id
    assert again.revives is None
    clean(store)


def test_a_row_number_is_never_given_again(opener: Opener) -> None:
    store, reader = opener(), None
    commit(store, OTHER)
    gone = commit(store, SECRET)
    reader = opener(read_only=True)
    assert len(reader.recall("vault").results) == 2
    store.forget(gone)
    new = commit(store, "Kofi owns the search cluster this month")
    with store._session.ledger.read() as view:
        rows = dict(view.connection.execute('SELECT id, "row" FROM memories').fetchall())
    assert rows[id_bytes(new)] == 3
    assert {hit.id for hit in reader.recall("vault").results} == {
        memory.id for memory in store.list()
    }


# --- what is refused -------------------------------------------------------------------------


def test_unknown_ids_and_other_namespaces_change_nothing(opener: Opener) -> None:
    store = opener()
    id = commit(store, SECRET)
    foreign = commit(store, OTHER, namespace="elsewhere")
    for bad in (new_id("mem"), foreign):
        with pytest.raises(NotFoundError):
            store.forget([id, bad])
    assert store.count() == 1
    assert store.forget(foreign, namespace="elsewhere").memory_ids == (foreign,)


def test_pinned_only_by_force(opener: Opener) -> None:
    store = opener()
    id, other = commit(store, SECRET), commit(store, OTHER)
    store.pin(id)
    with pytest.raises(ConflictError, match="pinned"):
        store.forget([other, id])
    assert store.count() == 2
    assert len(store.forget([other, id, other], force=True).memory_ids) == 2


def test_a_dry_run_counts_and_keeps(opener: Opener) -> None:
    store = opener()
    id = commit(store, SECRET, tags=["x"])
    seq = store.admin.stats().seq
    plan = store.forget(id, dry_run=True)
    assert plan.dry_run
    assert store.admin.stats().seq == seq
    done = store.forget(id)
    assert (plan.memory_ids, plan.rows_removed) == (done.memory_ids, done.rows_removed)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"ids": []},
        {"where": {"session_ids": None}},
        {"where": {"authors": None, "tags": [], "metadata": {}}},
        {"where": {"since": "2020-01-01"}},
        {"where": {"exclude_ids": "mem_00000000"}},
        {"where": {"since": "2020-01-01"}, "all": 1},
        {"all": True},
        {"ids": 7},
        {"where": {"include_expired": True}},
        {"ids": "mem_00000000", "where": {"tags": ["x"]}},
        {"where": {"colour": "red"}},
        {"where": {"tags": ["x"]}, "force": 1},
        {"where": {"tags": 5}},
        {"where": {"source_ids": 5}},
        {"where": {"min_similarity": 0.5}},
    ],
)
def test_arguments_that_select_nothing_are_refused(opener: Opener, given: dict[str, Any]) -> None:
    store = opener()
    commit(store, SECRET)
    with pytest.raises(ValidationError):
        store.forget(**given)
    assert store.count() == 1


def test_filters(opener: Opener) -> None:
    store = opener()
    names = ("a", "b", "c", "d", "e")
    made = {
        name: commit(store, f"Fact {number * 7919} about {name}", **fields)
        for number, (name, fields) in enumerate(
            zip(
                names,
                (
                    {"tags": ["x"]},
                    {"author": "Ada"},
                    {"metadata": {"k": 1}},
                    {"artifact_ref": "msg-1"},
                    {"agent": "crawler"},
                ),
                strict=True,
            )
        )
    }
    source = store.show(made["e"]).sources[0].id
    assert store.forget(where={"tags": "nobody"}).memory_ids == ()
    assert store.forget(where={"tags": ["x"]}).memory_ids == (made["a"],)
    assert store.forget(where={"authors": ["Ada"]}, dry_run=True).memory_ids == (made["b"],)
    assert store.forget(where={"metadata": {"k": 1}}).memory_ids == (made["c"],)
    assert store.forget(where={"message_ids": ["msg-1"]}).memory_ids == (made["d"],)
    assert store.forget(where={"source_ids": source, "authors": ["Ada"]}).memory_ids == ()
    assert store.forget(where={"source_ids": [source]}).memory_ids == (made["e"],)
    assert [memory.id for memory in store.list()] == [made["b"]]


def test_a_read_only_store_forgets_nothing(opener: Opener) -> None:
    id = commit(opener(), SECRET)
    reader = opener(read_only=True)
    with pytest.raises(StoreLockedError):
        reader.forget(id)
    with pytest.raises(StoreLockedError):
        reader.admin.forget_finish()


# --- garbage collection ----------------------------------------------------------------------


def test_gc_twice(opener: Opener) -> None:
    store = opener()
    id = commit(store, SECRET)
    lost = NewSource(
        id=new_id("source"), namespace="default", source_type="file", created_us=0, path="a.txt"
    )
    with store._session.ledger.write(0) as txn:
        txn.apply(ChangeSet(namespace="default", sources=(lost,)))
    plan = store.admin.gc(dry_run=True)
    assert (plan.sources_removed, plan.edges_removed) == (1, 0)
    assert store.admin.stats().sources == 2
    seq = store.admin.stats().seq
    assert store.admin.gc().sources_removed == 1
    assert store.admin.stats().seq == seq + 1
    again = store.admin.gc()
    assert (again.sources_removed, again.edges_removed) == (0, 0)
    assert store.admin.stats().seq == seq + 1
    assert len(store.show(id).sources) == 1
    clean(store)


def test_gc_leaves_other_namespaces_alone(opener: Opener) -> None:
    store = opener()
    lost = NewSource(
        id=new_id("source"), namespace="elsewhere", source_type="file", created_us=0, path="a.txt"
    )
    with store._session.ledger.write(0) as txn:
        txn.apply(ChangeSet(namespace="elsewhere", sources=(lost,)))
    assert store.admin.gc().sources_removed == 0


def test_a_backup_of_an_unfinished_forgetting_can_be_finished(
    opener: Opener, tmp_path: Path
) -> None:
    store = opener(config=QUICK)
    id = commit(store, SECRET)
    notes = folder_of(store) / "projection" / "notes.txt"
    notes.write_text(SECRET)
    with pytest.raises(ForgetIncompleteError):
        store.forget(id)
    store.admin.backup(tmp_path / "copy")
    copy = opener("copy")
    assert copy.admin.forget_finish().memory_ids == (id,)
    clean(copy)


def test_in_memory_there_are_no_files(opener: Opener) -> None:
    store = opener(":memory:")
    id = commit(store, SECRET)
    report = store.forget(id)
    assert (report.files_scanned, report.residues) == (0, 0)
    assert store.recall("vault").results == ()
    assert [f.level for f in store.admin.doctor().findings if f.check == "residues"] == ["ok"]


def test_the_report_is_a_plain_document(opener: Opener) -> None:
    store = opener()
    shown = store.forget(commit(store, SECRET)).to_dict()
    assert SECRET not in json.dumps(shown, default=str)
    assert "backups" in shown["outside"]
