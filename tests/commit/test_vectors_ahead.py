"""The texts of the next part of a batch are embedded while one part is written: what is stored,
acknowledged and raised is the same."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig.errors import ConflictError, ProviderError
from vestig.testing import HashingEmbedder
from vestig.types import CommitOutcome, CommitOutcomeKind, ItemError

TEXTS = [f"The lamp of pier {n} was lit by keeper {n * 7}" for n in range(6)]
WAIT_S = 10.0
THREAD = "vestig-embed-ahead"


class Watched(HashingEmbedder):
    """Calls `before` with the texts that are asked for."""

    def __init__(self, before: Callable[[Sequence[str]], None]) -> None:
        super().__init__(64)
        self.before = before

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.before(texts)
        return super().embed(texts)


@pytest.fixture(autouse=True)
def parts_of_two(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two items are a part; no test leaves a thread."""
    monkeypatch.setattr("vestig.commit.pipeline.GROUP_ITEMS", 2)
    monkeypatch.setattr("vestig.exchange.importer._GROUP_COMMITS", 2)
    yield
    assert THREAD not in [thread.name for thread in threading.enumerate()]


def lines(texts: Sequence[str]) -> io.BytesIO:
    records = [{"speaker": "Ada", "text": text, "id": f"m{n}"} for n, text in enumerate(texts)]
    return io.BytesIO("\n".join(map(json.dumps, records)).encode())


def many(store: vestig.Vestig) -> None:
    store.commit_many(TEXTS)


def imported(store: vestig.Vestig) -> None:
    store.import_(lines(TEXTS), format="messages")


@pytest.mark.parametrize("write", [many, imported])
def test_the_next_part_is_embedded_before_this_one_is_finished(
    opener: Opener, write: Callable[[vestig.Vestig], None]
) -> None:
    """The hook of the first part ends only when the second part's texts are asked for."""
    asked = threading.Event()

    def before(texts: Sequence[str]) -> None:
        if any("pier 2" in text for text in texts):
            asked.set()

    def hook(outcome: CommitOutcome) -> None:
        assert asked.wait(WAIT_S), "nothing is embedded while a part is written"

    store = opener(embedder=Watched(before), on_commit=hook)
    write(store)
    assert store.count() == len(TEXTS)
    assert "vestig_hook_failures_total" not in " ".join(store.admin.metrics())


def test_parts_store_what_single_commits_store(opener: Opener) -> None:
    """Repeats, names and successors across the parts."""
    items: list[dict[str, Any]] = [
        {"content": "Grace Hopper keeps the lamp of pier 4 in Oslo"},
        {"content": TEXTS[0], "author": "Ada"},
        {"content": TEXTS[0], "author": "Ada"},
        {"content": "Then Grace Hopper sold the lamp to Ada Lovelace"},
        {"content": "", "author": "Ada"},
        {"content": TEXTS[1], "session_id": "s", "sequence": 1},
        {"content": TEXTS[1], "session_id": "s", "sequence": 2},
        {
            "content": TEXTS[2],
            "claim": {"subject": "Ada Lovelace", "fact_type": "owns", "object": "a lamp"},
        },
        {"content": TEXTS[0], "tags": ["again"], "author": "Ada"},
    ]
    one, other = opener("parts"), opener("single")
    results = one.commit_many(items)
    singles = [other.commit(**item) for item in items]
    assert all(isinstance(result, CommitOutcome) for result in results)
    assert [r.outcome for r in results if isinstance(r, CommitOutcome)] == [
        single.outcome for single in singles
    ]
    for store in (one, other):
        assert store.admin.doctor().exit_code == 0
    facts = [
        (
            sorted((m.content, m.reinforce_count, tuple(m.tags)) for m in store.list().memories),
            store.admin.stats().edges,
            sorted(entity.entity.canonical_name for entity in store.graph.entities().entities),
        )
        for store in (one, other)
    ]
    assert facts[0] == facts[1]


def test_an_embedder_that_fails_ahead_costs_its_own_part_only(opener: Opener) -> None:
    def before(texts: Sequence[str]) -> None:
        if any("pier 2" in text for text in texts):
            raise ProviderError("the model is away")

    store = opener(embedder=Watched(before))
    ends = [
        result.code if isinstance(result, ItemError) else result.outcome
        for result in store.commit_many(TEXTS)
    ]
    new = CommitOutcomeKind.INSERTED_NEW
    assert ends == [new, new, "provider", "provider", new, new]
    assert store.count() == 4


def test_an_import_whose_embedder_fails_keeps_the_parts_before(opener: Opener) -> None:
    def before(texts: Sequence[str]) -> None:
        if any("pier 4" in text for text in texts):
            raise ProviderError("the model is away")

    embedder = Watched(before)
    store = opener(embedder=embedder)
    with pytest.raises(ProviderError):
        imported(store)
    assert store.count() == 4
    embedder.before = lambda texts: None
    report = store.import_(lines(TEXTS), format="messages")
    assert (report.imported, report.skipped) == (2, 4)


@pytest.mark.parametrize("write", [many, imported])
def test_what_was_reported_before_an_interrupt_is_there(
    opener: Opener, write: Callable[[vestig.Vestig], None]
) -> None:
    """The thread ends with the call, though the embedder is asked just then."""
    asked, interrupted = threading.Event(), threading.Event()
    reported: list[str] = []

    def before(texts: Sequence[str]) -> None:
        if any("pier 2" in text for text in texts):
            asked.set()
            interrupted.wait(WAIT_S)

    def hook(outcome: CommitOutcome) -> None:
        assert outcome.memory_id is not None
        reported.append(outcome.memory_id)
        if len(reported) == 2:
            assert asked.wait(WAIT_S)
            interrupted.set()
            raise KeyboardInterrupt

    store = opener(embedder=Watched(before), on_commit=hook)
    with pytest.raises(KeyboardInterrupt):
        write(store)
    assert THREAD not in [thread.name for thread in threading.enumerate()]
    assert sorted(memory.id for memory in store.list().memories) == sorted(reported)
    assert len(reported) == 2


def test_items_that_come_one_by_one_are_not_waited_for(opener: Opener) -> None:
    """Of an iterable that is no sequence, nothing is read before what was read is stored."""
    store = opener()
    stored: list[int] = []

    def arriving() -> Iterator[str]:
        for text in TEXTS:
            stored.append(store.count())
            yield text

    store.commit_many(arriving())
    assert stored == [0, 0, 2, 2, 4, 4]


def test_an_unreadable_end_of_a_file_leaves_what_came_before(opener: Opener) -> None:
    store = opener()

    class Cut(io.BytesIO):
        def read(self, *_size: Any) -> bytes:
            line = super().readline()
            if b"pier 5" in line:
                raise OSError("the disk is gone")
            return line

    report = store.import_(Cut(lines(TEXTS).getvalue()), format="messages")
    assert (report.imported, report.failed, store.count()) == (5, 1, 5)
    assert "OSError" in report.errors[0].message


def test_one_id_in_two_parts_of_a_file_is_taken_once(opener: Opener) -> None:
    records = [{"speaker": "Ada", "text": text, "id": f"m{n % 4}"} for n, text in enumerate(TEXTS)]
    store = opener()
    report = store.import_(
        io.BytesIO("\n".join(map(json.dumps, records)).encode()), format="messages"
    )
    assert (report.imported, report.skipped, store.count()) == (4, 2, 4)


def test_an_import_that_was_done_embeds_nothing_again(opener: Opener) -> None:
    asked: list[str] = []
    store = opener(embedder=Watched(asked.extend))
    imported(store)
    asked.clear()
    assert store.import_(lines(TEXTS), format="messages").skipped == len(TEXTS)
    assert asked == []


def test_a_text_of_the_part_before_is_not_embedded_again(opener: Opener) -> None:
    asked: list[str] = []
    store = opener(embedder=Watched(asked.extend))
    store.commit_many([TEXTS[0], TEXTS[1], TEXTS[0], TEXTS[2], TEXTS[1], TEXTS[2]])
    assert sorted(text for text in asked if text in TEXTS) == TEXTS[:3]


def test_a_dry_run_embeds_nothing_ahead(opener: Opener) -> None:
    names: list[str] = []
    store = opener(embedder=Watched(lambda _: names.append(threading.current_thread().name)))
    store.commit_many([{"content": text, "dry_run": True} for text in TEXTS])
    assert THREAD not in names


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_meanwhile_leaves_no_thread_in_the_child(opener: Opener) -> None:
    """A child that is made by a hook has no such thread, and the store refuses it."""
    codes: list[int] = []

    def hook(_: CommitOutcome) -> None:
        if codes:
            return
        child = os.fork()
        if child == 0:
            try:
                assert THREAD not in [thread.name for thread in threading.enumerate()]
                with pytest.raises(ConflictError, match="forked while one was at work"):
                    store.count()
                os._exit(0)
            finally:
                os._exit(1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    store = opener(on_commit=hook)
    store.commit_many(TEXTS)
    assert codes == [0]
    assert store.count() == len(TEXTS)
