"""A tenant over HTTP: the position goes both ways."""

from __future__ import annotations

from collections.abc import Callable

from test_tenants import in_state

import vestig
from served import serving_store
from vestig.store.replication.postgres import Database

Machines = Callable[..., vestig.Vestig]
LAZY = {"fleet.max_staleness_s": 1_000}


def test_an_answer_has_a_position_and_a_request_reads_at_least_that(machine: Machines) -> None:
    with serving_store(machine("a")) as writer, serving_store(machine("b", config=LAZY)) as reader:
        written = writer.post("commit", {"content": "The north gate opens at seven"})
        token = written.headers["x-vestig-position"]
        assert int(token) >= 1
        assert reader.get("count").document["count"] == 0
        seen = reader.get("count", {"X-Vestig-Position": token})
        assert seen.document["count"] == 1
        assert seen.headers["x-vestig-position"] == token
        late = reader.get("count", {"X-Vestig-Position": "99"})
        assert (late.status, late.code) == (503, "store-locked")
        wrong = reader.get("count", {"X-Vestig-Position": "-1"})
        assert (wrong.status, wrong.code) == (422, "validation")


def test_a_tenant_that_is_moving_says_when_to_come_back(
    machine: Machines, database: Database, tenant: str
) -> None:
    with serving_store(machine("a")) as served:
        assert served.post("commit", {"content": "The north gate opens at seven"}).status == 201
        in_state(database, tenant, "moving", "postgresql://db2.example:5432/vestig")
        refused = served.post("commit", {"content": "The south gate opens at nine"})
        assert (refused.status, refused.code) == (503, "store-locked")
        assert refused.headers["retry-after"] == "5"
        assert "is moving to another database" in refused.document["detail"]
        assert "db2.example" not in str(refused.document)
        assert served.get("count").document["count"] == 1
        in_state(database, tenant, "active")
        assert served.post("commit", {"content": "The south gate opens at nine"}).status == 201
