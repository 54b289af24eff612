"""The declaration of a table: its columns, what they refer to, and what a forgetting does.

From a declaration come the statements that make and fill the table, the digest of its rows, what
goes with a forgotten node, the bytes that an erasure searches for, the consistency checks and the
line of an export.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, StrEnum
from typing import Final, Literal

import msgspec

# Times that have another name outside of the ledger, where they have no unit.
_MOMENTS: Final = frozenset(
    (
        "created", "ingested", "recorded", "occurred", "updated", "last_accessed", "last_seen",
        "pinned", "next_attempt", "expired", "forgotten", "stated", "began",
        "taken",
    )
)  # fmt: skip


class Forgetting(Enum):
    """Fate of a row when the one that it refers to is forgotten."""

    REMOVED = "removed with it"
    CLEARED = "cleared"


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
    unless they are a digest, which is in hex. `EDGE_TYPE`: a code as its word. `END`: the row of a
    node, whose table follows from the type of the edge, as an id."""

    PLAIN = "plain"
    EDGE_TYPE = "type of an edge"
    END = "end of an edge"
    TIME = "time"
    DAY = "day"
    JSON = "JSON"
    FLAG = "flag"
    HEX = "hex"


class Value(Enum):
    """Rules of a value beyond its kind: those of the calls that write it, for it may come from a
    file that somebody changed (`store.portable.values`)."""

    TEXT = "a text that a commit takes"
    LABEL = "a label"
    SCOPE = "a scope"
    NAME = "a text that is not blank"
    SHORT_NAME = "a short text that is not blank"
    QUESTION = "a question, or none"
    REASON = "a reason"
    SOURCE = "the source of an event"
    SEQUENCE = "a place in a session"
    RELATION = "the label of a relation"
    SNIPPET = "a snippet"
    KEY = "what a text is the value of"
    CONDITION = "a condition of a rule"
    ANCHOR_TARGET = "a path within a folder, or an address"
    DIGEST = "32 bytes"
    ITEM_KEY = "a key of an item"
    ITEM = "a value of an item"
    REQUEST_KEY = "the key of a request"
    VECTOR = "float32 numbers"
    OBJECT = "an object"
    SHALLOW_OBJECT = "an object of few levels and bytes"
    METADATA = "metadata of a memory"
    WORDS = "a list of words"
    WINDOWS = "a list of windows of time"
    ALIASES = "a list of aliases"
    COUNTS = "counts by name"
    EVENT_COUNT = "a count of events"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column.

    Attributes:
        kind: of SQLite.
        null: may be NULL.
        refers: the table whose row numbers it holds.
        forgetting: what becomes of the row when that row is forgotten.
        erase: what an erasure searches for.
        exempt: why it searches for nothing; a text or bytes have one of the two.
        words: the only ones that it may hold; empty = any text.
        enum: whose members they are.
        low, high: bounds of its numbers.
        value: which rules of calls it follows.
        field: its name in a line of an export, where that is not its own; two references of one
            field are told apart by the ids that they take.
        travels: a line of an export has it.
        exported: what a line has in its place, in SQL.
        untouched: in a table whose rows are written when needed, its value until then.
        quotes: the columns that become NULL where this one names a forgotten memory or quotes it.
        quoted: the column of the memory that it was taken from: the row goes where a forgotten text
            holds this one, and that of no such memory does.
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
    quoted: str = ""
    words: tuple[str, ...] = ()
    enum: type[StrEnum] | None = None
    low: float | None = None
    high: float | None = None
    value: Value | None = None
    field: str = ""
    travels: bool = True
    exported: str = ""
    untouched: int | str | None = None

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

    @property
    def field_name(self) -> str:
        """Its name outside of the ledger: in a line of an export, and in a `Memory`.

        Example:
            >>> integer("t_valid_us").field_name, integer("recorded_us").field_name
            ('t_valid', 'recorded_at')
        """
        if self.field or not self.name.endswith("_us"):
            return self.field or self.name
        name = self.name.removesuffix("_us")
        return f"{name}_at" if name in _MOMENTS else name


class Check(msgspec.Struct, frozen=True):
    """A condition that every row of a table meets.

    Attributes:
        field: the column that is named where it does not.
        condition: in SQL.
        expected: the condition in words.
    """

    field: str
    condition: str
    expected: str


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table.

    Attributes:
        code: its number under the chain, never given again; None = outside of the chain.
        says: what a row is, for the documentation.
        columns: in the order of their digest, which is that of the table.
        key: the columns that name a row.
        indexes: statements.
        checks: conditions over several columns of a row.
        unique: what a unique index says, by its name, or by one of its columns where it is made of
            columns alone; others say that a key stands once.
        lone: (columns, condition, the rows in words): no two rows that meet the condition are equal
            in the columns, though no index refuses it.
        owner: the reference that decides whether a merge of an export brings the row; else all of
            those that it cannot be without.
        lives_by: the table whose rows a row is made of: it goes with the last that refers to it.
        within: its columns stand in the line of the row that it refers to.
        on_conflict: what an import does where the ledger has a row of the same key.
        prefix: of the ids of its rows.
        node: others refer to its rows by id, so that it belongs to one namespace.
        projected: rows of the projection are made of it, and checked then.
        unique_ids: no two rows have one id.
        follows: the rows that it has, in SQL, where they follow from other tables.
        exported: which rows an export holds, in SQL; empty = all.
        record: its lines in an export; None = none, or lines of another table say it.
        made_when_needed: it is not there in most ledgers.
    """

    name: str
    says: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ("row",)
    code: int | None = None
    indexes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    unique: tuple[tuple[str, str], ...] = ()
    lone: tuple[tuple[str, str, str], ...] = ()
    owner: str = ""
    lives_by: str = ""
    within: bool = False
    on_conflict: str = "DO NOTHING"
    prefix: str | None = None
    node: bool = False
    projected: bool = False
    unique_ids: bool = True
    follows: str = ""
    exported: str = ""
    record: str | None = None
    made_when_needed: bool = False

    def statements(self, *beside: str) -> str:
        """The SQL that makes the table and its indexes.

        Args:
            beside: the SQL of columns that follow those of the table.
        """
        alone = self.key[0] if len(self.key) == 1 else None
        integer_key = alone is not None and self[alone].kind == "INTEGER"
        lines = [_column_sql(one, one.name == alone and integer_key) for one in self.columns]
        lines += beside
        lines += [f'CONSTRAINT "{one.field}" CHECK ({one.condition})' for one in self.checks]
        if not integer_key:
            lines.append(f"PRIMARY KEY ({', '.join(self.key)})")
        options = "STRICT" if integer_key else "STRICT, WITHOUT ROWID"
        return ";\n".join(
            (f"CREATE TABLE {self.name} ({', '.join(lines)}) {options}", *self.indexes, "")
        )

    def unequal(self) -> Iterator[tuple[str, str, str]]:
        """(columns, condition, the rows in words) of rows of which no two are equal: what unique
        indexes refuse, and what is said beside."""
        said = dict(self.unique)
        for index in self.indexes:
            head, _, tail = index.partition(f" ON {self.name} (")
            columns, _, condition = tail.partition(") WHERE ")
            columns = columns if condition else columns.removesuffix(")")
            if head.startswith("CREATE UNIQUE") and columns != "id":
                name = head.rpartition(" ")[2]
                yield columns, condition or "TRUE", said.get(name, f"one row for each {columns}")
        if self.prefix is not None and self.unique_ids:
            yield "id", "TRUE", "an id that no other row has"
        yield from self.lone

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        """Of its columns."""
        return tuple(column.name for column in self.columns)


def _column_sql(column: Column, is_key: bool) -> str:
    null = "" if column.null else " NOT NULL"
    refers = "" if column.refers is None else f" REFERENCES {column.refers}"
    condition = _condition(column)
    check = f' CONSTRAINT "{column.name}" CHECK ({condition})' if condition else ""
    return f'"{column.name}" {column.kind}{" PRIMARY KEY" if is_key else null}{refers}{check}'


def _condition(column: Column) -> str:
    """The condition that a value meets, in SQL; NULL passes."""
    if column.words:
        words = ", ".join(f"'{word}'" for word in column.words)
        return f'"{column.name}" IN ({words})'
    if column.shape is Shape.FLAG:
        return f'"{column.name}" IN (0, 1)'
    if column.low is not None and column.high is not None:
        return f'"{column.name}" BETWEEN {column.low!r} AND {column.high!r}'
    return ""


def integer(
    name: str,
    refers: str | None = None,
    forgetting: Forgetting | None = None,
    *,
    null: bool = False,
    shape: Shape | None = None,
    low: int | None = None,
    high: int | None = None,
    value: Value | None = None,
    field: str = "",
    travels: bool = True,
) -> Column:
    """A column of integers; one that ends in `_us` is a time in microseconds."""
    if shape is None:
        shape = Shape.TIME if name.endswith("_us") else Shape.PLAIN
    return Column(
        name=name, kind="INTEGER", null=null, refers=refers, forgetting=forgetting, shape=shape,
        low=low, high=high, value=value, field=field, travels=travels,
    )  # fmt: skip


def count(name: str, *, untouched: int | None = None) -> Column:
    """A column of counts: from 0, and far enough from the end of the numbers to go on counting."""
    return Column(name=name, kind="INTEGER", low=0, high=COUNT_MAX, untouched=untouched)


def real(name: str, low: float, high: float, *, null: bool = False) -> Column:
    """A column of float64 numbers within bounds."""
    return Column(name=name, kind="REAL", null=null, low=low, high=high)


def share(name: str) -> Column:
    """A column of numbers from 0 to 1, or none."""
    return real(name, 0.0, 1.0, null=True)


def word(
    name: str,
    words: tuple[str, ...] | type[StrEnum],
    *,
    null: bool = False,
    exported: str = "",
    untouched: str | None = None,
) -> Column:
    """A column of words of a fixed list, or of the members of an enum."""
    return Column(
        name=name, kind="TEXT", null=null, exported=exported, untouched=untouched,
        exempt="one of a few words of Vestig's own",
        enum=words if isinstance(words, type) else None,
        words=tuple(one.value if isinstance(one, Enum) else one for one in words),
    )  # fmt: skip


def text(
    name: str,
    erase: Erase | None = None,
    *,
    exempt: str = "",
    null: bool = False,
    shape: Shape = Shape.PLAIN,
    value: Value | None = None,
    quotes: tuple[str, ...] = (),
    quoted: str = "",
) -> Column:
    """A column of texts."""
    return Column(
        name=name, kind="TEXT", null=null, erase=erase, exempt=exempt, shape=shape, value=value,
        quotes=quotes, quoted=quoted,
    )  # fmt: skip


def json(
    name: str, value: Value | None = None, erase: Erase | None = None, *, exempt: str = ""
) -> Column:
    """A column of texts in JSON."""
    return text(name, erase, exempt=exempt, shape=Shape.JSON, value=value)


def blob(
    name: str,
    erase: Erase | None = None,
    *,
    exempt: str = "",
    null: bool = False,
    shape: Shape = Shape.PLAIN,
    value: Value | None = None,
    travels: bool = True,
) -> Column:
    """A column of bytes."""
    return Column(
        name=name, kind="BLOB", null=null, erase=erase, exempt=exempt, shape=shape, value=value,
        travels=travels,
    )  # fmt: skip


def vector(name: str) -> Column:
    """A column of vectors: float32 numbers, little-endian."""
    return Column(name=name, kind="BLOB", erase=Erase.VECTOR, value=Value.VECTOR)


# More than any store counts.
COUNT_MAX: Final = 2**53
FLOAT_MAX: Final = 1.7976931348623157e308
# The integer by which tables refer to rows.
ROW: Final = integer("row", travels=False)
# 16 random bytes, so that nothing about an erased text can be tested against a digest of its row.
SALT: Final = blob("salt", Erase.SALT, travels=False)
ID: Final = blob("id", exempt="a tombstone keeps the id of what was forgotten")
NAMESPACE: Final = text("namespace", exempt="of many rows")
# The transaction that wrote the row.
SEQ: Final = integer("seq")
