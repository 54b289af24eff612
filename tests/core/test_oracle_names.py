"""The core's rules for names against their slow definitions in Python."""
# ruff: noqa: RUF001

from __future__ import annotations

import gzip
import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import oracle_name_forms as forms_oracle
import oracle_name_rules as rules_oracle
import oracle_name_words as words_oracle
import oracle_names
import oracle_text_flags
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracle_name_patterns import UPPER
from oracle_name_table import NameTable as SlowTable

from tables import each
from vestig import _core
from vestig._core import testing
from vestig.errors import ValidationError
from vestig.language.names import (
    KnownEntity,
    NameTable,
    analyse,
    cased_name,
    entity_named,
    find_names,
    is_specific,
    named_by_whole_text,
    norm_name,
    resolve_names,
    title_name,
)

# Lower case in one of Unicode 14 and 17 alone.
CHANGED = {0x295, 0x10FC, 0xA7F2, 0xA7F3, 0xA7F4, 0xAB69}
TYPES = {"ORG": "COMPANY", "PERSON": "PERSON", "FILE": "UNTYPED"}
KNOWN = [
    ("e1", "PERSON", "Ada Lovelace", "Ada"),
    ("e2", "UNTYPED", "Ada"),
    ("e3", "ORG", "Acme Corp.", "Acme", "ACME"),
    ("e4", "COMPANY", "acme"),
    ("e5", "SYSTEM", "C++"),
    ("e6", "PLACE", "Hyde Park"),
    ("e7", "CONCEPT", "ΣΊΣΥΦΟΣ", "Σίσυφος"),
    ("e8", "CONCEPT", "Jose\u0301"),
    ("e9", "ORG", "Ben & Jerry's"),
    ("e10", "ORG", "Ben & Jerry"),
    ("e11", "ORG", "Wendy's"),
    ("e12", "PERSON", "张伟"),
    ("e13", "PERSON", "O’Brien"),
]
PARTS = [
    *("Ada", "Lovelace", "ada", "ADA", "Acme", "Corp.", "Corp", "Dr.", "Mrs.", "P.", "St. ", "A"),
    *("of", "the", "van", "The", "Hello", "It's", "Ada's", "Let’s", "NATO", "NaTo", "iPhone"),
    *("University", "Hyde", "Park", "in", "from", "Ltd", "Prof", "Monday", "Deploy", "grand"),
    *("ABC-12", "ABC-1-2x", "v1.2.3", "v1.2a", "3.11", "Python", "C++", "C#", "snake_case", "__x_"),
    *(
        "fooBar",
        "HTTPServer",
        "a@b.co",
        "a@b-.c--",
        "x+y@z.org.",
        "https://docs.rs:80/x?y#z",
        "HTTP://É",
    ),
    *(
        "docs/x.md",
        "./run/all.sh",
        "../a",
        "~/b/c",
        "C:\\dir\\f.txt",
        "and/or",
        "3/4",
        "+\\+\\",
        "/+/+/",
    ),
    *("config.yaml", "x.tar.gz", "example.COM", "www.ex.ıo", "a.com-x", "a.com.b", ".py", "é.com"),
    *("@dana", "#tag", "@@x", "&#y", "“Blue Harbor”", "'a b'", "`x`", "«y»", "‘z’", '"', "'", "’"),
    *(" ", "  ", "\n", "\t", "\x1c", "\x85", "\u00a0", "\u2028", "\u3000", "|", "—", "…", "-", "."),
    *("!", "?", ":", ",", ";", "=", "/", "\\", "(", ")", "*", "&", "_", "+", "#", "@", "<", ">"),
    *(
        "É",
        "é",
        "ß",
        "ẞ",
        "ǅ",
        "İ",
        "ı",
        "ſ",
        "K",
        "Σ",
        "ς",
        "ΑΣ",
        "ﬁ",
        "ª",
        "²",
        "①",
        "Ⅷ",
        "½",
        "٣",
    ),
    *(
        "東京",
        "가",
        "א",
        "e\u0301",
        "\u0301",
        "\u200b",
        "\U0001d400",
        "\U00010400",
        "\U0001f600",
        "0",
    ),
]
# What decides whether a word, a number or a sign is part of a name.
EDGES = [
    *(
        "van",
        "von",
        "der",
        "de",
        "la",
        "di",
        "d'",
        "d’",
        "al-",
        "7-",
        "50",
        "2024",
        "&",
        "AT&T",
        "R&",
    ),
    *(
        "Gogh",
        "Anna",
        "anna",
        "Ximo",
        "Jerry's",
        "Wendy’s",
        "Mary's",
        "Co.",
        "Inc.",
        "GmbH",
        "Mt.",
        ", ",
    ),
    *(
        "was",
        "lives",
        "said",
        "ice",
        "room",
        "Yesterday",
        "heard",
        "und",
        "euros",
        "Euro",
        "May",
        "Cent",
    ),
    *(
        "张伟",
        "欧阳",
        "夏侯",
        "高兴",
        "王",
        "在",
        "和",
        "昨天",
        "工作",
        "田中",
        "昨日",
        "さん",
        "ちゃん",
    ),
    *(
        "タナカ",
        "김민준",
        "씨",
        "님",
        "이야기",
        "محمد",
        "،",
        "دوד",
        "משה",
        "राहुल",
        "।",
        "(",
        "“",
        ".",
    ),
]
TEXTS = st.one_of(
    st.lists(st.sampled_from(EDGES), max_size=9).map(" ".join),
    st.lists(st.sampled_from(EDGES), max_size=9).map("".join),
    st.lists(st.sampled_from(PARTS + EDGES), max_size=14).map(" ".join),
    st.lists(st.sampled_from(PARTS), max_size=14).map("".join),
    st.lists(st.sampled_from(PARTS), max_size=14).map(" ".join),
    st.text(alphabet="aB1_.-/\\@+ '\"~:", max_size=30),
    st.text(st.characters(exclude_categories=("Cs", "Cn")), max_size=30),
)


def entities() -> tuple[SlowTable, NameTable, dict[str, KnownEntity]]:
    """The same known names for both."""
    slow, fast = SlowTable(), NameTable()
    known = dict[str, KnownEntity]()
    for order, (id, type, name, *aliases) in enumerate(KNOWN):
        slow.add(id, name, *aliases)
        fast.add(id, name, *aliases)
        place = (2**63 + order // 2, name)
        known[id] = KnownEntity(id=id, type=type, name=name, order=place)
    return slow, fast, known


SLOW, FAST, ENTITIES = entities()


def check(text: str, title: str | None = None) -> None:
    """One text is taken apart and resolved as the definition says, and has its flags."""
    assert _core.text_flags(text) == oracle_text_flags.text_flags(text)
    assert find_names(text) == rules_oracle.find_names(text)
    assert title_name(title) == rules_oracle.title_name(title)
    for types in (None, TYPES):
        ours, theirs = (
            analyse(text, title, types=types),
            words_oracle.analyse(text, title, types=types),
        )
        assert tuple(ours.words) == theirs.words
        assert tuple(ours.openers) == theirs.openers
        assert ours.title == (None if theirs.title is None else theirs.title.name)
        hits = FAST.find(ours)
        assert sorted(hits) == sorted(SLOW.find(theirs.words))
        common = set(theirs.openers[::2])
        for only in (False, True):
            found = resolve_names(ours, hits, ENTITIES, common=common, rules_only=only)
            wanted = oracle_names.resolve_names(
                theirs, hits, ENTITIES, common=common, rules_only=only
            )
            assert found == wanted
        whole = named_by_whole_text(ours, hits, ENTITIES)
        assert whole == oracle_names.named_by_whole_text(theirs, hits, ENTITIES)


@given(TEXTS, st.none() | TEXTS)
@example("Ada Lovelace" * 2, "Ada (x) (y) ")
@example("\\+\\+\\/+/+", "(a)")
def test_any_text_is_taken_apart_as_the_definition_says(text: str, title: str | None) -> None:
    check(text, title)


@given(TEXTS)
def test_forms_of_any_name_are_those_of_the_definition(name: str) -> None:
    assert is_specific(name) == rules_oracle.is_specific(name)
    quoted = [(one.start, one.end) for one in rules_oracle.quoted(name)]
    assert _core.quotations(name) == quoted
    for at in range(0, len(name) + 1, 3):
        starts = rules_oracle.starts_sentence(name, at)
        assert _core.starts_sentence(name, at) == starts
    if name.strip() and not _core.visible(name).strip():
        return
    if not name.strip():
        for form in (cased_name, norm_name):
            with pytest.raises(ValidationError, match="visible character"):
                form(name)
    else:
        assert cased_name(name) == forms_oracle.cased_name(name)
        assert norm_name(name) == forms_oracle.norm_name(name)
        for type in ("PERSON", "UNTYPED", "ORG"):
            chosen = entity_named(ENTITIES.values(), name, type)
            wanted = oracle_names.entity_named(ENTITIES.values(), name, type)
            assert chosen == wanted


def test_classes_of_all_characters_are_those_of_the_definition() -> None:
    """Where Python's Unicode and the core's both have the character."""
    wanted = [
        *(str.isalpha, str.isalnum, lambda c: c.isalnum() or c == "_", str.isspace, str.isupper),
        *(str.islower, str.istitle, str.isdecimal, str.isdigit, lambda c: c in UPPER),
    ]
    classes = testing.name_classes()
    assert len(classes) == 0x110000
    wrong = []
    for code, own in enumerate(classes):
        char = chr(code)
        category = unicodedata.category(char)
        if category in ("Cn", "Cs"):
            continue
        bits = [bool(test(char)) for test in wanted]
        bits[6] = category == "Lt"
        if own != sum(bit << at for at, bit in enumerate(bits)):
            wrong.append(code)
    assert set(wrong) <= CHANGED


@each("unit", ["+\\", "/+", "A+", "a.", "«", "((", "A. ", "A'", "1.", "@-", "v1"])
def test_long_texts_of_one_shape_are_read_through(unit: str) -> None:
    for text in ((unit * 4_000)[:4_000], (unit * 4_000)[:4_000] + "x"):
        assert find_names(text) == rules_oracle.find_names(text)


def texts_of(folder: Path) -> Iterator[str]:
    """Every text in packed lines of JSON below a folder."""
    for path in sorted(folder.rglob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield from _strings(msgspec.json.decode(line))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


@pytest.mark.torture
def test_texts_of_the_data_sets_are_taken_apart_as_the_definition_says(
    labelled_data: Path,
) -> None:
    dice, seen = random.Random(5), set[str]()
    for text in texts_of(labelled_data):
        if text not in seen:
            seen.add(text)
            check(text, dice.choice([None, text[:60]]))
    assert seen


@each(
    "text",
    [
        "Who has the spare key of the van?",
        "who has the spare key of the van",
        "and since when does he have it",
        "I do not know who has it.",
        "I don’t know, but ask Ingrid.",
        "Good question!",
        "Is it there? Yes, behind the clock.",
        "I'm meeting Kelly on 4 May, can you help me?",
        "the rate please",
        "Berlin.",
        "42",
        "…",
        "钥匙在哪里？我不知道。",
        "What we decided: no feature flags.",
        "Is it? " * 30,
    ],
)
def test_what_a_text_is_for_who_asks(text: str) -> None:
    assert _core.text_flags(text) == oracle_text_flags.text_flags(text)
