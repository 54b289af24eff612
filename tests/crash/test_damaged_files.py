"""Damage to every file of a store: found, mended from the ledger, or refused; never silent."""

from __future__ import annotations

import random
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from promise import acknowledged, run_writers, trials
from writer import open_store, text_of

from vestig import Vestig
from vestig.errors import VestigError
from vestig.ports import Listing
from vestig.results import DoctorReport

ALL = Listing(limit=None, statuses=None)
SAME, REFUSED, TOLD = "same", "refused", "told by doctor"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose last writer was killed: rows in the ledger, in the log and in segments."""
    store = tmp_path_factory.mktemp("original") / "store"
    run_writers(store, "old", count=30)
    lines = run_writers(store, "new", count=12, fault="rebuild")
    assert len(acknowledged(lines)) == 12
    wal = store / "ledger.sqlite-wal"
    assert wal.stat().st_size > 0
    assert list((store / "projection").glob("seg-*"))
    return store


def copied(original: Path, to: Path) -> Path:
    shutil.copytree(original, to, ignore=shutil.ignore_patterns("*-shm"))
    return to


def dump(store: Vestig) -> dict[str, Any]:
    """Everything that reads give."""
    reads: dict[str, Any] = {}
    with store._context.ledger.read() as view:
        memories = view.list_memories("default", ALL)
        ids = [memory.id for memory in memories]
        reads["seq"] = view.seq
        reads["vectors"] = view.vectors("default", ids)
        for memory in memories:
            id = memory.id
            reads[id] = memory
            reads[f"events of {id}"] = view.events("default", id)
            reads[f"sources of {id}"] = view.sources("default", id)
            reads[f"edges of {id}"] = view.edges("default", id)
            reads[f"chain of {id}"] = view.supersessions("default", id)
    for prefix in ("old", "new"):
        for number in (1, 8):
            query = text_of(prefix, number)
            reads[f"recall {query}"] = [
                (hit.id, hit.content, hit.similarity) for hit in store.recall(query).results
            ]
    return reads


def examine(store: Vestig) -> DoctorReport:
    return store.doctor()


def judged(
    folder: Path, truth: dict[str, Any], doctor: Callable[[Vestig], DoctorReport] = examine
) -> str:
    """What became of a damaged store; a verdict in capitals breaks the promise."""
    try:
        with open_store(str(folder)) as store:
            reads = dump(store)
            if reads == truth:
                return SAME
            if reads["seq"] == 0:
                return "EMPTY STORE in place of a lost one"
            texts = {id: memory.content for id, memory in truth.items() if id.startswith("mem_")}
            if any(texts.get(id) != m.content for id, m in reads.items() if id.startswith("mem_")):
                return "ALTERED TEXT was served"
            return TOLD if doctor(store).exit_code == 3 else "SILENT"
    except VestigError:
        return REFUSED
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return (
            f"CRASH with {type(error).__name__} in {place.name} ({place.filename}:{place.lineno})"
        )


def flip(raw: bytearray, chance: random.Random) -> None:
    raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)


def truncate(raw: bytearray, chance: random.Random) -> None:
    del raw[chance.randrange(len(raw)) :]


def zero(raw: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(raw))
    length = min(chance.choice((16, 512, 4096)), len(raw) - start)
    raw[start : start + length] = bytes(length)


def swap(raw: bytearray, chance: random.Random) -> None:
    length = max(1, min(512, len(raw) // 2))
    one, other = sorted(chance.randrange(len(raw) - length + 1) for _ in range(2))
    if other - one < length:
        one, other = 0, len(raw) - length
    raw[one : one + length], raw[other : other + length] = (
        raw[other : other + length],
        raw[one : one + length],
    )


KINDS = (flip, truncate, zero, swap, None)
TARGETS = (
    "ledger.sqlite",
    "ledger.sqlite-wal",
    "projection/seg-*",
    "projection/manifest",
    "witness",
)


def damage(folder: Path, trial: int) -> str:
    """The trial's damage; says what it was."""
    chance = random.Random(trial)
    kind = KINDS[trial % len(KINDS)]
    # Most trials hit the ledger and its log: they are the truth.
    targets = (*TARGETS, *TARGETS[:2])
    target = chance.choice(sorted(folder.glob(targets[trial // len(KINDS) % len(targets)])))
    target.chmod(0o600)
    if kind is None:
        target.unlink()
        return f"{target.name} deleted"
    raw = bytearray(target.read_bytes())
    kind(raw, chance)
    target.write_bytes(raw)
    return f"{target.name}: {kind.__name__}"


@trials(60, 2_000)
def test_no_damage_is_silent(original: Path, tmp_path: Path, trials: int) -> None:
    with open_store(str(copied(original, tmp_path / "truth"))) as store:
        truth = dump(store)
    assert len(truth["vectors"]) == 42
    verdicts: dict[str, int] = {}
    broken = []
    for trial in range(trials):
        folder = copied(original, tmp_path / f"damaged-{trial}")
        what = damage(folder, trial)
        verdict = judged(folder, truth)
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
        if verdict not in (SAME, REFUSED, TOLD):
            broken.append(f"trial {trial}, {what}: {verdict}")
        shutil.rmtree(folder)
    assert broken == []
    assert verdicts[SAME] >= 10
    assert verdicts[REFUSED] >= 10


@pytest.mark.parametrize("target", TARGETS)
def test_a_deleted_file_is_made_again_or_refused(
    original: Path, tmp_path: Path, target: str
) -> None:
    """Only ledger and log hold truth; without either the store does not open as if nothing was."""
    with open_store(str(copied(original, tmp_path / "truth"))) as store:
        truth = dump(store)
    folder = copied(original, tmp_path / "store")
    next(folder.glob(target)).unlink()
    expected = REFUSED if target.startswith("ledger") else SAME
    assert judged(folder, truth) == expected


def _sql(folder: Path, *statements: str) -> None:
    with open_store(str(folder)) as store, store._context.ledger.write(0) as txn:
        txn.connection.execute("COMMIT")
        for statement in statements:
            txn.connection.execute(statement)
        txn.connection.execute("BEGIN")


def test_the_judge_sees_silence_and_altered_text(original: Path, tmp_path: Path) -> None:
    with open_store(str(copied(original, tmp_path / "truth"))) as store:
        truth = dump(store)
    folder = copied(original, tmp_path / "store")
    _sql(folder, "UPDATE edges SET weight = weight / 2")
    assert judged(folder, truth) == TOLD
    blind = DoctorReport(findings=(), seq=0)
    assert judged(folder, truth, lambda _store: blind) == "SILENT"
    _sql(
        folder,
        "UPDATE memories SET (content, content_hash) ="
        ' (SELECT content, content_hash FROM memories WHERE "row" = 2), t_expired_us = 0'
        ' WHERE "row" = 3',
    )
    assert judged(folder, truth) == "ALTERED TEXT was served"
    shutil.rmtree(folder)
    assert judged(folder, truth) == "EMPTY STORE in place of a lost one"
