"""The lines of an export: a header, one for each row of a table that is declared with a record, a
trailer.

A line carries a row of the ledger with ids in place of row numbers and times as text. Values that
the ledger keeps as JSON text go through as raw JSON, so that every byte of them survives. Salts,
digests and row numbers stay behind: they belong to one ledger.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Annotated, Any, Final, NamedTuple, Union, cast

import msgspec

from vestig.arguments import parse_time
from vestig.errors import Description, ValidationError
from vestig.ids import id_bytes, is_full_id
from vestig.json_text import RepeatedNameError, check_distinct_names
from vestig.ports import EmbeddingIdentity
from vestig.store.portable.values import check_value
from vestig.store.tables.graph import EDGE_CODES, EDGE_ENDS, EDGE_TYPES
from vestig.store.tables.schema import ALL, NODE_TABLES, RECORDS, TABLES
from vestig.store.tables.table import COUNT_MAX, Column, Forgetting, Shape, Table, Value
from vestig.times import format_us

EXPORT_SCHEMA: Final = "vestig/export/1"
EXPORT_VERSION: Final = 1
_INT_MAX: Final = 2**63 - 1
_Integer = Annotated[int, msgspec.Meta(ge=-_INT_MAX, le=_INT_MAX)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)]
_Seq = Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)]
_Namespace = Annotated[str, msgspec.Meta(pattern=r"\A(?!\.{1,2}\Z)[a-z0-9._-]{1,64}\Z")]
_HexDigest = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
_FIRST_DAY: Final = date(1970, 1, 1)


# Tables that the rules of a file are about, by the words of their lines.
MEMORIES: Final = RECORDS["memory"].name
ENTITIES: Final = RECORDS["entity"].name
EDGES: Final = RECORDS["edge"].name
EVENTS: Final = RECORDS["event"].name
ITEMS: Final = RECORDS["item"].name
VECTORS: Final = RECORDS["vector"].name
SUPERSESSIONS: Final = RECORDS["supersession"].name
TOMBSTONES: Final = RECORDS["tombstone"].name


class _Line(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="record"
):
    """Base of all lines; `record` names the kind."""


class Header(_Line, frozen=True, kw_only=True, tag="header"):
    """First line. `namespace` is null when all of the store's namespaces follow; `namespaces`
    names those that follow, and `where` is the filter of a selection."""

    schema: str
    format_version: int
    origin: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{32}\Z")]
    seq: _Count
    namespace: _Namespace | None
    embedding: EmbeddingIdentity | None
    namespaces: tuple[_Namespace, ...]
    where: dict[str, Any] | None


class Trailer(_Line, frozen=True, kw_only=True, tag="end"):
    """Last line: what the lines before it are.

    Attributes:
        counts: records by kind, the header left out.
        sha256: of all bytes before this line, unpacked, in hex.
        cut_references: references that are null or left out because their memory is not in the
            file: those that leave a selection, and superseded memories whose successor the store
            does not hold.
        zero_vectors: vectors of zeros.
        unscaled_vectors: vectors whose length is neither 0 nor 1, where the model normalises.
    """

    counts: dict[str, _Count]
    sha256: _HexDigest
    cut_references: _Count
    zero_vectors: _Count
    unscaled_vectors: _Count


class Record(_Line, frozen=True, kw_only=True):
    """A row of a table; its class is made of the declaration of the table."""


# --- fields ----------------------------------------------------------------------------------

# Fields of a memory that are columns of other tables: the text as it was given stands as its
# content, and the normal form as `normal` where it is another; the model is that of its vector.
NORMAL: Final = "normal"
EMBEDDING_MODEL: Final = "embedding_model"


class Target(NamedTuple):
    """A column of references, with the table and the id prefix of the nodes that it may name."""

    column: str
    prefix: str
    table: str


class Reference(NamedTuple):
    """A field that holds an id.

    Attributes:
        targets: the columns that it may be for.
        required: a line cannot be without it.
        later: it names a node of its own table, which may stand in a later line.
        cleared: a line can do without what it names.
    """

    field: str
    targets: tuple[Target, ...]
    required: bool
    later: bool
    cleared: bool


def node_table(column: Column) -> Table:
    """Return the nodes to which the rows belong that a column refers to."""
    found = TABLES[cast("str", column.refers)]
    while not found.node:
        found = node_table_of_key(found)
    return found


def node_table_of_key(table: Table) -> Table:
    """Return the nodes to which a row belongs that is named by one."""
    return TABLES[cast("str", table[table.key[0]].refers)]


def _references(table: Table) -> tuple[Reference, ...]:
    found: dict[str, Reference] = {}
    for column in table.columns:
        if column.refers is None:
            continue
        node = node_table(column)
        target = Target(column.name, cast("str", node.prefix), node.name)
        name = column.field_name
        before = found[name].targets if name in found else ()
        found[name] = Reference(
            name, (*before, target), not column.null, node.name == table.name,
            column.forgetting is Forgetting.CLEARED,
        )  # fmt: skip
    return tuple(found.values())


class Form:
    """The lines of one table.

    Attributes:
        kind: the word under `record`.
        plain: columns whose values a line has as they are, and their fields.
        references: fields that hold ids of other rows.
        ends: the columns of an edge that hold the row of a node, and their fields.
        owners: fields that name the nodes without which there is no such line.
        within: the table whose columns stand in the same line; `beside`: these columns.
        texts: a line holds the text of a memory in both of its forms.
        vectors: columns that hold one.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.kind = cast("str", table.record)
        self.references = _references(table)
        self.ends = tuple((one, one.field_name) for one in table.columns if one.shape is Shape.END)
        self.plain = tuple(
            (one, one.field_name)
            for one in table.columns
            if one.travels and one.refers is None and one.shape is not Shape.END
            and one.name != "id"
        )  # fmt: skip
        required = [one.field for one in self.references if one.required]
        self.owners = ("id",) if table.node else (*required, *(name for _one, name in self.ends))
        self.within = next(
            (one for one in ALL if one.within and one[one.key[0]].refers == table.name), None
        )
        self.beside = () if self.within is None else self.within.columns[1:]
        self.texts = table.name == MEMORIES
        self.vectors = [one.name for one in table.columns if one.value is Value.VECTOR]
        self.record = self._record_class()
        self._read = [
            (table.names.index(one.name), name, one, _reader(one)) for one, name in self.plain
        ]

    def _record_class(self) -> type[Record]:
        fields: list[Any] = [("id", str)] if self.table.prefix is not None else []
        fields += [(name, _type_of(one)) for one, name in (*self.plain, *self._beside_fields())]
        fields += [(one.field, str if one.required else str | None) for one in self.references]
        fields += [(name, str) for _one, name in self.ends]
        if self.texts:
            fields += [
                (EMBEDDING_MODEL, str | None),
                (NORMAL, str | msgspec.UnsetType, msgspec.UNSET),
            ]
        made = msgspec.defstruct(
            f"{self.table.name}_record", fields, bases=(Record,), frozen=True, kw_only=True,
            forbid_unknown_fields=True, tag_field="record", tag=self.kind,
        )  # fmt: skip
        return cast("type[Record]", made)

    def _beside_fields(self) -> Iterator[tuple[Column, str]]:
        yield from ((one, one.field_name) for one in self.beside)

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(self.record.__struct_fields__)

    def values(self, record: Record) -> list[Any]:
        """Return the columns of the row that a line says, as the ledger stores them; None in
        place of what is not in a line, and of references.

        Raises:
            ValidationError: names the field.
        """
        values: list[Any] = [None] * len(self.table.columns)
        for at, name, column, read in self._read:
            value = getattr(record, name)
            if value is not None:
                if read is not None:
                    value = read(name, value)
                if column.value is not None:
                    check_value(column.value, name, value)
            values[at] = value
        if self.table.prefix is not None:
            values[self.table.names.index("id")] = id_of(record, "id", self.table.prefix)
        return values

    def beside_values(self, record: Record) -> list[Any] | None:
        """Return the columns that stand in the same line; None where they are untouched.

        Raises:
            ValidationError: names the field.
        """
        values = []
        for column, name in self._beside_fields():
            value, read = getattr(record, name), _reader(column)
            values.append(read(name, value) if read is not None and value is not None else value)
        return None if values == [one.untouched for one in self.beside] else values


def _type_of(column: Column) -> Any:
    shapes: dict[Shape, Any] = {
        Shape.TIME: str, Shape.JSON: msgspec.Raw, Shape.HEX: _HexDigest, Shape.FLAG: bool,
        Shape.DAY: date, Shape.EDGE_TYPE: str,
    }  # fmt: skip
    kinds = {"INTEGER": _Integer, "REAL": float, "TEXT": str, "BLOB": bytes}
    named = {"seq": _Seq, "wseq": _Seq}
    found = named.get(column.name) or shapes.get(column.shape) or kinds[column.kind]
    return found | None if column.null else found


_Reader = Callable[[str, Any], Any]


# Records of one transaction have one time.
@lru_cache(256)
def _read_time(name: str, text: str) -> int:
    return parse_time(text, name)


def _read_json(name: str, raw: msgspec.Raw) -> str:
    data = bytes(raw)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ValidationError(
            name, Description(f"{len(data)} bytes"), "JSON as an export writes it"
        ) from error


def _read_edge_type(name: str, word: str) -> int:
    if word not in EDGE_CODES:
        raise ValidationError(name, Description(f"{len(word)} characters"), " or ".join(EDGE_TYPES))
    return EDGE_CODES[word]


_READERS: Final[dict[Shape, _Reader]] = {
    Shape.TIME: _read_time,
    Shape.JSON: _read_json,
    Shape.HEX: lambda _name, text: bytes.fromhex(text),
    Shape.FLAG: lambda _name, value: int(value),
    Shape.DAY: lambda _name, day: (day - _FIRST_DAY).days,
    Shape.EDGE_TYPE: _read_edge_type,
}
_WRITERS: Final[dict[Shape, Callable[[Any], Any]]] = {
    Shape.TIME: format_us,
    Shape.JSON: lambda text: msgspec.Raw(text.encode()),
    Shape.HEX: bytes.hex,
    Shape.FLAG: bool,
    Shape.DAY: lambda day: _FIRST_DAY + timedelta(days=day),
    Shape.EDGE_TYPE: lambda code: EDGE_TYPES[code],
}


def _reader(column: Column) -> _Reader | None:
    return _READERS.get(column.shape)


def writer_of(column: Column) -> Callable[[Any], Any] | None:
    """Return what makes of a value the one in a line; None = it stands as it is."""
    return _WRITERS.get(column.shape)


def id_of(record: Record, field: str, prefix: str) -> bytes:
    """Return the 16 bytes of an id in a line.

    Raises:
        ValidationError: it is none of this kind.
    """
    id = getattr(record, field)
    if not is_full_id(id, prefix):
        raise ValidationError(field, id, f"a whole id {prefix}_…")
    return id_bytes(id)


def named_by(
    form: Form, record: Record, values: Sequence[Any]
) -> Iterator[tuple[str, Reference | None, tuple[Target, bytes]]]:
    """The ids that a line has besides its own: the field, its reference (None for an end of an
    edge), the column that the id is for, and its bytes.

    Raises:
        ValidationError: an id of another kind.
    """
    for reference in form.references:
        id = getattr(record, reference.field)
        if id is None:
            continue
        target = next((one for one in reference.targets if is_full_id(id, one.prefix)), None)
        if target is None:
            allowed = " or ".join(f"{one.prefix}_…" for one in reference.targets)
            raise ValidationError(reference.field, id, f"a whole id {allowed}")
        yield reference.field, reference, (target, id_bytes(id))
    for at, (column, field) in enumerate(form.ends):
        prefix = EDGE_ENDS[values[form.table.names.index("edge_type")]][at]
        target = Target(column.name, prefix, NODE_TABLES[prefix])
        yield field, None, (target, id_of(record, field, prefix))


# The kinds of lines: nodes first, for others refer to them, then by the codes of their tables, then
# those outside of the chain.
_ORDER: Final = sorted(
    RECORDS.values(), key=lambda one: (one.code is None, not one.node, one.code or 0)
)
FORMS: Final = {cast("str", table.record): Form(table) for table in _ORDER}
FORM_OF: Final[dict[type[Record], Form]] = {form.record: form for form in FORMS.values()}


# --- lines -----------------------------------------------------------------------------------

_decoder: Final = msgspec.json.Decoder[Header | Trailer | Record](Union[Header, Trailer, *FORM_OF])
_any_line: Final = msgspec.json.Decoder()
encode: Final = msgspec.json.Encoder().encode


class FileDigest:
    """SHA-256 over all lines with their ends; one without counts as ended by a line feed."""

    def __init__(self) -> None:
        self._hasher = hashlib.sha256()

    def add(self, line: str | bytes) -> None:
        """The next line."""
        raw = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
        self._hasher.update(raw)
        if not raw.endswith(b"\n"):
            self._hasher.update(b"\n")

    def hex(self) -> str:
        """Of the lines so far."""
        return self._hasher.hexdigest()


def read_line(line: str | bytes) -> Header | Trailer | Record:
    """A line as a record, by its shape alone.

    Raises:
        ValidationError: it is none; the place is named, never the text.
    """
    try:
        record: Header | Trailer | Record = _decoder.decode(line)
        check_distinct_names(line)
    except RepeatedNameError as error:
        raise ValidationError("", str(error), "a record of an export") from error
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        place = str(error).rpartition(" - at ")[2].strip("`") if " - at " in str(error) else "$"
        raise ValidationError(
            "", Description(f"something else at {place}"), "a record of an export"
        ) from error
    if isinstance(record, Header) and (record.schema, record.format_version) != (
        EXPORT_SCHEMA, EXPORT_VERSION,
    ):  # fmt: skip
        shown = Description(f"{record.schema}, version {record.format_version}")
        raise ValidationError("schema", shown, f"{EXPORT_SCHEMA}, version {EXPORT_VERSION}")
    return record


def kind_of(record: Header | Trailer | Record) -> str:
    """Return the word that a line has under `record`."""
    return str(record.__struct_config__.tag)


def owner_of_line(line: str | bytes) -> str:
    """Return the id of the node that a line is or belongs to, as far as it can be read; empty for
    what belongs to no node or to two."""
    try:
        found = _any_line.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ""
    form = FORMS.get(str(found.get("record"))) if isinstance(found, dict) else None
    owner = found.get(form.owners[0]) if form is not None and len(form.owners) == 1 else None
    return owner if isinstance(owner, str) else ""
