"""The scope of a project: one name for the work in a folder, the same in every work tree of a
repository and in every clone of one remote, and never that of another remote.

A remote is named by its host and its whole path. Addresses of one repository by ssh and by https
give one name where that is certain: by the rules of URLs, and by those of the hosts named here.
Where it is not, the name is that of the folder, which nobody else has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from unicodedata import normalize

from vestig.lazy_pattern import lazy_pattern

_PREFIX: Final = "project:"
# Hexadecimal digits of the path that tell folders of one name apart.
_PATH_DIGITS: Final = 16
# A scope has at most 200, and that of a branch goes on behind the project.
_REMOTE_CHARS_MAX: Final = 170
_FOLDER_CHARS_MAX: Final = 150
_DEFAULT_REMOTE: Final = "origin"
_AT: Final = "@"
_GIT_SECONDS_MAX: Final = 1.0
_ASKED: Final = r"^(remote\..*\.url|url\..*\.insteadof)$"
_URL: Final = lazy_pattern(
    r"([A-Za-z][A-Za-z0-9+.-]*)://(?:([^/@]*)@)?(\[[^\]/]+\]|[^/:@]+)(?::(\d*))?/(.+)"
)
# `[user@]host:path`; a host of one letter is a drive, `name::address` another program's.
_SSH: Final = lazy_pattern(r"(?:([^/@:\s]+)@)?(\[[^\]/]+\]|(?!\w:)[^/\\:@\s]+):(?!:|//)(.+)")
_PORTS: Final = {"http": "80", "https": "443", "ssh": "22", "git": "9418"}
_SCHEMES: Final = {"git+ssh": "ssh", "ssh+git": "ssh", "git+https": "https", "git+http": "http"}
# Other names of a host, with the ports at which it is the same one.
_SAME_HOST: Final = {
    "www.github.com": "github.com",
    "ssh.github.com": "github.com",
    "ssh.github.com:443": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.gitlab.com:443": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "altssh.bitbucket.org:443": "bitbucket.org",
    "source.developers.google.com:2022": "source.developers.google.com",
}
# Hosts at which upper and lower case of a path, and the user of an address, are of no account.
_FOLDED: Final = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
_AZURE: Final = "dev.azure.com"
_AZURE_SSH: Final = frozenset({"ssh.dev.azure.com", "vs-ssh.visualstudio.com"})
_VISUAL_STUDIO: Final = ".visualstudio.com"
# The path of a repository there says nothing of the account that it belongs to.
_WITHOUT_OWNER: Final = lazy_pattern(r"git-codecommit(-fips)?\..*\.amazonaws\.com(\.cn)?")


def project_scope(folder: Path) -> str:
    """Return the scope of the project that a folder belongs to: `project:` with host and path of
    its git remote, else with the name of the folder and sixteen digits of its real path.

    Every folder of a work tree belongs to its project, and so does every clone of one remote.
    Work trees of one clone are one project, with a remote or without. A remote without a host,
    such as a folder beside it, names no project.

    Example:
        >>> project_scope(Path("/nowhere/notes"))
        'project:notes-37ed30da229f7c52'
    """
    root, git = _root(folder)
    named = None if git is None else _of_remote(git)
    return f"{_PREFIX}{named}" if named is not None else _scope_of_folder(root)


def scope_without_remote(folder: Path) -> str:
    """Return the scope that the project of a folder has while it has no remote, which is the one
    that it had before.

    Example:
        >>> scope_without_remote(Path("/nowhere/notes")) == project_scope(Path("/nowhere/notes"))
        True
    """
    return _scope_of_folder(_root(folder)[0])


def _root(folder: Path) -> tuple[Path, Path | None]:
    """The real path of what all work trees of a folder share, and its `.git`, None without one."""
    root = folder.resolve()
    for place in (root, *root.parents):
        git = place / ".git"
        if git.exists():
            return _shared_folder(git), git
    return root, None


def _scope_of_folder(root: Path) -> str:
    import hashlib

    digits = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()
    # a name may hold bytes that are no text
    name = _escaped(root.name.encode("utf-8", "replace").decode()) or "root"
    return f"{_PREFIX}{name[:_FOLDER_CHARS_MAX]}-{digits[:_PATH_DIGITS]}"


def _shared_folder(git: Path) -> Path:
    """The real path of what all work trees of a repository share: the folder around its `.git`."""
    found = _common_folder(git)
    return found.parent if found.name == ".git" else found


def _common_folder(git: Path) -> Path:
    """The folder of a repository; that of a work tree may name the one that all of them share."""
    try:
        found = git_folder(git)
        common = found / "commondir"
        if common.is_file():
            found = found / _line(common)
        return found.resolve()
    except (OSError, ValueError):
        # git itself tells of a repository that it cannot read
        return git.resolve()


def git_folder(git: Path) -> Path:
    """The folder of a work tree; `.git` of a further one and of a submodule is a file that names
    it.

    Raises:
        OSError, ValueError: it cannot be read.
    """
    return git.parent / _line(git).removeprefix("gitdir:").strip() if git.is_file() else git


def _line(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="surrogateescape").strip()


def _of_remote(git: Path) -> str | None:
    """The name of `origin`, else of the only remote; None where git does not name one."""
    urls, instead = _addresses(git)
    if _DEFAULT_REMOTE in urls:
        url = urls[_DEFAULT_REMOTE]
    elif len(urls) == 1:
        (url,) = urls.values()
    else:
        return None
    return remote_name(_rewritten(url, instead))


def _addresses(git: Path) -> tuple[Mapping[str, str], Iterable[tuple[str, str]]]:
    """The addresses of the remotes by name, and (beginning, what stands in its place) of those
    that the user's configuration rewrites. Only git knows all of its files."""
    # named as well: a repository that is not whole has a configuration all the same
    own = f"include.path={_common_folder(git) / 'config'}"
    command = ["-c", own, f"--git-dir={git}", "config", "--null", "--get-regexp", _ASKED]
    urls: dict[str, str] = {}
    instead = []
    for entry in git_says(*command).decode("utf-8", "replace").split("\0"):
        name, _, value = entry.partition("\n")
        if name.startswith("remote."):
            urls.setdefault(name[len("remote.") : -len(".url")], value)
        elif name:
            instead.append((value, name[len("url.") : -len(".insteadof")]))
    return urls, instead


def git_says(*command: str, given: bytes = b"", seconds: float = _GIT_SECONDS_MAX) -> bytes:
    """Return what git prints; nothing where it is not there, fails or takes too long.

    Args:
        given: what it reads from its standard input.
    """
    import subprocess

    try:
        done = subprocess.run(
            ["git", *command],
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""


def _rewritten(url: str, instead: Iterable[tuple[str, str]]) -> str:
    """The address that git uses: of the beginnings that match, the longest is replaced."""
    matching = [one for one in instead if one[0] and url.startswith(one[0])]
    if not matching:
        return url
    beginning, other = max(matching, key=lambda one: len(one[0]))
    return other + url[len(beginning) :]


def remote_name(url: str) -> str | None:
    """Return host and path of a remote's address; None for one without a host, or whose path does
    not say which repository it is.

    Example:
        >>> remote_name("git@github.com:acme/rocket.git")
        'github.com/acme/rocket'
        >>> remote_name("https://github.com/acme/rocket/")
        'github.com/acme/rocket'
        >>> remote_name("/srv/git/rocket.git") is None
        True
    """
    read = _parts_of(url.strip())
    if read is None:
        return None
    user, host, path = read
    parts = [_decoded(part) for part in path.split("/") if part]
    if parts:
        parts[-1] = parts[-1].removesuffix(".git")
    if not all(parts) or {".", ".."} & set(parts) or not parts:
        return None
    if _WITHOUT_OWNER.fullmatch(host):
        return None
    azure = _azure_name(user, host, parts)
    if azure is not None:
        return azure.lower()
    name = "/".join((host, *parts))
    if host in _FOLDED:
        name = name.lower()
    elif user is not None:
        name = f"{user}@{name}"
    return name if name.isprintable() and len(name) <= _REMOTE_CHARS_MAX else None


def _parts_of(url: str) -> tuple[str | None, str, str] | None:
    """(user, host, path) of an address. The port belongs to the host unless it is that of the
    scheme; the user counts for ssh alone, where paths begin at the user's folder."""
    match = _URL.fullmatch(url)
    if match is not None:
        scheme, user, host, port, path = match.groups()
        scheme = _SCHEMES.get(scheme.lower(), scheme.lower())
        if scheme not in _PORTS:
            return None
        if port == _PORTS[scheme]:
            port = None
    else:
        match = _SSH.fullmatch(url)
        if match is None:
            return None
        scheme, port = "ssh", None
        user, host, path = match.groups()
    host = host.lower().rstrip(".") + (f":{port}" if port else "")
    own = user if scheme == "ssh" and user else None
    return None if own == "git" else own, _SAME_HOST.get(host, host), path


def _decoded(part: str) -> str:
    """A part of a path without `%20`; one that holds a separator or is no text stays."""
    from urllib.parse import unquote

    plain = unquote(part, errors="replace")
    is_text = plain.isprintable() and "/" not in plain and "\ufffd" not in plain
    return _escaped(plain) if is_text else part.replace(_AT, "%40")


def _escaped(name: str) -> str:
    """A name as a scope has it: in NFC, and without `@`, behind which the branch stands."""
    return normalize("NFC", name.strip()).replace("%", "%25").replace(_AT, "%40")


def _azure_name(user: str | None, host: str, parts: list[str]) -> str | None:
    """The name of a repository of Azure DevOps by organisation, project and repository, in each of
    the forms that its addresses have; None for another host and for a form that is none of them."""
    owner = host.removesuffix(_VISUAL_STUDIO) if host.endswith(_VISUAL_STUDIO) else None
    if host in _AZURE_SSH:
        if len(parts) == 4 and parts[0] in ("v3", "v2", "v1"):
            return "/".join((_AZURE, *parts[1:]))
        owner = user
    elif host == _AZURE:
        owner, parts = parts[0], parts[1:]
    if owner is None:
        return None
    if parts and parts[0].lower() == "defaultcollection":
        parts = parts[1:]
    marks = [place for place, part in enumerate(parts) if part in ("_git", "_ssh")]
    if not marks:
        return None
    project, repository = parts[: marks[0]], parts[marks[0] + 1 :]
    if repository[:1] in (["_full"], ["_optimized"]):
        repository = repository[1:]
    if len(repository) != 1 or len(project) > 1:
        return None
    # a project's first repository has its name, and may be addressed without it
    return "/".join((_AZURE, owner, *(project or repository), *repository))
