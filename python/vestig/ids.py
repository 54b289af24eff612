"""Ids: a prefix and a lower-case UUIDv4."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from vestig._core import id_bytes, id_text, random_id
from vestig.errors import ValidationError, kind_of
from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import by_caller

__all__ = [
    "ID_PREFIXES",
    "PREFIX_CHARS_MIN",
    "NewIds",
    "check_id_prefix",
    "check_namespace",
    "id_bytes",
    "id_text",
    "is_full_id",
    "memory_id_text",
    "new_id",
    "repeatable_ids",
    "split_ids",
]

ID_PREFIXES: Final = ("mem", "ent", "edge", "evt", "source", "job", "req", "item")
PREFIX_CHARS_MIN: Final = 8
NAMESPACE_CHARS_MAX: Final = 64
_ID_BYTES: Final = 16
_IDS_AT_ONCE: Final = 64
_NAMESPACE_ALPHABET: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")

_FULL: Final = {
    prefix: lazy_pattern(
        rf"{prefix}_[0-9a-f]{{8}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{12}}"
    )
    for prefix in ID_PREFIXES
}
# What may follow the underscore: at least `PREFIX_CHARS_MIN` characters of a UUID.
_BODY: Final = lazy_pattern(r"[0-9a-f-]{8,36}")

# The source of the random bits of ids in this context.
_random_bytes: ContextVar[Callable[[int], bytes]] = ContextVar("random_bytes", default=os.urandom)


@contextmanager
def repeatable_ids(seed: str) -> Iterator[None]:
    """New ids of this context follow from the seed: for stores that are made to be measured.

    Walks draw by id, so that two measurements agree only when the ids do. Never for a
    store that is kept.

    Example:
        >>> with repeatable_ids("a"):
        ...     one = new_id("mem")
        >>> with repeatable_ids("a"):
        ...     other = new_id("mem"), new_id("mem")
        >>> one == other[0] != other[1]
        True
    """
    import random

    token = _random_bytes.set(random.Random(seed).randbytes)
    try:
        yield
    finally:
        _random_bytes.reset(token)


def new_id(prefix: str) -> str:
    """A new random id.

    Example:
        >>> new_id("mem")[:4], len(new_id("mem"))
        ('mem_', 40)
    """
    return random_id(prefix, _random_bytes.get()(_ID_BYTES))


class NewIds:
    """New random ids for one piece of work in one thread; the system is asked for bits of many at
    once. Never kept beyond it: a child of a fork would give the same ones.

    Example:
        >>> ids = NewIds()
        >>> is_full_id(ids.take("mem"), "mem"), ids.take("mem") == ids.take("mem")
        (True, False)
    """

    def __init__(self) -> None:
        self._draw = _random_bytes.get()
        # ids that are to be repeatable are drawn one by one, as `new_id` does
        self._at_once = _IDS_AT_ONCE if self._draw is os.urandom else 1
        self._left: list[bytes] = []

    def take(self, prefix: str) -> str:
        """The next id."""
        if not self._left:
            self._left = split_ids(self._draw(_ID_BYTES * self._at_once))
        return random_id(prefix, self._left.pop())


def split_ids(packed: bytes) -> list[bytes]:
    """Ids that lie side by side, 16 bytes each.

    Example:
        >>> split_ids(bytes(16) + bytes(range(16))) == [bytes(16), bytes(range(16))]
        True
    """
    return [packed[at : at + _ID_BYTES] for at in range(0, len(packed), _ID_BYTES)]


def is_full_id(text: str, prefix: str) -> bool:
    """Return whether `text` is a whole id of this kind.

    Example:
        >>> is_full_id(new_id("mem"), "mem"), is_full_id("mem_0123", "mem")
        (True, False)
    """
    form = _FULL.get(prefix)
    return form is not None and form.fullmatch(text) is not None


def memory_id_text(text: str) -> str | None:
    """The id of a memory, or at least 8 characters of it, with its prefix; None for another text.

    Example:
        >>> memory_id_text("0123abcd"), memory_id_text("Ada")
        ('mem_0123abcd', None)
    """
    body = text.removeprefix("mem_")
    return f"mem_{body}" if _BODY.fullmatch(body) else None


def check_id_prefix(field: str, text: object, prefix: str, listed: str = "") -> str:
    """A full id, or a prefix of one with at least 8 of 0-9 and a-f after the underscore; those of a
    memory may stand alone.

    Args:
        listed: says what lists the ids that are meant; "" = what takes a key in their place.

    Example:
        >>> check_id_prefix("id", "0123abcd", "mem"), check_id_prefix("id", "ent_0123abcd", "ent")
        ('mem_0123abcd', 'ent_0123abcd')
    """
    if not isinstance(text, str):
        raise _no_text(field, text, prefix)
    text = (memory_id_text(text) or text) if prefix == "mem" else text
    body = text.removeprefix(f"{prefix}_")
    if body == text or not _BODY.fullmatch(body):
        hint = listed
        if not listed and prefix == "mem" and body == text:
            hint = _of_key(field)
        elif prefix == "source":
            listed = "store.documents() has the ids of documents"
            hint = by_caller(listed, "`vestig document list` shows the ids of documents")
        raise ValidationError(
            field,
            text,
            f"an id such as {prefix}_xxxxxxxx-…, whole or at least"
            f" {PREFIX_CHARS_MIN} characters of 0-9 and a-f after the underscore",
            hint,
        )
    return text


def _no_text(field: str, value: object, prefix: str) -> ValidationError:
    """The error of an id that is no text, with the attribute of an object that has it."""
    allowed = f"an id as text ({prefix}_…)"
    return ValidationError(field, kind_of(value), allowed, id_of_object(value))


def id_of_object(value: object) -> str:
    """The attribute of an object that has its id, as a hint; "" where none has.

    Example:
        >>> id_of_object(7)
        ''
    """
    names = ("memory_id", "id")
    own = next((name for name in names if isinstance(getattr(value, name, None), str)), "")
    return f"use the {own} of the {type(value).__name__}" if own else ""


def _of_key(field: str) -> str:
    """Names what takes a key, where the id of a memory is asked for."""
    if field.startswith("ids["):  # of `forget`, which takes both
        return by_caller(
            'use where={"keys": [key]} for all that a key had, {"entities": [name]} for what'
            ' mentions a name, or {"source_ids": [file]} for what was read of a document; ids are'
            " found by store.search(query)",
            "`vestig forget --keys KEY` forgets what a key has, `vestig forget --entities NAME`"
            " what mentions a name, `vestig forget --source-ids FILE` what was read of a document,"
            " `vestig forget --scope S` the memories of one scope, and `vestig search` finds ids by"
            " words",
        )
    return by_caller(
        "the memory of a key is named by its id; use store.get(key).id",
        "`vestig get KEY` shows the memory of a key with its id, `vestig history KEY` all that it"
        " had, and `vestig search` finds ids by words",
    )


def check_namespace(value: object) -> str:
    """A namespace's name: 1 to 64 characters of `a-z 0-9 . _ -`, and not `.` or `..`, which URLs
    and paths take for something else.

    Example:
        >>> check_namespace("team-1")
        'team-1'
    """
    fits = isinstance(value, str) and 1 <= len(value) <= NAMESPACE_CHARS_MAX
    if not fits or not _NAMESPACE_ALPHABET.issuperset(str(value)) or value in (".", ".."):
        raise ValidationError(
            "namespace",
            value,
            f"1 to {NAMESPACE_CHARS_MAX} characters of a-z 0-9 . _ -, and not . or ..",
        )
    return str(value)
