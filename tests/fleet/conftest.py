"""Tenants in a PostgreSQL server that lives as long as the tests."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="the extra fleet is not installed")

import vestig
from postgres_server import Cut, PostgresServer, find_programs
from vestig.fleet.tenants import create
from vestig.store.replication.connection import Address
from vestig.store.replication.postgres import Database
from vestig.testing import HashingEmbedder

_numbers = itertools.count(1)


@pytest.fixture
def database(server: PostgresServer) -> Iterator[Database]:
    one = Database(Address(server.address), 5.0)
    one.create_tables()
    yield one
    one.close()


@pytest.fixture
def tenant(database: Database) -> str:
    """The name of a new, empty tenant."""
    name = f"tenant-{os.getpid()}-{next(_numbers)}"
    create(database, name)
    return name


Machines = Callable[..., vestig.Vestig]


@pytest.fixture
def machine(server: PostgresServer, tenant: str, tmp_path: Path) -> Iterator[Machines]:
    """Opens the tenant on a machine of this name; options are those of `open`."""
    opened: list[vestig.Vestig] = []

    def open_on(name: str, **options: Any) -> vestig.Vestig:
        config = {"fleet.cache_dir": str(tmp_path / name), **options.pop("config", {})}
        options = {"tenant": tenant, "embedder": HashingEmbedder(64), **options}
        store = vestig.open(options.pop("path", server.address), config=config, **options)
        opened.append(store)
        return store

    yield open_on
    for store in opened:
        store.close()


@pytest.fixture
def own() -> Iterator[PostgresServer]:
    """A server that a test may stop."""
    programs = find_programs()
    assert programs is not None
    one = PostgresServer(programs)
    Database(Address(one.address), 5.0).create_tables()
    create(Database(Address(one.address), 5.0), "acme")
    yield one
    one.close()


@pytest.fixture
def cut(server: PostgresServer) -> Iterator[Cut]:
    one = Cut(server)
    yield one
    one.close()
