"""Anchors: the sources that memories speak of."""

from __future__ import annotations

from typing import Final

from vestig.store.tables.memories import MEMORY
from vestig.store.tables.table import (
    COUNT_MAX,
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
    text,
    word,
)

_LABEL: Final = "a label that other rows have as well"

TABLES: Final = (
    Table(
        name="anchors",
        code=17,
        says="a source of a memory: lines of a file, an address or another memory, with the digest"
        " that it had. `ends`: of the first and the last line; `place` of `equal`: which of the"
        " equal places of the file it was; `committed`: of a file that a branch changed, 1 where it"
        " stands so in the commit",
        record="anchor",
        owner="memory",
        columns=(
            SALT, ROW, MEMORY, count("position"), SEQ, integer("taken_us"),
            word("kind", ("file", "url", "memory")),
            text("project", exempt=_LABEL, null=True, value=Value.LABEL),
            text("target", Erase.NAMES, null=True, value=Value.ANCHOR_TARGET),
            integer("other", "memories", Forgetting.CLEARED, null=True),
            integer("first_line", null=True, low=1, high=COUNT_MAX),
            integer("last_line", null=True, low=0, high=COUNT_MAX),
            blob("digest", Erase.DIGEST, null=True, value=Value.DIGEST),
            integer("ends", low=0, high=2**63 - 1), integer("place", low=1, high=COUNT_MAX),
            integer("equal", low=1, high=COUNT_MAX),
            integer("size", null=True, low=0, high=COUNT_MAX), integer("mtime_ns", null=True),
            text("commit_id", exempt="names a commit", null=True, value=Value.LABEL),
            integer("committed", null=True, shape=Shape.FLAG),
        ),
        checks=(
            Check(
                "target", "(target IS NOT NULL) = (kind <> 'memory')",
                "a path or an address exactly where the kind is not memory",
            ),
            Check("other", "other IS NULL OR kind = 'memory'", "a memory where the kind says so"),
            Check(
                "digest", "(digest IS NOT NULL) = (kind <> 'memory')",
                "a digest exactly where the kind is not memory",
            ),
            Check(
                "first_line", "(first_line IS NOT NULL) = (last_line IS NOT NULL)"
                " AND (first_line IS NULL OR kind = 'file' AND first_line <= last_line)",
                "a first and a last line of a file, or neither",
            ),
            Check("committed", "committed IS NULL OR kind = 'file'", "a flag of a file alone"),
            Check(
                "project", "(project IS NOT NULL) = (kind = 'file')",
                "a project exactly where the kind is file",
            ),
        ),
        indexes=(
            "CREATE UNIQUE INDEX anchors_of ON anchors (memory, position)",
            "CREATE INDEX anchors_other ON anchors (other) WHERE other IS NOT NULL",
        ),
    ),
)  # fmt: skip
