"""The inspector over HTTP: its files, its headers, and that nothing can be written."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from inspected_store import HOSTILE, filled, inspecting

from serve_process import started
from served import Site, serving
from tables import each
from vestig.surfaces.http.routes import routes
from vestig.surfaces.inspect import OFFERED

PAGE = files("vestig.surfaces.inspect").joinpath("page")
FILES = ("/", "/page.css", "/page.js", "/icon.svg")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inspected") / "store"


@pytest.fixture(scope="module")
def ids(folder: Path) -> list[str]:
    return filled(folder)


@pytest.fixture(scope="module")
def site(folder: Path, ids: list[str]) -> Iterator[Site]:
    with inspecting(folder) as found:
        yield found


def bytes_of(folder: Path) -> dict[str, str]:
    """Every file of a store by what is in it. SQLite's shared memory says who reads, and a reader
    makes an empty log."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.stat().st_size and not path.name.endswith("-shm")
    }


@each("path", [*FILES, "/api/memory/overview", "/nothing", "/health"])
def test_every_answer_keeps_the_browser_to_this_page(site: Site, path: str) -> None:
    found = site.get(path)
    policy = dict(
        part.strip().split(" ", 1) for part in found.headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    for name in ("script-src", "style-src", "connect-src", "img-src"):
        assert policy[name] == "'self'"
    for name in ("base-uri", "form-action", "frame-ancestors"):
        assert policy[name] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in found.headers["content-security-policy"]
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["cache-control"] == "no-store"


def test_the_files_are_those_of_the_package_and_name_nothing_outside(site: Site) -> None:
    size = 0
    for path in FILES:
        found = site.get(path)
        assert found.status == 200
        name = path.strip("/") or "index.html"
        assert found.body == PAGE.joinpath(name).read_bytes()
        size += len(found.body)
        text = found.body.decode().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//[a-z]+\.|innerHTML|outerHTML|insertAdjacent", text)
    assert size <= 80_000
    page = site.get("/").body.decode()
    assert not re.search(r"<script(?![^>]* src=)|<style|\son[a-z]+=|\sstyle=", page)
    assert {one.name for one in PAGE.iterdir()} == {f.strip("/") or "index.html" for f in FILES}


def test_it_reads(site: Site, ids: list[str]) -> None:
    found = site.post("recall", {"query": "which gauge?", "explain": True, "limit": 3})
    assert found.status == 200
    assert found.document["results"][0]["reason"]["leads"]
    around = site.post("neighbourhood", {"ids": ids[:1], "depth": 1})
    assert [node["depth"] for node in around.document["nodes"]][:2] == [0, 1]
    assert site.get(f"show/{ids[0]}?expand=1").document["content"] == HOSTILE[0]
    events = site.get(f"events/{ids[0]}").document["events"]
    assert [event["event_type"] for event in events] == ["ADD"]
    assert site.get("list?limit=2").document["memories"][0]["id"] == ids[-2]
    assert site.get("keys").document["keys"] == []
    versions = site.get(f"history?key={ids[0]}").document["history"]
    assert [one["content"] for one in versions] == [HOSTILE[0]]
    overview = site.get("overview").document
    assert overview["stats"]["memories"] == len(HOSTILE)
    health = overview["health"]
    assert (health["status"], health["ledger"]) == ("healthy", "ok"), "it only reads by intent"
    assert "default" in overview["profiles"]


def test_no_route_writes(site: Site, ids: list[str], folder: Path) -> None:
    """Every route of `serve` that is not offered is unknown, and what is offered changes nothing,
    whatever it is asked for."""
    before = bytes_of(folder)
    every = {route.operation.name: route for route in routes()}
    assert not [name for name in OFFERED if every[name].operation.writes]
    for name, route in every.items():
        if name not in OFFERED:
            path = route.path.replace("{id}", ids[0])
            body = {"id": ids[0], "ids": ids, "content": "x", "confirm": True, "reason": "r"}
            reply = site.ask(route.method, path, body if route.method == "POST" else b"")
            assert reply.status == 404, name
    for method in ("PUT", "PATCH", "DELETE", "POST"):
        assert site.ask(method, f"show/{ids[0]}", {"content": "x"}).status == 405
    assert site.post("import", {"content": "x"}).status == 404
    assert site.post("recall", {"query": "lamp", "touch": True}).status == 200
    assert site.get("doctor").status == 200
    assert bytes_of(folder) == before


@pytest.mark.parametrize(
    "headers",
    [{"Host": "example.org"}, {"Origin": "http://example.org"}, {"Origin": "null"}],
)
def test_pages_of_others_are_refused(site: Site, headers: dict[str, str]) -> None:
    for path in ("/", "overview"):
        assert site.get(path, headers).status == 403


def test_a_configured_origin_is_not_let_in(folder: Path, ids: list[str]) -> None:
    given = {"serve.cors_origins": ["http://example.org"], "serve.allowed_hosts": ["example.org"]}
    with inspecting(folder, **given) as site:
        assert site.get("overview", {"Origin": "http://example.org"}).status == 403
        assert site.get("/", {"Host": "example.org"}).status == 403


def test_a_token_is_asked_for_what_is_stored(folder: Path, ids: list[str]) -> None:
    given = {"serve.token_env": "TOKEN", "environ": {"TOKEN": "a-token-of-sixteen"}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKEN", "a-token-of-sixteen")
        with inspecting(folder, **given) as site:
            assert [site.get(path).status for path in FILES] == [200] * len(FILES)
            assert site.get("overview").status == 401
            sent = {"Authorization": "Bearer a-token-of-sixteen"}
            assert site.get("overview", sent).status == 200


def test_serve_has_no_page(tmp_path: Path) -> None:
    with serving(None) as site:
        assert site.get("/page.js").status == 404
        assert site.get("overview").status == 404


@pytest.mark.slow
def test_the_command_serves_the_page_until_it_is_stopped(tmp_path: Path) -> None:
    filled_folder = tmp_path / "store"
    with started(tmp_path) as server:
        assert server.ask("POST", "commit", {"content": "The pump failed at night"})[0] == 201
        server.stop()
    before = bytes_of(filled_folder)
    with started(tmp_path, command="inspect") as server:
        status, found = server.ask("POST", "recall", {"query": "which pump?"})
        assert status == 200
        assert found["results"][0]["content"] == "The pump failed at night"
        assert server.ask("POST", "commit", {"content": "Another text of some words"})[0] == 404
        assert server.stop() == 0
    assert bytes_of(filled_folder) == before
