"""Asks one tool of others, in an environment that holds its package:

    python benches/peers/ask.py TOOL FOLDER

FOLDER holds `given.json`: units (id, text) and questions by conversation, with `vectors.bin`,
float32 of all units and then of all questions, conversation by conversation. Written is
`found.json`: by mode the ids for each question, the CPU time of the searches and the bytes on disk.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import time
from array import array
from pathlib import Path

LIMIT = 10


def bytes_below(folder: Path) -> int:
    """The sizes of all files below a folder."""
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def _vectors(file: Path, dimensions: int) -> list[list[float]]:
    numbers = array("f")
    numbers.frombytes(file.read_bytes())
    return [list(numbers[at : at + dimensions]) for at in range(0, len(numbers), dimensions)]


def main(name: str, folder: Path) -> None:
    """Writes what the tool finds."""
    tool = importlib.import_module(name)
    given = json.loads((folder / "given.json").read_text("utf-8"))
    vectors = _vectors(folder / "vectors.bin", given["dimensions"])
    rankings: dict[str, list[list[str]]] = {mode: [] for mode in tool.MODES}
    spent, stored, at = dict.fromkeys(tool.MODES, 0.0), 0, 0
    for ids, texts, questions in given["conversations"]:
        of_texts = vectors[at : at + len(texts)]
        of_questions = vectors[at + len(texts) : at + len(texts) + len(questions)]
        at += len(texts) + len(questions)
        with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as place:
            searched = tool.Tool(place, ids, texts, of_texts)
            for mode in tool.MODES:
                began = time.process_time()
                for question, vector in zip(questions, of_questions, strict=True):
                    rankings[mode].append(searched.search(mode, question, vector, LIMIT))
                spent[mode] += time.process_time() - began
            stored += bytes_below(Path(place))
    found = {"rankings": rankings, "seconds": spent, "bytes": stored}
    (folder / "found.json").write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
