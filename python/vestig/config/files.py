"""Configuration files: where they are, how they are read, what they include."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.config.aliases import OLD_NAMES, current_name, old_sections
from vestig.config.documents import BYTES_MAX, parse
from vestig.config.expand import expand, read_dotenv, read_scalar
from vestig.config.problems import Problems
from vestig.config.schema import entry_sections, key_specs, sections
from vestig.errors import ConfigError, ConfigNotFoundError

__all__ = [
    "Item",
    "find_project_file",
    "flatten",
    "profile_key",
    "read_file",
    "variables_for",
    "with_weights",
    "without_tilde",
]

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

    @property
    def place(self) -> str:
        """`file:line` as far as known."""
        if self.file is None:
            return ""
        return self.file if self.line is None else f"{self.file}:{self.line}"


def find_project_file(cwd: Path) -> Path | None:
    """The nearest `vestig.yaml` from `cwd` upward."""
    for folder in (cwd, *cwd.parents):
        candidate = folder / PROJECT_FILE
        if candidate.is_file():
            return candidate
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


def _is_file(path: Path) -> bool:
    """Whether a file is there; a name that no file can have is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def variables_for(project: Path | None, environ: Mapping[str, str]) -> dict[str, str]:
    """What `${VAR}` may name: the environment, and below it the `.env` beside the project file."""
    dotenv = {} if project is None else read_dotenv(project.parent / ".env")
    return {**dotenv, **environ}


def _load(path: Path) -> tuple[Any, dict[str, int]]:
    try:
        with path.open("rb") as file:
            raw = file.read(BYTES_MAX + 1)
        if len(raw) > BYTES_MAX:
            raise ConfigError(f"{path}: expected at most {BYTES_MAX} bytes, the file has more")
        return parse(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: expected UTF-8 text, byte {error.start} is none") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        where, _, what = str(error).partition(": ")
        place = f"{path}:{where[5:]}" if where.startswith("line ") and what else f"{path}"
        raise ConfigError(f"{place}: unreadable YAML: {what or where}") from None


def read_file(path: Path, variables: Mapping[str, str], problems: Problems) -> list[Item]:
    """Every key of a file and of what it includes, weakest first.

    Raises:
        ConfigNotFoundError: the file does not exist.
        ConfigError: unreadable, not a mapping, a wrong or circular include.
    """
    if not _is_file(path):
        raise ConfigNotFoundError(
            f"configuration file not found: {path}; name an existing file, or leave the option"
            " out to run on defaults (`vestig config show` prints them)"
        )
    return _read(path, variables, problems, ())


def _read(
    path: Path, variables: Mapping[str, str], problems: Problems, above: tuple[Path, ...]
) -> list[Item]:
    real = path.resolve()
    if real in above:
        names = " → ".join(p.name for p in (*above[above.index(real) :], real))
        raise ConfigError(f"{above[-1]}: include: the files include each other: {names}")
    document, lines = _load(real)
    if document is None and not above:
        return []
    if not isinstance(document, dict):
        fact = "is empty" if document is None else f"holds a {type(document).__name__}"
        raise ConfigError(f"{real}: expected a mapping of keys to values, the file {fact}")
    items: list[Item] = []
    own = dict(document)
    for name in _includes(own.pop("include", ()), real, variables, problems):
        target = Path(name)
        target = target if target.is_absolute() else real.parent / target
        if not _is_file(target):
            raise ConfigError(f"{real}: include: file not found: {name}")
        items.extend(_read(target, variables, problems, (*above, real)))
    for item in flatten(own, problems, file=str(real), lines=lines):
        value = _expand_value(item, variables, problems)
        items.append(msgspec.structs.replace(item, value=value))
    return with_weights(items, real.parent, problems)


def with_weights(items: Iterable[Item], folder: Path, problems: Problems) -> list[Item]:
    """Items with every file of weights that they name read in its place: a mapping {origin: {term:
    number}}, or a file as `make learn` writes it. A relative path counts from `folder`."""
    found: list[Item] = []
    for item in items:
        if (profile_key(item.key) or item.key) != _WEIGHTS or not isinstance(item.value, str):
            found.append(item)
            continue
        path = folder / without_tilde(item.value, item.key)
        if _is_file(path):
            found += _weights_file(path, item.key, problems)
        else:
            problems.add(item.place, item.key, f"file of weights not found: {path}")
    return found


def _weights_file(path: Path, key: str, problems: Problems) -> list[Item]:
    document, lines = _load(path)
    if isinstance(document, dict) and "origins" in document:
        for name in sorted(document.keys() - {"version", "origins"}):
            problems.add(str(path), str(name), "unknown member; expected version and origins")
        if document.get("version") != 1:
            problems.add(str(path), "version", f"expected 1, got {document.get('version')!r}")
        document = document["origins"]
        lines = {name.removeprefix("origins."): line for name, line in lines.items()}
    if not isinstance(document, dict):
        problems.add(str(path), "", "expected a mapping {origin: {term: number}}")
        return []
    placed = {f"{key}.{name}": line for name, line in lines.items()}
    return flatten({key: document}, problems, file=str(path), lines=placed)


def profile_key(key: str) -> str | None:
    """The key that `recall.profiles.<name>.<key>` sets; None for any other key.

    Example:
        >>> profile_key("recall.profiles.fast.ranking.base")
        'ranking.base'
    """
    if not key.startswith(f"{_PROFILES}."):
        return None
    return key[len(_PROFILES) + 1 :].partition(".")[2]


def _includes(
    value: Any, path: Path, variables: Mapping[str, str], problems: Problems
) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
        raise ConfigError(f"{path}: include: expected a file name or a list of file names")
    return [expand(name, variables, problems, str(path), "include") for name in names]


def _expand_value(item: Item, variables: Mapping[str, str], problems: Problems) -> Any:
    """The value with its variables put in: of a text, or of the texts of a flat list."""

    def put_in(part: Any) -> Any:
        if not isinstance(part, str) or "${" not in part:
            return part
        return expand(part, variables, problems, item.place, item.key)

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
        line = (lines or {}).get(key)
        name = _current(key)
        old = None if name == key else key
        item = Item(key=name, value=value, file=file, line=line, old=old)
        if key in seen:
            problems.add(item.place, key, "the key is given twice; keep one")
        seen[key] = item
        items.append(item)
    return items


def _current(key: str) -> str:
    """The key that a spelling stands for, in a profile too."""
    inner = profile_key(key)
    return current_name(key) if not inner else key[: -len(inner)] + current_name(inner)


def _leaves(value: Mapping[Any, Any], prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        key = f"{prefix}{name}"
        section = key in sections() or key in old_sections()
        if isinstance(inner, Mapping) and inner and depth < _DEPTH_MAX:
            yield from _leaves(inner, f"{key}.", depth + 1)
        elif inner is None and section:
            names = (*key_specs(), *OLD_NAMES)
            yield from ((known, None) for known in names if known.startswith(f"{key}."))
        elif not (isinstance(inner, Mapping) and (section or _is_group(key))):
            yield key, inner


def _is_group(key: str) -> bool:
    """Whether an empty mapping says nothing here."""
    return key == _PROFILES or current_name(profile_key(key) or key) in entry_sections()
