"""What other memories' vectors hold where they meet in a segment is no residue."""

from __future__ import annotations

from pathlib import Path

import pytest

import vestig
from forget_checks import SECRET, clean, commit
from vestig.testing import ScriptedEmbedder

LAST = "The ferry to the island leaves twice a day in winter"
NEXT = "Bread is baked before six in the morning at the mill"


def placed(dimensions: int, **at: int) -> list[float]:
    """1 and 3 side by side at `pair`, 5 and 7 at `rest`: every such vector has one length."""
    vector = [0.0] * dimensions
    vector[at["pair"] : at["pair"] + 2] = [1.0, 3.0]
    vector[at["rest"] : at["rest"] + 2] = [5.0, 7.0]
    return vector


@pytest.mark.parametrize("dimensions", [32, 64])
def test_a_run_over_the_border_of_two_vectors_is_shared(tmp_path: Path, dimensions: int) -> None:
    """The forgotten vector begins with a pair and four zeros. So does what lies behind the end of
    another one: the zeros that fill its lanes, or the beginning of the next vector."""
    off = {"entities": {"enabled": False}}
    vectors = {
        SECRET: placed(dimensions, pair=0, rest=20),
        LAST: placed(dimensions, pair=dimensions - 2, rest=8),
        NEXT: placed(dimensions, pair=12, rest=14),
    }
    with vestig.open(tmp_path / "s", embedder=ScriptedEmbedder(vectors), config=off) as store:
        gone = commit(store, SECRET)
        commit(store, LAST)
        commit(store, NEXT)
        store.admin.compact()
        report = store.forget(gone)
        assert (report.residues, store.count()) == (0, 2)
        clean(store)
