"""Entities, sources and edges."""

from __future__ import annotations

from typing import Final

from vestig.store.tables.table import (
    FLOAT_MAX,
    ID,
    NAMESPACE,
    ROW,
    SALT,
    SEQ,
    Check,
    Erase,
    Forgetting,
    Shape,
    Table,
    Value,
    blob,
    count,
    integer,
    json,
    real,
    share,
    text,
    vector,
    word,
)

# An edge type is stored as its code.
EDGE_TYPES: Final = ("MENTIONS", "RELATED", "SUMMARIZES", "RELATION", "PRODUCED")
EDGE_CODES: Final = {name: code for code, name in enumerate(EDGE_TYPES)}
# Id prefixes of both ends. `from_row` and `to_row` count rows of these ends' tables.
EDGE_ENDS: Final[tuple[tuple[str, str], ...]] = (
    ("mem", "ent"), ("mem", "mem"), ("mem", "mem"), ("ent", "ent"), ("source", "mem"),
)  # fmt: skip
# Kinds of the nodes of a projection by their codes: memory, summary, entity.
NODE_PREFIXES: Final = ("mem", "mem", "ent")
ENTITY_NODE: Final = 2

# Types of edges with ends of one kind.
_ONE_KIND: Final = ", ".join(str(code) for code, (a, b) in enumerate(EDGE_ENDS) if a == b)
_WORD: Final = "one of a few words of Vestig's own"
_LABEL: Final = "a label that other rows have as well"
_ENTITY: Final = integer("entity", "entities", Forgetting.REMOVED)

TABLES: Final = (
    Table(
        name="sources",
        code=3,
        says="where memories came from",
        prefix="source",
        node=True,
        record="source",
        columns=(
            SALT, ROW, ID, NAMESPACE, SEQ, word("source_type", ("file", "agentic", "legacy")),
            integer("created_us"), integer("ingested_us"),
            text("path", Erase.NAMES, null=True, value=Value.LABEL),
            text("agent", exempt=_LABEL, null=True, value=Value.LABEL),
            text("session_id", exempt=_LABEL, null=True, value=Value.LABEL),
            json("metadata", Value.OBJECT, Erase.NAMES_IN_JSON),
        ),
        indexes=(
            "CREATE UNIQUE INDEX sources_id ON sources (id)",
            "CREATE UNIQUE INDEX sources_agentic ON sources (namespace, (agent IS NULL),"
            " IFNULL(agent, ''), (session_id IS NULL), IFNULL(session_id, ''))"
            " WHERE source_type = 'agentic'",
        ),
        unique=(
            ("sources_agentic", "an agent and session that no other agentic source has"),
        ),
    ),
    # expired_seq is 0 while the edge is unexpired: the key itself keeps unexpired edges unique.
    Table(
        name="edges",
        code=4,
        says="an edge, expired or not",
        key=("from_row", "edge_type", "to_row", "relation", "expired_seq"),
        prefix="edge",
        projected=True,
        record="edge",
        columns=(
            ID, blob("salt", Erase.SALT, null=True, travels=False),
            integer("from_row", shape=Shape.END, field="from_id"),
            integer("edge_type", shape=Shape.EDGE_TYPE),
            integer("to_row", shape=Shape.END, field="to_id"),
            text("relation", Erase.NAMES, value=Value.RELATION), count("expired_seq"), SEQ,
            real("weight", 0.0, FLOAT_MAX), share("confidence"),
            text("evidence", Erase.QUOTE, null=True), text("origin", exempt=_WORD),
            integer("t_valid_us", null=True), integer("t_invalid_us", null=True),
            integer("t_created_us"), integer("t_expired_us", null=True),
        ),
        checks=(
            Check(
                "relation", f"(relation <> '') = (edge_type = {EDGE_CODES['RELATION']})",
                "the label of a RELATION in capitals, else none",
            ),
            Check("edge_type", f"edge_type BETWEEN 0 AND {len(EDGE_TYPES) - 1}", "a type of edge"),
            Check("t_invalid_us", "t_invalid_us >= t_valid_us", "a time from t_valid on"),
            Check(
                "t_expired_us", "(expired_seq > 0) = (t_expired_us IS NOT NULL)",
                "a time exactly where expired_seq is not 0",
            ),
            Check(
                "to_row", f"from_row <> to_row OR edge_type NOT IN ({_ONE_KIND})",
                "another end than from_id",
            ),
        ),
        indexes=(
            "CREATE INDEX edges_to ON edges (to_row, edge_type)",
            "CREATE INDEX edges_id ON edges (id)",
        ),
    ),
    Table(
        name="entities",
        code=8,
        says="an entity",
        prefix="ent",
        node=True,
        projected=True,
        record="entity",
        columns=(
            SALT, ROW, ID, NAMESPACE, SEQ, integer("wseq"),
            text("entity_type", exempt=_WORD, value=Value.NAME),
            text("canonical_name", Erase.NAMES, value=Value.NAME),
            text("norm_key", exempt="follows from the name"), text("description", Erase.NAMES),
            json("aliases", Value.ALIASES, Erase.NAMES_IN_JSON),
            integer("type_certain", shape=Shape.FLAG), text("origin", exempt=_WORD),
            integer("created_us"), integer("expired_us", null=True),
            integer("merged_into", "entities", Forgetting.CLEARED, null=True),
        ),
        checks=(
            Check("wseq", "wseq >= seq", "at least seq"),
        ),
        indexes=(
            "CREATE UNIQUE INDEX entities_id ON entities (id)",
            "CREATE UNIQUE INDEX entities_key ON entities (namespace, norm_key)"
            " WHERE expired_us IS NULL",
            "CREATE INDEX entities_merged ON entities (merged_into)"
            " WHERE merged_into IS NOT NULL",
        ),
        unique=(
            ("entities.norm_key", "a name that no other unexpired entity of its namespace has"),
        ),
    ),
    Table(
        name="entity_vectors",
        code=9,
        says="the embedding of an entity's name",
        key=("entity",),
        projected=True,
        record="entity_vector",
        columns=(
            SALT, _ENTITY, SEQ, text("model", exempt="names a model"),
            vector("embedding"),
        ),
    ),
    Table(
        name="entity_access",
        says="how often an entity was returned",
        key=("entity",),
        within=True,
        columns=(
            _ENTITY, count("access_count", untouched=0), integer("last_accessed_us", null=True),
        ),
    ),
)  # fmt: skip
