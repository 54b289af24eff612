"""JSON of others is read strictly, wherever it comes in: a name that stands twice is refused."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vestig
from tables import each
from vestig.errors import ValidationError
from vestig.json_text import RepeatedNameError, read_json
from vestig.testing import HashingEmbedder

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_it_reads_what_every_reader_reads(value: object) -> None:
    assert read_json(json.dumps(value)) == value
    assert read_json(json.dumps(value, ensure_ascii=False, indent=1).encode()) == value


@each(
    "text",
    [
        '{"a": 1, "a": 1}',
        '{"a": 1, "b": 2, "a": null}',
        '[[{"x": {"deep": [], "deep": []}}]]',
        '{"\\u0069ds": 1, "ids": 2}',
        '{"": 0, "": 0}',
        '{"a": {"b": 1}, "a": {"c": 2}}',
    ],
)
def test_a_name_that_stands_twice_is_refused(text: str) -> None:
    for given_as in (text, text.encode()):
        with pytest.raises(RepeatedNameError, match="stands twice in one object"):
            read_json(given_as)


@pytest.mark.parametrize(
    "text", ['[{"a": 1}, {"a": 2}]', '{"a": {"a": {"a": 1}}}', '{"a": 1, "A": 1, "a ": 1}']
)
def test_one_name_in_several_objects_is_none(text: str) -> None:
    assert read_json(text) == json.loads(text)


def test_a_long_name_is_cut_and_long_numbers_cost_nothing() -> None:
    name = "n" * 10_000
    with pytest.raises(RepeatedNameError) as caught:
        read_json(f'{{"{name}": 1, "{name}": 2}}')
    assert len(str(caught.value)) < 200
    with pytest.raises(msgspec.DecodeError):
        read_json("9" * 100_000)


@pytest.mark.parametrize("line_by_line", [True, False])
def test_an_import_takes_no_record_with_a_name_twice(tmp_path: Path, line_by_line: bool) -> None:
    good = '{"content": "The pier in Oslo is 17 metres long."}'
    bad = '{"content": "The gate is closed at night.", "content": "The gate is open at night."}'
    file = tmp_path / "memories.jsonl"
    file.write_text(f"{good}\n{bad}\n" if line_by_line else f"[{good},\n{bad}]")
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        report = store.import_(file)
        assert report.failed == 1
        assert report.errors[0].message.startswith("line 2: ")
        assert "the name 'content' stands twice" in report.errors[0].message
        assert [one.content for one in store.list()] == ["The pier in Oslo is 17 metres long."]


def test_an_export_with_a_name_twice_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        store.commit("The pier in Oslo is 17 metres long.", author="Ann")
        store.export(file)
    lines = file.read_text().splitlines()
    [place] = [n for n, line in enumerate(lines) if line.startswith('{"record":"memory"')]
    lines[place] = lines[place][:-1] + ',"author":"Mallory"}'
    file.write_text("\n".join(lines) + "\n")
    with (
        vestig.open(":memory:", embedder=HashingEmbedder()) as store,
        pytest.raises(ValidationError, match=rf"{place + 1}.*'author' stands twice"),
    ):
        store.import_(file)
