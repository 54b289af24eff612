"""Ids as text and as bytes, and new ones."""

from __future__ import annotations

import random
import uuid

import pytest

from tables import each
from vestig.ids import NewIds, id_bytes, id_text, is_full_id, new_id, repeatable_ids


def test_the_text_of_an_id_is_a_prefix_and_a_uuid() -> None:
    dice = random.Random(1)
    for _ in range(200):
        raw = dice.randbytes(16)
        text = id_text("mem", raw)
        assert text == f"mem_{uuid.UUID(bytes=raw)}"
        assert id_bytes(text) == id_bytes(text.removeprefix("mem_")) == raw
        assert id_bytes(id_text("source", raw)) == raw


def test_new_ids_are_of_version_4_and_its_variant() -> None:
    ids = NewIds()
    for id in [new_id("ent"), *(ids.take("ent") for _ in range(200))]:
        made = uuid.UUID(id.removeprefix("ent_"))
        assert is_full_id(id, "ent")
        assert (made.version, made.variant) == (4, uuid.RFC_4122)


def test_repeatable_ids_are_the_same_one_by_one_and_together() -> None:
    with repeatable_ids("a"):
        one_by_one = [new_id("mem") for _ in range(3)]
    with repeatable_ids("a"):
        ids = NewIds()
        assert [ids.take("mem") for _ in range(3)] == one_by_one
    # measured stores draw by their ids: these are those of every version
    assert one_by_one[0] == "mem_4abaa345-d4d0-4381-bef9-3c11ddf3d59b"


@each(
    "text",
    [
        *("", "mem_", "mem_0123abcd", "Ada", "mem_" + "g" * 36, "mem_" + "0" * 36),
        *("mem_" + "0" * 31 + "é" * 5, "-" * 36, "é" * 18, "\U0001f600" * 9),
    ],
)
def test_what_is_no_full_id_has_no_bytes(text: str) -> None:
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        id_bytes(text)


@pytest.mark.parametrize("raw", [b"", bytes(15), bytes(17)])
def test_other_bytes_have_no_text(raw: bytes) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        id_text("mem", raw)
