"""Every trial of the store's promise at large size, on the machine this runs on, in one table.

    python tests/crash/torture.py [--scale 0.1] [--only kills,power] [--folder DIR]

Ends with 1 if anything was lost, half, silently damaged, crashed or blocked. A trial whose means
this machine lacks (root, loop devices, strace) has a row that says why it was skipped.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

# Nothing of the trials is imported here: each of their processes imports this file again.
HERE: Final = Path(__file__).parent
# Name → module, function, full size.
TRIALS: Final = {
    "kills": ("trials", "kills", 200),
    "keys": ("trials", "keys", 100),
    "stops": ("trials", "stops", 50),
    "power": ("trials", "power", 40),
    "damages": ("damages", "damages", 500),
    "calls": ("trials", "failing_calls", 150),
    "disks": ("trials", "full_disks", 20),
    "crowd": ("crowd", "crowd", 60),
    "models": ("models", "models", 1_000),
    "documents": ("document_kills", "document_kills", 100),
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="times the full size")
    parser.add_argument("--only", default=",".join(TRIALS), help="of: %(default)s")
    parser.add_argument("--folder", type=Path, help="where to make stores (a local disk)")
    found = parser.parse_args()
    found.only = found.only.split(",")
    unknown = [name for name in found.only if name not in TRIALS]
    if unknown or found.scale <= 0:
        parser.error(f"expected trials of {', '.join(TRIALS)} and a scale above 0")
    return found


def say(text: str) -> None:
    """To the terminal, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run(name: str, scale: float, folder: Path) -> tuple[tuple[str, ...], list[str]]:
    """A row of the table, and what was broken."""
    import pytest

    module, function, size = TRIALS[name]
    trial = getattr(importlib.import_module(module), function)
    place = folder / name
    place.mkdir()
    started = time.monotonic()
    try:
        outcome = trial(place, max(1, round(size * scale)))
    except pytest.skip.Exception as skipped:
        return (name, str(skipped)), []
    finally:
        shutil.rmtree(place, ignore_errors=True)
    outcome.seconds = time.monotonic() - started
    say(f"{name}: {outcome.size}, {outcome.seconds:.0f} s, {outcome.also}")
    return outcome.row(), outcome.broken


def main() -> int:
    """The exit code."""
    asked = _arguments()
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    from outcome import table

    from isolation import isolated_environment

    home = Path(tempfile.mkdtemp(prefix="vestig-torture-", dir=asked.folder))
    for name in [name for name in os.environ if name.startswith("VESTIG_")]:
        del os.environ[name]
    os.environ.update(isolated_environment(home))
    rows, broken = [], []
    try:
        for name in asked.only:
            row, found = run(name, asked.scale, home)
            rows.append(row)
            broken += [f"{name}: {what}" for what in found]
    finally:
        shutil.rmtree(home, ignore_errors=True)
    say(f"\n{table(rows)}")
    if broken:
        say("\n".join([f"\n{len(broken)} promises were broken:", *broken[:50]]))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
