"""`vestig tenant` and `vestig fleet`, and the other commands on a tenant."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vestig
from postgres_server import PostgresServer
from vestig.store.replication.postgres import Database
from vestig.surfaces.cli import run
from vestig.testing import HashingEmbedder

Command = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def command(
    server: PostgresServer, database: Database, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Runs a command line with --json: exit code, document or problem, and standard error."""
    config = tmp_path / "vestig.yaml"
    config.write_text(
        "embedding: {provider: hashing, dimension: 64}\n"
        f"store: {{path: '{server.address}'}}\nfleet: {{cache_dir: {tmp_path / 'cache'}}}\n"
    )

    def one(*words: str, text: bool = False) -> tuple[int, Any, str]:
        capfd.readouterr()
        code = run([*words, "--config", str(config), *([] if text else ["--json"])])
        out, err = capfd.readouterr()
        if text:
            return code, out, err
        return code, json.loads(out) if out.strip() else json.loads(err), err

    return one


def test_a_tenant_from_its_making_to_its_end(command: Command, tmp_path: Path) -> None:
    assert command("fleet", "init")[0] == 0
    assert command("tenant", "create", "kiosk")[1]["position"] == 0
    code, problem, _ = command("tenant", "create", "kiosk")
    assert (code, problem["type"].endswith(":conflict")) == (1, True)
    added = command("add", "The kiosk opens at nine on Sundays", "--tenant", "kiosk")
    assert added[0] == 0
    found = command("recall", "when does the kiosk open?", "--tenant", "kiosk")[1]
    assert found["results"][0]["id"] == added[1]["memory_id"]
    shown = command("tenant", "show", "kiosk")[1]
    assert shown["position"] >= 1
    assert len(shown["machines"]) == 1
    assert "kiosk" in [one["tenant"] for one in command("tenant", "list")[1]["tenants"]]
    assert command("tenant", "snapshot", "kiosk")[1]["change_bytes"] == 0
    code, _, err = command("tenant", "down", "kiosk", str(tmp_path / "plain"), text=True)
    assert (code, (tmp_path / "plain").exists()) == (2, False)
    assert f"copied to {tmp_path / 'plain'}, as a store of its own: what is forgotten" in err
    assert "--yes confirms it" in err
    code, out, _ = command("tenant", "down", "kiosk", str(tmp_path / "plain"), "--yes", text=True)
    assert code == 0
    assert f"copied to {tmp_path / 'plain'}" in out
    code, checked, _ = command("doctor", "--store", str(tmp_path / "plain"))
    assert (code, {one["level"] for one in checked["findings"]}) == (0, {"ok"})
    with vestig.open(tmp_path / "plain", embedder=HashingEmbedder(64)) as store:
        assert store.position is None
        assert [hit.id for hit in store.recall("kiosk")] == [added[1]["memory_id"]]
        assert not [one for one in store.admin.doctor().findings if one.level == "damage"]
        store.commit("The kiosk has a plain store of its own now")
    assert command("tenant", "down", "kiosk", str(tmp_path / "plain"), "--yes")[0] == 1
    assert command("tenant", "up", "kiosk-2", str(tmp_path / "plain"))[0] == 0
    assert command("count", "--tenant", "kiosk-2")[1]["count"] == 2
    code, problem, _ = command("tenant", "drop", "kiosk")
    assert code in (1, 2)
    dropped = command("tenant", "drop", "kiosk", "--yes", text=True)
    assert dropped[:2] == (0, "kiosk was removed for good\n")
    code, problem, _ = command("tenant", "show", "kiosk")
    assert (code, problem["type"].endswith(":not-found")) == (1, True)


def test_who_does_not_own_the_tables_is_told_so(
    command: Command, database: Database, server: PostgresServer
) -> None:
    """PostgreSQL shows a worker no tenant but those that it names: no list is an empty one."""
    command("tenant", "create", "quay")
    database.ask("CREATE ROLE quay_worker LOGIN IN ROLE vestig_worker")
    worker = ("--store", server.address_of("quay_worker"))
    for words in (
        ("tenant", "list"),
        ("fleet", "doctor"),
        ("fleet", "doctor", "--lost-before", "2020-01-01"),
        ("tenant", "create", "another"),
        ("tenant", "drop", "quay", "--yes"),
        ("tenant", "token", "add", "quay"),
    ):
        code, problem, _ = command(*words, *worker)
        assert (code, problem["type"].endswith(":store-locked")) == (3, True), words
        assert "log in as" in problem["detail"], words
        assert "owns the tables" in problem["detail"] or "who ran" in problem["detail"], words
    assert command("tenant", "show", "quay", *worker)[1]["state"] == "active"
    database.drop("quay")


@pytest.mark.parametrize("name", ["quay.", "_quay", "quay_", ".", "Quay", ""])
def test_a_name_says_what_is_wrong_with_it(command: Command, name: str) -> None:
    code, problem, _ = command("tenant", "create", name)
    assert code == 2
    assert "a letter or a digit first and last" in problem["detail"]
    assert problem["detail"].endswith(f"got {name!r}")


def test_fleet_doctor_names_what_it_finds(command: Command, database: Database) -> None:
    command("tenant", "create", "moving-one")
    with database.session("moving-one") as (conn, until):
        conn.run_with(
            "UPDATE vestig.tenants SET state = 'moving' WHERE tenant = $1", ("moving-one",), until
        )
        conn.run("COMMIT", until)
    code, report, _ = command("fleet", "doctor")
    assert code == 1
    assert "moving-one is moving: repeat its move, or end it with --abandon" in [
        one["detail"] for one in report["findings"]
    ]
    database.drop("moving-one")


def test_a_tenant_is_moved_and_a_move_is_abandoned(
    command: Command, database: Database, server: PostgresServer
) -> None:
    database.ask("CREATE DATABASE branch")
    there = server.address.removesuffix("postgres") + "branch"
    secret = there.replace("owner@", "owner:hunter2-of-the-fleet@")
    assert command("fleet", "init", "--store", there)[0] == 0
    command("tenant", "create", "depot")
    added = command("add", "The depot is shut on Mondays", "--tenant", "depot")[1]
    database.set_state("depot", "active", "moving", moved_to=there)
    code, problem, _ = command("add", "The depot opens at six", "--tenant", "depot")
    assert (code, "is moving to another database" in problem["detail"]) == (3, True)
    assert command("tenant", "move", "depot", "--abandon")[1]["state"] == "active"
    code, out, err = command("tenant", "move", "depot", "--to", secret, text=True)
    where = there.replace("owner@", "")
    assert (code, out.splitlines()[1]) == (0, f"  moved to {where}")
    assert "hunter2" not in out + err
    shown = command("tenant", "show", "depot")[1]
    assert (shown["state"], shown["moved_to"]) == ("moved", where)
    found = command("recall", "when is the depot shut?", "--tenant", "depot", "--store", there)[1]
    assert [one["id"] for one in found["results"]] == [added["memory_id"]]


@pytest.mark.parametrize(
    "words", [(), ("--abandon", "--to", "postgresql://db/v"), ("--to", "host=db password=hunter2")]
)
def test_a_move_names_where_to_or_is_abandoned(command: Command, words: tuple[str, ...]) -> None:
    code, problem, err = command("tenant", "move", "depot", *words)
    assert (code, problem["type"].endswith(":validation")) == (2, True)
    assert problem["detail"].startswith("to: expected ")
    assert "hunter2" not in str(problem) + err
    assert "got None" not in problem["detail"]
    assert "'str'" not in problem["detail"]


def test_doctor_looks_at_the_copy_of_a_tenant(command: Command) -> None:
    command("fleet", "init")
    command("tenant", "create", "pier")
    command("add", "The pier is closed in a storm", "--tenant", "pier")
    code, report, _ = command("doctor", "--tenant", "pier")
    assert code == 0, report
    assert {one["level"] for one in report["findings"]} == {"ok"}


def test_an_address_without_a_tenant_asks_for_its_name(command: Command) -> None:
    code, problem, _ = command("count")
    assert code == 2
    assert "--tenant" in problem["detail"]
    assert "vestig tenant list" in problem["detail"]


def test_a_folder_is_no_address(command: Command, tmp_path: Path) -> None:
    code, problem, _ = command("tenant", "list", "--store", str(tmp_path))
    assert code == 2
    assert "expected an address of PostgreSQL" in problem["detail"]
    assert str(tmp_path) in problem["detail"]
    code, problem, _ = command(
        "add", "Who is this for?", "--store", str(tmp_path / "s"), "--tenant", "a"
    )
    assert code == 2
    assert "postgresql://" in problem["detail"]


def test_configuration_shows_no_password(command: Command, server: PostgresServer) -> None:
    address = server.address.replace("owner@", "owner:hunter2-of-the-fleet@")
    _, document, err = command("config", "show", "--store", address)
    assert "hunter2" not in json.dumps(document) + err
    _, document, err = command("config", "explain", "store.path", "--store", address)
    assert "hunter2" not in json.dumps(document) + err


def test_help_shows_no_password(command: Command, server: PostgresServer) -> None:
    address = server.address.replace("owner@", "owner:hunter2-of-the-fleet@")
    _, out, err = command("--store", address, "--help", text=True)
    assert "***@" in out
    assert "hunter2" not in out + err


@pytest.mark.parametrize("words", [("destroy",), ("tenant", "up", "pier")])
def test_an_address_is_no_folder(command: Command, words: tuple[str, ...]) -> None:
    _, problem, err = command(*words, "postgresql://owner:hunter2@db.example/vestig")
    assert "expected a directory's path, got an address of PostgreSQL" in problem["detail"]
    assert "hunter2" not in str(problem) + err
