"""The types of `vestig.aio`: python/vestig/aio.pyi, made of the signatures of the calls that are
awaited.

`python tests/aio_stub.py` (or `make docs`) writes it; tests/test_aio.py compares.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from vestig.other_words import GROUPS

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "vestig"
STUB = PACKAGE / "aio.pyi"
# Calls that are not awaited.
PLAIN = ("scoped",)

HEAD = '"""Types of `vestig.aio`, made by tests/aio_stub.py of those of the synchronous calls."""\n'
# What is not made of a signature; the imports of the names in the rest stand above it.
TAIL = """
class Awaitables(_Store):
    def __init__(self, target: Vestig) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
    def __aiter__(self) -> AsyncIterator[Memory]: ...

def wrap(store: Vestig) -> Awaitables: ...

class Opening:
    def __init__(self, open_it: Callable[[], Vestig]) -> None: ...
    def __await__(self) -> Generator[Any, None, Awaitables]: ...
    async def __aenter__(self) -> Awaitables: ...
    async def __aexit__(self, *_: object) -> None: ...
"""
OF_TAIL = """
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any, Self, overload
from vestig.api.store import Vestig
from vestig.types import Memory
"""


def made() -> str:
    """What the stub should hold."""
    trees = {name: _tree(f"api/{name}.py") for name in ("store", *GROUPS)}
    groups = "".join(f"    {name}: _{name.title()}\n" for name in GROUPS)
    parts = [
        f"class _{name.title()}:\n{_calls(_class(trees[name], name.title()))}" for name in GROUPS
    ]
    parts.append(f"class _Store:\n{groups}{_calls(_class(trees['store'], 'Vestig'))}")
    opened = next(_functions(trees["store"].body, "open_store"))
    parts += [TAIL, _signature(opened, "open", "Opening", "")]
    body = "\n\n".join(parts)
    origins = [*trees.values(), ast.parse(OF_TAIL)]
    text = f"{HEAD}\n{_imports(body, origins)}\n\n__all__ = {_public()}\n\n{body}"
    return _formatted(text)


def _tree(path: str) -> ast.Module:
    return ast.parse((PACKAGE / path).read_text("utf-8"))


def _class(tree: ast.Module, name: str) -> list[ast.stmt]:
    return next(n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)


def _functions(body: list[ast.stmt], name: str = "") -> Iterator[ast.FunctionDef]:
    """The public functions of a body, each by its overloads where it has some."""
    found = [n for n in body if isinstance(n, ast.FunctionDef) and n.name[0] != "_"]
    several = {n.name for n in found if _is(n, "overload")}
    for one in found:
        if name in ("", one.name) and (_is(one, "overload") or one.name not in several):
            yield one


def _is(function: ast.FunctionDef, decorator: str) -> bool:
    return any(ast.unparse(one) == decorator for one in function.decorator_list)


def _calls(body: list[ast.stmt]) -> str:
    """The members of a class, whose calls are awaited; another name of one stands as it is."""
    calls = [
        _signature(one, one.name, "Awaitables" if one.name in PLAIN else None, "    ")
        for one in _functions(body)
    ]
    names = (ast.unparse(n) for n in body if isinstance(n, ast.Assign))
    return "".join(calls) + "".join(f"    {one}\n" for one in names if one[0] != "_")


def _signature(function: ast.FunctionDef, name: str, returns: str | None, indent: str) -> str:
    """A function without its body, awaited where it has the result of the synchronous one.

    Args:
        returns: the result that it has instead.
    """
    plain = returns is not None or _is(function, "property")
    kept = [d for d in map(ast.unparse, function.decorator_list) if d in ("overload", "property")]
    lines = [f"{indent}@{one}\n" for one in kept]
    result = returns or ast.unparse(function.returns or ast.Constant(None))
    word = "def" if plain else "async def"
    lines.append(f"{indent}{word} {name}({ast.unparse(function.args)}) -> {result}: ...\n")
    return "".join(lines)


def _imports(body: str, origins: list[ast.Module]) -> str:
    """The imports of the names that a stub has, as the modules have them that it is made of."""
    names = (n for n in ast.walk(ast.parse(body)) if isinstance(n, ast.Name))
    used = {n.id for n in names if isinstance(n.ctx, ast.Load)}
    found: dict[str, str] = {}
    tops = [node for tree in origins for node in tree.body]
    tops += [node for one in tops if isinstance(one, ast.If) for node in one.body]
    for node in tops:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                if name in used:
                    whole = ast.unparse(_import(node, alias))
                    if found.setdefault(name, whole) != whole:
                        raise ValueError(f"{name} is {found[name]!r} and {whole!r}")
    return "\n".join(found.values())


def _import(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    if isinstance(node, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(node.module, [alias], node.level)


def _public() -> str:
    tree = _tree("aio.py")
    names = (
        n.value for n in tree.body if isinstance(n, ast.Assign) and "__all__" in ast.unparse(n)
    )
    return ast.unparse(next(names))


def _formatted(text: str) -> str:
    """A stub as the linter wants it."""
    for words in (("check", "--select", "I", "--fix-only"), ("format",)):
        command = [
            sys.executable,
            "-m",
            "ruff",
            *words,
            "--quiet",
            "--stdin-filename",
            str(STUB),
            "-",
        ]
        text = subprocess.run(
            command, input=text, capture_output=True, text=True, check=True
        ).stdout
    return text


if __name__ == "__main__":
    STUB.write_text(made(), "utf-8")
