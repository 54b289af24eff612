"""Tokens of tenants: made, listed, revoked, and for how long a server takes one."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from postgres_server import PostgresServer
from vestig.errors import NotFoundError, StoreLockedError, ValidationError
from vestig.fleet import worker_of
from vestig.fleet.tenants import create
from vestig.fleet.tokens import (
    LEASE_S,
    UNKNOWN_S,
    Grant,
    TokenCache,
    add_token,
    hash_of,
    is_token,
    list_tokens,
    revoke_token,
)
from vestig.store.replication.connection import Address
from vestig.store.replication.postgres import Database
from vestig.store.replication.tokens import TokenRow, find
from vestig.surfaces.cli import run

_logins = itertools.count(1)


@pytest.fixture
def worker(server: PostgresServer, database: Database) -> Database:
    """The database as a member of the role of workers has it."""
    login = f"token_worker_{os.getpid()}_{next(_logins)}"
    database.ask(f"CREATE ROLE {login} LOGIN IN ROLE vestig_worker")
    return Database(Address(server.address.replace("//owner@", f"//{login}@")), 5.0)


def test_a_token_is_told_once_and_only_its_hash_is_stored(database: Database, tenant: str) -> None:
    made = add_token(database, tenant, rights="write", label="the gate's agent")
    assert made.token is not None
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", made.token)
    assert is_token(made.token)
    assert made.token not in repr(made)
    (listed,) = list_tokens(database, tenant)
    assert listed.token is None
    assert (listed.id, listed.rights, listed.label) == (made.id, "write", "the gate's agent")
    rows = database.ask(
        "SELECT row_to_json(t)::text FROM vestig.tokens t WHERE tenant = $1", (tenant,)
    )
    stored = (rows.rows[0][0] or b"").decode()
    assert made.token not in stored
    assert hashlib.sha256(made.token.encode()).hexdigest() in stored
    second = add_token(database, tenant)
    assert (second.rights, second.token == made.token) == ("read", False)


def test_a_revoked_token_is_gone_and_others_stay(database: Database, tenant: str) -> None:
    first, second = (add_token(database, tenant, label=name) for name in ("one", "two"))
    assert revoke_token(database, tenant, first.id).label == "one"
    assert [one.id for one in list_tokens(database, tenant)] == [second.id]
    with pytest.raises(NotFoundError, match="Token not found"):
        revoke_token(database, tenant, first.id)
    other = f"{tenant}-b"
    create(database, other)
    with pytest.raises(NotFoundError):
        revoke_token(database, other, second.id)
    assert find(database, hash_of(str(second.token))) is not None


def test_tokens_go_with_their_tenant(database: Database, worker: Database, tenant: str) -> None:
    token = str(add_token(database, tenant).token)
    assert find(database, hash_of(token)) is not None
    with pytest.raises(StoreLockedError, match="or as the one who owns the tables"):
        worker.drop(tenant)
    database.drop(tenant)
    assert find(database, hash_of(token)) is None
    create(database, tenant)
    assert list_tokens(database, tenant) == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"rights": "owner"}, "rights"),
        ({"rights": ["read"]}, "rights"),
        ({"label": "x" * 201}, "label"),
        ({"label": 7}, "label"),
        ({"expires": "soon"}, "expires"),
        ({"expires": "2001-01-01"}, "expires"),
    ],
)
def test_wrong_arguments_are_named(
    database: Database, tenant: str, given: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as raised:
        add_token(database, tenant, **given)
    assert raised.value.field == field
    assert list_tokens(database, tenant) == []


def test_a_tenant_that_is_not_there_has_no_tokens(
    database: Database, server: PostgresServer
) -> None:
    for call in (add_token, list_tokens):
        with pytest.raises(NotFoundError, match="Tenant not found"):
            call(database, "nobody-here")
    with pytest.raises(NotFoundError, match="Tenant not found"):
        revoke_token(database, "nobody-here", "tok_0")


def test_a_token_that_has_ended_is_no_token(database: Database, tenant: str) -> None:
    ends = datetime.now(UTC) + timedelta(hours=1)
    made = add_token(database, tenant, expires=ends)
    assert made.expires == ends
    row = find(database, hash_of(str(made.token)))
    assert row is not None
    assert 3_500 < (row.left_s or 0) <= 3_600
    database.ask("UPDATE vestig.tokens SET expires = now() WHERE tenant = $1", (tenant,))
    assert find(database, hash_of(str(made.token))) is None
    assert [one.id for one in list_tokens(database, tenant)] == [made.id]


def test_a_worker_finds_what_is_presented_and_makes_none(
    database: Database, worker: Database, tenant: str
) -> None:
    token = str(add_token(database, tenant, rights="admin").token)
    found = find(worker, hash_of(token))
    assert found is not None
    assert (found.tenant, found.rights) == (tenant, "admin")
    assert worker.ask("SELECT hash FROM vestig.tokens").rows == []
    with pytest.raises(
        StoreLockedError, match=r"log in as a member of vestig_worker, or as the one who owns"
    ):
        add_token(worker, tenant, rights="admin")
    with pytest.raises(
        StoreLockedError, match=r"log in as a member of vestig_worker, or as the one who owns"
    ):
        revoke_token(worker, tenant, list_tokens(database, tenant)[0].id)
    assert len(list_tokens(database, tenant)) == 1


class Clock:
    """A monotonic clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


class Rows:
    """Tokens as PostgreSQL has them; `away`: it does not answer."""

    def __init__(self) -> None:
        self.rows: dict[bytes, TokenRow] = {}
        self.asked: list[bytes] = []
        self.away = False

    def add(self, token: str, *, left_s: float | None = None) -> bytes:
        hash = hash_of(token)
        self.rows[hash] = TokenRow(
            hash=hash, tenant="acme", identity=ONE, rights="read", label="", created_us=0,
            expires_us=None, left_s=left_s,
        )  # fmt: skip
        return hash

    def __call__(self, hash: bytes) -> TokenRow | None:
        self.asked.append(hash)
        if self.away:
            raise StoreLockedError("away")
        return self.rows.get(hash)


ONE = bytes(range(16))
ACME = Grant(tenant="acme", identity=ONE, rights="read")


def test_a_looked_up_token_is_good_for_a_lease_of_at_most_a_minute() -> None:
    assert LEASE_S <= 60
    rows, clock = Rows(), Clock()
    cache, hash = TokenCache(rows, max_offline_s=3_600, now=clock), rows.add("token")
    assert cache.known(hash) is None
    assert cache.look_up(hash) == ACME
    del rows.rows[hash]
    clock.seconds += LEASE_S / 2 - 1
    found = cache.known(hash)
    assert found is not None
    assert (found.grant, cache.is_aging(found)) == (ACME, False)
    clock.seconds += LEASE_S / 2
    found = cache.known(hash)
    assert found is not None
    assert (found.grant, cache.is_aging(found)) == (ACME, True)
    clock.seconds += 1
    assert cache.known(hash) is None
    assert cache.look_up(hash) is None


def test_a_token_that_is_looked_up_again_after_it_was_revoked_is_none_at_once() -> None:
    rows, clock = Rows(), Clock()
    cache, hash = TokenCache(rows, max_offline_s=3_600, now=clock), rows.add("token")
    cache.look_up(hash)
    del rows.rows[hash]
    cache.look_up(hash)
    found = cache.known(hash)
    assert found is not None
    assert found.grant is None


def test_the_lease_is_counted_from_the_question_and_ends_with_the_token() -> None:
    rows, clock = Rows(), Clock()
    cache, hash = TokenCache(rows, max_offline_s=3_600, now=clock), rows.add("token", left_s=7)
    cache.look_up(hash)
    clock.seconds += 6.9
    assert cache.known(hash) is not None
    clock.seconds += 0.1
    assert cache.known(hash) is None

    def slow(hash: bytes) -> TokenRow | None:
        found = rows(hash)
        clock.seconds += 50
        return found

    cache, hash = TokenCache(slow, max_offline_s=3_600, now=clock), rows.add("other")
    cache.look_up(hash)
    clock.seconds += 9.9
    assert cache.known(hash) is not None
    clock.seconds += 0.2
    assert cache.known(hash) is None


def test_an_unknown_token_is_known_as_such_for_a_moment() -> None:
    rows, clock = Rows(), Clock()
    cache = TokenCache(rows, max_offline_s=3_600, now=clock)
    assert cache.look_up(hash_of("later")) is None
    hash = rows.add("later")
    found = cache.known(hash)
    assert found is not None
    assert found.grant is None
    clock.seconds += UNKNOWN_S
    assert cache.known(hash) is None
    assert cache.look_up(hash) == ACME


def test_texts_that_are_no_tokens_do_not_fill_the_memory_nor_drive_out_what_is_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vestig.fleet.tokens._KNOWN_MAX", 50)
    rows = Rows()
    cache, hash = TokenCache(rows, max_offline_s=3_600, now=Clock()), rows.add("token")
    cache.look_up(hash)
    for number in range(500):
        cache.look_up(hash_of(f"guess {number}"))
    found = cache.known(hash)
    assert found is not None
    assert found.grant == ACME
    known = [one for one in range(500) if cache.known(hash_of(f"guess {one}")) is not None]
    assert known == list(range(450, 500))


def test_where_postgresql_is_away_what_it_knew_reads_for_as_long_as_a_copy_does() -> None:
    rows, clock = Rows(), Clock()
    cache, hash = TokenCache(rows, max_offline_s=600, now=clock), rows.add("token")
    rows.rows[hash] = msgspec.structs.replace(rows.rows[hash], rights="admin")
    whole = cache.look_up(hash)
    assert whole is not None
    assert whole.allows("admin")
    rows.away = True
    assert cache.look_up(hash) == whole, "its lease has not ended"
    clock.seconds += LEASE_S
    assert cache.known(hash) is None, "PostgreSQL is asked first"
    left = cache.look_up(hash)
    assert left is not None
    assert (left.tenant, left.identity, left.from_memory) == ("acme", ONE, True)
    assert (left.allows("read"), left.allows("write")) == (True, False)
    with pytest.raises(StoreLockedError):
        cache.look_up(rows.add("new"))
    clock.seconds += 600 - LEASE_S
    with pytest.raises(StoreLockedError):
        cache.look_up(hash)
    rows.away = False
    assert cache.look_up(hash) == whole


def test_while_it_is_away_postgresql_is_asked_now_and_then() -> None:
    rows, clock = Rows(), Clock()
    cache, hash = TokenCache(rows, max_offline_s=3_600, now=clock), rows.add("token")
    cache.look_up(hash)
    rows.away = True
    clock.seconds += LEASE_S
    cache.look_up(hash)
    found = cache.known(hash)
    assert found is not None
    assert found.grant is not None
    assert found.grant.from_memory
    assert not cache.is_aging(found)
    clock.seconds += 10
    assert cache.known(hash) is None


def test_a_token_ends_also_while_postgresql_is_away() -> None:
    rows, clock = Rows(), Clock()
    cache, hash = TokenCache(rows, max_offline_s=3_600, now=clock), rows.add("token", left_s=300)
    cache.look_up(hash)
    rows.away = True
    clock.seconds += 299
    assert cache.look_up(hash) is not None
    clock.seconds += 1
    with pytest.raises(StoreLockedError):
        cache.look_up(hash)


def test_what_was_revoked_while_postgresql_answered_is_not_remembered_when_it_does_not() -> None:
    """No request brings the token meanwhile."""
    rows, clock = Rows(), Clock()
    cache, hash, kept = (
        TokenCache(rows, max_offline_s=3_600, now=clock),
        rows.add("token"),
        rows.add("kept"),
    )
    for one in (hash, kept):
        cache.look_up(one)
    del rows.rows[hash]
    for _ in range(round(LEASE_S / cache.period_s)):
        clock.seconds += cache.period_s
        cache.look_up_again()
    rows.away = True
    clock.seconds += 600
    with pytest.raises(StoreLockedError):
        cache.look_up(hash)
    assert cache.look_up(kept) is not None


def test_tokens_that_nobody_uses_are_not_looked_up_for_ever() -> None:
    rows, clock = Rows(), Clock()
    cache, hash = TokenCache(rows, max_offline_s=600, now=clock), rows.add("token")
    cache.look_up(hash)
    while clock.seconds < 10_000:
        clock.seconds += cache.period_s
        cache.look_up_again()
    assert 2 < len(rows.asked) <= 600 / cache.period_s + 2
    assert cache.known(hash) is None


def test_one_question_without_an_answer_is_enough_to_know_that_nobody_answers() -> None:
    rows, clock = Rows(), Clock()
    cache = TokenCache(rows, max_offline_s=3_600, now=clock)
    for number in range(20):
        cache.look_up(rows.add(str(number)))
    rows.away, rows.asked = True, []
    clock.seconds += LEASE_S
    cache.look_up_again()
    assert len(rows.asked) == 1


@pytest.mark.parametrize(
    "text", ["", "short", "x" * 42, "x" * 44, "x" * 42 + "=", "x" * 42 + "é", "x" * 42 + "\n"]
)
def test_what_has_not_the_form_of_a_token_is_none(text: str) -> None:
    assert not is_token(text)


def test_rights_hold_those_before_them() -> None:
    allowed = {
        rights: [
            needed
            for needed in ("read", "write", "admin")
            if Grant(tenant="acme", identity=ONE, rights=rights).allows(needed)
        ]
        for rights in ("read", "write", "admin")
    }
    assert allowed == {
        "read": ["read"],
        "write": ["read", "write"],
        "admin": ["read", "write", "admin"],
    }


# --- the command line --------------------------------------------------------------------------


def test_commands_add_list_and_revoke(
    server: PostgresServer, tenant: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def command(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run(["tenant", "token", *words, "--store", server.address])
        out, err = capfd.readouterr()
        return code, out, err

    code, out, _ = command("add", tenant, "--rights", "write", "--label", "ci", "--json")
    made = json.loads(out)
    assert (code, made["schema"], made["rights"]) == (0, "vestig/token/1", "write")
    assert is_token(made["token"])
    code, out, err = command("add", tenant, "--expires", "2999-12-31")
    assert code == 0
    assert out.endswith("\n")
    assert is_token(out[:-1])
    assert out[:-1] not in err
    assert "| read |" in err
    assert "ends 2999-12-31" in err
    assert "not shown again" in err
    code, out, _ = command("list", tenant, "--json")
    listed = json.loads(out)["tokens"]
    assert [one["token"] for one in listed] == [None, None]
    assert made["token"] not in out
    code, out, _ = command("list", tenant)
    assert out.count("tok_") == 2
    assert "| ci" in out
    code, out, _ = command("revoke", tenant, made["id"])
    assert (code, out) == (0, f"{made['id']} was revoked: servers refuse it within a minute\n")
    code, _, err = command("revoke", tenant, made["id"])
    assert code == 1
    assert "vestig tenant token list" in err
    code, _, err = command("add", "nobody-here")
    assert code == 1
    assert "Tenant not found: nobody-here" in err


# --- where a tenant is served ------------------------------------------------------------------

WORKERS = [f"worker-{number}:8765" for number in range(10)]
TENANTS = [f"tenant-{number}" for number in range(20_000)]


def test_a_tenant_has_one_worker_in_whatever_order_they_are_named() -> None:
    for tenant in TENANTS[:200]:
        assert worker_of(tenant, WORKERS) == worker_of(tenant, WORKERS[::-1])
        assert worker_of(tenant, WORKERS) == worker_of(tenant, dict.fromkeys(WORKERS, 3.5))
    # also in other processes and versions: a proxy and its peers agree
    found = [worker_of(tenant, ["a", "b", "c"]) for tenant in ("acme", "globex", "initech", "x")]
    assert found == ["b", "c", "b", "a"]


def test_each_worker_has_its_share() -> None:
    counts = Counter(worker_of(tenant, WORKERS) for tenant in TENANTS)
    assert set(counts) == set(WORKERS)
    # 2000 each; 5 standard deviations of a binomial are 212
    assert all(abs(count - 2_000) < 212 for count in counts.values()), counts


def test_weights_are_shares() -> None:
    counts = Counter(worker_of(tenant, {"large": 3, "small": 1}) for tenant in TENANTS)
    assert abs(counts["large"] - 15_000) < 306, counts


def test_only_tenants_of_the_worker_that_goes_move() -> None:
    before = {tenant: worker_of(tenant, WORKERS) for tenant in TENANTS[:4_000]}
    after = {tenant: worker_of(tenant, WORKERS[1:]) for tenant in before}
    moved = {tenant for tenant in before if before[tenant] != after[tenant]}
    assert moved == {tenant for tenant, worker in before.items() if worker == WORKERS[0]}
    assert len({after[tenant] for tenant in moved}) == len(WORKERS) - 1


@pytest.mark.parametrize("workers", [[], {}, {"a": 0}, {"a": -1.0}, {"a": float("nan")}])
def test_workers_that_cannot_be_chosen_from_are_refused(workers: Any) -> None:
    with pytest.raises(ValueError, match=r"^workers: expected"):
        worker_of("acme", workers)
