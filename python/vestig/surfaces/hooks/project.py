"""The scope of a project: one name for the work in a folder, the same in every clone of it."""

from __future__ import annotations

import configparser
import hashlib
from pathlib import Path
from typing import Final

from vestig.lazy_pattern import lazy_pattern

_PREFIX: Final = "project:"
# Hexadecimal digits of the path that tell folders of one name apart.
_PATH_DIGITS: Final = 6
_DEFAULT_REMOTE: Final = "origin"
_REMOTE: Final = lazy_pattern(r'remote "(.+)"')
# `scheme://[user@]host[:port]/path`, or `[user@]host:path`, where a host of one letter is a drive.
_URL: Final = lazy_pattern(r"(?:(?!file:)[a-z][a-z0-9+.-]*://[^/]+/|(?!\w:)[^/\\\s]+:(?!//))(.+)")


def project_scope(folder: Path) -> str:
    """Return the scope of the project that a folder belongs to: `project:` with owner and name of
    its git remote, else with the name of the folder and six digits of its path.

    Every folder of a working tree belongs to its project, and so does every clone and work tree of
    one remote. A remote without a host, such as a folder beside it, names no project.

    Example:
        >>> project_scope(Path("/nowhere/notes"))
        'project:notes-37ed30'
    """
    root = folder.resolve()
    for place in (root, *root.parents):
        if (place / ".git").exists():
            named = _of_remote(_git_config(place / ".git"))
            if named is not None:
                return _PREFIX + named
            root = place
            break
    digits = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()
    # a name may hold bytes that are no text
    name = root.name.encode("utf-8", "replace").decode() or "root"
    return f"{_PREFIX}{name}-{digits[:_PATH_DIGITS]}"


def _git_config(git: Path) -> Path:
    """The configuration of a repository; `.git` of a work tree and of a submodule is a file that
    names a folder, and that folder may name the one that all work trees share."""
    found = git
    if git.is_file():
        found = git.parent / _line(git).removeprefix("gitdir:").strip()
    common = found / "commondir"
    return (found / _line(common) if common.is_file() else found) / "config"


def _line(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace").strip()


def _of_remote(config: Path) -> str | None:
    """`owner/name` of `origin`, else of the only remote."""
    read = configparser.ConfigParser(
        strict=False, interpolation=None, allow_no_value=True, default_section=""
    )
    try:
        read.read(config, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        # git itself tells of a configuration that it cannot read
        return None
    urls = {}
    for section in read.sections():
        match = _REMOTE.fullmatch(section)
        url = read[section].get("url")
        if match is not None and url:
            urls[match.group(1)] = url
    if _DEFAULT_REMOTE in urls:
        return _owner_and_name(urls[_DEFAULT_REMOTE])
    return _owner_and_name(*urls.values()) if len(urls) == 1 else None


def _owner_and_name(url: str) -> str | None:
    """The last two parts of the path of an address.

    Example:
        >>> _owner_and_name("git@github.com:acme/rocket.git")
        'acme/rocket'
        >>> _owner_and_name("/srv/git/rocket.git") is None
        True
    """
    match = _URL.fullmatch(url.strip().strip('"'))
    if match is None:
        return None
    parts = [part for part in match.group(1).split("/") if part]
    parts[-1:] = [part.removesuffix(".git") for part in parts[-1:]]
    return "/".join(parts[-2:]) if len(parts) > 1 and all(parts) else None
