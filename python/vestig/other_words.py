"""Words that other programs, and people, have for what Vestig has; and the spelling that a word is
near to.

A hint that names the wrong thing is worse than none. So a word is only near to a name where a slip
of the fingers explains it, or where a table says that it means the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from types import ModuleType
from typing import Final, NoReturn

from vestig.lazy_pattern import lazy_pattern
from vestig.word_tables import call_words

TYPE_CHECKING = False  # as in `vestig`

# Whether messages are read at a command line, which has flags in the place of arguments.
AT_COMMAND_LINE: Final[ContextVar[bool]] = ContextVar("at_command_line", default=False)
# What says over HTTP, or to who calls tools over MCP, what a text says in Python; None: no program
# that sends requests reads it.
IN_REQUESTS: Final[ContextVar[Callable[[str], str] | None]] = ContextVar(
    "in_requests", default=None
)

# Of a longer word no more is compared: it is no misspelt name.
_WORD_CHARS_MAX: Final = 100
_BEFORE_CAPITAL: Final = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")
# Shorter words are no slip for one another; in longer ones a letter may be another one; in still
# longer ones there may be two slips.
_SLIP_CHARS_MIN: Final = 4
_OTHER_LETTER_CHARS_MIN: Final = 6
_TWO_SLIPS_CHARS_MIN: Final = 8
_FAR: Final = 4
# Names that are compared again and again are kept without their dividers.
_WORDS_KEPT: Final = 4_096


def by_caller(python: str, command: str | None = None, request: str | None = None) -> str:
    """The way to say something to who reads the message: a caller in Python, at a command line, or
    over HTTP or MCP.

    Args:
        command: None = as in Python.
        request: None = what a server makes of the way in Python.

    Example:
        >>> by_caller("merge=True", "--merge")
        'merge=True'
    """
    if AT_COMMAND_LINE.get() and command is not None:
        return command
    said = IN_REQUESTS.get()
    if said is None:
        return python
    return said(python) if request is None else request


def is_request() -> bool:
    """Return whether a program that sends requests reads what is said."""
    return IN_REQUESTS.get() is not None


# --- spelling ----------------------------------------------------------------------------------


def nearest(word: str, names: Iterable[str]) -> str:
    """The name that a word is a misspelling of; "" where there is none, or more than one.

    The same letters in other case, or with other dividers, are the name. So is its plural. Else one
    letter is missing, too many, or changed places with its neighbour; from 6 letters on one may
    also be another, and from 8 on there may be two such slips.

    Example:
        >>> names = ["limit", "read_only", "hygiene.max_chars", "hygiene.min_chars", "stats"]
        >>> [nearest(one, names) for one in ("limt", "readOnly", "hygene.min_chars", "stash", "x")]
        ['limit', 'read_only', 'hygiene.min_chars', '', '']
    """
    typed = _letters(word[:_WORD_CHARS_MAX])
    best, found = _FAR, set[str]()
    for name in names:
        far = _apart(typed, _letters(name))
        if far < best:
            best, found = far, {name}
        elif far == best:
            found.add(name)
    return found.pop() if best < _FAR and len(found) == 1 else ""


@lru_cache(_WORDS_KEPT)
def _letters(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _apart(typed: str, name: str) -> int:
    """How far apart two words are: 0 the same, 1 a plural, then the slips and one more; `_FAR`
    where no slips make one of the other. The first letter is seldom another one."""
    if typed == name:
        return 0
    if not typed or not name:
        return _FAR
    if name in (f"{typed}s", f"{typed}es") or typed in (f"{name}s", f"{name}es"):
        return 1
    chars = min(len(typed), len(name))
    most = 2 if chars >= _TWO_SLIPS_CHARS_MIN else 1
    if chars < _SLIP_CHARS_MIN or abs(len(typed) - len(name)) > most:
        return _FAR
    if typed[0] != name[0] and typed[:2] != name[1::-1]:
        return _FAR
    slips = _distance(typed, name, 1 if chars >= _OTHER_LETTER_CHARS_MIN else _FAR)
    return slips + 1 if slips <= most else _FAR


def _distance(one: str, other: str, substitution: int) -> int:
    """Letters that are missing, too many, or swapped with their neighbour, each 1; and others."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            least = min(last[j] + 1, row[-1] + 1, last[j - 1] + (a != b and substitution))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        before, last = last, row
    return last[-1]


# --- meaning -----------------------------------------------------------------------------------


def meaning_in(word: str, table: Mapping[str, str]) -> str | None:
    """The name in a table that has the word, however it is divided and in whichever case."""
    letters = _letters(word[:_WORD_CHARS_MAX])
    rows = ((ours, words.split()) for ours, words in table.items())
    return next((ours for ours, words in rows if letters in map(_letters, words)), None)


OPEN_ASYNC: Final = "vestig.aio.open(path)"
_AND_AWAIT: Final = f"{OPEN_ASYNC}, and await its "
# Words of a name of several that say neither.
_SAYING_NOTHING: Final = frozenset(
    ("a", "by", "of", "where", "the", "from", "to", "my", "for", "archival", "core", "recall")
)
_LISTED: Final = ("items", "results", "hits", "rows", "records", "data", "entries")
# How the value begins of an argument that nothing takes the place of.
LEAVE_OUT: Final = "leave it out"
# The groups of calls of a store.
GROUPS: Final = ("items", "rules", "anchors", "branches", "graph", "admin")


def missing_attribute(name: str, owner: str, meant: str) -> AttributeError:
    """The error of an attribute that an object does not have.

    It has the attribute's name and no object, so that Python adds no likeness of its own to it.

    Example:
        >>> str(missing_attribute("remember", "a store", "store.commit"))
        "a store has no attribute 'remember'; use store.commit"
    """
    return AttributeError(f"{owner} has no attribute {name!r}{clause_of(meant)}", name=name)


def clause_of(meant: str) -> str:
    """The clause of a message that names what does what was meant; "" where nothing is known.

    Example:
        >>> clause_of("store.commit"), clause_of("there is no such call: a store takes no SQL")
        ('; use store.commit', '; there is no such call: a store takes no SQL')
    """
    own = meant.startswith(("there is no such call: ", "there is none: "))
    return f"; {meant}" if own else f"; use {meant}" if meant else ""


def attribute_of_store(name: str, names: Collection[str], group: str) -> str:
    """The call that does what an unknown attribute of a store is thought to do; "" = none.

    Args:
        names: the attributes that it has.
        group: the one group whose call has this name; "" = none, or several.

    Example:
        >>> attribute_of_store("remember", ["commit"], ""), attribute_of_store("gc", [], "admin")
        ('store.commit', 'store.admin.gc')
    """
    if (found := meaning_in(name, call_words()["store"])) is not None:
        return found
    if group:
        return f"store.{group}.{name}"
    plain = "_".join(word for word in words_apart(name).split("_") if word != "async")
    for other in (name.removeprefix("a"), plain):
        if other == words_apart(name):
            continue
        if other in names or call_of_words(other):
            return f"{_AND_AWAIT}{other}"
        meant = re.match(r"store\.(\w+)(?![\w.])", meaning_in(other, call_words()["store"]) or "")
        if meant and meant[1] not in GROUPS:
            return f"{_AND_AWAIT}{meant[1]}"
    if near := nearest(name, names):
        return f"store.{near}"
    return call_of_words(name)


def said_of_awaited(message: str) -> str:
    """The message of a call that a store does not have, for a store whose calls are awaited.

    Example:
        >>> said_of_awaited("no aclose; use vestig.aio.open(path), and await its close")
        'no aclose; use store.close, and await it'
    """
    head, found, call = message.rpartition(_AND_AWAIT)
    return f"{head}store.{call}, and await it" if found else message


def meaning_of_word(name: str) -> str:
    """The call that does what a word says, whichever object it is asked of; "" = none.

    Example:
        >>> meaning_of_word("remember"), meaning_of_word("search-memories")
        ('store.commit', 'store.recall')
    """
    return meaning_in(name, call_words()["store"]) or call_of_words(name)


def call_of_words(name: str) -> str:
    """The call that a name of several words describes: what is done, and with what; "" where a word
    of it is unknown, or nothing does that.

    Example:
        >>> names = ("deleteAllMemories", "get_user", "relevant_notes_search")
        >>> [call_of_words(one) for one in names]
        ['store.forget', '', 'store.recall']
    """
    tables = call_words()
    words = [word for word in words_apart(name).split("_") if word]
    for place in {0, len(words) - 1} if len(words) > 1 else ():
        rest = [w for w in (*words[:place], *words[place + 1 :]) if w not in _SAYING_NOTHING]
        objects = {meaning_in(word, tables["objects"]) for word in rest}
        verbs = tables["verbs"].items()
        for done in (verb for verb, said in verbs if words[place] in said.split()):
            if found := _call_of(done, objects):
                return found
    return ""


def _call_of(done: str, objects: set[str | None]) -> str:
    """The call that does such a thing with these; how many they are counts last."""
    if None in objects:
        return ""
    kinds = ["near"] if "near" in objects else sorted(str(one) for one in objects)
    for left_out in ({""}, {"one"}, {"many"}, {"one", "many"}):
        said = "/".join((done, *(kind for kind in kinds if kind not in left_out)))
        if said != done or not kinds:
            for call, forms in call_words()["named"].items():
                if said in forms.split():
                    return call
    return ""


def words_apart(name: str) -> str:
    """The words of a name, divided by underscores.

    Example:
        >>> words_apart("addMemory"), words_apart("delete-all")
        ('add_memory', 'delete_all')
    """
    return _BEFORE_CAPITAL.sub("_", name[:_WORD_CHARS_MAX]).replace("-", "_").lower()


def attribute_of_group(
    group: str, name: str, names: Collection[str], of_store: Iterable[str]
) -> str:
    """Return what `attribute_of_store` returns, of a group of calls.

    Args:
        names: the attributes that the group has.
        of_store: those that the store has.

    Example:
        >>> attribute_of_group("rules", "delete", ["remove"], [])
        'store.rules.remove'
    """
    if found := meaning_in(name, call_words()["groups"].get(group, {})):
        return found
    if name[:1] == "a" and name[1:] in names:
        return f"{_AND_AWAIT}{group}.{name[1:]}"
    if near := nearest(name, names):
        return f"store.{group}.{near}"
    # what is asked of the whole store may be asked of its upkeep
    return (
        f"store.{name}" if name in of_store else meaning_of_word(name) if group == "admin" else ""
    )


# A group of calls → the call that lists what it has.
_LISTS: Final[Mapping[str, str]] = {
    "anchors": "store.anchors.stale()",
    "graph": "store.graph.entities()",
    "admin": "store.admin.stats()",
    "items": "store.items.list(), or {memory.key: memory.content"
    " for memory in store if memory.key}",
}


def of_every_scope(scope: str, name: str) -> str:
    """The hint of a view, which has one scope, that was asked for others.

    Args:
        name: the field of the filter that asked for them.

    Example:
        >>> print(of_every_scope("tom", "unscoped").partition(", as in ")[2])
        store.recall(query, where={"scope": 'tom', "unscoped": True})
    """
    hint = "the store that it is a view of takes every scope"
    if name == "unscoped":
        hint += f', as in store.recall(query, where={{"scope": {scope!r}, "unscoped": True}})'
    return hint


def group_that_is_called(group: str) -> TypeError:
    """The error of a group of calls that is called itself.

    Example:
        >>> str(group_that_is_called("rules"))
        'store.rules is a group of calls; use store.rules.list()'
    """
    listing = _LISTS.get(group, f"store.{group}.list()")
    return TypeError(f"store.{group} is a group of calls; use {listing}")


class NamedAsCall(ModuleType):
    """A package that has the name of a call of a store, for which it is taken where it is called.

    Example:
        >>> NamedAsCall("vestig.recall")("when do deploys run?")
        Traceback (most recent call last):
            ...
        TypeError: vestig.recall is a module; use vestig.open(path).recall
    """

    def __call__(self, *_: object, **__: object) -> NoReturn:
        call = self.__name__.rpartition(".")[2]
        raise TypeError(f"{self.__name__} is a module; use vestig.open(path).{call}")


class NamesMissing:
    """The base of results: an attribute that they do not have, or a key of a dictionary, is an
    error with the attribute that was meant, where there is one."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker knows the attributes that there are

        def __getattr__(self, name: str) -> NoReturn:
            meant = "" if name.startswith("_") else _attribute(self, name)
            owner = type(self).__name__
            article = "an" if owner[0] in "AEIOU" else "a"
            raise missing_attribute(name, f"{article} {owner}", meant)

        def __getitem__(self, key: object) -> NoReturn:
            raise no_subscript(self, key)


def no_subscript(value: object, key: object) -> TypeError:
    """The error of a result that is taken for a dictionary.

    Example:
        >>> str(no_subscript(NamesMissing(), "colour"))
        "a NamesMissing takes no ['colour']"
    """
    name = key if isinstance(key, str) else ""
    own = _names(value)
    meant = name if name in own else _attribute(value, name)
    if isinstance(key, int) and "to_dict" in own:  # `dict(value)` asks for the first of its pairs
        meant = "to_dict()"
    hint = f"; use {meant}" if meant.startswith("[") else f"; use .{meant}" if meant else ""
    # what is no name may be a text that no message shows
    shown = repr(key) if isinstance(key, int) or name.isidentifier() else "…"
    return TypeError(f"a {type(value).__name__} takes no [{shown:.60}]{hint}")


def _attribute(value: object, name: str) -> str:
    """The attribute of a result that was meant, or that of the memory, entity or edge in it."""
    own = _names(value)
    if not name:
        return ""
    if found := attribute_of_result(type(value).__name__, name, own):
        return found
    for field in ("memory", "entity", "edge", "node"):
        inner = getattr(value, field) if field in own else None
        if isinstance(inner, NamesMissing):
            found = name if name in _names(inner) else _attribute(inner, name)
            return f"{field}.{found}" if found else ""
    fields: tuple[str, ...] = getattr(type(value), "__struct_fields__", ())
    return fields[0] if hasattr(type(value), "__len__") and name in _LISTED else ""


def _names(value: object) -> list[str]:
    known = {*dir(type(value)), *getattr(value, "__dataclass_fields__", ())}
    return [name for name in known if not name.startswith("_")]


def attribute_of_result(owner: str, name: str, names: Iterable[str]) -> str:
    """The attribute of a result, by the name of its class, that was meant by an unknown one.

    Example:
        >>> attribute_of_result("CommitOutcome", "id", []), attribute_of_result("Edge", "json", [])
        ('memory_id', 'to_dict')
    """
    tables = call_words()["results"]
    return meaning_in(name, {**tables[""], **tables.get(owner, {})}) or nearest(name, names)


def argument_of_call(word: str, call: str) -> str:
    """The value that a call takes in the place of an argument that it alone is thought to have.

    Example:
        >>> argument_of_call("user", "open"), argument_of_call("user", "commit")
        ('store.scoped(…)', '')
    """
    of_calls = call_words()["of_calls"].items()
    found = (meaning_in(word, rows) for calls, rows in of_calls if call in calls.split(", "))
    return by_caller(next(filter(None, found), ""))
