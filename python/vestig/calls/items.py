"""Values that are kept by key."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, ClassVar, Final

import msgspec

from vestig.arguments import ITEM_LABEL_CHARS_MAX, check_unicode, label, listed
from vestig.calls.argument import (
    NO_FACTS,
    Argument,
    Choice,
    Facts,
    Flag,
    Integer,
    Label,
    Objects,
    Text,
    Texts,
    Time,
    key_name,
)
from vestig.calls.declaration import InNamespace, Request, checked
from vestig.calls.scope import OfScopes
from vestig.errors import Description, ValidationError, kind_of
from vestig.types import Role

VALUE_BYTES_MAX: Final = 1 << 20
_VALUE_LEVELS_MAX: Final = 64
_PUTS_MAX: Final = 1_000
_PART_DIGITS_MAX: Final = 6
_JSON: Final = "JSON: null, true, false, a number, text, a list, or an object with names of text"
# What stands between the key of an item and the number of a part of its text.
PART: Final = "\x1f"
# What stands for JSON's null, which is a value like any other; None is an argument that is absent.
NULL: Final = msgspec.Raw(b"null")


def item_label(field: str, value: object) -> str:
    """A key or a scope of an item, as it is: 1 to 512 characters of any kind but U+0000 and U+001F.

    Raises:
        ValidationError: says which rule the value breaks.

    Example:
        >>> item_label("key", "notes/a b")
        'notes/a b'
    """
    text = label(field, value, ITEM_LABEL_CHARS_MAX)
    if not text:
        raise ValidationError(field, value, f"text of 1 to {ITEM_LABEL_CHARS_MAX} characters")
    if PART in text:
        raise ValidationError(
            field, Description("text with U+001F"), "text without that control character"
        )
    return text


def check_stored_key(field: str, text: str) -> None:
    """Checks the key of a memory as the ledger stores it: a key in its normal form, or that of a
    part of the text of an item.

    Raises:
        ValidationError: it is none.
    """
    key, sign, part = text.partition(PART)
    if not sign:
        if key_name(field, text) != text:
            raise ValidationError(
                field, Description("another spelling"), "a key in its normal form"
            )
        return
    item_label(field, key)
    if not (part.isascii() and part.isdigit() and len(part) <= _PART_DIGITS_MAX):
        raise ValidationError(
            field, Description("text with U+001F"), "a key, or that of a part of a text"
        )


def part_key(key: str, place: int) -> str:
    """The key of a part of the text of an item, by its place from 0: that of the first is the
    item's own where a memory can have it.

    Example:
        >>> part_key("notes", 0), part_key("notes", 1), part_key(" notes", 0)
        ('notes', 'notes\\x1f2', ' notes\\x1f1')
    """
    if place == 0:
        with suppress(ValidationError):
            if key_name("key", key) == key:
                return key
    return f"{key}{PART}{place + 1}"


def key_of_part(key: str) -> str:
    """The key of the item of which a memory with a key is the text, or a part of it.

    Example:
        >>> key_of_part("notes\\x1f2"), key_of_part("notes")
        ('notes', 'notes')
    """
    return key.partition(PART)[0]


def parts_range(key: str) -> tuple[str, str]:
    """Bounds between which the keys of the parts of the text of an item sort, the second excluded.

    Example:
        >>> low, high = parts_range("notes")
        >>> low <= "notes\\x1f2" < high, low <= "notes.a" < high
        (True, False)
    """
    return f"{key}{PART}", f"{key}{chr(ord(PART) + 1)}"


# --- values ------------------------------------------------------------------------------------


def value_text(field: str, value: object) -> str:
    """A value as JSON, from which `json_value` makes an equal one.

    Raises:
        ValidationError: it is no JSON, is nested too deeply, or too long.

    Example:
        >>> value_text("value", {"b": [1, 2.5, None], "a": "é"})
        '{"b":[1,2.5,null],"a":"é"}'
        >>> value_text("value", {1: 2})
        Traceback (most recent call last):
        ...
        vestig.errors.ValidationError: value: expected JSON: null, true, false, a number, text, a \
list, or an object with names of text, got an int as a name
    """
    _check_json(field, value, 1)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise ValidationError(
            field, Description("NaN, infinity or a very long number"), _JSON
        ) from error
    size = len(check_unicode(field, text).encode())
    if size > VALUE_BYTES_MAX:
        allowed = f"at most {VALUE_BYTES_MAX} bytes of JSON"
        raise ValidationError(
            field, Description(f"{size} bytes"), allowed, "divide it among several keys"
        )
    return text


def json_value(text: str) -> Any:
    """The value of a JSON text, numbers of any length as they are.

    Raises:
        ValueError: it is none.
    """
    return json.loads(text)


def _check_json(field: str, value: object, level: int) -> None:
    if value is None or type(value) in (str, int, float, bool):
        return
    if level > _VALUE_LEVELS_MAX:
        raise ValidationError(
            field, Description("more levels"), f"at most {_VALUE_LEVELS_MAX} levels"
        )
    if isinstance(value, (list, tuple)):
        for one in value:
            _check_json(field, one, level + 1)
    elif isinstance(value, dict):
        for name, one in value.items():
            if type(name) is not str:
                raise ValidationError(field, Description(f"{kind_of(name)} as a name"), _JSON)
            _check_json(field, one, level + 1)
    else:
        raise ValidationError(field, kind_of(value), _JSON)


class ItemValue(Argument, frozen=True):
    """Any JSON; null is a value too."""

    takes_null = True

    @property
    def expected(self) -> str:
        return _JSON

    def check(self, field: str, value: Any) -> Any:
        return value_text(field, None if value is NULL else value)


class ItemLabel(Label, frozen=True, kw_only=True):
    """A key or a scope of an item."""

    chars_max: int = ITEM_LABEL_CHARS_MAX
    blank: bool = False

    def check(self, field: str, value: Any) -> Any:
        return item_label(field, value)

    def schema(self, facts: Facts = NO_FACTS) -> dict[str, Any]:
        pattern = r"^[^\u0000\u001f]+$"
        return {"type": "string", "pattern": pattern, "maxLength": self.chars_max}


class _ItemScope(OfScopes, ItemLabel, frozen=True, kw_only=True):
    """The scope of an item."""


class _ItemScopes(_ItemScope, frozen=True, kw_only=True):
    """The scope of an item for all that lies below it too."""

    takes_auto = False


class ItemKeys(Texts, frozen=True, kw_only=True):
    """Keys of items, as they are."""

    chars_max: int = ITEM_LABEL_CHARS_MAX
    filled: bool = True
    limited = False

    def check(self, field: str, value: Any) -> Any:
        found = listed(value)
        if not isinstance(found, (list, tuple)):
            raise ValidationError(field, kind_of(found), self.expected)
        if not found:
            raise ValidationError(field, found, "a key or a list of keys")
        return tuple(item_label(f"{field}[{at}]", one) for at, one in enumerate(found))

    def _item(self) -> dict[str, Any]:
        return ItemLabel("").schema()

    def _alone(self) -> dict[str, Any]:
        return ItemLabel("").schema() | {"pattern": r"^(?:\s*\[|[^,\u0000\u001f]+$)"}


# --- calls -------------------------------------------------------------------------------------

_Key = Annotated[str, ItemLabel("What the value is kept under, such as theme or notes/today.md.")]
_Scope = Annotated[
    str | None,
    _ItemScope(
        "The label inside the namespace under which the key stands; its parts are divided by"
        " slashes, and one within a part is written %2F.",
        "--scope",
    ),
]
_Prefix = "this scope and those below it"


class PutRequest(Request, frozen=True, kw_only=True):
    """A value to keep. `value` is JSON."""

    call: ClassVar = "put"

    key: _Key
    value: Annotated[
        str, ItemValue("Any JSON of at most 1 MiB; it comes back as it is.", stdin=True)
    ]
    scope: _Scope = None
    text: Annotated[
        str | None,
        Text("Words by which searches find it: a memory of this key. Absent: none do.", "--text"),
    ] = None
    role: Annotated[
        Role | None, Choice("Part in a dialogue of who said the text.", "--role", words=Role)
    ] = None
    index: Annotated[bool, Flag("Make a memory of the text.")] = True
    expires: Annotated[
        int | None,
        Time("From then on nothing shows it, and `gc` removes it for good.", "--expires"),
    ] = None
    expected: Annotated[
        int | None,
        Integer(
            "The version that it has to have, 0 for a key without a value; else `ConflictError`.",
            "--expected",
            least=0,
        ),
    ] = None
    namespace: InNamespace = None


class PutManyRequest(Request, frozen=True, kw_only=True):
    """Values to keep in one transaction, in order."""

    call: ClassVar = "put_many"

    items: Annotated[
        Sequence[Mapping[str, Any]],
        Objects("Objects with the arguments of `put`, all but namespace; at most 1000."),
    ]
    namespace: InNamespace = None


def puts_of(asked: PutManyRequest) -> list[PutRequest]:
    """The puts of a call of several.

    Raises:
        ValidationError: the first bad one, by its place.
    """
    items = asked.items
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Sequence):
        raise ValidationError("items", kind_of(items), "a list of objects")
    if len(items) > _PUTS_MAX:
        raise ValidationError(
            "items", Description(f"{len(items)} items"), f"at most {_PUTS_MAX} items"
        )
    found = []
    for at, one in enumerate(items):
        path = f"items[{at}]"
        if not isinstance(one, Mapping):
            raise ValidationError(path, kind_of(one), "an object")
        if one.get("namespace") is not None:
            raise ValidationError(f"{path}.namespace", one["namespace"], "it beside `items`")
        found.append(checked(PutRequest, with_null(one), path))
    return found


def with_null(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a put, in which a value of None is JSON's null.

    Example:
        >>> with_null({"key": "a", "value": None})["value"] is NULL
        True
    """
    there = "value" in arguments and arguments["value"] is None
    return {**arguments, "value": NULL} if there else dict(arguments)


class ItemRequest(Request, frozen=True, kw_only=True):
    """One item."""

    call: ClassVar = "get"

    key: _Key
    scope: _Scope = None
    namespace: InNamespace = None


class DeleteRequest(Request, frozen=True, kw_only=True):
    """Items that go for good."""

    call: ClassVar = "delete"

    keys: Annotated[
        tuple[str, ...] | None,
        ItemKeys(
            "A key, or a list of keys, of this scope; absent: all of it.", many=True, required=False
        ),
    ] = None
    scope: _Scope = None
    scope_prefix: Annotated[
        str | None, _ItemScopes(f"All items of {_Prefix}.", "--scope-prefix")
    ] = None
    force: Annotated[bool, Flag("Where the text is pinned too.", "--force")] = False
    dry_run: Annotated[bool, Flag("Say what would go and keep it.", "--dry-run")] = False
    actor: Annotated[str | None, Label("Who deletes; kept in tombstones.", "--actor")] = None
    namespace: InNamespace = None

    def __post_init__(self) -> None:
        named = [self.keys, self.scope, self.scope_prefix]
        if named == [None] * 3:
            raise ValidationError(
                "keys", Description("nothing"), "keys, a scope, or a scope_prefix"
            )
        if self.scope_prefix is not None and named[:2] != [None] * 2:
            raise ValidationError(
                "scope_prefix", self.scope_prefix, "it alone, or keys and a scope"
            )


class ListItemsRequest(Request, frozen=True, kw_only=True):
    """One page of items."""

    call: ClassVar = "list"

    scope_prefix: Annotated[
        str | None,
        _ItemScopes(f"Only items of {_Prefix}; absent: all.", "--scope-prefix"),
    ] = None
    offset: Annotated[int, Integer("Items to skip.", "--offset", least=0, default_text="0")] = 0
    limit: Annotated[
        int, Integer("Items per page, at most 1000.", "--limit", most=1000, default_text="20")
    ] = 20
    namespace: InNamespace = None


class ScopesRequest(Request, frozen=True, kw_only=True):
    """Scopes of items."""

    call: ClassVar = "scopes"

    prefix: Annotated[str | None, _ItemScopes(f"Only {_Prefix}; absent: all.", "--prefix")] = None
    depth: Annotated[
        int | None, Integer("Only so many parts of each, the rest cut off.", "--depth")
    ] = None
    namespace: InNamespace = None
