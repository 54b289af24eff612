"""Import of documents: a megabyte of Markdown without its embedding, the memory that it takes, and
a folder of notes that have not changed.

Napkin: a passage costs 0.4 ms of cutting, reading and rows, 1,500 of them 0.6 s. An unchanged file
costs a look at its size and time, and one row of its document.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import vestig
from chats import turns
from conftest import fewer, note_line, slowness
from vestig.testing import HashingEmbedder

BYTES, NOTES = 1_000_000, fewer(1_000, 200)
IMPORT_BAR_S, MEMORY_BAR_MB, UNCHANGED_BAR_S = 10.0, 150, 1.0
# What a process held before an import, and the most during it.
MEASURED = """
import sys, vestig
from vestig.testing import HashingEmbedder
def held(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))
with vestig.open(sys.argv[1], embedder=HashingEmbedder()) as store:
    before = held("VmRSS:")
    assert store.import_(sys.argv[2]).added > 1000
print(before, held("VmHWM:"))
"""


def _markdown(path: Path) -> Path:
    """A megabyte of headings and paragraphs."""
    said = [turn["content"] for turn in turns(8_000, seed=7)]
    parts, size = ["# All that was said\n"], 0
    for place, text in enumerate(said * 9):
        heading = f"\n## Part {place}\n\n" if place % 12 == 0 else ""
        parts.append(f"{heading}{text} ({place})\n")
        size += len(parts[-1].encode())
        if size >= BYTES:
            break
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def test_a_megabyte(tmp_path: Path) -> None:
    file = _markdown(tmp_path / "long.md")
    bar = IMPORT_BAR_S * slowness(1_000, cpu=True)
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder()) as store:
        start = time.process_time()
        report = store.import_(file)
        spent = time.process_time() - start
    assert report.failed == 0
    note_line(
        f"import of {file.stat().st_size / 1e6:.2f} MB of Markdown, {report.passages:,} passages:"
        f" {spent:.2f} s of the processor · bar {bar:.1f} s {'met' if spent <= bar else 'MISSED'}"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the most memory is read from /proc")
def test_memory_of_a_megabyte(tmp_path: Path) -> None:
    file = _markdown(tmp_path / "long.md")
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path / "store"), str(file)],
        check=True,
        capture_output=True,
        text=True,
    )
    before, most = (int(one) * 1024 / 1e6 for one in done.stdout.split())
    verdict = "met" if most <= MEMORY_BAR_MB else "MISSED"
    note_line(
        f"import of 1 MB of Markdown: {most:,.0f} MB held at most, {before:,.0f} MB before it"
        f" · bar {MEMORY_BAR_MB} MB {verdict}"
    )


def test_an_unchanged_folder(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for place, turn in enumerate(turns(NOTES, seed=11)):
        (folder / f"{place}.md").write_text(f"# Note {place}\n\n{turn['content']}\n")
    bar = UNCHANGED_BAR_S * slowness(1_000)
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder()) as store:
        store.import_(folder)
        start = time.perf_counter()
        report = store.import_(folder)
        spent = time.perf_counter() - start
    assert report.skipped == NOTES
    note_line(
        f"import of {NOTES:,} notes that have not changed: {spent:.2f} s · bar {bar:.1f} s"
        f" {'met' if spent <= bar else 'MISSED'}"
    )
