"""The declaration of a table: its columns, what they refer to, and what a forgetting does.

From a declaration come the statements that make and fill the table, the digest of its rows, what
goes with a forgotten node, the bytes that an erasure searches for, the consistency checks and the
line of an export.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal

import msgspec


class Forgetting(Enum):
    """Fate of a row when the one that it refers to is forgotten.

    `SEPARATE`: evidence goes with what it was taken from, and a claim with the last of its evidence
    (`store.ledger.claim_removal`).
    """

    REMOVED = "removed with it"
    CLEARED = "cleared"
    SEPARATE = "evidence goes with what it was taken from, a claim with the last of its evidence"


class Erase(Enum):
    """Forms in which an erasure searches the files for the value of a forgotten row.

    `TEXT`: a text of a memory; what other memories hold as well is counted. `QUOTE`: a text that
    was taken from one, never counted. `NAMES`: as `QUOTE`, but for short ones, which stand
    elsewhere by chance. `NAMES_IN_JSON`: all such texts in a value of JSON. `TEXTS_OF_EVENT`: the
    texts in the payload of an event. `VECTOR`: float32 numbers, as they are and at length one.
    `PIECES`, `CODES`: numbers and codes of word pieces, as the ledger and as segments hold them.
    `DIGEST`: as bytes and in hex. `SALT`: as it is.
    """

    TEXT = "text"
    QUOTE = "quote"
    NAMES = "names"
    NAMES_IN_JSON = "names in JSON"
    TEXTS_OF_EVENT = "texts of an event"
    VECTOR = "vector"
    PIECES = "word pieces"
    CODES = "codes of word pieces"
    DIGEST = "digest"
    SALT = "salt"


class Shape(Enum):
    """How a value stands in a line of an export: a reference as the id of its row, bytes in base64
    unless they are a digest, which is in hex."""

    PLAIN = "plain"
    TIME = "time"
    JSON = "JSON"
    FLAG = "flag"
    HEX = "hex"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column.

    Attributes:
        kind: of SQLite.
        null: may be NULL.
        refers: the table whose row numbers it holds.
        forgetting: what becomes of the row when that row is forgotten.
        erase: what an erasure searches for.
        exempt: why it searches for nothing; a text or bytes have one of the two.
        quotes: the columns that become NULL where this one names a forgotten memory or quotes it.
    """

    name: str
    kind: Literal["INTEGER", "REAL", "TEXT", "BLOB"]
    null: bool = False
    refers: str | None = None
    forgetting: Forgetting | None = None
    erase: Erase | None = None
    exempt: str = ""
    shape: Shape = Shape.PLAIN
    quotes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind in ("TEXT", "BLOB") and (self.erase is None) == (not self.exempt):
            raise TypeError(
                f"column {self.name}: expected either an erasure rule or a written exemption, got"
                f" {'both' if self.exempt else 'neither'}; say what a forgetting searches for"
                " (erase=…), or why nothing of it is searched for (exempt=…)"
            )
        if (self.refers is None) != (self.forgetting is None):
            raise TypeError(
                f"column {self.name}: expected refers and forgetting, or neither; say what becomes"
                " of the row when the one it names is forgotten"
            )


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table.

    Attributes:
        code: its number under the chain, never given again; None = outside of the chain.
        says: what a row is, for the documentation.
        columns: in the order of their digest, which is that of the table.
        key: the columns that name a row.
        indexes: statements.
        prefix: of the ids of its rows.
        node: others refer to its rows by id, so that it belongs to one namespace.
        projected: rows of the projection are made of it, and checked then.
        unique_ids: no two rows have one id.
        record: its lines in an export; None = none, or lines of another table say it.
        made_when_needed: it is not there in most ledgers.
    """

    name: str
    says: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ("row",)
    code: int | None = None
    indexes: tuple[str, ...] = ()
    prefix: str | None = None
    node: bool = False
    projected: bool = False
    unique_ids: bool = True
    record: str | None = None
    made_when_needed: bool = False

    def statements(self) -> str:
        """The SQL that makes the table and its indexes."""
        alone = self.key[0] if len(self.key) == 1 else None
        integer_key = alone is not None and self[alone].kind == "INTEGER"
        lines = [_column_sql(one, one.name == alone and integer_key) for one in self.columns]
        if not integer_key:
            lines.append(f"PRIMARY KEY ({', '.join(self.key)})")
        options = "STRICT" if integer_key else "STRICT, WITHOUT ROWID"
        return ";\n".join(
            (f"CREATE TABLE {self.name} ({', '.join(lines)}) {options}", *self.indexes, "")
        )

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        """Of its columns."""
        return tuple(column.name for column in self.columns)


def _column_sql(column: Column, is_key: bool) -> str:
    null = "" if column.null else " NOT NULL"
    refers = "" if column.refers is None else f" REFERENCES {column.refers}"
    return f'"{column.name}" {column.kind}{" PRIMARY KEY" if is_key else null}{refers}'


def integer(
    name: str,
    refers: str | None = None,
    forgetting: Forgetting | None = None,
    *,
    null: bool = False,
    shape: Shape | None = None,
) -> Column:
    """A column of integers; one that ends in `_us` is a time in microseconds."""
    if shape is None:
        shape = Shape.TIME if name.endswith("_us") else Shape.PLAIN
    return Column(
        name=name, kind="INTEGER", null=null, refers=refers, forgetting=forgetting, shape=shape
    )


def real(name: str, *, null: bool = False) -> Column:
    """A column of float64 numbers."""
    return Column(name=name, kind="REAL", null=null)


def text(
    name: str,
    erase: Erase | None = None,
    *,
    exempt: str = "",
    null: bool = False,
    shape: Shape = Shape.PLAIN,
    quotes: tuple[str, ...] = (),
) -> Column:
    """A column of texts."""
    return Column(
        name=name, kind="TEXT", null=null, erase=erase, exempt=exempt, shape=shape, quotes=quotes
    )


def blob(
    name: str,
    erase: Erase | None = None,
    *,
    exempt: str = "",
    null: bool = False,
    shape: Shape = Shape.PLAIN,
) -> Column:
    """A column of bytes."""
    return Column(name=name, kind="BLOB", null=null, erase=erase, exempt=exempt, shape=shape)


# The integer by which tables refer to rows.
ROW: Final = integer("row")
# 16 random bytes, so that nothing about an erased text can be tested against a digest of its row.
SALT: Final = blob("salt", Erase.SALT)
ID: Final = blob("id", exempt="a tombstone keeps the id of what was forgotten")
NAMESPACE: Final = text("namespace", exempt="of many rows")
# The transaction that wrote the row.
SEQ: Final = integer("seq")
