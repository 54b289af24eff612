"""A damaged, lost or exchanged ledger is reported, never served."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import ledger_rows as made
from vestig.changes import ChangeSet, MemoryPatch, NewAnchor, NewRule
from vestig.errors import StoreDamagedError
from vestig.ports import EmbeddingIdentity
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.records.rows import Listing
from vestig.store.tables.schema import COLUMNS

NOW = made.NOW
TESTS = Path(__file__).resolve().parent.parent


def add(ledger: Ledger, text: str, *related: str) -> str:
    new = made.memory(text, metadata={"source": "manual", "tags": ["t"]})
    with ledger.write(NOW) as txn:
        txn.apply(made.added(new, *related))
    return str(new.id)


def fill(store: Path, count: int = 6) -> list[str]:
    """Memories with everything that the tables hold."""
    with open_ledger(store) as ledger:
        ledger.set_embedding_identity(
            EmbeddingIdentity(model="m", dimensions=8, normalized=True, fingerprint="f")
        )
        ids: list[str] = []
        for i in range(count):
            ids.append(add(ledger, f"the text of memory number {i}", *ids))
        ada = made.entity("Ada")
        with ledger.write(NOW) as txn:
            txn.apply(
                ChangeSet(
                    namespace="default",
                    entities=(ada,),
                    edges=(made.mention(ids[0], ada.id),),
                    questions=(made.question(ids[1]),),
                    token_codes=(made.tokens(ids[2]),),
                    original_texts=(made.original(ids[1], "as it\n\twas given"),),
                    claims=(made.claim(ids[1], subject_id=ada.id, evidence_of=ids[0]),),
                    items=(made.item("theme"),),
                    rules=(NewRule(memory_id=ids[-1], condition="tool = Bash", decision="ask"),),
                    anchors=(
                        NewAnchor(
                            memory_id=ids[-1],
                            taken_us=NOW,
                            kind="file",
                            target="src/db.py",
                            project="project:p",
                            first_line=3,
                            last_line=4,
                            digest=bytes(32),
                        ),
                    ),
                )
            )
        with ledger.write(NOW) as txn:
            txn.apply(made.reinforced(ids[0]))
        with ledger.write(NOW) as txn:
            txn.apply(made.superseded(ids[1], ids[2]))
        gone = add(ledger, "a text that was forgotten again")
        with ledger.write(NOW) as txn:
            txn.forget("default", [gone], actor=None)
        assert ledger.verify_all() == []
    return ids


def change(store: Path, sql: str) -> int:
    """Changes rows behind the ledger's back, as a bad disk or another program would."""
    conn = apsw.Connection(str(store / "ledger.sqlite"))
    conn.execute("PRAGMA ignore_check_constraints = on")
    conn.execute(sql)
    changed = conn.total_changes()
    conn.close()
    return changed


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


# --- rows ------------------------------------------------------------------------------------

OUTSIDE_PROJECTION = (
    "anchors", "claim_evidence", "claims", "items", "meta", "rules", "sources", "supersessions",
)  # fmt: skip
FLIPS = [
    ("memories", "content = content || ' '"),
    ("memories", "t_valid_us = t_valid_us + 1"),
    ("memories", "metadata = '{}'"),
    ("memories", "scope = ''"),
    ("memories", "pinned = 1"),
    ("vectors", "embedding = zeroblob(length(embedding))"),
    ("vectors", "model = 'other'"),
    ("events", "occurred_us = occurred_us + 1"),
    ("events", "payload = '{\"x\":1}'"),
    ("sources", "agent = NULL"),
    ("edges", "weight = weight + 0.5"),
    ("edges", "evidence = 'x'"),
    ("supersessions", "reason = ''"),
    ("entities", "canonical_name = 'Eve'"),
    ("entities", "expired_us = 1"),
    ("entities", "aliases = '[{}]'"),
    ("entity_vectors", "embedding = zeroblob(length(embedding))"),
    ("questions", "text = 'Who?'"),
    ("questions", "embedding = zeroblob(length(embedding))"),
    ("questions", "position = position + 7"),
    ("token_codes", "ids = zeroblob(length(ids))"),
    ("token_codes", "codes = zeroblob(length(codes))"),
    ("token_codes", "axes = zeroblob(length(axes))"),
    ("token_codes", "model = 'other'"),
    ("original_texts", "content = replace(content, char(9), ' ')"),
    ("original_texts", "sha256 = zeroblob(32)"),
    ("claims", "subject = 'Eve'"),
    ("claims", "subject_entity = NULL"),
    ("claims", "attributes = '{}'"),
    ("claims", "confidence = confidence + 0.5"),
    ("claim_evidence", "snippet = 'x'"),
    ("claim_evidence", "stated_in = memory"),
    ("claim_evidence", "stated_us = stated_us + 1"),
    ("items", "value = '{}'"),
    ("items", "version = version + 1"),
    ("items", "scope = 'user/eve'"),
    ("items", "expires_us = NULL"),
    ("rules", "condition = 'tool = Edit'"),
    ("rules", "decision = 'remind'"),
    ("rules", "exception = 'tool = Bash'"),
    ("anchors", "target = 'src/web.py'"),
    ("anchors", "digest = randomblob(32)"),
    ("anchors", "last_line = last_line + 1"),
    ("anchors", "commit_id = 'x'"),
    ("anchors", "committed = 1 - IFNULL(committed, 0)"),
    ("meta", "value = x'00'"),
]


@pytest.mark.parametrize(("table", "change_"), FLIPS, ids=[f"{t}-{c[:12]}" for t, c in FLIPS])
def test_a_changed_row_is_found(store: Path, table: str, change_: str) -> None:
    fill(store)
    where = "name = 'embedding'" if table == "meta" else "seq = (SELECT MAX(seq) FROM {0})"
    assert change(store, f"UPDATE {table} SET {change_} WHERE {where.format(table)}") > 0
    with open_ledger(store) as ledger:
        findings = ledger.verify_all()
        assert {f.check for f in findings} <= {"digest", "tags"}
        assert {f.table for f in findings} <= {table, "tags"}
        found = [f.message for f in findings if (f.check, f.table) == ("digest", table)]
        # a row that was changed is not missing besides
        assert found
        assert all("differs from what was written" in message for message in found)
        if table not in OUTSIDE_PROJECTION:
            with ledger.read() as view, pytest.raises(StoreDamagedError, match=table):
                list(view.projection_rows(0))


def test_an_edge_to_an_entity_that_is_gone_is_not_served(store: Path) -> None:
    fill(store)
    assert change(store, "DELETE FROM entities") == 1
    with open_ledger(store) as ledger, ledger.read() as view:
        with pytest.raises(StoreDamagedError, match=r"edges of mem_.* without end"):
            list(view.projection_rows(0))
        assert {f.check for f in ledger.verify_all()} >= {"counts", "ends"}


@pytest.mark.parametrize("table", [t for t in COLUMNS if t not in ("memories", "sources")])
def test_a_removed_row_is_found(store: Path, table: str) -> None:
    fill(store)
    where = "name = 'embedding'" if table == "meta" else "seq = (SELECT MAX(seq) FROM {0})"
    removed = change(store, f"DELETE FROM {table} WHERE {where.format(table)}")
    assert removed > 0
    with open_ledger(store) as ledger:
        checks = {(f.check, f.table) for f in ledger.verify_all()}
    assert {("digest", table), ("counts", table)} <= checks


def test_an_older_version_of_a_row_is_found(store: Path) -> None:
    """Its digest is in the chain, but a later transaction retired it."""
    with open_ledger(store) as ledger:
        id = add(ledger, "one")
        with ledger.read() as view:
            columns = ", ".join(f'"{c}"' for c in COLUMNS["memories"])
            old = view.connection.execute(f"SELECT {columns} FROM memories").fetchall()[0]
        with ledger.write(NOW) as txn:
            txn.apply(made.reinforced(id))
    conn = apsw.Connection(str(store / "ledger.sqlite"))
    names = ", ".join(f'"{c}" = ?' for c in COLUMNS["memories"])
    conn.execute(f"UPDATE memories SET {names}", old)
    conn.close()
    with open_ledger(store) as ledger:
        assert ("digest", id) in {(f.check, f.row) for f in ledger.verify_all()}
        with ledger.read() as view, pytest.raises(StoreDamagedError, match="older version"):
            list(view.projection_rows(0))


def test_a_changed_text_is_never_returned(store: Path) -> None:
    ids = fill(store)
    change(store, f"UPDATE memories SET content = 'altered' WHERE id = x'{raw(ids[0])}'")
    with open_ledger(store) as ledger, ledger.read() as view:
        for read in (
            lambda: view.memories("default", [ids[0]]),
            lambda: view.list_memories("default", Listing()),
        ):
            with pytest.raises(StoreDamagedError, match=ids[0]) as caught:
                read()
            assert "altered" not in str(caught.value)
            assert "vestig doctor" in str(caught.value)
        assert len(view.memories("default", ids[1:])) == len(ids) - 1


def raw(id: str) -> str:
    return id.partition("_")[2].replace("-", "")


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE chain SET h = zeroblob(32) WHERE seq = 3",
        "UPDATE chain SET counts = x'90' WHERE seq = 3",
        "UPDATE chain SET recorded_us = recorded_us + 1 WHERE seq = 3",
        "UPDATE chain SET written = x'90' WHERE seq = 3",
        "UPDATE chain SET touched = x'c1' WHERE seq = 3",
        "DELETE FROM chain WHERE seq = 3",
    ],
)
def test_a_changed_link_is_found(store: Path, sql: str) -> None:
    fill(store)
    assert change(store, sql) == 1
    with open_ledger(store) as ledger:
        assert "chain" in {f.check for f in ledger.verify_all()}


@pytest.mark.parametrize(
    "sql", ["UPDATE chain SET h = zeroblob(32)", "UPDATE chain SET recorded_us = 1"]
)
def test_opening_checks_the_newest_link(store: Path, sql: str) -> None:
    fill(store)
    change(store, f"{sql} WHERE seq = (SELECT MAX(seq) FROM chain)")
    with pytest.raises(StoreDamagedError, match="does not close"):
        open_ledger(store)


def test_the_index_of_tags_is_compared(store: Path) -> None:
    fill(store)
    change(store, "DELETE FROM tags WHERE memory = 1")
    with open_ledger(store) as ledger:
        assert [f.check for f in ledger.verify_all()] == ["tags"]


def test_dangling_ends_are_found(store: Path) -> None:
    fill(store)
    change(store, "UPDATE edges SET to_row = 999 WHERE from_row = 2 AND edge_type = 1")
    with open_ledger(store) as ledger:
        assert "ends" in {f.check for f in ledger.verify_all()}


# --- bytes -----------------------------------------------------------------------------------


def answers(ledger: Ledger) -> tuple[object, ...]:
    with ledger.read() as view:
        memories = view.list_memories("default", Listing(statuses=None, limit=None))
        ids = [m.id for m in memories]
        return (
            memories,
            view.vectors("default", ids),
            [view.events("default", id) for id in ids],
            [view.edges("default", id) for id in ids],
            [view.sources("default", id) for id in ids],
            [view.supersessions("default", id) for id in ids],
            list(view.projection_rows(0)),
            view.seq,
        )


def damage_is_told(store: Path, expected: tuple[object, ...], at: int) -> bool:
    """Whether opening or checking a store says that it is damaged; else it answers as expected."""
    try:
        with open_ledger(store) as ledger:
            if ledger.verify_all():
                return True
            assert answers(ledger) == expected, f"byte {at}"
    except StoreDamagedError:
        return True
    return False


def write_untyped(store: Path, table: str, column: str, value: str, where: str) -> None:
    """Writes a value of another type, as a flipped byte in the header of a record leaves it."""
    of_table = "WHERE type = 'table' AND name = ?"
    conn = apsw.Connection(str(store / "ledger.sqlite"))
    (typed,) = conn.execute(f"SELECT sql FROM sqlite_schema {of_table}", (table,)).fetchall()[0]
    names = ", ".join(row[1] for row in conn.execute(f"PRAGMA table_info({table})"))
    conn.execute("PRAGMA writable_schema = on")
    set_sql = f"UPDATE sqlite_schema SET sql = ? {of_table}"
    conn.execute(set_sql, (f"CREATE TABLE {table} ({names})", table))
    conn.close()
    change(store, f"UPDATE {table} SET {column} = {value} WHERE {where}")
    conn = apsw.Connection(str(store / "ledger.sqlite"))
    conn.execute("PRAGMA writable_schema = on")
    conn.execute(set_sql, (typed, table))
    conn.close()


@pytest.mark.parametrize("value", ["NULL", "1", "'text'", "zeroblob(32)"])
@pytest.mark.parametrize("before_last", [0, 1, 2])
def test_a_hash_of_another_type_is_damage(store: Path, before_last: int, value: str) -> None:
    fill(store, count=4)
    where = f"rowid = (SELECT max(rowid) - {before_last} FROM chain)"
    write_untyped(store, "chain", "h", value, where)
    try:
        with open_ledger(store) as ledger:
            found = {finding.check for finding in ledger.verify_all()}
    except StoreDamagedError:
        assert before_last < 2
    else:
        assert before_last == 2
        assert "chain" in found


def test_no_flipped_byte_is_silent(store: Path, tmp_path: Path) -> None:
    """Whatever a flipped byte hits: an error, a finding, or the very same answers."""
    fill(store, count=4)
    with open_ledger(store) as ledger:
        expected = answers(ledger)
    good = (store / "ledger.sqlite").read_bytes()
    chance = random.Random(5)
    written = [at for at in range(100, len(good)) if good[at]]
    told = 0
    for _ in range(60):
        bad = bytearray(good)
        at = chance.choice(written)
        bad[at] ^= 1 << chance.randrange(8)
        (store / "ledger.sqlite").write_bytes(bad)
        told += damage_is_told(store, expected, at)
    assert told > 0


def test_a_flipped_byte_in_the_wal_loses_nothing_silently(store: Path, tmp_path: Path) -> None:
    """SQLite cuts off a WAL at a wrong checksum without a word; the witness knows its length."""
    fill(store, count=3)
    ledger = open_ledger(store)
    for i in range(3):
        add(ledger, f"in the wal {i}")
    expected = answers(ledger)
    parts = {path.name: path.read_bytes() for path in store.iterdir()}
    ledger.close()
    wal = parts["ledger.sqlite-wal"]
    chance = random.Random(6)
    told = 0
    for trial in range(30):
        bad = bytearray(wal)
        at = chance.randrange(len(bad))
        bad[at] ^= 1 << chance.randrange(8)
        copy = tmp_path / f"copy{trial}"
        copy.mkdir()
        for name in ("ledger.sqlite", "witness"):
            (copy / name).write_bytes(parts[name])
        (copy / "ledger.sqlite-wal").write_bytes(bad)
        told += damage_is_told(copy, expected, at)
    assert told > 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"",
        lambda raw: raw[:50],
        lambda raw: b"\x00" * len(raw),
        lambda raw: b"not a database" * 400,
        lambda raw: raw[:4096],
        lambda raw: raw[:4096] + b"\xff" * (len(raw) - 4096),
    ],
    ids=["empty", "stump", "zeros", "text", "one page", "later pages"],
)
def test_a_ruined_file_is_no_store(store: Path, damage: Callable[[bytes], bytes]) -> None:
    fill(store)
    path = store / "ledger.sqlite"
    ruined = damage(path.read_bytes())
    path.write_bytes(ruined)
    with pytest.raises(StoreDamagedError, match="with `vestig restore BACKUP`") as caught:
        open_ledger(store)
    assert "doctor" not in str(caught.value)
    assert path.read_bytes() == ruined


def test_errors_hold_no_text(store: Path) -> None:
    ids = fill(store)
    change(store, f"UPDATE memories SET metadata = '[secret' WHERE id = x'{raw(ids[0])}'")
    with open_ledger(store) as ledger, ledger.read() as view:
        with pytest.raises(StoreDamagedError) as caught:
            view.memories("default", ids)
        assert "secret" not in str(caught.value)


def test_a_patch_of_many_rows_keeps_the_chain(store: Path) -> None:
    ids = fill(store)
    patches = tuple(MemoryPatch(memory_id=id, fields={"title": "t"}) for id in ids)
    with open_ledger(store) as ledger:
        with ledger.write(NOW) as txn:
            txn.apply(ChangeSet(namespace="default", patches=patches + patches))
        assert ledger.verify_all() == []
        with ledger.read() as view:
            memories = [row for row in view.projection_rows(0) if row[7] != 2]
            assert len(memories) == len(ids)
