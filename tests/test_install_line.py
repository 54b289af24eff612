"""The line that installs an extra names a place that is there: of the checkout, the wheel or an
index, whichever the package came from."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from vestig import hints

ROOT = Path(__file__).resolve().parent.parent


class Installed:
    """An installation, by what pip recorded of its origin."""

    def __init__(self, origin: str | None) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.origin


def line(monkeypatch: pytest.MonkeyPatch, found: Any, folder: Path) -> list[str]:
    """The words of the line, for a package that lies in `folder`."""

    def distribution(name: str) -> Any:
        if found is None:
            raise PackageNotFoundError(name)
        return found

    monkeypatch.setattr(hints, "__file__", str(folder / "site-packages" / "vestig" / "hints.py"))
    monkeypatch.setattr("importlib.metadata.distribution", distribution)
    words = shlex.split(hints.install_line("mcp"))
    assert words[:4] == [sys.executable, "-m", "pip", "install"]
    return words[4:]


def test_a_package_in_its_checkout_names_the_checkout() -> None:
    assert shlex.split(hints.install_line("mcp"))[4:] == ["-e", f"{ROOT}[mcp]"]


def test_a_package_of_a_wheel_names_the_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wheel = tmp_path / "my wheels" / "vestig-0.1.0-cp311-abi3-linux_x86_64.whl"
    wheel.parent.mkdir()
    wheel.touch()
    origin = json.dumps({"url": wheel.as_uri(), "archive_info": {}})
    assert line(monkeypatch, Installed(origin), tmp_path) == [f"{wheel}[mcp]"]


@pytest.mark.parametrize(
    "origin",
    [None, '{"url": "file:///nowhere/vestig.whl"}', '{"url": "https://x/y.whl"}', "no JSON", "[]"],
    ids=["index", "gone", "another address", "damaged", "no object"],
)
def test_a_package_without_a_place_names_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, origin: str | None
) -> None:
    assert line(monkeypatch, Installed(origin), tmp_path) == ["vestig[mcp]"]


def test_a_package_that_is_not_installed_names_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert line(monkeypatch, None, tmp_path) == ["vestig[mcp]"]
