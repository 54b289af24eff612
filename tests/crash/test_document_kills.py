"""Imports of documents that end without warning."""

from __future__ import annotations

from pathlib import Path

import pytest
from document_kills import document_kills


@pytest.mark.slow
def test_an_import_that_was_killed_ends_like_one_that_was_not(tmp_path: Path) -> None:
    outcome = document_kills(tmp_path, 6)
    assert outcome.broken == []
    assert outcome.acknowledged == 12
