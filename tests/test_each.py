"""A table of rows as one test: all are tried, and all that fail are told."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tables import each


def test_every_row_is_tried_and_every_failure_told() -> None:
    seen = []

    @each(("number", "even"), [(1, True), (2, True), (3, False), (5, True)])
    def rows(number: int, even: bool) -> None:
        seen.append(number)
        assert (number % 2 == 0) == even

    with pytest.raises(pytest.fail.Exception) as caught:
        rows()
    assert seen == [1, 2, 3, 5]
    told = str(caught.value)
    assert told.startswith("2 of 4 rows:\n[0: 1, True] AssertionError at test_each.py:")
    assert "[3: 5, True]" in told
    assert "[1: " not in told


def test_a_check_that_does_not_raise_and_any_error_are_failures() -> None:
    @each("error", [ValueError, None, KeyError], ids=str)
    def rows(error: type[Exception] | None) -> None:
        if error is KeyError:
            raise error("no")
        with pytest.raises(ValueError, match="no"):
            int("no" if error else "1")

    with pytest.raises(pytest.fail.Exception, match="2 of 3 rows") as caught:
        rows()
    assert "[None] Failed at" in str(caught.value)
    assert "KeyError" in str(caught.value)


def test_a_row_has_a_folder_and_changes_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []

    @each("name", ["a", "b"])
    def rows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        found.append((list(tmp_path.iterdir()), Path.cwd() == tmp_path))
        monkeypatch.chdir(tmp_path)
        (tmp_path / name).touch()

    assert list(inspect.signature(rows).parameters) == ["tmp_path", "monkeypatch"]
    rows(tmp_path=tmp_path, monkeypatch=monkeypatch)
    assert found == [([], False), ([], False)]


def test_a_table_that_only_skips_is_skipped() -> None:
    @each("there", [True, False])
    def one(there: bool) -> None:
        if not there:
            pytest.skip("not there")

    @each("name", ["a", "b"])
    def none(name: str) -> None:
        pytest.skip(f"no {name}")

    one()
    with pytest.raises(pytest.skip.Exception, match="no a"):
        none()


@pytest.mark.parametrize(
    ("names", "rows", "ids"),
    [
        ("name", [], None),
        (("a", "b"), [(1,)], None),
        ("name", [1, 2], ["one"]),
        ("else", [1], None),
    ],
)
def test_a_table_without_rows_or_of_another_form_is_no_test(
    names: str, rows: list[object], ids: list[str] | None
) -> None:
    with pytest.raises(AssertionError):

        @each(names, rows, ids=ids)
        def never(name: object) -> None: ...
