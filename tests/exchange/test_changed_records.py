"""Records that are imported again with another text under the same id."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "formats"))

import vestig
from chats import as_lines, store_of, texts
from tables import each
from vestig.results import ImportReport

BEFORE = {"id": "a1", "memory": "Prefers meetings on Thursdays", "user_id": "ann",
          "created_at": "2026-03-01T10:00:00Z", "updated_at": "2026-03-02T10:00:00Z"}  # fmt: skip
AFTER = {**BEFORE, "memory": "Prefers meetings on Mondays", "updated_at": "2026-04-01T10:00:00Z"}
SAME = {"id": "a2", "memory": "Is allergic to the tar of the boat shed", "user_id": "ann"}
ROWS: dict[str, tuple[Any, Any]] = {
    "mem0": (BEFORE, AFTER),
    "messages": (
        {"message_id": "1", "speaker": "Ann", "text": "The tide turns at six",
         "timestamp": "2026-03-01T10:00:00Z", "edited_at": "2026-03-01T10:01:00Z"},
        {"message_id": "1", "speaker": "Ann", "text": "The tide turns at seven",
         "timestamp": "2026-03-01T10:00:00Z", "edited_at": "2026-03-01T10:02:00Z"},
    ),
    "memories": (
        {"content": "The shed key hangs behind the door", "artifact_ref": "k"},
        {"content": "The shed key lies in the boat", "artifact_ref": "k",
         "metadata": {"updated_at": "2026-03-01"}},
    ),
}  # fmt: skip


def told(report: ImportReport) -> str:
    return "\n".join(report.warnings)


@each("name", ROWS)
def test_a_newer_text_of_a_record_replaces_the_one_before_and_is_told(name: str) -> None:
    before, after = ROWS[name]
    store, _ = store_of(as_lines(before), format=name)
    (old,) = store.list()
    store.pin(old.id)
    again = store.import_(as_lines(after), format=name, dry_run=True)
    assert (again.imported, again.skipped, store.count()) == (1, 0, 1)
    again = store.import_(as_lines(after), format=name)
    assert (again.imported, again.skipped, again.ended) == (1, 0, 1)
    (new,) = store.list()
    text = after.get("memory") or after.get("text") or after.get("content")
    assert (new.content, new.pinned) == (text, True)
    assert store.show(old.id).memory.superseded_by == new.id
    assert f"1 memory was replaced by a newer text of the same record: {old.id}" in told(again)
    # the same again, and the file of before, bring nothing
    for rows in (after, before):
        last = store.import_(as_lines(rows), format=name)
        assert (last.skipped, last.imported, "replaced" in told(last)) == (1, 0, False)
    assert store.list()[0].id == new.id
    assert store.admin.doctor().exit_code == 0


def test_a_table_of_records_with_ids_too() -> None:
    rows = b"id,text,updated_at\n7,The boat is blue,2026-03-01\n"
    store, _ = store_of(io.BytesIO(rows))
    later = rows.replace(b"blue", b"green").replace(b"-03-", b"-04-")
    again = store.import_(io.BytesIO(later))
    assert (texts(store), again.ended) == ({"The boat is green"}, 1)


@each("apart", [0, 998])
def test_a_newer_text_with_the_same_id_in_one_file_replaces_the_one_before(apart: int) -> None:
    between = [{"id": f"b{n}", "memory": f"Boat {n} is {n} feet long"} for n in range(apart)]
    rows = [BEFORE, *between, AFTER]
    store, report = store_of(as_lines(*rows), format="mem0")
    assert (report.imported, report.skipped, report.ended) == (2 + apart, 0, 1)
    held = store.list(where={"include_expired": True}, limit=1_000)
    kept = {one.content: one.t_expired is None for one in held if "meetings" in one.content}
    assert kept == {BEFORE["memory"]: False, AFTER["memory"]: True}
    again = store.import_(as_lines(*rows), format="mem0")
    assert (again.imported, again.skipped, again.warnings) == (0, 2 + apart, ())


def test_an_older_text_with_the_same_id_in_one_file_is_told_by_its_line() -> None:
    for first, second in (
        (AFTER, BEFORE),
        ({**SAME, "id": "a1"}, {**SAME, "id": "a1"} | {"memory": "Is allergic to nothing"}),
    ):
        store, report = store_of(as_lines(first, second), format="mem0")
        assert texts(store) == {first["memory"]}
        assert "1 record with the id of an earlier one" in told(report)
        assert "is newer: line 2; give each an id" in told(report)


FLATS = (
    "Name,Tenant,Rent\nFlat 1,Greta Holm,610\nFlat 7,Meral Aydin,590\nFlat 12,Oskar Brandt,768\n"
)


def test_rows_that_are_no_longer_in_a_table_stay_and_are_told(tmp_path: Path) -> None:
    path = tmp_path / "flats.csv"
    path.write_text(FLATS)
    store, report = store_of(path)
    assert "stay" not in told(report)
    # one row changed, one added at the front: the others are known
    path.write_text(FLATS.replace("768", "790").replace("Flat 1,", "Flat 0,,500\nFlat 1,"))
    again = store.import_(path)
    assert (again.imported, again.skipped) == (2, 2)
    old = next(one.id for one in store.list() if "768" in one.content)
    assert f"flats.csv: 1 record of an earlier import is no longer in it and stays: {old}" in told(
        again
    )
    assert "with columns `text` and `key`" in told(again)
    # what is ended is told no more, nor are rows of another table or of a file that is cut
    store.deprecate(old)
    assert "stays" not in told(store.import_(path))
    other = tmp_path / "more.csv"
    other.write_text(FLATS)
    assert "stays" not in told(store.import_(other))
    path.write_text('Name,Tenant,Rent\n"Flat 1')
    assert "stays" not in told(store.import_(path))


DROPPED = {
    "a.csv": ("id,text,date\n1,The gate is green,2025-01-01\n", "2,The roof is red,2025-01-02\n"),
    "m.jsonl": (
        '{"type":"entity","name":"Gate","entityType":"t","observations":["It is green"]}\n',
        '{"type":"entity","name":"Roof","entityType":"t","observations":["It is red"]}\n',
    ),
    "g.jsonl": (
        '{"type":"entity","name":"Gate","entityType":"t","observations":["It is green"',
        ',"It is high"]}\n',
    ),
}


@each("name", DROPPED)
def test_records_with_an_id_that_are_no_longer_in_their_file_are_told(
    name: str, tmp_path: Path
) -> None:
    path, (kept, gone) = tmp_path / name, DROPPED[name]
    path.write_text(kept + gone)
    store, report = store_of(path)
    assert (store.count(), report.warnings) == (2, ())
    assert store.import_(path).warnings == ()
    kept += "" if kept.endswith("\n") else "]}\n"
    path.write_text(kept)
    again = store.import_(path)
    (old,) = [one.id for one in store.list() if "green" not in one.content]
    assert f"{name}: 1 record of an earlier import is no longer in it and stays: {old}" in told(
        again
    )
    # what has ended is told no more, nor are records of another file or scope, or of a cut file
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / f"b{path.suffix}"
    other.write_text(kept)
    assert store.import_(other).warnings == ()
    assert store.import_(path, scope="shed").warnings == ()
    path.write_text(kept + '{"type"' if name != "a.csv" else kept + "2\n")
    assert "stays" not in told(store.import_(path))
    path.write_text(kept)
    store.deprecate(old)
    assert store.import_(path).warnings == ()


def test_a_column_key_lets_a_changed_row_replace_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "rents.csv"
    path.write_text("key,text,floor\nflat12.rent,The rent of flat 12 is 768,3\n")
    store, _ = store_of(path)
    path.write_text("key,text,floor\nflat12.rent,The rent of flat 12 is 790,3\n")
    again = store.import_(path)
    assert (texts(store), "stays" in told(again)) == ({"The rent of flat 12 is 790"}, False)


COSTS = "The slip ring costs {} EUR"
KEYED = {
    "csv": ("key,text\n", "ring,{}\n"),
    "jsonl": ("", '{{"key": "ring", "content": "{}"}}\n'),
    "dated.csv": ("key,text,date\n", "ring,{},2024-01-01\n"),
    "claims.jsonl": (
        "",
        '{{"content": "{}", "claim": {{"subject": "Ring", "fact_type": "HAS_STATUS"}}}}\n',
    ),
}


def keyed(path: Path, *prices: int) -> Path:
    name = path.name.partition(".")[2]
    header, row = KEYED[name]
    path.write_text(header + "".join(row.format(COSTS.format(price)) for price in prices))
    return path


@each("name", KEYED)
def test_a_row_that_goes_back_to_an_earlier_value_of_its_key_takes_place(
    name: str, tmp_path: Path
) -> None:
    path = keyed(tmp_path / f"parts.{name}", 6400)
    store, _ = store_of(path)
    for price in (7150, 6400, 7150):
        again = store.import_(keyed(path, price))
        assert (again.imported, again.skipped, texts(store)) == (1, 0, {COSTS.format(price)})
        assert "longer in it" not in told(again)
        # the same file adds nothing
        events = store.count(where={"include_expired": True}), len(store.events(store.list()[0].id))
        again = store.import_(path)
        assert (again.imported, again.skipped, told(again)) == (0, 1, "")
        now = store.count(where={"include_expired": True}), len(store.events(store.list()[0].id))
        assert now == events
    dry = store.import_(keyed(path, 6400), dry_run=True)
    assert (dry.imported, dry.skipped, texts(store)) == (1, 0, {COSTS.format(7150)})
    assert store.admin.doctor().exit_code == 0


@each("name", KEYED)
def test_of_a_file_with_several_values_of_a_key_the_last_row_counts(
    name: str, tmp_path: Path
) -> None:
    path = keyed(tmp_path / f"parts.{name}", 6400, 7150)
    store, _ = store_of(path)
    for prices in ((6400, 7150), (7150, 6400), (7150, 6400), (6400, 7150, 6400)):
        store.import_(keyed(path, *prices))
        assert texts(store) == {COSTS.format(prices[-1])}
    count = store.count(where={"include_expired": True})
    assert store.import_(path).skipped == 3
    assert store.count(where={"include_expired": True}) == count


def test_what_something_else_says_of_a_key_stays_and_is_told(tmp_path: Path) -> None:
    path, other = keyed(tmp_path / "a.csv", 6400), keyed(tmp_path / "b.csv", 7150)
    store, _ = store_of(path)
    store.import_(other)
    (value,) = store.list()
    for _ in range(2):
        again = store.import_(path)
        assert (again.skipped, texts(store)) == (1, {COSTS.format(7150)})
        assert f"1 memory differs from the file and was kept as it is: {value.id}" in told(again)
        assert told(store.import_(other)) == ""
    # of both, the last one counts
    assert told(store.import_([path, other])) == ""
    mine = store.commit(COSTS.format(8000), key="ring")
    assert str(mine.memory_id) in told(store.import_(other))
    # what was withdrawn stays so, and an earlier time is history
    store.deprecate(str(mine.memory_id))
    assert (store.import_(other).skipped, store.count()) == (1, 0)


def test_a_row_that_tells_an_earlier_time_is_history(tmp_path: Path) -> None:
    path, rows = tmp_path / "a.csv", "key,text,t_valid\nring,{},2024-0{}-01\n"
    path.write_text(rows.format(COSTS.format(6400), 1))
    store, _ = store_of(path)
    for price, month in ((7150, 2), (6400, 1)):
        path.write_text(rows.format(COSTS.format(price), month))
        again = store.import_(path)
    assert (again.skipped, texts(store)) == (1, {COSTS.format(7150)})
    assert "differs" not in told(again)


def test_a_value_of_a_file_that_could_not_be_read_as_a_whole_is_told(tmp_path: Path) -> None:
    path = keyed(tmp_path / "a.csv", 6400)
    store, _ = store_of(path)
    store.import_(keyed(path, 7150))
    keyed(path, 6400).write_text(path.read_text() + "ring\n")
    again = store.import_(path)
    assert (again.failed, texts(store)) == (1, {COSTS.format(7150)})
    assert "1 memory differs from the file" in told(again)


def test_a_record_with_an_id_that_goes_back_to_an_earlier_text_is_newer() -> None:
    store, _ = store_of(as_lines(BEFORE))
    store.import_(as_lines(AFTER))
    back = {**BEFORE, "updated_at": "2026-05-01T10:00:00Z"}
    again = store.import_(as_lines(back))
    assert (again.imported, again.ended, texts(store)) == (1, 1, {BEFORE["memory"]})
    again = store.import_(as_lines(back))
    assert (again.skipped, again.warnings) == (1, ())


def test_a_row_that_stands_twice_is_two_rows_however_often_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "shop.csv"
    path.write_text("what,price\ntube,7\ntube,7\n")
    store, report = store_of(path)
    assert (report.imported, report.duplicates) == (1, 1)
    again = store.import_(path)
    assert (again.skipped, "stay" in told(again)) == (2, False)


def test_an_older_file_brings_nothing_back() -> None:
    store, _ = store_of(as_lines(AFTER, SAME))
    again = store.import_(as_lines(BEFORE, SAME))
    assert (again.skipped, again.warnings) == (2, ())
    assert texts(store) == {AFTER["memory"], SAME["memory"]}


def test_another_text_without_a_time_of_its_change_is_told_and_not_taken() -> None:
    store, _ = store_of(as_lines(SAME))
    (old,) = store.list()
    again = store.import_(as_lines({**SAME, "memory": "Is allergic to cats"}))
    assert (again.skipped, texts(store)) == (1, {SAME["memory"]})
    assert "1 record with another text than the one that is stored under the same id" in told(again)
    assert old.id in told(again)
    # another file whose records are numbered alike
    store, _ = store_of(io.BytesIO(b"id,text\n1,The mast is in\n"))
    other = store.import_(io.BytesIO(b"id,text\n1,The keel is in\n"))
    assert "another scope=… takes in what is no version of it" in told(other)
    store.import_(io.BytesIO(b"id,text\n1,The keel is in\n"), scope="keel")
    assert texts(store) == {"The mast is in", "The keel is in"}


def test_what_was_changed_or_withdrawn_here_stays_so_and_is_told() -> None:
    store, _ = store_of(as_lines(BEFORE))
    (old,) = store.list()
    own = store.update(old.id, content="Prefers meetings on Sundays").memory_id
    again = store.import_(as_lines(AFTER))
    assert ([one.id for one in store.list()], again.skipped) == ([own], 1)
    assert "was not taken" in told(again)


def test_a_text_that_another_record_states_too_stays_beside_the_newer_one() -> None:
    twin = {**BEFORE, "id": "a9"}
    store, _ = store_of(as_lines(BEFORE, twin))
    (old,) = store.list()
    again = store.import_(as_lines(AFTER, twin))
    assert texts(store) == {BEFORE["memory"], AFTER["memory"]}
    assert "1 memory stays beside a newer text of the same record" in told(again)
    assert old.id in told(again)
    assert again.ended == 0


def test_a_near_duplicate_is_no_changed_text() -> None:
    store = vestig.open(":memory:")
    first = {"id": "b1", "memory": "The tar is in the cellar of the boat house", "user_id": "ann"}
    near = {**first, "id": "b2", "memory": "The tar is in the cellar of the boat house!"}
    store.import_(as_lines(first, near))
    again = store.import_(as_lines(first, near))
    assert (again.skipped, again.warnings) == (2, ())


def test_two_records_with_one_id_and_two_texts_are_told() -> None:
    rows = [{"id": "1", "speaker": "Ann", "text": one} for one in ("The mast is in", "The keel is")]
    _, report = store_of(as_lines(*rows))
    assert (report.imported, report.skipped) == (1, 1)
    said = "standard input: 1 record with the id of an earlier one and another text or session"
    assert said in told(report)
    # the very same twice is no loss
    _, report = store_of(as_lines(rows[0], rows[0]))
    assert (report.skipped, report.warnings) == (1, ())


def test_an_id_of_another_session_is_told_whatever_the_text() -> None:
    """Chats that number their messages from 1."""
    first = {"id": 1, "speaker": "Nora", "text": "Good night, all.", "session": "mon"}
    other = {**first, "session": "tue"}
    store, _ = store_of(as_lines(first))
    assert store.import_(as_lines(first)).warnings == ()
    report = store.import_(as_lines(other))
    assert (report.imported, report.skipped) == (0, 1)
    (memory,) = store.list()
    assert "1 turn was skipped, for the id and the text are those of another session" in told(
        report
    )
    assert memory.id in told(report)
    assert store.import_(as_lines(other), scope="tue").imported == 1
    # in one file
    store, report = store_of(as_lines(first, other))
    assert report.skipped == 1
    assert "1 record with the id of an earlier one and another text or session" in told(report)
