"""Configuration files and variables: where they are, what they say, and their faults, reported
together.

Each file is read once, so what was checked is what is used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.arguments import is_address
from vestig.config.documents import BYTES_MAX, parse, parse_value
from vestig.config.schema import (
    default_values,
    entry_sections,
    entry_specs,
    mapping_of,
    sections,
    spec_of,
    stages,
    takes_mapping,
)
from vestig.errors import ConfigError
from vestig.other_words import nearest


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One fault: where (file or layer), which key, what is wrong, what is allowed."""

    place: str
    key: str
    message: str
    allowed: str = ""

    def text(self) -> str:
        """One line for a human."""
        where = f"{self.place}: " if self.place else ""
        subject = f"{self.key}: " if self.key else ""
        return f"{where}{subject}{self.message}"


class InvalidConfigError(ConfigError):
    """A `ConfigError` that lists every fault found in `problems`."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [problem.text() for problem in self.problems]
        if len(lines) > 1:
            head = f"{len(lines)} problems in the configuration:"
            super().__init__("\n".join([head, *(f"- {line}" for line in lines)]))
        else:
            super().__init__(lines[0])


# To find the nearest valid key of each of thousands would take minutes.
_ENOUGH: Final = 20
_KEY_CHARS_MAX: Final = 100
_MESSAGE_CHARS_MAX: Final = 2_000


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"


class Problems:
    """Collects faults; `raise_if_any` ends the work once, with all of them."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def add(self, place: str, key: str, message: str, allowed: str = "") -> None:
        """Notes one fault; the same fault twice is noted once."""
        problem = Problem(
            place=place,
            key=_cut(key, _KEY_CHARS_MAX),
            message=_cut(message, _MESSAGE_CHARS_MAX),
            allowed=allowed,
        )
        if problem not in self._found:
            self._found.append(problem)

    @property
    def enough(self) -> bool:
        """Return whether so many were found that no more are looked for."""
        return len(self._found) >= _ENOUGH

    def raise_if_any(self) -> None:
        """Raises `InvalidConfigError` when a fault was noted."""
        if self._found:
            raise InvalidConfigError(self._found)


MEMORY_PATH: Final = ":memory:"
STORE_PATH: Final = "store.path"
# Keys whose value is a path; a relative one counts from the file that names it.
PATH_KEYS: Final = (STORE_PATH, "retrieve.message_blacklist", "anchors.folder")
PROJECT_FILE: Final = "vestig.yaml"
_PROFILES: Final = "recall.profiles"
_WEIGHTS: Final = "ranking.weights"
_DEPTH_MAX: Final = 12
# What a section that is null says of each of its keys.
_RESET: Final = object()


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One value that one layer gives to one key; `file` is the path that says so. `by_section`: a
    section that is null says it of each of its keys."""

    key: str
    value: Any
    file: str | None = None
    line: int | None = None
    by_section: bool = False

    @property
    def place(self) -> str:
        """`file:line` as far as known."""
        if self.file is None:
            return ""
        return self.file if self.line is None else f"{self.file}:{self.line}"


class FileNotPermittedError(ConfigError):
    """A file that this user may not read, or may not know of."""


def working_folder() -> Path:
    """Return the folder that relative paths count from.

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
    """Tell if a file is there; a name that no file can have is none, nor is a device, such as
    /dev/null.

    Raises:
        PermissionError: it may not be known, for a folder on the way may not be searched.
        ConfigError: a link on the way leads nowhere, or something else has the name. What it is to
            say may name the store, and going on without it would use another one.
    """
    try:
        mode = path.stat().st_mode
    except PermissionError:
        raise
    except ValueError:
        return False
    except OSError as error:
        if (link := _broken_link(path)) is None:
            return False
        raise ConfigError(
            f"{link}: expected a link to what is there, it leads nowhere ({error.strerror}); bring"
            " its target back, or remove the link"
        ) from None
    if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
        found = "a folder" if stat.S_ISDIR(mode) else "something else"
        raise ConfigError(f"{path}: expected a file, found {found}; move it away")
    return stat.S_ISREG(mode)


def _broken_link(path: Path) -> Path | None:
    """The link on the way to a path whose target is missing; None where there is none."""
    for place in (path, *path.parents):
        if os.path.exists(place):
            return None
        if os.path.islink(place):
            return place
    return None


def content_of(path: Path) -> bytes | None:
    """Return the bytes of a file; None: there is none.

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


def parse_file(raw: bytes, label: str) -> tuple[Any, dict[str, int]]:
    """Return the document of a file and the lines of its keys.

    Raises:
        ConfigError: unreadable, or beyond a bound; `label` names the file.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{label}: expected UTF-8 text, byte {error.start} is none") from None
    try:
        return parse(text)
    except ValueError as error:
        where, _, what = str(error).partition(": ")
        place = f"{label}:{where[5:]}" if where.startswith("line ") and what else label
        raise ConfigError(f"{place}: unreadable YAML: {what or where}") from None


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
    """Return what is said about a file that was named and is not there."""
    return (
        f"configuration file not found: {path}; name an existing file, or leave the option"
        " out to run on defaults (`vestig config show` prints them)"
    )


def read_file(path: Path, raw: bytes, problems: Problems) -> list[Item]:
    """Return every key that the bytes of a file set.

    Raises:
        ConfigError: unreadable, or not a mapping.
    """
    label = str(path)
    document, lines = parse_file(raw, label)
    if document is None:
        return []
    if not isinstance(document, dict):
        raise ConfigError(
            f"{label}: expected a mapping of keys to values, the file holds a"
            f" {type(document).__name__}"
        )
    return flatten(document, problems, file=label, lines=lines)


def with_paths(items: Iterable[Item], folder: Path, problems: Problems) -> list[Item]:
    """Return the items of a file or of variables, relative paths counted from a folder, and every
    file of weights that they name read in its place."""
    placed = []
    for item in with_weights(items, folder, problems):
        if item.key in PATH_KEYS and is_path(item.value):
            value = os.path.normpath(folder / without_tilde(item.value, item.key))
            placed.append(msgspec.structs.replace(item, value=value))
        else:
            placed.append(item)
    return placed


def is_path(value: object) -> bool:
    """Return whether a value of `store.path` is a folder's."""
    return isinstance(value, str) and value not in ("", MEMORY_PATH) and not is_address(value)


def with_weights(items: Iterable[Item], folder: Path, problems: Problems) -> list[Item]:
    """Return the items with every file of weights that they name read in its place: a mapping
    {kind: {term: number}}, or a file as `make learn` writes it. A relative path counts from
    `folder`."""
    found: list[Item] = []
    for item in items:
        if not names_weights_file(item):
            found.append(item)
            continue
        path = folder / without_tilde(item.value, item.key)
        raw = content_of(path)
        if raw is None:
            problems.add(item.place, item.key, f"file of weights not found: {path}")
        else:
            found += _weights_file(raw, str(path), item.key, problems)
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


def profile_key(key: str) -> str | None:
    """The key that `recall.profiles.<name>.<key>` sets; None for any other key.

    Example:
        >>> profile_key("recall.profiles.fast.ranking.base")
        'ranking.base'
    """
    if not key.startswith(f"{_PROFILES}."):
        return None
    return key[len(_PROFILES) + 1 :].partition(".")[2]


def flatten(
    document: Mapping[Any, Any],
    problems: Problems,
    *,
    file: str | None = None,
    lines: Mapping[str, int] | None = None,
) -> list[Item]:
    """Dotted keys of a nested mapping. A section set to null resets each of its keys.

    Example:
        >>> [(i.key, i.value) for i in flatten({"hygiene": {"min_chars": 0}}, Problems())]
        [('hygiene.min_chars', 0)]
    """
    items: list[Item] = []
    seen: dict[str, Item] = {}
    for key, value in _leaves(document, "", 0):
        reset = value is _RESET
        item = Item(
            key=key,
            value=None if reset else value,
            file=file,
            line=_line_of(key, lines or {}),
            by_section=reset,
        )
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


def _leaves(value: Mapping[Any, Any], prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        key = f"{prefix}{name}"
        section = key in sections()
        if takes_mapping(key):
            yield key, inner
        elif isinstance(inner, Mapping) and inner and depth < _DEPTH_MAX:
            yield from _leaves(inner, f"{key}.", depth + 1)
        elif inner is None and section:
            yield from ((one, _RESET) for one in default_values() if one.startswith(f"{key}."))
        elif not (isinstance(inner, Mapping) and (section or _is_group(key))):
            yield key, inner


def _is_group(key: str) -> bool:
    """Return whether an empty mapping says nothing here."""
    return key == _PROFILES or (profile_key(key) or key) in entry_sections()


# Reserved variables and the key that each one sets; VESTIG_CONFIG names a file instead.
RESERVED: Final[Mapping[str, str | None]] = {
    "VESTIG_STORE": "store.path",
    "VESTIG_CONFIG": None,
    "VESTIG_PROFILE": "recall.profile",
    "VESTIG_NAMESPACE": "namespace",
}
_PREFIX: Final = "VESTIG_"
_TEST_PREFIX: Final = "VESTIG_TEST_"


def read_scalar(text: str, key: str) -> Any:
    """A value written as one text: a YAML scalar, but text where the key takes only text."""
    spec = spec_of(key)
    if spec is not None and spec.takes_text and not spec.takes_other:
        return None if text in ("null", "~") else text
    return parse_value(text)


def _key_of(variable: str) -> str:
    parts = variable[len(_PREFIX) :].split("__")
    wanted = ".".join(parts).lower()
    return wanted if wanted in default_values() else _in_small_letters().get(wanted, wanted)


@cache
def _in_small_letters() -> Mapping[str, str]:
    """Every key by itself in small letters."""
    return {key.lower(): key for key in (*stages(), *default_values(), *entry_specs())}


def _variable_of(key: str) -> str:
    return _PREFIX + key.replace(".", "__").upper()


def _instead_of(variable: str) -> str:
    """The clause behind an unknown variable: the one that is near, else how they are named."""
    names = {_variable_of(name): name for name in _in_small_letters().values()}
    found = nearest(variable, (*RESERVED, *names))
    if found:
        return (
            f"; the nearest valid one is {_variable_of(names[found]) if found in names else found}"
        )
    # the section, then the last words of one of its keys
    section, _, words = variable[len(_PREFIX) :].replace("__", "_").partition("_")
    own = [name for name in names if name.startswith(f"{_PREFIX}{section}__")]
    ending = [name for name in own if words and name.endswith(f"_{words}")]
    if len(ending) == 1:
        return f"; {names[ending[0]]} is set by {ending[0]}"
    # a key without its section
    alone = variable[len(_PREFIX) :]
    bare = [name for name in names if name.rpartition("__")[2] in (alone, f"{alone}_ENV")]
    if len(bare) > 1:
        return f"; of this name are {', '.join(sorted(bare))}"
    if bare:
        holds = ", to the name of the variable that holds it" if bare[0].endswith("_ENV") else ""
        return f"; {names[bare[0]]} is set by {bare[0]}{holds}"
    return "; recall.silence is set by VESTIG_RECALL__SILENCE, and every other key likewise"


def environment_settings(
    environ: Mapping[str, str], problems: Problems
) -> list[tuple[str, Any, str]]:
    """(key, value, variable) for every `VESTIG_*` that sets a key; unknown ones are noted.

    Example:
        >>> environment_settings({"VESTIG_HYGIENE__MIN_CHARS": "3"}, Problems())
        [('hygiene.min_chars', 3, 'VESTIG_HYGIENE__MIN_CHARS')]
    """
    found: list[tuple[str, Any, str]] = []
    for variable in sorted(environ):
        if not variable.startswith(_PREFIX) or variable.startswith(_TEST_PREFIX):
            continue
        if variable in RESERVED:
            key = RESERVED[variable]
            if key is not None:
                found.append((key, environ[variable], variable))
            continue
        key = _key_of(variable)
        if spec_of(key) is None and key not in stages():
            problems.add(
                "environment",
                variable,
                f"unknown variable{_instead_of(variable)}",
            )
            continue
        try:
            value = read_scalar(environ[variable], key)
        except ValueError as error:
            problems.add("environment", variable, f"expected one YAML value: {error}")
            continue
        found.append((key, value, variable))
    return found


# Keys and sections that a file may set wherever it was found, and what of them it may not. What
# stands in neither is refused: a new key is, until somebody decides that it loses no text.
_ANYWHERE: Final = (
    "time.zone", "usage", "links", "questions", "walk", "ranking", "reference", "signals",
    "judge", "recall", "search", "decay", "retrieve",
)  # fmt: skip
_OF_NAMED_FILES: Final = (
    "questions.model", "ranking.weights", "recall.synthesize", "recall.query_entities",
    "retrieve.llm", "retrieve.llm_max_calls", "retrieve.message_blacklist",
)  # fmt: skip


def found_file_may_set(key: str) -> bool:
    """Say that a file that was merely found may set a key, or a section as a whole.

    Example:
        >>> found_file_may_set("ranking.base"), found_file_may_set("embedding.base_url")
        (True, False)
    """
    within = _is_of_open_section(key)
    of_named = any(_is_part(key, name) or _is_part(name, key) for name in _OF_NAMED_FILES)
    return within and not of_named


def found_items(path: Path, items: list[Item]) -> list[Item]:
    """Return what a found file sets: nothing of a key that only a named one may set, where its
    section is null, and not it by name.

    Raises:
        InvalidConfigError: it sets one by name; names each with its line, and how the file is
            named.
    """
    # imported here: most starts find no file
    import shlex

    problems = Problems()
    named = shlex.quote(str(path))
    left = [
        item
        for item in items
        if not (item.by_section and _is_refused(item) and _is_of_open_section(item.key))
    ]
    for item in left:
        # an open section that has a value is refused for that, whoever named the file
        if _is_refused(item) and item.key not in _ANYWHERE:
            problems.add(
                item.place,
                item.key,
                "only a file that you name may set this, and this one was merely found; look at"
                f" it, then name it with --config {named}, VESTIG_CONFIG={named} or config=",
            )
    problems.raise_if_any()
    return left


def _is_of_open_section(key: str) -> bool:
    return any(_is_part(key, name) for name in _ANYWHERE)


def _is_part(key: str, name: str) -> bool:
    return key == name or key.startswith(f"{name}.")


def _is_refused(item: Item) -> bool:
    key = profile_key(item.key) or item.key
    known = spec_of(key) is not None or mapping_of(key) is not None or key in sections()
    return known and not found_file_may_set(key)
