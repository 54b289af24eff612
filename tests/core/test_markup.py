"""Names in documents: what is markup, code or an ordinary word is none."""

from __future__ import annotations

import oracle_name_rules
import oracle_name_words
from hypothesis import example, given
from hypothesis import strategies as st

import vestig
from tables import each
from vestig.language.names import (
    analyse,
    find_names,
    resolve_names,
    starts_sentence,
    title_name,
)
from vestig.language.words import NAME_STOPWORDS
from vestig.testing import HashingEmbedder

FENCED = """We call Frobnicator here:

```rust
let order = WidgetShop::open("Marble Arch")?;
```

and Gizmo there"""

NAMED = {
    "fenced code": {
        FENCED: ["Frobnicator", "Gizmo"],
        "~~~\nQuartz Ltd\n~~~\nasked Opal": ["Opal"],
        "so:\n````\n```\nQuartz Ltd\n```\n````\nasked Opal": ["Opal"],
        "- so\n  ```\n  Quartz Ltd\n  ```\n- ask Opal": ["Opal"],
        "> ```\n> Quartz Ltd\n> ```\n> ask Opal": ["Opal"],
        "as in\n```\nQuartz Ltd never ends": [],
        # code that began in the passage before
        'shop.open("Marble Arch")\n```\nwe ask Opal\n```sh\nrun Quartz\n```\nand Jade': [
            "Opal",
            "Jade",
        ],
        "```inline Quartz``` and Opal": ["inline Quartz", "Opal"],
    },
    "links and images": {
        "see [the plan](https://plans.example.org/Quartz/Big_Plan.html) of Opal": ["Opal"],
        "see [Jade (new)](docs/Jade_(new).md) now": ["Jade"],
        "see [Jade][Jade_Plan] and [[Opal|the gem]]": ["Jade", "Opal"],
        "![Quartz in Winter](pictures/Quartz.png) by Opal": ["Opal"],
        "![Quartz][photo_of_quartz] by Opal": ["Opal"],
        "so it is\n\n[Jade_Plan]: https://jade.example.org/x 'Jade'\n": [],
        "as said[^1]\n\n[^1]: by Opal": ["Opal"],
        "see https://docs.rs/apsw there": ["docs.rs"],
    },
    "HTML": {
        '<img src="Quartz_Logo.png" alt="Quartz Logo"> by Opal': ["Opal"],
        "met <b>Opal</b> there": ["Opal"],
        "<!-- Quartz Ltd\nkeeps NOTES_HERE --> by Opal": ["Opal"],
        "if a < Bee and Cat > d": ["Bee", "Cat"],
        "press <kbd>Ctrl</kbd> now": ["Ctrl"],
    },
    "emphasis": {
        "this _and_ that __must__ be _really_ so": [],
        "we met _Opal Jade_ there": ["Opal Jade"],
        "call `_quartz_now_` or read_me_first": ["_quartz_now_", "read_me_first"],
    },
    "back quotes": {
        "`a`, `and`, `is`, `not`, `don't`, `status`": [],
        "`Not`, `The`": [],
        "`lock-file`, `std::fs`, `max_age`, `h2`, `.toml`, `Pane`": [
            "lock-file",
            "std::fs",
            "max_age",
            "h2",
            ".toml",
            "Pane",
        ],
        "`fs.open(path, flags)` and `open()`": ["fs.open"],
        "`{ key: value }`, `a = b`, `x | y`, `read, write`, `[options]`": [],
        "`git rebase` and `garbage collection`": ["git rebase", "garbage collection"],
        "the switch `--force` of `/srv`": [],
    },
    "beginnings": {
        "# Returns\n\nDeploys fail": [],
        "- Returns a list\n- Takes a word\n* Gives it back\n1. Opens it": [],
        "| Name | Meaning |\n|---|---|\n| Width | of a pane |": [],
        "it goes on\n\nWhatever follows": [],
        "## Setup\nDeploys fail": [],
        "we met Jade\n\nOpal came": ["Jade"],
        "we met Jade\nQuartz there": ["Jade\nQuartz"],
        "it was said\nby somebody of\nLisbon": ["Lisbon"],
    },
}
CASES = [(text, names) for kind in NAMED.values() for text, names in kind.items()]


@each(("text", "names"), CASES)
def test_names_are_read_from_prose(text: str, names: list[str]) -> None:
    found = find_names(text)
    assert [name.name for name in found] == names
    assert found == oracle_name_rules.find_names(text)
    assert all(text[name.start : name.end] == name.name for name in found if name.type != "ORG")


@each(
    ("title", "name"),
    [
        ("Field guide > Birds > Great Tit", "Great Tit"),
        ("Field guide > Great Tit (draft)", "Great Tit"),
        ("a > b", None),
        ("Guide > About", None),
        ("Guide > fs.watch(filename, options)", "fs.watch"),
        ("Guide > (draft)", None),
        ("If", None),
        ("x -> y", "x -> y"),
        ("Harbor plan", "Harbor plan"),
    ],
)
def test_a_title_gives_its_last_part(title: str, name: str | None) -> None:
    found = title_name(title)
    assert (found and found.name) == name
    assert found == oracle_name_rules.title_name(title)


def test_a_text_that_begins_with_its_title_names_its_last_part_alone() -> None:
    title = "Field Guide > Northern Birds > Great Tit"
    text = f"{title}\nIt nests in holes near Malmo."
    names = [one.name for one in resolve_names(analyse(text, title))]
    assert names == ["Malmo", "Great Tit"]
    own = oracle_name_words.analyse(text, title)
    assert [name.name for name in own.rule_names] == ["Malmo"]


def test_function_words_are_no_entities_of_a_document() -> None:
    lines = [f"`{word}` and _{word}_, /{word}, #{word}, @{word}" for word in sorted(NAME_STOPWORDS)]
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as store:
        for at in range(0, len(lines), 20):
            store.commit("\n".join(lines[at : at + 20]), title=f"Words > {lines[at].split()[2]}")
        names = [one.entity.canonical_name for one in store.graph.entities(limit=99)]
    assert [name for name in names if name.lower() in NAME_STOPWORDS] == []


MARKS = (*"`~_*<>[]()!#|-+>: \n", "```", "~~~", "\n\n", "](", "![", "<!--", "-->", "</b>")
PIECES = st.sampled_from([*MARKS, "Ada", "by", "lock-file", "x"])


@given(st.lists(PIECES, max_size=40).map("".join))
@example("~~~ Ada`s words\nGrace Hopper\n~~~")
def test_markup_of_any_shape_is_read_as_defined(text: str) -> None:
    assert find_names(text) == oracle_name_rules.find_names(text)
    for at in range(len(text)):
        assert starts_sentence(text, at) == oracle_name_rules.starts_sentence(text, at)


@each("unit", ["```\n", "![", "](", "_a ", "<a ", "`a``", "[a]: b\n", "<!--", "# \n"])
def test_time_grows_with_the_length_of_the_text(unit: str) -> None:
    """The longest text of any one shape is read through, not tried over and over."""
    text = (unit * 20000)[:20000]
    for name in find_names(text):
        assert 0 <= name.start < name.end <= 20000
