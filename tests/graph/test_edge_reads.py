"""One edge is found by its id, without reading the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import ledger_rows as made
import vestig
from vestig.changes import ChangeSet
from vestig.testing import HashingEmbedder


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, int]]]:
    """(SQL, rows that it stepped over in a scan of a whole table) of every statement run."""
    seen: list[tuple[str, int]] = []

    def watch(conn: apsw.Connection) -> None:
        def ran(event: dict[str, Any]) -> None:
            scanned = event["stmt_status"]["SQLITE_STMTSTATUS_FULLSCAN_STEP"]
            seen.append((event["sql"], scanned))

        conn.trace_v2(apsw.SQLITE_TRACE_PROFILE, ran)

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, watch])
    yield seen
    assert seen, "statements were watched"


@pytest.mark.parametrize("short", [False, True])
def test_one_edge_is_shown_and_ended_without_reading_the_others(
    tmp_path: Path, statements: list[tuple[str, int]], short: bool
) -> None:
    memories = [made.memory(f"memory number {n}") for n in range(80)]
    pairs = [(a, b) for a in memories for b in memories[:20] if a is not b]
    edges = tuple(made.edge(a.id, b.id) for a, b in pairs)
    with vestig.open(tmp_path / "s", embedder=HashingEmbedder(8)) as store:
        with store._session.ledger.write(made.NOW) as txn:
            txn.apply(ChangeSet(namespace="default", memories=tuple(memories), edges=edges))
        store.graph.edge(edges[0].id)
        wanted = edges[700].id[:17] if short else edges[700].id
        statements.clear()
        shown = store.graph.edge(wanted)
        assert shown.edge.id == edges[700].id
        assert store.graph.unlink(wanted).changed
        of_edges = [(sql, scanned) for sql, scanned in statements if "edges" in sql]
        assert len(of_edges) >= 3
        assert max(scanned for _sql, scanned in of_edges) <= 20, of_edges
