"""Branches of a repository: which one is checked out, which scope it has, which files it changed,
and whether its commits are in the default branch.

What git does not say within its time is answered as where there is no git: there is no branch,
nothing is changed, nothing is merged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple
from unicodedata import normalize

from vestig.arguments import SCOPE_CHARS_MAX
from vestig.lazy_pattern import lazy_pattern
from vestig.repository.head_log import MADE, LeftBranch, left_branches
from vestig.repository.project import git_folder, git_says

_AT: Final = "@"
# No name of a branch has it, so that no branch is called as a shortened one is written.
_SHORTENED: Final = "~"
_DIGITS: Final = 16
_HEADS: Final = "refs/heads/"
_REMOTES: Final = "refs/remotes/"
_DEFAULT_REMOTE: Final = "origin"
# What HEAD names where a repository does not keep its references in files.
_ELSEWHERE: Final = ".invalid"
# Files that name the branch which git moves commit by commit, during which HEAD is detached.
_MOVED: Final = ("rebase-merge/head-name", "rebase-apply/head-name")
_CONVENTIONAL: Final = ("main", "master")
# Paths are no patterns, the index is not written, no monitor of files is started, and what a clone
# lacks is not fetched.
_OWN: Final = (
    "--no-optional-locks", "--literal-pathspecs",
    "-c", "core.fsmonitor=false", "-c", "protocol.allow=never",
)  # fmt: skip
_COMMIT: Final = lazy_pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REBASED: Final = lazy_pattern(r".*\(finish\): refs/heads/\S+ onto ([0-9a-f]{40,64})")
_RENAMED: Final = lazy_pattern(r"Branch: renamed refs/heads/(\S+) to refs/heads/\S+")
_TAKEN_BACK: Final = lazy_pattern(r"This reverts commit ([0-9a-f]{40,64})")
_BINARY: Final = (b"\nGIT binary patch\n", b"\nBinary files ")
_PATCH: Final = ("--patch", "-r", "--full-index", "--no-renames", "--unified=3")
# Of the default branch, that may be a branch's commits as one.
_COMMITS_MAX: Final = 1_000
# Of a branch, that are looked at one by one.
_OWN_MAX: Final = 50
# Of one question to git: while somebody waits for a commit, and where nobody does.
SECONDS: Final = 1.0
SECONDS_UNHURRIED: Final = 10.0
_LOG_MAX: Final = 1_000


class DefaultBranch(NamedTuple):
    """The branch that others are merged into. `commits`: its heads, of this repository and of the
    remote, as far as there are both."""

    name: str
    commits: tuple[str, ...]


def branch_scope(project: str, branch: str) -> str:
    """Return the scope of a branch of a project: `PROJECT@BRANCH`.

    A name that is too long for a scope, or that a scope does not tell from others, is shortened
    and ends in `~` and sixteen digits, which no branch is called.

    Example:
        >>> branch_scope("project:github.com/acme/rocket", "fix/pool")
        'project:github.com/acme/rocket@fix/pool'
    """
    plain = f"{project}{_AT}{branch}"
    is_told = branch.isprintable() and normalize("NFC", branch) == branch
    if is_told and len(plain) <= SCOPE_CHARS_MAX:
        return plain
    import hashlib

    digits = hashlib.sha256(os.fsencode(branch)).hexdigest()[:_DIGITS]
    shown = normalize("NFC", "".join(one if one.isprintable() else "_" for one in branch))
    room = SCOPE_CHARS_MAX - len(project) - len(_AT) - len(_SHORTENED) - _DIGITS
    return f"{project}{_AT}{shown[: max(0, room)]}{_SHORTENED}{digits}"


def scopes_of_branches(project: str) -> tuple[str, str]:
    """Return the bounds of the scopes of branches of a project: from the first on, before the
    second."""
    return f"{project}{_AT}", f"{project}{chr(ord(_AT) + 1)}"


def branch_part(project: str, scope: str) -> str | None:
    """The part of a scope that says which branch of a project it is of; None for another scope."""
    start = f"{project}{_AT}"
    return scope.removeprefix(start) if scope.startswith(start) and scope != start else None


def read_scopes(project: str, folder: str | os.PathLike[str] | None) -> tuple[str, ...]:
    """The scopes that are read in a folder of a project: its own, and that of the branch that is
    checked out. No program is started but where references are not kept in files."""
    branch = None if folder is None else checked_out(Path(folder))
    return (project,) if branch is None else (project, branch_scope(project, branch))


def checked_out(folder: Path) -> str | None:
    """The branch that the work tree around a folder has checked out, also while it is rebased; None
    for a detached head and without git."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.exists():
            try:
                return _checked_out(place, git_folder(git))
            except (OSError, ValueError):
                return None
    return None


def _checked_out(root: Path, git: Path) -> str | None:
    head = _reference(git / "HEAD")
    if head == _ELSEWHERE:
        said = git_says("-C", str(root), "symbolic-ref", "--quiet", "HEAD")
        head = _name(os.fsdecode(said).strip())
    if head is not None:
        return head
    for name in _MOVED:
        if (git / name).is_file():
            return _reference(git / name)
    return None


def _reference(file: Path) -> str | None:
    return _name(os.fsdecode(file.read_bytes()).strip().removeprefix("ref:").strip())


def _name(reference: str) -> str | None:
    return reference.removeprefix(_HEADS) if reference.startswith(_HEADS) else None


class Branches:
    """Answers of git about the branches of one repository; each thing is asked once.

    Args:
        root: of the work tree.
        seconds: that one question may take.
    """

    def __init__(self, root: str, seconds: float = SECONDS) -> None:
        self._root = root
        self._seconds = seconds
        # commit → what differs from it in the folder
        self._differences: dict[str | None, Mapping[str, str]] = {}

    def _says(self, *command: str, given: bytes = b"") -> bytes:
        return git_says(*_OWN, "-C", self._root, *command, given=given, seconds=self._seconds)

    def _lines(self, *command: str, given: bytes = b"") -> list[str]:
        return os.fsdecode(self._says(*command, given=given)).splitlines()

    def _line(self, *command: str) -> str:
        return next(iter(self._lines(*command)), "")

    @cached_property
    def current(self) -> str | None:
        """The branch that is checked out."""
        return checked_out(Path(self._root))

    @cached_property
    def _remote(self) -> str | None:
        names = self._lines("remote")
        if _DEFAULT_REMOTE in names:
            return _DEFAULT_REMOTE
        return names[0] if len(names) == 1 else None

    @cached_property
    def default(self) -> DefaultBranch | None:
        """The default branch: the one that the remote's HEAD names, else the one of git's
        `init.defaultBranch`, else `main` or `master`, whichever is there alone; None for none."""
        remote = self._remote
        if remote is not None:
            start = f"{_REMOTES}{remote}/"
            named = self._line("symbolic-ref", "--quiet", f"{start}HEAD")
            if named.startswith(start):
                name = named.removeprefix(start)
                commits = self._commits(name)
                return DefaultBranch(name, commits) if commits else None
        name = self._line("config", "--get", "init.defaultBranch")
        commits = self._commits(name) if name else ()
        if commits:
            return DefaultBranch(name, commits)
        found = [(one, commits) for one in _CONVENTIONAL if (commits := self._commits(one))]
        return DefaultBranch(*found[0]) if len(found) == 1 else None

    def _commits(self, name: str) -> tuple[str, ...]:
        places = [f"{_HEADS}{name}"]
        if self._remote is not None:
            places.append(f"{_REMOTES}{self._remote}/{name}")
        found = (
            self._line("rev-parse", "--verify", "--quiet", f"{one}^{{commit}}") for one in places
        )
        return tuple(dict.fromkeys(filter(None, found)))

    @cached_property
    def heads(self) -> Mapping[str, str]:
        """Name → head of every branch, of this repository, else of the remote."""
        starts = [_HEADS] if self._remote is None else [f"{_REMOTES}{self._remote}/", _HEADS]
        found = {}
        for start in starts:
            for line in self._lines("for-each-ref", "--format=%(objectname) %(refname)", start):
                commit, _, name = line.partition(" ")
                found[name.removeprefix(start)] = commit
        return found

    # --- files ---------------------------------------------------------------------------------

    def changed(self, paths: Iterable[str], branch: str | None = None) -> dict[str, bool]:
        """Those of these files that a branch changed and that the default branch does not have so:
        path → whether they stand so in a commit of the branch.

        A file that git ignores is of no branch.

        Args:
            branch: None: the one that is checked out, with what is in the folder alone.
        """
        default, wanted = self.default, list(dict.fromkeys(paths))
        name = self.current if branch is None else branch
        if default is None or name in (None, default.name) or not wanted:
            return {}
        if branch is not None:
            return dict.fromkeys(self._committed(default, self.heads.get(branch), wanted), True)
        new = self._paths(("ls-files", "--others", "--exclude-standard"), wanted)
        base = self._line("merge-base", "HEAD", *default.commits)
        # without a common commit all that the default branch does not have is the branch's
        found = set(wanted) if not base else new | self._different(base, wanted)
        for commit in default.commits:
            found &= new | self._different(commit, wanted)
        if not found:
            return {}
        loose = new | self._different("HEAD", wanted)
        return {path: path not in loose for path in wanted if path in found}

    def _committed(
        self, default: DefaultBranch, head: str | None, paths: Sequence[str]
    ) -> set[str]:
        """Those of these files that are others in a head than in the default branch and in what
        both came from."""
        if head is None:
            return set()
        base = self._line("merge-base", head, *default.commits)
        found = set(paths)
        for commit in filter(None, (base, *default.commits)):
            found &= self._different(commit, paths, head)
        return found

    def _different(self, commit: str, paths: Sequence[str], head: str | None = None) -> set[str]:
        """Those of these files that are others in the folder, or in a head, than in a commit."""
        plain = ("--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all")
        commits = (commit,) if head is None else (commit, head)
        return self._paths(("diff", "--name-only", *plain, *commits), paths)

    def _paths(self, command: Sequence[str], paths: Sequence[str]) -> set[str]:
        said = self._says(*command, "-z", "--", *paths)
        return set(filter(None, os.fsdecode(said).split("\0")))

    def file(self, commit: str, path: str) -> bytes:
        """The bytes of a file in a commit; none where it has none."""
        return self._says("cat-file", "blob", f"{commit}:{path}")

    def versions(self, path: str, after: str, head: str) -> list[str]:
        """The commits up to a head, but none before another commit, that changed a file."""
        bounds = (f"--max-count={_COMMITS_MAX}", "--full-history")
        return self._lines("rev-list", *bounds, head, f"^{after}", "--", path)

    # --- files that are gone -------------------------------------------------------------------

    def renamed_file(self, path: str, commit: str | None) -> str | None:
        """The path that a file which is gone from the folder has now, by git's detection of
        renames since a commit that had it."""
        return self._since(path, commit).get(path)

    def files_like(self, path: str, commit: str | None) -> tuple[str, ...]:
        """Other files of the folder that may have the lines of one which is gone: those of its
        name, those that git does not track or ignore, and those that are new since a commit that
        had it."""
        name = os.path.basename(path)
        found = [one for one in self._tracked if os.path.basename(one) == name]
        found += [*self._untracked, *self._since(path, commit).values()]
        return tuple(one for one in dict.fromkeys(found) if one != path)

    @cached_property
    def _tracked(self) -> tuple[str, ...]:
        return self._listed("--cached")

    @cached_property
    def _untracked(self) -> tuple[str, ...]:
        return self._listed("--others", "--exclude-standard")

    def _listed(self, *which: str) -> tuple[str, ...]:
        said = self._says("ls-files", *which, "-z")
        return tuple(dict.fromkeys(filter(None, os.fsdecode(said).split("\0"))))

    def _since(self, path: str, commit: str | None) -> Mapping[str, str]:
        """Earlier path → path of the files that were renamed, and path → path of those that are
        new, since the last commit that had a file."""
        base = self._last_with(path, commit)
        if base not in self._differences:
            plain = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
            how = ("--name-status", "-z", "--find-renames", "--diff-filter=AR")
            said = b"" if base is None else self._says("diff", *plain, *how, base, "--")
            fields, found = iter(os.fsdecode(said).split("\0")), {}
            for status in filter(None, fields):
                old = next(fields)
                found[old] = next(fields) if status.startswith("R") else old
            self._differences[base] = found
        return self._differences[base]

    def _last_with(self, path: str, commit: str | None) -> str | None:
        """The commit that is checked out, the one before the last that changed a file, or this
        one: the first of these that has it."""
        last = self._line("rev-list", "--max-count=1", "HEAD", "--", path)
        for one in ("HEAD", f"{last}^" if last else None, commit):
            if one is not None and self._line("rev-parse", "--verify", "--quiet", f"{one}:{path}"):
                return one
        return None

    # --- commits -------------------------------------------------------------------------------

    def is_within(self, commit: str, heads: Sequence[str]) -> bool:
        """Return whether a commit is one of these heads or came before one."""
        if not heads or not _COMMIT.fullmatch(commit):
            return False
        return self._line("merge-base", commit, *heads) == commit

    def made_on(self, branch: str, head: str) -> Iterator[str]:
        """The commits up to a head of which git's log of a branch, or of HEAD where the branch is
        gone, says that they were made on it, and so were none of the default branch."""
        made = list[str]()
        if branch in self.heads:
            for commit, message in self._log(f"{_HEADS}{branch}"):
                onto = _REBASED.fullmatch(message)
                if MADE.match(message) if onto is None else onto[1] != commit:
                    made.append(commit)
        else:
            made += [commit for one in self._branches_left.get(branch, ()) for commit in one.made]
        return (one for one in dict.fromkeys(made) if self.is_within(one, (head,)))

    def left_at(self, branch: str) -> tuple[str, ...]:
        """The commits at which git's logs say that a branch was left, in each work tree."""
        return tuple(dict.fromkeys(one.head for one in self._branches_left.get(branch, ())))

    @cached_property
    def _branches_left(self) -> Mapping[str, Sequence[LeftBranch]]:
        found: dict[str, list[LeftBranch]] = {}
        for line in self._lines("worktree", "list", "--porcelain"):
            word, _, place = line.partition(" ")
            if word == "worktree":
                for name, left in left_branches(self._log("HEAD", place)[::-1]).items():
                    found.setdefault(name, []).append(left)
        return found

    def _log(self, reference: str, root: str | None = None) -> list[tuple[str, str]]:
        """(commit, message) of git's log of a reference, the newest first.

        Args:
            root: of another work tree.
        """
        bounds = (f"--max-count={_LOG_MAX}", "--format=%H%x09%gs")
        where = () if root is None else ("-C", root)
        lines = self._lines(*where, "log", "--walk-reflogs", *bounds, reference, "--")
        return [(commit, message) for commit, _, message in (one.partition("\t") for one in lines)]

    @cached_property
    def renamed(self) -> Mapping[str, str]:
        """Earlier name → name of the branches that were renamed, as git's logs say; an earlier name
        that two of them had is of neither."""
        bounds = ("--grep-reflog=^Branch: renamed ", "--format=%gD%x09%gs")
        found: dict[str, set[str]] = {}
        for line in self._lines("log", "--walk-reflogs", "--branches", *bounds, "--"):
            place, _, message = line.partition("\t")
            name = place.rpartition("@{")[0].removeprefix(_HEADS)
            if match := _RENAMED.fullmatch(message):
                found.setdefault(match[1], set()).add(name)
        return {old: new.pop() for old, new in found.items() if len(new) == 1}

    def has_patch(self, head: str) -> bool:
        """Return whether the default branch has what a head has beyond it, as other commits: all of
        it as one, or each commit as one of its own, by the ids that git gives to patches."""
        default = self.default
        if default is None or not _COMMIT.fullmatch(head):
            return False
        base = self._line("merge-base", head, *default.commits)
        if base in ("", head):
            return False
        if not self._lines("rev-list", "--merges", "--max-count=1", head, f"^{base}"):
            for one in default.commits:
                lines = self._lines("cherry", one, head)
                if lines and all(line.startswith("- ") for line in lines):
                    return True
        return self._has_as_one(default, base, head)

    def _has_as_one(self, default: DefaultBranch, base: str, head: str) -> bool:
        diff = self._patch(base, head)
        # old versions of git give all changes of a binary file one id
        if not diff or any(sign in diff for sign in _BINARY):
            return False
        # a commit with the same patch changes each of its files, and so the first
        path = next(iter(self._changed_files(base, head)), "")
        wanted, ids = self._id_of(diff), self._ids_beyond(default, head, (path,))
        return wanted is not None and wanted in ids.values()

    def took_back(self, head: str, made: Iterable[str]) -> bool:
        """Return whether the default branch may have taken back what was merged into it with a
        head: a commit of it has the reverse patch of the head's whole change or of one commit, or
        git's message that it reverts one.

        Args:
            made: commits up to the head that are known to be the branch's, for a history that does
                not say which are.
        """
        default = self.default
        if default is None:
            return False
        base, merge = self._merged_from(default, head)
        if base is None:
            own = list(islice(made, _OWN_MAX))
        else:
            own = self._lines(
                "rev-list", "--no-merges", f"--max-count={_OWN_MAX}", head, f"^{base}"
            )
        changes = [(f"{one}^", one) for one in own] + ([] if base is None else [(base, head)])
        paths = {path: None for one in changes for path in self._changed_files(*one)[:1]}
        ids = self._ids_beyond(default, head, tuple(paths))
        if not ids:
            return False
        there = set(ids.values())
        if any(self._id_of(self._patch(new, old)) in there for old, new in changes):
            return True
        same = {self._id_of(self._patch(old, new)) for old, new in changes}
        known = {*own, merge, *(commit for commit, id in ids.items() if id in same)}
        said = self._says("log", "--no-walk", "--format=%B", "--stdin", given=_given(ids))
        return any(one in known for one in _TAKEN_BACK.findall(said.decode("utf-8", "replace")))

    def _merged_from(self, default: DefaultBranch, head: str) -> tuple[str | None, str | None]:
        """The commit behind which those of a head are its branch's own, and the merge that brought
        them into the default branch; each None where history does not say."""
        base = self._line("merge-base", head, *default.commits)
        if base != head:
            return base or None, None
        bounds = ("--merges", "--ancestry-path", "--topo-order", "--reverse", "--parents")
        for line in self._lines("rev-list", *bounds, *default.commits, f"^{head}")[:_OWN_MAX]:
            merge, first, *_ = line.split()
            if not self.is_within(head, (first,)):
                return self._line("merge-base", head, first) or None, merge
        return None, None

    def _changed_files(self, old: str, new: str) -> list[str]:
        said = self._says("diff-tree", "--name-only", "-r", "-z", old, new)
        return list(filter(None, os.fsdecode(said).split("\0")))

    def _patch(self, old: str, new: str) -> bytes:
        return self._says("diff-tree", *_PATCH, old, new)

    def _id_of(self, patch: bytes) -> str | None:
        """The id that git gives to a patch; None for one that changes nothing."""
        said = self._says("patch-id", "--stable", given=patch) if patch else b""
        return said.decode("ascii", "replace").partition(" ")[0] or None

    def _ids_beyond(
        self, default: DefaultBranch, head: str, paths: Sequence[str]
    ) -> dict[str, str]:
        """Commit → id of the patch of the commits of the default branch that a head does not have
        and that change one of these files."""
        bounds = ("--no-merges", "--full-history", f"--max-count={_COMMITS_MAX}")
        others = self._says("rev-list", *bounds, *default.commits, f"^{head}", "--", *paths)
        if not paths or not others:
            return {}
        patches = self._says("diff-tree", "--stdin", *_PATCH, given=others)
        lines = self._says("patch-id", "--stable", given=patches).decode("ascii", "replace")
        return {commit: id for id, commit in (line.split() for line in lines.splitlines())}


def _given(commits: Iterable[str]) -> bytes:
    return "".join(f"{one}\n" for one in commits).encode()
