"""The user's folders: of configuration, data and state."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["state_directory", "user_folder"]


def user_folder(kind: str, variables: Mapping[str, str]) -> Path:
    """The platform's folder of this user; `XDG_*_HOME` of the given environment goes first.

    Args:
        kind: config, data or state.
        variables: the environment.

    Example:
        >>> user_folder("data", {"XDG_DATA_HOME": "/srv"}).as_posix()
        '/srv/vestig'
    """
    import platformdirs

    given = variables.get(f"XDG_{kind.upper()}_HOME")
    if given:
        return Path(given) / "vestig"
    find: Callable[..., Path] = {
        "config": platformdirs.user_config_path,
        "data": platformdirs.user_data_path,
        "state": platformdirs.user_state_path,
    }[kind]
    return find("vestig", appauthor=False)


def state_directory(environ: Mapping[str, str] | None = None) -> Path:
    """The user's folder for state that must outlive a store, such as witnesses and the hashes of
    trusted files. No configuration moves it.

    Example:
        >>> state_directory({"XDG_STATE_HOME": "/var/state"}).as_posix()
        '/var/state/vestig'
    """
    return user_folder("state", os.environ if environ is None else environ)
