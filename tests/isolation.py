"""Isolation of tests: which addresses are this machine, and a home folder of their own."""

from __future__ import annotations

import ipaddress
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ZONES = (
    "UTC",
    "America/Los_Angeles",
    "America/St_Johns",
    "Asia/Kathmandu",
    "Asia/Tokyo",
    "Europe/Berlin",
    "Pacific/Chatham",
    "Pacific/Kiritimati",
)
_FOLDERS = {
    "HOME": "",
    "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
    "XDG_CACHE_HOME": "cache",
    "XDG_RUNTIME_DIR": "run",
}


def isolated_environment(home: Path) -> dict[str, str]:
    """Variables that keep a process inside `home`, and a result the same on a busy machine."""
    folders = {name: str(home / folder) for name, folder in _FOLDERS.items()}
    return {**folders, "VESTIG_JUDGE__BUDGET_MS": "600000"}


def is_local(address: object) -> bool:
    """Whether a socket address stays on this machine.

    Names are judged without looking them up: only `localhost` is local.
    """
    if isinstance(address, (str, bytes)):  # AF_UNIX
        return True
    if not isinstance(address, tuple) or not address:
        return False
    host = str(address[0]).partition("%")[0]
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def as_nobody(readable: Path) -> Iterator[None]:
    """The rights of a user who is not the superuser, for whom nothing is forbidden. A folder of a
    test is readable for that user, as far as its own permissions say so."""
    temporary = Path(tempfile.gettempdir())
    for folder in readable.parents:
        if folder.stat().st_uid == os.geteuid() and temporary in folder.parents:
            folder.chmod(0o755)
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
