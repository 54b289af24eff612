"""A tenant that one machine writes and another one follows at random points."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filled_store import doctor, levels
from postgres_server import PostgresServer
from vestig.fleet.tenants import create
from vestig.store.ledger.ledger import Ledger
from vestig.store.replication.cache import CacheFolders
from vestig.store.replication.capture import SHARED
from vestig.store.replication.connection import Address
from vestig.store.replication.copy import Copy, CopyRules, PositionPoller
from vestig.store.replication.postgres import Database
from vestig.store.replication.snapshot import FolderLock

_numbers = itertools.count(1)
# How many of the writes the other machine looks at.
_SHARE = 0.3
_IDENTITY = "embedding_identity"
_PROJECTION = "projection"


class _Followed(Copy):
    """A copy whose writes somebody is told of."""

    tell: Callable[[], None] = staticmethod(lambda: None)

    @contextmanager
    def locked(self, deadline: float) -> Iterator[Any]:
        with super().locked(deadline) as write:
            yield write
        self.tell()


class TwoMachines:
    """An empty tenant, opened on two machines. `ledger` is that of the one that writes."""

    def __init__(self, server: PostgresServer, folder: Path, chance: random.Random) -> None:
        self._database = Database(Address(server.address), 10.0)
        self._database.create_tables()
        self._folder = folder
        self._chance = chance
        self._held: list[FolderLock] = []
        self.tenant = f"two-{os.getpid()}-{next(_numbers)}"
        create(self._database, self.tenant)
        rules = CopyRules(max_staleness_s=0)
        self._other = Copy(PositionPoller(self._database), self.tenant, rules)
        self._other_ledger = self._open("other", self._other)
        self.ledger = self._open_first()

    def _open_first(self) -> Ledger:
        copy = _Followed(PositionPoller(self._database), self.tenant, CopyRules())
        copy.tell = self._sometimes_follow  # type: ignore[method-assign]
        return self._open("first", copy)

    def _open(self, machine: str, copy: Copy) -> Ledger:
        poller = PositionPoller(self._database)
        folders = CacheFolders(self._folder / machine, poller, max_bytes=1 << 40)
        ledger, held = folders.open_ledger(copy, lock_timeout_s=20.0)
        self._held.append(held)
        return ledger

    def _sometimes_follow(self) -> None:
        if self._chance.random() < _SHARE:
            self._other.refresh()

    def reopen(self) -> Ledger:
        """The ledger of the first machine, opened again."""
        self.ledger.close()
        self.ledger = self._open_first()
        return self.ledger

    def check(self) -> None:
        """The other machine comes to hold the same rows in every table, and a chain that closes."""
        self._other.refresh()
        assert rows_of(self._other_ledger) == rows_of(self.ledger)
        assert [one.verify_all() for one in (self.ledger, self._other_ledger)] == [[], []]
        mine, theirs = (levels(doctor(one)) for one in (self.ledger, self._other_ledger))
        # each machine has a projection of its own, or none where nobody searched there
        assert {**mine, _PROJECTION: ""} == {**theirs, _PROJECTION: ""}
        # tests write vectors without a word of their model
        assert "damage" not in {name: mine[name] for name in mine.keys() - {_IDENTITY}}.values()

    def close(self) -> None:
        """Ends both machines, and the tenant."""
        self.ledger.close()
        self._other_ledger.close()
        for one in self._held:
            one.close()
        self._database.drop(self.tenant)
        self._database.close()


def rows_of(ledger: Ledger) -> dict[str, list[Any]]:
    """Every row of every table that machines share."""
    with ledger.read() as view:
        return {
            table: sorted(map(repr, view.connection.execute(f'SELECT * FROM "{table}"')))
            for table in SHARED
        }
