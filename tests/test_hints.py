"""An unknown name is an error that names the nearest valid one, in every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import vestig
from vestig.hints import check_names, did_you_mean, nearest
from vestig.testing import HashingEmbedder

Call = Callable[[vestig.Vestig, Any], object]
CALLS: list[tuple[str, str, str, Call]] = [
    ("the filter", "auhtors", "authors", lambda s, wrong: s.recall("a", where=wrong)),
    ("the filter", "min_simlarity", "min_similarity", lambda s, wrong: s.search("a", where=wrong)),
    ("the filter", "tag", "tags", lambda s, wrong: s.list(wrong)),
    ("the filter", "tag", "tags", lambda s, wrong: s.count(wrong)),
    ("the filter", "tag", "tags", lambda s, wrong: s.forget(where=wrong)),
    ("provenance", "agnet", "agent", lambda s, wrong: s.commit("A text", provenance=wrong)),
]


@pytest.mark.parametrize(("what", "wrong", "right", "call"), CALLS, ids=lambda one: str(one)[:20])
def test_an_unknown_name(what: str, wrong: str, right: str, call: Call) -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        message = rf"{wrong}: expected a field of {what}, got 'int'; did you mean {right}\?$"
        with pytest.raises(vestig.ValidationError, match=message):
            call(store, {wrong: 1})


def test_an_unknown_name_in_a_batch_is_an_entry() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        (error,) = store.commit_many([{"content": "A text of some length", "auhtor": "Ada"}])
        assert "did you mean author" in getattr(error, "message", "")


def test_names_that_are_not_alike() -> None:
    assert nearest("zzz", []) == nearest("zzz", ["limit"], 0.5) == ""
    assert nearest("zzz", ["limit"]) == "limit"
    assert did_you_mean("zzz", ["limit"], otherwise="or else") == "or else"
    with pytest.raises(vestig.ValidationError, match=r"zzz: expected a field of it, got 'int'$"):
        check_names({"limit": 1, "zzz": 2}, ["limit"], "a field of it")
