"""Labelled questions of one's own, and the memories that their labels mean."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from vestig.arguments import parse_time, texts_argument
from vestig.errors import Description, NotFoundError, ValidationError, kind_of
from vestig.hints import check_names
from vestig.ids import is_full_id
from vestig.json_text import read_json
from vestig.session.session import Session
from vestig.times import from_us

_FIELDS = (
    "id", "text", "relevant", "outdated", "category", "conversation", "scope", "date", "as_of",
    "answer",
)  # fmt: skip


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A labelled question.

    Attributes:
        relevant: labels of what answers it; none = nothing stored does.
        outdated: labels of what the relevant ones have replaced.
        scope: the only one that is searched; None = all.
        date: its query time; None = the end of its scope, or now.
        until: the end of the day of `date`, where nothing later may be used.
    """

    id: str
    text: str
    relevant: tuple[str, ...]
    outdated: tuple[str, ...] = ()
    category: str = ""
    scope: str | None = None
    date: str | None = None
    until: datetime | None = None


def labelled_file(folder: Path, stem: str) -> Path:
    """Return the file of JSON lines of this name in a folder, packed or not.

    Raises:
        NotFoundError: there is none.
    """
    for name in (f"{stem}.jsonl", f"{stem}.jsonl.gz"):
        if (folder / name).is_file():
            return folder / name
    raise NotFoundError("file", str(folder / f"{stem}.jsonl"), "nor one with .gz")


def read_questions(file: Path) -> list[Question]:
    """Return the questions of a file.

    Raises:
        NotFoundError: there is no such file.
        ValidationError: a line is no question, or nothing answers any.
    """
    found = [question_of(place, row) for place, row in read_lines(file)]
    if not any(question.relevant for question in found):
        raise ValidationError("file", file.name, "at least one question with relevant memories")
    return found


def read_lines(file: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield (place, object) of every line of a file that is not blank.

    Raises:
        NotFoundError: there is no such file.
        ValidationError: a line is no JSON object.
    """
    try:
        raw = file.read_bytes()
        text = gzip.decompress(raw) if file.suffix == ".gz" else raw
    except FileNotFoundError:
        raise NotFoundError("file", str(file)) from None
    except (EOFError, gzip.BadGzipFile):
        raise ValidationError("file", file.name, "a whole gzip file") from None
    for number, line in enumerate(text.split(b"\n"), 1):
        if not line.strip():
            continue
        place = f"{file.name}:{number}"
        try:
            row = read_json(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ValidationError(
                place, Description("a line"), "a JSON object", "it cannot be read"
            ) from None
        if not isinstance(row, dict):
            raise ValidationError(place, kind_of(row), "a JSON object")
        yield place, row


def question_of(place: str, row: Mapping[str, Any]) -> Question:
    """Return the question of a line.

    Raises:
        ValidationError: names the line and the field.
    """
    try:
        check_names(row, _FIELDS, "a question")
        text = _text(row, "text") or ""
        if not text.strip():
            raise ValidationError("text", text, "a question that is not blank")
        if "relevant" not in row:
            raise ValidationError(
                "relevant", Description("nothing"), "labels, [] where nothing answers"
            )
        date = _text(row, "date")
        day = None if date is None else from_us(parse_time(date, "date")).date()
        if row.get("as_of") is True and day is None:
            raise ValidationError("as_of", True, "a date beside it")
        until = None
        if day is not None and row.get("as_of") is True:
            until = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
        return Question(
            id=_text(row, "id") or place,
            text=text,
            relevant=_labels(row, "relevant"),
            outdated=_labels(row, "outdated"),
            category=_text(row, "category") or "",
            scope=_text(row, "scope") or _text(row, "conversation"),
            date=date,
            until=until,
        )
    except ValidationError as error:
        raise at_place(place, error) from None


def at_place(place: str, error: ValidationError) -> ValidationError:
    """Return the error with the place of its line in front."""
    error.args = (f"{place}: {error}",)
    return error


def _word(value: Any) -> Any:
    """Return a number as text, as an import takes it."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _text(row: Mapping[str, Any], name: str) -> str | None:
    value = _word(row.get(name))
    if value is not None and not isinstance(value, str):
        raise ValidationError(name, value, "a text or null")
    return value


def _labels(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = row.get(name)
    if isinstance(value, list):
        value = [_word(one) for one in value]
    return () if value is None else tuple(dict.fromkeys(texts_argument(name, value)))


class Labels:
    """The memories that labels mean: by their id, or by the reference (`artifact_ref`) of what they
    were made of, in the scopes of a question.

    Attributes:
        unknown: labels that mean no memory.
    """

    def __init__(
        self,
        session: Session,
        labels: Sequence[str],
        scopes: Collection[str | None] | None,
        namespace: str | None = None,
    ) -> None:
        self._of_id: dict[str, set[str]] = {}
        self._of_text: dict[str, set[str]] = {}
        self.unknown: list[str] = []
        space = namespace or session.namespace
        with session.ledger.read() as view:
            for label in labels:
                ids = [label] if is_full_id(label, "mem") else view.recorded_by(space, [label])
                memories = [
                    memory
                    for memory in view.memories(space, ids)
                    if scopes is None or memory.scope in scopes
                ]
                if not memories:
                    self.unknown.append(label)
                for memory in memories:
                    self._of_id.setdefault(memory.id, set()).add(label)
                    self._of_text.setdefault(memory.content_hash, set()).add(label)

    def of(self, id: str, content_hash: str = "") -> set[str]:
        """Return the labels that mean this memory, or one of the same text."""
        return self._of_id.get(id, set()) | self._of_text.get(content_hash, set())
