"""Tables are declared: from the declaration come the statements, and what a forgetting does."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import msgspec
import pytest

import ledger_rows as made
import vestig
from filled_store import filled
from vestig.store.ledger import migrations
from vestig.store.ledger.opening import open_ledger
from vestig.store.tables import schema
from vestig.store.tables.table import (
    SALT,
    SEQ,
    Check,
    Erase,
    Forgetting,
    Shape,
    Table,
    blob,
    integer,
    real,
    text,
)

PACKAGE = Path(vestig.__file__).parent


def test_a_ledger_has_the_declared_tables_and_no_others() -> None:
    with open_ledger(None) as ledger, ledger.read() as view:
        found = view.connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table'"
        ).fetchall()
        for table in schema.ALL:
            if not table.made_when_needed:
                columns = view.connection.execute(f"PRAGMA table_info({table.name})").fetchall()
                assert tuple(column[1] for column in columns) == table.names
    assert {name for (name,) in found} == {
        table.name for table in schema.ALL if not table.made_when_needed
    }


def test_other_tables_are_another_version() -> None:
    found, version = schema.fingerprint(), schema.VERSION
    assert found == schema.FINGERPRINT, (
        f"store/tables declares other tables than version {version} of the schema: a store of that"
        f" version would be taken for damaged. In store/tables/schema.py set VERSION to"
        f' {version + 1} and FINGERPRINT to "{found}"; a step in store/ledger/migrations.py brings'
        " stores of earlier versions along, without one they are refused"
    )
    assert migrations.newest_version(migrations.MIGRATIONS) == version


TOY = Table(
    name="toys",
    says="a toy",
    columns=(integer("row"), integer("size"), text("name", exempt="no name of a person"), SEQ),
    indexes=("CREATE INDEX toys_by_name ON toys (name)",),
)
SIZE, NAME = TOY["size"], TOY["name"]
OTHER_TOYS = {
    "a column more": {"columns": (*TOY.columns, integer("weight"))},
    "a column less": {"columns": TOY.columns[:-1]},
    "another order": {"columns": (TOY.columns[0], NAME, SIZE, SEQ)},
    "another name": {"columns": (TOY.columns[0], integer("length"), NAME, SEQ)},
    "another kind": {"columns": (TOY.columns[0], real("size", 0, 1), NAME, SEQ)},
    "another form": {"columns": (TOY.columns[0], integer("size", shape=Shape.TIME), NAME, SEQ)},
    "may be NULL": {"columns": (TOY.columns[0], integer("size", null=True), NAME, SEQ)},
    "bounds": {"columns": (TOY.columns[0], integer("size", low=0, high=9), NAME, SEQ)},
    "a reference": {
        "columns": (TOY.columns[0], integer("size", "memories", Forgetting.REMOVED), NAME, SEQ)
    },
    "another key": {"key": ("name",)},
    "another index": {"indexes": ()},
    "a condition": {"checks": (Check("size", "size > 0", "a size above 0"),)},
    "under the chain": {"code": 99},
    "another prefix": {"prefix": "toy"},
}


@pytest.mark.parametrize("change", OTHER_TOYS)
def test_a_change_of_what_a_ledger_holds_changes_the_fingerprint(change: str) -> None:
    other = msgspec.structs.replace(TOY, **OTHER_TOYS[change])
    assert schema.fingerprint([other]) != schema.fingerprint([TOY])


def test_what_is_said_of_a_table_is_no_part_of_the_fingerprint() -> None:
    name = text("name", exempt="the name of a toy")
    other = msgspec.structs.replace(TOY, says="one toy", columns=(TOY.columns[0], SIZE, name, SEQ))
    assert schema.fingerprint([other]) == schema.fingerprint([TOY])


def test_no_other_place_makes_a_table() -> None:
    """But for what an import notes of lines beside the tables of its scratch ledger, and those of
    tenants in PostgreSQL."""
    making = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"CREATE (TEMP )?TABLE", path.read_text())
    }
    assert making == {
        "store/tables/table.py",
        "store/portable/scratch.py",
        "store/replication/rows.py",
        "store/replication/tokens.py",
    }


@pytest.mark.parametrize("make", [text, blob])
def test_a_text_or_bytes_say_what_an_erasure_searches_for(make: object) -> None:
    assert callable(make)
    with pytest.raises(
        TypeError, match="column note: expected either an erasure rule or a written"
    ):
        make("note")
    with pytest.raises(TypeError, match="got both"):
        make("note", Erase.TEXT, exempt="a label")
    assert make("note", exempt="a label").erase is None


def test_a_reference_says_what_becomes_of_its_row() -> None:
    with pytest.raises(TypeError, match="memory: expected refers and forgetting, or neither"):
        integer("memory", "memories")


def test_codes_under_the_chain_have_no_gap_and_no_double() -> None:
    stray = Table(name="stray", code=3, says="", key=("seq",), columns=(SALT, SEQ))
    with pytest.raises(TypeError, match=r"expected the codes 0 to \d+, each once"):
        schema._by_code([schema.TABLES[name] for name in schema.CHAINED] + [stray])


def test_every_rule_of_an_erasure_is_carried_out() -> None:
    from vestig.store.records.erase_patterns import _RULES

    assert set(_RULES) == set(Erase)
    used = {column.erase for table in schema.ALL for column in table.columns} - {None}
    assert used == set(Erase)


def test_every_reference_to_a_node_has_an_index() -> None:
    """Else a forgetting would read the whole table."""
    for table in schema.ALL:
        for column in table.columns:
            if column.refers is not None and table.key[0] != column.name:
                first = rf"ON {table.name} \({column.name}\b"
                assert any(re.search(first, index) for index in table.indexes), (
                    table.name, column.name,
                )  # fmt: skip


BAD_VALUES = {
    "a word of no list": "UPDATE memories SET status = 'asleep'",
    "a flag of 2": "UPDATE memories SET pinned = 2",
    "a count below 0": "UPDATE memories SET version = -1",
    "a share above 1": "UPDATE edges SET confidence = 1.5",
    "an infinite weight": "UPDATE edges SET weight = 9e999",
    "an end before the beginning": "UPDATE memories SET t_invalid_us = t_valid_us - 1",
    "expired, but active": "UPDATE memories SET t_expired_us = 1 WHERE status = 'active'",
    "an edge to itself": "UPDATE edges SET to_row = from_row WHERE edge_type = 1",
    "a batch of a pending job": "UPDATE jobs SET batch_id = 'b' WHERE state = 'pending'",
}


@pytest.mark.parametrize("case", BAD_VALUES)
def test_a_ledger_takes_no_value_that_its_declaration_excludes(case: str) -> None:
    with (
        filled(None) as ledger,
        ledger.write(made.NOW) as txn,
        pytest.raises(apsw.ConstraintError, match="CHECK constraint failed"),
    ):
        txn.connection.execute(BAD_VALUES[case])
