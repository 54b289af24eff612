"""Benchmarks: folders of labelled questions over a corpus.

A folder holds `corpus.jsonl` (one unit a line, with the keys of an imported transcript) and
`queries.jsonl` (`id`, `text`, `relevant`, and where known `date`, `category`, `conversation`,
`outdated`, `as_of`), or both with `.gz`. A question concerns the units of its own conversation; ids
of units are unique within a conversation. One whose `relevant` is empty has no answer there.

In place of `corpus.jsonl` there may be a folder `documents`: a unit is a passage of one of its
files. A question then names the passages that answer it by `document` and `quote`, a text that
stands in them.

A folder of worlds holds such a folder for each whole store: each is a conversation.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.arguments import parse_time
from vestig.errors import ValidationError
from vestig.exchange.document_text import FrontMatter, front_matter
from vestig.exchange.passages import Markup, cut_document
from vestig.json_text import read_json
from vestig.times import from_us

# The folder of a benchmark in which its documents lie.
DOCUMENTS: Final = "documents"
# The benchmark of this repository.
SHIPPED: Final = Path(__file__).resolve().parent.parent / "shipped"
UNCATEGORISED: Final = "uncategorised"
_TEXT: Final = ("content", "text")
_AUTHOR: Final = ("author", "author_name", "speaker")
_ID: Final = ("message_id", "id")
_TIME: Final = ("timestamp", "date", "created_at")
_CONVERSATION: Final = ("scope", "channel_id", "conversation")
_SESSION: Final = ("session_id", "session")
_SEQUENCE: Final = ("sequence", "turn")


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the corpus: what the labels of a question refer to. `time`: in µs. `sequence`:
    the place of a turn in its session."""

    id: str
    text: str
    author: str | None
    role: str | None = None
    time: int | None = None
    title: str | None = None
    session: str | None = None
    sequence: int | None = None

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
    null = the end of its conversation. `outdated`: units that state what `relevant` has replaced.
    `as_of`: only what is not later than the day of `date` may be used."""

    id: str
    text: str
    relevant: frozenset[str]
    category: str
    conversation: str | None
    date: str | None
    outdated: frozenset[str] = frozenset()
    as_of: bool = False

    @property
    def until(self) -> datetime | None:
        """The end of the day that the question is asked on, where nothing later may be used."""
        if not self.as_of:
            return None
        day = from_us(parse_time(self.date, "date")).date() + timedelta(days=1)
        return datetime(day.year, day.month, day.day, tzinfo=UTC)


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """Units by conversation, in the order of the corpus, and the questions.

    `corpora`: the files or folders of documents, each with the conversation that all of its units
    belong to (None = that which each names). `unanswerable`: questions that no unit answers.
    """

    name: str
    corpora: tuple[tuple[str | None, Path], ...]
    digest: str
    units: dict[str | None, tuple[Unit, ...]]
    queries: tuple[Query, ...]
    unanswerable: tuple[Query, ...] = ()
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
    files = _files(place)
    units: dict[str | None, list[Unit]] = {}
    for world, corpus, _ in files:
        for where, row in passages(corpus) if corpus.is_dir() else _rows(corpus):
            unit = Unit(
                id=_name(row, _ID, where),
                text=_text(row, where),
                author=_optional(row, _AUTHOR, where),
                role=_optional(row, ("role",), where),
                time=_time(row, where),
                title=_optional(row, ("title",), where),
                session=_optional(row, _SESSION, where),
                sequence=_sequence(row, where),
            )
            conversation = _optional(row, _CONVERSATION, where) if world is None else world
            units.setdefault(conversation, []).append(unit)
    known = {key: frozenset(unit.id for unit in found) for key, found in units.items()}
    for key, ids in known.items():
        if len(ids) < len(units[key]):
            raise ValidationError(
                "benchmark",
                name,
                "units with ids of their own",
                f"{key or 'corpus'}: an id repeats",
            )
    queries = [
        _query(_labelled(row, where, corpus, units.get(world, ())), where, known, world)
        for world, corpus, questions in files
        for where, row in _rows(questions)
    ]
    answerable = tuple(query for query in queries if query.relevant)
    if not answerable:
        raise ValidationError("benchmark", name, "at least one query", "there is nothing to ask")
    return Benchmark(
        name=name,
        corpora=tuple((world, corpus) for world, corpus, _ in files),
        digest=_digest([path for _, *pair in files for one in pair for path in _parts(one)]),
        units={key: tuple(found) for key, found in units.items()},
        queries=answerable,
        unanswerable=tuple(query for query in queries if not query.relevant),
    )


def _files(place: Path) -> list[tuple[str | None, Path, Path]]:
    """(conversation, corpus, questions) of a benchmark, or of each world of a folder of worlds."""
    if place.is_dir() and not _has_corpus(place):
        found = [one for one in sorted(place.iterdir()) if _has_corpus(one)]
        if found:
            return [(one.name, _corpus(one), _file(one, "queries")) for one in found]
    return [(None, _corpus(place), _file(place, "queries"))]


def _has_corpus(folder: Path) -> bool:
    return any(folder.glob("corpus.jsonl*")) or (folder / DOCUMENTS).is_dir()


def _corpus(folder: Path) -> Path:
    """The folder of documents, or the file of units."""
    documents = folder / DOCUMENTS
    return documents if documents.is_dir() else _file(folder, "corpus")


def document_files(folder: Path) -> list[Path]:
    """The files below a folder, by path."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def passages(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(document, passage) of every document below a folder, as import cuts it. A passage has the
    keys of an imported transcript, `id` is the document's path in the folder, `#` and its number.

    Raises:
        ValidationError: a file is no UTF-8 text.
    """
    for path in document_files(folder):
        name = path.relative_to(folder).as_posix()
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValidationError(
                "benchmark", name, "documents of UTF-8 text", "this file is none"
            ) from None
        markup = Markup.RST if path.suffix == ".rst" else Markup.MARKDOWN
        matter = front_matter(text) if markup is Markup.MARKDOWN else FrontMatter()
        cut = cut_document(text[matter.body :], title=matter.title, name=path.stem, markup=markup)
        for passage in cut.passages:
            row = {
                "id": f"{name}#{passage.number}",
                "text": passage.content,
                "title": passage.title,
            }
            yield name, row


def quoted(row: Mapping[str, Any], where: str, texts: Sequence[tuple[str, str]]) -> list[str]:
    """Ids of the passages that hold the quotation of a question; white space is all one. Of one
    that was cut in two, the passage that holds more of it.

    Args:
        row: `document`, a path in the folder of documents, and `quote`, a text in it.
        texts: (id, text) of the passages, in order.

    Raises:
        ValidationError: one of the two is missing, or the document does not hold the quotation.
    """
    document, quote = row.get("document"), row.get("quote")
    if not isinstance(document, str) or not isinstance(quote, str) or not quote.strip():
        raise ValidationError("benchmark", where, "a document and a quote out of it")
    own = [(id, " ".join(text.split())) for id, text in texts if id.rpartition("#")[0] == document]
    words = quote.split()
    found = [id for id, text in own if " ".join(words) in text] or _cut_in_two(words, own)
    if not found:
        raise ValidationError(
            "benchmark", where, f"a quote that stands in {document}", "it does not"
        )
    return found


def _cut_in_two(words: Sequence[str], texts: Sequence[tuple[str, str]]) -> list[str]:
    for (id, text), (next_id, following) in pairwise(texts):
        for length in range(1, len(words)):
            head, tail = " ".join(words[:length]), " ".join(words[length:])
            if text.endswith(head) and tail in following:
                return [id if len(head) >= len(tail) else next_id]
    return []


def _parts(corpus: Path) -> list[Path]:
    return document_files(corpus) if corpus.is_dir() else [corpus]


def _labelled(
    row: dict[str, Any], where: str, corpus: Path, units: Sequence[Unit]
) -> dict[str, Any]:
    """A question with the ids of the passages that it quotes."""
    if not corpus.is_dir():
        return row
    return {**row, "relevant": quoted(row, where, [(unit.id, unit.text) for unit in units])}


def without_categories(benchmark: Benchmark, left_out: Sequence[str]) -> Benchmark:
    """The benchmark without the answerable questions of these categories.

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


def _labels(row: dict[str, Any], key: str, where: str, known: frozenset[str]) -> frozenset[str]:
    """Ids of units under a key.

    Raises:
        ValidationError: no list of ids of these units.
    """
    labels = row.get(key)
    found = [_word(label) for label in labels] if isinstance(labels, list) else None
    if found is None:
        raise ValidationError("benchmark", where, f"a list of ids under {key}")
    missing = sum(label not in known for label in found)
    if missing:
        raise ValidationError(
            "benchmark",
            where,
            f"{key} ids of units of the query's conversation",
            f"{missing} of {len(found)} do not exist",
        )
    return frozenset(label for label in found if label is not None)


def _time(row: dict[str, Any], where: str) -> int | None:
    value = _first(row, _TIME)
    return None if value is None else parse_time(value, f"benchmark, {where}")


def _sequence(row: dict[str, Any], where: str) -> int | None:
    value = _first(row, _SEQUENCE)
    if value is not None and type(value) is not int:
        raise ValidationError("benchmark", where, f"a whole number under {' or '.join(_SEQUENCE)}")
    return value


def _query(
    row: dict[str, Any],
    where: str,
    known: dict[str | None, frozenset[str]],
    world: str | None,
) -> Query:
    conversation = _optional(row, ("conversation",), where) if world is None else world
    units = known.get(conversation, frozenset())
    relevant = _labels(row, "relevant", where, units)
    outdated = _labels(row, "outdated", where, units) if row.get("outdated") else frozenset()
    text = _text(row, where)
    if not text.strip():
        raise ValidationError("benchmark", where, "a question that is not blank")
    category = _optional(row, ("category",), where)
    date = row.get("date")
    if date is not None:
        parse_time(date, f"benchmark, {where}, date")
    as_of = row.get("as_of") is True
    if as_of and date is None:
        raise ValidationError("benchmark", where, "a date beside as_of")
    return Query(
        id=_name(row, ("id",), where),
        text=text,
        relevant=relevant,
        category=UNCATEGORISED if category is None else category,
        conversation=conversation,
        date=date,
        outdated=outdated,
        as_of=as_of,
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
