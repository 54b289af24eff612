from __future__ import annotations

from pathlib import Path

import pytest
from branch_work import FILE, OTHER, Work

from repositories import repository, text_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(
        tmp_path / "work",
        {FILE: text_of(1, 20), OTHER: text_of(1, 20, "web"), ".gitignore": "build/\n"},
    )


@pytest.fixture
def work(folder: Path) -> Work:
    return Work(folder)
