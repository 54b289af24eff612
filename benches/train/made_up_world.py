"""A labelled folder of a few turns and notes, for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_TOOLS = ("ladder", "drill", "saw", "anvil", "kettle", "lamp", "rope", "scale")
_PLACES = ("attic", "cellar", "shed", "garage", "hall", "barn", "loft", "pantry")


def folder(place: Path, owner: str, tools: int = len(_TOOLS)) -> Path:
    """Of each tool two records, where it was and where it is, and a question; one question more
    that nothing answers."""
    rows, asked = list[dict[str, Any]](), list[dict[str, Any]]()
    for number, tool in enumerate(_TOOLS[:tools]):
        for which, month in ((0, 3), (1, 5)):
            where = _PLACES[(number + 3 * which) % len(_PLACES)]
            rows.append(
                {
                    "id": f"r{len(rows)}",
                    "text": f"{owner} keeps the {tool} in the {where}",
                    "timestamp": f"2026-0{month}-03T10:00:00",
                    "speaker": owner,
                    "session": f"s{which}",
                    "turn": number,
                }
            )
        ids = [row["id"] for row in rows[-2:]]
        text = f"where does {owner} keep the {tool}?"
        asked.append(
            {
                "id": f"q{number}",
                "text": text,
                "relevant": ids[1:],
                "outdated": ids[:1],
                "category": "changed",
            }
        )
    asked.append({"id": "q", "text": f"how old is {owner}?", "relevant": []})
    return written(place, rows, asked)


def written(place: Path, rows: list[dict[str, Any]], asked: list[dict[str, Any]]) -> Path:
    """A labelled folder of these records and questions."""
    place.mkdir(parents=True)
    for name, lines in (("corpus", rows), ("queries", asked)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (place / f"{name}.jsonl").write_text(text)
    return place
