"""Texts for callers in Python, put for programs that send requests: routes in the place of calls,
JSON in the place of keywords.

Only texts of this package are put so, never what somebody gave.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final
from urllib.parse import quote

from vestig.calls.declaration import rows_of
from vestig.calls.filter import FIELDS
from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import GROUPS
from vestig.store.erasure import FINISH
from vestig.surfaces.http.routes import PREFIX, Route, routes
from vestig.surfaces.outlines import OUTLINES

IMPORT_PATH: Final = f"{PREFIX}/import"
# Stands for what a caller fills in.
_BLANK: Final = "…"
_BLANK_NAME: Final = "_blank"
_LIST: Final = f"GET {PREFIX}/list"
_STATS: Final = f"GET {PREFIX}/stats"
_EXPORT: Final = f"POST {PREFIX}/export"
_COMMIT: Final = f"POST {PREFIX}/commit"
# Calls whose arguments are a body of its own kind.
_BY_BODY: Final = {
    "commit_many": f'{_COMMIT} {{"items": […]}}',
    "import_": f"POST {IMPORT_PATH} with the file as the body",
}
# Ways in Python that no route has as they are → the way over HTTP.
_WAYS: Final[Mapping[str, str]] = {
    "store.scoped(scope).commit_many": "scope in each item",
    "store.scoped(scope) has both for one user": "scope beside content is for one user",
    'anchor in store.scoped("auto") (keeps it on the branch that changed the file)': "anchor",
    "store.scoped(scope)": f"scope of {_COMMIT}",
    "store.scoped": f"scope of {_COMMIT}, and where.scope of what reads",
    "store.rules, or store.admin.prune": f"GET {PREFIX}/rule/list, or POST"
    f" {PREFIX}/housekeeping/prune",
    "since and until": "where.since and where.until",
    "{memory.session_id for memory in store}": f"{_LIST}, whose memories have session_id",
    "{memory.scope for memory in store}": f"{_STATS}, which has scopes",
    "{tag for memory in store for tag in memory.tags}": f"{_LIST}, whose memories have tags",
    "store.admin.stats().namespaces": f"{_STATS}, which has namespaces",
    "list(store), or [memory.to_dict() for memory in store]": _EXPORT,
    "[memory.to_dict() for memory in store]": _EXPORT,
    "list(store)": _EXPORT,
    "for memory in store": _EXPORT,
    "key in store, or id in store": f"GET {PREFIX}/get?key=…, with 404 where there is none",
    "[store.get(key) for key in keys]": f"{_LIST}?where.keys=…",
    "a key without a value raises vestig.NotFoundError, and `key in store` asks for one": (
        "a key without a value is answered with 404"
    ),
    "store.recall(query)[0].reason, and store.recall(query, expect=id).why_not": (
        "explain: true, and expect: [id]"
    ),
    "result[0].reason, which every result has": "explain",
    "result[0].score, which every result has": "score, which every result has",
    "result[0].metadata, which every result has": "explain",
    "store.recall, whose hits": f"POST {PREFIX}/recall, whose results",
    FINISH: f"POST {PREFIX}/housekeeping/gc",
    "vestig.restore(backup, path)": "the command vestig restore",
    "vestig.restore": "the command vestig restore",
    "vestig.open(path, namespace=…).import_(file)": "the command vestig --namespace NS import FILE,"
    " on the machine of the store",
    "vestig.open(…, namespace=…), or namespace=… in a call": "namespace=… in a request",
}
_GROUP: Final = rf"(?:{'|'.join(GROUPS)})"
_CALL: Final = rf"(?:store\.)?{_GROUP}\.[a-z_]+|store\.[a-z_]+|[a-z_]+(?=\()"
_KEYWORD: Final = r"[a-z_]+(?==[^=\s])"
_COMMAND: Final = r"`vestig (?P<line>[^`]+)`"
_WORDS_OF_JSON: Final = {"True": "true", "False": "false", "None": "null"}
_PIECE: Final = lazy_pattern(
    rf"(?P<way>{'|'.join(map(re.escape, _WAYS))})|{_COMMAND}"
    rf"|\b(?:(?P<call>{_CALL})|(?P<keyword>{_KEYWORD})|(?P<word>True|False|None)\b)"
)
_OF_PYTHON: Final = lazy_pattern(r"\bstore[.)=]|vestig\.(?!md)|\bimport ")
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}
# The attribute of what a call gives.
_OF_ANSWER: Final = lazy_pattern(r"\.([a-z_]+)\b(?!\()")


def in_requests(text: str, *, query: bool = False) -> str:
    """A text for callers in Python as a program that sends requests reads it.

    Args:
        query: arguments stand in the query of the request that is answered, not in its body.

    Example:
        >>> in_requests("use store.search(query), or all=True")
        'use POST /api/memory/search {"query": …}, or "all": true'
        >>> in_requests("did you mean where.scope?")
        'did you mean where.scope?'
    """
    found, at = [], 0
    while (match := _PIECE.search(text, at)) is not None:
        found.append(text[at : match.start()])
        said, at = _put(text, match.end(), match.groupdict(), query)
        found.append(match[0] if said is None else said)
    return "".join((*found, text[at:]))


in_query: Final = partial(in_requests, query=True)


def _put(
    text: str, end: int, named: Mapping[str, str | None], query: bool
) -> tuple[str | None, int]:
    """(what is said in the place of a piece of a text, None = the piece itself; where it ends)."""
    if (way := named["way"]) is not None:
        return _WAYS[way], end
    if (line := named["line"]) is not None:
        return _request_of_command(line), end
    if (word := named["word"]) is not None:
        return _WORDS_OF_JSON[word], end
    if (keyword := named["keyword"]) is not None:
        after = _end_of_value(text, end + 1)
        value = _parsed(text[end + 1 : after])
        if query:
            return "&".join(_in_query(keyword, value)), after
        return f'"{keyword}": {_json(value)}', after
    name = str(named["call"]).removeprefix("store.")
    after = _end_of_value(text, end) if text[end : end + 1] == "(" else end
    if name in _BY_BODY:
        return _BY_BODY[name], after
    route = _by_call().get(name)
    if route is None:
        return None, end
    if name in (text, text.removeprefix("store.")):
        return request_of(route), after
    said = _request(route, _arguments(route, text[end + 1 : after - 1]))
    if attribute := _OF_ANSWER.match(text, after):
        return f"the {attribute[1]} of {said}", attribute.end()
    return said, after


# --- routes ------------------------------------------------------------------------------------


@cache
def _by_call() -> Mapping[str, Route]:
    """A call of a store → its route."""
    return {route.arguments.method: route for route in routes()}


@cache
def _by_command() -> Mapping[str, Route]:
    """Words that are typed for a command → its route."""
    named = ((name, route) for route in routes() if (name := route.operation.name))
    return {
        typed: route
        for name, route in named
        for typed in (name, OUTLINES[name].short or name.removeprefix("memory "))
    }


def request_of(route: Route, *names: str) -> str:
    """A request of a route as it is written in a message, with the arguments that it needs and
    these.

    Example:
        >>> request_of(_by_call()["search"]), request_of(_by_call()["show"])
        ('POST /api/memory/search {"query": …}', 'GET /api/memory/show/…')
    """
    needed: Sequence[str] = route.arguments.required
    if not needed and (route.operation.ranked or route.arguments.confirmed):
        needed = list(route.parameters)[:1]
    given = dict.fromkeys((*needed, *names), ast.Name(_BLANK_NAME))
    return _request(route, given)


def is_of_requests(text: str) -> bool:
    """Return whether a text that `in_requests` gave names no way that only Python has.

    Example:
        >>> is_of_requests("GET /api/memory/stats"), is_of_requests("repr(store)")
        (True, False)
    """
    return bool(text) and _OF_PYTHON.search(text) is None


def _arguments(route: Route, source: str) -> dict[str, Any]:
    """The arguments of a call by name, as far as the route takes them; fields of the filter in
    `where`."""
    call = _parsed(f"f({source})")
    if not isinstance(call, ast.Call):
        return {}
    order = list(rows_of(route.arguments.call))
    given: dict[str, Any] = dict(zip(order, call.args, strict=False))
    given |= {one.arg: one.value for one in call.keywords if one.arg is not None}
    rows, found = route.parameters, dict[str, Any]()
    where: dict[str, Any] = {}
    for name, value in given.items():
        if name in rows:
            found[name] = value
        elif name in FIELDS and "where" in rows:
            where[name] = value
    return found | ({"where": where} if where else {})


def _request(route: Route, given: Mapping[str, Any]) -> str:
    """A request as it is written in a message, its arguments by name as parsed."""
    path, arguments = route.path, dict(given)
    for name in list(arguments):
        if f"{{{name}}}" in path:
            (said,) = _in_query(name, arguments.pop(name))
            path = path.replace(f"{{{name}}}", said.partition("=")[2])
    path = path.replace("{id}", _BLANK)
    if route.method == "GET":
        pairs = "&".join(one for name, value in arguments.items() for one in _in_query(name, value))
        return f"GET {path}?{pairs}" if pairs else f"GET {path}"
    needs = route.arguments.confirmed
    if arguments and (needs == "always" or (needs and needs in arguments)):
        arguments["confirm"] = ast.Constant(True)
    return f"POST {path} {_json(arguments)}" if arguments else f"POST {path}"


def _request_of_command(line: str) -> str | None:
    """The request that does what a command does; None: no route takes all that stands there."""
    words = line.split()
    for count in (3, 2, 1):
        if route := _by_command().get(" ".join(words[:count])):
            break
    else:
        return None
    given, rest = dict[str, Any](), words[count:]
    flags = {row.flag: row for row in route.parameters.values() if row.flag}
    places = [name for name, row in route.parameters.items() if not row.flag]
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            if places:
                given[places.pop(0)] = ast.Name(_BLANK_NAME)
        elif word in flags:
            takes = bool(rest) and not rest[0].startswith("--")
            value: ast.expr = ast.Name(_BLANK_NAME) if takes else ast.Constant(True)
            rest = rest[1:] if takes else rest
            given[flags[word].name] = value
        else:
            return None
    return _request(route, given)


# --- values ------------------------------------------------------------------------------------


def _end_of_value(text: str, at: int) -> int:
    """Where an expression ends: with its brackets and quotes, else before what parts words."""
    closing: list[str] = []
    quoted = ""
    for place in range(at, len(text)):
        char = text[place]
        if quoted:
            quoted = "" if char == quoted else quoted
        elif char in "'\"":
            quoted = char
        elif char in _PAIRS:
            closing.append(_PAIRS[char])
            continue
        elif closing and char == closing[-1]:
            closing.pop()
        elif not closing and not (char.isalnum() or char in "_…:/"):
            return place
        if not closing and not quoted and char in "'\")]}":
            return place + 1
    return len(text)


def _parsed(source: str) -> ast.expr:
    """An expression; a blank where it is none."""
    try:
        return ast.parse(source.replace(_BLANK, _BLANK_NAME).strip(), mode="eval").body
    except SyntaxError:
        return ast.Name(_BLANK_NAME)


def _json(value: Any) -> str:
    """A value as JSON, in which names are blanks."""
    if isinstance(value, Mapping):
        return (
            f"{{{', '.join(f'{json.dumps(name)}: {_json(one)}' for name, one in value.items())}}}"
        )
    if isinstance(value, ast.Dict):
        named = {key.value: one for key, one in zip(value.keys, value.values, strict=True)
                 if isinstance(key, ast.Constant)}  # fmt: skip
        return _json(named)
    if isinstance(value, (ast.List, ast.Tuple)):
        return f"[{', '.join(map(_json, value.elts))}]"
    if isinstance(value, ast.Constant):
        return json.dumps(value.value, ensure_ascii=False).replace(_BLANK_NAME, _BLANK)
    return _BLANK


def _in_query(name: str, value: Any) -> Iterator[str]:
    """A value as parameters of a query; fields of the filter one by one."""
    if isinstance(value, ast.Dict) and name == "where":
        value = {
            key.value: one
            for key, one in zip(value.keys, value.values, strict=True)
            if isinstance(key, ast.Constant)
        }
    if isinstance(value, Mapping):
        for field, one in value.items():
            yield from _in_query(f"{name}.{field}", one)
    elif isinstance(value, ast.List):
        for one in value.elts:
            yield from _in_query(name, one)
    elif isinstance(value, ast.Constant):
        text = value.value if isinstance(value.value, str) else json.dumps(value.value)
        yield f"{name}={quote(text.replace(_BLANK_NAME, _BLANK), safe=':/@…')}"
    else:
        yield f"{name}={_BLANK}"
