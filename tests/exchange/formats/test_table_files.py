"""Tables: rows whose text is all of their columns, quotes over lines, dates, doubled columns."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from chats import store_of, texts
from tables import each

BILLS = (
    "Paid,What,Amount,Shop\n"
    '2026-03-02,Chain oil,18.40,"Kurz, Sons"\n'
    "2026-03-09,Inner tube,7.90,Velo Nord\n"
    "2026-03-16,Inner tube,7.90,Velo Nord\n"
)


def table(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_a_row_without_a_column_of_texts_is_the_text_of_its_columns(tmp_path: Path) -> None:
    store, report = store_of(table(tmp_path / "bills.csv", BILLS))
    assert (report.format, report.imported, report.failed) == ("csv", 3, 0), report
    first = min(store.list(), key=lambda one: one.t_valid)
    assert first.content == "Paid: 2026-03-02\nWhat: Chain oil\nAmount: 18.40\nShop: Kurz, Sons"
    # a bill is no less one before it is paid
    assert first.t_valid > datetime(2026, 4, 1, tzinfo=UTC)
    wanted = {"Paid": "2026-03-02", "What": "Chain oil", "Amount": "18.40", "Shop": "Kurz, Sons"}
    assert {name: first.metadata[name] for name in wanted} == wanted
    assert any(
        '"Paid" holds dates; it is not the time of the rows' in one for one in report.warnings
    )
    assert any('"column: value"' in one for one in report.warnings)
    # rows that differ in one date are two
    assert len(texts(store)) == 3
    again = store.import_(tmp_path / "bills.csv")
    assert (again.imported, again.skipped) == (0, 3)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_and_endings(tmp_path: Path, separator: str) -> None:
    text = BILLS.replace('"Kurz, Sons"', "Kurz").replace(",", separator)
    store, report = store_of(table(tmp_path / "bills.tsv", text))
    assert report.imported == 3
    assert any("Amount: 18.40" in one for one in texts(store))


def test_a_column_of_texts_is_the_text_and_what_is_left_is_told(tmp_path: Path) -> None:
    rows = "date,text,amount\n2026-05-04,Roof repair,742.00\n"
    store, report = store_of(table(tmp_path / "a.csv", rows))
    (one,) = store.list()
    assert (one.content, one.metadata["amount"]) == ("Roof repair", "742.00")
    assert one.t_valid == datetime(2026, 5, 4, tzinfo=UTC)
    assert "other keys are kept in metadata: amount" in report.warnings
    (way,) = [one for one in report.warnings if "alone" in one]
    assert "where that has another name, the text is the whole row" in way
    whole, _ = store_of(table(tmp_path / "b.csv", rows.replace("text", "what")))
    assert texts(whole) == {"date: 2026-05-04\nwhat: Roof repair\namount: 742.00"}


@each("name", ["text", "Content", "memory", "Fact"])
@each(
    ("column", "author", "scope"),
    [
        ("user", "hanna", None),
        ("User_Name", "hanna", None),
        ("author", "hanna", None),
        ("user_id", None, "hanna"),
    ],
)
def test_columns_beside_the_text_are_read_by_their_meaning(
    tmp_path: Path, name: str, column: str, author: str | None, scope: str | None
) -> None:
    rows = f"{name},{column},created_at,tags,mood\n"
    rows += "The bike cellar has 60 places.,hanna,2025-01-10,house,calm\n"
    store, report = store_of(table(tmp_path / "facts.csv", rows))
    (one,) = store.list()
    assert one.content == "The bike cellar has 60 places."
    assert (one.author, one.scope, one.tags) == (author, scope, ("house",))
    assert (one.t_valid.date(), one.metadata["mood"]) == (date(2025, 1, 10), "calm")
    assert "other keys are kept in metadata: mood" in report.warnings
    # a scope that is named for all is that of all
    store, _ = store_of(table(tmp_path / "facts.csv", rows), scope="house")
    assert {one.scope for one in store.list()} == {"house"}


def test_a_column_called_memory_may_be_of_a_thing(tmp_path: Path) -> None:
    rows = "device,memory\nlaptop of the office,16 GB\nold printer,2 GB\n"
    store, _ = store_of(table(tmp_path / "devices.csv", rows))
    assert "device: old printer\nmemory: 2 GB" in texts(store)


def test_what_somebody_says_stays_as_it_was_said(tmp_path: Path) -> None:
    rows = "author,text,mood\nAnn,The mast is in,calm\n"
    store, _ = store_of(table(tmp_path / "a.csv", rows))
    (one,) = store.list()
    assert (one.content, one.author) == ("The mast is in", "Ann")
    assert one.metadata["mood"] == "calm"


@each(
    ("values", "day"),
    [
        (["03.04.2026", "09.04.2026"], (2026, 4, 3)),
        (["3/4/2026", "3/25/2026"], (2026, 3, 4)),
        (["3-4-2026", "25-4-2026"], (2026, 4, 3)),
        (["2026-04-03T10:00:00Z", "2026-04-09"], (2026, 4, 3)),
        (["2026/4/3", "2026/04/09"], (2026, 4, 3)),
        (["2026年4月3日", "2026年12月31日"], (2026, 4, 3)),
        (["2026.04.03 10:00", "2026-04-09"], (2026, 4, 3)),
        (["3/4/2026", "5/4/2026"], None),
        (["2026/25/3", "2026/4/3"], None),
        (["3/25/2026", "25/3/2026"], None),
        (["2026-04-03", "soon"], None),
        (["20260403", "20260404"], None),
    ],
)
def test_a_column_is_the_time_where_all_its_values_are_dates_of_one_order(
    tmp_path: Path, values: list[str], day: tuple[int, int, int] | None
) -> None:
    rows = "what,date\n" + "".join(f"tar {n},{value}\n" for n, value in enumerate(values))
    store, report = store_of(table(tmp_path / "a.csv", rows))
    assert (report.imported, report.failed) == (2, 0), report
    first = next(one for one in store.list() if "tar 0" in one.content)
    said = 'the column "date" is the time of the rows' in report.warnings
    assert said is (day is not None)
    if day is not None:
        assert first.t_valid.date() == datetime(*day).date()
    assert f"date: {values[0]}" in first.content


@each(
    ("values", "days", "refused"),
    [
        (["05/11/2026", "06/11/2026"], [], "05/11/2026"),
        (["05.11.2026", "soon"], ["2026-11-05"], "soon"),
        (["2026/11/05", "5/6/2026"], ["2026-11-05"], "5/6/2026"),
        (["11/25/2026", "11/05/2026", "later"], ["2026-11-25", "2026-11-05"], "later"),
        (["2026年11月5日", "2026-11-06"], ["2026-11-05", "2026-11-06"], None),
    ],
)
def test_a_date_that_cannot_be_read_is_told_by_its_column(
    tmp_path: Path, values: list[str], days: list[str], refused: str | None
) -> None:
    rows = "date;text\n" + "".join(f"{one};Tar {n} is sold\n" for n, one in enumerate(values))
    store, report = store_of(table(tmp_path / "a.csv", rows))
    assert {one.t_valid.date().isoformat() for one in store.list()} == set(days)
    if refused is not None:
        told = next(one.message for one in report.errors if refused in one.message)
        assert "date: expected a date such as 2026-03-18, 2026/3/18 or 18.3.2026" in told
    assert not any("is not the time of the rows" in one for one in report.warnings)


def test_a_column_of_times_with_a_cell_that_is_none_is_told(tmp_path: Path) -> None:
    rows = "text,Datum\nTar is sold,2019-01-05\nPitch is sold,2024-02-01\nOakum is sold,{}\n"
    _, report = store_of(table(tmp_path / "a.csv", rows.format("unknown")))
    assert any('"Datum"' in one and '"unknown"' in one for one in report.warnings)
    store, report = store_of(table(tmp_path / "b.csv", rows.format("2025-03-01")))
    assert {one.t_valid.year for one in store.list()} == {2019, 2024, 2025}
    assert not any("no date" in one for one in report.warnings)


OF_THINGS = (
    "insured_until next_service born expires due deadline valid_to ends renewed published updated"
    " birthday Geburtstag bought start"
)
OF_ROWS = "Date time createdAt created_at Timestamp Datum fecha event-date"


@each("name", OF_THINGS.split())
def test_a_date_that_a_thing_has_is_not_the_time_of_its_row(tmp_path: Path, name: str) -> None:
    rows = f"boat,{name}\nAlbatros,2031-06-30\nPetrel,1999-02-01\n"
    store, report = store_of(table(tmp_path / "a.csv", rows))
    today = max(one.t_created for one in store.list())
    assert {one.t_valid.date() for one in store.list()} == {today.date()}
    said = next(one for one in report.warnings if name in one)
    assert 'it is not the time of the rows, as one named "date" would be' in said


@each("name", OF_ROWS.split())
def test_a_name_that_says_when_it_happened_is_the_time(tmp_path: Path, name: str) -> None:
    rows = f"born,what,{name}\n1990-01-01,The mast is in,2026-04-05\n"
    store, report = store_of(table(tmp_path / "a.csv", rows))
    assert store.list()[0].t_valid.date() == date(2026, 4, 5)
    assert any("is the time of the rows" in one for one in report.warnings)


def test_of_several_columns_of_dates_none_is_taken_unasked(tmp_path: Path) -> None:
    rows = "ordered,delivered,what\n2026-01-02,2026-01-09,larch\n"
    store, report = store_of(table(tmp_path / "a.csv", rows))
    assert sum("it is not the time of the rows" in one for one in report.warnings) == 2
    (one,) = store.list()
    assert one.t_valid > datetime(2026, 1, 10, tzinfo=UTC)
    named, report = store_of(table(tmp_path / "b.csv", rows.replace("delivered", "Date")))
    assert named.list()[0].t_valid == datetime(2026, 1, 9, tzinfo=UTC)
    assert 'the column "date" is the time of the rows' in report.warnings


def test_doubled_and_nameless_columns_are_kept_and_said(tmp_path: Path) -> None:
    rows = "part,price,price,\nmast,100,120,old\n"
    store, report = store_of(table(tmp_path / "a.csv", rows))
    assert texts(store) == {"part: mast\nprice: 100\nprice 2: 120\ncolumn 4: old"}
    assert any('"price" as "price 2"' in one for one in report.warnings)
    both = "text,content,author\nfirst,second,Ann\n"
    store, report = store_of(table(tmp_path / "b.csv", both))
    (one,) = store.list()
    assert (one.content, one.metadata["text"]) == ("second", "first")


def test_a_cell_goes_on_to_the_quote_that_ends_it(tmp_path: Path) -> None:
    appendix = "\n".join(f"Page {n} of the log,is a cell" for n in range(6_000))
    rows = f'content,author\nThe mast is in,Ann\n"{appendix}",Ben\nThe keel is in,Cy\n'
    store, report = store_of(table(tmp_path / "a.csv", rows))
    assert (report.imported, report.failed) == (2, 1)
    assert "line 3: " in report.errors[0].message
    assert "goes on to line 6002" in report.errors[0].message
    assert texts(store) == {"The mast is in", "The keel is in"}
    assert {one.author for one in store.list()} == {"Ann", "Cy"}


def test_a_quote_that_is_never_closed_is_one_error_and_gives_no_rows(tmp_path: Path) -> None:
    good = "".join(f"The plank {n} is sound,Ann\n" for n in range(5_000))
    rows = f'content,author\nThe mast is in,Ann\n"open,Ben\n{good}'
    store, report = store_of(table(tmp_path / "a.csv", rows))
    assert (report.lines, report.imported, report.failed) == (2, 1, 1)
    assert "a quote that is opened and never closed" in report.errors[0].message
    assert texts(store) == {"The mast is in"}


def test_text_behind_a_quote_over_lines_gives_no_rows_of_its_inside() -> None:
    rows = (
        b'content,author\n"The mast\nwas set,by one\nand stays" he said "then\n'
        b'left,for home",Ann\nThe keel is in,Cy\n'
    )
    store, report = store_of(io.BytesIO(rows))
    assert (report.imported, report.failed) == (1, 1), report
    assert texts(store) == {"The keel is in"}


def test_rows_without_a_value_are_counted(tmp_path: Path) -> None:
    store, report = store_of(table(tmp_path / "a.csv", "what;price\ntar;4\n;\n ;\n\n"))
    assert (report.imported, report.failed) == (1, 0)
    assert report.left_out == {"blank row": 2}
    assert texts(store) == {"what: tar\nprice: 4"}


def test_rfc_4180_quotes_lines_and_blank_cells(tmp_path: Path) -> None:
    rows = 'what,note,price\r\n"a ""big"" mast","two\r\nlines, here",\r\n"","x","9"\r\n'
    store, report = store_of(table(tmp_path / "a.csv", rows))
    assert report.imported == 2
    assert texts(store) == {'what: a "big" mast\nnote: two\nlines, here', "note: x\nprice: 9"}


def test_a_file_of_another_name_is_a_table_where_it_is_said(tmp_path: Path) -> None:
    path = table(tmp_path / "bills.dat", BILLS)
    store, report = store_of(path, format="csv")
    assert report.imported == 3
    assert store.count() == 3


def test_a_table_of_facts_has_their_keys_times_and_tags(tmp_path: Path) -> None:
    rows = (
        "Text,Key,t_valid,t_invalid,Tag,tags\n"
        'Flat 5 is let to Ana,flat5.tenant,2024-05-01,2025-02-01,tenant,"let; east"\n'
        "Flat 6 is empty,,,,,\n"
    )
    store, report = store_of(table(tmp_path / "flats.csv", rows))
    assert (report.imported, report.warnings) == (2, ())
    empty, let = sorted(store.list(), key=lambda one: one.content, reverse=True)
    assert (let.content, let.key) == ("Flat 5 is let to Ana", "flat5.tenant")
    assert (let.tags, empty.key, empty.tags) == (("tenant", "let", "east"), None, ())
    times = (let.t_valid.date(), let.t_invalid and let.t_invalid.date())
    assert times == (date(2024, 5, 1), date(2025, 2, 1))
    # dates of a table are told apart as those of its other columns
    rows = "text,t_valid\nThe hall is painted,01.05.2024\n"
    store, _ = store_of(table(tmp_path / "hall.csv", rows))
    assert [one.t_valid.date() for one in store.list()] == [date(2024, 5, 1)]
    # where somebody speaks a key is of what is spoken of
    rows = "author,text,key\nAda,We play in,C major\nBo,And then,C major\n"
    store, report = store_of(table(tmp_path / "band.csv", rows))
    assert [one.key for one in store.list()] == [None, None]
    assert report.warnings == ("other keys are kept in metadata: key",)
    # a column that is of no fact takes the key from none
    rows = "text,key,user,rooms\nFlat 7 is let to Bo,flat7.tenant,Ana,3\n"
    store, _ = store_of(table(tmp_path / "rooms.csv", rows))
    (flat,) = store.list()
    assert (flat.content, flat.key, flat.author) == ("Flat 7 is let to Bo", "flat7.tenant", "Ana")


def test_a_text_that_was_replaced_and_is_imported_again_is_told(tmp_path: Path) -> None:
    store, _ = store_of(table(tmp_path / "a.csv", "text,tags\nA tasting costs 18 euros,price\n"))
    (old,) = store.list()
    store.commit("A tasting costs 21 euros", supersedes=old.id)
    again = store.import_(table(tmp_path / "a.csv", "text,tags\nA tasting costs 18 euros,hall\n"))
    (told,) = again.warnings
    assert told.startswith("1 text that had been replaced or withdrawn here holds again: mem_")
    assert {one.content for one in store.list()} == {
        "A tasting costs 18 euros",
        "A tasting costs 21 euros",
    }


def test_what_was_noticed_in_several_files_names_them(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        table(tmp_path / name, "author,text,mood\nAnn,The mast is in,calm\n")
    table(tmp_path / "c.csv", "author,text\nAnn,The keel is in\n")
    _, report = store_of(tmp_path)
    named = ", ".join(str(tmp_path / name) for name in ("a.csv", "b.csv"))
    assert report.warnings == (f"{named}: other keys are kept in metadata: mood",)
