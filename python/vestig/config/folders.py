"""The user's folders: of configuration, data, state and cache."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in `vestig`

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Final

# What the XDG base directories are without a variable. Known here, for platformdirs takes longer
# to load than a query to embed.
_XDG: Final = {
    "cache": ".cache",
    "config": ".config",
    "data": ".local/share",
    "state": ".local/state",
}


def user_folder(kind: str, variables: Mapping[str, str] | None = None) -> Path:
    """The platform's folder of this user; `XDG_*_HOME` of the given environment goes first.

    Args:
        kind: config, data, state or cache.
        variables: the environment; None: that of this process.

    Example:
        >>> user_folder("data", {"XDG_DATA_HOME": "/srv"}).as_posix()
        '/srv/vestig'
    """
    from pathlib import Path

    return Path(_folder(kind, os.environ if variables is None else variables))


def _folder(kind: str, variables: Mapping[str, str]) -> str:
    base = variables.get(f"XDG_{kind.upper()}_HOME")
    if not base and sys.platform == "linux":
        base = os.path.join(os.path.expanduser("~"), _XDG[kind])
    if base:
        return os.path.join(base, "vestig")
    import platformdirs

    find: Callable[..., str] = {
        "cache": platformdirs.user_cache_dir,
        "config": platformdirs.user_config_dir,
        "data": platformdirs.user_data_dir,
        "state": platformdirs.user_state_dir,
    }[kind]
    return find("vestig", appauthor=False)


def cache_directory(environ: Mapping[str, str] | None = None) -> str:
    """The user's folder for files that are made again when they are gone. No configuration moves
    it.

    Example:
        >>> cache_directory({"XDG_CACHE_HOME": "/var/cache"})
        '/var/cache/vestig'
    """
    return _folder("cache", os.environ if environ is None else environ)


def state_directory(environ: Mapping[str, str] | None = None) -> Path:
    """The user's folder for state that must outlive a store, such as witnesses. No
    configuration moves it.

    Example:
        >>> state_directory({"XDG_STATE_HOME": "/var/state"}).as_posix()
        '/var/state/vestig'
    """
    return user_folder("state", os.environ if environ is None else environ)


def project_folder(environ: Mapping[str, str] | None = None, *, working: str | None = None) -> Path:
    """The folder of the project that an editor works on, as it tells its servers; else the one that
    is worked in.

    Args:
        environ: the environment; None: that of this process.
        working: the folder that is worked in; None: that of this process.

    Example:
        >>> project_folder({"CLAUDE_PROJECT_DIR": "/srv/rocket"}).as_posix()
        '/srv/rocket'
    """
    from pathlib import Path

    variables = os.environ if environ is None else environ
    return Path(variables.get("CLAUDE_PROJECT_DIR") or working or os.getcwd())


def running_session(environ: Mapping[str, str] | None = None) -> str | None:
    """The id of the editor's session that started this process; None outside of one.

    Example:
        >>> running_session({"CLAUDE_CODE_SESSION_ID": "5f0c"}), running_session({})
        ('5f0c', None)
    """
    variables = os.environ if environ is None else environ
    return variables.get("CLAUDE_CODE_SESSION_ID") or None


# The variables by which editors find their own folders, and the folders without them.
_EDITORS: Final = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "cursor": ("", ".cursor"),
}


def editor_folder(editor: str, environ: Mapping[str, str] | None = None) -> Path:
    """The folder in which an editor keeps its configuration and transcripts of this user.

    Args:
        editor: claude, codex or cursor.

    Example:
        >>> editor_folder("codex", {"CODEX_HOME": "/srv/codex"}).as_posix()
        '/srv/codex'
    """
    from pathlib import Path

    variables = os.environ if environ is None else environ
    name, folder = _EDITORS[editor]
    return Path(variables.get(name) or os.path.join(os.path.expanduser("~"), folder))
