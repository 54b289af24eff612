"""Makes a repository of git of the releases of a package, one commit a release.

Many projects make a release of each merged change; their sources come with any package client where
their repositories cannot be cloned:

    python tests/anchors/history_of_releases.py hypothesis /tmp/hypothesis
    VESTIG_TEST_HISTORIES=/tmp/hypothesis pytest -m torture tests/anchors
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def versions_of(package: str, count: int) -> list[str]:
    """Its last releases, the oldest first."""
    said = subprocess.check_output([*PIP, "index", "versions", package], text=True, stderr=-3)
    (line,) = (one for one in said.splitlines() if one.startswith("Available versions:"))
    return line.partition(":")[2].replace(" ", "").split(",")[:count][::-1]


def files_of(package: str, version: str, folder: Path) -> None:
    """Puts the files of a release's wheel into a folder, but for what tells the release itself."""
    with tempfile.TemporaryDirectory() as got:
        wanted = "--no-deps", "--only-binary", ":all:", "-d", got, f"{package}=={version}"
        subprocess.run([*PIP, "download", "-q", *wanted], check=True)
        (wheel,) = Path(got).glob("*.whl")
        with zipfile.ZipFile(wheel) as held:
            names = [one for one in held.namelist() if ".dist-info/" not in one]
            held.extractall(folder, names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=200, help="the last so many (200)")
    given = parser.parse_args()

    def git(*arguments: str) -> None:
        who = "-c", "user.name=releases", "-c", "user.email=releases@example.org"
        subprocess.run(["git", "-C", str(given.folder), *who, *arguments], check=True)

    given.folder.mkdir(parents=True)
    git("init", "-q", "-b", "main")
    for version in versions_of(given.package, given.count):
        for old in given.folder.iterdir():
            if old.name != ".git":
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        files_of(given.package, version, given.folder)
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", version)


if __name__ == "__main__":
    main()
