"""Homes that this user may not read: no reason to stop where a configuration is named."""

from __future__ import annotations

from pathlib import Path

import pytest

import vestig
from vestig.config.loader import load
from vestig.errors import ConfigError


@pytest.fixture
def foreign_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment whose home may not be searched; who runs the tests may search any."""
    home = tmp_path / "home"
    real = Path.stat

    def stat(path: Path, **options: bool) -> object:
        if home in path.parents:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, **options)

    monkeypatch.setattr(Path, "stat", stat)
    return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}


def test_a_named_configuration_is_enough(tmp_path: Path, foreign_home: dict[str, str]) -> None:
    named = tmp_path / "named.yaml"
    named.write_text("hygiene: {min_chars: 4}\n")
    config = load(environ={**foreign_home, "VESTIG_CONFIG": str(named)}, cwd=tmp_path)
    assert config.settings.hygiene.min_chars == 4
    assert "config.yaml: cannot be read: Permission denied" in (config.passed_over or "")
    assert config.with_overrides(profile="baseline").passed_over == config.passed_over


def test_without_one_the_message_names_the_way_out(
    tmp_path: Path, foreign_home: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match="set XDG_CONFIG_HOME to a folder that you may read, or"):
        load(environ=foreign_home, cwd=tmp_path)


def test_doctor_says_what_was_passed_over(
    tmp_path: Path, foreign_home: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "named.yaml"
    named.write_text("hygiene: {min_chars: 4}\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", foreign_home["XDG_CONFIG_HOME"])
    with vestig.open(tmp_path / "store", config=named) as store:
        store.commit("The ferry leaves at nine.")
        [found] = [one for one in store.admin.doctor().findings if one.check == "configuration"]
    assert found.level == "finding"
    assert "cannot be read: Permission denied" in found.detail
