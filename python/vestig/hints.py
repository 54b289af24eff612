"""Hints: for an unknown name the one that was meant and those that there are, for a package that is
not installed the line that installs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from vestig.errors import ValidationError
from vestig.lazy_pattern import lazy_pattern

# A longer name is cut in a message.
NAME_CHARS_MAX: Final = 60
_BEFORE_CAPITAL: Final = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")

# Least similarity, 0 to 1, for a hint.
ALIKE: Final = 0.75
# Of a longer word no more is compared: it is no misspelt name.
_WORD_CHARS_MAX: Final = 100
# A name of Vestig → the words that other programs, and people, have for it.
_OTHER_WORDS: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(words.split())
    for name, words in {
        "limit": "k n top_k topk top_n num count"
        " number num_results n_results max max_results size page_size top",
        "query": "q question search prompt text input search_query query_text keywords content",
        "content": "text body memory fact note message value data document",
        "text": "content body memory fact note message value",
        "messages": "conversation history chat turns dialogue message",
        "where": "filter filters filter_by conditions",
        "key": "id name memory_id",
        "id": "memory_id mem_id uid uuid ids key",
        "ids": "id memory_ids memory_id",
        "old": "old_id id memory_id",
        "new": "new_id replacement by",
        "tags": "tag label labels category categories topic topics",
        "author": "speaker by username author_name name authors sender",
        "authors": "author speaker by username sender",
        "role": "type speaker_role",
        "roles": "role",
        "session_id": "session conversation conversation_id thread thread_id chat_id run_id",
        "session_ids": "session_id session sessions conversation"
        " conversation_id thread_id chat_id run_id",
        "scope": "user user_id userid users customer customer_id"
        " project channel channel_id workspace group collection folder scopes",
        "namespace": "tenant database index",
        "source": "origin src",
        "artifact_ref": "url uri link ref reference",
        "t_valid": "date timestamp time created_at when valid_from valid_at at",
        "valid_from": "date timestamp time created_at when t_valid valid_at at",
        "timestamp": "date time created_at when",
        "t_invalid": "valid_until valid_to end_date expires_at",
        "retention_until": "ttl expires expiry keep_until",
        "valid_at": "at when date",
        "as_of": "at when",
        "start": "from from_ after begin",
        "end": "to before",
        "dry_run": "dry plan preview",
        "since": "from start after date_from start_date from_date",
        "until": "to end before date_to end_date to_date",
        "metadata": "meta extra properties attributes payload metadata_filter",
        "silence": "threshold min_score min_confidence score_threshold confidence cut",
        "min_similarity": "threshold similarity_threshold min_score",
        "query_vector": "vector embedding query_embedding",
        "offset": "skip start from_",
        "supersedes": "replaces supersede replace",
        "reason": "why because comment",
        "budget": "max_tokens token_budget tokens token_limit",
        "explain": "reasons why debug verbose",
        "pinned": "pin important starred",
        "title": "name heading subject",
        "format": "layout style",
        "order_by": "sort sort_by order",
        "max_facts": "limit k n top_k max_results",
        "path": "store directory dir folder location db file",
        "embedder": "embedding embeddings encoder",
        "llm": "model language_model",
    }.items()
}


def missing_package(what: str, package: str, extra: str) -> str:
    """The message about a package that is not installed, with the line that installs it.

    Args:
        what: what needs it.
        extra: the extra of this package that brings it.

    Example:
        >>> missing_package("vestig serve", "uvicorn", "server").partition(" run: ")[0]
        'vestig serve needs the package uvicorn, which is not installed;'
    """
    return f"{what} needs the package {package}, which is not installed; run: {install_line(extra)}"


def install_line(extra: str) -> str:
    """The command that brings an extra, from where this package came from: the checkout that it
    runs in, else the checkout or the wheel that it was installed from, else an index."""
    checkout = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if os.path.isfile(os.path.join(checkout, "rust", "vestig-py", "Cargo.toml")):
        return pip_line(f"{checkout}[{extra}]", "-e")
    return pip_line(f"{_installed_from()}[{extra}]")


def pip_line(what: str, *options: str) -> str:
    """The command that installs a requirement beside this package.

    Example:
        >>> pip_line("vestig[mcp]").partition(" -m ")[2]
        "pip install 'vestig[mcp]'"
    """
    import shlex

    return shlex.join((sys.executable or "python3", "-m", "pip", "install", *options, what))


def _installed_from() -> str:
    """The path that was installed; the name where an index served it, or where the path is gone."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        origin = distribution("vestig").read_text("direct_url.json")
        url = urlsplit(json.loads(origin)["url"] if origin else "")
    except (PackageNotFoundError, ValueError, KeyError, TypeError):
        return "vestig"
    path = url2pathname(url.path) if url.scheme == "file" else ""
    return path if path and os.path.exists(path) else "vestig"


def nearest(word: str, names: Iterable[str], least: float = 0.0) -> str:
    """The name most like a word; "" when none is as alike as `least`, 0 to 1.

    Example:
        >>> nearest("hygene.min_chars", ["hygiene.max_chars", "hygiene.min_chars"])
        'hygiene.min_chars'
    """
    import difflib

    found = difflib.get_close_matches(word[:_WORD_CHARS_MAX], list(names), 1, least)
    return found[0] if found else ""


def did_you_mean(word: str, names: Iterable[str], least: float = ALIKE, otherwise: str = "") -> str:
    """The hint of a `ValidationError`; `otherwise` when no name is alike.

    Example:
        >>> did_you_mean("limt", ["limit", "mode"]), did_you_mean("zzz", ["limit"])
        ('did you mean limit?', '')
    """
    near = nearest(word, names, least)
    return f"did you mean {near}?" if near else otherwise


def nearest_name(word: str, names: Collection[str]) -> str:
    """The name that was probably meant: by other spelling of its parts, by meaning, else by
    letters; "" where none is near.

    Example:
        >>> [nearest_name(word, ["query", "limit"]) for word in ("Limit", "topK", "q", "limt", "x")]
        ['limit', 'limit', 'query', 'limit', '']
    """
    plain = _BEFORE_CAPITAL.sub("_", word[:NAME_CHARS_MAX]).replace("-", "_").lower()
    if plain in names:
        return plain
    for name, others in _OTHER_WORDS.items():
        if name in names and plain in others:
            return name
    return nearest(plain, names, ALIKE)


def unknown_name(
    name: str, names: Collection[str], owner: str, kind: str = "argument", near: str | None = None
) -> str:
    """The message about a name that a call or an object does not have.

    Args:
        names: those that it has.
        owner: what the call or object is called.
        kind: what such a name is of it.
        near: the one that was meant, where the caller knows; "" = none.

    Example:
        >>> unknown_name("k", ["query", "limit"], "recall")
        'recall has no argument k; did you mean limit? It takes: query, limit'
    """
    near = nearest_name(name, names) if near is None else near
    shown = name if len(name) <= NAME_CHARS_MAX else f"{name[:NAME_CHARS_MAX]}…"
    if not shown.strip() or not shown.isprintable():
        shown = repr(shown)
    meant = f"did you mean {near}? " if near else ""
    takes = f"It takes: {', '.join(names)}" if names else "It takes none"
    return f"{owner} has no {kind} {shown}; {meant}{takes}"


def check_names(
    given: Iterable[object],
    names: Collection[str],
    owner: str,
    kind: str = "field",
    *,
    path: str = "",
) -> None:
    """Every given name is one of these.

    Args:
        given: the names, or a mapping by them.
        names, owner, kind: as `unknown_name`.
        path: the argument that holds them; "" = they are arguments themselves.

    Raises:
        ValidationError: names the nearest, and all that there are.

    Example:
        >>> check_names({"limit": 3}, ["limit", "mode"], "recall")
    """
    for name in given:
        if name not in names:
            raise unknown_name_error(str(name), names, owner, kind, path=path)


def unknown_name_error(
    name: str,
    names: Collection[str],
    owner: str,
    kind: str = "field",
    near: str | None = None,
    *,
    path: str = "",
) -> ValidationError:
    """Like `unknown_name`, as an error; `path` as for `check_names`."""
    message = unknown_name(name, names, owner, kind, near)
    word = name[:NAME_CHARS_MAX]
    field = f"{path}.{word}" if path else word
    return ValidationError(field, word, f"one of {', '.join(names)}", message=message)
