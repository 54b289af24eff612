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
    assert f"flats.csv: 1 row of an earlier import is no longer in it and stays: {old}" in told(
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


def test_a_column_key_lets_a_changed_row_replace_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "rents.csv"
    path.write_text("key,text,floor\nflat12.rent,The rent of flat 12 is 768,3\n")
    store, _ = store_of(path)
    path.write_text("key,text,floor\nflat12.rent,The rent of flat 12 is 790,3\n")
    again = store.import_(path)
    assert (texts(store), "stays" in told(again)) == ({"The rent of flat 12 is 790"}, False)


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
    said = "standard input: 1 record with the id of an earlier one and another text was not taken"
    assert said in told(report)
    # the very same twice is no loss
    _, report = store_of(as_lines(rows[0], rows[0]))
    assert (report.skipped, report.warnings) == (1, ())
