"""The chain, what the store as a whole remembers, and what serving needs to remember."""

from __future__ import annotations

from typing import Final

from vestig.store.tables.table import (
    ID,
    NAMESPACE,
    ROW,
    SALT,
    SEQ,
    Check,
    Shape,
    Table,
    Value,
    blob,
    count,
    integer,
    json,
    share,
    text,
    vector,
)

# No row has the number 0: it is the key of the new model's identity in `new_vectors`.
IDENTITY_KEY: Final = 0
_OF_THE_STORE: Final = "says nothing of a memory"

# Vectors of a re-embedding that is not finished; the column `memory` is the row of a memory, or a
# negative number for an entity or a question.
NEW_VECTORS: Final = Table(
    name="new_vectors",
    says="a vector of a re-embedding that is not finished",
    key=("memory",),
    made_when_needed=True,
    columns=(
        integer("memory"), blob("digest", exempt="of a vector, under a key"),
        vector("embedding"),
    ),
)  # fmt: skip
# Only in a ledger that is a copy of a tenant: one row.
UPSTREAM: Final = Table(
    name="upstream",
    says="which tenant of which database this ledger is a copy of, and how far it has come",
    key=("row",),
    made_when_needed=True,
    columns=(
        ROW, text("address", exempt=_OF_THE_STORE), text("tenant", exempt=_OF_THE_STORE),
        blob("identity", exempt="random"), integer("position"), blob("last_id", exempt="random"),
        blob("cache", exempt="random"),
    ),
)  # fmt: skip
TABLES: Final = (
    # seq is NULL until the next write transaction takes the row into the chain.
    Table(
        name="meta",
        code=6,
        says="the identity of the store and of its embedder",
        key=("name",),
        columns=(
            SALT, text("name", exempt=_OF_THE_STORE), blob("value", exempt=_OF_THE_STORE),
            integer("seq", null=True),
        ),
    ),
    # "row" is the number that the forgotten memory had, so that it is given to no other; that of a
    # removed entity stands there negative.
    Table(
        name="tombstones",
        code=7,
        says="what was forgotten: an id, no text and no hash",
        prefix="mem",
        unique_ids=False,
        record="tombstone",
        exported='"row" > 0',
        columns=(
            SALT, ROW, ID, NAMESPACE, SEQ, integer("forgotten_us"),
            text("actor", exempt=_OF_THE_STORE, null=True, value=Value.LABEL),
            json("counts", Value.EVENT_COUNT, exempt=_OF_THE_STORE),
        ),
        indexes=(
            "CREATE INDEX tombstones_id ON tombstones (id)",
            "CREATE INDEX tombstones_seq ON tombstones (seq)",
        ),
    ),
    Table(
        name="chain",
        says="a write transaction, see below",
        key=("seq",),
        columns=(
            SEQ, integer("recorded_us"), blob("written", exempt="digests"),
            blob("retired", exempt="digests", null=True), blob("touched", exempt="numbers of rows"),
            blob("counts", exempt="numbers of rows"), blob("h", exempt="a digest"),
        ),
        indexes=("CREATE INDEX chain_retired ON chain (seq) WHERE retired IS NOT NULL",),
    ),
    Table(
        name="erasures",
        says="what the files are still to be searched for after a forgetting: marks under a random"
        " key",
        key=("seq",),
        columns=(
            SEQ, blob("key", exempt="random"), blob("marks", exempt="goes when all is proved"),
        ),
    ),
    # day counts from 1970-01-01 (UTC).
    Table(
        name="model_calls",
        says="how many calls of a language model were reserved on a day (UTC)",
        key=("day",),
        record="model_calls",
        on_conflict="(day) DO UPDATE SET reserved = excluded.reserved"
        " WHERE excluded.reserved > reserved",
        columns=(integer("day", shape=Shape.DAY), count("reserved")),
    ),
    # key is a keyed hash of what the client sent. request_hash and response are NULL after a
    # forgetting erased them: the key stays taken.
    Table(
        name="idempotency_keys",
        says="the answer to a request with a key, written by the transaction of the operation"
        " itself",
        record="idempotency_key",
        columns=(
            ROW, NAMESPACE, text("key", exempt=_OF_THE_STORE, value=Value.REQUEST_KEY),
            blob("request_hash", exempt="erased with the response", null=True, shape=Shape.HEX),
            integer("status", low=100, high=599),
            text(
                "response", exempt="erased where it names or quotes a memory", null=True,
                quotes=("request_hash", "response"),
            ),
            integer("created_us"),
        ),
        checks=(
            Check(
                "response", "(request_hash IS NULL) = (response IS NULL)",
                "both with request_hash, or none",
            ),
        ),
        indexes=(
            "CREATE UNIQUE INDEX idempotency_keys_key ON idempotency_keys (namespace, key)",
            "CREATE INDEX idempotency_keys_created ON idempotency_keys (created_us)",
        ),
    ),
    Table(
        name="requests",
        says="an entry of the log of requests",
        prefix="req",
        record="request",
        columns=(
            ROW, ID, NAMESPACE, text("route", exempt=_OF_THE_STORE, value=Value.NAME),
            integer("began_us"), count("duration"), integer("status", low=100, high=599),
            json("counts", Value.COUNTS, exempt=_OF_THE_STORE), share("confidence"),
            text("reason", exempt=_OF_THE_STORE, null=True, value=Value.LABEL),
            text(
                "payload", exempt="erased where it names or quotes a memory", null=True,
                quotes=("payload",),
            ),
        ),
        indexes=("CREATE UNIQUE INDEX requests_id ON requests (id)",),
    ),
    NEW_VECTORS,
    UPSTREAM,
)  # fmt: skip


def entity_key(row: int) -> int:
    """The key of an entity: even and negative.

    Example:
        >>> entity_key(3), question_key(3)
        (-6, -7)
    """
    return -2 * row


def question_key(row: int) -> int:
    """The key of a question: odd and negative."""
    return -2 * row - 1
