"""A reading by a language model that ends without warning."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from cognify_writer import fill, opened

import forked
import vestig

WRITER = Path(__file__).with_name("cognify_writer.py")
TESTS = Path(__file__).parent.parent
POINTS = int(os.environ.get("VESTIG_TEST_KILLS", "6"))


def run(store: Path, statement: int, days: int = 0) -> list[str]:
    words = [str(store), str(statement), str(days)]
    done = forked.run(words, env=os.environ, code=forked.script(WRITER, TESTS))
    assert done.returncode in (0, -9), done.stderr
    return done.stdout.splitlines()


def told(store: vestig.Vestig) -> Any:
    """All that was read, without ids."""
    kept = {"statuses": ["active", "superseded", "deprecated"]}
    texts = {one.id: one.content for one in store.list(kept, limit=1000)}
    names = {one.entity.id: (one.entity.entity_type, one.entity.canonical_name)
             for one in store.graph.entities(limit=1000)}  # fmt: skip
    label = {**texts, **names}
    memories = []
    for one in store.list(kept, limit=1000):
        claim = store.show(one.id, include_expired=True).claim
        stated = None
        if claim is not None:
            evidence = sorted((texts[str(e.source_id)], e.snippet) for e in claim.evidence)
            stated = (claim.subject, claim.fact_type, claim.object, claim.confidence, evidence)
        memories.append((one.content, one.kind.value, one.status.value, one.key, one.processing,
                         one.reinforce_count, one.version, repr(stated)))  # fmt: skip
    edges = []
    for kind in ("RELATION", "MENTIONS", "SUMMARIZES"):
        for listed in store.graph.edges(edge_type=kind, limit=1000):
            edge = listed.edge
            ends = (label[edge.from_id], label[edge.to_id])
            edges.append((kind, str(ends), edge.relation))
    return sorted(memories), sorted(names.values()), sorted(edges, key=str)


@pytest.mark.slow
def test_a_reading_that_was_killed_ends_like_one_that_was_not(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with opened(str(begun), 0) as store:
        fill(store)
    whole = tmp_path / "whole"
    shutil.copytree(begun, whole)
    [last] = run(whole, 0)
    total = int(last[2:])
    with opened(str(whole), 2) as store:
        wanted = told(store)
        assert len(wanted[0]) > 20
        assert {edge[0] for edge in wanted[2]} == {"RELATION", "MENTIONS", "SUMMARIZES"}
    for point in range(POINTS):
        path = tmp_path / f"store-{point}"
        shutil.copytree(begun, path)
        assert run(path, 1 + (2 * point + 1) * total // (2 * POINTS)) == []
        with opened(str(path), 0) as store:
            half = told(store)[0]
            # what is there is whole
            assert {one[0] for one in half} <= {one[0] for one in wanted[0]}
            assert store.admin.doctor().exit_code in (0, 1)
            assert store._session.ledger.verify_all() == []
        run(path, 0, 1)
        with opened(str(path), 2) as store:
            assert told(store) == wanted
            assert store.admin.doctor().exit_code == 0
        shutil.rmtree(path)
