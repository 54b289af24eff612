"""Command lines run in this process, with an embedder that needs no model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from vestig.surfaces.cli import run


class Answer(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        assert self.out.endswith("\n")
        assert self.out.count("\n") == 1, "one document on one line"
        found = json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))
        assert isinstance(found, dict)
        return found

    @property
    def problem(self) -> dict[str, Any]:
        """The one problem object on stderr."""
        found = json.loads(self.err)
        assert isinstance(found, dict)
        assert self.out == ""
        return found


def run_line(capfd: pytest.CaptureFixture[str], store: Path, words: Sequence[str]) -> Answer:
    """Runs a command on a store."""
    config = store.parent.parent / "vestig.yaml"
    config.write_text(
        "embedding: {provider: hashing, dimension: 64}\nstore: {lock_timeout_s: 1}\n",
        encoding="utf-8",
    )
    capfd.readouterr()
    code = run([*words, "--config", str(config), "--store", str(store)])
    return Answer(code, *capfd.readouterr())
