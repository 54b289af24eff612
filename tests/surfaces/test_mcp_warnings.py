"""What a commit warns of names, over MCP, only calls and arguments that an agent has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import vestig
from mcp_process import McpProcess, text_of, written_config
from vestig.calls.commit import CommitRequest
from vestig.calls.declaration import rows_of
from vestig.surfaces.mcp.tools import TOOLS, in_tools

ROOT = Path(vestig.__file__).parent
# What the tools `remember` and `supersede` may bring to an agent.
FILES = [*(ROOT / "commit").glob("*.py"), ROOT / "memories/states.py"]
TAKEN = {row.name for name in ("remember", "supersede") for row in TOOLS[name].parameters}
# Arguments that are no words of everyday English, or stand as code.
LACKING = sorted(set(rows_of(CommitRequest)) - TAKEN)
NAMED = re.compile(
    rf"\b(?:{'|'.join(name for name in LACKING if '_' in name)})\b|`(?:{'|'.join(LACKING)})`"
)
CALLED = re.compile(r"\b([a-z_]+)\([a-z]")


def _is_warning(node: ast.AST) -> bool:
    """Return whether a part of a module makes warnings: a function that is named for one, or what
    is added to a list of them."""
    if isinstance(node, ast.FunctionDef):
        return "warning" in node.name or node.name.startswith("stays_")
    if isinstance(node, ast.AugAssign):
        return "warnings" in ast.unparse(node.target)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        added = node.func.attr in ("append", "extend")
        return added and ast.unparse(node.func.value).endswith("warnings")
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("warning", "warnings")


def _sentences(part: ast.AST) -> Iterator[str]:
    """The texts of a part, its docstring left out; what they are filled with is a dot."""
    documented = part.body[0] if isinstance(part, ast.FunctionDef) else None
    inside = set[int]()
    for node in ast.walk(part):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(value) for value in node.values}
            shown = [one.value if isinstance(one, ast.Constant) else "…" for one in node.values]
            yield "".join(map(str, shown))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            own = isinstance(documented, ast.Expr) and node is documented.value
            if not own and id(node) not in inside:
                yield node.value


def warnings_of_commit() -> list[str]:
    parts = [
        part
        for file in FILES
        for part in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if _is_warning(part)
    ]
    found = {text for part in parts for text in _sentences(part) if " " in text.strip()}
    return sorted(found)


def test_there_are_warnings_to_look_at() -> None:
    found = warnings_of_commit()
    assert len(found) > 20
    assert any("t_ref" in one for one in found)
    assert any("t_ref" in one for one in LACKING)


@pytest.mark.parametrize("text", warnings_of_commit())
def test_a_warning_names_only_what_an_agent_has(text: str) -> None:
    shown = in_tools(text)
    assert NAMED.findall(shown) == []
    assert [call for call in CALLED.findall(shown) if call not in TOOLS] == []


def test_an_agent_is_told_what_its_tool_takes(tmp_path: Path) -> None:
    with McpProcess(written_config(tmp_path)) as server:
        server.initialize()
        text = "The flash trigger was bought yesterday."
        said = text_of(server.call("remember", text=text, valid_from="2026-05-11"))
        again = "The flash trigger was bought on 2026-05-10."
        followed = text_of(server.call("remember", text=again, valid_from="2026-05-11"))
    assert "which valid_from does not tell: write the days themselves" in said
    assert "Warning" not in followed
