"""Messages about a path that is no route, and about a method that is not that of its route: they
name the route that does what a request asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import (
    GROUPS,
    attribute_of_group,
    clause_of,
    meaning_in,
    meaning_of_word,
    nearest,
)
from vestig.surfaces.http.routes import PREFIX, Route, routes
from vestig.surfaces.http.words import IMPORT_PATH, in_requests, is_of_requests, request_of
from vestig.surfaces.operation import operation
from vestig.surfaces.outlines import OUTLINES

# Segments that say nothing of what is asked for.
_SAYING_NOTHING: Final = lazy_pattern(r"api|v[0-9]+|memory|vestig")
# A segment that is the id of one of many.
_ID: Final = lazy_pattern(r"\{.*\}|[0-9a-f-]{8,}|[0-9]+|(?:mem|ent|edge|source)_.*")
# A method → what it does with what a path names: with all of a kind, and with one.
_VERBS: Final[Mapping[str, tuple[str, str]]] = {
    "GET": ("list", "get"),
    "POST": ("add", "update"),
    "PUT": ("add", "update"),
    "PATCH": ("update", "update"),
    "DELETE": ("delete", "delete"),
}
# What a server has beside its operations → words of others for it.
_BESIDE: Final[Mapping[str, str]] = {
    "GET /openapi.json": "swagger redoc openapi schema spec swagger.json openapi.json",
    "GET /health": "health healthz livez readyz ready live alive ping status up",
    "GET /metrics": "metrics prometheus",
    "GET /, which has the version": "version info about",
    f"POST {IMPORT_PATH} with the file as the body": "import upload ingest load",
}
# A longer path is no slip.
_SEGMENTS_MAX: Final = 6
_ALL: Final = f"all routes lie below {PREFIX}, and GET /openapi.json describes them"


def missing_route(method: str, path: str) -> str:
    """The message about a path that is no route.

    Example:
        >>> missing_route("POST", "/search")
        'no such route; use POST /api/memory/search {"query": …}'
        >>> missing_route("GET", "/api/memory/memories/7")
        'no such route; use GET /api/memory/show/…'
    """
    found = _meant(method, path)
    return f"no such route{clause_of(found)}" if found else f"no such route; {_ALL}"


def other_method(method: str, path: str, allowed: str) -> str:
    """The message about another method than that of a route.

    Example:
        >>> other_method("GET", "/api/memory/search", "POST")
        'expected POST, with the arguments as one JSON object in the body, got GET'
    """
    how = "as one JSON object in the body"
    if allowed.startswith("GET"):
        how = "in the query"
    elif path == IMPORT_PATH:
        how = "in the query and the file as the body"
    return f"expected {allowed.replace(', ', ' or ')}, with the arguments {how}, got {method}"


def _meant(method: str, path: str) -> str:
    """The way to do what a request asks for; "" where none is known."""
    every = path.lower().split("/")
    words = [one for one in every if one and not _SAYING_NOTHING.fullmatch(one)]
    if len(words) > _SEGMENTS_MAX:
        return ""
    if words and (found := meaning_in(words[0], _BESIDE)):
        return found
    # what is changed or deleted is one that the path names
    begin = 0 if method in ("PUT", "PATCH", "DELETE") else 1
    kinds = [one for place, one in enumerate(words) if not _names_one(one, after=place >= begin)]
    return (
        _route_at("/".join(words).replace("_", "-"))
        or _of_verb(method, kinds, one=len(kinds) < len(words))
        or _of_command("-".join(kinds))
        or _route_near("/".join(kinds))
    )


def _names_one(word: str, *, after: bool) -> bool:
    """Return whether a segment of a path names one memory, or one of what the segment before it
    names. `after`: it may be any word that is not known."""
    ours = {part for path in _routes() for part in path.split("/")}
    known = word in ours or word.removesuffix("s") in ours or word in GROUPS
    return bool(_ID.fullmatch(word)) or (after and not known and not meaning_of_word(word))


@cache
def _routes() -> Mapping[str, Route]:
    """The routes by their paths below the prefix, without what a path names."""
    return {route.path.removeprefix(f"{PREFIX}/").partition("/{")[0]: route for route in routes()}


def _route_at(named: str) -> str:
    """The request of a route that has another prefix here, or further segments."""
    words = named.split("/")
    for count in range(len(words), 0, -1):
        if route := _routes().get("/".join(words[:count])):
            names = list(route.parameters)[: len(words) > count]
            return request_of(route, *names)
    return ""


def _route_near(named: str) -> str:
    near = nearest(named, _routes())
    return request_of(_routes()[near]) if near else ""


def _of_verb(method: str, kinds: Sequence[str], *, one: bool) -> str:
    """The way to do what a method does with what a path names, else what its words say."""
    verb = _VERBS.get(method, _VERBS["GET"])[one]
    noun = "_".join(kinds) or ("memory" if one or method != "GET" else "memories")
    single = noun.removesuffix("ies") + "y" if noun.endswith("ies") else noun.removesuffix("s")
    is_one = one or verb in ("update", "delete")
    names = (f"{verb}_{single}", f"list_{single}") if is_one else (f"{verb}_{noun}",)
    meant = (
        *(_of_group(group, verb) for group in GROUPS if group in (noun, f"{noun}s", f"{noun}es")),
        *([_of_group("graph", names[0])] if is_one else ()),
        *map(meaning_of_word, (*names, noun, single, *kinds)),
    )
    return next((way for one in meant if is_of_requests(way := in_requests(one))), "")


def _of_group(group: str, verb: str) -> str:
    """The call of a group that does what a verb says; "" where none does."""
    calls = (route.arguments.method for route in _routes().values())
    own = [one.removeprefix(f"{group}.") for one in calls if one.startswith(f"{group}.")]
    return attribute_of_group(group, verb, own, ())


def _of_command(word: str) -> str:
    """The command of an operation that has no route."""
    if word in OUTLINES and not operation(word).path:
        return f"the command vestig {word}, on the machine of the store"
    return ""
