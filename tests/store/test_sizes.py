"""`doctor` prints what a memory takes in the projection, section by section."""

from __future__ import annotations

import re
from pathlib import Path

import vestig
from vestig.testing import HashingEmbedder


def test_doctor_prints_the_bytes_of_each_section(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(128)) as store:
        store.commit_many([f"The lamp number {n} hangs in hall {n + 40}" for n in range(300)])
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(128)) as store:
        store.admin.compact()
        found = {finding.check: finding for finding in store.admin.doctor().findings}["projection"]
        count = store.count()
    assert found.level == "ok"
    match = re.search(r"(\d+) bytes in sections, (\d+) a memory: (.*)$", found.detail)
    assert match is not None, found.detail
    total, share = int(match[1]), int(match[2])
    sizes = {name: float(size) for name, size in (pair.split() for pair in match[3].split(", "))}
    # Entities have vectors as well.
    assert sizes["vectors"] >= 4 * 128
    assert list(sizes.values()) == sorted(sizes.values(), reverse=True)
    assert abs(total / count - share) <= 0.5
    assert abs(sum(sizes.values()) - share) < 0.1 * share
