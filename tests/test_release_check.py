"""What `make release-check` compares: versions, metadata and licences, without a build."""

from __future__ import annotations

import shutil
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = ("Cargo.toml", "Cargo.lock", "pyproject.toml", "server.json", "CHANGELOG.md")
METADATA = b"""Metadata-Version: 2.4
Name: vestig
Version: 1.2.3
Summary: A memory
Keywords: memory
License-Expression: Apache-2.0
License-File: LICENSE
License-File: NOTICE
License-File: LICENSE-CRATES
Requires-Python: >=3.11
Description-Content-Type: text/markdown

# Vestig
"""
LICENCES = {"LICENSE", "NOTICE", "LICENSE-CRATES"}


@pytest.fixture(scope="module")
def check() -> Any:
    spec = spec_from_file_location("release_check", ROOT / ".ci" / "release_check.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_versions_of_this_checkout_agree(check: Any) -> None:
    found = check.versions(ROOT)
    assert {"Cargo.toml", "Cargo.lock, vestig-py", "server.json", "CHANGELOG.md"} <= found.keys()
    assert check.disagreeing(found) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("CHANGELOG.md", "## 0.1.0", "## 0.0.9", "CHANGELOG.md: expected 0.1.0, got 0.0.9"),
        ("server.json", '"vestig[mcp]==0.1.0"', '"vestig[mcp]==0.2"', "server.json, pin 1"),
        ("pyproject.toml", 'dynamic = ["version"]', 'version = "2"', "pyproject.toml: expected"),
    ],
)
def test_a_version_that_was_left_behind_is_named(
    check: Any, tmp_path: Path, file: str, old: str, new: str, says: str
) -> None:
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    text = (tmp_path / file).read_text("utf-8")
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new), "utf-8")
    (fault,) = check.disagreeing(check.versions(tmp_path))
    assert fault.startswith(says)


def test_whole_metadata_has_no_fault(check: Any) -> None:
    assert check.metadata_faults(METADATA, LICENCES, "1.2.3") == []


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (b"Version: 1.2.3", b"Version: 1.2.4", "Version"),
        (b"License-Expression: Apache-2.0\n", b"", "License-Expression"),
        (b"License-File: NOTICE\n", b"", "License-File"),
        (b"Summary: A memory\n", b"", "Summary"),
        (b"\n# Vestig\n", b"", "Description"),
    ],
)
def test_what_metadata_lacks_is_named(check: Any, old: bytes, new: bytes, field: str) -> None:
    (fault,) = check.metadata_faults(METADATA.replace(old, new), LICENCES, "1.2.3")
    assert fault.startswith(f"{field}: expected")


def test_a_licence_that_is_named_and_not_there_is_a_fault(check: Any) -> None:
    assert len(check.metadata_faults(METADATA, LICENCES - {"NOTICE"}, "1.2.3")) == 1


def test_the_licences_of_the_crates_are_those_of_the_lock_file(check: Any) -> None:
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text("utf-8"))["package"]
    named = check.crates_named((ROOT / "LICENSE-CRATES").read_text("utf-8"))
    assert {("pyo3", v) for n, v in named if n == "pyo3"}
    assert named <= {(one["name"], one["version"]) for one in lock}
    core = tomllib.loads((ROOT / "rust/vestig-core/Cargo.toml").read_text("utf-8"))
    assert core["dependencies"].keys() <= {name for name, _ in named}


def test_every_licence_file_comes_with_a_release(check: Any) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {*project["license-files"]} == LICENCES
    assert all((ROOT / name).is_file() for name in LICENCES)
