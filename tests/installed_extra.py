"""The end of the line that installs an extra where the tests run: in the checkout."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def line_for(extra: str) -> str:
    """Return the words of pip, as a shell takes them."""
    return f"-m pip install -e '{ROOT}[{extra}]'"
