"""Hashes of tokens in PostgreSQL, each bound to a tenant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from vestig.store.replication.postgres import Database

# A worker finds a token by its hash, and makes none: it could let itself at any tenant.
TOKEN_TABLE: Final = """
CREATE TABLE vestig.tokens (
    hash bytea PRIMARY KEY, tenant text NOT NULL REFERENCES vestig.tenants ON DELETE CASCADE,
    identity bytea NOT NULL,
    rights text NOT NULL CHECK (rights IN ('read', 'write', 'admin')), label text NOT NULL,
    created timestamptz NOT NULL DEFAULT now(), expires timestamptz
);
CREATE INDEX ON vestig.tokens (tenant);
ALTER TABLE vestig.tokens ENABLE ROW LEVEL SECURITY;
CREATE POLICY presented ON vestig.tokens FOR SELECT USING (
    encode(hash, 'hex') = current_setting('vestig.token', true)
    OR tenant = ANY (string_to_array(current_setting('vestig.tenants', true), ','))
);
GRANT SELECT ON vestig.tokens TO vestig_worker
"""
_COLUMNS: Final = (
    "encode(hash, 'hex'), tenant, encode(identity, 'hex'), rights, label,"
    " (extract(epoch FROM created) * 1000000)::bigint::text,"
    " (extract(epoch FROM expires) * 1000000)::bigint::text,"
    " extract(epoch FROM expires - clock_timestamp())::float8::text"
)


class TokenRow(msgspec.Struct, frozen=True, kw_only=True):
    """A token of a tenant as PostgreSQL has it.

    Attributes:
        hash: SHA-256 of the token, which stands nowhere.
        identity: of the tenant: another one that gets its name later is not meant.
        rights: `read`, `write` or `admin`; each has those before it.
        created_us: when it was made, in µs since the epoch, by PostgreSQL's clock.
        expires_us: when it ends; None: never.
        left_s: seconds until then.
    """

    hash: bytes
    tenant: str
    identity: bytes
    rights: str
    label: str
    created_us: int
    expires_us: int | None
    left_s: float | None


def add(
    database: Database, tenant: str, hash: bytes, *, rights: str, label: str, expires_us: int | None
) -> TokenRow:
    """A new token of a tenant, for a user who owns the tables.

    Raises:
        NotFoundError: there is no such tenant.
        StoreLockedError: PostgreSQL does not answer, or this user may not make tokens.
    """
    identity = database.find(tenant).identity
    with database.session(tenant) as (conn, deadline):
        rows = conn.run_with(
            "INSERT INTO vestig.tokens (hash, tenant, identity, rights, label, expires)"
            " VALUES ($1, $2, $3, $4, $5, to_timestamp($6::bigint / 1000000.0))"
            f" RETURNING {_COLUMNS}",
            (hash, tenant, identity, rights, label, expires_us),
            deadline,
        ).rows
        conn.run("COMMIT", deadline)
        return _row(rows[0])


def find(database: Database, hash: bytes) -> TokenRow | None:
    """The token of a hash, whose tenant is known by it alone; None where there is none, or it has
    ended.

    Raises:
        StoreLockedError: PostgreSQL does not answer.
    """
    with database.session("") as (conn, deadline):
        answers = conn.run(
            f"SET LOCAL vestig.token = '{hash.hex()}'; SELECT {_COLUMNS} FROM vestig.tokens"
            f" WHERE hash = '\\x{hash.hex()}' AND (expires IS NULL OR expires > clock_timestamp());"
            " COMMIT",
            deadline,
        )
        rows = answers[1].rows
        return _row(rows[0]) if rows else None


def of_tenant(database: Database, tenant: str) -> list[TokenRow]:
    """The tokens of a tenant, the oldest first.

    Raises:
        NotFoundError: there is no such tenant.
        StoreLockedError: PostgreSQL does not answer.
    """
    database.find(tenant)
    with database.session(tenant) as (conn, deadline):
        sql = f"SELECT {_COLUMNS} FROM vestig.tokens WHERE tenant = $1 ORDER BY created, hash"
        return [_row(row) for row in conn.run_with(sql, (tenant,), deadline).rows]


def drop(database: Database, tenant: str, hash: bytes) -> bool:
    """Removes a token, for a user who owns the tables; False where it is gone.

    Raises:
        StoreLockedError: PostgreSQL does not answer, or this user may not remove tokens.
    """
    with database.session(tenant) as (conn, deadline):
        sql = "DELETE FROM vestig.tokens WHERE tenant = $1 AND hash = $2"
        removed = conn.run_with(sql, (tenant, hash), deadline).affected
        conn.run("COMMIT", deadline)
        return removed > 0


def _row(row: Sequence[bytes | None]) -> TokenRow:
    hash, tenant, identity, rights, label, created, expires, left = (
        None if value is None else value.decode() for value in row
    )
    return TokenRow(
        hash=bytes.fromhex(hash or ""), tenant=tenant or "",
        identity=bytes.fromhex(identity or ""), rights=rights or "",
        label=label or "", created_us=int(created or 0),
        expires_us=None if expires is None else int(expires),
        left_s=None if left is None else float(left),
    )  # fmt: skip
