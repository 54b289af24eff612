"""Standard streams: results to stdout, everything else to stderr."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final

import click

from vestig.errors import Description, ValidationError
from vestig.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from vestig.surfaces.operation import Operation

_NOT_CONFIRMED: Final = (
    "nothing was done: without a terminal, or with --json, nobody is asked; --yes confirms it"
)
OUTPUT_FAULTS: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EPIPE}
)
# What a reader does not see, or what steers a terminal: control characters but tab and line feed,
# marks of direction, characters without width, separators of lines, tags, selectors of variants
# that follow no ideograph, and joiners that stand beside ASCII, where they join nothing.
_HIDDEN: Final = lazy_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
    "|(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef]"
    "|(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f\u200c\u200d])"
)


class OutputError(Exception):
    """The result could not be written to standard output.

    Args:
        message: for standard error; "" = a reader that went away, which is no fault.
    """

    @classmethod
    def of(cls, error: OSError) -> OutputError:
        """Return what the system's error means."""
        if error.errno == errno.EPIPE:
            return cls("")
        return cls(f"standard output: {error.strerror}; the result was not written")


@contextmanager
def _writing() -> Iterator[None]:
    """Faults of standard output, apart from those of the store.

    Raises:
        OutputError: it is closed, full, or its reader has gone.
    """
    if sys.stdout is None:
        raise OutputError("standard output is closed; the result was not written")
    try:
        yield
    except OSError as error:
        raise OutputError.of(error) from error


def _harmless(text: str) -> str:
    """Stored text must not steer the terminal, nor deceive its reader: what is hidden is shown as
    the escape that names it.

    Example:
        >>> _harmless("a\\x1b[2Jb"), _harmless("txt.\\u202eexe")
        ('a\\\\x1b[2Jb', 'txt.\\\\u202eexe')
    """
    return text if _is_plain(text) else _HIDDEN.sub(_escaped, text)


def _is_plain(text: str) -> bool:
    """Printable ASCII, which hides nothing; some of what is hidden counts as printable."""
    return text.isascii() and text.isprintable()


def _escaped(found: re.Match[str]) -> str:
    return (
        found[0].encode("ascii", "backslashreplace").decode()
        if found[0] > "\x7f"
        else (f"\\x{ord(found[0]):02x}")
    )


def _harmless_json(text: str) -> str:
    """The same JSON with what is hidden as escapes of JSON."""
    return text if _is_plain(text) else _HIDDEN.sub(_escaped_in_json, text)


def _escaped_in_json(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


class _EscapedLines(io.TextIOWrapper):
    """Standard output of an export where somebody looks at it."""

    def write(self, text: str) -> int:
        super().write(_harmless_json(text))
        return len(text)


def _standard_input() -> BinaryIO:
    """Return the bytes of standard input.

    Raises:
        ValidationError: it was closed when the process began.
    """
    if sys.stdin is None:
        raise ValidationError("standard input", Description("a closed stream"), "UTF-8 text")
    return sys.stdin.buffer


def _is_terminal(stream: IO[str] | None) -> bool:
    """Return whether somebody looks at it; None = it was closed when the process began."""
    return stream is not None and stream.isatty()


def _text_of(operation: Operation, value: Any, args: Mapping[str, Any]) -> str:
    """The text for humans: on a terminal in lines that fit it, unless a layout is asked for."""
    if not _is_terminal(sys.stdout):
        return operation.text(value, args)
    from vestig.surfaces.cli import screen

    size = screen.Screen.of(sys.stdout)
    if operation.screen is not None and screen.is_plain(args):
        return operation.screen(value, args, size)
    text = operation.text(value, args)
    if screen.has_layout(args):
        return text
    return screen.rows(text, size) if operation.rows else screen.folded(text, size)


# Of a model that orders results and had no time, or failed, as a reader is told.
_OF_MODELS: Final = "the order is a rougher one, for a model did not read all"


def _echo_beside(text: str) -> None:
    """Prints beside the result, on standard error."""
    shown = _harmless(text)
    if _is_terminal(sys.stderr):
        from vestig.surfaces.cli import screen

        shown = screen.folded(shown, screen.Screen.of(sys.stderr))
    click.echo(shown, err=True)


class Terminal:
    """The streams of one command: text or one JSON document, progress, questions, errors."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self._progress: Any = None
        self._borrowed: list[io.TextIOWrapper] = []
        self._streamed = False

    def is_fed(self) -> bool:
        """True where standard input is a pipe or a file: somebody gives a text there."""
        try:
            mode = os.fstat(sys.stdin.fileno()).st_mode
        except (AttributeError, OSError, ValueError):
            return False
        return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)

    def read_all(self) -> str:
        """Standard input as text, without its last line end.

        Raises:
            ValidationError: closed, or not UTF-8.
        """
        raw = _standard_input().read()
        try:
            return raw.decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise ValidationError(
                "standard input", Description(f"byte {error.start}"), "UTF-8 text"
            ) from None

    def read_text(self, name: str) -> str:
        """Standard input for an argument of this name; says where a list of statements becomes the
        text of one memory."""
        from vestig.language.text_forms import lines_alone, sentences_by_line

        text, lines = self.read_all(), 0
        if name == "content" and not self.as_json:
            lines = sentences_by_line(text) or lines_alone(text)
        if lines:
            self.note(
                f"{lines} lines become one memory; one memory a line:"
                " `jq -Rc '{content: .}' FILE | vestig import --format memories -`"
            )
        return text

    def output(self) -> IO[str]:
        """Standard output for the rows of an export; the summary then goes to stderr.

        Raises:
            ValidationError: with `--json`, which promises one document there.
        """
        if self.as_json:
            raise ValidationError("file", "-", "the name of a file beside --json")
        if sys.stdout is None:
            raise OutputError("standard output is closed; nothing was written")
        self._streamed = True
        sys.stdout.flush()
        kind = _EscapedLines if _is_terminal(sys.stdout) else io.TextIOWrapper
        return self._borrow(
            kind(sys.stdout.buffer, encoding="utf-8", newline="", write_through=True)
        )

    def input(self) -> IO[str]:
        """Standard input as UTF-8 text.

        Raises:
            ValidationError: it is closed.
        """
        return self._borrow(io.TextIOWrapper(_standard_input(), encoding="utf-8-sig"))

    def _borrow(self, stream: io.TextIOWrapper) -> IO[str]:
        """A wrapper that must not close the process's own stream when it is dropped."""
        self._borrowed.append(stream)
        return stream

    def show(self, operation: Operation, value: Any, args: Mapping[str, Any]) -> None:
        """The result, as text or as one JSON document; None: there is nothing to show."""
        if value is None:
            return
        if self.as_json or args.get("format") == "json":
            from vestig.surfaces import wire

            shown = wire.document(operation.document, value, explain=bool(args.get("explain")))
            self._write(wire.encode(shown) + b"\n")
        else:
            text = _text_of(operation, value, args)
            beside = self._streamed or (
                operation.empty(value, args) and not _is_terminal(sys.stdout)
            )
            self._write_text(text, err=beside)
            self._notices(value)
            if note := operation.note(value):
                self.note(note)
        if args.get("timing"):
            from vestig.surfaces.cli import render

            _echo_beside(render.timing(value))

    def say(self, line: str, style: str = "") -> None:
        """A line while the operation runs: none with `--json`, coloured on a terminal.

        Args:
            style: a colour of the terminal, `bold` or `dim`, or several of these words; "": plain.
        """
        if self.as_json:
            return
        if _is_terminal(sys.stdout):
            from vestig.surfaces.cli import screen

            line = screen.folded(line, screen.Screen.of(sys.stdout))
        if not style:
            self._write_text(line)
            return
        words = style.split()
        colour = next((word for word in words if word not in ("bold", "dim")), None)
        bold, dim = "bold" in words or None, "dim" in words or None
        self._write_text(line, style={"fg": colour, "bold": bold, "dim": dim})

    def complain(self, text: str, problem: Mapping[str, Any]) -> None:
        """An error on stderr: one problem object with `--json`, else text."""
        if self.as_json:
            from vestig.surfaces import wire

            click.echo(_harmless_json(wire.encode(problem).decode()), err=True)
        else:
            _echo_beside(text)

    def note(self, line: str) -> None:
        """A line on stderr beside a result."""
        _echo_beside(line)

    def confirm(self, plan: str) -> bool:
        """Shows what would be destroyed and asks.

        Raises:
            ValidationError: no terminal to ask on; `--yes` confirms instead.
        """
        if not self.as_json:
            _echo_beside(plan)
        if self.as_json or not (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
            raise ValidationError("yes", Description("nothing"), "--yes", message=_NOT_CONFIRMED)
        return click.confirm("Go on?", default=False, err=True)

    def progress(self, done: int, total: int | None) -> None:
        """Moves a progress bar, on a terminal only. `total` None: length unknown."""
        if self.as_json or not _is_terminal(sys.stderr):
            return
        if self._progress is None:
            unknown: Iterator[None] | None = iter(()) if total is None else None
            self._progress = click.progressbar(unknown, length=total, file=sys.stderr)
        self._progress.length = total
        self._progress.update(done - self._progress.pos)

    def finish_work(self) -> None:
        """Ends the line of the progress bar and detaches borrowed streams."""
        while self._borrowed:
            stream = self._borrowed.pop()
            if not stream.closed:
                stream.detach()
        if self._progress is not None:
            self._progress.render_finish()
            self._progress = None

    def give_up(self, error: OutputError) -> int:
        """Says why the result was not written, and returns the exit code; nothing more is
        written, not even at exit."""
        message = str(error)
        if message:
            from vestig.surfaces import wire

            self.complain(f"Error: {message}", wire.usage_problem(message, "standard output"))
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1 if message else 0

    def _notices(self, value: Any) -> None:
        total = getattr(value, "total", 0)
        if total and len(value) < total:
            _echo_beside(f"{len(value)} of {total}; --limit and --offset show others")
        for entry in getattr(getattr(value, "context", None), "left_out", ()):
            _echo_beside(f"left out: {entry.id} ({entry.tokens} tokens)")
        for warning in getattr(value, "warnings", ()):
            _echo_beside(f"warning: {warning}")
        for entry in getattr(value, "degraded", ()):
            count = f" ({entry.count})" if entry.count > 1 else ""
            what = _OF_MODELS if entry.code == "partial_backend" else entry.code
            _echo_beside(f"degraded: {what}: {entry.detail}{count}")
        errors = getattr(value, "errors", ())
        for error in errors[:5]:
            _echo_beside(f"error: {error.message}")
        more = max(0, len(errors) - 5) + getattr(value, "errors_more", 0)
        if more:
            _echo_beside(f"… and {more} more errors, which --json names")

    def _write_text(
        self, text: str, *, err: bool = False, style: Mapping[str, Any] | None = None
    ) -> None:
        if err:
            _echo_beside(text)
            return
        shown = _harmless(text)
        with _writing():
            encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
            shown = shown.encode(encoding, "backslashreplace").decode(encoding)
            # without a terminal the control sequences of a style are left out
            click.echo(click.style(shown, **style) if style else shown)

    def _write(self, data: bytes) -> None:
        with _writing():
            click.echo(_harmless_json(data.decode()).encode(), nl=False)
