"""Texts as they were given, in the ledger: under the chain, checked at each read, forgotten."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import ledger_rows as made
from filled_store import doctor, keeper_of, levels
from vestig.changes import ChangeSet
from vestig.errors import StoreDamagedError
from vestig.ports import EmbeddingIdentity
from vestig.store import erasure
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.records.rows import Listing

GIVEN = "| valve | open |\n|-------|------|\n| north |  yes |"
NORMAL = " ".join(GIVEN.split())
IDENTITY = EmbeddingIdentity(model="test-model", dimensions=8, normalized=True, fingerprint="0")


def with_original(folder: Path) -> tuple[Ledger, str]:
    """A ledger with a table as it was given, and a plain text."""
    ledger = open_ledger(folder)
    ledger.set_embedding_identity(IDENTITY)
    new, plain = made.memory(NORMAL), made.memory("a plain text")
    for changes in (
        made.added(plain),
        made.added(new, original_texts=(made.original(new.id, GIVEN),)),
    ):
        with ledger.write(made.NOW) as txn:
            txn.apply(changes)
    return ledger, new.id


def flip(folder: Path, table: str, old: str, new: str) -> None:
    """One character of a stored text, without the ledger's knowledge."""
    conn = apsw.Connection(str(folder / "ledger.sqlite"))
    conn.execute(f"UPDATE {table} SET content = replace(content, ?, ?)", (old, new))
    assert conn.changes()
    conn.close()


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [("original_texts", "\n| north", " | north"), ("memories", "a plain", "a  plain")],
)
def test_a_flipped_space_is_found_at_the_next_read(
    tmp_path: Path, table: str, old: str, new: str
) -> None:
    ledger, id = with_original(tmp_path / "s")
    with ledger, ledger.read() as view:
        assert view.memories("default", [id])[0].content == GIVEN
    flip(tmp_path / "s", table, old, new)
    with open_ledger(tmp_path / "s") as ledger:
        with ledger.read() as view:
            with pytest.raises(StoreDamagedError, match=r"its hash differs|never written so"):
                view.list_memories("default", Listing())
            with pytest.raises(StoreDamagedError, match=table):
                list(view.projection_rows(0))
        assert {(f.check, f.table) for f in ledger.verify_all()} == {("digest", table)}


def test_the_normal_form_is_checked_where_it_is_read(tmp_path: Path) -> None:
    ledger, id = with_original(tmp_path / "s")
    ledger.close()
    flip(tmp_path / "s", "memories", "north", "south")
    with open_ledger(tmp_path / "s") as ledger, ledger.read() as view:
        assert view.memories("default", [id])[0].content == GIVEN
        with pytest.raises(StoreDamagedError, match="its hash differs"):
            view.normal_texts("default", [id])


def test_a_removed_original_text_is_no_silent_damage(tmp_path: Path) -> None:
    ledger, _id = with_original(tmp_path / "s")
    ledger.close()
    conn = apsw.Connection(str(tmp_path / "s" / "ledger.sqlite"))
    conn.execute("DELETE FROM original_texts")
    conn.close()
    with open_ledger(tmp_path / "s") as ledger:
        assert levels(doctor(ledger))["chain"] == "damage"


def test_both_forms_are_forgotten_and_searched_for(tmp_path: Path) -> None:
    ledger, id = with_original(tmp_path / "s")
    with ledger:
        keeper = keeper_of(ledger)
        with ledger.write(made.NOW) as txn:
            removed = txn.forget("default", [id], actor=None)
        assert removed.rows["original_texts"] == 1
        (tmp_path / "s" / "projection").mkdir(exist_ok=True)
        (tmp_path / "s" / "projection" / "stray").write_bytes(GIVEN.encode()[14:44])
        with pytest.raises(Exception, match=r"occurrence in projection/stray"):
            erasure.finish(ledger, keeper, timeout_s=1.0)
        (tmp_path / "s" / "projection" / "stray").unlink()
        assert erasure.finish(ledger, keeper, timeout_s=1.0).files_scanned > 0
        for path in (tmp_path / "s").rglob("*"):
            if path.is_file():
                raw = path.read_bytes()
                assert GIVEN.encode() not in raw
                assert b"|-------|------|" not in raw, path
        assert ledger.verify_all() == []


def test_white_space_alone_is_no_residue(tmp_path: Path) -> None:
    """It says nothing of a text, and other texts are indented too."""
    new = made.memory("if so: stop")
    given = "if so:\n" + " " * 64 + "stop"
    with open_ledger(tmp_path / "s") as ledger:
        ledger.set_embedding_identity(IDENTITY)
        keeper = keeper_of(ledger)
        with ledger.write(made.NOW) as txn:
            txn.apply(made.added(new, original_texts=(made.original(new.id, given),)))
        with ledger.write(made.NOW) as txn:
            txn.forget("default", [new.id], actor=None)
        (tmp_path / "s" / "projection").mkdir(exist_ok=True)
        (tmp_path / "s" / "projection" / "blank").write_bytes(b" " * 200)
        assert erasure.finish(ledger, keeper, timeout_s=1.0).files_scanned > 1


def test_a_copy_keeps_original_texts(tmp_path: Path) -> None:
    ledger, id = with_original(tmp_path / "s")
    (tmp_path / "copy").mkdir()
    with ledger:
        ledger.copy_to(tmp_path / "copy" / "ledger.sqlite")
    with open_ledger(tmp_path / "copy") as copy, copy.read() as view:
        assert view.memories("default", [id])[0].content == GIVEN
        assert copy.verify_all() == []


def test_one_form_is_stored_where_both_are_equal(tmp_path: Path) -> None:
    ledger, id = with_original(tmp_path / "s")
    with ledger:
        with ledger.write(made.NOW) as txn:
            nothing = (made.original(id, None),)
            txn.apply(ChangeSet(namespace="default", original_texts=nothing))
        with ledger.read() as view:
            rows = view.connection.execute("SELECT COUNT(*) FROM original_texts").fetchall()
            assert rows == [(0,)]
            assert view.memories("default", [id])[0].content == NORMAL
        assert ledger.verify_all() == []
