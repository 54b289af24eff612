"""Damage to files of a store, and the judge of what became of it."""

from __future__ import annotations

import random
import shutil
import struct
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from outcome import Outcome
from promise import acknowledged, run_writers
from writer import open_store, text_of

import ledger_rows as made
from vestig import Vestig
from vestig.changes import ChangeSet
from vestig.errors import VestigError
from vestig.ids import id_bytes
from vestig.results import DoctorReport
from vestig.store import doctor
from vestig.store.integrity import digest_check
from vestig.store.records import rows
from vestig.store.records.rows import EntityListing, Listing

ALL = Listing(limit=None, statuses=None)
SAME, REFUSED, TOLD = "same", "refused", "told by doctor"


def copied(original: Path, to: Path) -> Path:
    shutil.copytree(original, to, ignore=shutil.ignore_patterns("*-shm"))
    return to


def dump(store: Vestig) -> dict[str, Any]:
    """Everything that reads give."""
    reads: dict[str, Any] = {}
    with store._session.ledger.read() as view:
        memories = view.list_memories("default", ALL)
        ids = [memory.id for memory in memories]
        reads["seq"] = view.seq
        reads["vectors"] = view.vectors("default", ids)
        reads["entities"] = view.list_entities("default", EntityListing(limit=None))
        reads["edges"] = view.list_edges("default", limit=None, include_expired=True)
        reads["questions"] = view.questions("default", ids)
        for memory in memories:
            id = memory.id
            reads[id] = memory
            reads[f"events of {id}"] = view.events("default", id)
            reads[f"sources of {id}"] = view.sources("default", id)
            reads[f"edges of {id}"] = view.edges("default", id)
            reads[f"chain of {id}"] = view.supersessions("default", id)
    reads["token vectors"] = store._session.keeper.run(
        lambda _, core: {id: (core.row(id_bytes(id)) or {}).get("pieces") for id in ids}
    )
    for prefix in ("old", "new"):
        for number in (1, 8):
            query = text_of(prefix, number)
            reads[f"recall {query}"] = [
                (hit.id, hit.content, hit.similarity) for hit in store.recall(query).results
            ]
    return reads


def examine(store: Vestig) -> DoctorReport:
    return store.admin.doctor()


def judged(
    folder: Path, truth: dict[str, Any], check: Callable[[Vestig], DoctorReport] = examine
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
            return TOLD if check(store).exit_code == 3 else "SILENT"
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


# --- the trial -------------------------------------------------------------------------------


def make_original(store: Path) -> int:
    """A store whose last writer was killed: rows in the ledger, in the log and in segments.
    Gives the number of commits that were acknowledged."""
    texts = acknowledged(run_writers(store, "old", count=30))
    add_graph(store)
    texts |= acknowledged(run_writers(store, "new", count=12, fault="rebuild"))
    assert len(texts) == 42
    assert (store / "ledger.sqlite-wal").stat().st_size > 0
    assert list((store / "projection").glob("seg-*"))
    return len(texts)


def add_graph(path: Path) -> None:
    """Every memory mentions a name of its own and one of all, and is asked for."""
    with open_store(str(path)) as store:
        ledger = store._session.ledger
        identity = ledger.embedding_identity()
        assert identity is not None
        made_by = {
            "model": identity.model,
            "embedding": made.vector("", identity.dimensions, 0.25).embedding,
        }
        with ledger.read() as view:
            ids = [memory.id for memory in view.list_memories("default", ALL)]
        shared = made.entity("Everybody", **made_by)
        own = [made.entity(f"Name of {id}", aliases=(f"Other of {id}",), **made_by) for id in ids]
        pairs = [*zip(ids, own, strict=True), *((id, shared) for id in ids)]
        changes = ChangeSet(
            namespace="default",
            entities=(shared, *own),
            edges=tuple(made.mention(id, entity.id) for id, entity in pairs),
            questions=tuple(made.question(id, text=f"Who is {id}?", **made_by) for id in ids),
            token_codes=tuple(
                made.tokens(id, seed=place, model=made_by["model"]) for place, id in enumerate(ids)
            ),
        )
        with ledger.write(made.NOW) as txn:
            txn.apply(changes)


def truth_of(original: Path, folder: Path) -> dict[str, Any]:
    """What an undamaged copy gives."""
    with open_store(str(copied(original, folder))) as store:
        truth = dump(store)
    assert len(truth["vectors"]) == 42
    return truth


_COLUMN = {"CRASH": "crash", "EMPTY": "lost"}


def damages(folder: Path, count: int) -> Outcome:
    """One damage to one file of a fresh copy each time; `also` counts the verdicts."""
    outcome = Outcome(trial="damage", size=f"{count} damages of any file")
    original = folder / "original"
    outcome.acknowledged = make_original(original)
    truth = truth_of(original, folder / "truth")
    for trial in range(count):
        place = copied(original, folder / f"damaged-{trial}")
        what = damage(place, trial)
        verdict = judged(place, truth)
        if verdict in (SAME, REFUSED, TOLD):
            outcome.count(verdict)
        else:
            column = _COLUMN.get(verdict.split()[0], "silent")
            outcome.breach([f"{column}: {verdict}"], f"trial {trial}, {what}")
        shutil.rmtree(place)
    return outcome


# --- stores that ignore checksums, so that the judge can be checked --------------------------


def replaced(folder: Path, old: bytes) -> None:
    """One bit of these bytes changed wherever they stand in the ledger; the arrays are gone, so
    that there is nothing to compare it with."""
    file = folder / "ledger.sqlite"
    raw = file.read_bytes()
    assert old in raw
    file.write_bytes(raw.replace(old, bytes([old[0] ^ 1]) + old[1:]))
    shutil.rmtree(folder / "projection")


def zeroed_vectors(folder: Path) -> None:
    """Segments without their vectors, under checksums made right again."""
    manifest = bytearray((folder / "projection/manifest").read_bytes())
    for path in (folder / "projection").glob("seg-*"):
        raw = bytearray(path.read_bytes())
        (header,) = struct.unpack_from("<I", raw, 12)
        model, analyser = struct.unpack_from("<HH", raw, 48)
        entry = 64 + model + analyser + 24 * _VECTORS
        offset, length, _ = struct.unpack_from("<QQI", raw, entry)
        raw[offset : offset + length] = bytes(length)
        struct.pack_into("<I", raw, entry + 16, zlib.crc32(bytes(length)))
        old = bytes(raw[header - 4 : header])
        new = struct.pack("<I", zlib.crc32(raw[: header - 4]))
        raw[header - 4 : header] = new
        assert old in manifest
        manifest = manifest.replace(old, new)
        path.chmod(0o600)
        path.write_bytes(raw)
    manifest[-4:] = struct.pack("<I", zlib.crc32(manifest[:-4]))
    (folder / "projection/manifest").write_bytes(manifest)


_VECTORS = 4  # number of the section


class _AnyHash:
    """Equal to whatever hash is expected."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, _data: bytes) -> None:
        pass

    def digest(self) -> _AnyHash:
        return self

    def __ne__(self, _other: object) -> bool:
        return False


@contextmanager
def without_checksums() -> Iterator[None]:
    """A store that believes what it reads: no digest, hash or chain is looked at."""
    with (
        mock.patch.object(rows, "sha256", _AnyHash),
        mock.patch.object(digest_check, "_check_memories", return_value=None),
        mock.patch.object(digest_check.DigestCheck, "check", return_value=None),
        mock.patch.object(digest_check.DigestCheck, "check_all", return_value=None),
        mock.patch.object(doctor, "verify", return_value=[]),
    ):
        yield
