"""Benchmarks: folders of labelled questions over a corpus.

A folder holds `corpus.jsonl` (one unit a line, with the keys of an imported transcript) and
`queries.jsonl` (`id`, `text`, `relevant`, and where known `date`, `category`, `conversation`), or
both with `.gz`. A question concerns the units of its own conversation; ids of units are
unique within a conversation.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.arguments import parse_time
from vestig.errors import ValidationError
from vestig.json_text import read_json

__all__ = ["SHIPPED", "Benchmark", "Query", "Unit", "read_benchmark", "without_categories"]

# The benchmark that comes with the package.
SHIPPED: Final = Path(__file__).resolve().parent.parent / "data" / "benchmark"
UNCATEGORISED: Final = "uncategorised"

_TEXT: Final = ("content", "text")
_AUTHOR: Final = ("author", "author_name", "speaker")
_ID: Final = ("message_id", "id")
_CONVERSATION: Final = ("scope", "channel_id", "conversation")


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the corpus: what the labels of a question refer to."""

    id: str
    text: str
    author: str | None

    @property
    def embedded_text(self) -> str:
        """`author: text`, or the text of a unit without author.

        Example:
            >>> Unit(id="1", text="Hello", author="Ada").embedded_text
            'Ada: Hello'
        """
        return f"{self.author}: {self.text}" if self.author else self.text


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A labelled question. `relevant`: ids of the units that answer it. `date`: query time,
    null = the end of its conversation."""

    id: str
    text: str
    relevant: frozenset[str]
    category: str
    conversation: str | None
    date: str | None


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """Units by conversation, in the order of the corpus, and the questions."""

    name: str
    corpus: Path
    digest: str
    units: dict[str | None, tuple[Unit, ...]]
    queries: tuple[Query, ...]
    left_out: tuple[str, ...] = ()

    @property
    def unit_count(self) -> int:
        """Lines of the corpus."""
        return sum(len(units) for units in self.units.values())

    @property
    def categories(self) -> dict[str, int]:
        """Category → number of questions, by name."""
        names = sorted({query.category for query in self.queries})
        return {name: sum(query.category == name for query in self.queries) for name in names}


def read_benchmark(folder: str | os.PathLike[str]) -> Benchmark:
    """Reads and checks a benchmark.

    Raises:
        ValidationError: a file is missing or unreadable, there is no question, or a label names a
            unit that does not exist.
    """
    place = Path(folder).expanduser()
    name = "shipped" if place.resolve() == SHIPPED else place.resolve().name
    corpus, questions = _file(place, "corpus"), _file(place, "queries")
    units: dict[str | None, list[Unit]] = {}
    for where, row in _rows(corpus):
        unit = Unit(
            id=_name(row, _ID, where),
            text=_text(row, where),
            author=_optional(row, _AUTHOR, where),
        )
        units.setdefault(_optional(row, _CONVERSATION, where), []).append(unit)
    known = {key: frozenset(unit.id for unit in found) for key, found in units.items()}
    for key, ids in known.items():
        if len(ids) < len(units[key]):
            raise ValidationError(
                "benchmark", name, "units with ids of their own", f"{corpus.name}: an id repeats"
            )
    queries = tuple(_query(row, where, known) for where, row in _rows(questions))
    if not queries:
        raise ValidationError("benchmark", name, "at least one query", "there is nothing to ask")
    return Benchmark(
        name=name,
        corpus=corpus,
        digest=_digest((corpus, questions)),
        units={key: tuple(found) for key, found in units.items()},
        queries=queries,
    )


def without_categories(benchmark: Benchmark, left_out: Sequence[str]) -> Benchmark:
    """The benchmark without the questions of these categories.

    Raises:
        ValidationError: no question is left.
    """
    gone = tuple(name for name in sorted(set(left_out)) if name in benchmark.categories)
    kept = tuple(query for query in benchmark.queries if query.category not in gone)
    if not kept:
        raise ValidationError("leave_out", ", ".join(gone), "categories that leave queries")
    return msgspec.structs.replace(benchmark, queries=kept, left_out=gone)


def _file(folder: Path, stem: str) -> Path:
    for name in (f"{stem}.jsonl", f"{stem}.jsonl.gz"):
        if (folder / name).is_file():
            return folder / name
    raise ValidationError(
        "benchmark", str(folder), f"a folder with {stem}.jsonl or {stem}.jsonl.gz", "none is there"
    )


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, object) of every line that is not blank."""
    opened = gzip.open if path.suffix == ".gz" else open
    number = 0
    try:
        with opened(path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                row = read_json(line)
                if not isinstance(row, dict):
                    raise msgspec.DecodeError("no object")
                yield f"{path.name}:{number}", row
    except (msgspec.DecodeError, UnicodeDecodeError, EOFError, gzip.BadGzipFile):
        raise ValidationError(
            "benchmark", f"{path.name}:{number}", "JSON lines", "this line cannot be read"
        ) from None


def _first(row: dict[str, Any], keys: Sequence[str]) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _word(value: Any) -> str | None:
    """A text, or a number as text, as import takes it; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def _name(row: dict[str, Any], keys: Sequence[str], where: str) -> str:
    found = _word(_first(row, keys))
    if not found:
        raise ValidationError("benchmark", where, f"a text under {' or '.join(keys)}")
    return found


def _text(row: dict[str, Any], where: str) -> str:
    found = _first(row, _TEXT)
    if not isinstance(found, str):
        raise ValidationError("benchmark", where, f"a text under {' or '.join(_TEXT)}")
    return found


def _optional(row: dict[str, Any], keys: Sequence[str], where: str) -> str | None:
    value = _first(row, keys)
    found = _word(value)
    if value is not None and found is None:
        raise ValidationError("benchmark", where, f"a text or null under {' or '.join(keys)}")
    return found


def _query(row: dict[str, Any], where: str, known: dict[str | None, frozenset[str]]) -> Query:
    conversation = _optional(row, ("conversation",), where)
    labels = row.get("relevant")
    relevant = [_word(label) for label in labels] if isinstance(labels, list) else []
    if not relevant:
        raise ValidationError("benchmark", where, "a list of ids under relevant")
    missing = sum(label not in known.get(conversation, frozenset()) for label in relevant)
    if missing:
        raise ValidationError(
            "benchmark",
            where,
            "relevant ids of units of the query's conversation",
            f"{missing} of {len(relevant)} do not exist",
        )
    text = _text(row, where)
    if not text.strip():
        raise ValidationError("benchmark", where, "a question that is not blank")
    category = _optional(row, ("category",), where)
    date = row.get("date")
    if date is not None:
        parse_time(date, f"benchmark, {where}, date")
    return Query(
        id=_name(row, ("id",), where),
        text=text,
        relevant=frozenset(label for label in relevant if label is not None),
        category=UNCATEGORISED if category is None else category,
        conversation=conversation,
        date=date,
    )


def _digest(paths: Sequence[Path]) -> str:
    """SHA-256 over the unpacked files, so that packing does not change it."""
    whole = hashlib.sha256()
    for path in paths:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rb") as file:
            while block := file.read(1 << 20):
                whole.update(block)
        whole.update(b"\0")
    return whole.hexdigest()
