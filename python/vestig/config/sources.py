"""Bytes of configuration files: each is read once, so what was checked is what is used."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from vestig.config.documents import BYTES_MAX, parse
from vestig.config.expand import read_dotenv
from vestig.errors import ConfigError

__all__ = [
    "FileNotPermittedError",
    "Source",
    "content_of",
    "is_file",
    "parse_file",
    "working_folder",
]

_DOTENV: Final = ".env"


def working_folder() -> Path:
    """The folder that relative paths count from.

    Raises:
        ConfigError: it is gone, or may not be looked at.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigError(
            f"the working folder cannot be used: {error.strerror}; change to one that exists and"
            " that you may read"
        ) from None


def is_file(path: Path) -> bool:
    """Whether a file is there; a name that no file can have is none.

    Raises:
        PermissionError: it may not be known, for a folder on the way may not be searched.
    """
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except PermissionError:
        raise
    except (OSError, ValueError):
        return False


class FileNotPermittedError(ConfigError):
    """A file that this user may not read, or may not know of."""


class Source:
    """One main file with all that it leads to.

    Args:
        main: the file.
        environ: what `${VAR}` may name.
        dotenv: whether the `.env` beside the file counts too, below `environ`.
    """

    __slots__ = ("_dotenv", "_environ", "_read", "_variables", "main", "only")

    def __init__(self, main: Path, environ: Mapping[str, str], *, dotenv: bool = True) -> None:
        self.main = main.resolve()
        # the files that may be read; None: any
        self.only: frozenset[Path] | None = None
        self._environ = environ
        self._dotenv = dotenv
        self._read: dict[Path, bytes | None] = {}
        self._variables: Mapping[str, str] | None = None

    @property
    def dotenv(self) -> Path:
        """The `.env` beside the main file, whether it is there or not."""
        return self.main.parent / _DOTENV

    def contents(self) -> dict[Path, bytes | None]:
        """Every file that was looked at so far; None: there is none."""
        return dict(self._read)

    def content(self, path: Path) -> bytes | None:
        """The bytes of a file; None: there is none.

        Raises:
            ConfigError: unreadable, or too long.
        """
        if path not in self._read:
            self._read[path] = content_of(path)
        return self._read[path]

    def variable(self, name: str) -> str | None:
        """The value of a variable that a file names."""
        value = self._environ.get(name)
        if value is not None or not self._dotenv:
            return value
        if self._variables is None:
            raw = self.content(self.dotenv)
            self._variables = {} if raw is None else read_dotenv(_text_of(raw, str(self.dotenv)))
        return self._variables.get(name)


def content_of(path: Path) -> bytes | None:
    """The bytes of a file; None: there is none.

    Raises:
        ConfigError: unreadable, or too long.
    """
    try:
        if not is_file(path):
            return None
        with path.open("rb") as file:
            raw = file.read(BYTES_MAX + 1)
    except PermissionError as error:
        raise FileNotPermittedError(f"{path}: cannot be read: {error.strerror}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if len(raw) > BYTES_MAX:
        raise ConfigError(f"{path}: expected at most {BYTES_MAX} bytes, the file has more")
    return raw


def _text_of(raw: bytes, label: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{label}: expected UTF-8 text, byte {error.start} is none") from None


def parse_file(raw: bytes, label: str) -> tuple[Any, dict[str, int]]:
    """The document of a file and the lines of its keys.

    Raises:
        ConfigError: unreadable, or beyond a bound; `label` names the file.
    """
    try:
        return parse(_text_of(raw, label))
    except ValueError as error:
        if isinstance(error, ConfigError):
            raise
        where, _, what = str(error).partition(": ")
        place = f"{label}:{where[5:]}" if where.startswith("line ") and what else label
        raise ConfigError(f"{place}: unreadable YAML: {what or where}") from None
