"""An export made before a forgetting does not bring back what was forgotten."""

from __future__ import annotations

import io
from typing import Any

import pytest

import vestig
from vestig.errors import NotFoundError
from vestig.testing import HashingEmbedder


@pytest.fixture
def store() -> Any:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as store:
        yield store


def _exported(store: Any) -> io.BytesIO:
    out = io.BytesIO()
    store.export(out)
    return io.BytesIO(out.getvalue())


def _filled(store: Any) -> tuple[str, str, str]:
    old = store.commit("Ada keeps the spare key under the third pot").memory_id
    new = store.commit("Ada moved the spare key into the shed", supersedes=[old]).memory_id
    other = store.commit("The shed in the garden was painted green in May").memory_id
    store.commit("Ada keeps the spare key under the third pot again, says Ada")
    return old, new, other


def test_merging_an_older_export_leaves_forgotten_memories_out(store: Any) -> None:
    _old, new, _other = _filled(store)
    before = _exported(store)
    store.forget([new])
    count = store.count(where={"include_expired": True})
    report = store.import_(before, merge=True)
    assert store.count(where={"include_expired": True}) == count
    assert any("1 memory that was forgotten here" in line for line in report.warnings)
    assert report.lines == report.imported + report.skipped + report.duplicates
    with pytest.raises(NotFoundError, match="forgotten"):
        store.show(new)
    assert new not in [hit.id for hit in store.recall("spare key shed", limit=10).results]
    assert {finding.level for finding in store.admin.doctor().findings} <= {"ok", "notice"}


def test_an_emptied_namespace_takes_an_export_in_without_the_forgotten(store: Any) -> None:
    old, new, _other = _filled(store)
    before = _exported(store)
    everything = [
        memory.id for memory in store.list(limit=100, where={"include_expired": True}).memories
    ]
    store.forget([new])
    store.forget([id for id in everything if id != new])
    report = store.import_(before)
    assert (store.count(where={"include_expired": True}), report.memories) == (0, 0)
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as elsewhere:
        elsewhere.import_(_again(before))
        assert elsewhere.count(where={"include_expired": True}) == len(everything)
        elsewhere.forget([new])
        elsewhere.import_(_again(before), merge=True)
        assert elsewhere.show(old).memory.superseded_by is None


def _again(file: io.BytesIO) -> io.BytesIO:
    return io.BytesIO(file.getvalue())
