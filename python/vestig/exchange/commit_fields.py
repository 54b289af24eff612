"""Files of `vestig import` to the arguments of `commit`. Pure: nothing is stored here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from vestig.errors import ValidationError
from vestig.exchange.chunks import chunk
from vestig.exchange.file_records import Format, Record, RecordFile, Unreadable
from vestig.exchange.messages import MessageReader, text_or_number
from vestig.language.text_forms import CONTROL_CHARACTERS, normal_form
from vestig.types import ItemError

KEYS_NAMED_MAX: Final = 20


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a file is read.

    `scope` is that of records that name none. `normalise` is the store's normalisation: a
    text is split when it is longer than `max_chars` after it.
    """

    format: str = Format.AUTO
    scope: str | None = None
    max_chars: int = 4000
    normalise: Callable[[str], str] = normal_form


class ImportItem(msgspec.Struct, frozen=True, kw_only=True):
    """One record: the commits of all its parts belong into one transaction.

    `transcript`: kept whole, that is near-duplicates are inserted and hygiene refuses only
    empty text. `line` counts from 1. `older_ref`: the reference under which older versions recorded
    it; None where the record has an id of its own.
    """

    line: int
    artifact_ref: str
    older_ref: str | None
    scope: str | None
    parts: tuple[str, ...]
    arguments: dict[str, Any]
    transcript: bool

    def commits(self) -> list[dict[str, Any]]:
        """Arguments of `commit`, one mapping per part."""
        return [{"content": part, **self.arguments} for part in self.parts]


class ImportFile:
    """A file of `messages`, `memories` or an `export`; read item by item.

    For an export only `format` is of use: it is restored, not committed.

    Raises:
        FileNotFoundError: no such file.
        ValidationError: unknown format, or a file in none of them.

    Example:
        >>> import io
        >>> file = ImportFile(io.BytesIO(b'{"speaker": "Ada", "text": "Hello", "turn": 0}'))
        >>> item, = file.items()
        >>> item.parts, item.arguments["author"], item.transcript
        (('Hello',), 'Ada', True)
    """

    def __init__(self, source: str | Path | IO[Any], options: ImportOptions | None = None) -> None:
        self._options = ImportOptions() if options is None else options
        format = self._options.format
        if format not in tuple(Format):
            raise ValidationError("format", format, f"one of {', '.join(Format)}")
        self._file = RecordFile(source)
        self._messages = MessageReader(self._options.scope)
        self._control_characters = 0
        # messages without a text, as those that only call a tool
        self.unspoken = 0
        self.format = self._file.detect() if format == Format.AUTO else Format(format)

    @property
    def bytes_total(self) -> int:
        """Size of the file."""
        return self._file.bytes_total

    @property
    def bytes_done(self) -> int:
        """Bytes of the file that are read."""
        return self._file.bytes_done

    def close(self) -> None:
        """Idempotent."""
        self._file.close()

    def export_lines(self) -> Iterable[bytes]:
        """The unpacked lines, unchanged, to restore an export from; each iteration starts anew."""
        return self._file.export_lines()

    def warnings(self) -> list[str]:
        """Return what was noticed; complete once `items` is exhausted."""
        found = []
        keys = list(self._messages.other_keys)
        if keys:
            named = ", ".join(keys[:KEYS_NAMED_MAX])
            more = f" and {len(keys) - KEYS_NAMED_MAX} more" if len(keys) > KEYS_NAMED_MAX else ""
            found.append(f"other keys are kept in metadata: {named}{more}")
        if self.unspoken:
            found.append(f"{self.unspoken} messages without a text were passed over")
        if self._control_characters:
            found.append(f"{self._control_characters} control characters were left out")
        return found

    def items(self) -> Iterator[ImportItem | ItemError]:
        """Items and unreadable lines in file order (`index` of an error = line − 1).

        Raises:
            ValidationError: the file is an export, or damaged.
        """
        if self.format is Format.EXPORT:
            raise ValidationError("format", "export", "messages or memories; an export is restored")
        for position, record in enumerate(self._file.records()):
            if isinstance(record, Unreadable):
                yield _error(record.line, record.fact)
                continue
            try:
                if self.format is Format.MESSAGES:
                    item = self._message(record, position)
                    if item is not None:
                        yield item
                else:
                    yield self._memory(record)
            except ValidationError as error:
                yield _error(record.line, str(error))

    def _message(self, record: Record, position: int) -> ImportItem | None:
        found = self._messages.read(record.value, position)
        if found is None:
            self.unspoken += 1
            return None
        content, arguments = found
        content, left_out = CONTROL_CHARACTERS.subn("", content)
        self._control_characters += left_out
        return self._item(record, self._split(content), arguments, transcript=True)

    def _memory(self, record: Record) -> ImportItem:
        arguments = {key: value for key, value in record.value.items() if value is not None}
        content = arguments.pop("content", None)
        if not isinstance(content, str):
            raise ValidationError("content", type(content).__name__, "text")
        if "scope" not in arguments and self._options.scope is not None:
            arguments["scope"] = self._options.scope
        return self._item(record, (content,), arguments, transcript=False)

    def _item(
        self,
        record: Record,
        parts: tuple[str, ...],
        arguments: dict[str, Any],
        *,
        transcript: bool,
    ) -> ImportItem:
        line, older = record.line, None
        reference = text_or_number("artifact_ref", arguments.get("artifact_ref"))
        if reference is None:
            reference = f"file:{record.digest}:{line}"
            older = f"file:{self._file.digest()}:{line}"
        return ImportItem(
            line=line,
            artifact_ref=reference,
            older_ref=older,
            scope=text_or_number("scope", arguments.get("scope")),
            parts=parts,
            arguments={"source": "import", **arguments, "artifact_ref": reference},
            transcript=transcript,
        )

    def _split(self, content: str) -> tuple[str, ...]:
        size = self._options.max_chars
        if len(content) <= size or len(self._options.normalise(content)) <= size:
            return (content,)
        parts = [content[start : start + length] for start, length in chunk(content, size, 0)]
        # a part of nothing but whitespace would be refused as empty
        return tuple(part for part in parts if self._options.normalise(part))


def _error(line: int, message: str) -> ItemError:
    return ItemError(index=line - 1, code=ValidationError.code, message=f"line {line}: {message}")
