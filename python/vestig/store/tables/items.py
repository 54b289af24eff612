"""Values that are kept by key."""

from __future__ import annotations

from typing import Final

from vestig.store.tables.table import (
    ID,
    NAMESPACE,
    ROW,
    SALT,
    SEQ,
    Check,
    Erase,
    Table,
    Value,
    count,
    integer,
    json,
    text,
)

# Its text is the memory of its key, which no column names. What is left of a deleted item is its
# id, so that no older export brings it back; its value is JSON's null then.
TABLES: Final = (
    Table(
        name="items",
        code=15,
        says="a value by namespace, scope and key; without a key: the id of one that was"
        " deleted",
        prefix="item",
        record="item",
        columns=(
            SALT, ROW, ID, NAMESPACE,
            text("scope", exempt="a label that other rows have as well", null=True,
                 value=Value.SCOPE),
            SEQ, text("key", Erase.NAMES, null=True, value=Value.ITEM_KEY),
            json("value", Value.ITEM, Erase.TEXT),
            count("version"), integer("created_us"), integer("updated_us"),
            integer("expires_us", null=True),
        ),
        checks=(
            Check(
                "version", "(version = 0) = (key IS NULL)",
                "from 1 for a value, 0 for one that was deleted",
            ),
            Check(
                "key", "key IS NOT NULL OR scope IS NULL AND expires_us IS NULL AND value = 'null'",
                "a key for what has a scope, an end or a value",
            ),
        ),
        indexes=(
            "CREATE UNIQUE INDEX items_id ON items (id)",
            "CREATE UNIQUE INDEX items_key ON items (namespace, IFNULL(scope, ''), \"key\")"
            ' WHERE "key" IS NOT NULL',
            "CREATE INDEX items_expires ON items (expires_us) WHERE expires_us IS NOT NULL",
            'CREATE INDEX items_deleted ON items (seq) WHERE "key" IS NULL',
        ),
        unique=(("items_key", "a key that no other item of its namespace and scope has"),),
    ),
)  # fmt: skip
