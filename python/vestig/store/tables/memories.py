"""Memories, and what belongs to one of them."""

from __future__ import annotations

from typing import Final

from vestig.store.tables.table import (
    ID,
    NAMESPACE,
    ROW,
    SALT,
    SEQ,
    Check,
    Column,
    Erase,
    Forgetting,
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
    word,
)
from vestig.types import (
    EventType,
    JobState,
    Kind,
    OriginType,
    RetentionPolicy,
    Role,
    Stability,
    Status,
    Trigger,
)

# A lease does not travel.
_WITHOUT_LEASE: Final = "CASE state WHEN 'running' THEN 'pending' ELSE state END"
NO_QUESTION: Final = -1
_WORD: Final = "one of a few words of Vestig's own"
_LABEL: Final = "a label that other rows have as well"
# What belongs to one memory and goes with it.
MEMORY: Final = integer("memory", "memories", Forgetting.REMOVED)
_MODEL: Final = text("model", exempt="names a model")

# Text is unique per (namespace, scope, author) among unexpired memories without a key. NULL and ""
# are two values, so each nullable column stands twice; a row that is expired or has a key is unique
# by its own number.
# A text with a marker of a secret is unique by its own number too: before it was masked it may have
# been another one.
# A memory with a session is a turn: its text is unique per session and sequence as well, and no
# sequence is a position of its own. The sequence of a memory without a session counts for nothing.
_TEXT_KEY: Final = """content_hash, namespace, (scope IS NULL), IFNULL(scope, ''),
    (author IS NULL), IFNULL(author, ''),
    (CASE WHEN t_expired_us IS NULL AND "key" IS NULL AND instr(content, '[secret:') = 0
    THEN 0 ELSE "row" END),
    (session_id IS NULL), IFNULL(session_id, ''),
    (session_id IS NULL OR sequence IS NULL),
    (CASE WHEN session_id IS NULL THEN 0 ELSE IFNULL(sequence, 0) END)"""


def _other(name: str) -> Column:
    """A reference to another memory, which may be forgotten alone."""
    return integer(name, "memories", Forgetting.CLEARED, null=True)


def _named(name: str, field: str) -> Column:
    """An entity that a claim names."""
    return integer(name, "entities", Forgetting.CLEARED, null=True, field=field)


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
            SALT, ROW, ID, NAMESPACE, text("scope", exempt=_LABEL, null=True, value=Value.SCOPE),
            SEQ, integer("wseq"), word("kind", Kind), text("content", Erase.TEXT, value=Value.TEXT),
            blob("content_hash", Erase.DIGEST, shape=Shape.HEX),
            text("author", exempt=_LABEL, null=True, value=Value.LABEL),
            word("role", Role, null=True), integer("confirmed", shape=Shape.FLAG),
            text("session_id", exempt=_LABEL, null=True, value=Value.LABEL),
            integer("sequence", null=True, value=Value.SEQUENCE),
            text("title", Erase.NAMES, null=True, value=Value.LABEL),
            word("origin_type", OriginType), integer("origin_derived", shape=Shape.FLAG),
            json("keywords", Value.WORDS, exempt="words of `content`, each too short"),
            json("times", Value.WINDOWS, exempt="words of `content`, each too short"),
            word("trigger", Trigger, null=True), integer("t_valid_us"),
            integer("t_invalid_us", null=True), integer("t_created_us"),
            integer("t_expired_us", null=True), word("temporal_stability", Stability),
            integer("last_seen_us", null=True), count("reinforce_count"), word("status", Status),
            integer("pinned", shape=Shape.FLAG), integer("pinned_at_us", null=True),
            text("pinned_reason", Erase.NAMES, null=True, value=Value.REASON),
            word("retention_policy", RetentionPolicy), integer("retention_until_us", null=True),
            _other("superseded_by"), _other("revives"), count("version"),
            json("metadata", Value.METADATA, Erase.NAMES_IN_JSON),
            text("key", Erase.NAMES, null=True, value=Value.KEY),
        ),
        checks=(
            Check("wseq", "wseq >= seq", "at least seq"),
            Check("t_invalid_us", "t_invalid_us >= t_valid_us", "a time from t_valid on"),
            Check(
                "t_expired_us",
                "(t_expired_us IS NULL) = (status NOT IN ('superseded', 'deprecated'))",
                "a time exactly where the status is superseded or deprecated",
            ),
            Check(
                "confirmed", "confirmed = 1 OR IFNULL(role, '') IN ('assistant', 'tool')",
                "true where the role is neither assistant nor tool",
            ),
            Check(
                "status", "superseded_by IS NULL OR status = 'superseded'",
                "superseded, as superseded_by says",
            ),
        ),
        indexes=(
            "CREATE UNIQUE INDEX memories_id ON memories (id)",
            'CREATE INDEX memories_key ON memories ("key", namespace, scope, t_expired_us)'
            ' WHERE "key" IS NOT NULL',
            f"CREATE UNIQUE INDEX memories_text ON memories ({_TEXT_KEY})",
            "CREATE INDEX memories_superseded_by ON memories (superseded_by)"
            " WHERE superseded_by IS NOT NULL",
            "CREATE INDEX memories_revives ON memories (revives) WHERE revives IS NOT NULL",
            "CREATE INDEX memories_unconfirmed ON memories (id) WHERE confirmed = 0",
            "CREATE INDEX memories_created ON memories (namespace, t_created_us)",
            "CREATE INDEX memories_scope ON memories (namespace, scope) WHERE scope IS NOT NULL",
        ),
        unique=(
            (
                "memories_text",
                "a text that no other unexpired memory of its namespace, scope and author holds",
            ),
        ),
        lone=(
            (
                '"key", namespace, scope', '"key" IS NOT NULL AND t_expired_us IS NULL',
                "a key that no other unexpired memory of its namespace and scope has",
            ),
        ),
    ),
    Table(
        name="vectors",
        code=1,
        says="the embedding of a memory",
        key=("memory",),
        projected=True,
        record="vector",
        columns=(SALT, MEMORY, SEQ, _MODEL, vector("embedding")),
    ),
    Table(
        name="events",
        code=2,
        says="an entry of the event log",
        prefix="evt",
        projected=True,
        record="event",
        columns=(
            SALT, ROW, ID, MEMORY, SEQ, integer("recorded_us"), word("event_type", EventType),
            integer("occurred_us"), text("source", exempt=_LABEL, value=Value.SOURCE),
            text("actor", exempt=_LABEL, null=True, value=Value.LABEL),
            text("artifact_ref", exempt=_LABEL, null=True, value=Value.LABEL),
            json("payload", Value.OBJECT, Erase.TEXTS_OF_EVENT),
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
        owner="superseded",
        columns=(
            SALT, ROW, integer("superseding", "memories", Forgetting.REMOVED),
            integer("superseded", "memories", Forgetting.REMOVED),
            text("reason", Erase.NAMES, value=Value.REASON), integer("created_us"), SEQ,
        ),
        checks=(Check("superseding", "superseding <> superseded", "another memory"),),
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
            SALT, ROW, MEMORY, integer("position"), SEQ,
            text("text", Erase.TEXT, value=Value.QUESTION), _MODEL, vector("embedding"),
        ),
        checks=(
            Check(
                "position",
                "position >= 0 AND text <> '' AND embedding <> x''"
                f" OR position = {NO_QUESTION} AND text = '' AND model = '' AND embedding = x''",
                f"a place from 0 for a question, or {NO_QUESTION} without one",
            ),
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
        follows='SELECT DISTINCT t.value, m."row" FROM memories m, json_each(CASE'
        " WHEN json_valid(m.metadata) THEN m.metadata ELSE '{}' END, '$.tags') t",
        columns=(text("tag", exempt=_LABEL), MEMORY),
        indexes=("CREATE INDEX tags_memory ON tags (memory)",),
    ),
    Table(
        name="access",
        says="how often a memory was returned, and the state of its enrichment",
        key=("memory",),
        within=True,
        columns=(
            MEMORY, count("access_count", untouched=0), integer("last_accessed_us", null=True),
            word("processing", ("pending", "ready", "failed"), untouched="ready"),
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
            ROW, ID, MEMORY, text("kind", exempt=_WORD, value=Value.NAME),
            word("state", JobState, exported=_WITHOUT_LEASE),
            count("attempts"), integer("next_attempt_us", null=True),
            integer("lease_until_us", null=True, travels=False),
            text("last_error", exempt="names no text of a memory", null=True),
            integer("created_us"), integer("updated_us"),
            text("batch_id", exempt="names a batch", null=True, value=Value.SHORT_NAME),
        ),
        checks=(
            Check(
                "state",
                "(lease_until_us IS NOT NULL) = (state = 'running')",
                "running exactly where there is a lease, which no export holds",
            ),
            Check(
                "batch_id", "(batch_id IS NOT NULL) = (state = 'submitted')",
                "a batch exactly where the state is submitted",
            ),
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
        lives_by="claim_evidence",
        record="claim",
        columns=(
            SALT, integer("memory", "memories", Forgetting.REMOVED), SEQ,
            text("subject", Erase.NAMES, value=Value.NAME),
            _named("subject_entity", "subject_id"),
            text("fact_type", exempt=_WORD, value=Value.NAME),
            text("object", Erase.NAMES, null=True, value=Value.NAME),
            _named("object_entity", "object_id"),
            text("object_type", exempt=_WORD, null=True, value=Value.NAME),
            text("relationship_type", exempt=_WORD, null=True, value=Value.NAME),
            json("attributes", Value.SHALLOW_OBJECT, Erase.NAMES_IN_JSON), share("confidence"),
        ),
        indexes=(
            "CREATE INDEX claims_subject ON claims (subject_entity)"
            " WHERE subject_entity IS NOT NULL",
            "CREATE INDEX claims_object ON claims (object_entity) WHERE object_entity IS NOT NULL",
            "CREATE INDEX claims_fact_type ON claims (fact_type)",
        ),
    ),
    Table(
        name="claim_evidence",
        code=13,
        says="one place where a claim was stated: a source or a memory, a time, an author, a"
        " snippet",
        record="evidence",
        columns=(
            SALT, ROW, integer("memory", "claims", Forgetting.REMOVED), SEQ, count("position"),
            integer("source", "sources", Forgetting.REMOVED, null=True, field="source_id"),
            integer("stated_in", "memories", Forgetting.REMOVED, null=True, field="source_id"),
            integer("stated_us", null=True),
            text("author", exempt=_LABEL, null=True, value=Value.LABEL),
            text("snippet", Erase.NAMES, value=Value.SNIPPET, quoted="stated_in"),
        ),
        checks=(
            Check(
                "snippet", "source IS NOT NULL OR stated_in IS NOT NULL OR snippet <> ''",
                "a snippet where there is no source_id",
            ),
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
