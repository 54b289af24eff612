"""The background thread of `open(worker=True)`."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import vestig
from store_fixtures import Opener
from vestig.errors import ModelCallError
from vestig.ports import ModelRequest
from vestig.session.session import system_clock
from vestig.store.records.jobs import JobRules
from vestig.testing import HashingEmbedder, ScriptedModel

TEXT = "The ferry leaves the harbour at noon."
ANSWERS = {
    "extract_entities": {"entities": []},
    "classify_stability": {"stability": "static"},
    "generate_hypothetical_queries": {"queries": ["When does it leave?"]},
}
SECONDS_MAX = 60


def waited(reached: Callable[[], Any], seconds: float = SECONDS_MAX) -> bool:
    """Whether something comes true in time."""
    ends = time.monotonic() + seconds
    tick = threading.Event()
    while time.monotonic() < ends:
        if reached():
            return True
        tick.wait(0.02)
    return False


def is_ready(store: vestig.Vestig, id: str | None, namespace: str | None = None) -> bool:
    return store.show(str(id), namespace=namespace).memory.processing == "ready"


def test_jobs_of_commits_and_updates_are_done_by_themselves(opener: Opener) -> None:
    model = ScriptedModel(ANSWERS)
    store = opener(llm=model, worker=True)
    first = store.commit(TEXT)
    assert first.jobs
    assert waited(lambda: is_ready(store, first.memory_id))
    assert store.show(first.memory_id).memory.temporal_stability == "static"
    store.update(first.memory_id, trigger="problem-solution")
    assert waited(lambda: store.admin.stats().jobs == {"DONE": 3})
    other = store.commit(TEXT, namespace="other")
    assert waited(lambda: is_ready(store, other.memory_id, "other"))


def test_jobs_of_an_earlier_process_are_done(opener: Opener) -> None:
    left = opener(llm=ScriptedModel(ANSWERS))
    id = left.commit(TEXT).memory_id
    left.close()
    store = opener(llm=ScriptedModel(ANSWERS), worker=True)
    assert waited(lambda: is_ready(store, id))


def test_closing_waits_for_no_model_and_gives_jobs_back(opener: Opener) -> None:
    begun, let_go = threading.Event(), threading.Event()

    def slow(_: ModelRequest) -> Any:
        begun.set()
        let_go.wait(SECONDS_MAX)
        return {"entities": [], "stability": "dynamic"}

    store = opener(llm=ScriptedModel(slow), worker=True)
    id = store.commit(TEXT).memory_id
    assert begun.wait(SECONDS_MAX)
    # others write while the model is asked
    store.commit("A parrot lives in the lighthouse.", enrich=False)
    began = time.monotonic()
    store.close()
    assert time.monotonic() - began < 20
    let_go.set()
    again = opener(llm=ScriptedModel(ANSWERS))
    report = again.admin.enrich()
    assert (report.done, report.pending) == (2, 0)
    assert again.show(id).memory.temporal_stability == "static"


def test_a_model_that_cannot_be_asked_is_left_alone_for_a_while(opener: Opener) -> None:
    model = ScriptedModel(ANSWERS, failures=[ModelCallError("no key", status=401)] * 100)
    config = {"enrichment.workers": 1, "updates.enabled": False}
    store = opener(llm=model, worker=True, config=config)
    store.commit(TEXT)
    assert waited(lambda: len(model.requests) == 1)
    for number in range(3):
        store.commit(f"The ferry number {number} leaves the harbour.")
    assert not waited(lambda: len(model.requests) > 1, 0.5)
    failed = 'vestig_degradations_total{code="llm_failed"}'
    assert waited(lambda: store.admin.metrics().get(failed) == 1)
    assert store.admin.stats().jobs == {"PENDING": 8}


class Late(HashingEmbedder):
    """Gives no vectors of a text until it is told to."""

    ready = False

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if not self.ready and any("parrot" in text for text in texts):
            raise ConnectionError("not yet")
        return super().embed(texts)


@pytest.mark.slow
def test_vectors_are_made_while_the_model_is_left_alone(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel(ANSWERS, failures=[ModelCallError("no key", status=401)] * 100)
    embedder = Late(64)
    slow = partial(JobRules, backoff_base_s=1_000)
    monkeypatch.setattr("vestig.store.ledger.opening.JobRules", slow)
    monkeypatch.setattr("vestig.enrichment.jobs.JobRules", slow)
    config = {"embedding.on_failure": "defer"}
    store = opener(llm=model, worker=True, embedder=embedder, config=config, clock=system_clock)
    store.commit(TEXT)
    assert waited(lambda: model.requests)
    # another process leaves it, so that nothing but time makes it due
    other = opener(embedder=embedder, config=config, clock=system_clock)
    id = other.commit("A parrot lives in the lighthouse.").memory_id
    embedder.ready = True
    assert waited(lambda: store.show(id).embedding_dimensions == 64)
    assert len(model.requests) <= 2


def test_a_worker_keeps_no_process_alive(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys, threading
        import vestig
        from vestig.testing import HashingEmbedder, ScriptedModel

        begun = threading.Event()

        def never(request):
            begun.set()
            threading.Event().wait()

        store = vestig.open(sys.argv[1], embedder=HashingEmbedder(), llm=ScriptedModel(never),
                            worker=True)
        store.commit("The ferry leaves the harbour at noon.")
        begun.wait(60)
        print("ends")
        """
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "store")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ends\n", "")


def test_a_store_that_is_dropped_leaves_no_worker(tmp_path: Path) -> None:
    store = vestig.open(tmp_path / "store", embedder=HashingEmbedder(), worker=True)
    store.commit(TEXT)
    worker = store._worker
    assert worker is not None
    thread = worker._thread
    assert thread.is_alive()
    del store, worker
    gc.collect()
    assert waited(lambda: not thread.is_alive())
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder()) as again:
        assert again.admin.doctor().exit_code == 0


def test_a_worker_needs_a_store_that_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with vestig.open(path, embedder=HashingEmbedder()) as store:
        store.commit(TEXT)
    with pytest.raises(vestig.StoreLockedError, match="worker"):
        vestig.open(path, embedder=HashingEmbedder(), read_only=True, worker=True)
    with pytest.raises(vestig.ValidationError, match="worker"):
        vestig.open(path, embedder=HashingEmbedder(), worker="yes")  # type: ignore[arg-type]
