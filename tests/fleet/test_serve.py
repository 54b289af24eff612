"""One server for many tenants: a request's token says which one it asks, and what it may do."""

from __future__ import annotations

import http.client
import itertools
import json
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

from postgres_server import PostgresServer
from serve_process import Process, started
from served import Reply, Site, running
from vestig.config import load
from vestig.errors import StoreLockedError
from vestig.fleet import tokens as tokens_module
from vestig.fleet.pool import TenantPool
from vestig.fleet.tenants import create
from vestig.fleet.tokens import RIGHTS, Grant, add_token, list_tokens, revoke_token
from vestig.store.replication.connection import RefusedError
from vestig.store.replication.postgres import Database
from vestig.surfaces.cli import run
from vestig.surfaces.http.fleet import FleetStores, fleet_access
from vestig.surfaces.http.routes import Route, routes
from vestig.surfaces.http.service import Service
from vestig.surfaces.operation import Right, operation, operations
from vestig.testing import HashingEmbedder

_numbers = itertools.count(1)
NOBODYS = "x" * 43


class Client(NamedTuple):
    """Asks one server with one token."""

    site: Site
    token: str

    def ask(
        self, method: str, path: str, *body: Any, headers: dict[str, str] | None = None
    ) -> Reply:
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        return self.site.ask(method, path, *body, headers=sent)

    def post(self, path: str, body: Any, **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", path, body, headers=named)

    def get(self, path: str, **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("GET", path, headers=named)

    def on(self, site: Site) -> Client:
        return Client(site, self.token)


Sites = Callable[..., Site]


@pytest.fixture
def sites(server: PostgresServer, database: Database, tmp_path: Path) -> Iterator[Sites]:
    """Starts a server of the fleet on a machine of this name, with these keys."""
    login = f"http_worker_{os.getpid()}_{next(_numbers)}"
    database.ask(f"CREATE ROLE {login} LOGIN IN ROLE vestig_worker")
    address = server.address.replace("//owner@", f"//{login}@")
    with ExitStack() as open_:

        def start(name: str, **keys: Any) -> Site:
            given = {
                "store.path": address, "fleet.cache_dir": str(tmp_path / name),
                "serve.max_concurrent": 4,
                **{key.replace("__", "."): value for key, value in keys.items()},
            }  # fmt: skip
            config = load(environ={}, overrides=given)
            pool = open_.enter_context(
                TenantPool(config, embedder=HashingEmbedder(64), worker=True)
            )
            service = Service(FleetStores(pool, config), config.settings.serve)
            access = fleet_access(config, pool.database)
            return Site(None, service, open_.enter_context(running(service, access)))  # type: ignore[arg-type]

        yield start


@pytest.fixture
def client(sites: Sites, database: Database, tenant: str) -> Client:
    """Asks a server for all of a tenant."""
    return Client(sites("a"), str(add_token(database, tenant, rights="admin").token))


def new_tenant(database: Database) -> str:
    name = f"served-{os.getpid()}-{next(_numbers)}"
    create(database, name)
    return name


def token_for(database: Database, tenant: str, rights: str = "write", **more: Any) -> str:
    return str(add_token(database, tenant, rights=rights, **more).token)


# --- which tenant ------------------------------------------------------------------------------


def test_the_token_says_which_tenant_is_asked(
    sites: Sites, database: Database, tenant: str
) -> None:
    site, other = sites("a"), new_tenant(database)
    first = Client(site, token_for(database, tenant))
    second = Client(site, token_for(database, other))
    id = first.post("commit", {"content": "The north gate opens at seven"}).document["memory_id"]
    assert second.get("count").document["count"] == 0
    second.post("commit", {"content": "The south gate opens at nine"})
    assert first.get("count").document["count"] == 1
    assert first.get(f"show/{id}").status == 200
    unknown = second.get(f"show/{id}")
    never = second.get(f"show/{id[:-4]}0000")
    assert (unknown.status, never.status) == (404, 404)
    assert unknown.document["detail"].replace(id, "") == never.document["detail"].replace(
        f"{id[:-4]}0000", ""
    )


def test_no_token_and_every_token_that_is_none_are_answered_alike(
    sites: Sites, database: Database, tenant: str
) -> None:
    site = sites("a", fleet__max_staleness_s=0)
    ended = token_for(database, tenant, expires="2999-01-01")
    database.ask("UPDATE vestig.tokens SET expires = now() WHERE tenant = $1", (tenant,))
    revoked = add_token(database, tenant)
    revoke_token(database, tenant, revoked.id)
    gone = new_tenant(database)
    dropped, read_before = token_for(database, gone), token_for(database, gone)
    assert Client(site, read_before).get("count").status == 200
    database.drop(gone)
    good = token_for(database, tenant)
    heads = {
        "none": {},
        "empty": {"Authorization": "Bearer "},
        "basic": {"Authorization": f"Basic {good}"},
        "short": {"Authorization": "Bearer abc"},
        "nobody's": {"Authorization": f"Bearer {NOBODYS}"},
        "ended": {"Authorization": f"Bearer {ended}"},
        "revoked": {"Authorization": f"Bearer {revoked.token}"},
        "of a dropped tenant": {"Authorization": f"Bearer {dropped}"},
        "of one that was dropped while it was open": {"Authorization": f"Bearer {read_before}"},
        "for another tenant": {
            "Authorization": f"Bearer {good}",
            "X-Vestig-Tenant": new_tenant(database),
        },
        "for no tenant": {"Authorization": f"Bearer {good}", "X-Vestig-Tenant": "nobody-here"},
    }
    answers = {}
    for name, sent in heads.items():
        for reply in (
            site.ask("GET", "count", headers=sent),
            site.ask("POST", "commit", {"content": "The gate is red"}, headers=sent),
        ):
            document = {k: v for k, v in reply.document.items() if k != "instance"}
            answers[name, reply.status, reply.headers.get("www-authenticate")] = document
    assert {key[1:] for key in answers} == {(401, "Bearer")}, answers
    assert len({json.dumps(one) for one in answers.values()}) == 1, answers
    assert Client(site, good).get("count", X_Vestig_Tenant=tenant).document["count"] == 0


def test_health_tells_those_without_a_token_of_no_tenant(client: Client, tenant: str) -> None:
    client.post("commit", {"content": "The pier is closed in a storm"})
    for path in ("/health", "/api/memory/health"):
        reply = client.site.get(path)
        assert reply.status == 200
        assert set(reply.document) == {"schema", "status", "postgresql", "version"}
        assert (reply.document["status"], reply.document["postgresql"]) == ("healthy", "ok")
        assert tenant.encode() not in reply.body


def test_health_is_degraded_where_postgresql_is_away_and_asks_it_once_a_second(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def away(self: Database, statement: str, values: Any = ()) -> Any:
        asked.append(statement)
        raise StoreLockedError("away")

    monkeypatch.setattr(Database, "ask", away)
    for _ in range(10):
        reply = client.site.get("/health")
        assert reply.status == 200
        assert (reply.document["status"], reply.document["postgresql"]) == ("degraded", "away")
    assert len(asked) <= 2


def test_metrics_are_those_of_the_tenant_or_with_the_servers_own_token_of_the_server(
    sites: Sites, database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVERS_OWN", "the-servers-own-token")
    site = sites("a", serve__token_env="SERVERS_OWN")
    one, two = (Client(site, token_for(database, name)) for name in (tenant, new_tenant(database)))
    for number in range(3):
        one.post("commit", {"content": f"Valve {number} of the north hall is open"})
    assert b'vestig_commit_outcomes_total{outcome="INSERTED_NEW"} 3.0' in one.get("metrics").body
    assert b"INSERTED_NEW" not in two.get("metrics").body
    assert site.get("/api/memory/metrics").status == 401
    own = Client(site, "the-servers-own-token")
    shown = own.get("metrics").body.decode()
    assert "vestig_open_tenants 2.0" in shown
    assert 'vestig_requests_total{route="commit",status="201"} 3.0' in shown
    assert tenant not in shown
    for path in ("count", "stats"):
        assert own.get(path).status == 401
    assert own.post("commit", {"content": "The gate is red"}).status in (401, 403)


# --- rights ------------------------------------------------------------------------------------

SERVED = [*routes(traced=True)]


def asked(client: Client, route: Route) -> Reply:
    """A request of a route that is refused for what it says, if not for its token."""
    path = route.path.replace("{id}", "mem_00000000")
    if route.method == "GET":
        return client.ask("GET", f"{path}?no_such_argument=1")
    return client.ask("POST", path, {"no_such_argument": 1})


def every_kind_of_request(client: Client) -> Iterator[Reply]:
    """Well-formed requests that read, write, export, import and look."""
    for path in ("count", "list", "stats", "doctor", "metrics", "entity/list", "show/mem_00000000"):
        yield client.get(path)
    for path, body in {
        "recall": {"query": "who keeps what?"},
        "retrieve": {"messages": [{"role": "user", "content": "who keeps what?"}]},
        "commit": {"content": "Somebody keeps a dog"},
        "forget": {"where": {"authors": ["Omar"]}, "confirm": True},
        "export": {},
        "rebuild": {},
        "item/put": {"scope": "users", "key": "a", "value": 1},
    }.items():
        yield client.post(path, body)
    yield client.post("import", b"", Content_Type="application/x-ndjson")


def test_every_served_operation_needs_its_right_and_no_more(
    sites: Sites, database: Database, tenant: str
) -> None:
    site = sites("a", serve__debug_endpoint=True)
    clients = [Client(site, token_for(database, tenant, rights)) for rights in RIGHTS]
    for route in SERVED:
        needed = route.operation.needed_right
        for rights, client in zip(RIGHTS, clients, strict=True):
            reply = asked(client, route)
            if RIGHTS.index(rights) >= RIGHTS.index(needed):
                assert (reply.status, reply.code) == (422, "validation"), (route.path, rights)
                continue
            assert (reply.status, reply.code) == (403, "unauthorized"), (route.path, rights)
            assert f"right {needed}, this one has {rights}" in reply.document["detail"]
            assert reply.headers["www-authenticate"].endswith(f'scope="{needed}"')
    lines = b'{"content": "The gate is red"}\n'
    kind = {"Content-Type": "application/x-ndjson"}
    replies = [client.ask("POST", "import", lines, headers=kind) for client in clients]
    assert [reply.status for reply in replies] == [403, 403, 200], replies


def test_rights_of_operations_are_those_of_tokens() -> None:
    assert get_args(Right) == RIGHTS == ("read", "write", "admin")


def test_rights_follow_from_what_an_operation_does() -> None:
    for one in operations():
        if one.arguments is None:
            continue
        if one.confirmed == "always":
            assert one.needed_right == "admin", one.name
        if one.writes:
            assert one.needed_right != "read", one.name
    rights = {name: operation(name).needed_right for name in (
        "memory recall", "retrieve", "stats", "memory add", "memory supersede", "item put",
        "memory forget", "document forget", "item delete", "import", "export", "backup", "doctor",
        "rebuild", "housekeeping prune", "housekeeping compact", "entity purge",
    )}  # fmt: skip
    assert [name for name, right in rights.items() if right == "read"] == [
        "memory recall", "retrieve", "stats",
    ]  # fmt: skip
    assert [name for name, right in rights.items() if right == "write"] == [
        "memory add", "memory supersede", "item put",
    ]  # fmt: skip


def test_an_administrator_may_do_all(client: Client) -> None:
    kept, gone = (
        client.post("commit", {"content": text}).document["memory_id"]
        for text in ("The pump is in the cellar", "The spare key is with Ada")
    )
    assert client.post("forget", {"ids": [gone], "confirm": True}).status == 200
    assert client.get(f"show/{gone}").status == 404
    exported = client.post("export", {})
    assert exported.status == 200
    assert kept.encode() in exported.body
    assert {one["level"] for one in client.get("doctor").document["findings"]} <= {"ok", "finding"}
    assert client.post("rebuild", {}).status == 200


def test_no_backup_takes_the_place_of_another_tenants_copy(
    client: Client, database: Database
) -> None:
    other = new_tenant(database)
    client.post("commit", {"content": "The pump is in the cellar"})
    reply = client.post("backup", {"dest": other})
    assert (reply.status, reply.code) == (409, "conflict")
    assert "vestig tenant down" in reply.document["detail"]
    assert Client(client.site, token_for(database, other)).get("count").document["count"] == 0


# --- revoked -----------------------------------------------------------------------------------


def test_a_revoked_token_is_refused_on_every_server_within_its_lease(
    sites: Sites, database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens_module, "LEASE_S", 2.0)
    made = add_token(database, tenant)
    clients = [Client(sites(name), str(made.token)) for name in ("a", "b")]
    for client in clients:
        assert client.get("count").status == 200
    revoke_token(database, tenant, made.id)
    until = time.monotonic() + 2.0
    while {client.get("count").status for client in clients} != {401}:
        assert time.monotonic() < until + 1.0, "still let in after its lease"
        time.sleep(0.05)


def test_a_token_is_looked_up_once_in_its_lease(
    sites: Sites, database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    original = tokens_module.TokenCache.look_up

    def counted(self: tokens_module.TokenCache, hash: bytes) -> Any:
        found.append(hash)
        return original(self, hash)

    monkeypatch.setattr(tokens_module.TokenCache, "look_up", counted)
    site = sites("a")
    good = Client(site, token_for(database, tenant))
    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(lambda _: good.get("count").status, range(24)))
    assert set(replies) == {200}
    assert len(found) == 1
    for _ in range(5):
        assert Client(site, NOBODYS).get("count").status == 401
    assert len(found) == 2
    assert Client(site, "not-even-the-form-of-one").get("count").status == 401
    assert len(found) == 2


@pytest.mark.slow
def test_while_postgresql_is_away_known_tokens_read_for_as_long_as_the_copy_does(
    sites: Sites, database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens_module, "LEASE_S", 1.0)
    site = sites("a", fleet__max_staleness_s=0, fleet__max_offline_s=6)
    known = Client(site, token_for(database, tenant, "admin"))
    new = Client(site, token_for(database, tenant))
    known.post("commit", {"content": "The vault holds nine crates of tea"})
    assert known.post("recall", {"query": "what holds the vault?"}).document["degraded"] == []

    def away(self: Database, deadline: float) -> Any:
        raise self.away(StoreLockedError("no answer"))

    monkeypatch.setattr(Database, "_take", away)
    lost_s = time.monotonic()
    refused = [new.get("count")]
    time.sleep(1.1)
    found = known.post("recall", {"query": "what holds the vault?"})
    assert (found.status, len(found.document["results"])) == (200, 1)
    assert {one["code"] for one in found.document["degraded"]} == {"upstream_away"}
    assert known.get("count").document["count"] == 1
    for path, body in (("commit", {"content": "The pier is shut"}), ("export", {})):
        refused.append(known.post(path, body))
        assert "does not answer" in refused[-1].document["detail"]
    time.sleep(max(0.0, lost_s + 6.1 - time.monotonic()))
    refused.append(known.get("count"))
    for reply in refused:
        assert (reply.status, reply.code) == (503, "store-locked")
        assert "retry-after" in reply.headers
        assert b"owner@" not in reply.body
        assert b"_worker_" not in reply.body


def test_a_token_is_of_its_tenant_and_not_of_another_one_that_gets_the_name(
    sites: Sites, database: Database, tmp_path: Path
) -> None:
    name = f"again-{os.getpid()}"
    create(database, name)
    site = sites("a", fleet__max_staleness_s=0, serve__debug_endpoint=True)
    old = Client(site, token_for(database, name, "admin"))
    idle = Client(sites("b"), old.token)
    old.post("commit", {"content": "The first one keeps bees"})
    assert idle.get("count").document["count"] == 1
    database.drop(name)
    create(database, name)
    new = Client(site, token_for(database, name, "admin"))
    for _ in range(2):
        for reply in every_kind_of_request(old):
            assert (reply.status, reply.code) == (401, "unauthorized"), reply.document
        assert new.post("commit", {"content": "The second one keeps geese"}).status in (200, 201)
        assert new.get("count").document["count"] == 1
    time.sleep(1.1)
    assert idle.get("count").status == 401
    assert new.on(idle.site).get("count").document["count"] == 1
    database.drop(name)


def test_too_many_unknown_tokens_at_once_are_turned_away(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vestig.surfaces.http.fleet._WAITING_MAX", 3)
    held = threading.Event()

    def slow(self: tokens_module.TokenCache, hash: bytes) -> None:
        held.wait(20)

    monkeypatch.setattr(tokens_module.TokenCache, "look_up", slow)
    site = sites("a")
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(Client(site, f"{number}" * 43).get, "count") for number in range(8)]
        while sum(one.done() for one in asked) < 5:
            time.sleep(0.02)
        held.set()
        statuses = sorted(one.result().status for one in asked)
    assert statuses == [401] * 3 + [503] * 5


# --- apart -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tenants_stay_apart_under_concurrent_requests(sites: Sites, database: Database) -> None:
    # fewer may be open than there are: they are opened and closed all the time
    site = sites("a", fleet__max_open=2)
    names = [new_tenant(database) for _ in range(5)]
    clients = {name: Client(site, token_for(database, name)) for name in names}
    canaries = {name: f"canary{number}wren" for number, name in enumerate(names)}
    crossed: list[tuple[str, str, bytes]] = []

    def ask(number: int) -> None:
        name = names[number % len(names)]
        client, choice = clients[name], random.Random(number).random()
        if choice < 0.4:
            text = f"Parcel {number * 7919} of {canaries[name]} went to hall {number}"
            reply = client.post("commit", {"content": text}, Idempotency_Key=f"key-{number // 5}")
            assert reply.status in (200, 201), reply
        elif choice < 0.8:
            reply = client.post("recall", {"query": "where did the parcels of the canary go?"})
        else:
            reply = client.get("list?limit=50")
        assert reply.status in (200, 201), reply
        found = [one for one in canaries.values() if one.encode() in reply.body]
        if set(found) - {canaries[name]}:
            crossed.append((name, str(found), reply.body))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(150)))
    assert crossed == []
    listed = {name: clients[name].get("list?limit=100").body.decode() for name in names}
    assert all(canaries[name] in listed[name] for name in names)


# --- a write is done once ----------------------------------------------------------------------

LAZY = {"fleet__max_staleness_s": 1_000}


def test_a_key_is_known_on_every_server(sites: Sites, database: Database, tenant: str) -> None:
    token = token_for(database, tenant, "admin")
    one, two = (Client(sites(name, **LAZY), token) for name in ("a", "b"))
    # the second one has a copy, and does not look for newer changes by itself
    assert two.get("count").document["count"] == 0
    body = {"content": "The north gate opens at seven"}
    first = one.post("commit", body, Idempotency_Key="order-17")
    again = two.post("commit", body, Idempotency_Key="order-17")
    assert (first.status, again.status) == (201, 201)
    assert again.body == first.body
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["x-vestig-position"] == first.headers["x-vestig-position"]
    other = two.post("commit", {"content": "Another text"}, Idempotency_Key="order-17")
    assert (other.status, other.code) == (422, "validation")
    id = first.document["memory_id"]
    erased = one.post("forget", {"ids": [id], "confirm": True}, Idempotency_Key="erase-17")
    assert erased.status == 200
    repeated = two.post("forget", {"ids": [id], "confirm": True}, Idempotency_Key="erase-17")
    assert (repeated.status, repeated.body) == (200, erased.body)
    # its answer went with what it named
    assert two.post("commit", body, Idempotency_Key="order-17").code == "conflict"
    assert two.get("count").document["count"] == 0


def test_a_key_that_another_server_has_used_does_nothing_else(
    sites: Sites, database: Database, tenant: str
) -> None:
    token = token_for(database, tenant, "admin")
    one, two = (Client(sites(name, **LAZY), token) for name in ("a", "b"))
    kept = one.post("commit", {"content": "The spare key is with Ada"}).document["memory_id"]
    assert two.get(f"show/{kept}").status == 200
    body = {"content": "The north gate opens at seven"}
    assert one.post("commit", body, Idempotency_Key="order-17").status == 201
    refused = two.post("forget", {"ids": [kept], "confirm": True}, Idempotency_Key="order-17")
    assert (refused.status, refused.code) == (422, "validation")
    items = {"items": [{"content": "The south gate opens at nine"}]}
    assert two.post("commit", items, Idempotency_Key="order-17").status == 422
    assert two.get(f"show/{kept}").status == 200
    assert two.get("count").document["count"] == 2


def test_a_key_of_one_tenant_is_none_of_another(
    sites: Sites, database: Database, tenant: str
) -> None:
    site = sites("a")
    names = (tenant, new_tenant(database))
    body = {"content": "The north gate opens at seven"}
    replies = [
        Client(site, token_for(database, name)).post("commit", body, Idempotency_Key="one")
        for name in names
    ]
    assert [reply.status for reply in replies] == [201, 201]
    assert replies[0].document["memory_id"] != replies[1].document["memory_id"]


WRITES: dict[str, tuple[str, Callable[[str, str], dict[str, Any]]]] = {
    "commit": ("commit", lambda one, two: {"content": "Valve 9 is serviced in May"}),
    "items": ("commit", lambda one, two: {"items": [{"content": "Valve 8 is serviced in June"}]}),
    "supersede": ("supersede", lambda one, two: {"old": one, "new": two}),
    "deprecate": ("deprecate", lambda one, two: {"id": one, "reason": "sold"}),
    "item": ("item/put", lambda one, two: {"key": "theme", "value": {"dark": True}}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITES)
def test_servers_that_are_asked_at_once_do_it_once_and_answer_alike(
    sites: Sites, database: Database, tenant: str, name: str
) -> None:
    token = token_for(database, tenant, "admin")
    clients = [Client(sites(place, **LAZY), token) for place in ("a", "b", "c")]
    one, two = (
        clients[0].post("commit", {"content": text}).document["memory_id"]
        for text in ("Valve 1 is serviced in March", "Valve 1 is serviced in April now")
    )
    path, body = WRITES[name]
    together = threading.Barrier(len(clients))

    def ask(client: Client) -> Reply:
        together.wait()
        return client.post(path, body(one, two), Idempotency_Key="once")

    for client in clients:
        assert client.get("count").status == 200
    with ThreadPoolExecutor(len(clients)) as threads:
        replies = list(threads.map(ask, clients))
    assert {reply.status for reply in replies} <= {200, 201, 207}, replies
    assert len({reply.body for reply in replies}) == 1, [reply.body for reply in replies]
    assert sum("idempotency-replayed" not in reply.headers for reply in replies) == 1


def test_positions_are_those_of_the_tenant(sites: Sites, database: Database, tenant: str) -> None:
    tokens = [token_for(database, name, "admin") for name in (tenant, new_tenant(database))]
    one, two = sites("a", **LAZY), sites("b", **LAZY)
    assert Client(two, tokens[0]).get("count").document["count"] == 0
    written = Client(one, tokens[0]).post("commit", {"content": "The gate opens at seven"})
    position = written.headers["x-vestig-position"]
    assert Client(two, tokens[0]).get("count").document["count"] == 0
    exported = Client(two, tokens[0]).post("export", {}, X_Vestig_Position=position)
    assert b"The gate opens at seven" in exported.body
    seen = Client(two, tokens[0]).get("count", X_Vestig_Position=position)
    assert (seen.document["count"], seen.headers["x-vestig-position"]) == (1, position)
    late = Client(two, tokens[1]).get("count", X_Vestig_Position="99")
    assert (late.status, late.code) == (503, "store-locked")


# --- nothing tells a token ---------------------------------------------------------------------


def test_files_that_come_and_go_have_positions_too(
    sites: Sites, database: Database, tenant: str
) -> None:
    lazy = {"fleet__max_staleness_s": 1_000}
    one = Client(sites("a", **lazy), token_for(database, tenant, "admin"))
    two = one.on(sites("b", **lazy))
    assert two.get("count").document["count"] == 0
    lines = {"Content_Type": "application/x-ndjson"}
    sent = one.post("import", b'{"role": "user", "content": "The pump is in the cellar"}', **lines)
    position = sent.headers["x-vestig-position"]
    assert int(position) > 0
    behind = two.post("export", {})
    assert (b"pump" in behind.body, behind.headers["x-vestig-position"]) == (False, "0")
    followed = two.post("export", {}, X_Vestig_Position=position)
    assert (b"pump" in followed.body, followed.headers["x-vestig-position"]) == (True, position)
    for path, body, more in (
        ("export", {}, {}),
        ("import", b"{}", lines),
        ("recall", {"query": "?"}, {}),
    ):
        reply = two.post(path, body, X_Vestig_Position="7000", **more)
        assert (reply.status, reply.code) == (503, "store-locked")
        assert "expected position 7000 or a later one" in reply.document["detail"]
        reply = two.post(path, body, X_Vestig_Position="first", **more)
        assert (reply.status, reply.document["errors"][0]["loc"]) == (422, ["X-Vestig-Position"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "told"),
    [("25006", "takes no writes now"), ("42501", "refuses this"), ("53100", "has no room")],
)
def test_a_refusal_of_postgresql_is_told_as_one_and_logged(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    state: str,
    told: str,
) -> None:
    assert client.post("commit", {"content": "The pier is shut in a storm"}).status == 201

    def refused(*_: Any) -> Any:
        raise RefusedError(state, "of the table")

    monkeypatch.setattr(Database, "append", refused)
    reply = client.post("commit", {"content": "The depot opens at six"})
    assert (reply.status, reply.code) == (503, "store-locked")
    assert told in reply.document["detail"]
    assert b"127.0.0.1" not in reply.body
    assert "of the table" in caplog.text


def test_what_an_answer_lacks_names_no_address_nor_folder(
    client: Client,
    database: Database,
    tenant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client.post("commit", {"content": "The vault holds nine crates of tea"})

    def refused(self: Database, *_: Any) -> Any:
        raise self.away(StoreLockedError("no answer"))

    monkeypatch.setattr(Database, "replace_snapshot", refused)
    grant = Grant(tenant=tenant, identity=database.find(tenant).identity, rights="admin")
    with client.site.service.stores.lease(grant) as store:
        held = store._session.tenant
        assert held is not None
        held._snapshot(store._session.ledger)
        held.copy.report("copy_rebuilt", f"{held.directory}/ledger.db: damaged")
    reply = client.post("recall", {"query": "what holds the vault?"})
    codes = {one["code"]: one["detail"] for one in reply.document["degraded"]}
    assert set(codes) == {"snapshot_failed", "copy_rebuilt"}
    assert "expected PostgreSQL to answer" in codes["snapshot_failed"]
    for secret in (b"127.0.0.1", b"postgresql://", str(tmp_path).encode()):
        assert secret not in reply.body


def test_no_token_is_in_a_log_an_answer_or_a_file(
    sites: Sites, database: Database, tenant: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    trace = tmp_path / "trace.jsonl"
    site = sites("a", serve__audit_payloads=True, telemetry__trace_file=str(trace))
    token, weak = token_for(database, tenant, "admin"), token_for(database, tenant, "read")
    replies = [
        Client(site, token).post("commit", {"content": "The gate opens at seven"}),
        Client(site, token).post("recall", {"query": "when does the gate open?"}),
        Client(site, token).get("count?no_such_argument=1"),
        Client(site, weak).post("commit", {"content": "The gate is red"}),
        Client(site, NOBODYS).get("count"),
        Client(site, token).get("metrics"),
        Client(site, token).get("nowhere"),
    ]
    time.sleep(1.5)  # the log of requests is written
    said = caplog.text.encode() + b"".join(
        reply.body + repr(reply.headers).encode() for reply in replies
    )
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"The gate opens at seven" in kept, "the log of requests was written"
    for one in (token, weak, NOBODYS):
        assert one.encode() not in said
        assert one.encode() not in kept
    rows = database.ask("SELECT row_to_json(t)::text FROM vestig.tokens t").rows
    assert not [row for row in rows if token.encode() in (row[0] or b"")]


def test_problems_name_no_address_nor_folder(client: Client, tmp_path: Path) -> None:
    for reply in (
        client.post("backup", {"dest": "copy"}),
        client.get("count", X_Vestig_Position="99"),
        client.get("show/mem_00000000"),
    ):
        assert reply.status >= 400
        assert str(tmp_path).encode() not in reply.body
        assert b"postgresql://" not in reply.body


# --- the command -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--store", "{folder}"), "expected an address of PostgreSQL"),
        (("--store", "{address}", "--tenant", "acme"), "a request's token says which one it asks"),
    ],
)
def test_the_command_refuses_what_is_no_fleet(
    server: PostgresServer,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    expected: str,
) -> None:
    filled = [word.format(folder=tmp_path / "store", address=server.address) for word in words]
    assert run(["serve", "--fleet", "--port", "0", *filled]) == 2
    assert expected in capfd.readouterr().err


def test_a_database_that_cannot_be_served_is_told_of_at_the_start(
    server: PostgresServer, database: Database, capfd: pytest.CaptureFixture[str]
) -> None:
    name = f"empty_{os.getpid()}_{next(_numbers)}"
    database.ask(f"CREATE DATABASE {name}")
    empty = server.address.rpartition("/")[0] + f"/{name}"
    assert run(["serve", "--fleet", "--port", "0", "--store", empty]) == 3
    assert "vestig fleet init" in capfd.readouterr().err
    assert run(["serve", "--fleet", "--port", "0", "--store", "postgresql://127.0.0.1:1/x"]) == 3
    assert "expected PostgreSQL to answer" in capfd.readouterr().err


@pytest.mark.slow
def test_a_server_that_is_killed_leaves_each_write_to_be_done_once_by_another(
    server: PostgresServer,
    database: Database,
    tenant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = {"Authorization": f"Bearer {token_for(database, tenant)}"}
    folders = [tmp_path / name for name in ("a", "b")]
    with ExitStack() as open_:
        processes = []
        for folder in folders:
            folder.mkdir()
            monkeypatch.setenv("VESTIG_FLEET__CACHE_DIR", str(folder / "copies"))
            words = ("--fleet", "--store", server.address)
            processes.append(open_.enter_context(started(folder, *words)))
        first, second = processes

        def commit(process: Process, number: int) -> tuple[int, Any]:
            body = {"content": f"Parcel {number * 7919} went to hall {number}"}
            return process.ask("POST", "commit", body, Idempotency_Key=f"parcel-{number}", **sent)

        acknowledged: dict[int, str] = {}

        def write() -> None:
            for number in range(40):
                try:
                    status, document = commit(first, number)
                except (OSError, http.client.HTTPException, json.JSONDecodeError):
                    return
                assert status == 201, document
                acknowledged[number] = document["memory_id"]

        writer = threading.Thread(target=write)
        writer.start()
        while len(acknowledged) < 12:
            time.sleep(0.005)
        first.running.kill()
        writer.join()
        ids = {number: commit(second, number) for number in range(len(acknowledged) + 2)}
        assert {status for status, _ in ids.values()} == {201}
        for number, id in acknowledged.items():
            assert ids[number][1]["memory_id"] == id
        assert second.ask("GET", "count", **sent)[1]["count"] == len(ids)
        assert second.stop() == 0
        said = second.running.stderr.read().decode()
        assert sent["Authorization"].removeprefix("Bearer ") not in said


def test_the_list_of_tokens_is_not_served(client: Client, database: Database, tenant: str) -> None:
    assert list_tokens(database, tenant)
    paths = client.get("/openapi.json").document["paths"]
    assert not [path for path in paths if "token" in path or "tenant" in path]
