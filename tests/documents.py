"""Reading Markdown as code: fenced blocks, console sessions, and what may differ in output."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_MARK = "--- command done ---"

# What differs from run to run: ids, times, durations, sizes, and the last digits of scores (8-bit
# model arithmetic is not the same on every processor).
_VOLATILE = (
    (re.compile(r"\b(mem|evt|edge|source|job|doc)_[0-9a-f-]{8,36}…?"), r"\1_…"),
    (re.compile(r"\[[0-9a-f]{8}\]"), "[<id>]"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z)?"), "<time>"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s|bytes|KiB|MiB|kB|MB)\b"), "<amount>"),
    (re.compile(r"\b\d\.\d{2,}\b"), "<score>"),
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "<hash>"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


class Block(NamedTuple):
    """One fenced block: its language, its text and the line of its fence."""

    language: str
    text: str
    line: int


def blocks(markdown: str) -> list[Block]:
    """Fenced blocks in order."""
    return [
        Block(m.group(1), m.group(2), markdown.count("\n", 0, m.start()) + 1)
        for m in _FENCE.finditer(markdown)
    ]


def stable(text: str) -> str:
    """`text` without what may differ between two runs."""
    for pattern, words in _VOLATILE:
        text = pattern.sub(words, text)
    return text.strip("\n")


def session(text: str) -> list[tuple[str, str]]:
    """(command, expected output) of a `console` block; a command goes on after a backslash."""
    steps: list[tuple[str, str]] = []
    open_command = False
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], ""))
        elif open_command:
            steps[-1] = (f"{steps[-1][0]}\n{line}", "")
        else:
            steps[-1] = (steps[-1][0], f"{steps[-1][1]}{line}\n")
        open_command = line.endswith("\\") and not steps[-1][1]
    return steps


def play(commands: list[str], cwd: Path, env: dict[str, str]) -> list[str]:
    """Outputs of shell commands run one after the other in one shell."""
    script = "".join(f"{command}\necho; echo '{_MARK}'\n" for command in commands)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout.split(f"{_MARK}\n")[: len(commands)]
