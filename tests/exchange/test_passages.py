"""Documents are cut into passages: nothing is lost, repeated or moved."""

from __future__ import annotations

import random

import pytest

from tables import each
from vestig.exchange.passages import CutDocument, Markup, Passage, cut_document

_WORDS = (
    *("larch", "keel", "tar.", "oakum,", "Bergen!", "why?", "naïve", "日本語", "😀", "e.g."),
    *("[link](to/it)", "`code`", "*wet*", "a|b"),
)
_MARKS = "#=-|`~>*[]() \t\n\r\x0b\u2028a1.:"


def _bare(text: str) -> str:
    return "".join(text.split())


def _texts(passage: Passage) -> list[str]:
    """The slice of a passage, with the lines before it taken off in every way that is possible."""
    texts = [passage.content]
    if passage.title and passage.content.startswith(f"{passage.title}\n"):
        texts.append(passage.content[len(passage.title) + 1 :])
    for text in tuple(texts):
        lines = text.split("\n", 2)
        if len(lines) > 2 and "|" in lines[0] and set(lines[1].strip()) <= set("|:- \t"):
            texts.append(lines[2])
    return texts


def _check(text: str, size: int, document: CutDocument) -> None:
    source, place = _bare(text), {0}
    for number, passage in enumerate(document.passages, start=1):
        assert passage.number == number
        assert 1 <= len(passage.content) <= size
        assert len(passage.title) <= min(200, size // 4)
        place = {
            at + len(_bare(one))
            for at in place
            for one in _texts(passage)
            if _bare(one) and source.startswith(_bare(one), at)
        }
        assert place, f"passage {number} is no next part of the text"
    assert len(source) in place


def _random_document(rng: random.Random) -> str:
    def words(most: int) -> str:
        return " ".join(rng.choices(_WORDS, k=rng.randrange(1, most)))

    def block() -> str:
        kind = rng.randrange(9)
        if kind == 0:
            return f"{'#' * rng.randrange(1, 7)} {words(8)}{rng.choice(['', ' #', ' {#here}'])}"
        if kind == 1:
            return f"{words(5)}\n{rng.choice('=-') * rng.randrange(1, 30)}"
        if kind == 2:
            items = [f"{rng.choice(['-', '  *', '12.'])} {words(20)}" for _ in range(4)]
            return "\n".join(items)
        if kind == 3:
            rows = "\n".join(f"| {words(3)} | {words(6)} |" for _ in range(rng.randrange(1, 20)))
            return f"| one{rng.random()} | two |\n|:---|---:|\n{rows}"
        if kind == 4:
            lines = "\n".join(
                "    " * rng.randrange(3) + words(9) for _ in range(rng.randrange(20))
            )
            return f"```python\n{lines}\n{rng.choice(['```', ''])}"
        if kind == 5:
            return "x" * rng.randrange(1, 3000)
        if kind == 6:
            return "".join(rng.choices(_MARKS, k=rng.randrange(1, 300)))
        return words(rng.choice([5, 60, 400]))

    return rng.choice(["\n", "\n\n", "\n \t\n\n"]).join(
        block() for _ in range(rng.randrange(0, 14))
    )


@pytest.mark.slow
@pytest.mark.parametrize("markup", list(Markup))
def test_random_documents_are_covered_in_order(markup: Markup) -> None:
    rng = random.Random(f"passages {markup}")
    for _ in range(1000):
        text = _random_document(rng)
        size = rng.randrange(200, 1200)
        title = rng.choice(["", "Boats", "A long title of words " * 12])
        _check(text, size, cut_document(text, size, name=title, markup=markup))


def test_a_passage_begins_with_its_heading_or_with_the_path_to_it() -> None:
    text = f"# Boats\n\nOf larch.\n\n## Hull\n\n{'Planks. ' * 60}\n\n### Keel\n\n{'Oak. ' * 120}"
    passages = cut_document(text).passages
    assert [one.title for one in passages] == ["Boats", "Boats > Hull > Keel"]
    assert [one.content.split("\n")[0] for one in passages] == ["# Boats", "### Keel"]
    passages = cut_document(text, 400).passages
    assert [one.title for one in passages] == [
        "Boats",
        "Boats > Hull",
        "Boats > Hull",
        "Boats > Hull > Keel",
        "Boats > Hull > Keel",
    ]
    assert [one.content.split("\n")[0] for one in passages] == [
        "# Boats",
        "## Hull",
        "Boats > Hull",
        "### Keel",
        "Boats > Hull > Keel",
    ]


def test_a_heading_begins_a_passage_once_half_of_it_is_used() -> None:
    short, long = "Tar is black. " * 10, "Tar is black. " * 40
    text = f"## One\n\n{short}\n\n## Two\n\n{long}\n\n## Three\n\n{short}"
    assert [one.content.count("## ") for one in cut_document(text).passages] == [2, 1]


def test_a_heading_stays_with_what_stands_below_it() -> None:
    text = f"{'Oak. ' * 70}\n\n## Hull\n\n### Keel\n\n{'Larch. ' * 90}"
    first, second = cut_document(text, name="boats").passages
    assert first.content == f"boats\n{'Oak. ' * 70}".strip()
    assert second.content.startswith("## Hull\n\n### Keel\n\nLarch.")
    text = f"## Hull\n\n{'Larch. ' * 500}"
    assert cut_document(text).passages[0].content.startswith("## Hull\n\nLarch.")


def test_a_long_paragraph_is_cut_after_a_sentence() -> None:
    sentences = [f"Plank {number} is of larch and lies below the water." for number in range(60)]
    passages = cut_document(" ".join(sentences)).passages
    assert len(passages) > 3
    assert all(one.content.endswith("water.") for one in passages)


@each(
    ("sentence", "between", "end"),
    [
        ("第{}号房的客人需要{}条毛巾。", "", "。"),
        ("{}号室の田中様は{}名です！", "", "！"),  # noqa: RUF001
        ("第{}号房的客人说：「要{}条毛巾。」", "", "」"),  # noqa: RUF001
        ("الغرفة {} محجوزة للسيد خالد {}؟", " ", "؟"),
        ("कमरा {} का फ़ोन {} है।", " ", "।"),
    ],
)
def test_a_long_paragraph_without_spaces_is_cut_after_a_sentence(
    sentence: str, between: str, end: str
) -> None:
    text = between.join(sentence.format(number, number) for number in range(1, 200))
    passages = cut_document(text).passages
    assert len(passages) > 3
    assert all(one.content.endswith(end) for one in passages)


def test_a_table_that_fits_is_kept_whole_and_a_cut_one_repeats_its_header() -> None:
    def table(rows: int) -> str:
        return "| Plank | Wood |\n|---|---|\n" + "\n".join(
            f"| {row} | larch of {row} |" for row in range(rows)
        )

    text = f"{'Oak. ' * 100}\n\n{table(20)}"
    assert len(cut_document(text).passages) == 2
    assert cut_document(text).passages[1].content == table(20)
    passages = cut_document(f"# Wood\n\n{table(100)}").passages
    assert len(passages) > 2
    for passage in passages[1:]:
        assert passage.content.startswith("Wood\n| Plank | Wood |\n|---|---|\n| ")
        assert passage.content.endswith(" |")
    assert sum(one.content.count("| larch of") for one in passages) == 100


def test_code_that_fits_is_kept_whole_and_else_cut_at_a_line() -> None:
    code = "```\n" + "\n".join(f"plank({number})  # one" for number in range(25)) + "\n```"
    passages = cut_document(f"{'Oak. ' * 100}\n\n{code}").passages
    assert [one.content for one in passages][1] == code
    long = "```\n" + "\n".join(f"plank({number})  # one" for number in range(200)) + "\n```"
    passages = cut_document(long, name="boats.py").passages
    assert [one.begins_in_code for one in passages] == [False] + [True] * (len(passages) - 1)
    assert all(one.content.endswith(("# one", "```")) for one in passages)


@each(
    ("text", "title"),
    [
        ("# Boats\n\ntext", "Boats"),
        ("Boats\n=====\n\ntext", "Boats"),
        ("## Hull\n\n# Boats", "the file"),
        ("# Boats\n\n# Ships", "the file"),
        ("text\n\n# Boats ##\n\ntext", "Boats"),
        ("# **Boats** of [Bergen](b.md) {#b}", "Boats of Bergen"),
        ("```\n# Boats\n```", "the file"),
        ("- Boats\n---\n", "the file"),
        ("#hashtag", "the file"),
        ("text", "the file"),
    ],
)
def test_the_title_is_a_single_first_heading_or_the_name(text: str, title: str) -> None:
    assert cut_document(text, name="the file").title == title
    assert cut_document(text, title="Given", name="the file").title == "Given"


def test_a_long_path_keeps_its_ends() -> None:
    text = "# Boats\n\n" + "\n\n".join(f"{'#' * n} {'Part ' * 12}{n}" for n in range(2, 7))
    passage = cut_document(text + f"\n\n{'Oak. ' * 300}").passages[-1]
    assert passage.title.startswith("Boats > … > Part")
    assert passage.title.endswith("Part 6")
    assert len(passage.title) <= 200
    passage = cut_document(f"# {'a' * 900}\n\n## {'b' * 900}\n\ntext", name="n").passages[-1]
    assert len(passage.title) == 200
    assert passage.title.endswith("b…")


def test_links_to_other_documents_are_named_once() -> None:
    text = (
        "[[Ann Berg]], [[Ann Berg|Ann]], [[Keel#Oak|the keel]] and [[ Tar ]] but ![[hull.png]],"
        " `[[quoted]]`, [[]], [[-f file]]\n\n```\n[[fenced]]\n```"
    )
    (passage,) = cut_document(text).passages
    assert passage.links == ("Ann Berg", "Keel", "Tar")
    assert "[[Ann Berg|Ann]]" in passage.content


def test_headings_of_restructured_text_have_levels_in_their_order() -> None:
    text = (
        "=====\nBoats\n=====\n\nText.\n\nHull\n----\n\n" + "Oak. " * 70 + "\n\nKeel\n~~~~\n\n"
        "Long.\n\nMast\n----\n\n# no heading\n"
    )
    document = cut_document(text, 400, markup=Markup.RST)
    assert document.title == "Boats"
    assert [one.title for one in document.passages] == ["Boats", "Boats > Hull > Keel"]


def test_plain_text_has_no_headings() -> None:
    document = cut_document("# Boats\n\ntext", markup=Markup.TEXT)
    assert document == CutDocument("", (Passage(1, "", "# Boats\n\ntext", (), False),))


@pytest.mark.parametrize("text", ["", "\n\n", " \t\r\n\x0b", "\u2028"])
def test_blank_text_has_no_passages(text: str) -> None:
    assert cut_document(text).passages == ()


@each(
    "text",
    [
        "\n" * 300_000,
        "# a" + " " * 300_000 + "b",
        "|-" * 100_000 + "\n" + "|-" * 100_000,
        "`" * 300_000,
        "[[a" * 100_000,
        "![" * 100_000,
        "- [" * 20_000 + "](" * 20_000,
        "~~~\n" * 30_000,
    ],
    ids=lambda text: text[:4],
)
def test_a_text_that_tries_patterns_is_cut_in_time(text: str) -> None:
    _check(text, 800, cut_document(text))
