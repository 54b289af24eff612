"""Tenants and their changes as PostgreSQL has them: the tables, and what a worker may do there."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import msgspec

from vestig.errors import SchemaVersionError, StoreLockedError
from vestig.lazy_pattern import lazy_pattern

ID_BYTES: Final = 16
PART_BYTES: Final = 1 << 20
# While a tenant is moving, or workers are replaced by those of another version.
_MOVING_RETRY_S: Final = 5
# Of the tables; another one is refused.
VERSION: Final = 1
PARTITIONS: Final = 16
_TABLES: Final = """
CREATE SCHEMA vestig;
CREATE TABLE vestig.fleet (version integer PRIMARY KEY);
CREATE TABLE vestig.rewrites (remainder integer PRIMARY KEY, asked timestamptz NOT NULL);
CREATE TABLE vestig.tenants (
    tenant text PRIMARY KEY, identity bytea NOT NULL, position bigint NOT NULL,
    last_id bytea NOT NULL,
    ledger_schema integer NOT NULL, state text NOT NULL
        CHECK (state IN ('active', 'moving', 'arriving', 'moved')),
    moved_to text, snapshot bigint NOT NULL, snapshot_digest bytea NOT NULL,
    change_bytes bigint NOT NULL
) PARTITION BY HASH (tenant);
CREATE TABLE vestig.changes (
    tenant text NOT NULL, position bigint NOT NULL, part integer NOT NULL, id bytea NOT NULL,
    head bytea NOT NULL, digest bytea NOT NULL, patch bytea NOT NULL,
    PRIMARY KEY (tenant, position, part)
) PARTITION BY HASH (tenant);
CREATE TABLE vestig.snapshots (
    tenant text NOT NULL, position bigint NOT NULL, part integer NOT NULL, data bytea NOT NULL,
    PRIMARY KEY (tenant, position, part)
) PARTITION BY HASH (tenant);
CREATE TABLE vestig.caches (
    tenant text NOT NULL, cache bytea NOT NULL, machine text NOT NULL, position bigint NOT NULL,
    seen timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (tenant, cache)
) PARTITION BY HASH (tenant);
"""
_BY_TENANT: Final = ("tenants", "changes", "snapshots", "caches")
_TENANT: Final = lazy_pattern(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?")


def check_tenant(name: object) -> str:
    """The name of a tenant.

    Raises:
        ValueError: it is none; the message says what one is.
    """
    if isinstance(name, str) and _TENANT.fullmatch(name):
        return name
    raise ValueError(
        "1 to 63 of a to z, 0 to 9, dot, hyphen and underscore, a letter or a digit first and last"
    )


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """How far a copy has come: the number of changes, and the id of the newest."""

    position: int
    last_id: bytes


class TenantRow(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant as PostgreSQL has it.

    Attributes:
        identity: 16 random bytes, which another tenant that gets its name later does not have.
        position: the number of changes since it was created.
        last_id: of the newest change, 16 random bytes.
        schema: of its ledger.
        state: `active`; `moving`, which takes no writes; `arriving`, which is not whole here yet;
            `moved`.
        moved_to: where it is, or is to be, once it is moving; without user and password.
        snapshot: the position that the snapshot holds.
        snapshot_digest: of the bytes of the snapshot.
        change_bytes: of the changes after the snapshot.
    """

    name: str
    identity: bytes
    position: int
    last_id: bytes
    schema: int
    state: str
    snapshot: int
    snapshot_digest: bytes
    change_bytes: int
    moved_to: str | None = None

    @property
    def place(self) -> Place:
        """Where its newest change stands."""
        return Place(position=self.position, last_id=self.last_id)

    def check_readable(self, schema: int) -> None:
        """Checks that a worker of this ledger schema may read it here.

        Raises:
            StoreLockedError: it is in another database.
            SchemaVersionError: it is of another schema.
        """
        name = f"tenant {self.name}"
        if self.state == "moved":
            raise StoreLockedError(
                f"{name}: expected a tenant of this database, it has moved to {self.moved_to};"
                " open it there",
                shown=f"{name} has moved to another database: the server must be told of it",
            )
        if self.state == "arriving":
            problem = (
                f"{name}: expected all of it, it is still on its way from another database;"
                " finish its move there, or remove what is here with `vestig tenant drop`"
            )
            raise StoreLockedError(problem, shown=problem, retry_after_s=_MOVING_RETRY_S)
        self.check_schema(schema)

    def check_schema(self, schema: int) -> None:
        """Checks that its ledger is of this schema.

        Raises:
            SchemaVersionError: it is not; names both.
        """
        if self.schema != schema:
            raise SchemaVersionError(
                f"tenant {self.name}",
                found=self.schema,
                expected=schema,
                advice=self.advice(schema),
                shown=True,
            )

    def advice(self, schema: int) -> str:
        """Return what to do where this is another schema than that of its ledger."""
        use = f"use the version of vestig that writes schema version {self.schema}"
        if self.schema > schema:
            return use
        return f"{use}, or raise it with `vestig tenant migrate {self.name}`"

    def check_writable(self, schema: int) -> None:
        """Checks that a worker of this ledger schema may write it here.

        Raises:
            StoreLockedError: as `check_readable`, or it is moving.
        """
        self.check_readable(schema)
        if self.state != "active":
            problem = (
                f"tenant {self.name}: expected a tenant that takes writes, it is moving to another"
                f" database; nothing was written, try again in {_MOVING_RETRY_S} s"
            )
            raise StoreLockedError(problem, shown=problem, retry_after_s=_MOVING_RETRY_S)


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One transaction of a tenant's ledger.

    Attributes:
        position: its number, from 1.
        id: 16 random bytes.
        head: of the chain of the ledger after it.
        patch: what it changed, as SQLite's session extension writes it.
    """

    position: int
    id: bytes
    head: bytes
    patch: bytes

    def digest(self, previous: bytes) -> bytes:
        """Return 16 bytes over all of it and the id of the change before it."""
        state = blake2b(previous + self.id, digest_size=ID_BYTES, person=b"vestig-change")
        state.update(self.position.to_bytes(8, "little") + self.head + self.patch)
        return state.digest()


def tenant_row(row: Sequence[bytes | None]) -> TenantRow:
    """A tenant of an answer whose bytes come as they are."""
    name, identity, position, last, schema, state, snapshot, digest, size, moved_to = row
    return TenantRow(
        name=text_of(name), identity=identity or b"", position=int(position or 0),
        last_id=last or b"", schema=int(schema or 0), state=text_of(state),
        snapshot=int(snapshot or 0),
        snapshot_digest=digest or b"", change_bytes=int(size or 0),
        moved_to=None if moved_to is None else text_of(moved_to),
    )  # fmt: skip


def plain_tenant_row(row: Sequence[bytes | None]) -> TenantRow:
    """A tenant of an answer whose bytes are written as text."""
    name, identity, position, last, schema, state, snapshot, digest, *rest = row
    known = (name, unhex(identity), position, unhex(last), schema, state, snapshot, unhex(digest))
    return tenant_row((*known, *rest))


def text_of(raw: bytes | None) -> str:
    """The text of a value; "" for none."""
    return (raw or b"").decode()


def unhex(raw: bytes | None) -> bytes:
    """The bytes that PostgreSQL writes as text."""
    return bytes.fromhex((raw or b"").removeprefix(b"\\x").decode())


def hex_of(raw: bytes) -> str:
    """Bytes as a literal of a statement."""
    return f"'\\x{raw.hex()}'"


def make_tables() -> str:
    """The statements that make the tables, and a role for workers that owns nothing."""
    return f"{_TABLES}; {_partitions()}; {_rights()}"


def _partitions() -> str:
    return ";".join(
        f"CREATE TABLE vestig.{table}_{one} PARTITION OF vestig.{table}"
        f" FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {one})"
        for table in _BY_TENANT
        for one in range(PARTITIONS)
    )


def _rights() -> str:
    """Row-level security, and a role for workers, which may not be made by every owner."""
    seen = "tenant = ANY (string_to_array(current_setting('vestig.tenants', true), ','))"
    lines = [
        f"INSERT INTO vestig.fleet VALUES ({VERSION})",
        "DO $$ BEGIN CREATE ROLE vestig_worker NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL;"
        " END $$",
        "GRANT USAGE ON SCHEMA vestig TO vestig_worker",
        "GRANT SELECT ON vestig.fleet TO vestig_worker",
        "GRANT SELECT, INSERT, UPDATE ON vestig.rewrites TO vestig_worker",
    ]
    for table in _BY_TENANT:
        # a worker serves tenants, and neither makes nor drops them
        more = "" if table == "tenants" else ", INSERT, DELETE"
        lines += [
            f"ALTER TABLE vestig.{table} ENABLE ROW LEVEL SECURITY",
            f"CREATE POLICY one_tenant ON vestig.{table} USING ({seen}) WITH CHECK ({seen})",
            f"GRANT SELECT, UPDATE{more} ON vestig.{table} TO vestig_worker",
        ]
    return ";".join(lines)
