"""Words that other programs, and people, have for what Vestig has: tables of `data/`.

An entry is what Vestig has → the words of others for it, divided by spaces. Where several entries
have a word, the first counts; tables in which none does twice are sorted.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TypedDict, TypeVar

_T = TypeVar("_T")
_Table = dict[str, str]


class _Phrases(TypedDict):
    phrases: _Table


class CallWords(TypedDict):
    """The tables of `data/call_words.json`.

    Attributes:
        store: a call, or what does the same → single words for it, and such of several as say more
            than their parts do.
        verbs: of a name of several words: what is done.
        objects: of a name of several words: with what.
        named: a call → what is done, with what; the words of a name may stand in any order.
        groups: a group of calls → words for what it has.
        arguments: an argument of any call.
        of_calls: names of calls, divided by commas → what is given in the place of words that these
            alone have.
        more_of_calls: a call that lacks an argument, or has one too many by place → what more is
            said of it.
        by_name: a call with too many arguments by place → what stands by name.
        results: the class of a result → its attributes.
        names: a module, or a package with its modules → a name of it, or what does the same.
    """

    store: _Table
    verbs: _Table
    objects: _Table
    named: _Table
    groups: dict[str, _Table]
    arguments: _Table
    of_calls: dict[str, _Table]
    more_of_calls: _Table
    by_name: _Table
    results: dict[str, _Table]
    names: dict[str, _Table]


@cache
def call_words() -> CallWords:
    """The words for calls, and for what they take and return."""
    return read_tables("call_words.json", CallWords)


def read_tables(file: str, kind: type[_T]) -> _T:
    """The tables of a file of `data/`: the name of one of its phrases, in braces, stands for it."""
    # imported here: only a word that is unknown needs them
    import msgspec

    from vestig.decoders import decoded

    with open(os.path.join(os.path.dirname(__file__), "data", file), "rb") as opened:
        data = opened.read()
    for name, phrase in decoded(data, _Phrases)["phrases"].items():
        data = data.replace(f"{{{name}}}".encode(), msgspec.json.encode(phrase)[1:-1])
    return decoded(data, kind)
