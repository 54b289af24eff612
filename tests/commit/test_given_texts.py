"""What was committed comes back byte for byte; only its normal form decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from statement_pairs import KEPT_SPACE

import vestig
from scripted import Opener
from vestig.types import CommitOutcome
from vestig.types import CommitOutcomeKind as Kind

CODE = "def add(a, b):\n    if a:\n\treturn a + b\n\n    return b"
TABLE = "| valve | open |\n|-------|------|\n| north |  yes |\n| south |   no |"
TODO = "- paint the fence\n  - buy  paint\n  - borrow a brush\n- call Ada"
POEM = "The fog comes\n\n      on little cat feet.\u2028It sits\vlooking"
CRLF = "first line of the note\r\nsecond line\r\n\r\nlast"
DECOMPOSED = "the cafe\u0301 in A\u030alesund opens late"
TEXTS = {
    "code": CODE, "table": TABLE, "list": TODO, "poem": POEM, "crlf": CRLF, "nfd": DECOMPOSED,
}  # fmt: skip


def rows_of(store: vestig.Vestig) -> int:
    """How many texts are stored in another form than the normal one."""
    with store._session.ledger.read() as view:
        ((count,),) = view.connection.execute("SELECT COUNT(*) FROM original_texts").fetchall()
    return int(count)


def committed(store: vestig.Vestig, text: str, **fields: Any) -> str:
    outcome = store.commit(text, **fields)
    assert outcome.outcome is Kind.INSERTED_NEW, outcome
    assert outcome.memory_id is not None
    return outcome.memory_id


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_comes_back_byte_for_byte(opener: Opener, tmp_path: Path, text: str) -> None:
    store = opener()
    id = committed(store, f"\n \t{text}  \r\n")
    plain = committed(store, "a text of one plain line")
    assert rows_of(store) == 1

    def read(store: vestig.Vestig) -> None:
        assert store.show(id).memory.content == text
        assert {m.id: m.content for m in store.list()}[id] == text
        hits = {hit.id: hit for hit in store.recall(text, limit=5)}
        assert hits[id].content == text
        assert hits[id].memory.to_dict()["content"] == text
        assert store.show(plain).memory.content == "a text of one plain line"
        assert [f for f in store.admin.doctor().findings if f.level == "damage"] == []

    read(store)
    store.admin.rebuild()
    read(store)
    store.admin.backup(tmp_path / "copy")
    store.close()
    read(opener())
    read(opener(tmp_path / "copy"))


def test_the_hash_is_that_of_the_normal_form(opener: Opener) -> None:
    one, two = opener("one"), opener("two")
    given = one.commit(CODE)
    lines = "def add(a, b):\n    if a:\n\treturn a + b\n    return b"
    plain = two.commit(lines)
    assert given.content_hash == plain.content_hash
    with one._session.ledger.read() as view:
        normal = view.normal_texts("default", [str(given.memory_id)])
    assert normal == {given.memory_id: lines}
    assert (rows_of(one), rows_of(two)) == (1, 0)


def test_another_layout_is_the_same_text(opener: Opener) -> None:
    store = opener()
    id = committed(store, TABLE)
    for again in (" ".join(TABLE.split()), TABLE.replace("\n", "\r\n")):
        outcome = store.commit(again)
        assert (outcome.outcome, outcome.memory_id) == (Kind.EXACT_DUPE, id)
        assert any("other white space" in warning for warning in outcome.warnings)
        assert store.events(id)[-1].payload["variant"] == again
    same = store.commit(f"  {TABLE}\n")
    assert same.outcome is Kind.EXACT_DUPE
    assert same.warnings == ()
    assert "variant" not in store.events(id)[-1].payload
    assert store.show(id).memory.content == TABLE
    assert store.show(id).memory.version == 1


def test_white_space_in_quotations_and_code_makes_another_text(opener: Opener) -> None:
    store = opener()
    for place, pair in enumerate(KEPT_SPACE):
        ids = {committed(store, text, scope=f"{place}") for text in pair}
        assert len(ids) == 2
        for text in pair:
            assert store.commit(text, scope=f"{place}").outcome is Kind.EXACT_DUPE


def test_another_layout_inside_of_one_batch(opener: Opener) -> None:
    store = opener()
    first, second = store.commit_many([TABLE, " ".join(TABLE.split())])
    assert isinstance(first, vestig.CommitOutcome)
    assert isinstance(second, vestig.CommitOutcome)
    assert second.outcome is Kind.EXACT_DUPE
    assert second.memory_id == first.memory_id
    assert len(second.warnings) == 1
    assert store.show(str(first.memory_id)).memory.content == TABLE


def test_a_near_duplicate_keeps_its_variant_as_it_was_given(opener: Opener) -> None:
    store = opener()
    id = committed(store, "Note that the north valve is open")
    outcome = store.commit("the north valve\n   is open.", on_near_dup="reinforce")
    if outcome.outcome is Kind.NEAR_DUPE:
        assert store.events(id)[-1].payload["variant"] == "the north valve\n   is open."
    else:
        assert store.show(str(outcome.memory_id)).memory.content == "the north valve\n   is open."


def test_another_layout_by_update_changes_it_in_place(opener: Opener) -> None:
    store = opener()
    id = committed(store, TODO, tags=["home"])
    before = store.show(id).memory
    other = TODO.replace("\n", "\n\n")
    with store._session.ledger.read() as view:
        vector = view.vectors("default", [id])
    result = store.update(id, content=other, tags=["house"])
    assert (result.memory_id, result.changed, result.version) == (id, True, 2)
    assert result.fields == ("content", "tags")
    assert result.outcome is None
    after = store.show(id).memory
    assert (after.content, after.content_hash) == (other, before.content_hash)
    assert after.tags == ("house",)
    event = store.events(id)[-1]
    assert event.event_type == "UPDATE"
    assert event.payload["old"]["content"] == TODO
    assert event.payload["new"]["content"] == other
    with store._session.ledger.read() as view:
        assert view.vectors("default", [id]) == vector, "no new vector"
    normal = TODO.replace("buy  paint", "buy paint").replace("\n- ", " - ")
    line = store.update(id, content=normal)
    assert (line.memory_id, line.version, rows_of(store)) == (id, 3, 0)
    assert store.update(id, content=normal).changed is False
    assert store.update(id, content=TODO).version == 4
    assert store.show(id).memory.content == TODO
    assert store.recall("paint the fence")[0].content == TODO
    assert [f for f in store.admin.doctor().findings if f.level == "damage"] == []
    new = store.update(id, content=TODO + "\n- call Grace")
    assert new.memory_id != id
    assert store.show(new.memory_id).memory.content == TODO + "\n- call Grace"


def test_too_much_white_space_is_refused(opener: Opener) -> None:
    store = opener()
    words = ["word"] * 800
    fits, more = "\n".join(words), (" " * 20).join(words)
    reason = f"Content too long: {len(more)} chars with white space (maximum: 16000)"
    assert store.commit(more).hygiene_reasons == (reason,)
    id = committed(store, fits)
    with pytest.raises(vestig.HygieneError, match="with white space"):
        store.update(id, content=more)
    assert store.show(id).memory.content == fits


def test_control_characters_are_refused(opener: Opener) -> None:
    store = opener()
    outcome = store.commit("a colour \x1b[31m in a terminal")
    assert outcome.hygiene_reasons == ("Content contains the control character U+001B",)
    assert store.count() == 0
    id = committed(store, "tabs\tand\nlines\rand\fpages\vstay")
    assert store.show(id).memory.content == "tabs\tand\nlines\rand\fpages\vstay"


def test_no_form_of_a_forgotten_text_is_left(opener: Opener, tmp_path: Path) -> None:
    store = opener()
    id = committed(store, TABLE)
    store.commit(TABLE.replace("\n", "\n\n\n"))
    store.update(id, content=TABLE.replace(" | ", "\t|\t"))
    report = store.forget([id])
    assert report.residues == 0
    assert report.rows_removed["original_texts"] == 1
    store.close()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            for word in (b"-------|------", b"north\t|\t yes", b"|\\n\\n\\n|--"):
                assert word not in raw, path


def test_white_space_that_is_not_collapsed_is_the_normal_form(opener: Opener) -> None:
    store = opener(config={"hygiene": {"normalize_whitespace": False}})
    id = committed(store, CODE)
    assert store.show(id).memory.content == CODE
    assert rows_of(store) == 0
    other = store.commit(CODE.replace("\t", " "))
    assert other.outcome is not Kind.EXACT_DUPE


def test_a_transcript_keeps_its_lines_and_loses_control_characters(
    opener: Opener, tmp_path: Path
) -> None:
    store = opener()
    file = tmp_path / "chat.jsonl"
    turns = [CODE, "\x1b[1mbold\x1b[0m\nand plain", "ok"]
    lines = [json.dumps({"speaker": "Ada", "text": text, "turn": n, "session": "s"})
             for n, text in enumerate(turns)]  # fmt: skip
    file.write_text("\n".join(lines), "utf-8")
    report = store.import_(file)
    assert report.imported == 3
    assert "2 control characters were left out" in report.warnings
    texts = {m.sequence: m.content for m in store.list()}
    assert texts == {0: CODE, 1: "[1mbold[0m\nand plain", 2: "ok"}


def test_exports_and_imports_carry_every_text(opener: Opener, tmp_path: Path) -> None:
    store = opener()
    ids = {name: committed(store, text) for name, text in TEXTS.items()}
    plain = committed(store, "a text of one plain line")
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    store.export(first)
    other = opener("other")
    other.import_(first)
    assert {name: other.show(id).memory.content for name, id in ids.items()} == TEXTS
    assert other.show(plain).memory.content == "a text of one plain line"
    assert rows_of(other) == len(TEXTS)
    other.export(second)
    assert second.read_bytes() == first.read_bytes()
    assert [f for f in other.admin.doctor().findings if f.level == "damage"] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("if ready:\n    open_gate()\n    ring()", "if ready:\n    open_gate()\nring()"),
        ("jobs:\n  build: true", "jobs:\n    build: true"),
        ("- paint\n  - primer", "- paint\n- primer"),
        ("def f():\n\treturn 1", "def f():\n    return 1"),
        ("if ready:\n    open_gate()", "if ready: open_gate()"),
    ],
)
def test_another_indentation_is_another_text(opener: Opener, one: str, other: str) -> None:
    store = opener()
    outcomes = [store.commit(text, source="import") for text in (one, other)]
    assert [outcome.outcome for outcome in outcomes] == [Kind.INSERTED_NEW] * 2
    assert store.commit(one.replace("\n", " \r\n\n")).outcome is Kind.EXACT_DUPE
    assert {memory.content for memory in store.list()} == {one, other}


# --- blocks of a message -----------------------------------------------------------------------


def test_the_text_blocks_of_a_message_are_its_text(opener: Opener) -> None:
    store = opener()
    said: Any = [
        {"type": "text", "text": "I like plums."},
        {"type": "image", "source": {}},
        {"type": "input_text", "text": "And pears."},
    ]
    (outcome,) = store.commit_many([{"role": "user", "content": said}])
    assert isinstance(outcome, CommitOutcome)
    assert outcome.warnings == ("1 of 3 blocks of the content hold no text and were not read",)
    assert store.get(str(outcome.memory_id)).content == "I like plums.\n\nAnd pears."
    assert store.commit(said[0]["text"], role="user").warnings == ()


@pytest.mark.parametrize("content", [["a", "b"], [], [{"type": "image"}], [{"text": 3}]])
def test_a_content_without_text_is_refused(opener: Opener, content: Any) -> None:
    (error,) = opener().commit_many([{"role": "user", "content": content}])
    assert "the blocks of a message" in error.message  # type: ignore[union-attr]


def test_tags_of_an_update_replace_those_before(opener: Opener) -> None:
    store = opener()
    id = str(store.commit("The harbour has a crane", tags=["a", "b"]).memory_id)
    assert store.update(id, tags=["a", "b", "c"]).replaced == ()
    assert store.update(id, tags=["d"]).replaced == ("tags: a, b, c → d",)
    assert store.update(id, clear=["tags"]).replaced == ("tags: d → none",)
