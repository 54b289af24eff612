"""Answers that come late, and places, are those of a tenant."""

from __future__ import annotations

import threading

import pytest
from test_serve import Client, Sites, new_tenant, sites, token_for

from vestig.store.replication.postgres import Database

__all__ = ["sites"]


def test_a_late_answer_is_for_its_tenant_and_its_right(
    sites: Sites, database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = sites("a", serve__request_timeout_s=0.2)
    admin = Client(site, token_for(database, tenant, "admin"))
    reader = Client(site, token_for(database, tenant, "read"))
    other = Client(site, token_for(database, new_tenant(database), "admin"))
    admin.post("commit", {"content": "The north gate opens at seven"})
    go = threading.Event()
    monkeypatch.setattr(
        "vestig.api.store.Vestig.add_document",
        lambda store, *_, **__: (go.wait(10), store.documents())[1],
    )
    late = admin.post("document/add", {"text": "The south gate is red"})
    assert late.status == 202
    asked = late.headers["location"]
    assert (other.get(asked).status, other.get(asked).code) == (404, "not-found")
    assert reader.get(asked).status == 403
    # what another tenant asks is answered meanwhile
    assert other.get("count").status == 200
    go.set()
    while (ended := admin.get(asked)).status == 202:
        pass
    assert ended.status == 200
