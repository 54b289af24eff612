"""The environment of the process: the user's folders, what an editor says of itself, secrets that
the configuration names by variable, and a setting that only a variable can carry.

A command's help reads a folder before anything else is loaded: the module loads nothing at once.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in `vestig`

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any, Final
    from urllib.parse import SplitResult

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


def temporary_folder() -> str:
    """The folder of temporary files, as `tempfile` chooses it, which takes as long to load as a
    query to embed.

    Example:
        >>> import tempfile
        >>> temporary_folder() == tempfile.gettempdir()
        True
    """
    named = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    # a program that has it loaded may have set another folder in it
    for folder in () if "tempfile" in sys.modules else (*named, "/tmp"):
        if folder and os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            return os.path.abspath(folder)
    import tempfile

    return tempfile.gettempdir()


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


# Options of every command, and the variables that stand for them.
_OPTIONS: Final = {
    "store": "VESTIG_STORE",
    "config": "VESTIG_CONFIG",
    "namespace": "VESTIG_NAMESPACE",
    "profile": "VESTIG_PROFILE",
}


def options_of_variables(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The options of every command for which a variable stands. An address, which may hold a
    password, is none of them.

    Example:
        >>> options_of_variables({"VESTIG_NAMESPACE": "team", "VESTIG_PROFILE": ""})
        {'namespace': 'team'}
    """
    variables = os.environ if environ is None else environ
    given = {name: variables.get(variable, "") for name, variable in _OPTIONS.items()}
    return {name: value for name, value in given.items() if value and "://" not in value}


def variables_of_settings(environ: Mapping[str, str] | None = None) -> list[str]:
    """The variables of Vestig that are set and that no option stands for.

    Example:
        >>> variables_of_settings({"VESTIG_RECALL__SILENCE": "1", "VESTIG_NAMESPACE": "team"})
        ['VESTIG_RECALL__SILENCE']
    """
    variables = os.environ if environ is None else environ
    passed = {_OPTIONS[name] for name in options_of_variables(variables)}
    return [
        name
        for name in sorted(variables)
        if name.startswith("VESTIG_") and not name.startswith("VESTIG_TEST_") and name not in passed
    ]


def foreign_variables(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that are none of Vestig's.

    Example:
        >>> foreign_variables({"HOME": "/srv/ada", "VESTIG_NAMESPACE": "team"})
        {'HOME': '/srv/ada'}
    """
    variables = os.environ if environ is None else environ
    return {name: variables[name] for name in variables if not name.startswith("VESTIG_")}


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


def without_credentials(value: Any) -> Any:
    """A value without the credentials that a URL may carry.

    Example:
        >>> without_credentials("https://me:pw@host/v1")
        'https://***@host/v1'
    """
    import re

    return re.sub(r"(?<=://)[^/@\s]+(?=@)", "***", value) if isinstance(value, str) else value


def read_secret(key: str, variable: str) -> str:
    """The value of the environment variable that the setting `key` names.

    Raises:
        ConfigError: the variable is not set, or empty.

    Example:
        >>> read_secret("embedding.api_key_env", "NO_SUCH_VARIABLE")
        Traceback (most recent call last):
        ...
        vestig.errors.ConfigError: embedding.api_key_env: expected the environment variable \
NO_SUCH_VARIABLE to hold a key, it is not set; set NO_SUCH_VARIABLE, or remove embedding.api_key_env
    """
    value = os.environ.get(variable, "")
    if not value:
        from vestig.errors import ConfigError

        raise ConfigError(
            f"{key}: expected the environment variable {variable} to hold a key, it is not set;"
            f" set {variable}, or remove {key}"
        )
    return value


def forbid_telemetry() -> None:
    """Keeps onnxruntime from reporting its use; call before it is imported.

    From version 1.29 on it writes a device id below the user's cache and sends events to its
    maker as soon as it is imported; only this variable, set before, prevents both. A value that
    the user has set stays.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def service_url(key: str, given: str, example: str) -> SplitResult:
    """The parts of the address that the key of the configuration gives.

    Raises:
        ConfigError: not http or https, no host, or a port that is no number. The text itself is not
            shown: an address may hold a password.

    Example:
        >>> service_url("llm.base_url", "http://localhost:8080/v1", "http://localhost").port
        8080
    """
    from urllib.parse import urlsplit

    parts = urlsplit(given)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        from vestig.errors import ConfigError

        raise ConfigError(
            f"{key}: expected a URL such as {example}, got something else; correct {key}"
        )
    return parts
