"""PostgreSQL that is slow, or stands still in the middle of a call: reads do not wait for it longer
than they must, writes end with a clear error, and nothing is lost."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_faults import check_all
from worker import text_of

import vestig
from postgres_server import Cut, PostgresServer
from vestig.errors import StoreLockedError
from vestig.store.replication.cache import CacheFolders
from vestig.store.replication.postgres import Database

Machines = Callable[..., vestig.Vestig]
# How long a call may take that asks nobody.
_AT_ONCE_S = 0.5


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


def codes(store: vestig.Vestig) -> set[str]:
    return {one.code for one in store.recall("how many parcels?").degraded}


@pytest.mark.slow
def test_every_message_is_late(cut: Cut, machine: Machines) -> None:
    slow, other = machine("a", path=cut.address), machine("b")
    cut.delay_s = 0.15
    texts = [text_of("eve", number) for number in range(3)]
    for text in texts:
        slow.commit(text, on_near_dup="insert")
    other.commit(text_of("bob", 0), on_near_dup="insert")
    slow.fresh()
    assert codes(slow) == set()
    check_all([slow, other], [*texts, text_of("bob", 0)])


@pytest.mark.slow
def test_reads_go_on_where_newer_changes_do_not_come(cut: Cut, machine: Machines) -> None:
    """It is known that there are newer ones, and then the server stands still."""
    config = {"store.lock_timeout_s": 1, "fleet.max_staleness_s": 0.2}
    slow, other = machine("a", path=cut.address, config=config), machine("b")
    other.commit(text_of("bob", 0))
    slow.fresh()
    other.commit(text_of("bob", 1), on_near_dup="insert")
    cut.stalled = b"FROM vestig.changes"
    time.sleep(0.3)
    with at_most(4):
        found = slow.recall("how many parcels?")
    (said,) = found.degraded
    assert said.code == "copy_behind"
    assert "newer changes could not be written" in said.detail
    assert slow.count() == 1
    with at_most(_AT_ONCE_S):
        assert codes(slow) == {"copy_behind"}
    with pytest.raises(StoreLockedError, match="expected PostgreSQL to answer"):
        slow.fresh()
    with pytest.raises(StoreLockedError, match="expected PostgreSQL to answer"):
        slow.fresh(min_position=other.position)
    with at_most(_AT_ONCE_S):
        assert slow.count() == 1
    cut.stalled = None
    slow.fresh()
    assert codes(slow) == set()
    check_all([slow, other], [text_of("bob", 0), text_of("bob", 1)])


@pytest.mark.slow
def test_a_server_that_stands_still_keeps_no_read_waiting_that_need_not_ask_it(
    cut: Cut, machine: Machines
) -> None:
    config = {"store.lock_timeout_s": 1, "fleet.max_staleness_s": 60}
    slow, other = machine("a", path=cut.address, config=config), machine("b")
    slow.commit(text_of("eve", 0))
    cut.stalled = b""
    failed: list[BaseException] = []

    def write() -> None:
        try:
            slow.commit(text_of("eve", 1), on_near_dup="insert")
        except StoreLockedError as error:
            failed.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(0.3)
    while writer.is_alive():
        with at_most(_AT_ONCE_S):
            assert slow.count() == 1
        time.sleep(0.05)
    (error,) = failed
    assert "nothing was written" in str(error)
    cut.stalled = None
    slow.commit(text_of("eve", 2), on_near_dup="insert")
    check_all([slow, other], [text_of("eve", 0), text_of("eve", 2)])
    assert other.count() == 2


@pytest.mark.slow
def test_a_read_that_has_to_ask_a_server_that_stands_still_waits_once(
    cut: Cut, machine: Machines
) -> None:
    config = {"store.lock_timeout_s": 1, "fleet.max_staleness_s": 0.2}
    slow = machine("a", path=cut.address, config=config)
    slow.commit(text_of("eve", 0))
    cut.stalled = b""
    time.sleep(0.3)
    with at_most(4):
        assert "upstream_away" in codes(slow)
    with at_most(2 * _AT_ONCE_S):
        assert [slow.count() for _ in range(10)] == [1] * 10
    with pytest.raises(StoreLockedError, match="expected PostgreSQL to answer"):
        slow.fresh()


def test_an_old_answer_does_not_take_the_place_of_a_newer_one(machine: Machines) -> None:
    store = machine("a", config={"fleet.max_staleness_s": 60})
    store.commit(text_of("ada", 0))
    assert store._session.tenant is not None
    copy = store._session.tenant.copy
    asked, row = time.monotonic(), copy._row
    store.commit(text_of("ada", 1), on_near_dup="insert")
    copy.seen(asked, row)
    assert copy._newest == copy._known


@pytest.mark.slow
def test_a_copy_tells_how_old_it_is_also_to_the_next_process(
    own: PostgresServer, machine: Machines, tmp_path: Path
) -> None:
    def opened(**config: Any) -> vestig.Vestig:
        keys = {"store.lock_timeout_s": 1, **config}
        return machine("a", path=own.address, tenant="acme", config=keys)

    store = opened()
    store.commit(text_of("ada", 0))
    store.close()
    (lock,) = tmp_path.rglob(".acme.lock")
    long_ago = time.time() - 1800
    os.utime(lock, (long_ago, long_ago))
    own.stop()
    for _ in range(2):
        again = opened()
        (said,) = again.recall("how many parcels?").degraded
        assert said.code == "upstream_away"
        age_s = int(said.detail.rpartition("as of ")[2].split()[0])
        assert 1800 <= age_s < 1900
        again.close()
    late = opened(**{"fleet.max_offline_s": 600})
    with pytest.raises(StoreLockedError, match=r"longer than fleet\.max_offline_s"):
        late.count()
    late.close()
    own.start()
    with opened() as fresh:
        assert fresh.count() == 1
        assert codes(fresh) == set()
    assert time.time() - lock.stat().st_mtime < 60


@pytest.mark.slow
def test_a_worker_that_stands_still_does_not_hold_the_tenant_nor_removed_rows(
    machine: Machines, database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a snapshot is switched, or read: the server ends its transaction."""
    monkeypatch.setattr("vestig.store.replication.postgres._HELD_S", 1)
    monkeypatch.setattr("vestig.store.replication.postgres._IDLE_S", 2)
    store, other = machine("a"), machine("b")
    store.commit(text_of("ada", 0))
    row = store._session.tenant.copy._row  # type: ignore[union-attr]
    assert row is not None

    def hold() -> None:
        with database.session(tenant) as (conn, deadline):
            database._row(conn, tenant, deadline, "FOR UPDATE")
            with at_most(4):
                other.commit(text_of("bob", 0), on_near_dup="insert")
            conn.run("COMMIT", deadline)

    def read() -> None:
        with database.snapshot(tenant) as (_, parts):
            time.sleep(3)
            next(parts)

    for stand_still in (hold, read):
        with pytest.raises(StoreLockedError, match="idle-in-transaction"):
            stand_still()
    check_all([store, other], [text_of("ada", 0), text_of("bob", 0)])


def test_a_child_of_a_fork_does_not_wait_for_a_question_of_its_parent(
    cut: Cut, machine: Machines
) -> None:
    config = {"store.lock_timeout_s": 2, "fleet.max_staleness_s": 0}
    store = machine("a", path=cut.address, config=config)
    store.commit(text_of("eve", 0))
    cut.stalled = b""
    asking = threading.Thread(target=store.count)
    asking.start()
    time.sleep(0.3)
    child = os.fork()
    if child == 0:
        cut.stalled = None
        os._exit(0 if store.count() == 1 else 1)
    cut.stalled = None
    _, status = os.waitpid(child, 0)
    asking.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert store.count() == 1


def test_a_copy_that_is_made_anew_meanwhile_does_not_take_back_a_write(
    machine: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What PostgreSQL has committed is acknowledged, whatever becomes of the files here."""
    store, other = machine("a"), machine("b")
    store.commit(text_of("ada", 0))
    assert store._session.tenant is not None
    folders: CacheFolders = store._session.tenant.folders
    append = Database.append

    def discard(*args: Any) -> None:
        append(*args)
        folders.discard(store._session.tenant.copy.tenant)  # type: ignore[union-attr]

    with monkeypatch.context() as patch:
        patch.setattr(Database, "append", discard)
        store.commit(text_of("ada", 1), on_near_dup="insert")
    check_all([store, other], [text_of("ada", 0), text_of("ada", 1)])
