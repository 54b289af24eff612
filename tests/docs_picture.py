"""The picture of a terminal in README: commands that are run, and what they print.

`python tests/docs_picture.py` (or `make docs`) writes docs/terminal.svg; tests/test_docs.py
compares.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

PICTURE: Final = Path(__file__).resolve().parent.parent / "docs" / "terminal.svg"
COMMANDS: Final = (
    ("add", "The staging database listens on port 6543.", "--key", "staging.port"),
    ("add", "The staging database listens on port 6544.", "--key", "staging.port"),
    ("add", "Maria moved to Lisbon in March."),
    ("recall", "which port does staging use?"),
    ("recall", "who is Maria's dentist?"),
    ("history", "staging.port"),
)
_WIDTH: Final = 80
# What differs from run to run, and what stands in its place.
_ID: Final = re.compile(r"mem_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|mem_[0-9a-f]{8}")
_DAY: Final = re.compile(r"\b20\d\d-\d\d-\d\d\b")
_SHOWN_DAY: Final = "2026-03-02"
_TIME: Final = re.compile(r"(?<= )\d\d:\d\d\b")
_SHOWN_TIME: Final = "09:40"
# As rich's own, but for fonts, which a picture cannot load from elsewhere.
_FORMAT: Final = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>A terminal</title>
<desc>A value takes the place of another, a question finds it, and one that nothing answers
finds nothing.</desc>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
.{unique_id}-back {{ fill: #f4f3ef; }}
.{unique_id}-matrix text {{ fill: #1d2426; }}
@media (prefers-color-scheme: dark) {{
  .{unique_id}-back {{ fill: #14181a; }}
  .{unique_id}-matrix text {{ fill: #e6eae8; }}
}}
</style>
<defs>
{lines}
</defs>
<rect class="{unique_id}-back" width="{width}" height="{height}" rx="8"/>
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def printed(folder: Path) -> list[tuple[str, str]]:
    """Each command line, and what it prints in a terminal."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VESTIG_")}
    # a busy machine changes nothing that is shown
    environ = {**kept, "VESTIG_JUDGE__BUDGET_MS": "60000", "VESTIG_STORE": str(folder / "store")}
    found = []
    ids: dict[str, str] = {}

    def shown_id(match: re.Match[str]) -> str:
        short = match[0][:12]
        return ids.setdefault(short, f"mem_{len(ids) + 1:08x}") + match[0][12:13].replace("-", "…")

    for words in COMMANDS:
        line = " ".join(word if " " not in word else f'"{word}"' for word in words)
        told = on_terminal([sys.executable, "-m", "vestig", *words], folder, environ)
        told = _DAY.sub(_SHOWN_DAY, _ID.sub(shown_id, told))
        told = _TIME.sub(_SHOWN_TIME, told)
        found.append((f"vestig {line}", told.rstrip("\n")))
    return found


def on_terminal(command: list[str], folder: Path, environ: dict[str, str]) -> str:
    """Return what a command that succeeds writes to a terminal of 24 × 80."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, _WIDTH, 0, 0))
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environ
    ) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 1 << 16):
                parts.append(part)
        except OSError:  # the end, on Linux
            pass
        os.close(ours)
    assert process.returncode == 0, command
    return b"".join(parts).decode().replace("\r\n", "\n")


def drawn() -> str:
    """Return the picture."""
    with tempfile.TemporaryDirectory() as folder:
        lines = printed(Path(folder))
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    for command, told in lines:
        console.print(Text("$ ", "green").append(command, "bold"), soft_wrap=False)
        console.print(Text(told), soft_wrap=False)
        console.print()
    return console.export_svg(code_format=_FORMAT, unique_id="t", clear=False)


if __name__ == "__main__":
    PICTURE.write_text(drawn(), "utf-8")
