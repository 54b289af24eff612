"""Configuration files: where they are, how they are read, what they include."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.config.aliases import OLD_NAMES, current_name, old_sections
from vestig.config.expand import expand, names_variable, read_scalar
from vestig.config.problems import Problems
from vestig.config.schema import default_values, entry_sections, sections, takes_mapping
from vestig.config.sources import Source, content_of, is_file, parse_file
from vestig.errors import ConfigError, ConfigNotFoundError

__all__ = [
    "INCLUDE",
    "MEMORY_PATH",
    "PATH_KEYS",
    "STORE_PATH",
    "Item",
    "find_project_file",
    "flatten",
    "names_weights_file",
    "own_items",
    "profile_key",
    "read_file",
    "trust_command",
    "unexpanded",
    "with_weights",
    "without_tilde",
]

INCLUDE: Final = "include"
MEMORY_PATH: Final = ":memory:"
STORE_PATH: Final = "store.path"
# Keys whose value is a path; a relative one counts from the file that names it.
PATH_KEYS: Final = (STORE_PATH, "retrieve.message_blacklist")
PROJECT_FILE: Final = "vestig.yaml"
_PROFILES: Final = "recall.profiles"
_WEIGHTS: Final = "ranking.weights"
_DEPTH_MAX: Final = 12


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One value that one layer gives to one key; `file` is the path that says so."""

    key: str
    value: Any
    file: str | None = None
    line: int | None = None
    # the old spelling in which the key was given
    old: str | None = None
    # the folder of the file, from which paths count
    folder: str | None = None
    # the value as it is written, where it came from `${VAR}`: only this is ever printed
    written: Any = None

    @property
    def shown(self) -> Any:
        """The value as it may be printed."""
        return self.value if self.written is None else self.written

    @property
    def place(self) -> str:
        """`file:line` as far as known."""
        if self.file is None:
            return ""
        return self.file if self.line is None else f"{self.file}:{self.line}"


def find_project_file(cwd: Path) -> Path | None:
    """The nearest `vestig.yaml` from `cwd` upward.

    Raises:
        ConfigError: whether there is one cannot be known. It may name the store, so that going on
            without it could read and write another one.
    """
    for folder in (cwd, *cwd.parents):
        candidate = folder / PROJECT_FILE
        try:
            if is_file(candidate):
                return candidate
        except PermissionError as error:
            raise ConfigError(
                f"{candidate}: cannot be looked for: {error.strerror}; work in a folder that you"
                " may read, or name a configuration file (`config=`, `--config` or VESTIG_CONFIG)"
            ) from None
    return None


def without_tilde(text: str, what: str) -> Path:
    """A path with `~` and `~name` put in; `what` names it in the error.

    Raises:
        ConfigError: a user without a home.

    Example:
        >>> without_tilde("notes", "store.path").as_posix()
        'notes'
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ConfigError(
            f"{what}: expected a path, {text.partition('/')[0]!r} names no user with a home folder"
        ) from None


def missing_file_text(path: Path) -> str:
    """What is said about a file that was named and is not there."""
    return (
        f"configuration file not found: {path}; name an existing file, or leave the option"
        " out to run on defaults (`vestig config show` prints them)"
    )


def read_file(source: Source, problems: Problems) -> list[Item]:
    """Every key of a file and of what it includes, weakest first.

    Raises:
        ConfigNotFoundError: the file does not exist.
        ConfigError: unreadable, not a mapping, a wrong or circular include.
    """
    items = [_expanded(item, source, problems) for item in unexpanded(source, problems)]
    return with_weights(items, source.main.parent, problems)


def unexpanded(source: Source, problems: Problems) -> list[Item]:
    """As `read_file`, with values as they are written. Only names of includes are expanded."""
    if source.content(source.main) is None:
        raise ConfigNotFoundError(missing_file_text(source.main))
    return _read(source, source.main, str(source.main), problems, ())


def own_items(
    source: Source, path: Path, label: str, problems: Problems
) -> tuple[list[str], int | None, list[Item]]:
    """What one file says itself: the names of its includes as they are written, their line, and its
    keys; `label` names the file in messages."""
    document, lines = parse_file(source.content(path) or b"", label)
    if document is None and path == source.main:
        return [], None, []
    if not isinstance(document, dict):
        fact = "is empty" if document is None else f"holds a {type(document).__name__}"
        raise ConfigError(f"{label}: expected a mapping of keys to values, the file {fact}")
    own = dict(document)
    names = own.pop(INCLUDE, ())
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
        raise ConfigError(f"{label}: include: expected a file name or a list of file names")
    items = flatten(own, problems, file=label, lines=lines)
    placed = [msgspec.structs.replace(item, folder=str(path.parent)) for item in items]
    return list(names), lines.get(INCLUDE), placed


def _read(
    source: Source, path: Path, label: str, problems: Problems, above: tuple[tuple[Path, str], ...]
) -> list[Item]:
    paths = [step for step, _ in above]
    if path in paths:
        way = (*above[paths.index(path) :], (path, label))
        names = " → ".join(Path(name).name for _, name in way)
        raise ConfigError(f"{above[-1][1]}: include: the files include each other: {names}")
    items: list[Item] = []
    includes, _, own = own_items(source, path, label, problems)
    for name in includes:
        target = (path.parent / expand(name, source.variable, problems, label, INCLUDE)).resolve()
        if source.only is not None and target not in source.only:
            raise ConfigError(
                f"{label}: include: {name} is another file than when this one was trusted; look"
                f" at it, then run {trust_command(source.main)}"
            )
        if source.content(target) is None:
            raise ConfigError(f"{label}: include: file not found: {name}")
        shown = str(path.parent / name) if names_variable(name) else str(target)
        items += _read(source, target, shown, problems, (*above, (path, label)))
    return items + own


def with_weights(items: Iterable[Item], folder: Path, problems: Problems) -> list[Item]:
    """Items with every file of weights that they name read in its place: a mapping {kind: {term:
    number}}, or a file as `make learn` writes it. A relative path counts from `folder`."""
    found: list[Item] = []
    for item in items:
        if not names_weights_file(item):
            found.append(item)
            continue
        base = folder if item.folder is None else Path(item.folder)
        path = base / without_tilde(item.value, item.key)
        label = str(path) if item.written is None else str(base / item.written)
        raw = content_of(path)
        if raw is None:
            problems.add(item.place, item.key, f"file of weights not found: {label}")
        else:
            found += _weights_file(raw, label, item.key, problems)
    return found


def names_weights_file(item: Item) -> bool:
    """Says that an item names a file of weights instead of holding them."""
    return (profile_key(item.key) or item.key) == _WEIGHTS and isinstance(item.value, str)


def _weights_file(raw: bytes, label: str, key: str, problems: Problems) -> list[Item]:
    document, lines = parse_file(raw, label)
    if isinstance(document, dict) and "weights" in document:
        for name in sorted(document.keys() - {"version", "weights", "newest", "data", "figures"}):
            expected = "expected version, weights, newest, data and figures"
            problems.add(label, str(name), f"unknown member; {expected}")
        if document.get("version") != 1:
            problems.add(label, "version", f"expected 1, got {document.get('version')!r}")
        document = document["weights"]
        lines = {name.removeprefix("weights."): line for name, line in lines.items()}
    if not isinstance(document, dict):
        problems.add(label, "", "expected a mapping {kind: {term: number}}")
        return []
    placed = {f"{key}.{name}": line for name, line in lines.items()}
    return flatten({key: document}, problems, file=label, lines=placed)


def trust_command(path: Path) -> str:
    """The command after which a file that was found is trusted.

    Example:
        >>> trust_command(Path("/srv/a b/vestig.yaml"))
        "`vestig config trust '/srv/a b/vestig.yaml'`"
    """

    import shlex

    return f"`vestig config trust {shlex.quote(str(path))}`"


def profile_key(key: str) -> str | None:
    """The key that `recall.profiles.<name>.<key>` sets; None for any other key.

    Example:
        >>> profile_key("recall.profiles.fast.ranking.base")
        'ranking.base'
    """
    if not key.startswith(f"{_PROFILES}."):
        return None
    return key[len(_PROFILES) + 1 :].partition(".")[2]


def _expanded(item: Item, source: Source, problems: Problems) -> Item:
    """An item with the variables of its value put in, and a relative path made absolute against the
    file that names it."""
    value = _with_variables(item, source, problems)
    named = any(isinstance(part, str) and names_variable(part) for part in _parts(item.value))
    written = item.value if named else None
    if item.key in PATH_KEYS and isinstance(value, str) and value not in ("", MEMORY_PATH):
        base = Path(item.folder or "")
        value = os.path.normpath(base / without_tilde(value, item.key))
    return msgspec.structs.replace(item, value=value, written=written)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [part for inner in value.values() for part in _parts(inner)]
    return value if isinstance(value, list) else [value]


def _with_variables(item: Item, source: Source, problems: Problems) -> Any:
    """The value with its variables put in: of a text, of the texts of a flat list, or of those of
    a mapping."""

    def put_in(part: Any) -> Any:
        if isinstance(part, Mapping):
            return {name: put_in(inner) for name, inner in part.items()}
        if not isinstance(part, str) or "${" not in part:
            return part
        return expand(part, source.variable, problems, item.place, item.key)

    if isinstance(item.value, Mapping):
        return put_in(item.value)
    if isinstance(item.value, list):
        return [put_in(part) for part in item.value]
    text = put_in(item.value)
    if text is item.value:
        return text
    try:
        return read_scalar(text, profile_key(item.key) or item.key)
    except ValueError:
        return text


def flatten(
    document: Mapping[Any, Any],
    problems: Problems,
    *,
    file: str | None = None,
    lines: Mapping[str, int] | None = None,
) -> list[Item]:
    """Dotted keys of a nested mapping, old spellings as the keys that they stand for. A section
    set to null resets each of its keys.

    Example:
        >>> [(i.key, i.value) for i in flatten({"hygiene": {"min_chars": 0}}, Problems())]
        [('hygiene.min_chars', 0)]
    """
    items: list[Item] = []
    seen: dict[str, Item] = {}
    for key, value in _leaves(document, "", 0):
        line = _line_of(key, lines or {})
        name = _current(key)
        old = None if name == key else key
        item = Item(key=name, value=value, file=file, line=line, old=old)
        if key in seen:
            problems.add(item.place, key, "the key is given twice; keep one")
        seen[key] = item
        items.append(item)
    return items


def _line_of(key: str, lines: Mapping[str, int]) -> int | None:
    """The line of a key, or of the section that says it as a whole."""
    while key and key not in lines:
        key = key.rpartition(".")[0]
    return lines.get(key)


def _current(key: str) -> str:
    """The key that a spelling stands for, in a profile too."""
    inner = profile_key(key)
    return current_name(key) if not inner else key[: -len(inner)] + current_name(inner)


def _leaves(value: Mapping[Any, Any], prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        key = f"{prefix}{name}"
        section = key in sections() or key in old_sections()
        if takes_mapping(key):
            yield key, inner
        elif isinstance(inner, Mapping) and inner and depth < _DEPTH_MAX:
            yield from _leaves(inner, f"{key}.", depth + 1)
        elif inner is None and section:
            names = (*default_values(), *OLD_NAMES)
            yield from ((known, None) for known in names if known.startswith(f"{key}."))
        elif not (isinstance(inner, Mapping) and (section or _is_group(key))):
            yield key, inner


def _is_group(key: str) -> bool:
    """Whether an empty mapping says nothing here."""
    return key == _PROFILES or current_name(profile_key(key) or key) in entry_sections()
