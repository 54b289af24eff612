"""How an erasure searches: runs as they are, and the live rows of the ledger page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from scripted import Opener
from vestig._core import ByteRuns
from vestig.store import erasure

GONE = b"the lantern that was put out long ago, and nobody remembers it"
KEPT = b"the lantern that burns at the quay in every weather, day and night"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[apsw.Connection]:
    conn = apsw.Connection(str(tmp_path / "rows.sqlite"))
    conn.execute("PRAGMA page_size = 1024; PRAGMA secure_delete = OFF")
    yield conn
    conn.close()


def live(conn: apsw.Connection, runs: list[bytes]) -> list[int] | None:
    """Which of these runs a live row holds."""
    data = Path(conn.filename).read_bytes()
    roots = [1, *(root for (root,) in conn.execute("SELECT rootpage FROM sqlite_schema"))]
    read: Callable[[int, int], bytes] = lambda start, count: data[start : start + count]  # noqa: E731
    search = ByteRuns(runs)
    places = [first for _count, first in search.find(data, 0).values()]
    near, found = (search.find_live(read, len(data), roots, at) for at in (places, None))
    assert set(near or ()) <= set(found or ())
    return found if found is None else sorted(found)


@pytest.mark.parametrize("rows", [1, 900])
@pytest.mark.parametrize("filler", [0, 5_000, 40_000])
def test_what_was_deleted_is_not_live_though_its_bytes_are_there(
    database: apsw.Connection, rows: int, filler: int
) -> None:
    """In a leaf, in pages that a long value runs over into, and in free pages."""
    database.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB); BEGIN")
    for number in range(rows):
        database.execute("INSERT INTO t VALUES (?, ?)", (3 * number, b"%d, and so on" % number))
    database.execute("INSERT INTO t VALUES (1, ?)", (bytes(filler) + KEPT,))
    database.execute("INSERT INTO t VALUES (4, ?)", (bytes(filler) + GONE,))
    database.execute("COMMIT; DELETE FROM t WHERE a = 4")
    data = Path(database.filename).read_bytes()
    assert GONE[:24] in data
    assert live(database, [KEPT, GONE, b"%d, and so on" % (rows - 1)]) == [0, 2]


def test_rows_without_a_number_and_indexes_are_followed(database: apsw.Connection) -> None:
    database.execute(
        "CREATE TABLE t (a TEXT, b TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;"
        "CREATE TABLE u (a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX u_b ON u (b); BEGIN"
    )
    for number in range(3_000):
        database.execute("INSERT INTO t VALUES (?, ?)", (f"first {number}", f"second {number}"))
        database.execute("INSERT INTO u VALUES (?, ?)", (number, f"third {number}"))
    database.execute("COMMIT")
    wanted = [b"first 17second 17", b"second 2999", b"third 1234", b"third 3000"]
    assert live(database, wanted) == [0, 1, 2]


def test_leaves_without_an_offset_are_not_read(database: apsw.Connection) -> None:
    database.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); BEGIN")
    for number in range(3_000):
        database.execute("INSERT INTO t VALUES (?, ?)", (number, f"row {number} of many alike"))
    database.execute("COMMIT")
    data = Path(database.filename).read_bytes()
    (root,) = database.execute("SELECT rootpage FROM sqlite_schema").fetchone()
    search = ByteRuns([b"row 1234 of many", b"row 12 of many", b"row 4000 of many"])
    place = data.index(b"row 1234 of many")
    read: list[int] = []

    def give(start: int, count: int) -> bytes:
        read.append(count)
        return data[start : start + count]

    assert search.find_live(give, len(data), [root], [place]) == [0]
    near = sum(read)
    assert sorted(search.find_live(give, len(data), [root], None) or ()) == [0, 1]
    assert sum(read) - near == len(data) > near


@pytest.mark.parametrize("data", [b"", b"x" * 50, b"\0" * 4096, b"SQLite format 3\0" * 400])
def test_what_is_no_database_has_no_answer(data: bytes) -> None:
    found = ByteRuns([b"SQLite"]).find_live(lambda at, n: data[at : at + n], len(data), [1, 9], [0])
    assert found is None


def test_runs_of_every_length_are_counted_at_every_place() -> None:
    text = bytes(range(1, 60))
    runs = [text[at : at + length] for length in (1, 2, 3, 6, 7, 14, 15, 24, 40) for at in (0, 5)]
    search = ByteRuns(runs)
    for before in range(17):
        data = b"\xff" * before + text + b"\xff" * 9 + text
        starts = [data.index(run) for run in runs]
        assert search.find(data, 0) == {n: (2, at) for n, at in enumerate(starts)}
        after = len(text) + 9
        assert search.find(data, before + len(text)) == {
            n: (1, at + after) for n, at in enumerate(starts)
        }


@pytest.mark.parametrize("size", [0, 30, (256 << 10) + 20, 900_000])
def test_a_file_is_searched_across_its_windows(size: int) -> None:
    data = bytearray(b"." * size)
    for place in (0, 11, (256 << 10) - 8, (512 << 10) - 1, size - len(GONE)):
        if 0 <= place <= size - len(GONE):
            data[place : place + len(GONE)] = GONE
    search = ByteRuns([GONE, GONE[:17], b"beyond"])
    found = search.find_in_file(lambda start, count: bytes(data[start : start + count]))
    assert found == (search.find(bytes(data), 0), size)


def test_many_forgettings_read_a_file_once(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opener()
    kept = store.commit("The gate of the lower lock is painted every other year").memory_id
    for number in range(5):
        store.commit(f"{GONE.decode()} {number * 7919}", retention_until="2020-01-01T00:00:00Z")
    read: list[str] = []
    reader = erasure._reader
    monkeypatch.setattr(erasure, "_reader", lambda path: read.append(path.name) or reader(path))
    assert store.admin.prune().removed == 5
    assert [memory.id for memory in store.list()] == [kept]
    assert read.count("ledger.sqlite") == len([name for name in read if name == "witness"]) == 1


def test_texts_that_others_share_are_told_from_the_pages_alone(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole texts, vectors and word pieces of other memories are no residue, and no row is read to
    see that: a forgetting takes no longer where there are many."""
    store = opener()
    same = "The minutes of the meeting of the harbour board of the seventh of May"
    ids = [store.commit(f"{same}, page {n}", scope=f"s{n % 3}").memory_id for n in range(30)]
    ids += [store.commit(same, scope=f"s{n}").memory_id for n in range(3)]
    monkeypatch.setattr(erasure, "live_bytes", lambda conn: pytest.fail("rows were read"))
    live_runs, looked = erasure._Search._live_runs, []

    def seen(search: erasure._Search, *given: Any) -> list[bytes]:
        looked.append(given[-1])
        return live_runs(search, *given)

    monkeypatch.setattr(erasure._Search, "_live_runs", seen)
    assert store.forget(str(ids[0])).residues == 0
    assert looked
    assert None not in looked, "pages without a hit were read"
    report = store.forget(str(ids[-1]))
    assert (report.residues, report.shared_occurrences > 0) == (0, True)
