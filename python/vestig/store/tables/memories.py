"""Memories, and what belongs to one of them."""

from __future__ import annotations

from typing import Final

from vestig.store.tables.table import (
    ID,
    NAMESPACE,
    ROW,
    SALT,
    SEQ,
    Column,
    Erase,
    Forgetting,
    Shape,
    Table,
    blob,
    integer,
    real,
    text,
)

NO_QUESTION: Final = -1
_WORD: Final = "one of a few words of Vestig's own"
_LABEL: Final = "a label that other rows have as well"
# What belongs to one memory and goes with it.
MEMORY: Final = integer("memory", "memories", Forgetting.REMOVED)
_MODEL: Final = text("model", exempt="names a model")

# Text is unique per (namespace, scope, author) among unexpired memories. NULL and "" are two
# values, so each nullable column stands twice; an expired row is unique by its own number.
# A memory with a session is a turn: its text is unique per session and sequence as well, and no
# sequence is a position of its own. The sequence of a memory without a session counts for nothing.
_TEXT_KEY: Final = """content_hash, namespace, (scope IS NULL), IFNULL(scope, ''),
    (author IS NULL), IFNULL(author, ''), (CASE WHEN t_expired_us IS NULL THEN 0 ELSE "row" END),
    (session_id IS NULL), IFNULL(session_id, ''),
    (session_id IS NULL OR sequence IS NULL),
    (CASE WHEN session_id IS NULL THEN 0 ELSE IFNULL(sequence, 0) END)"""


def _other(name: str) -> Column:
    """A reference to another memory, which may be forgotten alone."""
    return integer(name, "memories", Forgetting.CLEARED, null=True)


TABLES: Final = (
    Table(
        name="memories",
        code=0,
        says="a memory; `content` is the normal form of its text, `content_hash` the SHA-256 of"
        " that",
        prefix="mem",
        node=True,
        projected=True,
        record="memory",
        columns=(
            SALT, ROW, ID, NAMESPACE, text("scope", exempt=_LABEL, null=True), SEQ,
            integer("wseq"), text("kind", exempt=_WORD), text("content", Erase.TEXT),
            blob("content_hash", Erase.DIGEST, shape=Shape.HEX),
            text("author", exempt=_LABEL, null=True), text("role", exempt=_WORD, null=True),
            text("session_id", exempt=_LABEL, null=True),
            integer("sequence", null=True), text("title", Erase.NAMES, null=True),
            text("origin_type", exempt=_WORD), integer("origin_derived", shape=Shape.FLAG),
            text("keywords", exempt="words of `content`, each too short", shape=Shape.JSON),
            text("times", exempt="words of `content`, each too short", shape=Shape.JSON),
            text("trigger", exempt=_WORD, null=True), integer("t_valid_us"),
            integer("t_invalid_us", null=True), integer("t_created_us"),
            integer("t_expired_us", null=True), text("temporal_stability", exempt=_WORD),
            integer("last_seen_us", null=True), integer("reinforce_count"),
            text("status", exempt=_WORD), integer("pinned", shape=Shape.FLAG),
            integer("pinned_at_us", null=True), text("pinned_reason", Erase.NAMES, null=True),
            text("retention_policy", exempt=_WORD), integer("retention_until_us", null=True),
            _other("superseded_by"), _other("revives"), integer("version"),
            text("metadata", Erase.NAMES_IN_JSON, shape=Shape.JSON),
        ),
        indexes=(
            "CREATE UNIQUE INDEX memories_id ON memories (id)",
            f"CREATE UNIQUE INDEX memories_text ON memories ({_TEXT_KEY})",
            "CREATE INDEX memories_superseded_by ON memories (superseded_by)"
            " WHERE superseded_by IS NOT NULL",
            "CREATE INDEX memories_revives ON memories (revives) WHERE revives IS NOT NULL",
            "CREATE INDEX memories_created ON memories (namespace, t_created_us)",
        ),
    ),
    Table(
        name="vectors",
        code=1,
        says="the embedding of a memory",
        key=("memory",),
        projected=True,
        record="vector",
        columns=(SALT, MEMORY, SEQ, _MODEL, blob("embedding", Erase.VECTOR)),
    ),
    Table(
        name="events",
        code=2,
        says="an entry of the event log",
        prefix="evt",
        projected=True,
        record="event",
        columns=(
            SALT, ROW, ID, MEMORY, SEQ, integer("recorded_us"), text("event_type", exempt=_WORD),
            integer("occurred_us"), text("source", exempt=_LABEL),
            text("actor", exempt=_LABEL, null=True),
            text("artifact_ref", exempt=_LABEL, null=True),
            text("payload", Erase.TEXTS_OF_EVENT, shape=Shape.JSON),
        ),
        indexes=(
            "CREATE INDEX events_memory ON events (memory)",
            "CREATE INDEX events_ends ON events (recorded_us)"
            " WHERE event_type IN ('DEPRECATE', 'SUPERSEDE', 'UPDATE')",
            "CREATE INDEX events_ref ON events (artifact_ref) WHERE artifact_ref IS NOT NULL",
        ),
    ),
    Table(
        name="supersessions",
        code=5,
        says="which memory replaced which",
        record="supersession",
        columns=(
            SALT, ROW, integer("superseding", "memories", Forgetting.REMOVED),
            integer("superseded", "memories", Forgetting.REMOVED), text("reason", Erase.NAMES),
            integer("created_us"), SEQ,
        ),
        indexes=(
            "CREATE UNIQUE INDEX supersessions_pair ON supersessions (superseded, superseding)",
            "CREATE INDEX supersessions_new ON supersessions (superseding)",
        ),
    ),
    Table(
        name="questions",
        code=10,
        says="a hypothetical question of a memory; position -1, without a text: they were tried",
        projected=True,
        record="question",
        columns=(
            SALT, ROW, MEMORY, integer("position"), SEQ, text("text", Erase.TEXT), _MODEL,
            blob("embedding", Erase.VECTOR),
        ),
        indexes=("CREATE UNIQUE INDEX questions_of ON questions (memory, position)",),
    ),
    Table(
        name="original_texts",
        code=11,
        says="the text of a memory as it was given, with its SHA-256; only where it differs from"
        " the normal form",
        key=("memory",),
        projected=True,
        columns=(
            SALT, MEMORY, SEQ, text("content", Erase.TEXT), blob("sha256", Erase.DIGEST),
        ),
    ),
    Table(
        name="token_codes",
        code=14,
        says="one-bit codes of the word pieces of a memory: their numbers (4 bytes each), codes"
        " (34 bytes each), the model, and `axes`, the SHA-256 of the mean and of the axes that they"
        " were made with. Codes along other axes are not compared: `vestig doctor` names them,"
        " `vestig rebuild --tokens` makes them again",
        key=("memory",),
        projected=True,
        record="token_codes",
        columns=(
            SALT, MEMORY, SEQ, _MODEL, blob("axes", exempt="names the axes"),
            blob("ids", Erase.PIECES), blob("codes", Erase.CODES),
        ),
    ),
    Table(
        name="tags",
        says="a tag of a memory; it follows from the metadata",
        key=("tag", "memory"),
        columns=(text("tag", exempt=_LABEL), MEMORY),
        indexes=("CREATE INDEX tags_memory ON tags (memory)",),
    ),
    Table(
        name="access",
        says="how often a memory was returned, and the state of its enrichment",
        key=("memory",),
        columns=(
            MEMORY, integer("access_count"), integer("last_accessed_us", null=True),
            text("processing", exempt=_WORD),
        ),
    ),
    Table(
        name="jobs",
        says="work on a memory: `pending`, `running` under a lease, `submitted` to a batch, `done`"
        " or `failed`; `batch_id` is the batch, or the marker of a submission whose batch is not"
        " known yet",
        prefix="job",
        record="job",
        columns=(
            ROW, ID, MEMORY, text("kind", exempt=_WORD), text("state", exempt=_WORD),
            integer("attempts"), integer("next_attempt_us", null=True),
            integer("lease_until_us", null=True),
            text("last_error", exempt="names no text of a memory", null=True),
            integer("created_us"), integer("updated_us"),
            text("batch_id", exempt="names a batch", null=True),
        ),
        indexes=(
            "CREATE UNIQUE INDEX jobs_id ON jobs (id)",
            "CREATE INDEX jobs_memory ON jobs (memory)",
            'CREATE INDEX jobs_open ON jobs (state, "row")'
            " WHERE state IN ('pending', 'running', 'submitted', 'failed')",
        ),
    ),
    Table(
        name="claims",
        code=12,
        says="what a memory states of a subject, at most one for each memory",
        key=("memory",),
        record="claim",
        columns=(
            SALT, integer("memory", "memories", Forgetting.SEPARATE), SEQ,
            text("subject", Erase.NAMES),
            integer("subject_entity", "entities", Forgetting.CLEARED, null=True),
            text("fact_type", exempt=_WORD), text("object", Erase.NAMES, null=True),
            integer("object_entity", "entities", Forgetting.CLEARED, null=True),
            text("object_type", exempt=_WORD, null=True),
            text("relationship_type", exempt=_WORD, null=True),
            text("attributes", Erase.NAMES_IN_JSON, shape=Shape.JSON),
            real("confidence", null=True),
        ),
        indexes=(
            "CREATE INDEX claims_subject ON claims (subject_entity)"
            " WHERE subject_entity IS NOT NULL",
            "CREATE INDEX claims_object ON claims (object_entity) WHERE object_entity IS NOT NULL",
        ),
    ),
    Table(
        name="claim_evidence",
        code=13,
        says="one place where a claim was stated: a source or a memory, a time, an author, a"
        " snippet",
        record="evidence",
        columns=(
            SALT, ROW, integer("memory", "claims", Forgetting.SEPARATE), SEQ, integer("position"),
            integer("source", "sources", Forgetting.SEPARATE, null=True),
            integer("stated_in", "memories", Forgetting.SEPARATE, null=True),
            integer("stated_us", null=True), text("author", exempt=_LABEL, null=True),
            text("snippet", Erase.NAMES),
        ),
        indexes=(
            "CREATE UNIQUE INDEX claim_evidence_of ON claim_evidence (memory, position)",
            "CREATE INDEX claim_evidence_source ON claim_evidence (source)"
            " WHERE source IS NOT NULL",
            "CREATE INDEX claim_evidence_stated ON claim_evidence (stated_in)"
            " WHERE stated_in IS NOT NULL",
        ),
    ),
)  # fmt: skip
