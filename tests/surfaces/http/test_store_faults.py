"""What a server says when its store is lost, damaged or moved: health tells, problems name no
path."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import vestig
from served import Site, serving, serving_store
from tables import each
from vestig.store.ledger.absent_store import AbsentStore
from vestig.store.sqlite import files
from vestig.testing import HashingEmbedder


def removed(store: Path) -> None:
    shutil.rmtree(store)


def moved(store: Path) -> None:
    store.rename(store.with_name("elsewhere"))


def ledger_removed(store: Path) -> None:
    (store / "ledger.sqlite").unlink()


def replaced(store: Path) -> None:
    moved(store)
    with vestig.open(store, embedder=HashingEmbedder()) as other:
        other.commit("Another store lies here now")


def overwritten(store: Path) -> None:
    with (store / "ledger.sqlite").open("r+b") as file:
        file.truncate(4_096)
        file.write(b"x" * 4_096)
    (store / "ledger.sqlite-wal").write_bytes(b"")


FAULTS = [removed, moved, ledger_removed, replaced, overwritten]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_health_tells_that_the_store_cannot_be_used(
    tmp_path: Path, fault: Callable[[Path], None]
) -> None:
    store = tmp_path / "store"
    with serving(store) as site:
        id = site.commit("Deploys run on Fridays at noon")
        assert site.get("health").document["status"] == "healthy"
        fault(store)
        replies = [
            site.post("commit", {"content": "The gate is open at night"}),
            site.post("recall", {"query": "when do deploys run?"}),
            site.get(f"show/{id}"),
        ]
        assert replies[0].status == 500
        told = site.get("/health")
        assert (told.status, told.code) == (503, "not-ready")
        assert told.document["status"] == 503
        health = told.document["health"]
        assert (health["schema"], health["status"]) == ("vestig/health/1", "unhealthy")
        assert health["ledger"] in ("store-damaged", "internal")
        assert health["seq"] is None, "it was not read"
        if fault is not overwritten:
            assert [reply.code for reply in replies] == ["store-damaged"] * 3
        for reply in (*replies, told):
            assert str(tmp_path).encode() not in reply.body, reply
            assert b"mem_" not in reply.body or reply.status == 200


@each("part", ["", "ledger.sqlite"])
@each("asked", [(), ("/health",), ("list",), ("recall",), ("commit",), ("commit", "list")])
def test_a_store_that_was_away_serves_again_and_names_no_other_way(
    tmp_path: Path, part: str, asked: tuple[str, ...]
) -> None:
    store = tmp_path / "store"
    bodies = {"commit": {"content": "The gate is open"}, "recall": {"query": "when do we deploy?"}}
    with serving(store) as site:
        site.commit("Deploys run on Fridays at noon")
        (store / part).rename(tmp_path / "away")
        for route in asked:
            reply = site.post(route, bodies[route]) if route in bodies else site.get(route)
            assert reply.status in (500, 503)
            assert "doctor" not in reply.document["detail"]
        (tmp_path / "away").rename(store / part)
        assert site.get("/health").status == 200, "no other request came before"
        assert site.get("count").document["count"] == 1
        assert site.post("commit", {"content": "The gate is shut at night"}).status == 201
        assert site.get("count").document["count"] == 2


def test_a_store_that_was_lost_before_the_start_is_unhealthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path / "store") as site:
        lost = AbsentStore(
            ledger=tmp_path / "store" / "ledger.sqlite", lost="expected the store of yesterday"
        )
        ledger = site.store._session.ledger
        monkeypatch.setattr(type(ledger), "missing", property(lambda _: lost))
        assert site.get("health").status == 503
        for reply in (
            site.get("count"),
            site.post("recall", {"query": "deploys"}),
            site.post("commit", {"content": "The gate is open at night"}),
            site.get("metrics"),
        ):
            assert str(tmp_path).encode() not in reply.body, reply
        assert site.get("count").code == "store-damaged"
        monkeypatch.undo()


def test_where_there_is_no_store_yet_a_server_is_healthy_and_names_no_path(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as site:
        assert site.get("health").document["status"] == "healthy"
        reply = site.get("show/mem_00000000")
        assert reply.status == 404
        assert str(tmp_path) not in reply.document["detail"]


def test_a_store_that_may_only_be_read_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    with serving(store) as site:
        site.commit("Deploys run on Fridays at noon")
    reader = vestig.open(store, embedder=HashingEmbedder(), read_only=True)
    with reader, serving_store(reader) as site:  # as the inspector does, which writes nothing
        assert site.get("health").document["status"] == "healthy"
    monkeypatch.setattr(files, "writable", lambda _: False)
    with serving(store) as site:
        reply = site.post("commit", {"content": "The gate is open at night"})
        assert (reply.status, reply.code) == (503, "store-locked")
        assert "may only read it" in reply.document["detail"]
        assert str(tmp_path) not in reply.document["detail"]
        assert "retry-after" not in {name.lower() for name in reply.headers}
        health = site.get("health")
        assert (health.status, health.document["status"]) == (200, "degraded")
        assert health.document["ledger"] == "read-only"
        assert site.post("recall", {"query": "when do deploys run?"}).status == 200


def test_health_is_well_again_when_the_store_is(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with serving(store) as site:
        site.commit("Deploys run on Fridays at noon")

        def broken(**_: object) -> int:
            raise vestig.errors.StoreDamagedError(f"{store}: a page is damaged")

        count = site.store.count
        site.store.count = broken  # type: ignore[method-assign]
        assert site.get("count").document["detail"].startswith("the store is damaged")
        assert site.get("health").status == 503
        site.store.count = count  # type: ignore[method-assign]
        assert site.get("count").status == 200
        assert site.get("health").status == 200


# --- what else was refused too late, or said at too great a length -------------------------------


def test_head_asks_for_what_get_does(site: Site) -> None:
    site.commit("Deploys run on Fridays at noon")
    for path in ("/health", "health", "list", "count", "metrics", "/openapi.json"):
        head, get = site.ask("HEAD", path), site.get(path)
        assert (head.status, head.body) == (get.status, b"")
        assert head.headers["content-type"] == get.headers["content-type"]
    assert site.ask("HEAD", "recall").status == 405
    assert site.post("count", {}).headers["allow"] == "GET, HEAD"


def test_nothing_that_is_only_read_writes(site: Site) -> None:
    id = site.commit("Deploys run on Fridays at noon")
    before = site.get("health").document["seq"]
    for path in (f"show/{id}", f"show/{id}?expand=1", "list", "count"):
        assert site.get(path).status == 200
    touched = site.get(f"show/{id}?touch=true")
    assert (touched.status, touched.code) == (422, "validation")
    assert site.get("health").document["seq"] == before


@pytest.mark.parametrize("digits", ["9" * 17, "9" * 400, "9" * 4_000, "-" + "9" * 30])
def test_a_number_is_one_that_every_reader_holds(site: Site, digits: str) -> None:
    body = f'{{"query": "deploys", "limit": {digits}}}'.encode()
    assert site.post("recall", body, {"Content-Type": "application/json"}).status in (400, 422)
    assert site.get(f"list?limit={digits}").status == 422


@each("text", ["%D9%A3", "%EF%BC%93", "%C2%B3", "+3", "3.0", "0x3", "1_0", "%203"])
def test_a_number_in_a_query_has_ascii_digits(site: Site, text: str) -> None:
    reply = site.get(f"list?limit={text}")
    assert (reply.status, reply.code) == (422, "validation")


@pytest.mark.parametrize("name", [".", ".."])
def test_a_namespace_is_no_place_in_a_path(site: Site, name: str) -> None:
    reply = site.post("commit", {"content": "The gate is open at night", "namespace": name})
    assert (reply.status, reply.code) == (422, "validation")
    assert site.get(f"count?namespace={name}").status == 422
    assert site.get("count?namespace=..a").status == 200


LONG = "k" * 200_000
MANY = {f"name{n}" * 3: n for n in range(5_000)}


def test_a_warning_repeats_little_of_what_was_sent(site: Site) -> None:
    reply = site.post("search", {"type": "graph", "seed_nodes": [LONG]})
    assert len(reply.body) < 6_000


@each(
    ("route", "body"),
    [
        *((route, {LONG: 1}) for route in ("commit", "recall", "search", "forget", "retrieve")),
        *((route, MANY) for route in ("commit", "recall", "deprecate", "supersede")),
        ("recall", {"query": "deploys", "config": {LONG: 1}}),
        ("recall", {"query": "deploys", "config": MANY}),
        ("recall", {"query": "deploys", "where": {LONG: 1}}),
        ("recall", {"query": "deploys", "where": MANY}),
        ("recall", {"query": "deploys", "profile": LONG}),
        ("commit", {"content": "The gate is open at night", "stability": LONG}),
        ("deprecate", {"id": LONG}),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{len(str(value))} characters",
)
def test_an_answer_repeats_little_of_what_was_sent(site: Site, route: str, body: object) -> None:
    reply = site.post(route, body)
    assert 400 <= reply.status < 500
    assert len(reply.body) < 6_000
