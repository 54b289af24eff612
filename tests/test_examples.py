"""The programs of examples/: short, described, and each prints what it is there to show."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tables import each

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples"
LINES_MAX = 60
# A program → lines that it prints, in this order.
PRINTED = {
    "agent_loop": ["Which port does the staging database listen on? → Use port 5433.",
                   "What did the auditors say? → I do not know."],
    "backup_and_restore": ["backed up: 2 memories", "refused: there is a store",
                           "restored: 2 memories", "The staging database listens on port 5433."],
    "changing_facts": ["now: Maria lives in Faro.", "in 2024: Maria lives in Porto.",
                       "['Deploys run on Fridays.', 'Deploys run on Mondays.']"],
    "evaluate": ["default hit@1 1.0"],
    "forget_with_proof": ["in the files before: True", "would go: 1 of 2",
                          "files searched: True | residues: 0", "in the files after: False"],
    "http_client": ["health: healthy", "commit: INSERTED_NEW",
                    "recall: Deploys run on Fridays.", "keys: ['deploys']"],
    "import_notes": ["first: 2 passages of 2 documents", "again: 1 added, 1 ended, 1 unchanged",
                     "The keel was replaced in 2019, by Ann.", "mirror: ['mast.md'] ended"],
    "mcp_client": ["tools: True", "recalled: True"],
    "quickstart": ["likely → The staging database listens on port 5433.",
                   "now: Releases leave on Tuesday.", "then: Releases leave on Thursday.",
                   "0 results"],
    "users": ["Ada: I live in Porto. | Bo: I live in Bergen.", "Bo asks about nuts: 0 results",
              "refused: scope", "2 memories of Ada forgotten, 1 left"],
}  # fmt: skip
NEEDS = {"http_client": "uvicorn", "mcp_client": "mcp"}


def test_every_example_is_short_described_listed_and_run() -> None:
    found = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")}
    assert found.keys() == PRINTED.keys()
    listing = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    for name, text in found.items():
        assert len(text.splitlines()) <= LINES_MAX, name
        assert ast.get_docstring(ast.parse(text)), name
        assert f"examples/{name}.py" in listing, name


@pytest.mark.slow
@each("name", PRINTED)
def test_an_example_prints_what_it_shows(tmp_path: Path, name: str) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py")],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    printed = [line for line in done.stdout.splitlines() if line in PRINTED[name]]
    assert printed == PRINTED[name], done.stdout
