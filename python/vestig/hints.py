"""Hints: for an unknown name the one that was meant and those that there are, for a package that is
not installed the line that installs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable
from typing import Final

from vestig.errors import ValidationError
from vestig.other_words import LEAVE_OUT, argument_of_call, nearest, words_apart
from vestig.word_tables import call_words

# More names than this bury the one that was meant, where somebody reads a traceback.
_NAMES_BESIDE_HINT: Final = 12
# A longer name is cut in a message.
NAME_CHARS_MAX: Final = 60


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


def did_you_mean(word: str, names: Iterable[str], otherwise: str = "") -> str:
    """The hint of a `ValidationError`; `otherwise` when no name is near.

    Example:
        >>> did_you_mean("limt", ["limit", "mode"]), did_you_mean("zzz", ["limit"])
        ('did you mean limit?', '')
    """
    near = nearest(word, names)
    return f"did you mean {near}?" if near else otherwise


def nearest_or_all(word: str, names: Iterable[str]) -> str:
    """The clause behind a word that is none of these: the one that is near, else all of them.

    Example:
        >>> nearest_or_all("ADDED", ["ADD", "PIN"]), nearest_or_all("IMPROT", ["ADD", "IMPORT"])
        ('; expected one of ADD, PIN', '; the nearest is IMPORT')
    """
    known = [str(name) for name in names]
    near = nearest(word, known)
    return f"; the nearest is {near}" if near else f"; expected one of {', '.join(known)}"


def nearest_name(word: str, names: Collection[str], call: str = "") -> str:
    """The name that was probably meant: by meaning, else by spelling; "" where none is near.

    Args:
        call: the call whose arguments they are.

    Example:
        >>> [nearest_name(word, ["query", "limit"]) for word in ("Limit", "topK", "q", "limt", "x")]
        ['limit', 'limit', 'query', 'limit', '']
    """
    return meant_name(word, names, call) or nearest(word[:NAME_CHARS_MAX], names)


def meant_name(word: str, names: Collection[str], call: str = "") -> str:
    """The name that a word is in other letters or that means the same; "" where none is.

    Example:
        >>> [meant_name(word, ["query", "limit"]) for word in ("Limit", "topK", "limt")]
        ['limit', 'limit', '']
    """
    plain = words_apart(word)
    if plain in names:
        return plain
    if of_call := argument_of_call(plain, call):
        return of_call
    rows = call_words()["arguments"].items()
    return next((n for n, words in rows if n in names and plain in words.split()), "")


def unknown_name(
    name: str,
    names: Collection[str],
    owner: str,
    kind: str = "argument",
    near: str | None = None,
    *,
    brief: bool = False,
) -> str:
    """The message about a name that a call or an object does not have.

    Args:
        names: those that it has.
        owner: what the call or object is called.
        kind: what such a name is of it.
        near: the one that was meant, where the caller knows; "" = none.
        brief: many names are left out where one was meant.

    Example:
        >>> unknown_name("k", ["query", "limit"], "recall")
        'recall has no argument k; did you mean limit? It takes: query, limit'
    """
    near = nearest_name(name, names, owner) if near is None else near
    shown = name if len(name) <= NAME_CHARS_MAX else f"{name[:NAME_CHARS_MAX]}…"
    if not shown.strip() or not shown.isprintable():
        shown = repr(shown)
    head = f"{owner} has no {kind} {shown}; "
    if near.startswith(LEAVE_OUT):
        return f"{head}{near}"
    takes = f"t takes: {', '.join(names)}" if names else "t takes none"
    if not near:
        return f"{head}i{takes}"
    left_out = brief and len(names) > _NAMES_BESIDE_HINT
    return f"{head}did you mean {near}?" + ("" if left_out else f" I{takes}")


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
    word, listed = name[:NAME_CHARS_MAX], ", ".join(names)
    field = f"{path}.{word}" if path else word
    brief = message.removesuffix(f"t takes: {listed}").removesuffix("; i").removesuffix(" I")
    return ValidationError(field, word, f"one of {listed}", message=message, brief=brief)
