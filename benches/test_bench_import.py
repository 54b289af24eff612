"""Import of the form in which ChatGPT exports: turns a second of the processor, and the memory
that a large file takes.

Napkin: a turn costs its embedding (about 4 ms) and 0.4 ms of reading and rows. What is held is one
conversation, a group of 1,000 texts and the store: the file's size does not count.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vestig
from chats import turns
from conftest import fewer, note_line, slowness

TURNS, TURNS_A_CHAT = fewer(4_000, 500), 50
IMPORT_BAR = 180
LARGE_TURNS, TOOL_BYTES = fewer(12_000, 2_000), 12_000
MEMORY_BAR_MB = 300
# The most that a process held while it imported a file.
MEASURED = """
import sys, vestig
from vestig.testing import HashingEmbedder
with vestig.open(sys.argv[1], embedder=HashingEmbedder()) as store:
    report = store.import_(sys.argv[2])
    assert report.imported == int(sys.argv[3]), report
with open("/proc/self/status") as file:
    print(next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")))
"""


def _node(id: str, parent: str, role: str, text: str, kind: str, at: float) -> dict[str, Any]:
    content = {"content_type": kind, "parts": [text], "text": text}
    return {
        "id": id,
        "parent": parent,
        "children": [],
        "message": {
            "id": id,
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": at,
            "content": content,
            "metadata": {"model_slug": "gpt-5", "parent_id": parent, "citations": []},
            "recipient": "all",
        },
    }


def _chats(count: int, tool_bytes: int) -> Iterator[dict[str, Any]]:
    """Conversations of `count` turns in all, behind each of which stands so much of a tool."""
    said = [turn["content"] for turn in turns(count, seed=5)]
    output = " ".join(said)
    for number in range(0, count, TURNS_A_CHAT):
        nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None}}
        parent = "root"
        for place, text in enumerate(said[number : number + TURNS_A_CHAT]):
            role = "user" if place % 2 == 0 else "assistant"
            id, at = f"{number}-{place}", 1.7e9 + number + place
            nodes[id] = _node(id, parent, role, f"{text} ({number}-{place})", "text", at)
            parent = id
            if tool_bytes:
                begins = (number + place) * 37 % max(1, len(output) - tool_bytes)
                shown = output[begins : begins + tool_bytes]
                nodes[f"{id}-t"] = _node(f"{id}-t", parent, "tool", shown, "code", at)
                parent = f"{id}-t"
        yield {
            "title": "A chat",
            "create_time": 1.7e9,
            "mapping": nodes,
            "current_node": parent,
            "conversation_id": f"chat-{number}",
        }


def _written(path: Path, count: int, tool_bytes: int) -> Path:
    with path.open("w") as file:
        for place, chat in enumerate(_chats(count, tool_bytes)):
            file.write(("[" if place == 0 else ",\n") + json.dumps(chat))
        file.write("]")
    return path


def test_turns_a_second(tmp_path: Path) -> None:
    file = _written(tmp_path / "conversations.json", TURNS, 0)
    bar = IMPORT_BAR / slowness(1_000, cpu=True)
    with vestig.open(tmp_path / "store") as store:
        start = time.process_time()
        assert store.import_(file).imported == TURNS
        rate = TURNS / (time.process_time() - start)
    note_line(
        f"import of the form of ChatGPT: {rate:,.0f} turns a second of the processor · bar"
        f" {bar:,.0f} {'met' if rate >= bar else 'MISSED'}"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the most memory is read from /proc")
def test_memory_of_a_large_file(tmp_path: Path) -> None:
    file = _written(tmp_path / "conversations.json", LARGE_TURNS, TOOL_BYTES)
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        packed.write(file, "conversations.json")
    for path in (file, archive):
        done = subprocess.run(
            [
                *(sys.executable, "-c", MEASURED),
                *(str(tmp_path / path.suffix), str(path), str(LARGE_TURNS)),
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        mb = int(done.stdout) * 1024 / 1e6
        verdict = "met" if mb <= MEMORY_BAR_MB else "MISSED"
        note_line(
            f"import of {file.stat().st_size / 1e6:,.0f} MB of conversations,"
            f" {path.name}: {mb:,.0f} MB held at most · bar {MEMORY_BAR_MB} MB {verdict}"
        )
