"""Session logs of coding agents: JSON lines that grow, read from any line on.

A log is read by its bytes: a line whose kind says nothing is not parsed further than its kind.
The place of a turn is its number in the file, which only grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from vestig.exchange.file_records import Line, RecordFile, Unreadable
from vestig.exchange.formats.drafts import Draft, Found, Reading, joined, present
from vestig.exchange.json_values import TOO_DEEP, is_too_deep

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
    where lines have one; `after`: the place from which reading goes on behind it."""

    number: int
    line: int
    session: str
    role: str
    text: str
    time: str | None
    id: str | None
    folder: str | None
    after: LogPlace


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A text in one line of a log. Neighbours of one `message` are one turn."""

    session: str
    role: str
    text: str
    time: str | None = None
    id: str | None = None
    folder: str | None = None
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
    after = place
    for line in file.lines(place.start):
        if isinstance(line, Unreadable):
            yield Unreadable(place.lines + line.line, line.fact)
            continue
        number = place.lines + line.number
        here = LogPlace(line.end, number, turns)
        said = _of_line(line, number, said_in, reading)
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
                    yield _turn(waiting, turns, after)
                    turns += 1
                waiting = (number, said, [said.text])
        after = here._replace(turns=turns)
    if waiting is not None:
        yield _turn(waiting, turns, after)


def drafts(turns: Iterable[LogTurn | Unreadable], title: str | None = None) -> Iterator[Found]:
    """Memories that an import makes of the turns of a log; `title` is that of its session."""
    for turn in turns:
        if isinstance(turn, Unreadable):
            yield turn
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
                }
            ),
        )


def _of_line(
    line: Line, number: int, said_in: LineReader, reading: Reading
) -> Said | Unreadable | None:
    if not line.data.strip():
        return None
    try:
        line.data.decode("utf-8")
        said = said_in(line.data, reading)
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


def _turn(waiting: tuple[int, Said, list[str]], number: int, after: LogPlace) -> LogTurn:
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
        after=after._replace(turns=number + 1),
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
