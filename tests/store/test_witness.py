"""Lost, exchanged and older ledgers, and disks that fail."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import ledger_rows as made
from vestig.errors import StoreDamagedError
from vestig.store.integrity import chain
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import accept_ledger, open_ledger
from vestig.store.records.rows import Listing

NOW = made.NOW
TESTS = Path(__file__).resolve().parent.parent


def add(ledger: Ledger, text: str) -> str:
    new = made.memory(text)
    with ledger.write(NOW) as txn:
        txn.apply(made.added(new))
    return str(new.id)


def fill(store: Path) -> None:
    with open_ledger(store) as ledger:
        for i in range(6):
            add(ledger, f"the text of memory number {i}")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.mark.parametrize("left", ["witness", "projection/manifest", "ledger.bak-1"])
def test_a_lost_ledger_is_not_replaced_by_an_empty_one(store: Path, left: str) -> None:
    fill(store)
    for path in list(store.iterdir()):
        path.unlink()
    (store / left).parent.mkdir(exist_ok=True)
    (store / left).write_bytes(b"x")
    with pytest.raises(StoreDamagedError, match="it is missing"):
        open_ledger(store)
    assert not (store / "ledger.sqlite").exists()


def put_back_older(store: Path) -> bytes:
    """Two commits later an older copy of the ledger stands in its place."""
    fill(store)
    older = (store / "ledger.sqlite").read_bytes()
    with open_ledger(store, state_dir=store.parent / "state") as ledger:
        add(ledger, "later")
        add(ledger, "latest")
    (store / "ledger.sqlite").write_bytes(older)
    return older


def test_an_older_ledger_under_a_newer_witness(store: Path) -> None:
    """StoreDamagedError with the number of missing rows, until it is accepted as it stands."""
    older = put_back_older(store)
    with pytest.raises(StoreDamagedError, match=r"2 are missing.*--accept-ledger"):
        open_ledger(store)
    with pytest.raises(StoreDamagedError, match="2 are missing"):
        open_ledger(store, read_only=True)
    assert (store / "ledger.sqlite").read_bytes() == older
    accept_ledger(store, state_dir=store.parent / "state")
    with open_ledger(store, state_dir=store.parent / "state") as ledger:
        assert ledger.verify_all() == []
        with ledger.read() as view:
            assert view.count_memories("default", Listing(statuses=None)) == 6
        add(ledger, "after that")


def test_the_second_copy_finds_a_whole_folder_put_back(store: Path) -> None:
    """Ledger and witness are both old; the copy in the user's folder knows better."""
    put_back_older(store)
    (store / "witness").unlink()
    open_ledger(store).close()
    state = store.parent / "state"
    with pytest.raises(StoreDamagedError, match="2 are missing"):
        open_ledger(store, state_dir=state)
    moved = store.rename(store.parent / "moved")
    open_ledger(moved, state_dir=state).close()


def test_another_history_of_the_same_length(store: Path) -> None:
    fill(store)
    older = (store / "ledger.sqlite").read_bytes()
    with open_ledger(store) as ledger:
        add(ledger, "one way")
    (store / "ledger.sqlite").write_bytes(older)
    accept_ledger(store)
    seen = (store / "witness").read_bytes()
    with open_ledger(store) as ledger:
        add(ledger, "the other way")
        add(ledger, "and on")
    with open_ledger(store) as ledger:
        add(ledger, "more")
    wrong = chain.decode_witness((store / "witness").read_bytes())
    assert wrong is not None
    (store / "witness").write_bytes(chain.encode_witness(wrong._replace(head=bytes(32))))
    with pytest.raises(StoreDamagedError, match="another ledger was put here"):
        open_ledger(store)
    (store / "witness").write_bytes(seen)
    open_ledger(store).close()


@pytest.mark.parametrize("size", [0, 1, 51, 60])
def test_a_torn_witness_counts_as_absent(store: Path, size: int) -> None:
    fill(store)
    whole = (store / "witness").read_bytes()
    (store / "witness").write_bytes((whole + bytes(20))[:size])
    with open_ledger(store) as ledger:
        add(ledger, "later")
    assert chain.decode_witness((store / "witness").read_bytes()) is not None


def slots(store: Path) -> list[int]:
    """Rows that each slot knows; -1: torn."""
    raw = (store / "witness").read_bytes()
    assert len(raw) == 1024
    halves = (
        chain.decode_witness(raw[:512].ljust(1024, b"\0")),
        chain.decode_witness(raw[512:].ljust(1024, b"\0")),
    )
    return [-1 if slot is None else slot.rows for slot in halves]


def test_slots_are_written_in_turn(store: Path) -> None:
    with open_ledger(store) as ledger:
        seen = []
        for i in range(4):
            add(ledger, f"text {i}")
            seen.append(slots(store))
    assert seen == [[2, -1], [2, 3], [4, 3], [4, 5]]


@pytest.mark.parametrize("torn", [0, 1])
@pytest.mark.parametrize("cut", [0, 1, 30, 59])
def test_a_torn_slot_leaves_the_other(store: Path, torn: int, cut: int) -> None:
    """Whichever slot is torn, and wherever: the store opens, and an older ledger put back is
    recognised by the slot that is whole."""
    fill(store)
    raw = bytearray((store / "witness").read_bytes())
    raw[512 * torn + cut] ^= 0xFF
    (store / "witness").write_bytes(bytes(raw))
    with open_ledger(store) as ledger:
        assert ledger.verify_all() == []
    whole = max(slots(store))
    assert whole in (6, 7)
    older = store.parent / "older"
    with open_ledger(older) as ledger:
        add(ledger, "one")
    (store / "ledger.sqlite").write_bytes((older / "ledger.sqlite").read_bytes())
    with pytest.raises(StoreDamagedError, match=f"{whole - 2} are missing"):
        open_ledger(store)


def test_a_witness_of_one_slot_is_read_and_rewritten(store: Path) -> None:
    """As stores had it before there were two slots."""
    fill(store)
    newest = chain.read_witness(store / "witness")
    assert newest is not None
    body = struct.pack("<8sQ32s", b"VSTGWIT1", newest.rows, newest.head)
    (store / "witness").write_bytes(body + struct.pack("<I", zlib.crc32(body)))
    assert chain.read_witness(store / "witness") == (newest.rows, newest.head, 0)
    with open_ledger(store) as ledger:
        add(ledger, "later")
    assert slots(store) == [newest.rows + 1, -1]
    (store / "witness").write_bytes(
        (body := struct.pack("<8sQ32s", b"VSTGWIT1", 90, newest.head))
        + struct.pack("<I", zlib.crc32(body))
    )
    with pytest.raises(StoreDamagedError, match="82 are missing"):
        open_ledger(store)


def test_a_witness_that_cannot_be_written_stops_nothing(store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with open_ledger(store, state_dir=tmp_path / "file" / "state") as ledger:
        add(ledger, "one")
        assert [path.parent.name for path in ledger.unwritten_witnesses] == ["state"]


# --- failing disks ---------------------------------------------------------------------------

# The file size limit makes writes fail as a full disk does.
FULL_DISK = """
import resource, signal, sys
sys.path.insert(0, sys.argv[1])
import ledger_rows as made
from pathlib import Path
from vestig.errors import VestigError
from vestig.store.ledger.opening import open_ledger

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ledger = open_ledger(Path(sys.argv[2]))

def add(text):
    new = made.memory(text)
    with ledger.write(made.NOW) as txn:
        txn.apply(made.added(new))

add("one")
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
size = Path(sys.argv[2], "ledger.sqlite-wal").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 6000, hard))
errors = []
for i in range(3):
    try:
        add(f"text {i}" * 2000)
    except VestigError as error:
        errors.append(error)
assert len(errors) == 3, errors
assert "nothing was changed" in str(errors[0]), errors
with ledger.read() as view:
    assert view.seq == 1
    assert view.stats("default")["memories"] == 1
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
add("two")
with ledger.read() as view:
    assert view.seq == 2
assert ledger.verify_all() == []
ledger.close()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="this system has no file size limit")
def test_a_full_disk_gives_an_error_and_changes_nothing(store: Path) -> None:
    subprocess.run([sys.executable, "-c", FULL_DISK, str(TESTS), str(store)], check=True)
    with open_ledger(store) as ledger, ledger.read() as view:
        assert view.seq == 2
