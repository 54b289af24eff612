"""Claims, jobs and answers of a process that ends without warning."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from claim_writer import ROUNDS, secret_of
from writer import open_store, text_of

import forked
from traces import holding

WRITER = Path(__file__).with_name("claim_writer.py")
POINTS = 8


def run(store: Path, statement: int) -> list[str]:
    """What a writer acknowledged before it ended there."""
    words = [str(store), str(statement)]
    done = forked.run(words, env=os.environ, code=forked.script(WRITER))
    assert done.returncode in (0, -9), done.stderr
    return done.stdout.splitlines()


def check(store: Path, lines: list[str]) -> None:
    """Nothing acknowledged is lost, nothing is half there, nothing forgotten is left."""
    with open_store(str(store)) as opened:
        opened.admin.forget_finish()
        assert opened._session.ledger.verify_all() == []
        assert {f.level for f in opened.admin.doctor().findings if f.check != "jobs"} <= {
            "ok", "notice", "finding",
        }  # fmt: skip
        held = {memory.id: memory.content for memory in opened.list(limit=100)}
        gone = {line[2:] for line in lines if line.startswith("- ")}
        with opened._session.ledger.read() as view:
            for line in lines:
                id = line[2:]
                forgotten = line[0] != "." and view.forgotten_at("default", id) is not None
                assert line[0] != "+" or forgotten != (id in held)
                assert line[0] != "-" or forgotten
        assert gone or held
        contents = {content: id for id, content in held.items()}
        for number in range(ROUNDS):
            id = contents.get(text_of("claim", number))
            if id is None:
                continue
            claim = opened.show(id).claim
            assert claim is not None
            secret = contents.get(secret_of(number))
            wanted = [None] if secret is None else [secret, None]
            assert [one.source_id for one in claim.evidence] == wanted
        with opened._session.ledger.read() as view:
            sql = "SELECT key, response FROM idempotency_keys"
            kept = dict(view.connection.execute(sql).fetchall())
        for number in range(len(gone)):
            assert kept[f"key-{number}"] is None
    for number in range(len(gone)):
        assert holding(store, secret_of(number).encode()) == []


@pytest.mark.slow
def test_a_kill_before_any_statement_leaves_no_half_claim(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with open_store(str(begun)) as made:
        made.commit(text_of("before", 0))
    shutil.copytree(begun, tmp_path / "whole")
    lines = run(tmp_path / "whole", 0)
    check(tmp_path / "whole", lines)
    assert [line[0] for line in lines] == ["+", "+", "-"] * ROUNDS + ["."]
    total = int(lines[-1][2:])
    for point in range(POINTS):
        store = tmp_path / f"store-{point}"
        shutil.copytree(begun, store)
        lines = run(store, 1 + point * total // POINTS)
        assert not any(line.startswith(".") for line in lines)
        check(store, lines)
