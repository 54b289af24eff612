"""Export and restore."""

from __future__ import annotations

import io
import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ledger_rows as made
from exports import Line, of, parsed, records, sealed
from filled_store import IDENTITY, exported, fill, filled, keeper_of
from vestig.errors import (
    ConflictError,
    EmbeddingMismatchError,
    StoreDamagedError,
    ValidationError,
    VestigError,
)
from vestig.ports import EmbeddingIdentity
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.portable.export import export
from vestig.store.portable.restore import restore
from vestig.store.records.rows import EntityListing, Listing


@pytest.fixture
def store() -> Ledger:
    return filled(None)


def test_export_import_export_gives_equal_bytes(store: Ledger, tmp_path: Path) -> None:
    first = exported(store)
    with open_ledger(tmp_path / "copy") as copy:
        report = restore(copy, first.splitlines())
        assert exported(copy) == first
        assert report.lines == len(first.splitlines()) == 2 + report.restored
        assert report.present == report.different == report.duplicates == 0
        assert copy.verify_all() == []
    with open_ledger(tmp_path / "copy") as again:
        assert exported(again) == first
        third = open_ledger(None)
        restore(third, exported(again).splitlines())
        assert exported(third) == first


def test_same_id_with_changed_content_writes_nothing(store: Ledger) -> None:
    copy = open_ledger(None)
    restore(copy, exported(store).splitlines())
    before = exported(copy)
    changed = parsed(before)
    victim = next(record for record in changed if record["record"] == "memory")
    new = made.memory("Another text under the old id")
    victim.update(content=new.content, content_hash=new.content_hash)
    with pytest.raises(ConflictError, match=victim["id"]) as caught:
        restore(copy, sealed(changed), merge=True)
    assert "nothing was written" in str(caught.value)
    assert new.content not in str(caught.value)
    assert exported(copy) == before


def test_every_field_and_record_survives(store: Ledger) -> None:
    copy = open_ledger(None)
    restore(copy, exported(store).splitlines())
    listing = Listing(limit=None, statuses=None)
    with store.read() as mine, copy.read() as theirs:
        assert mine.seq == theirs.seq
        memories = mine.list_memories("default", listing)
        assert theirs.list_memories("default", listing) == memories
        ids = [memory.id for memory in memories]
        assert theirs.vectors("default", ids) == mine.vectors("default", ids)
        for id in ids:
            assert theirs.events("default", id) == mine.events("default", id)
            assert theirs.sources("default", id) == mine.sources("default", id)
            assert theirs.edges("default", id) == mine.edges("default", id)
            assert theirs.supersessions("default", id) == mine.supersessions("default", id)
        assert list(theirs.projection_rows(0)) == list(mine.projection_rows(0))
        every = EntityListing(limit=None, include_expired=True)
        entities = mine.list_entities("default", every)
        assert theirs.list_entities("default", every) == entities
        assert [entity.access_count for entity, _ in entities] == [1, 0]
        assert theirs.questions("default", ids) == mine.questions("default", ids)
        for edges in ({"limit": None}, {"limit": None, "include_expired": True}):
            assert theirs.list_edges("default", **edges) == mine.list_edges("default", **edges)
    assert copy.embedding_identity() == IDENTITY
    due = [open_.due_jobs("default", made.NOW * 2, ["embed"], 10) for open_ in (store, copy)]
    assert [job.id for job in due[0]] == [job.id for job in due[1]] != []


def test_the_header_comes_first_then_lines_by_seq(store: Ledger) -> None:
    header, *records, end = parsed(exported(store))
    assert header["schema"] == "vestig/export/1"
    assert header["origin"] == store.store_uuid.hex()
    assert header["embedding"]["model"] == "test-model"
    seqs = [record["seq"] for record in records if "seq" in record]
    assert seqs == sorted(seqs)
    assert end["counts"] == dict(Counter(record["record"] for record in records))
    assert header["seq"] == 14
    kinds = {record["record"] for record in records}
    assert kinds == {
        "source", "memory", "vector", "event", "edge", "supersession", "job", "entity",
        "entity_vector", "question", "token_codes",
    }  # fmt: skip


def test_the_origin_is_kept_by_later_exports(store: Ledger) -> None:
    copy = open_ledger(None)
    restore(copy, exported(store).splitlines())
    with copy.write(made.NOW * 2) as txn:
        txn.apply(made.added(made.memory("Something of its own")))
    assert parsed(exported(copy))[0]["origin"] == store.store_uuid.hex()
    assert copy.store_uuid != store.store_uuid


def test_restored_times_do_not_move_the_clock(store: Ledger) -> None:
    """The store was filled with a clock ahead; its copy is written to with one behind."""
    copy = open_ledger(None)
    restore(copy, exported(store).splitlines())
    with copy.write(1_000) as txn:
        assert txn.clock_behind_us == 0
        assert txn.recorded_us == 1_000


def test_restored_rows_are_under_the_chain(store: Ledger, tmp_path: Path) -> None:
    with open_ledger(tmp_path / "copy") as copy:
        restore(copy, exported(store).splitlines())
        with copy.write(made.NOW) as txn:
            txn.connection.execute("UPDATE events SET occurred_us = occurred_us + 1")
            txn.connection.execute("COMMIT")
            txn.connection.execute("BEGIN")
        assert {finding.check for finding in copy.verify_all()} == {"digest"}
        with pytest.raises(StoreDamagedError, match="doctor"):
            exported(copy)


def test_seqs_are_kept_only_in_an_empty_store(store: Ledger) -> None:
    copy = open_ledger(None)
    with copy.write(made.NOW) as txn:
        txn.apply(made.added(made.memory("Elsewhere", namespace="other")))
    report = restore(copy, exported(store).splitlines())
    assert report.seq == 2
    assert copy.verify_all() == []
    assert keeper_of(copy).rebuild() == 13
    before, after = records(exported(store, "default")), records(exported(copy, "default"))
    for record in (*before, *after):
        for name in ("seq", "wseq", "origin"):
            record.pop(name, None)
        if "expired_seq" in record:
            record["expired_seq"] = record["expired_seq"] > 0
    key = json.dumps
    assert sorted(map(key, before)) == sorted(map(key, after))


def test_a_namespace_that_holds_records_is_refused(store: Ledger) -> None:
    raw = exported(store)
    with pytest.raises(ConflictError, match="namespace default: expected an empty one"):
        restore(store, raw.splitlines())
    assert exported(store) == raw


def test_the_ids_of_a_store_stand_in_one_of_its_namespaces(store: Ledger) -> None:
    raw = exported(store, "default")
    for merge in (False, True):
        with pytest.raises(ConflictError, match=r"another namespace holds it; .*another store"):
            restore(store, raw.splitlines(), namespace="other", merge=merge)
    assert exported(store, "default") == raw


def test_one_namespace_or_all_can_be_exported(store: Ledger) -> None:
    fill(store, 3, "other")
    one, all_ = parsed(exported(store, "other")), parsed(exported(store))
    spaces = {record["namespace"] for record in one if record["record"] == "memory"}
    assert spaces == {"other"}
    assert one[0]["namespace"] == "other"
    assert all_[0]["namespace"] is None
    assert sum(record["record"] == "memory" for record in all_) == 15
    assert {r["memory"] for r in one if r["record"] == "event"} == {
        r["id"] for r in one if r["record"] == "memory"
    }
    copy = open_ledger(None)
    restore(copy, sealed(one), namespace="third")
    with copy.read() as view:
        assert view.count_memories("third", Listing()) == 3
        assert view.count_memories("other", Listing()) == 0
    with pytest.raises(ValidationError, match="namespace"):
        restore(open_ledger(None), sealed(all_), namespace="third")


def test_merging_adds_by_id_and_leaves_what_is_there(store: Ledger) -> None:
    copy = open_ledger(None)
    restore(copy, exported(store).splitlines())
    before = exported(copy)
    again = restore(copy, before.splitlines(), merge=True)
    assert (again.restored, again.present) == (0, again.lines - 2)
    assert exported(copy) == before
    new = made.memory("Only the first store has this one")
    with store.write(made.NOW + 200) as txn:
        txn.apply(made.added(new, of(parsed(before), "memory")["id"]))
    report = restore(copy, exported(store).splitlines(), merge=True)
    # memory, vector, event, the edge from its source and the one to its neighbour
    assert (report.memories, report.restored) == (1, 5)
    assert copy.verify_all() == []
    assert exported(copy).count(b'"record":"memory"') == 13
    with copy.read() as view:
        assert len(view.edges("default", new.id)) == 2
        assert view.sources("default", new.id) != []


def test_merging_counts_different_states_and_duplicate_texts(store: Ledger) -> None:
    raw = exported(store)
    copy = open_ledger(None)
    restore(copy, raw.splitlines())
    first = next(record for record in parsed(raw) if record["record"] == "memory")
    with copy.write(made.NOW + 300) as txn:
        txn.apply(made.reinforced(first["id"]))
    assert restore(copy, raw.splitlines(), merge=True).different == 1
    twin = open_ledger(None)
    with twin.write(made.NOW) as txn:
        txn.apply(made.added(made.memory(first["content"], scope=first["scope"],
                                         author=first["author"])))  # fmt: skip
    report = restore(twin, raw.splitlines(), merge=True)
    assert (report.duplicates, report.memories) == (1, 11)
    assert twin.verify_all() == []


def _broken(change: Callable[[list[Line]], object]) -> Callable[[list[Line]], list[bytes]]:
    def apply(records: list[Line]) -> list[bytes]:
        change(records)
        return sealed(records)

    return apply


def _with(line: bytes) -> Callable[[list[Line]], list[bytes]]:
    """One more line before the trailer."""

    def apply(records: list[Line]) -> list[bytes]:
        *body, end = sealed(records)
        return [*body, line, end]

    return apply


BROKEN: dict[str, Callable[[list[Line]], list[bytes]]] = {
    "nothing": lambda records: [],
    "no header": lambda records: sealed(records[1:]),
    "two headers": lambda records: sealed([records[0], *records]),
    "no json": _with(b"{"),
    "an array": _with(b"[]"),
    "unknown record": _with(b'{"record": "ghost"}'),
    "a surrogate": _with(b'{"record": "\\ud800"}'),
    "other schema": _broken(lambda r: r[0].update(schema="vestig/export/2")),
    "other version": _broken(lambda r: r[0].update(format_version=2)),
    "origin": _broken(lambda r: r[0].update(origin="x")),
    "unknown field": _broken(lambda r: of(r, "memory").update(colour="blue")),
    "missing field": _broken(lambda r: of(r, "memory").pop("title")),
    "namespace": _broken(lambda r: of(r, "memory").update(namespace="Über")),
    "id": _broken(lambda r: of(r, "memory").update(id="mem_1")),
    "hash": _broken(lambda r: of(r, "memory").update(content_hash="0" * 64)),
    "time": _broken(lambda r: of(r, "memory").update(t_valid="soon")),
    "status": _broken(lambda r: of(r, "memory").update(status="asleep")),
    "boolean": _broken(lambda r: of(r, "memory").update(pinned=1)),
    "huge number": _broken(lambda r: of(r, "memory").update(sequence=2**70)),
    "metadata": _broken(lambda r: of(r, "memory").update(metadata=[])),
    "keywords": _broken(lambda r: of(r, "memory").update(keywords=[1])),
    "future seq": _broken(lambda r: of(r, "memory").update(wseq=10**9)),
    "endless seq": _broken(lambda r: r[0].update(seq=2**40)),
    "successor": _broken(lambda r: of(r, "memory").update(superseded_by="mem_" + "0" * 36)),
    "lost memory": _broken(lambda r: r.remove(of(r, "memory"))),
    "twice": _broken(lambda r: r.insert(3, of(r, "memory"))),
    "short vector": _broken(lambda r: of(r, "vector").update(embedding="AAAA")),
    "infinite vector": _broken(lambda r: of(r, "vector").update(embedding="AACAfwAAgH8=")),
    "other model": _broken(lambda r: of(r, "vector").update(model="another")),
    "weight": _broken(lambda r: of(r, "edge").update(weight=-1.0)),
    "edge type": _broken(lambda r: of(r, "edge").update(edge_type="AFFECTS")),
    "ends": _broken(lambda r: of(r, "edge").update(edge_type="RELATED")),
    "event type": _broken(lambda r: of(r, "event").update(event_type="EXPLODE")),
    "job": _broken(lambda r: of(r, "job").update(attempts=-1)),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_bad_line_is_named_and_nothing_is_written(case: str, store: Ledger) -> None:
    records = parsed(exported(store))
    target = open_ledger(None)
    before = exported(target)
    with pytest.raises((ValidationError, ConflictError)) as caught:
        restore(target, BROKEN[case](records))
    if case != "endless seq":
        assert "line " in str(caught.value)
    assert "café" not in str(caught.value)
    assert exported(target) == before
    assert target.embedding_identity() is None


def test_vectors_of_another_model_are_refused(store: Ledger) -> None:
    raw = exported(store).splitlines()
    other = EmbeddingIdentity(model="other", dimensions=9, normalized=True)
    with pytest.raises(EmbeddingMismatchError, match=r"test-model with 8 .*other with 9"):
        restore(open_ledger(None), raw, identity=other)
    target = open_ledger(None)
    target.set_embedding_identity(other)
    with pytest.raises(EmbeddingMismatchError, match="vestig rebuild --embeddings"):
        restore(target, raw)


def test_a_file_is_private_whole_and_replaced(store: Ledger, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.touch()
    export(store, target, namespace=None)
    counts = export(store, target, namespace=None)
    assert target.read_bytes() == exported(store)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert counts.records["memory"] == 12
    assert counts.lines == len(target.read_bytes().splitlines())
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    text = io.StringIO()
    export(store, text, namespace=None)
    assert text.getvalue().encode() == exported(store)


def test_a_file_that_is_no_export_stays(store: Ledger, tmp_path: Path) -> None:
    target = tmp_path / "thesis.txt"
    target.write_text("precious")
    with pytest.raises(ConflictError, match="nothing was changed, choose another place"):
        export(store, target, namespace=None)
    assert target.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_place_that_cannot_be_written_is_an_error(store: Ledger, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="the path of a file"):
        export(store, tmp_path, namespace=None)
    with pytest.raises(VestigError, match="No such file"):
        export(store, tmp_path / "no" / "folder", namespace=None)


def test_progress_and_blank_lines(store: Ledger) -> None:
    seen: list[tuple[int, int | None]] = []
    raw = exported(store).splitlines(keepends=True)
    report = restore(
        open_ledger(None), [*raw, b"\n", b"  "], progress=lambda *state: seen.append(state)
    )
    assert seen[-1] == (report.lines, report.lines)
    assert report.lines == len(raw)


def test_an_export_never_takes_the_place_of_a_pipe(store: Ledger, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        counts = export(store, pipe, namespace=None)
        lines = read.result(30).splitlines()
    assert len(lines) == counts.lines
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are seen in /proc")
def test_what_an_import_reads_lies_without_a_name_in_the_folder_of_the_store(
    store: Ledger, tmp_path: Path
) -> None:
    """A process that is killed leaves nothing of it, and no text goes to another folder."""
    held: list[str] = []

    def lines() -> Iterator[bytes]:
        yield from exported(store).splitlines()
        held.extend(os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink())

    with open_ledger(tmp_path / "copy") as copy:
        restore(copy, lines())
        (mine,) = (one for one in held if one.startswith(str(tmp_path / "copy" / ".import-")))
        assert mine.endswith(" (deleted)")
        assert not list((tmp_path / "copy").glob(".import*"))
