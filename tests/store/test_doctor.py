"""The checks of a store."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ledger_rows as made
import vestig
from filled_store import (
    LATER,
    doctor,
    exported,
    file_bytes,
    fill,
    filled,
    keeper_of,
    levels,
)
from tables import each
from vestig.config.environment import state_directory
from vestig.ports import ProjectionRow
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.records.rows import JobResult
from vestig.store.sqlite.files import LEDGER_FILE
from vestig.testing import HashingEmbedder

CHECKS = [
    "integrity", "chain", "foreign_keys", "dangling_ends", "tags", "uniqueness", "vector_shapes",
    "embedding_identity", "token_codes", "projection", "jobs", "leases", "clock", "residues",
    "witness", "durability", "disk_space", "permissions", "hooks",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with a published projection, closed."""
    with filled(tmp_path / "store", jobs=False) as ledger:
        keeper_of(ledger).rebuild()
    return tmp_path / "store"


def tampered(ledger: Ledger, *statements: str) -> None:
    """Changes behind the back of the chain."""
    with ledger.write(made.NOW) as txn:
        conn = txn.connection
        conn.execute("COMMIT")
        conn.execute("PRAGMA foreign_keys = OFF")
        conn.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            conn.execute(statement)
        conn.execute("PRAGMA foreign_keys = ON")
        conn.execute("BEGIN")


def test_a_sound_store_has_one_ok_line_for_each_check(folder: Path) -> None:
    with open_ledger(folder) as ledger:
        findings = doctor(ledger)
    assert list(findings) == CHECKS
    assert levels(findings) == {}
    assert "12 memories and 2 entities equal" in findings["projection"].detail


def test_a_failure_that_names_no_store_is_of_those_that_hooks_use(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = '{"time": "2026-03-02T10:00:00Z", "event": "SessionEnd", "error": "late"}\n'
    log = state_directory() / "hooks.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(failure)

    def told() -> bool:
        with open_ledger(folder) as ledger:
            return "hooks" in levels(doctor(ledger))

    assert not told()
    monkeypatch.setenv("XDG_DATA_HOME", str(folder.parent))
    folder = folder.rename(folder.with_name("vestig"))
    assert told()
    monkeypatch.delenv("XDG_DATA_HOME")
    (folder / "hooks.log").write_text(failure.replace("error", "by"))
    assert told()


def test_a_store_in_memory_has_no_files_to_check() -> None:
    ledger = filled(None, jobs=False)
    keeper = keeper_of(ledger)
    keeper.rebuild()
    from vestig.store.doctor import checks

    found = {finding.check: finding for finding in checks(ledger, keeper, now_us=LATER)}
    assert set(CHECKS) - set(found) == {"disk_space", "permissions", "hooks"}
    assert levels(found) == {}


def test_an_empty_store_is_sound(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "store") as ledger:
        keeper_of(ledger)
        assert levels(doctor(ledger)) == {}


@pytest.mark.parametrize("damage", ["none", "segment", "ledger"])
def test_it_changes_nothing(folder: Path, damage: str) -> None:
    with open_ledger(folder) as ledger:
        if damage == "ledger":
            tampered(ledger, 'UPDATE memories SET title = "x"'.replace('"', "'"))
        if damage == "segment":
            flip(segment(folder), 0.7)
        before, state = file_bytes(folder), exported(ledger) if damage != "ledger" else b""
        doctor(ledger)
        assert file_bytes(folder) == before
        if damage != "ledger":
            assert exported(ledger) == state


def segment(folder: Path) -> Path:
    return next((folder / "projection").glob("seg-*"))


def flip(path: Path, part: float) -> None:
    """One bit at this part of the file."""
    raw = bytearray(path.read_bytes())
    raw[int(len(raw) * part)] ^= 0x10
    path.chmod(0o600)
    path.write_bytes(raw)


@pytest.mark.parametrize("part", [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_flipped_byte_in_an_array_is_found_and_made_again(folder: Path, part: float) -> None:
    flip(segment(folder), part)
    with open_ledger(folder) as ledger:
        findings = doctor(ledger)
        # Bytes between sections carry nothing, and say so by changing nothing.
        if findings["projection"].level == "ok":
            pytest.skip("padding")
        assert levels(findings) == {"projection": "finding"}
        keeper = keeper_of(ledger)
        assert keeper.run(lambda view, core: core.rows) == 12
        assert [entry.code for entry in keeper.take_degraded()] == ["projection_rebuilt"]
        assert doctor(ledger)["projection"].level == "ok"


LEDGER_DAMAGE: dict[str, tuple[str, str]] = {
    "text": ("UPDATE memories SET content = 'x' WHERE \"row\" = 3", "chain"),
    "vector": ("UPDATE vectors SET embedding = zeroblob(32) WHERE memory = 3", "chain"),
    "event": ('UPDATE events SET occurred_us = 1 WHERE "row" = 3', "chain"),
    "lost event": ('DELETE FROM events WHERE "row" = 3', "chain"),
    "source": ("UPDATE sources SET agent = 'other'", "chain"),
    "edge": ("UPDATE edges SET weight = 0.25 WHERE edge_type = 1", "chain"),
    "setting": ("UPDATE meta SET value = x'00' WHERE name = 'uuid'", "chain"),
    "link": ("UPDATE chain SET recorded_us = recorded_us - 1 WHERE seq = 5", "chain"),
    "lost link": ("DELETE FROM chain WHERE seq = 5", "chain"),
    "orphan": ("UPDATE supersessions SET superseding = 999", "foreign_keys"),
    "end": ("UPDATE edges SET to_row = 999 WHERE edge_type = 1 AND to_row = 3", "dangling_ends"),
    "tag": ("DELETE FROM tags WHERE tag = 't3'", "tags"),
    "id": ('UPDATE events SET id = (SELECT id FROM events WHERE "row" = 1)', "uniqueness"),
    "key": ('UPDATE memories SET "key" = \'other\' WHERE "row" = 3', "uniqueness"),
    "shape": ("UPDATE vectors SET embedding = zeroblob(28) WHERE memory = 3", "vector_shapes"),
    "model": ("UPDATE vectors SET model = 'other' WHERE memory = 3", "vector_shapes"),
    "name": ("UPDATE entities SET canonical_name = 'Eve' WHERE \"row\" = 1", "chain"),
    "lost name": ('DELETE FROM entities WHERE "row" = 2', "dangling_ends"),
    "merged": ('UPDATE entities SET merged_into = 999 WHERE "row" = 2', "foreign_keys"),
    "named vector": ("UPDATE entity_vectors SET embedding = zeroblob(32)", "chain"),
    "named shape": ("UPDATE entity_vectors SET embedding = zeroblob(28)", "vector_shapes"),
    "question": ("UPDATE questions SET text = 'x' WHERE position = 0", "chain"),
    "lost question": ("DELETE FROM questions WHERE position = -1", "chain"),
    "token shape": ("UPDATE token_codes SET codes = x''", "vector_shapes"),
    "token count": ("UPDATE token_codes SET ids = x'00'", "vector_shapes"),
    "token model": ("UPDATE token_codes SET model = 'other'", "vector_shapes"),
    "question shape": ("UPDATE questions SET model = 'other' WHERE position = 0", "vector_shapes"),
    "mention": ("UPDATE edges SET expired_seq = 0 WHERE edge_type = 0", "chain"),
    "mentioned": (
        "UPDATE edges SET to_row = 999 WHERE edge_type = 0 AND from_row = 3",
        "dangling_ends",
    ),
}


@pytest.mark.parametrize("case", LEDGER_DAMAGE)
def test_a_changed_ledger_is_damage(folder: Path, case: str) -> None:
    statement, check = LEDGER_DAMAGE[case]
    with open_ledger(folder) as ledger:
        tampered(ledger, statement)
        assert levels(doctor(ledger)).get(check) == "damage"


def test_a_text_held_twice_is_damage(folder: Path) -> None:
    with open_ledger(folder) as ledger:
        tampered(
            ledger,
            "DROP INDEX memories_text",
            "UPDATE memories SET scope = NULL, author = NULL, content_hash ="
            ' (SELECT content_hash FROM memories WHERE "row" = 1) WHERE "row" IN (4, 7)',
        )
        assert levels(doctor(ledger))["uniqueness"] == "damage"


def test_a_key_held_twice_is_damage(folder: Path) -> None:
    with open_ledger(folder) as ledger:
        tampered(
            ledger,
            "UPDATE memories SET scope = NULL, t_expired_us = NULL, \"key\" = 'k'",
            "UPDATE events SET payload = json_set(payload, '$.key', 'k')",
        )
        found = doctor(ledger)["uniqueness"]
        assert found.level == "damage"
        assert "expected a key that no other unexpired memory" in found.detail


def test_a_name_held_twice_is_damage(folder: Path) -> None:
    """A key is unique among the unexpired entities of a namespace."""
    with open_ledger(folder) as ledger:
        tampered(
            ledger,
            "DROP INDEX entities_key",
            "UPDATE entities SET norm_key = 'PERSON:ada', expired_us = NULL",
        )
        assert levels(doctor(ledger))["uniqueness"] == "damage"


# What a projection row holds of the graph: place in the row, another value, name in the report.
GRAPH_PARTS: dict[str, tuple[str, int, Callable[[Any], Any], str]] = {
    "keywords": ("mem", 24, lambda _: ["other"], "keywords"),
    "window": ("mem", 25, lambda _: [(1, None)], "windows"),
    "weight": ("mem", 26, lambda edges: [(*edges[0][:3], 0.75, *edges[0][4:])], "edges"),
    "lost edge": ("mem", 26, lambda edges: edges[1:], "edges"),
    "question": (
        "mem",
        27,
        lambda vectors: [bytes(28) + vectors[0][28:], *vectors[1:]],
        "questions",
    ),
    "relation": ("ent", 26, lambda _: [], "edges"),
    "name": ("ent", 28, lambda names: [*names, ("eve", "Eve")], "names"),
}


@pytest.mark.parametrize("case", GRAPH_PARTS)
def test_a_projection_with_another_graph_is_damage(folder: Path, case: str) -> None:
    prefix, place, changed, named = GRAPH_PARTS[case]
    with open_ledger(folder) as ledger:
        keeper = keeper_of(ledger)
        with ledger.read() as view:
            rows = [
                list(row)
                for row in view.projection_rows(0)
                if (row[7] == 2) == (prefix == "ent") and row[26] and (row[27] or prefix == "ent")
            ]
            row = rows[0]
            row[place] = changed(row[place])
            keeper.core.apply([ProjectionRow(*row)], view.seq, view.head)
        keeper.compact()
        found = doctor(ledger)["projection"]
    assert found.level == "damage"
    assert found.detail.startswith(prefix)
    assert found.detail.endswith(f"differs in {named}")


@each("count", [124, 127, 128, 300, 600])
@each("word", ["tide", "Tide"])
def test_a_text_that_repeats_a_word_is_sound(tmp_path: Path, word: str, count: int) -> None:
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder()) as store:
        store.commit(f"{word} " * count, title=f"{word} table", author=word)
        store.admin.compact()
        assert store.admin.doctor().exit_code == 0


def test_an_entity_too_few_is_damage(folder: Path) -> None:
    with open_ledger(folder) as ledger:
        keeper = keeper_of(ledger)
        with ledger.read() as view:
            rows = list(view.projection_rows(0))
            keeper.core.reset()
            keeper.core.apply(rows[:-1], view.seq, view.head)
        keeper.compact()
        found = doctor(ledger)["projection"]
    assert (found.level, found.detail[:4]) == ("damage", "ent_")
    assert found.detail.endswith("is missing")


def test_vectors_without_an_identity_are_damage(folder: Path) -> None:
    with open_ledger(folder) as ledger:
        tampered(ledger, "DELETE FROM meta WHERE name = 'embedding'")
        assert levels(doctor(ledger))["embedding_identity"] == "damage"


def test_a_projection_of_another_history_is_damage(folder: Path, tmp_path: Path) -> None:
    """Checksums are right, the rows are not the ledger's."""
    with open_ledger(tmp_path / "other") as other:
        fill(other, 12)
        raw_uuid = other.store_uuid
    with open_ledger(folder) as ledger:
        mine = ledger.store_uuid
    assert mine != raw_uuid
    ledger_file = folder / LEDGER_FILE
    with open_ledger(folder) as ledger:
        keeper = keeper_of(ledger)
        with ledger.read() as view:
            row = list(next(iter(view.projection_rows(0))))
            row[14] = not row[14]
            keeper.core.apply([ProjectionRow(*row)], view.seq, view.head)
        keeper.compact()
        found = doctor(ledger)["projection"]
    assert ledger_file.exists()
    assert found.level == "damage"
    assert "differs in pinned" in found.detail


def test_a_row_too_many_and_a_row_too_few_are_damage(folder: Path) -> None:
    with open_ledger(folder) as ledger:
        keeper = keeper_of(ledger)
        with ledger.read() as view:
            rows = list(view.projection_rows(0))
            keeper.core.reset()
            strange = rows[0]._replace(id=b"\x01" * 16)
            keeper.core.apply([strange, *rows[1:]], view.seq, view.head)
        keeper.compact()
        found = doctor(ledger)["projection"]
    assert found.level == "damage"
    assert "is missing" in found.detail
    assert "not in the ledger" in found.detail


def test_a_projection_behind_the_ledger_is_sound(folder: Path) -> None:
    with open_ledger(folder) as ledger:
        with ledger.write(made.NOW + 500) as txn:
            txn.apply(made.added(made.memory("Not published yet")))
        assert "13 memories and 2 entities equal" in doctor(ledger)["projection"].detail


def _queue(ledger: Ledger, _folder: Path) -> None:
    with ledger.write(made.NOW) as txn:
        new = made.memory("One with a job")
        txn.apply(made.added(new, jobs=(made.job(new.id),)))


def _jobs(ledger: Ledger, folder: Path) -> None:
    _queue(ledger, folder)
    for job in ledger.due_jobs("default", made.NOW * 2, ["embed"], 10):
        for _attempt in range(10):
            failed = JobResult(job_id=job.id, error="the model is away")
            ledger.finish_jobs([failed], made.NOW * 2)


def _batch(ledger: Ledger, folder: Path) -> None:
    _queue(ledger, folder)
    taken = ledger.due_jobs("default", made.NOW * 2, ["embed"], 10)
    ledger.submit_jobs([job.id for job in taken], "batch-1", made.NOW * 2)


def _lease(ledger: Ledger, folder: Path) -> None:
    _queue(ledger, folder)
    ledger.due_jobs("default", made.NOW + 200, ["embed"], 10)


def _future(ledger: Ledger, _folder: Path) -> None:
    with ledger.write(LATER * 2) as txn:
        txn.apply(made.added(made.memory("Written in the future")))


def _file(name: str) -> Callable[[Ledger, Path], None]:
    def make(_ledger: Ledger, folder: Path) -> None:
        (folder / name).write_text("")
        (folder / name).chmod(0o600)

    return make


def _mode(name: str) -> Callable[[Ledger, Path], None]:
    return lambda _ledger, folder: (folder / name).chmod(0o644)


FINDINGS: dict[str, tuple[Callable[[Ledger, Path], None], str, str]] = {
    "pending": (_queue, "jobs", "1 pending"),
    "jobs": (_jobs, "jobs", "the model is away"),
    "batch": (_batch, "jobs", "1 submitted in 1 batches"),
    "leases": (_lease, "leases", "1 jobs"),
    "clock": (_future, "clock", "the clock shows"),
    "leftover": (_file("ledger.sqlite.new-1234"), "residues", "ledger.sqlite.new-1234"),
    "aside": (
        _file("projection/manifest.damaged-1"), "residues",
        "leftover projection/manifest.damaged-1; `vestig rebuild` removes it",
    ),
    "of others": (_file("projection/notes"), "residues", "notes, which is not the store's; move"),
    "lost": (_file("set-aside-12"), "residues", "of a lost store; delete it once"),
    "open ledger": (_mode(LEDGER_FILE), "permissions", "ledger.sqlite is open to others (644)"),
    "no witness": (lambda _l, folder: (folder / "witness").unlink(), "witness", "no copy at"),
    "torn witness": (
        lambda _l, folder: (folder / "witness").write_bytes(b"VSTG"), "witness", "a torn copy"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FINDINGS)
def test_what_somebody_should_look_at_is_a_finding(folder: Path, case: str) -> None:
    act, check, detail = FINDINGS[case]
    with open_ledger(folder) as ledger:
        act(ledger, folder)
        finding = doctor(ledger)[check]
    assert finding.level == "finding"
    assert detail in finding.detail


def test_a_witness_that_saw_more_is_damage(folder: Path) -> None:
    """The line says how many transactions are missing."""
    with open_ledger(folder) as ledger:
        old = (folder / "witness").read_bytes()
        with ledger.write(made.NOW + 500) as txn:
            txn.apply(made.added(made.memory("Soon to be lost")))
        newer = (folder / "witness").read_bytes()
        tampered(ledger, "DELETE FROM chain WHERE seq = 15")
        assert newer != old
        found = doctor(ledger)["witness"]
    assert found.level == "damage"
    assert "1 transactions" in found.detail


def test_normal_durability_says_what_it_does_not_promise(tmp_path: Path) -> None:
    with filled(tmp_path / "store", durability="normal") as ledger:
        keeper_of(ledger)
        finding = doctor(ledger)["durability"]
    assert finding.level == "finding"
    assert "not the loss of power" in finding.detail


def test_no_stored_text_in_any_line(folder: Path) -> None:
    with open_ledger(folder) as ledger:
        tampered(ledger, "UPDATE memories SET version = version + 1", "DELETE FROM tags")
        (folder / "witness").write_bytes(os.urandom(52))
        said = " ".join(finding.detail for finding in doctor(ledger).values())
    assert "café" not in said
    assert "mem_" in said


def test_a_rebuild_removes_what_it_moved_aside(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(16)) as store:
        store.commit_many([{"content": f"The safe of mill {n} is blue"} for n in range(300)])
    (manifest,) = (tmp_path / "store" / "projection").glob("manifest")
    manifest.write_bytes(manifest.read_bytes()[:20])
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(16)) as store:
        assert list((tmp_path / "store" / "projection").glob("*.damaged-*"))
        store.admin.rebuild()
        assert not [one.detail for one in store.admin.doctor().findings if one.check == "residues"
                    and one.level != "ok"]  # fmt: skip
