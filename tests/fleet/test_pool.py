"""Open tenants of one process, and the files that they leave on this machine."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import vestig
from postgres_server import PostgresServer
from vestig.config import load
from vestig.fleet.pool import TenantPool
from vestig.fleet.tenants import create
from vestig.store.replication import cache
from vestig.store.replication.cache import machines_of
from vestig.store.replication.postgres import Database
from vestig.store.replication.snapshot import scratch_folder
from vestig.testing import HashingEmbedder

_numbers = itertools.count(1)
Pools = Callable[..., TenantPool]


@pytest.fixture
def pool(server: PostgresServer, tmp_path: Path) -> Iterator[Pools]:
    """Makes pools of these configuration keys."""
    made: list[TenantPool] = []

    def make(**keys: Any) -> TenantPool:
        fleet = {f"fleet.{name}": value for name, value in keys.items()}
        places = {"store.path": server.address, "fleet.cache_dir": str(tmp_path / "cache")}
        made.append(TenantPool(load(overrides=places | fleet), embedder=HashingEmbedder(64)))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def tenants(database: Database) -> Callable[[int], list[str]]:
    """Makes so many empty tenants."""

    def make(count: int) -> list[str]:
        names = [f"pooled-{os.getpid()}-{next(_numbers)}" for _ in range(count)]
        for name in names:
            create(database, name)
        return names

    return make


def test_a_lease_gives_the_same_open_store_each_time(pool: Pools, tenants: Any) -> None:
    one, [name] = pool(), tenants(1)
    with one.lease(name) as store:
        store.commit("The gate opens at seven in the morning")
    with one.lease(name) as again:
        assert again is store
        assert again.recall("when does the gate open?")[0].content.startswith("The gate")
    assert one.open_tenants == (name,)


def test_the_tenant_that_was_used_longest_ago_is_closed_and_its_files_stay(
    pool: Pools, tenants: Any
) -> None:
    one, names = pool(max_open=2), tenants(3)
    stores = {}
    for name in (names[0], names[1], names[0], names[2]):
        with one.lease(name) as store:
            stores[name] = store
    assert one.open_tenants == (names[0], names[2])
    with pytest.raises(vestig.ConflictError, match="closed"):
        stores[names[1]].count()
    folder = stores[names[1]]._session.directory
    assert folder is not None
    assert folder.is_dir()
    with one.lease(names[1]) as store:
        assert store.count() == 0
    assert one.open_tenants == (names[2], names[1])


def test_leased_tenants_are_never_closed(pool: Pools, tenants: Any) -> None:
    one, names = pool(max_open=1), tenants(3)
    with one.lease(names[0]) as first, one.lease(names[1]) as second, one.lease(names[2]):
        assert len(one.open_tenants) == 3
        assert first.count() == second.count() == 0
        one.close()
        assert first.count() == 0
    assert one.open_tenants == ()
    with pytest.raises(vestig.ConflictError, match="pool of tenants is closed"), one.lease("a"):
        pass


def test_a_tenant_that_is_leased_as_it_is_about_to_be_closed_stays_open(
    pool: Pools, tenants: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = pool(max_open=1)
    first, second = tenants(2)
    with one.lease(first):
        pass
    take, leased, stores = TenantPool._take_idle, ExitStack(), list[vestig.Vestig]()

    def take_slowly(self: TenantPool, but: int) -> Any:
        found = take(self, but)
        if found is not None and found[0][0] == first:
            monkeypatch.undo()
            stores.append(leased.enter_context(one.lease(first)))
        return found

    monkeypatch.setattr(TenantPool, "_take_idle", take_slowly)
    with one.lease(second):
        pass
    with leased:
        assert stores[0].commit("The north gate opens at seven").memory_id
    assert len(one.open_tenants) == 1


def test_what_cannot_be_opened_leaves_no_place(pool: Pools, tenants: Any) -> None:
    one = pool()
    for name, error in ((tenants(1)[0] + "x", vestig.NotFoundError), (7, vestig.ValidationError)):
        with pytest.raises(error), one.lease(name):
            pass
    assert not one._places


def test_an_error_inside_a_lease_gives_the_tenant_back(pool: Pools, tenants: Any) -> None:
    one, [name] = pool(), tenants(1)
    with pytest.raises(ZeroDivisionError), one.lease(name):
        _ = 1 // 0
    one.close()
    assert one.open_tenants == ()


def test_a_tenant_that_opens_slowly_holds_up_no_other(
    pool: Pools, tenants: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, (slow, other) = pool(), tenants(2)
    begun, go_on = threading.Event(), threading.Event()
    open_ = one._open

    def opening(name: str, identity: bytes | None) -> vestig.Vestig:
        if name == slow:
            begun.set()
            assert go_on.wait(30)
        return open_(name, identity)

    monkeypatch.setattr(one, "_open", opening)
    seen: list[vestig.Vestig] = []

    def use() -> None:
        with one.lease(slow) as store:
            seen.append(store)

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert begun.wait(30)
    with one.lease(other) as store:
        assert store.count() == 0
    go_on.set()
    for thread in threads:
        thread.join()
    assert len(seen) == 2
    assert seen[0] is seen[1]


def test_many_threads_on_more_tenants_than_stay_open(pool: Pools, tenants: Any) -> None:
    one, names = pool(max_open=2), tenants(5)
    errors: list[BaseException] = []
    end = time.monotonic() + 60

    def work(number: int) -> None:
        try:
            for turn in range(8):
                name = names[(number + turn * 3) % len(names)]
                with one.lease(name) as store:
                    store.commit(
                        f"Worker {number} of {name} took turn {turn}", on_near_dup="insert"
                    )
                    assert time.monotonic() < end
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(one.open_tenants) == 2
    total = 0
    for name in names:
        with one.lease(name) as store:
            store.fresh()
            found = store.recall("which turn was taken?", limit=50)
            assert all(name in hit.content for hit in found)
            total += store.count()
    assert total == 32


# --- how far tenants have come ------------------------------------------------------------------


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tenants each question for their rows names, from now on."""
    asked: list[int] = []
    rows = Database.rows

    def counting(self: Database, tenants: Any) -> Any:
        asked.append(len(tenants))
        return rows(self, tenants)

    monkeypatch.setattr(Database, "rows", counting)
    return asked


@pytest.mark.slow
def test_one_question_in_a_period_is_for_all_open_tenants(
    pool: Pools, tenants: Any, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, names = pool(max_staleness_s=3), tenants(50)
    for name in names:
        with one.lease(name) as store:
            store.count()
    asked = counted(monkeypatch)
    begin = time.monotonic()
    gate = threading.Barrier(5)

    def read(some: list[str]) -> None:
        gate.wait()
        while time.monotonic() < begin + 7:
            for name in some:
                with one.lease(name) as store:
                    store.count()
            time.sleep(0.05)

    threads = [threading.Thread(target=read, args=(names[at::5],)) for at in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 2 <= len(asked) <= 1 + (time.monotonic() - begin) / 3
    assert set(asked) == {50}


def test_a_fresh_read_asks_for_itself(
    pool: Pools, tenants: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, [name, other] = pool(max_staleness_s=1_000), tenants(2)
    with one.lease(name) as store, one.lease(other) as second:
        store.count()
        second.count()
        asked = counted(monkeypatch)
        store.fresh()
        second.count()
        assert asked == [2]
        # one that was asked before cannot know what is asked for now
        store._session.tenant.copy.read_as_of_now()  # type: ignore[union-attr]
        store._session.tenant.copy.seen(time.monotonic() - 60, None)  # type: ignore[union-attr]
        assert store.count() == 0
        assert asked == [2, 2]


def test_a_commit_is_as_good_as_an_answer(
    pool: Pools, tenants: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, [name] = pool(max_staleness_s=1_000), tenants(1)
    with one.lease(name) as store:
        store.commit("The gate opens at seven in the morning")
        asked = counted(monkeypatch)
        assert store.count() == 1
        assert asked == []


def test_while_postgresql_is_away_one_tenant_asks_and_all_say_so(
    pool: Pools, tenants: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, names = pool(max_staleness_s=0.5), tenants(3)
    for name in names:
        with one.lease(name) as store:
            store.commit(f"The gate of {name} opens at seven in the morning")
    asked: list[int] = []

    def away(self: Database, tenants: Any) -> Any:
        asked.append(len(tenants))
        time.sleep(1)
        raise vestig.StoreLockedError("expected PostgreSQL to answer, it slept")

    monkeypatch.setattr(Database, "rows", away)
    time.sleep(0.6)
    codes: list[set[str]] = []

    def read(name: str) -> None:
        with one.lease(name) as store:
            codes.append({one.code for one in store.recall("when does it open?").degraded})

    threads = [threading.Thread(target=read, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    read(names[0])
    assert asked == [3]
    assert len(codes) == 4
    assert all("upstream_away" in found for found in codes)


# --- files on this machine ----------------------------------------------------------------------


def copies(tmp_path: Path) -> set[str]:
    """The tenants of which this machine has files."""
    return {path.parent.name for path in tmp_path.rglob("ledger.sqlite")}


def use(pool: TenantPool, *names: str) -> None:
    for name in names:
        with pool.lease(name) as store:
            store.count()


def test_copies_that_were_used_longest_ago_make_room(
    pool: Pools, tenants: Any, tmp_path: Path, database: Database
) -> None:
    names = tenants(4)
    use(pool(max_open=1), *names[:3], names[0])
    assert copies(tmp_path) == set(names[:3])
    room = sum(path.stat().st_blocks * 512 for path in tmp_path.rglob("*") if path.is_file())
    small = pool(max_open=1, max_cache_bytes=room * 5 // 6)  # for two and a half
    use(small, names[3])
    assert copies(tmp_path) == {names[3], names[0]}
    assert machines_of(database, names[1]) == ()
    assert len(machines_of(database, names[0])) == 1
    use(small, names[1])
    assert names[1] in copies(tmp_path)


def test_a_copy_that_is_open_anywhere_stays(
    pool: Pools, tenants: Any, tmp_path: Path, server: PostgresServer
) -> None:
    here, there, new, last = tenants(4)
    script = (
        "import sys, vestig\n"
        "from vestig.testing import HashingEmbedder\n"
        "with vestig.open(sys.argv[1], tenant=sys.argv[2], config={'fleet.cache_dir': sys.argv[3]},"
        " embedder=HashingEmbedder(64)) as store:\n"
        "    print(store.count(), flush=True)\n"
        "    sys.stdin.read()\n"
        "    store.commit('The gate opens at seven in the morning')\n"
    )
    command = [sys.executable, "-c", script, server.address, there, str(tmp_path / "cache")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"0\n"
        small = pool(max_cache_bytes=1)
        with small.lease(here) as store, small.lease(new):
            assert copies(tmp_path) == {here, there, new}
            assert store.count() == 0
        assert other.communicate()[0] == b""
    assert other.returncode == 0
    use(small, there, last)
    assert there in copies(tmp_path)  # it is open in the pool
    small.close()
    (tmp_path / "cache" / folder_name(tmp_path) / ".measured").unlink()
    use(one := pool(max_cache_bytes=1), last)
    one.close()
    assert copies(tmp_path) == set()


def folder_name(tmp_path: Path) -> str:
    (found,) = (path.name for path in (tmp_path / "cache").iterdir())
    return found


def test_what_a_killed_process_left_goes_and_what_a_living_one_makes_stays(
    pool: Pools, tenants: Any, tmp_path: Path
) -> None:
    first, second = tenants(2)
    use(one := pool(), first)
    around = tmp_path / "cache" / folder_name(tmp_path)
    left, new = around / ".scratch-0123456789abcdef", around / ".scratch-fedcba9876543210"
    with scratch_folder(around) as living:
        for folder in (left, new):
            folder.mkdir()
        for folder in (left, living):
            (folder / "ledger.sqlite").write_bytes(b"a text that was forgotten meanwhile")
            os.utime(folder, (1, 1))
        use(one, second)
        assert living.exists()
        assert new.exists()
    assert not left.exists()
    assert not living.exists()


def test_while_postgresql_is_away_no_copy_is_removed(
    pool: Pools, tenants: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tenants(2)
    use(one := pool(max_open=1, max_cache_bytes=1), *names)
    before = copies(tmp_path)
    assert names[1] in before

    def away(*_: Any) -> Any:
        raise vestig.StoreLockedError("expected PostgreSQL to answer, it slept")

    monkeypatch.setattr(cache, "_record_dropped", away)
    (tmp_path / "cache" / folder_name(tmp_path) / ".measured").unlink()
    one.close()
    assert copies(tmp_path) == before


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors cannot be listed here")
def test_an_open_tenant_takes_few_descriptors(pool: Pools, tenants: Any, tmp_path: Path) -> None:
    names = tenants(3)
    one = pool()
    for number, name in enumerate(names):
        with one.lease(name) as store:
            store.commit(f"Gate {number} opens at seven")
            store.recall("when does the gate open?")
    open_files = [
        os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()
    ]
    mine = [path for path in open_files if path.startswith(str(tmp_path))]
    assert 0 < len(mine) <= 6 * len(names), sorted(mine)
