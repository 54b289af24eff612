"""The memory tool of the Anthropic SDK (`memory_20250818`): files that are items of a store."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from vestig.errors import ConflictError, ValidationError
from vestig.integrations import check_store, count_masked
from vestig.module_words import missing_name
from vestig.results import Item

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
except ImportError as error:
    from vestig.hints import missing_package

    raise ImportError(
        missing_package("vestig.integrations.anthropic_memory", "anthropic", "claude")
    ) from error

if TYPE_CHECKING:
    from vestig.api.store import Vestig

_ROOT: Final = "/memories"
_LINES_MAX: Final = 999_999
_LINE_WIDTH: Final = len(str(_LINES_MAX))
_LEVELS: Final = 2
_PAGE: Final = 1_000
_CONTEXT_LINES: Final = 2
_MASKED: Final = "Secrets are not kept: {count} in it became [secret:…]."


if not TYPE_CHECKING:  # a type checker knows the names that there are

    def __getattr__(name: str) -> NoReturn:
        raise missing_name(name, globals())


class _Entry(NamedTuple):
    """A line of a listing: a path below the folder that is shown, and its size in bytes."""

    path: str
    size: int


class MemoryTool(BetaAbstractMemoryTool):
    """Files of the memory tool in a store: the path is the key, and searches find the text.

    A folder is an item whose key ends with a slash. What the tool answers is what the SDK's tool
    for local files answers.

    Args:
        store: an open store.
        scope: the scope of its items; one for each user or project.
        cache_control: as of the SDK's tool.

    Example:
        >>> import vestig
        >>> from vestig.testing import HashingEmbedder
        >>> store = vestig.open(":memory:", embedder=HashingEmbedder())
        >>> tool = MemoryTool(store)
        >>> tool.call({"command": "create", "path": "/memories/a.md", "file_text": "Ada likes tea"})
        'File created successfully at: /memories/a.md'
        >>> store.recall("what does Ada like?")[0].memory.key
        '/memories/a.md'
    """

    def __init__(
        self, store: Vestig, *, scope: str = "memory-tool", cache_control: Any = None
    ) -> None:
        check_store(store, scope)
        super().__init__(cache_control=cache_control)
        self._items = store.items
        self._scope = scope

    # --- commands ------------------------------------------------------------------------------

    def view(self, command: Any) -> str:
        """The text of a file with line numbers, or what is in a folder."""
        path = _resolved(command.path)
        found = self._file(path)
        if found is not None:
            return _shown_file(command.path, str(found.value), command.view_range)
        if not self._is_folder(path):
            raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
        entries = self._entries(path)
        total = sum(one.size for one in entries if not one.path.endswith("/"))
        lines = [f"{_size(total)}\t{command.path}"]
        lines += [f"{_size(one.size)}\t{command.path}/{one.path}" for one in _visible(entries)]
        return (
            "Here're the files and directories up to 2 levels deep in"
            f" {command.path}, excluding hidden items:\n" + "\n".join(lines)
        )

    def create(self, command: Any) -> str:
        """A new file, with the folders above it."""
        path = _resolved(command.path)
        if self._exists(path):
            raise ToolError(f"File {command.path} already exists")
        files = [*self._folders(path, command.path), (path, command.file_text, 0)]
        masked = self._put(command.path, files)
        return f"File created successfully at: {command.path}{masked}"

    def str_replace(self, command: Any) -> str:
        """A file with another text in the place of one that stands in it once."""
        path, found = self._text(command.path)
        text = str(found.value)
        count = text.count(command.old_str)
        if count == 0:
            raise ToolError(
                f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim"
                f" in {command.path}."
            )
        if count > 1:
            places = ", ".join(str(one) for one in _lines_with(text, command.old_str))
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str"
                f" `{command.old_str}` in lines: {places}. Please ensure it is unique"
            )
        changed = text[: text.find(command.old_str)].count("\n")
        new = text.replace(command.old_str, command.new_str)
        masked = self._put(command.path, [(path, new, found.version)])
        lines = new.split("\n")
        first = max(0, changed - _CONTEXT_LINES)
        snippet = lines[first : changed + _CONTEXT_LINES + 1]
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line"
            " numbers):\n" + "\n".join(_numbered(snippet, first + 1)) + masked
        )

    def insert(self, command: Any) -> str:
        """A file with a text behind one of its lines."""
        path, found = self._text(command.path)
        lines = str(found.value).split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. It should be within the"
                f" range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        new = "\n".join(lines)
        new = new if new.endswith("\n") else f"{new}\n"
        masked = self._put(command.path, [(path, new, found.version)])
        return f"The file {command.path} has been edited.{masked}"

    def delete(self, command: Any) -> str:
        """Removes a file, or a folder with all that is in it, for good."""
        path = _resolved(command.path)
        if path == _ROOT:
            raise ToolError("Cannot delete the /memories directory itself")
        if not self._exists(path):
            raise ToolError(f"The path {command.path} does not exist")
        self._items.delete(self._keys(path), scope=self._scope)
        return f"Successfully deleted {command.path}"

    def rename(self, command: Any) -> str:
        """Moves a file, or a folder with all that is in it.

        It stands at its new path before it is deleted at the old one: what ends in between leaves
        both, and loses nothing.
        """
        old, new = _resolved(command.old_path), _resolved(command.new_path)
        if old == _ROOT:
            raise ToolError("Cannot rename the /memories directory itself")
        if self._exists(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        if not self._exists(old):
            raise ToolError(f"The path {command.old_path} does not exist")
        if new.startswith(f"{old}/"):
            raise ToolError(f"Cannot rename {command.old_path} to a path within itself")
        moved = [one for one in self._all() if _is_within(one.key, old)]
        puts = self._folders(new, command.new_path)
        puts += [(new + one.key[len(old) :], one.value, 0) for one in moved]
        self._put(command.new_path, puts)
        self._items.delete([one.key for one in moved], scope=self._scope)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Removes all files for good."""
        self._items.delete(scope=self._scope)
        return "All memory cleared"

    # --- files and folders ---------------------------------------------------------------------

    def _file(self, path: str) -> Item | None:
        return None if path == _ROOT else self._items.get(path, scope=self._scope)

    def _is_folder(self, path: str) -> bool:
        return path == _ROOT or self._items.get(f"{path}/", scope=self._scope) is not None

    def _exists(self, path: str) -> bool:
        return self._file(path) is not None or self._is_folder(path)

    def _text(self, given: str) -> tuple[str, Item]:
        """A path, and the file at it.

        Raises:
            ToolError: there is none.
        """
        path = _resolved(given)
        found = self._file(path)
        if found is None and self._is_folder(path):
            raise ToolError(f"The path {given} is not a file.")
        if found is None:
            raise ToolError(f"The path {given} does not exist. Please provide a valid path.")
        return path, found

    def _folders(self, path: str, given: str) -> list[tuple[str, Any, int]]:
        """Puts of the folders above a path that are not there.

        Raises:
            ToolError: a file stands in the place of one.
        """
        missing: list[tuple[str, Any, int]] = []
        above = posixpath.dirname(path)
        while not self._is_folder(above):
            if self._file(above) is not None:
                raise ToolError(f"The path {given} has a file in the place of a directory")
            missing.append((f"{above}/", None, 0))
            above = posixpath.dirname(above)
        return missing

    def _put(self, given: str, files: Iterable[tuple[str, Any, int]]) -> str:
        """Writes files and folders (key, text, expected version) in one transaction; a sentence
        about the secrets that were masked in them, "" for none."""
        puts = [
            {
                "key": key, "value": text, "text": text, "role": "assistant",
                "scope": self._scope, "expected": version,
            }
            for key, text, version in files
        ]  # fmt: skip
        count = 0
        try:
            for start in range(0, len(puts), _PAGE):
                count += count_masked(self._items.put_many(puts[start : start + _PAGE]))
        except ConflictError as error:
            raise ToolError(f"The path {given} was changed meanwhile. View it again.") from error
        except ValidationError as error:
            raise ToolError(f"The path {given} could not be written: {error}") from error
        return f"\n{_MASKED.format(count=count)}" if count else ""

    def _all(self) -> Iterator[Item]:
        offset = 0
        while page := self._items.list(self._scope, offset=offset, limit=_PAGE):
            yield from (one for one in page if one.scope == self._scope)
            offset += len(page)

    def _keys(self, path: str) -> list[str]:
        """Keys of a file, or of a folder and all that is in it."""
        if self._file(path) is not None:
            return [path]
        return [one.key for one in self._all() if _is_within(one.key, path)]

    def _entries(self, path: str) -> list[_Entry]:
        """All that lies in a folder, by paths below it; folders end with a slash."""
        inside = [one for one in self._all() if one.key.startswith(f"{path}/")]
        found = [
            _Entry(one.key[len(path) + 1 :], len(str(one.value or "").encode()))
            for one in inside
            if one.key != f"{path}/"
        ]
        return [
            _Entry(one.path, sum(o.size for o in found if o.path.startswith(one.path)))
            if one.path.endswith("/")
            else one
            for one in found
        ]


def _resolved(path: str) -> str:
    """A path of the tool without dots and slashes at its end.

    Raises:
        ToolError: it leads out of the folder of memories.
    """
    if not path.startswith(_ROOT):
        raise ToolError(f"Path must start with {_ROOT}, got: {path}")
    inner = posixpath.normpath(path[len(_ROOT) :].lstrip("/") or ".")
    if inner == ".." or inner.startswith("../"):
        raise ToolError(f"Path {path} would escape {_ROOT} directory")
    return _ROOT if inner == "." else f"{_ROOT}/{inner}"


def _is_within(key: str, path: str) -> bool:
    return key == path or key.startswith(f"{path}/")


def _visible(entries: Iterable[_Entry]) -> Iterator[_Entry]:
    """Entries of two levels that are not hidden, each folder before what is in it."""
    shown = [
        one
        for one in entries
        if one.path.rstrip("/").count("/") < _LEVELS
        and not any(part.startswith(".") for part in one.path.split("/"))
    ]
    return iter(sorted(shown, key=lambda one: one.path.rstrip("/").split("/")))


def _shown_file(path: str, text: str, wanted: Any) -> str:
    lines = text.split("\n")
    if len(lines) > _LINES_MAX:
        raise ToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first = 0
    if wanted and len(wanted) == 2:
        first = max(1, wanted[0]) - 1
        lines = lines[first : len(lines) if wanted[1] == -1 else wanted[1]]
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(
        _numbered(lines, first + 1)
    )


def _numbered(lines: Iterable[str], first: int) -> Iterator[str]:
    return (f"{str(at).rjust(_LINE_WIDTH)}\t{line}" for at, line in enumerate(lines, first))


def _lines_with(text: str, words: str) -> Iterator[int]:
    at = text.find(words)
    while at >= 0:
        yield text[:at].count("\n") + 1
        at = text.find(words, at + 1)


def _size(count: int) -> str:
    """A number of bytes as the SDK's tool writes it.

    Example:
        >>> _size(0), _size(1023), _size(1536)
        ('0B', '1023B', '1.5K')
    """
    if count == 0:
        return "0B"
    place = min((count.bit_length() - 1) // 10, 3)
    size = count / 1024**place
    shown = str(int(size)) if size == int(size) else f"{size:.1f}"
    return shown + "BKMG"[place]
