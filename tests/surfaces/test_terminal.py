"""What a terminal shows: colours and a progress bar there, plain lines elsewhere."""

from __future__ import annotations

import os
import pty
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

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
