"""Stores that are busy, damaged or absent, seen from the command line."""

from __future__ import annotations

from pathlib import Path

from command_answers import FACTS, Vestig

import vestig as library
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


def test_reading_an_absent_store_finds_nothing(vestig: Vestig) -> None:
    answer = vestig("memory", "list")
    assert (answer.code, answer.out) == (0, "No memories found.\n")
