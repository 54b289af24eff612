"""Entities, sources and edges."""

from __future__ import annotations

from typing import Final

from vestig.store.tables.table import (
    ID,
    NAMESPACE,
    ROW,
    SALT,
    SEQ,
    Erase,
    Forgetting,
    Shape,
    Table,
    blob,
    integer,
    real,
    text,
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
            SALT, ROW, ID, NAMESPACE, SEQ, text("source_type", exempt=_WORD),
            integer("created_us"), integer("ingested_us"), text("path", Erase.NAMES, null=True),
            text("agent", exempt=_LABEL, null=True), text("session_id", exempt=_LABEL, null=True),
            text("metadata", Erase.NAMES_IN_JSON, shape=Shape.JSON),
        ),
        indexes=(
            "CREATE UNIQUE INDEX sources_id ON sources (id)",
            "CREATE UNIQUE INDEX sources_agentic ON sources (namespace, (agent IS NULL),"
            " IFNULL(agent, ''), (session_id IS NULL), IFNULL(session_id, ''))"
            " WHERE source_type = 'agentic'",
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
            ID, blob("salt", Erase.SALT, null=True), integer("from_row"), integer("edge_type"),
            integer("to_row"), text("relation", Erase.NAMES), integer("expired_seq"), SEQ,
            real("weight"), real("confidence", null=True),
            text("evidence", Erase.QUOTE, null=True), text("origin", exempt=_WORD),
            integer("t_valid_us", null=True), integer("t_invalid_us", null=True),
            integer("t_created_us"), integer("t_expired_us", null=True),
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
            SALT, ROW, ID, NAMESPACE, SEQ, integer("wseq"), text("entity_type", exempt=_WORD),
            text("canonical_name", Erase.NAMES), text("norm_key", exempt="follows from the name"),
            text("description", Erase.NAMES),
            text("aliases", Erase.NAMES_IN_JSON, shape=Shape.JSON),
            integer("type_certain", shape=Shape.FLAG), text("origin", exempt=_WORD),
            integer("created_us"), integer("expired_us", null=True),
            integer("merged_into", "entities", Forgetting.CLEARED, null=True),
        ),
        indexes=(
            "CREATE UNIQUE INDEX entities_id ON entities (id)",
            "CREATE UNIQUE INDEX entities_key ON entities (namespace, norm_key)"
            " WHERE expired_us IS NULL",
            "CREATE INDEX entities_merged ON entities (merged_into)"
            " WHERE merged_into IS NOT NULL",
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
            blob("embedding", Erase.VECTOR),
        ),
    ),
    Table(
        name="entity_access",
        says="how often an entity was returned",
        key=("entity",),
        columns=(_ENTITY, integer("access_count"), integer("last_accessed_us", null=True)),
    ),
)  # fmt: skip
