"""Configurations of a user folder and a project folder that belong to one test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vestig.config import Config, load

Loader = Callable[..., Config]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user folder and a project folder of this test alone."""
    (tmp_path / "user" / "vestig").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    return tmp_path


@pytest.fixture
def loaded(home: Path) -> Loader:
    def run(
        project: str | None = None,
        *,
        user: str | None = None,
        env: dict[str, str] | None = None,
        found: bool = False,
        **options: Any,
    ) -> Config:
        """Loads what the files say; the project file is named by the call, or found."""
        if project is not None:
            (home / "project" / "vestig.yaml").write_text(project, encoding="utf-8")
        if user is not None:
            (home / "user" / "vestig" / "config.yaml").write_text(user, encoding="utf-8")
        environ = {
            "XDG_CONFIG_HOME": str(home / "user"),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_STATE_HOME": str(home / "state"),
            **(env or {}),
        }
        here = home / "project" / "vestig.yaml"
        if here.exists() and not found and "VESTIG_CONFIG" not in environ:
            options.setdefault("path", here)
        return load(environ=environ, cwd=home / "project", **options)

    return run
