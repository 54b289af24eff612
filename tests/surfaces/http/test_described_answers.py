"""What the document of the API says of answers: a schema of each operation, to which real answers
conform, the headers that are read and sent, the token, and the document as a whole."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import jsonschema_rs
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31

from repositories import git, repository, text_of, write
from served import Reply, Site, serving
from vestig.surfaces.http.openapi import components
from vestig.surfaces.http.routes import PREFIX, routes
from vestig.surfaces.result_schema import _CHOSEN, _names
from vestig.testing import ScriptedModel

LINES: Final = {"Content-Type": "application/x-ndjson"}
DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
TOKEN: Final = "a-token-of-sixteen-characters"


class Described:
    """The document, by which answers are checked. No schema leaves a member out: an object may have
    none that is not described."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self._strict = deepcopy(document["components"]["schemas"])
        self.seen: set[str] = set()

    def answers(self, method: str, path: str) -> tuple[str, dict[str, Any]]:
        """(path as it is described, its answers)."""
        asked = path.partition("?")[0]
        for shown, methods in self.document["paths"].items():
            fixed, _, argument = shown.partition("{")
            if asked == shown or (argument and asked.startswith(fixed)):
                return shown, methods[method.lower()]["responses"]
        raise AssertionError(path)

    def check(self, method: str, path: str, reply: Reply) -> None:
        shown, answers = self.answers(method, path)
        answer = answers[str(reply.status)]
        kind = reply.headers["content-type"].partition(";")[0]
        assert kind in answer["content"], (path, reply.status, kind)
        for name in ("location", "retry-after", "idempotency-replayed", "allow", "x-request-id"):
            if name in reply.headers:
                assert name in {one.lower() for one in answer["headers"]}, (path, name)
        if "json" in kind and "ndjson" not in kind:
            schema = answer["content"][kind]["schema"]
            whole = {**schema, "components": {"schemas": self._strict}}
            try:
                jsonschema_rs.Draft202012Validator(whole, validate_formats=True).validate(
                    reply.document
                )
            except jsonschema_rs.ValidationError as error:
                raise AssertionError(f"{method} {path}: {error}") from None
            left = set(unknown(reply.document, schema, self._strict))
            assert not left, (path, left)
        if reply.status < 300:
            self.seen.add(f"{method} {shown}")


def unknown(value: Any, schema: Any, known: dict[str, Any], at: str = "") -> Iterator[str]:
    """Members of a value of which its schema says nothing."""
    parts = list(parts_of(schema, known))
    if isinstance(value, list):
        inner = [part["items"] for part in parts if "items" in part]
        for one in value:
            if inner:
                yield from unknown(one, {"anyOf": inner}, known, f"{at}[]")
    if not isinstance(value, dict):
        return
    objects = [part for part in parts if part.get("type") == "object"]
    if not objects or any(
        part.get("additionalProperties", "properties" not in part) is not False for part in objects
    ):
        return
    for name, one in value.items():
        inner = [part["properties"][name] for part in objects if name in part["properties"]]
        if not inner:
            yield f"{at}.{name}"
        else:
            yield from unknown(one, {"anyOf": inner}, known, f"{at}.{name}")


def parts_of(schema: Any, known: dict[str, Any]) -> Iterator[Any]:
    if "$ref" in schema:
        yield from parts_of(known[schema["$ref"].rpartition("/")[2]], known)
    for word in ("allOf", "anyOf"):
        for one in schema.get(word, ()):
            yield from parts_of(one, known)
    if "type" in schema or "enum" in schema:
        yield schema


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Described]]:
    folder = tmp_path_factory.mktemp("described")
    work = repository(folder / "work", {"lift.py": text_of(1, 9)})
    git(work, "checkout", "-q", "-b", "pool")
    write(work, {"lift.py": text_of(1, 9, "floor")})
    environ = {"VESTIG_ANCHORS__FOLDER": str(work)}
    model = ScriptedModel(lambda _: "{}")
    with serving(folder / "store", environ, llm=model) as site:
        site.store.scoped("auto").commit("The lift stops at floor two", anchor="lift.py:1-3")
        git(work, "checkout", "-q", "-b", "door")
        site.store.scoped("auto").commit("The door of the lift is red", anchor="lift.py:4-5")
        yield site, Described(site.get("/openapi.json").document)


def requests_of(pump: str, gate: str, lift: str, edge: str) -> list[tuple[str, Any]]:
    """A request of each operation that changes little: None is asked by GET."""
    rule = {"when": 'command ~ "rm *"', "do": "remind"}
    return [
        ("commit", {"content": "Omar mends the lift on Fridays", "author": "Omar"}),
        ("commit", {"content": "Omar mends the lift on Fridays"}),
        ("commit", {"items": [{"content": "The lift stops at floor two"}, {"content": 5}]}),
        ("commit", {"content": "ok"}),
        ("commit-structured", {"topic": "Lift", "context": "It stops", "decisions": ["Mend it"]}),
        ("recall", {"query": "who looks after the pump?"}),
        ("recall", {"query": "who looks after the pump?", "explain": True, "context": True,
                    "expect": [gate], "trace": True}),
        ("recall", {"query": "what is the price of tea in Lima?"}),
        ("search", {"query": "the pump", "all": True}),
        ("search", {"query": "the pump", "explain": True, "all": True}),
        (f"show/{pump}", None),
        (f"show/{pump}?expand=1", None),
        ("get?key=gate/code", None),
        ("list", None),
        ("count", None),
        ("count?where.tags=nobody", None),
        ("diff?start=2020-01-01", None),
        ("keys", None),
        ("history?key=gate/code", None),
        (f"events/{pump}", None),
        ("pin", {"id": pump}),
        ("unpin", {"id": pump}),
        ("confirm", {"id": pump, "by": "Omar"}),
        ("archive", {"id": pump}),
        ("unarchive", {"id": pump}),
        ("update", {"id": pump, "tags": ["cellar"]}),
                ("deprecate", {"where": {"tags": ["nobody"]}, "confirm": True}),
        ("supersede", {"old": gate, "new": pump}),
        ("deprecate", {"id": pump}),
        ("item/put", {"key": "colour", "value": {"a": [1, None]}, "scope": "u"}),
        ("item/put-many", {"items": [{"key": "size", "value": 3}]}),
        ("item/get?key=colour&scope=u", None),
        ("item/list", None),
        ("item/scopes", None),
        ("item/delete", {"keys": ["colour"], "scope": "u", "confirm": True}),
        ("rule/add", {"text": "Ask before files are removed", **rule}),
        ("rule/list", None),
        ("rule/show?id=RULE", None),
        ("rule/edit", {"id": "RULE", "do": "ask"}),
        ("rule/check", {"command": "rm x"}),
        ("rule/test", {"command": "rm x"}),
        ("rule/suggest", None),
        ("rule/remove", {"id": "RULE"}),
        (f"anchor/show?id={lift}", None),
        ("anchor/refresh", {"id": lift}),
        ("stale", {}),
        ("branch/list", None),
        ("branch/show?name=door", None),
        ("branch/merge", {"name": "pool"}),
        ("branch/drop", {"name": "door"}),
        ("graph/search", {"query": "the pump"}),
        ("graph/search", {"query": "the pump", "explain": True}),
        ("neighbourhood", {"ids": [pump]}),
        ("retrieve", {"messages": [{"role": "user", "content": "who mends the lift?"}]}),
        ("entity/list", None),
        ("entity/show?id=Ada%20Lovelace", None),
        ("entity/extract", {}),
        ("edge/list", None),
        (f"edge/show/{edge}", None),
        ("edge/unlink", {"edge_id": edge}),
        ("edge/rebuild", {}),
        ("entity/merge", {"a": "Grace Hopper", "b": "Ada Lovelace"}),
        ("entity/expire", {"id": "Ada Lovelace"}),
        ("entity/purge", {"confirm": True}),
        ("document/add", {"text": "# Lift\n\nIt stops at floor two.", "source": "lift.md"}),
        ("document/list", None),
        ("document/forget", {"id": "DOCUMENT", "confirm": True}),
        *((f"housekeeping/{name}", {}) for name in
          ("gc", "secrets", "prune", "enrich", "compact", "entity-backfill")),
        ("cognify", {}),
        ("export", {}),
        ("backup", {"dest": "copy"}),
        ("rebuild", {}),
        ("stats", None),
        ("doctor", None),
        ("health", None),
        ("metrics", None),
        ("forget", {"ids": [pump], "confirm": True}),
    ]  # fmt: skip


def test_real_answers_of_every_operation_conform(described: tuple[Site, Described]) -> None:
    site, document = described
    pump = site.commit("Ada Lovelace looks after the pump in the cellar", tags=["pump"])
    gate = site.commit("The code of the gate is 4711", key="gate/code", author="Ada Lovelace")
    site.commit("Grace Hopper keeps the spare key of the gate", scope="user/mia")
    linked = site.post("edge/link", {"from_id": pump, "to_id": gate, "weight": 0.5})
    document.check("POST", f"{PREFIX}/edge/link", linked)
    lift = next(one.id for one in site.store if str(one.scope).endswith("@door"))
    made: dict[str, str] = {}
    refused: list[tuple[str, str]] = []
    for path, body in requests_of(pump, gate, lift, linked.document["id"]):
        asked = path.replace("RULE", made.get("rule/add", ""))
        sent = body
        if isinstance(body, dict) and body.get("id") in ("RULE", "DOCUMENT"):
            sent = {**body, "id": made["rule/add" if body["id"] == "RULE" else "document/add"]}
        reply = site.get(asked) if body is None else site.post(asked, sent)
        if reply.status == 200 and path in ("rule/add", "document/add"):
            made[path] = reply.document.get("id") or reply.document["source_id"]
        document.check("GET" if body is None else "POST", unquote(f"{PREFIX}/{asked}"), reply)
        if reply.status >= 400:
            refused.append((asked, reply.document["detail"]))
    taken = site.ask("POST", "import", b'{"content": "The lift is red"}\n', LINES)
    document.check("POST", f"{PREFIX}/import", taken)
    events = {**LINES, "Accept": "text/event-stream"}
    told = site.ask("POST", "import", b'{"content": "The lift is green"}\n', events)
    document.check("POST", f"{PREFIX}/import", told)
    every = {f"{one.method} {one.path}" for one in routes()}
    assert every - document.seen == set(), refused
    assert [path for path, _ in refused] == ["commit"], refused


def test_answers_of_the_server_itself_conform(tmp_path: Path) -> None:
    with serving(tmp_path / "store", request_timeout_s=0.2) as site:
        document = Described(site.get("/openapi.json").document)
        id = site.commit("The lift stops at floor two")
        for method, path, body in (
            ("POST", "commit", {"content": "x", "wrong": 1}),
            ("POST", "commit", b"not JSON"),
            ("GET", f"show/{id[:-4]}0000", None),
            ("POST", "list", {}),
            ("POST", "pin", {"id": id}),
            ("POST", "pin", {"id": id}),
        ):
            key = {"Idempotency-Key": "pin"} if path == "pin" else {}
            reply = site.get(path) if body is None else site.post(path, body, key)
            document.check("GET" if path == "list" else method, f"{PREFIX}/{path}", reply)
        assert reply.headers["idempotency-replayed"] == "true"
        rebuild, go = site.store.admin.rebuild, threading.Event()

        def slow(**given: bool) -> object:
            go.wait(10)
            return rebuild(**given)

        site.store.admin.rebuild = slow  # type: ignore[method-assign,assignment]
        late = site.post("rebuild", {})
        assert late.status == 202
        document.check("POST", f"{PREFIX}/rebuild", late)
        go.set()
        path = late.headers["location"]
        while (ended := site.get(path)).status == 202:
            document.check("GET", path, ended)
        document.check("GET", path, ended)
        shutil.rmtree(tmp_path / "store")
        health = site.get("health")
        assert health.status == 503
        document.check("GET", f"{PREFIX}/health", health)


def test_the_document_is_valid(described: tuple[Site, Described]) -> None:
    document = described[1].document
    assert document["openapi"].startswith("3.1")
    jsonschema_rs.Draft202012Validator(OPENAPI_31).validate(document)
    for reference in set(references(document)):
        found = document
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate({"$schema": DRAFT, **schema})


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for one in value.values():
            yield from references(one)
    elif isinstance(value, list):
        for one in value:
            yield from references(one)


def test_no_value_chooses_what_it_shows_without_being_described(
    described: tuple[Site, Described],
) -> None:
    chosen = {
        name
        for name, one in _names().items()
        if "plain_fields" in vars(one) and name in described[1].document["components"]["schemas"]
    }
    assert chosen <= set(_CHOSEN)
    assert not set(components()) & set(_names()), "each definition has a name of its own"
    for name in set(_CHOSEN):
        assert "plain_fields" in vars(_names()[name]), name


def test_headers_that_are_read_and_sent_are_described(described: tuple[Site, Described]) -> None:
    paths = described[1].document["paths"]
    for route in routes():
        shown = paths[route.path][route.method.lower()]
        read = {one["$ref"].rpartition("/")[2] for one in shown["parameters"] if "$ref" in one}
        assert ("Idempotency-Key" in read) == route.operation.writes, route.path
        assert "X-Request-Id" in read
        sent = {status: set(one["headers"]) for status, one in shown["responses"].items()}
        assert ("Idempotency-Replayed" in sent["200"]) == route.operation.writes
        assert sent["405"] >= {"Allow"}
        assert sent["503"] >= {"Retry-After"}
    late = paths[f"{PREFIX}/request/{{id}}"]["get"]["responses"]
    assert set(late) >= {"200", "201", "202", "207"}
    assert set(late["202"]["headers"]) >= {"Location", "Retry-After"}


def test_the_token_is_described_where_one_is_needed(
    described: tuple[Site, Described], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VESTIG_TEST_TOKEN", TOKEN)
    open_document = described[1].document
    assert "security" not in open_document
    assert "securitySchemes" not in open_document["components"]
    with serving(tmp_path / "store", token_env="VESTIG_TEST_TOKEN") as site:
        document = site.get("/openapi.json", {"Authorization": f"Bearer {TOKEN}"}).document
    (name,) = document["components"]["securitySchemes"]
    assert document["components"]["securitySchemes"][name]["scheme"] == "bearer"
    assert document["security"] == [{name: []}]
    assert document["paths"][f"{PREFIX}/health"]["get"]["security"] == []
