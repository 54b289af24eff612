"""Fixtures of the contract suites."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ledger_adapters import LEDGERS

from vestig.store.ledger.ledger import Ledger


@pytest.fixture(params=sorted(LEDGERS))
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    opened = LEDGERS[request.param](tmp_path)
    yield opened
    opened.close()
