"""The common ground of all formats: the texts that their readers give, and what they count.

Session logs of coding agents are JSON lines that grow, read from any line on, by their bytes: a
line whose kind says nothing is not parsed further than its kind. The place of a turn is its number
in the file, which only grows.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import msgspec

from vestig.arguments import parse_time
from vestig.calls.anchors import GivenAnchor
from vestig.errors import ValidationError
from vestig.exchange.file_records import TOO_DEEP, Line, RecordFile, Unreadable, is_too_deep
from vestig.lazy_pattern import lazy_pattern
from vestig.times import from_us
from vestig.types import Status

# The first line of the front matter of a memory in Markdown.
MEMORY_MARK: Final = "vestig: memory/1"
# Before the id of the memory that a file was made of, as the reference of a record.
MEMORY_REFERENCE: Final = "vestig:"
# Before the name of a file, as the reference of its rows without an id.
TABLE_REFERENCE: Final = "table:"
# In the metadata of a record with an id: the name of its file, which may lack it later.
FROM_FILE: Final = "from_file"
_HASH_DIGITS: Final = 32
_NAME_CHARS: Final = 200
_BETWEEN: Final = "\n\n"
# The name of a kind or of a field that a file gives.
FIELD_NAME: Final = lazy_pattern(r"[A-Za-z0-9_ -]{1,60}")
_KINDS_MAX: Final = 40
# A text has so many words.
_WORDS_MIN: Final = 3


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A text of a file with its arguments of `commit`. `line` counts from 1. `is_whole`: kept as it
    is, so near-duplicates are inserted and only an empty text is refused. `is_cut`: cut into parts
    where it is longer than a memory may be. Without an `artifact_ref` it gets one of line and
    digest. `status`: what the memory was in the store that it comes from; None: it comes from none.
    `successor_ref`: the `artifact_ref` of what superseded it. `changed_us`: when its program last
    changed it, where it says so. `is_by_id`: its reference is an id by which its program knows it,
    whatever its text. `in_file_order`: its `sequence` is no more than its order in the file, and
    its session may go on in other files. `text_key`: the key of the text of an item, or of a part
    of it, which no argument gives."""

    line: int
    content: str
    arguments: dict[str, Any]
    digest: str = ""
    is_whole: bool = True
    is_cut: bool = True
    status: Status | None = None
    successor_ref: str | None = None
    changed_us: int | None = None
    is_by_id: bool = True
    in_file_order: bool = False
    text_key: str | None = None


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A statement of a file on names: `name` of `type` is one, and where there is an `other`, it
    stands in this `relation` to it."""

    line: int
    name: str
    type: str
    other: str | None = None
    other_type: str = ""
    relation: str | None = None


Found = Draft | Link | Unreadable
# The beginning of references → (scope, reference) of what is recorded under such.
RecordedBelow = Callable[[str], Sequence[tuple[str | None, str]]]


class Reading:
    """How one file is read, and what was left out of it by kind.

    Args:
        name: the file's, without folders.
        scope: that of records that name none, or of all where it was given by name.
        system: whether turns of the role system come in.
        is_noise: tells what a commit refuses as saying nothing.
        anchors: gives the anchors of a turn of a session log.
        recorded: tells what an earlier import recorded under references with a beginning, by scope.
    """

    def __init__(
        self,
        name: str = "",
        *,
        scope: str | None = None,
        system: bool = False,
        is_noise: Callable[[str], bool] = lambda _: False,
        anchors: Callable[[LogTurn], tuple[GivenAnchor, ...]] | None = None,
        recorded: RecordedBelow = lambda _: (),
    ) -> None:
        self.name = name
        self.scope = scope
        self.system = system
        self.is_noise = is_noise
        self.anchors = anchors
        self.recorded = recorded
        # (message, path, text) of each edit since they were taken
        self._edits: list[tuple[str | None, str, str]] = []
        # digests of beginnings of conversations
        self._begun: Counter[str] = Counter()
        # the sessions that were made of them
        self._sessions: set[str] = set()
        # how often each row came, by its digest
        self._rows: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        # references of messages that another branch has taken the place of
        self.withdrawn: dict[str, None] = {}
        self.other_keys: dict[str, None] = {}
        self.said: dict[str, None] = {}

    def session_of(self, digest: str) -> str:
        """Return the session of a conversation without an id, by the digest of its beginning; of
        those of a file that begin alike each has its own."""
        self._begun[digest] += 1
        count = self._begun[digest]
        made = f"{self.name}:{digest}" if count == 1 else f"{self.name}:{digest}:{count}"
        self._sessions.add(made)
        return made

    def has_begun(self, session: str) -> bool:
        """Return whether a session is one that `session_of` returned."""
        return session in self._sessions

    def row_reference(self, values: Mapping[str, Any]) -> str:
        """Return the reference of a row without an id: by the name of its file and what it
        holds."""
        digest = hashlib.sha256(msgspec.json.encode(values)).hexdigest()[:_HASH_DIGITS]
        self._rows[digest] += 1
        return f"{TABLE_REFERENCE}{self.name[-_NAME_CHARS:]}:{digest}:{self._rows[digest]}"

    def say(self, what: str) -> None:
        """Notes once what the report says about how the file was read."""
        self.said[what] = None

    def edit(self, message: str | None, path: str, text: str) -> None:
        """Notes that a message wrote a text into a file."""
        if self.anchors is not None:
            self._edits.append((message, path, text))

    def take_edits(self) -> list[tuple[str | None, str, str]]:
        """The edits that were noted since the last time."""
        found, self._edits = self._edits, []
        return found

    def leave_out(self, kind: str, count: int = 1) -> None:
        """Counts what does not come in. A kind that a file names is a word; of many kinds the rest
        is counted together."""
        if not FIELD_NAME.fullmatch(kind) or (
            kind not in self.left_out and len(self.left_out) >= _KINDS_MAX
        ):
            kind = "other kinds"
        self.left_out[kind] += count

    def leave_unread(self, values: Mapping[str, Any], read: Collection[str], place: str) -> None:
        """Counts the parts of an object that no reader takes and that hold words; ids, numbers and
        names of models are none.

        Args:
            read: names of those that are taken, or counted otherwise.
            place: what the object is, or what stands beside the part.
        """
        for name, value in values.items():
            if name not in read and _holds_words(value):
                self.leave_out(f"{name} {place}", len(value) if isinstance(value, list) else 1)


def _holds_words(value: Any) -> bool:
    """Return whether a text of several words stands anywhere in a value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if len(one.split(None, _WORDS_MIN)) >= _WORDS_MIN:
                return True
        elif isinstance(one, (dict, list)):
            waiting += one.values() if isinstance(one, dict) else one
    return False


def is_memory(file: RecordFile) -> bool:
    """Return whether a file begins as a memory in Markdown does."""
    return file.begins_with(*(f"---{end}{MEMORY_MARK}".encode() for end in ("\n", "\r\n")))


def joined(texts: list[str]) -> str:
    """The texts that say something, with a blank line between them.

    Example:
        >>> joined(["one", " ", "two"])
        'one\\n\\ntwo'
    """
    return _BETWEEN.join(text for text in texts if text.strip())


def moment(field: str, value: Any) -> Any:
    """A time as `commit` takes one: text stays as it is, a number is seconds since the epoch.

    Raises:
        ValidationError: another kind of value, or outside the years 1 to 9999.

    Example:
        >>> moment("create_time", 0.5).isoformat(), moment("create_time", None)
        ('1970-01-01T00:00:00.500000+00:00', None)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValidationError(
            field, type(value).__name__, "seconds since 1970, or an ISO 8601 time"
        )
    try:
        return from_us(round(value * 1_000_000))
    except (ValueError, OverflowError):
        raise ValidationError(field, value, "a time of the years 1 to 9999") from None


# Names of the time at which a record was last changed.
_CHANGES: Final = ("updated_at", "edited_at", "modified_at", "last_edited_at", "last_modified")


def last_change(values: Mapping[str, Any]) -> int | None:
    """When a record was last changed, in microseconds, by its fields; None where none tells.

    Example:
        >>> last_change({"created_at": "1970-01-01", "updated_at": "1970-01-01T00:00:01Z"})
        1000000
        >>> last_change({"updated_at": None, "edited_at": "soon"}) is None
        True
    """
    for name in _CHANGES:
        with suppress(ValidationError):
            value = moment(name, values.get(name))
            if value is not None:
                return parse_time(value, name)
    return None


def text_of(field: str, value: Any) -> str | None:
    """A text; None where nothing is there.

    Raises:
        ValidationError: another kind of value.
    """
    if value is None or isinstance(value, str):
        return value
    raise ValidationError(field, type(value).__name__, "text")


def list_of(field: str, value: Any) -> list[Any]:
    """A list; empty where nothing is there.

    Raises:
        ValidationError: another kind of value.
    """
    if value is None:
        return []
    if isinstance(value, list):
        return value
    raise ValidationError(field, type(value).__name__, "a list")


def present(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that have a value."""
    return {name: value for name, value in arguments.items() if value is not None}


def refused(line: int, error: ValidationError, where: str = "") -> Unreadable:
    """A record that is none of its format."""
    return Unreadable(line, f"{where}: {error}" if where else str(error))


def missing(*names: str) -> ValidationError:
    """A record without a text under one of these names."""
    quoted = " or ".join(f'"{name}"' for name in names)
    return ValidationError("content", None, "text", message=f"no text under {quoted}")


# --- session logs -----------------------------------------------------------------------------

_TEXT_BLOCKS: Final = ("text", "input_text", "output_text")


class LogPlace(NamedTuple):
    """How far a log was read: the byte at which the next line begins, how many lines and turns
    there are before it."""

    start: int = 0
    lines: int = 0
    turns: int = 0


START: Final = LogPlace()


class LogTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of a session log. `number`: its place in the file, from 0; `id`: of its first line,
    where lines have one; `branch`: that was checked out, where the log says it; `after`: the place
    from which reading goes on behind it; `edits`: (path, text) that it wrote, or that were written
    since the text before it."""

    number: int
    line: int
    session: str
    role: str
    text: str
    time: str | None
    id: str | None
    folder: str | None
    branch: str | None
    after: LogPlace
    edits: tuple[tuple[str, str], ...] = ()


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A text in one line of a log. Neighbours of one `message` are one turn."""

    session: str
    role: str
    text: str
    time: str | None = None
    id: str | None = None
    folder: str | None = None
    branch: str | None = None
    message: str | None = None


# The text of a line; None where nothing is said in it, which is counted.
LineReader = Callable[[bytes, Reading], Said | None]


def log_turns(
    file: RecordFile, said_in: LineReader, reading: Reading, place: LogPlace = START
) -> Iterator[LogTurn | Unreadable]:
    """The turns of a log from a place on. A last line that is cut, for it is being written, is
    left for the next reading.

    Args:
        said_in: reads one line; raises `msgspec.DecodeError` where it is no JSON of its kind.
        place: where an earlier reading ended.
    """
    turns = place.turns
    waiting: tuple[int, Said, list[str]] | None = None
    edits, pending = list[tuple[str, str]](), list[tuple[str, str]]()
    after = place
    for line in file.lines(place.start):
        if isinstance(line, Unreadable):
            yield Unreadable(place.lines + line.line, line.fact)
            continue
        number = place.lines + line.number
        here = LogPlace(line.end, number, turns)
        said = _of_line(line, number, said_in, reading)
        for message, path, text in reading.take_edits():
            own = waiting is not None and message is not None and message == waiting[1].message
            (edits if own else pending).append((path, text))
        if isinstance(said, Unreadable):
            yield said
        elif said is not None:
            first = None if waiting is None else waiting[1]
            if (
                waiting is not None
                and said.message is not None
                and first is not None
                and (said.message == first.message)
            ):
                waiting[2].append(said.text)
            else:
                if waiting is not None:
                    yield _turn(waiting, turns, after, edits)
                    turns += 1
                waiting = (number, said, [said.text])
                edits, pending = (pending if said.role == "assistant" else []), []
        after = here._replace(turns=turns)
    if waiting is not None:
        yield _turn(waiting, turns, after, edits)


def drafts(
    turns: Iterable[LogTurn | Unreadable], reading: Reading, title: str | None = None
) -> Iterator[Found]:
    """Memories that an import makes of the turns of a log; `title` is that of its session. What a
    commit would refuse as saying nothing, such as "ok", is counted."""
    for turn in turns:
        if isinstance(turn, Unreadable):
            yield turn
            continue
        if reading.is_noise(turn.text):
            reading.leave_out("turn that says nothing")
            continue
        yield Draft(
            line=turn.line,
            content=turn.text,
            arguments=present(
                {
                    "role": turn.role,
                    "session_id": turn.session,
                    "sequence": turn.number,
                    "title": title,
                    "t_ref": turn.time,
                    "artifact_ref": turn.id or f"{turn.session}:{turn.number}",
                    "metadata": present({"cwd": turn.folder}) or None,
                    "anchor": None if reading.anchors is None else reading.anchors(turn),
                }
            ),
            # a turn that is still written has more text later
            is_by_id=False,
        )


def _of_line(
    line: Line, number: int, said_in: LineReader, reading: Reading
) -> Said | Unreadable | None:
    # zeros that a crash left before what was written next
    data = line.data.strip(b"\x00")
    if len(data) < len(line.data):
        reading.leave_out("zeros in the place of text")
    if not data.strip():
        return None
    try:
        data.decode("utf-8")
        said = said_in(data, reading)
    except UnicodeDecodeError as error:
        fact = f"expected UTF-8 text, byte {error.start} of the line is none"
    except (msgspec.DecodeError, RecursionError):
        fact = "expected a JSON object of its kind, got unreadable JSON"
    else:
        if said is not None and is_too_deep(line.data):
            return Unreadable(number, TOO_DEEP)
        return said
    if not line.is_whole:
        reading.leave_out("line that is still being written")
        return None
    return Unreadable(number, fact)


def _turn(
    waiting: tuple[int, Said, list[str]],
    number: int,
    after: LogPlace,
    edits: Iterable[tuple[str, str]],
) -> LogTurn:
    line, said, texts = waiting
    return LogTurn(
        number=number,
        line=line,
        session=said.session,
        role=said.role,
        text=joined(texts),
        time=said.time,
        id=said.id,
        folder=said.folder,
        branch=said.branch,
        after=after._replace(turns=number + 1),
        edits=tuple(edits),
    )


def block_texts(content: Any, reading: Reading) -> list[str] | None:
    """The texts among the blocks of a message; other blocks are counted by their type. None where
    it is no content.

    Example:
        >>> reading = Reading()
        >>> block_texts([{"type": "text", "text": "Hello"}, {"type": "tool_use"}], reading)
        ['Hello']
        >>> dict(reading.left_out)
        {'tool_use': 1}
    """
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return None
    texts = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in _TEXT_BLOCKS and isinstance(block.get("text"), str):
            texts.append(block["text"])
        else:
            reading.leave_out(kind if isinstance(kind, str) else "block without a type")
    return texts
