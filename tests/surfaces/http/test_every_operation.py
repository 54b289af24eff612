"""Every operation of the command line is a route, but those that make no sense there."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from served import Site, serving
from vestig.errors import ConflictError
from vestig.surfaces.http.routes import routes
from vestig.surfaces.outlines import OUTLINES

# `import` is a route of its own.
ELSEWHERE = {"import"}
NOT_SERVED = {
    "destroy", "serve", "inspect", "mcp", "demo", "eval", "replay", "restore", "hook", "install",
}  # fmt: skip
NOTES = (
    "Ada Lovelace looks after the pump in the cellar",
    "Grace Hopper keeps the spare key of the gate",
)


@pytest.fixture
def notes(tmp_path: Path) -> tuple[Site, list[str]]:
    with serving(tmp_path / "store") as site:
        yield site, [site.commit(text) for text in NOTES]  # type: ignore[misc]


def test_no_operation_of_the_command_line_is_missing() -> None:
    named = {route.operation.name for route in routes()}
    assert named == {
        name
        for name in OUTLINES
        if name not in ELSEWHERE | NOT_SERVED
        and not name.startswith(("config", "tenant ", "fleet "))
    }


def test_the_document_lists_each_and_the_front_page_says_where_it_is(site: Site) -> None:
    document = site.get("/openapi.json").document
    assert {route.path for route in routes()} <= set(document["paths"])
    ids = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert len(set(ids)) == len(ids)
    for path in ("/", "/docs"):
        assert site.get(path).document["openapi"] == "/openapi.json"
    assert "/openapi.json" in site.get("/api/memory/nothing").document["detail"]


def test_states_of_a_memory(notes: tuple[Site, list[str]]) -> None:
    site, (pump, key) = notes
    assert site.post("pin", {"id": pump, "reason": "it matters"}).status == 200
    assert site.get(f"show/{pump}").document["pinned"] is True
    assert site.post("unpin", {"id": pump}).status == 200
    assert site.post("archive", {"id": key}).document["status"] == "ARCHIVED"
    assert site.get("count").document["count"] == 1
    assert site.post("unarchive", {"id": key}).status == 200
    updated = site.post("update", {"id": key, "tags": ["gate"], "clear": ["scope"]})
    assert updated.status == 200, updated
    assert site.get(f"show/{key}").document["metadata"]["tags"] == ["gate"]
    events = site.get(f"events/{pump}?limit=10").document["events"]
    assert events[0]["event_type"] == "ADD"
    assert site.get("events/mem_00000000").status == 404
    assert site.post("pin", {"id": pump, "tag": "x"}).status == 422


def test_entities_and_edges(notes: tuple[Site, list[str]]) -> None:
    site, (pump, key) = notes
    found = site.get("entity/list?limit=5").document
    names = {one["canonical_name"] for one in found["entities"]}
    assert {"Ada Lovelace", "Grace Hopper"} <= names
    shown = site.get("entity/show?id=Ada%20Lovelace&limit=3")
    assert shown.status == 200, shown
    linked = site.post("edge/link", {"from_id": pump, "to_id": key, "weight": 0.5})
    assert linked.status == 200, linked
    edge = linked.document["id"]
    assert site.get(f"edge/show/{edge}").document["weight"] == 0.5
    listed = site.get(f"edge/list?node_id={pump}&edge_type=RELATED").document["edges"]
    assert edge in [one["id"] for one in listed]
    assert site.get("edge/list?edge_type=ALL").status == 422
    assert site.post("edge/unlink", {"edge_id": edge}).document["changed"] is True
    assert site.post("edge/rebuild", {}).status == 200
    merged = site.post("entity/merge", {"a": "Grace Hopper", "b": "Ada Lovelace"})
    assert merged.status == 200, merged
    assert site.post("entity/expire", {"id": "Ada Lovelace"}).status == 200
    assert site.post("entity/purge", {}).status == 422
    assert site.post("entity/purge", {"dry_run": True}).document["dry_run"] is True
    assert site.post("entity/purge", {"confirm": True}).document["entities_removed"] >= 1
    assert site.post("entity/extract", {}).status == 200


def test_upkeep(notes: tuple[Site, list[str]], tmp_path: Path) -> None:
    site, _ = notes
    for name in ("gc", "secrets", "prune", "enrich", "compact", "entity-backfill"):
        assert site.post(f"housekeeping/{name}", {}).status == 200, name
    assert site.post("rebuild", {}).document["schema"] == "vestig/rebuild/1"
    assert site.get("stats").document["memories"] == 2
    assert {one["level"] for one in site.get("doctor").document["findings"]} == {"ok"}
    assert site.post("backup", {"dest": "copy-1"}).status == 200
    assert (tmp_path / "copy-1" / "ledger.sqlite").exists()


@pytest.mark.parametrize("dest", ["/tmp/copy", "../copy", "..", ".copy", "a/b", "", "a b", "a\0"])
def test_a_backup_goes_nowhere_else(notes: tuple[Site, list[str]], dest: str) -> None:
    reply = notes[0].post("backup", {"dest": dest})
    assert (reply.status, reply.code) == (422, "validation")


def test_an_export_is_the_lines_that_an_import_takes(
    notes: tuple[Site, list[str]], tmp_path: Path
) -> None:
    site, ids = notes
    whole = site.post("export", {})
    assert (whole.status, whole.headers["content-type"]) == (200, "application/x-ndjson")
    lines = [json.loads(line) for line in whole.body.splitlines()]
    assert [line["record"] for line in lines][0 :: len(lines) - 1] == ["header", "end"]
    part = site.post("export", {"where": {"ids": ids[:1]}})
    assert NOTES[1].encode() not in part.body
    wrong = site.post("export", {"where": {"tag": "x"}})
    assert (wrong.status, wrong.code) == (422, "validation")
    with serving(tmp_path / "other") as other:
        taken = other.post("import", whole.body, {"Content-Type": "application/x-ndjson"})
        assert taken.status == 200, taken
        assert other.get(f"show/{ids[0]}").status == 200


def test_what_takes_longer_than_the_limit_goes_on_and_is_asked_for(tmp_path: Path) -> None:
    with serving(tmp_path / "store", request_timeout_s=0.2) as site:
        site.store.commit(NOTES[0])
        rebuild, go = site.store.admin.rebuild, threading.Event()

        def slow(**given: bool) -> object:
            go.wait(10)
            return rebuild(**given)

        site.store.admin.rebuild = slow  # type: ignore[method-assign,assignment]
        late = site.post("rebuild", {})
        assert (late.status, late.document["schema"]) == (202, "vestig/running/1")
        assert (late.document["route"], late.document["state"]) == ("rebuild", "running")
        asked = late.headers["location"]
        assert asked == f"/api/memory/request/{late.document['request']}"
        again = site.get(asked)
        assert (again.status, again.headers["location"]) == (202, asked)
        go.set()
        ended = site.get(asked)
        while ended.status == 202:
            ended = site.get(asked)
        assert (ended.status, ended.document["schema"]) == (200, "vestig/rebuild/1")
        assert site.get(asked).body == ended.body, "it is kept for a client that lost it"
        unknown = site.get("request/req_1")
        assert (unknown.status, unknown.code) == (404, "not-found")


def test_a_late_answer_is_a_problem_where_the_call_fails(tmp_path: Path) -> None:
    with serving(tmp_path / "store", request_timeout_s=0.1) as site:
        go = threading.Event()

        def fail(**_: object) -> None:
            go.wait(10)
            raise ConflictError("it cannot be done")

        site.store.commit = fail  # type: ignore[method-assign,assignment]
        late = site.post("commit", {"content": NOTES[0]})
        assert late.status == 202
        go.set()
        ended = site.get(late.headers["location"])
        while ended.status == 202:
            ended = site.get(late.headers["location"])
        assert (ended.status, ended.code) == (409, "conflict")


def test_an_export_that_is_late_is_read_once(tmp_path: Path) -> None:
    with serving(tmp_path / "store", request_timeout_s=0.2) as site:
        site.store.commit(NOTES[0])
        export, go = site.store.export, threading.Event()

        def slow(*given: Any, **more: Any) -> object:
            go.wait(10)
            return export(*given, **more)

        site.store.export = slow  # type: ignore[method-assign,assignment]
        asked = site.post("export", {}).headers["location"]
        go.set()
        ended = site.get(asked)
        while ended.status == 202:
            ended = site.get(asked)
        assert json.loads(ended.body.splitlines()[0])["record"] == "header"
        assert site.get(asked).status == 404


def test_a_hit_is_small_unless_it_is_explained(notes: tuple[Site, list[str]]) -> None:
    site, _ = notes
    for route in ("recall", "search"):
        asked = {"query": "who looks after the pump?"}
        plain = site.post(route, asked).document
        assert "formula" not in plain
        for hit in plain["results"]:
            text = hit.get("text") or hit.get("content") or ""
            assert len(json.dumps(hit)) - len(json.dumps(text)) <= 400, hit
        explained = site.post(route, {**asked, "explain": True}).document
        assert len(json.dumps(explained)) > len(json.dumps(plain))
