"""A store with Claude, from the command line and from Python, against a server on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

import vestig
from installed_extra import line_for
from loopback_messages import FAULTS, LoopbackMessages
from vestig.store.records.jobs import JobRules
from vestig.testing import FrozenClock, HashingEmbedder

KEY: Final = "sk-secret-of-the-test"
TEXTS: Final = (
    "Ada Lovelace keeps the keys of the Atlas cluster.",
    "The Atlas cluster runs out of memory when the index is rebuilt.",
    "Ravi moved the harbour sensors to Bergen.",
)
NAMES: Final = ("Ada Lovelace", "Atlas cluster", "Ravi", "Bergen")
# what lets another try succeed, and takes no time
PASSING: Final = tuple(
    fault
    for fault in FAULTS
    if fault
    not in ("silence", "drip", "drip_headers", "redirect", "refusal", "status_400", "status_401",
            "status_403", "status_404", "status_413")
)  # fmt: skip


def answer(body: dict[str, Any]) -> dict[str, Any]:
    """What a model that reads well says of a text, whatever it is asked."""
    text = body["messages"][0]["content"]
    entities = [
        {"name": name, "type": "SYSTEM", "confidence": 0.9, "evidence": name, "description": ""}
        for name in NAMES
        if name in text
    ]
    return {"entities": entities, "stability": "dynamic", "queries": ["What about it?"]}


def enriched(folder: Path, failures: tuple[str, ...]) -> Any:
    """What a store holds after its memories were enriched, and the requests that it took."""
    at_once = partial(JobRules, backoff_base_s=0)
    with (
        LoopbackMessages(answer, failures=failures) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("vestig.store.ledger.opening.JobRules", at_once)
        config = {
            "llm.provider": "anthropic",
            "llm.base_url": server.base_url,
            "enrichment.workers": 1,
        }
        with vestig.open(
            folder, embedder=HashingEmbedder(32), clock=FrozenClock(), config=config
        ) as store:
            for text in TEXTS:
                store.commit(text, trigger="problem-solution")
            for _ in range(len(failures) + 2):
                report = store.admin.enrich()
            assert (report.pending, report.failed) == (0, 0)
            entities = [one.entity for one in store.graph.entities(include_expired=True)]
            ends = {one.id: one.norm_key for one in entities}
            ends |= {memory.id: memory.content for memory in store.list()}
            edges = sorted(
                (ends.get(one.edge.from_id, "source"), one.edge.edge_type, ends[one.edge.to_id])
                for one in store.graph.edges(limit=1_000)
            )
            keys = sorted((one.norm_key, one.expired_at is None) for one in entities)
            memories = sorted((m.content, str(m.temporal_stability)) for m in store.list())
            return keys, edges, memories, len(server.requests)


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.mark.slow
@pytest.mark.usefixtures("key")
def test_faults_leave_the_store_that_there_is_without_them(tmp_path: Path) -> None:
    *expected, sent = enriched(tmp_path / "good", ())
    assert ("SYSTEM:atlas cluster", True) in expected[0]
    *found, more = enriched(tmp_path / "bad", PASSING)
    assert found == expected
    assert more > sent + len(PASSING) // 2


def command(folder: Path, *words: str, code: str = "", **environ: str) -> Any:
    """Runs a command in a process of its own."""
    program = (
        f"import sys\n{code}\nfrom vestig.surfaces.cli import run\nsys.exit(run(sys.argv[1:]))"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env={
            **env,
            "HOME": str(folder),
            "VESTIG_STORE": str(folder / "store"),
            "VESTIG_EMBEDDING__PROVIDER": "hashing",
            "VESTIG_LLM__PROVIDER": "anthropic",
            **environ,
        },
    )


@pytest.mark.slow
def test_a_command_enriches_and_says_what_it_cost_and_no_secret(tmp_path: Path) -> None:
    added = command(tmp_path, "add", TEXTS[0])
    assert added.returncode == 0, added.stderr
    prices = "{claude-haiku-5-5: {input: 1, output: 5}, claude-sonnet-5-5: {input: 3, output: 15}}"
    with LoopbackMessages(answer) as server:
        environ = {
            "ANTHROPIC_API_KEY": KEY,
            "VESTIG_LLM__BASE_URL": server.base_url,
            "VESTIG_LLM__PRICES": prices,
        }
        done = command(tmp_path, "housekeeping", "enrich", "--json", **environ)
        shown = [
            command(tmp_path, *words, **environ)
            for words in (
                ("config", "show", "--all"),
                ("config", "show", "--json"),
                ("config", "explain", "llm"),
                ("doctor",),
                ("entity", "list"),
            )
        ]
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["pending"] == 0
    assert sum(cost["calls"] for cost in report["costs"]) == len(server.requests)
    assert all(cost["money"] > 0 for cost in report["costs"])
    for run in (added, done, *shown):
        assert KEY not in run.stdout + run.stderr
    [variable] = [
        entry
        for entry in json.loads(shown[1].stdout)["config"]
        if entry["key"] == "llm.api_key_env"
    ]
    assert variable["secret"] == "set"
    assert "language_model" in shown[3].stdout
    assert "Atlas cluster" in shown[4].stdout


def test_without_the_package_a_command_says_how_to_install_it(tmp_path: Path) -> None:
    blocked = "sys.modules['anthropic'] = None"
    assert command(tmp_path, "add", TEXTS[0], code=blocked).returncode == 0
    done = command(tmp_path, "housekeeping", "enrich", code=blocked, ANTHROPIC_API_KEY=KEY)
    assert line_for("claude") in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert KEY not in done.stdout + done.stderr
    assert command(tmp_path, "recall", "Who has the keys?", code=blocked).returncode == 0


@pytest.mark.slow
def test_commands_that_need_no_model_load_no_package_of_one(tmp_path: Path) -> None:
    watched = (
        "import atexit\n"
        "atexit.register(lambda: sys.stderr.write("
        "str(sorted(n for n in sys.modules if n.partition('.')[0] in ('anthropic', 'httpx2')))))"
    )
    for words in (("add", TEXTS[0]), ("recall", "keys"), ("list",), ("stats",), ("doctor",)):
        run = command(tmp_path, *words, code=watched, ANTHROPIC_API_KEY=KEY)
        assert run.stderr.endswith("[]"), words
