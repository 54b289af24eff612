"""Messages over HTTP name routes, JSON and what stands in a request; nothing that only Python has,
and no command where a route does the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import pytest

from served import Reply, Site, serving
from tables import each
from vestig.surfaces.http.words import in_query, in_requests
from vestig.surfaces.http.wrong_paths import missing_route, other_method
from vestig.surfaces.operation import operations
from vestig.word_tables import call_words

_OF_PYTHON: Final = re.compile(
    r"\bstore\.(?!path|tenant|durability|lock)|\bvestig\.(?!md|yaml)|\b(?:True|False|None|NoneType)\b"
    r"|\b[a-z_]+\((?:[a-z_…]+[,)=.]|\))|=(?:True|False|None)|\bmemory\.|\bin store\b|\w=[{\[]"
)
_COMMANDS: Final = {one.name for one in operations() if one.path}
LINES: Final = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def school() -> Iterator[Site]:
    """A server of a store with two students and what holds for all."""
    with serving(None) as site:
        site.commit("Mia's level in Spanish is A2", scope="user:mia", key="level", tags=["level"])
        site.commit("Olga pays 48 euros for an hour", scope="user:olga", session_id="s1")
        site.commit("The school is at 14 Harbour Street", key="address", author="Carla")
        yield site


def told(reply: Reply) -> list[str]:
    """Every text of an answer that the server itself has made."""
    document = reply.document
    if reply.status >= 400:
        found = [document["detail"]]
        return found + [one[name] for one in document["errors"] for name in ("msg", "allowed")]
    errors = [one["message"] for one in document.get("errors", ()) if isinstance(one, dict)]
    weaker = [one["detail"] for one in document.get("degraded", ())]
    return [*document.get("warnings", ()), *weaker, *errors]


def check_words(reply: Reply) -> None:
    for text in told(reply):
        assert not _OF_PYTHON.search(text), text
        for line in re.findall(r"`vestig ([^`]*)`", text):
            words = line.split()
            named = {" ".join(words[:count]) for count in (1, 2, 3)}
            assert not named & _COMMANDS, text


# --- how a text is put -------------------------------------------------------------------------


@each(
    ("python", "request"),
    [
        ("store.search(query)", 'POST /api/memory/search {"query": …}'),
        ("store.recall", 'POST /api/memory/recall {"query": …}'),
        ("use store.get(key), or keys()", "use GET /api/memory/get?key=…, or GET /api/memory/keys"),
        ("store.get(key).id", "the id of GET /api/memory/get?key=…"),
        ("get(key, scope='user:mia')", "GET /api/memory/get?key=…&scope=user:mia"),
        ("keys('a b&c')", "GET /api/memory/keys?prefix=a%20b%26c"),
        ("store.show(id)", "GET /api/memory/show/…"),
        ("store.graph.entities()", "GET /api/memory/entity/list"),
        ("the next admin.prune after it", "the next POST /api/memory/housekeeping/prune after it"),
        ("store.list(tags=…)", "GET /api/memory/list?where.tags=…"),
        (
            "store.forget(where={'scope': …})",
            'POST /api/memory/forget {"where": {"scope": …}, "confirm": true}',
        ),
        (
            "commit(text, supersedes=[id])",
            'POST /api/memory/commit {"content": …, "supersedes": […]}',
        ),
        ("store.commit_many(items)", 'POST /api/memory/commit {"items": […]}'),
        ("all=True sets no bound", '"all": true sets no bound'),
        ('config={"recall.min_score": …}', '"config": {"recall.min_score": …}'),
        ("run `vestig housekeeping enrich`", "run POST /api/memory/housekeeping/enrich"),
        ("`vestig rebuild --embeddings`", 'POST /api/memory/rebuild {"embeddings": true}'),
        ("`vestig branch merge NAME`", 'POST /api/memory/branch/merge {"name": …}'),
        ("`vestig memory forget --finish`", "POST /api/memory/housekeeping/gc"),
        # no route takes all of it
        ("`vestig memory forget --nothing`", "`vestig memory forget --nothing`"),
        ("the key store.path, and a = b (c)", "the key store.path, and a = b (c)"),
    ],
)
def test_a_text_for_python_is_put_for_requests(python: str, request: str) -> None:
    assert in_requests(python) == request


@each(
    ("python", "request"),
    [
        ("descending=False", "descending=false"),
        ('where={"keys": ["a b"]}', "where.keys=a%20b"),
        ('format="csv"', "format=csv"),
    ],
)
def test_keywords_stand_in_the_query_where_a_request_has_one(python: str, request: str) -> None:
    assert in_query(python) == request


# --- over HTTP ---------------------------------------------------------------------------------


def test_no_hint_about_an_argument_speaks_python(school: Site) -> None:
    for path in ("commit", "recall", "forget", "update", "list", "count", "get", "import"):
        call = "import_" if path == "import" else path
        of_calls = call_words()["of_calls"].items()
        tables = (rows for calls, rows in of_calls if call in calls.split(", "))
        words = {word for table in tables for said in table.values() for word in said.split()}
        for word in (*sorted(words), "user_id", "memories", "zzz"):
            if path in ("list", "count", "get"):
                reply = school.get(f"{path}?{word}=x")
            elif path == "import":
                reply = school.ask("POST", f"{path}?{word}=x", b"", LINES)
            else:
                reply = school.post(path, {word: "x"})
            check_words(reply)


_ID: Final = "mem_00000000-0000-4000-8000-000000000000"
POSTED: Final[list[tuple[str, Any]]] = [
    ("commit", "a text"),
    ("commit", {"items": [{"text": "a"}, 5, {"content": None}]}),
    ("commit", {"content": "x", "trigger": "rule"}),
    ("commit", {"content": True}),
    ("recall", {"query": ["a", "b"]}),
    ("recall", {"query": None}),
    ("recall", {"query": "x", "budget": 5}),
    ("recall", {"query": "x", "silence": 7}),
    ("recall", {"query": "x", "where": {"scope": [None]}}),
    ("recall", {"query": "x", "where": {"entities": "Nobody"}}),
    ("recall", {"query": "x", "where": {"scope": "nobody"}}),
    ("recall", {"query": "x", "where": {"text": "x"}}),
    ("recall", {"query": "x", "where": {"keys": "lev*"}}),
    ("retrieve", {"messages": "what?"}),
    ("forget", {"ids": "level", "confirm": True}),
    ("forget", {"ids": _ID}),
    ("forget", {"where": {"kinds": ["MEMORY"]}, "confirm": True}),
    ("forget", {"where": {"kinds": ["MEMORY"]}, "all": True, "only": True, "confirm": True}),
    ("deprecate", {"id": _ID, "t_invalid": "2990-01-01"}),
    ("deprecate", {"id": _ID, "dry_run": True}),
    ("supersede", {"old": "level", "new": _ID}),
    ("supersede", {"old": _ID, "new": "a new text"}),
    ("document/add", {"text": "notes.md"}),
    ("document/forget", {"id": "notes", "confirm": True}),
    ("rule/add", {"text": "Ask before a payment"}),
    ("rule/remove", {"id": "x"}),
    ("branch/merge", {"name": "main"}),
    ("cognify", {}),
    ("entity/purge", {"ids": ["Mia"], "confirm": True}),
    ("item/put", {"key": 5, "value": None}),
]
ASKED: Final = (
    "get?key=level", "get?key=no%20such", f"get?key={_ID}&valid_at=2026-01-01", "history?key=none",
    "keys?prefix=lev*", "events/level", "rule/show?id=x", "entity/show?id=Nobody",
    "list?where.scope=nobody", "list?where.entities=Nobody", "list?where=scope:mia",
    "list?where.keys=lev*", "count?where.scope=nobody", "branch/show?name=x", "doctor",
)  # fmt: skip


def test_no_answer_speaks_python(school: Site) -> None:
    for path, body in POSTED:
        check_words(school.post(path, body))
    for path in ASKED:
        check_words(school.get(path))
    export = school.post("export", {}).body
    for query, lines in (("", export), ("?merge=true", export[:-9]), ("?format=x", b"{}")):
        check_words(school.ask("POST", f"import{query}", lines, LINES))


def test_a_memory_that_ended_is_told_with_the_route_that_stores_it_again(school: Site) -> None:
    id = school.commit("The bell rings at nine", key="bell", scope="tower")
    school.commit("The bell rings at ten", key="bell", scope="tower")
    reply = school.post("pin", {"id": id})
    assert reply.status == 409
    assert 'POST /api/memory/commit {"content": …, "key": …} stores its text' in told(reply)[0]


def test_python_is_told_of_python_while_a_server_runs(school: Site) -> None:
    with pytest.raises(Exception, match="keys\\(\\) lists those that have one"):
        school.store.get("none")


@each(
    ("path", "given", "came"),
    [
        ("forget", {"where": {"scope": "user:mia"}}, "confirm: expected true, got nothing"),
        ("forget", {"ids": _ID, "confirm": False}, "confirm: expected true, got false"),
        ("recall", {"query": {}}, "query: expected text, got an object"),
        ("recall", {"query": 5}, "query: expected text, got a number"),
        ("recall", {"query": "x", "where": [1]}, "where: expected an object of filter fields, got"),
        (
            "commit",
            {"items": []},
            "items: expected a list of 1 to 1000 objects of arguments, got 0",
        ),
        ("recall", {"query": " "}, "query: expected a question or some words, got blank text"),
        ("recall", {"query": "x", "limit": "two"}, "limit: expected an integer >= 1, got 'two'"),
    ],
)
def test_quotes_stand_around_what_was_sent_alone(
    school: Site, path: str, given: dict[str, Any], came: str
) -> None:
    assert came in school.post(path, given).document["detail"]


def test_names_are_listed_once_in_words_and_once_as_data(school: Site) -> None:
    document = school.post("commit", {"zzz": 1}).document
    assert document["detail"].startswith("commit has no argument zzz; it takes: content, author")
    (error,) = document["errors"]
    assert error["msg"] == "commit has no argument zzz"
    assert error["allowed"].startswith("one of content, author")
    (error,) = school.get("list?order_by=size").document["errors"]
    assert error["msg"] == "got 'size'; descending says in which direction"
    assert error["allowed"].startswith("one of created_at, t_created")


# --- the filter in a query ---------------------------------------------------------------------


def test_what_a_hint_about_the_filter_says_can_be_typed(school: Site) -> None:
    for path in ("list", "count"):
        refused = school.get(f"{path}?scope=user:mia")
        assert "did you mean where.scope?" in refused.document["detail"]
        both = school.get(f"{path}?where.scope=user:mia").document
        assert both.get("total", both.get("count")) == 1
    refused = school.get("list?where=scope:user:mia").document["detail"]
    assert refused.startswith(
        'where: expected JSON text such as {"scope": "user/mia"}, got \'scope'
    )
    assert "where.scope=user/mia" in refused


@each(
    ("query", "count"),
    [
        ("where.scope=user:mia&where.scope=user:olga", 2),
        ("where.tags=level,none", 1),
        ("where.unscoped=true", 1),
        ("where.keys=level&where.scope=user:olga", 0),
        (f"where={quote(json.dumps({'scope': 'user:mia'}))}", 1),
    ],
)
def test_a_filter_field_by_field(school: Site, query: str, count: int) -> None:
    assert school.get(f"count?{query}").document["count"] == count


@each(
    ("query", "said"),
    [
        ("where.unscoped=yes", "where.unscoped: expected true or false, got 'yes'"),
        ("where.unscoped=true&where.unscoped=true", "where.unscoped: expected one value, got"),
        ("where.tag=x", "the filter has no field tag; did you mean tags?"),
        ("where.tags=x&where=%7B%7D", "where: expected JSON, or its fields one by one, got both"),
        ("limit=1&limit=2", "limit: expected one value, got two"),
        ("where=%7B%22a%22", "where: expected JSON text"),
    ],
)
def test_a_filter_in_a_query_that_cannot_be_read(school: Site, query: str, said: str) -> None:
    reply = school.get(f"list?{query}")
    assert (reply.status, said in reply.document["detail"]) == (422, True), reply.document


def test_a_field_of_the_filter_in_a_body_is_led_to_its_object(school: Site) -> None:
    detail = school.post("recall", {"query": "x", "where.scope": "a"}).document["detail"]
    assert 'did you mean where: {"scope": …}?' in detail


# --- several at once ---------------------------------------------------------------------------


@each("name", ["memories", "documents", "texts", "messages", "facts", "records"])
def test_several_are_led_to_items(school: Site, name: str) -> None:
    document = school.post("commit", {name: [{"content": "x"}]}).document
    assert 'did you mean POST /api/memory/commit {"items": […]}' in document["detail"]
    assert document["errors"][0]["allowed"].endswith(", items")


def test_a_list_as_the_body_is_led_to_the_object_that_holds_it(school: Site) -> None:
    for path, name in (("commit", "items"), ("retrieve", "messages"), ("item/put-many", "items")):
        detail = school.post(path, [{"content": "x"}]).document["detail"]
        assert detail.endswith(f'got a list; such as {{"{name}": […]}}'), detail
    # it takes no argument
    detail = school.post("housekeeping/compact", []).document["detail"]
    assert detail == "body: expected a JSON object of arguments, got a list"


# --- paths -------------------------------------------------------------------------------------


@each(
    ("asked", "meant"),
    [
        ("POST /api/memory/add", 'POST /api/memory/commit {"content": …}'),
        ("POST /api/memory", 'POST /api/memory/commit {"content": …}'),
        ("GET /api/memory", "GET /api/memory/list?limit=…"),
        ("POST /memories", 'POST /api/memory/commit {"items": […]}'),
        ("GET /memories", "GET /api/memory/list?limit=…"),
        ("GET /api/memory/memories/7", "GET /api/memory/show/…"),
        ("GET /api/memory/mem_12345678", "GET /api/memory/show/…"),
        ("DELETE /api/memory/mem_12345678", 'POST /api/memory/forget {"ids": …, "confirm": true}'),
        ("PATCH /api/memory/some-id", 'POST /api/memory/update {"id": …}'),
        ("POST /api/memory/delete", 'POST /api/memory/forget {"ids": …, "confirm": true}'),
        ("POST /api/memory/batch", 'POST /api/memory/commit {"items": […]}'),
        ("POST /api/memory/commit_many", 'POST /api/memory/commit {"items": […]}'),
        ("GET /scopes", "GET /api/memory/stats, which has scopes"),
        ("GET /users", "GET /api/memory/stats, which has scopes"),
        ("GET /users/ada", "GET /api/memory/list?where.scope=…"),
        ("DELETE /users/ada", 'POST /api/memory/forget {"where": {"scope": …}, "confirm": true}'),
        ("GET /namespaces", "GET /api/memory/stats, which has namespaces"),
        ("POST /restore", "the command vestig restore"),
        ("POST /eval", "the command vestig eval"),
        ("POST /api/memory/commit/", 'POST /api/memory/commit {"content": …}'),
        ("POST /search", 'POST /api/memory/search {"query": …}'),
        ("GET /v1/memories/search", 'POST /api/memory/recall {"query": …}'),
        ("POST /query", 'POST /api/memory/recall {"query": …'),
        ("POST /api/memory/recal", 'POST /api/memory/recall {"query": …}'),
        ("GET /api/memory/history/price", "GET /api/memory/history?key=…"),
        ("GET /api/memory/show", "GET /api/memory/show/…"),
        ("GET /entities", "GET /api/memory/entity/list"),
        ("GET /entities/ent_12345678", "GET /api/memory/entity/show?id=…"),
        ("DELETE /rules/7", 'POST /api/memory/rule/remove {"id": …}'),
        ("PUT /items/lamp", 'POST /api/memory/item/put {"key": …, "value": …}'),
        ("POST /upload", "POST /api/memory/import with the file as the body"),
        ("GET /healthz", "GET /health"),
        ("GET /health/", "GET /health"),
        ("GET /api/health", "GET /health"),
        ("GET /metrics/", "GET /metrics"),
        ("GET /redoc", "GET /openapi.json"),
        ("GET /version", "GET /, which has the version"),
        ("GET /banana", "all routes lie below /api/memory, and GET /openapi.json describes them"),
        ("GET " + "/memories" * 5_000, "all routes lie below /api/memory"),
    ],
)
def test_a_path_that_is_no_route_names_the_one_that_is_meant(asked: str, meant: str) -> None:
    said = missing_route(*asked.split())
    assert said.startswith("no such route; ")
    assert meant in said
    assert not _OF_PYTHON.search(said), said


def test_a_missing_route_and_another_method_over_http(school: Site) -> None:
    reply = school.post("add", {"content": "x"})
    assert (reply.status, reply.code) == (404, "not-found")
    assert 'use POST /api/memory/commit {"content": …}' in reply.document["detail"]
    for method, path, allowed in (
        ("GET", "recall?query=x", "POST, with the arguments as one JSON object in the body"),
        ("POST", "list", "GET or HEAD, with the arguments in the query"),
        ("GET", "import", "POST, with the arguments in the query and the file as the body"),
    ):
        reply = school.ask(method, path)
        assert reply.status == 405
        assert reply.document["detail"] == f"expected {allowed}, got {method}"
    assert other_method("PUT", "/api/memory/pin", "POST").endswith("got PUT")


# --- headers -----------------------------------------------------------------------------------


@each(
    ("name", "instead"),
    [
        ("X-Namespace", "namespace"),
        ("x-tenant", "namespace"),
        ("X-Scope", "where.scope"),
        ("X-User-Id", "where.scope"),
        ("X-Vestig-Scope", "where.scope"),
        ("X-Vestig-Tenant", "namespace"),
    ],
)
def test_a_header_that_chooses_nothing_is_refused(school: Site, name: str, instead: str) -> None:
    reply = school.get("count", {name: "other"})
    assert (reply.status, reply.code) == (400, "validation")
    assert reply.document["detail"].startswith(f"{name.title()}: no header chooses among what is")
    assert instead in reply.document["detail"]
    assert school.get("/health", {name: "other"}).status == 200
    assert school.get("count", {"X-Request-Id": "7", "X-Forwarded-For": "::1"}).status == 200


# --- results -----------------------------------------------------------------------------------


@each(
    ("where", "warning"),
    [
        ({"scope": "mia"}, "scope: no memory has the scope 'mia'; known are 'user:mia'"),
        (
            {"scope_prefix": "user:"},
            "scope_prefix: no scope is 'user:' or goes on from it with a slash; known are"
            " 'user:mia', 'user:olga'",
        ),
        ({"tags": "levels"}, "tags: no memory has the tag 'levels'; known are 'level'"),
        (
            {"scope": "zzz"},
            "scope: no memory has the scope 'zzz'; all are in the scopes of GET /api/memory/stats",
        ),
    ],
)
def test_a_filter_of_what_nothing_has_warns(
    school: Site, where: dict[str, Any], warning: str
) -> None:
    for reply in (
        school.post("recall", {"query": "which level?", "where": where}),
        school.get(f"list?where={quote(json.dumps(where))}"),
        school.get(f"count?where={quote(json.dumps(where))}"),
        school.post("forget", {"where": where, "dry_run": True}),
    ):
        assert (reply.status, reply.document["warnings"]) == (200, [warning])
    assert school.get("count?where.scope=user:mia").document["warnings"] == []


def test_each_result_has_its_scope(school: Site) -> None:
    found = school.post("recall", {"query": "Mia's level in Spanish", "all": True}).document
    scopes = {one["id"]: one.get("scope") for one in found["results"]}
    assert {"user:mia", "user:olga", None} <= {*scopes.values()}


def test_an_item_that_is_missing_is_named_by_its_key(school: Site) -> None:
    reply = school.get("item/get?scope=user:mia&key=nope")
    assert (reply.status, reply.document["detail"]) == (404, "Item not found: nope")


def test_memories_are_sorted_by_the_name_that_they_show(school: Site) -> None:
    page = school.get("list?order_by=t_created&descending=false").document
    times = [one["t_created"] for one in page["memories"]]
    assert times == sorted(times)
    assert page == school.get("list?order_by=created_at&descending=false").document


def test_stats_leave_out_arrays_without_bytes(school: Site) -> None:
    assert all(school.get("stats").document["projection"]["bytes"].values())


def test_an_import_into_a_namespace_is_led_to_the_command(school: Site) -> None:
    detail = school.ask("POST", "import?namespace=copy", b"", LINES).document["detail"]
    assert "the command vestig --namespace NS import FILE" in detail
