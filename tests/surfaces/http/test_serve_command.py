"""`vestig serve` as a process: how it starts, where it listens, how it ends."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import vestig
from installed_extra import line_for
from serve_process import settings_in, started
from served import serving
from vestig.surfaces.cli import run
from vestig.testing import HashingEmbedder


def test_a_server_says_where_it_listens_and_ends_without_an_error(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        assert server.ask("POST", "commit", {"content": "Deploys run on Fridays"})[0] == 201
        assert server.ask("GET", "count")[1]["count"] == 1
        assert server.running.stdout.readline().decode() == f"Serving {tmp_path / 'store'}\n"
        # a connection that is kept open does not hold it up
        link = http.client.HTTPConnection("127.0.0.1", server.port)
        link.request("GET", "/health")
        link.getresponse().read()
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 10
        assert server.running.stderr.read() == b""
        link.close()


def test_an_acknowledged_commit_survives_the_death_of_the_server(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        ids = []
        for at in range(20):
            status, document = server.ask(
                "POST", "commit", {"content": f"Fact number {at} is true"}
            )
            assert status == 201
            ids.append(document["memory_id"])
        server.running.kill()
        server.running.wait(timeout=20)
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(64)) as store:
        assert [store.show(id).memory.id for id in ids] == ids
        assert store.admin.doctor().exit_code == 0


@pytest.mark.slow
def test_two_servers_of_one_store_see_what_either_writes(tmp_path: Path) -> None:
    with started(tmp_path) as one, started(tmp_path) as two:
        id = one.ask("POST", "commit", {"content": "Deploys run on Fridays at noon"})[1][
            "memory_id"
        ]
        assert two.ask("GET", f"show/{id}")[0] == 200
        other = two.ask("POST", "commit", {"content": "The lift stands still at night"})[1]
        found = one.ask("POST", "recall", {"query": "when does the lift stand still?"})[1]
        assert other["memory_id"] in [hit["id"] for hit in found["results"]]
        assert (one.stop(), two.stop()) == (0, 0)


def test_an_idle_server_holds_up_no_forgetting(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        id = server.ask("POST", "commit", {"content": "The spare key lies under the pot"})[1]
        assert server.ask("POST", "recall", {"query": "where is the key?"})[0] == 200
        with vestig.open(tmp_path / "store", embedder=HashingEmbedder(64)) as store:
            report = store.forget(id["memory_id"])
            assert report.residues == 0
        assert server.ask("GET", f"show/{id['memory_id']}")[0] == 404


def test_an_address_of_others_needs_a_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = str(settings_in(tmp_path))
    assert run(["serve", "--host", "0.0.0.0", "--config", config]) == 2
    assert "serve.token_env" in capsys.readouterr().err
    assert run(["serve", "--port", "70000", "--config", config]) == 2
    assert run(["serve", "--host", "no.such.host.invalid", "--config", config]) == 2


@pytest.mark.parametrize("package", ["fastapi", "uvicorn", "prometheus_client"])
def test_without_its_extra_the_command_names_the_line_that_installs_it(
    tmp_path: Path,
    package: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == package else find(name, *rest),
    )
    assert run(["serve", "--config", str(settings_in(tmp_path))]) == 2
    told = capsys.readouterr().err
    assert f"needs the package {package}, which is not installed" in told
    assert line_for("server") in told


def test_a_request_that_runs_is_finished_before_the_end() -> None:
    inside, go = threading.Event(), threading.Event()
    found: list[int] = []
    with serving(None) as site:

        def slow(**_: object) -> int:
            inside.set()
            return 7 if go.wait(10) else 0

        site.store.count = slow  # type: ignore[method-assign,assignment]
        thread = threading.Thread(target=lambda: found.append(site.get("count").document["count"]))
        thread.start()
        assert inside.wait(10)
        # the server is told to end while the request runs
        threading.Timer(0.5, go.set).start()
    thread.join(timeout=20)
    assert found == [7]


@pytest.mark.slow
def test_a_signal_ends_a_request_that_takes_too_long(tmp_path: Path) -> None:
    """The process ends within 10 seconds of the signal, and a few for the end itself."""
    with started(tmp_path) as server:
        lines = "\n".join(json.dumps({"content": f"Fact {n} of a long import"}) for n in range(50))
        link = http.client.HTTPConnection("127.0.0.1", server.port)
        link.putrequest("POST", "/api/memory/import")
        link.putheader("Content-Type", "application/jsonl")
        link.putheader("Content-Length", str(len(lines) + 1_000))
        link.endheaders(lines.encode())
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 15
        link.close()


def test_the_web_framework_is_loaded_by_the_command_only() -> None:
    code = (
        "import sys; from vestig.surfaces.cli import run; run(['serve', '--help']);"
        " print([m for m in ('fastapi', 'uvicorn', 'starlette', 'asyncio') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.rstrip().endswith("[]")


def test_answers_of_a_server_name_no_words_of_the_command_line(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        assert server.ask("POST", "commit", {"content": "Deploys run on Fridays"})[0] == 201
        with vestig.open(":memory:", embedder=HashingEmbedder(64)) as other:
            other.commit("Deploys run on Mondays")
            other.export(tmp_path / "all.jsonl")
        link = http.client.HTTPConnection("127.0.0.1", server.port)
        headers = {"Content-Type": "application/jsonl"}
        body = (tmp_path / "all.jsonl").read_bytes()
        link.request("POST", "/api/memory/import", body, headers)
        said = json.loads(link.getresponse().read())["detail"]
        link.close()
    assert "add by id with merge=true" in said
    assert "--" not in said
