"""Rules, and how often each fired."""

from __future__ import annotations

from typing import Final

from vestig.store.tables.memories import MEMORY
from vestig.store.tables.table import (
    SALT,
    SEQ,
    Erase,
    Forgetting,
    Table,
    Value,
    count,
    integer,
    text,
    word,
)

# The text of a rule is its memory, and it binds while that is active.
TABLES: Final = (
    Table(
        name="rules",
        code=16,
        says="what a memory binds: the condition over an action, what is done then, and the"
        " exception",
        key=("memory",),
        record="rule",
        columns=(
            SALT, MEMORY, SEQ, text("condition", Erase.TEXT, value=Value.CONDITION),
            word("decision", ("remind", "ask", "deny")),
            text("exception", Erase.TEXT, null=True, value=Value.CONDITION),
        ),
    ),
    Table(
        name="rule_counts",
        says="how often a rule fired, gave way to its exception, and denied an action",
        key=("memory",),
        columns=(
            integer("memory", "rules", Forgetting.REMOVED), count("fired"), count("gave_way"),
            count("denied"), integer("last_fired_us", null=True),
        ),
    ),
)  # fmt: skip
