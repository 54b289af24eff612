"""Imports over HTTP: exact counts, progress, bounds, and going on where one stopped."""

from __future__ import annotations

import errno
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from served import Site, serving
from tables import each
from vestig.surfaces.http.imports import Imports

LINES = {"Content-Type": "application/jsonl"}
EVENTS = {**LINES, "Accept": "text/event-stream"}


def lines(count: int, start: int = 0) -> bytes:
    rows = [{"content": f"Fact number {n} of a file that is read"} for n in range(start, count)]
    return "\n".join(json.dumps(row) for row in rows).encode()


def events(body: bytes) -> list[tuple[str, dict[str, object]]]:
    found = []
    for block in body.decode().strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_an_import_is_counted_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as site:
        first = site.post("import?scope=team", lines(20), LINES)
        assert (first.status, first.document["schema"]) == (200, "vestig/import/1")
        assert (first.document["lines"], first.document["imported"]) == (20, 20)
        again = site.post("import?scope=team", lines(30), LINES).document
        assert (again["skipped"], again["imported"]) == (20, 10)
        assert site.store.count(where={"scope": "team"}) == 30


@pytest.mark.slow
def test_progress_is_told_as_it_goes(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as site:
        reply = site.post("import", lines(2_500), EVENTS)
        assert reply.headers["content-type"].startswith("text/event-stream")
        told = events(reply.body)
        assert [name for name, _ in told][-1] == "done"
        assert [name for name, _ in told].count("done") == 1
        done = [data["done"] for name, data in told if name == "progress"]
        assert len(done) >= 2
        assert done == sorted(done)
        assert told[-1][1]["imported"] == 2_500


def test_an_import_that_fails_says_so_in_either_form(site: Site) -> None:
    cut = b'{"type":"header","format":"vestig-export","version":5}\n'
    plain = site.post("import?format=export", cut, LINES)
    assert (plain.status, plain.code) == (422, "validation")
    [(name, problem)] = events(site.post("import?format=export", cut, EVENTS).body)
    assert (name, problem["status"]) == ("error", 422)
    assert problem["instance"]


def test_an_export_comes_back(tmp_path: Path) -> None:
    with serving(tmp_path / "one") as site:
        id = site.commit("Deploys run on Fridays at noon", tags=["infra"])
        site.store.export(tmp_path / "all.jsonl")
    with serving(tmp_path / "two") as site:
        report = site.post("import", (tmp_path / "all.jsonl").read_bytes(), LINES)
        assert report.status == 200, report
        assert site.get(f"show/{id}").document["content"] == "Deploys run on Fridays at noon"


def test_bounds_of_an_import(tmp_path: Path) -> None:
    with serving(tmp_path / "store", import_bytes_max=2_000, body_bytes_max=10) as site:
        assert site.post("import", lines(10), LINES).status == 200
        before = site.store.count()
        for body in (lines(200), b" " * 2_001):
            reply = site.post("import", body, LINES)
            assert (reply.status, reply.code) == (413, "too-large")
        assert site.store.count() == before
        packed = site.post("import", b"\x1f\x8b\x08\x00", LINES)
        assert (packed.status, packed.code) == (415, "validation")
        for form in ("multipart/form-data; boundary=x", "application/x-www-form-urlencoded"):
            typed = site.post("import", lines(2), {"Content-Type": form})
            assert (typed.status, typed.code) == (415, "validation")
        unknown = site.post("import?surprise=1", lines(2), LINES)
        assert (unknown.status, unknown.code) == (422, "validation")


@each(
    "kind",
    ["text/markdown", "text/plain; charset=utf-8", "application/octet-stream", "text/html", ""],
)
def test_a_file_is_read_for_what_it_holds(tmp_path: Path, kind: str) -> None:
    text = b"# The lift\n\nThe lift stops at floor two, and at no other."
    named = {"Content-Type": kind} if kind else {}
    with serving(tmp_path / "store") as site:
        reply = site.post("import?format=document", text, named)
        assert (reply.status, reply.document["memories"]) == (200, 1), reply
        assert site.post("import", lines(2), named).document["imported"] == 2


@each(
    "body",
    [
        b"The lift stops.\nIt stops at two.\n",
        b"One line alone",
        b"name,colour\nbike,red\n",
        b'{"phrase": "The lift stops at floor two each day", "n": 1}\n',
        b'[{"type": "message", "ts": "1", "words": "The lift stops at floor two each day"}]',
    ],
)
def test_a_file_that_no_format_knows_names_ways_of_requests(site: Site, body: bytes) -> None:
    reply = site.post("import", body, LINES)
    assert (reply.status, reply.code) == (422, "validation")
    told = reply.document["detail"]
    assert "no format knows the body" in told
    assert "format=" in told
    assert not any(word in told for word in ("vestig import", "standard input", "FOLDER")), told


@each("query", ["", "?format=memories", "?format=document"])
def test_a_body_in_another_encoding_is_named_as_the_body(site: Site, query: str) -> None:
    reply = site.post(f"import{query}", "The lift stops.".encode("utf-16"), LINES)
    said = json.dumps([reply.document.get("detail"), reply.document.get("errors")])
    assert "UTF-8" in said
    assert "path" not in said


def test_a_full_disk_under_an_import_is_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Imports, "_take", full)
    reply = site.post("import", lines(3), LINES)
    assert (reply.status, reply.code) == (507, "store-full")


def test_no_file_in_another_folder_holds_what_comes_also_while_it_is_read(tmp_path: Path) -> None:
    """So that a process that is killed leaves none."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        with serving(tmp_path / "store") as site:
            read, seen = site.store.import_, []

            def looking(*given: Any, **more: Any) -> Any:
                seen.append(list(folder.rglob("*")))
                return read(*given, **more)

            site.store.import_ = looking  # type: ignore[method-assign]
            site.post("import", lines(5), LINES)
            assert seen == [[]]
            site.post("import", lines(5), EVENTS)
            site.post("import", b"nonsense", LINES)
            assert list(folder.iterdir()) == []
    finally:
        tempfile.tempdir = before
