"""Fixtures of the contract suites."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from ledger_adapters import LEDGERS

from vestig.store.ledger.ledger import Ledger

_TENANT = "tenant"
# One of so many tests of a tenant runs with the others, all of them in long runs.
_SAMPLE = 8


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        call = getattr(item, "callspec", None)
        of_tenant = call is not None and call.params.get("ledger") == _TENANT
        if of_tenant and zlib.crc32(item.nodeid.rpartition("/")[2].encode()) % _SAMPLE:
            item.add_marker(pytest.mark.torture)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(params=[*sorted(LEDGERS), _TENANT])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """An empty one. That of a tenant is followed by another machine, which has the same rows in the
    end."""
    if request.param != _TENANT:
        opened = LEDGERS[request.param](tmp_path)
        yield opened
        opened.close()
        return
    server = request.getfixturevalue("server")
    from two_machines import TwoMachines

    machines = TwoMachines(server, tmp_path, random.Random(request.node.name))
    try:
        yield machines.ledger
        machines.check()
    finally:
        machines.close()
