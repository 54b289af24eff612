"""An unknown name is an error that names the nearest valid one, in every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import vestig
from vestig.hints import check_names, did_you_mean, nearest
from vestig.testing import HashingEmbedder

Call = Callable[[vestig.Vestig, dict[str, Any]], object]
MEMORY = "mem_00000000-0000-0000-0000-000000000000"
CALLS: list[tuple[str, str, str, Call]] = [
    ("field of commit", "auhtor", "author", lambda store, wrong: store.commit("A text", **wrong)),
    ("field of recall", "profil", "profile", lambda store, wrong: store.recall("a", **wrong)),
    ("field of search", "min_simlarity", "min_similarity", lambda s, wrong: s.search("a", **wrong)),
    ("field of search", "include_memory_id", "include_memory_ids", lambda s, w: s.search("a", **w)),
    ("field of update", "tag", "tags", lambda store, wrong: store.update(MEMORY, **wrong)),
    ("filter of forget", "tag", "tags", lambda store, wrong: store.forget(**wrong)),
]


@pytest.mark.parametrize(("what", "wrong", "right", "call"), CALLS, ids=lambda one: str(one)[:20])
def test_an_unknown_name(what: str, wrong: str, right: str, call: Call) -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        message = rf"{wrong}: expected a {what}, got 'int'; did you mean {right}\?$"
        with pytest.raises(vestig.ValidationError, match=message):
            call(store, {wrong: 1})


def test_names_that_are_not_alike() -> None:
    assert nearest("zzz", []) == nearest("zzz", ["limit"], 0.5) == ""
    assert nearest("zzz", ["limit"]) == "limit"
    assert did_you_mean("zzz", ["limit"], otherwise="or else") == "or else"
    with pytest.raises(vestig.ValidationError, match=r"zzz: expected a field of it, got 'int'$"):
        check_names({"limit": 1, "zzz": 2}, ["limit"], "a field of it")
