"""Files that are cut: what stands before the cut comes in, and the cut is told with its place."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "formats"))

from chats import store_of, texts
from tables import each
from vestig.errors import ValidationError

TAR, KEY, CUT = "The tar is in the cellar", "The key hangs behind the door", "The rope is gr"
OBJECTS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "mem0": (
        {"results": [{"id": f"{n}", "memory": one} for n, one in enumerate((TAR, KEY, CUT))]},
        {TAR, KEY},
    ),
    "openai-chat": (
        {"id": "c", "messages": [{"role": "user", "content": one} for one in (TAR, KEY, CUT)]},
        {TAR, KEY},
    ),
    "mcp-memory": (
        {"entities": [{"name": "Shed", "entityType": "place", "observations": [TAR, KEY]},
                      {"name": "Boat", "entityType": "thing", "observations": [CUT]}]},
        {f"Shed: {TAR}", f"Shed: {KEY}"},
    ),
}  # fmt: skip


@each("format", OBJECTS)
@each("indent", [None, 1])
def test_of_an_object_with_a_list_what_stands_before_the_cut_comes_in(
    format: str, indent: int | None
) -> None:
    value, wanted = OBJECTS[format]
    text = json.dumps(value, indent=indent)
    cut = text[: text.index(CUT) + 5]
    store, report = store_of(io.BytesIO(cut.encode()))
    assert (report.format, report.failed, texts(store)) == (format, 1, wanted)
    (error,) = report.errors
    assert f"line {cut.count(chr(10)) + 1} of the file: expected the rest" in error.message
    assert f"of its list the {'1 element' if format == 'mcp-memory' else '2 elements'} before" in (
        error.message
    )
    # the whole file brings the rest
    store.import_(io.BytesIO(text.encode()))
    assert len(texts(store)) == 3
    assert store.count() == 3


@pytest.mark.parametrize(
    "text", ['{"results": [{"id": "1", "mem', '{"memory": "The tar', '{"a": {"b": 1, "c": "']
)
def test_without_a_whole_element_it_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="no format knows"):
        store_of(io.BytesIO(text.encode()))
