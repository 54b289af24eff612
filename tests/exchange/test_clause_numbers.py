"""Pieces of a long clause carry its number."""

from __future__ import annotations

import pytest

from vestig.exchange.passages import Markup, cut_document

LONG = "and the Supplier shall tell the Client of any delay that it expects there, " * 12


def titles(text: str, markup: Markup = Markup.MARKDOWN, size: int = 400) -> list[str]:
    """The titles of the passages that begin inside a paragraph."""
    found = cut_document(text, size, title="Contract Q", markup=markup).passages
    return [one.title for one in found if "\n## " not in f"\n{one.content}" and one.number > 1]


def clause(number: str) -> str:
    return f"{number} The Supplier must deliver on the agreed day, {LONG}and that is all.\n\n"


@pytest.mark.parametrize("markup", [Markup.MARKDOWN, Markup.TEXT])
@pytest.mark.parametrize(
    ("first", "second"),
    [("12.3", "12.4"), ("7.1.2", "7.1.3"), ("3.", "4."), ("§ 8", "§ 9"), ("3)", "4)")],
)
def test_every_piece_has_the_number(first: str, second: str, markup: Markup) -> None:
    found = cut_document(clause(first) + clause(second), 400, title="Q", markup=markup).passages
    number = ""
    for one in found:
        head = next((n for n in (first, second) if one.content.startswith(f"Q\n{n} The")), None)
        number = head or number
        assert one.title == ("Q" if head else f"Q > {number}")
        assert head or one.content.startswith(f"Q > {number}\n")
        assert len(one.content) <= 400
    assert number == second


def test_the_heading_above_says_that_it_is_one() -> None:
    found = titles("## 7. Delivery\n\n" + clause("7.3"))
    assert set(found) == {"Contract Q > 7. Delivery > 7.3"}
    assert set(titles("## Article 7\n\n" + clause("7.3"))) == {"Contract Q > Article 7 > 7.3"}


@pytest.mark.parametrize(
    "text",
    [
        clause("3.5"),
        "## 2024 in numbers\n\n" + clause("3.5"),
        "## 3,5 of them\n\n" + clause("3.5"),
        clause("2024."),
        clause("3.5") + clause("7.8"),
        "It is cold.\n\n" + clause("-3.5") + clause("-3.4"),
        clause("3.5") + "Then 3.6 of them came.\n",
    ],
)
def test_another_number_is_no_clause(text: str) -> None:
    assert all(not one.endswith(("> 3.5", "> 7.8", "> 2024.", "> 3.4")) for one in titles(text))


def test_the_next_clause_in_a_piece_changes_nothing_of_it() -> None:
    text = "## 7. Delivery\n\n" + clause("7.3") + "7.4 It ends in May.\n\n## 8. End\n\nIt ends.\n"
    found = cut_document(text, 400, title="Contract Q").passages
    [last] = [one for one in found if "7.4 It ends" in one.content]
    assert last.title == "Contract Q > 7. Delivery > 7.3"
    assert found[-1].title in ("Contract Q > 8. End", last.title)
