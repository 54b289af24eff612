"""A terminal of 24 × 80: what a result shows there, and that it is whole elsewhere."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import sys
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from command_answers import Vestig

import vestig as library
from tables import each
from vestig.language.best_window import best_window
from vestig.surfaces.cli import run
from vestig.surfaces.cli.screen import Screen, cut, found, rows, width, wrapped
from vestig.testing import HashingEmbedder

COLUMNS, ROWS = 80, 24
NOTE = (
    "The boat was built in 1961 by the yard at Hvaler, of oak on oak. Her sails are tanned every"
    " other spring. The engine was overhauled in March by Kari. It starts badly below zero degrees,"
    " so the heater has to run for ten minutes first. Spare filters lie in the blue box under the"
    " bench. The impeller was changed last autumn. The hull is painted with red paint from the"
    " shed."
)
OnTerminal = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def on_terminal(vestig: Vestig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnTerminal:
    """Runs one command line with a terminal of 24 × 80 as standard output."""

    def command(*words: str) -> tuple[int, list[str]]:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        parts: list[bytes] = []
        # a terminal holds few bytes that nobody has read
        reader = threading.Thread(target=_read, args=(master, parts))
        reader.start()
        with os.fdopen(slave, "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", stream)
            code = run([*words, "--config", str(tmp_path / "vestig.yaml")])
            stream.flush()
        reader.join(30)
        os.close(master)
        return code, b"".join(parts).decode().replace("\r\n", "\n").rstrip("\n").split("\n")

    return command


def _read(terminal: int, parts: list[bytes]) -> None:
    """Reads until the other end is closed."""
    with suppress(OSError):
        while found := os.read(terminal, 65_536):
            parts.append(found)


@pytest.fixture
def filled(vestig: Vestig) -> Vestig:
    vestig("add", NOTE, "--key", "boat")
    for n in range(30):
        vestig(
            "add",
            f"Log {n}: the boat sailed past buoy {n} in a wind of {n} knots, and "
            "nobody on board said a word about the engine all the way home.",
            "--tags",
            "log",
        )
    return vestig


COMMANDS = (
    ("recall", "which boat starts badly below zero degrees?"),
    ("recall", "boat", "--all", "--limit", "10"),
    ("recall", "boat", "--all", "--limit", "31"),
    ("search", "boat", "--all", "--limit", "20"),
    ("list",),
    ("history", "boat"),
    ("document", "list"),
    ("entity", "list", "--limit", "20"),
)


@each("words", COMMANDS, ids=" ".join)
def test_an_answer_fits_24_lines_of_80(
    filled: Vestig, on_terminal: OnTerminal, words: tuple[str, ...]
) -> None:
    code, lines = on_terminal(*words)
    assert code == 0
    assert len(lines) < ROWS
    assert max(map(len, lines)) <= COLUMNS


def test_the_sentences_that_match_are_shown_and_how_sure_it_is_in_words(
    filled: Vestig, on_terminal: OnTerminal
) -> None:
    query = "does the engine start badly below zero degrees?"
    _, lines = on_terminal("recall", query, "--limit", "1", "--all")
    [memory] = filled("list", "--keys", "boat", "--json").document["memories"]
    day = memory["t_valid"][:10]
    head = lines.index(f"{memory['id'][:12]}  {day}  [boat]")
    text = " ".join(line.strip() for line in lines[head + 1 :])
    assert text.startswith("… ")
    assert text.endswith(" …")
    assert "It starts badly below zero degrees" in text
    assert len(text) <= 244
    assert "score" not in " ".join(lines)
    _, explained = on_terminal("recall", query, "--limit", "1", "--all", "--explain")
    assert "(score=" in " ".join(explained)
    assert "Hvaler" in " ".join(explained)


def test_what_has_no_room_is_counted(filled: Vestig, on_terminal: OnTerminal) -> None:
    _, lines = on_terminal("recall", "boat", "--all", "--limit", "31")
    shown = sum(line.startswith("mem_") for line in lines)
    assert lines[-1] == f"… and {31 - shown} more: --format list prints all"
    assert all(filled("show", line.split()[0]).code == 0 for line in lines if line[:4] == "mem_")


def test_a_pipe_and_json_get_all_of_it(filled: Vestig, on_terminal: OnTerminal) -> None:
    words = ("recall", "engine zero degrees", "--limit", "1", "--all")
    assert NOTE in filled(*words).out
    _, lines = on_terminal(*words, "--json")
    assert json.loads("".join(lines))["results"][0]["content"] == NOTE
    _, lines = on_terminal(*words, "--format", "text")
    assert f"Content: {NOTE}" in "".join(lines)
    _, lines = on_terminal("list", "--json")
    assert len(json.loads("".join(lines))["memories"]) == 20


def test_a_status_is_named_where_it_is_none_of_an_active_memory(
    vestig: Vestig, ids: list[str], on_terminal: OnTerminal
) -> None:
    vestig("archive", ids[0])
    _, lines = on_terminal("list", "--include-archived")
    assert [line.split()[2] for line in lines if line.startswith(ids[0][:12])] == ["archived"]


def test_a_result_that_is_not_sure_says_so_in_words() -> None:
    with library.open(":memory:", embedder=HashingEmbedder(64)) as store:
        store.commit("The pump failed on Monday")
        result = store.recall("who painted the ceiling?")
    words = found(result, {}, Screen()).split("\n")[0]
    assert words in ("doubtful; nearest:", "nothing close; nearest:", "No memories found.")
    assert "0." not in words


@each(
    ("query", "shown"),
    [
        ("who overhauled the engine?", "overhauled in March by Kari"),
        ("where are the filters?", "Spare filters lie in the blue box"),
        ("what colour is the paint?", "painted with red paint"),
        ("zzz", "The boat was built in 1961"),
    ],
)
def test_a_window_has_the_words_of_the_query(query: str, shown: str) -> None:
    window = best_window(NOTE, query, 120)
    assert shown in window
    assert len(window) <= 124
    assert window.strip("… ") in NOTE


def test_a_sentence_that_is_too_long_is_shown_around_the_word() -> None:
    long = f"{'and so on ' * 50}the impeller is new {'and so on ' * 50}"
    window = best_window(long, "impeller", 60)
    assert "the impeller is new" in window
    assert window.startswith("… ")
    assert window.endswith(" …")
    assert len(best_window("a" * 500, "a", 60)) <= 64


def test_width_counts_columns() -> None:
    assert [width(text) for text in ("tar", "雪国", "e\u0301")] == [3, 4, 1]
    assert cut("雪国雪国", 5) == "雪国…"
    assert wrapped("雪国雪国 tar", 5) == ["雪国", "雪国", "tar"]


def test_rows_keep_what_names_them() -> None:
    id = "mem_482b5ed0-8a1a-4a99-b822-7842da783e75"
    line = f"learnt | 2026-11-28 19:23:38 UTC | {id} | It says {id}"
    assert rows(line, Screen(200, 24)) == f"learnt | 2026-11-28 19:23 | mem_482b5ed0 | It says {id}"
    assert width(rows(line, Screen(60, 24))) <= 60
    assert rows(f"a | {id} → {id} (key)", Screen()) == "a | mem_482b5ed0 → mem_482b5ed0 (key)"
