"""A server in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from served import Site, serving


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A server of a store in memory, for tests that leave others alone."""
    with serving(None, max_concurrent=4, max_waiting=100, max_wait_ms=20_000) as found:
        yield found
