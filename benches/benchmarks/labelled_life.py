"""A benchmark of two conversations, small enough to know every answer."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

# Writes a benchmark folder and returns it: units, queries, name=…, packed=….
Bench = Callable[..., Path]

_TEXTS = {
    "garden": (
        ("Ada", "2025-03-01T09:00:00", "The red key opens the shed behind the greenhouse"),
        ("Ben", "2025-03-02T09:00:00", "Tomatoes need watering every second evening"),
        ("Ada", "2025-03-03T09:00:00", "The greenhouse window sticks when it rains"),
        ("Ben", "2025-03-04T09:00:00", "Compost goes into the wooden box near the gate"),
        ("Ada", "2025-03-05T09:00:00", "We sold forty pumpkins at the autumn market"),
        ("Ben", "2025-03-06T09:00:00", "The gate hinge was oiled last Sunday"),
    ),
    "harbour": (
        ("Kofi", "2025-04-01T09:00:00", "The blue key opens the boat house"),
        ("Lena", "2025-04-02T09:00:00", "High tide comes at seven on Friday"),
        ("Kofi", "2025-04-03T09:00:00", "The engine needs new spark plugs"),
        ("Lena", "2025-04-04T09:00:00", "Nets are mended in the loft"),
    ),
}
_ASKED = (
    ("garden", "which key opens the shed?", ("0",), "keys", None),
    ("garden", "how often do tomatoes need watering?", ("1",), "chores", "2025-03-10"),
    ("garden", "what is near the gate?", ("3", "5"), "places", None),
    ("harbour", "which key opens the boat house?", ("0",), "keys", None),
    ("harbour", "when does high tide come?", ("1",), "times", None),
    ("harbour", "what does the engine need?", ("2",), "chores", "2025-04-20T08:00:00"),
)


def units() -> list[dict[str, Any]]:
    """The corpus; ids repeat between conversations."""
    return [
        {
            "id": str(turn),
            "text": text,
            "timestamp": moment,
            "session": "S1",
            "speaker": speaker,
            "conversation": conversation,
            "turn": turn,
        }
        for conversation, lines in _TEXTS.items()
        for turn, (speaker, moment, text) in enumerate(lines)
    ]


def queries() -> list[dict[str, Any]]:
    """The questions."""
    return [
        {
            "id": f"q{number}",
            "text": text,
            "date": date,
            "relevant": list(relevant),
            "category": category,
            "conversation": conversation,
        }
        for number, (conversation, text, relevant, category, date) in enumerate(_ASKED)
    ]


def module_of(file: Path) -> ModuleType:
    """A file that is no module of a package, run as one."""
    spec = importlib.util.spec_from_file_location(f"{file.stem}_file", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
