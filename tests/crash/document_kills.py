"""An import of documents that is killed, at any number of points: of a folder that is new, and of
one whose documents have changed."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any, Final

from outcome import Outcome
from writer import open_store

import forked
import vestig

WRITER: Final = Path(__file__).with_name("document_writer.py")
TESTS: Final = Path(__file__).parent.parent
# Parts of the changed document; the writer takes five passages in a transaction.
PARTS: Final = 16
OLD: Final = "The keel of the old version is laid in oak"
NEW: Final = "The keel of the new version is laid in elm"


def document_kills(folder: Path, points: int) -> Outcome:
    """The import of a folder, and that of one in which documents have changed, each killed before
    statements that are spread over all of it, then run again."""
    outcome = Outcome(trial="import of documents killed", size=f"2 imports, {points} kills each")
    chance = random.Random(31)
    docs, begun = folder / "docs", folder / "begun"
    docs.mkdir()
    _write(docs, OLD, at=1_770_000_000)
    _killed(folder, begun, docs, points, chance, outcome)
    _import(begun, docs, 0)
    _write(docs, NEW, at=1_780_000_000)
    _killed(folder, begun, docs, points, chance, outcome)
    return outcome


def _write(docs: Path, keel: str, *, at: int) -> None:
    """A long document and some short ones, with one sentence that changes in each."""
    parts = [f"## Part {n}\n\n{'plank ' * 70}{n}" for n in range(PARTS if keel == NEW else 6)]
    texts = {"long.md": "\n\n".join(parts)} | {f"{n}.md": f"Boat {n} floats." for n in range(4)}
    for name, text in texts.items():
        path = docs / name
        path.write_text(f"# Boat {name}\n\n{text}\n\n## Keel\n\n{keel}, in {name}.\n")
        os.utime(path, (at, at))


def _import(store: Path, docs: Path, statement: int) -> list[str]:
    words = [str(store), str(docs), str(statement)]
    done = forked.run(words, env=os.environ, code=forked.script(WRITER, TESTS))
    assert done.returncode in (0, -9), done.stderr
    return done.stdout.splitlines()


def _killed(
    folder: Path, begun: Path, docs: Path, points: int, chance: random.Random, outcome: Outcome
) -> None:
    """Kills the import of these documents into copies of a store."""
    whole = _copy(begun, folder / "whole")
    total = int(_import(whole, docs, 0)[-1][2:])
    with open_store(str(whole)) as store:
        wanted, before = _told(store), begun.exists()
    shutil.rmtree(whole)
    for point in range(points):
        statement = 1 + (point * total + chance.randrange(total)) // points
        path = _copy(begun, folder / "killed")
        if _import(path, docs, statement):
            outcome.breach([f"statement {statement} of {total} never ran"])
        if path.exists():
            with open_store(str(path)) as store:
                outcome.breach(_half(store, statement, changed=before))
        _import(path, docs, 0)
        with open_store(str(path)) as store:
            if _told(store) != wanted:
                outcome.breach([f"killed at {statement} of {total}, it ends otherwise"])
            outcome.breach(_faults(store, statement))
        outcome.acknowledged += 1
        shutil.rmtree(path)


def _copy(store: Path, place: Path) -> Path:
    if store.exists():
        shutil.copytree(store, place)
    return place


def _half(store: vestig.Vestig, statement: int, *, changed: bool) -> list[str]:
    """What is wrong with a store in which an import was killed."""
    found = store._session.ledger.verify_all()
    if changed:
        texts = "\n".join(one.content for one in store.list(limit=1_000))
        for name in ("long.md", *(f"{n}.md" for n in range(4))):
            if not any(f"{keel}, in {name}" in texts for keel in (OLD, NEW)):
                found.append(f"killed at {statement}: no version of {name} is found")
    return found


def _faults(store: vestig.Vestig, statement: int) -> list[str]:
    """What is wrong with a store; the file of one that was being made may be left over."""
    found = [one for one in store.admin.doctor().findings if one.level != "ok"]
    return [
        f"killed at {statement}: {one.check}: {one.detail}"
        for one in found
        if one.check not in ("jobs", "residues")
    ]


def _told(store: vestig.Vestig) -> Any:
    """All documents and passages, without ids and times of storing."""
    every = store.list({"statuses": ["active", "deprecated"]}, limit=1_000)
    passages = []
    for one in every:
        sources = sorted((str(s.path), s.created_at) for s in store.show(one.id).sources)
        passages.append((one.content, one.title, one.status.value, one.t_valid, one.t_invalid,
                         one.metadata, sources))  # fmt: skip
    listed = [(one.path, one.title, one.passages) for one in store.documents().documents]
    return sorted(passages, key=str), sorted(listed, key=str)
