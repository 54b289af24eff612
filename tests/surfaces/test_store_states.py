"""Stores that are busy, damaged or absent, seen from the command line."""

from __future__ import annotations

import stat
from pathlib import Path

import apsw
import pytest
from command_answers import FACTS, UNKNOWN, Vestig

import vestig as library
from tables import each
from vestig.store.tables.schema import VERSION
from vestig.surfaces.operation import operations
from vestig.testing import HashingEmbedder


def test_a_busy_store_is_exit_3(vestig: Vestig, ids: list[str], tmp_path: Path) -> None:
    with library.open(tmp_path / "store", embedder=HashingEmbedder(64)) as other:
        context = other._session
        with context.ledger.write(context.now_us()):
            config = tmp_path / "vestig.yaml"
            config.write_text(config.read_text() + "store.lock_timeout_s: 0\n")
            answer = vestig("memory", "pin", ids[0], "--json")
    assert answer.code == 3
    assert answer.problem["type"] == "urn:vestig:problem:store-locked"
    assert vestig("memory", "pin", ids[0]).code == 0


def test_doctor_sees_a_changed_text(vestig: Vestig, ids: list[str], tmp_path: Path) -> None:
    assert vestig("doctor").code == 0
    ledger = tmp_path / "store" / "ledger.sqlite"
    data = bytearray(ledger.read_bytes())
    place = data.find(FACTS[0].encode())
    assert place > 0
    data[place] ^= 1
    ledger.write_bytes(data)
    before = ledger.read_bytes()
    answer = vestig("doctor")
    assert answer.code == 3
    assert "DAMAGE" in answer.out
    assert vestig("doctor", "--json").document["exit_code"] == 3
    assert ledger.read_bytes() == before, "the doctor changes nothing"
    shown = vestig("memory", "show", ids[0], "--json")
    assert shown.code == 3
    assert FACTS[0][5:] not in shown.err


@pytest.mark.parametrize("words", [("doctor",), ("recall", "deploys"), ("memory", "list")])
def test_a_store_of_another_schema_version_is_not_called_damaged(
    vestig: Vestig, ids: list[str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    ledger = tmp_path / "store" / "ledger.sqlite"
    conn = apsw.Connection(str(ledger))
    conn.execute("PRAGMA user_version = 7")
    conn.close()
    answer = vestig(*words)
    assert answer.code == 3
    assert (
        f"{ledger}: expected a ledger of schema version {VERSION}, found version 7; nothing was"
        " changed, open it with the version of vestig that wrote it"
    ) in answer.err
    problem = vestig(*words, "--json").problem
    assert (problem["type"], problem["status"]) == ("urn:vestig:problem:schema-version", 503)


def test_doctor_finds_a_pending_job(vestig: Vestig, tmp_path: Path) -> None:
    broken = ("--store", str(tmp_path / "deferred"))
    config = tmp_path / "vestig.yaml"
    config.write_text("embedding: {provider: unreachable, on_failure: defer}\n")
    assert vestig("memory", "add", FACTS[0], *broken).code == 0
    answer = vestig("doctor", *broken)
    assert answer.code == 1
    assert "FINDING" in answer.out
    enriched = vestig("housekeeping", "enrich", "--json", *broken).document
    assert (enriched["taken"], enriched["done"]) == (1, 0)


READING = (
    ("memory", "recall", "who?"),
    ("graph", "search", "who?"),
    ("search", "who?"),
    ("memory", "list"),
)
NEEDING = (
    ("memory", "show", UNKNOWN),
    ("memory", "events", UNKNOWN),
    ("memory", "forget", UNKNOWN, "--yes"),
    ("memory", "pin", UNKNOWN),
    ("entity", "list"),
    ("export", "out.jsonl"),
    ("backup", "copy"),
    ("rebuild",),
    ("housekeeping", "gc"),
    ("doctor",),
)
MAKING_NOTHING = (("memory", "add", FACTS[0], "--dry-run"), ("import", "nowhere.jsonl"))


@pytest.fixture(params=["missing", "empty"])
def nowhere(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A path without a store."""
    folder = tmp_path / "above" / "nowhere"
    if request.param == "empty":
        folder.mkdir(parents=True)
    return folder


def tree(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


@each("command", READING, ids=" ".join)
def test_reading_where_no_store_is_finds_nothing_and_makes_nothing(
    vestig: Vestig, nowhere: Path, command: tuple[str, ...]
) -> None:
    before = tree(nowhere.parent.parent)
    answer = vestig(*command, "--store", str(nowhere))
    assert answer.code == 0
    notice = f'no store at {nowhere} yet: vestig add "…" makes it\n'
    assert answer.err in (notice, f"{notice}No memories found.\n")
    assert vestig(*command, "--store", str(nowhere), "--json").document
    assert tree(nowhere.parent.parent) == before


@each("command", NEEDING, ids=" ".join)
def test_commands_that_need_a_store_say_that_there_is_none(
    vestig: Vestig, nowhere: Path, command: tuple[str, ...]
) -> None:
    before = tree(nowhere.parent.parent)
    answer = vestig(*command, "--store", str(nowhere))
    assert (answer.code, answer.out) == (1, "")
    assert f'no store at {nowhere} yet: vestig add "…" makes it' in answer.err
    problem = vestig(*command, "--store", str(nowhere), "--json").problem
    assert problem["type"] == "urn:vestig:problem:not-found"
    assert tree(nowhere.parent.parent) == before


@pytest.mark.parametrize("command", MAKING_NOTHING, ids=" ".join)
def test_what_writes_nothing_makes_no_store(
    vestig: Vestig, nowhere: Path, command: tuple[str, ...]
) -> None:
    before = tree(nowhere.parent.parent)
    vestig(*command, "--store", str(nowhere))
    assert tree(nowhere.parent.parent) == before


def test_the_first_write_makes_the_store(vestig: Vestig, nowhere: Path) -> None:
    assert vestig("memory", "add", FACTS[0], "--store", str(nowhere)).code == 0
    listed = vestig("memory", "list", "--store", str(nowhere))
    assert FACTS[0] in listed.out
    assert listed.err == ""


@pytest.mark.parametrize("command", [*READING, *NEEDING], ids=" ".join)
def test_a_folder_of_other_things_is_no_store(
    vestig: Vestig, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "manifest.json").write_text("{}")
    before = tree(tmp_path)
    answer = vestig(*command, "--store", str(tmp_path / "project"))
    assert (answer.code, answer.out) == (1, "")
    assert "other files and no store" in answer.err
    assert tree(tmp_path) == before


def test_init_is_offered_where_a_store_can_begin(vestig: Vestig) -> None:
    for operation in operations():
        if operation.needs_store:
            offered = "--init" in vestig(*operation.name.split(), "--help").out
            assert offered == (operation.without_store == "make"), operation.name
    refused = vestig("recall", "x", "--init")
    assert refused.code == 2
    assert "--init" in refused.err


def test_a_store_begins_among_other_things_only_when_asked(vestig: Vestig, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir(mode=0o755)
    (project / "notes.txt").write_text(FACTS[0])
    answer = vestig("memory", "add", FACTS[0], "--store", str(project), "--json")
    assert (answer.code, answer.problem["type"]) == (1, "urn:vestig:problem:conflict")
    assert "--init" in answer.problem["detail"]
    assert [path.name for path in project.iterdir()] == ["notes.txt"]
    assert vestig("memory", "add", FACTS[0], "--store", str(project), "--init").code == 0
    assert FACTS[0] in vestig("memory", "list", "--store", str(project)).out
    assert (project / "notes.txt").read_text() == FACTS[0]
    assert stat.S_IMODE(project.stat().st_mode) == 0o755
    found = vestig("doctor", "--store", str(project))
    assert found.code == 1
    assert "the folder is open to others (755)" in found.out
    assert "notes.txt" not in found.out


def test_damage_is_told_what_can_be_done_about_it(
    vestig: Vestig, ids: list[str], tmp_path: Path
) -> None:
    ledger = tmp_path / "store" / "ledger.sqlite"
    whole = ledger.read_bytes()
    assert vestig("backup", str(tmp_path / "copy")).code == 0
    at = len(whole) // 2
    ledger.write_bytes(whole[:at] + bytes(2000) + whole[at + 2000 :])
    for command in (("doctor",), ("export", str(tmp_path / "all.jsonl"))):
        answer = vestig(*command)
        assert answer.code == 3
        assert "`vestig restore BACKUP` brings a backup" in answer.err
        assert "`vestig export FOLDER --format md` writes" in answer.err
    assert vestig("export", str(tmp_path / "notes"), "--format", "md").code == 0
    saved = ("--store", str(tmp_path / "saved"))
    assert vestig("import", str(tmp_path / "notes"), "--format", "md", *saved).code == 0
    assert vestig("count", *saved).out == f"{len(ids)}\n"
    ledger.write_bytes(whole[:at])
    for words in (("doctor",), ("rebuild",), ("stats",)):
        answer = vestig(*words)
        assert answer.code == 3
        assert "with `vestig restore BACKUP`" in answer.err
        assert "doctor" not in answer.err
    (tmp_path / "store").rename(tmp_path / "moved")
    assert vestig("restore", str(tmp_path / "copy")).code == 0
    assert vestig("count").out == f"{len(ids)}\n"
