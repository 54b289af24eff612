"""Files of `vestig import` to the arguments of `commit`. Pure: nothing is stored here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from vestig.calls.files import ImportFormat
from vestig.errors import ValidationError
from vestig.exchange.chunks import chunk
from vestig.exchange.file_records import RecordFile, Unreadable
from vestig.exchange.formats.drafts import Draft, Link, Reading
from vestig.exchange.formats.messages import text_or_number
from vestig.exchange.formats.table import ROWS, detected, fitting
from vestig.exchange.inputs import Input
from vestig.language.text_forms import CONTROL_CHARACTERS, normal_form
from vestig.types import ItemError

KEYS_NAMED_MAX: Final = 20


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a file is read.

    `scope` is that of records that name none. `system`: turns of that role come in. `normalise` is
    the store's normalisation: a text is split when it is longer than `max_chars` after it.
    `shared`: arguments of `commit` that each memory gets beside its own.
    """

    format: ImportFormat = ImportFormat.AUTO
    scope: str | None = None
    system: bool = False
    max_chars: int = 4000
    normalise: Callable[[str], str] = normal_form
    shared: dict[str, Any] = msgspec.field(default_factory=dict)


class ImportItem(msgspec.Struct, frozen=True, kw_only=True):
    """One record: the commits of all its parts belong into one transaction.

    `is_whole`: near-duplicates are inserted and hygiene refuses only empty text. `line` counts
    from 1.
    """

    line: int
    artifact_ref: str
    scope: str | None
    parts: tuple[str, ...]
    arguments: dict[str, Any]
    is_whole: bool

    def commits(self) -> list[dict[str, Any]]:
        """Arguments of `commit`, one mapping per part."""
        return [{"content": part, **self.arguments} for part in self.parts]


class ImportFile:
    """A file of any format that can be imported; read item by item.

    For an export only `format` is of use: it is restored, not committed.

    Raises:
        FileNotFoundError: no such file.
        ValidationError: a file that no format knows.

    Example:
        >>> import io
        >>> from vestig.exchange.inputs import StreamInput
        >>> text = b'{"speaker": "Ada", "text": "Hello", "turn": 0}'
        >>> file = ImportFile(StreamInput(io.BytesIO(text)))
        >>> item, = file.items()
        >>> item.parts, item.arguments["author"], item.is_whole
        (('Hello',), 'Ada', True)
    """

    def __init__(self, source: Input, options: ImportOptions | None = None) -> None:
        self._options = ImportOptions() if options is None else options
        self._file = RecordFile(source)
        asked = self._options.format
        self._row = detected(self._file) if asked is ImportFormat.AUTO else ROWS[asked]
        self._reading = Reading(
            self._file.name, scope=self._options.scope, system=self._options.system
        )
        self._hint = "" if asked is ImportFormat.AUTO else fitting(self._file, asked)
        self._control_characters = 0
        self.format = self._row.format

    @property
    def left_out(self) -> Counter[str]:
        """Counts, by kind, of what does not come in; complete once `items` is exhausted."""
        return self._reading.left_out

    def export_lines(self) -> Iterable[bytes]:
        """The unpacked lines, unchanged, to restore an export from; each iteration starts anew."""
        return self._file.export_lines()

    def warnings(self) -> list[str]:
        """Return what was noticed; complete once `items` is exhausted."""
        found = []
        keys = list(self._reading.other_keys)
        if keys:
            named = ", ".join(keys[:KEYS_NAMED_MAX])
            more = f" and {len(keys) - KEYS_NAMED_MAX} more" if len(keys) > KEYS_NAMED_MAX else ""
            found.append(f"other keys are kept in metadata: {named}{more}")
        if self._control_characters:
            found.append(f"{self._control_characters} control characters were left out")
        return found

    def items(self) -> Iterator[ImportItem | Link | ItemError]:
        """Items and unreadable lines in file order (`index` of an error = line − 1).

        Raises:
            ValidationError: the file is an export, or damaged.
        """
        for found in self._row.read(self._file, self._reading):
            if isinstance(found, Unreadable):
                yield _error(found.line, found.fact + self._hint)
            elif isinstance(found, Link):
                yield found
            else:
                try:
                    yield self._item(found)
                except ValidationError as error:
                    yield _error(found.line, str(error))

    def _item(self, draft: Draft) -> ImportItem:
        content, arguments = draft.content, draft.arguments
        if draft.is_cut:
            content, left_out = CONTROL_CHARACTERS.subn("", content)
            self._control_characters += left_out
        reference = text_or_number("artifact_ref", arguments.get("artifact_ref"))
        if reference is None:
            reference = f"file:{draft.digest}:{draft.line}"
        if self._options.scope is not None and arguments.get("scope") is None:
            arguments = {**arguments, "scope": self._options.scope}
        return ImportItem(
            line=draft.line,
            artifact_ref=reference,
            scope=text_or_number("scope", arguments.get("scope")),
            parts=self._split(content) if draft.is_cut else (content,),
            arguments=self._with_shared({**arguments, "artifact_ref": reference}),
            is_whole=draft.is_whole,
        )

    def _with_shared(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with those of the whole import, where a record has none of its own; lists
        are joined."""
        made = {"source": "import", **self._options.shared, **arguments}
        for name in ("tags", "entities"):
            shared, own = self._options.shared.get(name), arguments.get(name)
            if shared and isinstance(own, (list, tuple)):
                made[name] = [*own, *(one for one in shared if one not in own)]
        return made

    def _split(self, content: str) -> tuple[str, ...]:
        size = self._options.max_chars
        if len(content) <= size or len(self._options.normalise(content)) <= size:
            return (content,)
        parts = [content[start : start + length] for start, length in chunk(content, size, 0)]
        # a part of nothing but whitespace would be refused as empty
        return tuple(part for part in parts if self._options.normalise(part))


def _error(line: int, message: str) -> ItemError:
    return ItemError(index=line - 1, code=ValidationError.code, message=f"line {line}: {message}")
