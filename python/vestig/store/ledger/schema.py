"""The schema of the ledger: its tables, and which of their columns the chain covers.

A row of a chained table is digested as the MessagePack array of its columns in the order of
`COLUMNS`, under the table's name (see `chain`). Text tables start with a salt, so that nothing
about an erased text can be tested against its digest; the others carry a random id.
Times are integers, microseconds since the epoch (UTC); ids are their 16 bytes.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "APPLICATION_ID",
    "CHAINED",
    "COLUMNS",
    "CREATE_TABLES",
    "EDGE_CODES",
    "EDGE_ENDS",
    "EDGE_TYPES",
    "ENTITY_NODE",
    "INDEX",
    "INSERT",
    "NODE_PREFIXES",
    "NODE_TABLES",
    "NO_QUESTION",
    "TABLE_CODES",
    "columns_sql",
]

APPLICATION_ID: Final = 0x56535447  # "VSTG" in the file header

# Columns under the chain, in digest order. "row" is the integer by which tables refer to rows.
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "memories": (
        "salt", "row", "id", "namespace", "scope", "seq", "wseq", "kind", "content",
        "content_hash", "author", "role", "session_id", "sequence", "title", "origin_type",
        "origin_derived", "keywords", "times", "trigger", "t_valid_us", "t_invalid_us",
        "t_created_us", "t_expired_us", "temporal_stability", "last_seen_us", "reinforce_count",
        "status", "pinned", "pinned_at_us", "pinned_reason", "retention_policy",
        "retention_until_us", "superseded_by", "revives", "version", "metadata",
    ),
    "vectors": ("salt", "memory", "seq", "model", "embedding"),
    "events": (
        "salt", "row", "id", "memory", "seq", "recorded_us", "event_type", "occurred_us",
        "source", "actor", "artifact_ref", "payload",
    ),
    "sources": (
        "salt", "row", "id", "namespace", "seq", "source_type", "created_us", "ingested_us",
        "path", "agent", "session_id", "metadata",
    ),
    "edges": (
        "id", "salt", "from_row", "edge_type", "to_row", "relation", "expired_seq", "seq",
        "weight", "confidence", "evidence", "origin", "t_valid_us", "t_invalid_us",
        "t_created_us", "t_expired_us",
    ),
    "supersessions": (
        "salt", "row", "superseding", "superseded", "reason", "created_us", "seq",
    ),
    "meta": ("salt", "name", "value", "seq"),
    # "row" is the number that the forgotten memory had, so that it is given to no other; that of
    # a removed entity stands there negative.
    "tombstones": (
        "salt", "row", "id", "namespace", "seq", "forgotten_us", "actor", "counts",
    ),
    "entities": (
        "salt", "row", "id", "namespace", "seq", "wseq", "entity_type", "canonical_name",
        "norm_key", "description", "aliases", "type_certain", "origin", "created_us",
        "expired_us", "merged_into",
    ),
    "entity_vectors": ("salt", "entity", "seq", "model", "embedding"),
    # Position NO_QUESTION says that questions were tried for a memory.
    "questions": ("salt", "row", "memory", "position", "seq", "text", "model", "embedding"),
    # The text as it was given, where it differs from the normal form in `memories`.
    "original_texts": ("salt", "memory", "seq", "content", "sha256"),
    # What a memory states of whom. Entities by their rows.
    "claims": (
        "salt", "memory", "seq", "subject", "subject_entity", "fact_type", "object",
        "object_entity", "object_type", "relationship_type", "attributes", "confidence",
    ),
    # Where a claim was stated: in a source, or in a memory (`stated_in`), or neither.
    "claim_evidence": (
        "salt", "row", "memory", "seq", "position", "source", "stated_in", "stated_us", "author",
        "snippet",
    ),
    # One-bit codes of word pieces: of which model, along which axes.
    "token_codes": ("salt", "memory", "seq", "model", "axes", "ids", "codes"),
}  # fmt: skip

# In the order of their codes in the chain.
CHAINED: Final = tuple(COLUMNS)
TABLE_CODES: Final = {name: code for code, name in enumerate(CHAINED)}
INDEX: Final = {
    table: {column: at for at, column in enumerate(columns)} for table, columns in COLUMNS.items()
}


def columns_sql(table: str, alias: str = "") -> str:
    """The columns of a chained table for a SELECT, quoted, in digest order."""
    dot = f"{alias}." if alias else ""
    return ", ".join(f'{dot}"{column}"' for column in COLUMNS[table])


INSERT: Final = {
    table: f"INSERT INTO {table} ({columns_sql(table)}) VALUES ({', '.join('?' * len(columns))})"
    for table, columns in COLUMNS.items()
}

# An edge type is stored as its code.
EDGE_TYPES: Final = ("MENTIONS", "RELATED", "SUMMARIZES", "RELATION", "PRODUCED")
EDGE_CODES: Final = {name: code for code, name in enumerate(EDGE_TYPES)}
# Id prefixes of both ends. `from_row` and `to_row` count rows of these ends' tables.
EDGE_ENDS: Final[tuple[tuple[str, str], ...]] = (
    ("mem", "ent"), ("mem", "mem"), ("mem", "mem"), ("ent", "ent"), ("source", "mem"),
)  # fmt: skip

# Tables of the nodes of the graph, by id prefix.
NODE_TABLES: Final = {"mem": "memories", "source": "sources", "ent": "entities"}
NO_QUESTION: Final = -1
# Kinds of the nodes of a projection by their codes: memory, summary, entity.
NODE_PREFIXES: Final = ("mem", "mem", "ent")
ENTITY_NODE: Final = 2

# Text is unique per (namespace, scope, author) among unexpired memories. NULL and "" are two
# values, so each nullable column stands twice; an expired row is unique by its own number.
# A memory with a session is a turn: its text is unique per session and sequence as well, and no
# sequence is a position of its own. The sequence of a memory without a session counts for nothing.
_TEXT_KEY: Final = """content_hash, namespace, (scope IS NULL), IFNULL(scope, ''),
    (author IS NULL), IFNULL(author, ''), (CASE WHEN t_expired_us IS NULL THEN 0 ELSE "row" END),
    (session_id IS NULL), IFNULL(session_id, ''),
    (session_id IS NULL OR sequence IS NULL),
    (CASE WHEN session_id IS NULL THEN 0 ELSE IFNULL(sequence, 0) END)"""

CREATE_TABLES: Final = f"""
CREATE TABLE memories (
    "row" INTEGER PRIMARY KEY,
    salt BLOB NOT NULL, id BLOB NOT NULL, namespace TEXT NOT NULL, scope TEXT,
    seq INTEGER NOT NULL, wseq INTEGER NOT NULL,
    kind TEXT NOT NULL, content TEXT NOT NULL, content_hash BLOB NOT NULL,
    author TEXT, role TEXT, session_id TEXT, sequence INTEGER, title TEXT,
    origin_type TEXT NOT NULL, origin_derived INTEGER NOT NULL,
    keywords TEXT NOT NULL, times TEXT NOT NULL, "trigger" TEXT,
    t_valid_us INTEGER NOT NULL, t_invalid_us INTEGER,
    t_created_us INTEGER NOT NULL, t_expired_us INTEGER,
    temporal_stability TEXT NOT NULL,
    last_seen_us INTEGER, reinforce_count INTEGER NOT NULL,
    status TEXT NOT NULL, pinned INTEGER NOT NULL, pinned_at_us INTEGER, pinned_reason TEXT,
    retention_policy TEXT NOT NULL, retention_until_us INTEGER,
    superseded_by INTEGER REFERENCES memories, revives INTEGER REFERENCES memories,
    version INTEGER NOT NULL, metadata TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX memories_id ON memories (id);
CREATE UNIQUE INDEX memories_text ON memories ({_TEXT_KEY});
CREATE INDEX memories_superseded_by ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_revives ON memories (revives) WHERE revives IS NOT NULL;
CREATE INDEX memories_created ON memories (namespace, t_created_us);

CREATE TABLE tags (
    tag TEXT NOT NULL, memory INTEGER NOT NULL REFERENCES memories,
    PRIMARY KEY (tag, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_memory ON tags (memory);

CREATE TABLE vectors (
    memory INTEGER PRIMARY KEY REFERENCES memories,
    salt BLOB NOT NULL, seq INTEGER NOT NULL, model TEXT NOT NULL, embedding BLOB NOT NULL
) STRICT;

CREATE TABLE events (
    "row" INTEGER PRIMARY KEY,
    salt BLOB NOT NULL, id BLOB NOT NULL, memory INTEGER NOT NULL REFERENCES memories,
    seq INTEGER NOT NULL, recorded_us INTEGER NOT NULL, event_type TEXT NOT NULL,
    occurred_us INTEGER NOT NULL, source TEXT NOT NULL, actor TEXT, artifact_ref TEXT,
    payload TEXT NOT NULL
) STRICT;
CREATE INDEX events_memory ON events (memory);
CREATE INDEX events_ends ON events (recorded_us)
    WHERE event_type IN ('DEPRECATE', 'SUPERSEDE', 'UPDATE');
CREATE INDEX events_ref ON events (artifact_ref) WHERE artifact_ref IS NOT NULL;

CREATE TABLE sources (
    "row" INTEGER PRIMARY KEY,
    salt BLOB NOT NULL, id BLOB NOT NULL, namespace TEXT NOT NULL, seq INTEGER NOT NULL,
    source_type TEXT NOT NULL, created_us INTEGER NOT NULL, ingested_us INTEGER NOT NULL,
    path TEXT, agent TEXT, session_id TEXT, metadata TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX sources_id ON sources (id);
CREATE UNIQUE INDEX sources_agentic ON sources (
    namespace, (agent IS NULL), IFNULL(agent, ''), (session_id IS NULL), IFNULL(session_id, '')
) WHERE source_type = 'agentic';

-- expired_seq is 0 while the edge is unexpired: the key itself keeps unexpired edges unique.
CREATE TABLE edges (
    from_row INTEGER NOT NULL, edge_type INTEGER NOT NULL, to_row INTEGER NOT NULL,
    relation TEXT NOT NULL, expired_seq INTEGER NOT NULL,
    id BLOB NOT NULL, salt BLOB, seq INTEGER NOT NULL, weight REAL NOT NULL, confidence REAL,
    evidence TEXT, origin TEXT NOT NULL, t_valid_us INTEGER, t_invalid_us INTEGER,
    t_created_us INTEGER NOT NULL, t_expired_us INTEGER,
    PRIMARY KEY (from_row, edge_type, to_row, relation, expired_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX edges_to ON edges (to_row, edge_type);
CREATE INDEX edges_id ON edges (id);

CREATE TABLE supersessions (
    "row" INTEGER PRIMARY KEY,
    salt BLOB NOT NULL, superseding INTEGER NOT NULL REFERENCES memories,
    superseded INTEGER NOT NULL REFERENCES memories, reason TEXT NOT NULL,
    created_us INTEGER NOT NULL, seq INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX supersessions_pair ON supersessions (superseded, superseding);
CREATE INDEX supersessions_new ON supersessions (superseding);

-- seq is NULL until the next write transaction takes the row into the chain.
CREATE TABLE meta (
    name TEXT PRIMARY KEY, salt BLOB NOT NULL, value BLOB NOT NULL, seq INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
    "row" INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE, memory INTEGER NOT NULL REFERENCES memories, kind TEXT NOT NULL,
    state TEXT NOT NULL, attempts INTEGER NOT NULL, next_attempt_us INTEGER,
    lease_until_us INTEGER, last_error TEXT, created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL, batch_id TEXT
) STRICT;
CREATE INDEX jobs_memory ON jobs (memory);
CREATE INDEX jobs_open ON jobs (state, "row")
    WHERE state IN ('pending', 'running', 'submitted', 'failed');

CREATE TABLE access (
    memory INTEGER PRIMARY KEY REFERENCES memories,
    access_count INTEGER NOT NULL, last_accessed_us INTEGER, processing TEXT NOT NULL
) STRICT;

-- Forgotten memories: nothing of their texts, and no hash of one.
CREATE TABLE tombstones (
    "row" INTEGER PRIMARY KEY,
    salt BLOB NOT NULL, id BLOB NOT NULL, namespace TEXT NOT NULL, seq INTEGER NOT NULL,
    forgotten_us INTEGER NOT NULL, actor TEXT, counts TEXT NOT NULL
) STRICT;
CREATE INDEX tombstones_id ON tombstones (id);
CREATE INDEX tombstones_seq ON tombstones (seq);

-- What the files are still to be searched for after a forgetting; empty when all are proved.
CREATE TABLE erasures (
    seq INTEGER PRIMARY KEY, key BLOB NOT NULL, marks BLOB NOT NULL
) STRICT;

CREATE TABLE chain (
    seq INTEGER PRIMARY KEY, recorded_us INTEGER NOT NULL, written BLOB NOT NULL, retired BLOB,
    touched BLOB NOT NULL, counts BLOB NOT NULL, h BLOB NOT NULL
) STRICT;
CREATE INDEX chain_retired ON chain (seq) WHERE retired IS NOT NULL;

CREATE TABLE entities (
    "row" INTEGER PRIMARY KEY,
    salt BLOB NOT NULL, id BLOB NOT NULL, namespace TEXT NOT NULL,
    seq INTEGER NOT NULL, wseq INTEGER NOT NULL, entity_type TEXT NOT NULL,
    canonical_name TEXT NOT NULL, norm_key TEXT NOT NULL, description TEXT NOT NULL,
    aliases TEXT NOT NULL, type_certain INTEGER NOT NULL, origin TEXT NOT NULL,
    created_us INTEGER NOT NULL, expired_us INTEGER, merged_into INTEGER REFERENCES entities
) STRICT;
CREATE UNIQUE INDEX entities_id ON entities (id);
CREATE UNIQUE INDEX entities_key ON entities (namespace, norm_key) WHERE expired_us IS NULL;
CREATE INDEX entities_merged ON entities (merged_into) WHERE merged_into IS NOT NULL;

CREATE TABLE entity_vectors (
    entity INTEGER PRIMARY KEY REFERENCES entities,
    salt BLOB NOT NULL, seq INTEGER NOT NULL, model TEXT NOT NULL, embedding BLOB NOT NULL
) STRICT;

CREATE TABLE entity_access (
    entity INTEGER PRIMARY KEY REFERENCES entities,
    access_count INTEGER NOT NULL, last_accessed_us INTEGER
) STRICT;

CREATE TABLE questions (
    "row" INTEGER PRIMARY KEY,
    salt BLOB NOT NULL, memory INTEGER NOT NULL REFERENCES memories, position INTEGER NOT NULL,
    seq INTEGER NOT NULL, text TEXT NOT NULL, model TEXT NOT NULL, embedding BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX questions_of ON questions (memory, position);

CREATE TABLE original_texts (
    memory INTEGER PRIMARY KEY REFERENCES memories,
    salt BLOB NOT NULL, seq INTEGER NOT NULL, content TEXT NOT NULL, sha256 BLOB NOT NULL
) STRICT;

CREATE TABLE claims (
    memory INTEGER PRIMARY KEY REFERENCES memories,
    salt BLOB NOT NULL, seq INTEGER NOT NULL,
    subject TEXT NOT NULL, subject_entity INTEGER REFERENCES entities,
    fact_type TEXT NOT NULL,
    object TEXT, object_entity INTEGER REFERENCES entities, object_type TEXT,
    relationship_type TEXT, attributes TEXT NOT NULL, confidence REAL
) STRICT;
CREATE INDEX claims_subject ON claims (subject_entity) WHERE subject_entity IS NOT NULL;
CREATE INDEX claims_object ON claims (object_entity) WHERE object_entity IS NOT NULL;

CREATE TABLE claim_evidence (
    "row" INTEGER PRIMARY KEY,
    salt BLOB NOT NULL, memory INTEGER NOT NULL REFERENCES claims, seq INTEGER NOT NULL,
    position INTEGER NOT NULL, source INTEGER REFERENCES sources,
    stated_in INTEGER REFERENCES memories, stated_us INTEGER, author TEXT, snippet TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX claim_evidence_of ON claim_evidence (memory, position);
CREATE INDEX claim_evidence_source ON claim_evidence (source) WHERE source IS NOT NULL;
CREATE INDEX claim_evidence_stated ON claim_evidence (stated_in) WHERE stated_in IS NOT NULL;

-- day counts from 1970-01-01 (UTC).
CREATE TABLE model_calls (
    day INTEGER PRIMARY KEY, reserved INTEGER NOT NULL
) STRICT;

-- request_hash and response are NULL after a forgetting erased them: the key stays taken.
CREATE TABLE idempotency_keys (
    "row" INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL, key TEXT NOT NULL, request_hash BLOB, status INTEGER NOT NULL,
    response TEXT, created_us INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX idempotency_keys_key ON idempotency_keys (namespace, key);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_us);

CREATE TABLE requests (
    "row" INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE, namespace TEXT NOT NULL, route TEXT NOT NULL,
    began_us INTEGER NOT NULL, duration INTEGER NOT NULL, status INTEGER NOT NULL,
    counts TEXT NOT NULL, confidence REAL, reason TEXT, payload TEXT
) STRICT;

CREATE TABLE token_codes (
    memory INTEGER PRIMARY KEY REFERENCES memories,
    salt BLOB NOT NULL, seq INTEGER NOT NULL, model TEXT NOT NULL, axes BLOB NOT NULL,
    ids BLOB NOT NULL, codes BLOB NOT NULL
) STRICT;
"""
