"""Standard streams: results to stdout, everything else to stderr."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from typing import IO, Any

import click

from vestig.errors import ValidationError
from vestig.surfaces import wire
from vestig.surfaces.cli import render
from vestig.surfaces.operation import Operation

__all__ = ["Terminal"]


def _harmless(text: str) -> str:
    """Stored text must not steer the terminal: control characters are shown, not obeyed.

    Example:
        >>> _harmless("a\\x1b[2Jb")
        'a\\\\x1b[2Jb'
    """
    return "".join(
        c if c in "\n\t" or not (ord(c) < 32 or 127 <= ord(c) < 160) else f"\\x{ord(c):02x}"
        for c in text
    )


class Terminal:
    """The streams of one command: text or one JSON document, progress, questions, errors."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self._progress: Any = None
        self._console: Any = None
        self._borrowed: list[io.TextIOWrapper] = []
        self._streamed = False

    def read_all(self) -> str:
        """Standard input as text, without its last line end.

        Raises:
            ValidationError: not UTF-8.
        """
        raw = sys.stdin.buffer.read()
        try:
            return raw.decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise ValidationError("standard input", f"byte {error.start}", "UTF-8 text") from None

    def output(self) -> IO[str]:
        """Standard output for the rows of an export; the summary then goes to stderr.

        Raises:
            ValidationError: with `--json`, which promises one document there.
        """
        if self.as_json:
            raise ValidationError("file", "-", "the name of a file beside --json")
        self._streamed = True
        sys.stdout.flush()
        return self._borrow(
            io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="", write_through=True)
        )

    def input(self) -> IO[str]:
        """Standard input as UTF-8 text."""
        return self._borrow(io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig"))

    def _borrow(self, stream: io.TextIOWrapper) -> IO[str]:
        """A wrapper that must not close the process's own stream when it is dropped."""
        self._borrowed.append(stream)
        return stream

    def show(self, operation: Operation, value: Any, args: Mapping[str, Any]) -> None:
        """The result, as text or as one JSON document."""
        if self.as_json or args.get("format") == "json":
            self._write(wire.encode(wire.document(operation.document, value)) + b"\n")
        else:
            text = operation.text(value, args)
            self._write_text(text, err=self._streamed)
            self._notices(value)
        if args.get("timing"):
            click.echo(render.timing(value), err=True)

    def say(self, line: str, style: str = "") -> None:
        """A line while the operation runs: none with `--json`, coloured on a terminal."""
        if self.as_json:
            return
        if not sys.stdout.isatty():
            self._write_text(line)
            return
        if self._console is None:
            from rich.console import Console

            self._console = Console(highlight=False)
        from rich.text import Text

        self._console.print(Text(_harmless(line), style=style))

    def complain(self, text: str, problem: Mapping[str, Any]) -> None:
        """An error on stderr: one problem object with `--json`, else text."""
        if self.as_json:
            click.echo(wire.encode(problem).decode(), err=True)
        else:
            click.echo(_harmless(text), err=True)

    def confirm(self, plan: str) -> bool:
        """Shows what would be destroyed and asks.

        Raises:
            ValidationError: no terminal to ask on; `--yes` confirms instead.
        """
        if not self.as_json:
            click.echo(_harmless(plan), err=True)
        if self.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise ValidationError("yes", "nothing", "--yes, or a terminal to ask on")
        return click.confirm("Go on?", default=False, err=True)

    def progress(self, done: int, total: int | None) -> None:
        """Moves a progress bar, on a terminal only. `total` None: length unknown."""
        if self.as_json or not sys.stderr.isatty():
            return
        if self._progress is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

            self._progress = Progress(
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._progress.start()
            self._progress.add_task("", total=total)
        self._progress.update(self._progress.tasks[0].id, completed=done, total=total)

    def finish_work(self) -> None:
        """Removes the progress bar and detaches borrowed streams."""
        while self._borrowed:
            stream = self._borrowed.pop()
            if not stream.closed:
                stream.detach()
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def close_quietly(self) -> None:
        """The reader has gone: nothing more is written, not even at exit."""
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())

    def _notices(self, value: Any) -> None:
        total = getattr(value, "total", 0)
        if total and len(value) < total:
            click.echo(f"{len(value)} of {total} memories; --offset shows others", err=True)
        for entry in getattr(getattr(value, "context", None), "left_out", ()):
            click.echo(f"left out: {entry.id} ({entry.tokens} tokens)", err=True)
        for warning in getattr(value, "warnings", ()):
            click.echo(_harmless(f"warning: {warning}"), err=True)
        for entry in getattr(value, "degraded", ()):
            count = f" ({entry.count})" if entry.count > 1 else ""
            click.echo(_harmless(f"degraded: {entry.code}: {entry.detail}{count}"), err=True)
        errors = getattr(value, "errors", ())
        for error in errors[:5]:
            click.echo(_harmless(f"error: item {error.index}: {error.message}"), err=True)
        more = max(0, len(errors) - 5) + getattr(value, "errors_more", 0)
        if more:
            click.echo(f"… and {more} more errors", err=True)

    def _write_text(self, text: str, *, err: bool = False) -> None:
        stream = sys.stderr if err else sys.stdout
        shown = _harmless(text) if stream.isatty() else text
        encoding = getattr(stream, "encoding", None) or "utf-8"
        safe = shown.encode(encoding, "backslashreplace").decode(encoding)
        click.echo(safe, err=err)

    def _write(self, data: bytes) -> None:
        click.echo(data, nl=False)
