"""A table of one file: filled, exported, imported, forgotten and checked by its declaration."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOY = """
from vestig.store.tables.table import (
    ROW, SALT, SEQ, Erase, Forgetting, Shape, Table, integer, text,
)

TABLES = (
    Table(
        name="remarks", code=18, says="a remark on a memory", record="remark",
        columns=(
            SALT, ROW, integer("memory", "memories", Forgetting.REMOVED), SEQ,
            integer("on_entity", "entities", Forgetting.CLEARED, null=True),
            integer("made_us"), text("remark", Erase.QUOTE),
            text("places", Erase.NAMES_IN_JSON, shape=Shape.JSON),
        ),
        lone=(("memory, remark", "TRUE", "a remark that its memory has once"),),
        indexes=(
            "CREATE INDEX remarks_memory ON remarks (memory)",
            "CREATE INDEX remarks_entity ON remarks (on_entity) WHERE on_entity IS NOT NULL",
        ),
    ),
    Table(
        name="looks", says="how often somebody looked", key=("memory",),
        columns=(integer("memory", "memories", Forgetting.REMOVED), integer("times")),
    ),
    Table(
        name="lists", code=19, says="a list of a memory", key=("memory",), lives_by="list_lines",
        columns=(SALT, integer("memory", "memories", Forgetting.REMOVED), SEQ),
    ),
    Table(
        name="list_lines", code=20, says="a line of a list",
        columns=(
            SALT, ROW, integer("memory", "lists", Forgetting.REMOVED), SEQ,
            integer("taken_from", "memories", Forgetting.REMOVED, null=True),
            text("line", Erase.QUOTE, quoted="taken_from"),
        ),
    ),
)
"""

SCRIPT = r"""
import json, sys
from pathlib import Path
from vestig.store import tables
tables.__path__.append(sys.argv[1])
folder = Path(sys.argv[2])

import vestig
from vestig.errors import ValidationError
from vestig.store.integrity import chain
from vestig.store.tables.schema import INSERT
from vestig.testing import HashingEmbedder

SECRET = "nobody has said where the seventh lantern of the harbour is hidden"

def opened(name):
    return vestig.open(folder / name, embedder=HashingEmbedder(16))

def remark(store, number, text, entity=None):
    with store._session.ledger.write(10**15) as txn:
        link, at = txn.new_link(), txn.seq + 1
        row = txn.connection.execute('SELECT IFNULL(MAX("row"), 0) + 1 FROM remarks').fetchone()[0]
        salt, places = chain.Salts().take(), json.dumps(["on the old quay"])
        values = (salt, row, number, at, entity, 10**15, text, places)
        txn.connection.execute(INSERT["remarks"], values)
        link.wrote("remarks", values)
        txn.connection.execute("INSERT OR REPLACE INTO looks VALUES (?, 3)", (number,))
        txn.close_link(link)

def listed(store, number, *lines):
    with store._session.ledger.write(10**15) as txn:
        link, at = txn.new_link(), txn.seq + 1
        written = [("lists", (chain.Salts().take(), number, at))]
        for place, (line, origin) in enumerate(lines, 1):
            values = (chain.Salts().take(), 10 * number + place, number, at, origin, line)
            written.append(("list_lines", values))
        for table, values in written:
            txn.connection.execute(INSERT[table], values)
            link.wrote(table, values)
        txn.close_link(link)

def rows(store, table="remarks"):
    with store._session.ledger.read() as view:
        return view.connection.execute(f"SELECT * FROM {table} ORDER BY memory").fetchall()

def sound(store):
    assert store._session.ledger.verify_all() == []
    assert not [f for f in store.admin.doctor().findings if f.level == "damage"]

with opened("a") as store:
    first = store.commit("we met Ada Lovelace at the harbour").memory_id
    store.commit("the boiler is drained on Mondays")
    with store._session.ledger.read() as view:
        entity = view.connection.execute('SELECT "row" FROM entities').fetchone()[0]
    remark(store, 1, SECRET, entity)
    remark(store, 2, "another remark that stays where it is", entity)
    quote = "we met Ada Lovelace at the harbour"
    listed(store, 1, ("of the memory itself", None))
    listed(store, 2, (quote, None), ("another line", 1))
    sound(store)
    store.export(folder / "all.jsonl")

lines = [json.loads(line) for line in (folder / "all.jsonl").read_text().splitlines()]
made = [line for line in lines if line["record"] == "remark"]
assert [line["remark"] for line in made] == [SECRET, "another remark that stays where it is"]
assert made[0]["memory"] == first and made[0]["on_entity"].startswith("ent_"), made
assert made[0]["made"].startswith("2001-") and made[0]["places"] == ["on the old quay"]
assert lines[-1]["counts"]["remark"] == 2

with opened("b") as store:
    store.import_(folder / "all.jsonl")
    assert [row[2:] for row in rows(store)] == [
        (1, made[0]["seq"], 1, 10**15, SECRET, '["on the old quay"]'),
        (2, made[1]["seq"], 1, 10**15, made[1]["remark"], '["on the old quay"]'),
    ], rows(store)
    store.export(folder / "again.jsonl")
    assert (folder / "again.jsonl").read_bytes() == (folder / "all.jsonl").read_bytes()
    assert store.import_(folder / "all.jsonl", merge=True).imported == 0
    sound(store)

for member, value in (("made", "never"), ("memory", "mem_1"), ("remark", 5), ("more", 1)):
    number = next(n for n, line in enumerate(lines, 1) if line["record"] == "remark")
    changed = [dict(line) for line in lines[:-1]]
    changed[number - 1][member] = value
    (folder / "changed.jsonl").write_text("".join(json.dumps(line) + "\n" for line in changed))
    with opened("c") as store:
        try:
            store.import_(folder / "changed.jsonl")
        except ValidationError as error:
            assert f"line {number}" in str(error), error
        else:
            raise AssertionError(member)

with opened("a") as store:
    report = store.forget([first])
    assert report.rows_removed["remarks"] == 1 and report.rows_removed["looks"] == 1, report
    assert [row[2] for row in rows(store)] == [2] and len(rows(store, "looks")) == 1
    assert rows(store, "list_lines") == rows(store, "lists") == [], "lists are nothing but lines"
    assert rows(store)[0][4] is None, "the entity went with its only memory"
    sound(store)
    for path in (folder / "a").rglob("*"):
        assert path.is_dir() or SECRET[8:40].encode() not in path.read_bytes(), path
    # a residue is found: the remark is written where nothing should have it
    third = store.commit("the third text of all that are here").memory_id
    remark(store, 3, "a remark that somebody copied into a file")
    copied = folder / "a" / "projection" / "notes.txt"
    copied.write_bytes(b"...a remark that somebody copied into a file...")
    try:
        store.forget([third])
    except vestig.ForgetIncompleteError as error:
        assert "notes.txt" in str(error), error
    else:
        raise AssertionError("a residue was not found")
    copied.unlink()
    assert store.admin.forget_finish().residues == 0
    store.commit("the fourth text of all that are here")
    for _ in range(2):
        remark(store, 4, "said twice")
    (found,) = [f for f in store.admin.doctor().findings if f.check == "uniqueness"]
    assert found.level == "damage" and "a remark that its memory has once" in found.detail, found
"""


def test_a_table_of_one_file_passes_export_import_forget_and_doctor(tmp_path: Path) -> None:
    family = tmp_path / "family"
    family.mkdir()
    (family / "toys.py").write_text(TOY)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), str(family), str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_text_without_a_rule_stops_at_import(tmp_path: Path) -> None:
    family = tmp_path / "family"
    family.mkdir()
    (family / "toys.py").write_text(TOY.replace(", Erase.QUOTE", ""))
    code = (
        "from vestig.store import tables\n"
        f"tables.__path__.append({str(family)!r})\n"
        "import vestig.store.tables.schema\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "column remark: expected either an erasure rule or a written exemption" in done.stderr
