"""Which project files are trusted, and what one that was merely found may set.

A folder that somebody else filled lies above the working directory sooner or later. What is found
there may change how memories are ranked and shown, and nothing else: it decides for no text whether
it is kept, and leads to no provider, address, path, namespace, variable or other file. `vestig
config trust FILE` records the real path and the hash of a file and of all that it reads in the
user's state folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from vestig.config.expand import names_variable
from vestig.config.files import (
    INCLUDE,
    Item,
    own_items,
    profile_key,
    read_file,
    trust_command,
    unexpanded,
)
from vestig.config.folders import state_directory
from vestig.config.problems import Problems
from vestig.config.schema import mapping_of, sections, spec_of
from vestig.config.secrets import without_credentials
from vestig.config.sources import Source, content_of
from vestig.errors import ConfigError, NotFoundError
from vestig.private_folder import make_private_folder

__all__ = ["TrustedFile", "found_file_may_set", "found_items", "trust", "trusted_files", "untrust"]

_FOLDER: Final = "trusted"
# Keys and sections that a file may set wherever it was found, and what of them it may not. What
# stands in neither is refused: a new key is, until somebody decides that it loses no text.
_ANYWHERE: Final = (
    "time.zone",
    "usage",
    "links",
    "questions",
    "walk",
    "ranking",
    "reference",
    "signals",
    "recall",
    "search",
    "decay",
    "retrieve",
)
_TRUSTED_ONLY: Final = frozenset(
    (
        "questions.model",
        "ranking.weights",
        "recall.synthesize",
        "recall.query_entities",
        "retrieve.llm",
        "retrieve.llm_max_calls",
        "retrieve.message_blacklist",
    )
)


class TrustedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file with a record: whether what it says is still what was trusted.

    `reads` are the further files that the record covers; `keys` what only a trusted file may say,
    each as `file:line: key = value as written`, of a file that has just been trusted.
    """

    file: str
    state: Literal["trusted", "changed", "gone", "removed"]
    reads: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What lies in the state folder: the real path, and each file's SHA-256; null: it is absent."""

    version: Literal[1] = 1
    path: str
    files: dict[str, str | None]


def found_file_may_set(key: str) -> bool:
    """Says that a file that was merely found may set a key, or a section as a whole.

    Example:
        >>> found_file_may_set("ranking.base"), found_file_may_set("embedding.base_url")
        (True, False)
    """
    within = any(_is_part(key, name) for name in _ANYWHERE)
    return within and not any(_is_part(key, name) or _is_part(name, key) for name in _TRUSTED_ONLY)


def _is_part(key: str, name: str) -> bool:
    return key == name or key.startswith(f"{name}.")


def found_items(source: Source, environ: Mapping[str, str], problems: Problems) -> list[Item]:
    """Every key of a project file that nobody named.

    Args:
        source: the file.
        environ: says where the user's state folder is.
        problems: takes what is wrong with the keys.

    Raises:
        InvalidConfigError: the file says what only a trusted one may; names each and the command.
        ConfigError: as `read_file`.
    """
    refused = list(_beyond(source))
    if refused:
        record = _record_of(source.main, state_directory(environ))
        if record is None or not _unchanged(record, source):
            _refuse(source, refused, known=record is not None)
        else:
            source.only = frozenset(Path(name) for name in record.files)
    return read_file(source, problems)


def _beyond(source: Source) -> Iterator[Item]:
    """What the main file says that only a trusted one may; nothing else is opened."""
    label = str(source.main)
    includes, line, items = own_items(source, source.main, label, Problems())
    for name in includes:
        yield Item(key=INCLUDE, value=name, file=label, line=line)
    yield from _trusted_only(items)


def _trusted_only(items: list[Item]) -> Iterator[Item]:
    for item in items:
        if _names_variables(item.value) or _is_beyond(item):
            yield item


def _is_beyond(item: Item) -> bool:
    inner = profile_key(item.key)
    key = item.key if inner is None else inner
    known = spec_of(key) is not None or mapping_of(key) is not None or key in sections()
    return known and not found_file_may_set(key)


def _names_variables(value: Any) -> bool:
    if isinstance(value, str):
        return names_variable(value)
    if isinstance(value, dict):
        return any(_names_variables(part) for part in value.values())
    return isinstance(value, list) and any(_names_variables(part) for part in value)


def _refuse(source: Source, refused: list[Item], *, known: bool) -> None:
    """Raises one error that names all of it."""
    problems = Problems()
    why = ", and this one or a file that it reads has changed since it was trusted" if known else ""
    for item in refused:
        if item.key == INCLUDE:
            what = "may include another file"
        elif _names_variables(item.value):
            what = "may name a variable"
        else:
            what = "may set this"
        problems.add(
            item.place,
            item.old or item.key,
            f"only a trusted file {what}{why}; look at it, then run {trust_command(source.main)}",
        )
    problems.raise_if_any()


def trust(path: Path, environ: Mapping[str, str] | None = None) -> TrustedFile:
    """Records a file, all that it includes and its `.env` as they are.

    Args:
        path: the file.
        environ: default the environment of the process.

    Raises:
        ConfigNotFoundError: the file does not exist.
        ConfigError: it cannot be read, or the record cannot be written.
    """
    source = Source(path, os.environ if environ is None else environ)
    problems = Problems()
    items = unexpanded(source, problems)
    problems.raise_if_any()
    source.content(source.dotenv)
    files = {str(name): _digest(raw) for name, raw in source.contents().items()}
    try:
        packed = msgspec.json.encode(_Record(path=str(source.main), files=files))
    except UnicodeEncodeError:
        raise ConfigError(f"{path}: expected paths in UTF-8; rename the file") from None
    _write(_place(source.main, state_directory(environ)), packed)
    return TrustedFile(
        file=str(source.main),
        state="trusted",
        reads=tuple(name for name, digest in files.items() if digest is not None)[1:],
        keys=tuple(
            f"{item.place}: {item.key} = {without_credentials(item.value)}"
            for item in _trusted_only(items)
        ),
    )


def trusted_files(environ: Mapping[str, str] | None = None) -> list[TrustedFile]:
    """Every file with a record, by path.

    Raises:
        ConfigError: a record that cannot be read.
    """
    found = []
    for place in (state_directory(environ) / _FOLDER).glob("*.json"):
        record = _read_record(place)
        if record is None:  # taken back meanwhile
            continue
        source = Source(Path(record.path), {})
        if source.content(source.main) is None:
            now: Literal["trusted", "changed", "gone"] = "gone"
        else:
            now = "trusted" if _unchanged(record, source) else "changed"
        reads = tuple(n for n, digest in record.files.items() if digest and n != record.path)
        found.append(TrustedFile(file=record.path, state=now, reads=reads))
    return sorted(found, key=lambda row: row.file)


def untrust(path: Path, environ: Mapping[str, str] | None = None) -> TrustedFile:
    """Takes the record of a file back.

    Raises:
        NotFoundError: it has none.
    """
    main = path.resolve()
    try:
        _place(main, state_directory(environ)).unlink()
    except FileNotFoundError:
        raise NotFoundError(
            "trusted file", str(main), "`vestig config trust --list` names them"
        ) from None
    return TrustedFile(file=str(main), state="removed")


def _place(main: Path, state: Path) -> Path:
    name = hashlib.sha256(os.fsencode(main)).hexdigest()[:32]
    return state / _FOLDER / f"{name}.json"


def _digest(raw: bytes | None) -> str | None:
    return None if raw is None else hashlib.sha256(raw).hexdigest()


def _record_of(main: Path, state: Path) -> _Record | None:
    place = _place(main, state)
    record = _read_record(place)
    return record if record is not None and record.path == str(main) else None


def _read_record(place: Path) -> _Record | None:
    raw = content_of(place)
    try:
        return None if raw is None else msgspec.json.decode(raw, type=_Record)
    except msgspec.DecodeError as error:
        raise ConfigError(
            f"{place}: expected the record of a trusted file: {error}; delete it and trust the"
            " file again"
        ) from None


def _unchanged(record: _Record, source: Source) -> bool:
    """Whether every file is as it was recorded; `source` keeps the bytes that were compared."""
    return record.files.get(record.path) is not None and all(
        _digest(source.content(Path(name))) == digest for name, digest in record.files.items()
    )


def _write(place: Path, raw: bytes) -> None:
    """Whole or not at all, readable by the user alone."""
    import tempfile

    try:
        make_private_folder(place.parent)
        descriptor, name = tempfile.mkstemp(dir=place.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.chmod(name, 0o600)
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, place)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise ConfigError(f"{place}: cannot be written: {error.strerror}") from None
