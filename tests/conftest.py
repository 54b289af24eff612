"""Hermetic tests: no network, no user directories, no settings from outside, any time zone.

`VESTIG_TEST_TZ` repeats a run's time zone; `VESTIG_TEST_EXAMPLES` is the number of examples of a
property (40); `VESTIG_TEST_DATA` names a folder of labelled data sets (tests that need one are
skipped without it); `TMPDIR` names the place of their stores, which is in memory otherwise.
"""

from __future__ import annotations

import gc
import itertools
import os
import random
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from isolation import ZONES, is_local, isolated_environment
from store_fixtures import chain, clock, opener, reopened, server, store, world

__all__ = ["chain", "clock", "opener", "reopened", "server", "store", "world"]

_HOME_KEY = pytest.StashKey[Path]()
_NUMBERS = itertools.count()
# A file system in memory, where a commit waits for no disk, and what must be free of it.
_MEMORY = Path("/dev/shm")
_MEMORY_BYTES = 4 << 30

# No test may depend on how fast the machine is.
settings.register_profile(
    "vestig",
    max_examples=int(os.environ.get("VESTIG_TEST_EXAMPLES", "40")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("vestig")


def _use_memory() -> None:
    """Put temporary folders in memory, unless `TMPDIR` names a place or memory is short."""
    if "TMPDIR" in os.environ or not os.access(_MEMORY, os.W_OK):
        return
    if shutil.disk_usage(_MEMORY).free >= _MEMORY_BYTES:
        os.environ["TMPDIR"] = str(_MEMORY)
        tempfile.tempdir = None


def pytest_configure(config: pytest.Config) -> None:
    _use_memory()
    # Tests run beside each other: threads of a matrix product would wait for each other's.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    zone = os.environ.get("VESTIG_TEST_TZ") or random.SystemRandom().choice(ZONES)
    os.environ["TZ"] = zone
    time.tzset()
    home = Path(tempfile.mkdtemp(prefix="vestig-tests-"))
    config.stash[_HOME_KEY] = home
    # Fixtures of a wider scope than a test run before `isolated` and see these.
    for name in [n for n in os.environ if n.startswith("VESTIG_")]:
        if not name.startswith("VESTIG_TEST_"):
            del os.environ[name]
    os.environ.update(isolated_environment(home))


def pytest_unconfigure(config: pytest.Config) -> None:
    home = config.stash.get(_HOME_KEY, None)
    if home is not None:
        shutil.rmtree(home, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage in thousands of tests, while they are collected and afterwards: nothing
    is given up, and a look at all of them takes half a second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Torture is slow: `-m "not slow"` takes the place of the `-m` of pyproject.toml."""
    for item in items:
        if item.get_closest_marker("torture"):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Two workers a processor, up to eight: a test waits for disks and for other processes about as
    long as it computes. None, which leaves the number to xdist, where the environment names it.

    Each begins with neighbours, which share what a module sets up, and goes on with what others
    have left."""
    if config.option.dist == "no":
        config.option.dist = "worksteal"
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(processors, min(2 * processors, 8))


def pytest_report_header() -> str:
    return f"time zone: {os.environ['TZ']} (repeat with VESTIG_TEST_TZ={os.environ['TZ']})"


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[None]:
    """Refuse every connection that would leave this machine."""
    real = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex", "sendto")}
    real_getaddrinfo = socket.getaddrinfo

    def refuse(address: object) -> None:
        raise OSError(f"tests reach no network: {address!r}")

    def guarded(name: str) -> Any:
        def method(self: socket.socket, *args: Any) -> Any:
            if not is_local(args[-1]):
                refuse(args[-1])
            return real[name](self, *args)

        return method

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host is not None and not is_local((host,)):
            refuse(host)
        return real_getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        for name in real:
            patch.setattr(socket.socket, name, guarded(name))
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield


@pytest.fixture(autouse=True)
def no_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of a model that failed is tried again at once."""
    monkeypatch.setattr("vestig.session.model_calls.RETRY_BASE_S", 0.0)


@pytest.fixture(autouse=True)
def isolated(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for each test, and no `VESTIG_*` setting from outside. The cache is that of
    the run: the weights of the built-in embedder are packed once."""
    # not of pytest's making, which lists all folders of the run to number the next one
    home = request.config.stash[_HOME_KEY] / f"home{next(_NUMBERS)}"
    home.mkdir()
    cache = request.config.stash[_HOME_KEY] / "cache"
    for name in [n for n in os.environ if n.startswith("VESTIG_")]:
        if not name.startswith("VESTIG_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(Path.cwd())  # which a test may leave
    for name, value in {**isolated_environment(home), "XDG_CACHE_HOME": str(cache)}.items():
        monkeypatch.setenv(name, value)
    return home


@pytest.fixture(scope="session")
def labelled_data() -> Path:
    """The folder of labelled data sets, from `VESTIG_TEST_DATA`; skips when absent."""
    named = os.environ.get("VESTIG_TEST_DATA")
    if not named:
        pytest.skip("VESTIG_TEST_DATA names no folder of labelled data sets")
    folder = Path(named)
    if not folder.is_dir():
        pytest.skip("the folder that VESTIG_TEST_DATA names does not exist")
    return folder
