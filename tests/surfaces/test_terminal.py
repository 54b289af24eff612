"""What a terminal shows: colours and a progress bar there, plain lines elsewhere."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tables import each
from vestig.surfaces.cli.terminal import Terminal


@contextmanager
def on_a_terminal(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[Callable[[], str]]:
    """`sys.stdout` or `sys.stderr` as a terminal; what it was given."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, name, stream)

        def shown() -> str:
            stream.flush()
            found = os.read(master, 65_536)
            # what was written at once may arrive in parts
            while select.select([master], [], [], 0.1)[0]:
                found += os.read(master, 65_536)
            return found.decode()

        yield shown
    os.close(master)


def test_a_style_is_for_terminals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Terminal().say("a line \x1b[2J", "bold cyan")
    assert capsys.readouterr().out == "a line \\x1b[2J\n"
    with on_a_terminal(monkeypatch, "stdout") as shown:
        Terminal().say("a line \x1b[2J", "bold cyan")
        line = shown()
        Terminal().say("plain")
        assert shown() == "plain\r\n"
        Terminal().say("dim", "dim")
        assert "\x1b[2mdim" in shown()
    assert "a line \\x1b[2J" in line
    assert line.startswith("\x1b[")
    assert "36" in line


@pytest.mark.parametrize("total", [40, None])
def test_progress_is_a_bar_on_a_terminal(
    total: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Terminal().progress(1, total)
    assert capsys.readouterr().err == ""
    with on_a_terminal(monkeypatch, "stderr") as shown:
        silent = Terminal(as_json=True)
        silent.progress(1, total)
        terminal = Terminal()
        for done in (10, 20, 40):
            terminal.progress(done, total)
        terminal.finish_work()
        line = shown()
    assert "[" in line
    assert ("100%" in line) == (total is not None)
    assert line.endswith("\n")


HIDDEN = {
    "control": "a\x1b]0;owned\x07b", "second control set": "a\x9bb", "delete": "a\x7fb",
    "override": "invoice\u202efdp.exe", "isolate": "a\u2066b\u2069", "mark": "a\u200fb",
    "Arabic mark": "a\u061cb", "no width": "pass\u200bword", "joined words": "pass\u2060word",
    "byte order": "\ufeffa", "soft hyphen": "pass\xadword", "tags": "a\U000e0061\U000e007fb",
    "separator": "a\u2028b", "selectors": "a\U000e0150\U000e0121b",
    "joiners": "a\u200c\u200d\u200cb",
    "annotation": "a\ufff9b\ufffbc", "shorthand": "a\U0001d173b",
}  # fmt: skip


@each("text", HIDDEN.values(), ids=HIDDEN)
def test_what_is_hidden_is_printed_as_an_escape(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In every line, of results and errors, as text and as JSON."""
    terminal = Terminal()
    terminal.say(text)
    terminal.say(text, "bold")
    terminal.note(text)
    terminal.complain(text, {})
    Terminal(as_json=True).complain(text, {"detail": text})
    out, err = capsys.readouterr()
    assert (out + err).replace("\n", "").isprintable()
    assert json.loads(err.splitlines()[-1]) == {"detail": text}
    shown = out.splitlines()[0]
    assert shown == out.splitlines()[1] == err.splitlines()[0]
    assert re.search(r"\\(x|u|U000)[0-9a-f]", shown)


@pytest.mark.parametrize(
    "text",
    ["family 👨‍👩‍👧", "می‌خواهم", "क्‍ष", "❤️", "葛󠄀飾区", "tab\tand\nline", "Zoë, 東京"],
)
def test_what_is_written_with_joiners_and_variants_stays(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Terminal().say(text)
    assert capsys.readouterr().out == text + "\n"


def test_an_export_on_a_terminal_is_escaped_and_reads_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = '{"content":"invoice\u202efdp.exe"}'
    with on_a_terminal(monkeypatch, "stdout") as shown:
        terminal = Terminal()
        terminal.output().write(line)
        terminal.finish_work()
        printed = shown()
    assert printed.isascii()
    assert json.loads(printed) == json.loads(line)
